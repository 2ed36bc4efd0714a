"""The paper's sampling baseline: draw a value for every masked record among those its group stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.errors import SummaryError
from aegis.masking.partition import Partition
from aegis.reconstruction.constraint import Constraint, check_consistent
from aegis.reconstruction.ipf import SOLVED_DIRECTLY, Fit


def sample(
    partition: Partition,
    masked: Counts,
    *,
    rng: np.random.Generator,
    histogram: Counts | None = None,
    joint: Counts | None = None,
) -> Fit:
    """One draw of the joint behind a masked joint.

    With a ``histogram`` a record of a group gets a value by how often the group's values occur, and keeps its label;
    without, each value is equally likely. With the original ``joint`` value and label are drawn together, as in the
    paper, whose labels come from the sampled records: the masked joint's labels then hold on average only.
    """
    mask = Constraint.masked(partition, masked)
    if not np.allclose(mask.targets, np.rint(mask.targets)):
        raise SummaryError("sampling needs whole counts; round the masked joint first")
    values, labels = len(mask.codes), mask.targets.shape[1]
    source = joint if joint is not None else histogram
    if source is not None:
        check_consistent([Constraint.histogram(np.asarray(source).reshape(values, -1).sum(axis=1)), mask])
    drawn = np.zeros((values, labels))
    for group in range(len(mask.targets)):
        members = np.flatnonzero(mask.codes == group)
        records = np.rint(mask.targets[group]).astype(np.int64)
        if not len(members) or not records.sum():
            continue
        if joint is not None:
            weights = np.asarray(joint, dtype=np.float64)[members]
            drawn[members] = rng.multinomial(records.sum(), _shares(weights.ravel())).reshape(weights.shape)
        else:
            weights = np.ones(len(members)) if histogram is None else np.asarray(histogram, dtype=np.float64)[members]
            drawn[members] = rng.multinomial(records, _shares(weights)).T
    return Fit(counts=drawn, diagnosis=SOLVED_DIRECTLY)


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.sum()

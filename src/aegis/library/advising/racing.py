"""What models reach on each candidate: the sample of rows that they are judged on, and the race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Histogram, TableCounts
from aegis.data.dataset import Dataset
from aegis.learners.candidate import Candidate, MaskedCandidate, MaskTables
from aegis.learners.goal import COMMON, GOALS
from aegis.learners.race import race
from aegis.learners.race_result import RaceResult
from aegis.learners.sample import FEW_NUMBERS, MOST_ROWS, Sample, draw_sample
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.transition import Transition
from aegis.privacy.policy import Policy, Suppressed
from aegis.progress import Progress
from aegis.ranking.verdicts import CandidateVerdict, ReleasedClasses, Verdicts

CONTINUOUS_BINS = 8
"""A label of numbers is counted in so many classes for the reasons; the race predicts the numbers themselves."""


def sample_of(
    dataset: Dataset,
    counted: TableCounts,
    *,
    label_bins: int | None,
    rows: int = MOST_ROWS,
    rare_labels: bool = False,
    seed: int,
) -> Sample:
    """The one sample of rows that candidates are judged on: the columns that were counted, with the label.

    The label is cut into classes only where that was asked for. With ``rare_labels`` rare ones have further rows.
    """
    return draw_sample(
        dataset,
        label=counted.label,
        histograms={name: joint.histogram() for name, joint in counted.joints.items()},
        label_domain=counted.label_histogram.domain if label_bins is not None else None,
        most_rows=rows,
        rare_labels_of=counted.label_histogram if rare_labels and label_bins is None else None,
        seed=seed,
    )


def sample_for_masks(
    dataset: Dataset,
    counted: TableCounts,
    *,
    goal: str | None,
    label_bins: int | None,
    rows: int = MOST_ROWS,
    seed: int,
) -> Sample:
    """The sample for a race of masks alone: where the goal counts labels alike, rare ones have further rows.

    Candidates of other kinds are made of the rows of a sample, and have to be made of rows as the table has them.
    """
    alike = _counts_alike(counted.label_histogram, goal)
    return sample_of(dataset, counted, label_bins=label_bins, rows=rows, rare_labels=alike, seed=seed)


def _counts_alike(label: Histogram, goal: str | None) -> bool:
    if goal is not None:
        return GOALS[goal].alike
    values = len(label.domain.values)
    if label.domain.kind.is_ordered and values > FEW_NUMBERS:
        return False  # predicted as a number
    counts = label.counts[:values]
    return float(counts.max(initial=0.0)) >= COMMON * float(counts.sum())


def race_configurations(
    verdicts: Verdicts,
    sample: Sample,
    *,
    goal: str | None,
    policy: Policy | None = None,
    changes: Mapping[tuple[str, Mask], Transition] | None = None,
    others: Sequence[Candidate] = (),
    doubts: Mapping[str, str] | None = None,
    seed: int,
    progress: Progress | None,
) -> RaceResult:
    """Race the configurations that passed, each with the records suppressed that its release would suppress.

    ``changes`` is what masks do to the columns, where the counts were masked before; ``doubts`` says of some of the
    ``others`` why they cannot be compared.
    """
    tables = MaskTables(sample, changes=changes)
    dropped = policy is not None and policy.suppressed is Suppressed.DROPPED
    candidates: list[Candidate] = [
        masked_candidate(configuration, tables, verdicts.by_name.get(configuration.name), dropped=dropped)
        for configuration in verdicts.passed
    ]
    return race([*candidates, *others], tables, goal=goal, doubts=doubts, seed=seed, progress=progress)


def masked_candidate(
    configuration: Configuration, tables: MaskTables, verdict: CandidateVerdict | None, *, dropped: bool
) -> MaskedCandidate:
    """A configuration as its release would be: without the records, or with stars, that its verdict suppresses."""
    if verdict is None or verdict.released is None or not verdict.suppressed:
        return MaskedCandidate(configuration, tables)
    return MaskedCandidate(
        configuration,
        tables,
        starred=suppressed_rows(tables.sample, verdict.released),
        quasi_identifiers=verdict.released.table.columns,
        dropped=dropped,
    )


def suppressed_rows(sample: Sample, released: ReleasedClasses) -> NDArray[np.bool_] | None:
    """Which rows of the sample fall into no class that is released.

    None where that cannot be told: a column was not counted, or in ranges only.
    """
    masked = []
    for name in released.table.columns:
        partition = released.partitions[name]
        # Sample and classes are of the same table, so a column that was counted value by value has the same codes.
        if name not in sample.codes or sample.histograms[name].domain.size != len(partition.codes):
            return None
        masked.append(partition.codes[sample.codes[name]])
    published = {tuple(codes) for codes in released.table.codes.tolist()}
    tuples, group = np.unique(np.stack(masked, axis=1), axis=0, return_inverse=True)
    gone = np.array([tuple(codes) not in published for codes in tuples.tolist()])
    return gone[group.reshape(-1)]

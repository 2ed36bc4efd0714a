"""The joint behind a random mask, by maximum likelihood.

The counts of a random mask (randomised response, noise) are a draw, not a sum of cells: taken as exact constraints
they contradict each other and everything else, and inverting the channel gives negative counts. So a channel takes no
part in proportional fitting. Expectation maximisation finds the non-negative joint under which the masked counts are
likeliest; where the counts are expected ones it satisfies them exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, checked_counts
from aegis.errors import NotConvergedError, SummaryError
from aegis.masking.partition import Channel
from aegis.reconstruction.fit import Diagnosis, Fit

Real = NDArray[np.float64]


def unmix(
    channel: Channel,
    masked: Counts,
    *,
    start: Real | None = None,
    max_iterations: int = 10_000,
    bits_per_record: float = 1e-10,
    require_convergence: bool = True,
) -> Fit:
    """The joint that makes ``masked`` (masked values × labels) likeliest under ``channel``.

    Stops when a round improves the likelihood by less than ``bits_per_record``. Channels that hardly tell values
    apart have flat likelihoods: the joint then depends on the start (uniform), its likelihood does not.
    ``residual_records`` is how far the expected masked counts stay from the given ones: sampling noise included.
    """
    P = channel.matrix
    observed = checked_counts(masked, (P.shape[1], np.shape(masked)[-1]), what="a masked joint").astype(np.float64)
    labels = observed.sum(axis=0)
    counts = np.ones((len(P), len(labels))) if start is None else np.array(start, dtype=np.float64)
    if counts.shape != (len(P), len(labels)) or (counts < 0).any():
        raise SummaryError(f"the start must hold {len(P)} × {len(labels)} counts that are zero or more")
    counts = counts * (labels / np.maximum(counts.sum(axis=0), 1e-300))
    score, gain, change, rounds = -np.inf, np.inf, np.inf, 0
    while rounds < max_iterations and gain > bits_per_record:
        expected = P.T @ counts
        if (observed[expected <= 0] > 0).any():
            raise SummaryError("the masked joint has records that the channel cannot produce; check the mask")
        ratio = np.where(expected > 0, observed / np.where(expected > 0, expected, 1.0), 0.0)
        moved = counts * (P @ ratio)
        new = float((observed * np.log2(np.where(expected > 0, expected, 1.0))).sum()) / max(observed.sum(), 1.0)
        gain, score = new - score, new
        change = float((np.abs(moved - counts) / np.where(counts > 0, counts, 1.0)).max(initial=0.0))
        counts, rounds = moved, rounds + 1
    converged = gain <= bits_per_record
    if require_convergence and not converged:
        raise NotConvergedError(
            f"the likelihood still rose by {gain:.1e} bits a record after {rounds} rounds; allow more"
        )
    diagnosis = Diagnosis(
        iterations=rounds,
        residual_records=float(np.abs(P.T @ counts - observed).max(initial=0.0)),
        largest_change=change,
        converged=converged,
    )
    return Fit(counts=counts, diagnosis=diagnosis)

"""Two attributes together and the label: what single attributes cannot show, from sparse pair counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aegis.counts.pair_counts import PairCounts
from aegis.measures.leave_one_out import leave_one_out_information


def pair_information(pair: PairCounts) -> float:
    """Leave-one-out bits that two values together tell about the label; below each alone when pairs are too rare.

    An exclusive or is invisible to each attribute and plain to the pair:

    >>> xor = np.array([[20, 0], [0, 20], [0, 20], [20, 0]])
    >>> pair = PairCounts(first=np.array([0, 0, 1, 1]), second=np.array([0, 1, 0, 1]), counts=xor)
    >>> round(pair_information(pair), 2)
    0.93
    """
    return float(leave_one_out_information(pair.counts))


def mean_pair_information(pairs: Iterable[PairCounts]) -> float:
    """The mean of `pair_information`: one score for a configuration from its masked pairs; 0 without pairs."""
    values = [pair_information(pair) for pair in pairs]
    return float(np.mean(values)) if values else 0.0

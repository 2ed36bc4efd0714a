"""Exposure: how many records an adversary pins down, which the mean of its error hides.

Two adversaries stand behind the figures. The *mean* adversary minimises squared error: its error quantiles are
reported. The *pinning* adversary puts a window of half-width ε where the posterior is heaviest and so catches the
largest possible share of records: that share is what caps are put on. For a two-point posterior the mean adversary
sits between the points and catches nothing, so only the pinning share is an honest promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.errors import SanitizerError

QUANTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What the most successful adversary can say about single records.

    ``pinned_share`` is the share of records it places within ``epsilon`` (for categories: names correctly, where the
    law is known with a posterior of at least 1 − ``epsilon``). ``error_quantiles`` are those of the mean adversary's
    absolute error. ``reference_pinned_share`` is the share that plain noise of the same distortion pins.
    """

    epsilon: float
    pinned_share: float
    reference_pinned_share: float | None = None
    error_quantiles: Mapping[float, float]

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise SanitizerError("epsilon of the exposure must be positive")


def from_errors(errors: NDArray[np.float64], *, epsilon: float, pinned_share: float | None = None) -> Exposure:
    """The exposure seen in a sample of an adversary's errors; a pinned share that is known better replaces theirs.

    >>> round(from_errors(np.array([0.0, 1.0, 2.0, 3.0]), epsilon=0.5).pinned_share, 2)
    0.25
    """
    if errors.size == 0:
        raise SanitizerError("there are no records to measure exposure on")
    magnitudes = np.abs(errors)
    share = float((magnitudes <= epsilon).mean())
    quantiles = np.quantile(magnitudes, QUANTILE_LEVELS)
    return Exposure(
        epsilon=epsilon,
        pinned_share=share if pinned_share is None else pinned_share,
        error_quantiles=dict(zip(QUANTILE_LEVELS, (float(q) for q in quantiles), strict=True)),
    )

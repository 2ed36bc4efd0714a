"""How much the attribute tells about the label, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.utility.measure import Counts, measure


@measure(
    "mutual-information",
    unit="bits",
    invariant=True,
    monotone=True,
    reference="Shannon 1948; Aegis section 3.2",
)
def mutual_information(counts: Counts) -> NDArray[np.float64]:
    """Bits that knowing the attribute saves in describing the label.

    >>> import numpy as np
    >>> float(mutual_information(np.array([[5, 0], [0, 5]])))
    1.0
    """
    return np.maximum(entropy(counts.sum(axis=-2)) - conditional_entropy(counts), 0.0)


def entropy(counts: Counts) -> NDArray[np.float64]:
    """The entropy in bits of the last axis."""
    total = counts.sum(axis=-1)
    return np.log2(total) - _x_log2_x(counts).sum(axis=-1) / total


def conditional_entropy(counts: Counts) -> NDArray[np.float64]:
    """H(label | attribute) in bits."""
    rows = counts.sum(axis=-1)
    total = rows.sum(axis=-1)
    return (_x_log2_x(rows).sum(axis=-1) - _x_log2_x(counts).sum(axis=(-2, -1))) / total


def _x_log2_x(x: Counts) -> NDArray[np.float64]:
    x = np.asarray(x, dtype=np.float64)
    return x * np.log2(x, where=x > 0, out=np.zeros_like(x))

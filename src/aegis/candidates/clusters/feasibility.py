"""Which k, l and numbers of classes a table can have at all; others are refused with the nearest that it can."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.records import Records, Tuples
from aegis.errors import AnonymizerError


def most_diverse_classes(codes: Ints, *, l: int) -> int:  # noqa: E741 - l as in l-diversity
    """The most classes that can each hold ``l`` values of one attribute.

    C classes need l·C cells, and a value that occurs c times fills at most min(c, C) of them.

    >>> most_diverse_classes(np.array([0, 0, 0, 0, 1, 1]), l=2)
    2
    """
    counts = np.bincount(codes)
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(counts, middle).sum() >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def check_feasible(records: Records, tuples: Tuples, *, k: int, l: int, classes: int | None) -> None:  # noqa: E741
    """Refuse parameters that no partition of this table can satisfy."""
    rows = len(records)
    if k > rows:
        raise AnonymizerError(f"k = {k} needs at least {k} records and the table has {rows}: use k of at most {rows}")
    for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
        levels = len(np.unique(codes))
        if levels < l:
            raise AnonymizerError(
                f"l = {l} is above the {levels} value(s) of sensitive attribute {name!r}: "
                f"use l of at most {levels}, or leave it out"
            )
    if classes is None:
        return
    if classes > len(tuples):
        raise AnonymizerError(
            f"{classes} classes are more than the {len(tuples)} distinct quasi-identifier tuples: "
            f"use at most {len(tuples)}"
        )
    if k * classes > rows:
        raise AnonymizerError(
            f"{classes} classes of at least k = {k} need {k * classes} records and the table has {rows}: "
            f"use at most {rows // k} classes, or k of at most {rows // classes}"
        )
    for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
        most = most_diverse_classes(codes, l=l)
        if classes > most:
            raise AnonymizerError(
                f"{classes} classes cannot each hold l = {l} values of {name!r}, which allows {most}: "
                f"use at most {most} classes, or a smaller l"
            )


def check_parameters(*, k: int, l: int, classes: int | None = None) -> None:  # noqa: E741
    """Refuse parameters that make no sense for any table."""
    for name, value in (("k", k), ("l", l), ("classes", classes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise AnonymizerError(f"{name} must be a whole number of at least 1")

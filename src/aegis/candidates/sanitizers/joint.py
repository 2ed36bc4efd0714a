"""Several private columns as one: a category whose values are tuples, and whose errors are counted by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.encoding import refuse_missing
from aegis.errors import SanitizerError

Floats = NDArray[np.float64]
BETWEEN = "\x1f"  # stands between the values of a tuple: no file has it in a value
_MOST_NUMBERS = 12


def joint_name(columns: Sequence[str]) -> str:
    """What the columns together are called."""
    return "+".join(columns)


def joined(columns: Mapping[str, NDArray[Any]], names: Sequence[str]) -> NDArray[np.str_]:
    """The tuple of every row, as text."""
    texts = []
    for name in names:
        values = columns[name]
        refuse_missing(values, name=name)
        if values.dtype.kind in "iuf" and np.unique(values).size > _MOST_NUMBERS:
            raise SanitizerError(
                f"column '{name}' is a number with many values; put it into ranges to release it jointly, or "
                "release it by itself"
            )
        texts.append([str(value) for value in values])
    return np.array([BETWEEN.join(row) for row in zip(*texts, strict=True)])


def joint_cost(values: NDArray[np.str_]) -> Floats:
    """The share of columns in which a guessed tuple differs from the true one, for all pairs of tuples.

    >>> joint_cost(np.array(["a\\x1fb", "a\\x1fc"])).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    parts = np.array([value.split(BETWEEN) for value in np.unique(values)])
    return np.asarray((parts[:, None, :] != parts[None, :, :]).mean(axis=2))


def split_tuples(values: NDArray[np.str_], count: int) -> list[NDArray[np.str_]]:
    """The columns of tuples that `joined` made."""
    parts = np.array([str(value).split(BETWEEN) for value in values])
    return [parts[:, number] for number in range(count)]

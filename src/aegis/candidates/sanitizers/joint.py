"""Several private columns as one: a category whose values are tuples, and whose errors are counted by column.

A number of many values enters a tuple by its range, which stands there as the mean of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.encoding import refuse_missing
from aegis.errors import SanitizerError

BETWEEN = "\x1f"  # stands between the values of a tuple: no file has it in a value
MOST_TUPLES = 60
_MOST_NUMBERS = 12
_MOST_RANGES, _FEWEST_RANGES = 6, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """The ranges of a number: where they are cut, and what stands for each, increasing."""

    edges: tuple[float, ...] = field(repr=False)
    means: tuple[float, ...] = field(repr=False)

    def __post_init__(self) -> None:
        rising = all((np.diff(numbers) > 0).all() for numbers in (self.edges, self.means))
        if not rising or len(self.means) != len(self.edges) + 1:
            raise ValueError("ranges are cut between them, and each has a number that stands for it")

    @classmethod
    def of(cls, values: Floats, *, most: int) -> Ranges:
        """Ranges of about equally many rows; fewer than ``most`` where many rows hold one value."""
        edges = np.unique(np.quantile(values, np.arange(1, most) / most))
        edges = edges[edges > values.min()]
        codes = np.searchsorted(edges, values, side="right")
        means = np.bincount(codes, weights=values) / np.bincount(codes)
        return cls(edges=tuple(edges.tolist()), means=tuple(float(f"{mean:.9g}") for mean in means))

    def texts(self, values: Floats) -> NDArray[np.str_]:
        """What stands for each value."""
        return np.array([repr(mean) for mean in self.means])[np.searchsorted(self.edges, values, side="right")]


Parts = tuple[Ranges | None, ...]
"""For each column of a tuple its ranges; None for one whose values enter as they are."""


def joint_name(columns: Sequence[str]) -> str:
    """What the columns together are called."""
    return "+".join(columns)


def ranges_of(columns: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Parts:
    """Ranges for the numbers of many values, as many as keep the number of tuples within `MOST_TUPLES`."""
    many = [name for name in names if _many(columns[name])]
    for name in many:
        refuse_missing(columns[name], name=name)
    others = int(np.prod([np.unique(columns[name].astype(str)).size for name in names if name not in many]))
    most = _MOST_RANGES
    while many and most > _FEWEST_RANGES and others * most ** len(many) > MOST_TUPLES:
        most -= 1
    return tuple(Ranges.of(columns[name].astype(np.float64), most=most) if name in many else None for name in names)


def joined(columns: Mapping[str, NDArray[Any]], names: Sequence[str], ranges: Parts = ()) -> NDArray[np.str_]:
    """The tuple of every row, as text."""
    texts = []
    for name, cuts in zip(names, ranges or (None,) * len(names), strict=True):
        values = columns[name]
        refuse_missing(values, name=name)
        if cuts is not None:
            if values.dtype.kind not in "iuf":
                raise SanitizerError(f"column '{name}' holds text where the model expects numbers")
            texts.append(cuts.texts(values.astype(np.float64)).tolist())
        else:
            texts.append([str(value) for value in values])
    return np.array([BETWEEN.join(row) for row in zip(*texts, strict=True)])


def joint_cost(values: NDArray[np.str_], ranges: Parts = ()) -> Floats:
    """How far a guessed tuple is from the true one, the mean over its columns, for all pairs of tuples.

    A column counts 1 where it is guessed wrong; a number in ranges the squared distance of what stands for them, as a
    share of the largest.

    >>> joint_cost(np.array(["a\\x1fb", "a\\x1fc"])).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    parts = np.array([value.split(BETWEEN) for value in np.unique(values)])
    costs = []
    for place, cuts in enumerate(ranges or (None,) * parts.shape[1]):
        column = parts[:, place]
        if cuts is None:
            costs.append((column[:, None] != column[None, :]).astype(np.float64))
            continue
        numbers = column.astype(np.float64)
        reach = max(cuts.means[-1] - cuts.means[0], np.finfo(float).tiny)
        costs.append(((numbers[:, None] - numbers[None, :]) / reach) ** 2)
    return np.asarray(np.mean(costs, axis=0))


def split_tuples(values: NDArray[np.str_], ranges: Parts) -> list[NDArray[Any]]:
    """The columns of tuples that `joined` made; a number in ranges as the number that stands for its range."""
    parts = np.array([str(value).split(BETWEEN) for value in values]).reshape(len(values), len(ranges))
    return [
        parts[:, place] if cuts is None else parts[:, place].astype(np.float64) for place, cuts in enumerate(ranges)
    ]


def _many(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iuf" and np.unique(values).size > _MOST_NUMBERS

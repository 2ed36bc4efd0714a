"""Side information of a table as numbers, and several private columns as one.

Numbers are what an attacker or a reconstructor can work with. Several private columns are a category whose values are
tuples, and whose errors are counted by column; a number of many values enters a tuple by its range, which stands there
as the mean of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.errors import SanitizerError
from aegis.plural import count

Columns = Mapping[str, NDArray[Any]]

_LARGEST = 1e100  # its square, and the sum of many, are numbers
_LEVELS = 24  # the commonest categories of a column get an indicator each; the rest share a place in the alphabet
BETWEEN = "\x1f"  # stands between the values of a tuple: no file has it in a value
MOST_TUPLES = 60
_MOST_NUMBERS = 12
_MOST_RANGES, _FEWEST_RANGES = 6, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """How one column becomes numbers: shifted and scaled, or an indicator for each of its commonest categories."""

    name: str
    mean: float = 0.0
    std: float = 1.0
    levels: tuple[str, ...] | None = field(default=None, repr=False)  # None for a number
    indicators: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Side information as numbers, fitted on one table and applied to it or to new rows.

    >>> Encoder.fit({"age": np.array([1.0, 3.0]), "job": np.array(["a", "b"])}, party="authorised").width
    3
    """

    columns: tuple[EncodedColumn, ...]
    party: str

    @classmethod
    def fit(cls, columns: Columns, *, party: str) -> Encoder:
        """Look at each column once: numbers for their mean and spread, categories for their values."""
        encoded = []
        for name, values in columns.items():
            refuse_missing(values, name=name)
            if values.dtype.kind in "iuf":
                numbers = values.astype(np.float64)
                encoded.append(EncodedColumn(name=name, mean=float(numbers.mean()), std=float(numbers.std()) or 1.0))
                continue
            levels, counts = np.unique(values.astype(str), return_counts=True)
            common = levels[np.argsort(-counts, kind="stable")[:_LEVELS]]
            place = np.repeat(np.arange(levels.size), counts)
            encoded.append(
                EncodedColumn(
                    name=name,
                    mean=float(place.mean()),
                    std=float(place.std()) or 1.0,
                    levels=tuple(str(level) for level in levels),
                    indicators=tuple(str(level) for level in common),
                )
            )
        return cls(columns=tuple(encoded), party=party)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are needed."""
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return sum(1 if c.levels is None else len(c.indicators) + (len(c.levels) > _LEVELS) for c in self.columns)

    def matrix(self, columns: Columns, *, rows: int) -> Floats:
        """One row of numbers for each record; a category that was not there at fitting has no indicator."""
        blocks: list[Floats] = []
        for column in self.columns:
            values = columns[column.name]
            if values.shape != (rows,):
                raise SanitizerError(f"column '{column.name}' of the {self.party} side needs one value for each row")
            refuse_missing(values, name=column.name)
            if column.levels is None:
                if values.dtype.kind not in "iuf":
                    raise SanitizerError(f"column '{column.name}' holds text where numbers are expected")
                blocks.append(((values.astype(np.float64) - column.mean) / column.std)[:, None])
                continue
            if values.dtype.kind in "iuf":
                raise SanitizerError(f"column '{column.name}' holds numbers where text is expected")
            text = values.astype(str)
            blocks.append((text[:, None] == np.array(column.indicators)[None, :]).astype(np.float64))
            if len(column.levels) > _LEVELS:
                # codes such as zip codes mean something in their order, and trees can cut it anywhere
                place = np.searchsorted(np.array(column.levels), text).astype(np.float64)
                blocks.append(((place - column.mean) / column.std)[:, None])
        return np.hstack(blocks) if blocks else np.zeros((rows, 0))

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {"party": self.party, "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Encoder:
        """An encoder from what `to_json` gave."""
        encoded = [
            EncodedColumn(
                name=str(entry["name"]),
                mean=float(entry["mean"]),
                std=float(entry["std"]),
                levels=None if entry["levels"] is None else tuple(str(level) for level in entry["levels"]),
                indicators=tuple(str(level) for level in entry["indicators"]),
            )
            for entry in content["columns"]
        ]
        return cls(columns=tuple(encoded), party=str(content["party"]))


def encode_side(columns: Columns, *, rows: int, party: str) -> Floats:
    """One matrix from columns: numbers standardised, categories as indicators.

    >>> encode_side({"age": np.array([1.0, 3.0]), "job": np.array(["a", "b"])}, rows=2, party="authorized").shape
    (2, 3)
    """
    return Encoder.fit(columns, party=party).matrix(columns, rows=rows)


def refuse_missing(values: NDArray[Any], *, name: str) -> None:
    """Refuse missing and infinite values, and numbers whose squares are no numbers; say in which column they are."""
    if values.dtype.kind == "f":
        missing = int((~np.isfinite(values)).sum())
    elif values.dtype.kind == "O":
        missing = int(sum(v is None or v != v for v in values))
    else:
        missing = 0
    if missing:
        infinite = " (an infinite number counts as missing)" if values.dtype.kind == "f" else ""
        raise SanitizerError(
            f"column '{name}' has {count(missing, 'missing value')}{infinite}; drop or fill those rows first"
        )
    if values.dtype.kind == "f" and np.abs(values).max(initial=0.0) > _LARGEST:
        raise SanitizerError(
            f"column '{name}' holds numbers beyond {_LARGEST:g}, whose squares are too large to compute with; give "
            "it in a larger unit"
        )


def refuse_copies(private: NDArray[Any], columns: Columns, *, name: str) -> None:
    """Side information that determines the private column leaves nothing to protect."""
    codes = np.unique(private.astype(str), return_inverse=True)[1]
    distinct = int(codes.max()) + 1
    for side, values in columns.items():
        levels, inverse = np.unique(values.astype(str), return_inverse=True)
        if 10 * levels.size <= len(private):
            # every value repeats often enough for "one private value each" to mean something
            same = np.unique(inverse.astype(np.int64) * distinct + codes).size == levels.size
        else:
            # values that hardly repeat: a copy up to a monotone change of scale has the same order of rows
            same = values.dtype.kind in "iuf" and private.dtype.kind in "iuf" and _same_order(values, private)
        if same:
            raise SanitizerError(
                f"column '{side}' determines the private column '{name}'; leave it out of the side information"
            )


def _same_order(first: NDArray[Any], second: NDArray[Any]) -> bool:
    first_ranks, second_ranks = (
        np.unique(values, return_inverse=True)[1].astype(np.float64) for values in (first, second)
    )
    if min(first_ranks.max(), second_ranks.max()) == 0:
        return False
    return abs(float(np.corrcoef(first_ranks, second_ranks)[0, 1])) > 1 - 1e-9


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


def ranges_of(columns: Columns, names: Sequence[str]) -> Parts:
    """Ranges for the numbers of many values, as many as keep the number of tuples within `MOST_TUPLES`."""
    many = [name for name in names if _many(columns[name])]
    for name in many:
        refuse_missing(columns[name], name=name)
    others = int(np.prod([np.unique(columns[name].astype(str)).size for name in names if name not in many]))
    most = _MOST_RANGES
    while many and most > _FEWEST_RANGES and others * most ** len(many) > MOST_TUPLES:
        most -= 1
    return tuple(Ranges.of(columns[name].astype(np.float64), most=most) if name in many else None for name in names)


def joined(columns: Columns, names: Sequence[str], ranges: Parts = ()) -> NDArray[np.str_]:
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

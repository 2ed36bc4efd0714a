"""A table known again by its rows: a small sample of keyed digests, the same for a copy, whatever its name or format.

A cell has a hash that does not depend on its column's name or on whether 35 was read as a number or as a text. A row is
the sum of its cells, so the order of columns does not matter, and the row *without* one of its columns is a
subtraction away: a copy with a column more, a column less or one that was changed is known again too. Of the rows whose
hash ends in enough zeros the digests are kept, each together with how many rows have it, under the key of the register
that keeps them. The same rows are chosen in every copy, so two samples say how much two tables have in common.

Whoever writes every row twice, joins a table with several rows for each, or adds many rows changes how many rows are
alike. So digests without that number are kept as well. In a table where most rows are unlike all others few rows drawn
anew would be found; there, and only there, nearly all digests of another table without numbers say whose rows it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ask, plain

SAMPLED = 2_048
"""About how many digests are kept of each way to look at a row."""

COMMON = 0.5
"""What share of the sampled digests two tables have in common if they are of the same rows.

Of rows of the same kind of people drawn anew a count agrees by chance for about a third at most: the digests say how
many rows are alike, and a Poisson count has no value more likely than that where tables are full enough to share rows.
"""

_FEWEST = 8
"""Fewer digests than this say nothing, unless they are all there is."""

_FEWEST_PLAIN = 32
"""Fewer digests without the number of rows than this say nothing."""

_COMMON_PLAIN = 0.8
"""What share of those must be known: a table that was doubled, joined or grown holds nearly all rows of the other."""

_UNLIKE = 0.8
"""What share of the rows must be unlike all others for digests without their number to tell the table's rows.

By the estimate of Good and Turing at most the other fifth of rows drawn anew would be alike to some row of it.
"""

_PLAIN, _FULL = 1 << 13, 1 << 14
"""Added to the number of a way for digests without the number of rows; the second where many rows are alike."""

_APART = 1 << 15
"""How far the numbers of the ways of a second sample lie from those of the first."""

_BITS = 50
_ROWS = "_aegis_rows"
Digests = NDArray[np.uint64]

_hash_of_number: Any = ibis.udf.scalar.builtin(lambda number: None, name="hash", signature=(("float64",), "uint64"))
_hash_of_text: Any = ibis.udf.scalar.builtin(lambda text: None, name="hash", signature=(("string",), "uint64"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sketch:
    """The sample: ``digests``, how many ``zeros`` each row's hash ends in, and the ``way`` it looks at a row.

    Digests whose hash ends in fewer than ``level`` zeros were not kept. ``engine`` marks how the engine hashes: samples
    of different marks cannot be compared.
    """

    level: int
    digests: Digests
    zeros: NDArray[np.uint8]
    ways: NDArray[np.uint16]
    engine: str

    def __repr__(self) -> str:
        return f"Sketch({len(self.digests)} digests)"

    def shares_rows_with(self, other: Sketch) -> bool:
        """Whether most of the rows of one of the two tables are in the other."""
        return self.in_common(other) > 0

    def in_common(self, other: Sketch) -> float:
        """What share of one table's rows is in the other, at most; 0 where it is too small to say anything."""
        level = max(self.level, other.level)
        mine, theirs = self._from(level), other._from(level)
        return max(_within(mine, theirs, level), _within(theirs, mine, level))

    def smaller(self, digests: int) -> Sketch:
        """With about this many digests of each way to look at a row, where there are more."""
        small, ways = self, len(np.unique(self.ways))
        while len(small.digests) > 2 * digests * ways:
            small = small._from(small.level + 1)
        return small

    def whole(self) -> Sketch:
        """Only the rows looked at as a whole."""
        return self._of((self.ways % _PLAIN == 0) & (self.ways < _APART))

    def emptied(self) -> Sketch:
        """A sample of no rows."""
        return replace(self._of(np.zeros(len(self.ways), dtype=bool)), level=0)

    def beside(self, other: Sketch) -> Sketch:
        """Both samples of the same table, looked at by other columns; each keeps its ways."""
        level = max(self.level, other.level)
        mine, theirs = self._from(level), other._from(level)
        return Sketch(
            level=level,
            digests=np.concatenate([mine.digests, theirs.digests]),
            zeros=np.concatenate([mine.zeros, theirs.zeros]),
            ways=np.concatenate([mine.ways, theirs.ways + np.uint16(_APART)]),
            engine=self.engine,
        )

    def merged(self, newer: Sketch) -> Sketch:
        """Both, for a table that changed: an old copy of it is known again as well."""
        if newer.engine != self.engine:
            return newer
        level = max(self.level, newer.level)
        both = [sketch._from(level) for sketch in (newer, self)]
        joined = np.concatenate([np.stack([s.ways.astype(np.uint64), s.digests], axis=1) for s in both])
        zeros = np.concatenate([s.zeros for s in both])
        distinct, place = np.unique(joined, axis=0, return_index=True)
        merged = Sketch(
            level=level,
            digests=distinct[:, 1],
            ways=distinct[:, 0].astype(np.uint16),
            zeros=zeros[place],
            engine=newer.engine,
        )
        ways = len(np.unique(merged.ways))
        while len(merged.digests) > 4 * SAMPLED * ways:
            merged = merged._from(merged.level + 1)
        return merged

    def _from(self, level: int) -> Sketch:
        if level <= self.level:
            return self
        return replace(self._of(self.zeros >= level), level=level)

    def _of(self, chosen: NDArray[np.bool_]) -> Sketch:
        """Some of its digests."""
        return replace(self, digests=self.digests[chosen], zeros=self.zeros[chosen], ways=self.ways[chosen])


def _within(sample: Sketch, other: Sketch, level: int) -> float:
    """The largest share of the sampled rows that ``other`` knows by some way to look at a row, where it says enough."""
    is_known = np.isin(sample.digests, other.digests[other.ways % _APART < _FULL])
    largest = 0.0
    for way in np.unique(sample.ways):
        of_way = sample.ways == way
        rows = int(of_way.sum())
        share = float(is_known[of_way].mean())
        if way % _APART >= _PLAIN:
            says_enough = share >= _COMMON_PLAIN and rows >= _FEWEST_PLAIN
            share *= 0.5  # rows that are as many say more than rows that are there
        else:
            says_enough = share >= COMMON and (rows >= _FEWEST or (level == 0 and share == 1.0 and way == 0))
        if says_enough:
            largest = max(largest, share)
    return largest


def is_sketched(table: ir.Table) -> bool:
    """Whether the table lies in the embedded engine, whose hash is quick and the same for every file."""
    return bool(table.get_backend().name == "duckdb")


def sketch_of(
    table: ir.Table, columns: Sequence[str], *, focus: Sequence[str], rows: int, key: bytes, alike: bool = False
) -> Sketch | None:
    """The sample of a table; None where the engine is another than the embedded one.

    ``columns`` are those that do not name people (a copy may have new numbers); ``focus`` are those that a policy
    speaks of, which are looked at by themselves. ``rows`` is how many rows there are. With ``alike``, for a table most
    of whose rows stand in it several times, equal rows are counted before they are hashed, which costs less there.
    """
    if not is_sketched(table) or not columns or not rows:
        return None
    counted = table.group_by(list(columns)).aggregate(**{_ROWS: table.count()}) if alike else table
    cells = counted.select(
        **{f"c{place}": _cell(counted[name]) for place, name in enumerate(columns)},
        **({_ROWS: counted[_ROWS]} if alike else {}),
    )
    numbers = range(len(columns))
    total = reduce(add, (cells[f"c{place}"] for place in numbers))
    ways = {"w0": total}
    if len(columns) > 2:  # what is left of two columns is a column, and many tables have the same one
        ways |= {f"w{place + 1}": total - cells[f"c{place}"] for place in numbers}
    looked_at = [columns.index(name) for name in dict.fromkeys(focus) if name in columns]
    if 2 <= len(looked_at) < len(columns) - 1:
        ways[f"w{len(columns) + 1}"] = reduce(add, (cells[f"c{place}"] for place in looked_at))
    level = max(0, int(np.ceil(np.log2(rows / SAMPLED)))) if rows > SAMPLED else 0
    seen = cells.select(**ways, **({_ROWS: cells[_ROWS]} if alike else {}))
    answer = _sampled(seen, level)
    while level and (different := _different(answer["w0"], level)) < SAMPLED // 4:
        # Many rows are alike: of their few different tuples a sample by the number of rows would hold hardly any.
        level = max(0, level - max(1, int(np.log2(SAMPLED / max(different, 1)))))
        answer = _sampled(seen, level)
    how_often = np.asarray(plain(answer["n"]), dtype=np.int64)
    # A table in which every row stands twice is one in which every row stands once.
    how_often = how_often // max(1, int(np.gcd.reduce(how_often, initial=0)))
    digests, zeros, numbered = [], [], []
    for way in ways:
        sums = np.asarray(plain(answer[way]), dtype=np.int64)
        chosen = sums % (1 << level) == 0
        sums, place = np.unique(sums[chosen], return_inverse=True)
        counts = np.bincount(place, weights=how_often[chosen], minlength=len(sums)).astype(np.int64)
        is_telling = counts[counts == 1].sum() >= _UNLIKE * counts.sum()
        for number, keyed in (
            (int(way[1:]), _keyed(sums, counts, key)),
            (int(way[1:]) + (_PLAIN if is_telling else _FULL), _keyed(sums, np.zeros_like(counts), key)),
        ):
            digests.append(keyed)
            zeros.append(_zeros(sums))
            numbered.append(np.full(len(sums), number, dtype=np.uint16))
    return Sketch(
        level=level,
        digests=np.concatenate(digests),
        zeros=np.concatenate(zeros),
        ways=np.concatenate(numbered),
        engine=_mark(table),
    )


def _sampled(seen: ir.Table, level: int) -> pa.Table:
    """The rows whose hash ends in enough zeros by some way to look at them, each with how many are like it."""
    ways = [way for way in seen.columns if way != _ROWS]
    chosen = seen.filter(reduce(or_, (seen[way] % (1 << level) == 0 for way in ways))) if level else seen
    many = chosen[_ROWS].sum().cast("int64") if _ROWS in seen.columns else chosen.count()
    return ask(chosen.group_by(ways).aggregate(n=many))


def _different(column: pa.ChunkedArray, level: int) -> int:
    sums = np.asarray(plain(column), dtype=np.int64)
    return len(np.unique(sums[sums % (1 << level) == 0]))


def _cell(column: Any) -> Any:
    """The hash of a cell: equal for 35, 35.0 and the text "35", and for a day with or without midnight."""
    kind = column.type()
    if kind.is_numeric() and not kind.is_boolean():
        hashed = _hash_of_number(column.cast("float64"))
    elif kind.is_string():
        number = column.try_cast("float64")
        hashed = number.isnull().ifelse(_hash_of_text(column.strip().lower()), _hash_of_number(number))
    else:
        text = column.cast("string").lower().re_replace(r"[ t]00:00:00(\.0+)?$", "")
        hashed = _hash_of_text(text)
    return (hashed % (1 << _BITS)).cast("int64").fill_null(0)


def _mark(table: ir.Table) -> str:
    """What the engine makes of two constants: another version of it may hash otherwise."""
    constants = table.limit(1).select(n=_hash_of_number(ibis.literal(35.0)), t=_hash_of_text(ibis.literal("aegis")))
    answer = ask(constants)
    return f"{answer['n'][0].as_py()}-{answer['t'][0].as_py()}"


def _keyed(sums: NDArray[np.int64], counts: NDArray[np.int64], key: bytes) -> Digests:
    pairs = np.stack([sums, counts], axis=1).astype("<i8").tobytes()
    digests = [
        int.from_bytes(hashlib.blake2b(pairs[at : at + 16], key=key, digest_size=8).digest(), "little")
        for at in range(0, len(pairs), 16)
    ]
    return np.asarray(digests, dtype=np.uint64)


def _zeros(sums: NDArray[np.int64]) -> NDArray[np.uint8]:
    lowest = np.where(sums == 0, 1 << _BITS, sums & -sums)
    return np.log2(lowest).astype(np.uint8)

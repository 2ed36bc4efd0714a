"""Digests of rows, computed where the rows lie, and which class each row had in each release.

Under a key digests are how a ledger knows a row again without keeping its values. Without one their sum is the hash of
a table, whatever the order of its rows: each row becomes one text, and the SHA-256 of the texts are added as numbers of
256 bits. Engines write decimals and times in their own ways, so a table has the hash of the engine it lies in.

Whoever holds several releases may be able to link their rows. So the provider links them too: the classes of a row in
all of them are its *known class*, whatever the releases were made by. A row that is not in a release, because it came
later, left, waits or was dropped, has the class `ABSENT` there, which is seen too. They are kept beside the ledger, for
its owner's eyes, as digests and numbers.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.answer import ask
from aegis.counts.grouping import group_tuples
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import LedgerError
from aegis.releases.ledger import private_folder

OWN = "_aegis_ledger_"
"""What the names of columns begin with that are not part of a table."""

ROW = f"{OWN}row"
"""The column that names a row by its digest."""

WHOLE = f"{OWN}whole"
"""The column that holds a digest of everything in the row."""

POSITION = f"{OWN}position"
"""The column with the place of a row in the source, where the engine has an order of rows."""

ENGINES = ("duckdb", "postgres", "pyspark")
_STEP = 0x9E3779B97
"""Added to the digest of the second of two equal rows, twice to that of the third: 2**26 of them stay below 2**63."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Digests:
    """Digests under one key; ``rows_by`` are the columns that tell one row from another.

    Where these are all columns a row that was changed is another row. Equal rows are numbered.
    """

    key: bytes
    rows_by: tuple[str, ...]
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Digests(by {len(self.rows_by)} of {len(self.columns)} columns)"

    def of(self, table: ir.Table, columns: Sequence[str], *, purpose: str) -> ir.Column:
        """A digest of some columns; equal ones for another ``purpose`` have nothing in common."""
        backend = table.get_backend().name
        if backend not in ENGINES:
            raise LedgerError(
                f"a ledger needs {', '.join(ENGINES[:-1])} or {ENGINES[-1]} to know rows again, and the table lies in "
                f"{backend}; give --ledger none"
            )
        secret = hmac.new(self.key, purpose.encode(), hashlib.sha256).hexdigest()
        return short_digest(ibis.literal(secret) + row_text(table, columns), backend=backend)

    def named_by_columns(self, table: ir.Table) -> ir.Table:
        """The table with the columns `ROW` and `POSITION`, as in `named` where no two rows have the same digest.

        Costs little where few columns tell rows apart: no more than these is read.
        """
        return table.mutate(**{ROW: self.of(table, self.rows_by, purpose="row"), POSITION: ibis.row_number()})

    def named(self, table: ir.Table) -> ir.Table:
        """The table with the columns `ROW`, `WHOLE` and `POSITION`; of rows with the same digest each has its own."""
        whole = self.of(table, self.columns, purpose="all")
        digest = whole if self.rows_by == self.columns else self.of(table, self.rows_by, purpose="row")
        rows = table.mutate(**{ROW: digest, WHOLE: whole, POSITION: ibis.row_number()})
        number = ibis.row_number().over(group_by=rows[ROW], order_by=rows[WHOLE])
        return rows.mutate(**{ROW: rows[ROW] + number.cast("int64") * _STEP})

    def version(self, wholes: Codes) -> str:
        """A digest of all rows, whatever their order: equal for equal versions of the table."""
        together = f"version:{len(wholes)}:{int(np.bitwise_xor.reduce(wholes))}:{_exact_sum(wholes)}"
        return hmac.new(self.key, together.encode(), hashlib.sha256).hexdigest()


def _exact_sum(numbers: Codes) -> int:
    """The sum of many numbers of 56 bits, without overflow."""
    low = int((numbers & ((1 << 28) - 1)).sum())
    return (int((numbers >> 28).sum()) << 28) + low


def codes_of(digests: Codes) -> Codes:
    """Digests as small numbers, in the order of the digests."""
    return np.unique(digests, return_inverse=True)[1].astype(np.int64)


_MODULUS = 1 << 256
Digits = Callable[[Any], list[tuple[Any, int]]]
"""The SHA-256 of a text as numbers to be summed, each with what it counts for."""


# Functions that Ibis does not know, or writes at length: the beginning of a text; Spark's change of base; PostgreSQL's
# bytes of a text, their hash, and one of them.
_left: Any = ibis.udf.scalar.builtin(
    lambda text, characters: None, name="left", signature=(("string", "int8"), "string")
)
_conv: Any = ibis.udf.scalar.builtin(
    lambda number, base, other: None, name="conv", signature=(("string", "int8", "int8"), "string")
)
_convert_to: Any = ibis.udf.scalar.builtin(
    lambda text, encoding: None, name="convert_to", signature=(("string", "string"), "binary")
)
_sha256: Any = ibis.udf.scalar.builtin(lambda content: None, name="sha256", signature=(("binary",), "binary"))
_get_byte: Any = ibis.udf.scalar.builtin(
    lambda content, place: None, name="get_byte", signature=(("binary", "int32"), "int32")
)


def sha256_of_table(table: ir.Table) -> str:
    """The hash of the names of the columns and of all rows."""
    texts = table.select(row=row_text(table, table.columns))
    digits = _DIGITS.get(table.get_backend().name)
    total = _summed_here(texts) if digits is None else _summed_there(texts, digits)
    head = repr(tuple(table.columns)).encode()
    return hashlib.sha256(head + (total % _MODULUS).to_bytes(32, "big")).hexdigest()


def row_text(table: ir.Table, columns: Sequence[str]) -> ir.Column:
    """Some columns of a row as one text, each value preceded by its length so that no two rows share a text."""
    values = [table[name].cast("string") for name in columns]
    first, *others = [v.length().cast("string").concat(":", v).fill_null("-") for v in values]
    return first.concat(*others) if others else first


def _summed_there(texts: ir.Table, digits: Digits) -> int:
    parts = digits(texts.row)
    stored = texts.select(**{f"d{i}": part for i, (part, _) in enumerate(parts)})
    answer = ask(stored.aggregate(**{f"s{i}": stored[f"d{i}"].sum() for i in range(len(parts))}))
    return sum(int(answer[f"s{i}"][0].as_py() or 0) * weight for i, (_, weight) in enumerate(parts))


def _summed_here(texts: ir.Table) -> int:
    """Where an engine has no such hash: the texts come in batches."""
    return sum(
        int.from_bytes(hashlib.sha256(row.encode()).digest(), "big")
        for batch in texts.to_pyarrow_batches(chunk_size=50_000)
        for row in batch.column(0).to_pylist()
    )


def short_digest(text: Any, *, backend: str) -> Any:
    """The first 56 bits of the SHA-256 of a text, as a number that the engine computes."""
    if backend == "postgres":
        digest = _sha256(_convert_to(text, "UTF8"))
        return reduce(add, (_get_byte(digest, place).cast("int64") * (1 << (8 * (6 - place))) for place in range(7)))
    digits = _left(text.hexdigest("sha256"), 14)
    if backend == "pyspark":
        return _conv(digits, 16, 10).cast("int64")
    return ("0x" + digits).cast("int64")


def _eights(digest: Any) -> Iterator[tuple[Any, int]]:
    """Eight hexadecimal digits at a time: 32 bits, so that the sum of two billion rows has room."""
    for part in range(8):
        yield digest.substr(8 * part, 8), 1 << (32 * (7 - part))


def _in_duckdb(text: Any) -> list[tuple[Any, int]]:
    return [(("0x" + digits).cast("int64"), weight) for digits, weight in _eights(text.hexdigest("sha256"))]


def _in_spark(text: Any) -> list[tuple[Any, int]]:
    return [(_conv(digits, 16, 10).cast("int64"), weight) for digits, weight in _eights(text.hexdigest("sha256"))]


def _in_postgres(text: Any) -> list[tuple[Any, int]]:
    digest = _sha256(_convert_to(text, "UTF8"))
    return [(_get_byte(digest, place), 1 << (8 * (31 - place))) for place in range(32)]


_DIGITS: dict[str, Digits] = {"duckdb": _in_duckdb, "pyspark": _in_spark, "postgres": _in_postgres}


ABSENT = -1
_RELEASE, _VALUE = "release ", "value of "


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RowClasses:
    """``rows`` are digests in ascending order; ``classes[n]`` is the class of each in release n.

    ``values[a]`` is a digest of the sensitive value a that each row had when it last left.
    """

    rows: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    classes: Mapping[int, NDArray[np.int32]] = field(default_factory=dict)
    values: Mapping[str, Codes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"RowClasses({len(self.rows)} rows, {len(self.classes)} releases)"

    def found(self, rows: Codes) -> Codes:
        """The place of each of ``rows``, -1 where it is not known."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, place, -1)

    def known_classes(self, releases: Sequence[int]) -> Codes:
        """The known class of each row: equal for rows that look alike in all ``releases``, 0 for those in none."""
        chosen = list(dict.fromkeys(releases))
        missing = [number for number in chosen if number not in self.classes]
        if missing:
            raise LedgerError(
                f"which rows had which class in release {missing[0]} is not kept beside the ledger, so nobody can say "
                "what it shows together with another; put its folder back, or say why with --despite-ledger"
            )
        if not chosen or not len(self.rows):
            return np.zeros(len(self.rows), dtype=np.int64)
        together = self.classes[chosen[0]].astype(np.int64) + 1
        for number in chosen[1:]:
            more = self.classes[number].astype(np.int64) + 1
            pair = np.stack([together, more], axis=1)
            together = group_tuples(pair, [int(together.max()) + 1, int(more.max()) + 1])[1]
        in_none = np.all([self.classes[number] == ABSENT for number in chosen], axis=0)
        # Numbered from 1 without gaps, in a stable order; 0 is kept for those that nobody has seen.
        together[in_none] = -1
        distinct, codes = np.unique(together, return_inverse=True)
        return codes.astype(np.int64) + (0 if len(distinct) and distinct[0] == -1 else 1)

    def with_release(
        self, number: int, *, rows: Codes, classes: Codes, values: Mapping[str, Codes]
    ) -> tuple[RowClasses, int]:
        """With one more release, and the number of the release whose classes it repeats: itself if none does."""
        order = np.argsort(rows, kind="stable")
        rows, classes = rows[order], classes[order]
        if len(rows) > 1 and (rows[1:] == rows[:-1]).any():
            raise LedgerError("two rows have the same digest; release with --ledger none and keep the ledger by hand")
        everybody = np.union1d(self.rows, rows)
        before, now = np.searchsorted(everybody, self.rows), np.searchsorted(everybody, rows)

        def spread(row_classes: NDArray[np.int32]) -> NDArray[np.int32]:
            wide = np.full(len(everybody), ABSENT, dtype=np.int32)
            wide[before] = row_classes
            return wide

        new = np.full(len(everybody), ABSENT, dtype=np.int32)
        new[now] = classes
        by_release: dict[int, NDArray[np.int32]] = {
            release: spread(row_classes) for release, row_classes in self.classes.items()
        }
        repeated = next((release for release, row_classes in by_release.items() if _same(row_classes, new)), number)
        if repeated == number:
            by_release[number] = new
        arrays: dict[str, Codes] = {}
        for name in {*self.values, *values}:
            digests = np.zeros(len(everybody), dtype=np.int64)
            if name in self.values:
                digests[before] = self.values[name]
            if name in values:
                digests[now] = values[name][order]
            arrays[name] = digests
        return replace(self, rows=everybody, classes=by_release, values=arrays), repeated


def read_row_classes(ledger: Path) -> RowClasses:
    """What is kept beside a ledger; nothing where nothing is."""
    path = private_folder(ledger) / "rows.parquet"
    if not path.is_file():
        return RowClasses()
    # Part of the core, imported late because a table without a ledger does not need it.
    from pyarrow.parquet import read_table

    try:
        table = read_table(path)
        columns = {name: table[name].to_numpy() for name in table.column_names}
    except (OSError, pa.ArrowException):
        raise LedgerError(f"{path} cannot be read; put it back from a backup") from None
    return RowClasses(
        rows=columns["row"],
        classes={
            int(name.removeprefix(_RELEASE)): codes for name, codes in columns.items() if name.startswith(_RELEASE)
        },
        values={name.removeprefix(_VALUE): digests for name, digests in columns.items() if name.startswith(_VALUE)},
    )


def write_row_classes(ledger: Path, rows: RowClasses) -> None:
    """Keep it beside the ledger, readable by the owner only."""
    from pyarrow.parquet import write_table

    columns = {
        "row": rows.rows,
        **{f"{_RELEASE}{number}": codes for number, codes in rows.classes.items()},
        **{f"{_VALUE}{name}": digests for name, digests in rows.values.items()},
    }
    with draft_of(private_folder(ledger) / "rows.parquet", overwrite=True, mode=PRIVATE) as draft:
        write_table(pa.table(columns), draft, compression="zstd")


def _same(first: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether two numberings put the same rows together, and leave the same out."""
    if ((first == ABSENT) != (other == ABSENT)).any():
        return False
    width = int(other.max(initial=0)) + 2
    pairs = np.unique((first.astype(np.int64) + 1) * width + other + 1)
    return len(pairs) == len(np.unique(first)) == len(np.unique(other))

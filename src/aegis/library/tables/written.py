"""Judge a release as it lies there: read again, every value as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ask
from aegis.data import delimited
from aegis.data.dataset import Dataset
from aegis.data.domain import show
from aegis.data.engine import as_dataset, connect
from aegis.data.engine_errors import in_our_words
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import DataError, PolicyNotSatisfiedError, VerificationError
from aegis.library.tables.judging import classes_of, why_not
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy
from aegis.releases.write import is_csv

Texts = Mapping[str, tuple[tuple[str | None, ...], NDArray[np.int64]]]

_TYPES = {
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


def open_written(file: Path, *, named: Path, header: str | None = None) -> Dataset:
    """Open a released file by the format of its name, with nothing read into its values.

    The values of a CSV file stay texts: 1 and 1.0 are two values to whoever tells people apart by them. Its ``header``
    is given where the file was looked into before.
    """
    connection = connect(None)
    if is_csv(named):
        read = delimited.read(connection, file, delimiter=",", encoding="utf-8", as_text=True, header=header)
        return as_dataset(read)
    try:
        return as_dataset(connection.read_parquet(str(file)))
    except Exception as error:
        ours = DataError(f"{named.name} cannot be read as parquet ({type(error).__name__})")
        raise in_our_words(error, ours) from None


def measure_written(
    written: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Judgement:
    """Judge a written table from scratch.

    ``kinds`` says what the sensitive columns and the label hold: where a distance counts, 10 comes after 9. Records are
    counted: a written table does not say whose they are.
    """
    policy = policy.by_records()
    absent = [name for name in (*roles.quasi_identifying, *policy.attributes) if name not in written.schema]
    if absent:
        raise VerificationError(f"the release lacks the column {absent[0]!r} that its policy speaks of")
    label = roles.label if roles.label is not None and roles.label in written.schema else None
    contents = () if label is None else (label,)
    table = _typed(written.table, {name: kinds[name] for name in (*policy.attributes, *contents) if name in kinds})
    return judge_all(
        classes_of(as_dataset(table), policy, roles, contents=contents, released=True, hierarchies=hierarchies),
        policy,
        suppress=False,
    )


def check_written(
    written: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    judged: Judgement | None = None,
    verb: str = "written",
) -> Judgement:
    """Judge a written table from scratch, as `verify` will; raises where it does not satisfy the policy.

    Where people were counted, it must have the classes that were ``judged``: it does not say whose its records are.
    ``verb`` is what was not done then.
    """
    measured = measure_written(written, policy, roles, kinds=kinds, hierarchies=hierarchies)
    if judged is not None and policy.unit is not None:
        _check_as_judged(measured, judged)
    elif not measured.satisfied:
        reason = why_not(measured, measured.released)
        raise PolicyNotSatisfiedError(f"nothing was {verb}: the table as written fails the policy: {reason}")
    return measured


def _check_as_judged(measured: Judgement, judged: Judgement) -> None:
    """Raise unless the classes as they were written are those that were judged, by their records and every model."""
    expected = judge_all(judged.released.by_records(), judged.policy.by_records(), suppress=False)
    same = np.array_equal(np.sort(measured.released.sizes), np.sort(expected.released.sizes)) and all(
        _close(now.value, then.value) for now, then in zip(measured.verdicts, expected.verdicts, strict=True)
    )
    if not same:
        raise PolicyNotSatisfiedError(
            "nothing was released: the classes of the table as written are not those whose people were counted; write "
            "another format"
        )


def _close(measured: float | None, expected: float | None) -> bool:
    if measured is None or expected is None:
        return measured is expected
    return bool(np.isclose(measured, expected, rtol=1e-9, atol=1e-12))


def _typed(table: ir.Table, kinds: Mapping[str, Kind]) -> ir.Table:
    """The table with texts read as what their columns hold; raises where one cannot be read so.

    A text that became a missing value would be judged as another table than the one that lies there.
    """
    columns = {
        name: table[name].try_cast(_TYPES[kind])
        for name, kind in kinds.items()
        if kind in _TYPES and table[name].type().is_string()
    }
    if not columns:
        return table
    lost = ask(
        table.aggregate(**{name: (table[name].notnull() & read.isnull()).any() for name, read in columns.items()})
    )
    for name in columns:
        if lost[name][0].as_py():
            raise VerificationError(
                f"the column {name!r} holds values that cannot be read as {kinds[name].value}, which it holds as the "
                "certificate says"
            )
    return table.mutate(**columns)


def written_texts(table: pa.Table) -> Texts:
    """The distinct texts of every column, and which of them stands in each row; a missing value is None."""
    texts = {}
    for name in table.column_names:
        packed = table[name].combine_chunks()
        packed = packed if pa.types.is_dictionary(packed.type) else packed.dictionary_encode()
        labels: list[str | None] = [None if v is None else show(v) for v in packed.dictionary.to_pylist()]
        codes = np.full(len(packed), len(labels), dtype=np.int64)
        valid = np.asarray(packed.indices.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        codes[valid] = packed.indices.drop_null().to_numpy(zero_copy_only=False)
        if not valid.all():
            labels.append(None)
        texts[name] = (tuple(labels), codes)
    return texts

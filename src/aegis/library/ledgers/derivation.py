"""What a command makes of a table's rows is noted as made of them, and known as that when it is to leave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import OtherLedgerError
from aegis.library.tables.written import open_written
from aegis.operation import word
from aegis.releases.table_register import DerivedTable, derived_tables, made_of, note_derived, sketch_rows
from aegis.releases.table_sketch import Sketch, is_sketched

_KEPT = 512
"""About how many digests are kept of each way to look at a row: there are more such tables than ledgers."""


def note_made_of(
    data: object,
    dataset: Dataset,
    draft: Path,
    *,
    out: Path,
    command: str,
    changed: Sequence[str],
    suspicious: Sequence[str] = (),
) -> None:
    """Note that ``draft``, which becomes ``out``, holds what ``command`` made of the rows of ``data``.

    To be called before the file has its name: whoever has it finds it in the register. ``changed`` are the columns that
    no longer hold what they held, ``suspicious`` those that may name people and have no role: a later reader may give
    them one.
    """
    written = open_written(draft, named=out)
    roles = dataset.roles
    focus = [name for name in (*changed, *roles.sensitive) if name in written.schema]

    def sample_of(rows: Dataset, *, alike: bool) -> Sketch | None:
        return _of_both_readings(rows, focus=focus, identifying=roles.identifying, suspicious=suspicious, alike=alike)

    sketch = sample_of(written, alike=command == "anonymize")
    if sketch is None:
        return  # no rows, or no column that does not name people
    nothing = np.zeros(0)
    empty = Sketch(
        level=0,
        digests=nothing.astype(np.uint64),
        zeros=nothing.astype(np.uint8),
        ways=nothing.astype(np.uint16),
        engine=sketch.engine,
    )
    source = sample_of(dataset, alike=False) or empty
    rows_of = str(Path(data).resolve() if "://" not in str(data) else data) if isinstance(data, str | Path) else None
    first = made_of(source, derived_tables())
    note_derived(
        DerivedTable(
            source=dataset.name if first is None else first.source,
            rows_of=rows_of if first is None else first.rows_of,
            command=command,
            columns=written.schema.names,
            sketch=sketch.smaller(_KEPT),
            source_sketch=source.smaller(_KEPT) if first is None else first.source_sketch,
        )
    )


def check_made_of(finished: Dataset, original: Dataset) -> None:
    """Raise where ``finished`` is known to be made of another table than ``original``."""
    tables = derived_tables()
    if not tables or not (is_sketched(finished.table) and is_sketched(original.table)):
        return
    focus = (*finished.roles.quasi_identifying, *finished.roles.sensitive)
    identifying = {*finished.roles.identifying, *original.roles.identifying}
    sketch = sketch_rows(finished, focus=focus, identifying=tuple(identifying))
    derived = None if sketch is None else made_of(sketch, tables)
    if derived is None:
        return
    rows = sketch_rows(original, focus=focus, identifying=tuple(identifying))
    if rows is not None and len(derived.source_sketch.digests) and not rows.shares_rows_with(derived.source_sketch):
        raise OtherLedgerError(
            f"{finished.name} was made of the rows of {derived.source} by aegis {derived.command}, and not of those of "
            f"{original.name}: give --rows-of {word(_place(derived))}"
        )


def known_as_made(dataset: Dataset, roles: Roles) -> DerivedTable | None:
    """The table that these rows are known as, where a command made them of another one's; None if not.

    For whoever only looks: a table whose columns have other names is not sampled for it.
    """
    names = set(dataset.schema.names)
    tables = [table for table in derived_tables() if len(names & set(table.columns)) > len(names) / 2]
    if not tables or not is_sketched(dataset.table):
        return None
    focus = (*roles.quasi_identifying, *roles.sensitive)
    sketch = sketch_rows(dataset, focus=focus, identifying=roles.identifying)
    return None if sketch is None else made_of(sketch, tables)


def made_elsewhere(name: str, table: DerivedTable) -> str:
    """Why a table that was made of another one's rows is not judged by itself, and how it is."""
    place = word(_place(table))
    return (
        f"{name} was made of the rows of {table.source} by aegis {table.command}: aegis release TABLE --rows-of "
        f"{place} judges it together with their earlier releases, and every other command takes {place} itself "
        "(--ledger none judges it alone)"
    )


def _of_both_readings(
    dataset: Dataset,
    *,
    focus: Sequence[str],
    identifying: Sequence[str],
    suspicious: Sequence[str],
    alike: bool,
) -> Sketch | None:
    """With the columns that nobody called identifying yet and, where they may be, without them."""
    first = sketch_rows(dataset, focus=focus, identifying=identifying, alike=alike)
    if first is None or not set(suspicious) & set(dataset.schema.names):
        return first
    second = sketch_rows(dataset, focus=focus, identifying=(*identifying, *suspicious), alike=alike)
    return first if second is None else first.beside(second)


def _place(table: DerivedTable) -> str:
    return table.source if table.rows_of is None else table.rows_of

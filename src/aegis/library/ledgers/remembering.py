"""A release goes on the record: its entry in the ledger, and the class that each of its rows has."""

from __future__ import annotations

from dataclasses import replace

import ibis.expr.types as ir
import numpy as np

from aegis.arrays import Codes
from aegis.counts.answer import ask, plain
from aegis.library.ledgers.standing import Standing
from aegis.releases.ledger import append, keep_key
from aegis.releases.ledger_entry import Act, Leaving
from aegis.releases.row_classes import write_row_classes
from aegis.releases.row_digest import ROW, codes_of
from aegis.releases.table_register import register_locked


def remember(standing: Standing, leaving: Leaving, table: ir.Table) -> int:
    """Write ``leaving`` into the ledger and answer its number.

    ``table`` holds the rows as they are released, with the digests of the source's rows. Raises, and writes nothing, if
    anything else was written since the ledger was read.
    """
    quasi = [name for name in leaving.quasi_identifying if name in table.columns]
    columns = {ROW: table[ROW]}
    if quasi:
        columns["_aegis_ledger_class"] = standing.digests.of(table, quasi, purpose="class")
    columns |= {name: table[standing.value_column(name)] for name in standing.attributes}
    answer = ask(table.select(**columns))
    rows = np.asarray(plain(answer[ROW]), dtype=np.int64)
    classes = (
        codes_of(np.asarray(plain(answer["_aegis_ledger_class"]), dtype=np.int64)) if quasi else np.zeros_like(rows)
    )
    values = {name: np.asarray(plain(answer[name]), dtype=np.int64) for name in standing.attributes}
    return record(standing, leaving, rows=rows, classes=classes, values=values)


def record(standing: Standing, leaving: Leaving, *, rows: Codes, classes: Codes, values: dict[str, Codes]) -> int:
    """The same where the class of each row is known already."""
    number = len(standing.ledger.entries) + (1 if standing.ledger.entries else 2)
    rows_known, repeated = standing.rows.with_release(number, rows=rows, classes=classes, values=values)
    content = replace(leaving, rows_as=repeated).to_mapping()

    def keep(_: int) -> None:
        keep_key(standing.path, standing.digests.key)
        write_row_classes(standing.path, rows_known)

    with register_locked():  # of two copies that are released at the same time one is first
        standing.recognised.check_again(standing.path, standing.opening)
        entry = append(
            standing.path,
            Act.RELEASED,
            content,
            opening=standing.opening,
            expected_head=standing.ledger.head,
            before=keep,
        )
        standing.recognised.note(standing.path, standing.opening, entry)
    return entry.sequence

"""A release goes on the record: its entry in the ledger, and the class that each of its rows has."""

from __future__ import annotations

from dataclasses import replace

import ibis.expr.types as ir
import numpy as np

from aegis.arrays import Codes
from aegis.counts.answer import ask, plain
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.releases.ledger import append, keep_key
from aegis.releases.ledger_entry import EntryKind, RecordedRelease
from aegis.releases.row_classes import write_row_classes
from aegis.releases.row_digest import ROW, codes_of
from aegis.releases.table_register import register_locked


def remember(earlier: EarlierReleases, recorded: RecordedRelease, table: ir.Table) -> int:
    """Write ``recorded`` into the ledger and answer its number.

    ``table`` holds the rows as they are released, with the digests of the source's rows. Raises, and writes nothing, if
    anything else was written since the ledger was read.
    """
    quasi = [name for name in recorded.quasi_identifying if name in table.columns]
    columns = {ROW: table[ROW]}
    if quasi:
        columns["_aegis_ledger_class"] = earlier.digests.of(table, quasi, purpose="class")
    columns |= {name: table[earlier.value_column(name)] for name in earlier.attributes}
    answer = ask(table.select(**columns))
    rows = np.asarray(plain(answer[ROW]), dtype=np.int64)
    classes = (
        codes_of(np.asarray(plain(answer["_aegis_ledger_class"]), dtype=np.int64)) if quasi else np.zeros_like(rows)
    )
    values = {name: np.asarray(plain(answer[name]), dtype=np.int64) for name in earlier.attributes}
    return record(earlier, recorded, rows=rows, classes=classes, values=values)


def record(
    earlier: EarlierReleases, recorded: RecordedRelease, *, rows: Codes, classes: Codes, values: dict[str, Codes]
) -> int:
    """The same where the class of each row is known already."""
    number = len(earlier.ledger.entries) + (1 if earlier.ledger.entries else 2)
    rows_known, repeated = earlier.rows.with_release(number, rows=rows, classes=classes, values=values)
    content = replace(recorded, rows_as=repeated).to_mapping()

    def keep(_: int) -> None:
        keep_key(earlier.path, earlier.digests.key)
        write_row_classes(earlier.path, rows_known)

    with register_locked():  # of two copies that are released at the same time one is first
        earlier.recognised.check_again(earlier.path, earlier.opening)
        entry = append(
            earlier.path,
            EntryKind.RELEASED,
            content,
            opening=earlier.opening,
            expected_head=earlier.ledger.head,
            before=keep,
        )
        earlier.recognised.note(earlier.path, earlier.opening, entry)
    return entry.sequence

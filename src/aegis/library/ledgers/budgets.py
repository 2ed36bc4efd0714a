"""The privacy budget of a source: what differentially private releases of it share, kept in its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.commands.fields import WithLedger
from aegis.data.dataset import Dataset
from aegis.library.ledgers.ledger_place import path_of
from aegis.library.ledgers.recognition import RecognisedTable, recognise
from aegis.releases.budget import Budget
from aegis.releases.ledger import Opening, append, read_ledger
from aegis.releases.ledger_entry import EntryKind, RecordedRelease
from aegis.releases.table_register import register_locked


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """The ledger of a source, as far as budgets go. What is spent is written down before anything leaves."""

    path: Path
    opening: Opening
    recognised: RecognisedTable

    def check(self, asked: Budget) -> None:
        """Raise if so much more would exceed the limit; asked before anything is measured."""
        read_ledger(self.path).check_budget(asked)

    def spend(self, recorded: RecordedRelease) -> int:
        """Write a release down with its budget and answer the number of its entry; raises where there is no room."""
        with register_locked():
            self.recognised.check_again(self.path, self.opening)
            entry = append(self.path, EntryKind.RELEASED, recorded.to_mapping(), opening=self.opening)
            self.recognised.note(self.path, self.opening, entry)
        return entry.sequence


def shared_budget(data: Any, dataset: Dataset, options: WithLedger) -> SharedBudget | None:
    """The budget of a source: in the ledger that is named, or in the one beside a file; None for neither.

    Raises where the rows are those of a table with another ledger: a copy has no budget of its own.
    """
    if not options.has_ledger:
        return None
    path = path_of(data, options)
    if path is None:
        recognise(dataset, path=None, ledger=None, focus=())
        return None
    ledger = read_ledger(path)
    recognised = recognise(dataset, path=path, ledger=ledger, focus=(), to_write=True)
    opening = ledger.opening or Opening.new(source=dataset.name, columns=dataset.schema.names)
    return SharedBudget(path=path, opening=opening, recognised=recognised)

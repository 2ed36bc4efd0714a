"""The privacy budget of a source: what differentially private releases of it share, kept in its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.data.dataset import Dataset
from aegis.releases.budget import Budget
from aegis.releases.ledger import Opening, append, ledger_path, read_ledger
from aegis.releases.ledger_entry import ANYBODY, Act, Leaving

NO_LEDGER = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """The ledger of a source, as far as budgets go. What is spent is written down before anything leaves."""

    path: Path
    opening: Opening

    def check(self, asked: Budget) -> None:
        """Raise if so much more would exceed the limit; asked before anything is measured."""
        read_ledger(self.path).check_budget(asked)

    def spend(self, leaving: Leaving) -> int:
        """Write a release down with its budget and answer the number of its entry; raises where there is no room."""
        return append(self.path, Act.RELEASED, leaving.to_mapping(), opening=self.opening).sequence


def shared_budget(data: Any, dataset: Dataset, *, ledger: Any, table: str | None = None) -> SharedBudget | None:
    """The budget of a source: in the ledger that is named, or in the one beside a file; None for neither."""
    if ledger is not None and str(ledger) == NO_LEDGER:
        return None
    if ledger is not None:
        path = Path(ledger)
    elif isinstance(data, str | Path) and "://" not in str(data):
        path = ledger_path(Path(data), table=table)
    else:
        return None
    opening = read_ledger(path).opening or Opening.new(source=dataset.name, columns=dataset.schema.names)
    return SharedBudget(path=path, opening=opening)


def recipient_name(given: str | None) -> str:
    """Who gets a release."""
    return ANYBODY if given is None else given

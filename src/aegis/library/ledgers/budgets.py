"""The privacy budget of a source: what differentially private releases of it share, kept in its ledger.

What a release costs is on the record before any of its noise is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.measuring import Noise
from aegis.commands.fields import WithBudget
from aegis.data.dataset import Dataset
from aegis.errors import LedgerError
from aegis.library.ledgers.recognition import RecognisedTable, ledger_beside, ledgers_of_rows, path_of, recognise
from aegis.releases.budget import Budget
from aegis.releases.ledger import Opening, read_ledger
from aegis.releases.ledger_entry import EntryKind, RecordedRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """The ledger of a source, as far as budgets go.

    What is spent is written down before any noise is drawn for it, and stays spent whatever comes of that: a run that
    stops has said something too, and whoever may ask until an answer pleases learns more than each answer promises.
    """

    path: Path
    opening: Opening
    recognised: RecognisedTable

    @classmethod
    def of(cls, dataset: Dataset, path: Path) -> SharedBudget:
        """The budget in the ledger at ``path``, which is that of the rows or begins with them."""
        ledger = read_ledger(path)
        recognised = recognise(dataset, path=path, ledger=ledger, focus=(), to_write=True)
        opening = ledger.opening or Opening.new(source=dataset.name, columns=dataset.schema.names)
        return cls(path=path, opening=opening, recognised=recognised)

    def begin(self, recorded: RecordedRelease) -> int:
        """Spend the budget of what is to leave, before noise is drawn for it; answers the number of the entry."""
        return self._append(EntryKind.BEGUN, recorded)

    def spend(self, recorded: RecordedRelease, *, begun: int | None = None) -> int:
        """Write a release down and answer the number of its entry; ``begun`` is the one that spent its budget."""
        return self._append(EntryKind.RELEASED, replace(recorded, begun=begun))

    def _append(self, act: EntryKind, recorded: RecordedRelease) -> int:
        return self.recognised.put_on_record(self.path, act, recorded.to_mapping(), opening=self.opening)


def shared_budget(data: Any, dataset: Dataset, options: WithBudget) -> SharedBudget | None:
    """The budget of a source: in the ledger that is named, or in the one beside a file; None for neither.

    Raises where the rows are those of a table with another ledger: a copy has no budget of its own.
    """
    if not options.has_ledger:
        return None
    path = path_of(data, options)
    if path is None:
        recognise(dataset, path=None, ledger=None, focus=())
        return None
    return SharedBudget.of(dataset, path)


def reason_to_spend(
    data: Any, dataset: Dataset, options: WithBudget, *, shared: SharedBudget | None, asked: Budget
) -> str | None:
    """The reason to spend so much more, where one is needed; asked before anything is measured.

    Raises where none is given and the limit on record has no room for it, or would be passed by because what is asked
    for stays off the record.
    """
    if shared is None:
        return _off_record(data, dataset, options)
    try:
        read_ledger(shared.path).check_budget(asked)
    except LedgerError:
        if options.despite_ledger is None:
            raise
        return options.despite_ledger
    options.refuse("despite_ledger", because="the ledger has room for it")
    return None


def _off_record(data: Any, dataset: Dataset, options: WithBudget) -> str | None:
    limited = [(path, limit) for path in _ledgers_of(data, dataset, options) if (limit := read_ledger(path).limit)]
    if not limited:
        options.refuse("despite_ledger", because="no limit is on record for these rows")
        return None
    if options.despite_ledger is None:
        path, limit = limited[0]
        raise LedgerError(
            f"the ledger {path} limits what is spent on these rows to {limit.describe()}, and this would be spent "
            "beside that: leave out --ledger none and --seed, or say why with --despite-ledger REASON"
        )
    return options.despite_ledger


def _ledgers_of(data: Any, dataset: Dataset, options: WithBudget) -> list[Path]:
    """Every ledger that knows the rows: the one that is named or stands beside them, and those of their copies."""
    named = path_of(data, options) if options.has_ledger else ledger_beside(data, options)
    ledger = None if named is None else read_ledger(named)
    of_copies = [table.ledger for table in ledgers_of_rows(dataset, besides=ledger, focus=())]
    return [path for path in ([] if named is None else [named]) + of_copies if path.is_file()]


class NoiseOnRecord:
    """Draws what ``noise`` draws; before the first time ``begin`` writes the budget down and answers its entry.

    Whatever stops a run before that has told nothing of the counts, and costs nothing.
    """

    def __init__(self, noise: Noise, begin: Callable[[], int]) -> None:
        self._noise, self._begin = noise, begin
        self.entry: int | None = None

    @property
    def private(self) -> bool:
        return self._noise.private

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        """Counts with noise."""
        self._note()
        return self._noise.on_counts(counts, sigma=sigma)

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
        """Numbers with noise."""
        self._note()
        return self._noise.on_numbers(numbers, sigma=sigma)

    def _note(self) -> None:
        if self.entry is None:
            self.entry = self._begin()

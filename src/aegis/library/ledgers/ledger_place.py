"""Which ledger a table has: the one beside its file, the one that is named, or that of the table it was copied from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from aegis.commands.fields import NO_LEDGER, PathLike, Reading
from aegis.data.dataset import Dataset
from aegis.data.shell import word
from aegis.library.ledgers.recognition import ledger_of_rows
from aegis.plural import count
from aegis.releases.ledger import ledger_path, read_ledger


class NamesLedger(Protocol):
    """Options that may name a ledger."""

    @property
    def ledger(self) -> PathLike | None: ...


def path_of(data: object, options: NamesLedger) -> Path | None:
    """Where the ledger of a source is; None without one."""
    if options.ledger is not None:
        if str(options.ledger) == NO_LEDGER:
            return None
        return Path(options.ledger)
    return ledger_beside(data, options)


def ledger_beside(data: object, options: NamesLedger) -> Path | None:
    """Where the ledger of a source stands if none is named; None for what is no file, or lies in another engine."""
    if isinstance(data, str | Path) and "://" not in str(data):
        reading = options if isinstance(options, Reading) else None
        if reading is not None and reading.engine is not None:
            return None  # the class of every row would leave the engine: only where a ledger is named
        # Another name of the same file is no way round its ledger.
        path = Path(data).resolve() if Path(data).is_symlink() else Path(data)
        return ledger_path(path, table=None if reading is None else reading.table)
    return None


def not_judged_with(data: object, dataset: Dataset, options: Reading) -> str | None:
    """That something was released from a table before, for commands that write a table and judge it with nothing; None
    if not.

    What they write is not a release yet: it may be compared, thrown away, or released. A copy is known by its rows.
    """
    ledger, source = None, "SOURCE"
    if isinstance(data, str | Path) and "://" not in str(data):
        path = Path(data).resolve() if Path(data).is_symlink() else Path(data)
        source = path.name
        if options.engine is None:
            ledger = read_ledger(ledger_path(path, table=options.table))
    roles = dataset.roles
    focus = [name for name in (*roles.quasi_identifying, *roles.sensitive) if name in dataset.schema]
    if ledger is not None and ledger.releases:
        earlier, more = f"{count(len(ledger.releases), 'release')} of this table came before ({ledger.path.name})", ""
    else:
        recorded = ledger_of_rows(dataset, besides=ledger, focus=focus)
        if recorded is None:
            return None
        earlier = (
            f"{dataset.name} holds rows of {recorded.source}, of which something was released before "
            f"({recorded.ledger})"
        )
        more = f" --ledger {word(recorded.ledger)}"
    return (
        f"{earlier}: what was written here is judged together with nothing of it and is not on the record; before it "
        f"is passed on: aegis release TABLE --rows-of {word(source)}{more} --policy POLICY.yaml --out OUT"
    )

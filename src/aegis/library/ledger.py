"""What was released from a table: shown, added to by hand, taken out of the reckoning, and limited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.commands.ledger import LedgerAdd, LedgerForget, LedgerLimit, LedgerShow
from aegis.commands.release import Release
from aegis.errors import DataError, LedgerError, OptionError
from aegis.library.ledgers.budgets import SharedBudget
from aegis.library.ledgers.recognition import path_of
from aegis.library.releasing.release_judgement import record_release
from aegis.library.tables.opening import open_table
from aegis.operation import operation, visible
from aegis.releases.budget import Budget, Total
from aegis.releases.ledger import ENDING, Ledger, append, keep_key, key_of, ledger_path, read_ledger
from aegis.releases.ledger_entry import EntryKind
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerShown(Result):
    """A ledger that is whole: every release on record, the budget that they spent, and the head of the chain.

    ``source`` is the table that it is of; None where nothing is on record. ``limit``, ``spent`` and ``left`` are in
    words. Of ``releases`` those that were begun and never released are not ``finished``.
    """

    path: Path
    source: str | None
    head: str
    releases: tuple[Mapping[str, Any], ...]
    limit: str | None
    spent: str | None
    left: str | None

    @property
    def finished(self) -> int:
        """How many releases left."""
        return sum(1 for release in self.releases if release["finished"])

    @property
    def headline(self) -> str:
        counting = sum(1 for release in self.releases if release["finished"] and release["forgotten"] is None)
        return f"{self.path.name}: {self.finished} releases, {counting} of them count"

    def table_rows(self) -> list[dict[str, Any]]:
        """What left, one row each."""
        return [
            {
                "number": release["number"],
                "at": release["at"],
                "name": release["name"],
                "recipient": release["recipient"],
                "kind": release["kind"],
                "rows": release["rows"],
                "counts": _counts(release),
            }
            for release in self.releases
        ]


def _counts(release: Mapping[str, Any]) -> str:
    if release["forgotten"] is not None:
        return f"no: {release['forgotten']}"
    if not release["finished"]:
        return "by its budget; it stopped, and nothing left"
    if not release["linkable"]:
        return "by its budget" if release["budget"] is not None else "no: counts of single columns, not rows"
    return "yes" if release["despite"] is None else f"yes; left despite the ledger: {release['despite']}"


@operation(LedgerShow)
def ledger_show(options: LedgerShow) -> LedgerShown:
    """What is on record of a table; raises if anybody changed the record.

    Example::

        aegis.release("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv")
        aegis.ledger_show("clinic.csv")
    """
    path = _existing(Path(options.data), options.table)
    return _shown(read_ledger(path), delta=options.delta)


@operation(LedgerAdd)
def ledger_add(options: LedgerAdd) -> LedgerShown:
    """Put a release on record that left without the ledger; it counts from now on.

    What each row looked like in it is computed from the configuration and the table as it is now, so add a release
    before the table changes. Masks that draw at random cannot be drawn again.

    Example::

        aegis.ledger_add("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", recipient="Berlin")
    """
    path = path_of(options.data, options)
    if path is None:
        raise OptionError("this source has no ledger: name one with --ledger")
    record_release(options.shared_with(Release, out=f"{options.name}.csv", ledger=path), name=options.name)
    return _shown(read_ledger(path))


@operation(LedgerForget)
def ledger_forget(options: LedgerForget) -> LedgerShown:
    """Say on the record that a release no longer counts.

    Example::

        aegis.release("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv")
        aegis.ledger_forget("clinic.csv", 2, reason="never sent")
    """
    path = _existing(Path(options.data), options.table)
    ledger = read_ledger(path)
    if not visible(options.reason).strip():
        raise OptionError("--reason says why the release no longer counts; give a sentence")
    if options.release not in ledger.releases:
        listed = ", ".join(map(str, ledger.releases)) or "none"
        raise DataError(f"there is no release {options.release} in {path.name}; there are: {listed}")
    if options.release in ledger.forgotten:
        raise DataError(f"release {options.release} does not count any more, as {path.name} says already")
    assert ledger.opening is not None
    content = {"release": options.release, "reason": options.reason.strip()}
    append(path, EntryKind.FORGOTTEN, content, opening=ledger.opening, expected_head=ledger.head)
    return _shown(read_ledger(path))


@operation(LedgerLimit)
def ledger_limit(options: LedgerLimit) -> LedgerShown:
    """Set the budget that all differentially private releases of a table keep together.

    Example::

        aegis.release("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv")
        aegis.ledger_limit("clinic.csv", rho=0.5)
    """
    if options.epsilon is None and options.rho is None:
        raise OptionError("a budget is an --epsilon or a --rho; give one of them")
    limit = Budget(epsilon=options.epsilon, delta=options.delta, rho=options.rho)
    path = path_of(options.data, options)
    if path is None:
        raise OptionError("this source has no ledger: name one with --ledger")
    ledger = read_ledger(path)
    dataset = open_table(options.data, options)
    shared = SharedBudget.of(dataset, path)
    if ledger.limit is not None and _is_more(limit, ledger.limit) and not options.reason:
        raise LedgerError(
            f"the budget of this table is {ledger.limit.describe()}; to raise it say why with --reason, which stays on "
            "the record"
        )
    content = {"budget": limit.to_mapping(), "reason": options.reason}
    key = key_of(path)
    shared.recognised.put_on_record(
        path,
        EntryKind.LIMITED,
        content,
        opening=shared.opening,
        expected_head=ledger.head,
        before=lambda _: keep_key(path, key),
    )
    return _shown(read_ledger(path), delta=limit.delta or 1e-6)


def _is_more(new: Budget, old: Budget) -> bool:
    """Whether a limit allows anything that another does not."""

    def more(first: float | None, other: float | None) -> bool:
        return other is not None and (first is None or first > other)

    return more(new.epsilon, old.epsilon) or more(new.rho, old.rho) or new.delta > old.delta


def _existing(data: Path, table: str | None) -> Path:
    path = data if data.name.endswith(ENDING) else ledger_path(data, table=table)
    if not path.is_file():
        read_ledger(path)  # says so if there was one
        raise DataError(f"there is no ledger {path}; aegis release begins one")
    return path


def _shown(ledger: Ledger, *, delta: float = 1e-6) -> LedgerShown:
    forgotten, opening = ledger.forgotten, ledger.opening
    at = {entry.sequence: entry.at.isoformat(timespec="seconds") for entry in ledger.entries}
    releases = tuple(
        {
            "number": number,
            "at": at[number],
            **leaving.to_mapping(),
            "forgotten": forgotten.get(number),
            "finished": number in ledger.releases,
        }
        for number, leaving in sorted({**ledger.releases, **ledger.unfinished}.items())
    )
    spent: Total | None = ledger.spent(delta=delta) if ledger.budgets else None
    return LedgerShown(
        path=ledger.path,
        source=None if opening is None else opening.source,
        head=ledger.head,
        releases=releases,
        limit=None if ledger.limit is None else ledger.limit.describe(),
        spent=None if spent is None else spent.describe(),
        left=ledger.left,
    )

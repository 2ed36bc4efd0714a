"""The ledger of a table: everything that left, in a file beside it that is only ever added to.

``clinic.csv`` has ``clinic.csv.ledger.jsonl``: a line of JSON for each entry, each with the hash of the one before, and
a folder ``clinic.csv.ledger.private`` that only its owner can read: the key of the digests, the end of the chain as it
was last written, and which class each row had in each release. Whoever edits a line breaks the chain; whoever cuts the
file leaves the noted end pointing at nothing.

Writers take turns by a lock. An entry is on the disk before `append` returns.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.data.output import PRIVATE, draft_of
from aegis.errors import LedgerError
from aegis.privacy.policy import Recipients
from aegis.releases.budget import Budget, Total, check_within, left_of, total
from aegis.releases.hashed_json import START, without_repeated_keys
from aegis.releases.ledger_entry import Entry, EntryKind, RecordedRelease

FORMAT_VERSION = 1
ENDING = ".ledger.jsonl"
CLOCK_SLACK = datetime.timedelta(minutes=2)
"""How far a clock may be set back (to agree with others) before an entry is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Which table a ledger is of: its name, its columns, and the columns that tell one row from another."""

    source: str
    columns: tuple[str, ...]
    rows_by: tuple[str, ...]
    id: str

    @classmethod
    def new(cls, *, source: str, columns: Sequence[str], rows_by: Sequence[str] = ()) -> Opening:
        """The first entry of a ledger that does not exist yet."""
        return cls(
            source=source, columns=tuple(columns), rows_by=tuple(rows_by) or tuple(columns), id=secrets.token_hex(8)
        )

    def to_mapping(self) -> dict[str, Any]:
        """The content of the first entry."""
        return {
            "format": FORMAT_VERSION,
            "id": self.id,
            "source": self.source,
            "columns": list(self.columns),
            "rows_by": list(self.rows_by),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """A ledger as it was read, its chain verified. One that nobody wrote to yet has no entries."""

    path: Path
    entries: tuple[Entry, ...]

    def __repr__(self) -> str:
        return f"Ledger({self.path.name}: {len(self.entries)} entries)"

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return self.entries[-1].hash if self.entries else START

    @property
    def next_release(self) -> int:
        """The number of the entry that the next release will have; the first entry of a ledger opens it."""
        return len(self.entries) + (1 if self.entries else 2)

    @property
    def opening(self) -> Opening | None:
        """Which table it is of; None where it does not exist yet."""
        if not self.entries:
            return None
        content = self.entries[0].content
        return Opening(
            source=content["source"],
            columns=tuple(content["columns"]),
            rows_by=tuple(content["rows_by"]),
            id=content["id"],
        )

    @property
    def forgotten(self) -> dict[int, str]:
        """The releases that no longer count, by their number, with the reason."""
        return {
            int(entry.content["release"]): str(entry.content["reason"])
            for entry in self.entries
            if entry.act is EntryKind.FORGOTTEN
        }

    @property
    def releases(self) -> dict[int, RecordedRelease]:
        """Everything that left, by the number of its entry."""
        return {
            entry.sequence: RecordedRelease.from_mapping(entry.content)
            for entry in self.entries
            if entry.act is EntryKind.RELEASED
        }

    def counted(self, *, recipient: str | None, recipients: Recipients) -> dict[int, RecordedRelease]:
        """The releases that somebody may put beside a new one for ``recipient``, anybody where it is None.

        Those forgotten do not count.
        """
        gone = self.forgotten
        return {
            number: recorded
            for number, recorded in self.releases.items()
            if number not in gone and recorded.linkable and recorded.held_by(recipient, recipients)
        }

    @property
    def limit(self) -> Budget | None:
        """The most that all releases together may spend."""
        limits = [entry.content["budget"] for entry in self.entries if entry.act is EntryKind.LIMITED]
        return Budget.from_mapping(limits[-1]) if limits else None

    @property
    def unfinished(self) -> dict[int, RecordedRelease]:
        """What noise was drawn for and what never left, by the number of the entry that spent its budget."""
        finished = {leaving.begun for leaving in self.releases.values()}
        return {
            entry.sequence: RecordedRelease.from_mapping(entry.content)
            for entry in self.entries
            if entry.act is EntryKind.BEGUN and entry.sequence not in finished
        }

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """What each release spent, and what was begun and never left.

        What is spent stays spent: a release that is forgotten has been seen, and a run that stopped has said so.
        """
        spent = (*self.releases.values(), *self.unfinished.values())
        return tuple(leaving.budget for leaving in spent if leaving.budget is not None)

    def spent(self, *, delta: float = 1e-6) -> Total:
        """What all releases spent together."""
        return total(self.budgets, delta=delta if self.limit is None else self.limit.delta)

    @property
    def left(self) -> str | None:
        """What the limit still has room for, in words; None where no limit is set."""
        return None if self.limit is None else left_of(self.limit, self.budgets)

    def check_budget(self, asked: Budget) -> None:
        """Raise if so much more would exceed the limit."""
        if self.limit is not None:
            check_within(self.limit, self.budgets, asked)


def ledger_path(data: Path, *, table: str | None = None) -> Path:
    """Where the ledger of a source stands: beside it.

    >>> ledger_path(Path("data/clinic.csv")).name, ledger_path(Path("all.duckdb"), table="visits").name
    ('clinic.csv.ledger.jsonl', 'all.duckdb.visits.ledger.jsonl')
    """
    return data.with_name(f"{data.name}{f'.{table}' if table else ''}{ENDING}")


def private_folder(path: Path) -> Path:
    """Where a ledger keeps what only its owner may read."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.private")


def read_ledger(path: Path) -> Ledger:
    """Read a ledger and see that it is whole; one that does not exist is empty."""
    entries = _parsed(path)
    _check_end(path, entries)
    return Ledger(path=path, entries=tuple(entries))


def key_of(path: Path) -> bytes:
    """The key of a ledger's digests; a new one, kept nowhere yet, for a ledger that needed none so far."""
    file = private_folder(path) / "key"
    try:
        key = bytes.fromhex(file.read_text(encoding="ascii"))
    except FileNotFoundError:
        if any(recorded.version is not None for recorded in read_ledger(path).releases.values()):
            raise LedgerError(
                f"the key of the ledger {path.name} is not in {file}; put it back from a backup"
            ) from None
        return secrets.token_bytes(32)
    except (OSError, ValueError):
        key = b""
    if len(key) != 32:
        raise LedgerError(f"{file} does not hold the key of this ledger; put it back from a backup")
    return key


def keep_key(path: Path, key: bytes) -> None:
    """Keep the key of a new ledger where only its owner reads it; one that is kept already stays."""
    try:
        handle = os.open(_folder(path) / "key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(key.hex() + "\n")
        out.flush()
        os.fsync(out.fileno())


def append(
    path: Path,
    act: EntryKind,
    content: Mapping[str, Any],
    *,
    opening: Opening,
    expected_head: str | None = None,
    before: Callable[[int], None] = lambda number: None,
    now: datetime.datetime | None = None,
) -> Entry:
    """Add an entry to the end, on the disk before this returns.

    A ledger that does not exist begins with ``opening``. ``expected_head`` is that of the ledger that was judged: if
    somebody else wrote since, this raises and nothing is written. What would exceed the budget is refused here, under
    the lock, however many writers there are, unless it names a reason or the entry that spent it. ``before`` is called
    with the number of the entry just before it is written, under the lock too; if it raises nothing is.
    """
    with locked(path):
        ledger = read_ledger(path)
        if expected_head is not None and ledger.head != expected_head:
            raise LedgerError(overtaken(path))
        if content.get("begun") is not None:
            _check_begun(ledger, content)
        elif (
            act in (EntryKind.RELEASED, EntryKind.BEGUN)
            and content.get("budget") is not None
            and content.get("despite") is None
        ):
            ledger.check_budget(Budget.from_mapping(content["budget"]))
        at = _now(ledger, now)
        new: list[Entry] = []
        if not ledger.entries:
            new.append(Entry(sequence=1, at=at, act=EntryKind.OPENED, content=opening.to_mapping(), previous=START))
        last = new[-1] if new else ledger.entries[-1]
        new.append(Entry(sequence=last.sequence + 1, at=at, act=act, content=content, previous=last.hash))
        before(new[-1].sequence)
        _write(path, new)
        return new[-1]


def _check_begun(ledger: Ledger, content: Mapping[str, Any]) -> None:
    """Raise unless the entry that a release names has spent just its budget, for no other release."""
    begun = ledger.unfinished.get(content["begun"])
    if begun is None or begun.budget is None or begun.budget.to_mapping() != content["budget"]:
        raise LedgerError(
            f"entry {content['begun']} of the ledger {ledger.path.name} did not spend the budget of this release, or "
            "another one left by it; run it again"
        )


def overtaken(path: Path) -> str:
    """That somebody else was first."""
    return f"something else was released meanwhile and stands in {path.name}; nothing was written, run it again"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else writes to the ledger meanwhile."""
    with (_folder(path) / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _folder(path: Path) -> Path:
    folder = private_folder(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"the ledger cannot be kept in {folder.parent}: {error.strerror}; name another place with --ledger"
        ) from None
    return folder


def _parsed(path: Path) -> list[Entry]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be read: {error.strerror}") from None
    # What follows the last line break was never finished: its writer was cut off before it could say that it wrote.
    entries: list[Entry] = []
    previous = START
    for number, line in enumerate(lines[:-1], start=1):
        try:
            mapping = json.loads(line, object_pairs_hook=without_repeated_keys)
            entry = Entry.from_mapping(mapping)
            whole = mapping == entry.to_mapping() and entry.sequence == number and entry.previous == previous
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            if number == 1 and not line.startswith(b"{"):
                raise LedgerError(f"{path.name} is no ledger; one is called DATA.ledger.jsonl, and a release begins it")
            raise LedgerError(
                f"line {number} of the ledger {path.name} is not as it was written: it was edited, moved or removed; "
                "put the original back from a backup"
            )
        previous = entry.hash
        entries.append(entry)
    if entries and (entries[0].act is not EntryKind.OPENED or entries[0].content.get("format") != FORMAT_VERSION):
        raise LedgerError(f"{path.name} is not a ledger that this version of Aegis reads")
    return entries


def _check_end(path: Path, entries: Sequence[Entry]) -> None:
    """The end that was noted when the ledger was last written must still be in it."""
    try:
        noted = json.loads((private_folder(path) / "head.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        raise LedgerError(f"the end of the ledger {path.name} was noted beside it and cannot be read") from None
    sequence = int(noted["sequence"])
    if len(entries) < sequence:
        raise LedgerError(
            f"the ledger {path.name} was cut: it has {len(entries)} entries and had {sequence}; "
            "put the original back from a backup"
        )
    if entries[sequence - 1].hash != noted["hash"]:
        raise LedgerError(f"the ledger {path.name} was written anew since it was last used; put the original back")


def _now(ledger: Ledger, now: datetime.datetime | None) -> datetime.datetime:
    at = now or datetime.datetime.now(datetime.UTC)
    if not ledger.entries:
        return at
    last = ledger.entries[-1].at
    if at < last - CLOCK_SLACK:
        raise LedgerError(
            f"the clock went back: it says {at:%Y-%m-%d %H:%M} and the last entry of {ledger.path.name} is of "
            f"{last:%Y-%m-%d %H:%M} (UTC); set the clock"
        )
    return max(at, last)


def _write(path: Path, entries: Sequence[Entry]) -> None:
    text = "".join(json.dumps(entry.to_mapping(), ensure_ascii=False) + "\n" for entry in entries)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        with os.fdopen(handle, "rb+") as file:
            whole = file.read()
            file.truncate(whole.rfind(b"\n") + 1)  # a line that its writer did not finish
            file.seek(0, os.SEEK_END)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be written: {error.strerror}; nothing was released") from None
    end = {"sequence": entries[-1].sequence, "hash": entries[-1].hash}
    with draft_of(private_folder(path) / "head.json", overwrite=True, mode=PRIVATE) as draft:
        draft.write_text(json.dumps(end) + "\n", encoding="utf-8")

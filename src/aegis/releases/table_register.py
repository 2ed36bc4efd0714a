"""The register of a user: which tables something left of, and where their ledgers are, whatever the tables are called.

A ledger stands beside its table and is found by the table's name. A copy has another name. So every ledger that is
written to is noted here as well, in a folder of the user's own (``AEGIS_STATE``, or ``$XDG_STATE_HOME/aegis``, or
``~/.local/state/aegis``), with a sample of keyed digests of the rows and with the end of its chain. No value is kept. A
ledger that disappears, or comes back as it was before, is noticed by what is noted.

Tables that were made of another one's rows and have not left (masked, clustered, recoded or sanitized) are noted too:
such a file is known when it is to leave, and is judged together with the earlier releases of its source, under whatever
name it comes back.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis.counts.answer import count_rows
from aegis.data.dataset import Dataset
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import LedgerError
from aegis.releases.table_sketch import Sketch, sketch_of

STATE_VARIABLE = "AEGIS_STATE"
_TABLE, _DERIVED = ".table.npz", ".derived.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegisteredTable:
    """A table that has a ledger: the ledger's id, where it was last written, its end, and what the rows are."""

    id: str
    ledger: Path
    source: str
    columns: tuple[str, ...]
    sequence: int
    head: str
    sketch: Sketch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DerivedTable:
    """A table that ``command`` made of the rows of ``source``.

    ``rows_of`` is the file or address of that source; None where it was no file. ``sketch`` is a sample of what was
    written, ``source_sketch`` one of the source.
    """

    source: str
    rows_of: str | None
    command: str
    columns: tuple[str, ...]
    sketch: Sketch
    source_sketch: Sketch


_FOLDER: ContextVar[Path | None] = ContextVar("the folder of the register", default=None)


@contextmanager
def register_in(folder: Path) -> Iterator[None]:
    """Note tables in this folder meanwhile: those of an example are nobody's, and need not be remembered."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def state_folder() -> Path:
    """Where Aegis keeps what is this user's and must not be lost."""
    chosen = _FOLDER.get()
    if chosen is not None:
        return chosen
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "aegis"


def registered_tables() -> tuple[RegisteredTable, ...]:
    """Every table that is known, in a fixed order."""
    return tuple(_read_table(file) for file in _stored_files(_TABLE))


def _stored_files(ending: str) -> tuple[Path, ...]:
    """The files of the register whose names end like this, in a fixed order."""
    folder = state_folder() / "tables"
    try:
        return tuple(sorted(folder.glob(f"*{ending}")))
    except OSError as error:
        raise LedgerError(f"the register of tables in {folder} cannot be read: {error.strerror}") from None


def register_key() -> bytes:
    """The key of the digests; made when it is first needed."""
    file = _register_folder() / "key"
    for _ in range(2):
        try:
            key = bytes.fromhex(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            draft = file.with_name(f"key.{secrets.token_hex(8)}")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as out:
                out.write(secrets.token_hex(32) + "\n")
            try:
                os.link(draft, file)  # whoever is first; everybody reads the same
            except FileExistsError:
                pass
            finally:
                draft.unlink()
            continue
        except (OSError, ValueError):
            break
        if len(key) == 32:
            return key
        break
    raise LedgerError(f"{file} does not hold the key of the register of tables; put it back from a backup")


def sketch_rows(
    dataset: Dataset,
    *,
    focus: Sequence[str],
    identifying: Sequence[str] = (),
    rows: int | None = None,
    among: Collection[str] | None = None,
    alike: bool = False,
) -> Sketch | None:
    """The sample of a table's rows under the key of the register, without the columns that name people.

    ``among`` names the columns to look at, all unless given; with ``alike`` most rows stand in the table several times.
    """
    named = {*identifying, *dataset.roles.identifying}
    rows = count_rows(dataset.table) if rows is None else rows
    columns = [name for name in dataset.schema.names if name not in named and (among is None or name in among)]
    return sketch_of(dataset.table, columns, focus=focus, rows=rows, key=register_key(), alike=alike)


@contextmanager
def register_locked() -> Iterator[None]:
    """Nobody else registers a table meanwhile."""
    with (_register_folder() / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def note_table(table: RegisteredTable) -> None:
    """Note a table, or what became of it since; to be called under the lock."""
    file = _register_folder() / f"{table.id}{_TABLE}"
    sketch = _read_table(file).sketch.merged(table.sketch) if file.is_file() else table.sketch
    about = {
        "id": table.id,
        "ledger": str(table.ledger),
        "source": table.source,
        "columns": list(table.columns),
        "sequence": table.sequence,
        "head": table.head,
    }
    _stored_write(file, about, {"": sketch})


def drop_table(identifier: str) -> None:
    """Forget a table; to be called under the lock."""
    (_register_folder() / f"{identifier}{_TABLE}").unlink(missing_ok=True)


def derived_tables() -> tuple[DerivedTable, ...]:
    """Every table that is known to be made of another one, in a fixed order."""
    return tuple(_read_derived(file) for file in _stored_files(_DERIVED))


def made_of(sketch: Sketch, tables: Sequence[DerivedTable]) -> DerivedTable | None:
    """The table that was made of another one and whose rows these most likely are; None where they are the source's."""
    shares = {
        place: share
        for place, table in enumerate(tables)
        if table.sketch.engine == sketch.engine and (share := sketch.in_common(table.sketch)) > 0
    }
    for place in sorted(shares, key=lambda place: -shares[place]):
        if not sketch.whole().shares_rows_with(tables[place].source_sketch):
            return tables[place]
    return None


def note_derived(table: DerivedTable) -> None:
    """Note a table that was made of another one; the same content made of the same source is noted once."""
    about = "\0".join((str(table.rows_of), table.source, table.command)).encode()
    content = hashlib.blake2b(about + table.sketch.digests.tobytes(), digest_size=16).hexdigest()
    with register_locked():
        _stored_write(
            _register_folder() / f"{content}{_DERIVED}",
            {
                "source": table.source,
                "rows_of": table.rows_of,
                "command": table.command,
                "columns": list(table.columns),
            },
            {"": table.sketch, "source_": table.source_sketch},
        )


def _stored_write(file: Path, about: Mapping[str, Any], sketches: Mapping[str, Sketch]) -> None:
    """Write a file of the register: what it is about, and sketches by the names' first letters; under the lock."""
    arrays: dict[str, Any] = {}
    written = dict(about)
    for name, sketch in sketches.items():
        written |= {f"{name}level": sketch.level, f"{name}engine": sketch.engine}
        arrays |= {f"{name}digests": sketch.digests, f"{name}zeros": sketch.zeros, f"{name}ways": sketch.ways}
    text = np.frombuffer(json.dumps(written).encode(), dtype=np.uint8)
    with draft_of(file, overwrite=True, mode=PRIVATE) as draft, draft.open("wb") as out:
        np.savez_compressed(out, about=text, **arrays)


def _stored_read(file: Path, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Sketch]]:
    """What `_stored_write` wrote."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            about: dict[str, Any] = json.loads(arrays["about"].tobytes())
            sketches = {
                name: Sketch(
                    level=int(about[f"{name}level"]),
                    digests=arrays[f"{name}digests"],
                    zeros=arrays[f"{name}zeros"],
                    ways=arrays[f"{name}ways"],
                    engine=str(about[f"{name}engine"]),
                )
                for name in names
            }
            return about, sketches
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile):
        raise _damaged(file) from None


def _read_table(file: Path) -> RegisteredTable:
    about, sketches = _stored_read(file, ("",))
    try:
        return RegisteredTable(
            id=str(about["id"]),
            ledger=Path(about["ledger"]),
            source=str(about["source"]),
            columns=tuple(map(str, about["columns"])),
            sequence=int(about["sequence"]),
            head=str(about["head"]),
            sketch=sketches[""],
        )
    except (ValueError, KeyError, TypeError):
        raise _damaged(file) from None


def _read_derived(file: Path) -> DerivedTable:
    about, sketches = _stored_read(file, ("", "source_"))
    try:
        return DerivedTable(
            source=str(about["source"]),
            rows_of=None if about["rows_of"] is None else str(about["rows_of"]),
            command=str(about["command"]),
            columns=tuple(map(str, about["columns"])),
            sketch=sketches[""],
            source_sketch=sketches["source_"],
        )
    except (KeyError, TypeError):
        raise _damaged(file) from None


def _damaged(file: Path) -> LedgerError:
    """What to say of a file of the register that cannot be read."""
    return LedgerError(
        f"{file} of the register of tables is damaged; put it back from a backup, or remove it if nothing of that "
        "table is out"
    )


def _register_folder() -> Path:
    """Where the register is, made when it is first needed."""
    folder = state_folder() / "tables"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"the register of tables cannot be kept in {folder}: {error.strerror}; name a folder of your own with "
            f"{STATE_VARIABLE}"
        ) from None
    return folder

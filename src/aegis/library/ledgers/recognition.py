"""Which ledger a table has: the one beside its file, the one that is named, or that of the rows it holds.

A table is known again by its rows: its ledger is found however the table is called, and missed where it is gone. What a
command makes of a table's rows is noted as made of them, and known as that when it is to leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from aegis.commands.fields import NO_LEDGER, PathLike, Reading
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import LedgerError, OtherLedgerError
from aegis.library.tables.judging import open_written
from aegis.operation import word
from aegis.plural import count
from aegis.releases.ledger import Ledger, Opening, append, ledger_path, overtaken, read_ledger
from aegis.releases.ledger_entry import Entry, EntryKind
from aegis.releases.table_register import (
    DerivedTable,
    RegisteredTable,
    derived_tables,
    drop_table,
    made_of,
    note_derived,
    note_table,
    register_locked,
    registered_tables,
    sketch_rows,
)
from aegis.releases.table_sketch import Sketch, is_sketched


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecognisedTable:
    """What the register knows of a table whose ledger is in order.

    ``given_up`` are missing ledgers of the same rows, which a reason that stands on the certificate replaces.
    """

    sketch: Sketch | None
    source: str
    columns: tuple[str, ...]
    given_up: tuple[str, ...] = ()

    def check_again(self, path: Path, opening: Opening) -> None:
        """Raise if somebody else registered these rows under another ledger meanwhile; asked under the lock."""
        if self.sketch is None:
            return
        for registered in registered_tables():
            if registered.id not in (opening.id, *self.given_up) and _is_same(self.sketch, self.columns, registered):
                if registered.ledger == path.resolve():  # both began it
                    raise LedgerError(overtaken(path))
                raise OtherLedgerError(_elsewhere(self.source, registered))

    def put_on_record(
        self,
        path: Path,
        act: EntryKind,
        content: Mapping[str, Any],
        *,
        opening: Opening,
        expected_head: str | None = None,
        before: Callable[[int], None] = lambda number: None,
    ) -> int:
        """Append an entry to the table's ledger and note its end; answers the number of the entry.

        See `aegis.releases.ledger.append`. Of two copies that are released at the same time one is first.
        """
        with register_locked():
            self.check_again(path, opening)
            entry = append(path, act, content, opening=opening, expected_head=expected_head, before=before)
            self._note(path, opening, entry)
        return entry.sequence

    def _note(self, path: Path, opening: Opening, entry: Entry) -> None:
        """Note the table with the end of its ledger; called under the lock, once the entry is written."""
        if self.sketch is None:
            return
        note_table(
            RegisteredTable(
                id=opening.id,
                ledger=path.resolve(),
                source=opening.source,
                columns=self.columns,
                sequence=entry.sequence,
                head=entry.hash,
                sketch=self.sketch,
            )
        )
        for identifier in self.given_up:
            drop_table(identifier)


def recognise(
    dataset: Dataset,
    *,
    path: Path | None,
    ledger: Ledger | None,
    focus: Sequence[str],
    identifying: Sequence[str] = (),
    rows: int | None = None,
    to_write: bool = False,
    despite: str | None = None,
) -> RecognisedTable:
    """Look a table up by its rows and see that ``ledger``, at ``path``, is the one that knows what was released from
    it.

    Raises where the rows are those of a table with another ledger, where they were made of another table's, where their
    ledger is missing, and where the ledger is an older copy of itself. Only what is ``to_write`` into the ledger needs
    the sample where no other table is registered. ``despite`` is the reason to begin another ledger where the old one
    is missing.
    """
    own = None if ledger is None or ledger.opening is None else ledger.opening.id
    tables, derived = registered_tables(), derived_tables()
    for table in tables:
        if table.id == own and ledger is not None:
            _check_newest(ledger, table)
    others = [table for table in tables if table.id != own]
    columns = dataset.schema.names
    if not (others or derived or (to_write and path is not None)) or not is_sketched(dataset.table):
        return RecognisedTable(sketch=None, source=dataset.name, columns=columns)
    sketch = sketch_rows(dataset, focus=focus, identifying=identifying, rows=rows)
    recognised = RecognisedTable(sketch=sketch, source=dataset.name, columns=columns)
    if sketch is None:
        return recognised
    derived_from = made_of(sketch, derived)
    if derived_from is not None:
        raise OtherLedgerError(made_elsewhere(dataset.name, derived_from))
    given_up = []
    narrower = _Narrower(dataset=dataset, focus=focus, identifying=identifying, rows=rows)
    for table in others:
        if not _is_same(sketch, columns, table) and not narrower.is_same(table):
            continue
        if _is_there(table):
            raise OtherLedgerError(_elsewhere(dataset.name, table))
        if despite is None:
            way_out = (
                "begin another with --despite-ledger REASON, which the certificate states"
                if to_write
                else ("give --ledger none to go on without it")
            )
            raise OtherLedgerError(
                f"something was released from the rows of {dataset.name} before, and their ledger {table.ledger} is "
                "missing or "
                f"was written anew; put it back with its private folder, or {way_out}"
            )
        given_up.append(table.id)
    return replace(recognised, given_up=tuple(given_up))


def ledger_of_rows(dataset: Dataset, *, besides: Ledger | None, focus: Sequence[str]) -> RegisteredTable | None:
    """The table that the register knows these rows from, where its ledger is another than ``besides``; None if not."""
    return next(iter(ledgers_of_rows(dataset, besides=besides, focus=focus)), None)


def ledgers_of_rows(dataset: Dataset, *, besides: Ledger | None, focus: Sequence[str]) -> tuple[RegisteredTable, ...]:
    """Every table that the register knows these rows from, but the one whose ledger is ``besides``."""
    own = None if besides is None or besides.opening is None else besides.opening.id
    others = [table for table in registered_tables() if table.id != own]
    if not others or not is_sketched(dataset.table):
        return ()
    sketch = sketch_rows(dataset, focus=focus)
    if sketch is None:
        return ()
    narrower, names = _Narrower(dataset=dataset, focus=focus), dataset.schema.names
    return tuple(table for table in others if _is_same(sketch, names, table) or narrower.is_same(table))


def refuse_rows_of_others(dataset: Dataset, ledger: Path | None) -> None:
    """Raise where the rows left before under another ledger: said before anybody is asked anything."""
    own = None if ledger is None else read_ledger(ledger)
    match = ledger_of_rows(dataset, besides=own, focus=())
    if match is not None and _is_there(match):
        raise OtherLedgerError(_elsewhere(dataset.name, match))


def forget_rows(dataset: Dataset) -> None:
    """Forget a table whose rows are made up and drawn again: nobody is in it."""
    tables = registered_tables()
    if not tables:
        return
    sketch = sketch_rows(dataset, focus=())
    for table in tables:
        if sketch is not None and _is_same(sketch, dataset.schema.names, table):
            drop_table(table.id)


def _is_same(sketch: Sketch, columns: Sequence[str], table: RegisteredTable) -> bool:
    if sketch.engine == table.sketch.engine:
        return sketch.shares_rows_with(table.sketch)
    # Another version of the engine took the sample: the columns are all that can be compared, and enough to ask.
    return set(table.columns) <= set(columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Narrower:
    """A table looked at by the columns only that another one has too, whatever was added to them."""

    dataset: Dataset
    focus: Sequence[str]
    identifying: Sequence[str] = ()
    rows: int | None = None
    _sketches: dict[frozenset[str], Sketch | None] = field(default_factory=dict)

    def is_same(self, table: RegisteredTable) -> bool:
        """Whether its rows are those of ``table`` with several columns more; one more is seen without this."""
        names = set(self.dataset.schema.names)
        shared = frozenset(names & set(table.columns))
        if len(names - shared) < 2 or len(shared) < max(2, len(table.columns) - 2):
            return False
        if shared not in self._sketches:
            self._sketches[shared] = sketch_rows(
                self.dataset, focus=self.focus, identifying=self.identifying, rows=self.rows, among=shared
            )
        sketch = self._sketches[shared]
        return sketch is not None and _is_same(sketch, tuple(shared), table)


def _is_there(table: RegisteredTable) -> bool:
    try:
        opening = read_ledger(table.ledger).opening
    except LedgerError:
        return True  # it is there, and whoever gives it is told what is wrong with it
    return opening is not None and opening.id == table.id


def _elsewhere(name: str, table: RegisteredTable) -> str:
    folder = table.ledger.parent.name or "/"
    other = table.source if table.source != name else f"another table called {name}, whose ledger is in {folder}"
    return (
        f"{name} holds rows of {other}, of which something was released before: give its ledger with "
        f"--ledger {table.ledger}, so that both are judged together (--ledger none judges it alone)"
    )


def _check_newest(ledger: Ledger, table: RegisteredTable) -> None:
    """The end that the register noted must be in the ledger, whatever else lies beside it."""
    if len(ledger.entries) >= table.sequence and ledger.entries[table.sequence - 1].hash == table.head:
        return
    where = "" if table.ledger == ledger.path.resolve() else f" in {table.ledger}"
    raise LedgerError(
        f"the ledger {ledger.path.name} is an older copy: it had {table.sequence} entries when it was last written"
        f"{where}, and has {len(ledger.entries)}; put the newest one and its private folder in its place"
    )


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
    source = sample_of(dataset, alike=False) or sketch.emptied()
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

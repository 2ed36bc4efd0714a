"""What is out of a table, as a constraint on what may leave next: its ledger, read, and its rows, known again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.commands.fields import WithLedger
from aegis.counts.answer import ask, encode, plain
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import with_person
from aegis.counts.grouping import Codes, group_tuples
from aegis.data.dataset import Dataset
from aegis.data.dialect import lookup_table
from aegis.data.engine import as_dataset
from aegis.data.schema import Role, Roles
from aegis.errors import LedgerError
from aegis.library.earlier_promises import check_promises
from aegis.library.ledger_place import NO_LEDGER, path_of
from aegis.library.recognition import Recognised, recognise
from aegis.library.row_by_row import SameRows, as_shown, beside_source
from aegis.privacy.policy import Policy, Recipients
from aegis.privacy.together import COMPANION, KNOWN_CLASS, Gone, Holder, Together, judge_together
from aegis.releases.ledger import Ledger, Opening, key_of, read_ledger
from aegis.releases.ledger_entry import ANYBODY, Leaving, recipient_key, recipient_named
from aegis.releases.row_classes import RowClasses, read_row_classes
from aegis.releases.row_digest import OWN, ROW, WHOLE, Digests

_VALUE, _KEY = f"{OWN}value_", f"{OWN}key"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A table with its ledger.

    ``dataset`` is the table with the digest of each row, and with the column `KNOWN_CLASS` where something is out that
    counts (``counted``); ``named`` has only the digests, and so has ``source``, which shows the rows as they are even
    where a table made of them is released. ``present`` are the digests of its rows, ``version`` that of all of it, None
    where nothing is ``to_release`` and the ledger knows one version only: then none is older than another.
    ``roles`` are those of the columns that leave.
    ``extra`` are the codes of quasi-identifiers that an earlier release showed without calling them so.
    """

    ledger: Ledger
    opening: Opening
    digests: Digests
    rows: RowClasses
    present: Codes
    version: str | None
    recipient: str
    counted: Mapping[int, Leaving]
    source: Dataset
    named: Dataset
    dataset: Dataset
    attributes: tuple[str, ...]
    roles: Roles
    extra: Mapping[str, Codes]
    fewest: int
    recognised: Recognised
    to_release: bool = False
    known: Codes | None = None
    """The known class of each row that the ledger knows, by the releases that count; None where none does."""
    is_absent: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Which rows that the ledger knows are not in the table any more."""
    same_rows: SameRows | None = None
    """By what it was seen that a table that was finished elsewhere is in the order of its source."""
    apart: bool = False
    """Whether this is for anybody while recipients keep what they hold apart: each is then judged by what they hold."""
    holders: tuple[Holder, ...] = ()
    """How those know the records who hold only some of what counts; without any everybody holds all of it."""
    unjoinable: str | None = None
    """Why nobody can say what the releases show together."""
    kept: object = None
    """Ibis drops a table that it keeps in an engine as soon as nobody holds it."""

    @property
    def path(self) -> Path:
        return self.ledger.path

    @property
    def constrains(self) -> bool:
        """Whether anything is out that a new release can be judged together with."""
        return bool(self.counted) and self.unjoinable is None

    def gone_from(self, table: ClassTable) -> Gone | None:
        """The records that left earlier and are not in the table any more, for the classes of ``table``."""
        known = self.known
        if known is None:
            return None
        is_gone = self.is_absent & (known > 0)
        unseen = _unseen(self.counted, self.attributes)
        if not is_gone.any():
            return Gone.nobody(unseen=unseen, holders=self.holders) if unseen or self.holders else None
        if self.extra:
            raise LedgerError(
                f"{next(iter(self.extra))!r} was shown earlier and is quasi-identifying only now, and records left "
                "since; what they show together cannot be judged"
            )
        classes, owner = np.unique(known[is_gone], return_inverse=True)
        unknown = np.zeros(len(classes), dtype=bool)
        values = {}
        for name in self.attributes:
            if name not in table.contents:
                continue
            codes = self._codes_of_gone(table, name, self.rows.values.get(name), is_gone)
            if codes is None:
                unknown[:] = True
                continue
            unknown[owner[codes < 0]] = True
            seen = codes >= 0
            values[name] = (owner[seen].astype(np.int64), codes[seen], np.ones(int(seen.sum()), dtype=np.int64))
        # A class with a value that nobody knows any more fails whatever else it holds; every part needs an entry.
        for name, (owners, codes, counts) in list(values.items()):
            bare = np.setdiff1d(np.arange(len(classes)), owners)
            values[name] = (
                np.concatenate([owners, bare]),
                np.concatenate([codes, np.zeros(len(bare), dtype=np.int64)]),
                np.concatenate([counts, np.ones(len(bare), dtype=np.int64)]),
            )
        for name in table.contents:
            if name in self.attributes and name not in values:
                nothing = np.zeros(len(classes), dtype=np.int64)
                values[name] = (np.arange(len(classes)), nothing, nothing + 1)
        return Gone(
            known=classes.astype(np.int64),
            sizes=np.bincount(owner, minlength=len(classes)).astype(np.int64),
            values=values,
            unknown=unknown,
            unseen=unseen,
            holders=self.holders,
        )

    def _codes_of_gone(self, table: ClassTable, name: str, digests: Codes | None, is_gone: Any) -> Codes | None:
        """The codes of the values that records had which are gone, -1 where a value no longer occurs."""
        if digests is None:
            return None
        rows, digest = self.dataset.table, self.value_column(name)
        if digest in rows.columns:
            values = rows.select(rows[name], rows[digest]).distinct()
        else:  # nothing is to be released: a digest of each different value is enough
            values = rows.select(rows[name]).distinct()
            values = values.mutate(**{digest: self.digests.of(values, [name], purpose=_purpose(name))})
        answer = ask(values)
        domain, codes = encode(answer[name], self.dataset.schema.kind(name))
        if domain != table.contents[name].domain:  # the release shows it masked: what was is not comparable
            return None
        known = np.asarray(plain(answer[digest]), dtype=np.int64)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known[order], digests[is_gone]), len(known) - 1)
        return np.where(known[order][place] == digests[is_gone], codes[order][place], -1)

    def value_column(self, name: str) -> str:
        """The column with the digest of a sensitive value."""
        return f"{_VALUE}{self.attributes.index(name)}"

    def judge(self, table: ClassTable, policy: Policy) -> Together:
        """Judge classes whose last column is the known class, together with everything that is out."""
        return judge_together(table, policy, gone=self.gone_from(table))

    def narrowed_to(self, numbers: Sequence[int]) -> Standing:
        """The same as if only these releases were out."""
        fewer = {number: self.counted[number] for number in numbers}
        extra = {name: self.extra[name] for name in _uncovered(fewer, tuple(self.extra))}
        return _joined(replace(self, counted=fewer, extra=extra))


def standing_of(
    data: object,
    dataset: Dataset,
    options: WithLedger,
    *,
    policy: Policy,
    roles: Roles,
    identifying: Sequence[str] | None = None,
    to_release: bool = False,
    despite: str | None = None,
    finished: Dataset | None = None,
) -> Standing | None:
    """The ledger of ``data`` and its rows; None where there is no ledger.

    ``roles`` are those of the columns that leave; ``identifying`` names the columns that identify people whether they
    leave or not, because rows are known again by them. ``finished`` is a table that was made of these rows, in their
    order: what leaves is what it shows of them.

    Raises where the rows are known to have another ledger. Only what is ``to_release`` something needs the rows of a
    table of which nothing is out. ``despite`` is the reason to begin another ledger where that of the rows is missing.
    """
    if options.ledger is not None and str(options.ledger) == NO_LEDGER:
        return None
    path = path_of(data, options)
    identifying = roles.identifying if identifying is None else tuple(identifying)
    focus = (*roles.quasi_identifying, *policy.attributes)
    if path is None:
        recognise(dataset, path=None, ledger=None, focus=focus, identifying=identifying)
        return None
    ledger = read_ledger(path)
    recipient = recipient_named(options.recipient)
    counted = ledger.counted(recipient=recipient, recipients=policy.recipients)
    if not counted and not to_release:
        recognise(dataset, path=path, ledger=ledger, focus=focus, identifying=identifying)
        return None
    opening = ledger.opening or _opening(dataset, identifying)
    lacking = [name for name in opening.columns if name not in dataset.schema]
    if lacking:
        raise LedgerError(
            f"the ledger {path.name} is that of {opening.source}, which has the column {lacking[0]!r}, and "
            f"{dataset.name} has none; give the ledger of this table with --ledger"
        )
    digests = Digests(key=key_of(path), rows_by=opening.rows_by, columns=opening.columns)
    rows_with_shown, same_rows = dataset.table, None
    if finished is not None:  # it does not say whose its rows are, and their source does
        rows_with_shown, same_rows = beside_source(with_person(dataset, policy.unit), finished)
    rows = read_row_classes(path)
    attributes = policy.attributes
    extra = _uncovered(counted, roles.quasi_identifying)
    kept, answer = _named(
        rows_with_shown,
        digests,
        beside=extra,
        attributes=attributes if to_release or finished is not None else (),
        whole=to_release or _knows_several_versions(ledger),
    )
    present = np.asarray(plain(answer[ROW]), dtype=np.int64)
    named, version = kept, None
    if WHOLE in answer.column_names:
        version = digests.version(np.asarray(plain(answer[WHOLE]), dtype=np.int64))
        named = kept.drop(WHOLE)
    recognised = recognise(
        replace(dataset, table=named),
        path=path,
        ledger=ledger,
        focus=focus,
        identifying=identifying,
        rows=len(present),
        to_write=to_release,
        despite=despite,
    )
    if version is not None:
        _check_version(ledger, version, dataset.name)
    _check_unit(counted, policy)
    place = rows.found(present)
    if counted and len(rows.rows) and not (place >= 0).any():
        raise LedgerError(
            f"the ledger {path.name} is that of another table: none of the rows of {dataset.name} is known to it; "
            "give the ledger of this table with --ledger"
        )
    source = base = _with_roles(named, dataset)
    if finished is not None:
        base = _with_roles(as_shown(named, finished.schema.names), finished)
    return _joined(
        Standing(
            ledger=ledger,
            opening=opening,
            digests=digests,
            rows=rows,
            present=present,
            version=version,
            recipient=recipient,
            apart=recipient == ANYBODY and policy.recipients is Recipients.SEPARATE,
            counted=counted,
            source=source,
            named=base,
            dataset=base,
            attributes=attributes,
            roles=roles,
            fewest=_fewest(policy),
            recognised=recognised,
            to_release=to_release,
            same_rows=same_rows,
            kept=kept,
            extra={name: encode(answer[name], dataset.schema.kind(name))[1] for name in extra},
        ),
    )


def _named(
    table: ir.Table, digests: Digests, *, beside: Sequence[str], attributes: Sequence[str], whole: bool
) -> tuple[ir.Table, pa.Table]:
    """The table with the digests of its rows and of some attributes, and those of its rows with the columns ``beside``.

    Digests of everything in a row are there if ``whole`` asks for them, or the rows are not told apart without.
    """
    if not whole and not attributes and digests.rows_by != digests.columns:
        named = digests.named_by_columns(table)
        answer = ask(named.select(ROW, *beside))
        if len(np.unique(plain(answer[ROW]))) == len(answer):
            return named, answer
    named = digests.named(table)
    values = {
        f"{_VALUE}{place}": digests.of(named, [name], purpose=_purpose(name)) for place, name in enumerate(attributes)
    }
    kept = named.mutate(**values).cache()
    return kept, ask(kept.select(ROW, WHOLE, *beside))


def _purpose(attribute: str) -> str:
    """What digests of a sensitive value are for, so that they have nothing in common with others."""
    return f"value of {attribute}"


def constraint_on(
    data: object, dataset: Dataset, options: WithLedger, *, policy: Policy, roles: Roles
) -> Standing | None:
    """What is out of a table, for whoever looks for what may leave next; None where nothing counts."""
    standing = standing_of(data, dataset, options, policy=policy, roles=roles)
    if standing is not None and standing.unjoinable is not None:
        raise LedgerError(standing.unjoinable)
    if standing is not None:
        hidden = {name for leaving in standing.counted.values() for name in leaving.had_role(Role.IDENTIFYING)}
        hidden = {name for name in hidden if roles.get(name) is None}  # until somebody says that it may be shown
        hidden.update(roles.identifying)
        kept = [name for name in dataset.schema.names if name not in hidden]
        check_promises(standing.counted, policy, roles, published=kept)
    return standing


def _joined(standing: Standing) -> Standing:
    """With the known class of every record, where something is out that counts."""
    if not standing.counted:
        return replace(standing, dataset=standing.named, known=None, holders=())
    try:
        known, mine = _known(standing, standing.counted)
        holders = _holders(standing, known, mine)
    except LedgerError as error:
        return replace(standing, dataset=standing.named, known=None, holders=(), unjoinable=str(error))
    place = standing.rows.found(standing.present)
    is_absent = np.ones(len(known), dtype=bool)
    is_absent[place[place >= 0]] = False
    mine = mine + COMPANION * _companions(standing, known, place)
    table = standing.named.table
    lookup = lookup_table(table.get_backend(), pa.table({_KEY: standing.present, KNOWN_CLASS: mine}))
    joined = table.left_join(lookup, table[ROW] == lookup[_KEY]).drop(_KEY)
    if standing.to_release:  # counted, written and put on the record; a search counts it once
        joined = joined.cache()
    return replace(
        standing,
        dataset=_with_roles(joined, standing.named),
        known=known,
        holders=holders,
        is_absent=is_absent,
        kept=(standing.kept, joined),
    )


def _known(standing: Standing, counted: Mapping[int, Leaving]) -> tuple[Codes, Codes]:
    """The known class of each row that the ledger knows and of each row of the table, by some of the releases."""
    known = standing.rows.known_classes([leaving.rows_as or n for n, leaving in counted.items()])
    place = standing.rows.found(standing.present)
    mine = np.where(place >= 0, known[place], 0) if len(known) else np.zeros(len(place), dtype=np.int64)
    for name in _uncovered(counted, tuple(standing.extra)):  # as good as known to everybody
        codes = standing.extra[name]
        sizes = [int(mine.max()) + 1, int(codes.max()) + 1]
        mine = np.where(mine > 0, group_tuples(np.stack([mine, codes], axis=1), sizes)[1] + 1, 0)
    return known, mine


def _holders(standing: Standing, known: Codes, mine: Codes) -> tuple[Holder, ...]:
    """Those who get a release for anybody where recipients hold theirs apart: each named one, and everybody else."""
    if not standing.apart:
        return ()
    names = dict.fromkeys(recipient_key(leaving.recipient) for leaving in standing.counted.values())
    held = {name: {n: each for n, each in standing.counted.items() if each.is_held_as(name)} for name in names}
    different = {frozenset(each.rows_as or n for n, each in some.items()): some for some in held.values()}
    holders = []
    for some in different.values():
        theirs, mine_as_theirs = _known(standing, some)
        known_as = np.zeros(int(max(known.max(initial=0), mine.max(initial=0))) + 1, dtype=np.int64)
        if not standing.extra:  # with any, records that are gone cannot be judged at all
            known_as[known] = theirs
        known_as[mine] = mine_as_theirs
        holders.append(Holder(known_as=known_as, unseen=_unseen(some, standing.attributes)))
    return tuple(holders)


def _unseen(counted: Mapping[int, Leaving], attributes: Sequence[str]) -> frozenset[str]:
    """The sensitive columns that not every one of these releases shows."""
    return frozenset(name for name in attributes if any(name not in each.columns for each in counted.values()))


def _companions(standing: Standing, known: Codes, place: Codes) -> Codes:
    """Which rows stay out of the next release, so that those of their known class that are gone are not alone.

    Without them the whole class would have to stay out. They are the first by their digests: the same every time.
    """
    chosen = np.zeros(len(place), dtype=np.int64)
    if standing.extra or not len(known):
        return chosen
    is_gone = np.ones(len(known), dtype=bool)
    is_gone[place[place >= 0]] = False
    gone = np.bincount(known[is_gone & (known > 0)], minlength=int(known.max(initial=0)) + 1)
    wanted = np.where(gone > 0, np.maximum(standing.fewest - gone, 0), 0)
    rows = np.flatnonzero((place >= 0) & (wanted[known[place]] > 0))
    order = rows[np.lexsort((standing.present[rows], known[place[rows]]))]
    classes = known[place[order]]
    begins = np.flatnonzero(np.concatenate([[True], classes[1:] != classes[:-1]])) if len(order) else order
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.concatenate([begins, [len(order)]])))
    chosen[order[rank < wanted[classes]]] = 1
    return chosen


def _fewest(policy: Policy) -> int:
    """How many records a group needs to have a good chance to satisfy a policy."""
    sizes = [int(model.threshold) for model in policy.models if model.name in ("k-anonymity", "distinct-l-diversity")]
    return max(sizes, default=2) * (2 if policy.attributes else 1)


def _opening(dataset: Dataset, identifying: Sequence[str]) -> Opening:
    """A new ledger: rows are told apart by what identifies people if that is different in every row."""
    columns = dataset.schema.names
    by = tuple(name for name in columns if name in identifying)
    if by:
        table = dataset.table
        answer = ask(table.select(*by).distinct().aggregate(n=table.select(*by).distinct().count()))
        rows = ask(table.aggregate(n=table.count()))
        if answer["n"][0].as_py() != rows["n"][0].as_py():
            by = ()
    return Opening.new(source=dataset.name, columns=columns, rows_by=by)


def _knows_several_versions(ledger: Ledger) -> bool:
    """Whether a table could be an older version than the newest that something left of."""
    return len({leaving.version for leaving in ledger.releases.values() if leaving.version is not None}) > 1


def _check_version(ledger: Ledger, version: str, name: str) -> None:
    """Raise for a version that an earlier release had and a later one has not any more."""
    versions = [leaving.version for leaving in ledger.releases.values() if leaving.version is not None]
    if versions and version != versions[-1] and version in versions:
        older = versions.index(version)
        number = list(ledger.releases)[older]
        raise LedgerError(
            f"{name} is an older version of the table: entry {number} of its ledger had it, and entry "
            f"{list(ledger.releases)[-1]} a newer one; give the newest"
        )


def _check_unit(counted: Mapping[int, Leaving], policy: Policy) -> None:
    """Raise where an earlier release counted people and this one would count their records."""
    for number, leaving in counted.items():
        unit = (leaving.policy or {}).get("unit")
        if unit is not None and unit != policy.unit:
            counts = "records" if policy.unit is None else f"people by {policy.unit!r}"
            raise LedgerError(
                f"entry {number} ({leaving.name}) of the ledger counted people by {unit!r} and this one counts "
                f"{counts}, so nobody can say what both promise together; put unit: {unit} into the policy"
            )


def _uncovered(counted: Mapping[int, Leaving], quasi: Sequence[str]) -> tuple[str, ...]:
    """The quasi-identifiers that an earlier release showed without calling them so."""
    shown = {name for leaving in counted.values() for name in leaving.columns if name not in leaving.quasi_identifying}
    return tuple(name for name in quasi if name in shown)


def _with_roles(table: Any, dataset: Dataset) -> Dataset:
    return replace(as_dataset(table), name=dataset.name, roles=dataset.roles)

"""The earlier releases of a table, as a constraint on what may be released next: what everybody who holds it knows of
each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.answer import ask, encode, plain
from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import group_tuples
from aegis.data.dataset import Dataset, lookup_table
from aegis.data.engine import as_dataset
from aegis.data.schema import Roles
from aegis.errors import LedgerError
from aegis.library.ledgers.recognition import RecognisedTable
from aegis.library.ledgers.row_by_row import SameRows
from aegis.privacy.policy import Policy
from aegis.privacy.together import COMPANION, KNOWN_CLASS, Gone, Holder, Together, judge_together
from aegis.releases.ledger import Ledger, Opening
from aegis.releases.ledger_entry import ANYBODY, RecordedRelease, recipient_key
from aegis.releases.row_digest import OWN, ROW, Digests, RowClasses

VALUE = f"{OWN}value_"
"""How the columns with the digests of sensitive values begin."""
_KEY = f"{OWN}key"
_MOST_TRIED = 12
"""How many earlier releases are tried one by one to say with which of them a new one breaks the policy."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EarlierReleases:
    """A table with its ledger.

    ``dataset`` is the table with the digest of each row, and with the column `KNOWN_CLASS` where an earlier release
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
    counted: Mapping[int, RecordedRelease]
    source: Dataset
    named: Dataset
    dataset: Dataset
    attributes: tuple[str, ...]
    roles: Roles
    extra: Mapping[str, Codes]
    fewest: int
    recognised: RecognisedTable
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
        """Whether there is an earlier release that a new release can be judged together with."""
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
            values = values.mutate(**{digest: self.digests.of(values, [name], purpose=value_purpose(name))})
        answer = ask(values)
        domain, codes = encode(answer[name], self.dataset.schema.kind(name))
        if domain != table.contents[name].domain:  # the release shows it masked: what was is not comparable
            return None
        digest_of_value = np.asarray(plain(answer[digest]), dtype=np.int64)
        order = np.argsort(digest_of_value)
        place = np.minimum(np.searchsorted(digest_of_value[order], digests[is_gone]), len(digest_of_value) - 1)
        return np.where(digest_of_value[order][place] == digests[is_gone], codes[order][place], -1)

    def value_column(self, name: str) -> str:
        """The column with the digest of a sensitive value."""
        return f"{VALUE}{self.attributes.index(name)}"

    def judge(self, table: ClassTable, policy: Policy) -> Together:
        """Judge classes whose last column is the known class, together with all earlier releases."""
        return judge_together(table, policy, gone=self.gone_from(table))

    def narrowed_to(self, numbers: Sequence[int]) -> EarlierReleases:
        """The same as if only these releases were out."""
        fewer = {number: self.counted[number] for number in numbers}
        extra = {name: self.extra[name] for name in uncovered(fewer, tuple(self.extra))}
        return joined(replace(self, counted=fewer, extra=extra))

    @property
    def different(self) -> tuple[int, ...]:
        """The numbers of the releases that count; of those that show the same the first stands for all."""
        firsts: dict[int, int] = {}
        for number, recorded in self.counted.items():
            firsts.setdefault(recorded.rows_as or number, number)
        return tuple(firsts.values())

    def refusal(self, together: Together, judge: Callable[[EarlierReleases], Together]) -> str:
        """Why a release may not follow the earlier ones: with which releases it breaks which models, and what may.

        ``judge`` says what the release does ``together`` with some of the earlier releases only.
        """
        numbers = self.different
        if 1 < len(numbers) <= _MOST_TRIED:
            alone = [number for number in numbers if not judge(self.narrowed_to([number])).satisfied]
            numbers = tuple(alone) or numbers
        with_which = ", ".join(f"entry {number} ({_described(self.counted[number])})" for number in numbers)
        models = ", ".join(f"{broken.model} (for {broken.records:,} records)" for broken in together.broken)
        more = f": {together.reason}" if together.reason else ""
        return (
            f"together with {with_which} it breaks {models or 'the policy'}{more}; allowed are the same release again, "
            f"a coarser one, or what aegis search finds under the ledger {self.path.name}"
        )


def _described(recorded: RecordedRelease) -> str:
    return recorded.name if recorded.recipient == ANYBODY else f"{recorded.name} to {recorded.recipient}"


def value_purpose(attribute: str) -> str:
    """What digests of a sensitive value are for, so that they have nothing in common with others."""
    return f"value of {attribute}"


def joined(earlier: EarlierReleases) -> EarlierReleases:
    """With the known class of every record, where an earlier release counts."""
    if not earlier.counted:
        return replace(earlier, dataset=earlier.named, known=None, holders=())
    try:
        known, mine = _known(earlier, earlier.counted)
        holders = _holders(earlier, known, mine)
    except LedgerError as error:
        return replace(earlier, dataset=earlier.named, known=None, holders=(), unjoinable=str(error))
    place = earlier.rows.found(earlier.present)
    is_absent = np.ones(len(known), dtype=bool)
    is_absent[place[place >= 0]] = False
    mine = mine + COMPANION * _companions(earlier, known, place)
    table = earlier.named.table
    lookup = lookup_table(table.get_backend(), pa.table({_KEY: earlier.present, KNOWN_CLASS: mine}))
    joined = table.left_join(lookup, table[ROW] == lookup[_KEY]).drop(_KEY)
    if earlier.to_release:  # counted, written and put on the record; a search counts it once
        joined = joined.cache()
    return replace(
        earlier,
        dataset=with_roles_of(joined, earlier.named),
        known=known,
        holders=holders,
        is_absent=is_absent,
        kept=(earlier.kept, joined),
    )


def _known(earlier: EarlierReleases, counted: Mapping[int, RecordedRelease]) -> tuple[Codes, Codes]:
    """The known class of each row that the ledger knows and of each row of the table, by some of the releases."""
    known = earlier.rows.known_classes([recorded.rows_as or n for n, recorded in counted.items()])
    place = earlier.rows.found(earlier.present)
    mine = np.where(place >= 0, known[place], 0) if len(known) else np.zeros(len(place), dtype=np.int64)
    for name in uncovered(counted, tuple(earlier.extra)):  # as good as known to everybody
        codes = earlier.extra[name]
        sizes = [int(mine.max()) + 1, int(codes.max()) + 1]
        mine = np.where(mine > 0, group_tuples(np.stack([mine, codes], axis=1), sizes)[1] + 1, 0)
    return known, mine


def _holders(earlier: EarlierReleases, known: Codes, mine: Codes) -> tuple[Holder, ...]:
    """Those who get a release for anybody where recipients hold theirs apart: each named one, and everybody else."""
    if not earlier.apart:
        return ()
    names = dict.fromkeys(recipient_key(recorded.recipient) for recorded in earlier.counted.values())
    held_by = {
        name: {n: recorded for n, recorded in earlier.counted.items() if recorded.is_held_as(name)} for name in names
    }
    different = {frozenset(recorded.rows_as or n for n, recorded in some.items()): some for some in held_by.values()}
    holders = []
    for some in different.values():
        theirs, mine_as_theirs = _known(earlier, some)
        known_as = np.zeros(int(max(known.max(initial=0), mine.max(initial=0))) + 1, dtype=np.int64)
        if not earlier.extra:  # with any, records that are gone cannot be judged at all
            known_as[known] = theirs
        known_as[mine] = mine_as_theirs
        holders.append(Holder(known_as=known_as, unseen=_unseen(some, earlier.attributes)))
    return tuple(holders)


def _unseen(counted: Mapping[int, RecordedRelease], attributes: Sequence[str]) -> frozenset[str]:
    """The sensitive columns that not every one of these releases shows."""
    return frozenset(name for name in attributes if any(name not in recorded.columns for recorded in counted.values()))


def _companions(earlier: EarlierReleases, known: Codes, place: Codes) -> Codes:
    """Which rows stay out of the next release, so that those of their known class that are gone are not alone.

    Without them the whole class would have to stay out. They are the first by their digests: the same every time.
    """
    chosen = np.zeros(len(place), dtype=np.int64)
    if earlier.extra or not len(known):
        return chosen
    is_gone = np.ones(len(known), dtype=bool)
    is_gone[place[place >= 0]] = False
    gone = np.bincount(known[is_gone & (known > 0)], minlength=int(known.max(initial=0)) + 1)
    fewest_beside = np.where(gone > 0, np.maximum(earlier.fewest - gone, 0), 0)
    rows = np.flatnonzero((place >= 0) & (fewest_beside[known[place]] > 0))
    order = rows[np.lexsort((earlier.present[rows], known[place[rows]]))]
    classes = known[place[order]]
    begins = np.flatnonzero(np.concatenate([[True], classes[1:] != classes[:-1]])) if len(order) else order
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.concatenate([begins, [len(order)]])))
    chosen[order[rank < fewest_beside[classes]]] = 1
    return chosen


def uncovered(counted: Mapping[int, RecordedRelease], quasi: Sequence[str]) -> tuple[str, ...]:
    """The quasi-identifiers that an earlier release showed without calling them so."""
    shown = {
        name for recorded in counted.values() for name in recorded.columns if name not in recorded.quasi_identifying
    }
    return tuple(name for name in quasi if name in shown)


def with_roles_of(table: Any, dataset: Dataset) -> Dataset:
    """The rows under the name and the roles of a dataset."""
    return replace(as_dataset(table), name=dataset.name, roles=dataset.roles)

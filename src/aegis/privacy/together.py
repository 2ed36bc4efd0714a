"""A release judged together with earlier releases: on what somebody sees who holds all of it and links the rows.

Earlier releases put every record into a *known class*: the records that look alike in each of the earlier releases,
absence and suppression included. A new release splits the known classes further; what it shows of one is a *part*. The
policy must hold for every part. A part that is a whole known class tells nothing new about it and is always allowed:
the same release again, or a coarser one. Records that never left are in no known class; those that would stand in a
failing part wait, unseen, until enough like them have come. Records that are known and fail are suppressed, or held
back, within the policy's limit. docs/theory/several-releases.md proves what this promises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.class_table import SUPPRESSED, ClassTable, suppressed_classes
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples, group_keys, group_tuples, summed
from aegis.errors import LedgerError
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import Verdict

KNOWN_CLASS = "_aegis_ledger_known_class"
"""The column that says in which known class a record is; 0 is that of the records that never left."""

COMPANION = 1 << 40
"""Added to the known class of records that stay out of a release beside others of their class that are gone."""

SHOWN, STARRED, HELD = 0, 1, 2
"""What becomes of the records of a class: its tuple is shown, is starred, or they are not in the release."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Holder:
    """Somebody who holds only some of the releases that are out.

    ``known_as`` says of each known class in which class its records are for them: 0 where they never saw them.
    ``unseen`` are the sensitive attributes that not every release shows that they hold.
    """

    known_as: Codes
    unseen: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gone:
    """Records that left earlier and are no longer in the source, by known class.

    ``values[a]`` holds (class, code, count) of each value of attribute a that the source still has. ``unknown`` marks
    classes where a value is one that no longer occurs, so that nobody can say how diverse they are. ``unseen`` are the
    sensitive attributes that not every earlier release shows: of these a whole known class may tell something new.
    ``holders`` are those who hold only some of earlier releases and get the release all the same; without any, whoever
    gets it holds everything.
    """

    known: Codes
    sizes: Codes
    values: Mapping[str, tuple[Codes, Codes, Codes]]
    unknown: NDArray[np.bool_]
    unseen: frozenset[str] = frozenset()
    holders: tuple[Holder, ...] = ()

    @classmethod
    def nobody(cls, *, unseen: frozenset[str], holders: tuple[Holder, ...] = ()) -> Gone:
        """Where everybody is still in the source, and some attributes were not shown yet."""
        none = np.zeros(0, dtype=np.int64)
        return cls(known=none, sizes=none, values={}, unknown=np.zeros(0, dtype=bool), unseen=unseen, holders=holders)

    def as_held_by(self, holder: Holder) -> Gone:
        """The same as somebody knows it who holds only some releases: records that are in none of them are unknown."""
        known = holder.known_as[self.known]
        seen = known > 0
        place = np.cumsum(seen) - 1
        values = {}
        for name, (owners, codes, counts) in self.values.items():
            theirs = seen[owners]
            values[name] = (place[owners[theirs]], codes[theirs], counts[theirs])
        return Gone(
            known=known[seen],
            sizes=self.sizes[seen],
            values=values,
            unknown=self.unknown[seen],
            unseen=holder.unseen,
        )


GoneFrom = Callable[[ClassTable], Gone | None]
"""The records that are gone, for the classes of a table, which tells how sensitive values are coded."""


def nobody_gone(table: ClassTable) -> None:
    """Where everybody who left once is still in the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenModel:
    """A model that does not hold for what several releases show together, and for how many records."""

    model: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Together:
    """The answer.

    ``own`` judges the release as it would be written, by itself; ``treatment`` says for each class of the table what
    becomes of its records. ``broken`` are the models that fail if nothing is suppressed or held back on account of
    earlier releases. ``held`` records wait, ``withdrawn`` ones left earlier and are not in this release.
    ``smallest_part`` is the smallest group that somebody can tell apart who holds everything; 0 where the release
    fails by itself.
    """

    satisfied: bool
    own: Judgement
    treatment: NDArray[np.int8]
    broken: tuple[BrokenModel, ...]
    held: int
    withdrawn: int
    smallest_part: int
    reason: str | None


def judge_together(
    table: ClassTable, policy: Policy, *, gone: Gone | None = None, suppress: bool = True, alone: bool = False
) -> Together:
    """Judge the classes of ``table``, whose last column is `KNOWN_CLASS`, alone and together with earlier releases.

    With ``suppress=False`` nothing is suppressed or held back. With ``alone`` the release is judged by itself only.
    Where people are counted, a part counts those who have a record in it; records that are gone are nobody's, so a
    ledger with such records is refused.
    """
    if gone is not None and len(gone.known) and table.people is not None:
        raise LedgerError(
            "records that left in an earlier release are no longer in the table, so nobody can say whose they were and "
            f"people cannot be counted by {table.people.column!r} together with earlier releases; keep these records "
            "in the "
            "table that you give, or release it for a reason that the certificate states, with --despite-ledger REASON"
        )
    own_tuples, tuple_of = group_tuples(table.codes[:, :-1], [domain.size for domain in table.domains[:-1]])
    marked = table.domains[-1].values.astype(np.int64)[table.codes[:, -1]]
    known = marked % COMPANION
    state = _State(table=table, policy=policy, gone=gone, tuples=own_tuples, tuple_of=tuple_of, known=known)
    views = state.views()
    limit = int(np.floor(policy.max_suppression * table.records + 1e-9))
    treatment = np.where((marked >= COMPANION) & (not alone), HELD, SHOWN).astype(np.int8)
    released = _released(state, treatment)
    first = judge_all(released, policy, suppress=suppress)
    if not first.satisfied:
        return _answer(state, first, treatment, (), "", ())
    treatment = _starred(state, treatment, first)
    seen = [view.parts(treatment) for view in views]
    if alone:
        return _answer(state, first, treatment, (), None, seen)
    broken, own = _broken(seen), first
    while any(parts.failing.any() for parts in seen) and suppress:
        hidden = [view.is_hidden_for_good(treatment, parts) for view, parts in zip(views, seen, strict=True)]
        least = int(table.sizes[np.any(hidden, axis=0)].sum())
        if least > limit:  # nothing that follows can keep within the limit
            beyond = (
                f"at least {least} records that are out would have to be suppressed or held back, and the policy "
                f"allows {limit}"
            )
            return _answer(state, first, treatment, broken, beyond, seen)
        # What one of those who get it must not see nobody sees.
        following = np.maximum.reduce(
            [_escalated(view, treatment, parts) for view, parts in zip(views, seen, strict=True)]
        )
        if (following == treatment).all():
            break
        released = _released(state, following)
        own = judge_all(released, policy)
        treatment = _starred(state, following, own)
        seen = [view.parts(treatment) for view in views]
    used = int(table.sizes[state.is_suppressed(treatment)].sum())
    holds = not any(parts.failing.any() for parts in seen)
    reason = None
    if holds and used > limit:
        reason = f"{used} records that are out would have to be suppressed or held back, and the policy allows {limit}"
    if not holds or reason is not None:
        return _answer(state, first, treatment, broken, reason or "", seen)
    # What was judged last is what will be written, unless more was suppressed in judging it.
    is_final = own.satisfied and own.suppressed == released.suppressed
    final = own if is_final else judge_all(_released(state, treatment), policy, suppress=False)
    return _answer(state, final if final.satisfied else first, treatment, broken, None if final.satisfied else "", seen)


def without_known(table: ClassTable) -> ClassTable:
    """The classes of a table as a release by itself would have them."""
    tuples, group = group_tuples(table.codes[:, :-1], [domain.size for domain in table.domains[:-1]])
    return replace(
        table,
        columns=table.columns[:-1],
        domains=table.domains[:-1],
        tuples=Tuples(tuples),
        sizes=summed(table.sizes, group, len(tuples)),
        contents={name: content.regrouped(group, len(tuples)) for name, content in table.contents.items()},
        people=None if table.people is None else table.people.regrouped(group, len(tuples)),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """The table, its released tuples, and which of them each class has."""

    table: ClassTable
    policy: Policy
    gone: Gone | None
    tuples: Codes
    tuple_of: Codes
    known: Codes

    def views(self) -> tuple[_State, ...]:
        """As each of those knows the records who get the release; one who holds everything without ``holders``."""
        gone = self.gone
        if gone is None or not gone.holders:
            return (self,)
        return tuple(
            replace(self, known=holder.known_as[self.known], gone=gone.as_held_by(holder)) for holder in gone.holders
        )

    def is_suppressed(self, treatment: NDArray[np.int8]) -> NDArray[np.bool_]:
        """The classes that count against the policy's limit: all that is starred, and what left earlier and is held."""
        return np.asarray((treatment == STARRED) | ((treatment == HELD) & (self.known > 0)))

    def is_hidden_for_good(self, treatment: NDArray[np.int8], parts: _Parts) -> NDArray[np.bool_]:
        """The classes that are out and are hidden, or stand in a failing part: none of them will be shown again.

        Records that never left may still come to wait, and then count for nothing.
        """
        visible = parts.part_of >= 0
        failing = np.zeros(len(visible), dtype=bool)
        failing[visible] = parts.failing[parts.part_of[visible]]
        return np.asarray((failing | (treatment != SHOWN)) & (self.known > 0))

    def parts(self, treatment: NDArray[np.int8]) -> _Parts:
        """What somebody tells apart who sees this release beside all earlier releases."""
        shown_as = np.where(treatment == SHOWN, self.tuple_of, len(self.tuples) - 1 + treatment.astype(np.int64))
        seen = np.flatnonzero((treatment != HELD) | (self.known > 0))
        gone = self.gone
        gone_known = np.zeros(0, dtype=np.int64) if gone is None else gone.known
        gone_sizes = np.zeros(0, dtype=np.int64) if gone is None else gone.sizes
        absent = len(self.tuples) + HELD - 1
        width = absent + 1
        keys = np.concatenate([self.known[seen] * width + shown_as[seen], gone_known * width + absent])
        classes = int(max(self.known.max(initial=0), gone_known.max(initial=0))) + 1
        distinct, group = group_keys(keys, classes * width)
        sizes = summed(np.concatenate([self.table.sizes[seen], gone_sizes]), group, len(distinct))
        whole = summed(sizes, distinct // width, classes)
        contents = {}
        for name, content in self.table.contents.items():
            if name not in self.policy.attributes:
                continue
            chosen = content.selected(seen)
            owners, values, counts = group[: len(seen)][chosen.owners], chosen.values, chosen.counts
            if gone is not None and name in gone.values:
                extra_owner, extra_values, extra_counts = gone.values[name]
                owners = np.concatenate([owners, group[len(seen) :][extra_owner]])
                values = np.concatenate([values, extra_values])
                counts = np.concatenate([counts, extra_counts])
            contents[name] = Content.grouped(
                domain=content.domain,
                owners=owners,
                values=values,
                counts=counts,
                classes=len(distinct),
                totals=content.totals,
                levels=content.levels,
            )
        seen_table = ClassTable(
            columns=(KNOWN_CLASS,),
            domains=(self.table.domains[-1],),
            tuples=Tuples(np.asfortranarray((distinct // width)[:, None])),
            sizes=sizes,
            contents=contents,
            people=None
            if self.table.people is None
            else self.table.people.selected(seen).regrouped(group[: len(seen)], len(distinct)),
        )
        unjudged = np.zeros(len(distinct), dtype=bool)
        if gone is not None and self.policy.attributes:
            unjudged[group[len(seen) :][gone.unknown]] = True
        is_whole = (sizes == whole[distinct // width]) & (distinct >= width)
        verdicts = () if not len(distinct) else tuple(model.judge(seen_table) for model in self.policy.models)
        failing = unjudged & ~is_whole
        unseen = frozenset() if gone is None else gone.unseen
        is_absent = distinct % width == absent
        for model, verdict in zip(self.policy.models, verdicts, strict=bool(len(distinct))):
            # A whole known class was judged when it left, by what it showed then; whoever is absent shows nothing.
            shows_more = ~is_absent & (distinct >= width) if unseen.intersection(model.needs) else False
            failing |= verdict.failing & ~(is_whole & np.logical_not(shows_more))
        part_of = np.full(self.table.classes, -1, dtype=np.int64)
        part_of[seen] = group[: len(seen)]
        return _Parts(
            sizes=sizes,
            people=seen_table.persons,
            known=distinct // width,
            shown_as=distinct % width,
            part_of=part_of,
            verdicts=verdicts,
            failing=failing,
            absent=absent,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parts:
    """The parts of the known classes: their sizes, which fail, and the part of each class of the table."""

    sizes: Codes
    people: Codes
    known: Codes
    shown_as: Codes
    part_of: Codes
    verdicts: tuple[Verdict, ...]
    failing: NDArray[np.bool_]
    absent: int

    def broken(self) -> dict[str, int]:
        """The models that fail for a part of a class that is out, and for how many records; newcomers just wait."""
        stands = self.failing & (self.known > 0)
        records = {verdict.title: int(self.sizes[verdict.failing & stands].sum()) for verdict in self.verdicts}
        return {title: count for title, count in records.items() if count}


def _broken(seen: Sequence[_Parts]) -> tuple[BrokenModel, ...]:
    """The models that fail for somebody who gets the release, by the one for whom most records fail."""
    most: dict[str, int] = {}
    for parts in seen:
        for title, records in parts.broken().items():
            most[title] = max(records, most.get(title, 0))
    return tuple(BrokenModel(model=title, records=records) for title, records in most.items())


def _released(state: _State, treatment: NDArray[np.int8]) -> ClassTable:
    """The classes that would be written, without the column of known classes.

    What is held is not among them, what is starred stays starred.
    """
    table = state.table
    kept = np.flatnonzero(treatment != HELD)
    if state.policy.suppressed is Suppressed.DROPPED:
        kept = np.flatnonzero(treatment == SHOWN)
    starred = treatment[kept] == STARRED
    shown, group = group_keys(np.where(starred, len(state.tuples), state.tuple_of[kept]), len(state.tuples) + 1)
    codes = np.full((len(shown), state.tuples.shape[1]), SUPPRESSED, dtype=np.int64, order="F")
    ordinary = shown < len(state.tuples)
    codes[ordinary] = state.tuples[shown[ordinary]]
    contents = {}
    for name, content in table.contents.items():
        chosen = content if len(kept) == table.classes else content.selected(kept)
        merged = chosen.regrouped(group, len(shown))
        contents[name] = replace(merged, totals=summed(merged.counts, merged.values, merged.domain.size))
    people = None
    if table.people is not None:
        people = table.people.selected(kept).regrouped(group, len(shown)).with_new_reference()
    return ClassTable(
        columns=table.columns[:-1],
        domains=table.domains[:-1],
        tuples=Tuples(codes),
        sizes=summed(table.sizes[kept], group, len(shown)),
        contents=contents,
        star=bool(starred.any()),
        people=people,
    )


def _starred(state: _State, treatment: NDArray[np.int8], own: Judgement) -> NDArray[np.int8]:
    """The treatment with what the release suppresses for its own sake."""
    if not own.satisfied or not own.suppressed:
        return treatment
    ordinary = replace(
        own.released,
        tuples=Tuples(np.asfortranarray(state.tuples)),
        sizes=np.ones(len(state.tuples), dtype=np.int64),
        contents={},
        star=False,
        people=None,
    )
    hidden = suppressed_classes(ordinary, own.released)[state.tuple_of] & (treatment == SHOWN)
    return np.where(hidden, np.int8(STARRED), treatment)


def _escalated(state: _State, treatment: NDArray[np.int8], parts: _Parts) -> NDArray[np.int8]:
    """The failing parts hidden one step further; the same where nothing is left to hide.

    Records that never left wait. Of a known class what fails is starred; if its stars fail too all of it is, and where
    records are missing from it, or stars do not help, none of it is in the release.
    """
    following = treatment.copy()
    in_failing = np.zeros(len(treatment), dtype=bool)
    visible = parts.part_of >= 0
    in_failing[visible] = parts.failing[parts.part_of[visible]]
    new = state.known == 0
    following[in_failing & new] = HELD
    drops = state.policy.suppressed is Suppressed.DROPPED
    following[in_failing & ~new & (treatment == SHOWN)] = HELD if drops else STARRED
    star = parts.absent - 1
    classes = int(parts.known.max(initial=0)) + 1
    stars_fail = np.zeros(classes, dtype=bool)
    stars_fail[parts.known[parts.failing & (parts.shown_as == star)]] = True
    absent_fails = np.zeros(classes, dtype=bool)
    absent_fails[parts.known[parts.failing & (parts.shown_as == parts.absent)]] = True
    shown_left = np.zeros(classes, dtype=bool)
    shown_left[state.known[(treatment == SHOWN) & ~new]] = True
    whole_star = stars_fail & shown_left & (not drops)
    gone_too = absent_fails | (stars_fail & ~shown_left)
    following[~new & whole_star[np.minimum(state.known, classes - 1)] & (following == SHOWN)] = STARRED
    following[~new & gone_too[np.minimum(state.known, classes - 1)]] = HELD
    return following


def _answer(
    state: _State,
    own: Judgement,
    treatment: NDArray[np.int8],
    broken: tuple[BrokenModel, ...],
    reason: str | None,
    seen: Sequence[_Parts],
) -> Together:
    held = treatment == HELD
    return Together(
        satisfied=reason is None,
        own=own,
        treatment=treatment,
        broken=broken,
        held=int(state.table.sizes[held & (state.known == 0)].sum()),
        withdrawn=int(state.table.sizes[held & (state.known > 0)].sum()),
        smallest_part=min((int(parts.people.min()) for parts in seen if len(parts.people)), default=0),
        reason=reason or None,
    )

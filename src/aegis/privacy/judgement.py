"""A whole policy held against a table, with as many records suppressed as the policy allows.

The rule of suppression. The records of every class that some model fails become one class, ``*`` in every
quasi-identifier. What the models see of that class is the policy's choice (`Suppressed`):

* *judged*, the default: it is a class like any other. Whoever knows that a person is in the table, and sees that the
  person's tuple is not, knows that the person is among the suppressed; if these are few, or alike, they are exposed.
  If the class fails, the smallest of the other classes join it until it holds, within the limit.
* *exempt*: no model judges it, as in ARX; its values still count in the distribution of the whole table.
* *dropped*: its records are not published, so there is nothing to judge, and the distribution that t-closeness and its
  kin compare with is that of the records left. Since that changes what the other classes are compared with, they are
  judged again until nothing changes.

Each round suppresses more records or ends, so it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import group_keys
from aegis.errors import PolicyError
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import Verdict

WORST = 10
"""How many sizes of failing classes a judgement lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingClasses:
    """The failing classes of one size, and the models that fail them. Sizes only: which tuples they are is not said.

    ``size`` is how many people each holds: its records, unless the policy says whose they are.
    """

    size: int
    classes: int
    records: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Judgement:
    """A table held against a policy.

    ``released`` is the table as it would be published, suppressed records included unless they are dropped;
    ``verdicts``, ``classes`` and ``smallest_class`` (of the classes that are judged) speak of it. If the policy cannot
    be satisfied within its limit nothing is suppressed, and they speak of the table as it came.
    ``records_to_suppress`` is how many records the policy asks to suppress, or at least that many where the limit of
    ``records_suppressible`` stopped the count; ``reason`` says why that did not help. ``came`` is the table as it
    came, as the models see it.
    """

    policy: Policy
    satisfied: bool
    verdicts: tuple[Verdict, ...]
    classes: int
    records: int
    suppressed: int
    smallest_class: int
    records_to_suppress: int
    records_suppressible: int
    reason: str | None
    released: ClassTable
    came: ClassTable
    came_verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        end = "satisfied" if self.satisfied else "NOT satisfied"
        return f"Judgement({end}: {self.classes} classes, {self.records} records, {self.suppressed} suppressed)"

    @property
    def worst(self) -> tuple[FailingClasses, ...]:
        """The failing classes of the table as it came, the smallest first."""
        return _worst(self.came, self.came_verdicts)

    def as_certificate(self) -> dict[str, Any]:
        """The judgement for a JSON document."""
        return {
            "satisfied": self.satisfied,
            "models": [verdict.as_certificate() for verdict in self.verdicts],
            "classes": self.classes,
            "records": self.records,
            "suppressed": self.suppressed,
            "smallest_class": self.smallest_class,
            "records_to_suppress": self.records_to_suppress,
            "records_suppressible": self.records_suppressible,
            "reason": self.reason,
            "policy": {"id": self.policy.id, **self.policy.to_mapping()},
        }


def judge_all(table: ClassTable, policy: Policy, *, suppress: bool = True) -> Judgement:
    """Hold a table against a policy.

    With ``suppress=False`` the table is judged as it is, for instance because it was written already; records that
    it says are suppressed still have to keep within the policy's limit. A policy that counts people is never held
    against records: the table must say whose they are.
    """
    check_people(table, policy)
    limit = int(np.floor(policy.max_suppression * table.records + 1e-9))
    seen = as_it_came = _seen(table, policy)
    verdicts = before = _verdicts(seen, policy)
    needed, reason = table.suppressed, None
    current, failing = table, _failing(verdicts, seen)
    holds = not failing.any()
    while suppress and not holds:
        more = _ordinary(current, failing)
        needed = current.suppressed + int(current.sizes[more].sum())
        if needed > limit:
            reason = f"at least {needed} records would have to be suppressed, and the policy allows {limit}"
            break
        following = current.suppress(more) if more.any() else _grown(current, policy, limit)
        if following is None:
            reason = (
                f"the class of the {needed} suppressed records fails itself, even joined by the smallest classes that "
                f"the limit of {limit} leaves room for; raise max_suppression, mask more, or drop suppressed records"
            )
            break
        needed = following.suppressed
        current, seen = following, _seen(following, policy)
        verdicts = _verdicts(seen, policy)
        failing = _failing(verdicts, seen)
        holds = not failing.any()
    satisfied = holds and current.suppressed <= limit
    if holds and not satisfied:
        reason = f"{current.suppressed} records are suppressed, and the policy allows {limit}"
    if not satisfied:
        current, seen, verdicts = table, as_it_came, before
    released = current.without_star(published=False) if policy.suppressed is Suppressed.DROPPED else current
    return Judgement(
        policy=policy,
        satisfied=satisfied,
        verdicts=verdicts,
        classes=released.classes,
        records=table.records,
        suppressed=current.suppressed,
        smallest_class=int(seen.persons.min()) if seen.classes else 0,
        records_to_suppress=needed,
        records_suppressible=limit,
        reason=reason,
        released=released,
        came=as_it_came,
        came_verdicts=before,
    )


def certified(measured: Judgement, judged: Judgement, unit: str | None) -> dict[str, Any]:
    """What a certificate says that every model found, of people where they were counted by ``unit``, and of records.

    People are counted where the column is that says whose records they are (``judged``), and not in the table as it
    was written (``measured``), which does not have it: the certificate states both.
    """
    of_records = {"verdicts": measured.as_certificate()["models"], "smallest_class": measured.smallest_class}
    if unit is None:
        return of_records
    people = judged.released.people
    assert people is not None, "a policy with a unit is judged on a table that says whose records they are"
    return {
        "verdicts": judged.as_certificate()["models"],
        "smallest_class": judged.smallest_class,
        "unit": {"column": unit, "people": people.everybody, "by_records": of_records},
    }


def check_people(table: ClassTable, policy: Policy) -> None:
    """Raise where the policy counts people and the table does not say whose its records are."""
    if policy.unit is not None and table.people is None:
        raise PolicyError(
            f"the policy counts people by {policy.unit!r}, and here nothing says whose the records are; people are "
            "counted where the rows with that column are, or take the unit out of the policy to count records"
        )


def hopeless(table: ClassTable, policy: Policy) -> tuple[Verdict, ...]:
    """The verdicts of the models that no masking can satisfy as long as no record is suppressed.

    Merging everything into one class is the most that masks can do; a monotone model that fails there fails before.
    Where records may be suppressed, such a model may still hold for the records that are left.
    """
    together = table.together()
    by_people = table.people is not None
    models = [model for model in policy.models if (model.monotone_in_people if by_people else model.monotone)]
    verdicts = [model.judge(together) for model in models]
    return tuple(verdict for verdict in verdicts if not verdict.satisfied)


def _seen(table: ClassTable, policy: Policy) -> ClassTable:
    """The table as the models see it."""
    if policy.suppressed is Suppressed.JUDGED:
        return table
    return table.without_star(published=policy.suppressed is Suppressed.EXEMPT)


def _verdicts(seen: ClassTable, policy: Policy) -> tuple[Verdict, ...]:
    return tuple(model.judge(seen) for model in policy.models)


def _failing(verdicts: tuple[Verdict, ...], seen: ClassTable) -> NDArray[np.bool_]:
    failing = np.zeros(seen.classes, dtype=bool)
    for verdict in verdicts:
        failing |= verdict.failing
    return failing


def _ordinary(table: ClassTable, failing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The failing classes but that of the suppressed records."""
    ordinary = np.zeros(table.classes, dtype=bool)
    ordinary[: len(failing)] = failing
    if table.star:
        ordinary[-1] = False
    return ordinary


def _grown(table: ClassTable, policy: Policy, limit: int) -> ClassTable | None:
    """The class of suppressed records, which fails, joined by the smallest others until it holds."""
    order = _smallest_first(table, policy)
    most = int(np.searchsorted(np.cumsum(table.sizes[order]), limit - table.suppressed, side="right"))

    def joined(count: int) -> ClassTable:
        mask = np.zeros(table.classes, dtype=bool)
        mask[order[:count]] = True
        return table.suppress(mask)

    def holds(candidate: ClassTable) -> bool:
        return all(model.judge(candidate).satisfied for model in policy.models)

    tried, count = 0, 1
    while count <= most and not holds(joined(count)):
        tried, count = count, count + 1 if count == most else min(2 * count, most)
    if count > most:
        return None
    # Fewer may do: halve what lies between the last failure and this success. Whatever is returned was seen to hold.
    good = count
    while good - tried > 1:
        middle = (tried + good) // 2
        if holds(joined(middle)):
            good = middle
        else:
            tried = middle
    return joined(good)


def _smallest_first(table: ClassTable, policy: Policy) -> NDArray[np.intp]:
    """The classes but that of the suppressed records, in the order in which they join it.

    Equally small ones by what they hold, those with more different values first: never by the codes of their tuples,
    which say nothing and are others in a table that was masked by other steps to the same end.
    """
    contents = [table.contents[attribute] for attribute in policy.attributes]
    different = sum((np.diff(content.starts)[:-1] for content in contents), start=np.zeros(table.classes - 1, np.int64))
    fingerprints = [content.fingerprints()[:-1] for content in contents]
    return np.lexsort((*fingerprints, table.persons[:-1], -different, table.sizes[:-1]))


def _worst(seen: ClassTable, verdicts: tuple[Verdict, ...]) -> tuple[FailingClasses, ...]:
    """The failing classes of the smallest sizes, by size and by the models that fail them."""
    failing = np.flatnonzero(_failing(verdicts, seen))
    if not len(failing):
        return ()
    few = np.flatnonzero(np.bincount(seen.persons[failing]))[:WORST]
    failing = failing[seen.persons[failing] <= few[-1]]
    kind = np.zeros(len(failing), dtype=np.int64)
    for position, verdict in enumerate(verdicts):
        kind |= verdict.failing[failing].astype(np.int64) << position
    combinations, together = group_keys(kind, 1 << len(verdicts))
    width = len(combinations)
    key = np.searchsorted(few, seen.persons[failing]) * width + together
    classes, records = np.bincount(key), np.bincount(key, weights=seen.sizes[failing])
    member = np.zeros(len(classes), dtype=np.int64)
    member[key] = failing
    return tuple(
        FailingClasses(
            size=int(few[i // width]),
            classes=int(classes[i]),
            records=int(records[i]),
            models=tuple(v.title for v in verdicts if v.failing[member[i]]),
        )
        for i in np.flatnonzero(classes)[:WORST]
    )

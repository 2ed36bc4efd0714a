"""The path in Python: a table, what was decided about it, and a release as a data frame.

::

    table = aegis.open(frame).with_roles(label="health").for_purpose("partner")
    compared = table.compare()
    compared.plot()
    released = table.release(compared).frame()

Every method gives a new value; nothing is asked and no project file is read or written.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import PolicyLike, TableLike
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Role, Roles, check_columns
from aegis.errors import OptionError
from aegis.library.advising.candidate_kinds import CANDIDATES
from aegis.library.guided.candidate_release import Destination, Finishing, GuidedRelease, release_candidate
from aegis.library.guided.changes import ColumnChange, becomes
from aegis.library.guided.comparing import Settings, compare
from aegis.library.guided.comparison import Comparison
from aegis.library.guided.deciding import PURPOSES, USUAL, asked_for_less, checked, policy_for
from aegis.library.guided.looking import (
    Look,
    label_words,
    likely_label,
    look,
    person_columns,
    roles_of,
    suggest_roles,
    values_to_tell_apart,
    with_named,
)
from aegis.library.tables.judging import read_policy
from aegis.masking.configuration import Configuration
from aegis.progress import Progress
from aegis.result import as_html, plain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OpenTable:
    """A table and what was decided about it; what was not is as `aegis start -y` would decide.

    ``notes`` say what must not be overlooked about the roles and the policy, as `aegis start` does.
    """

    data: TableLike
    reading: Mapping[str, Any] = field(default_factory=dict)
    seen: Look
    roles: Roles
    why: Mapping[str, str]
    policy: Mapping[str, Any]
    purpose: str | None = USUAL
    of_roles: tuple[str, ...] = ()
    of_policy: tuple[str, ...] = ()

    def __repr__(self) -> str:
        words = (
            f"{self.seen.profile.headline}; label {self.roles.label}, "
            f"{len(self.roles.quasi_identifying)} quasi-identifying; {self.purpose or 'own policy'}"
        )
        return f"OpenTable({'; '.join((words, *self.of_policy))})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.table_rows())

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per column: what it holds, and the role that it has and why."""
        rows = []
        for column in self.seen.profile.columns:
            role = self.roles.get(column.name)
            rows.append(
                {
                    "column": column.name,
                    "kind": column.kind.value,
                    "distinct": column.distinct,
                    "missing": column.missing,
                    "role": "" if role is None else role.value,
                    "why": self.why.get(column.name, ""),
                }
            )
        return rows

    def to_json(self) -> dict[str, Any]:
        """What is in the table and what was decided about it; no value of a record."""
        return {
            "table": self.seen.to_json(),
            "roles": self.roles.to_mapping(),
            "why": dict(self.why),
            "purpose": self.purpose,
            "policy": plain(self.policy),
            "notes": list(self.notes),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What must not be overlooked about the roles, and where less is asked because people show fewer values."""
        return (*self.of_roles, *self.of_policy)

    def look(self) -> Look:
        """What is in the table."""
        return self.seen

    def with_roles(
        self,
        *,
        label: str | None = None,
        quasi: Sequence[str] = (),
        sensitive: Sequence[str] = (),
        identifying: Sequence[str] = (),
        insensitive: Sequence[str] = (),
    ) -> OpenTable:
        """The table with some roles named; the others are suggested anew."""
        named = {
            **dict.fromkeys(identifying, Role.IDENTIFYING),
            **dict.fromkeys(quasi, Role.QUASI_IDENTIFYING),
            **dict.fromkeys(sensitive, Role.SENSITIVE),
            **dict.fromkeys(insensitive, Role.INSENSITIVE),
        }
        chosen = label or self.roles.label
        assert chosen is not None, "a table that is open has a label"
        check_columns((*named, chosen), self.seen.columns)
        return _decided(self.data, self.reading, self.seen, chosen, named, self.purpose or USUAL)

    def for_purpose(self, purpose: str, *, k: int | None = None, people: bool = True) -> OpenTable:
        """The table with what must hold for ``purpose``: internal, partner or public.

        Where an identifying column says whose rows they are, people are counted and not rows, unless ``people`` is
        False.
        """
        if purpose not in PURPOSES:
            raise OptionError(f"there is no purpose {purpose!r}; there are {', '.join(PURPOSES)}")
        unit = _unit(self.seen, self.roles) if people else None
        distinct = _distinct(self.data, self.reading, self.seen, self.roles, unit)
        policy = policy_for(purpose, self.roles, distinct=distinct, k=k, unit=unit)
        notes = asked_for_less(purpose, self.seen, distinct, unit)
        return replace(self, purpose=purpose, policy=policy, of_policy=notes)

    def with_policy(self, policy: PolicyLike) -> OpenTable:
        """The table with a policy of one's own."""
        return replace(self, purpose=None, policy=read_policy(policy).to_mapping(), of_policy=())

    def compare(
        self,
        *,
        candidates: Sequence[str] = (),
        generate: int = 40,
        seconds: float | None = None,
        seed: int = 0,
        ledger: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Make candidates, judge them by the policy and race those that may be released."""
        for kind in candidates:
            CANDIDATES[kind]  # says which there are if it is not one of them
        compared = compare(
            self.data,
            roles=self.roles,
            policy=self.policy,
            settings=Settings(kinds=tuple(candidates), generate=generate, seconds=seconds, seed=seed),
            reading=self.reading,
            ledger=ledger,
            progress=progress,
        )
        return replace(compared, notes=(*self.notes, *compared.notes))

    def changes(self, compared: Comparison, candidate: str | None = None) -> tuple[ColumnChange, ...]:
        """What a candidate (the recommended one unless named) makes of each column."""
        return becomes(self._dataset(), self.roles, compared, candidate or compared.recommended)

    def release(
        self,
        compared: Comparison | None = None,
        candidate: str | None = None,
        *,
        out: str | Path | None = None,
        ledger: str | Path | None = None,
        recipient: str | None = None,
        overwrite: bool = False,
    ) -> GuidedRelease:
        """Release a candidate (the recommended one unless named), attacked; ``.frame()`` of the answer is its rows.

        Without ``compared`` candidates are made and raced first, as `compare` does.

        Without ``out`` it is written to a folder that goes when Python ends. A file has a ledger beside it; a data
        frame has none unless ``ledger`` names one. Boxes and clusters are judged as they are written:
        `PolicyNotSatisfiedError` says that they may not be released, and ``compared.without(name, because=…)`` what is
        next.
        """
        compared = self.compare(ledger=ledger) if compared is None else compared
        chosen = candidate or compared.recommended
        made_by: Configuration | Finishing
        if chosen in compared.finished:
            made_by = Finishing(kind=compared.named(chosen).kind, method=chosen, seed=compared.seed)
        else:
            made_by = compared.configuration(chosen)
        return release_candidate(
            self.data,
            made_by,
            Destination(
                out=Path(out) if out is not None else _temporary() / "released.parquet",
                ledger=ledger,
                recipient=recipient,
                overwrite=overwrite,
            ),
            roles=self.roles,
            policy=self.policy,
            reading=self.reading,
        )

    def _dataset(self) -> Dataset:
        return open_dataset(self.data, **self.reading)


def open(
    data: TableLike,
    *,
    label: str | None = None,
    missing: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal_comma: Sequence[str] = (),
    day_first: Sequence[str] = (),
    month_first: Sequence[str] = (),
    table: str | None = None,
    engine: str | None = None,
) -> OpenTable:
    """Open a table and decide about it as `aegis start -y` would: label, roles, and a policy for a partner.

    ``missing`` lists texts that mean a missing value; those that look like it are taken unless it is given. The others
    say how the data is read, as with every command. Numbers with a decimal comma and dates with the day or the month
    first are read as such; a column that could be either is left as text.
    """
    reading: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "decimal_comma": tuple(decimal_comma),
        "day_first": tuple(day_first),
        "month_first": tuple(month_first),
        "table": table,
        "engine": engine,
        "missing": tuple(missing or ()),
    }
    options = {name: value for name, value in reading.items() if value}
    seen = look(open_dataset(data, **options))
    added: dict[str, tuple[str, ...]] = {}
    if missing is None and seen.marks:
        added["missing"] = seen.marks
    for written in seen.findings.written:
        if written.likely is not None and written.what != "day or month first":
            columns = (*options.get(written.likely, ()), *added.get(written.likely, ()), written.column)
            added[written.likely] = columns
    if added:
        options = {**options, **added}
        seen = look(open_dataset(data, **options))
    if label is not None:
        check_columns([label], seen.columns)
    return _decided(data, options, seen, label or likely_label(seen), {}, USUAL)


def _decided(
    data: TableLike,
    reading: Mapping[str, Any],
    seen: Look,
    label: str,
    named: Mapping[str, Role],
    purpose: str,
) -> OpenTable:
    suggested, of_roles = checked(seen, with_named(suggest_roles(seen, label), named))
    roles = roles_of(label, suggested, label_is_sensitive=named.get(label) is Role.SENSITIVE)
    of_label = label_words(seen, label, roles)
    unit = _unit(seen, roles)
    distinct = _distinct(data, reading, seen, roles, unit)
    return OpenTable(
        data=data,
        reading=reading,
        seen=seen,
        roles=roles,
        why={suggestion.column: suggestion.why for suggestion in suggested},
        policy=policy_for(purpose, roles, distinct=distinct, unit=unit),
        purpose=purpose,
        of_roles=(*of_roles, *(() if of_label is None else (of_label,))),
        of_policy=asked_for_less(purpose, seen, distinct, unit),
    )


def _distinct(
    data: TableLike, reading: Mapping[str, Any], seen: Look, roles: Roles, unit: str | None
) -> dict[str, int]:
    return values_to_tell_apart(open_dataset(data, **reading), seen, roles, unit)


def _unit(seen: Look, roles: Roles) -> str | None:
    """The column by which people are counted, as ``aegis start -y`` would."""
    return next(iter(person_columns(seen, roles)), None)


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="aegis-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

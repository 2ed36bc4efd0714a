"""Where somebody stands on the path who is asked by a page: what is known so far, and the work in the background.

The page asks the same questions as the terminal, all of a step at once; a form's fields are the answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from aegis.commands.start import Start
from aegis.counts.disclosure_rule import FEWEST
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.project import Project
from aegis.data.schema import NOTATIONS, Role, Roles
from aegis.errors import AegisError, OptionError, PolicyNotSatisfiedError
from aegis.inspection.findings import Written
from aegis.library.guided.candidate_release import Destination, free_name
from aegis.library.guided.changes import ColumnChange, becomes
from aegis.library.guided.comparison import Comparison
from aegis.library.guided.deciding import PURPOSES, USUAL, published_words, with_roles
from aegis.library.guided.guide import Guide
from aegis.library.guided.hierarchy_drafts import (
    HierarchyDraft,
    drafts,
    edited,
    folder_of,
    forget,
    keep,
)
from aegis.library.guided.looking import AS_SAID, Look, SuggestedRole, likely_label, look, suggest_roles
from aegis.library.guided.started import Started, check_outputs
from aegis.library.start import (
    chosen_of,
    compared,
    finished,
    looked,
    next_best,
    open_own_rows,
    opened_project,
    release_chosen,
    with_policy,
)
from aegis.progress import Progress


class FormGuide(Guide):
    """Answers with the fields of a form; a field that is not there takes the suggestion."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._fields = fields
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def _first(self, name: str) -> str | None:
        values = self._fields.get(name)
        return values[0] if values else None

    def missing(self, seen: Look) -> tuple[str, ...]:
        return seen.marks if self._first("missing") == "yes" else ()

    def notation(self, written: Written) -> str | None:
        answer = self._first(f"notation-{written.column}")
        if answer not in (None, "", *NOTATIONS):
            raise OptionError("a notation that does not exist was sent; choose one of the list")
        return answer or None

    def label(self, seen: Look, suggestion: str) -> str:
        return self._first("label") or suggestion

    def label_bins(self, seen: Look, label: str) -> int | None:
        return None

    def roles(self, label: str, suggested: Sequence[SuggestedRole]) -> tuple[SuggestedRole, ...]:
        answer = []
        for number, suggestion in enumerate(suggested):
            role_name = self._first(f"role-{number}")
            if role_name is not None and role_name != suggestion.role.value:
                if role_name not in {role.value for role in Role if role is not Role.LABEL}:
                    raise OptionError("a role that does not exist was sent; choose one of the list")
                suggestion = replace(suggestion, role=Role(role_name), why=AS_SAID)
            answer.append(suggestion)
        return tuple(answer)

    def purpose(self, roles: Roles, suggestion: str) -> str:
        return self._first("purpose") or suggestion

    def person(self, columns: Sequence[str], suggestion: str) -> str | None:
        answer = self._first("person")
        if answer is None:
            return suggestion
        if answer and answer not in columns:
            raise OptionError("a column that does not say whose rows they are was sent; choose one of the list")
        return answer or None

    def fewest(self, purpose: str, roles: Roles, suggestion: int, *, unit: str | None = None) -> int:
        answer = (self._first("k") or "").strip()
        if not answer:
            return suggestion
        if not answer.isascii() or not answer.isdigit() or int(answer) < 1:
            raise OptionError("k is a whole number from 1 up")
        return int(answer)

    def choose(self, comparison: Comparison) -> str:
        answer = self._first("candidate") or comparison.recommended
        if answer not in comparison.able:
            raise OptionError("a candidate that cannot be released was sent; choose one of the list")
        return answer


Fields = Mapping[str, Sequence[str]]


class Session:
    """One walk. Steps are taken one at a time, whoever sends them; ``problem`` is what the last one said in error."""

    def __init__(self, options: Start) -> None:
        self.options = options
        self.project: Project = opened_project(options)
        check_outputs(options, self.project)
        self.dataset: Dataset = open_own_rows(self.project, options)
        self.seen: Look = look(self.dataset)
        self.label: str | None = None if self.project.roles is None else self.project.roles.label
        self.comparison: Comparison | None = None
        self.first: Comparison | None = None
        self.started: Started | None = None
        self.problem = ""
        self.notes: tuple[str, ...] = ()
        self.stands_out: str | None = None
        self.doing = ""
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    @property
    def stage(self) -> str:
        """The step that is next."""
        if self.doing:
            return "working"
        if self.started is not None:
            return "done"
        if self.label is None:
            return "look"
        if self.project.roles is None:
            return "roles"
        if self.project.policy is None:
            return "policy"
        return "compare" if self.comparison is None else "choose"

    @property
    def suggested(self) -> tuple[SuggestedRole, ...]:
        assert self.label is not None
        return suggest_roles(self.seen, self.label)

    @property
    def likely_label(self) -> str:
        return self.options.label or likely_label(self.seen)

    @property
    def purpose(self) -> str:
        return self.options.purpose or USUAL

    def changes(self) -> tuple[ColumnChange, ...]:
        """What the recommended candidate makes of each column."""
        assert self.comparison is not None
        assert self.project.roles is not None
        return becomes(self.dataset, self.project.roles, self.comparison, self.comparison.recommended)

    def take(self, step: str, fields: Fields) -> None:
        """Take a step with the fields of its form; an error is kept for the page and changes nothing."""
        if not self._lock.acquire(blocking=False):
            return  # something is being done: the page shows what
        try:
            self.problem, self.notes = "", ()
            steps: dict[str, Callable[[Fields], None]] = {
                "look": self._look,
                "roles": self._roles,
                "policy": self._policy,
                "compare": self._compare,
                "choose": self._release,
                "back": self._back,
                "hierarchies": self._hierarchies,
            }
            anytime = step == "back" or (step == "hierarchies" and self.may_edit_hierarchies)
            if step not in steps or not (anytime or step == self.stage):
                return  # a form of an older page, sent again
            steps[step](fields)
        except AegisError as error:
            self.problem = str(error)
        finally:
            self._lock.release()

    def _look(self, fields: Fields) -> None:
        guide = FormGuide(fields)
        if self.seen.marks or self.seen.findings.written:
            self.project, self.dataset, self.seen = looked(self.project, self.dataset, self.options, guide)
        label = guide.label(self.seen, self.likely_label)
        if label not in self.seen.columns:
            raise OptionError("a column that does not exist was sent; choose one of the list")
        self.label = label

    def _roles(self, fields: Fields) -> None:
        assert self.label is not None
        guide = FormGuide({**fields, "label": [self.label]})
        self.project = with_roles(self.project, self.seen, self.options, guide).write()
        self.stands_out = published_words(self.dataset, self.project.roles)
        self.notes = (*guide.notes, *(() if self.stands_out is None else (self.stands_out,)))

    def _policy(self, fields: Fields) -> None:
        guide, roles = FormGuide(fields), self.project.roles
        assert roles is not None
        if guide.purpose(roles, USUAL) not in PURPOSES:
            raise OptionError("a purpose that does not exist was sent; choose one of the list")
        self.project = with_policy(self.project, self.dataset, self.seen, self.options, guide).write()

    @property
    def may_edit_hierarchies(self) -> bool:
        """Whether candidates are to be made next, of a table that is a file."""
        return self.stage in ("compare", "choose") and folder_of(self.project.source) is not None

    def hierarchy_drafts(self) -> tuple[HierarchyDraft, ...]:
        """The hierarchies of the quasi-identifiers as they stand."""
        roles, policy, folder = self.project.roles, self.project.policy, folder_of(self.project.source)
        assert roles is not None
        assert policy is not None
        assert folder is not None
        fewest = int(policy.get("k", FEWEST))
        return drafts(self.dataset, roles.quasi_identifying, folder=folder, k=fewest, unit=policy.get("unit"))

    def _hierarchies(self, fields: Fields) -> None:
        """Keep a hierarchy as it was changed, or make it from the data again; candidates are then made anew."""
        column = (fields.get("column") or [""])[0]
        draft = next((hierarchy for hierarchy in self.hierarchy_drafts() if hierarchy.column == column), None)
        folder = folder_of(self.project.source)
        if draft is None or folder is None:
            raise OptionError("a column that has no hierarchy was sent; choose one of the list")
        if (fields.get("do") or [""])[0] == "forget":
            forget(column, folder=folder)
        else:
            kept = {int(text) for text in fields.get("keep", ()) if text.isascii() and text.isdigit()}
            keep(_edited(draft, kept, fields), column, folder=folder, dataset=self.dataset.name)
        self.comparison = None

    def _compare(self, fields: Fields) -> None:
        def work(guide: Guide) -> None:
            self.comparison = compared(self.project, self.options, guide, self.dataset)

        self._in_background("making candidates", work)

    def _release(self, fields: Fields) -> None:
        guide = FormGuide(fields)
        comparison = self.comparison
        assert comparison is not None
        guide.choose(comparison)  # a wrong name is an error now, not in the background

        def work(_: Guide) -> None:
            project, changed = chosen_of(self.project, self.dataset, comparison, self.options, guide)
            self.project = project.write()
            out_option = self.options.out
            out = free_name(project.data, project.folder) if out_option is None else project.path_of(str(out_option))
            try:
                to = Destination(out=out, ledger=self.options.ledger, recipient=self.options.recipient)
                left = release_chosen(project, to)
            except PolicyNotSatisfiedError as error:
                self.comparison = next_best(comparison, project, error)
                self.problem = f"{self.comparison.notes[-1]}; choose again, {self.comparison.recommended} is next"
                return
            stands_out = self.stands_out
            self.started = finished(project, self.seen, comparison, changed, left, self.options, stands_out=stands_out)

        self._in_background("releasing and attacking", work)

    def _back(self, fields: Fields) -> None:
        """Decide a step anew: what hangs on it is forgotten."""
        to = (fields.get("to") or [""])[0]
        if self.started is not None or to not in ("look", "roles", "policy"):
            return
        self.comparison = None
        project = self.project.without_choice()
        if to in ("look", "roles"):
            project = replace(project, roles=None, policy=None)
        if to == "look":
            self.label = None
        self.project = replace(project, policy=None, purpose=None)

    def _in_background(self, title: str, work: Callable[[Guide], None]) -> None:
        self.doing = title
        guide = _Telling(self)

        def run() -> None:
            try:
                work(guide)
            except AegisError as error:
                self.problem = str(error)
            except Exception as error:  # what an unknown error says may quote data
                self.problem = f"internal error: {type(error).__name__}; this is a defect of Aegis"
            finally:
                self.doing = ""

        self._worker = threading.Thread(target=run, daemon=True)
        self._worker.start()

    def wait(self) -> None:
        """Return when what is done in the background is done."""
        if self._worker is not None:
            self._worker.join()


def _edited(draft: HierarchyDraft, kept: set[int], fields: Fields) -> Hierarchy:
    names = {
        (level.position, group.place): answer[0]
        for level in draft.levels
        for group in level.groups
        if (answer := fields.get(f"label-{level.position}-{group.place}"))
    }
    return edited(draft, kept=kept, names=names)


class _Telling(Guide):
    """Tells the page how far the work is."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def show_first_picture(self, comparison: Comparison) -> None:
        self._session.first = comparison

    @contextmanager
    def working(self, title: str) -> Iterator[Progress | None]:
        def progress(done: int, total: int | None, what: Any) -> None:
            self._session.doing = f"{what} ({done} of {total})" if total else str(what)

        yield progress

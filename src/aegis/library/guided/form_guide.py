"""The answers of a form, as a guide: the page asks the same questions as the terminal, all of a step at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aegis.counts.findings import Written
from aegis.data.notation import NOTATIONS
from aegis.data.schema import Role, Roles
from aegis.errors import OptionError
from aegis.library.guided.comparing import Comparison
from aegis.library.guided.guide import Guide
from aegis.library.guided.looking import AS_SAID, Look, SuggestedRole


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
        given = self._first(f"notation-{written.column}")
        if given not in (None, "", *NOTATIONS):
            raise OptionError("a notation that does not exist was sent; choose one of the list")
        return given or None

    def label(self, seen: Look, suggestion: str) -> str:
        return self._first("label") or suggestion

    def label_bins(self, seen: Look, label: str) -> int | None:
        return None

    def roles(self, label: str, suggested: Sequence[SuggestedRole]) -> tuple[SuggestedRole, ...]:
        answer = []
        for number, each in enumerate(suggested):
            given = self._first(f"role-{number}")
            if given is not None and given != each.role.value:
                if given not in {role.value for role in Role if role is not Role.LABEL}:
                    raise OptionError("a role that does not exist was sent; choose one of the list")
                each = replace(each, role=Role(given), why=AS_SAID)
            answer.append(each)
        return tuple(answer)

    def purpose(self, roles: Roles, suggestion: str) -> str:
        return self._first("purpose") or suggestion

    def person(self, columns: Sequence[str], suggestion: str) -> str | None:
        given = self._first("person")
        if given is None:
            return suggestion
        if given and given not in columns:
            raise OptionError("a column that does not say whose rows they are was sent; choose one of the list")
        return given or None

    def fewest(self, purpose: str, roles: Roles, suggestion: int, *, unit: str | None = None) -> int:
        given = (self._first("k") or "").strip()
        if not given:
            return suggestion
        if not given.isascii() or not given.isdigit() or int(given) < 1:
            raise OptionError("k is a whole number from 1 up")
        return int(given)

    def choose(self, comparison: Comparison) -> str:
        given = self._first("candidate") or comparison.recommended
        if given not in comparison.able:
            raise OptionError("a candidate that cannot leave was sent; choose one of the list")
        return given

"""Whoever is led along the path: nobody, for whom every suggestion is taken, or a terminal that asks.

The steps are functions of values (`looking`, `deciding`, `comparing`, `changes`, `candidate_release`). A guide is asked
between them, with the suggestion, and is shown what came out; it computes nothing. On a terminal what was found is
printed to stderr, and every question has a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from aegis.commands import terminal
from aegis.counts.collect import Limits
from aegis.data.schema import Role, Roles
from aegis.inspection.findings import Written
from aegis.library.guided.candidate_release import GuidedRelease
from aegis.library.guided.changes import ColumnChange
from aegis.library.guided.comparison import ComparedCandidate, Comparison
from aegis.library.guided.deciding import PURPOSES, k_in_words
from aegis.library.guided.looking import AS_SAID, NOTATION_WORDS, Look, SuggestedRole
from aegis.operation import listed, names
from aegis.plural import count
from aegis.progress import Progress


class Guide:
    """Takes every suggestion and shows nothing."""

    def begin(self, step: int, title: str) -> None:
        """A step begins."""

    def note(self, text: str) -> None:
        """Something worth knowing, such as what was decided in an earlier sitting."""

    def show_look(self, seen: Look) -> None:
        """What is in the table."""

    def missing(self, seen: Look) -> tuple[str, ...]:
        """The texts that mean a missing value, out of those that look like it."""
        return seen.marks

    def notation(self, written: Written) -> str | None:
        """How a column is read that is written so, by the name of the option; None to leave it as text."""
        return written.likely

    def label(self, seen: Look, suggestion: str) -> str:
        """The column to be predicted."""
        return suggestion

    def label_bins(self, seen: Look, label: str) -> int | None:
        """Into how many classes a label of many numbers is cut; None to predict the numbers."""
        return None

    def roles(self, label: str, suggested: Sequence[SuggestedRole]) -> tuple[SuggestedRole, ...]:
        """The roles, each confirmed or changed."""
        return tuple(suggested)

    def purpose(self, roles: Roles, suggestion: str) -> str:
        """Who gets the table."""
        return suggestion

    def fewest(self, purpose: str, roles: Roles, suggestion: int, *, unit: str | None = None) -> int:
        """How many must look alike: people where ``unit`` names their column, else rows."""
        return suggestion

    def person(self, columns: Sequence[str], suggestion: str) -> str | None:
        """The column by which people are counted, out of those that look as if they said whose rows they are; None
        to count rows."""
        return suggestion

    @contextmanager
    def working(self, title: str) -> Iterator[Progress | None]:
        """Long work, with somebody to tell how far it is."""
        yield None

    def show_first_picture(self, comparison: Comparison) -> None:
        """The candidates that are made quickly, while the others are not made yet."""

    def show_comparison(self, comparison: Comparison) -> None:
        """The candidates, the picture and the recommendation."""

    def choose(self, comparison: Comparison) -> str:
        """The candidate to release."""
        return comparison.recommended

    def show_changes(self, changed: Sequence[ColumnChange]) -> None:
        """What each column becomes."""

    def may_release(self, out: Path) -> bool:
        """Whether the release is to be written there."""
        return True

    def show_release(self, left: GuidedRelease) -> None:
        """What was released."""


STEPS = 6
_ROLE_WORDS = (
    "identifying: names a person, or is to be left out · quasi_identifying: could single one out with others · "
    "sensitive: must not be learned about a person · insensitive: neither"
)
_SHOWN, _TOGETHER = 12, 5
_HEIGHTS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT = 56, 12


class TerminalGuide(Guide):
    """Asks on the terminal; without ``ask`` every suggestion is taken, and said."""

    def __init__(self, *, ask: bool) -> None:
        self._ask = ask

    def begin(self, step: int, title: str) -> None:
        terminal.talk().print(f"\n{step} of {STEPS} · {title}", style="bold")

    def note(self, text: str) -> None:
        terminal.aside(text)

    def show_look(self, seen: Look) -> None:
        rows = [
            [
                column.name,
                column.kind.value,
                f"{column.distinct:,}",
                f"{column.missing:,}" if column.missing else "",
                bars(seen.findings.shapes.get(column.name, ())),
            ]
            for column in seen.profile.columns
        ]
        columns: list[Any] = ["column", "kind", ("distinct", "right"), ("missing", "right"), "shape"]
        terminal.talk().print(terminal.table(f"{seen.profile.name}: {count(seen.profile.rows, 'row')}", columns, rows))
        together = seen.findings.associations[:_TOGETHER]
        if together:
            pairs = (f"{pair.left} and {pair.right} ({pair.strength:.2f})" for pair in together)
            terminal.aside(f"go together (0 to 1): {', '.join(pairs)}")
        for sentence in seen.sentences():
            terminal.talk().print(f"! {sentence}", soft_wrap=True)

    def missing(self, seen: Look) -> tuple[str, ...]:
        marks = seen.marks
        return marks if self._agree(f"Read {' '.join(marks)} as missing?") else ()

    def notation(self, written: Written) -> str | None:
        likely = written.likely
        if likely is None:
            return None
        if written.what != "day or month first":
            return likely if self._agree(f"Read {written.column} as {NOTATION_WORDS[likely]}?") else None
        question = f"{written.column} holds dates. Which comes first?"
        chosen = self._choice(question, ["day", "month", "text"], "day")
        return {"day": "day_first", "month": "month_first", "text": None}[chosen]

    def label(self, seen: Look, suggestion: str) -> str:
        return self._column("Which column shall be predicted (the label)?", suggestion, seen.columns)

    def label_bins(self, seen: Look, label: str) -> int | None:
        column = next(column for column in seen.profile.columns if column.name == label)
        if not column.kind.is_number or column.distinct <= Limits().label_classes:
            return None
        answer = self._number(
            f"{label} has {column.distinct:,} distinct numbers. Into how many classes shall it be cut (0: none, the "
            "numbers are predicted)?",
            0,
            least=0,
        )
        return answer if answer >= 2 else None

    def roles(self, label: str, suggested: Sequence[SuggestedRole]) -> tuple[SuggestedRole, ...]:
        talk = terminal.talk()
        talk.print(_ROLE_WORDS, soft_wrap=True)
        rows = [[suggestion.column, suggestion.role.value, suggestion.why] for suggestion in suggested]
        talk.print(terminal.table(f"label: {label}", ["column", "role", "why"], rows))
        if not self._ask:
            return tuple(suggested)
        columns = {suggestion.column for suggestion in suggested}
        answer = {suggestion.column: suggestion for suggestion in suggested}
        for role in (Role.IDENTIFYING, Role.QUASI_IDENTIFYING, Role.SENSITIVE):
            usual = [suggestion.column for suggestion in answer.values() if suggestion.role is role]
            chosen = self._columns(f"Columns that are {role.value}?", usual, columns)
            for name in chosen:
                if answer[name].role is not role:
                    answer[name] = SuggestedRole(column=name, role=role, why=AS_SAID)
            for name in usual:
                if name not in chosen:
                    answer[name] = replace(answer[name], role=Role.INSENSITIVE, why=AS_SAID)
        return tuple(answer.values())

    def purpose(self, roles: Roles, suggestion: str) -> str:
        for purpose in PURPOSES.values():
            terminal.talk().print(f"{purpose.name}: {purpose.title}, k = {purpose.k}: {purpose.why}", soft_wrap=True)
        return self._choice("Who gets the table?", list(PURPOSES), suggestion)

    def fewest(self, purpose: str, roles: Roles, suggestion: int, *, unit: str | None = None) -> int:
        k = self._number("How many must look alike (k)?", suggestion, least=1)
        terminal.talk().print(f"k = {k}: {k_in_words(k, roles.quasi_identifying, unit)}", soft_wrap=True)
        return k

    def person(self, columns: Sequence[str], suggestion: str) -> str | None:
        question = (
            f"{suggestion} looks as if it said whose the rows are, and several belong to one person. Count people or "
            "rows? People is safer: a group of rows may be one person's"
        )
        if self._choice(question, ["people", "rows"], "people") == "rows":
            return None
        return suggestion if len(columns) == 1 else self._choice("People by which column?", list(columns), suggestion)

    @contextmanager
    def working(self, title: str) -> Iterator[Progress | None]:
        with terminal.progress(title) as progress:
            yield progress

    def show_first_picture(self, comparison: Comparison) -> None:
        terminal.talk().print(picture(comparison), markup=False, soft_wrap=True)
        terminal.talk().print(comparison.so_far(), soft_wrap=True)

    def show_comparison(self, comparison: Comparison) -> None:
        talk = terminal.talk()
        race = comparison.ranking.race
        assert race is not None
        talk.print(
            f"As the table is, {count(comparison.alone_before, 'row')} stand alone by their quasi-identifiers, and a "
            f"guess names {100 * comparison.average_risk_before:.3g} % rightly.",
            soft_wrap=True,
        )
        talk.print(picture(comparison), markup=False, soft_wrap=True)
        rows = [
            [
                ("→ " if candidate.name == comparison.recommended else "") + candidate.name,
                candidate.kind,
                f"{race.shown(candidate.performance)} ({race.shown(candidate.low)} to {race.shown(candidate.high)})",
                candidate.kept,
                "made-up rows" if not candidate.smallest_class else f"{candidate.smallest_class:,}",
                "" if candidate.average_risk is None else f"{100 * candidate.average_risk:.3g} %",
                f"{candidate.suppressed:,}" if candidate.suppressed else "",
            ]
            for candidate in comparison.candidates[:_SHOWN]
        ]
        numbers = [(name, "right") for name in ("smallest class", "named rightly", "suppressed")]
        columns: list[Any] = ["candidate", "kind", race.title, "kept", *numbers]
        talk.print(terminal.table(f"{comparison.ranking.label} · {race.title}", columns, rows))
        more = len(comparison.candidates) - _SHOWN
        if more > 0:
            terminal.aside(f"… and {more} more")
        if comparison.rejected:
            kinds = {name: why for name, why in comparison.rejected.items() if not name.startswith("g")}
            terminal.aside(
                f"{count(len(comparison.rejected), 'candidate')} may not be released"
                + "".join(f"; {name}: {why}" for name, why in kinds.items())
            )
        for note in (*comparison.notes, *comparison.ranking.notes):
            terminal.aside(note)
        talk.print(f"Recommended: {comparison.why}.", style="bold", soft_wrap=True)

    def choose(self, comparison: Comparison) -> str:
        others = {
            candidate.name: comparison.instead(candidate.name)
            for candidate in comparison.candidates
            if not candidate.can_be_released
        }
        return self._choice(
            "Which one shall be released?",
            list(comparison.able),
            comparison.recommended,
            list_all=False,
            instead=others,
        )

    def show_changes(self, changed: Sequence[ColumnChange]) -> None:
        rows = [
            [
                change.column,
                change.role,
                change.becomes,
                "" if change.example is None else f"{change.example[0]} → {change.example[1]}",
            ]
            for change in changed
        ]
        terminal.talk().print(terminal.table("", ["column", "role", "becomes", "made-up example"], rows))

    def may_release(self, out: Path) -> bool:
        return self._agree(f"Release it as {out.name}, with its certificate?")

    def show_release(self, left: GuidedRelease) -> None:
        ran = [attack.name for attack in left.attacks if attack.not_applicable is None]
        if left.exposing:
            terminal.warn(
                f"somebody is singled out by {', '.join(left.exposing)}: look at that before it is given away"
            )
        else:
            terminal.talk().print(f"{count(len(ran), 'attack')} run, nobody singled out: {', '.join(ran)}")
        ledger = left.released.ledger
        if ledger is not None:
            terminal.aside(f"noted in the ledger {ledger['name']}, line {ledger['number']}")

    def _text(self, question: str, suggestion: str) -> str:
        if not self._ask:
            terminal.talk().print(f"{question} [{suggestion}]", soft_wrap=True)
            return suggestion
        answer = str(typer.prompt(question, default=suggestion, err=True, show_default=bool(suggestion)))
        return answer if answer == suggestion else answer.strip()

    def _agree(self, question: str) -> bool:
        if not self._ask:
            terminal.talk().print(f"{question} [yes]", soft_wrap=True)
            return True
        return bool(typer.confirm(question, default=True, err=True))

    def _number(self, question: str, suggestion: int, *, least: int) -> int:
        while True:
            answer = self._text(question, str(suggestion))
            if answer.isdigit() and int(answer) >= least:
                return int(answer)
            terminal.talk().print(f"a whole number from {least} up, please")

    def _choice(
        self,
        question: str,
        allowed: list[str],
        suggestion: str,
        *,
        list_all: bool = True,
        instead: Mapping[str, str] | None = None,
    ) -> str:
        """One of ``allowed``; ``instead`` says why some other answers cannot be taken."""
        while True:
            answer = self._text(f"{question} ({', '.join(allowed)})" if list_all else question, suggestion)
            if answer in allowed:
                return answer
            if instead is not None and answer in instead:
                terminal.talk().print(instead[answer], soft_wrap=True)
                continue
            terminal.talk().print(f"one of {', '.join(allowed)}, please", soft_wrap=True)

    def _column(self, question: str, suggestion: str, columns: Sequence[str]) -> str:
        while True:
            answer = self._text(question, suggestion)
            if answer in columns:
                return answer
            terminal.talk().print("there is no such column")

    def _columns(self, question: str, suggestion: list[str], there_are: set[str]) -> tuple[str, ...]:
        while True:
            usual = listed(suggestion)
            answer = self._text(question, usual or "none")
            if answer == usual:
                return tuple(suggestion)
            columns = () if answer in ("", "none", "-") else names(answer)
            unknown = [name for name in columns if name not in there_are]
            if not unknown:
                return columns
            terminal.talk().print(f"there is no column {', '.join(unknown)}")


def bars(heights: Sequence[float]) -> str:
    """Heights between 0 and 1 as a row of bars.

    >>> bars([0.0, 0.5, 1.0])
    '▁▅█'
    """
    return "".join(_HEIGHTS[min(int(height * 7 + 0.5), 7)] for height in heights)


def picture(comparison: Comparison) -> str:
    """Usefulness upwards, risk to the right: ● recommended, ○ on the front, · beaten by another in both."""
    drawn = [candidate for candidate in comparison.candidates if candidate.average_risk is not None]
    race = comparison.ranking.race
    assert race is not None
    if not drawn:
        return ""
    risks = [candidate.average_risk or 0.0 for candidate in drawn]
    values = [candidate.performance for candidate in drawn]
    low, high = min(values), max(values)
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    order = sorted(drawn, key=lambda candidate: (candidate.name == comparison.recommended, candidate.on_front))
    for candidate in order:
        x = round((_WIDTH - 1) * (candidate.average_risk or 0.0) / max(*risks, 1e-9, 0.0))
        share = 0.5 if high == low else (candidate.performance - low) / (high - low)
        y = round((_HEIGHT - 1) * ((1 - share) if comparison.ranking.higher_is_better else share))
        grid[y][x] = _sign(candidate, comparison)
    top, foot = (high, low) if comparison.ranking.higher_is_better else (low, high)
    labels = [race.shown(top), *[""] * (_HEIGHT - 2), race.shown(foot)]
    room = max(map(len, labels))
    lines = [f"{label:>{room}} │{''.join(row).rstrip()}" for label, row in zip(labels, grid, strict=True)]
    most = f"{100 * max(risks):.3g} %"
    lines.append(f"{'':>{room}} └{'─' * _WIDTH}")
    lines.append(f"{'':>{room}}  0 {'rows that a guess names rightly':^{_WIDTH - len(most) - 3}} {most}")
    lines.append(f"{'':>{room}}  ● recommended  ○ on the front: none is better in both  · beaten in both")
    return "\n".join(lines)


def _sign(candidate: ComparedCandidate, comparison: Comparison) -> str:
    return "●" if candidate.name == comparison.recommended else "○" if candidate.on_front else "·"

"""``aegis start``: from a file to a ranking, one question at a time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aegis.commands import terminal
from aegis.commands.advise import show_ranking
from aegis.commands.command import START, command
from aegis.commands.fields import Argument, Option, Overwrite, Reading, Report, Seed
from aegis.masking.plural import count
from aegis.operation import listed, names

if TYPE_CHECKING:
    from aegis.counts.profile import Profile
    from aegis.data.schema import Roles
    from aegis.library.start import Started


@dataclass(frozen=True)
class Start(Reading):
    """Walk through inspect → roles → policy → candidates → ranking, with the questions it needs."""

    data: Annotated[str, Argument("A CSV, Parquet, Arrow or DuckDB file, or a database URL (…#table).")]
    _: KW_ONLY
    yes: Annotated[bool, Option("Accept every suggestion without asking.", short="-y")] = False
    report: Report = None
    seed: Seed = 0
    overwrite: Overwrite = False


@command("start", Start, run="aegis.library.start:start", group=START, json=None)
def show(started: Started, options: Start) -> None:
    """The ranking, what was saved, and the command that goes on from here."""
    show_ranking(started.ranking, top=10)
    for path in started.saved:
        terminal.talk().print(f"saved {path}", soft_wrap=True)
    here = terminal.data_words(options.data, table=options.table, engine=options.engine)
    if started.none_passed and not started.label_bins and started.policy_file.exists():
        again = f"{here}{terminal.label_words(started.roles.label, None)}"
        terminal.next_step(f"aegis search {again} --policy {terminal.word(started.policy_file)} --out best.yaml")
        return
    again = f"{here}{terminal.label_words(started.roles.label, started.label_bins)}"
    if started.roles_file not in started.saved and started.roles.identifying:
        again += f" --identifying {terminal.word(listed(started.roles.identifying))}"
    terminal.next_step(
        f"aegis advise {again} --generate {started.candidates} --strength {started.strength} --report ranking.html"
    )


class Questions:
    """Questions with a suggested answer; with --yes the suggestion is taken."""

    def __init__(self, yes: bool) -> None:
        self._yes = yes

    def text(self, question: str, suggestion: str) -> str:
        if self._yes:
            terminal.talk().print(f"{question} [{suggestion}]", markup=False)
            return suggestion
        answer = str(typer.prompt(question, default=suggestion, err=True, show_default=bool(suggestion)))
        return answer if answer == suggestion else answer.strip()

    def number(self, question: str, suggestion: int, *, least: int) -> int:
        while True:
            answer = self.text(question, str(suggestion))
            if answer.isdigit() and int(answer) >= least:
                return int(answer)
            terminal.talk().print(f"a whole number from {least} up, please")

    def choice(self, question: str, allowed: list[str], suggestion: str) -> str:
        while True:
            answer = self.text(f"{question} ({', '.join(allowed)})", suggestion)
            if answer in allowed:
                return answer
            terminal.talk().print(f"one of {', '.join(allowed)}, please")

    def columns(self, question: str, suggestion: list[str], known: set[str]) -> tuple[str, ...]:
        while True:
            usual = listed(suggestion)
            answer = self.text(question, usual or "none")
            if answer == usual:
                return tuple(suggestion)
            columns = () if answer in ("", "none", "-") else names(answer)
            unknown = [name for name in columns if name not in known]
            if not unknown:
                return columns
            terminal.talk().print(f"there is no column {', '.join(unknown)}")

    def agree(self, question: str) -> bool:
        return self._yes or typer.confirm(question, default=True, err=True)


def show_columns(seen: Profile) -> None:
    rows = [
        [
            c.name,
            c.kind.value,
            f"{c.distinct:,}",
            f"{c.missing:,}" if c.missing else "",
            (c.role or c.suggested).value,
            c.why,
        ]
        for c in seen.columns
    ]
    columns: list[Any] = ["column", "kind", ("distinct", "right"), ("missing", "right"), "looks like", "why"]
    terminal.talk().print(terminal.table(f"{seen.name}: {count(seen.rows, 'row')}", columns, rows))


def ask_roles(seen: Profile, ask: Questions) -> Roles:
    from aegis.data.schema import Role, Roles

    known = {column.name for column in seen.columns}
    usual = {role: [c.name for c in seen.columns if (c.role or c.suggested) is role] for role in Role}
    fallback = _likely_label(seen)
    label = ask.text("Which column shall be predicted (the label)?", (usual[Role.LABEL] or [fallback])[0])
    while label not in known:
        terminal.talk().print("there is no such column")
        label = ask.text("Which column shall be predicted (the label)?", fallback)
    empty = tuple(c.name for c in seen.columns if not c.distinct and c.name != label)
    for name in empty:
        terminal.talk().print(f"{name} has no value in any row and is left out", markup=False)
    taken = {label, *empty}

    def columns_of(role: Role) -> tuple[str, ...]:
        suggestion = [name for name in usual[role] if name not in taken]
        chosen = ask.columns(f"Columns that are {role.value}?", suggestion, known)
        taken.update(chosen)
        return tuple(name for name in chosen if name not in empty and (name != label or role is Role.SENSITIVE))

    identifying = (*columns_of(Role.IDENTIFYING), *empty)
    quasi = columns_of(Role.QUASI_IDENTIFYING)
    sensitive = columns_of(Role.SENSITIVE)
    return Roles(
        label=label,
        identifying=identifying,
        quasi_identifying=quasi,
        sensitive=sensitive,
        insensitive=tuple(c.name for c in seen.columns if c.name not in taken),
    )


def _likely_label(seen: Profile) -> str:
    """Where nothing looks like a label: the last column of two values, or of few, or the last."""
    for most in (2, 20):
        few = [column.name for column in seen.columns if 2 <= column.distinct <= most]
        if few:
            return few[-1]
    return seen.columns[-1].name


def ask_label_bins(seen: Profile, label: str, ask: Questions) -> int | None:
    from aegis.counts.collect import Limits

    column = next(column for column in seen.columns if column.name == label)
    if not column.kind.is_number or column.distinct <= Limits().label_classes:
        return None
    return ask.number(
        f"{label} has {column.distinct:,} distinct numbers. Into how many classes shall it be cut?", 4, least=2
    )


def ask_policy(roles: Roles, ask: Questions) -> dict[str, Any]:
    k = ask.number("At least how many people must share each combination of quasi-identifiers (k)?", 5, least=1)
    policy: dict[str, Any] = {
        "quasi_identifying": list(roles.quasi_identifying),
        "sensitive": list(roles.sensitive),
        "k": k,
    }
    if roles.sensitive:
        most = ask.number("And how many different sensitive values must each such group hold (l)?", 2, least=1)
        policy["l"] = {column: {"kind": "distinct", "l": most} for column in roles.sensitive}
    policy["max_suppression"] = 0.02
    return policy


def may_save(path: Path, ask: Questions, overwrite: bool) -> bool:
    if path.exists() and not overwrite:
        terminal.talk().print(f"{path.name} exists and is kept as it is")
        return False
    return ask.agree(f"Save {path.name} beside the data?")

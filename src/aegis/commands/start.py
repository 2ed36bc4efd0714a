"""``aegis start``: from a file to a ranking, one question at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aegis.commands import options, terminal
from aegis.commands.advise import show_ranking
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.counts.profile import Profile
    from aegis.data.schema import Roles
    from aegis.ranking.ranking import Ranking

_ROLE_WORDS = (
    "[bold]identifying[/bold] names a person · [bold]quasi_identifying[/bold] could single one out "
    "together with others · [bold]sensitive[/bold] must not be learned about a person · "
    "[bold]insensitive[/bold] is neither"
)


def start(
    data: options.Data,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept every suggestion without asking.")] = False,
    report: options.Report = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Walk through inspect → roles → policy → candidates → ranking, with the questions it needs."""
    from aegis.counts.profile import profile
    from aegis.data.engine import open_dataset
    from aegis.data.yaml_text import dump
    from aegis.errors import PolicyNotSatisfiedError
    from aegis.library.advise import advise
    from aegis.privacy.policy import Policy

    ask = _Asking(yes)
    reading = options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine)
    talk = terminal.talk()

    talk.print("1 · What is in the table", style="bold")
    dataset = open_dataset(data, **reading)
    seen = profile(dataset)
    _show_columns(seen)

    talk.print("\n2 · Which part each column plays", style="bold")
    talk.print(_ROLE_WORDS, markup=True)
    roles = _ask_roles(seen, ask)
    dataset = dataset.with_roles(roles)

    assert roles.label is not None
    label_bins = _ask_label_bins(seen, roles.label, ask)

    talk.print("\n3 · What a release must satisfy", style="bold")
    policy = _ask_policy(roles, ask)
    folder = Path(data).parent if "://" not in data else Path()
    roles_file, policy_file = (folder / f"{dataset.name}.{what}.yaml" for what in ("roles", "policy"))
    wanted = {path: _may_save(path, ask, overwrite) for path in (roles_file, policy_file)}

    talk.print("\n4 · Candidates", style="bold")
    count = ask.number("How many maskings shall be tried?", 40, least=1)
    strength = ask.choice("How strong?", ["light", "medium", "heavy", "mixed", "any"], "mixed")

    talk.print("\n5 · Ranking", style="bold")
    rules = Policy.from_mapping(policy) if roles.quasi_identifying else None

    def ranked(rules: Policy | None) -> Ranking:
        with terminal.progress("counting") as progress:
            return advise(
                dataset,
                generate=count,
                strength=strength,
                label_bins=label_bins,
                policy=rules,
                seed=seed,
                progress=progress,
                report=report,
                overwrite=overwrite,
            )

    passing = rules is not None
    try:
        advice = ranked(rules)
    except PolicyNotSatisfiedError:
        passing = False
        talk.print(f"None of the {count} satisfies the policy; this is their ranking without it.")
        advice = ranked(None)
    show_ranking(advice, top=10)
    if report is not None:
        talk.print(f"report: {report}")
    # Answers that led to no ranking are not worth keeping: a label that is none would fail again.
    for path, content in ((roles_file, roles.to_mapping()), (policy_file, policy)):
        if wanted[path]:
            path.write_text(dump(content), encoding="utf-8")
            talk.print(f"saved {path}", soft_wrap=True)
    here = terminal.data_words(data, table=table, engine=engine)
    again = f"{here}{terminal.label_words(roles.label, label_bins)}"
    if not wanted[roles_file] and roles.identifying:
        again += f" --identifying {terminal.word(options.listed(roles.identifying))}"
    if passing or rules is None or label_bins or not policy_file.exists():
        terminal.next_step(f"aegis advise {again} --generate {count} --strength {strength} --report ranking.html")
    else:
        again = f"{here}{terminal.label_words(roles.label, None)}"
        terminal.next_step(f"aegis search {again} --policy {terminal.word(policy_file)} --out best.yaml")


class _Asking:
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
            usual = options.listed(suggestion)
            answer = self.text(question, usual or "none")
            if answer == usual:
                return tuple(suggestion)
            given = () if answer in ("", "none", "-") else options.names(answer)
            unknown = [name for name in given if name not in known]
            if not unknown:
                return given
            terminal.talk().print(f"there is no column {', '.join(unknown)}")

    def agree(self, question: str) -> bool:
        return self._yes or typer.confirm(question, default=True, err=True)


def _show_columns(seen: Profile) -> None:
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


def _ask_roles(seen: Profile, ask: _Asking) -> Roles:
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


def _ask_label_bins(seen: Profile, label: str, ask: _Asking) -> int | None:
    from aegis.counts.collect import Limits

    column = next(column for column in seen.columns if column.name == label)
    if not column.kind.is_number or column.distinct <= Limits().label_classes:
        return None
    return ask.number(
        f"{label} has {column.distinct:,} distinct numbers. Into how many classes shall it be cut?", 4, least=2
    )


def _ask_policy(roles: Roles, ask: _Asking) -> dict[str, Any]:
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


def _may_save(path: Path, ask: _Asking, overwrite: bool) -> bool:
    if path.exists() and not overwrite:
        terminal.talk().print(f"{path.name} exists and is kept as it is")
        return False
    return ask.agree(f"Save {path.name} beside the data?")

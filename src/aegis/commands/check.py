"""``aegis check``: does a table satisfy a policy?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from aegis.commands import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aegis.privacy.judgement import Judgement

Policy = Annotated[Path, typer.Option("--policy", help="The policy file (YAML).")]


def check(
    data: options.Data,
    policy: Policy,
    config: Annotated[
        Path | None, typer.Option("--config", help="Mask by this configuration first (YAML or JSON).")
    ] = None,
    suppress: Annotated[
        bool, typer.Option("--suppress/--no-suppress", help="Suppress failing records up to the policy's limit.")
    ] = True,
    label: options.Label = None,
    hierarchies: options.Hierarchies = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> int:
    """Hold a table against a policy, masked by a configuration or as it is. Exit status 1 if it is not satisfied."""
    from aegis.library.check import check as judge

    found = judge(
        data,
        policy=policy,
        configuration=config,
        suppress=suppress,
        label=label,
        hierarchies=hierarchies,
        **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
    )
    if json:
        terminal.print_json(found.to_json())
        return 0 if found.satisfied else 1
    show_verdicts(found.judgement.as_certificate()["models"], title=_title(found.judgement, found.roles))
    _show_worst(found.judgement)
    unlisted_columns(found.unlisted)
    again = terminal.data_words(data, table=table, engine=engine)
    if found.reason is not None:
        terminal.out().print(Text.assemble(("not satisfied: ", "bold red"), found.reason), soft_wrap=True)
        terminal.next_step(f"aegis search {again} --policy {policy}")
        return 1
    terminal.out().print(Text("satisfied", style="bold green"))
    if config is not None:
        terminal.next_step(f"aegis release {again} --config {config} --policy {policy} --out released.parquet")
    return 0


def show_verdicts(models: Sequence[Mapping[str, Any]], *, title: str) -> None:
    """One line per model: what was asked, what was found, and whether that is enough."""
    from aegis.privacy.verdict import shown

    rows: list[list[str | Text]] = []
    for model in models:
        value = model["value"]
        rows.append(
            [
                str(model["name"]),
                str(model["attribute"] or ""),
                ", ".join(f"{key} {given}" for key, given in model["parameters"].items()),
                f"{model['bound']} {shown(model['threshold'])}",
                "nothing to judge" if value is None else value if isinstance(value, str) else shown(value),
                Text("yes", style="green") if model["satisfied"] else Text("NO", style="bold red"),
            ]
        )
    columns: list[str | tuple[str, str]] = [
        "model",
        "attribute",
        "with",
        ("asked", "right"),
        ("found", "right"),
        "satisfied",
    ]
    if not any(row[2] for row in rows):
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    terminal.out().print(Text(title, style="bold"), soft_wrap=True)
    terminal.out().print(terminal.table("", columns, rows))


def unlisted_columns(names: Sequence[str]) -> None:
    """Columns without a role are published as they are: say so."""
    if names:
        terminal.aside(f"no role was given to {', '.join(names)}: insensitive, published as they are")


def _title(judgement: Judgement, roles: Any) -> str:
    starred = f", {judgement.suppressed:,} suppressed" if judgement.suppressed else ""
    return (
        f"{', '.join(roles.quasi_identifying)} · "
        f"{count(judgement.records, 'record')} in {count(judgement.classes, 'class', 'classes')}, "
        f"the smallest of {judgement.smallest_class:,}{starred}"
    )


def _show_worst(judgement: Judgement) -> None:
    worst = judgement.worst
    if not worst:
        return
    rows = [[f"{w.size:,}", f"{w.classes:,}", f"{w.records:,}", ", ".join(w.models)] for w in worst]
    columns: list[str | tuple[str, str]] = [("size", "right"), ("classes", "right"), ("records", "right"), "fail"]
    title = "classes that fail before suppression" if judgement.satisfied else "classes that fail"
    terminal.out().print(Text(f"{title}, smallest first", style="bold"))
    terminal.out().print(terminal.table("", columns, rows))

"""Write the reference pages from the code itself: commands, masks, measures, models, Python names, the schema, rooms.

``python docs/reference/generate.py`` writes them; ``--check`` fails if a page does not say what the code says.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import grimp
import typer

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/reference/generate.py: edit the code, not this page. -->\n\n"


def commands() -> str:
    """Every command with its arguments and options."""
    from aegis.command_line import app

    root: Any = typer.main.get_command(app)
    context = root.make_context("aegis", ["masks"], resilient_parsing=True)
    parts = ["# Commands\n\n", NOTE]
    parts.append("Exit status: 0 done, 1 a guarantee or check is not satisfied, 2 bad input, 130 interrupted.\n")
    for name, command in sorted(_leaves(root, context)):
        parts.append(f"\n## aegis {name}\n\n{_text(command.help)}\n\n")
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        usage = " ".join(["aegis", name, *(str(a.name).upper() for a in arguments), "[OPTIONS]" if options else ""])
        parts.append(f"```\n{usage.strip()}\n```\n")
        if arguments or options:
            parts.append("\n| | | default |\n|---|---|---|\n")
        for argument in arguments:
            parts.append(f"| `{str(argument.name).upper()}` | {_text(getattr(argument, 'help', ''))} | |\n")
        for option in options:
            default = "required" if option.required else _default(option)
            parts.append(f"| `{'`, `'.join(option.opts)}` | {_text(option.help)} | {default} |\n")
    return "".join(parts)


def _leaves(group: Any, context: Any, prefix: str = "") -> list[tuple[str, Any]]:
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            found += _leaves(command, context, f"{prefix}{name} ")
        else:
            found.append((prefix + name, command))
    return found


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or value in ("", ()):
        return ""
    return f"`{value}`"


def _text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def masks() -> str:
    """Every mask with its parameters and an example."""
    from aegis.data.kind import Kind
    from aegis.masking.catalogue import catalogue

    parts = ["# Masks\n\n", NOTE, "`aegis masks` prints the same.\n"]
    for row in catalogue():
        fits = "any column" if len(row.kinds) == len(Kind) else ", ".join(kind.value for kind in row.kinds)
        parts.append(f"\n## {row.name}\n\n{row.summary.replace('``', '`')}\n\n")
        parts.append(f"- fits: {fits}\n- random: {'yes' if row.random else 'no'}\n")
        if row.parameters:
            listed = ", ".join(f"`{p.name}`{' (required)' if p.required else ''}" for p in row.parameters)
            parts.append(f"- parameters: {listed}\n")
        if row.aliases:
            parts.append(f"- also called: {', '.join(row.aliases)}\n")
        parts.append(f"- example: `{row.example_value}` → `{row.example_masked}`\n")
    return "".join(parts)


def configurations() -> str:
    """The JSON Schema of configuration files."""
    from aegis.masking.catalogue import configuration_schema

    schema = configuration_schema()
    defined = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in schema.pop("$defs").items())
    head = json.dumps(schema, indent=1).removesuffix("\n}")
    return f'{head},\n "$defs": {{\n{defined}\n }}\n}}\n'  # a line each, so that a change shows where it is


def measures() -> str:
    """Every measure with its declared facts."""
    from aegis.measures.measure import AttributeMeasure, PairMeasure, measures_of

    parts = ["# Measures\n\n", NOTE, "## Of whole configurations\n\n"]
    parts.append(
        "From pairs of attributes, counted on a sample of rows. `pair-prediction` decides unless `--measure` "
        "names another; [choosing a measure](../theory/choosing-a-measure.md) says why.\n\n"
        "| name | unit | what it says |\n|---|---|---|\n"
    )
    for name, score in measures_of(PairMeasure).items():
        parts.append(f"| `{name}` | {score.unit} | {_text(score.summary)} |\n")
    parts.append("\n## Of single attributes\n\n")
    parts.append(
        "*Monotone*: merging values can only make it worse. *Invariant*: spreading a group by its own distribution of "
        "the label changes nothing, so a per-configuration reconstruction says nothing. What that means is in "
        "[the theory](../theory/measures.md).\n\n"
    )
    parts.append(
        "| name | unit | better | bounds | monotone | invariant | what it says |\n|---|---|---|---|---|---|---|\n"
    )
    for name, measure in measures_of(AttributeMeasure).items():
        upper = "∞" if measure.upper == float("inf") else f"{measure.upper:g}"
        parts.append(
            f"| `{name}` | {measure.unit} | {'higher' if measure.higher_is_better else 'lower'} "
            f"| {measure.lower:g} … {upper} | {'yes' if measure.monotone else 'no'} "
            f"| {'yes' if measure.invariant else 'no'} | {_text(measure.summary)} |\n"
        )
    return "".join(parts)


def models() -> str:
    """Every privacy model."""
    from aegis.privacy.model import MODELS

    parts = ["# Privacy models\n\n", NOTE, "| name | value must be | what it promises | source |\n|---|---|---|---|\n"]
    for name, model in MODELS.items():
        parts.append(f"| `{name}` | {model.bound.value} | {_text(model.describe())} | {_text(model.reference)} |\n")
    return "".join(parts)


def python() -> str:
    """Every public name of the package; the site adds signatures and docstrings where the directives stand."""
    import aegis

    names = sorted(name for name in aegis.__all__ if not name.startswith("_"))
    objects = {name: getattr(aegis, name) for name in names}
    parts = ["# Python\n\n", NOTE, "Everything here is importable from `aegis` itself: `import aegis`.\n\n"]
    parts.append(
        "`TableLike` is a path, a database URL, or a pandas, Polars or Arrow table; a name like `PolicyLike` or "
        "`ConfigurationLike` stands for a path, the object itself, or a mapping that says the same.\n"
    )
    for title, is_class in (("Functions", False), ("Classes", True)):
        parts.append(f"\n## {title}\n")
        for name, value in objects.items():
            if isinstance(value, type) == is_class:
                directive = "autoclass" if is_class else "autofunction"
                parts.append(f"\n### {name}\n\n```{{eval-rst}}\n.. {directive}:: {value.__module__}.{name}\n```\n")
    return "".join(parts)


ROOMS = ("<!-- rooms: written by docs/reference/generate.py -->\n", "<!-- end of rooms -->\n")


def architecture() -> str:
    """The page on architecture with its picture drawn from the import graph: rooms in order, and what each imports."""
    before, _, rest = (HERE.parent / "architecture.md").read_text(encoding="utf-8").partition(ROOMS[0])
    page = before + ROOMS[0] + _picture() + ROOMS[1] + rest.partition(ROOMS[1])[2]
    return re.sub(r"\[`(\w+)`\]\(\.\./(src/[^)]+\.py)\)", _followed, page)


def _followed(link: re.Match[str]) -> str:
    """A link to a function or class that has moved to one other file leads there."""
    root, name, file = HERE.parents[1], link[1], link[2]
    if name == Path(file).stem or ((root / file).exists() and _defines(root / file, name)):
        return link[0]
    places = [path for path in sorted((root / "src").rglob("*.py")) if _defines(path, name)]
    return f"[`{name}`](../{places[0].relative_to(root)})" if len(places) == 1 else link[0]


def _defines(path: Path, name: str) -> bool:
    return re.search(rf"^(?:def|class) {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def _picture() -> str:
    contracts = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = [[room.strip() for room in layer.split("|")] for layer in contracts["contracts"][0]["layers"]]
    order = [room for layer in layers for room in layer]
    graph = grimp.build_graph("aegis", exclude_type_checking_imports=True, cache_dir=None)
    imports: dict[str, set[str]] = {room: set() for room in order}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            importer, room = (name.split(".")[1] if "." in name else "" for name in (module, imported))
            if importer in imports and room in imports and importer != room:
                imports[importer].add(room)
    width = max(map(len, order)) + 2
    lines = []
    for layer in layers:
        for room in layer:
            listed = ", ".join(sorted(imports[room], key=order.index))
            text = f"{room:{width}}→ {listed}" if listed else room
            lines += textwrap.wrap(text, 80, subsequent_indent=" " * (width + 2))
        lines.append("")
    return "```text\n" + "\n".join(lines[:-1]) + "\n```\n"


def openapi() -> str:
    """The description of the catalog's API."""
    from aegis.catalog.server.api.app import description

    return json.dumps(description(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def api() -> str:
    """Every address of the catalog's API in one table."""
    from aegis.catalog.server.api.app import description

    parts = ["# The catalog's API\n\n", NOTE, "[openapi.json](api/openapi.json) says everything; this is the table.\n"]
    parts.append("\n| | address | what it does |\n|---|---|---|\n")
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            parts.append(f"| {method.upper()} | `{path}` | {_text(operation['description'])} |\n")
    return "".join(parts)


PAGES = {
    "commands.md": commands,
    "masks.md": masks,
    "configuration.schema.json": configurations,
    "measures.md": measures,
    "privacy-models.md": models,
    "python.md": python,
    "../architecture.md": architecture,
    "api.md": api,
    "api/openapi.json": openapi,
}


def main() -> int:
    """Write or check every page."""
    stale = []
    for name, page in PAGES.items():
        path, text = HERE / name, page()
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run python docs/reference/generate.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

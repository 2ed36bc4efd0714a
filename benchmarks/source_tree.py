"""How large the product is, and which of its modules only one other imports.

A module with one importer is a part that somebody looks for by its name, or a crumb. Those that are found in a list or
a registry (commands, handlers of pages and API, records, reports, masks, models, learners, kinds of candidates) have
one importer by design; the others are counted, and those of few lines named, so that a crumb can be seen.

``python benchmarks/source_tree.py`` reads source only and takes two seconds.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from _result import write

SOURCE = Path(__file__).parents[1] / "src"
LISTED = {
    "a command's options": ("aegis.commands.", "aegis.catalog.commands."),
    "handlers of the API": ("aegis.catalog.server.api.",),
    "handlers of pages": ("aegis.catalog.server.pages.",),
    "reports": ("aegis.report.",),
    "registered": (
        *("aegis.masking.masks.", "aegis.privacy.models.", "aegis.learners.", "aegis.attacks.methods."),
        *(
            "aegis.library.advising.candidate_makers",
            "aegis.library.advising.searched_kind",
            "aegis.library.advising.sanitized_kind",
        ),
    ),
}
"""What has one importer by design, by the beginning of its name."""


def modules() -> dict[str, Path]:
    """Every module by its name; packages without a line of their own are none."""
    named = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if path.stat().st_size:
            named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def importers(named: dict[str, Path]) -> dict[str, set[str]]:
    """Who imports each module, lazily by its name in a text included."""
    by_module: dict[str, set[str]] = defaultdict(set)
    for name, path in named.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            wanted: list[str] = []
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [module if module in named else node.module for module in inside]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                wanted = [node.value.partition(":")[0]]
            for module in wanted:
                if module in named and module != name:
                    by_module[module].add(name)
    return by_module


def kinds_of_lines(named: dict[str, Path]) -> dict[str, int]:
    """How many lines are code, docstrings, comments of their own, and blank."""
    counts = dict.fromkeys(("code", "docstrings", "comments", "blank"), 0)
    for path in named.values():
        text = path.read_text(encoding="utf-8")
        documented: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for number, line in enumerate(text.splitlines(), start=1):
            plain = line.strip()
            kind = "docstrings" if number in documented else "code" if plain else "blank"
            counts["comments" if kind == "code" and plain.startswith("#") else kind] += 1
    return counts


def main() -> None:
    """Count and write."""
    named = modules()
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in named.items()}
    once = [name for name, users in sorted(importers(named).items()) if len(users) == 1]
    listed = {what: [n for n in once if n.startswith(starts)] for what, starts in LISTED.items()}
    others = [name for name in once if not any(name in names for names in listed.values())]
    write(
        "source_tree",
        {
            "lines": sum(lines.values()),
            "lines_by_kind": kinds_of_lines(named),
            "files": len(named),
            "files_above_450_lines": {name: count for name, count in lines.items() if count > 450},
            "catalog_lines": sum(count for name, count in lines.items() if name.startswith("aegis.catalog")),
            "one_importer": len(once),
            "one_importer_by_design": {what: len(names) for what, names in listed.items()},
            "one_importer_others": len(others),
            "one_importer_others_below_40_lines": {name: lines[name] for name in others if lines[name] < 40},
            "median_lines_of_others": sorted(lines[name] for name in others)[len(others) // 2],
        },
    )


if __name__ == "__main__":
    main()

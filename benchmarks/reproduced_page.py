"""What came out of repeating the papers, as a page of the documentation: ``python benchmarks/reproduced_page.py``.

It reads the committed results of ``benchmarks/reproduce.py`` and writes ``docs/how-to/reproduced.md``. Nothing in that
page is written by hand: a test makes it again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _result import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "reproduced.md"
CHAPTERS = tuple(name for name in ("aegis", "mo_obam", "minimax") if (RESULTS / f"reproduce_{name}.json").exists())
VERDICTS = ("same", "different", "not comparable")


def main() -> None:
    PAGE.write_text(page({name: result(name) for name in CHAPTERS}), encoding="utf-8")
    print(f"wrote docs/how-to/{PAGE.name}")


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"reproduce_{name}.json").read_text(encoding="utf-8"))
    return found


def page(results: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    comparable = sum(of["comparable"] for of in results.values())
    same = sum(of["verdicts"]["same"] for of in results.values())
    lines = [
        "# The papers, repeated: what came out",
        "",
        "*Made from the committed results by `python benchmarks/reproduced_page.py`; [how to read it](reproduce.md).*",
        "",
        f"Of {comparable} comparable values {same} are as printed ({share(same, comparable)}).",
        "Each of the others is listed below with its reason.",
        "",
        "| paper | as printed, same | different | not comparable | ours better, by a test | CPU |",
        "|---|---|---|---|---|---|",
        *(
            f"| {of['paper']} | {of['verdicts']['same']} of {of['comparable']} "
            f"({share(of['verdicts']['same'], of['comparable'])}) | {of['verdicts']['different']} | "
            f"{of['verdicts']['not comparable']} | {of['better']} | {minutes(of['cpu_seconds'])} |"
            for of in results.values()
        ),
    ]
    for name, of in results.items():
        lines += ["", *chapter(name, of)]
    return "\n".join(lines) + "\n"


def chapter(name: str, of: dict[str, Any]) -> list[str]:
    """A paper: what each table and figure came to, and what differs."""
    lines = [
        f"## {of['paper']}",
        "",
        f"`{of['command']}` wrote `benchmarks/results/reproduce_{name}.json` on {of['date']}.",
        "",
        "| table or figure | same | different | not comparable | ours better | CPU |",
        "|---|---|---|---|---|---|",
    ]
    for section in of["sections"]:
        counted = [section["summary"][verdict] for verdict in VERDICTS]
        time = minutes(section["cpu_seconds"]) if section["cpu_seconds"] else "with those above"
        lines.append(
            f"| {cell(section['title'])} | {' | '.join(map(str, counted))} | {section['summary']['better']} | {time} |"
        )
    differing = [claim for section in of["sections"] for claim in section["claims"] if claim["verdict"] == "different"]
    if differing:
        lines += [
            "",
            f"What differs in the {of['paper']} paper:",
            "",
            "| value | printed | as printed | ours | reason |",
            "|---|---|---|---|---|",
            *(
                f"| {cell(claim['what'])} ({cell(claim['source'])}) | {value(claim['printed'])} | "
                f"{value(claim['as_printed'])} | {value(claim['ours'])} | {cell(claim['why'])} |"
                for claim in differing
            ),
        ]
    return lines


def share(part: int, whole: int) -> str:
    """
    >>> share(1, 3), share(0, 0)
    ('33 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else "–"


def minutes(seconds: float) -> str:
    """
    >>> minutes(4.2), minutes(600.0)
    ('4.2 s', '10 min')
    """
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.1f} s"


def value(given: Any) -> str:
    """A value of a claim: a number, a range with an open end, or words.

    >>> value(0.81234), value([None, 0.55]), value([0.45, 0.5]), value(None), value(12)
    ('0.8123', 'up to 0.55', '0.45 to 0.5', '–', '12')
    """
    if given is None:
        return "–"
    if isinstance(given, list):
        low, high = given
        return f"up to {high:g}" if low is None else f"{low:g} or more" if high is None else f"{low:g} to {high:g}"
    if isinstance(given, float):
        return f"{given:.4g}"
    return cell(str(given))


def cell(text: str) -> str:
    """Text that a cell of a table may hold."""
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()

"""``aegis start`` on a table where somebody has several rows: people are counted, unless somebody wants rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest
import yaml

import aegis as library

Aegis = Callable[..., Any]

QUICK = ("--candidates", "masks", "--generate", "6", "--purpose", "internal")


def _stays(folder: Path) -> Path:
    """Hospital stays: 60 patients, six of whom have most of the rows, all of an age of their own."""
    lines = ["patient_id,age,sex,outcome"]
    for i in range(300):
        patient = i % 60 if i < 120 else i % 6
        age = 80 + patient if patient < 6 else 20 + patient % 5
        outcome = "good" if (patient % 2 == 0) != (i * i // 7 % 5 == 0) else "bad"
        lines.append(f"P{patient:04d},{age},{'fm'[patient % 2]},{outcome}")
    path = folder / "stays.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _policy(folder: Path) -> dict[str, Any]:
    policy: dict[str, Any] = yaml.safe_load((folder / "aegis.yaml").read_text(encoding="utf-8"))["policy"]
    return policy


def test_people_are_counted_where_a_column_says_whose_rows_they_are(aegis: Aegis, tmp_path: Path) -> None:
    answer = aegis("start", _stays(tmp_path), "-y", *QUICK, "--json")
    assert answer.status == 0, answer.err
    assert "people are counted, by patient_id, and not rows" in answer.err
    assert "finds at least 3 people that look the same" in answer.err.replace("\n", " ")
    assert _policy(tmp_path)["unit"] == "patient_id"
    assert "fewer than" in answer.json["why"]
    assert "people" in answer.json["why"]
    assert answer.json["smallest_class"] >= 3
    assert "P0003" not in (tmp_path / "stays.released.csv").read_text(encoding="utf-8")
    page = (tmp_path / "stays.report.html").read_text(encoding="utf-8")
    assert "nobody can be told from fewer than" in page
    assert "other people" in page


def test_rows_are_counted_if_somebody_says_so(aegis: Aegis, tmp_path: Path) -> None:
    answer = aegis("start", _stays(tmp_path), "-y", *QUICK, "--person", "none")
    assert answer.status == 0, answer.err
    assert "rows are counted, not people" in answer.err
    assert "unit" not in _policy(tmp_path)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [("nobody", "there is no column 'nobody'"), ("age", "which would be published; name it with --identifying too")],
)
def test_a_column_that_cannot_count_people_is_refused(aegis: Aegis, tmp_path: Path, column: str, sentence: str) -> None:
    answer = aegis("start", _stays(tmp_path), "-y", *QUICK, "--person", column)
    assert answer.status == 2
    assert sentence in answer.err.replace("\n", " ")
    assert not (tmp_path / "stays.released.csv").exists()


@pytest.mark.parametrize(("answers", "unit"), [("people", "patient_id"), ("rows", None)])
def test_the_terminal_asks_whom_to_count(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str, unit: str | None
) -> None:
    asked: list[str] = []

    def prompt(question: str, *, default: str, **_: object) -> str:
        asked.append(question)
        return answers if "Count people or rows?" in question else default

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    answer = aegis("start", _stays(tmp_path), *QUICK)
    assert answer.status == 0, answer.err
    assert sum("Count people or rows?" in question for question in asked) == 1
    assert _policy(tmp_path).get("unit") == unit


def test_an_open_table_counts_people_too(tmp_path: Path) -> None:
    table = library.open(_stays(tmp_path))
    assert table.policy["unit"] == "patient_id"
    assert table.for_purpose("internal").policy["unit"] == "patient_id"
    assert "unit" not in table.for_purpose("internal", people=False).policy


def test_every_group_of_the_release_holds_enough_people(aegis: Aegis, tmp_path: Path) -> None:
    """The same rows in the same order, so that it can be seen whose each released row is."""
    data = _stays(tmp_path)
    assert aegis("start", data, "-y", *QUICK).status == 0
    masks = tmp_path / "masks.yaml"
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    masks.write_text(yaml.safe_dump(project["configuration"]), encoding="utf-8")
    shown = tmp_path / "shown.csv"
    assert aegis("apply", data, "--config", masks, "--out", shown).status == 0
    with data.open(encoding="utf-8") as file:
        people = [row["patient_id"] for row in DictReader(file)]
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    with shown.open(encoding="utf-8") as file:
        for person, row in zip(people, DictReader(file), strict=True):
            groups[row["age"], row["sex"]].add(person)
    starred = [group for group in groups.values() if len(group) < 3]
    assert sum(map(len, starred)) <= 0.05 * 300

"""``aegis advise --verify``: counts choose the shortlist, models trained on rows put it in order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")

Aegis = Callable[..., Any]


def test_the_shortlist_is_tried_and_ranked_by_accuracy(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    ask = ("advise", clinic / "clinic.csv", "--generate", "6", "--seed", "1", "--json")
    plain = aegis(*ask).json
    assert "verified" not in plain
    answer = aegis(*ask, "--verify", "3", "--report", tmp_path / "page.html")
    assert answer.status == 0, answer.err
    verified = answer.json["verified"]
    names = [one["configuration"] for one in answer.json["ranking"]]
    assert [one["configuration"] for one in verified] == names[:3]
    assert all(set(one) == {"configuration", "accuracy", "interval"} for one in verified)
    for one in verified:
        low, high = one["interval"]
        assert 0 <= low <= one["accuracy"] <= high <= 1
    accuracies = [one["accuracy"] for one in verified]
    assert accuracies == sorted(accuracies, reverse=True)
    before = [one["configuration"] for one in plain["ranking"]]
    assert before[0] in names[:3], "the first by counts is on the shortlist"
    untried = [name for name in before if name not in names[:3]]
    assert names[3:] == untried, "what was not tried stays as the counts had it"
    places = [one["rank"] for one in answer.json["ranking"]]
    assert places == sorted(places)
    assert (places[0], places[3]) == (1, 4)
    assert any("tried on rows" in note for note in answer.json["notes"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Tried on rows" in page


def test_people_see_which_were_tried(aegis: Aegis, clinic: Path) -> None:
    answer = aegis("advise", clinic / "clinic.csv", "--generate", "4", "--verify", "2")
    assert answer.status == 0, answer.err
    assert answer.out.count("not tried") == 2


def test_a_summary_has_no_rows_to_try(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    made = aegis("summarize", clinic / "clinic.csv", "--generate", "3", "--out", tmp_path / "summary")
    assert made.status == 0, made.err
    answer = aegis("advise", tmp_path / "summary", "--verify", "2")
    assert answer.status == 2
    assert "no rows" in answer.err


def test_the_optional_part_is_asked_for_before_anything_is_counted(
    aegis: Aegis, clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    answer = aegis("advise", clinic / "clinic.csv", "--generate", "3", "--verify", "2")
    assert answer.status == 2
    assert "aegis[evaluate]" in answer.err


def test_tables_are_not_tried(aegis: Aegis, clinic: Path) -> None:
    answer = aegis("advise", clinic / "clinic.csv", "--tables", clinic / "clinic.csv", "--verify", "2")
    assert answer.status == 2
    assert "--tables" in answer.err or "tables" in answer.err

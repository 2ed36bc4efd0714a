"""``aegis tune`` and ``aegis compare``: contracts, one sentence for every mistake, pages that give nothing away."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aegis.candidates.clusters.methods import ANONYMIZERS

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")

Aegis = Callable[..., Any]
QUASI = ["--quasi", "age,gender", "--sensitive", "diagnosis"]
CANARY = "Zanzibar-only-one"


@pytest.fixture(scope="module")
def patients(clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 patients of the clinic with a label of two values, one rare diagnosis and one rare ward."""
    with (clinic / "clinic.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:400]
    for row in rows:
        row["ill"] = "yes" if row.pop("health") in ("poor", "very poor") else "no"
    rows[7]["diagnosis"] = rows[8]["ward"] = CANARY
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def few_patients(patients: Path) -> Path:
    """Half of them: a search tries every number of classes."""
    few = patients.with_name("few.csv")
    few.write_text("".join(patients.read_text(encoding="utf-8").splitlines(keepends=True)[:201]), encoding="utf-8")
    return few


COMPARE = [
    *QUASI, "--identifying", "patient", "--label", "ill", "--k", "5", "--splits", "3",
    "--models", "decision-tree,naive-bayes", "--jobs", "1",
]  # fmt: skip
GRID = ["--k-values", "5,10", "--classes-values", "4,12,30", "--rounds", "5", "--jobs", "1"]
TUNE = [*QUASI, *GRID, "--trade-off-values", "0,1"]


def _gives_nothing_away(page: str) -> None:
    assert CANARY not in page
    assert not re.search(r"(src|href|url)\s*[=(]\s*['\"]?\s*(https?:)?//", page)
    assert "<script" not in page
    assert "default-src 'none'" in page


def test_compare_says_what_it_trained_and_goes_on_from_its_cache(aegis: Aegis, patients: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    ask = ["compare", patients, *COMPARE, "--seconds", "1", "--cache", tmp_path / "cache", "--json"]
    answer = aegis(*ask, "--report", page)
    assert answer.status == 0, answer.err
    found = answer.json
    names = list(ANONYMIZERS)
    assert found["tables"] == ["original", *names]
    assert found["trained"] == (len(names) + 1) * 3 * 2
    assert len(found["against_original"]) == len(names) * 2
    assert len(found["between"]) == math.comb(len(names), 2) * 2
    assert set(found["anonymizers"]) == set(names)
    assert all(facts["smallest_class"] >= 5 for facts in found["anonymizers"].values())
    assert {one["column"] for one in found["feature_importance"] if one["quasi_identifying"]} == {"age", "gender"}
    assert "patient" not in {one["column"] for one in found["feature_importance"]}
    _gives_nothing_away(page.read_text(encoding="utf-8"))
    again = aegis(*ask)
    assert again.json["trained"] == 0
    assert again.json["scores"] == found["scores"]
    assert again.json["anonymizers"] == found["anonymizers"]
    for kept in (tmp_path / "cache").iterdir():
        assert CANARY.encode() not in kept.read_bytes()


def test_compare_shows_a_table_and_says_how_a_rare_label_was_treated(aegis: Aegis, patients: Path) -> None:
    answer = aegis("compare", patients, *COMPARE, "--methods", "mdav", "--balance", "matching")
    assert answer.status == 0, answer.err
    assert "F1 of" in answer.out
    assert "original" in answer.out
    assert "Propensity matching" in answer.err
    assert "Holm" in answer.err


def test_compare_learns_published_dates_as_dates(aegis: Aegis, patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aegis.library import compare as workflow

    seen = {}

    def look(tables: Any, *given: Any, **more: Any) -> Any:
        seen.update({table.name: table.domains["admitted"].kind for table in tables})
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "compare_tables", look)
    assert aegis("compare", patients, *COMPARE, "--quasi", "age,admitted", "--methods", "mdav").status == 130
    assert seen == {"original": "date", "mdav": "date"}


def test_compare_tests_on_original_records_if_asked(aegis: Aegis, patients: Path, tmp_path: Path) -> None:
    secret = ["--sensitive", "ill", "--l", "2", "--methods", "k-member", "--json"]
    released = aegis("compare", patients, *COMPARE, *secret)
    assert "disclosure, not quality" in released.json["notes"][0]
    page = tmp_path / "out.html"
    original = aegis("compare", patients, *COMPARE, *secret, "--test-on", "original", "--report", page)
    assert original.status == 0, original.err
    assert original.json["tested_on"] == "original"
    assert original.json["notes"] == []
    assert original.json["scores"][0] == released.json["scores"][0]
    assert original.json["scores"][2:] != released.json["scores"][2:]
    assert "both tested on original records" in page.read_text(encoding="utf-8")


COMPARE_MISTAKES = {
    "unknown method": (["--methods", "magic"], "there is no anonymizer"),
    "twice": (["--methods", "mdav,mdav"], "named twice"),
    "unknown model": (["--models", "oracle"], "there is no model"),
    "unknown label": (["--label", "nope"], "there is no column"),
    "label is quasi": (["--label", "age"], "give it one role"),
    "label of many values": (["--label", "admitted"], "values and these models tell at most 20 apart"),
    "unknown positive": (["--positive", "maybe"], "--positive"),
    "one split": (["--splits", "1"], "--splits is at least 2"),
    "unknown balance": (["--balance", "magic"], "--balance cannot be 'magic'; it is one of auto, none, weights"),
    "unknown records": (["--test-on", "orignal"], "--test-on cannot be 'orignal'; did you mean 'original'?"),
    "matches without matching": (["--matches", "3"], "records are matched with --balance matching only; leave out"),
    "an option of no method": (["--methods", "mdav", "--classes", "3"], "none of mdav uses a number of classes"),
    "secrets that nobody named": (["--sensitive", "", "--trade-off", "0.5"], "no column is sensitive"),
    "k too large": (["--k", "2000"], "record"),
}


@pytest.mark.parametrize("mistake", COMPARE_MISTAKES)
def test_compare_refuses_what_cannot_be(aegis: Aegis, patients: Path, tmp_path: Path, mistake: str) -> None:
    given, said = COMPARE_MISTAKES[mistake]
    answer = aegis("compare", patients, *COMPARE, *given, "--report", tmp_path / "out.html")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert CANARY not in answer.err
    assert list(tmp_path.iterdir()) == []


def test_tune_recommends_and_draws(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    answer = aegis("tune", few_patients, *TUNE, "--report", page, "--json")
    assert answer.status == 0, answer.err
    found = answer.json
    assert {
        "rows", "unique_tuples", "k_values", "classes_values", "lambda_values", "grid", "search", "front",
        "recommended", "recommended_by_k", "advice", "left_out", "interrupted", "before", "seconds",
    } <= set(found)  # fmt: skip
    assert found["left_out"] == 2  # 30 classes of 10 need more than 200 records, for both trade-offs
    assert len(found["grid"]) == 10
    html = page.read_text(encoding="utf-8")
    _gives_nothing_away(html)
    assert html.count("People at linkage risk above 0.05 by number of classes") == 2
    assert f"--classes {found['recommended']['classes']}" in html
    assert found["advice"][:20] in html
    rounds_again = aegis("tune", few_patients, *TUNE, "--json").json
    assert rounds_again["recommended"]["information_loss"] == found["recommended"]["information_loss"]


def test_tune_shows_a_row_for_each_k_and_the_next_command(aegis: Aegis, few_patients: Path) -> None:
    answer = aegis("tune", few_patients, *TUNE, "--no-search")
    assert answer.status == 0, answer.err
    assert "recommended" in answer.out
    assert "aegis anonymize" in answer.err


def test_tune_without_secrets_still_draws(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    answer = aegis("tune", few_patients, "--quasi", "age,gender", *GRID, "--report", page, "--json")
    assert answer.status == 0, answer.err
    assert answer.json["lambda_values"] == [0.0]
    assert "homogeneity)" not in page.read_text(encoding="utf-8")


TUNE_MISTAKES = {
    "k of one": (["--k-values", "1"], "k starts at 2"),
    "not a number": (["--k-values", "five"], "whole numbers"),
    "infinite": (["--classes-values", "inf"], "whole numbers"),
    "half a class": (["--classes-values", "4.5"], "whole numbers"),
    "trade-off": (["--trade-off-values", "3"], "between 0"),
    "empty grid": (["--classes-values", "300"], "the grid is empty"),
    "no quasi": (["--quasi", ""], "no column is quasi-identifying"),
    "unknown column": (["--quasi", "nope"], "the roles name column 'nope', which the table does not have"),
    "two roles": (["--sensitive", "age"], "give it one role"),
    "unknown method": (["--method", "mo-obma"], "there is no anonymizer called 'mo-obma'; did you mean 'mo-obam'?"),
    "a method that has no setting": (["--method", "mdav"], "mdav chooses its classes itself"),
    "steps and seconds": (["--seconds-each", "3"], "steps are counted (--rounds), not seconds; leave out"),
    "secrets that nobody named": (["--sensitive", "", "--l", "2"], "no column is sensitive"),
    "l too large": (["--l", "50"], "every setting was refused"),
}


@pytest.mark.parametrize("mistake", TUNE_MISTAKES)
def test_tune_refuses_what_cannot_be(aegis: Aegis, few_patients: Path, tmp_path: Path, mistake: str) -> None:
    given, said = TUNE_MISTAKES[mistake]
    answer = aegis("tune", few_patients, *TUNE, *given, "--report", tmp_path / "out.html")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_reports_that_exist_are_not_replaced(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    page.write_text("mine", encoding="utf-8")
    for command in (["compare", few_patients, *COMPARE], ["tune", few_patients, *TUNE]):
        assert aegis(*command, "--report", page).status == 2
        assert page.read_text(encoding="utf-8") == "mine"


def test_json_is_one_object(aegis: Aegis, few_patients: Path) -> None:
    answer = aegis(
        "tune", few_patients, *QUASI, *GRID, "--no-search", "--k-values", "5", "--classes-values", "4", "--json"
    )
    found = json.loads(answer.out)
    assert found["recommended"]["k"] == 5
    assert found["lambda_values"] == [0.0001, 0.001, 0.01, 0.1, 1.0], "unless some are named"

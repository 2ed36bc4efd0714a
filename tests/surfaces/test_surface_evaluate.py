"""``aegis evaluate``: the exhaustive way on a table of one's own, resumable, over families of candidates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aegis.errors import InputError
from aegis.library.evaluate import evaluate

Aegis = Callable[..., Any]
QUICK = ("--models", "naive-bayes", "--splits", "2", "--most-rows", "300", "--shortlist", "2", "--json")
UNTRIED = (*QUICK, "--shortlist", "0")
KEYS = {"name", "spearman", "kendall", "regret", "top5", "cpu_seconds"}


@pytest.fixture(scope="module")
def few_patients(narrow_clinic: Callable[[int], Path]) -> Path:
    return narrow_clinic(600)


@pytest.fixture(scope="module")
def patients(narrow_clinic: Callable[[int], Path]) -> Path:
    """As many as a sanitizer needs."""
    return narrow_clinic(1_500)


def test_the_contract_and_a_second_run_that_trains_nothing(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    ask = (
        "evaluate", few_patients / "clinic.csv", "--generate", "4", "--cache", tmp_path / "results.jsonl", *QUICK,
    )  # fmt: skip
    answer = aegis(*ask, "--report", tmp_path / "page.html")
    assert answer.status == 0, answer.err
    (table,) = answer.json["datasets"]
    assert {"name", "rows", "attributes", "selectors"} <= set(table)
    assert len(table["gold"]["configurations"]) == 4
    names = {one["name"] for one in table["selectors"]}
    assert {"race", "pair-prediction", "verify-2", "random", "Mascara"} <= names
    assert {
        f"{way} {measure}" for way in ("Aegis+1D", "Aegis-1D", "Sampling") for measure in ("g3", "chi-square")
    } <= names
    for one in table["selectors"]:
        assert set(one) == KEYS
        assert one["regret"] >= 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "://" not in page.replace("http://www.w3.org/", "")
    kept = (tmp_path / "results.jsonl").read_bytes()
    again = aegis(*ask).json["datasets"][0]
    assert again["gold"]["configurations"] == table["gold"]["configurations"]
    assert (tmp_path / "results.jsonl").read_bytes() == kept, "nothing was trained again"


def test_families_are_judged_one_by_one_and_averaged(aegis: Aegis, patients: Path, tmp_path: Path) -> None:
    families = ("k-anonymous", "released")
    answer = aegis(
        "evaluate", patients / "clinic.csv", "--generate", "4", "--families", ",".join(families), *QUICK,
        "--shortlist", "1", "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    (table,) = answer.json["datasets"]
    by_name = {family["name"]: family for family in table["families"]}
    assert tuple(by_name) == families
    candidates = [one["configuration"] for one in by_name["released"]["gold"]["configurations"]]
    assert any(name.startswith("clustered-") for name in candidates)
    assert any(name.startswith("noise") for name in candidates)
    assert {"sanitized-40", "sanitized-80"} <= set(candidates)
    raced = {name: "race" in {each["name"] for each in family["selectors"]} for name, family in by_name.items()}
    assert raced == {"k-anonymous": True, "released": False}
    first, *about, raceless = by_name["released"]["notes"]
    assert raceless.startswith("the race is left out")
    assert "diagnosis (named as sensitive)" in first
    # Each distortion is audited and ranked, or named with the reason and not ranked: never one without the other.
    for share in (10, 40, 80):
        audited = [note for note in about if note.startswith(f"sanitized-{share}, diagnosis")]
        refused = [note for note in about if note.startswith(f"diagnosis is not sanitized at {share} %")]
        assert len(audited) + len(refused) == 1
        assert (f"sanitized-{share}" in candidates) == bool(audited)
        assert all("the authorised party errs by" in note and "determined for it" in note for note in audited)
    assert not by_name["k-anonymous"]["notes"]
    judged = {one["name"] for one in by_name["released"]["selectors"]}
    assert {"pair-prediction", "mutual-information (exact)", "verify-1", "random"} <= judged
    assert "Aegis+1D g3" not in judged, "nothing can be reconstructed where no mask acted"
    means = {one["name"]: one for one in table["selectors"]}
    each = [one for family in by_name.values() for one in family["selectors"] if one["name"] == "pair-prediction"]
    assert means["pair-prediction"]["regret"] == pytest.approx(sum(one["regret"] for one in each) / 2, abs=1e-5)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f"Family: {name}" in page for name in families)
    assert "diagnosis (named as sensitive)" in page


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table that is evaluated in a moment."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    strong = np.where(rng.random(400) < 0.8, 10 * label, 5) + rng.integers(0, 10, 400)
    table = np.stack([strong, rng.integers(0, 9, 400), label], axis=1)
    path = tmp_path / "small.csv"
    np.savetxt(path, table, fmt="%d", delimiter=",", header="strong,weak,y", comments="")
    return path


def test_draws_are_told_apart_averaged_and_cached(aegis: Aegis, small: Path, tmp_path: Path) -> None:
    ask = ("evaluate", small, "--label", "y", "--generate", "3", "--families", "heavy,k-anonymous", *UNTRIED)
    cache = ("--cache", tmp_path / "results.jsonl")
    first = aegis(*ask, *cache).json["datasets"][0]["families"]
    answer = aegis(*ask, *cache, "--draws", "2", "--report", tmp_path / "page.html")
    assert answer.status == 0, answer.err
    (table,) = answer.json["datasets"]
    assert all(set(one) == KEYS for one in table["selectors"])
    heavy, searched = table["families"]
    assert [draw["seed"] for draw in heavy["draws"]] == [0, 1]
    ids = [{one["id"] for one in draw["gold"]["configurations"]} for draw in heavy["draws"]]
    assert ids[0] != ids[1], "another seed, other candidates"
    assert heavy["draws"][0]["gold"] == first[0]["gold"], "the first draw is the only one of a run without --draws"
    assert searched["gold"] == first[1]["gold"], "what a search finds is not drawn again"
    regrets = [
        one["regret"] for draw in heavy["draws"] for one in draw["selectors"] if one["name"] == "pair-prediction"
    ]
    mean = next(one["regret"] for one in heavy["selectors"] if one["name"] == "pair-prediction")
    assert mean == pytest.approx(sum(regrets) / 2, abs=1e-5)
    assert "Draw 2 of 2" in (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = aegis(*[one for one in ask if one != "--json"], *cache, "--draws", "2")
    assert "6 candidates in 2 draws" in shown.out
    assert " to " in next(line for line in shown.out.splitlines() if line.startswith("pair-prediction"))


def test_progress_says_family_draw_and_shortlist(small: Path) -> None:
    said: list[str] = []
    evaluate(
        small, label="y", generate=2, families=("light",), draws=2, models=("naive-bayes",), splits=1, shortlist=1,
        progress=lambda done, total, what: said.append(what),
    )  # fmt: skip
    assert said[0] == "making the family light"
    for draw in (1, 2):
        assert any(one.startswith(f"light, draw {draw}, g") for one in said)
        assert any(one.startswith(f"light, draw {draw}, shortlist: g") for one in said)


def test_released_tables_have_the_label_in_the_same_ranges(small: Path) -> None:
    (family,) = evaluate(
        small, label="strong", label_bins=2, generate=2, families=("released",), models=("naive-bayes",), splits=1,
        shortlist=0,
    ).families  # fmt: skip
    (draw,) = family.draws
    assert any(one.configuration.startswith("clustered") for one in draw.gold.scores)
    assert family.notes


def test_time_is_counted_from_the_rows_to_the_choice(
    aegis: Aegis, few_patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(process_time=count(0, 100).__next__)  # between any two looks a hundred seconds pass
    monkeypatch.setattr("aegis.library.evaluate.time", clock)
    answer = aegis("evaluate", few_patients / "clinic.csv", "--generate", "3", *QUICK)
    spent = {one["name"]: one["cpu_seconds"] for one in answer.json["datasets"][0]["selectors"]}
    assert 100 <= spent["Mascara"] < 200, "one pass over the rows"
    assert 200 <= spent["pair-prediction"] < 300, "and one over pairs"
    assert 200 <= spent["verify-2"] < 300
    assert spent["random"] == 0


def test_quasi_identifiers_are_named_for_the_search(aegis: Aegis, few_patients: Path) -> None:
    asked = aegis(
        "evaluate",
        few_patients / "clinic.csv",
        "--generate",
        "3",
        "--families",
        "k-anonymous",
        "--quasi",
        "gender",
        *UNTRIED,
    )
    assert asked.status == 0, asked.err


def test_one_candidate_is_refused_before_anything_is_trained(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    cache = tmp_path / "results.jsonl"
    answer = aegis("evaluate", few_patients / "clinic.csv", "--generate", "1", "--cache", cache, *QUICK)
    assert answer.status == 2
    assert "two candidates or more" in answer.err
    assert not cache.exists()


def test_a_table_of_other_records_is_refused(aegis: Aegis, few_patients: Path, tmp_path: Path) -> None:
    lines = (few_patients / "clinic.csv").read_text(encoding="utf-8").splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", encoding="utf-8")
    ask = ("evaluate", few_patients / "clinic.csv", "--label", "diagnosis", "--generate", "2", *QUICK)
    answer = aegis(*ask, "--tables", other)
    assert answer.status == 2
    assert "same records in the same order" in answer.err


MISTAKES = {
    "unknown model": (["--generate", "2", "--models", "magic"], "magic"),
    "unknown family": (["--generate", "2", "--families", "light,odd"], "--families cannot be 'odd'"),
    "a family of nothing": (["--families", "light"], "--families says something about --generate, which is not given"),
    "a family of one": (["--generate", "1", "--families", "light"], "at least two candidates"),
    "nothing to draw": (["--configs", "{}/configurations", "--draws", "2"], "--draws says something about --generate"),
    "nothing is drawn": (
        ["--generate", "2", "--families", "k-anonymous", "--draws", "2"],
        "nothing in the family k-anonymous is drawn: a search finds it again; leave out --draws",
    ),
    "tables of no family": (
        ["--generate", "2", "--families", "light", "--tables", "{}/clinic.csv"],
        "tables are judged in the family released",
    ),
    "strength twice": (
        ["--generate", "2", "--families", "light", "--strength", "heavy"],
        "the families (--families) say which masks and how strong; leave out --strength",
    ),
    "masks of families": (["--generate", "2", "--families", "light", "--masks", "suppress"], "leave out --masks"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_used_is_refused_before_anything_is_trained(
    aegis: Aegis, few_patients: Path, tmp_path: Path, mistake: str
) -> None:
    given, said = MISTAKES[mistake]
    cache = tmp_path / "results.jsonl"
    arguments = [argument.format(few_patients) for argument in given]
    answer = aegis("evaluate", few_patients / "clinic.csv", *arguments, "--cache", cache)
    assert answer.status == 2
    assert said in answer.err
    assert not cache.exists()


def test_only_named_masks_are_evaluated(small: Path) -> None:
    found = evaluate(small, label="y", generate=2, masks=["suppress"], models=["naive-bayes"], splits=2, shortlist=0)
    assert len(found.gold.scores) == 2
    with pytest.raises(InputError, match="no mask called 'nonsense'"):
        evaluate(small, label="y", generate=2, masks=["nonsense"])

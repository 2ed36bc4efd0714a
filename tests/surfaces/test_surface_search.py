"""``aegis search``: the contract, from a policy to a release that satisfies it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Aegis = Callable[..., Any]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    text = "quasi_identifying: [age, zip, gender]\nk: 5\nl: {diagnosis: 2}\nmax_suppression: 0.02\n"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("space", ["levels", "cuts", "both"])
def test_what_is_found_satisfies_the_policy(
    aegis: Aegis, clinic: Path, policy: Path, tmp_path: Path, space: str
) -> None:
    data, best = clinic / "clinic.csv", tmp_path / "best.yaml"
    answer = aegis("search", data, "--policy", policy, "--space", space, "--seconds", "5", "--out", best, "--json")
    assert answer.status == 0, answer.err
    found = answer.json
    assert {
        "configuration", "levels", "utility", "bound", "proved", "cut_short", "nodes", "suppressed", "classes",
        "smallest_class", "front",
    } <= set(found)  # fmt: skip
    assert found["smallest_class"] >= 5
    assert found["bound"] is None or found["bound"] >= found["utility"] - 1e-9
    assert found["suppressed"] <= 0.02 * 1_500
    checked = aegis("check", data, "--policy", policy, "--config", best, "--json")
    assert checked.status == 0
    assert (checked.json["classes"], checked.json["suppressed"]) == (found["classes"], found["suppressed"])
    assert "label: health" in best.read_text(encoding="utf-8")


def test_cuts_keep_at_least_what_levels_keep_and_both_the_better(aegis: Aegis, clinic: Path, policy: Path) -> None:
    kept = {
        space: aegis(
            "search", clinic / "clinic.csv", "--policy", policy, "--space", space, "--seconds", "6", "--json"
        ).json["utility"]
        for space in ("levels", "both")
    }
    assert kept["both"] >= kept["levels"] - 1e-12


def test_what_was_found_is_told_in_plain_words(aegis: Aegis, clinic: Path, policy: Path) -> None:
    said = aegis("search", clinic / "clinic.csv", "--policy", policy, "--space", "levels").out
    assert " ".join(said.split()).startswith("the quasi-identifiers as released, together, about health: ")


def test_a_model_can_be_trained_on_a_shortlist(aegis: Aegis, clinic: Path, policy: Path) -> None:
    found = aegis(
        "search", clinic / "clinic.csv", "--policy", policy, "--space", "levels", "--train", "3", "--json"
    ).json
    assert len(found["trained"]) == 3
    best = max(found["trained"], key=lambda trained: trained["performance"])
    assert (best["utility"], found["goal"]) == (found["utility"], "accuracy")
    assert best["interval"][0] < best["performance"] < best["interval"][1]
    assert found["guessing"] < best["performance"]


def test_hierarchies_made_automatically_can_be_saved_and_read(
    aegis: Aegis, clinic: Path, policy: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "levels"
    ask = ("search", clinic / "clinic.csv", "--policy", policy, "--space", "levels", "--json")
    first = aegis(*ask, "--hierarchies", _empty(tmp_path), "--save-hierarchies", folder).json
    assert sorted(path.name for path in folder.iterdir()) == [
        "clinic_hierarchy_age.csv",
        "clinic_hierarchy_gender.csv",
        "clinic_hierarchy_weight.csv",  # the policy does not name it, the clinic's own roles do
        "clinic_hierarchy_zip.csv",
    ]
    again = aegis(*ask, "--hierarchies", folder).json
    assert again["utility"] == pytest.approx(first["utility"])


def _empty(folder: Path) -> Path:
    path = folder / "none"
    path.mkdir()
    return path


def test_a_policy_that_nothing_meets_says_which_model_fails(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    policy = tmp_path / "hard.yaml"
    policy.write_text("quasi_identifying: [age]\nk: 5\nl: {diagnosis: 50}\n", encoding="utf-8")
    answer = aegis("search", clinic / "clinic.csv", "--policy", policy, "--out", tmp_path / "best.yaml")
    assert answer.status in (1, 2)
    assert "diversity" in answer.err
    assert not (tmp_path / "best.yaml").exists()


def test_options_that_nothing_would_use_are_refused(aegis: Aegis, clinic: Path, policy: Path, tmp_path: Path) -> None:
    ask = ("search", clinic / "clinic.csv", "--policy", policy)
    for unused in (("--seed", "1"), ("--overwrite",), ("--space", "cuts", "--hierarchies", clinic / "hierarchies")):
        answer = aegis(*ask, *unused)
        assert answer.status == 2
        assert unused[-2 if len(unused) > 1 else -1] in answer.err


def test_hierarchies_that_are_there_are_not_replaced_unless_asked(
    aegis: Aegis, clinic: Path, policy: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "levels"
    folder.mkdir()
    own = folder / "clinic_hierarchy_gender.csv"
    own.write_text("mine\n", encoding="utf-8")
    ask = ("search", clinic / "clinic.csv", "--policy", policy, "--space", "levels", "--save-hierarchies", folder)
    answer = aegis(*ask)
    assert answer.status == 2
    assert "exists" in answer.err
    assert own.read_text(encoding="utf-8") == "mine\n"
    assert aegis(*ask, "--overwrite").status == 0
    assert own.read_text(encoding="utf-8") != "mine\n"

"""``aegis curve`` as people use it: the contract's object, a page that stands alone, one sentence for a mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aegis.candidates.sanitizers.gaussian import problem_from_json

Aegis = Callable[..., Any]
KEYS = {"target", "distortion", "adversary_losses", "worst", "theory", "erasure", "ratio", "interval", "exposure"}
QUICK = ("--attackers", "neighbours")


def test_the_gaussian_curve_is_the_object_of_the_contract(aegis: Aegis, tmp_path: Path) -> None:
    page = tmp_path / "curve.html"
    asked = ("curve", "gaussian", "--preset", "paper", "--points", "2", "--trials", "0", *QUICK)
    answer = aegis(*asked, "--cap-exposure", "--report", page, "--json")
    assert answer.status == 0, answer.err
    found = answer.json
    assert {"points", "device", "seconds"} <= set(found)
    assert set(found["seconds"]) == {"compile", "train", "audit"}
    assert [round(p["target"] / found["saturation"]["distortion"], 6) for p in found["points"]] == [0.5, 1.0]
    for point in found["points"]:
        assert KEYS | {"attacker"} <= set(point)
        assert point["worst"] == min(point["adversary_losses"])
        assert point["distortion"] <= 1.02 * point["target"]
        assert point["interval"][0] >= 0.99 * point["theory"]
        assert point["exposure"]["pinned_share"] <= point["exposure"]["reference_pinned_share"] + 1e-6
    html = page.read_text(encoding="utf-8")
    assert "Proposition 1" in html
    assert "erasure" in html
    assert "Map from X to F" in html
    assert not re.search(r"(?:src|href)=|<script|https?://(?!www\.w3\.org)", html), "the page loads nothing"
    assert aegis(*asked, "--report", page).status == 2, "a page that exists is not replaced"


def test_a_learned_binary_curve_reaches_the_proposition(aegis: Aegis, tmp_path: Path) -> None:
    page = tmp_path / "curve.html"
    asked = ("curve", "binary", "--p", "0.54", "--qy", "0.2", "--qz", "0.44", "--points", "1", "--trials", "3", *QUICK)
    first = aegis(*asked, "--report", page, "--json")
    assert first.status == 0, first.err
    for point in first.json["points"]:
        assert point["worst"] >= 0.99 * point["theory"]
        assert point["method"] == "learned"
    assert "Proposition 2" in page.read_text(encoding="utf-8")
    second = aegis(*asked, "--trials", "1")
    assert second.status == 0
    assert "mean ratio" in second.out
    assert "next: " in second.err


def test_a_covariance_file_and_a_coalition(aegis: Aegis, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps([[16.0, 7.0, 7.0], [7.0, 7.0, 0.0], [7.0, 0.0, 7.0]]), encoding="utf-8")
    asked = ("curve", "gaussian", "--covariance", path, "--points", "1", "--trials", "0", *QUICK, "--json")
    together = aegis(*asked, "--coalition").json
    assert together["saturation"]["distortion"] == pytest.approx(2.0)
    assert together["saturation"]["losses"] == pytest.approx([9.0, 9.0])
    apart = problem_from_json({"covariance": json.loads(path.read_text(encoding="utf-8"))})
    assert apart.max_distortion == pytest.approx(9.0)
    assert apart.saturation_losses.tolist() == pytest.approx([9.0])


MISTAKES: dict[str, tuple[list[str], str | None, str]] = {
    "not positive definite": (
        ["--covariance", "{file}"],
        "[[1, 2, 0], [2, 1, 0], [0, 0, 1]]",
        "the covariance is not positive definite; check the correlations, or drop a column that repeats another",
    ),
    "not symmetric": (["--covariance", "{file}"], "[[4, 1, 0], [0, 1, 0], [0, 0, 1]]", "not symmetric"),
    "not a matrix": (["--covariance", "{file}"], '{"covariance": "CANARY"}', "not a matrix of numbers"),
    "not json": (["--covariance", "{file}"], "[[1, CANARY", "cannot be read as JSON"),
    "a number": (["--covariance", "{file}"], "42424242", "holds no covariance"),
    "unknown key": (["--covariance", "{file}"], '{"covariance": [[1]], "CANARY": 1}', "nothing else"),
    "no adversary": (["--covariance", "{file}"], "[[2, 1], [1, 2]]", "no adversary"),
    "no file": (["--covariance", "{file}"], None, "there is no covariance file"),
    "neither": ([], None, "give either"),
    "both": (["--covariance", "{file}", "--preset", "paper"], "[[2, 1], [1, 2]]", "give either"),
    "unknown preset": (["--preset", "magic"], None, "--preset cannot be 'magic'; it is one of paper, coalition"),
    "no points": (["--preset", "paper", "--points", "0"], None, "between 1 and 1000 points"),
    "negative trials": (["--preset", "paper", "--trials", "-1"], None, "trials"),
    "no steps": (["--preset", "paper", "--steps", "0"], None, "--steps is at least 1"),
    "no patience": (["--preset", "paper", "--patience", "0"], None, "--patience is at least 1"),
    "unknown training": (["--preset", "paper", "--training", "magic"], None, "there is no training called 'magic'"),
    "a cap in the paper": (
        ["--preset", "paper", "--training", "paper", "--cap-exposure"],
        None,
        "does not use a cap on exposure",
    ),
    "a coalition twice": (["--preset", "coalition", "--coalition"], None, "together already; leave out --coalition"),
    "steps of no training": (["--preset", "paper", "--trials", "0", "--steps", "9"], None, "leave out --steps"),
    "no such law": (["--preset", "paper", "--training", "network"], None, "has no gaussian curve; use ours or paper"),
    "paper without trials": (["--preset", "paper", "--training", "paper", "--trials", "0"], None, "at least one trial"),
    "not a checkpoint": (["--preset", "paper", "--checkpoint", "{file}"], "CANARY", "c.json is not a checkpoint"),
    "unknown attacker": (["--preset", "paper", "--attackers", "magic"], None, "--attackers cannot be 'magic'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(aegis: Aegis, tmp_path: Path, mistake: str) -> None:
    arguments, content, said = MISTAKES[mistake]
    file = tmp_path / "c.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    given = [argument.replace("{file}", str(file)) for argument in arguments]
    answer = aegis("curve", "gaussian", *given, "--report", tmp_path / "r.html")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "CANARY" not in answer.err
    assert "42424242" not in answer.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--p", "1"], "p must lie strictly between 0 and 1; otherwise the private column is constant"),
        (["--qz", "0"], "at either end the side information equals the private column"),
        (["--qy", "1"], "at either end the side information equals the private column"),
        (["--symbols", "1"], "a release of a bit has between 2 and 8 symbols"),
        (["--preset", "coalition"], "--preset cannot be 'coalition'; it is one of paper"),
        (["--preset", "paper", "--p", "0.3"], "the preset holds p, qy and qz: give either it or those; leave out --p"),
        (["--training", "magic"], "there is no training called 'magic' (known: network, ours, paper)"),
        (["--training", "paper", "--symbols", "3"], "does not use another number of symbols than 2"),
        (["--training", "network", "--trials", "0"], "needs at least one trial"),
        (["--epochs", "5"], "the training 'ours' does not use a number of epochs"),
        (["--training", "paper", "--epochs", "0"], "--epochs is at least 1"),
        (["--points", "0"], "between 1 and 1000 points"),
    ],
)
def test_a_bit_that_makes_no_sense_is_refused(aegis: Aegis, arguments: list[str], said: str) -> None:
    answer = aegis("curve", "binary", *arguments)
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


def test_an_interruption_leaves_nothing(aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis.candidates.sanitizers.gaussian_curve.audit_mixture", interrupt)
    asked = ("curve", "gaussian", "--preset", "paper", "--points", "1", "--trials", "0")
    answer = aegis(*asked, "--report", tmp_path / "r.html")
    assert answer.status == 130
    assert list(tmp_path.iterdir()) == []


def without_jax(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.modules['jax'] = None; from aegis.command_line import call; sys.exit(call(sys.argv[1:]))"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("curve", "gaussian", "--preset", "paper"),
        ("curve", "binary"),
        ("sanitize", "x.csv", "--private", "a", "--adversary", "b", "--distortion", "1", "--out", "o.csv"),
    ],
)
def test_without_jax_the_install_line_is_printed(arguments: tuple[str, ...]) -> None:
    answer = without_jax(*arguments)
    assert answer.returncode == 2
    assert "pip install 'aegis-share[sanitize]'" in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("law", [("gaussian", "--preset", "paper"), ("binary",)])
def test_bits_are_refused_with_where_they_are_counted(aegis: Aegis, law: tuple[str, ...], tmp_path: Path) -> None:
    answer = aegis("curve", *law, "--loss", "log", "--report", tmp_path / "c.html")
    assert answer.status == 2
    assert "--loss log is for columns of tables (aegis sanitize)" in answer.err
    assert not list(tmp_path.iterdir())

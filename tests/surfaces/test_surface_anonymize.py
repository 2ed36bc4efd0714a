"""``aegis anonymize``: the contract, rows in order, and what was promised counted again on the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

Aegis = Callable[..., Any]
QUASI = ("age", "zip", "gender")


def _rows(path: Path) -> dict[str, list[Any]]:
    read: dict[str, list[Any]] = pyarrow.csv.read_csv(path).to_pydict()
    return read


@pytest.mark.parametrize(
    ("method", "more"),
    [("mo-obam", ["--l", "2", "--seconds", "2"]), ("mdav", []), ("k-member", ["--l", "2"])],
)
def test_what_is_written_keeps_k_and_l(
    aegis: Aegis, clinic: Path, tmp_path: Path, method: str, more: list[str]
) -> None:
    out = tmp_path / "out.csv"
    answer = aegis(
        "anonymize", clinic / "clinic.csv", "--method", method, "--quasi", ",".join(QUASI), "--sensitive", "diagnosis",
        "--k", "6", *more, "--out", out, "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = answer.json
    assert {
        "method", "classes", "distinct_tuples", "smallest_class", "information_loss", "lower_bound", "entropy",
        "linkage", "homogeneity", "before", "seconds",
    } <= set(found)  # fmt: skip
    assert set(found["linkage"]) == {"0.05", "0.075", "0.1"}
    before, after = _rows(clinic / "clinic.csv"), _rows(out)
    assert set(after["patient"]) == {"*"}, "an identifying column does not leave"
    assert found["identifying_suppressed"] == ["patient"]
    for column in before:
        if column not in (*QUASI, "patient"):
            assert after[column] == before[column], "other columns and their order are untouched"
    tuples = list(zip(*(after[column] for column in QUASI), strict=True))
    sizes = Counter(tuples)
    assert min(sizes.values()) >= 6
    assert min(sizes.values()) == found["smallest_class"]
    assert len(sizes) == found["distinct_tuples"]
    if "--l" in more:
        values: dict[Any, set[Any]] = {}
        for one, value in zip(tuples, after["diagnosis"], strict=True):
            values.setdefault(one, set()).add(value)
        assert min(len(each) for each in values.values()) >= 2
        assert found["homogeneity"] == 0


MISTAKES = {
    "k too large": (["--k", "2000"], "record"),
    "l too large": (["--k", "5", "--l", "9"], "value"),
    "too many classes": (["--k", "5", "--classes", "5000"], "class"),
    "unknown method": (["--k", "5", "--method", "magic"], "there is no method"),
    "unknown column": (["--k", "5", "--quasi", "nope"], "there is no column"),
    "sensitive and quasi": (["--k", "5", "--sensitive", "age"], "age"),
    "lambda for mdav": (["--k", "5", "--method", "mdav", "--lambda", "0.5"], "mo-obam"),
    "missing numbers": (["--k", "5", "--quasi", "weight"], "weight"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_is_refused(aegis: Aegis, clinic: Path, tmp_path: Path, mistake: str) -> None:
    given, said = MISTAKES[mistake]
    arguments = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis", *given]
    answer = aegis("anonymize", clinic / "clinic.csv", *arguments, "--out", tmp_path / "out.csv")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_not_replaced(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine", encoding="utf-8")
    answer = aegis("anonymize", clinic / "clinic.csv", "--quasi", "age", "--k", "5", "--method", "mdav", "--out", out)
    assert answer.status == 2
    assert out.read_text(encoding="utf-8") == "mine"

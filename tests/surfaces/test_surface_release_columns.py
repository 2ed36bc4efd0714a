"""`aegis release --columns` as people use it: what is written, what is certified, and each mistake one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Aegis = Callable[..., Any]


@pytest.fixture
def strict(clinic: Path) -> tuple[object, ...]:
    """The clinic, a policy and a configuration that satisfies it."""
    config = clinic / "configurations/strict.yaml"
    return (clinic / "clinic.csv", "--policy", clinic / "policy.yaml", "--config", config)


def test_some_columns_are_written_certified_and_verified(
    aegis: Aegis, strict: tuple[object, ...], tmp_path: Path
) -> None:
    out = tmp_path / "some.csv"
    done = aegis("release", *strict, "--columns", "health, age,gender", "--out", out)
    assert done.status == 0, done.err
    assert out.read_text(encoding="utf-8").splitlines()[0] == "age,gender,health"  # in the order of the table
    assert aegis("verify", out, f"{out}.certificate.json").status == 0
    page = Path(f"{out}.certificate.html").read_text(encoding="utf-8")
    assert "satisfies its policy on age, gender:" in page
    assert page.count("left out: the table does not have this column") == 8
    assert "because it is identifying" not in page  # there is no such column to hide


@pytest.mark.parametrize(("columns", "said"), [("agee", "there is no column 'agee'"), (" , ", "no column is named")])
def test_a_mistake_is_one_sentence_and_writes_nothing(
    aegis: Aegis, strict: tuple[object, ...], tmp_path: Path, columns: str, said: str
) -> None:
    answer = aegis("release", *strict, "--columns", columns, "--out", tmp_path / "some.csv")
    assert answer.status == 2
    assert said in " ".join(answer.err.split())
    assert list(tmp_path.iterdir()) == []

"""What is run on a release before it leaves, and what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from aegis.data.schema import Roles
from aegis.library.guided.leaving import AttackFigures, attacks_to_run, free_name


def test_secrets_are_attacked_where_there_are_some() -> None:
    open_ = attacks_to_run(Roles(label="y", quasi_identifying=("age",)))
    secret = attacks_to_run(Roles(label="y", quasi_identifying=("age",), sensitive=("illness",)))
    assert "prosecutor" in open_
    assert set(secret) - set(open_) == {"homogeneity", "background-knowledge"}


@pytest.mark.parametrize(
    ("singled_out", "share", "singles_out"), [(0, 0.0, False), (3, 0.01, True), (100, 0.02, False), (3, 0.0, False)]
)
def test_whoever_names_everybody_only_guesses(singled_out: int, share: float, singles_out: bool) -> None:
    figures = AttackFigures(
        name="x",
        knows="something",
        people=100,
        singled_out=singled_out,
        right=1,
        exposed_share=share,
        not_applicable=None,
    )
    assert figures.singles_out is singles_out


def test_a_release_never_takes_the_name_of_another(tmp_path: Path) -> None:
    first = free_name("mine.csv", tmp_path)
    assert first.name == "mine.released.csv"
    first.touch()
    assert free_name("mine.csv", tmp_path).name == "mine.released-2.csv"
    (tmp_path / "mine.released-2.csv.certificate.json").touch()
    assert free_name("mine.csv", tmp_path).name == "mine.released-3.csv"
    assert free_name("mine.parquet", tmp_path).name == "mine.released.parquet"
    assert free_name("mine.csv.gz", tmp_path).name == "mine.released-3.csv"

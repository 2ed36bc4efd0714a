"""What is run on a release before it leaves, and what it is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aegis.data.schema import Roles
from aegis.library.guided.candidate_release import AttackFigures, attacks_to_run, exposure_words, free_name


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


def test_an_attack_that_does_not_apply_was_not_run() -> None:
    ran = AttackFigures(name="x", knows="it", people=9, singled_out=0, right=0, exposed_share=0.0, not_applicable=None)
    not_run = replace(ran, name="file-metadata", not_applicable="the release is no Parquet file")
    assert exposure_words([ran, not_run]) == "nobody is singled out by 1 attack on what is quasi-identifying"
    assert exposure_words([replace(ran, singled_out=2, exposed_share=0.1)]) == "somebody is singled out by x"


def test_a_release_never_takes_the_name_of_another(tmp_path: Path) -> None:
    first = free_name("mine.csv", tmp_path)
    assert first.name == "mine.released.csv"
    first.touch()
    assert free_name("mine.csv", tmp_path).name == "mine.released-2.csv"
    (tmp_path / "mine.released-2.csv.certificate.json").touch()
    assert free_name("mine.csv", tmp_path).name == "mine.released-3.csv"
    assert free_name("mine.parquet", tmp_path).name == "mine.released.parquet"
    assert free_name("mine.csv.gz", tmp_path).name == "mine.released-3.csv"

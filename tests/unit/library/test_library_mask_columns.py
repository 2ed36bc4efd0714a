"""Generated configurations mask what tells people apart, and leave the rest as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import aegis
from aegis.counts.summary import configuration_of
from aegis.errors import ConfigurationError
from aegis.masking.configuration import Configuration


@pytest.fixture
def people() -> pd.DataFrame:
    rows = range(600)
    return pd.DataFrame(
        {
            "age": [20 + i % 60 for i in rows],
            "zip": [f"13{i % 40:02d}" for i in rows],
            "ward": [f"ward {i % 12}" for i in rows],
            "illness": [f"illness {i % 9}" for i in rows],
            "ill": ["yes" if i % 60 > 30 else "no" for i in rows],
        }
    )


def masked_columns(made: Iterable[Configuration]) -> set[str]:
    return {column for configuration in made for column in configuration.masks}


def test_masks_are_generated_for_the_columns_the_policy_calls_quasi_identifying(people: pd.DataFrame) -> None:
    policy = {"quasi_identifying": ["age", "zip"], "sensitive": ["illness"], "k": 3}
    summary = aegis.summarize(people, label="ill", generate=20, policy=policy, race=False)
    made = [configuration_of(summary, candidate.name) for candidate in summary.configurations]
    assert masked_columns(made) == {"age", "zip"}
    ranking = aegis.advise(people, label="ill", generate=20, policy=policy, fast=True)
    assert masked_columns(ranking.configurations.values()) == {"age", "zip"}


def test_the_roles_decide_without_a_policy_and_the_rest_is_masked_only_on_request(people: pd.DataFrame) -> None:
    ranking = aegis.advise(people, label="ill", generate=10, quasi=["zip"], fast=True)
    assert masked_columns(ranking.configurations.values()) == {"zip"}
    asked = aegis.advise(people, label="ill", generate=20, quasi=["zip"], mask_columns=["zip", "ward"], fast=True)
    assert masked_columns(asked.configurations.values()) == {"zip", "ward"}


def test_where_nobody_gave_roles_every_column_but_the_label_is_masked(people: pd.DataFrame) -> None:
    assert masked_columns(aegis.generate(people, label="ill", count=30)) == {"age", "zip", "ward", "illness"}


def test_a_column_that_cannot_be_masked_is_refused_with_those_that_can(people: pd.DataFrame) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot mask 'ill': it is the label.*age, zip, ward"):
        aegis.generate(people, label="ill", count=5, mask_columns=["ill"])


def test_the_masks_of_a_ranked_candidate_can_be_reached_and_released(people: pd.DataFrame, tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["age", "zip"], "k": 3}
    ranking = aegis.advise(people, label="ill", generate=10, policy=policy, fast=True)
    best = ranking.configuration()
    assert best.name == ranking.best.configuration
    released = aegis.release(people, config=best, policy=policy, out=tmp_path / "out.csv", insensitive="rest")
    assert released.certificate.content["configuration"]["id"] == best.id
    assert list(released.frame()) == list(people)
    assert len(released.frame()) == released.rows
    with pytest.raises(ConfigurationError, match="no candidate is called"):
        ranking.configuration("nobody")
    assert aegis.Ranking.from_json(ranking.to_json()).configuration() == best
    bare = replace(ranking, configurations={})
    with pytest.raises(ConfigurationError, match="was made from a summary"):
        bare.configuration()

"""What `advise` says of the candidates it made: aimed at the policy, counted, and defined."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import aegis
from aegis.errors import PolicyNotSatisfiedError, RoleError
from aegis.ranking.ranking import Ranking


@pytest.fixture
def people() -> pd.DataFrame:
    rows = range(600)
    return pd.DataFrame(
        {
            "age": [20 + i % 60 for i in rows],
            "zip": [f"13{i % 97:02d}" for i in rows],
            "visits": [i % 7 for i in rows],
            "ill": ["yes" if i % 60 > 30 else "no" for i in rows],
        }
    )


POLICY = {"quasi_identifying": ["age", "zip", "visits"], "k": 5}


def test_stronger_configurations_are_made_until_enough_satisfy_the_policy(people: pd.DataFrame) -> None:
    ranking = aegis.advise(people, label="ill", generate=10, policy=POLICY, fast=True)
    assert len(ranking.ranking) == 10
    stronger = [place.configuration for place in ranking.ranking if place.configuration.startswith("h")]
    assert stronger
    (note,) = [note for note in ranking.notes if "of strength mixed satisfy the policy" in note]
    assert f"{len(stronger)} of strength heavy" in note
    assert all(place.privacy is not None and place.privacy.smallest_class >= 5 for place in ranking.ranking)


def test_whoever_asks_for_light_ones_gets_no_others_and_is_told_the_way_out(people: pd.DataFrame) -> None:
    with pytest.raises(PolicyNotSatisfiedError, match="of strength light; give --strength heavy"):
        aegis.advise(people, label="ill", generate=4, strength="light", policy=POLICY, fast=True)


def test_a_policy_that_no_masks_satisfy_points_at_search(people: pd.DataFrame) -> None:
    with pytest.raises(PolicyNotSatisfiedError, match="nor does any of strength heavy; search for one with"):
        aegis.advise(people, label="ill", generate=4, policy={**POLICY, "k": 600}, masks=["round"], fast=True)


def test_fewer_configurations_than_asked_for_is_a_note_of_the_result(people: pd.DataFrame) -> None:
    ranking = aegis.advise(people[["visits", "ill"]], label="ill", generate=500, masks=["suppress"], fast=True)
    assert "these columns and masks allow 1 different configuration, fewer than 500" in ranking.to_json()["notes"]


def test_json_defines_each_candidate_so_that_it_can_be_released(people: pd.DataFrame, tmp_path: Path) -> None:
    ranking = aegis.advise(people, label="ill", generate=5, fast=True, masks=["bucketize", "regroup", "star_trailing"])
    content = json.loads(json.dumps(ranking.to_json()))
    again = Ranking.from_json(content)
    for place in content["ranking"]:
        config = tmp_path / "config.json"
        config.write_text(json.dumps(place["definition"]))
        known = ranking.configurations[place["configuration"]]
        assert known.id == again.configuration(place["configuration"]).id == place["id"]
        masked = aegis.apply(people, config=config, out=tmp_path / "masked.csv", overwrite=True)
        assert masked is not None


def test_every_column_that_is_not_there_is_named_at_once(people: pd.DataFrame) -> None:
    with pytest.raises(RoleError, match="columns 'nobody', 'nothing', which the table does not have"):
        aegis.advise(people, label="ill", generate=2, quasi=["nobody"], sensitive=["nothing"])

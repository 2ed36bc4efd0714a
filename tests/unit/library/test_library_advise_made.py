"""What `advise` gives back of candidates that are no given configurations: how they are made again, what is saved."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis as library
from aegis.counts.collect import count_table
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import OptionError, PolicyNotSatisfiedError
from aegis.library.advising.candidate_kinds import CandidateInputs, make_candidates
from aegis.library.advising.racing import sample_of
from aegis.library.ledgers.constraints import Constraints
from aegis.masking.configuration import Configuration
from aegis.privacy.policy import Policy
from aegis.ranking.ranking import Ranking

POLICY = {"quasi_identifying": ["age", "town"], "k": 5}


def people(rows: int = 300, *, told: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    age, town = rng.integers(0, 6, rows), rng.integers(0, 3, rows)
    ill = age + rng.normal(0, 1, rows) > 2.5 if told else rng.random(rows) < 0.5
    return pd.DataFrame({"age": 20 + age, "town": [f"t{each}" for each in town], "ill": np.where(ill, "yes", "no")})


def test_what_a_search_found_is_defined_and_can_be_saved(tmp_path: Path) -> None:
    saved = tmp_path / "best.json"
    ranking = library.advise(
        people(), label="ill", candidates=["search"], policy=POLICY, insensitive="rest", seconds=60, save=saved
    )
    assert ranking.best.kind == "search"
    assert ranking.configuration().id == ranking.best.id
    content = json.loads(json.dumps(ranking.to_json()))
    assert set(content["ranking"][0]["definition"]["masks"]) <= {"age", "town"}
    assert Ranking.from_json(content).configuration().id == ranking.best.id
    assert json.loads(saved.read_text())["masks"] == content["ranking"][0]["definition"]["masks"]
    assert not any("saved is" in note for note in ranking.notes)


def test_whoever_saves_is_told_that_the_best_is_a_table(tmp_path: Path) -> None:
    rows = people()
    rows.to_csv(tmp_path / "same.csv", index=False)
    blind = Configuration.of("blind", {"age": "suppress", "town": "suppress"})
    saved = tmp_path / "best.yaml"
    ranking = library.advise(rows, label="ill", configs=[blind], tables=[tmp_path / "same.csv"], save=saved)
    assert [place.configuration for place in ranking.ranking] == ["same", "blind"]
    assert ranking.notes[-1] == (
        "the best is same, which is no configuration of masks; saved is the best one that is, blind, at rank 2"
    )
    assert ranking.best.protocol == "the table trains, real rows test"
    assert "name: blind" in saved.read_text()
    assert "definition" not in ranking.to_json()["ranking"][0]


def test_a_label_that_nothing_tells_has_no_best_and_no_losses(aegis: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    people(told=False).to_csv(data, index=False)
    answer = aegis("advise", data, "--label", "ill", "--generate", 4, "--goal", "accuracy")
    assert answer.status == 0, answer.err
    assert "Nobody can say which is the best" in answer.out
    assert "% probability" not in answer.out
    assert "≈ best" not in answer.out
    assert "loses on" not in answer.out
    assert "behind the best" not in answer.out
    assert "no loss found" not in answer.out
    content = aegis("advise", data, "--label", "ill", "--generate", 4, "--goal", "accuracy", "--json").json
    assert content["label_told"] is False
    assert not any(place["no_loss_found"] or place["kept"] is not None for place in content["ranking"])


def test_other_kinds_say_which_command_makes_them_again(aegis: Callable[..., Any], tmp_path: Path) -> None:
    rows = people()
    data, policy = tmp_path / "data.csv", tmp_path / "policy.yaml"
    rows.to_csv(data, index=False)
    policy.write_text("quasi_identifying: [age, town]\ninsensitive: [ill]\nk: 5\n")
    rules = Policy.from_mapping(POLICY)
    dataset = open_dataset(data, roles=Roles(label="ill"))
    counted = count_table(dataset, label="ill", label_bins=None, continuous_bins=8, progress=None)
    shop = CandidateInputs(
        constraints=Constraints(
            dataset=dataset, policy=rules, roles=rules.roles_in(dataset.schema, dataset.roles), hierarchies={}
        ),
        sample=sample_of(dataset, counted, label_bins=None, seed=0),
    )
    made = make_candidates(["clusters", "boxes"], shop).made
    assert [each.name for each in made] == ["mdav", "boxes"]
    for each in made:
        out = tmp_path / f"{each.name}.csv"
        places = {"DATA": str(data), "POLICY": str(policy), "OUT.csv": str(out)}
        words = [places.get(word, word) for word in shlex.split(each.command)]
        answer = aegis(*words[1:])
        assert answer.status == 0, answer.err
        assert len(pd.read_csv(out)) == len(rows)


def test_a_command_stands_in_the_definition_and_is_read_again() -> None:
    ranking = library.advise(
        people(), label="ill", candidates=["clusters"], policy=POLICY, insensitive="rest", ledger="none"
    )
    content = json.loads(json.dumps(ranking.to_json()))
    command = content["ranking"][0]["definition"]["command"]
    assert command.startswith("aegis anonymize DATA --method mdav --k 5")
    again = Ranking.from_json(content)
    assert again.best.command == command
    assert not again.configurations
    with pytest.raises(library.AegisError, match="no configuration of masks was ranked"):
        again.configuration()


def test_where_nothing_is_left_to_rank_each_kind_says_why() -> None:
    numbers = people().assign(ill=range(len(people())))
    numbers["ill"] = numbers["ill"] * 37 % 101
    with pytest.raises(PolicyNotSatisfiedError, match=r"left to rank.*; search: a search keeps classes"):
        library.advise(numbers, label="ill", candidates=["search"], policy=POLICY, insensitive="rest", ledger="none")


def test_a_kind_that_is_named_twice_is_made_once() -> None:
    kinds = ["clusters", "clusters"]
    ranking = library.advise(people(), label="ill", candidates=kinds, policy=POLICY, insensitive="rest", ledger="none")
    assert len(ranking.ranking) == 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [("clusters", "clusters are made to satisfy a policy"), ("cluster", "no kind of candidates called 'cluster'")],
)
def test_a_kind_that_is_not_there_is_named_before_a_policy_is_asked_for(kind: str, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        library.advise(people(), label="ill", generate=2, candidates=["masks", kind])

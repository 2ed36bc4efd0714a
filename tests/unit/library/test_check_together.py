"""Several configurations judged together, and what may leave next under a ledger: check, search and advise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.errors import InputError, PolicyNotSatisfiedError
from aegis.main import call

POLICY = {"quasi_identifying": ["age", "zip"], "sensitive": ["ill"], "k": 5, "l": {"ill": 2}}
BY_AGE = {"age": {"bucketize": {"width": 10}}, "zip": "suppress"}
BY_ZIP = {"age": "suppress", "zip": "identity"}
COARSER = {"age": {"bucketize": {"width": 20}}, "zip": "suppress"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    i = np.arange(240)
    people = pd.DataFrame(
        {
            "age": 20 + i % 40,
            "zip": [f"{10000 + place}" for place in (i * 2654435761 >> 9) % 12],
            "ill": [("flu", "cold", "none")[number % 3] for number in i],
            "label": [("yes", "no")[int(number % 40 // 5 % 2)] for number in i],
        }
    )
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


def _smallest(table: Path, *keys: Any) -> int:
    people = pd.read_csv(table)
    return int(people.groupby([key(people) for key in keys]).size().min())


def test_the_joint_classes_are_those_of_all_columns_that_any_of_them_shows(table: Path) -> None:
    checked = aegis.check(table, policy=POLICY, config=[BY_AGE, BY_ZIP], suppress=False)
    assert checked.exit_status == 1
    assert checked.smallest_class == _smallest(table, lambda p: p.age // 10, lambda p: p.zip)
    assert checked.breaking == (("configuration (1)", "configuration (2)"),)
    assert "k-anonymity for" in (checked.reason or "")
    assert "configuration (1) and configuration (2) together" in (checked.reason or "")


def test_a_coarser_one_beside_the_first_changes_nothing(table: Path) -> None:
    alone = aegis.check(table, policy=POLICY, config=BY_AGE)
    both = aegis.check(table, policy=POLICY, config=[BY_AGE, COARSER, BY_AGE])
    assert both.satisfied
    assert (both.classes, both.smallest_class) == (alone.classes, alone.smallest_class)
    assert both.together == ("configuration (1)", "configuration (2)", "configuration (3)")


def test_the_order_of_releases_says_nothing(table: Path) -> None:
    some: list[Any] = [BY_AGE, {"age": "identity", "zip": "suppress"}, COARSER]
    first = aegis.check(table, policy={**POLICY, "k": 1, "l": {"ill": 1}}, config=some)
    second = aegis.check(table, policy={**POLICY, "k": 1, "l": {"ill": 1}}, config=some[::-1])
    assert (first.classes, first.smallest_class) == (second.classes, second.smallest_class)


def test_a_mask_that_draws_cannot_be_judged_beforehand(table: Path) -> None:
    with pytest.raises(InputError, match="at random"):
        aegis.check(table, policy=POLICY, config=[BY_AGE, {"age": {"add_laplace_noise": {"scale": 3}}}])


def test_the_command_takes_several_configurations(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, text in (("ages", "age: {bucketize: {width: 10}}\nzip: suppress"), ("zips", "age: suppress")):
        path = table.parent / f"{name}.yaml"
        path.write_text(text + "\n", encoding="utf-8")
        paths += ["--config", str(path)]
    policy = table.parent / "policy.yaml"
    policy.write_text("quasi_identifying: [age, zip]\nk: 5\n", encoding="utf-8")
    assert call(["check", str(table), "--policy", str(policy), *paths]) == 1
    assert "ages and zips together" in capsys.readouterr().out.replace("\n", " ")


def _released(table: Path, masks: Any, **given: Any) -> Any:
    out = table.parent / "out.csv"
    return aegis.release(table, config=masks, policy=POLICY, insensitive=["rest"], out=out, overwrite=True, **given)


def test_a_search_under_a_ledger_finds_what_may_leave(table: Path) -> None:
    _released(table, BY_ZIP)
    found = aegis.search(table, policy=POLICY, label="label", space="levels", seconds=4)
    assert found.together_with == (2,)
    released = _released(table, found.configuration)
    assert released.ledger["together_with"] == [2]
    alone = aegis.search(table, policy=POLICY, label="label", space="levels", seconds=4, ledger="none")
    assert alone.utility > found.utility
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):
        _released(table, alone.configuration)


def test_advice_under_a_ledger_leaves_out_what_breaks_the_policy_together(table: Path) -> None:
    _released(table, BY_AGE)
    candidates = {"configurations": {"zips": BY_ZIP, "again": BY_AGE, "coarser": COARSER}}
    ranking = aegis.advise(table, configs=candidates, policy=POLICY, label="label", fast=True)
    assert {place.configuration for place in ranking.ranking} == {"again", "coarser"}
    assert "k-anonymity together with what is out" in ranking.rejected["zips"]
    alone = aegis.advise(table, configs=candidates, policy=POLICY, label="label", fast=True, ledger="none")
    assert "zips" in {place.configuration for place in alone.ranking}

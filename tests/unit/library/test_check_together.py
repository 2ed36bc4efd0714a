"""Several configurations judged together, and what may be released next under a ledger: check, search and advise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.command_line import call
from aegis.counts.class_table import suppressed_classes
from aegis.counts.collect_classes import count_classes
from aegis.errors import InputError, PolicyNotSatisfiedError
from aegis.library.search import Found
from aegis.masking.configuration_file import configurations_from_mapping
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy
from aegis.ranking.joint import SeveralReleases, joint_classes
from aegis.ranking.verdicts import partitions_of

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
    assert isinstance(found, Found)
    assert found.together_with == (2,)
    released = _released(table, found.configuration)
    assert released.ledger["together_with"] == [2]
    alone = aegis.search(table, policy=POLICY, label="label", space="levels", seconds=4, ledger="none")
    assert isinstance(alone, Found)
    assert alone.utility > found.utility
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):
        _released(table, alone.configuration)


def test_advice_under_a_ledger_leaves_out_what_breaks_the_policy_together(table: Path) -> None:
    _released(table, BY_AGE)
    candidates = {"configurations": {"zips": BY_ZIP, "again": BY_AGE, "coarser": COARSER}}
    ranking = aegis.advise(table, configs=candidates, policy=POLICY, label="label", fast=True)
    assert {place.configuration for place in ranking.ranking} == {"again", "coarser"}
    assert "k-anonymity together with earlier releases" in ranking.rejected["zips"]
    alone = aegis.advise(table, configs=candidates, policy=POLICY, label="label", fast=True, ledger="none")
    assert "zips" in {place.configuration for place in alone.ranking}


@pytest.mark.parametrize("max_suppression", [0, 0.2])
def test_the_common_refinement_is_what_a_plain_count_over_rows_finds(max_suppression: float) -> None:
    """Ten maskings with and without suppression: the classes are the tuples of what each of them shows of a row."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 6, 300) for name in ("a", "b", "c")})
    policy = Policy.from_mapping(
        {"quasi_identifying": ["a", "b", "c"], "k": 3, "max_suppression": max_suppression, "suppressed": "exempt"}
    )
    masks = [
        {
            name: "suppress" if kind == 0 else {"bucketize": {"width": kind}}
            for name, kind in zip(("a", "b", "c"), rng.integers(0, 4, 3).tolist(), strict=True)
        }
        for _ in range(10)
    ]
    configurations = [configurations_from_mapping(each, name=str(place))[0] for place, each in enumerate(masks)]
    raw = count_classes(aegis.open_dataset(frame), ("a", "b", "c"))
    joint = joint_classes(configurations, raw, policy)
    shown = []
    for configuration in configurations:
        partitions = partitions_of(configuration, raw)
        assert partitions is not None
        own = raw.merged(partitions)
        judged = judge_all(own, policy)
        hidden = {
            tuple(codes) for codes, is_hidden in
            zip(own.codes.tolist(), suppressed_classes(own, judged.released), strict=True) if is_hidden
        } if judged.suppressed else set()  # fmt: skip
        tuples = [
            tuple(int(partitions[name].codes[code]) for name, code in zip(raw.columns, codes, strict=True))
            for codes in raw.codes.tolist()
        ]
        shown.append([("*",) if each in hidden else each for each in tuples])
    counted: dict[tuple[object, ...], int] = {}
    for seen, size in zip(zip(*shown, strict=True), raw.sizes.tolist(), strict=True):
        counted[seen] = counted.get(seen, 0) + size
    assert sorted(joint.sizes.tolist()) == sorted(counted.values())


@pytest.mark.parametrize(
    "models",
    [
        {"l": {"s": 3}},
        {"k": 2, "l": {"s": 2}},
        {"k": 4, "l": {"s": {"kind": "entropy", "l": 2}}},
        {"k": 2, "l": {"s": 2}, "t": {"s": 0.6}},
    ],
)
@pytest.mark.parametrize("sensitive", ["identity", {"bucketize": {"width": 2}}])
def test_which_ones_break_the_policy_is_what_judging_each_alone_says(models: Any, sensitive: Any) -> None:
    """Classes in which some raw tuple holds are not counted again; what is said of them is the same."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: np.minimum(rng.geometric(0.4, 400), 6) for name in ("a", "b", "c", "s")})
    policy = Policy.from_mapping({"quasi_identifying": ["a", "b", "c"], "sensitive": ["s"], **models})
    masks = [
        {
            **{
                name: "suppress" if kind == 0 else {"bucketize": {"width": kind}}
                for name, kind in zip(("a", "b", "c"), rng.integers(0, 4, 3).tolist(), strict=True)
            },
            "s": sensitive,
        }
        for _ in range(10)
    ]
    configurations = [configurations_from_mapping(each, name=str(place))[0] for place, each in enumerate(masks)]
    raw = count_classes(aegis.open_dataset(frame), ("a", "b", "c"), contents=("s",))
    alone = []
    for configuration in configurations:
        partitions = partitions_of(configuration, raw)
        assert partitions is not None
        if not judge_all(raw.merged(partitions), policy, suppress=False).satisfied:
            alone.append((configuration.name,))
    assert 0 < len(alone) < 10
    assert SeveralReleases.of(configurations, raw, policy, suppress=False).breaking() == tuple(alone)

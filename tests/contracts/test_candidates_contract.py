"""Every kind of candidates keeps the protocol of the race: one is tested by being registered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aegis.counts.collect import count_table
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import OptionError
from aegis.learners.candidate import Part
from aegis.learners.sample import Sample
from aegis.library.advise import advise
from aegis.library.advising.candidate_kinds import CANDIDATES, CandidateInputs, CandidateKind, make_candidates
from aegis.library.advising.racing import sample_of
from aegis.library.ledgers.constraints import Constraints
from aegis.privacy.policy import Policy

MADE = [name for name, kind in CANDIDATES.items() if kind.make is not None]
JUDGED = [name for name in MADE if CANDIDATES[name].judged]
ROWS = 900


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    age, town = rng.integers(20, 60, ROWS), rng.integers(0, 6, ROWS)
    visits, ill = rng.integers(0, 5, ROWS), rng.integers(0, 3, ROWS)
    chance = 1 / (1 + np.exp(-(age - 40) / 6 - np.where(town % 2, 1.0, -1.0) - (visits - 2) / 2))
    health = rng.random(ROWS) < chance
    path = tmp_path_factory.mktemp("kinds") / "people.csv"
    lines = [
        f"{a},t{t},{v},d{i},{'good' if h else 'bad'}"
        for a, t, v, i, h in zip(age, town, visits, ill, health, strict=True)
    ]
    path.write_text("\n".join(["age,town,visits,ill,health", *lines]) + "\n")
    return path


def inputs(people: Path, policy: dict[str, object]) -> CandidateInputs:
    dataset = open_dataset(people, roles=Roles(quasi_identifying=("age", "town"), sensitive=("ill",), label="health"))
    counted = count_table(dataset, label="health", label_bins=None, continuous_bins=8, progress=None)
    rules = Policy.from_mapping(policy)
    return CandidateInputs(
        constraints=Constraints(
            dataset=dataset, policy=rules, roles=rules.roles_in(dataset.schema, dataset.roles), hierarchies={}
        ),
        sample=sample_of(dataset, counted, label_bins=None, seed=0),
        seconds=2.0,
    )


def part_of(sample: Sample, rows: np.ndarray, number: int = 0) -> Part:
    target = sample.target()
    training, testing = rows[: 2 * len(rows) // 3], rows[2 * len(rows) // 3 :]
    return Part(
        number=number,
        training=training,
        testing=testing,
        training_target=target.at(training),
        testing_target=target.at(testing),
    )


@pytest.mark.parametrize("name", MADE)
def test_a_kind_answers_for_the_rows_it_was_asked_about(people: Path, name: str) -> None:
    shop = inputs(people, {"k": 5})
    makings = make_candidates([name], shop)
    assert not makings.rejected
    assert makings.made
    part = part_of(shop.sample, np.arange(600))
    for made in makings.made:
        assert made.candidate.kind == name
        assert made.verdict.satisfied
        assert made.verdict.smallest_class >= 5 if name in JUDGED else made.verdict.smallest_class == 0
        assert made.reason
        split = made.candidate.split(part, draw=0)
        assert split.test_rows == len(part.testing)
        assert 0 < len(split.target) <= len(part.training)
        assert split.prepared


@pytest.mark.parametrize("name", MADE)
def test_what_is_fitted_is_fitted_on_the_training_rows_alone(people: Path, name: str) -> None:
    """The test rows' labels and the order of the test rows change nothing of what models train on."""
    shop = inputs(people, {"k": 5})
    (made, *_) = make_candidates([name], shop).made
    part = part_of(shop.sample, np.arange(600))
    turned = replace(
        part, testing=part.testing[::-1].copy(), testing_target=part.testing_target.at(np.arange(200)[::-1])
    )
    first, second = made.candidate.split(part, draw=0), made.candidate.split(turned, draw=0)
    assert len(first.columns) == len(second.columns)
    for one, two in zip(first.columns, second.columns, strict=True):
        assert one.training.tolist() == two.training.tolist()
        assert one.testing[::-1].tolist() == two.testing.tolist()


@pytest.mark.parametrize("name", MADE)
def test_equal_seeds_give_equal_candidates(people: Path, name: str) -> None:
    shop = inputs(people, {"k": 5})
    part = part_of(shop.sample, np.arange(300))
    splits = [make_candidates([name], shop).made[0].candidate.split(part, draw=0) for _ in range(2)]
    for one, two in zip(splits[0].columns, splits[1].columns, strict=True):
        assert one.training.tolist() == two.training.tolist()


@pytest.mark.parametrize("name", JUDGED)
def test_a_policy_that_cannot_hold_rejects_with_a_reason(people: Path, name: str) -> None:
    shop = inputs(people, {"k": 5, "l": {"ill": 9}})
    makings = make_candidates([name], shop)
    bad = {**makings.rejected, **{m.name: m.verdict.reason for m in makings.made if not m.verdict.satisfied}}
    assert len(bad) == 1
    assert not any(made.verdict.satisfied for made in makings.made)
    assert all(len(reason) > 10 for reason in bad.values())


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_an_entry_says_what_it_is(name: str) -> None:
    kind = CANDIDATES[name]
    assert kind.name == name
    assert len(kind.summary) > 20
    assert "\n" not in kind.summary


def test_all_kinds_race_on_one_scale(people: Path) -> None:
    ranking = advise(
        people,
        label="health",
        quasi=["age", "town"],
        sensitive=["ill"],
        policy={"k": 5},
        candidates=list(CANDIDATES),
        generate=3,
        strength="heavy",
    )
    kinds = {place.kind for place in ranking.ranking}
    assert {"search", "clusters", "boxes", "sanitized", "synthetic"} <= kinds
    by_kind = {place.kind: place for place in ranking.ranking}
    assert all((by_kind[kind].privacy is not None) == (kind in JUDGED) for kind in MADE)
    alone = advise(people, label="health", quasi=["age", "town"], policy={"k": 5}, candidates=["boxes"])
    assert [place.kind for place in alone.ranking] == ["boxes"]


@contextmanager
def registered(kind: CandidateKind) -> Iterator[None]:
    CANDIDATES.add(kind.name, kind)
    try:
        yield
    finally:
        del CANDIDATES._entries[kind.name]


def test_a_new_kind_is_offered_without_further_edits(people: Path) -> None:
    with registered(replace(CANDIDATES["clusters"], name="newcomer")):
        ranking = advise(people, label="health", quasi=["age", "town"], policy={"k": 5}, candidates=["newcomer"])
    assert [place.configuration for place in ranking.ranking] == ["mdav"]


def test_what_cannot_be_used_is_refused(people: Path) -> None:
    with pytest.raises(OptionError, match="give one with --policy"):
        advise(people, label="health", candidates=["boxes"])
    with pytest.raises(OptionError, match="no kind of candidates called 'boxs'; did you mean 'boxes'"):
        advise(people, label="health", candidates=["boxs"], policy={"k": 5}, quasi=["age"])
    with pytest.raises(OptionError, match="leave out --candidates"):
        advise(people, label="health", candidates=["boxes"], policy={"k": 5}, fast=True)
    with pytest.raises(OptionError, match="leave out --generate"):
        advise(people, label="health", candidates=["boxes"], policy={"k": 5}, generate=3)


def test_nothing_is_sanitized_where_nothing_is_sensitive(people: Path) -> None:
    shop = inputs(people, {"k": 5})
    roles = Roles(quasi_identifying=("age", "town"), label="health")
    bare = replace(shop, constraints=replace(shop.constraints, roles=roles))
    makings = make_candidates(["sanitized"], bare)
    assert not makings.made
    assert "--sensitive" in makings.rejected["sanitized"]

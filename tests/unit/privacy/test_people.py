"""People instead of records: every model by its definition, and that rows cannot stand for people."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.asked_models import Make, ways_to_use

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import PolicyError
from aegis.masking.transition import Partition
from aegis.privacy.judgement import hopeless, judge_all
from aegis.privacy.model import MODELS
from aegis.privacy.policy import Policy

Rows = list[tuple[int, int, int]]
"""Tuple, person and sensitive value of each record."""

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=14)


def table_of(rows: Rows, *, people: bool = True) -> ClassTable:
    codes = np.array([[place] for place, _, _ in rows])
    return ClassTable.from_codes(
        columns=("zone",),
        domains=(Domain.of(Kind.INTEGER, np.arange(4)),),
        codes=codes,
        counts=np.ones(len(rows), dtype=np.int64),
        contents={"ill": (Domain.of(Kind.INTEGER, np.arange(3)), np.array([value for _, _, value in rows]))},
        persons=("patient", np.array([person for _, person, _ in rows])) if people else None,
    )


def model(name: str, **parameters: Any) -> Any:
    return MODELS[name].from_parameters(parameters)


def classes_of(rows: Rows) -> list[Rows]:
    return [[row for row in rows if row[0] == place] for place in sorted({row[0] for row in rows})]


def values_by_person(rows: Rows) -> dict[int, set[int]]:
    held: dict[int, set[int]] = {}
    for _, person, value in rows:
        held.setdefault(person, set()).add(value)
    return held


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_k_is_the_number_of_different_people(rows: Rows) -> None:
    fewest = min(len(values_by_person(part)) for part in classes_of(rows))
    assert model("k-anonymity", k=1).judge(table_of(rows)).value == fewest


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_no_choice_of_a_value_for_everybody_is_less_diverse_than_what_is_judged(rows: Rows) -> None:
    table = table_of(rows)
    distinct = model("distinct-l-diversity", attribute="ill", l=1).scores(table)
    entropy = model("entropy-l-diversity", attribute="ill", l=1).scores(table)
    recursive = model("recursive-l-diversity", attribute="ill", c=1, l=2).scores(table)
    for place, part in enumerate(classes_of(rows)):
        for chosen in itertools.product(*values_by_person(part).values()):
            counts = np.sort(np.bincount(chosen)[np.bincount(chosen) > 0])[::-1]
            shares = counts / counts.sum()
            assert distinct[place] <= len(counts)
            assert entropy[place] <= np.exp(-(shares * np.log(shares)).sum()) + 1e-9
            rest = counts[1:].sum()
            assert recursive[place] >= (counts[0] / rest if rest else np.inf) - 1e-9


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_shares_are_those_of_people_who_have_a_value(rows: Rows) -> None:
    table = table_of(rows)
    everybody = values_by_person(rows)
    alpha = model("alpha-k-anonymity", attribute="ill", alpha=1, k=1).scores(table)
    beta = model("basic-beta-likeness", attribute="ill", beta=1).scores(table)
    for place, part in enumerate(classes_of(rows)):
        held = values_by_person(part)
        gains = [0.0]
        for value in {value for values in held.values() for value in values}:
            q = sum(value in values for values in held.values()) / len(held)
            p = sum(value in values for values in everybody.values()) / len(everybody)
            assert alpha[place] >= q - 1e-12
            gains.append(q / p - 1)
        assert beta[place] == pytest.approx(max(gains))


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_closeness_compares_what_a_drawn_record_of_a_drawn_person_shows(rows: Rows) -> None:
    def distribution(part: Rows) -> np.ndarray:
        total = np.zeros(3)
        people = {person for _, person, _ in part}
        for who in people:
            own = [value for _, person, value in part if person == who]
            total += np.bincount(own, minlength=3) / len(own)
        return total / len(people)

    scores = model("t-closeness", attribute="ill", t=1).scores(table_of(rows))
    whole = distribution(rows)
    for place, part in enumerate(classes_of(rows)):
        assert scores[place] == pytest.approx(np.abs(distribution(part) - whole).sum() / 2, abs=1e-8)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_a_prosecutor_draws_a_record_and_a_share_counts_people_once(rows: Rows) -> None:
    table = table_of(rows)
    chances = {}
    for place, part in enumerate(classes_of(rows)):
        own = [sum(person == who for _, person, _ in part) for who in {person for _, person, _ in part}]
        chances[part[0][0]] = max(own) / len(part)
        assert model("prosecutor-risk", limit=1).scores(table)[place] == pytest.approx(max(own) / len(part))
    exposed = {person for place, person, _ in rows if chances[place] > 0.4}
    people = {person for _, person, _ in rows}
    verdict = model("linkage-risk", tau=0.4, share=0.5).judge(table)
    assert verdict.value == pytest.approx(len(exposed) / len(people))
    # Without the classes that it names, the people who are left are within the limit.
    kept = [row for row in rows if not verdict.failing[sorted({r[0] for r in rows}).index(row[0])]]
    left = {person for _, person, _ in kept}
    assert len({p for place, p, _ in kept if chances[place] > 0.4}) <= 0.5 * len(left) + 1e-9


@pytest.mark.parametrize(("name", "make"), [way for name in MODELS for way in ways_to_use(name, of=("ill",))])
@given(rows=ROWS, seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_one_record_a_person_is_the_same_as_no_unit(name: str, make: Make, rows: Rows, seed: int) -> None:
    alone = [(place, number, value) for number, (place, _, value) in enumerate(rows)]
    asked = model(name, **make(np.random.default_rng(seed)))
    top = Partition(codes=np.zeros(3, dtype=np.int64), target=Domain.of(Kind.INTEGER, [0]))
    by_people, by_records = (
        asked.judge(table_of(alone, people=people).with_levels({"ill": (top,)})) for people in (True, False)
    )
    assert by_people.value == pytest.approx(by_records.value, abs=1e-8), f"{name} counts records where people count"
    assert by_people.satisfied == by_records.satisfied


@given(ROWS, st.lists(st.integers(0, 1), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_people_are_counted_anew_when_classes_merge_and_models_keep_what_they_declare(
    rows: Rows, merge: list[int]
) -> None:
    partition = Partition(codes=np.array(merge), target=Domain.of(Kind.INTEGER, [0, 1]))
    merged = table_of(rows).merged({"zone": partition})
    again = table_of([(merge[place], person, value) for place, person, value in rows])
    assert merged.persons.tolist() == again.persons.tolist()
    for name in ("k-anonymity", "prosecutor-risk", "journalist-risk"):
        declared = model(name, **({"k": 2} if name == "k-anonymity" else {"limit": 0.5}))
        assert declared.monotone_in_people
        if declared.judge(table_of(rows)).satisfied:
            assert declared.judge(merged).satisfied


def test_two_diverse_classes_may_merge_into_one_that_gives_everything_away() -> None:
    """Why only models of sizes are monotone in people: each class hides who has what, both together show all."""
    rows: Rows = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    diverse = model("distinct-l-diversity", attribute="ill", l=2)
    assert diverse.judge(table_of(rows)).satisfied
    together = Partition(codes=np.zeros(4, dtype=np.int64), target=Domain.of(Kind.INTEGER, [0]))
    assert not diverse.judge(table_of(rows).merged({"zone": together})).satisfied
    policy = Policy.from_mapping({"quasi_identifying": ["zone"], "unit": "patient", "l": {"ill": 2}})
    assert not policy.monotone
    assert hopeless(table_of(rows), policy) == ()


def test_five_records_of_one_person_are_not_five_people() -> None:
    rows: Rows = [(0, 0, value % 3) for value in range(5)] + [(1, person, person % 3) for person in range(5)]
    asked = {"quasi_identifying": ["zone"], "k": 5, "max_suppression": 0.5, "suppressed": "dropped"}
    assert judge_all(table_of(rows, people=False), Policy.from_mapping(asked)).suppressed == 0
    judged = judge_all(table_of(rows), Policy.from_mapping({**asked, "unit": "patient"}))
    assert judged.suppressed == 5
    assert judged.smallest_class == 5
    (worst,) = judged.worst
    assert (worst.size, worst.records) == (1, 5)


def test_records_are_never_counted_in_silence() -> None:
    policy = Policy.from_mapping({"quasi_identifying": ["zone"], "k": 2, "unit": "patient"})
    with pytest.raises(PolicyError, match="counts people by 'patient'"):
        judge_all(table_of([(0, 0, 0), (0, 1, 0)], people=False), policy)


def test_what_says_whose_records_they_are_is_identifying() -> None:
    policy = Policy.from_mapping({"quasi_identifying": ["zone"], "k": 2, "unit": "patient"})
    assert policy.roles.identifying == ("patient",)
    assert Policy.from_yaml(policy.to_yaml()) == policy
    assert "people are counted" in policy.describe()
    with pytest.raises(PolicyError, match="is identifying and is not published"):
        Policy.from_mapping({"quasi_identifying": ["zone"], "k": 2, "unit": "zone"})
    with pytest.raises(PolicyError, match="unit must be the name"):
        Policy.from_mapping({"quasi_identifying": ["zone"], "k": 2, "unit": 3})

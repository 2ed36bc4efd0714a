"""Cuts: every cut is weighed exactly, every answer satisfies the policy, every mask is the partition it stands for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3]))  # for the tables that these tests share

from tests.unit.search.search_tables import gate, hierarchies, policies, tables

from aegis.candidates.search.board import Board, SearchState
from aegis.candidates.search.cuts import CutSearch, Grouping
from aegis.candidates.search.masks import cutting_order, mask_for
from aegis.candidates.search.search import search
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import InputError, LabelError, PolicyNotSatisfiedError
from aegis.masking.transition import Partition, transition
from aegis.measures.leave_one_out import leave_one_out_information
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy


def cutting(table: ClassTable, policy: Policy) -> CutSearch:
    asked = gate(table, policy)
    board: Board[Grouping] = Board(places=5, shown=asked.objective.turned, report=None, deadline=None)
    return CutSearch(gate=asked, board=board)


@given(tables(labels=3), policies, st.data())
@settings(max_examples=100, deadline=None)
def test_sweeping_weighs_every_cut_as_if_it_were_made(table: ClassTable, policy: Policy, data: st.DataObject) -> None:
    cuts = cutting(table, policy)
    space = cuts.space
    state = tuple(
        space.changed(space.together, c, np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))))[c]
        for c, n in enumerate(space.sizes)
    )
    classes, owner = space.classes(state)
    for column in range(len(state)):
        for cut in space.cuts(state, column, owner, len(classes)):
            after = space.made(cut)
            assert len(set(after[column])) == len(set(state[column])) + 1
            weighed = cuts.gate.weigh(space.classes(after)[0])
            assert weighed.failing <= cuts.gate.limit
            assert cut.sure == (weighed.outcome is not None)
            if weighed.outcome is not None:
                assert cut.score == pytest.approx(weighed.outcome.score, abs=1e-9)


@given(tables(missing=True), policies, st.sampled_from(["levels", "cuts", "both"]))
@settings(max_examples=100, deadline=None)
def test_the_answer_is_what_its_masks_make(table: ClassTable, policy: Policy, space: str) -> None:
    try:
        result = search(table, label="y", policy=policy, hierarchies=hierarchies(table), space=space, seconds=20)
    except PolicyNotSatisfiedError:
        assert not judge_all(table.together(), policy, suppress=False).satisfied
        return
    for candidate in {id(c): c for c in (*result.shortlist, *result.front)}.values():
        partitions = {}
        for column, domain in zip(table.columns, table.domains, strict=True):
            found = transition(candidate.masks[column], domain, np.ones(domain.size))
            assert isinstance(found, Partition)
            partitions[column] = found
        judgement = judge_all(table.merged(partitions), policy)
        assert judgement.satisfied
        assert (judgement.suppressed, judgement.classes, judgement.smallest_class) == (
            candidate.suppressed,
            candidate.classes,
            candidate.smallest_class,
        )
        labels = judgement.released.contents["y"].dense()
        if judgement.suppressed and not judgement.released.star:
            labels = np.concatenate([labels, (table.contents["y"].totals - labels.sum(axis=0))[None, :]])
        # Where the suppressed class had to grow, which of several equally small classes joins it is nobody's promise.
        grown = judgement.suppressed > sum(failing.records for failing in judgement.worst)
        if not grown:
            assert candidate.utility == pytest.approx(float(leave_one_out_information(labels)), abs=1e-9)
    assert result.bound >= result.best.utility - 1e-9
    assert result.best == result.shortlist[0]
    assert result.best.utility == pytest.approx(max(c.utility for c in result.front), abs=1e-9)
    if result.parts:
        assert result.best.utility == max(part.best.utility for part in result.parts)


@given(
    st.sampled_from([Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN]),
    st.integers(1, 30),
    st.booleans(),
    st.integers(0, 10_000),
)
@settings(max_examples=200, deadline=None)
def test_masks_make_the_groups_they_were_made_for(kind: Kind, size: int, missing: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = {
        Kind.INTEGER: rng.integers(-40, 40, size),
        Kind.REAL: rng.normal(size=size) * 10.0 ** rng.integers(-6, 6),
        Kind.TEXT: [f"v{i}" for i in range(size)],
        Kind.DATE: np.datetime64("2021-03-01", "D") + rng.integers(0, 900, size),
        Kind.TIMESTAMP: np.datetime64("2021-03-01", "us") + rng.integers(0, 10**13, size),
        Kind.BOOLEAN: [True, False],
    }[kind]
    domain = Domain.of(kind, raw, missing=missing)
    inner = rng.integers(0, 4, len(domain.values))
    if kind.is_ordered:
        inner = np.sort(inner)
    groups = np.append(inner, 99) if missing else inner
    if rng.random() < 0.2:
        groups = np.zeros_like(groups)
    found = transition(mask_for(domain, groups, np.ones(domain.size, dtype=np.int64)), domain, np.ones(domain.size))
    assert isinstance(found, Partition)
    wanted = np.unique(groups, return_inverse=True)[1]
    assert Partition(codes=wanted, target=Domain.of(Kind.INTEGER, range(wanted.max() + 1))).refines(found)
    assert found.target.size == wanted.max() + 1


def test_a_group_is_named_by_no_value_of_a_few_records() -> None:
    """The labels stand in the release: a group of two towns named the one in which a single person lives."""
    domain = Domain.of(Kind.TEXT, ["alba", "brig", "canary", "dorf", "eich", "flims"])
    counts = np.array([40, 9, 1, 2, 30, 20])
    mask = mask_for(domain, np.array([0, 0, 1, 2, 1, 3]), counts)
    assert list(dict(mask.parameters()["groups"])) == ["alba | brig", "eich and 1 other", "dorf", "flims"]
    rare = mask_for(domain, np.array([0, 0, 1, 1, 2, 2]), counts)
    assert list(dict(rare.parameters()["groups"])) == ["alba | brig", "2 rare values", "eich | flims"]


def test_intervals_of_days_do_not_tell_the_first_and_the_last_day() -> None:
    days = np.array(["1911-03-07", "1950-05-27", "1950-06-01", "1999-02-25", "1999-10-30"], dtype="datetime64[D]")
    domain = Domain.of(Kind.DATE, days.astype(Kind.DATE.dtype))
    mask = mask_for(domain, np.array([0, 0, 1, 2, 2]), np.full(5, 9))
    assert transition(mask, domain, np.ones(5)).target.labels() == [
        "(-inf, 1950-05-29)",  # no day of anybody's, though a month begins on somebody's
        "[1950-05-29, 1974-01-01)",  # years begin between the two, and the last would tell the next
        "[1974-01-01, inf)",
    ]


def test_an_edge_of_moments_is_nobodys_own_where_the_calendar_has_room() -> None:
    moments = np.array(["2020-01-01T09:00:00.000005", "2020-03-04T09:59:01", "2020-03-04T10:00:01.5"], "datetime64[us]")
    domain = Domain.of(Kind.TIMESTAMP, moments)
    mask = mask_for(domain, np.array([0, 0, 1]), np.full(3, 9))
    assert mask.parameters() == {"edges": ["2020-03-04 10:00:00"]}
    assert transition(mask, domain, np.ones(3)).target.size == 2


def test_values_without_order_are_ranked_by_their_label_and_missing_is_last() -> None:
    domain = Domain.of(Kind.TEXT, ["a", "b", "c", "d"], missing=True)
    joint = np.array([[9, 1], [1, 9], [5, 5], [8, 2], [0, 50]])
    assert cutting_order(domain, joint).tolist() == [0, 3, 2, 1, 4]
    three = cutting_order(domain, np.array([[9, 0, 0], [0, 0, 9], [4, 0, 5], [7, 0, 2], [0, 1, 0]]))
    assert three.tolist() in ([0, 3, 2, 1, 4], [3, 0, 1, 2, 4])


def _table(rows: int = 300, seed: int = 5) -> ClassTable:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 60, rows)
    town = rng.integers(0, 12, rows)
    y = (rng.random(rows) < np.where((age > 37) ^ (town % 3 == 0), 0.9, 0.1)).astype(np.int64)
    return ClassTable.from_codes(
        columns=["age", "town"],
        domains=[Domain.of(Kind.INTEGER, range(60)), Domain.of(Kind.TEXT, [f"t{i:02d}" for i in range(12)])],
        codes=np.column_stack([age, town]),
        counts=np.ones(rows, dtype=np.int64),
        contents={"y": (Domain.of(Kind.INTEGER, [0, 1]), y)},
    )


POLICY = Policy.from_yaml("quasi_identifying: [age, town]\nk: 10\n")


def test_cuts_find_the_threshold_that_levels_cannot() -> None:
    table = _table(3000)
    by_cuts = search(table, label="y", policy=POLICY, space="cuts")
    by_levels = search(table, label="y", policy=POLICY, space="levels")
    both = search(table, label="y", policy=POLICY)
    assert by_levels.proved
    assert by_cuts.best.utility > by_levels.best.utility + 0.05
    assert both.best.utility == by_cuts.best.utility
    assert both.space == "cuts"
    assert 38.0 in by_cuts.best.masks["age"].parameters()["edges"]
    assert len(both.parts) == 2


def test_ctrl_c_returns_the_best_so_far() -> None:
    table = _table()

    def stop(progress: SearchState) -> None:
        raise KeyboardInterrupt

    for space in ("levels", "cuts", "both"):
        result = search(table, label="y", policy=POLICY, space=space, progress=stop)
        assert result.interrupted or result.proved
        assert result.best.smallest_class >= 10


def test_a_group_is_named_by_no_value_that_a_single_person_has_in_many_rows() -> None:
    """Six rows of one person were enough to name a value in the label of its group, which stands in every row of it."""
    towns = np.repeat([0, 1, 2, 3], [20, 20, 6, 20])  # canary is the town of one person
    persons = np.where(towns == 2, 100, np.arange(len(towns)))
    table = ClassTable.from_codes(
        columns=("town",),
        domains=(Domain.of(Kind.TEXT, ["alba", "brig", "canary", "dorf"]),),
        codes=towns[:, None],
        counts=np.ones(len(towns), dtype=np.int64),
        contents={"ill": (Domain.of(Kind.TEXT, ["no", "yes"]), np.isin(towns, [0, 2]).astype(np.int64))},
        persons=("who", persons),
    )
    assert table.holders("town").tolist() == [20, 20, 1, 20]
    assert table.by_records().holders("town").tolist() == [20, 20, 6, 20]
    policy = Policy.from_mapping({"quasi_identifying": ["town"], "k": 5, "unit": "who"})
    found = search(table, label="ill", policy=policy, space="cuts")
    named = [set(entry.masks["town"].parameters().get("groups", ())) for entry in found.shortlist]
    assert {"brig | dorf", "alba and 1 other"} in named
    assert not [each for each in named if "canary" in " ".join(each)]


def test_progress_says_nodes_best_and_bound() -> None:
    seen: list[SearchState] = []
    result = search(_table(), label="y", policy=POLICY, progress=seen.append)
    assert seen
    assert seen[-1].nodes > 0
    assert all(p.best is None or p.best <= result.bound + 1e-9 for p in seen)


def test_a_hopeless_policy_is_refused_by_the_model_that_fails() -> None:
    policy = Policy.from_yaml("quasi_identifying: [age, town]\nk: 5000\n")
    for space in ("levels", "cuts", "both"):
        with pytest.raises(PolicyNotSatisfiedError, match="k-anonymity fails even with every column suppressed"):
            search(_table(), label="y", policy=policy, space=space)


def test_bad_questions_are_refused() -> None:
    table = _table()
    with pytest.raises(InputError, match="no search space"):
        search(table, label="y", policy=POLICY, space="all")
    with pytest.raises(LabelError, match="also a quasi-identifier"):
        search(table, label="age", policy=POLICY)
    with pytest.raises(LabelError, match="not counted"):
        search(table, label="z", policy=POLICY)
    with pytest.raises(InputError, match="seconds"):
        search(table, label="y", policy=POLICY, seconds=0)
    with pytest.raises(InputError, match="shortlist"):
        search(table, label="y", policy=POLICY, shortlist=0)

"""Weighing nodes: kernels agree with the measures, the merges and the judgement they stand for; bounds are bounds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3]))  # for the tables that these tests share

from tests.unit.search.search_tables import chains, gate, nodes, policies, tables

from aegis.candidates.search.classes import Steps
from aegis.candidates.search.gate import Gate
from aegis.candidates.search.objective import BOUNDED_BY, Logarithms, Objective, informations
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.measures.information import mutual_information
from aegis.measures.leave_one_out import leave_one_out_gain
from aegis.measures.measure import AttributeMeasure, find_attribute_measure, measures_of
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy

counts = st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=12).filter(
    lambda rows: sum(map(sum, rows)) > 0
)


@given(counts, st.integers(0, 2**12 - 1))
def test_fast_informations_are_the_measures(rows: list[list[int]], chosen: int) -> None:
    labels = np.array(rows, dtype=np.int64)
    pooled = np.array([bool(chosen >> i & 1) for i in range(len(labels))])
    logs = Logarithms.of(labels.sum(axis=0))
    known, gained = informations(labels, pooled, logs.cells, logs.rows, logs.plain, logs.prior)
    released = np.concatenate([labels[~pooled], labels[pooled].sum(axis=0, keepdims=True)])
    records = labels.sum()
    assert known / records == pytest.approx(float(mutual_information(labels)), abs=1e-9)
    assert gained / records == pytest.approx(float(leave_one_out_gain(released)), abs=1e-9)


def test_counts_beyond_the_tables_are_computed() -> None:
    labels = np.array([[200_000, 70_000], [5, 300_000]])
    logs = Logarithms.of(labels.sum(axis=0))
    assert len(logs.plain) < 200_000
    known, gained = informations(labels, np.zeros(2, dtype=bool), logs.cells, logs.rows, logs.plain, logs.prior)
    assert known / labels.sum() == pytest.approx(float(mutual_information(labels)), abs=1e-9)
    assert gained / labels.sum() == pytest.approx(float(leave_one_out_gain(labels)), abs=1e-9)


@given(tables(labels=3), st.sampled_from([name for name, m in measures_of(AttributeMeasure).items()]))
@settings(max_examples=150)
def test_a_bound_holds_for_the_node_and_everything_coarser(table: ClassTable, measure: str) -> None:
    objective = Objective.of(measure, table.contents["y"].totals)
    if not find_attribute_measure(measure).monotone and measure not in BOUNDED_BY:
        upper = find_attribute_measure(measure).upper
        assert objective.weigh(np.array([[1, 1, 1]]), np.zeros(1, dtype=bool))[0] >= upper
        return
    steps = Steps.of([chain.partitions for chain in chains(table)])
    base = steps.base(table, label="y", marked=())
    rng = np.random.default_rng(len(base))
    below, bound = (0,) * len(steps.tops), np.inf
    classes = base
    for levels in [below, *_climbs(steps.tops, rng)]:
        classes, below = steps.climb(classes, below, levels), levels
        pooled = rng.random(len(classes)) < 0.3
        here, value = objective.weigh(classes.labels, pooled)
        assert value <= here + 1e-9
        assert here <= bound + 1e-9
        bound = here


def _climbs(tops: tuple[int, ...], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """One way from the bottom to the top."""
    now, path = [0] * len(tops), []
    while now != list(tops):
        column = rng.choice([c for c, top in enumerate(tops) if now[c] < top])
        now[column] += 1
        path.append(tuple(now))
    return path


def test_leave_one_out_information_is_not_monotone() -> None:
    unique, merged = np.eye(2, dtype=np.int64).repeat(20, axis=0), np.array([[20, 0], [0, 20]])
    objective = Objective.of("leave-one-out-information", np.array([20, 20]))
    assert objective.value(merged) > 0.8 > objective.value(unique) == 0.0


@given(tables(), st.data())
def test_rolling_up_is_merging(table: ClassTable, data: st.DataObject) -> None:
    made = chains(table)
    steps = Steps.of([chain.partitions for chain in made])
    base = steps.base(table, label="y", marked=("s",))
    first = data.draw(st.sampled_from(nodes(made)))
    goal = tuple(data.draw(st.integers(low, top)) for low, top in zip(first, steps.tops, strict=True))
    rolled = steps.climb(steps.climb(base, (0,) * len(made), first), first, goal)
    merged = table.merged({c.column: c.levels[level].partition for c, level in zip(made, goal, strict=True)})
    order = np.lexsort(rolled.codes.T[::-1])
    assert rolled.codes[order].tolist() == merged.codes.tolist()
    assert rolled.labels[order].tolist() == merged.contents["y"].dense().tolist()
    held = (merged.contents["s"].dense() > 0) @ np.array([1, 2, 4])
    assert rolled.marks[order, 0].tolist() == held.tolist()


def test_keys_of_many_columns_need_several_words() -> None:
    rng = np.random.default_rng(3)
    wide, rows = 30, 400
    domain = Domain.of(Kind.INTEGER, range(50))
    codes = rng.integers(0, 50, (rows, wide))
    codes[rows // 2 :] = codes[: rows // 2]
    codes[-1, -1] = (codes[-1, -1] + 1) % 50  # differs in the last column only
    table = ClassTable.from_codes(
        columns=[f"c{i}" for i in range(wide)],
        domains=[domain] * wide,
        codes=codes,
        counts=np.ones(rows, dtype=np.int64),
        contents={"y": (Domain.of(Kind.INTEGER, [0, 1]), rng.integers(0, 2, rows))},
    )
    from aegis.candidates.search.search import chains_of

    steps = Steps.of([chain.partitions for chain in chains_of(table, {})])
    assert steps.word.max() > 0
    base = steps.base(table, label="y", marked=())
    goal = (1,) + (0,) * (wide - 1)
    partitions = chains_of(table, {})[0].partitions
    assert len(steps.climb(base, (0,) * wide, goal)) == table.merged({"c0": partitions[1]}).classes


@given(tables(), policies, st.data())
@settings(max_examples=200)
def test_weighing_agrees_with_the_judgement(table: ClassTable, policy: Policy, data: st.DataObject) -> None:
    made = chains(table)
    steps = Steps.of([chain.partitions for chain in made])
    base = steps.base(table, label="y", marked=Gate.marked(policy))
    levels = data.draw(st.sampled_from(nodes(made)))
    asked = gate(table, policy)
    partitions = {c.column: c.levels[level].partition for c, level in zip(made, levels, strict=True)}
    weighed = asked.weigh(steps.climb(base, (0,) * len(made), levels))
    judgement = judge_all(table.merged(partitions), policy)
    full = asked.judge(partitions)
    assert (full is not None) == judgement.satisfied
    if not weighed.open:
        assert (weighed.outcome is not None) == judgement.satisfied
    if weighed.outcome is not None:
        assert full is not None
        assert weighed.outcome.score == pytest.approx(full.score, abs=1e-9)
        assert (weighed.outcome.suppressed, weighed.outcome.classes, weighed.outcome.smallest_class) == (
            full.suppressed,
            full.classes,
            full.smallest_class,
        )
        assert weighed.outcome.risk == full.risk
        assert weighed.outcome.suppressed == judgement.suppressed


@given(tables(), policies)
def test_what_must_go_never_grows_upwards(table: ClassTable, policy: Policy) -> None:
    made = chains(table)
    steps = Steps.of([chain.partitions for chain in made])
    base = steps.base(table, label="y", marked=Gate.marked(policy))
    asked = gate(table, policy)
    before, below = table.records, (0,) * len(made)
    for levels in [below, *_climbs(steps.tops, np.random.default_rng(0))]:
        partitions = {c.column: c.levels[level].partition for c, level in zip(made, levels, strict=True)}
        now = asked.must_go(steps.climb(base, (0,) * len(made), levels), partitions)
        if before <= asked.limit:
            assert now <= asked.limit  # never ruled out above a node that is not
        if now > asked.limit:
            assert asked.judge(partitions) is None
        before = now


def test_a_judged_pool_makes_feasibility_not_monotone() -> None:
    """Three rare records that share nothing pool to a class of three; merged, two of them become a class of two."""
    domain = Domain.of(Kind.INTEGER, range(4))
    table = ClassTable.from_codes(
        columns=["a"],
        domains=[domain],
        codes=np.array([[0], [1], [2], [3]]),
        counts=np.array([4, 1, 2, 9]),
        contents={"y": (Domain.of(Kind.INTEGER, [0, 1]), np.array([0, 1, 0, 1]))},
    )
    policy = Policy.from_yaml("quasi_identifying: [a]\nk: 3\nmax_suppression: 0.2\n")
    fine = judge_all(table, policy)
    from aegis.masking.transition import Partition

    coarser = Partition(codes=np.array([0, 1, 0, 2]), target=Domain.of(Kind.INTEGER, range(3)))
    assert fine.satisfied
    assert fine.suppressed == 3
    assert not judge_all(table.merged({"a": coarser}), policy).satisfied

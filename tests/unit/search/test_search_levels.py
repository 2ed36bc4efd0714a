"""The lattice: what is called proved is what looking at every node finds, and what is called a bound is one."""

from __future__ import annotations

import math
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3]))  # for the tables that these tests share

from tests.unit.search.search_tables import chains, gate, nodes, policies, tables

from aegis.candidates.search import levels as lattice_module
from aegis.candidates.search.board import Board
from aegis.candidates.search.gate import Gate, Outcome
from aegis.candidates.search.levels import LatticeSearch, Levels
from aegis.candidates.search.masks import Chain, automatic_chain
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import HierarchyError
from aegis.masking.masks.suppress import Suppress
from aegis.privacy.policy import Policy

MEASURED = ("leave-one-out-information", "leave-one-out-accuracy", "mutual-information", "g3", "cramers-v")


def brute_force(asked: Gate, made: list[Chain]) -> dict[Levels, Outcome]:
    """Every node judged in full."""
    found = {}
    for node in nodes(made):
        outcome = asked.judge({c.column: c.levels[level].partition for c, level in zip(made, node, strict=True)})
        if outcome is not None:
            found[node] = outcome
    return found


def searched(asked: Gate, made: list[Chain], *, deadline: float | None = None) -> tuple[LatticeSearch, Board[Levels]]:
    board: Board[Levels] = Board(places=5, shown=asked.objective.turned, report=None, deadline=deadline)
    return LatticeSearch(chains=made, gate=asked, board=board), board


@given(tables(), policies, st.sampled_from(MEASURED), st.booleans())
@settings(max_examples=150, deadline=None)
def test_proved_means_that_no_node_is_better(table: ClassTable, policy: Policy, measure: str, opened: bool) -> None:
    asked, made = gate(table, policy, measure), chains(table)
    found = brute_force(asked, made)
    with pytest.MonkeyPatch.context() as patch:
        if opened:  # also the way that large lattices go
            patch.setattr(lattice_module, "WHOLE", 0)
            patch.setattr(lattice_module, "WALKED", 2)
        search, board = searched(asked, made)
        end = search.run()
    assert end.proved
    if not found:
        assert not board.ranked()
        return
    best = max(outcome.score for outcome in found.values())
    node, outcome = board.ranked()[0]
    assert outcome.score == pytest.approx(best, abs=1e-9)
    assert found[node].score == pytest.approx(best, abs=1e-9)
    assert end.bound == pytest.approx(best, abs=1e-9)
    if end.exhaustive:
        top = sorted((o.score for o in found.values()), reverse=True)[:5]
        assert [o.score for _, o in board.ranked()] == pytest.approx(top, abs=1e-9)
        for _, point in board.front():
            assert not any(
                o.risk <= point.risk
                and o.score >= point.score
                and (o.risk < point.risk or o.score > point.score + 1e-9)
                for o in found.values()
            )


@given(tables(), policies, st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_a_search_cut_short_still_bounds_the_best_node(table: ClassTable, policy: Policy, allowed: int) -> None:
    asked, made = gate(table, policy), chains(table)
    found = brute_force(asked, made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_module, "WHOLE", 0)
        patch.setattr(lattice_module, "WALKED", 2)
        search, board = searched(asked, made)
        patch.setattr(board, "count", _interrupting(board, allowed))
        end = search.run()
    best = max((outcome.score for outcome in found.values()), default=-math.inf)
    assert end.bound >= best - 1e-9
    assert end.proved == (not end.interrupted) or end.bound <= board.best


def _interrupting(board: Board[Levels], allowed: int) -> object:
    def count(nodes: int = 1) -> None:
        board.nodes += nodes
        if board.nodes > allowed:
            raise KeyboardInterrupt

    return count


def test_time_runs_out() -> None:
    rng = np.random.default_rng(0)
    domains = [Domain.of(Kind.INTEGER, range(8)) for _ in range(4)]
    table = ClassTable.from_codes(
        columns=["a", "b", "c", "d"],
        domains=domains,
        codes=rng.integers(0, 8, (500, 4)),
        counts=np.ones(500, dtype=np.int64),
        contents={"y": (Domain.of(Kind.INTEGER, [0, 1]), rng.integers(0, 2, 500))},
    )
    asked = gate(table, Policy.from_yaml("quasi_identifying: [a]\nk: 2\n"))
    search, _ = searched(asked, chains(table), deadline=time.monotonic() - 1)
    end = search.run()
    assert not end.proved
    assert end.bound == math.inf


@given(
    st.sampled_from(["integer", "real", "codes", "text", "date", "timestamp", "boolean"]),
    st.integers(1, 300),
    st.booleans(),
    st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_automatic_levels_are_nested_and_end_in_one_value(what: str, size: int, missing: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = {
        "integer": lambda: Domain.of(Kind.INTEGER, rng.integers(-500, 5000, size), missing=missing),
        "real": lambda: Domain.of(Kind.REAL, rng.normal(size=size).round(3) * 10, missing=missing),
        "codes": lambda: Domain.of(Kind.TEXT, [f"{i:05d}" for i in rng.integers(0, 99999, size)], missing=missing),
        "text": lambda: Domain.of(Kind.TEXT, [f"w{'x' * int(i % 7)}" for i in range(size)], missing=missing),
        "date": lambda: Domain.of(
            Kind.DATE, np.datetime64("2020-01-01", "D") + rng.integers(0, 2000, size), missing=missing
        ),
        "timestamp": lambda: Domain.of(
            Kind.TIMESTAMP, np.datetime64("2020-01-01", "us") + rng.integers(0, 10**14, size), missing=missing
        ),
        "boolean": lambda: Domain.of(Kind.BOOLEAN, [True, False], missing=missing),
    }[what]()
    chain = automatic_chain("c", domain, rng.integers(1, 9, domain.size))
    for fine, coarse in zip(chain.partitions, chain.partitions[1:], strict=False):
        assert fine.refines(coarse)
        assert coarse.target.size < fine.target.size
    assert chain.partitions[-1].target.size == 1
    assert domain.size == 1 or isinstance(chain.levels[-1].mask, Suppress)
    # Saved and read again it makes the same levels, apart from what missing values add.
    again = Chain.of_hierarchy("c", domain, Hierarchy.parse(chain.hierarchy().to_csv()))
    assert [p.codes.tolist() for p in again.partitions] == [p.codes.tolist() for p in chain.partitions] or missing


def test_levels_that_split_again_are_refused() -> None:
    from aegis.masking.masks.bucketize import Bucketize

    domain = Domain.of(Kind.INTEGER, range(20))
    with pytest.raises(HierarchyError, match="splits"):
        Chain.of_masks("age", domain, [Bucketize(width=4), Bucketize(width=6)])


def test_nodes_run_out_at_the_same_place_every_time() -> None:
    from aegis.candidates.search.search import search

    rng = np.random.default_rng(0)
    table = ClassTable.from_codes(
        columns=["a", "b", "c", "d", "e"],
        domains=[Domain.of(Kind.INTEGER, range(8)) for _ in range(5)],
        codes=rng.integers(0, 8, (300, 5)),
        counts=np.ones(300, dtype=np.int64),
        contents={"y": (Domain.of(Kind.INTEGER, [0, 1]), rng.integers(0, 2, 300))},
    )
    policy = Policy.from_yaml("quasi_identifying: [a, b, c, d, e]\nk: 3\n")
    asked = partial(search, table, label="y", policy=policy, space="levels", seconds=None)
    first, again = asked(most_nodes=20), asked(most_nodes=20)
    assert first.nodes == again.nodes == 21
    assert [dict(one.levels) for one in first.shortlist] == [dict(one.levels) for one in again.shortlist]
    assert not first.proved
    assert first.cut_short
    whole = asked(most_nodes=10**6)
    assert whole.proved
    assert not whole.cut_short
    greedy = asked(space="cuts", most_nodes=10**6)
    assert not greedy.proved
    assert not greedy.cut_short, "it ended where no change helped, which is no matter of time"
    assert asked(space="cuts", most_nodes=3).cut_short


DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[4] / "shared" / "datasets"))


@pytest.mark.datasets
@pytest.mark.skipif(not (DATASETS / "adult_arx").exists(), reason="the public data sets are not here")
def test_adult_lattice_is_proved_optimal_within_a_second() -> None:
    from aegis.candidates.search.search import search
    from aegis.counts.collect_classes import count_classes
    from aegis.data.engine import open_dataset
    from aegis.data.hierarchy import read_hierarchies

    columns = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    folder = DATASETS / "adult_arx"
    table = count_classes(open_dataset(str(folder / "adult.csv")), columns, contents=["occupation", "salary-class"])
    policy = Policy.from_mapping({"quasi_identifying": columns, "k": 5, "l": {"occupation": 2}})
    made = read_hierarchies(folder / "hierarchies")
    search(table, label="salary-class", policy=policy, hierarchies=made, space="levels")  # compiles
    begin = time.process_time()
    result = search(table, label="salary-class", policy=policy, hierarchies=made, space="levels")
    assert time.process_time() - begin < 1.0
    assert result.proved
    assert result.lattice_nodes == 2160
    assert result.best.utility == pytest.approx(0.241420, abs=1e-6)
    assert dict(result.best.levels) == {
        "sex": 1,
        "age": 4,
        "race": 1,
        "marital-status": 1,
        "education": 0,
        "native-country": 2,
        "workclass": 2,
    }

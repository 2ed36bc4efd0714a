"""A search under a ledger: what it leaves at once is what judging every node together with earlier releases refuses
too."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3]))  # for the tables that these tests share

from tests.unit.search.search_tables import NAMES, chains, nodes

from aegis.candidates.search import levels as lattice_module
from aegis.candidates.search.board import Board
from aegis.candidates.search.classes import label_counts
from aegis.candidates.search.gate import Gate, Out
from aegis.candidates.search.levels import LatticeSearch, Levels
from aegis.candidates.search.objective import Objective
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy
from aegis.privacy.together import KNOWN_CLASS, without_known

POLICIES = [
    {"k": 3},
    {"k": 4, "max_suppression": 0.1},
    {"k": 2, "max_suppression": 0.3, "suppressed": "dropped"},
    {"k": 3, "l": {"s": 2}, "max_suppression": 0.2},
    {"k": 3, "t": {"s": 0.4}, "max_suppression": 0.2, "suppressed": "exempt"},
]


@st.composite
def tables_with_known_classes(draw: st.DrawFn) -> ClassTable:
    """A few hundred records, each in one of a few known classes, or in none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(20, 200)), draw(st.integers(2, 3))
    domains = [Domain.of(Kind.TEXT, [f"v{i}" for i in range(draw(st.integers(2, 5)))]) for _ in range(columns)]
    codes = np.column_stack([rng.integers(0, domain.size, rows) for domain in domains])
    known = (codes[:, 0] // 2 + rng.integers(0, draw(st.integers(1, 2)), rows)) % 4
    small = rng.random(rows) < draw(st.sampled_from([0.0, 0.1]))  # left under a smaller k: allowed as a whole
    known[small] = 4 + rng.integers(0, 6, int(small.sum()))
    y = (codes.sum(axis=1) + rng.integers(0, 3, rows)) % 2
    y[:2] = 0, 1
    return ClassTable.from_codes(
        columns=(*NAMES[:columns], KNOWN_CLASS),
        domains=[*domains, Domain.of(Kind.INTEGER, range(10))],
        codes=np.column_stack([codes, known]),
        counts=rng.integers(1, 4, rows),
        contents={
            "y": (Domain.of(Kind.INTEGER, range(2)), y),
            "s": (Domain.of(Kind.TEXT, ["p", "q", "r"]), rng.integers(0, 3, rows)),
        },
    )


@given(tables_with_known_classes(), st.sampled_from(POLICIES), st.booleans())
@settings(max_examples=120, deadline=None)
def test_the_best_under_a_ledger_is_the_best_of_all_nodes_judged_together(
    seen: ClassTable, rules: dict[str, object], opened: bool
) -> None:
    policy = Policy.from_mapping({"quasi_identifying": list(seen.columns[:-1]), "sensitive": ["s"], **rules})
    table = without_known(seen)
    objective = Objective.of("leave-one-out-information", table.contents["y"].totals)
    asked = Gate.of(table, policy, label="y", objective=objective, out=Out(table=seen))
    assert asked.parts is not None
    slowly, made = replace(asked, parts=None), chains(table)
    board: Board[Levels] = Board(places=5, shown=objective.turned, report=None, deadline=None)
    search = LatticeSearch(chains=made, gate=asked, board=board)
    scores = {}
    for node in nodes(made):
        masks = {c.column: c.levels[level].partition for c, level in zip(made, node, strict=True)}
        whole = label_counts(table.merged(masks), "y")  # which records are hidden is not what masks tell
        outcome = slowly.judge(masks, most=objective.weigh(whole, np.zeros(len(whole), dtype=bool))[0])
        if outcome is not None:
            scores[node] = outcome.score
    with pytest.MonkeyPatch.context() as patch:
        if opened:  # also the way that large lattices go
            patch.setattr(lattice_module, "WALKED", 1)
        end = search.run()
    assert end.proved
    if not scores:
        assert not board.ranked()
        return
    (best, found), *_ = board.ranked()
    assert found.score == pytest.approx(max(scores.values()), abs=1e-9)
    assert scores[best] == pytest.approx(found.score)

"""The search for the configuration that keeps most of what the data says about the label and satisfies the policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from aegis.candidates.search.board import Board, Candidate, K, SearchEnd, SearchResult, SearchState
from aegis.candidates.search.classes import label_counts
from aegis.candidates.search.cuts import CutSearch, Grouping
from aegis.candidates.search.gate import Gate, Out, Outcome
from aegis.candidates.search.levels import LatticeSearch, Levels
from aegis.candidates.search.masks import Chain, automatic_chain, mask_for
from aegis.candidates.search.objective import DEFAULT_MEASURE, Objective
from aegis.counts.class_table import ClassTable
from aegis.data.hierarchy import Hierarchy
from aegis.errors import InputError, LabelError, SummaryError
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy

SPACES = ("levels", "cuts", "both")

Report = Callable[[SearchState], None]


def search(
    table: ClassTable,
    *,
    label: str,
    policy: Policy,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    space: str = "both",
    measure: str = DEFAULT_MEASURE,
    shortlist: int = 10,
    seconds: float | None = 60.0,
    most_nodes: int | None = None,
    progress: Report | None = None,
    out: Out | None = None,
) -> SearchResult:
    """Find the configuration with the best utility that satisfies the policy, together with what is ``out``.

    ``table`` counts the raw tuples of the quasi-identifiers, with the label and the sensitive attributes of the policy
    as contents. Columns without a hierarchy get levels automatically. ``space`` is ``levels``, ``cuts`` or ``both``;
    ``seconds`` the most it may take, ``most_nodes`` the most configurations that each space may weigh: a limit that
    means the same on every machine. Ctrl-C ends the search with the best found so far.
    """
    _check(table, label, space, shortlist, seconds)
    totals = label_counts(table, label).sum(axis=0)
    objective = Objective.of(measure, totals)
    gate = Gate.of(table, policy, label=label, objective=objective, out=out)
    begin = time.monotonic()
    results = []
    if space != "cuts":
        # Half of the time is for the other space, if there is one.
        until = None if seconds is None else begin + (seconds / 2 if space == "both" else seconds)
        result = _search_levels(gate, chains_of(table, hierarchies or {}), shortlist, until, most_nodes, progress)
        results += [] if result is None else [result]
    if space != "levels" and not (results and results[0].interrupted):
        until = None if seconds is None else begin + seconds
        result = _search_cuts(gate, shortlist, until, most_nodes, progress)
        results += [] if result is None else [result]
    if not results:
        raise gate.refuse()
    return results[0] if len(results) == 1 else _together(results, objective, shortlist)


def chains_of(table: ClassTable, hierarchies: Mapping[str, Hierarchy]) -> list[Chain]:
    """The levels of each column: those of its hierarchy, or automatic ones."""
    chains = []
    for column, domain in zip(table.columns, table.domains, strict=True):
        if column in hierarchies:
            chains.append(Chain.of_hierarchy(column, domain, hierarchies[column]))
        else:
            chains.append(automatic_chain(column, domain, table.holders(column)))
    return chains


def automatic_hierarchies(table: ClassTable) -> dict[str, Hierarchy]:
    """The levels that columns get without a hierarchy, as hierarchies to save, edit and read again."""
    return {chain.column: chain.hierarchy() for chain in chains_of(table, {})}


def _check(table: ClassTable, label: str, space: str, shortlist: int, seconds: float | None) -> None:
    if space not in SPACES:
        raise InputError(f"there is no search space {space!r}; it is one of {', '.join(SPACES)}")
    if shortlist < 1:
        raise InputError("the shortlist must have room for at least one configuration")
    if seconds is not None and not seconds > 0:
        raise InputError("a search needs more than 0 seconds")
    if label in table.columns:
        raise LabelError(f"the label {label!r} is also a quasi-identifier; choose one part for it")
    if table.star:
        raise SummaryError("records were suppressed already; search on the raw table")
    if (label_counts(table, label).sum(axis=0) > 0).sum() < 2:
        raise LabelError(f"the label {label!r} has the same value everywhere; there is nothing to keep about it")


def _search_levels(
    gate: Gate, chains: list[Chain], places: int, until: float | None, most_nodes: int | None, progress: Report | None
) -> SearchResult | None:
    board: Board[Levels] = Board(
        places=places, shown=gate.objective.turned, report=progress, deadline=until, most_nodes=most_nodes
    )
    lattice = LatticeSearch(chains=chains, gate=gate, board=board)
    end = lattice.run()

    def candidate(levels: Levels, outcome: Outcome) -> Candidate:
        chosen = {chain.column: chain.levels[level] for chain, level in zip(chains, levels, strict=True)}
        masks = {column: level.mask for column, level in chosen.items()}
        return _candidate(gate, masks, {column: level.number for column, level in chosen.items()}, outcome)

    return _result("levels", gate, board, end, candidate, lattice_nodes=lattice.nodes)


def _search_cuts(
    gate: Gate, places: int, until: float | None, most_nodes: int | None, progress: Report | None
) -> SearchResult | None:
    board: Board[Grouping] = Board(
        places=places, shape=_shape, shown=gate.objective.turned, report=progress, deadline=until, most_nodes=most_nodes
    )
    table = gate.table
    cuts = CutSearch(gate=gate, board=board)
    end = cuts.run()
    counts = [table.holders(column) for column in table.columns]

    def candidate(grouping: Grouping, outcome: Outcome) -> Candidate:
        masks = {
            column: mask_for(domain, np.array(groups, dtype=np.int64), per_code)
            for column, domain, groups, per_code in zip(table.columns, table.domains, grouping, counts, strict=True)
        }
        return _candidate(gate, masks, {}, outcome)

    return _result("cuts", gate, board, end, candidate)


def _shape(grouping: Grouping) -> tuple[int, ...]:
    return tuple(max(groups) for groups in grouping)


def _result(
    space: str,
    gate: Gate,
    board: Board[K],
    end: SearchEnd,
    candidate: Callable[[K, Outcome], Candidate],
    *,
    lattice_nodes: int | None = None,
) -> SearchResult | None:
    """What a search of a space came to; None where nothing satisfies the policy."""
    ranked = [candidate(*entry) for entry in board.ranked()]
    if not ranked:
        return None
    objective = gate.objective
    return SearchResult(
        space=space,
        measure=objective.measure.name,
        unit=objective.measure.unit,
        best=ranked[0],
        bound=objective.turned(end.bound),
        bound_tells=end.proved or objective.tells(end.bound),
        proved=end.proved,
        interrupted=end.interrupted,
        cut_short=end.cut_short,
        nodes=board.nodes,
        lattice_nodes=lattice_nodes,
        records=gate.table.records,
        front=tuple(candidate(*entry) for entry in board.front()),
        front_complete=end.exhaustive,
        shortlist=tuple(ranked),
    )


def _candidate(gate: Gate, masks: Mapping[str, Mask], levels: Mapping[str, int], outcome: Outcome) -> Candidate:
    return Candidate(
        masks=masks,
        levels=levels,
        utility=gate.objective.turned(outcome.score),
        risk=outcome.risk,
        suppressed=outcome.suppressed,
        classes=outcome.classes,
        smallest_class=outcome.smallest_class,
    )


def _together(results: list[SearchResult], objective: Objective, places: int) -> SearchResult:
    """The better of two results, with what both know."""

    def score(candidate: Candidate) -> float:
        return objective.turned(candidate.utility)

    best = max(results, key=lambda result: score(result.best))
    ranked = sorted((c for result in results for c in result.shortlist), key=score, reverse=True)
    points = sorted((c for result in results for c in result.front), key=lambda c: (c.risk, -score(c)))
    front: list[Candidate] = []
    for point in points:
        if not front or score(point) > score(front[-1]):
            front.append(point)
    bound = max((result.bound for result in results), key=objective.turned)
    return replace(
        best,
        bound=bound,
        bound_tells=all(result.bound_tells for result in results),
        proved=all(result.proved for result in results),
        interrupted=any(result.interrupted for result in results),
        cut_short=any(result.cut_short for result in results),
        nodes=sum(result.nodes for result in results),
        lattice_nodes=results[0].lattice_nodes,
        front=tuple(front),
        front_complete=False,
        shortlist=tuple(ranked[:places]),
        parts=tuple(results),
    )

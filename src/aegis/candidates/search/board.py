"""What a search has found so far, when to say so, and what it answers: the best candidates and a front."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from aegis.candidates.search.gate import Outcome
from aegis.masking.mask import Mask
from aegis.progress import Progress

K = TypeVar("K")

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """Where a search stands. ``best`` and ``bound`` are in the measure's own unit; None while nothing was found."""

    nodes: int
    best: float | None
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEnd:
    """How a search ended: no configuration of its space scores above ``bound``.

    ``cut_short`` if the time or the nodes given to it were used up before it ended by itself.
    ``exhaustive`` if everything that satisfies the policy was weighed, so that shortlist and front are those of the
    whole space.
    """

    bound: float
    proved: bool
    interrupted: bool
    exhaustive: bool = False
    cut_short: bool = False


def reporting(progress: Progress | None, *, title: str = "") -> Callable[[SearchState], None] | None:
    """Where a search stands, as progress; nobody knows how many configurations are still to come."""
    if progress is None:
        return None

    def report(state: SearchState) -> None:
        best = "none yet" if state.best is None else f"{state.best:.5f}"
        bound = f", bound {state.bound:.5f}" if math.isfinite(state.bound) else ""
        progress(state.nodes, None, f"{title}configurations, best {best}{bound}")

    return report


class SearchLimitError(Exception):
    """The time or the nodes given to the search are used up; caught by the search itself."""


class Board(Generic[K]):
    """The best candidates seen. Of candidates with the same shape only the best has a place on the list: near copies
    of one another would fill it otherwise, and a second opinion on them would add nothing."""

    def __init__(
        self,
        *,
        places: int,
        shape: Callable[[K], Hashable] = lambda key: key,
        shown: Callable[[float], float],
        report: Callable[[SearchState], None] | None,
        deadline: float | None,
        most_nodes: int | None = None,
    ) -> None:
        self.nodes = 0
        self.bound = math.inf
        self.best = -math.inf
        self._places = places
        self._shape = shape
        self._shown = shown
        self._report = report
        self._deadline = deadline
        self._most_nodes = most_nodes
        self._reported = 0.0
        self._found: dict[Hashable, tuple[K, Outcome]] = {}
        self._front: dict[K, Outcome] = {}

    def offer(self, key: K, outcome: Outcome) -> bool:
        """Enter a candidate; whether it is the best so far."""
        leads = outcome.score > self.best
        self.best = max(self.best, outcome.score)
        shape = self._shape(key)
        if shape not in self._found or outcome.score > self._found[shape][1].score:
            self._found[shape] = (key, outcome)
            if len(self._found) > self._places:
                del self._found[min(self._found, key=lambda s: self._found[s][1].score)]
        self._enter_front(key, outcome)
        return leads

    def _enter_front(self, key: K, outcome: Outcome) -> None:
        for other in self._front.values():
            if other.score >= outcome.score and other.risk <= outcome.risk:
                return
        self._front = {
            k: o for k, o in self._front.items() if not (outcome.score >= o.score and outcome.risk <= o.risk)
        }
        self._front[key] = outcome

    def ranked(self) -> list[tuple[K, Outcome]]:
        """The candidates, best first."""
        return sorted(self._found.values(), key=lambda item: -item[1].score)

    def front(self) -> list[tuple[K, Outcome]]:
        """The candidates of which none beats another in both utility and risk, least risk first."""
        return sorted(self._front.items(), key=lambda item: item[1].risk)

    def count(self, nodes: int = 1) -> None:
        """Count nodes that were weighed; report now and then, and stop where a limit is reached."""
        self.nodes += nodes
        now = time.monotonic()
        if self._deadline is not None and now > self._deadline:
            raise SearchLimitError
        if self._most_nodes is not None and self.nodes > self._most_nodes:
            raise SearchLimitError
        if self._report is not None and now - self._reported > SECONDS_BETWEEN_REPORTS:
            self._reported = now
            best = self._shown(self.best) if self._found else None
            self._report(SearchState(nodes=self.nodes, best=best, bound=self._shown(self.bound)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A configuration that satisfies the policy.

    ``masks`` has one for every quasi-identifier; ``levels`` their numbers in the hierarchies, empty where the columns
    were cut freely. ``risk`` is the highest chance of re-identification of a record that keeps its values.
    """

    masks: Mapping[str, Mask]
    levels: Mapping[str, int]
    utility: float
    risk: float
    suppressed: int
    classes: int
    smallest_class: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best configuration found and what is known about better ones.

    No configuration of the space searched has a utility beyond ``bound``; ``bound_tells`` says whether that rules
    anything out. With ``proved`` there is none beyond that of the ``best``. ``space`` is where the best one was found,
    ``nodes`` how many configurations were weighed and ``lattice_nodes`` how many the levels make (None where only cuts
    were searched). ``front`` lists configurations of which none beats another in both utility and risk, least risk
    first: all of the lattice if ``front_complete``, else of those looked at. ``shortlist`` begins with the best; of
    configurations of the same shape it holds the best only. ``interrupted`` says that somebody stopped the search,
    ``cut_short`` that its time was over; ``parts`` are the results of the spaces searched.
    """

    space: str
    measure: str
    unit: str
    best: Candidate
    bound: float
    bound_tells: bool
    proved: bool
    interrupted: bool
    cut_short: bool
    nodes: int
    lattice_nodes: int | None
    records: int
    front: tuple[Candidate, ...]
    front_complete: bool
    shortlist: tuple[Candidate, ...]
    parts: tuple[SearchResult, ...] = field(default=(), repr=False)

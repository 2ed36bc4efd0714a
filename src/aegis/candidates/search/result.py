"""What a search answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aegis.masking.mask import Mask


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
    anything out. With ``proved`` there is none beyond ``utility``. ``space`` is where the best one was found, ``nodes``
    how many configurations were weighed and ``lattice_nodes`` how many the levels make (None where only cuts were
    searched). ``front`` lists configurations of which none beats another in both utility and risk, least risk first:
    all of the lattice if ``front_complete``, else of those looked at. ``shortlist`` begins with the best; of
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

    @property
    def masks(self) -> Mapping[str, Mask]:
        return self.best.masks

    @property
    def levels(self) -> Mapping[str, int]:
        return self.best.levels

    @property
    def utility(self) -> float:
        return self.best.utility

    @property
    def suppressed(self) -> int:
        return self.best.suppressed

    @property
    def classes(self) -> int:
        return self.best.classes

    @property
    def smallest_class(self) -> int:
        return self.best.smallest_class

"""What a search answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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

    def describe(self) -> dict[str, Any]:
        """For a JSON document, masks in words."""
        return {
            "utility": self.utility,
            "risk": self.risk,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "levels": dict(self.levels),
            "masks": {column: mask.describe() for column, mask in self.masks.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best configuration found and what is known about better ones.

    No configuration of the space searched has a utility beyond ``bound``; with ``proved`` there is none beyond
    ``utility``. ``space`` is where the best one was found, ``nodes`` how many configurations were weighed and
    ``lattice_nodes`` how many the levels make (None where only cuts were searched). ``front`` lists configurations of
    which none beats another in both utility and risk, least risk first: all of the lattice if ``front_complete``, else
    of those looked at. ``shortlist`` begins with the best; of configurations of the same shape it holds the best only.
    ``interrupted`` says that somebody stopped the search; ``parts`` are the results of the spaces searched.
    """

    space: str
    measure: str
    unit: str
    best: Candidate
    bound: float
    proved: bool
    interrupted: bool
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

    def describe(self) -> dict[str, Any]:
        """For a JSON document, all but the configuration itself; an unknown bound is null."""
        return {
            "space": self.space,
            "measure": self.measure,
            "unit": self.unit,
            "levels": dict(self.levels),
            "utility": self.utility,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "proved": self.proved,
            "interrupted": self.interrupted,
            "nodes": self.nodes,
            "lattice_nodes": self.lattice_nodes,
            "records": self.records,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "front": [candidate.describe() for candidate in self.front],
            "front_complete": self.front_complete,
            "shortlist": [candidate.describe() for candidate in self.shortlist],
        }

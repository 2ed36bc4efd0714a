"""The caps as rows of linear inequalities in one symbol's probabilities, for every law that the rows allow.

A symbol is r[x] = P(symbol | value x), and ``least`` stands for a number below all r[x]. For an adversary's cell with
bounds low ≤ P(x | cell) ≤ high, the share of the cell that the lower bounds leave open may go, in the worst law, to
the value with the least r. So every cap is linear in (r, least) and holds for every law of the box:

* posterior of x at most c: high[x]·r[x]·(1 − c) ≤ c·(Σ_{x'≠x} low[x']·r[x'] + open·least). Where a cell alone may say
  nearly as much, c is larger, unless the cap is strict: the release may halve the doubt 1 − high[x] that is left, and
  no more. The same of an event, a set of values, with sums over the set in place of x;
* a record of which an adversary is nearly sure, with shares p of its own, does not become certain: the same row with p
  for both bounds and c below `CERTAIN`;
* leakage: r[x] ≤ e^ε·(Σ low[x']·r[x'] + open·least); local differential privacy: r[x] ≤ e^ε·least.

A constant r satisfies all of them but a strict cap below what a cell says (`Law.surest`), so silence is always allowed;
sums of solutions are solutions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.caps import CERTAIN, DEFAULT_POSTERIOR, Caps
from aegis.candidates.sanitizers.law import Law

UNDECIDED = CERTAIN - 1e-4  # where a record that must not become certain is held
_ROUNDING = 1e-9
_ROUNDED = 1e-6  # the share by which a probability may fall short of a cap


@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """Rows ``values @ r + least · min(r) ≤ 0``."""

    values: Floats
    least: Floats

    def inside(self, symbols: Floats) -> NDArray[np.bool_]:
        """Whether each symbol (row) satisfies every cap."""
        if not len(self.values):
            return np.ones(len(symbols), dtype=bool)
        excess = symbols @ self.values.T + symbols.min(axis=1, keepdims=True) * self.least
        return np.asarray((excess <= _ROUNDING * np.maximum(symbols.max(axis=1, keepdims=True), 1.0)).all(axis=1))

    def drawn_in(self, symbols: Floats) -> Floats:
        """Each symbol moved towards the constant one until it satisfies every cap."""
        near, far = np.zeros(len(symbols)), np.ones(len(symbols))
        constant = symbols.mean(axis=1, keepdims=True)
        whole = self.inside(symbols)
        for _ in range(14):
            middle = (near + far) / 2
            fits = self.inside(constant + middle[:, None] * (symbols - constant))
            near, far = np.where(fits, middle, near), np.where(fits, far, middle)
        share = np.where(whole, 1.0, near)[:, None]
        return np.asarray(constant + share * (symbols - constant))


def without_rounded_zeros(release: Floats, local_dp: float | None) -> Floats:
    """The release under a cap on local differential privacy where rounding, however little, took it beyond.

    A program keeps its rows to about 1e-7, which for a large ε is as much as the least probability may be.
    """
    if local_dp is None:
        return release
    least = math.exp(-local_dp) * release.max(axis=0)
    if (release >= least * (1 - _ROUNDED)).all():
        return release
    raised = np.maximum(release, least)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def halved_doubt(share: float) -> float:
    """The posterior that leaves half of the doubt that a share leaves."""
    return 1 - (1 - share) / 2


def cone_of(law: Law, caps: Caps) -> Cone:
    """Every row of every cap; rows that nothing can break, and equal ones, are left out."""
    size = law.size
    rows: list[Floats] = []
    for low, high in zip(law.lows, law.highs, strict=True):
        for cell in range(low.shape[1]):
            below, above = low[:, cell], high[:, cell]
            # a strict cap can be broken before anything is released, but of a cell without rows nothing can be said
            if caps.posterior is not None and (not caps.strict or below.any()):
                for values in np.eye(size):
                    rows.extend(_posterior_row(values, below, above, caps.posterior, strict=caps.strict))
            if law.events is not None:
                # a column that was not asked about must not be told where its tuples are not
                cap = DEFAULT_POSTERIOR if caps.posterior is None else caps.posterior
                for values in law.events:
                    rows.extend(_posterior_row(values, below, above, cap, strict=False))
            if caps.leakage is not None:
                allowed = math.exp(caps.leakage)
                shared = np.append(-allowed * below, -allowed * max(0.0, 1 - below.sum()))
                rows.extend(shared + np.eye(size + 1)[x] for x in range(size))
    if caps.local_dp is not None:
        rows.extend(np.eye(size + 1)[x] - math.exp(caps.local_dp) * np.eye(size + 1)[size] for x in range(size))
    for sure in law.nearly_sure:
        chance = float(sure.shares @ sure.values)
        if chance < UNDECIDED:
            rows.extend(_posterior_row(sure.values, sure.shares, sure.shares, UNDECIDED, strict=True))
    if not rows:
        return Cone(np.zeros((0, size)), np.zeros(0))
    table = np.array(rows)
    table = np.unique(np.round(table / np.abs(table).max(axis=1, keepdims=True), 12), axis=0)
    return Cone(table[:, :size], table[:, size])


def _posterior_row(values: Floats, below: Floats, above: Floats, cap: float, *, strict: bool) -> list[Floats]:
    """The row that keeps the posterior of some values under a cap for every law of a box; none where it may be 1."""
    most, others = float(above @ values), float(below @ (1 - values))
    spare = max(0.0, 1 - most - others)
    if not strict:
        # bounds of many values may add up to more than 1: silence is allowed all the same
        cap = max(cap, halved_doubt(min(most, 1 - others)), most / (most + others + spare))
    if cap >= 1 - 1e-9:
        return []
    row = np.append(-cap * below * (1 - values) + (1 - cap) * above * values, -cap * spare)
    return [row]

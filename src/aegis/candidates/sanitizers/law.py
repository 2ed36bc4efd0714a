"""The laws of a private column that the rows allow, and the caps as linear inequalities that hold for all of them.

What a party knows is a cell; the rows of a cell hold values as a multinomial draw. Clopper–Pearson intervals for every
share P(value | cell) of every adversary, at once (Bonferroni), make a box of laws that holds the true one with the
stated confidence, whatever is done with it afterwards. Few rows make wide boxes.

A cap on posteriors over cells is a cap on averages: a cell holds records that an adversary tells apart, and some of
them lie closer to certainty than their cell. What a gate refuses afterwards, more records determined than a share of
them, is therefore asked of the program too, record by record (`nearly_sure`). The surest records, up to a part of that
share, are let go; of the others the surest for each value, and for each value that comes second, stand for all.

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
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import beta

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.sanitizers.caps import CERTAIN, DEFAULT_POSTERIOR, Caps

_MOST = 40  # records that stand for all, of one adversary and one column
UNDECIDED = CERTAIN - 1e-4  # where a record that must not become certain is held
_ROUNDING = 1e-9
_ROUNDED = 1e-6  # the share by which a probability may fall short of a cap


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NearlySure:
    """What an adversary believes of some record before the release, and which values are not to become certain of it.

    ``values`` marks one value, or those that share a column's value; ``shares`` is the adversary's prior.
    """

    values: Floats
    shares: Floats


def nearly_sure(
    priors: Sequence[Floats], codes: Ints, partitions: Sequence[Ints], *, undecided: float, share: float, of_set: float
) -> tuple[NearlySure, ...]:
    """The records that must not become certain, for all adversaries.

    ``priors`` is what each adversary believes of each record, one row each, and ``codes`` their values. A partition
    gives every value the number of its set: itself, or the value of one column of a tuple. Records believed with
    ``undecided`` or more are certain already. The surest of the others are let go, at most ``share`` of all records and
    ``of_set`` of those in one set.
    """
    rows = []
    for prior in priors:
        for partition in partitions:
            sets = np.eye(int(partition.max()) + 1)[partition].T  # one row of zeros and ones for each set
            by_set = prior @ sets.T
            own_set = partition[codes]
            belief = by_set[np.arange(len(codes)), own_set]
            open_ones = np.flatnonzero(belief < undecided)
            order = open_ones[np.argsort(-belief[open_ones], kind="stable")]
            order = order[~_let_go(own_set[order], own_set, share=share, of_set=of_set)]
            second = by_set.copy()
            second[np.arange(len(codes)), own_set] = -1.0
            pairs = np.column_stack([own_set[order], second[order].argmax(axis=1)])
            first = np.unique(pairs, axis=0, return_index=True)[1]
            for place in np.sort(first)[:_MOST]:
                record = order[place]
                rows.append(NearlySure(values=sets[own_set[record]], shares=prior[record]))
    return tuple(rows)


def _let_go(ordered: Ints, all_sets: Ints, *, share: float, of_set: float) -> Flags:
    """Which of the records, surest first, may become certain; ``ordered`` and ``all_sets`` are their sets' numbers."""
    left = int(share * len(all_sets))
    left_of_set = (of_set * np.bincount(all_sets)).astype(np.int64)
    gone = np.zeros(len(ordered), dtype=bool)
    for place, number in enumerate(ordered):
        if left == 0:
            break
        if left_of_set[number] > 0:
            gone[place] = True
            left, left_of_set[number] = left - 1, left_of_set[number] - 1
    return gone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Law:
    """Joint shares P(value, cell), one table for each party, and bounds of P(value | cell) for each adversary.

    ``events`` are sets of values that are capped as values are (the tuples with one value of a column), one row of
    zeros and ones each; ``nearly_sure`` is what single records are known by that must not become certain.
    """

    prior: Floats
    authorized: tuple[Floats, ...]
    adversaries: tuple[Floats, ...]
    lows: tuple[Floats, ...]
    highs: tuple[Floats, ...]
    rows: int
    confidence: float
    events: Floats | None = None
    nearly_sure: tuple[NearlySure, ...] = ()

    @property
    def size(self) -> int:
        """How many values the column has."""
        return self.prior.size

    @property
    def estimate(self) -> Law:
        """The same law without its set: as if the estimate were the truth."""
        shares = tuple(table / np.maximum(table.sum(axis=0), 1e-300) for table in self.adversaries)
        return replace(self, lows=shares, highs=shares)

    @property
    def surest(self) -> float:
        """The largest posterior of any value in any adversary's cell without a release, under the estimate."""
        return max(float(share.max()) for share in self.estimate.highs)

    @property
    def surest_of_set(self) -> float:
        """The same over all laws of the set; of a cell without rows nothing can be said."""
        return max(
            float(high[:, low.any(axis=0)].max(initial=0.0)) for low, high in zip(self.lows, self.highs, strict=True)
        )


def exact_law(prior: Floats, authorized: Sequence[Floats], adversaries: Sequence[Floats]) -> Law:
    """A law that is known: channels P(cell | value) of every party, and no doubt about them."""
    tables = [prior[:, None] * channel for channel in adversaries]
    shares = tuple(table / np.maximum(table.sum(axis=0), 1e-300) for table in tables)
    return Law(
        prior=prior,
        authorized=tuple(prior[:, None] * channel for channel in authorized),
        adversaries=tuple(tables),
        lows=shares,
        highs=shares,
        rows=0,
        confidence=1.0,
    )


def estimated_law(
    codes: Ints, authorized: Sequence[Ints], adversaries: Sequence[Ints], *, size: int, confidence: float
) -> Law:
    """The law of rows: values as codes, and every party's cells as codes.

    A value that no row holds counts as half a record: the release must know what to do with it.
    """
    tables = [_counted(codes, cells, size) for cells in (*authorized, *adversaries)]
    prior = np.maximum(np.bincount(codes, minlength=size), 0.5)
    prior = prior / prior.sum()
    joint = [prior[:, None] * (smooth := table + 0.5 / size) / smooth.sum(axis=1, keepdims=True) for table in tables]
    seen = tables[len(authorized) :]
    doubt = (1 - confidence) / max(1, sum(table.size for table in seen))
    boxes = [interval(table, table.sum(axis=0), doubt=doubt) for table in seen]
    return Law(
        prior=prior,
        authorized=tuple(joint[: len(authorized)]),
        adversaries=tuple(joint[len(authorized) :]),
        lows=tuple(low for low, _ in boxes),
        highs=tuple(high for _, high in boxes),
        rows=len(codes),
        confidence=confidence,
    )


def interval(successes: Floats, trials: Floats, *, doubt: float) -> tuple[Floats, Floats]:
    """Clopper–Pearson bounds of shares ``held / of`` that fail with probability at most ``doubt`` each.

    >>> low, high = interval(np.array([5.0]), np.array([10.0]), doubt=0.05)
    >>> [round(float(bound[0]), 3) for bound in (low, high)]
    [0.187, 0.813]
    """
    rest = trials - successes
    low = np.where(successes > 0, beta.ppf(doubt / 2, np.maximum(successes, 0.5), rest + 1), 0.0)
    high = np.where(rest > 0, beta.ppf(1 - doubt / 2, successes + 1, np.maximum(rest, 0.5)), 1.0)
    return np.asarray(low), np.asarray(high)


def _counted(codes: Ints, cells: Ints, size: int) -> Floats:
    table = np.zeros((size, int(cells.max()) + 1))
    np.add.at(table, (codes, cells), 1.0)
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Cone:
    """Rows ``values @ r + least · min(r) ≤ 0``."""

    values: Floats
    least: Floats

    def inside(self, symbols: Floats) -> Flags:
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

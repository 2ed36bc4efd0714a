"""Which values an attribute has: declared, or found with a part of the budget. Nothing is read off the data for free.

Texts: those that so many records have that their noisy count exceeds a threshold; the others share one code. Numbers,
dates and times: their powers of two by label say the range and the first cuts, which are all that a long tail allows; a
coarse grid by label, and a fine one where many records lie, say the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.synthesis.attribute import Attribute, NumberCells
from aegis.candidates.synthesis.binning import CLEAR, cut_bins, occupied, standing_together
from aegis.candidates.synthesis.declared import DeclaredRange, DeclaredValues
from aegis.candidates.synthesis.measuring import Measurer
from aegis.counts.cells import MOST_DECIMALS, Decimals, Grid, Listed, Magnitudes, Steps
from aegis.counts.marginals import CodedColumn, Counter
from aegis.counts.protect import OTHER
from aegis.data.kind import Kind
from aegis.data.schema import Column
from aegis.errors import DataError

AT_LEAST = 10
"""Values that fewer records have are not looked at: an engine need not hand over a column of free text."""
MOST_VALUES = 200
COARSE_CELLS, FINER = 64, 16
"""How many cells a range has at first, and into how many of them one is taken apart where many records lie."""
MOST_BINS = 48
_JUST_ABOVE_ZERO = 1e-300

_EMPTY, _SURE = 2.0, 3.0  # below so many a cell is taken for empty, above so many for certainly not
_TOGETHER, _SURE_TOGETHER = 3.0, 4.0  # the same for neighbours: there are more ways to choose them
_SPLIT = 10.0  # and above so many a cell is worth being taken apart

_TEXTS = 0.75
"""Which part of a column's budget finds texts; the rest asks for others and missing ones, where that is asked now."""
_PARTS = {"size": 0.3, "coarse": 0.3, "fine": 0.3, "decimals": 0.1}
"""How the budget of a column of numbers is divided among the questions about it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """What cells are counted by beside themselves: the label, its codes merged into ``groups``."""

    label: Attribute
    groups: Ints

    @property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    def pushed(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        """Counts by cells of the label as counts by group."""
        by_code = np.moveaxis(self.label.pushed(counts, axis), axis, 0)
        sums = np.zeros((self.size, *by_code.shape[1:]), dtype=by_code.dtype)
        np.add.at(sums, self.groups, by_code)
        return np.moveaxis(sums, 0, axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A column that is not synthesized, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sizes:
    """From where to where numbers lie, and the powers of two between at which they are cut first."""

    low: float
    high: float
    cuts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finder:
    """Finds the attribute of a column, for at most ``rho`` and ``delta``; bins hold about ``least`` records or more."""

    counter: Counter
    measurer: Measurer
    rho: float
    delta: float
    least: float

    def attribute(
        self, column: Column, declared: DeclaredValues | DeclaredRange | None, context: Context | None, *, now: bool
    ) -> Attribute | LeftOut:
        """The attribute of a column, or why there is none.

        Whether listed values are all is measured ``now``, or left to whoever measures the attribute (`settled`).
        """
        if isinstance(declared, DeclaredRange) or (declared is None and column.kind.is_ordered):
            return self._numbers(column, declared, context)
        if declared is None and column.kind is Kind.BOOLEAN:
            declared = DeclaredValues(values=(False, True), origin="both truth values")
        if isinstance(declared, DeclaredValues):
            return self._listed(column, declared, rho=self.rho, now=now)
        texts = self._texts(column, _TEXTS * self.rho)
        if not texts:
            return LeftOut(
                name=column.name,
                reason="no value is common enough to be told under this budget: free text or a key, or a column to "
                "declare in a domain file",
            )
        found = DeclaredValues(values=texts, origin="found", others=True)
        return self._listed(column, found, rho=(1 - _TEXTS) * self.rho, now=now)

    def _texts(self, column: Column, rho: float) -> tuple[Any, ...]:
        """The values whose noisy counts exceed the threshold, in their own order."""
        sigma = self.measurer.sigma(rho)
        # A unit of protection brings a value of one record too few to at most this count, and so many values at once.
        highest = AT_LEAST - 1 + self.measurer.length
        threshold = highest + 1 + sigma * _upper_quantile(self.delta / self.measurer.length)
        frequent = self.counter.frequent(column.name, column.kind, at_least=AT_LEAST)
        # In their own order: that in which an engine hands them over comes from the rows, and would choose of equals.
        order = sorted(range(len(frequent.values)), key=lambda place: str(frequent.values[place]))
        noisy = self.measurer.counts_of_values(
            frequent.counts[order], rho=rho, delta=self.delta, what="values above a threshold", column=column.name
        )
        kept = np.flatnonzero(noisy > threshold)
        kept = kept[np.argsort(-noisy[kept], kind="stable")][:MOST_VALUES]
        return tuple(frequent.values[order[place]] for place in sorted(kept))

    def _listed(self, column: Column, declared: DeclaredValues, *, rho: float, now: bool) -> Attribute:
        """An attribute of listed values with codes for others and for missing ones, where there may be some.

        Whether there are is measured ``now``; else those codes are `Attribute.doubtful` until that is measured.
        """
        coded = CodedColumn(name=column.name, kind=column.kind, cells=Listed(values=declared.values))
        counts = self.counter.count([coded])
        if not declared.others and int(counts[-2]):
            instead = {Kind.TEXT: f", or add {OTHER} to its values", Kind.INTEGER: ", or declare it by min and max"}
            raise DataError(
                f"column {column.name!r} has values that its declared domain misses; complete the domain from the "
                f"code book{instead.get(column.kind, '')}"
            )
        values: list[Any] = list(declared.values)
        groups = np.zeros(coded.size, dtype=np.int64)
        groups[: len(declared.values)] = np.arange(len(declared.values))
        doubtful = []
        for place, (may_be, sure, name) in enumerate(
            ((declared.others, False, OTHER), (declared.missing is not False, declared.missing is True, None))
        ):
            if may_be:
                if not sure:
                    doubtful.append(len(values))
                groups[len(declared.values) + place] = len(values)
                values.append(name)
        attribute = Attribute(
            column=coded, groups=groups, values=tuple(values), origin=declared.origin, doubtful=tuple(doubtful)
        )
        if not now or not doubtful:
            return attribute
        noisy = self.measurer.counts(
            attribute.pushed(counts), rho=rho, what="other and missing values", columns=(column.name,)
        )
        return settled(attribute, noisy[:, None], sigma=self.measurer.sigma(rho))[0]

    def _sizes(self, column: Column, rho: float, context: Context | None) -> _Sizes:
        """Numbers by powers of two and label: the least and the greatest that clearly occur, and cuts between them.

        Equal cells over a long tail hold too few records each to be told from noise; its powers of two hold many.
        """
        sizes = Magnitudes()
        coded = CodedColumn(name=column.name, kind=column.kind, cells=sizes)
        names = (column.name, *(() if context is None else (context.label.name,)))
        noisy = self.measurer.counts(self._by_label(coded, context), rho=rho, what="powers of two", columns=names)[:-1]
        variance = self.measurer.sigma(rho) ** 2 * noisy.shape[1]
        totals = noisy.sum(axis=1)
        first, last = occupied(totals / math.sqrt(variance), column.kind)
        empty = totals < _EMPTY * math.sqrt(variance)
        cells = np.where(empty[:, None], 0.0, noisy)[first : last + 1]
        spread = np.where(empty, 0.0, variance)[first : last + 1]
        places = cut_bins(cells, variance=spread, least=self.least, most=MOST_BINS)
        low, high = sizes.bounds(first, last)
        return _Sizes(low=low, high=high, cuts=tuple(sizes.bounds(first + place, last)[0] for place in places[1:]))

    def _by_label(self, coded: CodedColumn, context: Context | None) -> Ints:
        """Counts by cell and label."""
        if context is None:
            return self.counter.count([coded])[:, None]
        return context.pushed(self.counter.count([coded, context.label.column]), 1)

    def _decimals(self, column: Column, rho: float) -> int | None:
        """With how many decimals all but a few numbers are written; None where with more than `MOST_DECIMALS`."""
        coded = CodedColumn(name=column.name, kind=column.kind, cells=Decimals())
        noisy = self.measurer.counts(self.counter.count([coded]), rho=rho, what="decimals", columns=(column.name,))[:-1]
        sums = np.cumsum(noisy)
        reached = np.flatnonzero(sums >= sums[-1] - max(0.01 * sums[-1], 2.0 * CLEAR * self.measurer.sigma(rho)))
        return int(reached[0]) if len(reached) and reached[0] <= MOST_DECIMALS else None

    def _numbers(self, column: Column, declared: DeclaredRange | None, context: Context | None) -> Attribute:
        """Bins of a column of numbers: a coarse grid by label, a fine one where many records lie, cuts between."""
        parts = dict(_PARTS)
        if column.kind is not Kind.REAL or declared is not None:
            del parts["decimals"]
        shares = {part: self.rho * share / sum(parts.values()) for part, share in parts.items()}
        sizes = self._sizes(column, shares["size"], context)
        if declared is None:
            low, high = sizes.low, sizes.high
            decimals = self._decimals(column, shares["decimals"]) if "decimals" in shares else None
        else:
            low, high, decimals = declared.low, declared.high, declared.decimals
        grid, finer = _grid(low, high, column.kind)
        coded = CodedColumn(name=column.name, kind=column.kind, cells=grid)
        counts = self._by_label(coded, context)
        names = (column.name, *(() if context is None else (context.label.name,)))
        coarse = np.vstack([np.add.reduceat(counts[: grid.cells], np.arange(0, grid.cells, finer)), counts[-2:]])
        noisy = self.measurer.counts(coarse, rho=shares["coarse"], what="coarse grid", columns=names)
        sigmas = self.measurer.sigma(shares["coarse"]), self.measurer.sigma(shares["fine"])
        least_apart = max(_SPLIT * sigmas[0] * math.sqrt(noisy.shape[1]), self.least)
        starts = _refined(noisy[:-2].sum(axis=1), least_apart, finer)
        mixed = np.vstack([np.add.reduceat(counts[: grid.cells], starts), counts[-2:]])
        fine = self.measurer.counts(mixed, rho=shares["fine"], what="fine grid", columns=names)
        owners = np.append(starts // finer, [grid.cells // finer, grid.cells // finer + 1])
        noisy, variance, sure = _combined(noisy, fine, owners, sigmas)
        sigma = sigmas[1]
        edges = grid.low + grid.width * np.append(starts, grid.cells)
        low_edges, high_edges, cells, missing = _in_order(edges, np.column_stack([noisy, variance, sure]), column.kind)
        noisy, variance, sure = cells[:, :-2], cells[:, -2], cells[:, -1]
        missing = missing[:-2]
        after_zero = 1.0 if column.kind is not Kind.REAL else _JUST_ABOVE_ZERO
        first = {int(np.argmin(np.abs(low_edges - (cut if cut > after_zero else after_zero)))) for cut in sizes.cuts}
        cuts = cut_bins(
            noisy, variance=variance * noisy.shape[1], least=self.least, most=MOST_BINS, given=sorted(first - {0})
        )
        has_missing = bool(missing.sum() > CLEAR * sigma * math.sqrt(len(missing)))
        if declared is not None and declared.missing is not None:
            has_missing = declared.missing
        totals = noisy.sum(axis=1)
        spans = list(zip(cuts, [*cuts[1:], len(low_edges)], strict=True))
        steps = CodedColumn(name=column.name, kind=column.kind, cells=Steps(starts=tuple(low_edges[cuts].tolist())))
        if declared is not None:  # the cells at the ends reach beyond: no number is drawn there
            low_edges, high_edges = (np.clip(edges, declared.low, declared.high) for edges in (low_edges, high_edges))
        values: list[Any] = [
            _spread(low_edges[a:b], high_edges[a:b], totals[a:b], sure[a:b], sigma * math.sqrt(noisy.shape[1]))
            for a, b in spans
        ]
        groups = np.arange(len(cuts) + 1, dtype=np.int64)
        if has_missing:
            values.append(None)
        else:
            groups[-1] = int(np.argmax([totals[a:b].sum() for a, b in spans]))
        origin = "found" if declared is None else declared.origin
        return Attribute(column=steps, groups=groups, values=tuple(values), origin=origin, decimals=decimals)


def _upper_quantile(probability: float) -> float:
    """What a standard normal number exceeds with this probability."""
    from scipy.special import ndtri

    return float(-ndtri(probability))


def settled(attribute: Attribute, noisy: Floats, *, sigma: float) -> tuple[Attribute, Floats]:
    """The attribute without doubtful codes whose counts (code × label) do not stand out of the noise, and its counts.

    The few records that have such a code all the same count as what most records have.
    """
    if not attribute.doubtful:
        return attribute, noisy
    totals = noisy.sum(axis=1)
    clear = totals > CLEAR * sigma * math.sqrt(noisy.shape[1])
    kept = [code for code in range(attribute.size) if clear[code] or code not in attribute.doubtful]
    most = int(np.argmax(totals[kept]))
    place = {code: new for new, code in enumerate(kept)}
    groups = np.array([place.get(int(code), most) for code in attribute.groups], dtype=np.int64)
    return (
        replace(attribute, groups=groups, values=tuple(attribute.values[code] for code in kept), doubtful=()),
        noisy[kept],
    )


def _grid(low: float, high: float, kind: Kind) -> tuple[Grid, int]:
    """A fine grid with an edge at zero, and how many of its cells make a coarse one."""
    width = (high - low) / (COARSE_CELLS * FINER)
    finer = FINER
    if kind is not Kind.REAL:
        low, high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        finer = min(FINER, max(math.ceil((high - low) / COARSE_CELLS), 1))
        width = float(max(math.ceil((high - low) / (COARSE_CELLS * finer)), 1))
    coarse = width * finer
    first = math.floor(low / coarse) * coarse
    cells = max(math.ceil((high - first) / coarse - 1e-9), 1)
    return Grid(low=first, width=width, cells=cells * finer), finer


def _combined(coarse: Floats, fine: Floats, owners: Ints, sigmas: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
    """Fine counts that agree with coarse ones, both weighed by their noise; the variance of each; and which are sure.

    Coarse cells that do not stand out of the noise, alone or with neighbours, are taken for empty: most of a wide range
    is. Those that stand out a little count where bins are cut, but no number is drawn from them: some of them are empty
    too. A cell is sure by itself (1), or only together with its neighbours (2).
    """
    number = np.bincount(owners)
    sums = np.zeros_like(coarse)
    np.add.at(sums, owners, fine)
    apart = number * sigmas[1] ** 2
    variance = 1 / (1 / sigmas[0] ** 2 + 1 / apart)
    best = variance[:, None] * (coarse / sigmas[0] ** 2 + sums / apart[:, None])
    agreed = fine + ((best - sums) / number[:, None])[owners]
    clear = best.sum(axis=1) / np.sqrt(variance * coarse.shape[1])
    together = np.append(standing_together(clear[:-2], alone=_EMPTY), [0.0, 0.0])  # zero and missing have no neighbours
    empty = (clear < _EMPTY) & (together <= _TOGETHER)
    agreed[empty[owners]] = 0.0
    sure = np.where(clear > _SURE, 1.0, np.where(together > _SURE_TOGETHER, 2.0, 0.0))
    return agreed, np.where(empty, 0.0, variance / number)[owners], sure[owners]


def _refined(totals: Floats, least: float, finer: int) -> Ints:
    """Where cells of mixed width begin: coarse cells of at least so many records are taken apart."""
    starts: list[int] = []
    for cell, total in enumerate(totals):
        first = cell * finer
        starts += range(first, first + finer) if total >= least else [first]
    return np.array(starts, dtype=np.int64)


def _in_order(edges: Floats, noisy: Floats, kind: Kind) -> tuple[Floats, Floats, Floats, Floats]:
    """The edges of the cells in order, zero in its place, with their counts; and the counts of missing values."""
    cells, zero, missing = noisy[:-2].copy(), noisy[-2], noisy[-1]
    low, high = edges[:-1].copy(), edges[1:].copy()
    place = int(np.searchsorted(low, 0.0, side="right")) - 1
    after = 1.0 if kind is not Kind.REAL else _JUST_ABOVE_ZERO
    if place < 0 or high[-1] <= 0.0:
        cells[0 if place < 0 else -1] += zero  # zero lies outside the range: it counts where it is clamped to
    elif high[place] - low[place] <= after:
        cells[place] += zero  # the cell of zero holds nothing else
    else:
        # Its cell begins at zero, or is split there.
        if low[place] < 0.0:
            low, high = np.insert(low, place + 1, after), np.insert(high, place, 0.0)
            cells = np.insert(cells, place + 1, 0.0, axis=0)
            place += 1
        low[place] = after
        low, high = np.insert(low, place, 0.0), np.insert(high, place, after)
        cells = np.insert(cells, place, zero, axis=0)
    return low, high, cells, missing


def _spread(low: Floats, high: Floats, totals: Floats, sure: Floats, noise: float) -> NumberCells:
    """Cells of a bin by what stands out of the noise; the rest of its records lie anywhere in it."""
    noisy = np.where(sure > 0, totals, 0.0)
    clear = np.where(noisy > 2.5 * noise, noisy, 0.0)
    rest = max(float(noisy.sum() - clear.sum()), 0.0)
    widths = high - low
    evenly = rest if clear.sum() > 0 else 1.0
    # Cells that stand out have their share already, and empty ones none; what is sure by its neighbours is not empty.
    room = np.where((clear <= 0) & ((noisy > 0) | (sure > 1)), widths, 0.0)
    if room.sum() <= 0:
        room = np.where(clear > 0, widths, 0.0) if clear.sum() > 0 else widths
    if room.sum() <= 0:  # all of it lies beyond the declared range, at one of its ends
        room = np.ones_like(widths)
    weights = clear + evenly * room / room.sum()
    return NumberCells(low=low, high=high, chance=(weights / weights.sum())[:, None])

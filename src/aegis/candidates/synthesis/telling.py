"""Counts of the attributes by the label, and which of them tell something of it: those are measured a second time.

In a small table, noise that is spread over all attributes drowns every one of them. By how much an attribute departs
from the shares of the label is one number, which is told from noise long before the counts behind it are. Most of the
budget is for those that depart clearly. Nothing but the shares of the label comes from noisy counts in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes, Floats, Ints
from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.binning import CLEAR, beside
from aegis.candidates.synthesis.finding import Context, settled
from aegis.candidates.synthesis.measuring import Measurer
from aegis.candidates.synthesis.pool import Pair, denoised, nearest, totals_of
from aegis.counts.marginals import Counter

N = TypeVar("N", np.float64, np.int64)


class AttributeTables:
    """Marginals of the attributes by the label. What is counted is kept, and only what has noise is handed out."""

    def __init__(
        self, counter: Counter, attributes: Sequence[Attribute], context: Context | None, measurer: Measurer
    ) -> None:
        self.attributes, self.context, self.measurer = list(attributes), context, measurer
        self._counter = counter
        self._counted: dict[str, Ints] = {}

    @property
    def label_merged(self) -> bool:
        """Whether values of the label share a context, so that it has to be measured by itself too."""
        return self.context is not None and self.context.size < self.context.label.size

    def settled_single(self, place: int, rho: float) -> Floats:
        """One attribute with the label; codes that no record seems to have are no more among its codes after that."""
        noisy = self.measurer.counts(self._single(place), rho=rho, what="attribute", columns=self._names(place))
        self.attributes[place], kept = settled(self.attributes[place], noisy, sigma=self.measurer.sigma(rho))
        return kept

    def single(self, place: int, rho: float) -> Floats:
        """One attribute with the label, once more."""
        return self.measurer.counts(self._single(place), rho=rho, what="attribute again", columns=self._names(place))

    def departures(self, shares: Floats, rho: float) -> Floats:
        """By how much every attribute departs from the label's ``shares``, with noise, as `departure` measures it."""
        sums = [departure(self._single(place), shares) for place in range(len(self.attributes))]
        return self.measurer.errors(np.array(sums), rho=rho, what="departures from the label's shares")

    def pair(self, pair: Pair, groups: Sequence[Codes]) -> Ints:
        """Counts without noise: not to be looked at."""
        first, second = self.attributes[pair[0]], self.attributes[pair[1]]
        counts = self._by_context([first, second])
        counts = merged_by(first.pushed(counts, 0), groups[pair[0]])
        return np.moveaxis(merged_by(np.moveaxis(second.pushed(counts, 1), 1, 0), groups[pair[1]]), 0, 1)

    def measured_pair(self, pair: Pair, counts: Ints, rho: float) -> Floats:
        return self.measurer.counts(counts, rho=rho, what="pair", columns=self._names(*pair))

    def label(self, rho: float) -> Floats:
        assert self.context is not None
        label = self.context.label
        counts = label.pushed(self._counter.count([label.column]))
        return self.measurer.counts(counts, rho=rho, what="label", columns=(label.name,))

    def _names(self, *places: int) -> tuple[str, ...]:
        names = tuple(self.attributes[place].name for place in places)
        return names if self.context is None else (*names, self.context.label.name)

    def _single(self, place: int) -> Ints:
        attribute = self.attributes[place]
        if attribute.name not in self._counted:
            self._counted[attribute.name] = self._by_context([attribute])
        return attribute.pushed(self._counted[attribute.name])

    def _by_context(self, attributes: Sequence[Attribute]) -> Ints:
        asked = [attribute.column for attribute in attributes]
        if self.context is None:
            return self._counter.count(asked)[..., None]
        counts = self._counter.count([*asked, self.context.label.column])
        return self.context.pushed(counts, len(asked))


def departure(counts: NDArray[N], shares: Floats) -> float:
    """How many records would have to change their label until those of each value have the ``shares``, in units.

    One record more, of label l, moves the counts of its value by 1 - s(l) towards it and by s(j) for every other label
    j, half of which together is 1 - s(l). In units of the largest of these it moves the sum by at most 1.
    """
    apart = np.abs(counts - counts.sum(axis=1, keepdims=True) * shares).sum() / 2
    return float(apart / (1 - shares.min()))


def departures_of(
    counts: Mapping[Pair, Ints], expected: Mapping[Pair, Floats], measurer: Measurer, rho: float, what: str
) -> dict[Pair, float]:
    """The sum of absolute differences of every pair, with noise."""
    if not counts:
        return {}
    sums = np.array([np.abs(counts[pair] - expected[pair]).sum() for pair in counts])
    noisy = measurer.errors(sums, rho=rho, what=what)
    return dict(zip(counts, noisy.tolist(), strict=True))


def merged_by(counts: NDArray[N], groups: Codes) -> NDArray[N]:
    sums = np.zeros((int(groups.max()) + 1, *counts.shape[1:]), dtype=counts.dtype)
    np.add.at(sums, groups, counts)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class First:
    """What a first measurement says of every attribute with the label."""

    noisy: list[Floats]
    sigma: float
    totals: Floats
    label_counts: Floats | None

    @classmethod
    def of(cls, tables: AttributeTables, rho: float) -> First:
        """Measure every attribute with the label for ``rho`` together, and the label where its values were merged."""
        number = len(tables.attributes)
        each = rho / (number + tables.label_merged)
        noisy = [tables.settled_single(place, each) for place in range(number)]
        sigma = tables.measurer.sigma(each)
        totals = totals_of(noisy, [sigma] * number)
        counts = None if tables.context is None else totals
        if tables.label_merged:
            counts = nearest(tables.label(each)[:, None], totals.sum(keepdims=True))[:, 0]
        return cls(noisy=noisy, sigma=sigma, totals=totals, label_counts=counts)

    @property
    def stands_out(self) -> bool:
        """Whether there clearly are records at all."""
        cells = sum(1 / noisy.shape[0] for noisy in self.noisy)
        return bool(self.totals.sum() > CLEAR * self.sigma * np.sqrt(len(self.totals) / cells))

    def expected(self, noisy: Floats) -> Floats:
        """What the label's shares expect of each value."""
        of_values = nearest(noisy.sum(axis=1, keepdims=True), self.totals.sum(keepdims=True))
        return np.asarray(of_values * self.shares)

    @property
    def shares(self) -> Floats:
        """The label's shares of all records."""
        return np.asarray(self.totals / self.totals.sum())

    def feigned(self, place: int) -> float:
        """The departure that chance lets expect of an attribute that tells nothing of the label."""
        variance = self.expected(self.noisy[place]) * (1 - self.shares)
        return float(np.sqrt(2 / np.pi * variance).sum() / 2 / (1 - self.shares.min()))


def measured_again(tables: AttributeTables, first: First, rho: float, *, choosing: float, clear: float) -> list[Floats]:
    """Counts that could be of every attribute with the label, for ``rho`` more.

    A part of it, ``choosing``, measures by how much each departs from the shares of the label. Those whose departure
    stands out by ``clear`` deviations of its noise, and in any case the first of them, are measured again with the
    rest; the others are taken to tell nothing of the label. Of all that is measured, departures are shrunk: a rare
    value is hardly more than noise in each label, and taken as measured it would seem to decide the label.
    """
    places = range(len(first.noisy))
    if len(first.totals) == 1:  # there is no label
        each = rho / len(places)
        return [nearest(_both(tables, first, place, each)[0], first.totals) for place in places]
    rho_choosing = choosing * rho
    departures = tables.departures(first.shares, rho_choosing)
    excess = departures - [first.feigned(place) for place in places]
    doubt = tables.measurer.sigma(rho_choosing, marginals=len(places))
    telling = {*np.flatnonzero(excess > clear * doubt).tolist(), int(np.argmax(excess))}
    each = (rho - rho_choosing) / len(telling)
    singles = []
    for place in places:
        if place in telling:
            both, sigma = _both(tables, first, place, each)
            near = beside(tables.attributes[place], both)
            counts = denoised(both, first.expected(both), *(() if near is None else (near,)), sigma=sigma)
        else:
            counts = first.expected(first.noisy[place])
        singles.append(nearest(counts, first.totals))
    return singles


def _both(tables: AttributeTables, first: First, place: int, rho: float) -> tuple[Floats, float]:
    """The mean of the first measurement and a second one, each weighed by its noise; and the noise of the mean."""
    again, sigma = tables.single(place, rho), tables.measurer.sigma(rho)
    weight = sigma**2 / (first.sigma**2 + sigma**2)
    mean = weight * first.noisy[place] + (1 - weight) * again
    return np.asarray(mean), first.sigma * float(np.sqrt(weight))

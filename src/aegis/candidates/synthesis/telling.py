"""Which attributes tell something of the label, and what: a second look at those that do, with most of the budget.

In a small table, noise that is spread over all attributes drowns every one of them. By how much an attribute departs
from the shares of the label is one number, which is told from noise long before the counts behind it are. Nothing but
the shares of the label comes from noisy counts in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.candidates.synthesis.attribute_tables import AttributeTables
from aegis.candidates.synthesis.estimating import Floats, denoised, nearest, totals_of
from aegis.candidates.synthesis.occupied import CLEAR
from aegis.candidates.synthesis.smoothing import beside


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

"""Counts of the attributes by the label: measured with noise, or compared with what is expected of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.finding import Context, settled
from aegis.candidates.synthesis.measuring import Measurer
from aegis.candidates.synthesis.pool import Pair
from aegis.counts.marginals import Counter

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
N = TypeVar("N", np.float64, np.int64)


class AttributeTables:
    """Marginals of the attributes by the label. What is counted is kept, and only what has noise is handed out."""

    def __init__(
        self, counter: Counter, attributes: Sequence[Attribute], context: Context | None, measurer: Measurer
    ) -> None:
        self.attributes, self.context, self.measurer = list(attributes), context, measurer
        self._counter = counter
        self._counted: dict[str, NDArray[np.int64]] = {}

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

    def pair(self, pair: Pair, groups: Sequence[Codes]) -> NDArray[np.int64]:
        """Counts without noise: not to be looked at."""
        first, second = self.attributes[pair[0]], self.attributes[pair[1]]
        counts = self._by_context([first, second])
        counts = merged_by(first.pushed(counts, 0), groups[pair[0]])
        return np.moveaxis(merged_by(np.moveaxis(second.pushed(counts, 1), 1, 0), groups[pair[1]]), 0, 1)

    def measured_pair(self, pair: Pair, counts: NDArray[np.int64], rho: float) -> Floats:
        return self.measurer.counts(counts, rho=rho, what="pair", columns=self._names(*pair))

    def label(self, rho: float) -> Floats:
        assert self.context is not None
        label = self.context.label
        counts = label.pushed(self._counter.count([label.column]))
        return self.measurer.counts(counts, rho=rho, what="label", columns=(label.name,))

    def _names(self, *places: int) -> tuple[str, ...]:
        names = tuple(self.attributes[place].name for place in places)
        return names if self.context is None else (*names, self.context.label.name)

    def _single(self, place: int) -> NDArray[np.int64]:
        attribute = self.attributes[place]
        if attribute.name not in self._counted:
            self._counted[attribute.name] = self._by_context([attribute])
        return attribute.pushed(self._counted[attribute.name])

    def _by_context(self, attributes: Sequence[Attribute]) -> NDArray[np.int64]:
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
    counts: Mapping[Pair, NDArray[np.int64]], expected: Mapping[Pair, Floats], measurer: Measurer, rho: float, what: str
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

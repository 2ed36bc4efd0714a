"""Select, measure, generate: a model of a table from noisy marginals, and rows drawn from it.

1. Find the values of every attribute that are not declared (`finding`).
2. Measure every attribute with the label.
3. Measure by how much each pair of attributes departs from what that expects; build a tree of those that depart most,
   and measure its edges with the label.
4. Measure by how much the pairs depart from the tree; measure those that do most.
5. Fit (`pool`), and draw.

Every count goes through the `Measurer`; nothing else of the table is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.synthesis.accounting import Account
from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.binning import merge_groups
from aegis.candidates.synthesis.declared import PublicDomain
from aegis.candidates.synthesis.estimating import Floats, denoised, nearest, totals_of, with_margins
from aegis.candidates.synthesis.finding import Context, LeftOut, find_attribute, settled
from aegis.candidates.synthesis.impossible import possible
from aegis.candidates.synthesis.measuring import Measurer
from aegis.candidates.synthesis.noise import Noise
from aegis.candidates.synthesis.pool import Pair, Pool, draw_given, draw_pool
from aegis.counts.marginals import Counter
from aegis.data.schema import Column
from aegis.errors import DataError, GuaranteeError, LabelError
from aegis.progress import Progress

Codes = NDArray[np.int64]
N = TypeVar("N", np.float64, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the budget is divided and how fine the model is. None of it depends on the data."""

    finding: float = 0.2
    singles: float = 0.4
    choosing: float = 0.06
    more_edges: int = 3
    most_contexts: int = 8
    most_together: int = 40
    pool: int = 200_000
    least_pool: int = 20_000
    pool_per_record: float = 6.0
    rounds: int = 10
    finest: int = 32
    coarsest: int = 4
    fineness: float = 4.0
    least: float = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairError:
    """Two attributes, and how far the model was from them when it was asked: a noisy share of the records."""

    first: str
    second: str
    share: float
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Model:
    """What was learnt of a table under the budget: everything here may be published."""

    attributes: tuple[Attribute, ...]
    context: Context | None
    singles: tuple[Floats, ...]
    groups: tuple[Codes, ...]
    pool: Pool
    records: float
    left_out: tuple[LeftOut, ...]
    errors: tuple[PairError, ...]
    off: float
    label: Attribute | None
    label_counts: Floats | None

    def __repr__(self) -> str:
        return f"Model({len(self.attributes)} attributes, {len(self.pool.weights)} tuples)"

    def drawn_codes(self, rows: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Rows as codes of the attributes."""
        taken = self.pool.drawn(rows, rng)
        context = self.pool.context[taken]
        contexts = self.pool.contexts
        codes: dict[str, Codes] = {}
        for attribute, fine, groups, coarse in zip(
            self.attributes, self.singles, self.groups, self.pool.codes, strict=True
        ):
            within = np.zeros((len(fine), int(groups.max()) + 1, contexts))
            within[np.arange(len(fine)), groups] = fine + 1e-9
            table = within.reshape(len(fine), -1)
            codes[attribute.name] = draw_given(table, coarse[taken] * contexts + context, rng)
        if self.context is not None and self.label is not None and self.label_counts is not None:
            within = np.zeros((self.label.size, contexts))
            within[np.arange(self.label.size), self.context.groups] = self.label_counts + 1e-9
            codes[self.label.name] = draw_given(within, context, rng)
        return codes

    def drawn(self, rows: int, rng: np.random.Generator, *, order: Sequence[str], public: PublicDomain) -> pa.Table:
        """Rows as values of the source's types, in the order of its columns; impossible ones are drawn anew."""
        attributes = {attribute.name: attribute for attribute in self.attributes}
        if self.label is not None:
            attributes[self.label.name] = self.label
        names = [name for name in order if name in attributes]
        parts: list[pa.Table] = []
        kept = 0
        wanted = rows
        for _ in range(_MOST_DRAWS):
            codes = self.drawn_codes(wanted, rng)
            table = pa.table({name: attributes[name].drawn(codes[name], rng) for name in names})
            if public.impossible:
                table = table.filter(pa.array(possible(table, public.impossible)))
            parts.append(table.slice(0, rows - kept))
            kept += len(parts[-1])
            if kept == rows:
                return pa.concat_tables(parts)
            wanted = rows - kept
        raise GuaranteeError(
            "nearly all rows that the model draws are declared impossible; the declaration and the data contradict "
            "each other"
        )


_MOST_DRAWS = 50


def learn(
    counter: Counter,
    columns: Sequence[Column],
    *,
    label: str | None,
    account: Account,
    noise: Noise,
    public: PublicDomain,
    rng: np.random.Generator,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Model:
    """Learn a model of ``columns``; with a ``label`` (one of them) for predicting it, without one for all of them."""
    settings = settings or Settings()
    measurer = Measurer(account, noise)
    say = progress or (lambda done, total, what: None)
    say(0, 5, "finding values")
    finding = _Finding(
        counter=counter,
        public=public,
        measurer=measurer,
        rho=settings.finding * account.rho / max(len(columns), 1),
        delta=account.found_delta / max(len(columns), 1),
        least=settings.least * measurer.sigma(settings.singles * account.rho, marginals=max(len(columns) - 1, 1)),
    )
    context, label_attribute, label_counts, left_out = None, None, None, []
    others = [column for column in columns if column.name != label]
    if label is not None:
        found = finding.attribute(next(column for column in columns if column.name == label), None, now=True)
        if isinstance(found, LeftOut):
            raise LabelError(
                f"the label {label!r} cannot be synthesized: {found.reason}; choose another or more budget"
            )
        label_attribute = found
        if label_attribute.size < 2:
            raise LabelError(f"only one value of the label {label!r} stands out of the noise; use a larger epsilon")
        merged = np.arange(label_attribute.size)
        if label_attribute.size > settings.most_contexts:
            merged = merge_groups(
                np.ones((label_attribute.size, 1)), most=settings.most_contexts, ordered=label_attribute.ordered
            )
        context = Context(label=label_attribute, groups=merged)
    attributes: list[Attribute] = []
    for column in others:
        attribute = finding.attribute(column, context, now=False)
        if isinstance(attribute, LeftOut):
            left_out.append(attribute)
        else:
            attributes.append(attribute)
    if not attributes:
        raise DataError("no column can be synthesized under this budget; use a larger epsilon or declare a domain")

    say(1, 5, "measuring attributes")
    held = [attribute.column for attribute in attributes] + ([context.label.column] if context else [])
    prepared = counter.prepared(held)
    table = _Measuring(prepared, attributes, context, measurer)
    singles, totals, label_counts = _singles(table, settings.singles * account.rho, label_attribute)
    attributes = table.attributes

    say(2, 5, "choosing pairs")
    together = min(len(attributes), settings.most_together)
    chosen = _most_telling(singles, together)
    pairs = [(a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]]
    more = min(settings.more_edges * max(together - 1, 0), len(pairs) - max(together - 1, 0))
    number = max(together - 1, 0) + more
    rho_choosing = settings.choosing * account.rho if pairs else 0.0
    rho_each = (account.left - rho_choosing) / number if number else 0.0
    groups = _groups(attributes, singles, totals, measurer.sigma(rho_each) if number else 1.0, settings)
    coarse = [_merged(single, group) for single, group in zip(singles, groups, strict=True)]
    counts = {pair: table.pair(pair, groups) for pair in pairs}
    expected = {
        (a, b): coarse[a][:, None] * coarse[b][None] / np.maximum(coarse[a].sum(axis=0), 1e-9) for a, b in pairs
    }
    errors = _departures(counts, expected, measurer, rho_choosing / 2, "departures from independence")
    edges = _tree(chosen, errors)
    fits: dict[Pair, Floats] = {}
    tables: dict[Pair, Floats] = {}
    for parent, child in edges:
        pair = (parent, child) if (parent, child) in counts else (child, parent)
        noisy = table.measured_pair(pair, counts[pair], rho_each)
        clean = denoised(noisy, expected[pair], sigma=measurer.sigma(rho_each))
        fits[pair] = with_margins(clean, coarse[pair[0]], coarse[pair[1]])
        tables[parent, child] = fits[pair] if pair == (parent, child) else np.moveaxis(fits[pair], 0, 1)

    say(3, 5, "measuring pairs")
    size = int(np.clip(settings.pool_per_record * totals.sum(), settings.least_pool, settings.pool))
    pool = draw_pool(coarse, edges, tables, size, rng)
    rest = [pair for pair in pairs if pair not in fits]
    if rest:
        drawn = {pair: pool.marginal(pair) for pair in rest}
        misses = _departures({pair: counts[pair] for pair in rest}, drawn, measurer, rho_choosing / 2, "departures")
        errors |= misses
        for pair in sorted(rest, key=lambda pair: -misses[pair])[:more]:
            noisy = table.measured_pair(pair, counts[pair], rho_each)
            fits[pair] = denoised(noisy, drawn[pair], sigma=measurer.sigma(rho_each))
    say(4, 5, "fitting")
    off = pool.fit(fits, coarse, rounds=settings.rounds)
    records = float(totals.sum())
    say(5, 5, "done")
    return Model(
        attributes=tuple(attributes),
        context=context,
        singles=tuple(singles),
        groups=tuple(groups),
        pool=pool,
        records=records,
        left_out=tuple(left_out),
        errors=tuple(
            PairError(
                first=attributes[a].name,
                second=attributes[b].name,
                share=max(errors[a, b], 0.0) / (2 * records),
                measured=(a, b) in fits,
            )
            for a, b in pairs
        ),
        off=off,
        label=label_attribute,
        label_counts=label_counts,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Finding:
    counter: Counter
    public: PublicDomain
    measurer: Measurer
    rho: float
    delta: float
    least: float

    def attribute(self, column: Column, context: Context | None, *, now: bool) -> Attribute | LeftOut:
        return find_attribute(
            self.counter,
            column,
            self.public.columns.get(column.name),
            self.measurer,
            rho=self.rho,
            delta=self.delta,
            context=context,
            least=self.least,
            now=now,
        )


class _Measuring:
    """Marginals of the attributes by context."""

    def __init__(
        self, counter: Counter, attributes: Sequence[Attribute], context: Context | None, measurer: Measurer
    ) -> None:
        self.attributes = list(attributes)
        self._counter, self._context, self._measurer = counter, context, measurer

    def settled_single(self, place: int, rho: float) -> Floats:
        """One attribute with the label; codes that no record seems to have are no more among its codes after that."""
        attribute = self.attributes[place]
        counts = attribute.pushed(self._by_context([attribute]))
        noisy = self._measurer.counts(counts, rho=rho, what="attribute", columns=(attribute.name, *self._label_name))
        self.attributes[place], kept = settled(attribute, noisy, sigma=self._measurer.sigma(rho))
        return kept

    def pair(self, pair: Pair, groups: Sequence[Codes]) -> NDArray[np.int64]:
        """Counts without noise: not to be looked at."""
        first, second = self.attributes[pair[0]], self.attributes[pair[1]]
        counts = self._by_context([first, second])
        counts = _merged(first.pushed(counts, 0), groups[pair[0]])
        return np.moveaxis(_merged(np.moveaxis(second.pushed(counts, 1), 1, 0), groups[pair[1]]), 0, 1)

    def measured_pair(self, pair: Pair, counts: NDArray[np.int64], rho: float) -> Floats:
        names = (self.attributes[pair[0]].name, self.attributes[pair[1]].name)
        return self._measurer.counts(counts, rho=rho, what="pair", columns=(*names, *self._label_name))

    def label(self, rho: float) -> Floats:
        assert self._context is not None
        label = self._context.label
        counts = label.pushed(self._counter.count([label.column]))
        return self._measurer.counts(counts, rho=rho, what="label", columns=(label.name,))

    @property
    def _label_name(self) -> tuple[str, ...]:
        return () if self._context is None else (self._context.label.name,)

    def _by_context(self, attributes: Sequence[Attribute]) -> NDArray[np.int64]:
        asked = [attribute.column for attribute in attributes]
        if self._context is None:
            return self._counter.count(asked)[..., None]
        counts = self._counter.count([*asked, self._context.label.column])
        return self._context.pushed(counts, len(asked))


def _singles(table: _Measuring, rho: float, label: Attribute | None) -> tuple[list[Floats], Floats, Floats | None]:
    number = len(table.attributes)
    merged = label is not None and table._context is not None and table._context.size < label.size
    each = rho / (number + merged)
    noisy = [table.settled_single(place, each) for place in range(number)]
    totals = totals_of(noisy, [table._measurer.sigma(each)] * number)
    singles = [_shrunk(counts, totals, sigma=table._measurer.sigma(each)) for counts in noisy]
    if label is None:
        return singles, totals, None
    if not merged:
        return singles, totals, totals
    return singles, totals, nearest(table.label(each)[:, None], np.array([totals.sum()]))[:, 0]


def _shrunk(noisy: Floats, totals: Floats, *, sigma: float) -> Floats:
    """Counts that could be, whose departures from what the label's shares expect of each value stand out of the noise.

    A rare value is hardly more than noise in each label; taken as measured, it would seem to decide the label.
    """
    if len(totals) == 1:
        return nearest(noisy, totals)
    of_values = nearest(noisy.sum(axis=1, keepdims=True), totals.sum(keepdims=True))
    expected = of_values * (totals / totals.sum())
    return nearest(denoised(noisy, expected, sigma=sigma), totals)


def _most_telling(singles: Sequence[Floats], number: int) -> list[int]:
    """The attributes that say most about the context; all of them where there are not too many."""
    if len(singles) <= number:
        return list(range(len(singles)))
    information = []
    for counts in singles:
        total = counts.sum()
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / total
        met = counts > 0
        information.append(float((counts[met] * np.log(counts[met] / expected[met])).sum()))
    return sorted(np.argsort(information)[::-1][:number].tolist())


def _groups(
    attributes: Sequence[Attribute], singles: Sequence[Floats], totals: Floats, sigma: float, settings: Settings
) -> list[Codes]:
    """Groups of codes so large that the cells of a pair stand out of the noise."""
    records = float(totals.sum())
    most = int(
        np.clip(math.sqrt(2 * records / (len(totals) * settings.fineness * sigma)), settings.coarsest, settings.finest)
    )
    return [
        merge_groups(single, most=most, ordered=attribute.ordered)
        for attribute, single in zip(attributes, singles, strict=True)
    ]


def _merged(counts: NDArray[N], groups: Codes) -> NDArray[N]:
    sums = np.zeros((int(groups.max()) + 1, *counts.shape[1:]), dtype=counts.dtype)
    np.add.at(sums, groups, counts)
    return sums


def _departures(
    counts: Mapping[Pair, NDArray[np.int64]], expected: Mapping[Pair, Floats], measurer: Measurer, rho: float, what: str
) -> dict[Pair, float]:
    """The sum of absolute differences of every pair, with noise."""
    if not counts:
        return {}
    sums = np.array([np.abs(counts[pair] - expected[pair]).sum() for pair in counts])
    noisy = measurer.errors(sums, rho=rho, what=what)
    return dict(zip(counts, noisy.tolist(), strict=True))


def _tree(chosen: Sequence[int], errors: Mapping[Pair, float]) -> list[Pair]:
    """The tree of attributes whose edges depart most together, from parents to children."""
    edges: list[Pair] = []
    inside = list(chosen[:1])
    outside = list(chosen[1:])
    while outside:
        parent, child = max(((a, b) for a in inside for b in outside), key=lambda pair: errors[min(pair), max(pair)])
        edges.append((parent, child))
        inside.append(child)
        outside.remove(child)
    return edges

"""Select, measure, generate: a model of a table from noisy marginals, and rows drawn from it.

1. Find the values of every attribute that are not declared (`finding`).
2. Measure every attribute with the label, and again those that tell something of it (`telling`).
3. Measure by how much each pair of attributes departs from what that expects; build a tree of those that depart most,
   and measure its edges with the label.
4. Measure by how much the pairs depart from the tree; measure those that do most.
5. Fit (`pool`), and draw.

Where the table is so small that noise would hide every pair, steps 3 and 4 are left out, and step 2 has their budget.

Every count goes through the `Measurer`; nothing else of the table is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aegis.arrays import Codes, Floats
from aegis.candidates.synthesis.attribute import Attribute
from aegis.candidates.synthesis.binning import merge_groups, smoothed
from aegis.candidates.synthesis.declared import PublicDomain, possible
from aegis.candidates.synthesis.finding import Context, Finder, LeftOut
from aegis.candidates.synthesis.measuring import Account, Measurer, Noise
from aegis.candidates.synthesis.pool import Pair, Pool, denoised, draw_given, draw_pool, evened, with_margins
from aegis.candidates.synthesis.telling import AttributeTables, First, departures_of, measured_again, merged_by
from aegis.counts.marginals import Counter
from aegis.data.schema import Column
from aegis.errors import DataError, GuaranteeError, LabelError
from aegis.progress import Progress

_MOST_DRAWS = 50
_SINGLES = 0.4
"""About this part of the budget measures attributes with the label, where most of them tell something of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the budget is divided and how fine the model is. None of it depends on the data.

    ``finding`` is a part of the whole budget; ``singles`` (a first look at every attribute) and ``pairs`` are parts of
    what is left after it, the second look has the rest. ``telling`` and ``choosing`` are the parts of the second look
    and of the pairs that choose what is measured. Pairs are measured where attributes of ``told`` groups or more stand
    out of the noise.
    """

    finding: float = 0.2
    singles: float = 0.25
    telling: float = 0.25
    pairs: float = 0.5
    choosing: float = 0.15
    more_edges: int = 3
    clear: float = 1.0
    told: float = 4.0
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
        return self._drawn_codes(rows, rng)[0]

    def _drawn_codes(self, rows: int, rng: np.random.Generator) -> tuple[dict[str, Codes], Codes]:
        """Rows as codes, and the context of each."""
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
            drawn = draw_given(table, coarse[taken] * contexts + context, rng)
            codes[attribute.name] = evened(drawn, context, fine, rng)
        if self.context is not None and self.label is not None and self.label_counts is not None:
            within = np.zeros((self.label.size, contexts))
            within[np.arange(self.label.size), self.context.groups] = self.label_counts + 1e-9
            codes[self.label.name] = draw_given(within, context, rng)
        return codes, context

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
            codes, strata = self._drawn_codes(wanted, rng)
            table = pa.table({name: attributes[name].drawn(codes[name], rng, strata=strata) for name in names})
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
    finder = Finder(
        counter=counter,
        measurer=measurer,
        rho=settings.finding * account.rho / max(len(columns), 1),
        delta=account.found_delta / max(len(columns), 1),
        least=settings.least * measurer.sigma(_SINGLES * account.rho, marginals=max(len(columns) - 1, 1)),
    )
    context, label_attribute, label_counts, left_out = None, None, None, []
    others = [column for column in columns if column.name != label]
    if label is not None:
        found = finder.attribute(
            next(column for column in columns if column.name == label), public.columns.get(label), None, now=True
        )
        if isinstance(found, LeftOut):
            raise LabelError(
                f"the label {label!r} cannot be synthesized: {found.reason}; choose another or more budget"
            )
        label_attribute = found
        if label_attribute.size < 2:
            raise LabelError(
                f"only one value of the label {label!r} stands out of the noise; declare its values in a domain file, "
                "or use a larger epsilon"
            )
        merged = np.arange(label_attribute.size)
        if label_attribute.size > settings.most_contexts:
            merged = merge_groups(
                np.ones((label_attribute.size, 1)), most=settings.most_contexts, ordered=label_attribute.ordered
            )
        context = Context(label=label_attribute, groups=merged)
    attributes: list[Attribute] = []
    for column in others:
        attribute = finder.attribute(column, public.columns.get(column.name), context, now=False)
        if isinstance(attribute, LeftOut):
            left_out.append(attribute)
        else:
            attributes.append(attribute)
    if not attributes:
        raise DataError("no column can be synthesized under this budget; use a larger epsilon or declare a domain")

    say(1, 5, "measuring attributes")
    held = [attribute.column for attribute in attributes] + ([context.label.column] if context else [])
    tables = AttributeTables(counter.prepared(held), attributes, context, measurer)
    whole = account.left
    first = First.of(tables, settings.singles * whole)
    if not first.stands_out:
        raise DataError("no record stands out of the noise: the table is empty, or far too small for this epsilon")
    attributes = tables.attributes
    together = min(len(attributes), settings.most_together)
    number = _pairs_told(together, first.totals, measurer, settings.pairs * (1 - settings.choosing) * whole, settings)
    rho_pairs = settings.pairs * whole if number else 0.0
    singles = measured_again(tables, first, account.left - rho_pairs, choosing=settings.telling, clear=settings.clear)
    totals, label_counts = first.totals, first.label_counts

    say(2, 5, "choosing pairs")
    chosen = _most_telling(singles, together)
    pairs = [(a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]] if number else []
    more = number - (together - 1) if number else 0
    rho_choosing = settings.choosing * rho_pairs
    rho_each = (account.left - rho_choosing) / number if number else 0.0
    groups = _groups(attributes, singles, totals, measurer.sigma(rho_each) if number else 1.0, settings)
    coarse = [merged_by(single, group) for single, group in zip(singles, groups, strict=True)]
    counts = {pair: tables.pair(pair, groups) for pair in pairs}
    expected = {
        (a, b): coarse[a][:, None] * coarse[b][None] / np.maximum(coarse[a].sum(axis=0), 1e-9) for a, b in pairs
    }
    errors = departures_of(counts, expected, measurer, rho_choosing / 2, "departures from independence")
    edges = _tree(chosen, errors) if number else []
    fits: dict[Pair, Floats] = {}
    of_edges: dict[Pair, Floats] = {}
    for parent, child in edges:
        pair = (parent, child) if (parent, child) in counts else (child, parent)
        noisy = tables.measured_pair(pair, counts[pair], rho_each)
        clean = denoised(noisy, expected[pair], sigma=measurer.sigma(rho_each))
        fits[pair] = with_margins(clean, coarse[pair[0]], coarse[pair[1]])
        of_edges[parent, child] = fits[pair] if pair == (parent, child) else np.moveaxis(fits[pair], 0, 1)

    say(3, 5, "measuring pairs")
    size = int(np.clip(settings.pool_per_record * totals.sum(), settings.least_pool, settings.pool))
    pool = draw_pool(coarse, edges, of_edges, size, rng)
    rest = [pair for pair in pairs if pair not in fits]
    if rest:
        drawn = {pair: pool.marginal(pair) for pair in rest}
        misses = departures_of({pair: counts[pair] for pair in rest}, drawn, measurer, rho_choosing / 2, "departures")
        errors |= misses
        for pair in sorted(rest, key=lambda pair: -misses[pair])[:more]:
            noisy = tables.measured_pair(pair, counts[pair], rho_each)
            fits[pair] = denoised(noisy, drawn[pair], sigma=measurer.sigma(rho_each))
    say(4, 5, "fitting")
    off = pool.fit(fits, coarse, rounds=settings.rounds)
    records = float(totals.sum())
    say(5, 5, "done")
    return Model(
        attributes=tuple(smoothed(*each) for each in zip(attributes, singles, strict=True)),
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


def _pairs_told(together: int, totals: Floats, measurer: Measurer, rho: float, settings: Settings) -> int:
    """How many pairs to measure: fewer where noise would hide more, down to a tree; none where it would hide that too.

    Without a label there is nothing else to measure, and a tree always is.
    """
    tree = together - 1
    most = together * tree // 2
    for more in range(settings.more_edges, -1, -1):
        number = min((1 + more) * tree, most)
        if number and _groups_each(totals, measurer.sigma(rho, marginals=number), settings) >= settings.told:
            return number
    return tree if len(totals) == 1 else 0


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
    most = int(np.clip(_groups_each(totals, sigma, settings), settings.coarsest, settings.finest))
    return [
        merge_groups(single, most=most, ordered=attribute.ordered)
        for attribute, single in zip(attributes, singles, strict=True)
    ]


def _groups_each(totals: Floats, sigma: float, settings: Settings) -> float:
    return math.sqrt(2 * float(totals.sum()) / (len(totals) * settings.fineness * sigma))


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

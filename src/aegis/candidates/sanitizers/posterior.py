"""What somebody who knows the mechanism believes about a record: the exact posterior on the column's own values.

An attacker knows how a release was drawn, which values the column takes and how often, and side information. Side
information becomes a prior: a model foretells X, records with like forecasts share a cell, and a cell has its own
shares of values. For a category the model gives the shares itself. Bayes' rule with the mechanism's likelihood does
the rest. The same belief is the authorised party's reconstructor: it is arrays, and needs no library to be read back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import View, bits
from aegis.candidates.sanitizers.caps import CERTAIN
from aegis.candidates.sanitizers.components import apply_layers
from aegis.candidates.sanitizers.encoding import split_tuples
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism, Mechanism, ranges_in
from aegis.candidates.sanitizers.mixtures import Released

Layers = Sequence[tuple[Floats, Floats]]
EPSILON_SHARES = (0.02, 0.1, 0.3)  # half-widths of windows, in standard deviations of the column
MOST_VALUES = 20_000  # of a column; beyond, every so many of them stand for all
_BLOCK = 4_000_000  # entries of a table of records by values that are held at once
_BINS = 24
_CELLS = 24
_CELL_ROWS = 120  # forecasts are cut into cells of at least so many records
_SHARED = 20  # records that have a value, or lie in a group, before a party is told of it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Belief:
    """A prior over the values of a column for each record, from what one party knows beside the release.

    ``values`` are numbers in ascending order, or codes 0 … of categories. For a number ``cuts`` divides forecasts into
    cells and ``shares[cell]`` are the shares of values there; for a category the model's outputs are logits and
    ``shares`` has one row, the shares in the whole column. ``cost[value, guess]`` replaces the share of wrong guesses;
    ``log`` says that a party states how likely each value is, and loses the logarithm of that, in bits.
    """

    kind: Literal["number", "category"]
    values: Floats
    layers: Layers
    cuts: Floats
    shares: Floats
    cost: Floats | None = None
    log: bool = False

    def thinned(self, most: int) -> Belief:
        """The same belief about a number with at most so many values, each the mean of some neighbours."""
        if self.values.size <= most:
            return self
        start = np.unique(np.linspace(0, self.values.size, most, endpoint=False).astype(np.int64))
        weight = self.shares.sum(axis=0)
        total = np.maximum(np.add.reduceat(weight, start), 1e-300)
        return replace(
            self,
            values=np.add.reduceat(weight * self.values, start) / total,
            shares=np.add.reduceat(self.shares, start, axis=1),
        )

    def prior(self, side: Floats) -> Floats:
        """P(value | side information), one row for each record."""
        forecast = apply_layers(self.layers, side)
        if self.kind == "number":
            return np.asarray(self.shares[np.searchsorted(self.cuts, forecast[:, 0])])
        odds = np.exp(forecast - forecast.max(axis=1, keepdims=True))
        # nobody is surer than the number of records allows
        return np.asarray(0.998 * odds / odds.sum(axis=1, keepdims=True) + 0.002 * self.shares)

    def posterior(self, mechanism: Mechanism, view: View) -> Iterator[tuple[slice, Floats]]:
        """P(value | release, side information) in blocks of records."""
        step = max(1, _BLOCK // self.values.size)
        for start in range(0, len(view.side), step):
            rows = slice(start, min(start + step, len(view.side)))
            before = self.prior(view.side[rows])
            after = before * likelihood(mechanism, view.release[rows], self.values)
            total = after.sum(axis=1, keepdims=True)
            yield rows, np.where(total > 1e-300, after / np.maximum(total, 1e-300), before)

    def guess(self, mechanism: Mechanism, view: View) -> Floats:
        """The best estimate of each record: the posterior mean of a number, the likeliest category."""
        guesses = np.empty(len(view.side))
        for rows, after in self.posterior(mechanism, view):
            guesses[rows] = after @ self.values if self.kind == "number" else self.values[self.likeliest(after)]
        return guesses

    def stated(self, mechanism: Mechanism, view: View) -> Floats:
        """How likely each value of a category is for each record, one row each."""
        shares = np.empty((len(view.side), self.values.size))
        for rows, after in self.posterior(mechanism, view):
            shares[rows] = after
        return shares

    def losses(self, mechanism: Mechanism, view: View, codes: Ints) -> Floats:
        """What the best answer for each record of a category costs, whose values are ``codes``."""
        lost = np.empty(len(codes))
        for rows, after in self.posterior(mechanism, view):
            lost[rows] = self.scored(after, codes[rows])
        return lost

    def scored(self, after: Floats, codes: Ints) -> Floats:
        """What the best answer for each posterior costs, the values being ``codes``."""
        if self.log:
            return bits(after, codes)
        guess = self.likeliest(after)
        return np.asarray(guess != codes, dtype=np.float64) if self.cost is None else self.cost[codes, guess]

    def likeliest(self, after: Floats) -> Ints:
        """The guess of a category that costs least, for each posterior: without a cost the likeliest value."""
        return np.asarray(after.argmax(axis=1) if self.cost is None else (after @ self.cost).argmin(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """How sure the holder of a belief is of single records.

    ``certain`` is the share of records whose true value has a posterior of at least 0.99, ``by_value`` the same for
    each category; ``pinned`` the share that the heaviest window of each half-width in ``epsilons`` catches.
    """

    certain: float
    by_value: tuple[float, ...]
    epsilons: tuple[float, ...]
    pinned: tuple[float, ...]
    loss: float


def certainty(
    belief: Belief, mechanism: Mechanism, view: View, truth: Floats, *, epsilons: Sequence[float]
) -> Certainty:
    """What a belief comes to on these records, whose values are ``truth`` (codes for a category)."""
    chance, caught = np.empty(len(truth)), np.zeros((len(epsilons), len(truth)), dtype=bool)
    squares = np.empty(len(truth))
    place = np.clip(np.searchsorted(belief.values, truth), 0, belief.values.size - 1)
    # a value that was thinned out counts for the nearest that was kept
    below = np.maximum(place - 1, 0)
    place = np.where(np.abs(belief.values[below] - truth) < np.abs(belief.values[place] - truth), below, place)
    for rows, after in belief.posterior(mechanism, view):
        chance[rows] = after[np.arange(after.shape[0]), place[rows]]
        if belief.kind == "category":
            squares[rows] = belief.scored(after, truth[rows].astype(np.int64))
            continue
        squares[rows] = (truth[rows] - after @ belief.values) ** 2
        running = np.hstack([np.zeros((after.shape[0], 1)), np.cumsum(after, axis=1)])
        for number, epsilon in enumerate(epsilons):
            end = np.searchsorted(belief.values, belief.values + 2 * epsilon, side="right")
            best = (running[:, end] - running[:, : belief.values.size]).argmax(axis=1)
            low = belief.values[best]
            caught[number, rows] = (truth[rows] >= low) & (truth[rows] <= low + 2 * epsilon)
    sure = chance >= CERTAIN
    by_value: Sequence[float] = ()
    if belief.kind == "category":
        codes = truth.astype(np.int64)
        records = np.bincount(codes, minlength=belief.values.size)
        by_value = tuple(np.bincount(codes, weights=sure, minlength=belief.values.size) / np.maximum(records, 1))
    return Certainty(
        certain=float(sure.mean()),
        by_value=tuple(float(share) for share in by_value),
        epsilons=tuple(float(epsilon) for epsilon in epsilons) if belief.kind == "number" else (),
        pinned=tuple(float(row.mean()) for row in caught) if belief.kind == "number" else (),
        loss=float(squares.mean()),
    )


def share_above(
    belief: Belief, mechanism: CategoryMechanism | BinMechanism, view: View, cap: float
) -> tuple[float, float]:
    """The share of records that a release lifts above a cap, and the highest posterior of a value, or bin, of these."""
    above, highest = np.empty(len(view.side), dtype=bool), 0.0
    values = (
        np.arange(belief.values.size) if isinstance(mechanism, CategoryMechanism) else mechanism.bins(belief.values)
    )
    capped_value_of = np.eye(mechanism.release.shape[0])[values]
    for rows, after in belief.posterior(mechanism, view):
        before = belief.prior(view.side[rows])
        most = (after @ capped_value_of).max(axis=1)
        above[rows] = (most > cap + 1e-6) & ((before @ capped_value_of).max(axis=1) <= cap)
        highest = max(highest, float(most[above[rows]].max(initial=0.0)))
    return float(above.mean()), highest


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainPart:
    """One column of a release of tuples: the share of records whose value in it is determined, before and after."""

    column: str
    before: float
    after: float


def certain_parts(belief: Belief, mechanism: Mechanism, view: View, truth: Floats) -> tuple[CertainPart, ...]:
    """How sure the holder of a belief is of each column of tuples: a tuple may be in doubt where a column of it is not.

    Nothing for a mechanism of one column.
    """
    if not isinstance(mechanism, CategoryMechanism) or len(mechanism.parts) < 2:
        return ()
    codes = truth.astype(np.int64)
    before = belief.prior(view.side)
    parts = []
    for name, values in zip(
        mechanism.parts, split_tuples(np.array(mechanism.values), ranges_in(mechanism)), strict=True
    ):
        value_of = np.unique(values, return_inverse=True)[1]
        agreeing = (value_of[:, None] == value_of[None, :]).astype(np.float64)[codes]  # tuples with the true value
        after = np.empty(len(codes))
        for rows, posterior in belief.posterior(mechanism, view):
            after[rows] = (posterior * agreeing[rows]).sum(axis=1)
        chance_before = (before * agreeing).sum(axis=1)
        parts.append(
            CertainPart(
                column=name, before=float((chance_before >= CERTAIN).mean()), after=float((after >= CERTAIN).mean())
            )
        )
    return tuple(parts)


def likelihood(mechanism: Mechanism, release: Floats, values: Floats) -> Floats:
    """P(release | value) up to a factor per row; a release is its value and flags, or the code of a symbol."""
    if isinstance(mechanism, CategoryMechanism):
        return np.asarray(mechanism.release.T[release[:, 0].astype(np.int64)])
    if isinstance(mechanism, BinMechanism):
        return np.asarray(mechanism.release.T[release[:, 0].astype(np.int64)][:, mechanism.bins(values)])
    component = release[:, 1:].argmax(axis=1) if release.shape[1] > 1 else np.zeros(len(release), dtype=np.int64)
    return mechanism.mixture.likelihood(Released(component=component, value=release[:, 0]), values)


def fit_number_belief(side: Floats, x: Floats, *, column: Floats, quick: bool = False, coarse: bool = False) -> Belief:
    """A belief about a number from rows of side information and X; ``column`` is the whole private column.

    The forecast comes from one half of the rows and its cells from the other. ``coarse`` takes values
    that tell of no single record: what a party may be given. ``quick`` fits a
    line where otherwise a network is fitted.
    """
    if coarse:
        values, weights = _shareable(column)
    else:
        values, counts = np.unique(column, return_counts=True)
        weights = counts.astype(np.float64)
        if values.size > MOST_VALUES:
            chosen = np.unique(np.linspace(0, values.size - 1, MOST_VALUES).astype(np.int64))
            values, weights = values[chosen], weights[chosen]
    share: Floats = weights / weights.sum()
    half = len(x) // 2
    layers = _forecast(side[:half], x[:half], 1, quick=quick)
    forecast = apply_layers(layers, side[half:])[:, 0]
    cells = int(np.clip((len(x) - half) // _CELL_ROWS, 1, _CELLS))
    cuts = np.unique(np.quantile(forecast, np.arange(1, cells) / cells))
    edges = np.unique(np.quantile(column, np.arange(1, _BINS) / _BINS))
    of_value = np.searchsorted(edges, values)
    whole = np.bincount(of_value, weights=share, minlength=edges.size + 1)
    table = np.zeros((cuts.size + 1, edges.size + 1))
    np.add.at(table, (np.searchsorted(cuts, forecast), np.searchsorted(edges, x[half:])), 1.0)
    table += whole  # one record's worth of doubt, spread as in the whole column
    table /= table.sum(axis=1, keepdims=True)
    within = share / np.maximum(whole[of_value], 1e-300)
    shares = table[:, of_value] * within
    return Belief(
        kind="number", values=values, layers=layers, cuts=cuts, shares=shares / shares.sum(axis=1, keepdims=True)
    )


def fit_category_belief(
    side: Floats, codes: Ints, *, size: int, quick: bool = False, cost: Floats | None = None, log: bool = False
) -> Belief:
    """A belief about a category, given as codes 0 … size − 1."""
    counts = np.bincount(codes, minlength=size) + 0.5
    # the model is fitted on most rows, and how far it may be trusted is learned on the others
    most = len(codes) * 2 // 3
    layers = _tempered(
        _forecast(side[:most], codes[:most].astype(np.float64), size, quick=quick), side[most:], codes[most:]
    )
    return Belief(
        kind="category",
        values=np.arange(size, dtype=np.float64),
        layers=layers,
        cuts=np.zeros(0),
        shares=(counts / counts.sum())[None, :],
        cost=cost,
        log=log,
    )


def _shareable(column: Floats) -> tuple[Floats, Floats]:
    """Values and weights that tell of no single record: those that twenty records have, and a grid for all others.

    The others lie in groups of at least twenty records; a group's weight is spread evenly over the grid inside it. The
    two ends are rounded to a tenth of a standard deviation.
    """
    values, counts = np.unique(column, return_counts=True)
    common = counts >= _SHARED
    points, weights = [values[common]], [counts[common].astype(np.float64)]
    rest = column[~np.isin(column, values[common])]
    if rest.size >= _SHARED:
        spread = float(column.std())
        edges = np.quantile(rest, np.linspace(0, 1, min(rest.size // _SHARED, 512) + 1))
        unit = spread / 10
        edges[0], edges[-1] = np.floor(edges[0] / unit) * unit, np.ceil(edges[-1] / unit) * unit
        edges = np.unique(edges)
        inside = np.histogram(rest, bins=edges)[0]
        step = max(spread / 100, float(np.ptp(edges)) / 3000)
        for low, high, records in zip(edges[:-1], edges[1:], inside, strict=True):
            pieces = max(1, int(np.ceil((high - low) / step)))
            points.append(low + (np.arange(pieces) + 0.5) * (high - low) / pieces)
            weights.append(np.full(pieces, records / pieces))
    joined, weight = np.concatenate(points), np.concatenate(weights)
    order = np.argsort(joined, kind="stable")
    weighted = order[weight[order] > 0]
    return joined[weighted], weight[weighted]


def _forecast(side: Floats, x: Floats, classes: int, *, quick: bool) -> list[tuple[Floats, Floats]]:
    """The layers of a model of X: a network, or a line where nothing is to be gained or no JAX is there."""
    if side.shape[1] > 0 and not quick and find_spec("jax") is not None:
        from aegis.candidates.sanitizers.networks import fit_layers

        if classes > 1 or len(x) >= 200:
            return fit_layers(side, x, classes=classes)
    return [_line(side, x)] if classes == 1 else [_softmax_line(side, x.astype(np.int64), classes)]


def _tempered(layers: list[tuple[Floats, Floats]], side: Floats, codes: Ints) -> list[tuple[Floats, Floats]]:
    """The same model with its logits shrunk by the factor, and shifted by the constants, that fit other rows best."""
    logits = apply_layers(layers, side)
    size = logits.shape[1]

    def loss(free: Floats) -> float:
        scaled = logits * free[0] + free[1:]
        scaled -= scaled.max(axis=1, keepdims=True)
        chosen = scaled[np.arange(len(codes)), codes]
        return float((np.log(np.exp(scaled).sum(axis=1)) - chosen).mean() + 1e-4 * (free[1:] ** 2).sum())

    optimum = minimize(loss, np.append(1.0, np.zeros(size)), method="L-BFGS-B", bounds=[(0.05, 1.0), *[(-3, 3)] * size])
    weights, bias = layers[-1]
    return [*layers[:-1], (weights * optimum.x[0], bias * optimum.x[0] + optimum.x[1:])]


def _line(side: Floats, x: Floats) -> tuple[Floats, Floats]:
    """A ridge regression as one layer."""
    center = side.mean(axis=0)
    shifted = side - center
    weights = np.linalg.solve(shifted.T @ shifted + np.eye(side.shape[1]), shifted.T @ (x - x.mean()))
    return weights[:, None], np.array([x.mean() - center @ weights])


def _softmax_line(side: Floats, codes: Ints, classes: int) -> tuple[Floats, Floats]:
    """A multinomial logistic regression, a little shrunk, as one layer."""
    design = np.hstack([np.ones((len(side), 1)), side])
    truth = np.eye(classes)[codes]

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(design.shape[1], classes)
        logits = design @ weights
        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        shares = odds / odds.sum(axis=1, keepdims=True)
        loss = float(np.log(odds.sum(axis=1)).sum() - (logits * truth).sum() + 0.5 * (weights[1:] ** 2).sum())
        slope = design.T @ (shares - truth)
        slope[1:] += weights[1:]
        return loss / len(side), slope.ravel() / len(side)

    optimum = minimize(objective, np.zeros(design.shape[1] * classes), jac=True, method="L-BFGS-B")
    weights = optimum.x.reshape(design.shape[1], classes)
    return weights[1:], weights[0]

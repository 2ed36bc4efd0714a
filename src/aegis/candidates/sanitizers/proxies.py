"""Columns that tell a private one although nobody was said to know them, and what both files together tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.attackers import View, bits
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism
from aegis.candidates.sanitizers.posterior import fit_category_belief, fit_number_belief

Columns = Mapping[str, NDArray[Any]]
_BINS = 40
_LEVELS = 200
_MOST = 5
_REMOVED = 0.1  # of the error: a column that removes less is not named
_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A column, and the error of guessing the private value from it alone; ``error_without`` is that from nothing."""

    column: str
    error: float
    error_without: float


def proxies(
    truth: Floats, others: Columns, *, category: bool, log: bool = False, rng: np.random.Generator
) -> tuple[Proxy, ...]:
    """The columns that tell most about the private one, each alone, measured on rows that no guess was made from.

    ``truth`` are numbers, or codes of a category, whose errors are counted in bits with ``log``. A column that removes
    less than a tenth of the error is not named.
    """
    order = rng.permutation(len(truth))[:_ROWS]
    x, half = truth[order], len(order) // 2
    cells = np.zeros(len(order), dtype=np.int64)
    without = _error(x, cells, half, category=category, log=log)
    named = []
    for name, values in others.items():
        error = _error(x, _coded(values[order], half), half, category=category, log=log)
        if error < (1 - _REMOVED) * without:
            named.append(Proxy(column=name, error=error, error_without=without))
    return tuple(sorted(named, key=lambda proxy: proxy.error)[:_MOST])


def _coded(values: NDArray[Any], half: int) -> NDArray[np.int64]:
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        finite = numbers[:half][np.isfinite(numbers[:half])]
        cuts = np.unique(np.quantile(finite, np.arange(1, _BINS) / _BINS)) if finite.size else np.zeros(0)
        return np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers, side="right") + 1, 0)
    text = values.astype(str)
    levels, counts = np.unique(text[:half], return_counts=True)
    common = np.sort(levels[np.argsort(-counts, kind="stable")[:_LEVELS]])
    place = np.clip(np.searchsorted(common, text), 0, common.size - 1)
    return np.where(common[place] == text, place + 1, 0)


def _error(x: Floats, cells: NDArray[np.int64], half: int, *, category: bool, log: bool) -> float:
    """The error on the second half of guessing by the cell: its mean, its commonest code, or (``log``) its shares."""
    count = int(cells.max()) + 1
    first, second = slice(0, half), slice(half, None)
    if category:
        codes = x.astype(np.int64)
        table = np.zeros((count, int(codes.max()) + 1))
        np.add.at(table, (cells[first], codes[first]), 1.0)
        if log:
            common = (table.sum(axis=0) + 0.5) / (table.sum() + 0.5 * table.shape[1])
            stated = (table + common) / (table.sum(axis=1, keepdims=True) + 1.0)
            return float(bits(stated[cells[second]], codes[second]).mean())
        guess = (table + 1e-3 * table.sum(axis=0)).argmax(axis=1)
        return float((guess[cells[second]] != codes[second]).mean())
    records = np.bincount(cells[first], minlength=count) + 1.0
    mean = (np.bincount(cells[first], weights=x[first], minlength=count) + x[first].mean()) / records
    return float(((mean[cells[second]] - x[second]) ** 2).mean())


def both_files_loss(
    mechanism: Mechanism,
    truth: Floats,
    release: Floats,
    columns: Columns,
    *,
    cost: Floats | None,
    log: bool = False,
    rows: NDArray[np.int64],
) -> float:
    """The error of whoever holds the public file and the authorised party's, and knows the mechanism."""
    some = {name: values[rows] for name, values in columns.items()}
    side = Encoder.fit(some, party="holder of both files").matrix(some, rows=len(rows))
    x, shown, half = truth[rows], release[rows], len(rows) // 2
    if isinstance(mechanism, CategoryMechanism):
        codes = x.astype(np.int64)
        size = len(mechanism.values)
        belief = fit_category_belief(side[:half], codes[:half], size=size, quick=True, cost=cost, log=log)
        return float(belief.losses(mechanism, View(release=shown[half:], side=side[half:]), codes[half:]).mean())
    belief = fit_number_belief(side[:half], x[:half], column=truth, quick=True).thinned(2_000)
    guess = belief.guess(mechanism, View(release=shown[half:], side=side[half:]))
    return float(((x[half:] - guess) ** 2).mean())

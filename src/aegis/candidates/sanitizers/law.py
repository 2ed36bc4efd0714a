"""The law of a private column and what the parties know, estimated from rows, with the set of laws the rows allow.

What a party knows is a cell; the rows of a cell hold values as a multinomial draw. Clopper–Pearson intervals for every
share P(value | cell) of every adversary, at once (Bonferroni), make a box of laws that holds the true one with the
stated confidence, whatever is done with it afterwards. Few rows make wide boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import beta

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.nearly_sure import NearlySure


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

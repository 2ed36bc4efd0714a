"""The values that no constraint tells apart, fitted as one.

Fifty masks of a column with a thousand values often agree on which values belong together. In a maximum-entropy joint
from a uniform start such values have the same distribution of the label: they share the cells of their atom by the
histogram where there is one, and equally where there is none. The fit of the atoms is the fit of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.reconstruction.constraint import Constraint

Real = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Atoms:
    """Constraints on atoms instead of values, and the way back."""

    constraints: tuple[Constraint, ...]
    sizes: Real
    codes: NDArray[np.int64]
    weights: Real

    def spread(self, counts: Real) -> Real:
        """Counts of atoms given to their values."""
        return self.weights[:, None] * counts[self.codes]


def atoms(constraints: Sequence[Constraint]) -> Atoms:
    """Merge the values that all constraints but the histogram put together."""
    values = len(constraints[0].codes)
    histograms = [c for c in constraints if not c.by_label and np.array_equal(c.codes, np.arange(values))]
    others = [c for c in constraints if not any(c is histogram for histogram in histograms)]
    if not others:
        codes = np.zeros(values, dtype=np.int64)
    else:
        _, codes = np.unique(np.stack([c.codes for c in others]), axis=1, return_inverse=True)
        codes = codes.reshape(-1)
    count = int(codes.max()) + 1
    first = np.zeros(count, dtype=np.int64)
    first[codes] = np.arange(values)
    merged = [replace(c, codes=c.codes[first]) for c in others]
    sizes = np.bincount(codes).astype(np.float64)
    within: Real = np.ones(values)
    for histogram in histograms:
        within = histogram.targets
        totals = np.bincount(codes, weights=within).astype(np.float64)
        merged.insert(0, replace(histogram, codes=np.arange(count), targets=totals))
    per_atom = np.bincount(codes, weights=within)[codes]
    # An atom without records has none to share; equal shares of nothing keep the shape.
    weights = np.where(per_atom > 0, within / np.where(per_atom > 0, per_atom, 1.0), 1.0 / sizes[codes])
    return Atoms(constraints=tuple(merged), sizes=sizes, codes=codes, weights=weights)

"""The order in which the values of a column may be cut: their own, or by what they say about the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.text_order import text_ranks
from aegis.measures.leave_one_out import PRIOR_RECORDS

Ints = NDArray[np.int64]


def own_ranks(domain: Domain) -> Ints | None:
    """The rank of each value by its own order (missing aside); None where values have none."""
    if domain.order is not None:
        return np.array(domain.order, dtype=np.int64)
    if domain.kind.is_ordered:
        return np.arange(len(domain.values))
    ranks = text_ranks(domain.values.tolist()) if domain.kind is Kind.TEXT else None
    return None if ranks is None else np.array(ranks, dtype=np.int64)


def cutting_order(domain: Domain, joint: Ints) -> Ints:
    """The rank of each code; ``joint`` counts value by label. Missing always comes last.

    Texts have an order of their own where somebody declared it or they are months, sizes, intervals and the like
    (`text_ranks`). Values without one are ranked by their share of the label, shrunk to the overall share by
    `PRIOR_RECORDS` records; with more than two labels by the principal axis of the shares.

    >>> cutting_order(Domain.of(Kind.TEXT, ["a", "b", "c"]), np.array([[5, 5], [9, 1], [1, 9]])).tolist()
    [1, 0, 2]
    """
    values = len(domain.values)
    rank = np.arange(domain.size)
    if values < 2:
        return rank
    own = own_ranks(domain)
    if own is not None:
        rank[:values] = own
        return rank
    counts = joint[:values].astype(np.float64)
    overall = joint.sum(axis=0) / max(int(joint.sum()), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    shares = (counts + PRIOR_RECORDS * overall) / (sizes + PRIOR_RECORDS) - overall
    axis = np.linalg.svd(np.sqrt(sizes) * shares, full_matrices=False)[2][0]
    position = shares @ axis
    # The sign of an axis is arbitrary: let the last label grow along it.
    if axis[-1] < 0:
        position = -position
    rank[np.argsort(position, kind="stable")] = np.arange(values)
    return rank

"""Masks made ready for rows: whatever they read off a table is read once and written into them.

A fitted mask does the same to rows that come later. Its edges, limits and categories are those of the table it was
fitted on; docs/how-to/release.md says what happens to values that table did not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.generator import ColumnCounts
from aegis.masking.mask import MappedMask, Mask
from aegis.masking.transition import Chain


def links_of(mask: Mask) -> tuple[Mask, ...]:
    """The masks of a chain, or the one mask."""
    return mask.links if isinstance(mask, Chain) else (mask,)


def is_fitted(mask: Mask, kind: Kind) -> bool:
    """Whether a mask reads nothing more off a column of this kind.

    >>> from aegis.masking.masks.bucketize import Bucketize
    >>> is_fitted(Bucketize(width=10), Kind.INTEGER), is_fitted(Bucketize(quantiles=4), Kind.INTEGER)
    (True, False)
    """
    for link in links_of(mask):
        # A mask that reads nothing off a column stays as it is when shown one.
        any_column = Domain.of(kind, np.array(["" if kind is Kind.TEXT else 0], dtype=object).astype(kind.dtype))
        if link.resolve(any_column, np.ones(1)) != link:
            return False
        kind = link.kind_after(kind)
    return True


def is_joined(mask: Mask) -> bool:
    """Whether a mask is computed on the distinct values and joined to the rows."""
    return any(isinstance(link, MappedMask) for link in links_of(mask))


def fitted(masks: Mapping[str, Mask], histograms: Mapping[str, ColumnCounts]) -> dict[str, Mask]:
    """The masks, with those of counted columns fitted to the counts."""
    ready = dict(masks)
    for column in _in(masks, histograms):
        counted = histograms[column]
        if not is_fitted(masks[column], counted.domain.kind):
            ready[column] = masks[column].resolve(counted.domain, np.asarray(counted.counts))
    return ready


def _in(masks: Mapping[str, Mask], histograms: Mapping[str, ColumnCounts]) -> Iterable[str]:
    return (column for column in masks if column in histograms)

"""From a mask and a domain to what happens to counts: a Partition if it is deterministic, a Channel if it draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.masking.chain import Chain
from aegis.masking.mask import Mask, PermutingMask, RandomMask, ValueMask, as_objects
from aegis.masking.masks.identity import Identity
from aegis.masking.partition import Channel, Partition

Transition = Partition | Channel


def transition(mask: Mask, domain: Domain, counts: NDArray[Any]) -> Transition:
    """What ``mask`` does to a column with this domain, whose values occur ``counts`` times (one per code)."""
    if isinstance(mask, Chain):
        first: Transition = Partition.identity(domain)
        for link in mask.links:
            later = transition(link, first.target, first.push(counts))
            first = compose(first, later)
        return first
    if isinstance(mask, Identity):
        return Partition.identity(domain)
    resolved = mask.resolve(domain, counts)
    if isinstance(resolved, RandomMask | PermutingMask):
        return resolved.channel(domain, counts)
    assert isinstance(resolved, ValueMask)
    if resolved.injective:
        return Partition(codes=np.arange(domain.size), target=_nameless(domain))
    covered: Values | None = None
    if domain.missing and resolved.covers_missing:
        covered = np.asarray(resolved.on_values(as_objects([None])))
    return Partition.from_masked(
        masked=resolved.on_values(domain.values),
        kind=resolved.kind_after(domain.kind),
        missing_code=domain.missing,
        covers_missing=covered,
    )


def compose(first: Transition, later: Transition) -> Transition:
    """``first``, then ``later`` on its target."""
    if isinstance(first, Partition) and isinstance(later, Partition):
        return first.then(later)
    return Channel(matrix=first.matrix @ later.matrix, target=later.target)


def _nameless(domain: Domain) -> Domain:
    """As many values, under names that tell nothing: what a pseudonym looks like needs its key, and no score does."""
    digits = len(str(len(domain.values)))
    names = as_objects([f"#{number:0{digits}d}" for number in range(1, len(domain.values) + 1)])
    return Domain(kind=Kind.TEXT, values=names, missing=domain.missing)

"""From a mask and a domain to what happens to counts: a Partition if it is deterministic, a Channel if it draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Values
from aegis.masking.chain import Chain
from aegis.masking.channel import Channel
from aegis.masking.mask import Mask, RandomMask, ValueMask, as_objects
from aegis.masking.partition import Partition

Transition = Partition | Channel


def transition(mask: Mask, domain: Domain, counts: NDArray[Any]) -> Transition:
    """What ``mask`` does to a column with this domain, whose values occur ``counts`` times (one per code)."""
    if isinstance(mask, Chain):
        first: Transition = Partition.identity(domain)
        for link in mask.links:
            later = transition(link, first.target, first.push(counts))
            first = compose(first, later)
        return first
    resolved = mask.resolve(domain, counts)
    if isinstance(resolved, RandomMask):
        return resolved.channel(domain, counts)
    assert isinstance(resolved, ValueMask)
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

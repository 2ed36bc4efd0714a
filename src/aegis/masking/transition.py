"""From a mask, or several in order, and a domain to what happens to counts.

That is a Partition where the mask is deterministic, a Channel where it draws.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import Mask, PermutingMask, RandomMask, ValueMask, as_objects
from aegis.masking.masks.identity import Identity
from aegis.masking.partition import Channel, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(Mask):
    """Masks applied one after the other; written as a list in configurations."""

    name: ClassVar[str] = "chain"
    links: tuple[Mask, ...]

    def __post_init__(self) -> None:
        if len(self.links) < 2 or any(isinstance(link, Chain) for link in self.links):
            raise MaskError("a chain of masks is a flat list of two or more")
        if any(link.injective for link in self.links[:-1]):
            raise MaskError("tokens and pseudonyms come last in a chain; nothing can be made of them")

    @property
    def steps(self) -> tuple[Mask, ...]:
        return self.links

    def describe(self) -> str:
        return ", then ".join(link.describe() for link in self.links)

    def kind_after(self, kind: Kind) -> Kind:
        for link in self.links:
            kind = link.kind_after(kind)
        return kind

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return self.links[-1].could_write(texts)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.links[-1].labels

    def without_values(self, written: Collection[str] | None = None) -> Chain:
        *first, last = self.links
        return Chain(links=(*(link.without_values() for link in first), last.without_values(written)))

    def gives(self, groups: Mapping[str, Collection[str]]) -> bool:
        return set(groups) <= set(self.labels)  # the values are those of the first link, the labels those of the last

    def check(self, kind: Kind, *, column: str) -> None:
        for link in self.links:
            link.check(kind, column=column)
            kind = link.kind_after(kind)

    def check_domain(self, domain: Domain, *, column: str) -> None:
        self.check(domain.kind, column=column)
        self.links[0].check_domain(domain, column=column)

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Chain:
        resolved: list[Mask] = []
        for link in self.links:
            fixed = link.resolve(domain, counts)
            resolved.append(fixed)
            step = transition(fixed, domain, counts)
            domain, counts = step.target, step.push(counts)
        return Chain(links=tuple(resolved))

    def spec(self) -> Any:
        return [link.spec() for link in self.links]

    def fingerprint(self) -> Any:
        return [link.fingerprint() for link in self.links]


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

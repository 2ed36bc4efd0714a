"""What a mask, or several in order, does to a domain and to what was counted of it.

That is a Partition where the mask is deterministic: it says which values become one. Where the mask draws it is a
Channel: it says with what probability.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Every code of a domain goes to one code of ``target``; every code of ``target`` is used."""

    codes: NDArray[np.int64]
    target: Domain

    @classmethod
    def identity(cls, domain: Domain) -> Partition:
        return cls(codes=np.arange(domain.size), target=domain)

    @classmethod
    def from_masked(cls, *, masked: Values, kind: Kind, missing_code: bool, covers_missing: Values | None) -> Partition:
        """From the masked value of each domain value.

        ``missing_code`` says that the domain has a code for missing; ``covers_missing`` holds what that becomes, or
        is None where missing stays missing. A None among ``masked`` means missing too.
        """
        if missing_code and covers_missing is not None:
            masked = np.concatenate([masked, covers_missing])
        present = np.array([value is not None for value in masked], dtype=bool) if masked.dtype == object else None
        present_values = masked if present is None else masked[present]
        values, inverse = _distinct(np.asarray(present_values, dtype=kind.dtype))
        codes = np.full(len(masked), len(values), dtype=np.int64)
        codes[slice(None) if present is None else present] = inverse
        if missing_code and covers_missing is None:
            codes = np.append(codes, len(values))
        return cls(codes=codes, target=Domain(kind=kind, values=values, missing=bool((codes == len(values)).any())))

    @property
    def deterministic(self) -> bool:
        return True

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The same as a channel: 1 where a value goes to a target."""
        one_hot = np.zeros((len(self.codes), self.target.size))
        one_hot[np.arange(len(self.codes)), self.codes] = 1.0
        return one_hot

    def push(self, counts: NDArray[Any], *, axis: int = 0) -> NDArray[Any]:
        """Merge counts along ``axis``.

        >>> young_old = Partition(codes=np.array([0, 0, 1]), target=Domain.of(Kind.TEXT, ["old", "young"]))
        >>> young_old.push(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
        [[4, 6], [5, 6]]
        """
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(self.target.size))
        return np.add.reduceat(np.take(counts, order, axis=axis), starts, axis=axis)

    def then(self, later: Partition) -> Partition:
        """This partition followed by one of its target."""
        used, codes = np.unique(later.codes[self.codes], return_inverse=True)
        assert len(used) == later.target.size
        return Partition(codes=codes, target=later.target)

    def refines(self, other: Partition) -> bool:
        """Whether values merged here are always merged by ``other`` too."""
        first = np.zeros(self.target.size, dtype=np.int64)
        first[self.codes] = other.codes
        return bool((first[self.codes] == other.codes).all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """``matrix[a, b]`` is P(masked = b | value = a); rows sum to one."""

    matrix: NDArray[np.float64]
    target: Domain

    def __post_init__(self) -> None:
        if self.matrix.shape[1] != self.target.size or (self.matrix < 0).any():
            raise ValueError("a channel holds one non-negative probability per masked value")
        if not np.allclose(self.matrix.sum(axis=1), 1.0, atol=1e-9):
            raise ValueError("the probabilities of a channel sum to one for each value")

    @property
    def deterministic(self) -> bool:
        return False

    def push(self, counts: NDArray[Any], *, axis: int = 0) -> NDArray[np.float64]:
        """The expected counts of the masked values along ``axis``."""
        moved = np.moveaxis(np.asarray(counts, dtype=np.float64), axis, -1) @ self.matrix
        return np.moveaxis(moved, -1, axis)

    def drawn(self, codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
        """For each code a masked one, drawn with the probabilities of its row."""
        chance = rng.random(len(codes))
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(self.matrix) + 1))
        outcome = np.empty(len(codes), dtype=np.int64)
        for code in np.flatnonzero(np.diff(ends)):
            rows = order[ends[code] : ends[code + 1]]
            ladder = np.cumsum(self.matrix[code])
            outcome[rows] = np.searchsorted(ladder, chance[rows] * ladder[-1], side="right")
        return np.minimum(outcome, self.target.size - 1)


Transition = Partition | Channel


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


def _distinct(values: Values) -> tuple[Values, NDArray[np.int64]]:
    """Sorted distinct values and the place of each; texts by a dictionary, many of them being the same few."""
    if values.dtype != object:
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, inverse.astype(np.int64)
    listed = values.tolist()
    ordered = sorted(set(listed))
    place = {value: i for i, value in enumerate(ordered)}
    distinct_values = np.empty(len(ordered), dtype=object)
    distinct_values[:] = ordered
    return distinct_values, np.fromiter(map(place.__getitem__, listed), dtype=np.int64, count=len(listed))

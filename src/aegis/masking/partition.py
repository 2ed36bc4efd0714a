"""What a mask does to a domain: a Partition says which values become one, a Channel with what probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values


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
    return distinct_values, np.fromiter((place[value] for value in listed), dtype=np.int64, count=len(listed))

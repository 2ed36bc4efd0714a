"""The distinct tuples of several columns with how often each occurs, alone and with other columns.

This is what privacy models and the search look at: every generalisation of the columns is a merge of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.masking.partition import Partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassTable:
    """Equivalence classes of the columns ``columns``.

    ``codes[i]`` is the tuple of class i as codes of ``domains``; ``sizes[i]`` how many records are in it.
    ``contents[c]`` counts, for a further column c (a sensitive attribute or the label), its values in each class:
    a dense matrix classes × codes of ``content_domains[c]``.
    """

    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    codes: NDArray[np.int64]
    sizes: NDArray[np.int64]
    contents: Mapping[str, NDArray[np.int64]]
    content_domains: Mapping[str, Domain]

    def __repr__(self) -> str:
        return f"ClassTable({', '.join(self.columns)}: {len(self.sizes)} classes, {self.records} records)"

    @property
    def records(self) -> int:
        return int(self.sizes.sum())

    def merged(self, partitions: Mapping[str, Partition]) -> ClassTable:
        """The classes after masking some of the columns."""
        codes = self.codes.copy()
        domains = list(self.domains)
        for position, column in enumerate(self.columns):
            if column in partitions:
                codes[:, position] = partitions[column].codes[codes[:, position]]
                domains[position] = partitions[column].target
        return self._grouped(codes, domains)

    def _grouped(self, codes: NDArray[np.int64], domains: Sequence[Domain]) -> ClassTable:
        first, inverse = group_rows(codes, [domain.size for domain in domains])
        classes = len(first)
        order = np.argsort(inverse, kind="stable")
        starts = np.searchsorted(inverse[order], np.arange(classes))

        def summed(counts: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.add.reduceat(counts[order], starts, axis=0)

        return ClassTable(
            columns=self.columns,
            domains=tuple(domains),
            codes=codes[first],
            sizes=summed(self.sizes),
            contents={name: summed(counts) for name, counts in self.contents.items()},
            content_domains=self.content_domains,
        )


def group_rows(codes: NDArray[Any], sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The position of the first row of each distinct tuple, and the group of every row."""
    key = np.zeros(len(codes), dtype=np.int64)
    room = 1
    for position, size in enumerate(sizes):
        if room > 2**62 // max(size, 1):  # the key would overflow: compress what there is so far
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key = key * size + codes[:, position]
        room *= max(size, 1)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse

"""What a release has to hide at least beside what is out: quickly counted, before anything is judged.

A part of a known class that is too small, and not the whole class, fails whatever else is hidden: its records have to
be starred or held back, and count against the policy's limit. Finer masks only make parts smaller, so what a release
has to hide every finer one has to hide too. A search asks this of thousands of masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import Codes, group_keys, needs_sorting, summed
from aegis.masking.partition import Partition
from aegis.privacy.policy import Policy
from aegis.privacy.together import COMPANION


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KnownParts:
    """The records of a table that are out, by the known class they are in.

    Records that never left may wait and are not among them. Those that are gone are left out of account, which makes
    what has to be hidden less. ``least`` is how many records a part needs.
    """

    least: int
    columns: Mapping[str, tuple[Codes, int]]
    known: Codes
    sizes: Codes
    whole: Codes

    @classmethod
    def of(cls, table: ClassTable, policy: Policy, *, apart: bool = False) -> KnownParts | None:
        """Of a table whose last column is the known class.

        None where sizes say nothing: without k, where recipients hold different things (``apart``), or people are
        counted.
        """
        least = max((int(model.threshold) for model in policy.models if model.name == "k-anonymity"), default=1)
        if least == 1 or table.people is not None or apart:
            return None
        marked = table.domains[-1].values.astype(np.int64) % COMPANION
        out = np.flatnonzero(marked[table.codes[:, -1]] > 0)
        _, known = np.unique(marked[table.codes[out, -1]], return_inverse=True)
        sizes = table.sizes[out]
        return cls(
            least=least,
            columns={
                column: (np.ascontiguousarray(table.codes[out, place]), domain.size)
                for place, (column, domain) in enumerate(zip(table.columns[:-1], table.domains[:-1], strict=True))
            },
            known=known.astype(np.int64),
            sizes=sizes,
            whole=summed(sizes, known, int(known.max(initial=-1)) + 1),
        )

    def must_be_hidden(self, partitions: Mapping[str, Partition]) -> int:
        """How many records a release by these masks has to hide at least."""
        keys, width = self.known.copy(), 1
        for column, (codes, size) in self.columns.items():
            change = partitions.get(column)
            groups = size if change is None else change.target.size
            if groups < 2:
                continue
            if width * len(self.whole) > 2**62 // groups:
                return 0  # no number holds a tuple: judging finds it
            keys *= groups
            keys += codes if change is None else change.codes[codes]
            width *= groups
        room = width * len(self.whole)
        if needs_sorting(len(keys), room):
            keys, part_of = group_keys(keys, room)
            sizes = summed(self.sizes, part_of, len(keys))
        else:
            sizes = summed(self.sizes, keys, room)
            keys = np.flatnonzero(sizes < self.least)
            sizes = sizes[keys]
        return int(sizes[(sizes < self.least) & (sizes < self.whole[keys // width])].sum())

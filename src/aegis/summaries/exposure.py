"""What the published partitions of each attribute show together.

Every mask that is published divides the values of its attribute into groups, and tells how many records, with which
label, are in each. Whoever lays several of them over each other sees the cells in which they all agree: their common
refinement. If one of those cells is small, its records stand out although every published group is large.

Where the values themselves were counted, the size of a cell is known. Elsewhere it is known if the published sums
determine it, as a difference of two of them does; cells that they leave open are counted as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.errors import SummaryError
from aegis.masking.partition import Partition
from aegis.summaries.summary import AttributeSummary, Summary

_MOST_CELLS = 2_000
"""Beyond so many cells differences of published sums are not looked for: cells count as open."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeExposure:
    """The cells of one attribute's common refinement.

    ``partitions`` is how many different ones are published. Cells are those that hold somebody; ``open_cells`` are
    those whose size the published counts do not determine. Figures with the label divide each cell by it. Smallest
    cells are None where no size is known.
    """

    name: str
    partitions: int
    cells: int
    open_cells: int
    smallest_cell: int | None
    cells_below_k: int
    records_below_k: int
    smallest_cell_with_label: int | None
    records_below_k_with_label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What a summary shows of every attribute. ``noisy`` says that its counts carry noise, and so do the sizes."""

    k: int
    rows: int
    noisy: bool
    attributes: tuple[AttributeExposure, ...]

    @property
    def smallest_cell(self) -> int | None:
        return min((a.smallest_cell for a in self.attributes if a.smallest_cell is not None), default=None)

    @property
    def smallest_cell_with_label(self) -> int | None:
        known = (a.smallest_cell_with_label for a in self.attributes if a.smallest_cell_with_label is not None)
        return min(known, default=None)

    @property
    def records_below_k(self) -> int:
        """In the attribute where they are most."""
        return max((a.records_below_k for a in self.attributes), default=0)

    @property
    def records_below_k_with_label(self) -> int:
        return max((a.records_below_k_with_label for a in self.attributes), default=0)


def exposure(summary: Summary, *, k: int = 5) -> Exposure:
    """Lay all that a summary publishes of each attribute over each other."""
    if k < 1:
        raise SummaryError("k must be at least 1")
    return Exposure(
        k=k,
        rows=int(summary.rows),
        noisy=summary.protection is not None and summary.protection.noisy,
        attributes=tuple(_exposed(attribute, k) for attribute in summary.attributes.values()),
    )


def _exposed(attribute: AttributeSummary, k: int) -> AttributeExposure:
    partitions, counts = _published(attribute)
    cells, codes = _refinement(partitions)
    if attribute.joint is not None:
        sizes = np.zeros((cells, attribute.joint.counts.shape[1]))
        np.add.at(sizes, codes, attribute.joint.counts)
        known = np.ones(cells, dtype=bool)
    else:
        sizes, known = _determined(partitions, counts, codes, cells)
    occupied = known & (np.nan_to_num(sizes).sum(axis=1) > 0.5)
    alone = np.round(sizes[occupied].sum(axis=1)).astype(np.int64)
    with_label = np.round(sizes[occupied]).astype(np.int64)
    with_label = with_label[with_label > 0]
    return AttributeExposure(
        name=attribute.name,
        partitions=len({tuple(partition.tolist()) for partition in partitions}),
        cells=int(occupied.sum() + (~known).sum()),
        open_cells=int((~known).sum()),
        smallest_cell=int(alone.min()) if len(alone) else None,
        cells_below_k=int((alone < k).sum()),
        records_below_k=int(alone[alone < k].sum()),
        smallest_cell_with_label=int(with_label.min()) if len(with_label) else None,
        records_below_k_with_label=int(with_label[with_label < k].sum()),
    )


def _published(attribute: AttributeSummary) -> tuple[list[NDArray[np.int64]], list[Floats]]:
    """The partitions of the domain that are told, with the counts of their groups by label (without, in one column)."""
    partitions: list[NDArray[np.int64]] = []
    counts: list[Floats] = []
    for each in attribute.masked.values():
        if isinstance(each.change, Partition) and each.label_mask is None:
            partitions.append(each.change.codes)
            counts.append(np.asarray(each.joint.counts, dtype=np.float64))
    if attribute.joint is not None:
        partitions.append(np.arange(attribute.joint.attribute.size))
        counts.append(np.asarray(attribute.joint.counts, dtype=np.float64))
    elif not partitions:
        # Opaque masks: what they merge is not told, so nothing can be laid over anything else.
        smallest = min(attribute.masked.values(), key=lambda each: -each.joint.attribute.size)
        partitions.append(np.arange(smallest.joint.attribute.size))
        counts.append(np.asarray(smallest.joint.counts, dtype=np.float64))
    return partitions, counts


def _refinement(partitions: list[NDArray[np.int64]]) -> tuple[int, NDArray[np.int64]]:
    """How many cells the partitions have in common, and the cell of each value."""
    _, codes = np.unique(np.column_stack(partitions), axis=0, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    return int(codes.max(initial=-1)) + 1, codes


def _determined(
    partitions: list[NDArray[np.int64]], counts: list[Floats], codes: NDArray[np.int64], cells: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """The sizes of the cells that the published sums determine, and which those are."""
    labels = counts[0].shape[1]
    if cells > _MOST_CELLS:
        return np.full((cells, labels), np.nan), np.zeros(cells, dtype=bool)
    rows, sums = [], []
    for partition, told in zip(partitions, counts, strict=True):
        inside = np.zeros((len(told), cells))
        inside[partition, codes] = 1.0
        rows.append(inside)
        sums.append(told)
    system = np.vstack(rows)
    inverse = np.linalg.pinv(system)
    # A cell is determined exactly if its unit vector lies in the row space of the sums.
    known = np.abs(np.diag(inverse @ system) - 1.0) < 1e-6
    return np.asarray(inverse @ np.vstack(sums), dtype=np.float64), known

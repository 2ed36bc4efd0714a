"""What the published partitions of each attribute show together.

Every mask that is published divides the values of its attribute into groups, and tells how many records, with which
label, are in each. Whoever lays several of them over each other sees the cells in which they all agree: their common
refinement. If one of those cells is small, its records stand out although every published group is large.

Where the values themselves were counted, the size of a cell is known. Elsewhere it is known if the published sums
determine it, as a difference of two of them does; cells that they leave open are counted as such.

Masks that are named by opaque ids do not tell which values they merge, so they cannot be laid over each other here.
Whoever guesses the masks can, so the figures of each mask alone are then lower bounds on what is exposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.counts.summary import AttributeSummary, Summary
from aegis.errors import SummaryError
from aegis.masking.transition import Partition
from aegis.result import Result, plain

_MOST_CELLS = 2_000
"""Beyond so many cells differences of published sums are not looked for: cells count as open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskExposure:
    """The cells of one mask alone, where it cannot be laid over others; ``label_mask`` is the one on the label."""

    id: str
    label_mask: str | None
    cells: int
    smallest_cell: int | None
    cells_below_k: int
    records_below_k: int
    smallest_cell_with_label: int | None
    records_below_k_with_label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeExposure:
    """The cells of one attribute's common refinement.

    ``partitions`` is how many different ones are published. Cells are those that hold somebody; ``open_cells`` are
    those whose size the published counts do not determine. Figures with the label divide each cell by it. Smallest
    cells are None where no size is known.

    Where the masks cannot be laid over each other, ``masks`` has each of them, and every figure of the attribute is
    that of the mask that shows most: the smallest cell may really be smaller, and the records below k more.
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
    masks: tuple[MaskExposure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure(Result):
    """What a summary shows of every attribute. ``noisy`` says that its counts carry noise, and so do the sizes.

    ``caveat`` is None where everything was laid over each other, and else says why the figures are lower bounds.
    """

    k: int
    rows: int
    noisy: bool
    attributes: tuple[AttributeExposure, ...]
    opaque: bool = False
    also_shown: ClassVar[tuple[str, ...]] = (
        "caveat",
        "smallest_cell",
        "records_below_k",
        "smallest_cell_with_label",
        "records_below_k_with_label",
    )

    @property
    def headline(self) -> str:
        return f"{self.records_below_k:,} of {self.rows:,} records are in cells of fewer than {self.k}"

    def table_rows(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in plain(attribute).items() if name != "masks"}
            for attribute in self.attributes
        ]

    @property
    def caveat(self) -> str | None:
        alone = [attribute.name for attribute in self.attributes if attribute.masks]
        if not alone:
            return None
        which = "opaque masks" if self.opaque else f"the masks of {', '.join(alone)}"
        return (
            f"{which} cannot be laid over each other here: the figures are those of each mask alone, and so only "
            "lower bounds on what is exposed; together the masks may show smaller cells and more records below k"
        )

    @property
    def smallest_cell(self) -> int | None:
        return min((a.smallest_cell for a in self.attributes if a.smallest_cell is not None), default=None)

    @property
    def smallest_cell_with_label(self) -> int | None:
        cells = (a.smallest_cell_with_label for a in self.attributes if a.smallest_cell_with_label is not None)
        return min(cells, default=None)

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
        opaque=summary.opaque,
    )


def _exposed(attribute: AttributeSummary, k: int) -> AttributeExposure:
    partitions, counts = _published(attribute)
    if not partitions:
        return _mask_by_mask(attribute, k)
    cells, codes = _refinement(partitions)
    if attribute.joint is not None:
        sizes = np.zeros((cells, attribute.joint.counts.shape[1]))
        np.add.at(sizes, codes, attribute.joint.counts)
        determined = np.ones(cells, dtype=bool)
    else:
        sizes, determined = _determined(partitions, counts, codes, cells)
    occupied = determined & (np.nan_to_num(sizes).sum(axis=1) > 0.5)
    return AttributeExposure(
        name=attribute.name,
        partitions=len({tuple(partition.tolist()) for partition in partitions}),
        cells=int(occupied.sum() + (~determined).sum()),
        open_cells=int((~determined).sum()),
        **_small_cells(sizes[occupied], k),
    )


def _mask_by_mask(attribute: AttributeSummary, k: int) -> AttributeExposure:
    """Nothing is known of what the masks merge: each is looked at alone, and the worst speaks for all."""
    masks = []
    for masked in attribute.masked.values():
        counts = np.asarray(masked.joint.counts, dtype=np.float64)
        occupied = counts[counts.sum(axis=1) > 0.5]
        masks.append(
            MaskExposure(id=masked.id, label_mask=masked.label_mask, cells=len(occupied), **_small_cells(occupied, k))
        )

    def least(figure: str) -> int | None:
        return min((size for mask in masks if (size := getattr(mask, figure)) is not None), default=None)

    def most(figure: str) -> int:
        return max((getattr(mask, figure) for mask in masks), default=0)

    return AttributeExposure(
        name=attribute.name,
        partitions=len(masks),
        cells=most("cells"),
        open_cells=0,
        smallest_cell=least("smallest_cell"),
        cells_below_k=most("cells_below_k"),
        records_below_k=most("records_below_k"),
        smallest_cell_with_label=least("smallest_cell_with_label"),
        records_below_k_with_label=most("records_below_k_with_label"),
        masks=tuple(masks),
    )


def _small_cells(cells: Floats, k: int) -> dict[str, Any]:
    """The figures of the cells that hold somebody, given by label: the smallest, and those below k."""
    alone = np.round(cells.sum(axis=1)).astype(np.int64)
    with_label = np.round(cells).astype(np.int64)
    with_label = with_label[with_label > 0]
    return {
        "smallest_cell": int(alone.min()) if len(alone) else None,
        "cells_below_k": int((alone < k).sum()),
        "records_below_k": int(alone[alone < k].sum()),
        "smallest_cell_with_label": int(with_label.min()) if len(with_label) else None,
        "records_below_k_with_label": int(with_label[with_label < k].sum()),
    }


def _published(attribute: AttributeSummary) -> tuple[list[NDArray[np.int64]], list[Floats]]:
    """The partitions of the domain that are told, with the counts of their groups by label.

    None where the masks are opaque, draw at random, or always come with a mask on the label.
    """
    partitions: list[NDArray[np.int64]] = []
    counts: list[Floats] = []
    for masked in attribute.masked.values():
        if isinstance(masked.change, Partition) and masked.label_mask is None:
            partitions.append(masked.change.codes)
            counts.append(np.asarray(masked.joint.counts, dtype=np.float64))
    if attribute.joint is not None:
        partitions.append(np.arange(attribute.joint.attribute.size))
        counts.append(np.asarray(attribute.joint.counts, dtype=np.float64))
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
    for partition, marginal in zip(partitions, counts, strict=True):
        inside = np.zeros((len(marginal), cells))
        inside[partition, codes] = 1.0
        rows.append(inside)
        sums.append(marginal)
    system = np.vstack(rows)
    inverse = np.linalg.pinv(system)
    # A cell is determined exactly if its unit vector lies in the row space of the sums.
    determined = np.abs(np.diag(inverse @ system) - 1.0) < 1e-6
    return np.asarray(inverse @ np.vstack(sums), dtype=np.float64), determined

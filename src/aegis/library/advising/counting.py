"""Rows to counts: the one pass over a table for a ranking, and what masks leave of it."""

from __future__ import annotations

from collections.abc import Iterable

from aegis.counts.collect import Limits, count_joints
from aegis.counts.joint import TableCounts, check_classes, check_filled
from aegis.counts.summary import Summary, masked_counts
from aegis.data.dataset import Dataset
from aegis.errors import LabelError
from aegis.masking.configuration import Configuration
from aegis.progress import Progress


def count(
    dataset: Dataset,
    *,
    label: str | None,
    label_bins: int | None = None,
    continuous_bins: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> TableCounts:
    """Count every attribute with the label; raises where the label or a column holds nothing to rank by."""
    if label is None:
        raise LabelError(
            f"no label is given for {dataset.name}; name the column to be predicted with --label or in its roles file"
        )
    counted = count_joints(
        dataset, label=label, label_bins=label_bins, continuous_bins=continuous_bins, limits=limits, progress=progress
    )
    check_classes(label, counted.label_histogram.counts)
    check_filled({name: joint.attribute for name, joint in counted.joints.items()})
    return counted


def masked(counted: TableCounts, configurations: Iterable[Configuration], *, name: str) -> Summary:
    """What was counted, as each of some configurations would publish it."""
    return masked_counts(
        name=name,
        label=counted.label,
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=configurations,
        skipped=counted.skipped,
    )

"""What a release keeps of what the raw table says about its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis
import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.library.masked_data import masked_data
from aegis.masking.mask import Mask
from aegis.measures.leave_one_out import leave_one_out_information

MOST_ROWS = 250_000
"""Larger tables are compared on a sample of about so many rows: raw tuples are nearly as many as rows."""


def utility_kept(
    dataset: Dataset, masks: Mapping[str, Mask], roles: Roles, *, released: ClassTable
) -> dict[str, Any] | None:
    """What the quasi-identifiers say about the label, in bits of leave-one-out information: released and raw.

    Once summed over the columns, each by itself, and once of the whole tuple. The share kept is that of the columns:
    raw tuples are often too rare for anything to be learned from them, and masking then makes the tuple say more.
    None where there is no label, or it is masked, or no quasi-identifier is released.
    """
    label = roles.label
    quasi = roles.quasi_identifying
    if label is None or label not in released.contents or label in masks or not quasi:
        return None
    if released.records <= MOST_ROWS:
        after, raw = released, count_classes(dataset, quasi, contents=(label,))
    else:
        # Rare values say less in a sample than in all rows, so both are measured on the same one, before suppression.
        sample = replace(dataset, table=dataset.table.filter(ibis.random() < MOST_ROWS / released.records).cache())
        masked = masked_data(sample, {column: mask for column, mask in masks.items() if column in quasi}).dataset
        after, raw = (count_classes(each, quasi, contents=(label,)) for each in (masked, sample))
    columns, raw_columns = _column_bits(after, label), _column_bits(raw, label)
    return {
        "label": label,
        "measure": "leave-one-out-information",
        "unit": "bits",
        "columns": {"released": columns, "raw": raw_columns},
        "tuple": {"released": _tuple_bits(after, label), "raw": _tuple_bits(raw, label)},
        "kept_share": columns / raw_columns if raw_columns > 0 else None,
        "compared_on_rows": raw.records,
    }


def _tuple_bits(table: ClassTable, label: str) -> float:
    return float(leave_one_out_information(np.asarray(table.contents[label].dense())))


def _column_bits(table: ClassTable, label: str) -> float:
    """The sum over the columns; the suppressed records count as a value of their own."""
    content = table.contents[label]
    total = 0.0
    for position, domain in enumerate(table.domains):
        codes = table.codes[:, position][content.owners]  # the code of suppressed records, -1, is the last row
        joint = np.bincount(
            np.where(codes < 0, domain.size, codes) * content.domain.size + content.values,
            weights=content.counts,
            minlength=(domain.size + 1) * content.domain.size,
        )
        total += float(leave_one_out_information(joint.reshape(domain.size + 1, content.domain.size)))
    return total

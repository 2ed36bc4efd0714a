"""What a mask would do, shown on the published values of a column: never on rows, never on rare values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.catalog import records
from aegis.catalog.database.tables import Product, Summary
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_document, well_formed
from aegis.catalog.service.configurations import check_chain, known_hierarchies
from aegis.catalog.service.published import published_histogram, shown_values
from aegis.catalog.service.visible import of_current_summary, visible_product
from aegis.counts.disclosure_rule import shown_count
from aegis.counts.joint import Histogram
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Role
from aegis.errors import ConflictError, MaskError, RoleError
from aegis.masking.configuration import build_mask
from aegis.masking.mask import Mask
from aegis.masking.transition import Partition, transition

MOST_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What masks of a product are shown on: read once, however many are shown. ``entries`` None: without a summary."""

    product: Product
    entries: Sequence[Mapping[str, Any]] | None
    hierarchies: Mapping[str, Hierarchy]


def published(work: Work, *, product: str) -> Published:
    """What `preview_on` shows masks of this product on."""
    row = visible_product(work, product)
    entries = of_current_summary(work, row.id, Summary.histograms)
    return Published(product=row, entries=entries, hierarchies=known_hierarchies(work, row.id))


def preview(work: Work, *, product: str, column: str, mask: Any) -> records.Preview:
    """What a mask does to the published values of a column: never rows, never rare values. Nothing is written.

    ``mask`` is ``suppress``, ``{bucketize: {width: 10}}``, or a list of such.
    ``generalize`` takes a hierarchy that a configuration of the product already brought along.
    """
    return preview_on(published(work, product=product), column=column, mask=mask)


def preview_on(published: Published, *, column: str, mask: Any) -> records.Preview:
    """The same, of one mask among several."""
    role = next((declared["role"] for declared in published.product.columns if declared["name"] == column), None)
    if role is None:
        raise RoleError("the product has no such column; look at its schema")
    if role == Role.IDENTIFYING:
        raise RoleError("nothing is published of an identifying column; releases suppress it unless it is masked")
    check_chain(mask)
    checked_document(mask, what="the mask")
    histogram = _histogram(published.entries, column)
    built, change = _applied(mask, histogram, published.hierarchies, column)
    shown = shown_values(histogram.domain) + (["missing"] if histogram.domain.missing else [])
    counts = [shown_count(count) for count in histogram.counts.tolist()]
    masked: list[str | None] = [None] * len(shown)
    values_after: int | None = None
    if change is not None:
        after = shown_values(change.target) + (["missing"] if change.target.missing else [])
        masked = [after[code] for code in change.codes.tolist()]
        values_after = change.target.size
    rows = [
        records.PreviewRow(value=value, masked=became, records=count)
        for value, became, count in zip(shown, masked, counts, strict=True)
    ]
    random = change is None
    note = "the mask draws at random: what becomes of a value is not certain" if random else None
    if built.injective:
        note = "values stay different under names that only the provider's key or draw decides"
    return records.Preview(
        column=column,
        described=built.describe(),
        values_before=histogram.domain.size,
        values_after=values_after,
        rows=tuple(rows[:MOST_ROWS]),
        random=random,
        note=note,
    )


def _histogram(entries: Sequence[Mapping[str, Any]] | None, column: str) -> Histogram:
    if entries is None:
        raise ConflictError("the product has no summary yet, so no values are published; push one first")
    entry = next((entry for entry in entries if entry["column"] == column), None)
    histogram = None if entry is None else published_histogram(entry)
    if histogram is None or histogram.domain.size == 0:
        raise ConflictError("the summary publishes no values of this column")
    return histogram


def _applied(
    spec: Any, histogram: Histogram, hierarchies: Mapping[str, Hierarchy], column: str
) -> tuple[Mask, Partition | None]:
    """The mask, and what becomes of each value; None where that is drawn at random, and nothing is worked out then."""
    with well_formed(MaskError, "the mask cannot be applied to this column; check its parameters"):
        built = build_mask(spec, hierarchy=lambda wanted: hierarchies.get(wanted or column))
        built.check(histogram.domain.kind, column=column)
        if built.is_random:
            return built, None
        change = transition(built, histogram.domain, np.asarray(histogram.counts))
    return built, change if isinstance(change, Partition) else None

"""The advisor as a background job: a summary in, a ranking out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from aegis.catalog.database.tables import Product
from aegis.catalog.database.tables import Summary as SummaryRow
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.jobs import Claimed
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.service.summaries import opened_summary
from aegis.counts.summary import ConfigurationSummary, Summary
from aegis.data.schema import Role
from aegis.errors import ConflictError
from aegis.library.advise import advise
from aegis.progress import Progress


def run_advice(catalog: Catalog, claimed: Claimed, progress: Progress) -> dict[str, Any]:
    """Rank the summary that the job names; the result is what is stored with the job."""
    with catalog.read(SYSTEM) as work:
        row = work.session.get(SummaryRow, claimed.subject_id)
        product = work.session.get(Product, claimed.product_id)
        if row is None or product is None:
            raise ConflictError("the summary is not there any more; push it again")
        roles = {column["name"]: column["role"] for column in product.columns}
    progress(5, 100, "opening the summary")
    with opened_summary(catalog.store, row.digest, catalog.settings) as summary:
        columns = claimed.parameters.get("columns")
        if columns is not None:
            summary = of_columns(summary, columns)
        progress(30, 100, f"ranking {len(summary.configurations)} configurations")
        ranking = advise(summary, measure=claimed.parameters["measure"], seed=claimed.parameters["seed"])
        progress(90, 100, "judging what still identifies")
        identifying = [
            name for name in summary.attributes if roles.get(name) in (Role.QUASI_IDENTIFYING, Role.IDENTIFYING)
        ]
        risk = [_risk(summary, configuration, identifying) for configuration in summary.configurations]
    result = {
        "summary_id": row.id,
        "columns": columns,
        "higher_is_better": ranking.higher_is_better,
        "ranking": ranking.to_json(),
        "risk": risk,
        "bits_to_single_out": math.log2(max(summary.rows, 1.0)),
    }
    return json.loads(json.dumps(_finite(result)))


def of_columns(summary: Summary, columns: list[str]) -> Summary:
    """The summary of some columns: what a request asks for.

    What models reached was measured on all columns, so it is left out and the ranking is one of counts.
    """
    attributes = {name: attribute for name, attribute in summary.attributes.items() if name in columns}
    if not attributes:
        raise ConflictError("the request asks for nothing but the label, so there is nothing to rank")
    configurations = tuple(
        replace(configuration, masks={name: mask for name, mask in configuration.masks.items() if name in attributes})
        for configuration in summary.configurations
    )
    return replace(summary, attributes=attributes, configurations=configurations, scores={}, race=None)


def _risk(summary: Summary, configuration: ConfigurationSummary, identifying: list[str]) -> dict[str, Any]:
    """What the masked quasi-identifiers can tell about who a record is, as far as single columns show it.

    ``identifying_bits`` adds up the entropies of the masked columns: the entropy of all of them together, and so what
    they say about a person, is at most that. ``smallest_group`` is the smallest group of any one of them.
    """
    bits, smallest = 0.0, None
    for name in identifying:
        masked = summary.attributes[name].masked[configuration.masks[name], configuration.label_mask]
        counts = np.asarray(masked.joint.counts, dtype=np.float64).sum(axis=1)
        counts = counts[counts > 0.5]
        if len(counts) == 0:
            continue
        shares = counts / counts.sum()
        bits -= float((shares * np.log2(shares)).sum())
        least = round(float(counts.min()))
        smallest = least if smallest is None else min(smallest, least)
    return {
        "configuration": configuration.name,
        "id": configuration.id,
        "identifying_bits": max(bits, 0.0),
        "smallest_group": smallest,
    }


def _finite(value: Any) -> Any:
    """The same without numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    return value

"""Which keys each part of a summary has: docs/reference/summary.schema.json says the same, and a test holds them equal.

A key that this version does not know is refused rather than passed over: it may say how the counts were protected, or
what they are counts of, and a ranking made without it would be wrong in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.errors import SummaryError

KNOWN: Mapping[str, frozenset[str]] = {
    "summary": frozenset(
        {"aegis_summary", "name", "level", "opaque", "rows", "label", "attributes", "configurations", "skipped"}
        | {"protection", "rejected", "parts", "scores", "race", "named_from"}
    ),
    "label": frozenset({"name", "domain", "counts", "masks"}),
    "label mask": frozenset({"mask", "change"}),
    "attribute entry": frozenset({"name", "file"}),
    "configuration": frozenset({"name", "id", "label_mask", "masks"}),
    "merging": frozenset({"min_count", "merged"}),
    "noise": frozenset({"epsilon", "attributes", "epsilon_each", "scale", "mechanism", "domains"}),
    "scores": frozenset({"unit", "sample_rows", "original", "original_resampled", "utilities", "resampled"}),
    "domain": frozenset({"kind", "values", "missing", "discretised"}),
    "partition": frozenset({"to", "codes"}),
    "channel": frozenset({"to", "probabilities"}),
    "attribute": frozenset({"domain", "histogram", "joint", "masked"}),
    "histogram": frozenset({"codes", "labels", "counts"}),
    "masked joint": frozenset({"id", "label_mask", "mask", "change", "domain", "counts"}),
}


def check_keys(content: Mapping[str, Any], what: str) -> None:
    """Raise if a part of a summary has a key that this version does not know."""
    unknown = sorted(set(content) - KNOWN[what])
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise SummaryError(
            f"a part of the summary ({what}) has the key {unknown[0]!r}{more}, which this Aegis does not know; "
            "install a newer Aegis, or write the summary again"
        )

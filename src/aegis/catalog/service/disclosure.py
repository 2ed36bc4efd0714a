"""The rule for what may be shown, held to what the catalog keeps: API, pages and exports ask here.

The rule itself is `aegis.counts.disclosure_rule`. Whoever works on a product may open its archive and needs
configurations word by word to release by them; everybody else sees a configuration without the values that must not be
named. What is stored may be older than the rule, so it is applied whenever something is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aegis.catalog.database.tables import Summary
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.service.visible import of_current_summary
from aegis.counts.disclosure_rule import may_name, shown_count
from aegis.data.domain import show

Named = Mapping[str, frozenset[str]]
"""The values that may be named, by column."""

_EXPOSED = (
    "smallest_cell",
    "smallest_cell_with_label",
    "cells_below_k",
    "records_below_k",
    "records_below_k_with_label",
)


def shown_bars(bars: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The bars of a distribution with counts and shares by the rule."""
    counts = [shown_count(bar["records"]) for bar in bars]
    total = sum(counts) or 1
    return [{**bar, "records": n, "share": n / total} for bar, n in zip(bars, counts, strict=True)]


def shown_exposure(exposure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a summary exposes, with counts by the rule."""
    if exposure is None:
        return None
    attributes = [_shown_figures(attribute) for attribute in exposure.get("attributes", ())]
    return {**_shown_figures(exposure), "attributes": attributes}


def _shown_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: shown_count(value) if key in _EXPOSED and value is not None else value for key, value in figures.items()
    }


def named_values(work: Work, product_id: str) -> Named:
    """The values of each column that enough records have, by the product's current summary; none without one."""
    entries = of_current_summary(work, product_id, Summary.histograms)
    named = {}
    for entry in entries or ():
        published = entry["published"]
        if published is not None:
            counted = zip(published["values"], published["counts"], strict=False)
            named[entry["column"]] = frozenset(show(value) for value, n in counted if may_name(n))
    return named


def sees_everything(work: Work, product_id: str) -> bool:
    """Whether the actor works on the product, so that configurations are shown word by word."""
    return may(work.actor, Permission.SEE_JOBS, product_id)


def shown_content(content: Mapping[str, Any], named: Named) -> dict[str, Any]:
    """A configuration without the values that must not be named: in hierarchies and in lists of values."""
    shown = dict(content)
    if isinstance(content.get("masks"), Mapping):
        shown["masks"] = {column: _shown_mask(mask, named.get(column)) for column, mask in content["masks"].items()}
    if isinstance(content.get("hierarchies"), Mapping):
        every = frozenset().union(*named.values())
        shown["hierarchies"] = {
            name: shown_hierarchy(rows, named.get(name, every)) for name, rows in content["hierarchies"].items()
        }
    return shown


def shown_hierarchy(rows: Sequence[Sequence[Any]], named: frozenset[str]) -> list[list[Any]]:
    """The rows of a hierarchy whose values may be named; a label is seen where a value under it is."""
    return [list(row) for row in rows if row and str(row[0]) in named]


def _shown_mask(mask: Any, named: frozenset[str] | None) -> Any:
    allowed = frozenset() if named is None else named
    if isinstance(mask, list):
        return [_shown_mask(link, named) for link in mask]
    if not isinstance(mask, Mapping):
        return mask
    shown = dict(mask)
    regroup = shown.get("regroup")
    if isinstance(regroup, Mapping) and isinstance(regroup.get("groups"), Mapping):
        groups = {
            name: [value for value in values if show(value) in allowed] for name, values in regroup["groups"].items()
        }
        shown["regroup"] = {**regroup, "groups": groups}
    randomize = shown.get("randomize")
    if isinstance(randomize, Mapping) and isinstance(randomize.get("values"), list):
        allowed_values = [value for value in randomize["values"] if show(value) in allowed]
        shown["randomize"] = {**randomize, "values": allowed_values}
    generalize = shown.get("generalize")
    if isinstance(generalize, Mapping) and isinstance(generalize.get("hierarchy"), list):
        shown["generalize"] = {**generalize, "hierarchy": shown_hierarchy(generalize["hierarchy"], allowed)}
    return shown

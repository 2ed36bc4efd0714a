"""What may be shown: the rule, held to what the catalog keeps. API, pages and exports ask here.

The rule itself is `aegis.counts.disclosure_rule`. Whoever works on a product may open its archive and needs
configurations word by word to release by them; everybody else sees a configuration without the values that must not be
named. What is stored may be older than the rule, so it is applied whenever something is looked at.

Of a summary, distributions and the values that enough records have are worked out once, when it arrives, and kept
beside it; pages and previews never open the archive.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from aegis.catalog import records
from aegis.catalog.database.tables import Summary as SummaryRow
from aegis.catalog.service.catalog import Work, of_current_summary
from aegis.catalog.service.checks import printable
from aegis.catalog.service.permissions import Permission, may
from aegis.counts.disclosure_rule import may_name, shown_count
from aegis.counts.exposure import exposure
from aegis.counts.joint import Histogram, Joint
from aegis.counts.summary import AttributeSummary, MaskedJoint, RangedHistogram, Summary
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.masking.masks.identity import Identity
from aegis.masking.transition import Partition
from aegis.report.charts.bars import Bar
from aegis.report.distribution import distribution
from aegis.report.svg import tick_text

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
    entries = of_current_summary(work, product_id, SummaryRow.histograms)
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


# What of a summary may be shown

MOST_VALUES = 5_000
"""Of a column with more values than this the most common ones are kept."""


def facts_of(summary: Summary, *, smallest_class: int) -> dict[str, Any]:
    """Everything that the catalog remembers of a summary beside its bytes."""
    label = _label(summary)
    return {
        "level": summary.level.value,
        "rows": int(summary.rows),
        "label": summary.label,
        "configurations": [
            {"name": configuration.name, "id": configuration.id} for configuration in summary.configurations
        ],
        "exposure": _exposed(summary, smallest_class),
        "histograms": [_entry(attribute, summary.named_from) for attribute in (*summary.attributes.values(), label)],
    }


def histogram_views(entries: Sequence[Mapping[str, Any]]) -> list[records.Histogram]:
    """The stored distributions, ready to draw."""
    return [
        records.Histogram(
            column=entry["column"],
            kind=entry["kind"],
            values=entry["values"],
            bars=tuple(records.Bar(**bar) for bar in shown_bars(entry["bars"])),
            ticks=tuple(records.Tick(**tick) for tick in entry["ticks"]),
            notes=tuple(entry["notes"]),
        )
        for entry in entries
    ]


def published_histogram(entry: Mapping[str, Any]) -> Histogram | None:
    """The values of a column that may be named, with their counts; None where the summary does not publish them."""
    published = entry["published"]
    if published is None:
        return None
    kind = Kind(entry["kind"])
    if kind is Kind.TEXT:
        values = np.empty(len(published["values"]), dtype=object)
        values[:] = published["values"]
    else:
        values = np.asarray(published["values"], dtype=kind.dtype)
    domain = Domain(kind=kind, values=values, missing=published["missing"], discretised=published["discretised"])
    return Histogram(domain=domain, counts=np.asarray(published["counts"], dtype=np.int64))


def _entry(attribute: AttributeSummary, named_from: int) -> dict[str, Any]:
    kind = None if attribute.domain is None else attribute.domain.kind
    drawn = distribution(attribute, next(iter(attribute.masked.values())), named_from=named_from)
    total = 0.0 if attribute.histogram is None else float(np.sum(attribute.histogram.counts))
    return {
        "column": attribute.name,
        "kind": None if kind is None else kind.value,
        "values": None if attribute.domain is None else attribute.domain.size,
        "bars": [_bar(bar, kind, total) for bar in drawn.upper],
        "ticks": [{"at": tick.at, "text": _printed(tick.text)} for tick in drawn.ticks],
        "notes": [note for note in drawn.notes if attribute.histogram is not None],
        "published": _published(attribute, named_from),
    }


def _bar(bar: Bar, kind: Kind | None, total: float) -> dict[str, Any]:
    name = _printed(bar.name)
    if not name and kind is Kind.INTEGER and bar.right - bar.left == 1:
        name = tick_text(float(np.ceil(bar.left)))
    elif not name and kind is not None:
        name = f"{_position(bar.left, kind)} to {_position(bar.right, kind)}"
    return {
        "left": bar.left,
        "right": bar.right,
        "share": bar.share,
        "records": round(bar.share * total),
        "name": name,
        "merged": bar.merged,
    }


def _position(at: float, kind: Kind) -> str:
    """A place on the axis in words: edges of bins are round numbers, not values of records."""
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=int(np.floor(at)))).isoformat()
    return tick_text(at)


def _published(attribute: AttributeSummary, named_from: int) -> dict[str, Any] | None:
    domain, histogram = attribute.domain, attribute.histogram
    if domain is None or histogram is None or len(histogram.counts) != domain.size:
        return None
    counts = np.asarray(histogram.counts)[histogram.codes]
    size = len(domain.values)
    common = may_name(counts[:size], at_least=named_from)
    if domain.kind is Kind.TEXT:
        common &= np.array([printable(value) for value in domain.values], dtype=bool)
    common_values = np.flatnonzero(common)
    if len(common_values) > MOST_VALUES:
        common_values = np.sort(common_values[np.argsort(-counts[common_values], kind="stable")[:MOST_VALUES]])
    missing = bool(domain.missing and may_name(counts[-1], at_least=named_from))
    values = domain.values[common_values]
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        values = np.datetime_as_string(values)
    return {
        "values": values.tolist(),
        "counts": [int(n) for n in counts[common_values]] + ([int(counts[-1])] if missing else []),
        "missing": missing,
        "discretised": domain.discretised,
    }


def _label(summary: Summary) -> AttributeSummary:
    """The label as an attribute of its own, unmasked."""
    histogram = summary.label_histogram
    alone = Domain(kind=Kind.INTEGER, values=np.zeros(1, dtype=np.int64))
    joint = Joint(attribute=histogram.domain, label=alone, counts=histogram.counts.reshape(-1, 1))
    unmasked = MaskedJoint(
        id="label", mask=Identity(), change=Partition.identity(histogram.domain), label_mask=None, joint=joint
    )
    return AttributeSummary(
        name=summary.label,
        domain=histogram.domain,
        histogram=RangedHistogram.of_values(histogram),
        joint=None,
        masked={("label", None): unmasked},
    )


def _exposed(summary: Summary, smallest_class: int) -> dict[str, Any]:
    exposed = exposure(summary, k=smallest_class)
    return {
        "k": exposed.k,
        "noisy": exposed.noisy,
        "smallest_cell": exposed.smallest_cell,
        "smallest_cell_with_label": exposed.smallest_cell_with_label,
        "records_below_k": exposed.records_below_k,
        "records_below_k_with_label": exposed.records_below_k_with_label,
        "caveat": exposed.caveat,
        "protection": "none" if summary.protection is None else summary.protection.describe(),
        "attributes": [
            {key: value for key, value in asdict(attribute).items() if key != "masks"}
            for attribute in exposed.attributes
        ],
    }


def _printed(text: str) -> str:
    return text if printable(text) else "a value that cannot be shown"


def shown_values(domain: Domain) -> list[str]:
    """The values of a domain as people read them."""
    return [_printed(show(value)) for value in domain.values.tolist()]

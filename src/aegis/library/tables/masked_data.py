"""A table as a configuration would publish it: what check, release and apply have in common."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aegis.counts.collect import Limits, count_histograms
from aegis.counts.joint import Histogram
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError
from aegis.library.tables.opening import label_of
from aegis.masking.configuration import Configuration
from aegis.masking.mask import ExpressionMask, MappedMask, Mask
from aegis.masking.masks.suppress import Suppress
from aegis.releases.apply import ValueMapping, can_be_joined, fitted, masked_table

_EVERY_VALUE = Limits(numbers=10**9, texts=10**9)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedData:
    """The masked table, the masks as they were fitted, and what became of values."""

    dataset: Dataset
    masks: Mapping[str, Mask]
    fitted_here: tuple[str, ...]
    mappings: tuple[ValueMapping, ...]


def roles_with(dataset: Dataset, configuration: Configuration | None, *, label: str | None = None) -> Roles:
    """The roles of a table: its own, overridden by the configuration's, and the label by the one given."""
    roles = dataset.roles
    if configuration is not None:
        roles = roles.overridden_by(configuration.roles)
        label = label_of(label, None, [configuration])
    if label is not None:
        roles = roles.overridden_by(Roles(label=label))
    return roles.checked_against(dataset.schema)


def all_masks(configuration: Configuration, roles: Roles) -> dict[str, Mask]:
    """The configuration's masks, and suppression of identifying columns that it forgot."""
    masks: dict[str, Mask] = dict(configuration.masks)
    for column in roles.identifying:
        masks.setdefault(column, Suppress())
    return masks


def masked_data(
    dataset: Dataset, masks: Mapping[str, Mask], *, strict: bool = True, mappings: bool = False
) -> MaskedData:
    """The dataset as the engine would publish it; ``mappings`` asks what became of every value.

    Only columns whose masks need it are counted. What masks draw or invent is drawn once and kept by the engine:
    what is judged is what is written.
    """
    for column, mask in masks.items():
        if column not in dataset.schema:
            raise ConfigurationError(
                f"the configuration masks the column {column!r}, which the table does not have; "
                f"its columns are {', '.join(dataset.schema.names)}"
            )
        mask.check(dataset.schema.kind(column), column=column)
    quick = _looked_up(dataset, masks)
    open_ones = tuple(c for c, mask in masks.items() if not mask.is_fitted(dataset.schema.kind(c)))
    histograms = _counted(dataset, masks, (*open_ones, *quick), mappings)
    ready = fitted(masks, histograms)
    join = [column for column in quick if not histograms[column].domain.discretised]
    masked = masked_table(dataset.table, ready, histograms=histograms, schema=dataset.schema, strict=strict, join=join)
    table = masked.table
    if any(not isinstance(step, ExpressionMask) for mask in ready.values() for step in mask.steps):
        table = table.cache()
    return MaskedData(
        dataset=replace(as_dataset(table), name=dataset.name, roles=dataset.roles),
        masks=ready,
        fitted_here=open_ones,
        mappings=masked.mappings if mappings else (),
    )


def _looked_up(dataset: Dataset, masks: Mapping[str, Mask]) -> tuple[str, ...]:
    """The columns of masks that build a text: it is built once per value there, where the engine is at hand."""
    if dataset.backend.name != "duckdb":
        return ()
    return tuple(
        column
        for column, mask in masks.items()
        if can_be_joined(mask) and mask.kind_after(dataset.schema.kind(column)) is Kind.TEXT
    )


def _counted(
    dataset: Dataset, masks: Mapping[str, Mask], counted: tuple[str, ...], mappings: bool
) -> dict[str, Histogram]:
    """The histograms that the masks need: of every value where a mask is joined or its mapping wanted."""
    whole = [
        column for column, mask in masks.items() if mappings or any(isinstance(step, MappedMask) for step in mask.steps)
    ]
    rest = [column for column in dict.fromkeys(counted) if column not in whole]
    return {
        **count_histograms(dataset, whole, limits=_EVERY_VALUE),
        **count_histograms(dataset, rest),
    }


def mapping_text(mappings: Sequence[ValueMapping]) -> str:
    """What each value of each column became, as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["column", "value", "masked"])
    for mapping in mappings:
        writer.writerows(mapping.lines())
    return text.getvalue()

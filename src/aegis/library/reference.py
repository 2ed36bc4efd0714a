"""What there is to choose from: the masks and the measures that are installed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.commands.reference import Masks, Measures
from aegis.data.kind import Kind
from aegis.masking.catalogue import catalogue, configuration_schema
from aegis.measures.measure import MEASURES
from aegis.operation import operation
from aegis.result import Result, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedParameter:
    """A parameter of a mask."""

    name: str
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskExample:
    """A mask as a configuration writes it, with a value before and after."""

    mask: Any
    value: str
    masked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMask:
    """A mask with its parameters and an example; ``kinds`` are the kinds of columns that it fits."""

    name: str
    summary: str
    parameters: tuple[ListedParameter, ...]
    kinds: tuple[str, ...]
    random: bool
    aliases: tuple[str, ...]
    example: MaskExample

    @property
    def fits_any(self) -> bool:
        return len(self.kinds) == len(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskList(Result):
    """The masks by name; ``schema`` is the JSON Schema of configurations, where it was asked for."""

    masks: tuple[ListedMask, ...]
    schema: Mapping[str, Any] | None = None

    @property
    def headline(self) -> str:
        return f"{len(self.masks)} masks"

    def table_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "name": mask.name,
                "summary": mask.summary,
                "parameters": ", ".join(parameter.name for parameter in mask.parameters),
                "example": f"{mask.example.value} → {mask.example.masked}",
            }
            for mask in self.masks
        ]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis masks --json`` prints."""
        schema = {} if self.schema is None else {"schema": dict(self.schema)}
        return {"masks": plain(self.masks), **schema}


@operation(Masks)
def list_masks(options: Masks) -> MaskList:
    """The masks that are installed, with their parameters and an example of each.

    Example::

        aegis.list_masks()
    """
    listed = tuple(
        ListedMask(
            name=row.name,
            summary=row.summary,
            parameters=tuple(
                ListedParameter(name=p.name, required=p.required, default=plain(p.default)) for p in row.parameters
            ),
            kinds=tuple(kind.value for kind in row.kinds),
            random=row.random,
            aliases=row.aliases,
            example=MaskExample(mask=row.example_spec, value=row.example_value, masked=row.example_masked),
        )
        for row in catalogue()
    )
    return MaskList(masks=listed, schema=configuration_schema() if options.schema else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMeasure:
    """What is declared of a measure; a bound is None where there is none.

    ``invariant`` and ``monotone`` are said of measures of single attributes only.
    """

    name: str
    basis: str
    unit: str
    higher_is_better: bool
    bounds: tuple[float | None, float | None]
    reference: str
    summary: str
    invariant: bool | None = None
    monotone: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureList(Result):
    """The measures by name."""

    measures: tuple[ListedMeasure, ...]

    @property
    def headline(self) -> str:
        return f"{len(self.measures)} measures"

    def table_rows(self) -> list[dict[str, Any]]:
        named = ("name", "basis", "unit", "higher_is_better", "monotone", "summary")
        return [{name: getattr(measure, name) for name in named} for measure in self.measures]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis measures --json`` prints."""
        return {
            "measures": [
                {
                    name: value
                    for name, value in plain(measure).items()
                    if value is not None or name not in ("invariant", "monotone")
                }
                for measure in self.measures
            ]
        }


@operation(Measures)
def list_measures(options: Measures) -> MeasureList:
    """The measures that are installed, with what is declared of each.

    Example::

        aegis.list_measures()
    """
    return MeasureList(measures=tuple(_listed(measure.facts()) for _, measure in MEASURES.items()))


def _listed(facts: dict[str, Any]) -> ListedMeasure:
    low, high = (bound if math.isfinite(bound) else None for bound in facts.pop("bounds"))
    return ListedMeasure(**facts, bounds=(low, high))

"""What there is to choose from: one row per mask, for listings, the documentation and forms."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.data.kind import Kind
from aegis.data.yaml_text import read_value
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, PermutingMask, RandomMask
from aegis.masking.masks.identity import Identity
from aegis.masking.parameter import Parameter, parameters_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form for one parameter: what it may hold, and an example as one would type it.

    ``choices`` are the words to choose from; where there are none and ``number`` is set, a number from ``least`` to
    ``most`` is typed (a ``whole`` one), else any text, a list or a mapping in YAML.
    """

    name: str
    required: bool
    choices: tuple[str, ...]
    number: bool
    whole: bool
    least: float | None
    most: float | None
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueRow:
    """What a listing says of one mask."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    kinds: tuple[Kind, ...]
    random: bool
    needs_hierarchy: bool
    needs_secret: bool
    aliases: tuple[str, ...]
    example_spec: Any
    example_value: str
    example_masked: str

    @property
    def signature(self) -> str:
        """The parameters in short: ``scale, step=…``."""
        shown = (p.name if p.required else f"{p.name}={p.default}" for p in self.parameters)
        return ", ".join(shown)

    @property
    def offered_in_forms(self) -> bool:
        """Whether a form may offer it: the one that changes nothing and those that need a secret are left out."""
        return self.name != Identity.name and not self.needs_secret

    @property
    def form_fields(self) -> tuple[FormField, ...]:
        """The parameters that a form asks for; the hierarchy is that of the column."""
        example = self.example_spec[self.name] if isinstance(self.example_spec, dict) else {}
        parameters = (p for p in self.parameters if not (self.needs_hierarchy and p.name == "hierarchy"))
        return tuple(_form_field(parameter, example.get(parameter.name)) for parameter in parameters)

    def spec_from_form(self, typed: Mapping[str, str]) -> Any:
        """The mask as a configuration writes it, from what was typed into its fields; empty ones are left out.

        `MaskError` where something cannot be read; whether the values fit is seen when the mask is built.
        """
        parameters = {field.name: _read(typed[field.name]) for field in self.form_fields if typed.get(field.name)}
        return {self.name: parameters} if parameters else self.name


def catalogue() -> tuple[CatalogueRow, ...]:
    """All masks by name.

    >>> {row.name: row.example_masked for row in catalogue()}["bucketize"]
    '[40, 50)'
    """
    return tuple(
        CatalogueRow(
            name=name,
            summary=" ".join((inspect.getdoc(mask) or "").split("\n\n")[0].split()),
            parameters=parameters_of(mask),
            kinds=tuple(kind for kind in Kind if kind in mask.accepts),
            random=issubclass(mask, RandomMask | PermutingMask),
            needs_hierarchy=mask.needs_hierarchy,
            needs_secret=mask.needs_secret,
            aliases=tuple(sorted(alias for alias in mask.aliases if alias not in MASKS)),
            example_spec={name: dict(mask.example_parameters)} if mask.example_parameters else name,
            example_value=mask.example[0],
            example_masked=mask.example[1],
        )
        for name, mask in MASKS.items()
    )


def form_masks(kind: Kind, *, has_hierarchy: bool) -> dict[str, CatalogueRow]:
    """The masks that a form may offer for a column of this kind, by name.

    Unless the column has a hierarchy, those that need one are left out too.

    >>> [field.example for field in form_masks(Kind.INTEGER, has_hierarchy=False)["bucketize"].form_fields][:1]
    ['10']
    """
    return {
        row.name: row
        for row in catalogue()
        if kind in row.kinds and row.offered_in_forms and (has_hierarchy or not row.needs_hierarchy)
    }


def shown_in_form(value: Any) -> str:
    """A parameter's value as one would type it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _form_field(parameter: Parameter, example: Any) -> FormField:
    rule = {} if parameter.rule is None else parameter.rule.schema()
    return FormField(
        name=parameter.name,
        required=parameter.required,
        choices=tuple(rule.get("enum", ())),
        number=rule.get("type") in ("number", "integer"),
        whole=rule.get("type") == "integer",
        least=rule.get("minimum", rule.get("exclusiveMinimum")),
        most=rule.get("maximum", rule.get("exclusiveMaximum")),
        # The values of the documentation's column are not those of another.
        example="" if example is None or isinstance(example, Mapping) else shown_in_form(example),
    )


def _read(text: str) -> Any:
    try:
        return read_value(text)
    except ValueError:
        raise MaskError("a setting cannot be read; write a number, a word, or a list like [1, 2]") from None

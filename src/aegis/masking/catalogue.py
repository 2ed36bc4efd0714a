"""What there is to choose from: one row per mask, for listings, the documentation and forms; and the JSON Schema.

The schema of configuration files is made from the masks themselves, so that it and the program agree. Whatever it
refuses the program refuses. The program refuses a little more, which no schema can say: edges that do not rise, a day
that no calendar has, a ``low`` above ``high``, a width of too many decimals, a value or a column named twice, tokens
that do not come last in a list, a hierarchy that is not there, and what does not fit the column.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.data.yaml_text import read_value
from aegis.errors import MaskError
from aegis.masking.configuration import mask_aliases
from aegis.masking.configuration_file import FUNCTIONS, VERSION
from aegis.masking.mask import MASKS, Mask, PermutingMask, RandomMask
from aegis.masking.masks.identity import Identity
from aegis.masking.parameter import SCALARS, Parameter, default, parameters_of


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NULL = {"type": "null"}


def configuration_schema() -> dict[str, Any]:
    """The schema for the masks that are installed."""
    parameters = {f"mask_{name}": parameters_schema(mask) for name, mask in MASKS.items()}
    for alias, mask in mask_aliases().items():
        parameters[f"mask_{alias}"] = parameters_schema(mask, sets=mask.aliases[alias])
    return {
        "$schema": DIALECT,
        "title": "Aegis configuration",
        "description": "Which mask goes on which column: one configuration in the full form, many, plain "
        "{column: mask}, or the YAML of the published Aegis, which is read and never written. Masks of other packages "
        "are not listed here; aegis masks --schema writes the schema of an installation.",
        "anyOf": [_ref("full"), _ref("many"), _ref("plain"), _ref("published")],
        "$defs": {**_files(), "single": _single(parameters), **parameters},
    }


def parameters_schema(mask: type[Mask], *, sets: Collection[str] = ()) -> dict[str, Any]:
    """What a configuration may write below the name of a mask, or of an alias that ``sets`` some parameters itself."""
    free = [parameter for parameter in parameters_of(mask) if parameter.name not in sets]
    listed = {parameter.name: parameter.schema() for parameter in free}
    needed = [parameter.name for parameter in free if parameter.required]
    rules: list[dict[str, Any]] = []
    if mask.one_of:
        rules.append({"oneOf": [_given(name) for name in mask.one_of]})
    for names in mask.together:
        both, neither = [_given(name) for name in names], [{"not": _given(name)} for name in names]
        rules.append({"anyOf": [{"allOf": both}, {"allOf": neither}]})
    for name, companion in mask.goes_with.items():
        unset = {"properties": {name: {"const": default(mask, name)}}}
        rules.append({"anyOf": [_given(companion), unset]})
    schema: dict[str, Any] = {"properties": listed, "additionalProperties": False}
    if needed or mask.one_of:
        return {"type": "object", **schema, **({"required": needed} if needed else {}), **_all_of(rules)}
    return {"type": ["object", "null"], **schema, **_all_of(rules)}


def _given(name: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"not": _NULL}}}


def _all_of(rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"allOf": rules} if rules else {}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _single(parameters: dict[str, Any]) -> dict[str, Any]:
    names = [name.removeprefix("mask_") for name in parameters]
    alone = [name for name in names if parameters[f"mask_{name}"]["type"] != "object"]
    return {
        "anyOf": [
            {"description": "A mask without parameters.", "enum": alone},
            {
                "description": "A mask with its parameters.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "properties": {name: _ref(f"mask_{name}") for name in names},
                "additionalProperties": False,
            },
        ]
    }


def _files() -> dict[str, Any]:
    """The forms of a file, without the masks."""
    columns = {"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": {"type": "string"}}]}
    roles = {role.value: columns for role in Role if role is not Role.LABEL}
    shared = {
        "aegis": {"description": "Format version.", "const": VERSION},
        "label": {"description": "The column to be predicted.", "type": ["string", "null"]},
        "roles": {"anyOf": [_ref("roles"), _NULL]},
        "hierarchies": {"anyOf": [_ref("hierarchies"), _NULL]},
    }
    name = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}]}
    plain: dict[str, Any] = {"type": "object", "additionalProperties": _ref("mask")}
    full = {
        "type": "object",
        "required": ["masks"],
        "properties": {**shared, "name": name, "masks": {**plain}},
        "additionalProperties": False,
    }
    is_full = {"required": ["masks"], "properties": {"masks": {"type": "object"}}}
    attributes = {"required": ["attributes"], "type": "object"}
    is_published = {"required": ["masking"], "properties": {"masking": attributes}}
    return {
        "mask": {
            "anyOf": [
                _ref("single"),
                {"description": "Applied in order.", "type": "array", "minItems": 1, "items": _ref("single")},
            ]
        },
        "plain": {
            "description": "One configuration; for a column called masks, masking or configurations use the full form.",
            **plain,
            "minProperties": 1,
            "not": {"anyOf": [is_full, is_published, {"required": ["configurations"]}]},
        },
        "inner": {"description": "One configuration among many.", **plain, "not": is_full},
        "full": full,
        "many": {
            "type": "object",
            "required": ["configurations"],
            "properties": {
                **shared,
                "configurations": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"anyOf": [_ref("full"), _ref("inner")]},
                },
            },
            "additionalProperties": False,
        },
        "published": _published(),
        "roles": {
            "type": "object",
            "properties": {Role.LABEL.value: {"type": ["string", "null"]}, **roles},
            "additionalProperties": False,
        },
        "hierarchies": {
            "description": "Per name the rows of a hierarchy: the value, then its label at each level.",
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "array", "minItems": 1, "items": {"type": SCALARS}},
            },
        },
    }


def _published() -> dict[str, Any]:
    """``{dataset: {target_variable: …}, masking: {attributes: {column: [{function: …, params: …}, …]}}}``."""
    steps = []
    for function, (mask, names) in FUNCTIONS.items():
        whole = parameters_schema(mask)
        listed = {published: whole["properties"][ours] for published, ours in names.items()}
        needed = [published for published, ours in names.items() if ours in whole.get("required", ())]
        params: dict[str, Any] = {"type": "object", "properties": listed, "additionalProperties": False}
        if needed:
            params["required"] = needed
        properties = {"params": params if needed else {"anyOf": [params, _NULL]}, "function": {"const": function}}
        steps.append(
            {"type": "object", "required": ["function", *(["params"] if needed else [])], "properties": properties}
        )
    step = {"anyOf": [*steps, _NULL]}
    columns = {"type": "object", "additionalProperties": {"anyOf": [step, {"type": "array", "items": step}]}}
    target = {"description": "The label, unless another is named.", "type": ["string", "null"]}
    dataset = {"type": "object", "properties": {"target_variable": target}}
    return {
        "description": "The YAML of the published Aegis.",
        "type": "object",
        "required": ["masking"],
        "properties": {
            "dataset": {"anyOf": [dataset, _NULL]},
            "masking": {
                "type": "object",
                "required": ["attributes"],
                "properties": {"attributes": {"anyOf": [columns, _NULL]}},
            },
        },
    }

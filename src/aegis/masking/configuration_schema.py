"""The JSON Schema of configuration files, made from the masks themselves, so that it and the program agree.

Whatever the schema refuses the program refuses. The program refuses a little more, which no schema can say: edges that
do not rise, a day that no calendar has, a ``low`` above ``high``, a width of too many decimals, a value or a column
named twice, tokens that do not come last in a list, a hierarchy that is not there, and what does not fit the column.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from aegis.data.schema import Role
from aegis.masking.configuration import mask_aliases
from aegis.masking.configuration_file import VERSION
from aegis.masking.mask import MASKS, Mask
from aegis.masking.parameter import SCALARS, default, parameters_of
from aegis.masking.published_format import FUNCTIONS

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

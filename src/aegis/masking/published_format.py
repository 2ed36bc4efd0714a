"""The YAML configurations of the published Aegis prototype, read and never written.

``{dataset: {target_variable: …}, masking: {attributes: {column: [{function: …, params: …}, …]}}}``
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.errors import ConfigurationError
from aegis.masking.mask import Mask
from aegis.masking.masks.digits import EraseDigits
from aegis.masking.masks.ranges import Ranges
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Chain

FUNCTIONS: dict[str, tuple[type[Mask], dict[str, str]]] = {
    "erase_digits": (EraseDigits, {"num_digits": "digits"}),
    "generalize": (Ranges, {"M": "count"}),
    "suppress": (Suppress, {}),
}
"""What each function of theirs is here, and what its parameters are called."""


def masks_of_published(content: Mapping[str, Any]) -> tuple[str | None, dict[str, Mask]]:
    """The label it names, and the mask of each column."""
    attributes = content["masking"]["attributes"]
    if not isinstance(attributes, Mapping | None):
        raise ConfigurationError("masking.attributes must map each column to a list of functions")
    masks = {}
    for column, steps in (attributes or {}).items():
        listed = steps if isinstance(steps, list) else [steps]
        links = tuple(_mask(step, str(column)) for step in listed if step is not None)
        if links:
            masks[str(column)] = links[0] if len(links) == 1 else Chain(links=links)
    return _label(content.get("dataset")), masks


def _label(dataset: Any) -> str | None:
    if not isinstance(dataset, Mapping | None):
        raise ConfigurationError("dataset must be written as {target_variable: column}")
    label = (dataset or {}).get("target_variable")
    if not isinstance(label, str | None):
        raise ConfigurationError("dataset.target_variable must be the name of one column")
    return label


def _mask(step: Any, column: str) -> Mask:
    function = step.get("function") if isinstance(step, Mapping) else None
    if not isinstance(function, str) or function not in FUNCTIONS:
        functions = ", ".join(sorted(FUNCTIONS))
        raise ConfigurationError(f"column {column!r} names a masking function that is not one of {functions}")
    kind_of_mask, names = FUNCTIONS[function]
    parameters = step.get("params")
    if not isinstance(parameters, Mapping | None):
        raise ConfigurationError(f"column {column!r}: params must be written as {{name: value}}")
    unknown = sorted(set(map(str, parameters or {})) - set(names))
    if unknown:
        takes = ", ".join(names) or "no params"
        raise ConfigurationError(f"column {column!r}: {function} takes {takes}, not {', '.join(unknown)}")
    absent = sorted(set(names) - set(parameters or {}))
    if absent:
        raise ConfigurationError(f"column {column!r}: {function} needs the parameter {', '.join(absent)}")
    return kind_of_mask.from_parameters({names[str(key)]: value for key, value in (parameters or {}).items()})

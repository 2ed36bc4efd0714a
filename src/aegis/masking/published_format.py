"""The YAML configurations of the published Aegis prototype, read and never written.

``{dataset: {target_variable: …}, masking: {attributes: {column: [{function: …, params: …}, …]}}}``
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.errors import ConfigurationError
from aegis.masking.chain import Chain
from aegis.masking.erase_digits import EraseDigits
from aegis.masking.mask import Mask
from aegis.masking.ranges import Ranges
from aegis.masking.suppress import Suppress

_FUNCTIONS: dict[str, tuple[type[Mask], dict[str, str]]] = {
    "generalize": (Ranges, {"M": "count"}),
    "erase_digits": (EraseDigits, {"num_digits": "digits"}),
    "suppress": (Suppress, {}),
}


def is_published(content: Mapping[str, Any]) -> bool:
    """Whether this is such a configuration."""
    masking = content.get("masking")
    return isinstance(masking, Mapping) and "attributes" in masking


def masks_of_published(content: Mapping[str, Any]) -> tuple[str | None, dict[str, Mask]]:
    """The label it names, and the mask of each column."""
    dataset = content.get("dataset") or {}
    label = dataset.get("target_variable") if isinstance(dataset, Mapping) else None
    attributes = content["masking"]["attributes"] or {}
    if not isinstance(attributes, Mapping):
        raise ConfigurationError("masking.attributes must map each column to a list of functions")
    masks = {}
    for column, steps in attributes.items():
        links = tuple(_mask(step, str(column)) for step in (steps if isinstance(steps, list) else [steps]) if step)
        if links:
            masks[str(column)] = links[0] if len(links) == 1 else Chain(links=links)
    return (label if isinstance(label, str) else None), masks


def _mask(step: Any, column: str) -> Mask:
    if not isinstance(step, Mapping) or step.get("function") not in _FUNCTIONS:
        known = ", ".join(sorted(_FUNCTIONS))
        raise ConfigurationError(f"column {column!r} names a masking function that is not one of {known}")
    kind_of_mask, names = _FUNCTIONS[step["function"]]
    given = step.get("params") or {}
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"column {column!r}: params must be written as {{name: value}}")
    return kind_of_mask.from_parameters({names.get(str(key), str(key)): value for key, value in given.items()})

"""From what a configuration writes for a column to a mask.

A mask is written as its name (``suppress``), as a name with parameters (``{bucketize: {width: 10}}``), or as a list of
such, applied in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from aegis.data.hierarchy import Hierarchy
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, Mask
from aegis.masking.transition import Chain

FindHierarchy = Callable[[str | None], Hierarchy | None]
"""Gives the hierarchy of a name, or of the column itself for None; None where there is none."""


def build_mask(spec: Any, *, hierarchy: FindHierarchy | None = None) -> Mask:
    """The mask that a configuration describes.

    >>> build_mask({"bucketize": {"width": 10}}).describe()
    'buckets of width 10'
    >>> build_mask(["date_year", "suppress"]).describe()
    'truncated to the year, then suppressed'
    """
    if isinstance(spec, Mask):
        return spec
    if isinstance(spec, list | tuple):
        if any(isinstance(part, list | tuple) for part in spec):
            raise MaskError("a chain of masks is a flat list; write its masks one after the other")
        links = tuple(build_mask(part, hierarchy=hierarchy) for part in spec)
        return links[0] if len(links) == 1 else Chain(links=links)
    if isinstance(spec, str):
        name, parameters = spec, cast(Any, {})
    elif isinstance(spec, Mapping) and len(spec) == 1 and isinstance(next(iter(spec)), str):
        ((name, parameters),) = spec.items()
        parameters = {} if parameters is None else parameters
    else:
        raise MaskError("a mask is written as a name, as {name: {parameter: value}}, or as a list of those")
    if not isinstance(parameters, Mapping) or not all(isinstance(key, str) for key in parameters):
        raise MaskError(f"the parameters of mask {name!r} must be written as {{parameter: value}}")
    return _build(name, dict(parameters), hierarchy)


def mask_aliases() -> dict[str, type[Mask]]:
    """The other names under which masks are known, by alphabet; one that is a mask's own name is none."""
    named = {alias: mask for _, mask in MASKS.items() for alias in mask.aliases}
    return {alias: named[alias] for alias in sorted(named) if alias not in MASKS}


def _build(name: str, parameters: dict[str, Any], hierarchy: FindHierarchy | None) -> Mask:
    aliases = {} if name in MASKS else mask_aliases()
    if name in aliases:
        mask = aliases[name]
        sets = mask.aliases[name]
        if taken := sorted(set(parameters) & set(sets)):
            raise MaskError(f"mask {name!r} sets {', '.join(taken)} itself; use {mask.name!r} to choose it")
        parameters = {**sets, **parameters}
    else:
        mask = MASKS[name]
    if mask.needs_hierarchy:
        named = parameters.get("hierarchy")
        if named is None or isinstance(named, str):
            rows = hierarchy(named) if hierarchy else None
            if rows is None and named is not None:
                raise MaskError(f"mask {mask.name!r} names the hierarchy {named!r}, which is not there")
            parameters = {**parameters, "hierarchy": rows}
    return mask.from_parameters(parameters)

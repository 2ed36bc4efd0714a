"""From what a configuration writes for a column to a mask.

A mask is written as its name (``suppress``), as a name with parameters (``{bucketize: {width: 10}}``), or as a list of
such, applied in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from aegis.data.hierarchy import Hierarchy
from aegis.errors import MaskError
from aegis.masking.aliases import ALIASES
from aegis.masking.chain import Chain
from aegis.masking.mask import MASKS, Mask

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
        name, given = spec, cast(Any, {})
    elif isinstance(spec, Mapping) and len(spec) == 1 and isinstance(next(iter(spec)), str):
        ((name, given),) = spec.items()
        given = {} if given is None else given
    else:
        raise MaskError("a mask is written as a name, as {name: {parameter: value}}, or as a list of those")
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise MaskError(f"the parameters of mask {name!r} must be written as {{parameter: value}}")
    return _build(name, dict(given), hierarchy)


def _build(name: str, given: dict[str, Any], hierarchy: FindHierarchy | None) -> Mask:
    if name not in MASKS and name in ALIASES:
        alias = ALIASES[name]
        given = alias.translated(name, given)
        name = alias.mask
    if name == "generalize":
        wanted = given.get("hierarchy")
        if wanted is None or isinstance(wanted, str):
            found = hierarchy(wanted) if hierarchy else None
            if found is None and wanted is not None:
                raise MaskError(f"mask {name!r} names the hierarchy {wanted!r}, which is not there")
            given = {**given, "hierarchy": found}
    return MASKS[name].from_parameters(given)

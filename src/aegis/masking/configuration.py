"""A configuration: which mask goes on which column.

A mask is written as its name (``suppress``), as a name with parameters (``{bucketize: {width: 10}}``), or as a list of
such, applied in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles, Schema
from aegis.errors import ConfigurationError, MaskError
from aegis.masking.mask import MASKS, Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.transition import Chain
from aegis.plural import count

FindHierarchy = Callable[[str | None], Hierarchy | None]
"""Gives the hierarchy of a name, or of the column itself for None; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Configuration:
    """A name, and a mask for some columns; columns that it does not name stay as they are.

    A mask on the label column masks the label. Two configurations are equal when they do the same to every column:
    the name, the roles and masks that change nothing do not count.

    >>> mild = Configuration.of("mild", {"age": {"bucketize": {"width": 5}}, "zip": "suppress"})
    >>> strong = Configuration.of("strong", {"age": {"bucketize": {"width": 20}}, "weight": {"round": {"step": 10}}})
    >>> mild.id, strong.id == mild.id
    ('6ef60464613b', False)
    >>> print("\\n".join(mild.diff(strong)))
    ~ age: buckets of width 5 → buckets of width 20
    + weight: rounded to the nearest 10
    - zip: suppressed
    """

    name: str
    masks: Mapping[str, Mask]
    label: str | None = None
    roles: Roles = field(default_factory=Roles)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError("a configuration needs a name")
        for column, mask in self.masks.items():
            if not isinstance(column, str) or not isinstance(mask, Mask):
                raise ConfigurationError(f"configuration {self.name!r} must map names of columns to masks")
        object.__setattr__(self, "masks", MappingProxyType(dict(self.masks)))

    @classmethod
    def of(cls, name: str, specs: Mapping[str, Any], *, label: str | None = None) -> Configuration:
        """From what a file would say of each column."""

        return cls(name=name, masks={column: build_mask(spec) for column, spec in specs.items()}, label=label)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._canonical() == other._canonical()

    def __hash__(self) -> int:
        return hash(self._canonical())

    def __getitem__(self, column: str) -> Mask:
        """The mask of a column; identity where it has none."""
        return self.masks.get(column, _UNCHANGED)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are really masked."""
        return tuple(column for column, mask in self.masks.items() if mask != _UNCHANGED)

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name its content, hierarchies included: the same on every machine."""
        return hashlib.sha256(self._canonical().encode()).hexdigest()[:12]

    def _canonical(self) -> str:
        listed = sorted((column, canonical(self.masks[column])) for column in self.columns)
        return "{" + ",".join(f"{json.dumps(column)}:{mask}" for column, mask in listed) + "}"

    def diff(self, other: Configuration) -> list[str]:
        """What ``other`` does differently, a line per column: ``+`` masked there only, ``-`` here only, ``~`` both."""
        lines = []
        for column in sorted({*self.columns, *other.columns}):
            before, after = self[column], other[column]
            if canonical(before) == canonical(after):
                continue
            if before == _UNCHANGED:
                lines.append(f"+ {column}: {after.describe()}")
            elif after == _UNCHANGED:
                lines.append(f"- {column}: {before.describe()}")
            elif before.describe() != after.describe():
                lines.append(f"~ {column}: {before.describe()} → {after.describe()}")
            else:
                lines.append(f"~ {column}: {canonical(before)} → {canonical(after)}")
        return lines

    def without_values(self, written: Mapping[str, Collection[str]]) -> Configuration:
        """As a release shows it: the labels of each column that are ``written`` there, without the values behind them.

        The configuration itself stays with the provider, and its id, a digest of what it does, says which one it was.
        """
        masks = {column: mask.without_values(written.get(column)) for column, mask in self.masks.items()}
        return replace(self, masks=masks)

    def states(self, full: Configuration) -> bool:
        """Whether this one, which names labels, is what ``full`` writes, or a part of that."""
        if set(self.masks) != set(full.masks):
            return False
        return all(
            canonical(mask) == canonical(full.masks[column].without_values(mask.labels))
            for column, mask in self.masks.items()
        )

    def check(self, schema: Schema) -> None:
        """Raise unless every column exists and every mask fits its kind."""
        for column, mask in self.masks.items():
            if column not in schema:
                raise ConfigurationError(
                    f"configuration {self.name!r} masks column {column!r}, which the table does not have; "
                    f"its columns are {', '.join(schema.names)}"
                )
            mask.check(schema.kind(column), column=column)

    def __reduce__(self) -> Any:
        # A read-only view of a dictionary cannot be pickled; other processes get a configuration all the same.
        return _restored, (self.name, dict(self.masks), self.label, self.roles)

    def __repr__(self) -> str:
        return f"Configuration({self.name!r}, {count(len(self.columns), 'column')} masked)"


_UNCHANGED = Identity()


def _restored(name: str, masks: dict[str, Mask], label: str | None, roles: Roles) -> Configuration:
    return Configuration(name=name, masks=masks, label=label, roles=roles)


@lru_cache(maxsize=65_536)
def canonical(mask: Mask) -> str:
    """The mask as one line of JSON that is the same for equal masks: keys sorted, ``10.0`` written ``10``."""
    return json.dumps(_plain(mask.fingerprint()), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {key: _plain(value) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [_plain(value) for value in spec]
    if isinstance(spec, float) and spec.is_integer() and abs(spec) < 2**53:
        return int(spec)
    return spec


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

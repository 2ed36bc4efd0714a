"""What there is to choose from: one row per mask, for listings and the documentation."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields
from typing import Any

from aegis.data.kind import Kind
from aegis.masking.aliases import ALIASES
from aegis.masking.mask import MASKS, PermutingMask, RandomMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a mask; ``default`` is None where nothing is set or it must be given."""

    name: str
    required: bool
    default: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueRow:
    """What a listing says of one mask."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    kinds: tuple[Kind, ...]
    random: bool
    aliases: tuple[str, ...]
    example_spec: Any
    example_value: str
    example_masked: str

    @property
    def signature(self) -> str:
        """The parameters in short: ``scale, step=…``."""
        shown = (p.name if p.required else f"{p.name}={p.default}" for p in self.parameters)
        return ", ".join(shown)


def catalogue() -> tuple[CatalogueRow, ...]:
    """All masks by name.

    >>> {row.name: row.example_masked for row in catalogue()}["bucketize"]
    '[40, 50)'
    """
    rows = []
    for name, mask in MASKS.items():
        parameters: Any = fields(mask)  # type: ignore[arg-type]  # every mask is a dataclass
        rows.append(
            CatalogueRow(
                name=name,
                summary=" ".join(inspect.getdoc(mask).split("\n\n")[0].split()),  # type: ignore[union-attr]
                parameters=tuple(
                    Parameter(
                        name=item.name,
                        required=item.default is MISSING,
                        default=None if item.default is MISSING else item.default,
                    )
                    for item in parameters
                ),
                kinds=tuple(kind for kind in Kind if kind in mask.accepts),
                random=issubclass(mask, RandomMask | PermutingMask),
                aliases=tuple(alias for alias, means in sorted(ALIASES.items()) if means.mask == name),
                example_spec={name: dict(mask.example_parameters)} if mask.example_parameters else name,
                example_value=mask.example[0],
                example_masked=mask.example[1],
            )
        )
    return tuple(rows)

"""Is every released value one that the stated masks could have written?

Hashes say that nothing was changed since the certificate was made, not that the masks were ever applied. Every mask
knows what it can write (`Mask.could_write`), so a column of raw values under a certificate that states a mask is found
from the release alone, whatever the original holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ibis.expr.types as ir

from aegis.counts.answer import ask, count_rows
from aegis.data.domain import show
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import STAR, Suppress
from aegis.masking.transition import Chain
from aegis.plural import count

_NOT_SO = "it was not masked as the certificate says"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCheck:
    """How many columns were held against their masks, how many rows are starred, and what contradicts the masks."""

    columns: int
    starred: int
    reason: str | None


def check_image(table: ir.Table, masks: Mapping[str, Mask], *, quasi_identifying: Sequence[str]) -> ImageCheck:
    """Hold every masked column of a written table against its mask; suppressed records are starred in
    every quasi-identifier.

    Only the distinct values of a column are read. The reason names a column, its mask and a number, never a value.
    """
    there = [name for name in quasi_identifying if name in table.columns]
    starred = None
    for name in there:
        is_star = (table[name].cast("string") == STAR).fill_null(False)
        starred = is_star if starred is None else starred & is_star
    stars = 0 if starred is None else count_rows(table.filter(starred))
    shown = table if starred is None or not stars else table.filter(~starred)
    checked = 0
    for name, mask in masks.items():
        if name not in table.columns or isinstance(mask, Identity):
            continue
        checked += 1
        rows = shown if name in there else table  # a suppressed record is starred in its quasi-identifiers only
        values = ask(rows.select(value=rows[name]).distinct())["value"].to_pylist()
        texts = [show(value) for value in values if value is not None]
        wrong = mask.could_write(texts).count(False)
        if wrong:
            problem = (
                f"the column {name!r} holds {count(wrong, 'value')} that its mask ({mask.describe()}) never writes"
            )
            return ImageCheck(columns=checked, starred=stars, reason=f"{problem}: {_NOT_SO}")
        if len(texts) < len(values) and _hides_missing(mask):
            problem = f"the column {name!r} has missing values, which its mask ({mask.describe()}) never leaves"
            return ImageCheck(columns=checked, starred=stars, reason=f"{problem}: {_NOT_SO}")
    return ImageCheck(columns=checked, starred=stars, reason=None)


def stars_all(masks: Mapping[str, Mask], quasi_identifying: Sequence[str]) -> bool:
    """Whether the masks themselves could star every quasi-identifier of a record that is not suppressed."""
    return all(masks.get(name, Identity()).could_write([STAR])[0] for name in quasi_identifying)


def _hides_missing(mask: Mask) -> bool:
    last = mask.links[-1] if isinstance(mask, Chain) else mask
    return isinstance(last, Suppress)

"""What may be published of a column that identifies people: nothing, or names that mean nothing.

No model judges an identifying column. So a mask that leaves part of it (the last four digits, the first letters, a
coarser code) would publish what tells people apart, judged by nothing. Such a column is a quasi-identifier, and whoever
wants to publish part of it calls it so.
"""

from __future__ import annotations

from collections.abc import Mapping

from aegis.data.schema import Roles
from aegis.errors import RoleError
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import Nullify, Suppress
from aegis.masking.masks.tokens import Pseudonym, Token
from aegis.releases.fit import links_of


def check_identifying(roles: Roles, masks: Mapping[str, Mask]) -> None:
    """Raise where a mask shows part of an identifying column."""
    for column in roles.identifying:
        mask = masks.get(column)
        if mask is None or shows_nothing(mask):
            continue
        raise RoleError(
            f"{column!r} is identifying, and {mask.describe()} shows part of it, which no model would judge: call it "
            "quasi_identifying in the policy, so that what is shown of it is judged, or hide it (suppress, pseudonym, "
            "token)"
        )


def shows_nothing(mask: Mask) -> bool:
    """Whether a mask leaves nothing of a value: a star, a missing value, or a name that means nothing."""
    return any(isinstance(link, Suppress | Nullify | Pseudonym | Token) for link in links_of(mask))


def pseudonymous(roles: Roles, masks: Mapping[str, Mask]) -> tuple[str, ...]:
    """The identifying columns that are published as pseudonyms or tokens: they say which rows are of one person."""
    return tuple(
        column
        for column in roles.identifying
        if column in masks
        and not any(isinstance(link, Suppress | Nullify) for link in links_of(masks[column]))
        and any(isinstance(link, Pseudonym | Token) for link in links_of(masks[column]))
    )

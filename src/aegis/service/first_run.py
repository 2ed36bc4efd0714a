"""The clinic example as a whole flow, so that a newcomer sees one in two minutes."""

from __future__ import annotations

from dataclasses import dataclass, field

from aegis.service.actor import Actor
from aegis.service.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class ClinicFlow:
    """What was made: the product, and people with a password to sign in with (shown once)."""

    product: str
    people: dict[str, str] = field(repr=False)
    request_id: str
    release_id: str


def load_clinic(catalog: Catalog, actor: Actor) -> ClinicFlow:
    """Build the product, people, configurations, summary, ranking, a decided request and its release (administrators).

    ``actor`` signs for it; `ConflictError` where the example is there already.
    """
    raise NotImplementedError

"""Whether the catalog is well: the one address that answers everybody."""

from __future__ import annotations

from fastapi import APIRouter

from aegis.catalog.server.api.asking import Read
from aegis.catalog.server.api.models.given import Health

router = APIRouter(tags=["health"])


@router.get("/health", response_model=Health, summary="Is the catalog well?")
def health(asked: Read) -> Health:
    """A connection to the database is made; where it cannot be made this is a 502."""
    with asked.work() as work:
        work.session.connection()
    return Health(status="ok")

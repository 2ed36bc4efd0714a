"""What the start page counts."""

from __future__ import annotations

from aegis.service.catalog import Work
from aegis.service.views import OverviewView


def overview(work: Work) -> OverviewView:
    """How much there is, and what waits for this person."""
    raise NotImplementedError

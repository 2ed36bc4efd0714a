"""Work in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aegis.catalog.states import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work in the background; `progress` runs from 0 to 1."""

    id: str
    kind: str
    product_id: str
    product_name: str
    subject_id: str | None
    state: JobState
    parameters: Mapping[str, Any]
    progress: float
    stage: str
    result: Mapping[str, Any] | None
    error: str | None
    attempts: int
    created_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether it is over, one way or the other."""
        return self.state not in (JobState.QUEUED, JobState.RUNNING)

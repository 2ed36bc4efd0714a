"""The queue of jobs in the database: claimed by one worker at a time, and again when that one falls silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.service.catalog import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A job that this worker now works on."""

    id: str
    kind: str
    product_id: str
    subject_id: str | None
    parameters: Mapping[str, Any]
    attempt: int


def enqueue(
    work: Work,
    *,
    kind: str,
    product_id: str,
    subject_id: str | None,
    parameters: Mapping[str, Any],
) -> str:
    """Add a job and give its id; it runs after this transaction."""
    raise NotImplementedError


def claim(work: Work, *, worker: str) -> Claimed | None:
    """The next job that waits, or whose worker has been silent for too long; None if there is none.

    A job that was tried too often fails instead.
    """
    raise NotImplementedError


def heartbeat(work: Work, *, job_id: str, worker: str, progress: float, stage: str) -> bool:
    """Say that the work goes on; False if the job is not this worker's any more."""
    raise NotImplementedError


def finish(work: Work, *, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
    """Write the result and the state together; False, and nothing written, if the job is not this worker's any more."""
    raise NotImplementedError


def fail(work: Work, *, job_id: str, worker: str, error: str) -> bool:
    """Give up, with a sentence."""
    raise NotImplementedError


def release_claim(work: Work, *, job_id: str, worker: str) -> bool:
    """Put a job back at the front of the queue: its worker was told to stop."""
    raise NotImplementedError

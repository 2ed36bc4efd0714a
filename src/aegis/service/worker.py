"""The worker: a process (or a thread of the server) that does jobs one after the other until it is told to stop."""

from __future__ import annotations

import threading

from aegis.service.catalog import Catalog


def run_worker(catalog: Catalog, stop: threading.Event, *, poll_seconds: float = 0.5, name: str | None = None) -> int:
    """Do jobs until ``stop`` is set; gives how many were done. Expired requests are written down in between."""
    raise NotImplementedError


def run_pending(catalog: Catalog, *, name: str | None = None) -> int:
    """Do the jobs that wait now, then come back; for tests and for a demonstration."""
    raise NotImplementedError

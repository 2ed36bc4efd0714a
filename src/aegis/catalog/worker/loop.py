"""The worker: a process (or a thread of the server) that does jobs one after the other until it is told to stop.

While a job runs a second thread says so every few seconds. A worker that dies falls silent, and another takes the job
over from its beginning; results are written together with the state, so a job is done or not done and never half.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from typing import Any

from aegis.catalog.service import queue
from aegis.catalog.service.audit_log import keep_up
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.service.queue import Claimed
from aegis.catalog.service.requests import any_due, expire_due
from aegis.catalog.worker.advice import run_advice
from aegis.catalog.worker.verification import Measured, measure_release, remove_unneeded, settle, sweep
from aegis.errors import AegisError, EngineError

_log = logging.getLogger("aegis.worker")
_TOLD_SECONDS = 0.5
_SWEEP_SECONDS = 600.0
_CHECK_SECONDS = 5.0


class LostJobError(Exception):
    """The job was cancelled, or another worker has it; what was done is thrown away."""


class StoppedError(Exception):
    """The worker was told to stop between two steps of its work; another one begins it again."""


class _Heart:
    """Tells the database how far a job is: at most twice a second, and often enough not to be taken for dead."""

    def __init__(self, catalog: Catalog, claimed: Claimed, worker: str, stop: threading.Event) -> None:
        self._catalog, self._claimed, self._worker, self._stop = catalog, claimed, worker, stop
        self._progress, self._stage, self._changed = 0.0, "starting", False
        self._lost = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="aegis-heartbeat", daemon=True)

    def __enter__(self) -> _Heart:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, progress: float, stage: str) -> None:
        """Note the progress; `LostJobError` or `StoppedError` where it is no use to go on."""
        self._progress, self._stage, self._changed = progress, stage, True
        if self._lost.is_set():
            raise LostJobError
        if self._stop.is_set():
            raise StoppedError

    def _beat(self) -> None:
        at_least = min(self._catalog.settings.heartbeat_seconds / 4, 5.0)
        told = time.monotonic()
        while not self._ended.wait(min(_TOLD_SECONDS, at_least)):
            if not self._changed and time.monotonic() - told < at_least:
                continue
            self._changed, told = False, time.monotonic()
            try:
                with self._catalog.write(SYSTEM) as work:
                    mine = queue.heartbeat(
                        work,
                        job_id=self._claimed.id,
                        worker=self._worker,
                        progress=self._progress,
                        stage=self._stage,
                    )
                if not mine:
                    self._lost.set()
                    return
            except AegisError:
                _log.warning("a heartbeat was not written; the next one may be")


def run_worker(catalog: Catalog, stop: threading.Event, *, poll_seconds: float = 0.5, name: str | None = None) -> int:
    """Do jobs until ``stop`` is set; gives how many were done. Expired requests are written down in between."""
    worker = name or new_name()
    done, swept, checked = 0, -_SWEEP_SECONDS, -_CHECK_SECONDS
    while not stop.is_set():
        try:
            if _one(catalog, worker, stop):
                done += 1
                continue
            _expire(catalog)
            if time.monotonic() - checked > _CHECK_SECONDS:
                checked = time.monotonic()
                keep_up(catalog, each_page=lambda: _unless(stop))
            if time.monotonic() - swept > _SWEEP_SECONDS:
                swept = time.monotonic()
                sweep(catalog)
        except AegisError as error:  # the database may be restarting; it is asked again
            _log.warning("the worker waits: %s", error)
        except StoppedError:
            break
        stop.wait(poll_seconds)
    return done


def run_pending(catalog: Catalog, *, name: str | None = None) -> int:
    """Do the jobs that wait now, then come back; for tests and for a demonstration."""
    worker, done = name or new_name(), 0
    while _one(catalog, worker, threading.Event()):
        done += 1
    _expire(catalog)
    keep_up(catalog)
    return done


def new_name() -> str:
    """A name that no other worker has."""
    return f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"


def _unless(stop: threading.Event) -> None:
    if stop.is_set():
        raise StoppedError


def _expire(catalog: Catalog) -> None:
    with catalog.read(SYSTEM) as work:
        due = any_due(work)
    if due:
        with catalog.write(SYSTEM) as work:
            expire_due(work)


def _one(catalog: Catalog, worker: str, stop: threading.Event) -> bool:
    """Do one job; False if none waits."""
    with catalog.read(SYSTEM) as work:
        if not queue.any_waiting(work):
            return False
    with catalog.write(SYSTEM) as work:
        claimed = queue.claim(work, worker=worker)
    if claimed is None:  # somebody was faster
        return False
    if claimed.exhausted:
        _end_badly(
            catalog,
            claimed,
            worker,
            f"the job was tried {claimed.attempt} times and its worker died each time; look at the worker's machine",
        )
        return True
    try:
        _run(catalog, claimed, worker, stop)
    except StoppedError:
        with catalog.write(SYSTEM) as work:
            queue.release_claim(work, job_id=claimed.id, worker=worker)
        return False
    except LostJobError:
        _log.info("job %s is not ours any more", claimed.id)
    except EngineError:
        _log.warning("job %s was interrupted by the database and will be tried again", claimed.id)
    except AegisError as error:
        _end_badly(catalog, claimed, worker, str(error))
    except Exception as error:  # a defect of ours must not end the worker, and its message could hold values
        _log.error("job %s broke off (%s)", claimed.id, type(error).__name__)
        _end_badly(catalog, claimed, worker, f"the job broke off ({type(error).__name__}); tell the administrator")
    return True


def _run(catalog: Catalog, claimed: Claimed, worker: str, stop: threading.Event) -> None:
    unneeded: str | None = None
    with _Heart(catalog, claimed, worker, stop) as heart:
        if claimed.kind == queue.ADVISE:
            result: dict[str, Any] = run_advice(catalog, claimed, heart)
            measured = None
        else:
            measured = measure_release(catalog, claimed, heart)
            result = measured.told
    with catalog.write(SYSTEM) as work:
        if not queue.finish(work, job_id=claimed.id, worker=worker, result=result):
            raise LostJobError
        if measured is not None:
            unneeded = settle(work, claimed, measured)
    if unneeded is not None:
        remove_unneeded(catalog, unneeded)


def _end_badly(catalog: Catalog, claimed: Claimed, worker: str, error: str) -> None:
    unneeded: str | None = None
    with catalog.write(SYSTEM) as work:
        if not queue.fail(work, job_id=claimed.id, worker=worker, error=error):
            return
        if claimed.kind == queue.VERIFY_RELEASE:
            unneeded = settle(work, claimed, Measured(reason=f"it could not be verified: {error}", told={}))
    if unneeded is not None:
        remove_unneeded(catalog, unneeded)

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
from collections.abc import Callable
from functools import partial
from typing import Protocol

from aegis.catalog.service import jobs
from aegis.catalog.service.audit_log import keep_up
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.jobs import Claimed
from aegis.catalog.service.notifications import forget_old
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.service.requests import any_due, database_time, expire_due, notify_expiring
from aegis.catalog.worker.advice import run_advice
from aegis.catalog.worker.verification import Measured, measure_release, remove_unneeded, settle, sweep
from aegis.errors import AegisError, EngineError
from aegis.progress import Progress

_log = logging.getLogger("aegis.worker")
_REPORT_SECONDS = 0.5
_SWEEP_SECONDS = 600.0
_CHECK_SECONDS = 5.0
_CLOCK_SECONDS = 3_600.0
_REMIND_SECONDS = 300.0


class LostJobError(Exception):
    """The job was cancelled, or another worker has it; what was done is thrown away."""


class StoppedError(Exception):
    """The worker was told to stop between two steps of its work; another one begins it again."""


class JobProgress(Progress, Protocol):
    """Called with how far a job is; raises, and can be asked to, where it is no use to go on."""

    def check(self) -> None:
        """Raise where it is no use to go on: cancelled, taken over, or the worker was told to stop."""
        ...


Runner = Callable[[Catalog, Claimed, JobProgress], Measured]
"""Does a job: in this process (`do_job`), or in one with limits (`JobProcess`)."""


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

    def __call__(self, done: int, total: int | None, what: str, /) -> None:
        """Note the progress; `LostJobError` or `StoppedError` where it is no use to go on."""
        self._progress = done / total if total else self._progress
        self._stage, self._changed = what, True
        self.check()

    def check(self) -> None:
        """`LostJobError` or `StoppedError` where it is no use to go on."""
        if self._lost.is_set():
            raise LostJobError
        if self._stop.is_set():
            raise StoppedError

    def _beat(self) -> None:
        at_least = min(self._catalog.settings.heartbeat_seconds / 4, 5.0)
        reported_at = time.monotonic()
        while not self._ended.wait(min(_REPORT_SECONDS, at_least)):
            if not self._changed and time.monotonic() - reported_at < at_least:
                continue
            self._changed, reported_at = False, time.monotonic()
            try:
                with self._catalog.write(SYSTEM) as work:
                    mine = jobs.heartbeat(
                        work, job_id=self._claimed.id, worker=self._worker, progress=self._progress, stage=self._stage
                    )
                if not mine:
                    self._lost.set()
                    return
            except AegisError:
                _log.warning("a heartbeat was not written; the next one may be")


def run_worker(
    catalog: Catalog,
    stop: threading.Event,
    *,
    poll_seconds: float = 0.5,
    name: str | None = None,
    runner: Runner | None = None,
) -> int:
    """Do jobs until ``stop`` is set; gives how many were done. Expired requests are written down in between."""
    worker = name or new_name()
    done, swept, checked, reminded = 0, -_SWEEP_SECONDS, -_CHECK_SECONDS, -_REMIND_SECONDS
    clock = _Clock(catalog)

    def go_on() -> None:
        if stop.is_set():
            raise StoppedError

    while not stop.is_set():
        try:
            if _one(catalog, worker, stop, runner=runner):
                done += 1
                continue
            if clock.agrees():
                _expire(catalog)
                if time.monotonic() - reminded > _REMIND_SECONDS:
                    reminded = time.monotonic()
                    _remind(catalog)
            if time.monotonic() - checked > _CHECK_SECONDS:
                checked = time.monotonic()
                keep_up(catalog, each_page=go_on)
            if time.monotonic() - swept > _SWEEP_SECONDS:
                swept = time.monotonic()
                sweep(catalog)
        except AegisError as error:  # the database may be restarting; it is asked again
            _log.warning("the worker waits: %s", error)
        except StoppedError:
            break
        stop.wait(poll_seconds)
    return done


def run_pending(
    catalog: Catalog, *, name: str | None = None, runner: Runner | None = None, job_id: str | None = None
) -> int:
    """Do the jobs that wait now, or only this one, then come back."""
    worker, done = name or new_name(), 0
    while _one(catalog, worker, threading.Event(), runner=runner, job_id=job_id):
        done += 1
    _expire(catalog)
    _remind(catalog)
    keep_up(catalog)
    return done


def new_name() -> str:
    """A name that no other worker has."""
    return f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"


class _Clock:
    """Whether the time of day went on as the machine's steady clock did since this worker started.

    A clock that was set wrong would end every access at once, for good. While it disagrees, nothing is written down as
    expired; requests are still answered by what counts at that moment.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._offset_s = self._offset()
        self._warned = False

    def _offset(self) -> float:
        return self._catalog.clock().timestamp() - time.monotonic()

    def agrees(self) -> bool:
        with self._catalog.read(SYSTEM) as work:
            database = database_time(work)
        jumped = abs(self._offset() - self._offset_s) > _CLOCK_SECONDS
        apart = abs((self._catalog.clock() - database).total_seconds()) > _CLOCK_SECONDS
        if (jumped or apart) and not self._warned:
            _log.error("the clock of this machine jumped or is not the database's; nothing is written down as expired")
        self._warned = jumped or apart
        return not self._warned


def _expire(catalog: Catalog) -> None:
    with catalog.read(SYSTEM) as work:
        due = any_due(work)
    if due:
        with catalog.write(SYSTEM) as work:
            expire_due(work)


def _remind(catalog: Catalog) -> None:
    with catalog.write(SYSTEM) as work:
        notify_expiring(work)
        forget_old(work)


def _one(
    catalog: Catalog, worker: str, stop: threading.Event, *, runner: Runner | None = None, job_id: str | None = None
) -> bool:
    """Do one job; False if none waits."""
    with catalog.read(SYSTEM) as work:
        if not jobs.any_waiting(work, job_id=job_id):
            return False
    with catalog.write(SYSTEM) as work:
        claimed = jobs.claim(work, worker=worker, job_id=job_id)
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
        _run(catalog, claimed, worker, stop, runner or do_job)
    except StoppedError:
        with catalog.write(SYSTEM) as work:
            jobs.release_claim(work, job_id=claimed.id, worker=worker)
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


def do_job(catalog: Catalog, claimed: Claimed, progress: JobProgress) -> Measured:
    """Do a job in this process."""
    if claimed.kind == jobs.ADVISE:
        return Measured(reason=None, result=run_advice(catalog, claimed, progress))
    return measure_release(catalog, claimed, progress)


def _run(catalog: Catalog, claimed: Claimed, worker: str, stop: threading.Event, runner: Runner) -> None:
    with _Heart(catalog, claimed, worker, stop) as heart:
        measured = runner(catalog, claimed, heart)
    finish = partial(jobs.finish, job_id=claimed.id, worker=worker, result=measured.result)
    if not _ended(catalog, claimed, finish, measured):
        raise LostJobError


def _end_badly(catalog: Catalog, claimed: Claimed, worker: str, error: str) -> None:
    fail = partial(jobs.fail, job_id=claimed.id, worker=worker, error=error)
    _ended(catalog, claimed, fail, Measured(reason=f"it could not be verified: {error}", result={}))


def _ended(catalog: Catalog, claimed: Claimed, end: Callable[[Work], bool], measured: Measured) -> bool:
    """Write down how a job ended, with what that means for a release; False if it is not this worker's any more."""
    unneeded: str | None = None
    with catalog.write(SYSTEM) as work:
        if not end(work):
            return False
        if claimed.kind == jobs.VERIFY_RELEASE:
            unneeded = settle(work, claimed, measured)
    if unneeded is not None:
        remove_unneeded(catalog, unneeded)
    return True

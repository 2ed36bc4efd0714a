"""Jobs in a process of their own, with limits: what a bad file does to it costs one failed job and nothing else.

The process is started when the first job comes and kept for the next. It may take so much memory on top of what it
starts with, so much time for each job, and answer with so many bytes; beyond that, or when the job is cancelled, it is
killed, and the next job gets a fresh one. The database's address travels through the pipe and not on the command line.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from aegis.catalog.records import read, write
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.jobs import Claimed
from aegis.catalog.settings import Settings
from aegis.catalog.worker.loop import JobProgress, do_job
from aegis.catalog.worker.verification import Measured
from aegis.errors import AegisError, EngineError, InputError, TooLargeError

_POLL_SECONDS = 0.2
_START_SECONDS = 120.0
_MIB = 1 << 20


class JobProcess:
    """Does jobs in another process; use it as the runner of a worker."""

    def __init__(self, *, database_url: str, storage: str | Path, settings: Settings) -> None:
        self._start_line = {"database": database_url, "storage": str(storage), "settings": write(Settings, settings)}
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def __call__(self, _catalog: Catalog, claimed: Claimed, progress: JobProgress) -> Measured:
        """Do a job; `TooLargeError` where it needed more than the limits allow."""
        try:
            process = self._alive()
            assert process.stdin is not None
            process.stdin.write(json.dumps(write(Claimed, claimed)).encode() + b"\n")
            process.stdin.flush()
            return self._followed(process, progress)
        except BrokenPipeError:
            ended = self._ended()
            self._kill()
            raise ended from None
        except BaseException:  # cancelled, stopped, or beyond a limit: nothing of it goes on
            self._kill()
            raise

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "aegis.catalog.worker.job_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
                process_group=0,
            )
            self._is_ready = False
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(self._start_line).encode() + b"\n")
        return self._process

    def _followed(self, process: subprocess.Popen[bytes], progress: JobProgress) -> Measured:
        """What the process answers; in between it is asked whether the job is still wanted."""
        assert process.stdout is not None
        # A process that was just started reads its libraries first.
        deadline = time.monotonic() + self._settings.job_seconds + (0 if self._is_ready else _START_SECONDS)
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                progress.check()
                if time.monotonic() > deadline:
                    raise TooLargeError(
                        f"the job took longer than the {self._settings.job_seconds:g} seconds that it may; make the "
                        "table or the summary smaller, or let an administrator raise job_seconds"
                    )
                if not selector.select(_POLL_SECONDS):
                    continue
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise self._ended()
                received += chunk
                if len(received) > self._settings.job_result_bytes:
                    raise TooLargeError("the job made a larger result than is kept; use fewer configurations")
                while (end := received.find(b"\n")) >= 0:
                    message = json.loads(bytes(received[:end]))
                    del received[: end + 1]
                    if "ready" in message:
                        self._is_ready = True
                        deadline = time.monotonic() + self._settings.job_seconds
                        continue
                    if "error" in message:
                        raise (EngineError if message["retry"] else InputError)(message["error"])
                    if "result" in message:
                        return read(Measured, message)
                    progress(message["done"], message["total"], message["what"])

    def _ended(self) -> TooLargeError | EngineError:
        process = self._process
        status = None if process is None else process.wait(timeout=10)
        if not self._is_ready:  # no job was begun: the machine or the database was not there
            return EngineError(f"the process for jobs ended before it was ready (status {status})")
        return TooLargeError(
            f"the job ended its process (status {status}): most likely it needed more than the "
            f"{self._settings.job_memory_bytes // _MIB} MiB of memory that it may have; make the table or the summary "
            "smaller, or let an administrator raise job_memory_bytes"
        )

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # what was still to be written is for nobody any more
                    pipe.close()


class _Reported:
    """The other end of `JobProgress`: what is noted goes through the pipe."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers

    def __call__(self, done: int, total: int | None, what: str, /) -> None:
        self.send({"done": done, "total": total, "what": what})

    def check(self) -> None:
        """Whoever does not want the job any more kills this process."""

    def send(self, message: dict[str, Any]) -> None:
        self._answers.write(json.dumps(message).encode() + b"\n")
        self._answers.flush()


def limit_memory(more_bytes: int) -> None:
    """Let this process take so much memory on top of what it has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _end_with(parent: int) -> None:
    """End this process when its worker is gone, also in the middle of a job."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> int:
    """Do the jobs that come on standard input, one after the other, until it closes."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    report = _Reported(answers)
    start = json.loads(sys.stdin.readline())
    settings = read(Settings, start["settings"])
    try:
        opened = Catalog.open(start["database"], start["storage"], settings=settings, pool_size=2)
    except AegisError as error:  # the database may be restarting; the job that waits is tried again
        report.send({"error": str(error), "retry": isinstance(error, EngineError)})
        return 1
    with opened as catalog:
        limit_memory(settings.job_memory_bytes)
        resource.setrlimit(resource.RLIMIT_FSIZE, (settings.job_file_bytes, settings.job_file_bytes))
        report.send({"ready": True})
        for line in sys.stdin:
            claimed = read(Claimed, json.loads(line))
            try:
                measured = do_job(catalog, claimed, report)
            except AegisError as error:
                report.send({"error": str(error), "retry": isinstance(error, EngineError)})
            except MemoryError:
                return 1  # the parent says what that means, and nothing more is tried in here
            except Exception as error:  # its message may quote a record
                report.send({"error": f"the job broke off ({type(error).__name__})", "retry": False})
            else:
                report.send(write(Measured, measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())

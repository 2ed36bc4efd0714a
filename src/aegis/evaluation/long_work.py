"""Work that takes long: tasks in worker processes, and results that are kept as they come.

Answers are given as they come, and an interruption loses nothing that was finished: a result is one line of JSON, so
that interrupted work goes on where it was.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from aegis.data.output import PRIVATE
from aegis.errors import OptionError, OutputError

Context = TypeVar("Context")
Task = TypeVar("Task")
Answer = TypeVar("Answer")
_worker: list[Any] = []


def available_cores() -> int:
    """How many processes this one may run at full speed."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    work: Callable[[Context, Task], Answer], context: Context, tasks: Sequence[Task], *, jobs: int
) -> Iterator[tuple[Task, Answer]]:
    """``work(context, task)`` for every task, in whatever order they end; ``context`` is sent to each worker once.

    Leaving the loop early begins nothing new. After Ctrl-C what still ends well is given before it is raised again.
    """
    if jobs <= 1 or len(tasks) < 2:
        for task in tasks:
            yield task, work(context, task)
        return
    # A fresh interpreter for each worker: forking a process that holds an engine's threads is not safe.
    workers = min(jobs, len(tasks))
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(work, context)
    )
    waiting: dict[Future[Answer], Task] = {}
    try:
        unsent = list(reversed(tasks))
        while unsent or waiting:
            # No more than are working: a task that lies in the pool's own queue can no longer be called back.
            while unsent and len(waiting) < workers:
                task = unsent.pop()
                waiting[pool.submit(_run_in_worker, task)] = task
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield waiting.pop(future), future.result()
    except BrokenProcessPool:
        raise OptionError(
            "a process that was to work ended by itself: memory ran out, or a script started the work outside "
            'of if __name__ == "__main__"; put it there, or work in one process (--jobs 1)'
        ) from None
    except KeyboardInterrupt:
        pool.shutdown(wait=True, cancel_futures=True)
        for future, task in waiting.items():
            if not future.cancelled() and future.exception() is None:
                yield task, future.result()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(work: Any, context: Any) -> None:
    # Ctrl-C reaches the whole group of processes. An idle worker leaves it to the parent; a busy one is stopped, unless
    # the parent was told to ignore it (nohup, a job in the background).
    busy = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker[:] = [work, context, busy]


def _run_in_worker(task: Any) -> Any:
    work, context, busy = _worker
    signal.signal(signal.SIGINT, busy)
    try:
        return work(context, task)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class ResultCache:
    """Results by key, in memory and, where a path is given, in a file that is only appended to.

    Nobody but its owner can read the file: results are about a table that has not been released. A line that was cut
    off by an interruption is ignored, and the next result starts a new line.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._results: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise OutputError(f"{path.name} cannot be read as a file of results; name another one") from None
        for line in lines:
            try:
                result = json.loads(line)
                self._results[str(result.pop("key"))] = result
            except (json.JSONDecodeError, KeyError, AttributeError):
                continue

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._results[key]

    def holds(self, key: str, *numbers: str) -> bool:
        """Whether a result is there with all these numbers, finite: one from before some was measured has not all."""
        result = self._results.get(key, {})
        return all(isinstance(result.get(name), int | float) and math.isfinite(result[name]) for name in numbers)

    def add(self, key: str, **result: Any) -> None:
        """Keep a result, on disk before anything else happens."""
        self._results[key] = result
        if self._path is None:
            return
        if self._file is None:
            self._file = _opened(self._path)
        self._file.write(json.dumps({"key": key, **result}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; the results stay at hand."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(path: Path) -> IO[str]:
    """The file to append to, at the start of a line."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE), "a", encoding="utf-8")
        path.chmod(PRIVATE)  # one that was there already may have been open to others
    except OSError:
        raise OutputError(f"{path.name} cannot be written; name another place for results") from None
    if cut_off:
        file.write("\n")
    return file

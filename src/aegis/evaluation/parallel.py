"""Tasks in worker processes, answers as they come, and an interruption that loses nothing that was finished."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from aegis.errors import OptionError

Context = TypeVar("Context")
Task = TypeVar("Task")
Answer = TypeVar("Answer")


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


_worker: list[Any] = []


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

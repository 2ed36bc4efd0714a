"""What a long benchmark has measured, kept as it goes, so that a run that was stopped goes on where it ended."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Kept:
    """Measurements by what they are about: one line of JSON for each in a file that git ignores."""

    path: Path
    parts: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> Kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # a run was stopped while it wrote a line
            path.write_text(whole, encoding="utf-8")
        return cls(path, {json.dumps(key): value for key, value in map(json.loads, whole.splitlines())})

    def get(self, key: list[Any], measure: Callable[[], Any]) -> Any:
        """What was measured before, or is now."""
        name = json.dumps(key)
        if name not in self.parts:
            self._put(key, measure())
        return self.parts[name]

    def get_all(self, tasks: Mapping[tuple[Any, ...], Callable[[], Any]], *, jobs: int) -> dict[tuple[Any, ...], Any]:
        """The same of many keys: what is missing is measured in so many processes, and kept as it comes.

        Only this process writes. Every measurement runs in a fresh process with one thread, however many there are, so
        that the number of jobs changes no result.
        """
        missing = {key: measure for key, measure in tasks.items() if json.dumps(list(key)) not in self.parts}
        if missing:
            with _one_thread(), _pool(min(jobs, len(missing))) as pool:
                waiting = {pool.submit(measure): key for key, measure in missing.items()}
                for done in as_completed(waiting):
                    self._put(list(waiting[done]), done.result())
        return {key: self.parts[json.dumps(list(key))] for key in tasks}

    def _put(self, key: list[Any], value: Any) -> None:
        line = json.dumps([key, value])
        self.parts[json.dumps(key)] = json.loads(line)[1]
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(json.dumps(key), value, flush=True)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that are started meanwhile compute in one thread each: sums of several come in another order."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

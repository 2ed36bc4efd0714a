"""F1 scores that are kept as they come, one line of JSON each, so that a comparison goes on where it was."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from aegis.data.output import PRIVATE
from aegis.errors import OutputError


class ScoreCache:
    """Score, feature importance and CPU seconds by key, in memory and, where a path is given, in an appended file.

    A line that was cut off by an interruption is ignored, and the next result starts a new line.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise OutputError(f"{path.name} cannot be read as a file of results; name another folder") from None
        for line in lines:
            try:
                entry = json.loads(line)
                if math.isfinite(entry["f1"]) and entry["cpu_seconds"] >= 0:
                    self._known[str(entry["key"])] = entry
            except (json.JSONDecodeError, KeyError, TypeError):
                continue

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def f1(self, key: str) -> float:
        return float(self._known[key]["f1"])

    def cpu_seconds(self, key: str) -> float:
        return float(self._known[key]["cpu_seconds"])

    def importance(self, key: str) -> dict[str, float]:
        """The weight of each column, where the model says one."""
        return dict(self._known[key].get("importance") or {})

    def add(self, key: str, *, f1: float, importance: dict[str, float] | None, cpu_seconds: float) -> None:
        """Keep a result, on disk before anything else happens."""
        entry = {"key": key, "f1": f1, "importance": importance, "cpu_seconds": cpu_seconds}
        self._known[key] = entry
        if self._path is None:
            return
        if self._file is None:
            self._file = self._open(self._path)
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    @staticmethod
    def _open(path: Path) -> IO[str]:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
            file = path.open("a", encoding="utf-8")
            path.chmod(PRIVATE)
        except OSError:
            raise OutputError(f"{path.name} cannot be written; name another folder of results") from None
        if cut_off:
            file.write("\n")
        return file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

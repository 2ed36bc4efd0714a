"""Results that are kept as they come: one line of JSON each, so that an interrupted evaluation goes on where it was."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from aegis.errors import OutputError
from aegis.evaluation.models import Quality


class ResultCache:
    """Quality and CPU seconds by key, in memory and, where a path is given, in a file that is only appended to.

    A line that was cut off by an interruption is ignored, and the next result starts a new line. So is one that lacks a
    quality, written before that was measured.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, tuple[Quality, float]] = {}
        self._file: IO[str] | None = None
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise OutputError(f"{path.name} cannot be read as a file of results; name another file") from None
        for line in lines:
            try:
                entry = json.loads(line)
                quality = Quality(**{field.name: float(entry[field.name]) for field in fields(Quality)})
                self._known[str(entry["key"])] = quality, float(entry["cpu_seconds"])
            except (json.JSONDecodeError, KeyError, TypeError, ValueError):
                continue

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __getitem__(self, key: str) -> tuple[Quality, float]:
        return self._known[key]

    def add(self, key: str, quality: Quality, *, cpu_seconds: float) -> None:
        """Keep a result, on disk before anything else happens."""
        self._known[key] = quality, cpu_seconds
        if self._path is None:
            return
        if self._file is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                cut_off = self._path.exists() and not self._path.read_bytes().endswith(b"\n")
                self._file = self._path.open("a", encoding="utf-8")
            except OSError:
                raise OutputError(f"{self._path.name} cannot be written; name another file of results") from None
            if cut_off and self._path.stat().st_size:
                self._file.write("\n")
        entry = {"key": key, **asdict(quality), "cpu_seconds": cpu_seconds}
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

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

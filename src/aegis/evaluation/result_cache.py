"""Results that are kept as they come: one line of JSON each, so that interrupted work goes on where it was."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from aegis.data.output import PRIVATE
from aegis.errors import OutputError


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

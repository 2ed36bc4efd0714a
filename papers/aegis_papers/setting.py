"""What a chapter works with: the public data, the size and the seed asked for, and a place for finished parts."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from aegis._version import __version__
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import DataError, OutputError
from aegis_papers.reproduction import Section

Made = TypeVar("Made")
Progress = Callable[[int, int | None, str], None]


def _silent(_done: int, _total: int | None, _what: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How one run is made. ``quick`` asks for a few seconds on data that needs no download.

    ``work`` keeps each finished part, so that a run that was stopped goes on behind its last part.
    """

    chapter: str
    datasets: Path | None = None
    quick: bool = False
    seed: int = 0
    work: Path | None = None
    progress: Progress = _silent
    known: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    asked: list[str] = field(default_factory=list, repr=False)

    @property
    def cpu_seconds(self) -> float:
        """What the parts took, those that an earlier run left included."""
        return sum(float(kept["cpu_seconds"]) for kept in self.known.values())

    def file(self, relative: str) -> Path:
        """A file of the public data, or an error that says how to name the folder that holds it."""
        if self.datasets is None:
            raise DataError(
                f"the public data set {relative} is needed; name the folder that holds it with --datasets or "
                "AEGIS_DATASETS, or use --quick"
            )
        path = self.datasets / relative
        if not path.is_file():
            raise DataError(
                f"{relative} is not in the folder of data sets; download it there or name another folder with "
                "--datasets or AEGIS_DATASETS, or use --quick"
            )
        return path

    def part(self, name: str, work: Callable[[], Any], **parameters: Any) -> Any:
        """What ``work`` gives, a JSON value, computed once and kept under the name and parameters.

        The answer went through JSON also where nothing is kept, so that a run that goes on equals one that did not
        stop: tuples come back as lists, keys as texts.
        """
        key = self._key(name, parameters)
        self.asked.append(key)
        if key not in self.known:
            path = self._path(key)
            kept = None if path is None else _read(path)
            if kept is None:
                started = time.process_time()
                value = work()
                text = json.dumps({"cpu_seconds": time.process_time() - started, "value": value}, allow_nan=True)
                if path is not None:
                    with draft_of(path, overwrite=True, mode=PRIVATE) as draft:
                        draft.write_text(text, encoding="utf-8")
                kept = json.loads(text)
            self.known[key] = kept
        return self.known[key]["value"]

    def timed(self, work: Callable[[], Section]) -> Section:
        """The section that ``work`` makes, with what its parts took, in whichever run they were computed."""
        section, spent = self.spent_on(work)
        return replace(section, cpu_seconds=section.cpu_seconds + spent)

    def spent_on(self, work: Callable[[], Made]) -> tuple[Made, float]:
        """What ``work`` makes, and the CPU seconds of the parts that it asked for."""
        first = len(self.asked)
        made = work()
        return made, sum(float(self.known[key]["cpu_seconds"]) for key in set(self.asked[first:]))

    def kept(self, name: str, **parameters: Any) -> bool:
        """Whether a part waits already, so that nothing has to be computed for it."""
        key = self._key(name, parameters)
        path = self._path(key)
        return key in self.known or (path is not None and _read(path) is not None)

    def _key(self, name: str, parameters: dict[str, Any]) -> str:
        """A file name for a part: what it is, and a hash of all it depends on."""
        data = None if self.datasets is None else str(self.datasets.resolve())
        depends = [__version__, self.chapter, name, parameters, self.seed, self.quick, data]
        digest = hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode()).hexdigest()[:16]
        return f"{self.chapter}-{name.replace('/', '-').replace(' ', '-')}-{digest}"

    def _path(self, key: str) -> Path | None:
        if self.work is None:
            return None
        if self.work.exists() and not self.work.is_dir():
            raise OutputError(f"{self.work} is a file; name a folder for the finished parts")
        return self.work / f"{key}.json"

    def forget(self) -> None:
        """Remove the parts of this chapter."""
        if self.work is not None and self.work.is_dir():
            for path in self.work.glob(f"{self.chapter}-*.json"):
                path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    """A part that was kept; None where there is none, or what is there is not one."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and {"cpu_seconds", "value"} <= set(kept) else None

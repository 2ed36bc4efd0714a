"""What a long benchmark has measured, kept as it goes, so that a run that was stopped goes on where it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kept:
    """Measurements by what they are about: one line of JSON for each in a file that git ignores."""

    path: Path
    parts: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> Kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return cls(path, {json.dumps(key): value for key, value in map(json.loads, lines)})

    def get(self, key: list[Any], measure: Callable[[], Any]) -> Any:
        """What was measured before, or is now."""
        name = json.dumps(key)
        if name not in self.parts:
            self.parts[name] = measure()
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([key, self.parts[name]]) + "\n")
            print(name, self.parts[name], flush=True)
        return self.parts[name]

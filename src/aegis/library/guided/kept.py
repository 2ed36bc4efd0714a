"""What is kept of a comparison between two sittings, so that whoever leaves before the release need not race again.

The file holds counts and masks of the table, so only its owner may read it. It is taken only where nothing that went
into it has changed: the file of the data, roles, policy, settings and version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import InputError
from aegis.library.guided.comparing import Comparison


def comparison_path(project: Path) -> Path:
    """Where the comparison of a project is kept."""
    return project.with_name(f".{project.stem}.comparison.json")


def key_of(source: str, ledger: object, **decided: Any) -> str:
    """What a comparison depends on, as a hash."""
    file = Path(source)
    state: list[Any] = [source]
    if "://" not in source and file.is_file():
        about = file.stat()
        state += [about.st_size, about.st_mtime_ns]
        beside = file.with_name(f"{file.name}.ledger.jsonl")
        state.append(beside.stat().st_size if beside.is_file() else 0)
        found = sorted((file.parent / "hierarchies").glob("*.csv"))
        state.append([[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in found])
    text = json.dumps([__version__, state, str(ledger), decided], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def keep(path: Path, key: str, comparison: Comparison) -> None:
    """Write a comparison for the next sitting."""
    with draft_of(path, overwrite=True, mode=PRIVATE) as draft:
        draft.write_text(json.dumps({"key": key, "comparison": comparison.to_json()}), encoding="utf-8")


def kept(path: Path, key: str) -> Comparison | None:
    """The comparison of the last sitting, if nothing changed since."""
    try:
        content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Comparison.from_json(content["comparison"]) if content["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, StopIteration, InputError):
        return None  # a file of another version, or somebody's edit: the race is run again

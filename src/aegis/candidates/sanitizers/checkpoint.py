"""A training on its way, kept on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.array_file import UNREADABLE, read_arrays, write_arrays
from aegis.data.output import draft_of
from aegis.errors import SanitizerError

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.training_settings import TrainingSettings

FORMAT = "aegis-training-state"
VERSION = 1
Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where a run keeps its state after every epoch; ``run`` tells it from any other run."""

    path: Path
    run: str

    def save(self, state: Arrays, history: Sequence[Arrays]) -> None:
        """Write the state and the figures of all epochs so far, whole or not at all."""
        header = {"format": FORMAT, "version": VERSION, "run": self.run, "epochs": len(history)}
        arrays = {f"state{number}": part for number, part in enumerate(state)}
        for number, parts in enumerate(zip(*history, strict=True)):
            arrays[f"history{number}"] = np.stack(parts)
        with draft_of(self.path, overwrite=True) as draft, draft.open("wb") as stream:
            write_arrays(stream, header, arrays)

    def load(self) -> tuple[list[NDArray[Any]], list[tuple[NDArray[Any], ...]]] | None:
        """State and figures by epoch, or None where there is no file yet."""
        try:
            header, arrays = read_arrays(self.path)
            if (header["format"], header["version"]) != (FORMAT, VERSION):
                raise SanitizerError(f"{self.path.name} is a checkpoint of another version; name a new file")
            state = [arrays[f"state{i}"] for i in range(sum(name.startswith("state") for name in arrays))]
            figures = [arrays[f"history{i}"] for i in range(sum(name.startswith("history") for name in arrays))]
        except FileNotFoundError:
            return None
        except UNREADABLE:
            raise SanitizerError(f"{self.path.name} is not a checkpoint of a training; name a new file") from None
        if header["run"] != self.run:
            raise SanitizerError(
                f"{self.path.name} is a checkpoint of a run with other settings or data; name a new file"
            )
        return state, list(zip(*figures, strict=True))


def check_checkpoint(path: Path) -> None:
    """Refuse a file that no run can go on from, before anything is computed."""
    if path.exists():
        try:
            is_ours = read_arrays(path)[0]["format"] == FORMAT
        except UNREADABLE:
            is_ours = False
        if not is_ours:
            raise SanitizerError(f"{path.name} is not a checkpoint of a training; name a new file")


def run_name(settings: TrainingSettings, *numbers: Any, arrays: Iterable[NDArray[Any]]) -> str:
    """A digest of all that decides what a run computes."""
    plain = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name != "loss"}
    described = json.dumps([plain, getattr(settings.loss, "__qualname__", ""), numbers], default=str)
    digest = hashlib.sha256(described.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()

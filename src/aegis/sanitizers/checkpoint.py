"""A finished training on disk: arrays and a JSON header in one .npz, no pickle."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis.data.output import draft_of
from aegis.errors import SanitizerError

if TYPE_CHECKING:
    from aegis.sanitizers.training import Trained

FORMAT = "aegis-training"
VERSION = 1
_SCALARS = ("center", "scale", "device", "compile_seconds", "train_seconds")
_ARRAYS = ("erasure_share", "distortion_by_epoch", "losses_by_epoch")


def save_training(trained: Trained, path: Path) -> None:
    """Write the checkpoint whole or not at all."""
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "layers": len(trained.layers)}
    header |= {"targets": list(trained.targets), "starts": list(trained.starts)}
    header |= {name: getattr(trained, name) for name in _SCALARS}
    arrays = {name: getattr(trained, name) for name in _ARRAYS}
    for number, (weights, bias) in enumerate(trained.layers):
        arrays |= {f"weights{number}": weights, f"bias{number}": bias}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with draft_of(path, overwrite=True) as draft, draft.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_training(path: Path) -> Trained:
    """Read a checkpoint back."""
    from aegis.sanitizers.training import Trained

    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays["header"].tobytes().decode())
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise SanitizerError(f"{path.name} is a checkpoint of another version; train again")
        return Trained(
            targets=tuple(header["targets"]),
            starts=tuple(header["starts"]),
            layers=tuple((arrays[f"weights{i}"], arrays[f"bias{i}"]) for i in range(header["layers"])),
            **{name: header[name] for name in _SCALARS},
            **{name: arrays[name] for name in _ARRAYS},
        )
    except FileNotFoundError:
        raise SanitizerError(f"there is no checkpoint {path.name}") from None
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError):
        raise SanitizerError(f"{path.name} is not a checkpoint of a training") from None

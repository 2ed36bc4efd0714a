"""A mechanism on disk: one .npz with its arrays and a JSON header, readable without running any code.

Nothing in the file is a pickle. The header names the format's version; a file of another version is refused.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from aegis.errors import OutputError, SanitizerError
from aegis.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.sanitizers.learned import Learned
from aegis.sanitizers.mechanism import CategoryMechanism, Mechanism, NumberMechanism
from aegis.sanitizers.mixtures import Mixture

FORMAT = "aegis-sanitizer"
VERSION = 1


def save(mechanism: Mechanism, path: Path) -> None:
    """Write the model whole or not at all."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "column": mechanism.column}
    if isinstance(mechanism, CategoryMechanism):
        header |= {"kind": "category", "values": list(mechanism.values)}
        arrays["release"] = mechanism.release
    else:
        header |= {"kind": "number", "weights": list(mechanism.mixture.weights)}
        header["components"] = [
            _described(component, index, arrays) for index, component in enumerate(mechanism.mixture.components)
        ]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        os.replace(partial, path)  # noqa: PTH105 - the one call that replaces in a single step on every system
    except OSError:
        partial.unlink(missing_ok=True)
        raise OutputError(f"the model file {path.name} cannot be written; check the folder and its rights") from None


def load(path: Path) -> Mechanism:
    """Read a model back; anything that is not one of this version is refused with a sentence."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays["header"].tobytes().decode())
    except FileNotFoundError:
        raise SanitizerError(f"there is no model file {path.name}") from None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        raise SanitizerError(
            f"{path.name} is not a sanitizer model; write one with 'aegis sanitize … --model'"
        ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise SanitizerError(f"{path.name} is not a sanitizer model; write one with 'aegis sanitize … --model'")
    if header.get("version") != VERSION:
        raise SanitizerError(
            f"{path.name} was written in format {header.get('version')} and this version of Aegis reads {VERSION}; "
            "fit the model again"
        )
    try:
        if header["kind"] == "category":
            return CategoryMechanism(
                column=header["column"], values=tuple(header["values"]), release=_channel(arrays["release"])
            )
        components = tuple(_component(entry, index, arrays) for index, entry in enumerate(header["components"]))
        mixture = Mixture(components=components, weights=tuple(float(w) for w in header["weights"]))
        return NumberMechanism(column=header["column"], mixture=mixture)
    except (KeyError, TypeError, ValueError, IndexError):
        raise SanitizerError(f"the model file {path.name} is damaged; fit the model again") from None


def _channel(table: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    release = table.astype(np.float64)
    if release.ndim != 2 or release.min() < 0 or np.abs(release.sum(axis=1) - 1).max() > 1e-6:
        raise ValueError
    return release


def _described(component: Component, index: int, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    match component:
        case Erasure():
            return {"kind": "erasure"}
        case Noise(std=std):
            return {"kind": "noise", "std": std}
        case Modulo(period=period, blur=blur):
            # JSON has no infinity
            return {"kind": "modulo", "period": None if math.isinf(period) else period, "blur": blur}
        case Learned():
            for layer, (weights, bias) in enumerate(component.layers):
                arrays[f"component{index}_weights{layer}"] = weights
                arrays[f"component{index}_bias{layer}"] = bias
            scalars = {name: getattr(component, name) for name in ("center", "scale", "mean", "std")}
            return {"kind": "learned", "layers": len(component.layers), **scalars}
        case _:
            raise SanitizerError("this kind of component cannot be saved")


def _component(entry: dict[str, Any], index: int, arrays: dict[str, np.ndarray[Any, Any]]) -> Component:
    match entry["kind"]:
        case "erasure":
            return Erasure()
        case "noise":
            return Noise(std=float(entry["std"]))
        case "modulo":
            period = math.inf if entry["period"] is None else float(entry["period"])
            return Modulo(period=period, blur=float(entry["blur"]))
        case "learned":
            layers = tuple(
                (arrays[f"component{index}_weights{layer}"], arrays[f"component{index}_bias{layer}"])
                for layer in range(int(entry["layers"]))
            )
            return Learned(layers=layers, **{name: float(entry[name]) for name in ("center", "scale", "mean", "std")})
        case _:
            raise ValueError

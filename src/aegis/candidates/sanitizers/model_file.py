"""Mechanisms on disk: one .npz with their arrays and a JSON header, readable without running any code.

Nothing in the file is a pickle. The header names the format's version; a file of another version is refused.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.candidates.sanitizers.learned import Learned
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism, NumberMechanism
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.data.output import draft_of
from aegis.errors import SanitizerError

FORMAT = "aegis-sanitizer"
VERSION = 1
Array = np.ndarray[Any, Any]


def save(mechanisms: Mechanism | Sequence[Mechanism], path: Path, *, overwrite: bool = True) -> None:
    """Write the model whole or not at all."""
    with draft_of(path, overwrite=overwrite) as draft:
        write(mechanisms, draft)


def write(mechanisms: Mechanism | Sequence[Mechanism], path: Path) -> None:
    """Write the model to a file that somebody else puts in place."""
    listed = [mechanisms] if isinstance(mechanisms, NumberMechanism | CategoryMechanism) else list(mechanisms)
    arrays: dict[str, Array] = {}
    described = [_described(mechanism, f"mechanism{i}_", arrays) for i, mechanism in enumerate(listed)]
    header = {"format": FORMAT, "version": VERSION, "mechanisms": described}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load(path: Path) -> tuple[Mechanism, ...]:
    """Read a model back; anything that is not one of this version is refused with a sentence."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays["header"].tobytes().decode())
    except FileNotFoundError:
        raise SanitizerError(f"there is no model file {path.name}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError):
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
        made = tuple(_mechanism(entry, f"mechanism{i}_", arrays) for i, entry in enumerate(header["mechanisms"]))
    except (KeyError, TypeError, ValueError, IndexError):
        made = ()
    if not made:
        raise SanitizerError(f"the model file {path.name} is damaged; fit the model again")
    return made


def _described(mechanism: Mechanism, prefix: str, arrays: dict[str, Array]) -> dict[str, Any]:
    if isinstance(mechanism, CategoryMechanism):
        arrays[f"{prefix}release"] = mechanism.release
        return {"column": mechanism.column, "kind": "category", "values": list(mechanism.values)}
    components = [
        _described_component(component, f"{prefix}component{index}_", arrays)
        for index, component in enumerate(mechanism.mixture.components)
    ]
    weights = list(mechanism.mixture.weights)
    return {"column": mechanism.column, "kind": "number", "weights": weights, "components": components}


def _mechanism(entry: dict[str, Any], prefix: str, arrays: dict[str, Array]) -> Mechanism:
    column = entry["column"]
    if not isinstance(column, str):
        raise TypeError
    if entry["kind"] == "category":
        values, release = tuple(str(v) for v in entry["values"]), _channel(arrays[f"{prefix}release"])
        if len(values) != len(release) or list(values) != sorted(set(values)):
            raise ValueError
        return CategoryMechanism(column=column, values=values, release=release)
    components = tuple(
        _component(part, f"{prefix}component{index}_", arrays) for index, part in enumerate(entry["components"])
    )
    mixture = Mixture(components=components, weights=tuple(float(w) for w in entry["weights"]))
    return NumberMechanism(column=column, mixture=mixture)


def _channel(table: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    release = table.astype(np.float64)
    if (
        release.ndim != 2
        or not np.isfinite(release).all()
        or release.min() < 0
        or np.abs(release.sum(axis=1) - 1).max() > 1e-6
    ):
        raise ValueError
    return release


def _described_component(component: Component, prefix: str, arrays: dict[str, Array]) -> dict[str, Any]:
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
                arrays[f"{prefix}weights{layer}"] = weights
                arrays[f"{prefix}bias{layer}"] = bias
            scalars = {name: getattr(component, name) for name in ("center", "scale", "mean", "std")}
            return {"kind": "learned", "layers": len(component.layers), **scalars}
        case _:
            raise SanitizerError("this kind of component cannot be saved")


def _component(entry: dict[str, Any], prefix: str, arrays: dict[str, Array]) -> Component:
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
                (arrays[f"{prefix}weights{layer}"], arrays[f"{prefix}bias{layer}"])
                for layer in range(int(entry["layers"]))
            )
            return Learned(layers=layers, **{name: float(entry[name]) for name in ("center", "scale", "mean", "std")})
        case _:
            raise ValueError

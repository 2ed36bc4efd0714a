"""A mechanism for a column of a table: applied to rows, old or new, and kept on disk. It sees the private column alone.

A model is one file of arrays with a JSON header (.npz), readable without running any code: nothing in it is a pickle.
The header names the format's version; a file of another version is refused.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import with_flags
from aegis.candidates.sanitizers.components import Component, Erasure, Learned, Modulo, Noise
from aegis.candidates.sanitizers.encoding import Columns, Parts, Ranges, refuse_missing
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.errors import SanitizerError

Array = NDArray[Any]
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, EOFError)
"""What reading such a file raises, or its content, where it is another file or a damaged one."""
FORMAT = "aegis-sanitizer"
VERSION = 3  # 1 knew no recipients, and its components might have no width at all; 2 knew one authorised group


def write_arrays(stream: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write the arrays, and the header among them."""
    described = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, **arrays, header=described)


def read_arrays(path: Path) -> tuple[Any, dict[str, Array]]:
    """The header and the arrays; raises FileNotFoundError, or one of `UNREADABLE`."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays["header"].tobytes().decode()), arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberMechanism:
    """A mixture of plain releases of a number, in the column's own unit."""

    column: str
    mixture: Mixture

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The names of what `apply` gives."""
        return (f"{self.column}_released", *([f"{self.column}_component"] if len(self.mixture.components) > 1 else []))

    @property
    def silent(self) -> tuple[int, ...]:
        """The components that release nothing; their value is a blank."""
        return tuple(i for i, part in enumerate(self.mixture.components) if isinstance(part, Erasure))

    def apply(self, private: NDArray[Any], *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The sanitized columns: what was released, and which component released it."""
        values = numbers(private, self.column)
        released = self.mixture.release(values, rng=rng)
        result: dict[str, NDArray[Any]] = {f"{self.column}_released": released.value}
        if len(self.mixture.components) > 1:
            result[f"{self.column}_component"] = released.component
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMechanism:
    """A table P(symbol | value) for a column with few values, or for the tuples of several columns (``parts``).

    ``ranges`` are those of numbers among the parts: `joined` makes tuples of rows with them.
    """

    column: str
    values: tuple[str, ...] = field(repr=False)
    release: Floats
    parts: tuple[str, ...] = ()
    ranges: Parts = ()

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The names of what `apply` gives."""
        return (f"{self.column}_released",)

    def apply(self, private: NDArray[Any], *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The sanitized column: one symbol for each row."""
        refuse_missing(private, name=self.column)
        codes = np.searchsorted(np.array(self.values), private.astype(str))
        codes = np.clip(codes, 0, len(self.values) - 1)
        unknown = int((np.array(self.values)[codes] != private.astype(str)).sum())
        if unknown:
            raise SanitizerError(
                f"{unknown} rows of column '{self.column}' hold values that the model has not seen; fit it again"
            )
        symbols = draw_symbols(self.release, codes, rng)
        return {f"{self.column}_released": np.array([f"s{i}" for i in range(self.release.shape[1])])[symbols]}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinMechanism:
    """A table P(symbol | bin) for a number: ``edges`` divide its values into bins."""

    column: str
    edges: Floats = field(repr=False)
    release: Floats

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The names of what `apply` gives."""
        return (f"{self.column}_released",)

    def bins(self, values: Floats) -> Ints:
        """The bin of every value."""
        return np.searchsorted(self.edges, values, side="right")

    def apply(self, private: NDArray[Any], *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The sanitized column: one symbol for each row."""
        symbols = draw_symbols(self.release, self.bins(numbers(private, self.column)), rng)
        return {f"{self.column}_released": np.array([f"s{i}" for i in range(self.release.shape[1])])[symbols]}


Mechanism = NumberMechanism | CategoryMechanism | BinMechanism


def ranges_in(mechanism: Mechanism) -> Parts:
    """The ranges of the columns that a mechanism replaces; None for each that has none."""
    ranges = mechanism.ranges if isinstance(mechanism, CategoryMechanism) else ()
    return ranges or (None,) * len(sources(mechanism))


def sources(mechanism: Mechanism) -> tuple[str, ...]:
    """The private columns that a mechanism replaces."""
    parts = mechanism.parts if isinstance(mechanism, CategoryMechanism) else ()
    return parts or (mechanism.column,)


def numbers(values: NDArray[Any], column: str) -> Floats:
    if values.dtype.kind not in "iuf":
        raise SanitizerError(f"column '{column}' holds text where the model expects numbers")
    refuse_missing(values, name=column)
    return values.astype(np.float64)


def draw_symbols(release: Floats, codes: Ints, rng: np.random.Generator) -> Ints:
    """A symbol for each code, drawn with the probabilities of its row of ``release``."""
    steps = np.cumsum(release, axis=1)
    steps[:, -1] = 1.0
    return np.asarray((rng.random(len(codes))[:, None] > steps[codes]).sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Mechanisms for a table, and which of its other columns go to the public and to each authorised group."""

    mechanisms: tuple[Mechanism, ...]
    public: tuple[str, ...] = ()
    authorized: tuple[tuple[str, ...], ...] = ((),)


def write_model(model: Model, path: Path) -> None:
    """Write the model to a file that somebody else puts in place."""
    arrays: dict[str, Array] = {}
    described = [
        describe_mechanism(mechanism, f"mechanism{i}_", arrays) for i, mechanism in enumerate(model.mechanisms)
    ]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "mechanisms": described,
        "public": list(model.public),
        "authorized": [list(group) for group in model.authorized],
    }
    with path.open("wb") as stream:
        write_arrays(stream, header, arrays)


def load_model(path: Path) -> Model:
    """Read a model back; anything that is not one of this version is refused with a sentence."""
    other = SanitizerError(f"{path.name} is not a sanitizer model; write one with 'aegis sanitize … --model'")
    try:
        header, arrays = read_arrays(path)
    except FileNotFoundError:
        raise SanitizerError(f"there is no model file {path.name}") from None
    except UNREADABLE:
        raise other from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise other
    if header.get("version") != VERSION:
        raise SanitizerError(
            f"{path.name} was written in format {header.get('version')} and this version of Aegis reads {VERSION}; "
            "fit the model again"
        )
    try:
        mechanisms = tuple(
            mechanism_from(entry, f"mechanism{i}_", arrays) for i, entry in enumerate(header["mechanisms"])
        )
        public = tuple(str(name) for name in header["public"])
        authorized = tuple(tuple(str(name) for name in group) for group in header["authorized"])
    except (KeyError, TypeError, ValueError, IndexError):
        mechanisms, authorized = (), ()
    if not mechanisms or not authorized:
        raise SanitizerError(f"the model file {path.name} is damaged; fit the model again")
    return Model(mechanisms=mechanisms, public=public, authorized=authorized)


def describe_mechanism(mechanism: Mechanism, prefix: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """A mechanism as JSON; its arrays go to ``arrays`` under names that begin with ``prefix``."""
    if isinstance(mechanism, CategoryMechanism):
        arrays[f"{prefix}release"] = mechanism.release
        return {
            "column": mechanism.column,
            "kind": "category",
            "values": list(mechanism.values),
            "parts": list(mechanism.parts),
            "ranges": [
                None if cuts is None else {"edges": list(cuts.edges), "means": list(cuts.means)}
                for cuts in mechanism.ranges
            ],
        }
    if isinstance(mechanism, BinMechanism):
        arrays[f"{prefix}release"], arrays[f"{prefix}edges"] = mechanism.release, mechanism.edges
        return {"column": mechanism.column, "kind": "bins"}
    components = [
        _described_component(component, f"{prefix}component{index}_", arrays)
        for index, component in enumerate(mechanism.mixture.components)
    ]
    weights = list(mechanism.mixture.weights)
    return {"column": mechanism.column, "kind": "number", "weights": weights, "components": components}


def mechanism_from(entry: dict[str, Any], prefix: str, arrays: dict[str, Array]) -> Mechanism:
    """A mechanism from what `describe_mechanism` gave; a damaged entry raises a ValueError, KeyError or TypeError."""
    column = entry["column"]
    if not isinstance(column, str):
        raise TypeError
    if entry["kind"] == "category":
        values, release = tuple(str(v) for v in entry["values"]), _channel(arrays[f"{prefix}release"])
        if len(values) != len(release) or list(values) != sorted(set(values)):
            raise ValueError
        parts = tuple(str(part) for part in entry.get("parts", ()))
        ranges = tuple(
            None
            if cuts is None
            else Ranges(edges=tuple(map(float, cuts["edges"])), means=tuple(map(float, cuts["means"])))
            for cuts in entry.get("ranges", ())
        )
        if ranges and len(ranges) != len(parts):
            raise ValueError
        return CategoryMechanism(column=column, values=values, release=release, parts=parts, ranges=ranges)
    if entry["kind"] == "bins":
        edges, release = arrays[f"{prefix}edges"].astype(np.float64), _channel(arrays[f"{prefix}release"])
        if edges.ndim != 1 or len(release) != edges.size + 1 or not (np.diff(edges) > 0).all():
            raise ValueError
        return BinMechanism(column=column, edges=edges, release=release)
    components = tuple(
        _component(part, f"{prefix}component{index}_", arrays) for index, part in enumerate(entry["components"])
    )
    mixture = Mixture(components=components, weights=tuple(float(w) for w in entry["weights"]))
    return NumberMechanism(column=column, mixture=mixture)


def _channel(table: Array) -> Floats:
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


def symbol_matrix(mechanism: CategoryMechanism | BinMechanism, symbols: Ints) -> Floats:
    """Symbols as numbers: the code and, for a number, one flag for each symbol, as a mixture has them."""
    if isinstance(mechanism, CategoryMechanism):
        return symbols[:, None].astype(np.float64)
    return with_flags(symbols.astype(np.float64), symbols, mechanism.release.shape[1])


def as_side(released: Columns) -> dict[str, NDArray[Any]]:
    """A release as columns that others see; which component was drawn is a name, not a number."""
    return {name: part if part.dtype.kind == "f" else part.astype(str) for name, part in released.items()}


def release_matrix(mechanism: Mechanism, released: Columns) -> Floats:
    """A release as numbers: the code of a symbol, or a value with one flag for each component."""
    first = released[mechanism.released_columns[0]]
    if isinstance(mechanism, CategoryMechanism | BinMechanism):
        return symbol_matrix(mechanism, np.array([int(str(symbol)[1:]) for symbol in first]))
    component = np.zeros(len(first), dtype=np.int64)
    if len(mechanism.released_columns) > 1:
        component = released[mechanism.released_columns[1]].astype(np.int64)
    return with_flags(np.nan_to_num(first.astype(np.float64)), component, len(mechanism.mixture.weights))


def true_values(mechanism: Mechanism, values: NDArray[Any]) -> Floats:
    """The private values as numbers: themselves, or the codes of categories."""
    if not isinstance(mechanism, CategoryMechanism):
        return numbers(values, mechanism.column)
    return np.searchsorted(np.array(mechanism.values), values.astype(str)).astype(np.float64)

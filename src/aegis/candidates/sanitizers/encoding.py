"""Side information of a table as numbers: what an attacker or a reconstructor can work with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.errors import SanitizerError

Floats = NDArray[np.float64]
_LEVELS = 24  # the commonest categories of a column get an indicator each; the rest share a place in the alphabet


def encode_side(columns: Mapping[str, NDArray[Any]], *, rows: int, party: str) -> Floats:
    """One matrix from columns: numbers standardised, categories as indicators.

    >>> encode_side({"age": np.array([1.0, 3.0]), "job": np.array(["a", "b"])}, rows=2, party="authorized").shape
    (2, 3)
    """
    blocks: list[Floats] = []
    for name, values in columns.items():
        if values.shape != (rows,):
            raise SanitizerError(f"column '{name}' of the {party} side information needs one value for each row")
        refuse_missing(values, name=name)
        if values.dtype.kind in "iuf":
            numbers = values.astype(np.float64)
            blocks.append(((numbers - numbers.mean()) / (numbers.std() or 1.0))[:, None])
        else:
            text = values.astype(str)
            levels, counts = np.unique(text, return_counts=True)
            kept = levels[np.argsort(-counts, kind="stable")[:_LEVELS]]
            blocks.append((text[:, None] == kept[None, :]).astype(np.float64))
            if levels.size > _LEVELS:
                # codes such as zip codes mean something in their order, and trees can cut it anywhere
                place = np.searchsorted(levels, text).astype(np.float64)
                blocks.append(((place - place.mean()) / (place.std() or 1.0))[:, None])
    return np.hstack(blocks) if blocks else np.zeros((rows, 0))


def refuse_missing(values: NDArray[Any], *, name: str) -> None:
    """Missing values have no place in a release; say which column holds them and how many."""
    if values.dtype.kind == "f":
        missing = int((~np.isfinite(values)).sum())
    elif values.dtype.kind == "O":
        missing = int(sum(v is None or v != v for v in values))
    else:
        missing = 0
    if missing:
        raise SanitizerError(f"column '{name}' has {missing} missing values; drop or fill those rows first")


def refuse_copies(private: NDArray[Any], columns: Mapping[str, NDArray[Any]], *, name: str) -> None:
    """Side information that determines the private column leaves nothing to protect."""
    codes = np.unique(private.astype(str), return_inverse=True)[1]
    distinct = int(codes.max()) + 1
    for side, values in columns.items():
        levels, inverse = np.unique(values.astype(str), return_inverse=True)
        if 10 * levels.size <= len(private):
            # every value repeats often enough for "one private value each" to mean something
            same = np.unique(inverse.astype(np.int64) * distinct + codes).size == levels.size
        else:
            # values that hardly repeat: a copy up to a monotone change of scale has the same order of rows
            same = values.dtype.kind in "iuf" and private.dtype.kind in "iuf" and _same_order(values, private)
        if same:
            raise SanitizerError(
                f"column '{side}' determines the private column '{name}'; leave it out of the side information"
            )


def _same_order(first: NDArray[Any], second: NDArray[Any]) -> bool:
    one, other = (np.unique(values, return_inverse=True)[1].astype(np.float64) for values in (first, second))
    if min(one.max(), other.max()) == 0:
        return False
    return abs(float(np.corrcoef(one, other)[0, 1])) > 1 - 1e-9

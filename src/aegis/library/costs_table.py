"""A table of what guesses of a category cost, as people write it: true values down, guesses across."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.errors import SanitizerError


def read_costs(path: Path, values: NDArray[Any], *, column: str) -> NDArray[np.float64]:
    """The costs of a .csv file in the order of the column's values; what is wrong with it is a `SanitizerError`.

    The first line names the guesses, the first cell of every other line a true value. Values that the column does not
    have are passed over.
    """
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            lines = [line for line in csv.reader(stream) if line]
    except (OSError, UnicodeDecodeError):
        raise SanitizerError(f"{path.name} cannot be read; the costs are a .csv file") from None
    guesses = lines[0][1:] if lines else []
    if not guesses or any(len(line) != len(guesses) + 1 for line in lines) or len(set(guesses)) < len(guesses):
        raise SanitizerError(f"{path.name} is to have a line of guesses, each once, and a line of costs for each value")
    costs = {line[0]: dict(zip(guesses, line[1:], strict=True)) for line in lines[1:]}
    wanted = [str(value) for value in np.unique(values.astype(str))]
    absent = [value for value in wanted if value not in costs or value not in guesses]
    if absent:
        raise SanitizerError(
            f"{path.name} misses {len(absent)} of the {len(wanted)} values of column '{column}' among its lines or its "
            "guesses"
        )
    try:
        matrix = np.array([[float(costs[value][guess]) for guess in wanted] for value in wanted])
    except ValueError:
        raise SanitizerError(f"{path.name} holds costs that are no numbers") from None
    if not all(math.isfinite(cost) and cost >= 0 for cost in matrix.ravel()) or matrix.max() == 0:
        raise SanitizerError(f"costs in {path.name} are numbers from zero up, and not all zero")
    if np.diag(matrix).any():
        raise SanitizerError(f"a right guess costs nothing; {path.name} has another number where both names are equal")
    return matrix

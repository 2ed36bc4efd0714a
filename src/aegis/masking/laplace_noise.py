"""Add Laplace noise to a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.masking.mask import MASKS, Draw
from aegis.masking.noise import NoiseMask

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("add_laplace_noise")
@dataclass(frozen=True, slots=True, kw_only=True)
class AddLaplaceNoise(NoiseMask):
    """Add Laplace noise of this ``scale``, round to a multiple of ``step`` and clamp to ``[low, high]``.

    The step is 1 for whole numbers and about a hundredth to a thousandth of the spread otherwise, the ends are those
    of the column, unless given.

    >>> AddLaplaceNoise(scale=5).describe()
    'Laplace noise of scale 5'
    """

    name: ClassVar[str] = "add_laplace_noise"
    draws: ClassVar[int] = 1
    example: ClassVar[tuple[str, str]] = ("43", "41")
    example_parameters: ClassVar[Mapping[str, Any]] = {"scale": 5}

    def below(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = np.exp(-np.abs(distance)) / 2
        return np.where(distance < 0, tail, 1 - tail)

    def noise(self, draw: Draw) -> ir.Column:
        centred = draw() - 0.5
        left = 1 - 2 * centred.abs()
        size = -(left > 1e-15).ifelse(left, 1e-15).ln()
        return (centred < 0).ifelse(-size, size)

    def describe(self) -> str:
        return f"Laplace noise of scale {self.scale:g}"

"""Add Gaussian noise to a number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.masking.mask import MASKS, Draw
from aegis.masking.noise import NoiseMask

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("add_gaussian_noise")
@dataclass(frozen=True, slots=True, kw_only=True)
class AddGaussianNoise(NoiseMask):
    """Add Gaussian noise with standard deviation ``scale``, round to a multiple of ``step``, clamp to ``[low, high]``.

    The step is 1 for whole numbers and about a hundredth to a thousandth of the spread otherwise, the ends are those
    of the column, unless given.

    >>> AddGaussianNoise(scale=5).describe()
    'Gaussian noise of standard deviation 5'
    """

    name: ClassVar[str] = "add_gaussian_noise"
    draws: ClassVar[int] = 2
    example: ClassVar[tuple[str, str]] = ("43", "46")
    example_parameters: ClassVar[Mapping[str, Any]] = {"scale": 5}

    def below(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import ndtr  # slow to import, and most configurations draw no noise

        return np.asarray(ndtr(distance))

    def noise(self, draw: Draw) -> ir.Column:
        # Box and Muller: a random radius and a random angle.
        left = 1 - draw()
        radius = (-2 * (left > 1e-15).ifelse(left, 1e-15).ln()).sqrt()
        return radius * (draw() * (2 * math.pi)).cos()

    def describe(self) -> str:
        return f"Gaussian noise of standard deviation {self.scale:g}"

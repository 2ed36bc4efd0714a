"""Add Laplace or Gaussian noise to a number, with a step and ends so that each outcome has a known probability."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import NUMBERS, Kind
from aegis.errors import MaskError
from aegis.masking.grid import Grid, round_ends, without_few
from aegis.masking.mask import MASKS, Draw, RandomMask, as_number, is_multiple
from aegis.masking.parameter import Number, Rule
from aegis.masking.transition import Channel

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_OUTCOMES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseMask(RandomMask):
    """Add noise, round to the nearest multiple of ``step``, clamp to ``[low, high]``."""

    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    rules: ClassVar[Mapping[str, Rule]] = {
        "scale": Number(above=0),
        "step": Number(above=0),
        "low": Number(),
        "high": Number(),
    }

    scale: float
    step: float | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        RandomMask.__post_init__(self)
        if self.step is not None:
            Grid.of(width=self.step, half_steps=True)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise MaskError(f"mask {self.name!r}: low must not be above high")

    @abstractmethod
    def below(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that noise of scale one is below each distance."""

    @abstractmethod
    def noise(self, draw: Draw) -> ir.Column:
        """Noise of scale one, in an engine."""

    def kind_after(self, kind: Kind) -> Kind:
        whole = self.step is None or float(self.step).is_integer()
        return Kind.INTEGER if kind is Kind.INTEGER and whole else Kind.REAL

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Self:
        """With the step and the ends read off the column."""
        values = domain.values
        # Noise that is clamped to the column's own ends piles up there, and tells the least and the greatest value.
        smallest, largest = round_ends(without_few(values, counts)) if len(values) else (0.0, 0.0)
        step = self.step
        if step is None:
            step = 1 if domain.kind is Kind.INTEGER else _fine_step(largest - smallest)
        low = _snapped(smallest if self.high is None else min(smallest, self.high), step, math.floor)
        high = _snapped(largest if self.low is None else max(largest, self.low), step, math.ceil)
        return type(self)(
            scale=self.scale,
            step=step,
            low=low if self.low is None else self.low,
            high=high if self.high is None else self.high,
        )

    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        resolved = self.resolve(domain, counts)
        kind = self.kind_after(domain.kind)
        units, per_unit = resolved._outcomes()
        twice = Grid.of(width=resolved.step or 1, half_steps=True).scale * 2
        middles = units * per_unit  # outcomes times `twice`, exact
        outcomes = middles // twice if kind is Kind.INTEGER else middles / twice
        cuts = (middles[:-1] + per_unit / 2) / twice
        reached = resolved.below((cuts[None, :] - domain.values[:, None].astype(np.float64)) / self.scale)
        ends = np.ones((len(reached), 1))
        matrix = np.diff(np.hstack([0 * ends, reached, ends]), axis=1)
        target = Domain(kind=kind, values=outcomes.astype(kind.dtype), missing=domain.missing)
        if domain.missing:
            matrix = np.pad(matrix, ((0, 1), (0, 1)))
            matrix[-1, -1] = 1.0
        return Channel(matrix=np.maximum(matrix, 0.0), target=target)

    def expression(self, column: ir.Column, kind: Kind, draw: Draw) -> ir.Column:
        grid = Grid.of(width=self.step or 1, half_steps=True)
        units, per_unit = self._outcomes()
        noisy = column.cast("float64") + self.noise(draw) * self.scale
        # Noise hits the boundary between two outcomes with probability zero, so plain arithmetic will do.
        unit = (noisy / (self.step or 1) + 0.5).floor().cast("int64").clip(lower=int(units[0]), upper=int(units[-1]))
        if self.kind_after(kind) is Kind.INTEGER:
            return unit * (per_unit // (2 * grid.scale))
        return (unit * per_unit).cast("float64") / (2 * grid.scale)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [self._is_outcome(as_number(text)) for text in texts]

    def _is_outcome(self, number: float | None) -> bool:
        if number is None or (self.low is not None and number < self.low):
            return False
        if self.high is not None and number > self.high:
            return False
        return self.step is None or is_multiple(number, self.step)

    def _outcomes(self) -> tuple[NDArray[np.int64], int]:
        """Which multiples of the step lie between the ends; and the step times twice the grid's scale."""
        if self.step is None or self.low is None or self.high is None:
            raise MaskError(f"mask {self.name!r} must be resolved on a column first")
        step = _exact(self.step)
        first, last = math.ceil(_exact(self.low) / step), math.floor(_exact(self.high) / step)
        if not 0 <= last - first < _MOST_OUTCOMES:
            raise MaskError(
                f"mask {self.name!r}: between low and high must lie 1 to {_MOST_OUTCOMES} multiples of the step"
            )
        grid = Grid.of(width=self.step, half_steps=True)
        return np.arange(first, last + 1), 2 * grid.width


@MASKS.register("add_laplace_noise")
@dataclass(frozen=True, slots=True, kw_only=True)
class AddLaplaceNoise(NoiseMask):
    """Add Laplace noise of this ``scale``, round to a multiple of ``step`` and clamp to ``[low, high]``.

    The step is 1 for whole numbers and about a hundredth to a thousandth of the spread otherwise, the ends are
    round numbers beyond which a few records lie at most, unless given.

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


@MASKS.register("add_gaussian_noise")
@dataclass(frozen=True, slots=True, kw_only=True)
class AddGaussianNoise(NoiseMask):
    """Add Gaussian noise with standard deviation ``scale``, round to a multiple of ``step``, clamp to ``[low, high]``.

    The step is 1 for whole numbers and about a hundredth to a thousandth of the spread otherwise, the ends are
    round numbers beyond which a few records lie at most, unless given.

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


def _exact(number: float) -> Fraction:
    return Fraction(str(number))


def _snapped(number: float, step: float, rounding: Any) -> float:
    exact = rounding(_exact(number) / _exact(step)) * _exact(step)
    return int(exact) if exact.denominator == 1 else float(exact)


def _fine_step(spread: float) -> float:
    """A power of ten that cuts the spread into 100 to 1,000 steps."""
    return float(10.0 ** (math.floor(math.log10(spread)) - 2)) if spread > 0 else 1.0

"""From numbers to positions, and round numbers to write beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


def nice_step(span: float, most: int, *, smallest: float = 0.0, whole: bool = False) -> float:
    """The smallest round step, not below ``smallest``, that needs at most ``most`` steps for ``span``.

    >>> nice_step(87, 40), nice_step(87, 40, whole=True), nice_step(0.7, 5), nice_step(3, 40, smallest=1)
    (2.5, 5.0, 0.2, 1.0)
    """
    if not span > 0:
        return smallest or 1.0
    least = max(span / most, smallest, 1.0 if whole else 0.0)
    exponent = math.floor(math.log10(least))
    for factor in _ROUND:
        step = float(f"{factor * 10.0**exponent:.12g}")  # 0.30000000000000004 is nobody's step
        if step >= least * (1 - 1e-9) and not (whole and step != round(step)):
            return step
    return float(f"{10.0 ** (exponent + 1):.12g}")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from ``low`` to ``high``.

    >>> ticks(-0.03, 0.21, 5)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    step = nice_step(high - low, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") + 0.0 for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick as people write it.

    >>> tick_text(0.05), tick_text(20000.0), tick_text(-3.0), tick_text(1e-7)
    ('0.05', '20,000', '−3', '1e-07')
    """
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.6g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A straight scale: ``low`` lies at ``start``, ``high`` at ``end``.

    >>> Linear(low=0, high=10, start=100, end=200)(2.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        share = 0.5 if span <= 0 else (value - self.low) / span
        return self.start + (self.end - self.start) * share

    def marks(self, most: int = 6) -> list[float]:
        """Round numbers to write beside it."""
        return ticks(self.low, self.high, most)

    @classmethod
    def covering(
        cls, values: list[float], *, start: float, end: float, pad: float = 0.04, zero: bool = False
    ) -> Linear:
        """A scale for all finite ``values``, with some air at both ends; with ``zero`` it starts there."""
        finite = np.array([value for value in values if math.isfinite(value)] or [0.0])
        low, high = float(finite.min()), float(finite.max())
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        span = high - low or abs(high) or 1.0
        below = 0.0 if zero and low == 0 else pad * span
        return cls(low=low - below, high=high + pad * span, start=start, end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logarithmic:
    """A scale of equal ratios; what is not positive has no place on it.

    >>> scale = Logarithmic(low=1, high=100, start=0, end=200)
    >>> scale(10), scale(0), scale.marks(3)
    (100.0, nan, [1.0, 10.0, 100.0])
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if not value > 0:
            return math.nan
        span = math.log10(self.high / self.low)
        share = 0.5 if span <= 0 else math.log10(value / self.low) / span
        return self.start + (self.end - self.start) * share

    def marks(self, most: int = 6) -> list[float]:
        """Powers of ten, some of them where they are many, and 1, 2, 5 where they are few."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        step = max(-(-(last - first + 1) // most), 1)
        marks = [float(f"1e{exponent}") for exponent in range(first, last + 1, step)]
        if len(marks) < 3:
            fine = [float(f"{digit}e{exponent}") for exponent in range(first - 1, last + 1) for digit in (1, 2, 5)]
            marks = [value for value in fine if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
        return marks

    @classmethod
    def covering(cls, values: list[float], *, start: float, end: float, pad: float = 0.04) -> Logarithmic:
        """A scale for all positive ``values``, with some air at both ends."""
        positive = [value for value in values if math.isfinite(value) and value > 0] or [1.0]
        air = max(max(positive) / min(positive), 2.0) ** pad
        return cls(low=min(positive) / air, high=max(positive) * air, start=start, end=end)


Scale = Linear | Logarithmic


def covering(values: list[float], *, start: float, end: float, zero: bool, log: bool) -> Scale:
    """A scale for ``values``: of equal ratios, or straight, then with ``zero`` on it where asked."""
    if log:
        return Logarithmic.covering(values, start=start, end=end)
    return Linear.covering(values, start=start, end=end, zero=zero)

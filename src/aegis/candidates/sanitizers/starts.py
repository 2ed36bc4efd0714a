"""Where training starts: privatizers that already fold the line, written as weights of the same small network.

A one-hidden-layer ReLU network is a piecewise linear function of (x, r), so a triangle wave, a steep sawtooth and
plain noise are all among its weights. Gradient descent from random weights finds the fold only sometimes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from aegis.arrays import Floats
from aegis.candidates.sanitizers.components import Modulo
from aegis.errors import SanitizerError

Start = Literal["random", "noise", "fold", "modulo"]
STARTS: tuple[Start, ...] = ("modulo", "fold", "noise", "random")
_SPAN = 4.5  # folds are laid this many standard deviations to either side


def period_for(distortion: float, variance: float) -> float:
    """The period at which ``X mod period`` leaves an observer with this ``variance`` exactly ``distortion``."""
    deviation = math.sqrt(variance)
    low, high = 0.05 * deviation, 14.0 * deviation

    def gap(period: float) -> float:
        return Modulo(period=period).loss(variance) - distortion

    if gap(high) >= 0:
        return high
    if gap(low) <= 0:
        return low
    return float(brentq(gap, low, high, xtol=1e-3 * deviation))


def start_weights(
    start: Start, *, hidden: int, period: float, noise: float, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Two layers (weights, bias) of a privatizer of (x, r) with standardised x."""
    if start == "random":
        return _random(hidden, rng)
    layers = _random(hidden, rng)
    # units beyond the structure stay small, so that training can use them
    first, bias = layers[0][0].copy(), layers[0][1].copy()
    last = 0.02 * layers[1][0]
    pieces = _pieces(start, period, float(rng.uniform(0, period)))
    # the noise passes through one unit that is linear over its whole range
    pieces.append((0.0, 1.0, 6.0, noise))
    if len(pieces) > hidden:
        raise SanitizerError("the privatizer has too few hidden units for so many folds; raise 'hidden'")
    for unit, (of_x, of_r, shift, out) in enumerate(pieces):
        first[:, unit] = (of_x, of_r)
        bias[unit] = shift
        last[unit, 0] = out
    return [(first, bias), (last, np.zeros(1))]


def _pieces(start: Start, period: float, phase: float) -> list[tuple[float, float, float, float]]:
    """Hidden units as (weight of x, weight of r, bias, output weight)."""
    base = (1.0, 0.0, _SPAN + 1.0, 1.0)
    if start == "noise":
        return [base]
    joints = np.arange(-_SPAN + phase % period, _SPAN, period)
    if start == "fold":
        joints = np.arange(-_SPAN + phase % (period / 2), _SPAN, period / 2)
        signs = -2.0 * (-1.0) ** np.arange(joints.size)
        return [base, *((1.0, 0.0, -float(j), float(s)) for j, s in zip(joints, signs, strict=True))]
    steep = 60.0 / period
    pieces: list[tuple[float, float, float, float]] = [base]
    for joint in joints:
        pieces.append((steep, 0.0, -steep * float(joint), -period))
        pieces.append((steep, 0.0, -steep * float(joint) - 1.0, period))
    return pieces


def _random(hidden: int, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    layers = []
    for fan_in, fan_out in ((2, hidden), (hidden, 1)):
        bound = fan_in**-0.5
        layers.append((rng.uniform(-bound, bound, (fan_in, fan_out)), rng.uniform(-bound, bound, fan_out)))
    return layers


def starts_for(trials: int, allowed: Sequence[Start] = STARTS) -> tuple[Start, ...]:
    """Which start each trial takes: all allowed ones in turn."""
    return tuple(allowed[i % len(allowed)] for i in range(trials))

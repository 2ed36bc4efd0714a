"""Ranges of numbers: typed pairs inside, shown ``[a, b)``, and read in the notations other tools write."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from aegis.data.domain import show
from aegis.errors import InputError

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_END = rf"(?:{_NUMBER}|-?inf|-?∞|\*)"
_BRACKETED = re.compile(rf"^([\[(])\s*({_END})\s*[,;]\s*({_END})\s*([\])])$")
_DASHED = re.compile(rf"^({_NUMBER})\s*(?:-|–|:|\.\.|to)\s*({_NUMBER})$")
_COMPARED = re.compile(rf"^(<=|>=|<|>|≤|≥)\s*({_NUMBER})$")


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """The numbers from ``low`` to ``high``.

    >>> str(Interval(20, 30)), str(Interval(-math.inf, 18))
    ('[20, 30)', '(-inf, 18)')
    >>> 20 in Interval(20, 30), 30 in Interval(20, 30)
    (True, False)
    """

    low: float
    high: float
    closed_low: bool = True
    closed_high: bool = False

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError("an interval must not end before it starts")

    def __contains__(self, number: float) -> bool:
        above = number >= self.low if self.closed_low else number > self.low
        below = number <= self.high if self.closed_high else number < self.high
        return above and below

    def __str__(self) -> str:
        left = "[" if self.closed_low and math.isfinite(self.low) else "("
        right = "]" if self.closed_high and math.isfinite(self.high) else ")"
        return f"{left}{show_end(self.low)}, {show_end(self.high)}{right}"

    @classmethod
    def parse(cls, text: str) -> Interval | None:
        """Read an interval in any common notation; None if it is not one.

        >>> [str(Interval.parse(t)) for t in ("[20, 30)", "20-29", "20:29", "(0;5]", ">=65", "<18", "-5 - -1")]
        ['[20, 30)', '[20, 29]', '[20, 29]', '(0, 5]', '[65, inf)', '(-inf, 18)', '[-5, -1]']
        >>> Interval.parse("2021-05-04") is None, Interval.parse("30-20") is None
        (True, True)
        """
        text = text.strip()
        if match := _BRACKETED.match(text):
            left, low, high, right = match.groups()
            ends = _end(low, -math.inf), _end(high, math.inf)
            closed = left == "[", right == "]"
        elif match := _DASHED.match(text):
            ends, closed = (float(match[1]), float(match[2])), (True, True)
        elif match := _COMPARED.match(text):
            sign, number = match.groups()
            if sign in ("<", "<=", "≤"):
                ends, closed = (-math.inf, float(number)), (False, sign != "<")
            else:
                ends, closed = (float(number), math.inf), (sign != ">", False)
        else:
            return None
        return cls(*ends, *closed) if ends[0] <= ends[1] else None


def show_end(number: float) -> str:
    """An end of an interval as text."""
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return show(float(number))


def _end(text: str, unbounded: float) -> float:
    return unbounded if "inf" in text or "∞" in text or text == "*" else float(text)

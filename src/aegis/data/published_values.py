"""Ranges of numbers, ``[a, b)``, and sets of categories, ``{a, b}``, as a release writes them.

Ranges are typed pairs inside, and read in the notations other tools write. Sets have words for missing values and for
those that are not named.
"""

from __future__ import annotations

import json
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


MISSING, UNNAMED = "missing", "other values"
_PART = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,|$)')
_UNNAMED = re.compile(rf"^{UNNAMED}(?: \((\d+)\))?$")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ValueSet:
    """Some categories: ``values`` by name, and whether missing values are among them.

    ``unnamed`` is 0 where every value is named. Otherwise there are others in it, and the number tells sets of
    nothing else apart.

    >>> str(ValueSet(values=("a", "b, c"), missing=True)), str(ValueSet(values=("a",), unnamed=1))
    ('{a, "b, c", missing}', '{a, other values}')
    """

    values: tuple[str, ...] = ()
    missing: bool = False
    unnamed: int = 0

    def __repr__(self) -> str:
        return f"ValueSet({len(self.values)} values)"

    def __str__(self) -> str:
        return "{" + ", ".join((*map(_quoted, self.values), *self._words)) + "}"

    @property
    def members(self) -> tuple[str, ...]:
        """What is in it, as a consumer tells it apart."""
        return (*self.values, *self._words)

    @property
    def _words(self) -> tuple[str, ...]:
        others = UNNAMED if self.unnamed == 1 else f"{UNNAMED} ({self.unnamed})"
        return (*[MISSING] * self.missing, *[others] * bool(self.unnamed))

    @classmethod
    def parse(cls, text: str) -> ValueSet | None:
        """Read a set; None if it is not one.

        >>> ValueSet.parse('{a, "b, c", missing, other values (2)}').members, ValueSet.parse("a") is None
        (('a', 'b, c', 'missing', 'other values (2)'), True)
        """
        if not (text.startswith("{") and text.endswith("}")):
            return None
        parts = [part for part in map(str.strip, _PART.findall(text[1:-1])) if part]
        groups = [int(match[1] or 1) for part in parts if (match := _UNNAMED.match(part))]
        return cls(
            values=tuple(_plain(part) for part in parts if part != MISSING and not _UNNAMED.match(part)),
            missing=MISSING in parts,
            unnamed=max(groups, default=0),
        )


def _quoted(value: str) -> str:
    means_more = value == MISSING or bool(_UNNAMED.match(value)) or bool(set(value) & set(',{}"'))
    return json.dumps(value, ensure_ascii=False) if means_more or value != value.strip() else value


def _plain(part: str) -> str:
    """A value as it was before it was quoted, by us or with doubled quotes as other tools do."""
    if not (len(part) > 1 and part.startswith('"') and part.endswith('"')):
        return part
    try:
        return str(json.loads(part))
    except ValueError:
        return part[1:-1].replace('""', '"')

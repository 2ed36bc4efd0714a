"""Numbers as people read them."""

from __future__ import annotations

import math

from aegis.plural import count as count
from aegis.plural import listed as listed

NO_BREAK = "\u00a0"
MORE_THAN_ALL = 1.0005
"""Shares above this are shown as 100 %+."""


def number(value: int) -> str:
    """A whole number, its thousands apart.

    >>> number(12345)
    '12,345'
    """
    return f"{value:,}"


def percent(share: float | None) -> str:
    """A share in per cent, with more digits where they matter.

    The space before the sign does not break.

    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.9731, 0.99996, 0.0004, 0.0, None, math.inf)]
    ['97.3 %', '99.996 %', '0.04 %', '0 %', '–', 'more than there was']
    """
    if share is None or math.isnan(share):
        return "–"
    if math.isinf(share):
        return "more than there was"
    if share in (0, 1):
        return f"{100 * share:.0f}{NO_BREAK}%"
    near = min(abs(share), abs(1 - share))
    digits = 1 if near >= 0.001 else min(max(-math.floor(math.log10(near)) - 2, 1), 4)
    text = f"{100 * share:.{digits}f}"
    return f"{text.replace('-', '−', 1)}{NO_BREAK}%"


def kept(share: float | None) -> str:
    """The share that is kept, for people: what exceeds the whole was gained, not kept.

    >>> [kept(share).replace(NO_BREAK, " ") for share in (0.9731, 1.0, 1.0004, 1.408, math.inf, None)]
    ['97.3 %', '100 %', '100 %', '100 %+', '100 %+', '–']
    """
    if share is None or math.isnan(share):
        return percent(None)
    return f"100{NO_BREAK}%+" if share > MORE_THAN_ALL else percent(min(share, 1.0))


def figure(value: float | None, digits: int = 4) -> str:
    """A value of a measure with a few significant digits.

    >>> figure(0.0312345), figure(12345.6), figure(0.0), figure(-2e-7), figure(None)
    ('0.03123', '12,346', '0', '−2e-07', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 1e-12:
        return "0"  # what is left of a difference of equal numbers
    if abs(value) >= 10**digits:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return "−" + text[1:] if text.startswith("-") else text


def amount(value: float | None, unit: str, digits: int = 3) -> str:
    """A value with its unit, where that is one to count in and not a description.

    >>> amount(0.25, "bits"), amount(0.25, "share of records"), amount(3.0, "χ² statistic")
    ('0.25 bits', '0.25', '3')
    """
    return f"{figure(value, digits)} {unit}" if unit and " " not in unit else figure(value, digits)


def difference(value: float | None, size: float | None) -> float | None:
    """A difference of two numbers of about ``size``, with what is only rounding taken for nothing.

    >>> difference(1.8e-12, 11279.0), difference(0.5, 11279.0), difference(None, None)
    (0.0, 0.5, None)
    """
    if value is None or size is None:
        return value
    return 0.0 if abs(value) < 1e-12 + 1e-12 * abs(size) else value


def measured_in(unit: str) -> str:
    """The unit after the name of a measure.

    >>> measured_in("bits"), measured_in("share of records"), measured_in("")
    (' in bits', ' (share of records)', '')
    """
    return "" if not unit else f" ({unit})" if " " in unit else f" in {unit}"


def seconds(value: float) -> str:
    """A duration.

    >>> seconds(0.0123), seconds(3.21), seconds(200)
    ('12 ms', '3.2 s', '3 min 20 s')
    """
    if value < 1:
        return f"{1000 * value:.0f} ms"
    if value < 90:
        return f"{value:.1f} s"
    return f"{value // 60:.0f} min {value % 60:.0f} s"

"""Numbers of things in a sentence."""

from __future__ import annotations


def count(number: float, singular: str, many: str | None = None) -> str:
    """A number of things.

    >>> count(1, "configuration"), count(12000, "row"), count(2, "entry", "entries")
    ('1 configuration', '12,000 rows', '2 entries')
    """
    return f"{number:,.0f} {singular if number == 1 else many or singular + 's'}"

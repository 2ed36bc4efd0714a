"""Numbers and names of things in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: float, singular: str, many: str | None = None) -> str:
    """A number of things.

    >>> count(1, "configuration"), count(12000, "row"), count(2, "entry", "entries")
    ('1 configuration', '12,000 rows', '2 entries')
    """
    return f"{number:,.0f} {singular if number == 1 else many or singular + 's'}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"]), listed(list("abcdefg"), 3)
    ('a', 'a and b', 'a, b and c', 'a, b, c and 4 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"

"""Sets of categories as a release writes them: ``{a, b}``, with words for missing values and for those not named."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

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

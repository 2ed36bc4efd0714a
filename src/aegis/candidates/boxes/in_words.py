"""What boxes do to each column, in numbers that name no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import STAR, Cut
from aegis.plural import count


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRecoding:
    """What boxes publish of a column.

    ``published`` is how many different intervals or sets, without the star; ``cuts`` how many different places the
    column is cut at. ``as_it_is`` records keep their category, ``starred`` ones show nothing of the column.
    """

    column: str
    ordered: bool
    published: int
    cuts: int
    as_it_is: int
    starred: int
    records: int

    def describe(self) -> str:
        """In words.

        >>> ColumnRecoding(
        ...     column="age", ordered=True, published=5, cuts=4, as_it_is=0, starred=30, records=120
        ... ).describe()
        '5 intervals, cut at 4 places; * for 25.0 % of the records'
        """
        if not self.published:
            return "* for every record"
        if self.ordered:
            words = f"{count(self.published, 'interval')}, cut at {count(self.cuts, 'place')}"
        else:
            words = f"{count(self.published, 'set')} of values"
            if self.as_it_is:
                words += f"; {self._share(self.as_it_is)} of the records keep their value"
        return f"{words}; * for {self._share(self.starred)} of the records" if self.starred else words

    def _share(self, records: int) -> str:
        return f"{100 * records / self.records:.1f} %"


def column_recodings(boxes: Boxes) -> tuple[ColumnRecoding, ...]:
    """What the boxes do to each of their columns, counted on the records they were made of."""
    recodings = []
    cuts: list[set[Any]] = [set() for _ in boxes.columns]
    for node in boxes.nodes:
        if isinstance(node, Cut):
            cuts[node.column].add((node.below, node.values))
    records = [leaf.records for leaf in boxes.boxes]
    for place, column in enumerate(boxes.columns):
        by_text: dict[str | None, int] = {}
        as_it_is = 0
        for held, texts, regions in zip(records, boxes.texts, boxes.regions, strict=True):
            text = texts[place]
            by_text[text] = by_text.get(text, 0) + held
            if text != STAR and len(regions[place].values or ()) == 1:
                as_it_is += held
        starred = by_text.pop(STAR, 0)
        recodings.append(
            ColumnRecoding(
                column=column.name,
                ordered=column.ordered,
                published=len(by_text),
                cuts=len(cuts[place]),
                as_it_is=as_it_is,
                starred=starred,
                records=boxes.records,
            )
        )
    return tuple(recodings)

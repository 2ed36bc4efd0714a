"""What boxes do to each column, in numbers that name no value."""

from __future__ import annotations

from dataclasses import dataclass

from aegis.candidates.boxes.recoding import STAR, Boxes, Cut
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
    for place, column in enumerate(boxes.columns):
        cuts = {(node.below, node.values) for node in boxes.nodes if isinstance(node, Cut) and node.column == place}
        texts = [line[place] for line in boxes.texts]
        starred = as_it_is = 0
        for leaf, text, regions in zip(boxes.boxes, texts, boxes.regions, strict=True):
            if text == STAR:
                starred += leaf.records
            elif not column.ordered and len(regions[place].values or ()) == 1:
                as_it_is += leaf.records
        recodings.append(
            ColumnRecoding(
                column=column.name,
                ordered=column.ordered,
                published=len({text for text in texts if text != STAR}),
                cuts=len(cuts),
                as_it_is=as_it_is,
                starred=starred,
                records=boxes.records,
            )
        )
    return tuple(recodings)

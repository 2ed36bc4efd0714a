"""How boxes are grown: what a cut has to gain, how far it looks, and where it stops."""

from __future__ import annotations

from dataclasses import dataclass

from aegis.errors import AnonymizerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How boxes are grown.

    ``label_weight`` is how much the label counts against the width of intervals and sets, 0 to 1. With
    ``expected_labels`` a cut is judged by what learners, trained on other records of the table, expect of the label,
    where at least 100 records have one; otherwise by the labels of the box's own records. ``doubt_nats`` is
    what a cut must tell about those before that counts at all: the best of many cuts tells something by chance, and
    boxes that follow chance teach models nothing. Where no cut tells more, width decides. ``least_records`` is
    the size below which no box is cut off; the policy's own k unless given. A smaller one than k makes boxes that the
    policy suppresses, which helps where it allows that. ``most_cuts`` limits the cuts on the way to a box. With
    ``look_ahead`` of 2 or more, the best cuts of so many columns are compared by what they gain together with the best
    cut of each of their parts: where attributes decide together, no first cut tells anything alone. Boxes whose
    cuts may tell less than a nat about the label are cut without that. With ``joins`` the records are cut into parts of
    five, and those that tell the same of the expected labels are published together as one box, wherever that
    tells more than boxes that are cut alone.
    """

    label_weight: float = 0.99
    doubt_nats: float = 6.0
    least_records: int | None = None
    most_cuts: int | None = None
    look_ahead: int = 3
    expected_labels: bool = True
    joins: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.label_weight <= 1.0:
            raise AnonymizerError("the weight of the label lies between 0 and 1")
        if self.doubt_nats < 0.0 or (self.least_records or 1) < 1 or (self.most_cuts or 0) < 0 or self.look_ahead < 0:
            raise AnonymizerError("doubt, records and cuts of boxes cannot be negative; a box has at least one record")


GREEDY = Growth(label_weight=1.0, doubt_nats=0.0, look_ahead=0, expected_labels=False, joins=False)
"""Cut wherever the label gains anything, as LeFevre, DeWitt and Ramakrishnan do."""

"""Records go down the tree of a recoding as its cuts say, whatever they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from aegis.candidates.boxes.cutting import LEVELS_APART
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.recoding import NO_BOX, Boxes
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tree import Cut
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy

DAYS = np.datetime64("2020-01-01") + np.arange(40)


def _table(rows: int, seed: int) -> ClassTable:
    rng = np.random.default_rng(seed)
    domains = [
        Domain.of(Kind.REAL, np.arange(30) / 2, missing=True),
        Domain.of(Kind.TEXT, [f"town {at}" for at in range(12)], missing=True),
        Domain.of(Kind.DATE, DAYS),
    ]
    codes = np.column_stack([rng.integers(0, domain.size, rows) for domain in domains])
    label = ((codes[:, 0] > 14) ^ (codes[:, 1] % 3 == 0) ^ (rng.random(rows) < 0.2)).astype(np.int64)
    return ClassTable.from_codes(
        columns=("number", "town", "day"),
        domains=domains,
        codes=codes,
        counts=np.ones(rows, dtype=np.int64),
        contents={"label": (Domain.of(Kind.INTEGER, [0, 1]), label)},
    )


def _box_of(boxes: Boxes, values: list[Any]) -> int:
    """The box of one record, by the words of the file's format."""
    place = 0
    while isinstance(node := boxes.nodes[place], Cut):
        column, value = boxes.columns[node.column], values[node.column]
        if column.ordered and value is None:
            if node.missing is None:
                return NO_BOX
            goes_then = node.missing == "then"
        elif column.ordered:
            goes_then = node.missing == "else" if node.below is None else value < node.below
        else:
            if value not in column.values:
                return NO_BOX
            goes_then = value in node.values
        place = node.then if goes_then else node.other
    return boxes.leaves.index(place)


def test_every_record_falls_where_the_cuts_say() -> None:
    table = _table(1_500, seed=0)
    grown = grow_boxes(table, Policy.from_mapping({"k": 5}), labels=["label"], growth=Growth(look_ahead=2))
    boxes = grown.boxes
    assert boxes.depth > LEVELS_APART, "deep enough that tuples were put side by side again"
    assert np.array_equal(boxes.box_of(table.domains, table.codes), grown.box_of_tuple)
    other = [  # values that the boxes were not made of, and missing ones where none were missing
        Domain.of(Kind.REAL, [-3.0, 2.25, 99.0], missing=True),
        Domain.of(Kind.TEXT, ["elsewhere", "town 1", "town 7"], missing=True),
        Domain.of(Kind.DATE, [*DAYS[::9], np.datetime64("2031-01-01")], missing=True),
    ]
    codes = np.array([[a, b, c] for a in range(4) for b in range(4) for c in range(other[2].size)])
    shown = [
        [*(str(value) if domain.kind is not Kind.REAL else value for value in domain.values.tolist()), None]
        for domain in other
    ]
    expected = [_box_of(boxes, [shown[at][code] for at, code in enumerate(line)]) for line in codes.tolist()]
    assert boxes.box_of(other, codes).tolist() == expected
    assert NO_BOX in expected
    assert len(set(expected)) > 10


def test_a_boxes_file_says_the_same_boxes() -> None:
    boxes = grow_boxes(_table(400, seed=1), Policy.from_mapping({"k": 20}), labels=["label"]).boxes
    again = Boxes.from_text(boxes.to_text())
    assert again == boxes
    assert again.to_text() == boxes.to_text()
    assert len(boxes.to_text().splitlines()) > len(boxes.nodes), "a line per node"

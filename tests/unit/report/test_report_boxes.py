"""The page of a local recoding's certificate, and the picture of its tree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf
from aegis.data.kind import Kind
from aegis.errors import OutputError
from aegis.library.anonymize import anonymize
from aegis.report.certificate_report import certificate_parts, render_certificate
from aegis.report.release_pictures import box_tree


def boxes_of(nodes: tuple[Cut | Leaf, ...], *, records: int) -> Boxes:
    columns = (
        BoxColumn(name="age", kind=Kind.INTEGER),
        BoxColumn(name="town", kind=Kind.TEXT, values=("CANARY", "b", "c")),
    )
    return Boxes(columns=columns, nodes=nodes, labels=("ill",), policy={"k": 5}, records=records)


SMALL = boxes_of(
    (
        Cut(column=0, then=1, other=2, below=40.5, missing="then"),
        Leaf(records=30),
        Cut(column=1, then=3, other=4, values=("CANARY",)),
        Leaf(records=10, suppressed=True),
        Leaf(records=60),
    ),
    records=100,
)


def shapes(svg: str, name: str) -> list[Any]:
    return [part for part in ElementTree.fromstring(svg).iter() if part.tag.endswith(name)]


def test_fields_are_as_wide_as_their_records_and_say_the_cut() -> None:
    svg = box_tree(SMALL, width=1000)
    wide = [float(rect.get("width")) + 1 for rect in shapes(svg, "rect")]
    assert sorted(wide) == pytest.approx([100, 300, 600, 700, 1000])
    texts = [text.text for text in shapes(svg, "text")]
    assert "below 40.5 or missing" in texts
    assert "1 of 3 values" in texts
    assert {"suppressed", "a box"} <= set(texts)
    assert "3 boxes of 100 records, at most 2 cuts deep" in svg


def test_parts_of_a_box_are_drawn_as_such_and_counted_once() -> None:
    parts = tuple(
        replace(node, joined=7, suppressed=False) if isinstance(node, Leaf) and node.records < 60 else node
        for node in SMALL.nodes
    )
    svg = box_tree(replace(SMALL, nodes=parts))
    assert svg.count("part of a box: ") == 2
    assert "2 boxes of 100 records" in svg


def test_categories_are_counted_and_not_named() -> None:
    assert "CANARY" not in box_tree(SMALL)


def test_what_lies_deeper_is_counted() -> None:
    nodes: list[Cut | Leaf] = []
    for at in range(12):
        nodes += [Cut(column=0, then=2 * at + 1, other=2 * at + 2, below=float(at)), Leaf(records=5)]
    svg = box_tree(boxes_of((*nodes, Leaf(records=5)), records=65), levels=3, width=2000)
    assert len(shapes(svg, "rect")) == 7
    assert "10 boxes: 50 records" in svg


def test_one_box_of_all_records_is_a_picture_too() -> None:
    assert len(shapes(box_tree(boxes_of((Leaf(records=9),), records=9)), "rect")) == 1


def table(path: Path) -> Path:
    rows = [f"{20 + at % 40},{'CANARY' if at % 3 else 'b'},{at % 2},n{at}" for at in range(120)]
    path.write_text("\n".join(["age,town,ill,name", *rows]) + "\n")
    return path


def test_a_recoded_table_has_a_page_beside_its_certificate(tmp_path: Path) -> None:
    data, out = table(tmp_path / "people.csv"), tmp_path / "out.csv"
    options: dict[str, Any] = {"method": "boxes", "k": 5, "label": "ill", "quasi": ["age", "town"], "out": out}
    anonymize(data, identifying=["name"], **options)
    html = (tmp_path / "out.csv.certificate.html").read_text()
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("\u00a0", " ")
    assert "satisfies its policy on age, town" in page
    assert re.search(r"local recoding \d+ boxes, cut for ill sha256 of the boxes [0-9a-f]{64}", page)
    assert re.search(r"age \d+ intervals?, cut at", page)
    assert "name suppressed, * in every record, because it is identifying" in page
    assert "How the records were cut" in page
    assert "CANARY" not in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    (tmp_path / "out.csv").unlink()
    (tmp_path / "out.csv.certificate.json").unlink()
    with pytest.raises(OutputError, match=r"certificate\.html"):
        anonymize(data, identifying=["name"], **options)
    assert not out.exists()


def test_a_certificate_of_boxes_that_says_no_columns_still_has_a_page() -> None:
    content = {
        "software": {"aegis": "1", "engine": "duckdb"},
        "date": "2024-01-01T00:00:00+00:00",
        "release": {"name": "r.csv", "sha256": "0" * 64, "rows": 10, "shuffled": False, "columns": ["age"]},
        "source": {"name": "t.csv", "rows": 10},
        "roles": {"quasi_identifying": ["age"], "identifying": ["id"], "unlisted_are_insensitive": []},
        "policy_id": "p",
        "recoding": {"method": "boxes", "sha256": "1" * 64, "boxes": 1, "labels": []},
        "suppressed": {"records": 0, "dropped": False},
        "verdicts": [],
        "classes": 1,
        "smallest_class": 10,
    }
    assert certificate_parts(content)["masks"] == [
        ("age", "intervals or sets, as fine as the records of a box allow"),
        ("id", "suppressed, * in every record, because it is identifying"),
    ]
    page = render_certificate(content)
    assert "1 box, cut where they are widest" in page
    assert "How the records were cut" not in page

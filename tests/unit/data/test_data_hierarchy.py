"""Hierarchies: the ARX format to the byte, and what makes one malformed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy, Layout, file_name, read_hierarchies, write_hierarchies
from aegis.data.kind import Kind
from aegis.errors import HierarchyError

ROOT = Path(__file__).resolve().parents[3]
ARX = Path(os.environ.get("AEGIS_DATASETS", ROOT.parent / "shared" / "datasets")) / "adult_arx" / "hierarchies"

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6)


@given(
    st.lists(LABELS.filter(bool), min_size=1, unique=True),
    st.sampled_from([";", ","]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read_back(values: list[str], delimiter: str, newline: str) -> None:
    hierarchy = Hierarchy(
        rows=tuple((value, value[:1], "*") for value in values),
        layout=Layout(delimiter=delimiter, newline=newline),
    )
    text = hierarchy.to_csv()
    first_line = values[0] + values[0][:1]
    if not any(c in first_line for c in ';,\n"'):  # the separator is read off the first line
        again = Hierarchy.parse(text)
        assert again == hierarchy
        assert again.digest == hierarchy.digest
        assert hash(again) == hash(hierarchy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("1;a;*\n2;*\n3;a;*;*\n", "2 lines .* 3 fields"),
        ("1;a;*\n1;b;*\n", "1 values more than once"),
        ("1;a;x;*\n2;a;y;*\n", "1 labels of level 1 .* level 2"),
    ],
)
def test_malformed(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(HierarchyError, match=said) as caught:
        Hierarchy.read(path)
    assert "bad.csv" in str(caught.value)


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="cannot be opened"):
        Hierarchy.read(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("é;*\n".encode("latin-1"))
    with pytest.raises(HierarchyError, match="UTF-8"):
        Hierarchy.read(tmp_path / "latin.csv")
    with pytest.raises(HierarchyError, match="no folder"):
        read_hierarchies(tmp_path / "absent")


def test_values_that_are_missing_are_counted_and_never_named() -> None:
    hierarchy = Hierarchy.of([[1, "few", "*"], [2, "few", "*"]])
    hierarchy.check_covers(Domain.of(Kind.INTEGER, [1, 2], missing=True), column="visits")
    with pytest.raises(HierarchyError, match="misses 2 of the column's 3 values") as caught:
        hierarchy.check_covers(Domain.of(Kind.INTEGER, [1, 7431, 7432]), column="visits")
    assert "743" not in str(caught.value)
    assert "few" not in repr(hierarchy)


def test_levels() -> None:
    hierarchy = Hierarchy.of([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]])
    assert hierarchy.top == 2
    assert hierarchy.at(0) == {"a": "a", "b": "b", "c": "c"}
    assert hierarchy.groups(1) == {"x": ("a", "b"), "y": ("c",)}
    with pytest.raises(HierarchyError, match="levels 0 to 2, not 3"):
        hierarchy.at(3)


def test_a_folder_of_them(tmp_path: Path) -> None:
    some = {"age": Hierarchy.of([[1, "*"]]), "native-country": Hierarchy.of([["x", "*"]])}
    write_hierarchies(some, tmp_path, dataset="adult")
    assert sorted(p.name for p in tmp_path.iterdir()) == [file_name("adult", c) for c in sorted(some)]
    (tmp_path / "sex.csv").write_text("f,*\nm,*\n")
    assert read_hierarchies(tmp_path) == {**some, "sex": Hierarchy.of([["f", "*"], ["m", "*"]])}
    (tmp_path / "other_hierarchy_age.csv").write_text("1;*\n")
    with pytest.raises(HierarchyError, match="'age'"):
        read_hierarchies(tmp_path)


@pytest.mark.datasets
@pytest.mark.skipif(not ARX.is_dir(), reason="AEGIS_DATASETS does not hold adult_arx")
def test_the_hierarchies_of_arx_come_back_to_the_byte(tmp_path: Path) -> None:
    found = read_hierarchies(ARX)
    assert sorted(found) == sorted(p.stem.removeprefix("adult_hierarchy_") for p in ARX.glob("*.csv"))
    assert len(found) == 9
    write_hierarchies(found, tmp_path, dataset="adult")
    for original in ARX.glob("*.csv"):
        assert (tmp_path / original.name).read_bytes() == original.read_bytes(), original.name
    assert {column: hierarchy.top for column, hierarchy in found.items()} == {
        "age": 4, "education": 3, "marital-status": 2, "native-country": 2, "occupation": 2, "race": 1,
        "salary-class": 1, "sex": 1, "workclass": 2,
    }  # fmt: skip

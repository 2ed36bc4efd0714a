"""The page on architecture is the code: its rooms, the functions it links to, and the figures of the row it follows.

That its picture is the import graph is part of the check of the generated pages (test_surface_docs.py).
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import grimp
import pytest

from aegis.library.clinic import write_clinic

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def in_order(container: str) -> list[str]:
    """The parts of a package in the order that its contract holds."""
    (contract,) = (each for each in CONTRACTS if each.get("containers") == [container])
    return [part.strip() for layer in contract["layers"] for part in layer.split("|")]


def test_every_room_is_described_once_and_in_order() -> None:
    described = re.findall(r"^\| `(\w+)` \| \S", PAGE, flags=re.MULTILINE)
    assert described == [*in_order("aegis"), *in_order("aegis.library")]


@pytest.mark.parametrize(
    "room",
    [
        room
        for package, folder in (("aegis", "src/aegis"), ("aegis.catalog", "src/aegis/catalog"))
        for room in in_order(package)
        if (ROOT / folder / room).is_dir()
    ],
)
def test_every_room_has_tests_that_make_finds_by_its_name(room: str) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make: install it to look for the tests of each room")
    apart = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    told = subprocess.run(
        [make, "--dry-run", "room", f"ROOM={room}"], cwd=ROOT, env=apart, capture_output=True, text=True, check=True
    )
    (paths,) = re.findall(r"bin/pytest (.*)", told.stdout)
    named = [ROOT / path for path in paths.split()]
    assert [path for path in named if not path.exists()] == []
    assert [file for path in named for file in (path.rglob("test_*.py") if path.is_dir() else [path])]


def test_steps_that_operations_share_call_no_operation() -> None:
    graph = grimp.build_graph("aegis", exclude_type_checking_imports=True, cache_dir=None)
    folders = {f"aegis.library.{name}" for name in in_order("aegis.library")}
    assert folders == {name for name in graph.find_children("aegis.library") if graph.find_children(name)}
    operations = graph.find_children("aegis.library") - folders
    for folder in folders - {"aegis.library.guided"}:
        for module in graph.find_descendants(folder):
            assert not operations & graph.find_modules_directly_imported_by(module), module


def test_linked_functions_are_where_the_links_lead() -> None:
    links = re.findall(r"\[`([A-Za-z_]+)`\]\(\.\./(src/[^)]+\.py)\)", PAGE)
    assert len(links) > 25
    for name, file in links:
        text = (ROOT / file).read_text(encoding="utf-8")
        defined = re.search(rf"^(?:def|class) {name}\b", text, flags=re.MULTILINE)
        assert defined or name == Path(file).stem, f"{file} defines no {name}"


def test_the_row_that_is_followed_is_the_row_of_the_clinic(tmp_path: Path) -> None:
    write_clinic(tmp_path)
    with (tmp_path / "clinic.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    row = rows[11]
    assert [row[name] for name in ("patient", "age", "weight", "zip", "gender", "health")] == [
        *("P101150", "35", "69.0", "02102", "female", "moderate")
    ]
    same_age = [other for other in rows if other["age"] == "35"]
    assert f"one of {len(same_age)} records" in PAGE
    assert f"{sum(other['health'] == 'moderate' for other in same_age)} of them *moderate*" in PAGE
    quasi = ("age", "weight", "zip", "gender")
    assert sum(all(other[name] == row[name] for name in quasi) for other in rows) == 1

    def masked(record: dict[str, str]) -> tuple[str, ...]:
        age = str(int(float(record["age"])) // 10) if record["age"] else ""
        weight = str(float(record["weight"]) // 20) if record["weight"] else ""
        return age, weight, record["zip"][:-3], record["gender"]

    size = sum(masked(other) == masked(row) for other in rows)
    assert re.search(rf"a class\s+of {size},", PAGE)

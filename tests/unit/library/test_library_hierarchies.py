"""Hierarchies by what a column holds, with the groups that every level leaves, and those of ARX."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.data.hierarchy import read_hierarchies
from aegis.errors import OptionError, OutputError, RoleError


def stays() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    first = datetime.date(2023, 1, 1)
    return pd.DataFrame(
        {
            "patient": [f"P{i // 3:03d}" for i in range(120)],
            "age": rng.integers(20, 80, 120),
            "zip": [f"0{number}" for number in rng.integers(1000, 1400, 120)],
            "admitted": [first + datetime.timedelta(days=int(day)) for day in rng.integers(0, 700, 120)],
            "month": rng.choice(["January", "February", "March", "April", "May"], 120),
            "triage": rng.choice(["green", "yellow", "orange", "red"], 120),
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stays.csv"
    stays().to_csv(path, index=False)
    return path


def test_every_kind_has_levels_of_its_own_and_their_groups_are_counted(file: Path) -> None:
    preview = aegis.hierarchies(file, columns=["age", "zip", "admitted", "month"])
    what = {column.name: [level.what for level in column.levels] for column in preview.columns}
    assert what["age"][1:3] == ["buckets of width 5", "buckets of width 10"]
    assert what["zip"][1:3] == ["last 1 character starred", "last 2 characters starred"]
    assert any("month" in words for words in what["admitted"])
    assert len(what["month"]) == 4
    for column in preview.columns:
        groups = [level.groups for level in column.levels]
        assert groups == sorted(groups, reverse=True)
        assert (groups[0], groups[-1]) == (stays()[column.name].nunique(), 1)
        assert column.levels[-1].smallest == 120
    ages = pd.cut(stays()["age"], range(20, 85, 5), right=False).value_counts()
    level = preview.columns[0].levels[1]
    sizes = ages[ages > 0]
    assert (level.groups, level.smallest) == (len(sizes), sizes.min())
    assert level.records_in_small_groups == sizes[sizes < 5].sum()


def test_people_are_counted_where_a_person_is_named(file: Path) -> None:
    preview = aegis.hierarchies(file, columns=["age"], person="patient")
    assert preview.unit == "patient"
    assert preview.columns[0].levels[-1].smallest == 40


def test_what_is_written_is_read_as_arx_files_are(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "levels"
    made = aegis.hierarchies(file, columns=["age", "triage"], order=["triage=green<yellow<orange<red"], out=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "stays_hierarchy_age.csv",
        "stays_hierarchy_triage.csv",
    ]
    assert read_hierarchies(folder)["triage"].groups(1).keys() == {"green to yellow", "orange to red"}
    again = aegis.hierarchies(file, hierarchies=folder)
    assert [column.source for column in again.columns] == ["from its file"] * 2
    for one, other in zip(made.columns, again.columns, strict=True):
        assert [level.groups for level in one.levels] == [level.groups for level in other.levels]
    with pytest.raises(OutputError):
        aegis.hierarchies(file, columns=["age"], out=folder)


def test_without_names_the_quasi_identifying_columns_are_taken(file: Path) -> None:
    assert [c.name for c in aegis.hierarchies(file, quasi=["age", "zip"]).columns] == ["age", "zip"]
    every = aegis.hierarchies(file, identifying=["patient"])
    assert [c.name for c in every.columns] == ["age", "zip", "admitted", "month", "triage"]
    with pytest.raises(OptionError, match="gets no hierarchy here"):
        aegis.hierarchies(file, columns=["age"], order=["triage=green<yellow<orange<red"])
    with pytest.raises(OptionError, match="says something about --out"):
        aegis.hierarchies(file, columns=["age"], overwrite=True)
    with pytest.raises(RoleError, match="no column is left"):
        aegis.hierarchies(stays()[["patient"]], identifying=["patient"])

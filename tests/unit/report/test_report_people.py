"""What a page names is decided by people where a policy counts them: the rows of one patient name nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.catalog.service.disclosure import facts_of
from aegis.counts.folder import read_summary
from aegis.counts.named_from import named_from
from aegis.data.engine import open_dataset
from aegis.library.guided.hierarchy_drafts import drafts

CANARY = "canaryville"
RULES: dict[str, Any] = {"quasi_identifying": ["age"], "k": 5, "insensitive": ["town", "y"], "unit": "patient"}


def visits() -> pd.DataFrame:
    """Four hundred patients with a visit, and one with six: of a town of their own."""
    rng = np.random.default_rng(3)
    patient = np.concatenate([np.arange(400), np.full(6, 400)])
    return pd.DataFrame(
        {
            "patient": [f"P{number:04d}" for number in patient],
            "age": np.where(patient == 400, 97, 20 + patient % 40),
            "town": np.where(patient == 400, CANARY, rng.choice(["alba", "brig", "dorf"], len(patient))),
            "y": rng.choice(["yes", "no"], len(patient)),
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    visits().to_csv(path, index=False)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "configs" / "decades.yaml"
    path.parent.mkdir()
    path.write_text("masks: {patient: suppress, age: suppress}\n", encoding="utf-8")
    return path


def test_a_page_names_no_value_of_one_person_with_many_rows(file: Path, config: Path, tmp_path: Path) -> None:
    common: dict[str, Any] = {
        "configs": config.parent,
        "label": "y",
        "identifying": ["patient"],
        "measure": "mutual-information",
    }
    by_people, by_rows = tmp_path / "people.html", tmp_path / "rows.html"
    aegis.advise(file, policy=RULES, report=by_people, **common)
    records = {key: value for key, value in RULES.items() if key != "unit"}
    aegis.advise(file, policy=records, report=by_rows, **common)
    assert CANARY in by_rows.read_text(encoding="utf-8")
    page = by_people.read_text(encoding="utf-8")
    assert CANARY not in page
    assert "alba" in page
    assert "97" not in _ticks(page)


def _ticks(page: str) -> str:
    return " ".join(part.split("<", 1)[0] for part in page.split(">") if part[:2].isdigit())


def test_a_summary_takes_along_how_many_rows_a_value_needs(file: Path, config: Path, tmp_path: Path) -> None:
    folder, report = tmp_path / "summary", tmp_path / "told.html"
    aegis.summarize(
        file, configs=config.parent, label="y", identifying=["patient"], policy=RULES, out=folder, race=False
    )
    summary = read_summary(folder)
    assert summary.named_from == 10  # six rows and three are less than five people have: a multiple of five
    aegis.advise(folder, report=report)
    page = report.read_text(encoding="utf-8")
    assert CANARY not in page
    assert "alba" in page
    assert CANARY not in str(facts_of(summary, smallest_class=5)["histograms"])


def test_a_hierarchy_shows_no_group_of_one_person_with_many_rows(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    rows = [f"{town};{'west' if town in ('alba', 'brig') else town};*" for town in ("alba", "brig", CANARY, "dorf")]
    (folder / "visits_hierarchy_town.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    dataset = open_dataset(file)
    shown = {}
    for unit in (None, "patient"):
        (draft,) = drafts(dataset, ["town"], folder=folder, k=5, unit=unit)
        (level,) = draft.levels
        shown[unit] = {group.label: group.rows for group in level.groups}, level.unshown
    assert shown[None][0].keys() == {"west", CANARY, "dorf"}
    assert shown["patient"] == ({label: n for label, n in shown[None][0].items() if label != CANARY}, 1)


def test_the_rows_of_the_largest_four_are_not_enough() -> None:
    table = pd.DataFrame({"who": np.repeat(np.arange(8), [9, 1, 7, 1, 3, 2, 1, 1])})
    dataset = open_dataset(table)
    assert named_from(dataset, "who") == 25  # 9 + 7 + 3 + 2 and one more, as a multiple of five
    assert named_from(open_dataset(pd.DataFrame({"who": np.arange(50)})), "who") == 5
    assert named_from(dataset, None) == 0

"""Parts that are kept, and what the chapter of the Aegis paper computes with."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from aegis.errors import DataError, OutputError
from aegis.evaluation.coded_rows import RowMasker
from aegis_papers.aegis_choices import Chooser, Trained
from aegis_papers.aegis_data import joints_of, tables
from aegis_papers.aegis_k_anonymous import K, k_anonymous
from aegis_papers.aegis_reconstruction import total_variation
from aegis_papers.aegis_table import table_2
from aegis_papers.reproduction import Verdict
from aegis_papers.setting import Setting

DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[3] / "shared" / "datasets"))


def test_a_part_is_computed_once_and_depends_on_what_it_is_told(tmp_path: Path) -> None:
    calls: list[int] = []

    def work() -> dict[str, float]:
        calls.append(1)
        return {"x": 1.5}

    first = Setting(chapter="c", work=tmp_path)
    assert first.part("a", work) == first.part("a", work) == {"x": 1.5}
    assert Setting(chapter="c", work=tmp_path).part("a", work) == {"x": 1.5}
    assert len(calls) == 1
    for other in (Setting(chapter="c", work=tmp_path, seed=1), Setting(chapter="c", work=tmp_path, quick=True)):
        other.part("a", work)
    first.part("a", work, rows=3)
    assert len(calls) == 4
    assert first.cpu_seconds >= 0.0
    first.forget()
    assert not list(tmp_path.iterdir())


def test_a_part_that_was_cut_off_is_computed_again(tmp_path: Path) -> None:
    Setting(chapter="c", work=tmp_path).part("a", lambda: 1)
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text(encoding="utf-8")[:5], encoding="utf-8")
    assert Setting(chapter="c", work=tmp_path).part("a", lambda: 2) == 2


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="AEGIS_DATASETS"):
        Setting(chapter="c").file("x.csv")
    with pytest.raises(DataError, match="is not in the folder"):
        Setting(chapter="c", datasets=tmp_path).file("x.csv")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        Setting(chapter="c", work=tmp_path / "file").part("a", lambda: 1)


def test_joints_of_parts_add_up() -> None:
    table = tables(Setting(chapter="aegis", quick=True))["AQ"]
    rows = np.arange(table.rows.rows)
    whole, first, second = (joints_of(table.rows, keep) for keep in (rows, rows[:150], rows[150:]))
    for name, joint in table.counted.joints.items():
        assert (whole[name].counts == joint.counts).all()
        assert (first[name].counts + second[name].counts == joint.counts).all()


def test_k_anonymous_configurations_are_k_anonymous() -> None:
    setting = Setting(chapter="aegis", quick=True)
    table = tables(setting)["AQ"]
    family = k_anonymous(setting, table)
    assert len(family) >= 2
    for one in family:
        masked = RowMasker(table.rows, label=table.label).masked(one.masks)
        _, sizes = np.unique(np.column_stack(list(masked.codes.values())), axis=0, return_counts=True)
        assert sizes.min() >= K


def test_total_variation() -> None:
    one, other = np.array([[4.0, 0.0]]), np.array([[0.0, 2.0]])
    assert total_variation(one, other) == 1.0
    assert total_variation(one, 3 * one) == 0.0


def test_a_choice_costs_its_distance_to_the_best() -> None:
    gold = Trained(model="LR", accuracies=np.array([0.9, 0.8, 0.6]), cpu_seconds=1.0)
    chooser = Chooser(name="x", scores=np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), cpu_seconds=0.1)
    assert chooser.loss(gold) == pytest.approx(0.05)
    assert chooser.accuracy(gold) == pytest.approx(0.85)


@pytest.mark.datasets
def test_table_2_of_air_quality_and_income_is_the_papers_to_the_digit() -> None:
    setting = Setting(chapter="aegis", datasets=DATASETS)
    found = table_2(setting, tables(setting)).claims
    known = [claim for claim in found if not claim.what.startswith("Customer")]
    assert len(known) == 8
    assert {claim.verdict for claim in known} == {Verdict.SAME}

"""Parts that are kept, and what the chapter of the Aegis paper computes with."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aegis.data.kind import Kind
from aegis.errors import DataError, OutputError
from aegis.evaluation.coded_rows import CodedRows, RowMasker, feature_matrix
from aegis.evaluation.models import try_model
from aegis_papers.aegis_boxes import recoded_accuracies
from aegis_papers.aegis_choices import Chooser
from aegis_papers.aegis_data import joints_of, split_plan, tables
from aegis_papers.aegis_k_anonymous import K, families, in_large_classes, without_small_classes
from aegis_papers.aegis_reconstruction import total_variation
from aegis_papers.aegis_table import table_2
from aegis_papers.aegis_training import CHUNK, Trained, kernel_machine, trained_on
from aegis_papers.network_training import network_accuracies
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


def test_k_anonymous_configurations_are_k_anonymous_up_to_what_they_suppress() -> None:
    setting = Setting(chapter="aegis", quick=True)
    table = tables(setting)["AQ"]
    masker = RowMasker(table.rows, label=table.label)
    for family in families(setting, table):
        assert len(family.configurations) >= 2
        assert len(family.of("levels")) + len(family.of("cuts")) == len(family.configurations)
        for configuration in family.configurations:
            masked = masker.masked(configuration.masks)
            tuples = np.column_stack(list(masked.codes.values()))
            released = in_large_classes(masked)
            assert (~released).mean() <= family.suppressed
            assert np.unique(tuples[released], axis=0, return_counts=True)[1].min() >= K


def test_suppressed_records_are_not_trained_on_and_all_test_rows_are_asked() -> None:
    setting = Setting(chapter="aegis", quick=True)
    table = tables(setting)["AQ"]
    seen: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}

    def accuracy(_masked: CodedRows, training: np.ndarray, testing: np.ndarray, _seed: int) -> float:
        seen.update(training=training, testing=testing)
        return 0.5

    training, testing = np.arange(300), np.arange(300, 400)
    without_small_classes(accuracy)(table.rows, training, testing, 0)
    large = in_large_classes(table.rows)
    assert not large.all()  # raw tuples are rare
    assert seen["training"].tolist() == np.flatnonzero(large[:300]).tolist()
    assert seen["testing"].tolist() == testing.tolist()


def test_a_kernel_machine_on_distinct_records_answers_as_on_all() -> None:
    setting = Setting(chapter="aegis", quick=True)
    table = tables(setting)["AQ"]
    training, testing = split_plan(setting, table).split(table.rows.label, 0)
    masker = RowMasker(table.rows, label=table.label)
    for configuration in table.configurations[:2]:
        masked = masker.masked(configuration.masks)
        features = feature_matrix(masked.domains, masked.codes, training=training)
        all_rows = try_model("kernel-svm", features, masked.label, training=training, testing=testing, seed=0)
        # the solver stops within its tolerance: a record on the border may fall to either side
        assert abs(kernel_machine(masked, training, testing, 0) - all_rows.accuracy) <= 1 / len(testing) + 1e-9


def test_a_stopped_training_goes_on_behind_its_last_chunk(tmp_path: Path) -> None:
    setting = Setting(chapter="aegis", quick=True, work=tmp_path)
    table = tables(setting)["AQ"]
    chosen = table.configurations * (CHUNK // len(table.configurations) + 1)
    asked: list[int] = []

    def accuracy(_masked: CodedRows, training: np.ndarray, _testing: np.ndarray, _seed: int) -> float:
        asked.append(len(training))
        if len(asked) > CHUNK:
            raise KeyboardInterrupt
        return len(asked) / 100

    with pytest.raises(KeyboardInterrupt):
        trained_on(setting, table, chosen, "LR", accuracy, part="x")
    asked.clear()
    again = Setting(chapter="aegis", quick=True, work=tmp_path)
    found = trained_on(again, table, chosen, "LR", accuracy, part="x")
    assert len(asked) == len(chosen) - CHUNK
    assert found.accuracies[:CHUNK].tolist() == [number / 100 for number in range(1, CHUNK + 1)]


def test_no_row_is_left_out_of_the_papers_tables() -> None:
    table = tables(Setting(chapter="aegis", quick=True))["AQ"]
    plan = split_plan(Setting(chapter="aegis"), table)
    assert (plan.most_training_rows, plan.most_test_rows, plan.test_share) == (None, None, 0.3)


def test_boxes_tell_models_a_label_that_one_column_decides() -> None:
    setting = Setting(chapter="aegis", quick=True)
    table = tables(setting)["AQ"]
    rows = table.dataset.table
    column = next(name for name in table.dataset.schema.names if table.dataset.schema.kind(name) is Kind.REAL)
    decided = (rows[column] > rows[column].median()).ifelse("high", "low")
    dataset = table.dataset.with_table(rows.mutate(**{table.label: decided}))
    found = recoded_accuracies(setting, replace(table, dataset=dataset), ("LR", "SGD"), suppressed=0.0)
    assert found["boxes"] >= 2
    assert found["suppressed"] == 0
    assert min(found["accuracies"].values()) > 0.9


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


def test_networks_trained_together_are_those_of_scikit_learn() -> None:
    neural_network = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 900)
    near = (label[:, None] == np.arange(3)[None, :]) + 0.6 * rng.standard_normal((900, 3))
    noise = rng.standard_normal((900, 5))
    matrices = [near.astype(np.float32), noise.astype(np.float32), np.empty((900, 0), dtype=np.float32)]
    training, testing = np.arange(600), np.arange(600, 900)
    found = network_accuracies(matrices, label, training=training, testing=testing, epochs=12, seed=0)
    model = neural_network.MLPClassifier(hidden_layer_sizes=(100, 100), max_iter=12, random_state=0)
    with pytest.warns(Warning, match="Maximum iterations"):
        model.fit(near[training], label[training])
    theirs = float((model.predict(near[testing]) == label[testing]).mean())
    assert found[0] == pytest.approx(theirs, abs=0.04)
    assert found[1] < 0.5
    assert found[2] == pytest.approx(float((label[testing] == np.bincount(label[training]).argmax()).mean()))

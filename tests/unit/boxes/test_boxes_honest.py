"""Boxes are cut for a label: the labels of test rows have no say in what models are tested on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aegis.candidates.boxes.candidate import BoxesCandidate, SplitRecoding
from aegis.counts.joint import Histogram
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.evaluation.model_table import ModelTable
from aegis.learners.candidate import Part
from aegis.learners.sample import Sample
from aegis.library.compare import compare
from aegis.privacy.policy import Policy

ROWS = 400
TRAINING, TESTING = np.arange(260), np.arange(260, ROWS)
AGE = Domain.of(Kind.INTEGER, range(40), missing=True)
TOWN = Domain.of(Kind.TEXT, [f"t{i}" for i in range(6)])
LABEL = Domain.of(Kind.TEXT, ["no", "yes"])


def drawn(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 41, ROWS), rng.integers(0, 6, ROWS)])
    label = (rng.random(ROWS) < 1 / (1 + np.exp(-(codes[:, 0] - 20) / 5))).astype(np.int64)
    return codes, label


def turned(label: np.ndarray) -> np.ndarray:
    """The same labels in the training rows, the opposite ones in the test rows."""
    other = label.copy()
    other[TESTING] = 1 - other[TESTING]
    return other


def recoding(codes: np.ndarray, label: np.ndarray) -> SplitRecoding:
    return SplitRecoding(
        columns=("age", "town"), domains=(AGE, TOWN), codes=codes, label="ill", contents={"ill": (LABEL, label)},
        policy=Policy.from_mapping({"k": 5}), table_rows=ROWS,
    )  # fmt: skip


def test_a_split_of_a_comparison_has_not_seen_the_labels_of_its_test_rows() -> None:
    codes, label = drawn()
    first, second = (recoding(codes, known).recoded(TRAINING) for known in (label, turned(label)))
    for name in ("age", "town"):
        assert first[name][0].values.tolist() == second[name][0].values.tolist()
        assert first[name][1].tolist() == second[name][1].tolist()
    assert any(first[name][1].tolist() != recoding(codes, label).recoded(TESTING)[name][1].tolist() for name in first)


def test_a_split_of_the_race_has_not_seen_the_labels_of_its_test_rows() -> None:
    codes, label = drawn()
    splits = []
    for known in (label, turned(label)):
        columns = zip(("age", "town"), (AGE, TOWN), codes.T, strict=True)
        counted = {n: Histogram(domain=d, counts=np.bincount(c, minlength=d.size)) for n, d, c in columns}
        sample = Sample(
            label="ill", label_domain=LABEL, label_codes=known.astype(np.int32), label_numbers=None,
            histograms=counted,
            codes={"age": codes[:, 0].astype(np.int32), "town": codes[:, 1].astype(np.int32)},
            table_rows=ROWS, rows_without_label=0, seed=0,
        )  # fmt: skip
        target = sample.target()
        part = Part(
            number=0, training=TRAINING, testing=TESTING, training_target=target.at(TRAINING),
            testing_target=target.at(TESTING),
        )  # fmt: skip
        candidate = BoxesCandidate(sample, Policy.from_mapping({"k": 5}), ("age", "town"))
        splits.append(candidate.split(part, draw=0))
    for one, two in zip(splits[0].columns, splits[1].columns, strict=True):
        assert one.testing.tolist() == two.testing.tolist()
        assert str(one.column.numbers) == str(two.column.numbers)


def test_some_rows_of_a_table_keep_their_recoding() -> None:
    codes, label = drawn()
    whole = ModelTable(
        name="boxes", domains={"age": AGE, "town": TOWN}, codes={"age": codes[:, 0], "town": codes[:, 1]},
        refit=recoding(codes, label),
    )  # fmt: skip
    few = whole.take(TRAINING)
    first = whole.in_split(TRAINING, TESTING)
    second = few.in_split(np.arange(len(TRAINING)), np.arange(0))
    assert first.codes["age"][TRAINING].size == second.codes["age"].size
    shown = [table.domains["age"].values[table.codes["age"][:50]].tolist() for table in (first, second)]
    assert shown[0] == shown[1]
    assert whole.fingerprint(label) != ModelTable(name="boxes", domains=whole.domains, codes=whole.codes).fingerprint(
        label
    )


def test_a_comparison_says_what_boxes_were_cut_on(tmp_path: Path) -> None:
    codes, label = drawn()
    path = tmp_path / "people.csv"
    lines = [f"{a},t{t},{'yes' if known else 'no'}" for (a, t), known in zip(codes.tolist(), label, strict=True)]
    path.write_text("\n".join(["age,town,ill", *lines]) + "\n")
    found = compare(
        path, quasi=["age", "town"], label="ill", k=5, methods=["boxes"], splits=2, models=["naive-bayes"], jobs=1
    )
    assert any("cut on the training rows of each split" in note for note in found.notes)
    assert found.comparison.score("boxes", "naive-bayes").f1 == pytest.approx(
        found.comparison.score("original", "naive-bayes").f1, abs=0.2
    )

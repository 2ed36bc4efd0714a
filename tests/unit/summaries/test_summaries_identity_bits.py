"""How much published groups tell records apart."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from aegis.summaries.identity_bits import identity_bits
from aegis.summaries.summary import Summary
from aegis.workflows.clinic import write_clinic
from aegis.workflows.summarize import summarize

_COLUMNS = ("age", "weight", "zip", "gender")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    folder: Path = tmp_path_factory.mktemp("clinic")
    table = write_clinic(folder, rows=400)
    return summarize(table, configurations=folder / "configurations", pair_scores=())


def test_hiding_everything_leaves_nothing(clinic: Summary) -> None:
    assert identity_bits(clinic, _COLUMNS)["everything-hidden"] == 0


def test_coarser_masks_leave_fewer_bits(clinic: Summary) -> None:
    bits = identity_bits(clinic, _COLUMNS)
    assert bits["light"] > bits["decades"] > bits["strict"] > 0
    assert bits["light"] > math.log2(400)


def test_one_column_is_its_entropy(clinic: Summary) -> None:
    histogram = clinic.attributes["gender"].joint
    assert histogram is not None
    counts = histogram.counts.sum(axis=1)
    expected = -sum(n / 400 * math.log2(n / 400) for n in counts if n)
    assert identity_bits(clinic, ["gender"])["light"] == pytest.approx(expected)


def test_more_columns_never_leave_fewer_bits(clinic: Summary) -> None:
    few, many = identity_bits(clinic, _COLUMNS[:2]), identity_bits(clinic, _COLUMNS)
    assert all(many[name] >= few[name] for name in few)


def test_columns_that_were_not_counted_say_nothing(clinic: Summary) -> None:
    assert identity_bits(clinic, ["patient", "nowhere"]) == dict.fromkeys(identity_bits(clinic, _COLUMNS), 0)

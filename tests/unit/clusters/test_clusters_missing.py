"""Clusters of the race where numbers are missing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.clusters.candidate import clustered_records
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError


def _sample(values: list[float], codes: list[int]) -> Any:
    histogram = SimpleNamespace(domain=Domain.of(Kind.REAL, values, missing=True))
    return SimpleNamespace(histograms={"age": histogram}, codes={"age": np.array(codes)})


def test_missing_numbers_stand_at_the_median_of_the_others() -> None:
    records = clustered_records(_sample([1.0, 5.0, 40.0], [0, 1, 2, 3]), ("age",), np.arange(4), k=2)
    assert records.numeric[:, 0].tolist() == [1.0, 5.0, 40.0, 5.0]


@pytest.mark.parametrize("values", [[], [1.0]])
def test_a_column_without_a_number_is_refused_in_a_sentence(values: list[float]) -> None:
    with pytest.raises(AnonymizerError, match="'age' has no value in these rows"):
        clustered_records(_sample(values, [len(values)] * 3), ("age",), np.arange(3), k=2)


def test_a_rare_category_is_one_of_many_in_the_race_as_in_the_table_that_is_written() -> None:
    domain = Domain.of(Kind.TEXT, ["a", "b", "c"], missing=True)
    histogram = SimpleNamespace(domain=domain, counts=np.array([40, 1, 2, 1]))
    sample: Any = SimpleNamespace(histograms={"town": histogram}, codes={"town": np.array([0, 1, 2, 3, 0])})
    records = clustered_records(sample, ("town",), np.arange(5), k=2)
    assert records.categorical[:, 0].tolist() == [0, 4, 4, 3, 0]

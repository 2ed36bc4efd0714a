"""`anonymize` with a label that nothing can keep predictable, and with a policy that no class satisfies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.errors import AnonymizerError, LabelError, PolicyNotSatisfiedError

ROWS = 400
METHODS: dict[str, dict[str, Any]] = {
    "boxes": {},
    "mo-obam": {"seconds": 0.5, "sensitive": ["ward"]},
}


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "zip": rng.integers(0, 9, ROWS),
            "ward": rng.choice(["a", "b", "c"], ROWS),
            "number": rng.permutation(ROWS) + 1000,
            "name": [f"n{place}" for place in rng.permutation(ROWS)],
            "cost": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS)),
        }
    )


@pytest.mark.parametrize("label", ["number", "name"])
@pytest.mark.parametrize("method", METHODS)
def test_a_label_with_another_value_in_every_row_is_refused(table: pd.DataFrame, method: str, label: str) -> None:
    with pytest.raises(LabelError, match="another value in every row"):
        aegis.anonymize(table, method=method, quasi=["age", "zip"], k=5, label=[label], **METHODS[method])


@pytest.mark.parametrize("method", METHODS)
def test_a_label_of_very_many_classes_is_refused(table: pd.DataFrame, method: str) -> None:
    """Each class is a column of every record: twelve thousand of them filled the memory."""
    table["name"] = [f"n{place // 2}" for place in range(ROWS)]
    with pytest.raises(LabelError, match="200 classes cannot be kept predictable; at most 50 can"):
        aegis.anonymize(table, method=method, quasi=["age", "zip"], k=5, label=["name"], **METHODS[method])


@pytest.mark.parametrize("method", METHODS)
def test_a_label_of_numbers_may_have_missing_ones(table: pd.DataFrame, method: str) -> None:
    done = aegis.anonymize(table, method=method, quasi=["age", "zip"], k=5, label=["cost"], **METHODS[method])
    assert done.result.after.smallest_class >= 5


@pytest.mark.parametrize("method", METHODS)
def test_a_policy_that_no_class_satisfies_is_no_bad_input(table: pd.DataFrame, method: str, tmp_path: Path) -> None:
    """k as an option is a number somebody typed; k of a policy is a promise that cannot be kept."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"quasi_identifying: [age, zip]\nk: {ROWS + 1}\n")
    with pytest.raises(PolicyNotSatisfiedError) as refused:
        aegis.anonymize(table, method=method, policy=policy, **METHODS[method])
    assert refused.value.exit_status == 1
    with pytest.raises(AnonymizerError, match="the table has 400") as mistaken:
        aegis.anonymize(table, method=method, quasi=["age", "zip"], k=ROWS + 1, **METHODS[method])
    assert mistaken.value.exit_status == 2

"""Roles: what somebody says of a column now counts more than what was said of it before."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import aegis
from aegis.data.schema import Roles
from aegis.errors import PolicyError


@pytest.mark.parametrize("said", [Roles(identifying=("x",)), Roles(quasi_identifying=("x",))])
def test_a_label_that_is_called_something_about_people_is_the_label_no_more(said: Roles) -> None:
    roles = Roles(label="x", sensitive=("y",)).overridden_by(said)
    assert roles.label is None
    assert roles.get("x") is said.get("x")
    assert roles.sensitive == ("y",)


def test_a_label_may_be_sensitive_too() -> None:
    roles = Roles(label="x").overridden_by(Roles(sensitive=("x",)))
    assert roles.label == "x"
    assert roles.sensitive == ("x",)


def _table(folder: Path) -> Path:
    table = folder / "people.csv"
    rows = {"age": [20 + i % 4 for i in range(60)], "x": [f"name {i}" for i in range(60)], "y": ["a", "b"] * 30}
    pyarrow.csv.write_csv(pa.table(rows), table)
    (folder / "people.roles.yaml").write_text(
        "label: x\nquasi_identifying: [age]\ninsensitive: [y]\n", encoding="utf-8"
    )
    return table


def test_a_label_that_is_named_identifying_is_not_published(tmp_path: Path) -> None:
    out = tmp_path / "released.csv"
    policy = {"quasi_identifying": ["age"], "k": 5}
    aegis.release(_table(tmp_path), policy=policy, identifying=["x"], out=out)
    assert "name 7" not in out.read_text(encoding="utf-8")


def test_a_policy_that_calls_the_label_identifying_is_refused(tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["age"], "identifying": ["x"], "k": 5}
    with pytest.raises(PolicyError, match="names 'x' identifying, but it is the label"):
        aegis.release(_table(tmp_path), policy=policy, out=tmp_path / "released.csv")
    assert not (tmp_path / "released.csv").exists()

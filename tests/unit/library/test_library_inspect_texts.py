"""Inspect and release know texts that name people, whatever their column is called, and show none of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import aegis
from aegis.errors import AegisError
from aegis.inspection.profile import Profile


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "c1": [f"canary{i % 60}@example.org" for i in range(120)],
            "c2": [f"+49 30 {i % 50:04d}-11" for i in range(120)],
            "age": [20 + i % 30 for i in range(120)],
            "note": ["well" if i % 2 else "ill" for i in range(120)],
        }
    )


def test_inspect_says_what_they_look_like_and_shows_no_value() -> None:
    profile = aegis.inspect(table())
    said = {column.name: column.looks_like for column in profile.columns}
    assert said == {"c1": "e-mail addresses", "c2": "telephone numbers", "age": None, "note": None}
    assert [c.suggested.value for c in profile.columns[:2]] == ["identifying", "identifying"]
    assert "canary" not in str(profile.to_json())
    assert "canary" not in repr(profile)
    assert Profile.from_json(profile.to_json()) == profile


def test_a_release_leaves_them_out_unless_they_are_named(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    table().to_csv(data, index=False)
    out = tmp_path / "released.csv"
    masks = {"masks": {"age": {"bucketize": {"width": 30}}}}
    done = aegis.release(
        data, policy={"quasi_identifying": ["age"], "k": 5}, config=masks, insensitive=["rest"], out=out, ledger="none"
    )
    assert done.left_out_as_identifying == ("c1", "c2")
    assert "canary" not in out.read_text()
    with pytest.raises(AegisError):
        aegis.release(
            data,
            policy={"quasi_identifying": ["age"], "k": 5},
            config=masks,
            columns=["age", "c1"],
            out=tmp_path / "no.csv",
            ledger="none",
        )

"""A release of some columns: what is written is judged, what is left out is named and really absent."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis
from aegis.errors import PolicyError, PolicyNotSatisfiedError, RoleError
from aegis.privacy.policy import Policy
from aegis.releases.certificate import digest

COLUMNS = ("name", "age", "zip", "disease", "y")
POLICY = {
    "label": "y",
    "identifying": ["name"],
    "quasi_identifying": ["age", "zip"],
    "sensitive": ["disease"],
    "k": 4,
    "l": {"disease": 2},
    "max_suppression": 0.2,
}
MASKS = {"age": {"bucketize": {"width": 20}}, "zip": {"star_trailing": {"characters": 1}}}


def _table(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": rng.integers(18, 80, rows),
            "zip": [f"0{z}" for z in rng.integers(1000, 1030, rows)],
            "disease": rng.choice(["a", "b", "c"], rows),
            "y": rng.integers(0, 2, rows),
        }
    )


TABLE = _table()


def _release(out: Path, columns: Any, **more: Any) -> Any:
    return aegis.release(TABLE, config=MASKS, policy=Policy.from_mapping(POLICY), out=out, columns=columns, **more)


def _rows(path: Path) -> list[dict[str, Any]]:
    answer = duckdb.sql(f"select * from read_csv('{path}', all_varchar=true)")
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


@settings(max_examples=12, deadline=None)
@given(wanted=st.sets(st.sampled_from(COLUMNS), min_size=1))
def test_the_policy_holds_on_whatever_columns_are_written(
    tmp_path_factory: pytest.TempPathFactory, wanted: set[str]
) -> None:
    out = tmp_path_factory.mktemp("columns") / "r.csv"
    done = _release(out, wanted)
    content = done.certificate.content["release"]
    assert content["columns"] == [name for name in COLUMNS if name in wanted]
    assert content["left_out"] == [name for name in COLUMNS if name not in wanted]
    rows = _rows(out)
    assert list(rows[0]) == content["columns"]
    quasi = [name for name in ("age", "zip") if name in wanted]
    classes = Counter(tuple(row[name] for name in quasi) for row in rows)
    assert min(classes.values()) == done.certificate.content["smallest_class"] >= 4
    if "disease" in wanted:
        for key in classes:
            assert len({row["disease"] for row in rows if tuple(row[name] for name in quasi) == key}) >= 2
    assert aegis.verify(out, done.certificate_path).verified


def test_without_a_choice_everything_is_written(tmp_path: Path) -> None:
    assert _release(tmp_path / "r.csv", None).certificate.content["release"]["left_out"] == []


def test_leaving_a_quasi_identifier_out_can_satisfy_what_all_of_them_do_not(tmp_path: Path) -> None:
    strict = Policy.from_mapping({**POLICY, "k": 10, "max_suppression": 0})
    with pytest.raises(PolicyNotSatisfiedError):
        aegis.release(TABLE, config=MASKS, policy=strict, out=tmp_path / "all.csv")
    wanted = ["age", "disease", "y"]
    done = aegis.release(TABLE, config=MASKS, policy=strict, out=tmp_path / "some.csv", columns=wanted)
    assert done.certificate.content["policy_id"] == strict.id
    assert aegis.verify(tmp_path / "some.csv", done.certificate_path).verified


def test_a_column_that_is_there_cannot_be_called_left_out(tmp_path: Path) -> None:
    """Whoever edits the certificate so that the zip is not judged is found out, although the hash fits."""
    out = tmp_path / "r.csv"
    done = _release(out, None)
    content = json.loads(done.certificate_path.read_text())
    content.pop("certificate_sha256")
    content["release"]["left_out"] = ["zip"]
    done.certificate_path.write_text(json.dumps({**content, "certificate_sha256": digest(content)}))
    found = aegis.verify(out, done.certificate_path)
    assert not found.verified
    assert "'zip'" in str(found.reason)


def test_a_column_that_is_missing_must_have_been_left_out(tmp_path: Path) -> None:
    out = tmp_path / "r.csv"
    done = _release(out, ["age", "y"])
    content = json.loads(done.certificate_path.read_text())
    content.pop("certificate_sha256")
    content["release"]["left_out"] = ["name", "disease"]
    done.certificate_path.write_text(json.dumps({**content, "certificate_sha256": digest(content)}))
    found = aegis.verify(out, done.certificate_path)
    assert not found.verified
    assert "lacks the column 'zip'" in str(found.reason)


@pytest.mark.parametrize(("wanted", "said"), [((), "no column"), (("nothing",), "there is no column")])
def test_a_choice_that_makes_no_sense_is_refused(tmp_path: Path, wanted: tuple[str, ...], said: str) -> None:
    with pytest.raises(RoleError, match=said):
        _release(tmp_path / "r.csv", wanted)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    only = Policy.from_mapping({"quasi_identifying": ["age"], "l": {"disease": 2}})
    with pytest.raises(PolicyError, match="nothing of it could be judged"):
        aegis.release(TABLE, policy=only, out=tmp_path / "r.csv", columns=["age"])
    assert list(tmp_path.iterdir()) == []


def test_attributes_that_are_protected_together_leave_together(tmp_path: Path) -> None:
    policy = Policy.from_mapping(
        {
            "quasi_identifying": ["age"],
            "k": 2,
            "risk": {"homogeneity": {"attributes": ["disease", "zip"], "share": 1.0}},
        }
    )
    for wanted in itertools.combinations(("disease", "zip"), 1):
        with pytest.raises(PolicyError, match="together"):
            aegis.release(TABLE, config=MASKS, policy=policy, out=tmp_path / "r.csv", columns=["age", *wanted])


def test_new_rows_do_not_bring_back_what_was_left_out(tmp_path: Path) -> None:
    fitted = tmp_path / "fitted.yaml"
    _release(tmp_path / "r.csv", ["age", "y"], fitted=fitted)
    aegis.apply(TABLE, config=fitted, out=tmp_path / "new.csv")
    for row in _rows(tmp_path / "new.csv"):
        assert {row[name] for name in ("name", "zip", "disease")} == {"*"}

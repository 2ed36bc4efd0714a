"""Summaries survive the folder, tell only what their level allows, and are refused when they contradict themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from aegis.counts.collect import count_joints
from aegis.counts.folder import is_summary, read_summary, write_summary
from aegis.counts.joint import TableCounts
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.engine import open_dataset
from aegis.errors import OutputError, SummaryError
from aegis.library.clinic import columns
from aegis.masking.configuration import Configuration

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/summary.schema.json").read_text(encoding="utf-8"))

CONFIGURATIONS = [
    Configuration.of("plain", {}),
    Configuration.of("tens", {"age": {"bucketize": {"width": 10}}, "gender": "suppress"}),
    Configuration.of("sevens", {"age": {"bucketize": {"width": 7}}, "admitted": {"date_truncate": {"unit": "month"}}}),
    Configuration.of(
        "random",
        {
            "gender": {"randomize": {"keep": 0.7}},
            "health": {"regroup": {"groups": {"well": ["very good", "good"]}, "other": "ill"}},
        },
    ),
]


def _counted() -> TableCounts:
    import pyarrow as pa

    drawn = columns(600, seed=3)
    table = pa.table(
        {
            "age": [int(a) for a in drawn["age"]],
            "weight": [float(w) if w else None for w in drawn["weight"]],
            "gender": drawn["gender"],
            "admitted": pa.array(drawn["admitted"]).cast(pa.date32()),
            "health": drawn["health"],
        }
    )
    return count_joints(open_dataset(table), label="health")


@pytest.fixture(scope="module")
def full() -> Summary:
    counted = _counted()
    return masked_counts(
        name="clinic",
        label="health",
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=CONFIGURATIONS,
        skipped={"patient": "identifying: never counted"},
    )


LEVELS: dict[str, dict[str, Any]] = {
    "2d": {"level": Level.TWO_D},
    "1d": {"level": Level.ONE_D},
    "1d in ranges": {"level": Level.ONE_D, "ranges": 5},
    "none": {"level": Level.NONE},
    "opaque": {"level": Level.NONE, "opaque": True},
}


@pytest.mark.parametrize("told", LEVELS)
def test_a_summary_survives_its_folder_and_follows_the_schema(told: str, full: Summary, tmp_path: Path) -> None:
    summary = reduced(full, **LEVELS[told])
    write_summary(summary, tmp_path / "summary")
    assert is_summary(tmp_path / "summary")
    manifest = json.loads((tmp_path / "summary/summary.json").read_text(encoding="utf-8"))
    jsonschema.validate(manifest, SCHEMA)
    for entry in manifest["attributes"]:
        content = json.loads((tmp_path / "summary" / entry["file"]).read_text(encoding="utf-8"))
        jsonschema.validate(content, {**SCHEMA["$defs"]["attribute_file"], "$defs": SCHEMA["$defs"]})
    again = read_summary(tmp_path / "summary")
    assert again.configurations == summary.configurations
    assert (again.level, again.rows, again.opaque, again.skipped) == (
        summary.level,
        summary.rows,
        summary.opaque,
        summary.skipped,
    )
    for name, attribute in summary.attributes.items():
        other = again.attributes[name]
        assert (other.domain is None) == (attribute.domain is None)
        assert other.domain == attribute.domain
        for key, masked in attribute.masked.items():
            assert np.array_equal(other.masked[key].joint.counts, masked.joint.counts)
            assert other.masked[key].mask == masked.mask


def test_each_level_tells_what_it_says(full: Summary) -> None:
    one, none, opaque = (reduced(full, **LEVELS[told]) for told in ("1d", "none", "opaque"))
    assert all(a.joint is not None for a in full.attributes.values())
    assert all(a.joint is None and a.histogram is not None for a in one.attributes.values())
    assert all(a.joint is None and a.histogram is None for a in none.attributes.values())
    assert all(
        a.domain is None and m.mask is None and m.change is None
        for a in opaque.attributes.values()
        for m in a.masked.values()
    )


def test_ranges_cover_the_domain_and_may_cross_a_mask(full: Summary) -> None:
    age = reduced(full, level=Level.ONE_D, ranges=5).attributes["age"]
    assert age.histogram is not None
    assert len(age.histogram.counts) == 5
    assert age.histogram.counts.sum() == full.rows
    tens = next(m for m in age.masked.values() if m.mask is not None and m.mask.describe() == "buckets of width 10")
    assert tens.change is not None
    groups = {(int(r), int(g)) for r, g in zip(age.histogram.codes, tens.change.codes, strict=True)}  # type: ignore[union-attr]
    assert len(groups) > max(len(age.histogram.counts), tens.change.target.size), "ranges and buckets overlap"


def test_opaque_summaries_hold_no_value_of_the_attributes(full: Summary, tmp_path: Path) -> None:
    write_summary(reduced(full, **LEVELS["opaque"]), tmp_path / "s")
    text = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "s/attributes").iterdir())
    assert "female" not in text
    assert "bucketize" not in text


def _edit(folder: Path, change: Callable[[dict[str, Any]], None], file: str = "attributes/001.json") -> None:
    path = folder / file
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def _set(path: list[Any], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value(content[path[-1]]) if callable(value) else value

    return change


DEFECTS: dict[str, tuple[str, list[Any], Any, str]] = {
    "negative": ("attributes/001.json", ["joint", 0, 0], -1, "attribute 'age': a joint holds negative counts"),
    "fractional": ("attributes/001.json", ["joint", 0, 0], lambda n: n + 0.5, "fractional counts"),
    "contradiction with the label": (
        "attributes/001.json",
        ["joint", 0, 0],
        lambda n: n + 7,
        "contradict each other by up to 7",
    ),
    "contradiction of a mask": (
        "attributes/001.json",
        ["masked", 1, "counts", 0, 0],
        lambda n: n + 3,
        "masked joint 2 of 'age'",
    ),
    "not finite": ("attributes/001.json", ["joint", 0, 0], float("nan"), "not finite"),
    "newer": ("summary.json", ["aegis_summary"], 99, "install a newer Aegis"),
    "no version": ("summary.json", ["aegis_summary"], None, "no format version"),
    "wrong rows": ("summary.json", ["rows"], 1, "number of rows"),
    "unknown level": ("summary.json", ["level"], "3d", "does not follow the summary format"),
    "unknown mask": ("attributes/001.json", ["masked", 1, "mask"], "vanish", "does not follow the summary format"),
    "escape": ("summary.json", ["attributes", 0, "file"], "../../outside.json", "points outside itself"),
    "missing file": ("summary.json", ["attributes", 0, "file"], "attributes/999.json", "there is no 999.json"),
    "unsorted": ("attributes/001.json", ["domain", "values"], lambda v: v[::-1], "not sorted"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defective_summary_is_refused_with_the_reason(defect: str, full: Summary, tmp_path: Path) -> None:
    file, path, value, said = DEFECTS[defect]
    write_summary(full, tmp_path / "summary")
    _edit(tmp_path / "summary", _set(path, value), file)
    with pytest.raises(SummaryError, match=said):
        read_summary(tmp_path / "summary")


def test_outputs_are_whole_and_never_overwritten_by_accident(full: Summary, tmp_path: Path) -> None:
    write_summary(full, tmp_path / "s")
    with pytest.raises(OutputError, match="exists already"):
        write_summary(full, tmp_path / "s")
    write_summary(full, tmp_path / "s", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["s"], "no draft is left behind"
    (tmp_path / "other").mkdir()
    with pytest.raises(OutputError, match="no summary"):
        write_summary(full, tmp_path / "other", overwrite=True)


def test_a_place_that_cannot_be_written_is_said(full: Summary, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="file/summary cannot be written"):
        write_summary(full, tmp_path / "file" / "summary")


@pytest.mark.parametrize("told", LEVELS)
def test_no_value_shows_in_the_repr_of_a_summary(told: str, full: Summary) -> None:
    domain = full.attributes["gender"].domain
    assert domain is not None
    gender = str(domain.values[0])
    assert gender not in repr(reduced(full, **LEVELS[told]).attributes["gender"].histogram)
    assert f"'{gender}'" not in repr(reduced(full, **LEVELS[told]).attributes)

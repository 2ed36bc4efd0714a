"""Counts of one column in two groupings: both from the same rows, or an error that says where and by how much."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.consistency import Grouping, check_groupings, check_margins
from aegis.counts.folder import read_summary, write_summary
from aegis.counts.joint import Histogram, Joint
from aegis.counts.known_keys import KNOWN
from aegis.counts.protect import merge_small
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.configuration import Configuration
from aegis.ranking.rank import rank

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/summary.schema.json").read_text(encoding="utf-8"))


@st.composite
def groupings(draw: st.DrawFn) -> tuple[list[Any], Any]:
    """Some partitions of one domain, and a joint of its values with a label."""
    values = draw(st.integers(1, 12))
    joint = np.array(draw(st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=values, max_size=values)))
    partitions = draw(st.lists(st.lists(st.integers(0, 4), min_size=values, max_size=values), min_size=2, max_size=5))
    return [np.unique(codes, return_inverse=True)[1] for codes in partitions], joint


def _told(codes: Any, joint: Any, number: int) -> Grouping:
    counts = np.zeros((int(codes.max()) + 1, joint.shape[1]))
    np.add.at(counts, codes, joint)
    return Grouping(title=f"mask {number}", codes=codes, counts=counts)


@given(groupings())
def test_what_comes_from_the_same_rows_is_never_refused(drawn: tuple[list[Any], Any]) -> None:
    partitions, joint = drawn
    check_groupings([_told(codes, joint, i) for i, codes in enumerate(partitions)], "age")
    check_groupings([_told(codes, joint, i).in_all() for i, codes in enumerate(partitions)], "age")


@given(groupings(), st.data())
@settings(max_examples=200)
def test_records_that_moved_are_found_wherever_both_groupings_can_see_it(
    drawn: tuple[list[Any], Any], data: st.DataObject
) -> None:
    partitions, joint = drawn
    told = [_told(codes, joint, i) for i, codes in enumerate(partitions)]
    which = data.draw(st.integers(0, len(told) - 1))
    moved = told[which].counts.copy()
    source, target = (data.draw(st.integers(0, len(moved) - 1)) for _ in range(2))
    moved[source, 0] -= 3
    moved[target, 0] += 3
    told[which] = Grouping(title="mask x", codes=told[which].codes, counts=moved)
    # Brute force: one pair contradicts if some set of values is a union of groups of both, and they count it apart.
    seen = any(_apart(one, other) for i, one in enumerate(told) for other in told[:i])
    if seen:
        with pytest.raises(SummaryError, match=r"contradict each other, mask .* and mask .*: by up to 3 records in"):
            check_groupings(told, "age")
    else:
        check_groupings(told, "age")


def _apart(one: Grouping, other: Grouping) -> bool:
    """Walk from value to value through shared groups, and compare what each side counts in what was reached."""
    left = set(range(len(one.codes)))
    while left:
        block = {left.pop()}
        grown = True
        while grown:
            groups = {(side, int(codes[v])) for v in block for side, codes in ((0, one.codes), (1, other.codes))}
            wider = {
                v
                for v in range(len(one.codes))
                if (0, int(one.codes[v])) in groups or (1, int(other.codes[v])) in groups
            }
            grown, block = wider != block, wider
        left -= block
        sums = [sum(side.counts[group] for group in {int(side.codes[v]) for v in block}) for side in (one, other)]
        if np.abs(sums[0] - sums[1]).max() > 1e-6:
            return True
    return False


def _summary() -> Summary:
    rng = np.random.default_rng(0)
    ages = Domain.of(Kind.INTEGER, range(40))
    label = Domain.of(Kind.TEXT, ["high", "low", "mid"])
    counts = rng.integers(1, 20, size=(40, 3))
    groups = {"groups": {"low": ["low", "mid"], "high": ["high"]}}
    return masked_counts(
        name="t",
        label="y",
        label_histogram=Histogram(domain=label, counts=counts.sum(axis=0)),
        joints={"age": Joint(attribute=ages, label=label, counts=counts)},
        configurations=[
            Configuration.of("fives", {"age": {"bucketize": {"width": 5}}}),
            Configuration.of("tens", {"age": {"bucketize": {"width": 10}}}),
            Configuration.of("fifteens", {"age": {"bucketize": {"width": 15}}}),
            Configuration.of("noisy", {"age": {"add_laplace_noise": {"scale": 3}}}),
            Configuration.of("shuffled", {"age": "shuffle"}),
            Configuration.of("merged", {"age": {"bucketize": {"width": 7}}, "y": {"regroup": groups}}),
            Configuration.of("drawn", {"age": {"bucketize": {"width": 8}}, "y": {"randomize": {"keep": 0.7}}}),
        ],
    )


LEVELS: dict[str, Callable[[Summary], Summary]] = {
    "2d": lambda s: s,
    "1d": lambda s: reduced(s, level=Level.ONE_D),
    "ranges": lambda s: reduced(s, level=Level.ONE_D, ranges=6),
    "none": lambda s: reduced(s, level=Level.NONE),
    "opaque": lambda s: reduced(s, level=Level.NONE, opaque=True),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("protected", [False, True])
def test_true_summaries_pass_at_every_level(level: str, protected: bool) -> None:
    summary = merge_small(_summary(), 5) if protected else _summary()
    check_margins(LEVELS[level](summary))


def _moved(folder: Path, number: int) -> None:
    """Move three records from the largest ages of a masked joint to the smallest, with the same label."""
    file = folder / "attributes/001.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    counts, change = content["masked"][number]["counts"], content["masked"][number]["change"]
    codes = change.get("codes", [0, -1])  # what noise makes of ages is sorted as they are
    counts[codes[-1]][0] -= 3
    counts[codes[0]][0] += 3
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("level", ["2d", "1d", "ranges", "none"])
@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_records_moved_between_groups_are_refused_when_the_summary_is_read(
    level: str, number: int, tmp_path: Path
) -> None:
    write_summary(LEVELS[level](_summary()), tmp_path / "s")
    read_summary(tmp_path / "s")
    _moved(tmp_path / "s", number)
    with pytest.raises(SummaryError, match=r"'age'.* contradict each other.*by up to 3 records") as refused:
        read_summary(tmp_path / "s")
    assert "write the summary again" in str(refused.value)
    if level == "none":
        assert "buckets of width" in str(refused.value)


def test_an_expectation_is_compared_with_the_joint_where_it_is_told(tmp_path: Path) -> None:
    write_summary(_summary(), tmp_path / "s")
    _moved(tmp_path / "s", 3)
    with pytest.raises(SummaryError, match="contradict each other by up to 3 records"):
        read_summary(tmp_path / "s")


@pytest.mark.parametrize("codes", [[-1], [99], [0]])
def test_groups_that_a_mask_does_not_have_are_refused(codes: list[int], tmp_path: Path) -> None:
    write_summary(reduced(_summary(), level=Level.NONE), tmp_path / "s")
    file = tmp_path / "s/attributes/001.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["masked"][1]["change"]["codes"] = codes + content["masked"][1]["change"]["codes"][len(codes) :]
    if codes == [0]:
        content["masked"][1]["change"]["codes"] = [0] * 40
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SummaryError, match="does not fit its domain"):
        read_summary(tmp_path / "s")


@pytest.mark.parametrize("level", [Level.TWO_D, Level.ONE_D, Level.NONE])
def test_an_opaque_summary_has_the_level_of_what_it_holds(level: Level, tmp_path: Path) -> None:
    opaque = reduced(_summary(), level=level, opaque=True)
    assert opaque.level is Level.NONE
    write_summary(opaque, tmp_path / "s")
    manifest = json.loads((tmp_path / "s/summary.json").read_text(encoding="utf-8"))
    assert manifest["level"] == "none"
    (tmp_path / "s/summary.json").write_text(json.dumps({**manifest, "level": level.value}), encoding="utf-8")
    assert read_summary(tmp_path / "s").level is Level.NONE, "as older ones have it"
    assert rank(opaque).ranking


PLACES: dict[str, tuple[str, list[Any]]] = {
    "summary": ("summary.json", []),
    "label": ("summary.json", ["label"]),
    "label mask": ("summary.json", ["label", "masks", "*"]),
    "attribute entry": ("summary.json", ["attributes", 0]),
    "configuration": ("summary.json", ["configurations", 0]),
    "domain": ("attributes/001.json", ["domain"]),
    "partition": ("attributes/001.json", ["masked", 0, "change"]),
    "channel": ("attributes/001.json", ["masked", 3, "change"]),
    "attribute": ("attributes/001.json", []),
    "histogram": ("attributes/001.json", ["histogram"]),
    "masked joint": ("attributes/001.json", ["masked", 0]),
    "merging": ("summary.json", ["protection"]),
}


@pytest.mark.parametrize("part", PLACES)
def test_a_key_that_is_not_known_is_refused_as_the_schema_does(part: str, tmp_path: Path) -> None:
    write_summary(merge_small(_summary(), 5), tmp_path / "s")
    file, path = PLACES[part]
    content = json.loads((tmp_path / "s" / file).read_text(encoding="utf-8"))
    place = content
    for step in path:
        place = next(iter(place.values())) if step == "*" else place[step]
    place["colour"] = 1
    (tmp_path / "s" / file).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SummaryError, match=rf"\({part}\) has the key 'colour', which .* install a newer Aegis"):
        read_summary(tmp_path / "s")


def test_the_keys_are_those_of_the_schema() -> None:
    top, defs = SCHEMA["properties"], SCHEMA["$defs"]
    noted: dict[str, Any] = {
        "summary": SCHEMA,
        "label": top["label"],
        "label mask": top["label"]["properties"]["masks"]["additionalProperties"],
        "attribute entry": top["attributes"]["items"],
        "configuration": top["configurations"]["items"],
        "merging": top["protection"]["anyOf"][1],
        "noise": top["protection"]["anyOf"][2],
        "scores": top["scores"]["additionalProperties"],
        "domain": defs["domain"],
        "partition": defs["change"]["anyOf"][1],
        "channel": defs["change"]["anyOf"][2],
        "attribute": defs["attribute_file"],
        "histogram": defs["attribute_file"]["properties"]["histogram"]["anyOf"][1],
        "masked joint": defs["attribute_file"]["properties"]["masked"]["items"],
    }
    assert {name: frozenset(part["properties"]) for name, part in noted.items()} == dict(KNOWN)
    assert all(part["additionalProperties"] is False for part in noted.values())

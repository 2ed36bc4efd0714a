"""How boxes grow beyond the greedy way: they look ahead, suppress where it helps most, and stop with the score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aegis.candidates.boxes import choosing
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.growing import grow_boxes, grow_from_tuples
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tree import Cut
from aegis.candidates.boxes.tuples import box_tuples, whole_uncertainty
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError
from aegis.privacy.policy import Policy

FOUR = Domain.of(Kind.INTEGER, range(4))
LABEL = Domain.of(Kind.TEXT, ["no", "yes"])


def decided_together() -> ClassTable:
    """``first`` and ``second`` decide the label together and say nothing alone; ``hint`` says a little alone."""
    first, second, hint = (axis.ravel() for axis in np.meshgrid(range(4), range(4), range(4), indexing="ij"))
    codes = np.repeat(np.column_stack([first, second, hint]), 10, axis=0)
    label = ((codes[:, 0] >= 2) ^ (codes[:, 1] >= 2)).astype(np.int64)
    label = np.where((np.arange(len(codes)) % 10 == 0) & (codes[:, 2] >= 2), 1, label)
    return ClassTable.from_codes(
        columns=("first", "second", "hint"), domains=[FOUR] * 3, codes=codes,
        counts=np.ones(len(codes), dtype=np.int64), contents={"label": (LABEL, label)},
    )  # fmt: skip


def columns_cut(boxes: Boxes) -> list[str]:
    return [boxes.columns[node.column].name for node in boxes.nodes if isinstance(node, Cut)]


@pytest.mark.parametrize("models", [{}, {"l": {"label": 1}}], ids=["by k", "by models"])
def test_looking_ahead_sees_attributes_that_decide_together(models: dict[str, object]) -> None:
    table = decided_together()
    policy = Policy.from_mapping({"k": table.records // 4, **models})
    growth = Growth(doubt_nats=0.0, look_ahead=0, joins=False)
    at_once = grow_boxes(table, policy, labels=["label"], growth=growth).boxes
    ahead = grow_boxes(table, policy, labels=["label"], growth=replace(growth, look_ahead=3)).boxes
    assert columns_cut(at_once)[0] == "hint"
    assert sorted(columns_cut(ahead)) in (["first", "second", "second"], ["first", "first", "second"])


def outliers() -> ClassTable:
    """Two small groups at the ends: the label of the first is its own, that of the last is like its neighbours'."""
    place = np.repeat(np.arange(4), [4, 60, 60, 4])
    label = np.concatenate([np.ones(4), np.tile([0, 1], 62)]).astype(np.int64)
    label[4:64] = 0
    return ClassTable.from_codes(
        columns=("place",), domains=[FOUR], codes=place[:, None], counts=np.ones(len(place), dtype=np.int64),
        contents={"label": (LABEL, label)},
    )  # fmt: skip


def test_suppression_goes_where_it_tells_most_and_the_rest_is_cut_again() -> None:
    growth = Growth(least_records=4, doubt_nats=0.0)
    limit = {"k": 10, "max_suppression": 4 / 128, "suppressed": "dropped"}
    boxes = grow_boxes(outliers(), Policy.from_mapping(limit), labels=["label"], growth=growth).boxes
    box = boxes.box_of([FOUR], np.arange(4)[:, None])
    assert [boxes.boxes[at].suppressed for at in box] == [True, False, False, False]
    assert len(set(box[:3].tolist())) == 3
    assert box[2] == box[3], "the last group is joined with its neighbours, and these stay cut apart from the others"
    more = {**limit, "max_suppression": 8 / 128}
    assert grow_boxes(outliers(), Policy.from_mapping(more), labels=["label"], growth=growth).boxes.suppressed == 8


def test_another_way_is_taken_where_it_is_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, (300, 1))
    table = ClassTable.from_codes(
        columns=("place",), domains=[FOUR], codes=codes, counts=np.ones(300, dtype=np.int64),
        contents={"label": (LABEL, rng.integers(0, 2, 300))},
    )  # fmt: skip
    tried: list[Growth] = []

    def scores(rise: float, spread: float):  # type: ignore[no-untyped-def]
        def by_row(trial: object, growth: Growth) -> np.ndarray:
            tried.append(growth)
            better = growth == Growth(expected_labels=False)
            return 0.7 + better * (rise + spread * (np.arange(100) % 2 - 0.5))

        return by_row

    policy = Policy.from_mapping({"k": 2})
    monkeypatch.setattr(choosing._Trial, "scores", scores(0.02, 0.0))
    assert growth_for(table, policy, "label") == Growth(expected_labels=False)
    assert Growth(expected_labels=False, doubt_nats=3.0) in tried, "a second round looks around the better way"
    assert len(tried) == len(set(tried)), "nothing is tried twice"
    monkeypatch.setattr(choosing._Trial, "scores", scores(0.02, 1.0))
    assert growth_for(table, policy, "label") == Growth(), "less than its standard error may be chance"


def test_growth_out_of_range_is_refused() -> None:
    with pytest.raises(AnonymizerError, match="cannot be negative"):
        Growth(look_ahead=-1)


@pytest.mark.parametrize("models", [{}, {"l": {"label": 1}}], ids=["by k", "by models"])
def test_boxes_hold_whole_branches_where_hierarchies_are_respected(models: dict[str, object]) -> None:
    values = ["a1", "a2", "a3", "b1", "b2", "c1"]
    town = Domain.of(Kind.TEXT, values)
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 6, (600, 1))
    label = (np.isin(codes[:, 0], [0, 4]) ^ (rng.random(600) < 0.1)).astype(np.int64)
    table = ClassTable.from_codes(
        columns=("town",), domains=[town], codes=codes, counts=np.ones(600, dtype=np.int64),
        contents={"label": (LABEL, label)},
    )  # fmt: skip
    hierarchies = {"town": Hierarchy.of([[value, value[0], "*"] for value in values])}
    policy = Policy.from_mapping({"k": 20, **models})
    growth = Growth(doubt_nats=0.0, most_cuts=2)

    def sets(**how: bool) -> list[set[str | None]]:
        boxes = grow_boxes(table, policy, labels=["label"], growth=growth, hierarchies=hierarchies, **how).boxes
        return [set(regions[0].values or ()) for regions in boxes.regions]

    whole = [{"a1", "a2", "a3"}, {"b1", "b2"}, {"c1"}]
    for held in sets(by_branch=True):
        inside = [branch for branch in whole if held & branch]
        assert len(inside) == 1 or set().union(*inside) == held, "a box of several branches holds all of each"
    assert any(len(held & branch) not in (0, len(branch)) for held in sets() for branch in whole[:2] if held - branch)


def test_a_weight_that_is_given_stays_while_the_way_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Growth] = []

    def scores(trial: object, growth: Growth) -> np.ndarray:
        tried.append(growth)
        return np.full(100, 0.7)

    monkeypatch.setattr(choosing._Trial, "scores", scores)
    chosen = growth_for(outliers(), Policy.from_mapping({"k": 2}), "label", label_weight=0.4)
    assert chosen == Growth(label_weight=0.4)
    assert {growth.label_weight for growth in tried} == {0.4}
    with pytest.raises(AnonymizerError, match="between 0 and 1"):
        LocalRecoding(k=2, label_weight=1.5)
    with pytest.raises(AnonymizerError, match="give one of them"):
        LocalRecoding(k=2, label_weight=0.5, growth=Growth())
    with pytest.raises(AnonymizerError, match="need hierarchies"):
        LocalRecoding(k=2, by_branch=True)


def test_a_large_table_looks_ahead_only_where_learners_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing._Trial, "scores", lambda trial, growth: np.full(100, 0.7))
    policy = Policy.from_mapping({"k": 2})
    assert growth_for(outliers(), policy, "label").look_ahead == 3
    monkeypatch.setattr(choosing, "MOST_TUPLES", 3)
    large = growth_for(outliers(), policy, "label")
    assert (large.look_ahead, large.joins) == (0, False)


@pytest.mark.parametrize("models", [{}, {"l": {"label": 1}}], ids=["by k", "by models"])
def test_a_box_is_looked_ahead_from_only_where_labels_are_left_to_tell(models: dict[str, object]) -> None:
    table = decided_together()
    policy = Policy.from_mapping({"k": table.records // 4, **models})
    ready = box_tuples(table, ["label"])
    share = ready.labels / ready.labels.sum(axis=1, keepdims=True)
    for apart, looked in ((1.0, True), (0.02, False)):  # the second tells a thousandth of a nat a record
        labels = table.sizes[:, None] * (0.5 + apart * (share - 0.5))
        whole = whole_uncertainty(labels, 2)
        base = ready.base._replace(scales=np.array([1.0 / whole]))
        less_told = replace(ready, labels=labels, base=base, expects_labels=True)
        ahead, at_once = (
            grow_from_tuples(less_told, policy, labels=["label"], growth=Growth(look_ahead=look, joins=False)).boxes
            for look in (3, 0)
        )
        assert (columns_cut(ahead) != columns_cut(at_once)) == looked

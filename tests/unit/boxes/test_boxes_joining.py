"""Parts of a tree that are published as one box: what they keep, and that they tell more."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.boxes.gains import chance_gain
from aegis.candidates.boxes.growing import grow_boxes, tuples_to_grow
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.boxes.parts import (
    A_BOX,
    COARSE,
    RECORDS_OF_A_PART,
    Parts,
    cost_of_parts,
    joined_parts,
    mean_width,
    parts_of,
    published_parts,
)
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.terms import Growth, Terms
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf
from aegis.candidates.boxes.tuples import BoxTuples
from aegis.counts.class_table import ClassTable
from aegis.counts.people import People
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.published_values import Interval
from aegis.errors import ConfigurationError
from aegis.privacy.policy import Policy

AGE = Domain.of(Kind.INTEGER, range(20, 60), missing=True)
TOWN = Domain.of(Kind.TEXT, [f"t{i}" for i in range(8)], missing=True)
LABEL = Domain.of(Kind.TEXT, ["no", "yes"])
ILL = Domain.of(Kind.TEXT, ["flu", "none", "other"])


def people(rows: int = 2_500, seed: int = 0) -> tuple[ClassTable, np.ndarray, np.ndarray]:
    """A table whose label rises with age along a slope that no single cut follows; some values are missing."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 40, rows), rng.integers(0, 8, rows)])
    chance = 1 / (1 + np.exp(-(codes[:, 0] - 2.5 * codes[:, 1] - 10) / 4))
    label = (rng.random(rows) < chance).astype(np.int64)
    ill = rng.integers(0, 3, rows)
    codes[rng.random(rows) < 0.05, 0] = 40
    codes[rng.random(rows) < 0.05, 1] = 8
    table = ClassTable.from_codes(
        columns=("age", "town"), domains=(AGE, TOWN), codes=codes, counts=np.ones(rows, dtype=np.int64),
        contents={"label": (LABEL, label), "ill": (ILL, ill)},
    )  # fmt: skip
    return table, codes, ill


def published(boxes: Boxes, codes: np.ndarray) -> list[tuple[Any, ...]]:
    columns = boxes.published(boxes.box_of((AGE, TOWN), codes))
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def cost(ready: BoxTuples, growth: Growth, of_tuple: np.ndarray, *, a_box: bool) -> float:
    many = int(of_tuple.max()) + 1
    held = parts_of(ready.columns, ready.sizes, ready.labels, ready.terms(growth, 1), of_tuple, many)
    each = chance_gain(ready.labels.sum(axis=0), ready.base.blocks, ready.base.scales, A_BOX if a_box else 0.0)
    return float(cost_of_parts(held, ready.terms(growth, 1))) + each * many


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**20), k=st.integers(2, 60))
def test_joined_boxes_keep_k_and_never_cost_more_than_cuts_alone(seed: int, k: int) -> None:
    table, codes, _ = people(seed=seed)
    policy, growth = Policy.from_mapping({"k": k}), Growth()
    joined = grow_boxes(table, policy, labels=["label"], growth=growth)
    alone = grow_boxes(table, policy, labels=["label"], growth=Growth(joins=False))
    sizes = Counter(published(joined.boxes, codes))
    assert min(sizes.values()) == joined.boxes.smallest_box == joined.judgement.smallest_class >= k
    assert len(sizes) == joined.boxes.many
    ready = tuples_to_grow(table, policy, growth, labels=["label"])
    of_tuple, cut_alone = joined.boxes.numbers[joined.box_of_tuple], alone.box_of_tuple
    terms = ready.terms(growth, 1)
    parts = parts_of(ready.columns, ready.sizes, ready.labels, terms, cut_alone, alone.boxes.many)
    coarse = mean_width(parts, terms) > COARSE
    assert cost(ready, growth, of_tuple, a_box=coarse) <= cost(ready, growth, cut_alone, a_box=coarse)
    assert ("*", "*") not in sizes, "stars alone are what a suppressed record has"


def test_joined_boxes_tell_more_where_the_label_follows_a_slope() -> None:
    table, _, _ = people()
    policy, growth = Policy.from_mapping({"k": 50}), Growth()
    joined = grow_boxes(table, policy, labels=["label"], growth=growth)
    alone = grow_boxes(table, policy, labels=["label"], growth=Growth(joins=False))
    assert joined.boxes.many < len(joined.boxes.leaves), "some parts are joined"
    ready = tuples_to_grow(table, policy, growth, labels=["label"])
    of_tuple = joined.boxes.numbers[joined.box_of_tuple]
    assert cost(ready, growth, of_tuple, a_box=False) < cost(ready, growth, alone.box_of_tuple, a_box=False)


def test_what_is_published_of_a_joined_box_holds_every_record() -> None:
    table, codes, _ = people()
    boxes = grow_boxes(table, Policy.from_mapping({"k": 50}), labels=["label"]).boxes
    assert boxes.many < len(boxes.leaves)
    ages, towns = [*AGE.values.tolist(), None], [*TOWN.values.tolist(), None]
    for (age_text, town_text), (age, town) in zip(published(boxes, codes), codes.tolist(), strict=True):
        if age_text is None:
            assert ages[age] is None
        elif age_text != "*":
            interval, or_missing = age_text.removesuffix(" or missing"), age_text.endswith(" or missing")
            held = Interval.parse(interval)
            assert held is not None
            assert or_missing if ages[age] is None else ages[age] in held
        if town_text not in ("*", None):
            named = town_text.strip("{}").split(", ")
            assert ("missing" if towns[town] is None else towns[town]) in named


def test_other_models_hold_for_joined_boxes_by_an_independent_count() -> None:
    table, codes, ill = people()
    policy = Policy.from_mapping({"k": 80, "l": {"ill": 3}, "t": {"ill": 0.3}})
    grown = grow_boxes(table, policy, labels=["label"])
    assert grown.boxes.many < len(grown.boxes.leaves)
    held: dict[tuple[Any, ...], list[int]] = {}
    for row, secret in zip(published(grown.boxes, codes), ill.tolist(), strict=True):
        held.setdefault(row, []).append(secret)
    whole = np.bincount(ill) / len(ill)
    for secrets in held.values():
        shares = np.bincount(secrets, minlength=3) / len(secrets)
        assert len(secrets) >= 80
        assert (shares > 0).all()
        assert np.abs(shares - whole).sum() / 2 <= 0.3 + 1e-9


def test_nothing_is_joined_by_luck_nor_against_a_hierarchy_nor_where_people_count() -> None:
    table, _, _ = people()
    policy = Policy.from_mapping({"k": 50})
    groups = Hierarchy.of([[f"t{at}", f"group {at // 4}", "*"] for at in range(8)])
    own = np.arange(table.classes)
    each = replace(
        table,
        people=People(column="id", classes=table.classes, owners=own, persons=own, records=table.sizes, held={},
                      everybody=table.classes),
    )  # fmt: skip
    grown = [
        grow_boxes(table, policy, labels=["label"], growth=Growth(expected_labels=False)),
        grow_boxes(table, policy, labels=["label"], hierarchies={"town": groups}),
        grow_boxes(each, policy, labels=["label"]),
        grow_boxes(table, policy),
    ]
    assert all(made.boxes.many == len(made.boxes.leaves) > 1 for made in grown)


def test_the_file_tells_no_number_of_fewer_than_k_and_older_readers_refuse_it() -> None:
    table, _, _ = people()
    grown = grow_boxes(table, Policy.from_mapping({"k": 50}), labels=["label"])
    boxes = grown.boxes
    own = np.bincount(grown.box_of_tuple, weights=table.sizes)
    assert own.min() < 50, "a part has fewer than k"
    by_box: dict[int, list[int]] = {}
    for leaf in boxes.boxes:
        if leaf.joined is None:
            assert leaf.records >= 50
        else:
            by_box.setdefault(leaf.joined, []).append(leaf.records)
    assert all(max(records) - min(records) <= 1 and sum(records) >= 50 for records in by_box.values())
    assert sum(leaf.records for leaf in boxes.boxes) == boxes.records
    content = boxes.to_json()
    assert content["version"] == 2, "who does not know of joined leaves would publish each by itself"
    again = Boxes.from_text(boxes.to_text())
    assert (again, again.texts) == (boxes, boxes.texts)
    alone = grow_boxes(table, Policy.from_mapping({"k": 50}), labels=["label"], growth=Growth(joins=False)).boxes
    assert alone.to_json()["version"] == 1


def test_models_do_not_tell_the_parts_of_a_box_apart() -> None:
    table, codes, _ = people()
    boxes = grow_boxes(table, Policy.from_mapping({"k": 50}), labels=["label"]).boxes
    leaf = boxes.box_of((AGE, TOWN), codes)
    for column in box_columns(boxes, leaf, leaf):
        seen = {(box, code) for box, code in zip(boxes.numbers[leaf].tolist(), column.training.tolist(), strict=True)}
        assert len(seen) == boxes.many


def test_a_box_that_is_suppressed_in_part_is_refused() -> None:
    columns = (BoxColumn(name="age", kind=Kind.INTEGER),)
    nodes = (Cut(column=0, then=1, other=2, below=30.0), Leaf(records=5, joined=0), Leaf(records=5, joined=0))
    boxes = Boxes(columns=columns, nodes=nodes, labels=(), policy={"k": 10}, records=10)
    assert (boxes.many, boxes.smallest_box, set(boxes.texts)) == (1, 10, {("*",)})
    with pytest.raises(ConfigurationError, match="suppressed alone"):
        replace(boxes, nodes=(*nodes[:2], Leaf(records=5, joined=0, suppressed=True)))


def four_parts(labels: list[float], ages: list[int]) -> tuple[Parts, Terms]:
    """Parts of ten records each, with a share of a label of two classes and an age of their own."""
    columns = np.array([ages, [0, 1, 2, 3]], dtype=np.int64)
    share = np.array(labels)
    held = np.column_stack([10 * (1 - share), 10 * share])
    whole = held.sum(axis=0)
    terms = Terms(
        blocks=np.array([[0, 2, 2]], dtype=np.int64),
        scales=np.array([1 / (whole.sum() * np.log(whole.sum()) - (whole * np.log(whole)).sum())]),
        ordered=np.array([1, 0], dtype=np.int64), missing=np.array([-1, -1], dtype=np.int64),
        domains=np.array([40, 4], dtype=np.int64), ranks=np.arange(44), rank_starts=np.array([0, 40, 44]),
        by=np.zeros(2, dtype=np.int64), depths=np.zeros(44, dtype=np.int64),
        weight=0.99, doubt=0.0, least=20, records=80.0,
    )  # fmt: skip
    sizes = np.full(4, 10, dtype=np.int64)
    return parts_of(columns, sizes, held, terms, np.arange(4), 4), terms


@pytest.mark.parametrize(
    ("labels", "ages"),
    [([0.1, 0.9, 0.12, 0.88], [0, 1, 20, 21]), ([0.5, 0.5, 0.5, 0.5], [0, 30, 2, 32])],
    ids=["by the label", "by the width where labels are alike"],
)
def test_the_best_of_all_ways_to_join_four_parts_is_found(labels: list[float], ages: list[int]) -> None:
    parts, terms = four_parts(labels, ages)
    costs = {}
    for box in product(range(4), repeat=4):
        if np.bincount(box)[list(set(box))].min() < 2:
            continue
        of_part = np.unique(box, return_inverse=True)[1]
        joined = parts_of(
            np.array([ages, [0, 1, 2, 3]], dtype=np.int64), parts.sizes, parts.labels, terms, of_part,
            int(of_part.max()) + 1,
        )  # fmt: skip
        costs[tuple(of_part.tolist())] = float(cost_of_parts(joined, terms))
    found = joined_parts(parts, terms, np.zeros(4, dtype=np.int64), 20, 0.0)
    assert costs[tuple(found.tolist())] == pytest.approx(min(costs.values()))
    assert found.tolist() == [0, 1, 0, 1]


def test_a_part_alone_in_its_branch_is_joined_with_another() -> None:
    parts, terms = four_parts([0.1, 0.9, 0.12, 0.88], [0, 1, 20, 21])
    apart = joined_parts(parts, terms, np.array([0, 0, 1, 2]), 20, 0.0)
    assert np.bincount(apart).min() >= 2, "every box has the records it needs"
    assert apart[0] == apart[1], "what lies in one branch is joined there"


@pytest.mark.parametrize(("a_box", "boxes"), [(0.0, 2), (1.0, 1)])
def test_boxes_that_have_enough_are_joined_where_they_tell_little_apart(a_box: float, boxes: int) -> None:
    parts, terms = four_parts([0.1, 0.9, 0.12, 0.88], [0, 1, 20, 21])
    assert len(set(joined_parts(parts, terms, np.zeros(4, dtype=np.int64), 20, a_box).tolist())) == boxes


def test_no_part_of_a_box_has_fewer_records_than_may_be_told_of() -> None:
    table, _, _ = people()
    for k in (3, 20, 50):
        grown = grow_boxes(table, Policy.from_mapping({"k": k}), labels=["label"])
        assert np.bincount(grown.box_of_tuple, weights=table.sizes).min() >= min(k, RECORDS_OF_A_PART)
        of_box = np.bincount(grown.boxes.numbers[grown.box_of_tuple], weights=table.sizes)
        assert of_box.min() >= k


@pytest.mark.parametrize(("towns", "boxes"), [([0, 1, 2, 3], [0, 0, 1, 1]), ([0, 1, 1, 0], [0, 0, 0, 0])])
def test_no_two_boxes_are_made_that_would_be_published_alike(towns: list[int], boxes: list[int]) -> None:
    parts, terms = four_parts([0.1, 0.1, 0.9, 0.9], [0, 20, 0, 20])
    columns = np.array([[0, 20, 0, 20], towns], dtype=np.int64)
    parts = parts_of(columns, parts.sizes, parts.labels, terms, np.arange(4), 4)
    assert joined_parts(parts, terms, np.zeros(4, dtype=np.int64), 20, 0.0).tolist() == boxes


def test_parts_as_they_are_published_hold_what_lies_in_them_and_no_two_the_same() -> None:
    table, _, _ = people()
    alone = grow_boxes(table, Policy.from_mapping({"k": 20}), labels=["label"], growth=Growth(joins=False))
    ready = tuples_to_grow(table, Policy.from_mapping({"k": 50}), Growth(), labels=["label"])
    terms = ready.terms(Growth(), 1)
    seen = parts_of(ready.columns, ready.sizes, ready.labels, terms, alone.box_of_tuple, alone.boxes.many)
    shown = published_parts(seen, alone.boxes, table.domains)
    assert (shown.lows <= seen.lows)[seen.highs >= 0].all()
    assert (shown.highs >= seen.highs).all()
    assert (shown.sets & seen.sets == seen.sets).all()
    assert [of_all == 0 for of_all in shown.lows[:, 0].tolist()] == [
        text is not None and (text == "*" or text.startswith("(-inf")) for text, _ in alone.boxes.texts
    ]
    assert len({(*low, *high, *held) for low, high, held in zip(
        shown.lows.tolist(), shown.highs.tolist(), shown.sets.tolist(), strict=True)}) == alone.boxes.many  # fmt: skip
    starred = parts_of(ready.columns, ready.sizes, ready.labels, terms, np.zeros(table.classes, dtype=np.int64), 1)
    assert mean_width(seen, terms) < mean_width(starred, terms)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_less_the_label_counts_the_finer_joined_boxes_stay(seed: int) -> None:
    table, _, _ = people(seed=seed)
    ready = tuples_to_grow(table, Policy.from_mapping({"k": 50}), Growth(), labels=["label"])
    terms = ready.terms(Growth(), 1)
    widths = []
    for weight in (0.99, 0.97, 0.9):  # with less width decides alone, and a greedy growth is fine by luck
        growth = Growth(label_weight=weight)
        grown = grow_boxes(table, Policy.from_mapping({"k": 50}), labels=["label"], growth=growth)
        box = grown.boxes.numbers[grown.box_of_tuple]
        held = parts_of(ready.columns, ready.sizes, ready.labels, terms, box, grown.boxes.many)
        widths.append(mean_width(held, terms))
    assert widths[0] > 1.5 * widths[1] > 1.5 * 1.5 * widths[2]

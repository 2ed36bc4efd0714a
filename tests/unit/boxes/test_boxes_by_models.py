"""Boxes under models beside k: all boxes of a level are cut together, and a cut that a model refuses gives way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aegis.candidates.boxes import growing_by_models
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.terms import GREEDY, Growth
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy

LABEL = Domain.of(Kind.TEXT, ["no", "yes"])
ILLNESS = Domain.of(Kind.TEXT, [f"d{number}" for number in range(6)])


def people(rows: int = 1_500, *, missing: bool = False) -> ClassTable:
    """Three columns, a label that two of them tell, and an illness of which one value is common."""
    rng = np.random.default_rng(3)
    domains = [
        Domain.of(Kind.INTEGER, range(40)),
        Domain.of(Kind.INTEGER, range(3)),
        Domain.of(Kind.TEXT, [f"c{number}" for number in range(9)]),
    ]
    domains = [replace(domain, missing=missing) for domain in domains]
    codes = np.column_stack([rng.integers(0, domain.size, rows) for domain in domains])
    told = 0.1 * (codes[:, 0] - 20) + codes[:, 1] + rng.logistic(0, 1, rows)
    illness = rng.choice(6, rows, p=[0.7, 0.1, 0.08, 0.06, 0.04, 0.02])
    return ClassTable.from_codes(
        columns=("age", "place", "country"), domains=domains, codes=codes, counts=np.ones(rows, dtype=np.int64),
        contents={"label": (LABEL, (told > 1).astype(np.int64)), "illness": (ILLNESS, illness)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("growth", "missing"),
    [
        (Growth(), False),
        (GREEDY, False),
        (GREEDY, True),
        (Growth(most_cuts=4), False),
        (Growth(least_records=20), False),
    ],
    ids=["usual", "greedy", "with missing values", "few", "large"],
)
def test_a_model_that_refuses_nothing_leaves_the_boxes_of_k_alone(growth: Growth, missing: bool) -> None:
    table = people(missing=missing)
    alone = grow_boxes(table, Policy.from_mapping({"k": 5}), labels=["label"], growth=growth)
    asked = Policy.from_mapping({"k": 5, "l": {"illness": {"kind": "distinct", "l": 1}}})
    beside = grow_boxes(table, asked, labels=["label"], growth=growth)
    assert beside.boxes.nodes == alone.boxes.nodes
    assert (beside.box_of_tuple == alone.box_of_tuple).all()


POLICIES = (
    {"k": 5, "l": {"illness": {"kind": "distinct", "l": 3}}},
    {"k": 5, "l": {"illness": {"kind": "entropy", "l": 2}}},
    {"k": 5, "t": {"illness": 0.3}},
)


@pytest.mark.parametrize("asked", POLICIES, ids=["distinct", "entropy", "t"])
def test_boxes_are_cut_as_long_as_some_cut_may_stand(asked: dict[str, object]) -> None:
    table = people()
    policy = Policy.from_mapping(asked)
    rows = np.repeat(np.arange(table.classes), table.sizes)
    illness = np.repeat(table.contents["illness"].values, table.contents["illness"].counts)
    ordered = ClassTable.from_codes(
        columns=table.columns[:2], domains=table.domains[:2], codes=table.codes[rows][:, :2],
        counts=np.ones(len(rows), dtype=np.int64), contents={"illness": (ILLNESS, illness)}, encoded=True,
    )  # fmt: skip
    grown = grow_boxes(ordered, policy, growth=Growth(label_weight=0.0))
    assert grown.judgement.satisfied
    refused = 0
    for box in range(int(grown.box_of_tuple.max()) + 1):
        inside = np.flatnonzero(grown.box_of_tuple == box)
        for column in range(2):
            values = np.unique(ordered.codes[inside, column])
            for value in values[1:]:
                below = ordered.codes[inside, column] < value
                parts = [inside[below], inside[~below]]
                assert not all(_stands(ordered, part, policy) for part in parts), "a cut that may stand was left out"
                refused += all(ordered.sizes[part].sum() >= 5 for part in parts)
    assert refused, "k alone would have cut further"


def _stands(table: ClassTable, part: np.ndarray, policy: Policy) -> bool:
    held = table.contents["illness"].selected(part)
    counts = np.bincount(held.values, weights=held.counts, minlength=6)
    shares, whole = counts / counts.sum(), table.contents["illness"].totals / table.records
    found = {
        "k-anonymity": counts.sum() >= 5,
        "distinct-l-diversity": (counts > 0).sum() >= 3,
        "entropy-l-diversity": -(shares[shares > 0] * np.log(shares[shares > 0])).sum() >= np.log(2) - 1e-9,
        "t-closeness": np.abs(shares - whole).sum() / 2 <= 0.3 + 1e-9,
    }
    return all(found[model.name] for model in policy.models)


def test_how_much_room_there_is_changes_no_box(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy.from_mapping(POLICIES[0])
    table = people(missing=True)
    at_once = grow_boxes(table, policy, labels=["label"])
    monkeypatch.setattr(growing_by_models, "MOST_CELLS", 50)
    line_by_line = grow_boxes(table, policy, labels=["label"])
    assert line_by_line.boxes.nodes == at_once.boxes.nodes

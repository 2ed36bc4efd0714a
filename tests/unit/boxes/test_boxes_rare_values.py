"""A value that a few people have is named in no set that boxes publish, and nobody who reads the sets is misled."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aegis.attacks.reading import read_column
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.released_features import ReleasedFeatures
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf
from aegis.candidates.boxes.tuples import rare_values
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.published_values import ValueSet
from aegis.library.anonymize import anonymize
from aegis.library.apply import apply
from aegis.library.attack import attack
from aegis.library.verify import verify
from aegis.privacy.policy import Policy

RARE = [f"zz-canary-{of}-{number}" for of in range(1, 5) for number in range(8)]
COMMON = [f"nn{number}" for number in range(6)]


def towns(path: Path, *, each: int = 1) -> Path:
    """People in common towns and in towns of one to four, ``each`` of them with so many rows."""
    rng = np.random.default_rng(7)
    held = [town for town in COMMON for _ in range(40)] + [town for town in RARE for _ in range(int(town[10]))]
    lines = ["who,age,town,label"]
    for who, town in enumerate(held):
        age, yes = rng.integers(20, 60), rng.random() < (0.9 if hash_of(town) % 2 else 0.1)
        lines += [f"p{who},{age},{town},{'yes' if yes else 'no'}"] * each
    path.write_text("\n".join(lines) + "\n")
    return path


def hash_of(town: str) -> int:
    return sum(map(ord, town))


def written(path: Path, column: str) -> list[str]:
    with path.open(newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


@pytest.mark.parametrize("k", [2, 5, 9])
def test_no_set_of_a_release_names_a_value_of_a_few(tmp_path: Path, k: int) -> None:
    data, out, model = towns(tmp_path / "towns.csv"), tmp_path / "out.csv", tmp_path / "BOXES.json"
    anonymize(
        data, method="boxes", k=k, label="label", quasi=["age", "town"], identifying=["who"], out=out, model=model
    )
    published = Counter(written(out, "town"))
    sets = [text for text in published if text.startswith("{")]
    assert any("other values" in text for text in sets)
    assert not [text for text in sets if "canary" in text]
    people = Counter(written(data, "town"))
    alone = [text for text in published if text in RARE]
    assert all(people[text] >= k for text in alone), "a value stands alone where k people have it"
    assert not alone or k < 5
    for beside in tmp_path.glob("out.csv.certificate.*"):
        assert "canary" not in beside.read_text()
    assert (model.stat().st_mode & 0o077) == 0, "the boxes name values and stay with the provider"


def test_boxes_with_rare_values_are_verified_applied_and_attacked(tmp_path: Path) -> None:
    data, out, model = towns(tmp_path / "towns.csv"), tmp_path / "out.csv", tmp_path / "BOXES.json"
    anonymize(
        data, method="boxes", k=5, label="label", quasi=["age", "town"], identifying=["who"], out=out, model=model
    )
    certificate = tmp_path / "out.csv.certificate.json"
    checked = verify(out, certificate, model=model)
    assert checked.verified, checked.reason
    again = tmp_path / "again.csv"
    apply(data, config=model, out=again, identifying=["who"])
    assert written(again, "town") == written(out, "town")
    found = attack([out], original=data, quasi=["age", "town"], attacks=["prosecutor"]).results[0]
    assert (found.people, found.singled_out) == (len(written(data, "town")), 0)
    town = Domain.of(Kind.TEXT, sorted({*COMMON, *RARE}))
    texts = sorted(set(written(out, "town")))
    reading = read_column(texts, town, mask=None, counts=np.ones(town.size))
    inside = reading._members(np.arange(len(texts)))
    for true, text in set(zip(written(data, "town"), written(out, "town"), strict=True)):
        assert inside[texts.index(text), town.values.tolist().index(true)], "what somebody has is among what is read"


def test_people_are_counted_where_a_policy_counts_people(tmp_path: Path) -> None:
    data, out = towns(tmp_path / "towns.csv", each=6), tmp_path / "out.csv"
    policy = {"quasi_identifying": ["age", "town"], "identifying": ["who"], "k": 5, "unit": "who"}
    anonymize(data, method="boxes", policy=policy, label="label", identifying=["who"], out=out)
    sets = {text for text in written(out, "town") if text.startswith("{")}
    assert any("other values" in text for text in sets)
    assert not [text for text in sets if "canary" in text], "six rows of one person are one person"


def test_boxes_of_nothing_but_rare_values_stay_apart_and_are_kept_as_json() -> None:
    domain = Domain.of(Kind.TEXT, [f"t{number:02}" for number in range(40)], missing=True)
    codes = np.repeat(np.arange(41), 3).reshape(-1, 1)
    label = (codes[:, 0] // 10 % 2).astype(np.int64)
    table = ClassTable.from_codes(
        columns=("town",), domains=(domain,), codes=codes, counts=np.ones(len(codes), dtype=np.int64),
        contents={"label": (Domain.of(Kind.TEXT, ["no", "yes"]), label)},
    )  # fmt: skip
    assert rare_values(table, "town", 2) == set(domain.values)
    assert rare_values(table, "town", 1) == set(domain.values)
    grown = grow_boxes(table, Policy.from_mapping({"k": 6}), labels=["label"], growth=Growth())
    boxes = grown.boxes
    texts = boxes.published(boxes.box_of((domain,), codes))["town"].tolist()
    assert boxes.many > 3
    assert len(set(texts)) == boxes.many
    assert "{other values}" in texts
    assert "{other values (2)}" in texts
    assert not [text for text in texts if "t0" in text or "t1" in text]
    again = Boxes.from_text(boxes.to_text())
    assert (again, again.texts) == (boxes, boxes.texts)
    old = replace(boxes, columns=tuple(replace(column, rare=frozenset()) for column in boxes.columns))
    assert '"rare"' not in old.to_text()
    assert Boxes.from_text(old.to_text()).texts == old.texts, "boxes of earlier versions publish what they did"


def test_models_see_of_rare_values_what_a_consumer_sees() -> None:
    values = ("a", "b", "other values", "r1", "r2", None)
    boxes = Boxes(
        columns=(BoxColumn(name="town", kind=Kind.TEXT, values=values, rare=frozenset({"r1", "r2"})),),
        nodes=(
            Cut(column=0, then=1, other=2, values=("a", "r1", "r2")),
            Leaf(records=6),
            Cut(column=0, then=3, other=4, values=("b",)),
            Leaf(records=9),
            Leaf(records=7),
        ),
        labels=("label",),
        policy={"k": 5},
        records=22,
    )
    assert [line[0] for line in boxes.texts] == ["{a, other values}", "b", '{"other values", missing}']
    box = np.arange(3)
    shares = [numbers for column in box_columns(boxes, box, box) if (numbers := column.column.numbers) is not None]
    assert sorted(tuple(line[:3].tolist()) for line in shares) == sorted(
        [(0.5, 0, 0), (0, 1, 0), (0, 0, 0.5), (0, 0, 0.5), (0.5, 0, 0)]
    )
    released = ReleasedFeatures().fit_transform({"town": ["{a, other values}", "b"]})
    assert sorted(released[0].tolist()) == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize(
    "held",
    [
        ValueSet(values=("a", "b")),
        ValueSet(values=("missing", "other values", "other values (3)"), missing=True, unnamed=1),
        ValueSet(values=('say "hi", you', " padded", "{x}", "back\\slash")),
        ValueSet(unnamed=12),
    ],
)
def test_a_set_is_read_as_it_was_written(held: ValueSet) -> None:
    assert ValueSet.parse(str(held)) == held

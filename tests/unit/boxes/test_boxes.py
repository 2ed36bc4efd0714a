"""Local recoding: what every box keeps, whatever the table."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.recoding import NO_BOX, Boxes
from aegis.candidates.boxes.terms import GREEDY, Growth
from aegis.candidates.boxes.tree import Cut
from aegis.candidates.clusters.records import Records
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import (
    AnonymizerError,
    ConfigurationError,
    DataError,
    LabelError,
    OptionError,
    PolicyNotSatisfiedError,
)
from aegis.library.anonymize import anonymize
from aegis.library.apply import apply
from aegis.library.releasing.recode import sha256_of_boxes
from aegis.library.verify import verify
from aegis.privacy.policy import Policy
from aegis.releases.certificate import Certificate

AGE = Domain.of(Kind.INTEGER, range(20, 60), missing=True)
TOWN = Domain.of(Kind.TEXT, [f"t{i}" for i in range(8)])
ILL = Domain.of(Kind.TEXT, ["flu", "none", "other"])
LABEL = Domain.of(Kind.TEXT, ["no", "yes"])
PAY = Domain.of(Kind.INTEGER, range(100))
CONTENTS = {"ill": ILL, "label": LABEL, "pay": PAY}


def made(rows: int, seed: int, *, holes: float = 0.1) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Codes of (age, town), and of a sensitive attribute and two labels that depend on them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 40, rows)
    town = rng.integers(0, 8, rows)
    chance = 1 / (1 + np.exp(-(age - 20) / 5 - np.where(town % 2, 1.5, -1.5)))
    label = (rng.random(rows) < chance).astype(np.int64)
    pay = np.clip(age + 10 * (town % 3) + rng.normal(0, 3, rows), 0, 99).astype(np.int64)
    age = np.where(rng.random(rows) < holes, 40, age)
    return np.column_stack([age, town]), {"ill": rng.integers(0, 3, rows), "label": label, "pay": pay}


def table_of(codes: np.ndarray, contents: dict[str, np.ndarray]) -> ClassTable:
    return ClassTable.from_codes(
        columns=("age", "town"),
        domains=(AGE, TOWN),
        codes=codes,
        counts=np.ones(len(codes), dtype=np.int64),
        contents={name: (CONTENTS[name], values) for name, values in contents.items()},
    )


def published(boxes: Boxes, codes: np.ndarray) -> list[tuple[Any, ...]]:
    columns = boxes.published(boxes.box_of((AGE, TOWN), codes))
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**20), k=st.integers(2, 30), greedy=st.booleans())
def test_k_holds_by_an_independent_count(seed: int, k: int, greedy: bool) -> None:
    codes, contents = made(300, seed)
    growth = GREEDY if greedy else Growth()
    grown = grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": k}), labels=["label"], growth=growth)
    sizes = Counter(published(grown.boxes, codes))
    assert min(sizes.values()) >= k
    assert min(sizes.values()) == grown.boxes.smallest_box == grown.judgement.smallest_class
    assert sum(sizes.values()) == 300
    assert len(sizes) == grown.boxes.many


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**20), t=st.sampled_from([0.15, 0.3, 0.5]))
def test_l_and_t_hold_by_an_independent_count(seed: int, t: float) -> None:
    codes, contents = made(400, seed)
    policy = Policy.from_mapping({"k": 4, "l": {"ill": 3}, "t": {"ill": t}})
    grown = grow_boxes(table_of(codes, contents), policy, labels=["label"])
    whole = Counter(contents["ill"].tolist())
    held: dict[tuple[Any, ...], list[int]] = {}
    for row, secret in zip(published(grown.boxes, codes), contents["ill"].tolist(), strict=True):
        held.setdefault(row, []).append(secret)
    for secrets in held.values():
        assert len(secrets) >= 4
        assert len(set(secrets)) == 3
        own = Counter(secrets)
        apart = sum(abs(own[value] / len(secrets) - whole[value] / 400) for value in whole) / 2
        assert apart <= t + 1e-9


def test_the_order_of_rows_says_nothing() -> None:
    codes, contents = made(300, 5)
    order = np.random.default_rng(1).permutation(300)
    policy = Policy.from_mapping({"k": 5})
    first = grow_boxes(table_of(codes, contents), policy, labels=["label"]).boxes
    moved = {name: values[order] for name, values in contents.items()}
    assert grow_boxes(table_of(codes[order], moved), policy, labels=["label"]).boxes == first


def test_boxes_are_kept_as_json_and_applied_alike() -> None:
    codes, contents = made(300, 6)
    boxes = grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 5}), labels=["label"]).boxes
    again = Boxes.from_text(boxes.to_text())
    assert again == boxes
    assert published(again, codes) == published(boxes, codes)
    assert "made of 300 records" in repr(again)


def test_new_rows_fall_into_boxes_and_unknown_values_into_none() -> None:
    codes, contents = made(300, 7, holes=0.0)
    boxes = grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 5}), labels=["label"]).boxes
    assert any(isinstance(node, Cut) and node.column == 1 for node in boxes.nodes)
    ages, towns = Domain.of(Kind.INTEGER, [-5, 30, 500]), Domain.of(Kind.TEXT, ["elsewhere", "t1"])
    box = boxes.box_of((ages, towns), np.array([[0, 1], [1, 1], [2, 1], [1, 0]]))
    assert (box[:3] >= 0).all()
    texts = boxes.published(np.array([NO_BOX]))
    assert [column[0] for column in texts.values()] == ["*", "*"]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**20), weights=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_a_larger_label_weight_never_tells_less_at_one_cut(seed: int, weights: tuple[float, float]) -> None:
    codes, contents = made(200, seed)
    table = table_of(codes, contents)

    def information(weight: float) -> float:
        growth = replace(GREEDY, label_weight=weight, most_cuts=1)  # one cut, judged alone
        grown = grow_boxes(table, Policy.from_mapping({"k": 5}), labels=["label"], growth=growth)
        rows = grown.boxes.box_of((AGE, TOWN), codes)
        total = 0.0
        for box in np.unique(rows):
            shares = np.bincount(contents["label"][rows == box]) / (rows == box).sum()
            total -= (rows == box).mean() * sum(s * np.log(s) for s in shares if s > 0)
        return -total

    small, large = sorted(weights)
    assert information(large) >= information(small) - 1e-9


def test_missing_values_have_a_branch_of_their_own() -> None:
    rng = np.random.default_rng(3)
    age = np.where(rng.random(400) < 0.3, 40, rng.integers(0, 40, 400))
    label = np.where(age == 40, 1, (rng.random(400) < 0.1)).astype(np.int64)
    contents = {"label": label, "ill": np.zeros(400, dtype=np.int64), "pay": np.zeros(400, dtype=np.int64)}
    codes = np.column_stack([age, np.zeros(400, dtype=np.int64)])
    boxes = grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 10}), labels=["label"]).boxes
    rows = published(boxes, codes)
    assert {row[0] for row, code in zip(rows, age, strict=True) if code == 40} == {None}
    assert all(row[0] is not None for row, code in zip(rows, age, strict=True) if code < 40)


def test_few_missing_values_are_named_beside_the_interval() -> None:
    rng = np.random.default_rng(3)
    age = np.append(rng.integers(0, 40, 398), [40, 40])
    label = (age > 20).astype(np.int64)
    zeros = np.zeros(400, dtype=np.int64)
    codes = np.column_stack([age, zeros])
    table = table_of(codes, {"label": label, "ill": zeros, "pay": zeros})
    boxes = grow_boxes(table, Policy.from_mapping({"k": 10}), labels=["label"]).boxes
    rows = published(boxes, codes)
    assert rows[-1] == rows[-2]
    assert rows[-1][0].endswith(" or missing")


def test_numbers_as_labels_and_several_labels() -> None:
    codes, contents = made(500, 8)
    table, policy = table_of(codes, contents), Policy.from_mapping({"k": 10})
    for labels in (["pay"], ["label", "pay"]):
        boxes = grow_boxes(table, policy, labels=labels).boxes
        box = boxes.box_of((AGE, TOWN), codes)
        means = np.bincount(box, contents["pay"]) / np.bincount(box)
        assert np.var(means[box]) > 0.7 * np.var(contents["pay"])
        assert boxes.labels == tuple(labels)


def test_suppression_is_used_within_the_limit() -> None:
    codes, contents = made(300, 9)
    table = table_of(codes, contents)
    growth = Growth(least_records=9)
    policy = Policy.from_mapping({"k": 10, "max_suppression": 0.5})
    boxes = grow_boxes(table, policy, labels=["label"], growth=growth).boxes
    assert 10 <= boxes.suppressed <= 150
    sizes = Counter(published(boxes, codes))
    assert sizes["*", "*"] == boxes.suppressed
    assert min(sizes.values()) >= 10
    strict = grow_boxes(table, Policy.from_mapping({"k": 10}), labels=["label"], growth=growth).boxes
    assert strict.suppressed == 0
    assert strict.smallest_box >= 10


def test_a_policy_nobody_satisfies_names_the_model_and_how_far() -> None:
    codes, contents = made(100, 1)
    with pytest.raises(PolicyNotSatisfiedError, match=r"distinct-l-diversity of ill.*4 asked, found 3"):
        grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 2, "l": {"ill": 4}}), labels=["label"])
    with pytest.raises(PolicyNotSatisfiedError, match=r"k-anonymity: at least 101 asked, found 100"):
        grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 101}))


def test_a_model_about_all_classes_together_is_kept_too() -> None:
    codes, contents = made(300, 2)
    policy = Policy.from_mapping({"k": 2, "risk": {"marketer": 0.05}})
    grown = grow_boxes(table_of(codes, contents), policy, labels=["label"])
    assert grown.judgement.satisfied
    assert len(Counter(published(grown.boxes, codes))) <= 0.05 * 300


def test_a_hierarchy_puts_categories_in_its_order() -> None:
    hierarchy = Hierarchy.of([[f"t{i}", "low" if i in (0, 3, 5, 6) else "high", "*"] for i in range(8)])
    codes, contents = made(400, 4)
    growth = Growth(label_weight=0.0)
    boxes = grow_boxes(
        table_of(codes, contents), Policy.from_mapping({"k": 90}), growth=growth, hierarchies={"town": hierarchy}
    ).boxes
    order = ["t1", "t2", "t4", "t7", "t0", "t3", "t5", "t6"]
    for way in boxes.regions:
        places = sorted(order.index(str(value)) for value in way[1].values or ())
        assert places == list(range(places[0], places[-1] + 1))


def test_the_way_to_grow_is_chosen_on_records_held_out() -> None:
    codes, contents = made(1500, 11)
    noise = np.random.default_rng(0).integers(0, 2, 1500)
    policy = Policy.from_mapping({"k": 2})
    chosen = growth_for(table_of(codes, {**contents, "label": noise}), policy, "label")
    assert growth_for(table_of(codes, {**contents, "label": noise}), policy, "label") == chosen
    few = table_of(codes[:50], {name: values[:50] for name, values in contents.items()})
    assert growth_for(few, policy, "label") == Growth()


def test_an_estimator_beside_the_others() -> None:
    rng = np.random.default_rng(1)
    columns = {"age": rng.normal(40, 9, 200), "sex": rng.choice(["f", "m"], 200), "ill": rng.choice(["a", "b"], 200)}
    records = Records.from_columns(columns, quasi_identifiers=["age", "sex"], sensitive=["ill"])
    label = (columns["age"] > 40).astype(int)
    estimator = LocalRecoding(k=10, l=2).fit(records, labels={"label": label})
    texts = estimator.transform()
    assert min(Counter(zip(*(c.tolist() for c in texts.values()), strict=True)).values()) >= 10
    assert estimator.boxes_.labels == ("label",)
    assert [c.tolist() for c in estimator.transform(records).values()] == [c.tolist() for c in texts.values()]
    with pytest.raises(AnonymizerError, match="not been fitted"):
        LocalRecoding(k=2).transform(records)
    with pytest.raises(AnonymizerError, match="k or a policy"):
        LocalRecoding()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "something"}, "no boxes file"),
        ({"version": 9}, "another version"),
        ({"nodes": []}, "damaged"),
        ({"nodes": [{"column": 0, "below": 3, "missing": None, "then": 0, "else": 1}]}, "damaged"),
        ({"columns": [{"name": "age"}]}, "damaged"),
    ],
)
def test_damaged_boxes_are_refused(change: dict[str, Any], sentence: str) -> None:
    codes, contents = made(100, 1)
    boxes = grow_boxes(table_of(codes, contents), Policy.from_mapping({"k": 5}), labels=["label"]).boxes
    with pytest.raises(ConfigurationError, match=sentence):
        Boxes.from_text(json.dumps({**boxes.to_json(), **change}))
    with pytest.raises(ConfigurationError, match="no JSON"):
        Boxes.from_text("[")


def people(path: Path, *, rows: int = 400) -> Path:
    codes, contents = made(rows, 13)
    ages = ["" if age == 40 else str(20 + age) for age in codes[:, 0].tolist()]
    lines = [
        f"{i},{age},t{town},{ILL.values[ill]},{LABEL.values[label]}"
        for i, (age, town, ill, label) in enumerate(
            zip(ages, codes[:, 1].tolist(), contents["ill"].tolist(), contents["label"].tolist(), strict=True)
        )
    ]
    path.write_text("\n".join(["name,age,town,ill,label", *lines]) + "\n")
    return path


def test_anonymize_writes_boxes_that_satisfy_the_policy(tmp_path: Path) -> None:
    data = people(tmp_path / "people.csv")
    policy = {"quasi_identifying": ["age", "town"], "identifying": ["name"], "k": 8, "l": {"ill": 2}}
    out, model = tmp_path / "out.csv", tmp_path / "BOXES.json"
    done = anonymize(data, method="boxes", policy=policy, label="label", out=out, model=model, identifying=["name"])
    lines = [line.split('","') for line in out.read_text().splitlines()[1:]]
    assert len(lines) == 400
    assert done.result.smallest_class >= 8
    assert Boxes.from_text(model.read_text()) == done.boxes
    assert done.suppressed == ("name",)
    assert done.table is not None
    rows = list(zip(done.table["age"].to_pylist(), done.table["town"].to_pylist(), strict=True))
    held: dict[Any, set[str]] = {}
    for row, ill in zip(rows, done.table["ill"].to_pylist(), strict=True):
        held.setdefault(row, set()).add(ill)
    assert min(Counter(rows).values()) >= 8
    assert min(map(len, held.values())) >= 2


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_boxes_are_certified_and_verified_with_their_file(tmp_path: Path, suffix: str) -> None:
    data, out, model = people(tmp_path / "people.csv"), tmp_path / f"out.{suffix}", tmp_path / "BOXES.json"
    anonymize(data, method="boxes", k=8, label="label", quasi=["age", "town"], out=out, model=model)
    certificate = tmp_path / f"out.{suffix}.certificate.json"
    checked = verify(out, certificate, model=model)
    assert checked.verified, checked.reason
    assert [check.name for check in checked.checks][:2] == ["certificate", "release"]
    assert "recoding" in [check.name for check in checked.checks]
    assert verify(out, certificate).verified
    content = json.loads(certificate.read_text())
    assert content["recoding"]["boxes"] == Boxes.from_text(model.read_text()).many
    assert "t1" not in json.dumps(content), "a certificate holds no value of a record"
    other = json.loads(model.read_text())
    leaf = next(node for node in other["nodes"] if "records" in node)
    leaf["records"] += 1
    changed = tmp_path / "OTHER.json"
    changed.write_text(json.dumps(other))
    assert "hash differs" in str(verify(out, certificate, model=changed).reason)
    text = changed.read_text()
    content["recoding"]["sha256"] = sha256_of_boxes(text)
    content.pop("certificate_sha256")
    certificate.chmod(0o644)
    certificate.write_text(Certificate(content=content).to_json())
    assert "not what the boxes publish" in str(verify(out, certificate, model=changed).reason)
    with pytest.raises(DataError, match="check the path"):
        verify(out, certificate, model=tmp_path / "nowhere.json")
    del content["recoding"]
    certificate.write_text(Certificate(content=content).to_json())
    assert "does not say what it is of" in str(verify(out, certificate, model=model).reason)
    content["configuration"] = {"id": "x", "masks": {}}
    certificate.write_text(Certificate(content=content).to_json())
    with pytest.raises(OptionError, match="names no boxes"):
        verify(out, certificate, model=model)


def test_what_is_not_used_is_refused(tmp_path: Path) -> None:
    data = people(tmp_path / "people.csv")
    quasi = ["age", "town"]
    with pytest.raises(Exception, match="leave out --k"):
        anonymize(data, method="boxes", k=3, policy={"k": 5}, quasi=quasi)
    with pytest.raises(Exception, match="give --k, or a policy"):
        anonymize(data, method="boxes", quasi=quasi)
    with pytest.raises(Exception, match="publishes centres"):
        anonymize(data, method="mdav", k=3, label="label", quasi=quasi)
    with pytest.raises(Exception, match="mdav does not use a policy"):
        anonymize(data, method="mdav", policy={"k": 5}, quasi=quasi)
    with pytest.raises(OptionError, match="give it one role"):
        anonymize(data, method="boxes", k=3, label="age", quasi=quasi)
    with pytest.raises(OptionError, match="between 0 and 1"):
        anonymize(data, method="boxes", k=3, label="label", quasi=quasi, label_weight=2.0)
    with pytest.raises(OptionError, match="no label to weigh"):
        anonymize(data, method="boxes", k=3, quasi=quasi, label_weight=0.5)
    with pytest.raises(OptionError, match="hierarchies"):
        anonymize(data, method="boxes", k=3, label="label", quasi=quasi, by_branch=True)
    with pytest.raises(AnonymizerError, match="mdav does not use a weight of the label"):
        anonymize(data, method="mdav", k=3, quasi=quasi, label_weight=0.5)
    with pytest.raises(LabelError, match="another value in every row"):
        anonymize(data, method="boxes", k=3, label="name", quasi=quasi, categorical=["name"])


def test_nothing_is_written_where_the_policy_cannot_hold(tmp_path: Path) -> None:
    data, out = people(tmp_path / "people.csv"), tmp_path / "out.csv"
    with pytest.raises(AnonymizerError, match="k = 500 needs at least 500 records and the table has 400"):
        anonymize(data, method="boxes", k=500, label="label", quasi=["age", "town"], out=out)
    policy = {"quasi_identifying": ["age", "town"], "k": 500}
    with pytest.raises(PolicyNotSatisfiedError, match="at least 500 asked, found 400"):
        anonymize(data, method="boxes", policy=policy, label="label", out=out)
    assert not out.exists()


def test_new_rows_are_recoded_by_the_file_of_boxes(tmp_path: Path) -> None:
    data, model = people(tmp_path / "people.csv"), tmp_path / "BOXES.json"
    quasi = ["age", "town"]
    out = tmp_path / "out.csv"
    done = anonymize(data, method="boxes", k=8, label="label", quasi=quasi, insensitive=["name"], out=out, model=model)
    applied = apply(data, config=model, out=tmp_path / "again.csv")
    assert applied.masked == ("age", "town")
    assert done.boxes is not None
    assert applied.configuration_id == done.boxes.id
    first, again = ((tmp_path / name).read_text().splitlines() for name in ("out.csv", "again.csv"))
    assert [line.replace('"', "") for line in again] == [line.replace('"', "") for line in first]
    with pytest.raises(OptionError, match="leave out --mapping"):
        apply(data, config=model, out=tmp_path / "more.csv", mapping=tmp_path / "mapping.csv")


def test_columns_that_were_hidden_are_hidden_from_new_rows_and_older_readers_refuse_the_file(tmp_path: Path) -> None:
    data, model, out = people(tmp_path / "people.csv"), tmp_path / "BOXES.json", tmp_path / "again.csv"
    quasi = ["age", "town"]
    done = anonymize(data, method="boxes", k=8, label="label", quasi=quasi, identifying=["name"], model=model)
    assert done.boxes is not None
    assert done.boxes.hidden == ("name",)
    assert done.boxes.to_json()["version"] == 3, "who does not know of hidden columns would show them"
    applied = apply(data, config=model, out=out)
    assert applied.masked == ("age", "town", "name")
    assert applied.warnings == ()
    with out.open(encoding="utf-8") as file:
        assert {row["name"] for row in csv.DictReader(file)} == {"*"}
    without = tmp_path / "without.csv"
    with data.open(encoding="utf-8") as file:
        lines = [line.split(",") for line in file.read().splitlines()]
    kept = [at for at, name in enumerate(lines[0]) if name != "name"]
    without.write_text("\n".join(",".join(line[at] for at in kept) for line in lines), encoding="utf-8")
    assert apply(without, config=model, out=tmp_path / "fewer.csv").masked == ("age", "town")
    kept = [at for at, name in enumerate(lines[0]) if name != "town"]
    without.write_text("\n".join(",".join(line[at] for at in kept) for line in lines), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="the column 'town', which the table does not have"):
        apply(without, config=model, out=tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()

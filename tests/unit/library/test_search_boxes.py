"""``aegis search --space boxes``: the best local recoding under a policy, in words, and as a file for new rows."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.errors import LabelError, OptionError, PolicyError, PolicyNotSatisfiedError
from aegis.library.search_boxes import FoundBoxes

CANARY = "Zanzibar"
POLICY: dict[str, Any] = {"quasi_identifying": ["age", "town"], "k": 10}


def _people(rows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 60, rows)
    town = rng.choice(["north", "south", "east"], rows).astype(object)
    town[0] = CANARY  # a value of one record
    ill = np.where((age > 40) ^ (town == "north"), "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "ill": ill, "pay": age * 100.0 + rng.integers(0, 100, rows)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("boxes") / "people.csv"
    _people().to_csv(path, index=False)
    return path


def _search(file: Path, **given: Any) -> FoundBoxes:
    found = aegis.search(file, **{"policy": POLICY, "label": "ill", "space": "boxes", "ledger": "none", **given})
    assert isinstance(found, FoundBoxes)
    return found


def test_what_is_found_is_what_anonymize_makes_and_apply_reads(file: Path, tmp_path: Path) -> None:
    kept, made = tmp_path / "found.json", tmp_path / "made.json"
    found = _search(file, out=kept)
    aegis.anonymize(file, policy=POLICY, label=["ill"], method="boxes", out=tmp_path / "recoded.csv", model=made)
    assert kept.read_bytes() == made.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    aegis.apply(file, config=kept, out=tmp_path / "applied.csv")
    recoded, applied = pd.read_csv(tmp_path / "recoded.csv"), pd.read_csv(tmp_path / "applied.csv")
    assert recoded[["age", "town"]].equals(applied[["age", "town"]])
    classes = recoded.groupby(["age", "town"]).size()
    assert (found.boxes_made, found.smallest_box, found.suppressed) == (len(classes), classes.min(), 0)
    assert found.smallest_box >= 10


def test_columns_are_described_by_numbers_that_a_reader_can_count(file: Path) -> None:
    found = _search(file)
    assert found.boxes is not None
    ages, towns = (list(texts) for texts in zip(*found.boxes.texts, strict=True))
    by_name = {recoding.column: recoding for recoding in found.columns}
    assert by_name["age"].published == len({text for text in ages if text != "*"})
    sizes = [leaf.records for leaf in found.boxes.boxes]
    singles = sum(n for n, text in zip(sizes, towns, strict=True) if text and text != "*" and not text.startswith("{"))
    assert by_name["town"].as_it_is == singles
    assert found.words["age"].startswith(f"{by_name['age'].published} intervals, cut at {by_name['age'].cuts} place")
    assert found.utility is not None
    assert found.utility > 0.3  # of the one bit that the label has


def test_a_utility_of_nothing_is_explained(file: Path) -> None:
    found = _search(file)
    assert found.utility_note is None
    nothing = replace(found, utility=0.0)
    assert nothing.utility_note is not None
    assert "too small for that" in nothing.utility_note
    assert nothing.to_json()["utility_note"] == nothing.utility_note
    assert replace(found, utility=None).utility_note is None  # a label of numbers has no such measure


def test_no_value_of_the_table_is_in_what_is_printed(file: Path) -> None:
    found = _search(file)
    shown = json.dumps(found.to_json()) + repr(found) + found.headline + str(found.table_rows())
    assert found.boxes is not None
    assert CANARY in found.boxes.to_text()
    assert CANARY not in shown
    again = FoundBoxes.from_json(json.loads(json.dumps(found.to_json())))
    assert again.boxes is None
    assert again.to_json() == found.to_json()


def test_models_are_trained_where_that_is_asked_for(tmp_path: Path) -> None:
    table = tmp_path / "few.csv"
    _people(90).to_csv(table, index=False)
    found = _search(table, train=1, goal="auc")
    assert found.trained is not None
    assert found.trained.goal == "auc"
    assert found.trained.interval[0] <= found.trained.performance <= found.trained.interval[1]
    assert "unmasked" in found.trained.sentence()


def test_a_label_of_numbers_has_no_information_but_boxes(file: Path) -> None:
    found = _search(file, label="pay")
    assert found.utility is None
    assert found.boxes_made > 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"order": ["town=a<b"]}, "leave out --order"),
        ({"measure": "leave-one-out-accuracy"}, "leave out --measure"),
        ({"seconds": 5.0}, "leave out --seconds"),
        ({"save_hierarchies": "folder"}, "leave out --save-hierarchies"),
        ({"train": 2}, "use --train 1"),
        ({"goal": "auc"}, "--train"),
        ({"out": "best.yaml"}, "ends in .json"),
        ({"overwrite": True}, "says something about --out"),
    ],
)
def test_options_that_boxes_do_not_use_are_refused(file: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as refused:
        _search(file, **given)
    assert said in str(refused.value)


def test_what_cannot_be_is_one_sentence_and_leaves_nothing(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "boxes.json"
    with pytest.raises(PolicyNotSatisfiedError, match="not even one of all records"):
        _search(file, policy={**POLICY, "k": 5000}, out=out)
    with pytest.raises(PolicyError, match="but it is the label"):
        _search(file, policy={**POLICY, "quasi_identifying": ["age", "town", "ill"]}, out=out)
    with pytest.raises(LabelError, match="no label is given"):
        _search(file, label=None, out=out)
    assert list(tmp_path.iterdir()) == []


UNDER = {**POLICY, "insensitive": ["ill", "pay"]}
EVERYBODY: dict[str, Any] = {"age": "suppress", "town": "suppress"}
BY_AGE: dict[str, Any] = {"age": {"bucketize": {"width": 5}}, "town": "suppress"}


def _with_release(folder: Path, masks: dict[str, Any]) -> Path:
    table = folder / "people.csv"
    _people().to_csv(table, index=False)
    aegis.release(table, config=masks, policy=UNDER, out=folder / "first.csv")
    return table


def test_boxes_are_judged_together_with_what_is_out(tmp_path: Path) -> None:
    table, boxes = _with_release(tmp_path, EVERYBODY), tmp_path / "boxes.json"
    found = _search(table, policy=UNDER, ledger=None, out=boxes)
    assert found.together_with == (2,)
    assert FoundBoxes.from_json(found.to_json()).together_with == (2,)
    assert found.id == _search(table, policy=UNDER).id, (
        "the earlier release is no finer, so the best boxes are the same"
    )
    recoded = tmp_path / "recoded.csv"
    aegis.apply(table, config=boxes, out=recoded)
    released = aegis.release(recoded, policy=UNDER, rows_of=table, out=tmp_path / "second.csv")
    assert released.smallest_class == found.smallest_box


def test_boxes_that_break_the_policy_with_what_is_out_are_refused(tmp_path: Path) -> None:
    table, boxes = _with_release(tmp_path, BY_AGE), tmp_path / "boxes.json"
    with pytest.raises(
        PolicyNotSatisfiedError, match="the best boxes may not be released: together with entry 2"
    ) as refused:
        _search(table, policy=UNDER, ledger=None, out=boxes)
    assert "breaks k-anonymity" in str(refused.value)
    assert not boxes.exists()
    recoded = tmp_path / "recoded.csv"
    aegis.anonymize(table, policy=UNDER, label=["ill"], method="boxes", out=recoded)
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):  # as the release itself says
        aegis.release(recoded, policy=UNDER, rows_of=table, out=tmp_path / "second.csv")


def test_candidates_of_every_kind_are_judged_with_what_is_out_or_rejected(tmp_path: Path) -> None:
    table = _with_release(tmp_path, BY_AGE)
    asked: dict[str, Any] = {"policy": UNDER, "label": "ill", "rows": 200, "quasi": ["age", "town"]}
    ranking = aegis.advise(table, candidates=["search", "boxes", "clusters", "sanitized"], **asked)
    assert [place.configuration for place in ranking.ranking] == ["search"]
    assert "k-anonymity" in ranking.rejected["boxes"]
    assert "together with earlier releases" in ranking.rejected["boxes"]
    assert "1 earlier release of this table must be judged together with clusters" in ranking.rejected["clusters"]
    assert "give it with --tables" in ranking.rejected["sanitized"]
    best = next(iter(ranking.ranking))
    assert best.privacy is not None
    assert best.privacy.smallest_class >= UNDER["k"]

"""Whoever has several rows: checked, searched, released, verified and anonymized as one person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.data.engine import open_dataset
from aegis.errors import DataError, LedgerError, OptionError, PolicyError, PolicyNotSatisfiedError, RoleError
from aegis.library.search import Found

QUASI = ["age", "zone"]
POLICY: dict[str, Any] = {"quasi_identifying": QUASI, "k": 5, "insensitive": ["y"], "sensitive": ["ill"]}


def visits() -> pd.DataFrame:
    """240 visits of 97 patients; some of them fill a group by themselves."""
    rng = np.random.default_rng(7)
    patient = np.concatenate([np.repeat([0, 1, 2], 6), rng.integers(3, 100, 222)])
    return pd.DataFrame(
        {
            "patient": [f"P{number:04d}" for number in patient],
            "age": np.where(patient < 3, 80 + patient, 20 + patient % 40),
            "zone": np.where(patient % 3 == 0, "north", "south"),
            "ill": rng.choice(["flu", "cold", "none"], len(patient)),
            "y": np.where(patient % 40 + rng.normal(0, 6, len(patient)) > 20, "yes", "no"),
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    visits().to_csv(path, index=False)
    return path


def people_in_classes(released: pd.DataFrame, columns: list[str] = QUASI) -> int:
    """The fewest patients of a group, by the true table: rows must be in order."""
    return int(released.assign(patient=visits()["patient"]).groupby(columns)["patient"].nunique().min())


def test_a_check_by_rows_passes_where_people_stand_alone(file: Path) -> None:
    decades = {"masks": {"age": {"bucketize": {"width": 20}}, "zone": "suppress"}}
    by_rows = aegis.check(file, policy=POLICY, config=decades)
    by_people = aegis.check(file, policy=POLICY, config=decades, person="patient")
    assert by_rows.satisfied
    assert by_rows.unit is None
    assert not by_people.satisfied
    assert by_people.unit == "patient"
    assert by_people.smallest_class == 3
    assert by_people.to_json()["policy"]["unit"] == "patient"


def test_what_a_search_finds_has_enough_people_and_is_released_so(file: Path, tmp_path: Path) -> None:
    policy = {**POLICY, "unit": "patient", "insensitive": []}
    found = aegis.search(file, policy=policy, label="y", seconds=None)
    assert isinstance(found, Found)
    assert found.smallest_class >= 5
    out = tmp_path / "released.csv"
    done = aegis.release(file, policy=policy, config=found.configuration, label="y", out=out, shuffle=False)
    assert done.unit == "patient"
    written = pd.read_csv(out)
    assert set(written["patient"]) == {"*"}
    assert done.smallest_class == people_in_classes(written)
    certificate = done.certificate.content
    assert certificate["unit"]["column"] == "patient"
    assert certificate["unit"]["people"] == visits()["patient"].nunique()
    assert certificate["smallest_class"] == done.smallest_class
    assert certificate["unit"]["by_records"]["smallest_class"] == written.groupby(QUASI).size().min()
    page = done.certificate_path.with_suffix(".html").read_text()
    assert "counting people by patient" in page
    verified = aegis.verify(out, done.certificate_path)
    assert verified.verified
    assert "by patient, which the release does not show" in verified.checks[-1].said


def test_a_class_of_one_persons_rows_is_suppressed(file: Path, tmp_path: Path) -> None:
    policy = {**POLICY, "unit": "patient", "max_suppression": 0.2, "suppressed": "dropped"}
    coarse = {"masks": {"age": {"bucketize": {"width": 20}}, "zone": "suppress"}}
    out = tmp_path / "dropped.parquet"
    done = aegis.release(file, policy=policy, config=coarse, out=out)
    assert done.suppressed == 18
    assert done.smallest_class >= 5
    assert aegis.verify(out, done.certificate_path).verified


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(smallest_class=10_000), "more people than there are records"),
        (lambda c: c["unit"].update(column="zone"), "another column than its policy"),
        (lambda c: c["unit"]["by_records"]["verdicts"][0].update(value=1000.0), "another value than is found"),
        (lambda c: c["verdicts"].clear(), "more or fewer models"),
        (lambda c: c["verdicts"][0].update(satisfied=False), "says itself that people are not protected"),
    ],
)
def test_a_certificate_that_says_more_of_people_than_can_be_is_not_verified(
    file: Path, tmp_path: Path, change: Any, said: str
) -> None:
    from aegis.releases.certificate import Certificate

    policy = {**POLICY, "unit": "patient"}
    out = tmp_path / "all.csv"
    hidden = {"masks": {"age": "suppress", "zone": "suppress"}}
    done = aegis.release(file, policy=policy, config=hidden, out=out, ledger="none")
    content = json.loads(json.dumps(done.certificate.content))
    change(content)
    forged = tmp_path / "forged.json"
    forged.write_text(Certificate(content=content).to_json())
    answer = aegis.verify(out, forged)
    assert not answer.verified
    assert said in (answer.reason or "")


def test_pseudonyms_of_people_are_not_published_under_a_unit(file: Path, tmp_path: Path) -> None:
    shown = {"masks": {"age": "suppress", "patient": "token"}}
    with pytest.raises(PolicyError, match="which records belong together"):
        aegis.release(file, policy={**POLICY, "unit": "patient"}, config=shown, out=tmp_path / "no.csv")
    assert not (tmp_path / "no.csv").exists()


def test_the_ledger_remembers_that_people_were_counted(file: Path, tmp_path: Path) -> None:
    hidden = {"masks": {"age": "suppress", "zone": "suppress"}}
    aegis.release(file, policy={**POLICY, "unit": "patient"}, config=hidden, out=tmp_path / "one.csv")
    with pytest.raises(LedgerError, match="counted people by 'patient' and this one counts records"):
        aegis.release(file, policy=POLICY, config=hidden, out=tmp_path / "two.csv")
    same = aegis.release(file, policy={**POLICY, "unit": "patient"}, config=hidden, out=tmp_path / "three.csv")
    assert same.ledger is not None
    assert same.ledger["smallest_class_together"] == visits()["patient"].nunique()
    finer = {"masks": {"age": {"bucketize": {"width": 20}}, "zone": "suppress"}}
    with pytest.raises(PolicyNotSatisfiedError):
        aegis.release(file, policy={**POLICY, "unit": "patient"}, config=finer, out=tmp_path / "four.csv")


def test_people_who_left_cannot_be_counted_with_what_is_out(file: Path, tmp_path: Path) -> None:
    hidden = {"masks": {"age": "suppress", "zone": "suppress"}}
    policy = {**POLICY, "unit": "patient"}
    aegis.release(file, policy=policy, config=hidden, out=tmp_path / "one.csv")
    visits().iloc[20:].to_csv(file, index=False)
    with pytest.raises(PolicyNotSatisfiedError, match="nobody can say whose they were"):
        aegis.release(file, policy=policy, config=hidden, out=tmp_path / "two.csv")


def test_two_configurations_together_are_judged_by_people(file: Path) -> None:
    policy = {**POLICY, "k": 3, "unit": "patient"}
    configs = [
        {"name": "by-age", "masks": {"age": {"bucketize": {"width": 20}}, "zone": "suppress"}},
        {"name": "by-zone", "masks": {"age": "suppress"}},
    ]
    together = aegis.check(file, policy=policy, config=configs)
    assert together.smallest_class == 1
    assert together.breaking == (("by-age", "by-zone"),)
    assert aegis.check(file, policy=POLICY, config=configs).smallest_class > 1


@pytest.mark.parametrize("method", ["mdav", "k-member", "boxes"])
def test_every_class_of_an_anonymized_table_has_k_people(file: Path, tmp_path: Path, method: str) -> None:
    out = tmp_path / "anonymized.csv"
    done = aegis.anonymize(file, k=5, method=method, quasi=QUASI, person="patient", out=out)
    written = pd.read_csv(out)
    assert set(written["patient"]) == {"*"}
    assert done.result.smallest_class == people_in_classes(written)
    assert done.result.smallest_class >= 5
    rows = tmp_path / "rows.csv"
    without = aegis.anonymize(file, k=5, method=method, quasi=QUASI, insensitive=["patient"], out=rows)
    assert people_in_classes(pd.read_csv(tmp_path / "rows.csv")) < 5 <= without.result.smallest_class


def test_boxes_are_verified_with_their_people(file: Path, tmp_path: Path) -> None:
    out, boxes = tmp_path / "boxes.csv", tmp_path / "boxes.json"
    aegis.anonymize(file, policy={**POLICY, "unit": "patient"}, method="boxes", out=out, model=boxes)
    assert set(pd.read_csv(out)["patient"]) == {"*"}, "whose records they are is identifying by the policy alone"
    answer = aegis.verify(out, tmp_path / "boxes.csv.certificate.json", model=boxes)
    assert answer.verified, answer.reason
    assert answer.checks[-1].name == "people"


def test_clusters_hold_values_that_not_everybody_shares(tmp_path: Path) -> None:
    frame = visits()
    frame["ill"] = np.where(frame.groupby("patient").cumcount() == 0, "flu", "cold")  # everybody had flu once
    with pytest.raises(aegis.errors.AnonymizerError, match="not everybody shares"):
        aegis.anonymize(frame, k=5, l=2, method="k-member", quasi=["zone"], sensitive=["ill"], person="patient")


def test_advise_lets_only_pass_what_has_enough_people(file: Path) -> None:
    configs = [
        {"name": "fine", "masks": {"age": {"bucketize": {"width": 20}}, "zone": "suppress"}},
        {"name": "coarse", "masks": {"age": "suppress", "zone": "suppress"}},
    ]
    policy = {**POLICY, "insensitive": []}
    options: dict[str, Any] = {"configs": configs, "policy": policy, "label": "y", "fast": True}
    assert {place.configuration for place in aegis.advise(file, **options).ranking} == {"fine", "coarse"}
    ranking = aegis.advise(file, person="patient", **options)
    assert [place.configuration for place in ranking.ranking] == ["coarse"]
    assert "k-anonymity" in ranking.rejected["fine"]


def test_what_cannot_count_people_says_so(file: Path, tmp_path: Path) -> None:
    policy = {**POLICY, "unit": "patient", "insensitive": []}
    masked = tmp_path / "masked.csv"
    visits().drop(columns="patient").to_csv(masked, index=False)
    with pytest.raises(PolicyError, match="which the table does not have"):
        aegis.check(masked, policy=policy)
    with pytest.raises(OptionError, match="name one of them"):
        aegis.check(file, policy=policy, person="zone")
    with pytest.raises(OptionError, match="without a policy nothing is judged"):
        aegis.advise(file, label="y", person="patient", generate=2)
    with pytest.raises(RoleError, match="it is identifying"):
        aegis.anonymize(file, k=5, method="mdav", quasi=QUASI, person="age")
    ranking = aegis.advise(file, policy=policy, label="y", candidates=["clusters", "boxes"], rows=200)
    assert "does not say whose" in ranking.rejected["clusters"]
    assert [place.configuration for place in ranking.ranking] == ["boxes"]


def test_a_record_without_a_person_is_refused(tmp_path: Path) -> None:
    frame = visits()
    frame.loc[3, "patient"] = None
    with pytest.raises(DataError, match="nobody can say whose they are"):
        aegis.check(frame, policy=POLICY, person="patient")


def test_inspect_finds_the_column_that_says_whose_rows_they_are(file: Path) -> None:
    profile = aegis.inspect(file)
    assert profile.person == "patient"
    (column,) = [each for each in profile.columns if each.name == "patient"]
    assert column.rows_each == pytest.approx(len(visits()) / visits()["patient"].nunique())
    assert column.suggested.value == "identifying"
    assert type(profile).from_json(profile.to_json()) == profile
    one_each = visits().drop_duplicates("patient")
    assert aegis.inspect(one_each).person is None
    assert aegis.inspect(visits().drop(columns="patient")).person is None


def test_people_are_counted_by_the_engine_once(file: Path) -> None:
    dataset = open_dataset(file)
    assert aegis.check(dataset, policy=POLICY, person="patient").records == len(visits())

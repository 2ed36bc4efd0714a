"""A table that a command made of another one's rows is known as that when it is to leave."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis
from aegis.catalog.commands.push import push_release
from aegis.errors import InputError, LedgerError, OtherLedgerError, PolicyNotSatisfiedError
from aegis.releases.ledger import ledger_path
from aegis.releases.table_register import derived_tables

POLICY = {"quasi_identifying": ["age", "zip"], "identifying": ["person"], "insensitive": ["ward", "label"], "k": 5}
BY_AGE = {"age": {"bucketize": {"width": 5}}, "zip": "suppress"}
BY_ZIP = {"age": "suppress"}


def people(rows: int = 300) -> pd.DataFrame:
    numbers = range(rows)
    return pd.DataFrame(
        {
            "person": [f"N{number:05d}" for number in numbers],
            "age": [20 + (number * 7) % 60 for number in numbers],
            "zip": [f"{10000 + (number * 2654435761 >> 9) % 12}" for number in numbers],
            "ward": [f"W{number % 50}" for number in numbers],
            "label": [("yes", "no")[number % 60 // 5 % 2] for number in numbers],
        }
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    return path


def let_go(data: Any, folder: Path, **more: Any) -> Any:
    return aegis.release(data, policy=POLICY, out=folder / "out.csv", overwrite=True, **more)


def applied(source: Path, out: Path, *, config: Any = BY_ZIP) -> Path:
    aegis.apply(source, config=config, out=out, identifying=["person"])
    return out


def clustered(source: Path, out: Path) -> Path:
    aegis.anonymize(source, method="mdav", k=5, quasi=["age", "zip"], identifying=["person"], out=out)
    return out


def boxes(source: Path, out: Path) -> Path:
    aegis.anonymize(source, method="boxes", policy=POLICY, out=out)
    return out


def boxes_of_new_rows(source: Path, out: Path) -> Path:
    model = out.with_name("boxes.json")
    aegis.anonymize(source, method="boxes", policy=POLICY, model=model)
    aegis.apply(source, config=model, out=out, identifying=["person"])
    return out


MAKERS: dict[str, Callable[[Path, Path], Path]] = {
    "apply": applied,
    "clusters": clustered,
    "boxes": boxes,
    "apply boxes": boxes_of_new_rows,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_a_command_made_is_released_with_the_ledger_of_its_rows_only(source: Path, maker: str) -> None:
    made = MAKERS[maker](source, source.with_name("made.csv"))
    with pytest.raises(OtherLedgerError, match=re.escape(f"--rows-of {source}")) as refused:
        let_go(made, source.parent)
    assert refused.value.exit_status == 2
    assert "was made of the rows of people by aegis" in str(refused.value)
    assert not ledger_path(made).exists()
    assert not (source.parent / "out.csv").exists()
    let_go(made, source.parent, ledger="none")


def test_it_is_known_before_anything_left_and_after(source: Path) -> None:
    made = applied(source, source.with_name("made.csv"))
    let_go(source, source.parent, config=BY_AGE)  # the source itself is no table that was made of it
    with pytest.raises(OtherLedgerError):
        let_go(made, source.parent)
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):
        let_go(made, source.parent, rows_of=source)
    coarse = applied(
        source, source.with_name("coarse.csv"), config={"age": {"bucketize": {"width": 20}}, "zip": "suppress"}
    )
    let_go(coarse, source.parent, rows_of=source)
    assert [entry["kind"] for entry in aegis.ledger_show(source).releases] == ["masks", "finished table"]


@pytest.mark.parametrize(
    "way", ["copy", "parquet", "frame", "shuffled", "some rows less", "a column less", "a column changed"]
)
def test_under_another_name_it_is_known_as_well(source: Path, way: str) -> None:
    made = applied(source, source.with_name("made.csv"))
    frame, other = pd.read_csv(made, dtype=str), source.with_name("other.csv")
    data: Any = other
    if way == "copy":
        shutil.copy(made, other)
    elif way == "parquet":
        data = source.with_name("other.parquet")
        frame.to_parquet(data)
    elif way == "frame":
        data = frame
    elif way == "shuffled":
        frame.sample(frac=1, random_state=0).to_csv(other, index=False)
    elif way == "some rows less":
        frame.iloc[20:].to_csv(other, index=False)
    elif way == "a column less":
        frame.drop(columns="label").to_csv(other, index=False)
    else:
        frame.assign(label="x").to_csv(other, index=False)
    policy = POLICY if way != "a column less" else {**POLICY, "insensitive": ["ward"]}
    with pytest.raises(OtherLedgerError, match="made of the rows of people"):
        aegis.release(data, policy=policy, out=source.with_name("out.csv"))


def test_roles_that_come_with_the_policy_only_do_not_hide_it(source: Path) -> None:
    frame = people().assign(mail=[f"p{number}@example.org" for number in range(300)])
    frame.to_csv(source, index=False)
    made = source.with_name("made.csv")
    aegis.apply(source, config=BY_ZIP, out=made)  # neither the numbers nor the addresses have a role here
    policy = {**POLICY, "identifying": ["person", "mail"]}
    with pytest.raises(OtherLedgerError, match="made of"):
        aegis.release(made, policy=policy, out=source.with_name("out.csv"))


def test_what_is_made_of_a_made_table_leads_to_the_first(source: Path) -> None:
    first = applied(source, source.with_name("first.csv"), config={"zip": "suppress"})
    second = source.with_name("second.csv")
    aegis.apply(first, config={"age": {"bucketize": {"width": 5}}}, out=second, identifying=["person"])
    with pytest.raises(OtherLedgerError, match=re.escape(f"--rows-of {source}")):
        let_go(second, source.parent)
    with pytest.raises(OtherLedgerError, match=re.escape(f"--rows-of {source}")):
        let_go(second, source.parent, rows_of=first)
    let_go(second, source.parent, rows_of=source)


def test_the_rows_of_another_table_are_refused(source: Path) -> None:
    made = applied(source, source.with_name("made.csv"))
    others = source.with_name("others.csv")
    people().assign(age=33, zip=[f"{number}" for number in range(300)]).to_csv(others, index=False)
    with pytest.raises(OtherLedgerError, match="not of those of others"):
        let_go(made, source.parent, rows_of=others)


def test_whoever_looks_for_a_release_of_it_is_told(source: Path) -> None:
    made = applied(
        source, source.with_name("made.csv"), config={"person": "suppress", "age": {"bucketize": {"width": 2}}}
    )
    with pytest.raises(OtherLedgerError, match="every other command takes"):
        aegis.search(made, policy=POLICY, label="label", space="levels", seconds=5)
    with pytest.raises(OtherLedgerError, match="every other command takes"):
        aegis.advise(made, policy=POLICY, label="label", generate=3)


def test_other_people_masked_alike_are_another_table(source: Path) -> None:
    applied(source, source.with_name("made.csv"))
    others = source.with_name("others.csv")
    people(900).iloc[300:].to_csv(others, index=False)
    masked = others.with_name("masked.csv")
    aegis.apply(others, config=BY_ZIP, out=masked, identifying=["person"])
    with pytest.raises(OtherLedgerError, match="rows of others"):
        let_go(masked, source.parent)
    let_go(others, source.parent, config=BY_AGE)


def test_a_large_table_of_few_different_rows_is_known(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "age": [20 + number % 37 for number in range(9_000)],
            "zip": [f"{10_000 + number * number % 11}" for number in range(9_000)],
            "label": [("yes", "no")[number % 7 // 4] for number in range(9_000)],
        }
    )
    source, made = tmp_path / "many.csv", tmp_path / "made.csv"
    frame.to_csv(source, index=False)
    aegis.apply(source, config={"age": {"bucketize": {"width": 10}}}, out=made)
    with pytest.raises(OtherLedgerError, match="made of"):
        aegis.release(
            made,
            policy={"quasi_identifying": ["age", "zip"], "insensitive": ["label"], "k": 2},
            out=tmp_path / "out.csv",
        )


def test_the_same_file_made_again_is_noted_once_and_holds_no_value(source: Path) -> None:
    made = applied(source, source.with_name("made.csv"))
    aegis.apply(source, config=BY_ZIP, out=made, identifying=["person"], overwrite=True)
    (noted,) = derived_tables()
    assert (noted.source, noted.rows_of, noted.command) == ("people", str(source), "apply")
    assert len(noted.sketch.digests) < 10 * 300


def test_check_says_that_it_judges_such_a_table_alone(source: Path) -> None:
    assert aegis.check(source, policy=POLICY).warnings == ()
    made = boxes(source, source.with_name("made.csv"))
    assert aegis.check(source, policy=POLICY).made_of is None
    checked = aegis.check(made, policy=POLICY)
    assert checked.satisfied
    assert "judged alone, although made was made of the rows of people" in checked.warnings[0]
    assert f"--rows-of {source}" in checked.to_json()["made_of"]


def test_its_certificate_is_not_pushed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AEGIS_TOKEN", raising=False)
    made = boxes(source, source.with_name("made.csv"))
    with pytest.raises(OtherLedgerError, match=r"nothing was pushed: made\.csv was made of the rows of people"):
        push_release(made, product="people")
    done = aegis.release(made, policy=POLICY, rows_of=source, out=source.with_name("out.csv"))
    with pytest.raises(InputError, match="token"):  # nothing else stands in its way
        push_release(done.out, product="people")


def test_people_are_counted_in_a_made_table_as_they_were_before(source: Path) -> None:
    frame = people().assign(person=[f"N{number // 3:05d}" for number in range(300)])
    frame.to_csv(source, index=False)
    policy = {**POLICY, "unit": "person"}
    aegis.release(
        source, config={"age": "suppress", "zip": "suppress"}, policy=policy, out=source.with_name("first.csv")
    )
    made = source.with_name("made.csv")
    aegis.anonymize(source, method="boxes", policy=policy, out=made)
    with pytest.raises(LedgerError, match="counted people by 'person'"):
        let_go(made, source.parent, rows_of=source)
    done = aegis.release(made, policy=policy, rows_of=source, out=source.with_name("out.csv"))
    assert done.unit == "person"
    rows = pd.read_csv(made, dtype=str).assign(person=frame["person"])
    assert done.smallest_class == rows.groupby(["age", "zip"])["person"].nunique().min()

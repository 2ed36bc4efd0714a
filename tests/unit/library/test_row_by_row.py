"""Finished tables (clusters, boxes, sanitized columns) under the ledger of the rows that they were made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aegis
from aegis.errors import DataError, LedgerError, OptionError, PolicyNotSatisfiedError, VerificationError
from aegis.library.ledgers.row_by_row import check_same_rows
from aegis.releases.ledger import ledger_path

POLICY = {"quasi_identifying": ["age", "zip"], "identifying": ["person"], "insensitive": ["ward", "label"], "k": 5}
BY_AGE = {"age": {"bucketize": {"width": 5}}, "zip": "suppress"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    number = np.arange(300)
    frame = pd.DataFrame(
        {
            "person": [f"N{each:05d}" for each in number],
            "age": 20 + (number * 7) % 60,
            "zip": [f"{10000 + each}" for each in (number * 2654435761 >> 9) % 12],
            "ward": [f"W{each % 50}" for each in number],
            "label": [("yes", "no")[int(each % 60 // 5 % 2)] for each in number],
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def finished(source: Path, name: str, **changes: Any) -> Path:
    """A table that was made of the rows elsewhere, in their order."""
    frame = pd.read_csv(source, dtype=str)
    path = source.with_name(f"{name}.csv")
    frame.assign(person="*", **{column: change(frame) for column, change in changes.items()}).to_csv(path, index=False)
    return path


def by_zip(source: Path) -> Path:
    return finished(source, "by_zip", age=lambda frame: ["*"] * len(frame))


def by_decade(source: Path) -> Path:
    return finished(
        source,
        "by_decade",
        age=lambda frame: (frame["age"].astype(int) // 10 * 10).astype(str) + "s",
        zip=lambda frame: ["*"] * len(frame),
    )


def let_go(data: Path, **more: Any) -> Any:
    return aegis.release(data, policy=POLICY, out=data.with_name("out.csv"), overwrite=True, **more)


def test_a_finished_table_is_judged_by_the_ledger_of_its_rows(source: Path) -> None:
    let_go(source, config=BY_AGE)
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        let_go(by_zip(source), rows_of=source)
    let_go(by_decade(source), rows_of=source)  # coarser than the earlier release
    shown = aegis.ledger_show(source)
    assert [each["kind"] for each in shown.releases] == ["masks", "finished table"]
    assert not ledger_path(by_decade(source)).exists()


def test_masks_are_judged_together_with_a_finished_table(source: Path) -> None:
    let_go(by_zip(source), rows_of=source)
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        let_go(source, config=BY_AGE)


def test_a_finished_table_is_not_said_to_keep_everything(source: Path) -> None:
    """It was compared with itself: 100 % was kept of whatever it held."""
    released = let_go(by_zip(source), rows_of=source, label="label")
    assert released.kept_share is None
    assert released.certificate.content["utility"] is None
    assert "kept of what" not in released.certificate_path.with_suffix(".html").read_text(encoding="utf-8")


def test_rows_that_are_not_in_their_places_are_refused(source: Path) -> None:
    table = by_decade(source)
    frame = pd.read_csv(table, dtype=str)
    frame.sample(frac=1, random_state=0).to_csv(table, index=False)
    with pytest.raises(DataError, match="not in the order"):
        let_go(table, rows_of=source)
    frame.iloc[:-1].to_csv(table, index=False)
    with pytest.raises(DataError, match="299 rows"):
        let_go(table, rows_of=source)
    frame.assign(ward="*", label="*").to_csv(table, index=False)
    with pytest.raises(DataError, match="which row is which"):
        let_go(table, rows_of=source)


def test_an_order_that_nobody_can_see_is_taken_on_its_word_and_said(source: Path) -> None:
    """Rows that change places within the values of the columns that stay are not noticed: so that is not hidden."""
    table = finished(source, "by_label", ward=lambda frame: ["*"] * len(frame), zip=lambda frame: ["*"] * len(frame))
    frame = pd.read_csv(table, dtype=str)
    frame["age"] = (frame["age"].astype(int) // 20 * 20).astype(str) + "s"
    frame["age"] = frame.groupby("label")["age"].transform(lambda ages: ages.to_numpy()[::-1])
    frame.to_csv(table, index=False)
    released = let_go(table, rows_of=source)
    order = released.ledger["order_seen_by"]
    assert (order["columns"], order["rows"], order["rows_told_apart"]) == (["label"], 300, 0)
    assert any("0 of 300 rows are told apart" in warning for warning in released.warnings)
    page = released.certificate_path.with_suffix(".html").read_text(encoding="utf-8")
    assert "0 of 300 rows are told apart" in page


def test_nothing_is_said_where_nearly_every_row_is_told_apart(source: Path) -> None:
    people = pd.read_csv(source, dtype=str).assign(ward=[f"W{number}" for number in range(300)])
    people.to_csv(source, index=False)
    assert not [text for text in let_go(by_decade(source), rows_of=source).warnings if "told apart" in text]


def test_options_that_would_not_be_used_are_refused(source: Path) -> None:
    with pytest.raises(OptionError, match="released as it is"):
        let_go(by_decade(source), rows_of=source, config=BY_AGE)
    with pytest.raises(OptionError, match="nothing is judged together"):
        let_go(by_decade(source), rows_of=source, ledger="none")


def test_a_table_in_the_race_is_judged_together_with_what_is_out(source: Path) -> None:
    let_go(source, config=BY_AGE)
    ranking = aegis.advise(
        source, label="label", policy=POLICY, tables=[by_zip(source), by_decade(source)], identifying=["person"]
    )
    assert [place.configuration for place in ranking.ranking] == ["by_decade"]
    assert "together with earlier releases" in ranking.rejected["by_zip"]


def test_whoever_writes_a_table_is_told_what_left_before(source: Path) -> None:
    out = source.with_name("applied.csv")
    quiet = aegis.apply(source, config=BY_AGE, out=out)
    assert quiet.not_judged_with is None
    let_go(source, config=BY_AGE)
    applied = aegis.apply(source, config=BY_AGE, out=out, overwrite=True)
    assert "1 release of this table came before" in applied.warnings[-1]
    clustered = aegis.anonymize(
        source, quasi=["age"], k=5, method="mdav", identifying=["person"], out=out, overwrite=True
    )
    assert "--rows-of people.csv" in clustered.warnings[-1]


def test_a_summary_goes_on_the_record_and_its_noise_is_spent(source: Path) -> None:
    def summarize(name: str, **more: Any) -> None:
        aegis.summarize(source, label="label", configs=[BY_AGE], race=False, out=source.with_name(name), **more)

    summarize("first")
    assert not ledger_path(source).exists(), "there is no earlier release that it could stand beside"
    aegis.ledger_limit(source, epsilon=1.5)
    summarize("noisy", epsilon=1.0)
    summarize("exact", recipient="the institute")
    with pytest.raises(LedgerError, match="privacy budget"):
        summarize("more", epsilon=1.0)
    assert not source.with_name("more").exists()
    shown = aegis.ledger_show(source)
    assert [(each["kind"], each["recipient"]) for each in shown.releases] == [
        ("summary", "anybody"),
        ("summary", "the institute"),
    ]
    assert [row["counts"] for row in shown.table_rows()] == ["by its budget", "no: counts of single columns, not rows"]
    let_go(source, config=BY_AGE)  # counts are no rows that could be linked


def test_files_are_judged_together_by_their_certificates_or_row_by_row(source: Path) -> None:
    certified = aegis.release(source, policy=POLICY, config=BY_AGE, out=source.with_name("age.csv"))
    files = [Path(certified.out), by_zip(source)]
    for file in files:
        assert aegis.check(source, policy=POLICY, release=[file]).satisfied
    both = aegis.check(source, policy=POLICY, release=files)
    assert not both.satisfied
    assert both.breaking == (("age", "by_zip"),)
    by_masks = aegis.check(source, policy=POLICY, config=[BY_AGE, {"age": "suppress"}])
    assert (both.classes, both.smallest_class) == (by_masks.classes, by_masks.smallest_class)
    assert aegis.check(source, policy=POLICY, config=BY_AGE, release=[by_decade(source)]).satisfied


def test_a_file_that_breaks_the_policy_is_not_suppressed_once_more(source: Path) -> None:
    lenient = {**POLICY, "max_suppression": 0.5}
    raw = finished(source, "raw")
    checked = aegis.check(source, policy=lenient, release=[raw])
    assert not checked.satisfied
    assert checked.breaking == (("raw",),)


def test_a_file_with_the_certificate_of_another_is_refused(source: Path) -> None:
    certified = aegis.release(source, policy=POLICY, config=BY_AGE, out=source.with_name("age.csv"))
    Path(certified.out).write_bytes(by_zip(source).read_bytes())
    with pytest.raises(VerificationError, match="not of this file"):
        aegis.check(source, policy=POLICY, release=[certified.out])
    with pytest.raises(DataError, match="no file"):
        aegis.check(source, policy=POLICY, release=[source.with_name("absent.csv")])


def test_numbers_of_more_digits_than_a_real_number_has_say_which_row_is_which() -> None:
    """A column of long numbers ended every release of boxes or clusters with an internal error."""
    numbers = [9_041_540_200_754_841 + 7 * row for row in range(20)]
    original = pa.table({"account": numbers, "age": list(range(20))})
    same = check_same_rows(original, original.set_column(1, "age", [["*"] * 20]), source="a", finished="b")
    assert (same.columns, same.rows_told_apart) == (("account",), 20)
    with pytest.raises(DataError, match="not in the order"):
        check_same_rows(original, original.take(list(range(19, -1, -1))), source="a", finished="b")

"""A release is judged together with everything that left before: refused, allowed, held back, and on the record."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.errors import InputError, LedgerError, OptionError, PolicyNotSatisfiedError
from aegis.library.clinic import write_clinic
from aegis.library.search import Found
from aegis.releases.ledger import ledger_path, private_folder, read_ledger
from aegis.report.certificate_report import render_certificate

POLICY: dict[str, Any] = {"quasi_identifying": ["age", "zip"], "sensitive": ["ill"], "k": 5}
BY_AGE = {"age": {"bucketize": {"width": 10}}, "zip": "suppress"}
BY_ZIP = {"age": "suppress", "zip": "identity"}
COARSER = {"age": {"bucketize": {"width": 20}}, "zip": "suppress"}


def _people(rows: int = 240, *, start: int = 0) -> pd.DataFrame:
    """People of ages 20 to 59 in twelve places: every age and every place is common, both together are not."""
    i = np.arange(start, start + rows)
    return pd.DataFrame(
        {
            "name": [f"person {number}" for number in i],
            "age": 20 + i % 40,
            "zip": [f"{10000 + place}" for place in (i * 2654435761 >> 9) % 12],
            "ill": [("flu", "cold", "none")[number % 3] for number in i],
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    _people().to_csv(path, index=False)
    return path


def _release(table: Any, masks: Any, **given: Any) -> Any:
    options = {"policy": POLICY, "overwrite": True, "identifying": ["name"], **given}
    options.setdefault("out", Path(table).parent / "out.csv" if isinstance(table, Path) else None)
    return aegis.release(table, config=masks, **options)


def test_a_second_release_that_undoes_the_first_is_refused_and_leaves_nothing(table: Path) -> None:
    _release(table, BY_AGE, out=table.parent / "first.csv")
    before = {path: path.read_bytes() for path in table.parent.rglob("*") if path.is_file()}
    with pytest.raises(PolicyNotSatisfiedError) as refused:
        _release(table, BY_ZIP, out=table.parent / "second.csv")
    said = str(refused.value)
    assert "together with entry 2 (first.csv) it breaks k-anonymity (for " in said
    assert "aegis search" in said
    after = {path: path.read_bytes() for path in table.parent.rglob("*") if path.is_file()}
    assert after == before


def test_another_name_of_the_same_file_is_no_way_round(table: Path) -> None:
    _release(table, BY_AGE)
    alias = table.with_name("alias.csv")
    alias.symlink_to(table.name)
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):
        _release(alias, BY_ZIP, out=table.with_name("second.csv"))
    assert not table.with_name("second.csv").exists()


def test_it_would_have_singled_people_out(table: Path) -> None:
    """What the gate refuses is real: each release alone keeps k, both together leave some people alone."""
    people = pd.read_csv(table)
    _release(table, BY_AGE, ledger="none")
    _release(table, BY_ZIP, ledger="none")
    both = people.groupby([people.age // 10, "zip"]).size()
    assert both.min() < POLICY["k"]


@pytest.mark.parametrize("masks", [BY_AGE, COARSER, {"age": "suppress", "zip": "suppress"}])
def test_the_same_again_or_coarser_is_allowed(table: Path, masks: dict[str, Any]) -> None:
    _release(table, BY_AGE)
    released = _release(table, masks)
    assert released.ledger["together_with"] == [2]
    assert released.ledger["held"] == released.ledger["withdrawn"] == 0
    assert released.ledger["smallest_class_together"] >= POLICY["k"]


def test_the_same_release_again_is_allowed_where_records_were_suppressed(table: Path) -> None:
    policy = {**POLICY, "max_suppression": 0.9}
    masks = {"age": {"bucketize": {"width": 10}}}
    first = _release(table, masks, policy=policy)
    again = _release(table, masks, policy=policy)
    assert first.suppressed == again.suppressed > 0
    assert read_ledger(ledger_path(table)).releases[3].rows_as == 2


def test_with_a_reason_it_leaves_and_the_reason_is_on_certificate_and_record(table: Path) -> None:
    _release(table, BY_AGE)
    released = _release(table, BY_ZIP, despite_ledger="the first file was destroyed")
    assert released.certificate.content["ledger"]["despite"] == "the first file was destroyed"
    assert read_ledger(ledger_path(table)).releases[3].despite == "the first file was destroyed"
    page = released.certificate_path.with_suffix(".html").read_text(encoding="utf-8")
    assert "the first file was destroyed" in page


@pytest.mark.parametrize("reason", ["", " \t"])
def test_a_reason_that_says_nothing_is_none(table: Path, reason: str) -> None:
    _release(table, BY_AGE)
    with pytest.raises(OptionError, match="--despite-ledger is empty"):
        _release(table, BY_ZIP, out=table.parent / "second.csv", despite_ledger=reason)
    assert not (table.parent / "second.csv").exists()
    assert len(read_ledger(ledger_path(table)).releases) == 1


def test_a_reason_that_is_not_needed_is_refused(table: Path) -> None:
    with pytest.raises(InputError, match="there is no earlier release"):
        _release(table, BY_AGE, despite_ledger="why not")
    _release(table, BY_AGE)
    with pytest.raises(InputError, match="the ledger allows it"):
        _release(table, BY_AGE, despite_ledger="why not")
    with pytest.raises(InputError, match="without a ledger"):
        _release(table, BY_AGE, ledger="none", recipient="ana")


def test_recipients_that_stay_apart_are_judged_apart(table: Path) -> None:
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="ana")
    released = _release(table, BY_ZIP, policy=apart, recipient="bob")
    assert released.ledger["together_with"] == []
    assert released.certificate.content["ledger"]["recipients"] == "separate"
    with pytest.raises(PolicyNotSatisfiedError, match="to ana"):
        _release(table, BY_ZIP, policy=apart, recipient="ana")


def test_a_release_for_anybody_is_judged_together_with_what_anybody_got(table: Path) -> None:
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="ana")
    with pytest.raises(PolicyNotSatisfiedError, match="to ana"):
        _release(table, BY_ZIP, policy=apart)


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\u2060\u200e"])
def test_letters_that_nobody_sees_make_no_other_recipient_and_no_reason(table: Path, unseen: str) -> None:
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="bob")
    with pytest.raises(PolicyNotSatisfiedError, match="breaks k-anonymity"):
        _release(table, BY_ZIP, policy=apart, recipient=f"b{unseen}ob")
    with pytest.raises(OptionError, match="--recipient is empty"):
        _release(table, BY_ZIP, policy=apart, recipient=unseen)
    with pytest.raises(OptionError, match="--despite-ledger is empty"):
        _release(table, BY_ZIP, policy=apart, recipient="bob", despite_ledger=unseen)
    with pytest.raises(OptionError, match="--reason"):
        aegis.ledger_forget(table, 2, reason=unseen)


def test_a_release_for_anybody_is_judged_with_what_each_recipient_holds(table: Path) -> None:
    """Nobody held both before: what the two show together was never judged, so nothing of it is excused."""
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="ana")
    _release(table, BY_ZIP, policy=apart, recipient="bob")
    for masks, holder in ((BY_AGE, "to bob"), (BY_ZIP, "to ana")):
        with pytest.raises(PolicyNotSatisfiedError, match=holder):
            _release(table, masks, policy=apart)
    nothing = _release(table, {"age": "suppress", "zip": "suppress"}, policy=apart)
    assert nothing.ledger["together_with"] == [2, 3]
    assert nothing.ledger["smallest_class_together"] >= POLICY["k"]
    with pytest.raises(PolicyNotSatisfiedError, match="to bob"):
        _release(table, BY_AGE, policy=apart, recipient="bob")


def test_a_release_for_anybody_hides_what_one_recipient_must_not_see(table: Path) -> None:
    """Whoever holds the places sees a few people too many: they are hidden from everybody, within the limit."""
    apart = {**POLICY, "recipients": "separate", "max_suppression": 0.9}
    _release(table, BY_ZIP, policy=apart, recipient="bob")
    _release(table, BY_AGE, policy=apart, recipient="ana")
    released = _release(table, BY_AGE, policy=apart)
    people, shown = pd.read_csv(table), pd.read_csv(table.parent / "out.csv")
    assert (shown["age"] == "*").any()
    assert released.ledger["smallest_class_together"] >= POLICY["k"]
    assert len(shown) == len(people)


def test_advice_for_anybody_is_judged_with_what_each_recipient_holds(table: Path) -> None:
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="ana")
    _release(table, BY_ZIP, policy=apart, recipient="bob")
    nothing = {"age": "suppress", "zip": "suppress"}
    ranking = aegis.advise(table, policy=apart, label="ill", configs=[BY_AGE, BY_ZIP, nothing], fast=True)
    assert [place.configuration for place in ranking.ranking] == ["configuration-3"]


@pytest.mark.parametrize("spelling", ["Ana", " ana", "ANA "])
def test_another_spelling_of_a_recipient_is_nobody_else(table: Path, spelling: str) -> None:
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, policy=apart, recipient="ana")
    with pytest.raises(PolicyNotSatisfiedError, match="to ana"):
        _release(table, BY_ZIP, policy=apart, recipient=spelling)


def test_anybody_in_any_spelling_is_anybody(table: Path) -> None:
    apart = {**POLICY, "recipients": "separate"}
    released = _release(table, BY_AGE, policy=apart, recipient=" Anybody")
    assert released.ledger["recipient"] == "anybody"
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        _release(table, BY_ZIP, policy=apart, recipient="bob")


def test_only_the_releases_that_break_it_are_named(table: Path) -> None:
    _release(table, {"age": "suppress", "zip": "suppress"}, out=table.parent / "nothing.csv")
    _release(table, BY_AGE, out=table.parent / "ages.csv")
    with pytest.raises(PolicyNotSatisfiedError) as refused:
        _release(table, BY_ZIP)
    assert "ages.csv" in str(refused.value)
    assert "nothing.csv" not in str(refused.value)


def test_rows_are_told_apart_by_who_they_are_of_even_where_the_first_release_leaves_that_out(table: Path) -> None:
    """A later change of any other column must not make everybody a newcomer."""
    _release(table, BY_AGE, columns=["age", "zip", "ill"])
    opening = read_ledger(ledger_path(table)).opening
    assert opening is not None
    assert opening.rows_by == ("name",)
    people = pd.read_csv(table)
    people["ill"] = people["ill"].iloc[::-1].to_numpy()
    people.to_csv(table, index=False)
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        _release(table, BY_ZIP)


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ({"quasi_identifying": ["age"], "insensitive": ["zip"], "sensitive": ["ill"], "k": 5}, "'zip' was quasi-ident"),
        ({"quasi_identifying": ["age", "zip"], "insensitive": ["ill"], "k": 5}, "'ill' was sensitive"),
        ({**POLICY, "k": 2}, "k-anonymity \\(at least 5\\), and this policy asks for less"),
        ({**POLICY, "max_suppression": 0.1, "suppressed": "exempt"}, "judges every record that is suppressed"),
    ],
)
def test_a_later_policy_takes_nothing_back(table: Path, later: dict[str, Any], said: str) -> None:
    """What an earlier policy protects is protected beside it: a column that loses its role would leave as it is."""
    _release(table, BY_AGE)
    with pytest.raises(PolicyNotSatisfiedError, match=said):
        _release(table, {"age": "suppress"}, policy=later)
    with pytest.raises(LedgerError, match=said):
        aegis.search(table, policy=later, label="ill", identifying=["name"])
    released = _release(table, {"age": "suppress"}, policy=later, despite_ledger="another contract")
    assert released.certificate.content["ledger"]["despite"] == "another contract"


def test_a_later_policy_may_ask_for_more_and_hide_what_it_does_not_protect(table: Path) -> None:
    _release(table, BY_AGE)
    assert _release(table, COARSER, policy={**POLICY, "k": 10}).rows == 240
    hidden = {"age": {"bucketize": {"width": 20}}, "zip": "suppress"}
    fewer = {"quasi_identifying": ["age"], "insensitive": ["zip"], "sensitive": ["ill"], "k": 10}
    assert _release(table, hidden, policy=fewer).rows == 240


def test_what_left_for_whoever_colludes_counts_under_a_policy_that_holds_recipients_apart(table: Path) -> None:
    """The first certificate says that anybody may hold everything; a later policy cannot make Ana forget it."""
    apart = {**POLICY, "recipients": "separate"}
    _release(table, BY_AGE, recipient="ana")
    with pytest.raises(PolicyNotSatisfiedError, match="to ana"):
        _release(table, BY_ZIP, policy=apart, recipient="bob")
    with pytest.raises(PolicyNotSatisfiedError, match="to ana"):
        _release(table, BY_ZIP, policy=apart)


def test_a_forgotten_release_no_longer_stands_in_the_way(table: Path) -> None:
    _release(table, BY_AGE)
    aegis.ledger_forget(table, 2, reason="it was never sent")
    assert _release(table, BY_ZIP).ledger["together_with"] == []
    with pytest.raises(InputError, match="already"):
        aegis.ledger_forget(table, 2, reason="again")
    with pytest.raises(InputError, match="no release 9"):
        aegis.ledger_forget(table, 9, reason="a slip")


def test_a_release_that_left_without_the_ledger_can_be_added(table: Path) -> None:
    _release(table, BY_AGE, ledger="none")
    shown = aegis.ledger_add(table, config=BY_AGE, policy=POLICY, name="sent in May", identifying=["name"])
    assert [release["name"] for release in shown.releases] == ["sent in May"]
    with pytest.raises(PolicyNotSatisfiedError, match="sent in May"):
        _release(table, BY_ZIP)
    noisy = {"age": {"add_laplace_noise": {"scale": 2}}, "zip": "suppress"}
    with pytest.raises(LedgerError, match="cannot be drawn again"):
        aegis.ledger_add(table, config=noisy, policy={**POLICY, "k": 1}, identifying=["name"])


def test_masks_that_draw_are_judged_by_what_they_drew(table: Path) -> None:
    loose = {**POLICY, "k": 1}
    _release(table, {"age": {"add_laplace_noise": {"scale": 5}}, "zip": "suppress"}, policy=loose)
    with pytest.raises(PolicyNotSatisfiedError, match="k-anonymity"):
        _release(table, BY_AGE)


def test_a_column_that_was_shown_before_counts_once_it_is_called_quasi_identifying(table: Path) -> None:
    by_age = {"quasi_identifying": ["age"], "insensitive": ["zip", "ill"], "k": 5}
    _release(table, {"age": {"bucketize": {"width": 10}}}, policy=by_age)
    with pytest.raises(PolicyNotSatisfiedError, match="breaks k-anonymity"):
        _release(table, {"age": {"bucketize": {"width": 5}}, "zip": "suppress"})


def test_a_sensitive_column_that_is_masked_otherwise_cannot_be_judged(table: Path) -> None:
    policy = {**POLICY, "l": {"ill": 2}}
    _release(table, BY_AGE, policy=policy)
    merged = {"regroup": {"groups": {"some": ["flu", "cold"], "none": ["none"]}}}
    with pytest.raises(PolicyNotSatisfiedError, match="masked otherwise than in entry 2"):
        _release(table, {**BY_AGE, "ill": merged}, policy=policy)


def test_the_refusal_says_which_masks_are_allowed(table: Path) -> None:
    policy = {**POLICY, "l": {"ill": 2}}
    _release(table, BY_AGE, policy=policy)
    merged = {"regroup": {"groups": {"some": ["flu", "cold"], "none": ["none"]}}}
    with pytest.raises(PolicyNotSatisfiedError, match="allowed are the mask of that entry") as refused:
        _release(table, {**BY_AGE, "ill": merged}, policy=policy)
    assert "leaving the column out (release --columns)" in str(refused.value)
    assert "flu" not in str(refused.value)


def test_limits_on_attacks_hold_for_what_is_out_and_the_new_release_together(table: Path) -> None:
    # A column that stays as it is, by which whoever holds both releases links their rows.
    _people().assign(day=[f"d{row}" for row in range(240)]).to_csv(table, index=False)
    strict = {**POLICY, "insensitive": ["day"], "k": 1, "attacks": {"intersection": 0.0}}
    by_age = {"age": {"bucketize": {"width": 2}}, "zip": "suppress"}
    first = _release(table, by_age, policy=strict)
    assert "attacks" not in first.certificate.content, "there is no earlier release that it could be intersected with"
    with pytest.raises(PolicyNotSatisfiedError, match=r"intersection exposes .* or release an earlier one again"):
        _release(table, BY_ZIP, policy=strict)
    assert len(aegis.ledger_show(table).releases) == 1
    again = _release(table, by_age, policy=strict)
    (attacked,) = again.certificate.content["attacks"]
    assert (attacked["name"], attacked["limit"], attacked["singled_out"]) == ("intersection", 0.0, 0)
    lenient = _release(
        table, BY_ZIP, policy={**strict, "attacks": {"intersection": 1.0}}, despite_ledger="the first was a test"
    )
    (attacked,) = lenient.certificate.content["attacks"]
    assert attacked["singled_out"] > 0


def test_an_attack_on_several_releases_needs_several(table: Path) -> None:
    with pytest.raises(OptionError, match="there is no earlier release"):
        _release(table, BY_AGE, attacks=["intersection"])
    _release(table, BY_AGE)
    released = _release(table, BY_AGE, attacks=["intersection", "differencing"])
    assert [each["name"] for each in released.certificate.content["attacks"]] == ["intersection", "differencing"]


def test_what_cannot_be_made_again_cannot_be_attacked_together(table: Path) -> None:
    strict = {**POLICY, "k": 1, "attacks": {"intersection": 0.5}}
    _release(table, {"age": {"add_laplace_noise": {"scale": 5}}, "zip": "suppress"}, policy=strict)
    with pytest.raises(PolicyNotSatisfiedError, match="cannot be made again to be attacked"):
        _release(table, BY_AGE, policy=strict)


def test_an_attack_without_a_limit_does_not_need_what_cannot_be_made_again(table: Path) -> None:
    """What reads off groups is asked for by start and run; after a table of boxes they could not release anything."""
    policy = {**POLICY, "k": 1}
    _release(table, {"age": {"add_laplace_noise": {"scale": 5}}, "zip": "suppress"}, policy=policy)
    released = _release(table, BY_AGE, policy=policy, attacks=["homogeneity", "prosecutor"])
    seen = {each["name"]: each["releases_seen"] for each in released.certificate.content["attacks"]}
    assert seen == {"homogeneity": 1, "prosecutor": 1}, "it was run on this table alone, and the certificate says so"
    assert "this table alone" in render_certificate(released.certificate.content)
    with pytest.raises(OptionError, match=r"'intersection' needs earlier releases, .* entry 2 .* cannot be made again"):
        _release(table, BY_AGE, policy=policy, attacks=["homogeneity", "intersection"])
    limited = {**policy, "attacks": {"homogeneity": 0.5}}
    with pytest.raises(PolicyNotSatisfiedError, match="the policy limits homogeneity, and what entry 2"):
        _release(table, BY_AGE, policy=limited, attacks=["background-knowledge"])


def test_no_value_and_no_key_is_in_the_ledger(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = _people()
    people.loc[0, "name"] = "CANARY-NAME"
    people.loc[1, "ill"] = "CANARY-ILL"
    people.to_csv(table, index=False)
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", "s3cret-key" * 4)
    masks = {**BY_AGE, "name": "pseudonym"}
    _release(table, masks, policy={**POLICY, "l": {"ill": 2}})
    for path in (ledger_path(table), *private_folder(ledger_path(table)).iterdir()):
        assert b"CANARY" not in path.read_bytes(), path.name
        assert b"s3cret-key" not in path.read_bytes(), path.name


def test_the_ledger_of_another_table_is_refused(table: Path, tmp_path: Path) -> None:
    _release(table, BY_AGE)
    other = tmp_path / "others.csv"
    _people(start=100_000).to_csv(other, index=False)
    with pytest.raises(LedgerError, match="is that of another table: none of the rows"):
        _release(other, BY_AGE, ledger=ledger_path(table))
    renamed = tmp_path / "renamed.csv"
    _people().rename(columns={"ill": "sick"}).to_csv(renamed, index=False)
    with pytest.raises(LedgerError, match="has the column 'ill'"):
        _release(
            renamed,
            BY_AGE,
            policy={"quasi_identifying": ["age", "zip"], "k": 5},
            ledger=ledger_path(table),
            insensitive="rest",
        )


def test_an_older_version_is_refused(table: Path) -> None:
    hidden = {"age": "suppress", "zip": "suppress"}
    _release(table, hidden)
    _people(300).to_csv(table, index=False)
    _release(table, hidden)
    _people(240).to_csv(table, index=False)
    with pytest.raises(
        LedgerError, match="an older version of the table: entry 2 of its ledger had it, and entry 3 a newer"
    ):
        _release(table, hidden)


def test_of_two_first_releases_at_the_same_time_the_second_is_told_to_run_again(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("aegis.library.release")

    real, first = module.judge_release, table.parent / "first.csv"

    def judged_while_another_leaves(*given: Any) -> Any:
        monkeypatch.setattr(module, "judge_release", real)
        _release(table, BY_AGE, out=first)
        return real(*given)

    monkeypatch.setattr(module, "judge_release", judged_while_another_leaves)
    with pytest.raises(LedgerError, match=r"something else was released meanwhile and stands in people\.csv\.ledger"):
        _release(table, BY_ZIP, out=table.parent / "second.csv")
    assert first.exists()
    assert not (table.parent / "second.csv").exists()
    assert len(read_ledger(ledger_path(table)).releases) == 1


def test_a_search_refuses_an_older_version_too(table: Path) -> None:
    people = _people(300).assign(well=lambda rows: np.where(rows["age"] % 7 > 3, "yes", "no"))
    asked: dict[str, Any] = {"policy": POLICY, "label": "well", "identifying": ["name"], "seconds": 20}
    hidden = {"age": "suppress", "zip": "suppress"}
    people[:240].to_csv(table, index=False)
    _release(table, hidden, insensitive="rest")
    people.to_csv(table, index=False)
    assert aegis.search(table, **asked).together_with == (2,)  # a newer one than the only version that is known
    _release(table, hidden, insensitive="rest")
    assert aegis.search(table, **asked).together_with == (2, 3)
    people[:240].to_csv(table, index=False)
    with pytest.raises(LedgerError, match="an older version of the table: entry 2 of its ledger had it"):
        aegis.search(table, **asked)


def test_advise_refuses_an_older_version_before_it_counts(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = _people(300).assign(well=lambda rows: np.where(rows["age"] % 7 > 3, "yes", "no"))
    hidden = {"age": "suppress", "zip": "suppress"}
    for rows in (240, 300):
        people[:rows].to_csv(table, index=False)
        _release(table, hidden, insensitive="rest")
    people[:240].to_csv(table, index=False)

    def counted(*_: Any, **__: Any) -> None:
        pytest.fail("the table was counted first")

    monkeypatch.setattr(importlib.import_module("aegis.library.advise"), "count_table", counted)
    with pytest.raises(LedgerError, match="an older version of the table"):
        aegis.advise(table, policy=POLICY, label="well", identifying=["name"], generate=3)


def test_a_search_knows_rows_again_whose_names_are_no_longer_different(table: Path) -> None:
    people = _people(240).assign(well=lambda rows: np.where(rows["age"] % 7 > 3, "yes", "no"))
    people.to_csv(table, index=False)
    _release(table, BY_AGE, insensitive="rest")
    twice = pd.concat([people, people[:40].assign(zip="10000")])
    twice.sample(frac=1, random_state=1).to_csv(table, index=False)
    found = aegis.search(table, policy=POLICY, label="well", identifying=["name"], seconds=20)
    assert isinstance(found, Found)
    released = _release(table, found.configuration, insensitive="rest")
    assert released.smallest_class >= 5
    assert released.suppressed == found.suppressed


def test_an_edited_ledger_stops_every_release(table: Path) -> None:
    _release(table, BY_AGE)
    path = ledger_path(table)
    path.write_text(path.read_text(encoding="utf-8").replace("out.csv", "no.csv"), encoding="utf-8")
    with pytest.raises(LedgerError, match="line 2 of the ledger"):
        _release(table, BY_AGE)


def test_without_the_rows_of_a_release_only_a_reason_helps(table: Path) -> None:
    _release(table, BY_AGE)
    (private_folder(ledger_path(table)) / "rows.parquet").unlink()
    with pytest.raises((PolicyNotSatisfiedError, LedgerError), match="not kept beside the ledger"):
        _release(table, BY_AGE)
    assert _release(table, BY_AGE, despite_ledger="the folder is lost").ledger["despite"] == "the folder is lost"


def test_a_source_that_is_no_file_has_no_ledger_of_its_own(table: Path, tmp_path: Path) -> None:
    released = _release(pd.read_csv(table), BY_AGE, out=tmp_path / "from-frame.csv")
    assert released.ledger is None
    kept = _release(pd.read_csv(table), BY_AGE, out=tmp_path / "kept.csv", ledger=tmp_path / "frame.ledger.jsonl")
    assert kept.ledger["number"] == 2


def test_rows_that_come_alone_wait_until_enough_have_come(table: Path) -> None:
    masks = {"age": {"bucketize": {"width": 10}}, "zip": "suppress"}
    _release(table, masks)
    grown = pd.concat([_people(), _people(1, start=400)])  # one person of 20 joins
    grown.to_csv(table, index=False)
    second = _release(table, masks)
    assert (second.rows, second.ledger["held"]) == (240, 1)
    assert aegis.verify(second.out, second.certificate_path).reason is None
    more = pd.concat([_people(), _people(1, start=400), _people(4, start=440)])
    more.to_csv(table, index=False)
    third = _release(table, masks)
    assert (third.rows, third.ledger["held"]) == (245, 0)


def test_whoever_leaves_takes_others_along_or_nothing_is_released(table: Path) -> None:
    masks = {"age": {"bucketize": {"width": 10}}, "zip": "suppress"}
    _release(table, masks)
    _people().iloc[1:].to_csv(table, index=False)
    with pytest.raises(PolicyNotSatisfiedError, match="records that are out would have to be suppressed or held back"):
        _release(table, masks)
    released = _release(table, masks, policy={**POLICY, "max_suppression": 0.3})
    assert released.ledger["withdrawn"] == POLICY["k"] - 1
    assert released.rows == 239 - released.ledger["withdrawn"]
    assert aegis.verify(released.out, released.certificate_path).reason is None
    held = json.loads(ledger_path(table).read_text(encoding="utf-8").splitlines()[-1])["content"]["held"]
    assert held == released.ledger["withdrawn"]


def test_a_class_that_is_too_small_to_leave_anybody_behind_is_withdrawn(table: Path) -> None:
    masks = {"age": {"bucketize": {"width": 10}}, "zip": "identity"}
    policy = {**POLICY, "max_suppression": 0.9}
    _release(table, masks, policy=policy)
    _people().iloc[1:].to_csv(table, index=False)
    released = _release(table, masks, policy=policy)
    assert 0 < released.ledger["withdrawn"] < 10
    assert aegis.verify(released.out, released.certificate_path).reason is None


def test_the_two_releases_of_the_example_that_single_patients_out_are_refused(tmp_path: Path) -> None:
    """Each keeps k = 5; whoever joins them on the columns that both leave as they are finds patients alone."""
    table = write_clinic(tmp_path)
    common: dict[str, Any] = {"policy": tmp_path / "policy.yaml", "overwrite": True}
    seen = {}
    for name in ("decades", "no-body"):
        config, out = tmp_path / "configurations" / f"{name}.yaml", tmp_path / f"{name}.csv"
        aegis.release(table, config=config, out=out, ledger="none", **common)
        seen[name] = pd.read_csv(out, dtype=str)
    alike = ["visits", "smoker", "admitted", "ward", "diagnosis", "health"]
    quasi = ["age", "weight", "zip", "gender"]
    first, second = (frame.drop_duplicates(alike, keep=False) for frame in seen.values())
    linked = first.merge(second, on=alike, suffixes=("", "_too"))
    together = linked.groupby([*quasi, *(f"{name}_too" for name in quasi)]).size()
    assert len(linked) > 11_000
    assert (together == 1).sum() > 500, "the attack works"

    aegis.release(table, config=tmp_path / "configurations" / "decades.yaml", out=tmp_path / "decades.csv", **common)
    with pytest.raises(PolicyNotSatisfiedError, match="breaks k-anonymity"):
        aegis.release(table, config=tmp_path / "configurations" / "no-body.yaml", out=tmp_path / "x.csv", **common)
    assert not (tmp_path / "x.csv").exists()


def test_a_dozen_versions_tell_nobody_apart(tmp_path: Path) -> None:
    """Rows come in small batches and some leave; by all versions together nobody stands in a group below k."""
    table, k = tmp_path / "people.csv", POLICY["k"]
    secret = tmp_path / "secret"
    secret.write_text("a secret that is long enough", encoding="utf-8")
    names = {"pseudonym": {"key_file": str(secret)}}  # the same in every version: whoever holds them links the rows
    masks = {"age": {"bucketize": {"width": 20}}, "zip": "suppress", "name": names}
    policy = {**POLICY, "max_suppression": 0.5}
    history: dict[str, list[str]] = {}
    waited = 0
    for version in range(12):
        people = _people(60 + 12 * version)
        people[people.name != "person 3"].to_csv(table, index=False) if version > 5 else people.to_csv(
            table, index=False
        )
        released = _release(table, masks, policy=policy)
        waited += released.ledger["held"]
        shown = pd.read_csv(released.out, dtype=str).set_index("name").age
        for name in shown.index:
            history.setdefault(name, ["absent"] * version)
        for name, past in history.items():
            past.append(shown.get(name, "absent"))
    groups = pd.Series(["|".join(past) for past in history.values() if set(past) != {"absent"}]).value_counts()
    assert groups.min() >= k
    assert waited > 0
    assert len(groups) > 6


def test_a_sensitive_column_that_was_never_shown_is_judged_in_whole_classes_too(tmp_path: Path) -> None:
    """First ages without illnesses, then illnesses without ages: together every age has one illness."""
    source = tmp_path / "people.csv"
    illness = ["flu" if number // 10 % 2 else "cold" for number in range(100)]
    frame = pd.DataFrame({"age": [20 + number // 10 for number in range(100)], "ward": "W", "ill": illness})
    frame.to_csv(source, index=False)
    policy = {
        "quasi_identifying": ["age"], "sensitive": ["ill"], "insensitive": ["ward"], "k": 5, "l": {"ill": 2}
    }  # fmt: skip
    without: dict[str, Any] = {"policy": policy, "columns": ["age", "ward"]}
    aegis.release(source, out=tmp_path / "ages.csv", **without)
    with pytest.raises(PolicyNotSatisfiedError, match="distinct-l-diversity"):
        aegis.release(source, policy=policy, config={"age": "suppress"}, out=tmp_path / "illnesses.csv")
    aegis.release(source, out=tmp_path / "again.csv", **without)  # an earlier release again tells nothing new


def test_a_sensitive_column_that_somebody_has_is_judged_where_it_is_left_out(tmp_path: Path) -> None:
    """The same two the other way round: illnesses without ages, then ages without illnesses."""
    source = tmp_path / "people.csv"
    illness = ["flu" if number // 10 % 2 else "cold" for number in range(100)]
    frame = pd.DataFrame({"age": [20 + number // 10 for number in range(100)], "ward": "W", "ill": illness})
    frame.to_csv(source, index=False)
    policy = {
        "quasi_identifying": ["age"], "sensitive": ["ill"], "insensitive": ["ward"], "k": 5, "l": {"ill": 2}
    }  # fmt: skip
    aegis.release(source, policy=policy, config={"age": "suppress"}, out=tmp_path / "illnesses.csv")
    asked: dict[str, Any] = {"policy": policy, "columns": ["age", "ward"], "out": tmp_path / "ages.csv"}
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        aegis.release(source, **asked)
    halves = aegis.release(source, config={"age": {"bucketize": {"width": 5}}}, **asked)
    assert halves.ledger is not None
    assert halves.ledger["together_with"] == [2]
    assert "ill" not in halves.frame().columns


def _by_illness(tmp_path: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Ages with four illnesses, of which two groups left: in every decade of ages all four, in every age one group."""
    source = tmp_path / "people.csv"
    number = np.arange(400)
    frame = pd.DataFrame({"age": 20 + number % 10, "y": np.where(number % 10 < 5, "low", "high")})
    frame["ill"] = [("flu", "cold", "gout", "none")[int(each % 2 * 2 + each // 10 % 2)] for each in number]
    frame.to_csv(source, index=False)
    policy = {"quasi_identifying": ["age"], "sensitive": ["ill"], "insensitive": ["y"], "k": 5, "l": {"ill": 2}}
    groups = {"regroup": {"groups": {"acute": ["flu", "cold"], "other": ["gout", "none"]}}}
    return source, policy, groups


def test_a_search_sees_a_sensitive_column_as_it_left_and_release_agrees(tmp_path: Path) -> None:
    source, policy, groups = _by_illness(tmp_path)
    aegis.release(source, policy=policy, config={"age": "suppress", "ill": groups}, out=tmp_path / "first.csv")
    found = aegis.search(source, policy=policy, label="y")
    assert isinstance(found, Found)
    assert found.words["ill"] != "identity", "as it left"
    assert found.classes > 1, "ages can be shown, only not each by itself"
    released = aegis.release(source, policy=policy, config=found.configuration, out=tmp_path / "second.csv")
    assert released.ledger is not None
    assert released.ledger["together_with"] == [2]
    assert set(released.frame()["ill"]) == {"acute", "other"}


def test_advice_refuses_another_mask_of_a_sensitive_column_that_left(tmp_path: Path) -> None:
    source, policy, groups = _by_illness(tmp_path)
    halves = {"age": {"bucketize": {"width": 5}}}
    aegis.release(source, policy=policy, config={"age": "suppress", "ill": groups}, out=tmp_path / "first.csv")
    ranking = aegis.advise(source, policy=policy, label="y", configs=[halves, {**halves, "ill": groups}], fast=True)
    assert [place.configuration for place in ranking.ranking] == ["configuration-2"]
    assert "masked otherwise than in entry 2" in ranking.rejected["configuration-1"]


def test_a_sensitive_column_that_left_masked_may_be_left_out(tmp_path: Path) -> None:
    source, policy, groups = _by_illness(tmp_path)
    aegis.release(source, policy=policy, config={"age": "suppress", "ill": groups}, out=tmp_path / "first.csv")
    asked: dict[str, Any] = {"policy": policy, "columns": ["age", "y"], "out": tmp_path / "ages.csv"}
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        aegis.release(source, **asked)
    halves = aegis.release(source, config={"age": {"bucketize": {"width": 5}}}, **asked)
    assert halves.ledger is not None
    assert halves.ledger["together_with"] == [2]


def test_rows_wait_where_every_quasi_identifier_is_left_out(table: Path) -> None:
    _release(table, BY_AGE)
    pd.concat([_people(), _people(1, start=400)]).to_csv(table, index=False)  # one person of 20 joins
    second = _release(table, {"zip": "suppress"}, columns=["ill"])
    assert (second.rows, second.ledger["held"]) == (240, 1)
    assert list(pd.read_csv(second.out).columns) == ["ill"]
    assert aegis.verify(second.out, second.certificate_path).reason is None

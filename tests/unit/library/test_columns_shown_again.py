"""What a column showed once is not undone by showing it again: drawn anew, as it is, masked otherwise or left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis
from aegis.errors import LedgerError, PolicyNotSatisfiedError
from aegis.library.search import Found
from aegis.releases.ledger import ledger_path, read_ledger
from aegis.report.certificate_report import render_certificate

POLICY: dict[str, Any] = {"quasi_identifying": ["age", "zip"], "insensitive": ["visit", "pay", "again"], "k": 5}
BY_AGE, BY_ZIP = {"zip": "suppress"}, {"age": "suppress"}
MERGED = {"regroup": {"groups": {"some": ["flu", "cold"], "other": ["gout"]}}}
KEPT = {"randomize": {"keep": 0.3}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three ages by three places: everybody of an age in a place has the same illness, of an age or a place all."""
    i = range(54)
    frame = pd.DataFrame(
        {
            "age": [30 + 10 * (row // 18) for row in i],
            "zip": [f"z{row // 6 % 3}" for row in i],
            "ill": [("flu", "cold", "gout")[(row // 18 + row // 6) % 3] for row in i],
            "visit": [f"v{row}" for row in i],
            "pay": [1000 + 10 * row for row in i],
            "again": [("yes", "no")[row % 2] for row in i],
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def _release(table: Path, masks: Any, policy: dict[str, Any], **more: Any) -> Any:
    return aegis.release(table, config=masks, policy=policy, out=table.with_name("out.csv"), overwrite=True, **more)


def test_a_policy_without_l_undoes_no_earlier_l_by_leaving_the_sensitive_column_out(table: Path) -> None:
    less = {**POLICY, "sensitive": ["ill"]}
    asked = {**less, "l": {"ill": 2}}
    _release(table, BY_AGE, asked)
    with pytest.raises(PolicyNotSatisfiedError, match=r"asks for distinct-l-diversity of ill .* asks for less"):
        _release(table, BY_ZIP, less, columns=["zip", "visit"])
    with pytest.raises(PolicyNotSatisfiedError, match="breaks distinct-l-diversity of ill"):
        _release(table, BY_ZIP, asked, columns=["zip", "visit"])
    assert _release(table, BY_AGE, asked, columns=["age", "visit"]).rows == 54


@pytest.mark.parametrize(
    ("column", "mask"),
    [("pay", {"add_laplace_noise": {"scale": 20}}), ("ill", KEPT), ("visit", "shuffle")],
)
def test_a_column_is_drawn_at_random_once_and_shown_in_no_other_way(table: Path, column: str, mask: Any) -> None:
    policy = {**POLICY, "sensitive": ["ill"]}
    _release(table, {**BY_AGE, column: mask}, policy)
    before = table.with_name("out.csv").read_bytes()
    with pytest.raises(
        PolicyNotSatisfiedError, match=rf"'{column}' was drawn at random .* averages two draws"
    ) as again:
        _release(table, {**BY_AGE, column: mask}, policy)
    assert "give that file again" in str(again.value)
    with pytest.raises(PolicyNotSatisfiedError, match=rf"'{column}' was drawn at random .* as it is beside that draw"):
        _release(table, BY_AGE, policy)
    assert table.with_name("out.csv").read_bytes() == before
    _release(table, {**BY_AGE, column: "suppress"}, policy)
    assert len(read_ledger(ledger_path(table)).releases) == 2


def test_recipients_who_hold_theirs_apart_each_get_one_draw(table: Path) -> None:
    apart = {**POLICY, "sensitive": ["ill"], "recipients": "separate"}
    masks = {**BY_AGE, "ill": KEPT}
    for recipient in ("ana", "bob"):
        _release(table, masks, apart, recipient=recipient)
        with pytest.raises(PolicyNotSatisfiedError, match="averages two draws"):
            _release(table, masks, apart, recipient=recipient)
    with pytest.raises(PolicyNotSatisfiedError, match="averages two draws"):
        _release(table, masks, apart)


def test_a_sensitive_column_is_masked_as_it_was_although_no_model_looks_at_it(table: Path) -> None:
    policy = {**POLICY, "sensitive": ["ill"]}
    _release(table, {**BY_AGE, "ill": MERGED}, policy)
    with pytest.raises(PolicyNotSatisfiedError, match="'ill' is masked otherwise than in entry 2") as refused:
        _release(table, BY_AGE, policy)
    assert "flu" not in str(refused.value)
    for masks in ({**BY_AGE, "ill": MERGED}, {**BY_AGE, "ill": "suppress"}):
        assert _release(table, masks, policy).rows == 54


def test_what_a_search_or_advice_finds_may_leave(table: Path) -> None:
    """Sensitive columns are masked as they were, and what was drawn at random is shown no more."""
    policy = {**POLICY, "sensitive": ["ill"]}
    _release(table, {**BY_AGE, "ill": MERGED, "pay": {"add_laplace_noise": {"scale": 20}}}, policy)
    labelled = {**policy, "insensitive": ["visit", "pay"]}
    found = aegis.search(table, policy=labelled, label="again", out=table.with_name("found.yaml"))
    assert isinstance(found, Found)
    assert set(found.configuration.masks) >= {"ill", "pay"}
    assert _release(table, table.with_name("found.yaml"), labelled).rows == 54
    with pytest.raises(LedgerError, match="the column 'pay' was drawn at random for entry 2"):
        aegis.search(table, policy={**policy, "insensitive": ["visit", "again"]}, label="pay")


def test_a_role_of_the_roles_file_is_remembered(table: Path) -> None:
    table.with_name("people.roles.yaml").write_text("sensitive: [ill]\n", encoding="utf-8")
    _release(table, {**BY_AGE, "ill": "suppress"}, POLICY)
    table.with_name("people.roles.yaml").unlink()
    with pytest.raises(PolicyNotSatisfiedError, match="'ill' was sensitive when entry 2"):
        _release(table, BY_AGE, {**POLICY, "insensitive": ["visit", "pay", "again", "ill"]})


def test_a_limit_on_homogeneity_holds_for_what_is_out_and_the_new_release_together(table: Path) -> None:
    """Linked by the visit, everybody of an age in a place has one illness; the second release need not show it."""
    policy = {**POLICY, "sensitive": ["ill"], "attacks": {"homogeneity": 0}}
    _release(table, BY_AGE, policy)
    for columns in (None, ["zip", "visit"]):
        with pytest.raises(
            PolicyNotSatisfiedError, match=r"homogeneity exposes 66.67 % .* or release an earlier one again"
        ):
            _release(table, BY_ZIP, policy, columns=columns)
    again = _release(table, BY_AGE, policy)
    (attacked,) = again.certificate.content["attacks"]
    assert (attacked["name"], attacked["singled_out"]) == ("homogeneity", 0)
    assert attacked["releases_seen"] == 2
    page = render_certificate(again.certificate.content)
    assert "this table with 1 release that left before" in page
    older = {**attacked}
    del older["releases_seen"]
    page = render_certificate({**again.certificate.content, "attacks": [older]})
    assert "not said" in page

"""A release publishes no column that nobody decided about, and nothing that looks identifying unless it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis
from aegis.errors import PolicyNotSatisfiedError, RoleError
from aegis.releases.certificate import Certificate
from aegis.report.certificate_report import render_certificate

POLICY = {"quasi_identifying": ["age"], "k": 5}
ROWS = 60


def _table(**more: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20 + 10 * (row % 3) for row in range(ROWS)],
            "ward": [row % 2 for row in range(ROWS)],
            **more,
        }
    )


STAYS = {
    "patient_nr": [row % 30 for row in range(ROWS)],  # two stays each: not a value of its own in every row
    "mail": [f"p{row}@example.org" for row in range(ROWS)],
}


def _release(tmp_path: Path, table: pd.DataFrame, **options: Any) -> Any:
    return aegis.release(table, policy=options.pop("policy", POLICY), out=tmp_path / "r.csv", **options)


@pytest.mark.parametrize("more", [{}, STAYS])
def test_a_column_without_a_role_is_asked_for_and_nothing_is_written(tmp_path: Path, more: Any) -> None:
    with pytest.raises(RoleError, match="nobody gave ward a role; add --insensitive ward"):
        _release(tmp_path, _table(**more))
    assert list(tmp_path.iterdir()) == []


def test_the_option_that_is_advised_can_be_pasted(tmp_path: Path) -> None:
    with pytest.raises(RoleError, match="add --insensitive 'ward, bed' if"):
        _release(tmp_path, _table(bed=[row % 3 for row in range(ROWS)]))
    assert _release(tmp_path, _table(bed=[row % 3 for row in range(ROWS)]), insensitive=["ward", "bed"]).rows == ROWS


def test_what_looks_identifying_is_left_out_and_the_certificate_says_so(tmp_path: Path) -> None:
    fitted = tmp_path / "fitted.yaml"
    done = _release(tmp_path, _table(**STAYS), insensitive="ward", fitted=fitted)
    assert list(done.frame().columns) == ["age", "ward"]
    assert done.left_out_as_identifying == ("patient_nr", "mail")
    assert "patient_nr, mail look identifying" in done.warnings[0]
    content = done.certificate.content
    assert content["roles"]["left_out_as_identifying"] == content["release"]["left_out"] == ["patient_nr", "mail"]
    assert content["roles"]["insensitive"] == ["ward"]
    assert "they look identifying and nobody gave them a role" in render_certificate(content)
    assert aegis.verify(done.out, done.certificate_path).verified
    assert fitted.read_text(encoding="utf-8").count("suppress") == 2  # applied to new rows they do not come back


def test_the_rest_is_a_word_that_spares_what_looks_identifying(tmp_path: Path) -> None:
    done = _release(tmp_path, _table(shoe=[40] * ROWS, **STAYS), insensitive="rest")
    assert list(done.frame().columns) == ["age", "ward", "shoe"]
    assert done.insensitive_as_the_rest == ("ward", "shoe")
    assert done.certificate.content["roles"]["insensitive_as_the_rest"] == ["ward", "shoe"]
    assert "named all at once" in render_certificate(done.certificate.content)


def test_a_column_of_that_name_is_the_column(tmp_path: Path) -> None:
    with pytest.raises(RoleError, match="nobody gave ward a role"):
        _release(tmp_path, _table(rest=[1] * ROWS), insensitive="rest")


def test_what_is_named_is_published(tmp_path: Path) -> None:
    done = _release(tmp_path, _table(**STAYS), insensitive=["rest", "mail"])
    assert list(done.frame().columns) == ["age", "ward", "mail"]
    by_policy = _release(
        tmp_path, _table(**STAYS), overwrite=True, policy={**POLICY, "insensitive": ["ward", "patient_nr", "mail"]}
    )
    assert list(by_policy.frame().columns) == ["age", "ward", "patient_nr", "mail"]


@pytest.mark.parametrize("named", [{"insensitive": ["ward", "patient_nr", "mail"]}, {"roles": "file"}, {}])
def test_what_looks_identifying_and_is_named_is_said_loudly(tmp_path: Path, named: Any) -> None:
    policy = POLICY if named else {**POLICY, "insensitive": ["ward", "patient_nr", "mail"]}
    if "roles" in named:
        named = {"roles": tmp_path / "roles.yaml"}
        named["roles"].write_text("insensitive: [ward, patient_nr, mail]\n", encoding="utf-8")
    done = _release(tmp_path, _table(**STAYS), policy=policy, **named)
    assert done.insensitive_that_look_identifying == ("patient_nr", "mail")
    assert "patient_nr, mail look identifying and are published as they are" in done.warnings[0]
    assert done.to_json()["insensitive_that_look_identifying"] == ["patient_nr", "mail"]
    content = done.certificate.content
    assert content["roles"]["insensitive_that_look_identifying"] == ["patient_nr", "mail"]
    assert "published although they look identifying" in render_certificate(content)
    config = {"patient_nr": "suppress", "mail": "suppress"}
    masked = _release(tmp_path, _table(**STAYS), policy=policy, config=config, overwrite=True, **named)
    assert masked.insensitive_that_look_identifying == ()


@pytest.mark.parametrize("how", [{"method": "mdav", "k": 5, "quasi": ["age"]}, {"method": "boxes", "policy": POLICY}])
def test_anonymize_publishes_nothing_that_looks_identifying_unasked(tmp_path: Path, how: Any) -> None:
    out = tmp_path / "a.csv"
    done = aegis.anonymize(_table(**STAYS), out=out, **how)
    assert done.looks_identifying == ("patient_nr", "mail")
    assert "replaced by *" in done.warnings[0]
    assert set(pd.read_csv(out)["mail"]) == set(pd.read_csv(out)["patient_nr"]) == {"*"}
    asked = aegis.anonymize(_table(**STAYS), out=out, overwrite=True, insensitive=["mail"], **how)
    assert asked.looks_identifying == ("patient_nr",)
    assert pd.read_csv(out)["mail"].nunique() == ROWS


def test_a_mask_decides_and_identifying_columns_are_hidden(tmp_path: Path) -> None:
    done = _release(tmp_path, _table(**STAYS), config={"ward": "suppress"}, identifying=["mail", "patient_nr"])
    assert done.unlisted_are_insensitive == ("ward",)
    assert set(done.frame()["mail"]) == {"*"}


def test_naming_a_column_to_be_written_is_no_role(tmp_path: Path) -> None:
    assert list(_release(tmp_path, _table(**STAYS), columns=["age"]).frame().columns) == ["age"]
    with pytest.raises(RoleError, match="mail would be published as it is"):
        _release(tmp_path, _table(**STAYS), columns=["age", "mail"], insensitive="rest", overwrite=True)


@pytest.mark.parametrize(
    ("insensitive", "match"), [("age", "is quasi_identifying already"), ("nil", "no column 'nil'")]
)
def test_a_second_role_and_an_unknown_column_are_refused(tmp_path: Path, insensitive: str, match: str) -> None:
    with pytest.raises(RoleError, match=match):
        _release(tmp_path, _table(), insensitive=insensitive)


def test_the_json_names_them(tmp_path: Path) -> None:
    text = json.loads(json.dumps(_release(tmp_path, _table(**STAYS), insensitive="rest").to_json()))
    assert (text["insensitive_as_the_rest"], text["left_out_as_identifying"]) == (["ward"], ["patient_nr", "mail"])


PID = {"pid": [f"{7919 * row % 100_000:08d}" for row in range(ROWS)]}


@pytest.mark.parametrize("mask", ["last_four", {"star_trailing": {"characters": 2}}, "shuffle", "identity"])
def test_part_of_an_identifying_column_is_not_published_unjudged(tmp_path: Path, mask: Any) -> None:
    options: dict[str, Any] = {"policy": {**POLICY, "identifying": ["pid"]}, "insensitive": "ward"}
    with pytest.raises(RoleError, match=r"'pid' is identifying, and .* shows part of it"):
        _release(tmp_path, _table(**PID), config={"pid": mask}, **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RoleError, match="shows part of it"):
        aegis.check(_table(**PID), config={"pid": mask}, policy=options["policy"])
    with pytest.raises(RoleError, match="shows part of it"):
        aegis.advise(_table(**PID), configs=[{"pid": mask}], policy=options["policy"], label="ward", fast=True)


def test_part_of_it_is_judged_where_it_is_called_quasi_identifying(tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["age", "pid"], "k": 5}
    with pytest.raises(PolicyNotSatisfiedError, match="found 1"):
        _release(tmp_path, _table(**PID), config={"pid": "last_four"}, policy=policy, insensitive="ward")


def test_the_certificate_says_that_rows_of_a_person_can_be_put_together(tmp_path: Path) -> None:
    policy = {**POLICY, "identifying": ["pid"]}
    done = _release(tmp_path, _table(**PID), config={"pid": "token"}, policy=policy, insensitive="ward")
    assert done.certificate.content["roles"]["identifying_as_pseudonyms"] == ["pid"]
    assert "which rows are of one person" in render_certificate(done.certificate.content)
    verified = aegis.verify(done.out, done.certificate_path)
    assert verified.verified
    assert any("share a pseudonym in pid" in unsaid for unsaid in verified.not_checked)


def test_a_certificate_that_shows_part_of_it_is_not_verified(tmp_path: Path) -> None:
    """Written by hand, or by a version that let it pass."""
    policy = {"quasi_identifying": ["age"], "k": 5}
    table = _table(pid=[f"{1000 + row % 3}" for row in range(ROWS)])
    done = _release(tmp_path, table, config={"pid": "last_four"}, policy=policy, insensitive=["ward", "pid"])
    content = json.loads(json.dumps(done.certificate.content))
    content["roles"]["identifying"], content["roles"]["insensitive"] = ["pid"], ["ward"]
    done.certificate_path.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    verified = aegis.verify(done.out, done.certificate_path)
    assert not verified.verified
    assert "shows part of it" in str(verified.reason)


def _visits() -> pd.DataFrame:
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta([row * 7919 % 699 for row in range(1398)], "D")
    illness = ["flu", "cold", "gout"]
    return pd.DataFrame(
        {"admitted": days, "weekday": days.day_name(), "illness": [illness[row * row // 3 % 3] for row in range(1398)]}
    )


def test_a_weekday_beside_a_masked_day_is_warned_of_and_attacked(tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["admitted"], "sensitive": ["illness"], "k": 20}
    by_month = {"admitted": {"date_truncate": {"unit": "month"}}}
    options = {"config": by_month, "insensitive": ["weekday"]}
    done = _release(tmp_path, _visits(), policy=policy, attacks=["prosecutor"], **options)
    (told,) = done.told_by_quasi_identifiers
    assert told in done.warnings
    assert told.startswith("weekday is known to whoever knows admitted, by its weekday (right in 100.0 %")
    assert told.endswith("name it under quasi_identifying in the policy, and it does")
    both = {**policy, "quasi_identifying": ["admitted", "weekday"]}
    with pytest.raises(PolicyNotSatisfiedError, match="at least 20 asked, found 8"):  # k counts what it adds
        _release(tmp_path, _visits(), policy=both, overwrite=True, config=by_month)
    (result,) = done.certificate.content["attacks"]
    assert "(and what they tell: weekday)" in result["knows"]
    assert done.smallest_class >= 20
    limited = {**policy, "attacks": {"marketer": 0.05}}
    with pytest.raises(PolicyNotSatisfiedError, match=r"weekday is known to whoever knows admitted, .* name it quasi"):
        _release(tmp_path, _visits(), policy=limited, overwrite=True, **options)
    masked = {**options, "config": {**by_month, "weekday": "suppress"}}
    assert _release(tmp_path, _visits(), policy=limited, overwrite=True, **masked).told_by_quasi_identifiers == ()


def _strata() -> pd.DataFrame:
    """The stratum of a survey begins with the sex, which is hidden beside it."""
    sexes = ["fm"[row * row // 5 % 2] for row in range(600)]
    return pd.DataFrame(
        {
            "age": [20 + row % 3 for row in range(600)],
            "sex": sexes,
            "stratum": [f"{sex}{row * 7 % 40}" for row, sex in enumerate(sexes)],
            "answer": [("yes", "no")[row // 7 % 2] for row in range(600)],
        }
    )


def test_what_tells_a_masked_column_is_published_by_its_name_only(tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["age", "sex"], "k": 5}
    hidden = {"config": {"sex": "suppress"}, "policy": policy}
    with pytest.raises(RoleError, match=r"stratum tells sex \(right in 100.0 %.*nobody gave stratum a role"):
        _release(tmp_path, _strata(), insensitive=["rest"], **hidden)
    assert not list(tmp_path.glob("*.csv.certificate.json"))
    named = _release(tmp_path, _strata(), insensitive=["stratum", "rest"], **hidden)
    (told,) = named.tell_quasi_identifiers
    assert told in named.warnings
    assert "what is masked in sex can be read there" in told


def test_what_tells_a_column_that_is_shown_or_is_masked_itself_is_not_warned_of(tmp_path: Path) -> None:
    policy = {"quasi_identifying": ["age", "sex"], "k": 5}
    shown = _release(tmp_path, _strata(), config={"age": "suppress"}, policy=policy, insensitive=["rest"])
    assert shown.tell_quasi_identifiers == ()
    both = {"sex": "suppress", "stratum": {"star_trailing": {"characters": 9}}}
    masked = _release(tmp_path, _strata(), config=both, policy=policy, insensitive=["rest"], overwrite=True)
    assert masked.tell_quasi_identifiers == ()

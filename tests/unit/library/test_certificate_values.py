"""A certificate leaves with its release: it names no value of fewer than k people, and is checked all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis
from aegis.catalog.service.certificates import certified_id, check_stated
from aegis.errors import DataError, VerificationError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import load_configurations
from aegis.releases.certificate import Certificate

ROWS = 60
POLICY: dict[str, Any] = {"quasi_identifying": ["born", "town"], "sensitive": ["ill"], "k": 5}
BORN = [f"b19{50 + row % 20}-0{1 + row % 9}-1{row % 7}" for row in range(ROWS)]
TOWNS = [f"town{row % 12:02d}" for row in range(ROWS)]
DECADES = {"early": sorted({day for day in BORN if day < "b1960"}), "late": sorted({d for d in BORN if d >= "b1960"})}
HIERARCHY = [[town, f"region{int(town[-2:]) // 6}", "*"] for town in sorted(set(TOWNS))] + [["nowhere", "islet", "*"]]
MASKS = {"born": {"regroup": {"groups": DECADES}}, "town": {"generalize": {"level": 1, "hierarchy": HIERARCHY}}}


@pytest.fixture
def released(tmp_path: Path) -> Any:
    table = tmp_path / "people.csv"
    ill = ["flu" if row % 2 else "cold" for row in range(ROWS)]
    pd.DataFrame({"born": BORN, "town": TOWNS, "ill": ill}).to_csv(table, index=False)
    return aegis.release(table, config=MASKS, policy=POLICY, out=tmp_path / "out.csv")


def test_no_value_that_a_mask_lists_leaves_with_the_certificate(released: Any) -> None:
    page = released.certificate_path.with_suffix(".html").read_text(encoding="utf-8")
    rare = {day for day in BORN if BORN.count(day) < 5}
    assert len(rare) == len(set(BORN)), "every birth date is one of a few people"
    for text in (released.certificate_path.read_text(encoding="utf-8"), page):
        assert not [value for value in (*rare, "nowhere", "islet") if value in text]
    stated = released.certificate.content["configuration"]
    assert list(stated["masks"]["born"]["regroup"]["groups"]) == ["early", "late"]
    assert stated["id"] == Configuration.of("x", MASKS).id


def test_it_verifies_by_the_labels_and_finds_another_one(released: Any) -> None:
    assert aegis.verify(released.out, released.certificate_path).verified
    content = json.loads(json.dumps(released.certificate.content))
    content["configuration"]["masks"]["born"]["regroup"]["groups"] = {"early": []}
    released.certificate_path.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    assert "names by its id" in str(aegis.verify(released.out, released.certificate_path).reason)


def test_the_catalog_holds_the_labels_to_the_approved_masks(released: Any) -> None:
    content, approved = released.certificate.content, Configuration.of("x", MASKS)
    assert certified_id(content) == approved.id
    check_stated(content, approved)
    other = {**MASKS, "born": {"regroup": {"groups": {"early": DECADES["early"], "later": DECADES["late"]}}}}
    with pytest.raises(VerificationError, match="names labels"):
        check_stated(content, Configuration.of("x", other))


def test_its_provider_attacks_it_by_the_masks_in_the_ledger(released: Any, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    attacked = aegis.attack([released.out], original=table, policy=POLICY, attacks=["prosecutor"])
    assert attacked.results[0].not_applicable is None
    elsewhere = tmp_path / "alone.csv"
    aegis.release(table, config=MASKS, policy=POLICY, out=elsewhere, ledger="none", shuffle=False)
    with pytest.raises(DataError, match="give the masks with --config"):
        aegis.attack([elsewhere], original=table, policy=POLICY, attacks=["prosecutor"])


@pytest.mark.parametrize("column", ["born", "town"])
def test_a_missing_value_has_no_label_and_verifies(tmp_path: Path, column: str) -> None:
    frame = pd.DataFrame({"born": BORN, "town": TOWNS, "ill": ["flu", "cold"] * (ROWS // 2)})
    frame.loc[frame.index % 3 == 0, column] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    masks = {**MASKS, ({"born": "town", "town": "born"}[column]): "suppress"}
    done = aegis.release(tmp_path / "people.csv", config=masks, policy=POLICY, out=tmp_path / "out.csv")
    assert done.suppressed == 0
    assert aegis.verify(done.out, done.certificate_path).verified
    assert not [value for value in BORN if value in done.certificate_path.read_text(encoding="utf-8")]


CANARY = "canarytown"
COLOURS = ["red"] * 20 + ["blue"] * 14 + ["green"] * 5 + ["grey"] * 4 + [CANARY]
GROUPS = {"group 1": ["red", "grey", CANARY], "group 2": ["blue", "green"]}


def _colours(folder: Path, colours: list[str], **given: Any) -> Any:
    table = folder / "colours.csv"
    frame = pd.DataFrame({"who": [f"w{row}" for row in range(len(colours))], "colour": colours, "ill": "flu"})
    frame.assign(**given.pop("columns", {})).to_csv(table, index=False)
    policy = {"quasi_identifying": ["colour"], "sensitive": ["ill"], "k": 3, **given.pop("policy", {})}
    masks = {"colour": {"regroup": {"groups": GROUPS}}}
    return aegis.release(
        table, config=masks, policy=policy, out=folder / "out.csv", identifying=["who"], overwrite=True, **given
    )


def _groups(done: Any) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = done.certificate.content["group_values"]["colour"]["groups"]
    return groups


def test_a_label_is_explained_by_the_values_that_enough_people_have(tmp_path: Path) -> None:
    done = _colours(tmp_path, COLOURS)
    assert _groups(done) == {"group 1": ["red"], "group 2": ["blue", "green"]}
    assert done.certificate.content["group_values"]["colour"]["at_least"] == 5
    page = done.certificate_path.with_suffix(".html").read_text(encoding="utf-8")
    assert "group 2 holds blue and green" in page
    ledger = tmp_path.joinpath("colours.csv.ledger.jsonl").read_text(encoding="utf-8")
    listed = json.loads(ledger.splitlines()[-1])["content"]["listed"]
    for text in (page, done.certificate_path.read_text(encoding="utf-8"), json.dumps(listed)):
        assert CANARY not in text
        assert "grey" not in text
    assert aegis.verify(done.out, done.certificate_path).verified


def test_a_larger_k_names_fewer_and_people_are_counted_not_their_records(tmp_path: Path) -> None:
    assert _groups(_colours(tmp_path, COLOURS, policy={"k": 10}, ledger="none")) == {
        "group 1": ["red"],
        "group 2": ["blue"],
    }
    owners = {"who": ["w0"] * 20 + [f"w{row}" for row in range(20, len(COLOURS))]}
    by_people = _colours(tmp_path, COLOURS, columns=owners, policy={"unit": "who"}, ledger="none")
    assert _groups(by_people) == {"group 1": [], "group 2": ["blue", "green"]}


def test_a_list_does_not_follow_the_table_so_that_nobody_is_seen_to_come_or_leave(tmp_path: Path) -> None:
    first = _groups(_colours(tmp_path, COLOURS))
    came = [*COLOURS, "grey", "red", "red"]  # one more grey would make five of them
    assert _groups(_colours(tmp_path, came)) == first
    assert _groups(_colours(tmp_path, came, ledger="none"))["group 1"] == ["grey", "red"]


def test_values_under_another_label_are_found(tmp_path: Path) -> None:
    done = _colours(tmp_path, COLOURS)
    approved = Configuration.of("x", {"colour": {"regroup": {"groups": GROUPS}}})
    check_stated(done.certificate.content, approved)
    content = json.loads(json.dumps(done.certificate.content))
    content["group_values"]["colour"]["groups"] = {"group 1": ["blue"]}
    with pytest.raises(VerificationError, match="lists values of 'colour' under labels"):
        check_stated(content, approved)
    content["group_values"]["colour"]["groups"] = {"group 3": ["red"]}
    done.certificate_path.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    assert "under labels it does not state" in str(aegis.verify(done.out, done.certificate_path).reason)


def test_a_list_of_fewer_people_than_the_policy_asks_for_now_is_not_given_on(tmp_path: Path) -> None:
    """The first release decides which values are listed: under a larger k those may be of too few."""
    assert _groups(_colours(tmp_path, COLOURS))["group 2"] == ["blue", "green"]
    later = _colours(tmp_path, COLOURS, policy={"k": 10})
    assert later.certificate.content["group_values"]["colour"] == {
        "at_least": 10,
        "groups": {"group 1": [], "group 2": []},
    }
    assert aegis.verify(later.out, later.certificate_path).verified


def test_a_list_that_does_not_fit_the_table_any_more_is_not_given_on(tmp_path: Path) -> None:
    """Numbers after words, and a hierarchy that lacks a value which nobody has any more: neither is an error."""
    table, folder = tmp_path / "codes.csv", tmp_path / "hierarchies"
    folder.mkdir()

    def released(codes: list[str], lines: list[str]) -> dict[str, list[str]]:
        frame = pd.DataFrame({"who": [f"w{row}" for row in range(len(codes))], "code": codes, "ill": "flu"})
        frame.to_csv(table, index=False)
        (folder / "codes_hierarchy_code.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = aegis.release(
            table,
            config={"code": {"generalize": {"level": 1}}},
            policy={"quasi_identifying": ["code"], "sensitive": ["ill"], "k": 5},
            out=tmp_path / "out.csv",
            identifying=["who"],
            hierarchies=folder,
            overwrite=True,
        )
        groups: dict[str, list[str]] = done.certificate.content["group_values"]["code"]["groups"]
        return groups

    lines = ["1;few;*", "2;few;*", "x9;many;*"]
    assert released(["1"] * 10 + ["2"] * 10 + ["x9"] * 10, lines) == {"few": ["1", "2"], "many": ["x9"]}
    assert released(["1"] * 10 + ["x9"] * 20, lines[::2]) == {"few": [], "many": []}
    assert released(["1"] * 10 + ["9"] * 20, ["1;few;*", "9;many;*"]) == {"few": [], "many": []}


def test_values_in_no_group_are_not_listed_under_the_label_of_the_others(tmp_path: Path) -> None:
    groups = {"colour": {"regroup": {"groups": {"none of these": ["violet"]}, "other": "rest"}}}
    frame = pd.DataFrame({"who": [f"w{row}" for row in range(len(COLOURS))], "colour": COLOURS, "ill": "flu"})
    frame.to_csv(tmp_path / "colours.csv", index=False)
    policy = {"quasi_identifying": ["colour"], "sensitive": ["ill"], "k": 3}
    done = aegis.release(
        tmp_path / "colours.csv", config=groups, policy=policy, out=tmp_path / "out.csv", identifying=["who"]
    )
    assert _groups(done) == {}
    check_stated(done.certificate.content, Configuration.of("x", groups))


def test_no_edge_between_suppressed_records_leaves_with_the_certificate(tmp_path: Path) -> None:
    """Five light ones are few in their groups and starred: where the groups lay would tell of their weights."""
    table = tmp_path / "weights.csv"
    weights = [12, 14, 17, 18, 26, *[40, 70] * 30]
    pd.DataFrame({"weight": weights, "ill": ["flu", "cold", "none", "flu", "cold"] * 13}).to_csv(table, index=False)
    masks = {"weight": {"bucketize": {"edges": [15, 19, 23, 31, 61]}}}
    policy = {"quasi_identifying": ["weight"], "sensitive": ["ill"], "k": 5, "max_suppression": 0.1}
    made = aegis.release(table, config=masks, policy=policy, out=tmp_path / "out.csv", ledger="none")
    assert made.suppressed == 5
    content, approved = made.certificate.content, Configuration.of("x", masks)
    assert content["configuration"]["masks"] == {"weight": {"bucketize": {"edges": [31, 61]}}}
    assert certified_id(content) == approved.id
    check_stated(content, approved)
    with pytest.raises(VerificationError, match="names labels"):
        check_stated(content, Configuration.of("x", {"weight": {"bucketize": {"edges": [15, 19, 23, 31, 60]}}}))
    verified = aegis.verify(made.out, made.certificate_path)
    assert verified.verified, verified.reason
    for path in tmp_path.glob("out.csv.certificate.*"):
        assert not [edge for edge in ("15,", "19,", "23,") if f" {edge}" in path.read_text(encoding="utf-8")]


def test_edges_that_all_stand_in_the_release_are_stated_as_they_are(tmp_path: Path) -> None:
    table = tmp_path / "weights.csv"
    pd.DataFrame({"weight": [40, 70] * 30, "ill": ["flu", "cold", "none"] * 20}).to_csv(table, index=False)
    masks = {"weight": {"bucketize": {"edges": [61]}}}
    policy = {"quasi_identifying": ["weight"], "sensitive": ["ill"], "k": 5}
    made = aegis.release(table, config=masks, policy=policy, out=tmp_path / "out.csv", ledger="none")
    stated = made.certificate.content["configuration"]
    assert stated["masks"] == masks
    assert "labels_id" not in stated


def test_no_digest_confirms_a_guessed_edge_that_was_read_off_the_rows(tmp_path: Path) -> None:
    """Somebody who tries all edges finds none by which a digest in the certificate comes out."""
    weights = [*(50 + row % 10 for row in range(40)), *(90 + row for row in range(10))]
    table = pd.DataFrame({"weight": weights, "ill": ["flu", "cold"] * 25})
    fitted = tmp_path / "fitted.yaml"
    made = aegis.release(
        table,
        config={"weight": {"bucketize": {"quantiles": 4}}},
        policy={"quasi_identifying": ["weight"], "sensitive": ["ill"], "k": 5},
        out=tmp_path / "out.csv",
        fitted=fitted,
        ledger="none",
    )
    (masks,) = load_configurations(fitted)
    digest = masks.id
    assert made.certificate.content["configuration"]["id"] != digest
    assert digest not in made.certificate_path.read_text(encoding="utf-8")

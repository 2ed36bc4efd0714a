"""A certificate is of one kind: what another kind would leave unchecked cannot be borrowed by a part of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import aegis
from aegis.errors import VerificationError
from aegis.library.verify import Verification
from aegis.releases.certificate import Certificate, CertificateKind, hash_of, kind_of

POLICY: Mapping[str, Any] = {
    "quasi_identifying": ["age", "zip"],
    "sensitive": ["income"],
    "identifying": ["name"],
    "k": 4,
    "t": {"income": 0.4},
    "suppressed": "judged",
}
MASKS = {"age": {"bucketize": {"width": 20}}, "zip": "suppress"}
ROWS = 40
SYNTHETIC: Mapping[str, Any] = {
    "aegis_synthesis_certificate": 1,
    "private": True,
    "rho": 0.0,
    "found_delta": 0.0,
    "measured": [],
    "columns": ["name", "age", "zip", "income"],
    "left_out": [],
    "promise": {"rows_each": 1, "epsilon": 1.0, "delta": 1e-6},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    """The table, and what was released of it with its certificate."""
    folder = tmp_path_factory.mktemp("kinds")
    table, out = folder / "people.csv", folder / "released.csv"
    lines = [f"person-{number:02d},{20 + number % 40},0{number % 7},{1000 + number % 10}" for number in range(ROWS)]
    table.write_text("\n".join(["name,age,zip,income", *lines]) + "\n", encoding="utf-8")
    released = aegis.release(table, config=MASKS, policy=POLICY, out=out, shuffle=False, ledger="none")
    return table, out.read_text(encoding="utf-8"), released.certificate.content


@pytest.fixture
def forged(made: tuple[Path, str, dict[str, Any]], tmp_path: Path) -> Callable[..., Verification]:
    """What verify says of a text under the certificate with some changes, made to match it."""

    def verify(*, text: str | None = None, change: Callable[[dict[str, Any]], Any] = lambda _: None) -> Verification:
        file, beside = tmp_path / "forged.csv", tmp_path / "forged.csv.certificate.json"
        file.write_text(made[1] if text is None else text, encoding="utf-8")
        content = json.loads(json.dumps(made[2]))
        content["release"]["sha256"] = hash_of(file)
        change(content)
        beside.write_text(Certificate(content=content).to_json(), encoding="utf-8")
        return aegis.verify(file, beside)

    return verify


def test_the_original_is_verified_and_of_masks(made: Any, forged: Callable[..., Verification]) -> None:
    assert Certificate(content=made[2]).kind is CertificateKind.MASKS
    answer = forged()
    assert answer.verified, answer.reason


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (SYNTHETIC, "more than one kind"),
        ({"recoding": {}}, "more than one kind"),
        ({"aegis_sanitizer_certificate": 1}, "more than one kind"),
        ({"promise": SYNTHETIC["promise"]}, "has the part 'promise'"),
        ({"kind": "synthetic"}, "has a part that such a one does not have"),
        ({"aegis_certificate": 2}, "another certificate format"),
        ({"aegis_certificate": True}, "another certificate format"),
        ({"release": "released.csv"}, "does not name the hash"),
    ],
)
def test_the_raw_table_passes_by_no_part_of_another_kind(
    made: Any, forged: Callable[..., Verification], more: Mapping[str, Any], said: str
) -> None:
    answer = forged(text=made[0].read_text(encoding="utf-8"), change=lambda content: content.update(more))
    assert not answer.verified
    assert said in (answer.reason or "")


def test_rows_that_nothing_was_measured_for_are_no_synthetic_ones(
    made: Any, forged: Callable[..., Verification]
) -> None:
    def synthetic(content: dict[str, Any]) -> None:
        for part in set(content) - {"release", "source"}:
            del content[part]
        content.update(SYNTHETIC)

    answer = forged(text=made[0].read_text(encoding="utf-8"), change=synthetic)
    assert "no measurement is stated" in (answer.reason or "")


def _as_boxes(content: dict[str, Any]) -> None:
    for part in ("configuration", "fitted_configuration_id", "group_records", "utility", "ledger"):
        content.pop(part, None)
    content["recoding"] = {"method": "boxes", "sha256": "0" * 64}


def test_a_certificate_of_boxes_hides_names_as_well(forged: Callable[..., Verification]) -> None:
    """Which box a value is, the file of boxes says; that an identifying column shows nothing is checked without it."""
    honest = forged(change=_as_boxes)
    assert honest.verified, honest.reason
    assert any("income" in sentence for sentence in honest.not_checked)

    with_names = "name,age,zip,income\n" + "\n".join(
        f"person-{number:02d},*,*,{1000 + number % 10}" for number in range(ROWS)
    )
    answer = forged(text=with_names, change=_as_boxes)
    assert "'name' holds 40 values that its mask" in (answer.reason or "")
    assert "person" not in (answer.reason or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["kinds"].update(income="date"), "cannot be read as date"),
        (lambda c: c["kinds"].clear(), "what kind of values 'income' holds"),
        (lambda c: c["suppressed"].update(dropped=True), "what suppressed records become"),
        (lambda c: c["suppressed"].update(records=-1), "a number of records that is none"),
        (lambda c: c["suppressed"].update(records="0"), "a number of records that is none"),
        (lambda c: c.update(unit={"column": None, "people": 1, "by_records": {}}), "people or records"),
        (lambda c: c["policy"].update(unit="name"), "people or records"),
        (lambda c: c.update(verdicts=5), "contradicts itself"),
        (lambda c: c.update(date="x"), "a date that is none"),
        (lambda c: c.update(date="2026-02-30T10:00:00+00:00"), "a date that is none"),
        (lambda c: c.update(date=20261119), "a date that is none"),
    ],
)
def test_what_would_switch_a_check_off_is_refused(
    forged: Callable[..., Verification], change: Callable[[dict[str, Any]], Any], said: str
) -> None:
    answer = forged(change=change)
    assert not answer.verified
    assert said in (answer.reason or "")


def test_what_only_a_signature_protects_is_said(forged: Callable[..., Verification]) -> None:
    """No row tells what was released before: an invented list of it is believed, and that is what verify says."""

    def invented(content: dict[str, Any]) -> None:
        block = {"name": "people.ledger", "number": 9, "together_with": [1, 7], "held": 0, "withdrawn": 0}
        content["ledger"] = {**block, "despite": None}

    answer = forged(change=invented)
    assert answer.verified, answer.reason
    unsaid = " ".join(answer.not_checked)
    assert "what it was judged together with: a certificate without a signature can be written by anybody" in unsaid


def test_the_column_that_people_are_counted_by_is_not_shown(forged: Callable[..., Verification]) -> None:
    def counted(content: dict[str, Any]) -> None:
        content["policy"]["unit"] = "name"
        masks = {**MASKS, "name": "token"}
        content["configuration"].update(masks=masks, id=aegis.Configuration.of("x", masks).id)

    assert "which records belong together" in (forged(change=counted).reason or "")


def test_a_document_without_a_kind_or_with_less_than_its_kind_says_so(made: Any) -> None:
    content = dict(made[2])
    with pytest.raises(VerificationError, match="does not say what it is of"):
        kind_of({key: value for key, value in content.items() if key != "configuration"}, name="x")
    with pytest.raises(VerificationError, match="lacks the part 'verdicts'"):
        kind_of({key: value for key, value in content.items() if key != "verdicts"}, name="x")

"""A certificate that states masks, under values that no mask made: forged, swapped, replayed, cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import aegis
from aegis.library.verify import Verification
from aegis.releases.certificate import Certificate, hash_of

ROWS = 60
POLICY = {
    "quasi_identifying": ["age", "zip"],
    "sensitive": ["illness"],
    "identifying": ["name"],
    "k": 5,
    "max_suppression": 0.2,
    "suppressed": "exempt",
}
MASKS = {"age": {"bucketize": {"width": 20}}, "zip": {"star_trailing": {"characters": 2}}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty people; two of them live where nobody else does, and are starred."""
    lines = ["name,age,zip,illness"]
    for number in range(ROWS):
        place = "99999" if number < 2 else f"021{number % 10:02d}"
        lines.append(f"person-{number:03d},{20 + number % 40},{place},{'flu' if number % 3 else 'gout'}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def released(table: Path, tmp_path: Path) -> Path:
    out = tmp_path / "released.csv"
    aegis.release(table, config=MASKS, policy=POLICY, out=out, shuffle=False)
    return out


def forged(
    file: Path, *, change: Callable[[str], str] = str, certify: Callable[[dict[str, Any]], None] = lambda _: None
) -> Verification:
    """What verify says of a file that was changed, with a certificate that was made to match it."""
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
    beside = file.with_name(f"{file.name}.certificate.json")
    content = json.loads(beside.read_text(encoding="utf-8"))
    content.pop("certificate_sha256")
    content["release"]["sha256"] = hash_of(file)
    certify(content)
    beside.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    return aegis.verify(file, beside)


def test_an_honest_release_is_verified(released: Path) -> None:
    found = forged(released)
    assert found.verified, found.reason
    assert "every value of 3 masked columns" in {check.name: check.said for check in found.checks}["masks"]


def test_raw_ages_under_a_certificate_that_states_buckets_are_found(released: Path) -> None:
    """The finding: such a release was verified and provisioned."""
    found = forged(released, change=lambda text: text.replace('"[20, 40)"', "33"))
    assert not found.verified
    assert found.reason is not None
    assert "'age' holds 1 value that its mask (buckets of width 20) never writes" in found.reason
    assert "33" not in found.reason


def test_raw_ages_under_a_certificate_that_states_suppression_are_found(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "as-it-is.csv"
    aegis.release(table, config={"zip": "suppress", "age": {"round": {"step": 20}}}, policy=POLICY, out=out)

    def claim(content: dict[str, Any]) -> None:
        masks = {"age": "suppress", "zip": "suppress"}
        content["configuration"]["masks"] = masks
        content["configuration"]["id"] = aegis.Configuration.of("x", masks).id

    found = forged(out, certify=claim)
    assert found.reason is not None
    assert "its mask (suppressed) never writes" in found.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("021**", "02101", 1), "'zip' holds 1 value"),
        (lambda text: text.replace("\n*,", "\nperson-000,", 1), "'name' holds 1 value"),
        (lambda text: text.replace('"[20, 40)"', '"[20, 41)"'), "'age' holds 1 value"),
        (lambda text: text.replace("name,", "names,", 1), "does not have the columns"),
    ],
)
def test_a_single_value_that_no_mask_wrote_is_found(released: Path, change: Callable[[str], str], said: str) -> None:
    found = forged(released, change=change)
    assert not found.verified
    assert said in str(found.reason)


def test_records_that_are_starred_or_gone_without_being_stated_are_found(released: Path) -> None:
    def fewer(content: dict[str, Any]) -> None:
        content["suppressed"]["records"] = 0

    def more_rows(content: dict[str, Any]) -> None:
        content["source"]["rows"] += 5

    assert "suppressed ones" in str(forged(released, certify=fewer).reason)
    assert "suppressed ones" in str(forged(released).reason), "the certificate still says none"

    def put_back(content: dict[str, Any]) -> None:
        content["suppressed"]["records"] = released.read_text(encoding="utf-8").count("*,*,*")
        more_rows(content)

    assert "not as many as the source's" in str(forged(released, certify=put_back).reason)


def test_records_that_wait_for_others_are_not_missed(released: Path) -> None:
    """A ledger holds records back until enough like them have come, and the certificate says so."""

    def waiting(content: dict[str, Any], *, more: int = 0) -> None:
        content["source"]["rows"] += 3 + more
        content["ledger"] = {"together_with": [], "held": 2, "withdrawn": 1}

    found = forged(released, certify=waiting)
    assert found.verified, found.reason
    assert "not as many as the source's" in str(forged(released, certify=partial(waiting, more=1)).reason)


def test_a_configuration_that_is_not_the_one_it_names_is_found(released: Path) -> None:
    def swap(content: dict[str, Any]) -> None:
        content["configuration"]["masks"]["age"] = {"bucketize": {"width": 10}}

    assert "not the one that it names" in str(forged(released, certify=swap).reason)


def test_a_certificate_of_another_release_or_cut_short_is_found(released: Path, table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    aegis.release(table, config=MASKS, policy=POLICY, out=other)
    swapped = aegis.verify(released, other.with_name("other.csv.certificate.json"))
    assert "hash differs" in str(swapped.reason)
    released.write_bytes(released.read_bytes()[:-40])
    cut = aegis.verify(released, released.with_name("released.csv.certificate.json"))
    assert "hash differs" in str(cut.reason)


def test_every_bundled_configuration_verifies(tmp_path: Path) -> None:
    """Quantiles, hierarchies, noise, chains: what release writes, verify recognises, in both formats."""
    from aegis.library import clinic

    home = clinic.write_clinic(tmp_path, rows=800).parent
    loose: Mapping[str, Any] = {**clinic.POLICY, "k": 2, "max_suppression": 1, "suppressed": "exempt", "l": {}}
    for number, name in enumerate(clinic.CONFIGURATIONS):
        out = tmp_path / f"{name}.{'parquet' if number % 2 else 'csv'}"
        made = aegis.release(
            home / "clinic.csv",
            config=home / "configurations" / f"{name}.yaml",
            policy=loose,
            out=out,
            ledger="none",  # each is verified for itself
        )
        found = aegis.verify(out, made.certificate_path)
        assert found.verified, (name, found.reason)


@pytest.fixture
def attacked(table: Path, tmp_path: Path) -> Path:
    """A release whose policy limits an attack."""
    out = tmp_path / "attacked.csv"
    policy = {**POLICY, "attacks": {"prosecutor": 0.5}}
    aegis.release(table, config=MASKS, policy=policy, label="illness", out=out, shuffle=False)
    return out


@pytest.mark.parametrize(
    ("certify", "said"),
    [
        (lambda content: content.update(attacks=[]), "limits the attack 'prosecutor', and the certificate has no"),
        (lambda content: content.pop("attacks"), "limits the attack 'prosecutor', and the certificate has no"),
        (lambda content: content["attacks"][0].update(limit=1.0), "another limit of the attack 'prosecutor'"),
        (lambda content: content["attacks"][0].update(exposed_share=0.9), "exposes more than its policy allows"),
        (lambda content: content["attacks"][0].update(exposed_share=None), "another limit of the attack"),
    ],
)
def test_a_limit_on_attacks_needs_its_result(
    attacked: Path, certify: Callable[[dict[str, Any]], None], said: str
) -> None:
    assert forged(attacked).verified
    answer = forged(attacked, certify=certify)
    assert answer.reason is not None
    assert said in answer.reason


def test_what_only_the_true_rows_tell_stands_among_what_was_not_checked(attacked: Path) -> None:
    unchecked = forged(attacked, certify=lambda content: content["ledger"].update(together_with=[])).not_checked
    for part in ("(utility)", "what attacks found", "(ledger)"):
        assert any(part in sentence for sentence in unchecked), part


def test_a_column_that_nobody_gave_a_role_is_not_verified(released: Path) -> None:
    """Added to the table and to the certificate alike."""

    def widened(text: str) -> str:
        head, *rows = text.splitlines()
        return "\n".join([f"{head},phone", *(f"{row},555-{number:04d}" for number, row in enumerate(rows))]) + "\n"

    answer = forged(released, change=widened, certify=lambda content: content["release"]["columns"].append("phone"))
    assert answer.reason is not None
    assert "'phone' has no role and no mask" in answer.reason

"""Signatures of certificates: made and checked, and every way in which they do not fit is found."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

import aegis
from aegis.errors import DataError, InputError, OutputError, VerificationError
from aegis.releases.certificate import Certificate, hash_of
from aegis.releases.signature import (
    PublicKey,
    Signature,
    check_signature,
    make_key,
    read_private,
    read_public,
    sign,
    signature_path,
)

POLICY = {"quasi_identifying": ["age"], "k": 3}
MASKS = {"age": {"bucketize": {"width": 20}}}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "provider.key")
    return tmp_path / "provider.key"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age,score\n" + "".join(f"{20 + i % 20},{i}\n" for i in range(40)), encoding="utf-8")
    return path


def released(table: Path, out: Path, key: Path | None, *, request: str | None = None) -> Path:
    made = aegis.release(table, config=MASKS, policy=POLICY, out=out, sign=key, for_=request)
    return Path(made.certificate_path)


def test_a_key_is_for_its_owner_only_and_never_replaced(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        make_key(key)
    assert key.read_bytes() == before
    shown = aegis.key_show(key)
    assert shown.public == key.with_name("provider.key.pub").read_text(encoding="utf-8").strip()
    assert PublicKey.parse(shown.public).fingerprint == shown.fingerprint
    assert "PRIVATE" not in json.dumps(shown.to_json())
    key.chmod(0o644)
    with pytest.raises(InputError, match="read by others"):
        read_private(key)


@pytest.mark.parametrize("text", ["", "nonsense", "aegis-ed25519 !!!", "aegis-ed25519 AAAA", "a b c"])
def test_what_is_no_key_is_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.pub"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_public(path)
    with pytest.raises(DataError):
        read_private(tmp_path / "absent")


def test_a_signed_release_verifies_with_its_key_and_no_other(key: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "released.csv"
    certificate = released(table, out, key)
    found = aegis.verify(out, certificate, key=key.with_name("provider.key.pub"))
    assert found.verified, found.reason
    assert "signature" in [check.name for check in found.checks]
    other = make_key(tmp_path / "other.key")
    wrong = aegis.verify(out, certificate, key=tmp_path / "other.key.pub")
    assert f"not with {other.fingerprint!r}" in str(wrong.reason)
    assert wrong.exit_status == 1


def test_a_signed_certificate_that_says_something_twice_does_not_verify(key: Path, table: Path, tmp_path: Path) -> None:
    """The last of two equal keys is the signed one; whoever reads the first sees another promise."""
    out = tmp_path / "released.csv"
    certificate = released(table, out, key)
    text = certificate.read_text(encoding="utf-8")
    certificate.write_text(text.replace("{", '{"smallest_class": 500, ', 1), encoding="utf-8")
    found = aegis.verify(out, certificate, key=key.with_name("provider.key.pub"))
    assert not found.verified
    assert "says something twice" in str(found.reason)


def test_an_unsigned_release_does_not_verify_with_a_key(key: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "released.csv"
    certificate = released(table, out, None)
    assert aegis.verify(out, certificate).verified
    assert "not signed" in str(aegis.verify(out, certificate, key=key).reason)


def test_forged_swapped_replayed_and_cut_signatures_are_found(key: Path, table: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "released.csv", tmp_path / "other.csv"
    certificate, second = released(table, out, key), released(table, other, key)
    # Forged: file and certificate changed together, hashes made anew.
    out.write_text(out.read_text(encoding="utf-8").replace("[20, 40)", "[40, 60)"), encoding="utf-8")
    content = json.loads(certificate.read_text(encoding="utf-8"))
    content.pop("certificate_sha256")
    content["release"]["sha256"] = hash_of(out)
    certificate.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    assert aegis.verify(out, certificate).verified, "without a key nobody can tell"
    assert "not of this certificate" in str(aegis.verify(out, certificate, key=key).reason)
    # Swapped: the signature of another release of the same provider.
    swapped = aegis.verify(other, second, key=key, signature=signature_path(certificate))
    assert "not of this certificate" in str(swapped.reason)
    # Replayed: an older certificate with its good signature, beside a newer file.
    replayed = aegis.verify(out, second, key=key)
    assert "hash differs" in str(replayed.reason)
    # Cut short.
    whole = signature_path(second).read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 8):
        signature_path(second).write_bytes(whole[:length])
        assert aegis.verify(other, second, key=key).exit_status == 1


def test_a_signature_says_what_request_it_was_made_for(key: Path, table: Path, tmp_path: Path) -> None:
    certificate = released(table, tmp_path / "released.csv", key, request="request-1")
    content = json.loads(certificate.read_text(encoding="utf-8"))
    assert content["for"] == "request-1"
    content.pop("certificate_sha256")
    signature = sign(content, read_private(key))
    check_signature(content, signature, read_public(key))
    with pytest.raises(VerificationError, match="not of this certificate"):
        check_signature({**content, "for": "request-2"}, signature, read_public(key))
    with pytest.raises(VerificationError, match="damaged"):
        Signature.parse("[]")


def test_a_bad_key_writes_no_release(table: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no readable key"):
        released(table, tmp_path / "released.csv", tmp_path / "absent.key")
    assert not list(tmp_path.glob("released*"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_release_is_never_seen_without_its_signature(
    key: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    out = tmp_path / "released.csv"
    if overwrite:
        released(table, out, key)
    beside: list[bool] = []
    replace = Path.replace

    def watched(draft: Path, target: Path) -> Path:
        if target == out:
            content = json.loads((tmp_path / "released.csv.certificate.json").read_text(encoding="utf-8"))
            content.pop("certificate_sha256")
            signature = Signature.parse(signature_path(tmp_path / "released.csv.certificate.json").read_bytes())
            check_signature(content, signature, read_public(key))
            beside.append(hash_of(draft) == content["release"]["sha256"])
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", watched)
    made = aegis.release(table, config=MASKS, policy=POLICY, out=out, sign=key, overwrite=overwrite, ledger="none")
    assert beside == [True]
    monkeypatch.undo()
    assert aegis.verify(out, made.certificate_path, key=key).verified
    names = {path.name for path in tmp_path.glob("released.csv*")}
    assert names == {f"released.csv{end}" for end in ("", *(f".certificate.{kind}" for kind in ENDS))}
    assert stat.S_IMODE(signature_path(made.certificate_path).stat().st_mode) == 0o644


ENDS = ("json", "json.sig", "html")


def test_what_cannot_be_signed_is_not_released(
    key: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Signature:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis.library.releasing.release_draft.sign", interrupted)
    out = tmp_path / "released.csv"
    with pytest.raises(KeyboardInterrupt):
        aegis.release(table, config=MASKS, policy=POLICY, out=out, sign=key, fitted=tmp_path / "fitted.yaml")
    assert not list(tmp_path.glob("*released*"))
    assert not list(tmp_path.glob("*fitted*"))

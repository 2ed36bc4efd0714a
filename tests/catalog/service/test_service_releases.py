"""Releases: only certified bytes, under the product's policy and the approved configuration, are ever downloaded."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.catalog.conftest import keep_now

from aegis.catalog.records import UserRole
from aegis.catalog.service import arrivals, configurations, products, releases, requests, seen_requests
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker import verification
from aegis.catalog.worker.loop import run_pending
from aegis.errors import (
    AegisError,
    ConflictError,
    DataError,
    InputError,
    NotFoundError,
    NotPermittedError,
    VerificationError,
)
from aegis.library.release import release
from aegis.library.verify import verify
from aegis.releases.certificate import Certificate, certificate_paths, digest

Stage = Any


@pytest.fixture
def approved(stage: Stage) -> Stage:
    """A stage with a request that waits for its release."""
    stage.product()
    stage.made = stage.configurations()
    stage.request = stage.ask()
    stage.approve(stage.request.id, stage.made["strict"].id)
    return stage


@pytest.fixture
def small(small_stage: Stage) -> Stage:
    small_stage.product()
    small_stage.made = small_stage.configurations()
    small_stage.request = small_stage.ask()
    small_stage.approve(small_stage.request.id, small_stage.made["strict"].id)
    return small_stage


def _resigned(certificate: bytes, **changes: Any) -> bytes:
    """A certificate that somebody changed and hashed again."""
    content = json.loads(certificate)
    content.pop("certificate_sha256")
    for path, value in changes.items():
        here = content
        *way, last = path.split("__")
        for key in way:
            here = here[key]
        here[last] = value
    return json.dumps({**content, "certificate_sha256": digest(content)}).encode()


def _seen(stage: Stage, release_id: str) -> Any:
    with stage.read("provider") as work:
        return releases.release(work, release_id=release_id)


def _request(stage: Stage) -> Any:
    with stage.read("consumer") as work:
        return seen_requests.request(work, request_id=stage.request.id)


def _nothing_left(stage: Stage) -> None:
    assert list(stage.catalog.store.digests()) == []
    assert list((stage.catalog.store.root / "drafts").iterdir()) == []
    assert _request(stage).state is RequestState.APPROVED


def test_what_was_pushed_is_downloaded_byte_by_byte_and_verifies_at_home(approved: Stage, tmp_path: Path) -> None:
    pushed = approved.push(request_id=approved.request.id)
    assert pushed.state is ReleaseState.RECEIVED
    with pytest.raises(NotFoundError), approved.write("consumer") as work:  # not theirs before it is verified
        releases.open_download(work, release_id=pushed.id)
    assert run_pending(approved.catalog) == 1
    assert _request(approved).state is RequestState.PROVISIONED
    with approved.write("consumer") as work:
        opened = releases.open_download(work, release_id=pushed.id)
    with opened.stream as stream:
        content = stream.read()
    assert content == approved.parts.released["strict"][0]
    assert hashlib.sha256(content).hexdigest() == opened.release.digest
    home = tmp_path / opened.release.file_name
    home.write_bytes(content)
    certificate = certificate_paths(home)[0]
    certificate.write_text(certificate_text(opened.release.certificate), encoding="utf-8")
    assert verify(home, certificate).verified
    seen = _seen(approved, pushed.id)
    assert (seen.downloads, seen.state) == (1, ReleaseState.VERIFIED)


def test_bytes_that_were_not_certified_are_refused(small: Stage) -> None:
    file = small.parts.released["strict"][0]
    for wrong in (file + b"\n", file[:-1], b"", file.replace(b"*", b"+", 1)):
        with pytest.raises(VerificationError, match="hash differs"):
            small.push(request_id=small.request.id, file=wrong)
    _nothing_left(small)


def test_a_changed_certificate_is_refused(small: Stage) -> None:
    certificate = small.parts.released["strict"][1]
    with pytest.raises(VerificationError, match="changed after"):
        small.push(request_id=small.request.id, certificate=certificate.replace(b'"rows": 1', b'"rows": 2', 1))
    for wrong in (b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"aegis_certificate": 1, "certificate_sha256": 5}'):
        with pytest.raises((DataError, VerificationError)):
            small.push(request_id=small.request.id, certificate=wrong)
    _nothing_left(small)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy__k": 2}, "another policy"),
        ({"policy__max_suppression": 1.0}, "another policy"),
        ({"roles__quasi_identifying": ["age", "zip", "gender"]}, "leaves out"),
        ({"release__columns": ["something"]}, "does not have"),
        ({"configuration__masks": {"age": "suppress"}}, "another configuration"),
        ({"configuration__masks": {}}, "another configuration"),
    ],
)
def test_a_certificate_that_promises_something_else_is_refused(small: Stage, changes: Any, said: str) -> None:
    certificate = _resigned(small.parts.released["strict"][1], **changes)
    with pytest.raises(AegisError, match=said):
        small.push(request_id=small.request.id, certificate=certificate)
    _nothing_left(small)


def test_a_certificate_that_was_made_for_another_request_is_refused(small: Stage) -> None:
    """A good release, replayed: it is bound to the request that it names."""
    certificate = small.parts.released["strict"][1]
    with pytest.raises(VerificationError, match="made for another request"):
        small.push(request_id=small.request.id, certificate=_resigned(certificate, **{"for": "another"}))
    _nothing_left(small)
    own = _resigned(certificate, **{"for": small.request.id})
    assert small.push(request_id=small.request.id, certificate=own).state is ReleaseState.RECEIVED


def test_a_certificate_that_admits_failure_is_refused(small: Stage) -> None:
    content = json.loads(small.parts.released["strict"][1])
    verdicts = [{**each, "satisfied": False} for each in content["verdicts"]]
    with pytest.raises(VerificationError, match="itself says"):
        small.push(
            request_id=small.request.id, certificate=_resigned(small.parts.released["strict"][1], verdicts=verdicts)
        )


def test_the_id_that_a_certificate_states_is_not_believed(small: Stage) -> None:
    file, certificate = small.parts.released["everything-hidden"]
    forged = _resigned(certificate, configuration__id=small.made["strict"].content_id)
    with pytest.raises(VerificationError, match="another configuration"):
        small.push(request_id=small.request.id, file=file, certificate=forged)


def test_a_file_that_lies_about_its_classes_is_refused_after_measuring_and_removed(approved: Stage) -> None:
    """Raw rows under a certificate that was forged to fit them: only measuring finds out."""
    raw = (approved.parts.folder / "clinic.csv").read_bytes()
    forged = _resigned(approved.parts.released["strict"][1], release__sha256=hashlib.sha256(raw).hexdigest())
    pushed = approved.push(request_id=approved.request.id, file=raw, certificate=forged)
    run_pending(approved.catalog)
    seen = _seen(approved, pushed.id)
    assert seen.state is ReleaseState.REFUSED
    assert "not masked as the certificate says" in (seen.reason or "")
    _nothing_left(approved)
    with pytest.raises(ConflictError, match="refused"), approved.write("provider") as work:
        releases.open_download(work, release_id=pushed.id)


def test_a_file_that_holds_more_than_its_rows_show_is_refused(approved: Stage, tmp_path: Path) -> None:
    """A dictionary keeps the values that were there before masking: no row shows them, anybody can read them."""
    table = pq.read_table(_as_parquet(approved, tmp_path))
    names = pa.array(["*", *(f"P{number:06d}" for number in range(50))])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), names)
    planted = tmp_path / "planted.parquet"
    pq.write_table(table.set_column(table.column_names.index("patient"), "patient", column), planted)
    raw = planted.read_bytes()
    forged = _resigned(approved.parts.released["strict"][1], release__sha256=hashlib.sha256(raw).hexdigest())
    for name in ("clinic.parquet", "clinic.PARQUET"):
        pushed = approved.push(request_id=approved.request.id, file=raw, certificate=forged, file_name=name)
        run_pending(approved.catalog)
        seen = _seen(approved, pushed.id)
        assert seen.state is ReleaseState.REFUSED
        assert "50 values in its dictionaries" in (seen.reason or "")


def _as_parquet(stage: Stage, folder: Path) -> Path:
    """The release in another format, every value as it was written."""
    out = folder / "released.parquet"
    texts = csv.DictReader(io.StringIO(stage.parts.released["strict"][0].decode()))
    rows = [{name: value or None for name, value in row.items()} for row in texts]
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out


def test_an_identifying_column_that_was_let_through_is_found(small: Stage, tmp_path: Path) -> None:
    """A provider whose roles file forgot that patient numbers identify."""
    table = tmp_path / "clinic.csv"
    table.write_bytes((small.parts.folder / "clinic.csv").read_bytes())
    roles = (small.parts.folder / "clinic.roles.yaml").read_text().replace("identifying: [patient]\n", "", 1)
    assert "patient" not in roles
    (tmp_path / "clinic.roles.yaml").write_text(roles)
    out = tmp_path / "out.csv"
    release(
        table,
        config=dict(small.made["strict"].content),
        policy=small.parts.folder / "policy.yaml",
        insensitive=["patient"],
        out=out,
    )
    with pytest.raises(VerificationError, match="'patient' identifies people and is not masked as such"):
        small.push(
            request_id=small.request.id, file=out.read_bytes(), certificate=certificate_paths(out)[0].read_bytes()
        )
    _nothing_left(small)


def test_a_release_for_what_nobody_approved_is_refused_before_its_bytes_are_read(small: Stage) -> None:
    waiting = small.ask()
    taken: list[int] = []

    def stream() -> Any:
        taken.append(1)
        yield b""

    small.person("rival", UserRole.PROVIDER, product_id=small.product("second").id)
    for name, target, error in (
        ("provider", {"request_id": waiting.id}, ConflictError),
        ("provider", {"request_id": "f" * 32}, NotFoundError),
        ("provider", {}, InputError),
        ("provider", {"request_id": small.request.id, "product": "second"}, InputError),
        ("rival", {"request_id": small.request.id}, NotFoundError),
        ("rival", {"product": "clinic"}, NotPermittedError),
        ("consumer", {"request_id": small.request.id}, NotPermittedError),
        ("expert", {"product": "clinic"}, NotPermittedError),
    ):
        with (
            pytest.raises(error),
            arrivals.incoming(
                small.catalog, small.actor(name), file=stream(), certificate=stream(), file_name="a.csv", **target
            ),
        ):
            pass
    assert taken == []


@pytest.mark.parametrize(
    "name", ["../x.csv", "/etc/x.csv", "x.exe", "", ".csv", "a\0.csv", "a\n.csv", "x" * 300 + ".csv"]
)
def test_file_names_that_are_no_plain_names_are_refused(small: Stage, name: str) -> None:
    with pytest.raises(InputError):
        small.push(request_id=small.request.id, file_name=name)


def test_two_releases_for_one_request_do_not_race(approved: Stage) -> None:
    approved.push(request_id=approved.request.id)
    with pytest.raises(ConflictError, match="being verified"):
        approved.push(request_id=approved.request.id)
    run_pending(approved.catalog)
    with pytest.raises(ConflictError, match="PROVISIONED"):
        approved.push(request_id=approved.request.id)


def test_a_request_revoked_while_its_release_is_measured_stays_revoked(approved: Stage) -> None:
    pushed = approved.push(request_id=approved.request.id)
    with approved.write("provider") as work:
        requests.revoke(work, request_id=approved.request.id, reason="no")
    run_pending(approved.catalog)
    assert _request(approved).state is RequestState.REVOKED
    assert _seen(approved, pushed.id).state is ReleaseState.REFUSED
    assert list(approved.catalog.store.digests()) == []


def test_withdrawing_a_release_revokes_the_requests_it_served(approved: Stage) -> None:
    pushed = approved.push(request_id=approved.request.id)
    run_pending(approved.catalog)
    second = approved.ask()
    approved.approve(second.id, approved.made["strict"].id)
    with approved.write("provider") as work:
        releases.fulfil(work, request_id=second.id, release_id=pushed.id)
    with approved.write("provider") as work:
        assert releases.withdraw(work, release_id=pushed.id, reason="wrong table").state is ReleaseState.WITHDRAWN
    with approved.read("consumer") as work:
        states = {each.state for each in seen_requests.list_requests(work).items}
    assert states == {RequestState.REVOKED}
    with pytest.raises(ConflictError), approved.write("consumer") as work:
        releases.open_download(work, release_id=pushed.id)
    assert verification.sweep(approved.catalog) == 1
    assert list(approved.catalog.store.digests()) == []


def test_a_release_of_another_configuration_fulfils_nothing(small: Stage) -> None:
    pushed = small.push(product="clinic", name="everything-hidden")
    run_pending(small.catalog)
    assert _seen(small, pushed.id).state is ReleaseState.VERIFIED
    with pytest.raises(ConflictError, match="another configuration"), small.write("provider") as work:
        releases.fulfil(work, request_id=small.request.id, release_id=pushed.id)


def test_who_downloads_what(approved: Stage) -> None:
    pushed = approved.push(request_id=approved.request.id)
    run_pending(approved.catalog)
    approved.person("other", UserRole.CONSUMER)
    for name in ("consumer", "provider", "expert", "admin"):
        with approved.write(name) as work:
            releases.open_download(work, release_id=pushed.id).stream.close()
    with approved.read("other") as work:
        assert releases.list_releases(work, product="clinic").items == ()
    with pytest.raises(NotFoundError), approved.write("other") as work:
        releases.open_download(work, release_id=pushed.id)
    approved.clock.pass_by(days=91)
    with pytest.raises(NotPermittedError), approved.write("consumer") as work:
        releases.open_download(work, release_id=pushed.id)


def test_the_same_file_pushed_twice_outlives_the_withdrawal_of_one(small: Stage) -> None:
    first = small.push(product="clinic")
    second = small.push(product="clinic")
    run_pending(small.catalog)
    with small.write("provider") as work:
        releases.withdraw(work, release_id=first.id, reason="once is enough")
    assert verification.sweep(small.catalog) == 0
    with small.write("provider") as work:
        releases.open_download(work, release_id=second.id).stream.close()


def test_a_policy_changed_meanwhile_counts(small: Stage) -> None:
    known = small.parts.released["strict"]
    actor = small.actor("provider")
    arriving = arrivals.incoming(
        small.catalog,
        actor,
        product="clinic",
        file=io.BytesIO(known[0]),
        certificate=io.BytesIO(known[1]),
        file_name="a.csv",
    )
    with arriving as checked:
        with small.write("provider") as work:
            seen = products.product(work, product="clinic")
            products.change(work, product="clinic", version=seen.version, policy={"k": 50})
        with pytest.raises(VerificationError, match="another policy"), small.catalog.write(actor) as work:
            arrivals.receive(work, checked)
    _nothing_left(small)


@pytest.mark.parametrize("kind", ["boxes", "synthetic rows"])
def test_certificates_of_other_commands_are_refused_in_a_sentence(small_stage: Any, kind: str) -> None:
    """What `anonymize` and `synthesize` write states no masks: the way through `release` is said."""
    small_stage.product()
    content = json.loads(small_stage.parts.released["strict"][1])
    for part in (
        "certificate_sha256",
        "configuration",
        "fitted_configuration_id",
        "group_records",
        "utility",
        "ledger",
    ):
        content.pop(part, None)
    content["recoding"] = {}
    if kind == "synthetic rows":
        content = {"aegis_synthesis_certificate": 1, "release": content["release"], "source": content["source"]}
        content |= dict.fromkeys(("promise", "private", "rho", "found_delta", "measured", "columns", "left_out"))
    certificate = Certificate(content=content).to_json().encode()
    with pytest.raises(DataError, match=f"certificates that aegis release wrote, and this one is of {kind}"):
        small_stage.push(product="clinic", certificate=certificate)


_SYNTHETIC = {
    "aegis_synthesis_certificate": 1,
    "private": True,
    "rho": 0.0,
    "found_delta": 0.0,
    "measured": [],
    "left_out": [],
    "promise": {"rows_each": 1, "epsilon": 1.0, "delta": 1e-6},
}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (_SYNTHETIC, "more than one kind"),
        ({"recoding": {}}, "more than one kind"),
        ({"kind": "synthetic"}, "has a part that such a one does not have"),
        ({"kinds": {"diagnosis": "integer", "health": "text"}}, "judges 'diagnosis' as integer"),
    ],
)
def test_the_raw_table_does_not_get_in_by_parts_of_other_certificates(
    small: Stage, more: dict[str, Any], said: str
) -> None:
    """The approved masks were stated, and a part of another kind had the checks of that kind answered instead."""
    raw = (small.parts.folder / "clinic.csv").read_bytes()
    content = json.loads(small.parts.released["strict"][1])
    content.pop("certificate_sha256")
    columns = raw.decode().splitlines()[0].split(",")
    content["release"] |= {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw), "columns": columns}
    if "rho" in more:
        content["columns"] = columns
    forged = Certificate(content=content | more).to_json().encode()
    with pytest.raises(VerificationError, match=said):
        small.push(request_id=small.request.id, file=raw, certificate=forged)
    _nothing_left(small)


@pytest.mark.parametrize(
    "part",
    [
        {"kinds": {}},
        {"kinds": []},
        {"kinds": {"diagnosis": "banana", "health": "text"}},
        {"roles": {"identifying": 5, "quasi_identifying": ["age", "gender", "weight", "zip"]}},
        {"group_values": []},
        {"group_values": {"age": 5}},
    ],
    ids=str,
)
def test_a_part_of_another_shape_is_told_in_a_sentence(small: Stage, part: dict[str, Any]) -> None:
    content = json.loads(small.parts.released["strict"][1])
    content.pop("certificate_sha256")
    with pytest.raises(DataError, match="lacks what a certificate of Aegis says"):
        small.push(request_id=small.request.id, certificate=Certificate(content=content | part).to_json().encode())
    _nothing_left(small)


def test_part_of_an_identifying_column_is_not_shown_by_giving_it_another_role(small: Stage) -> None:
    content = json.loads(small.parts.released["strict"][1])
    content.pop("certificate_sha256")
    content["roles"]["identifying"].remove("patient")
    content["roles"]["insensitive"].append("patient")
    with pytest.raises(VerificationError, match="'patient' identifies people"):
        small.push(request_id=small.request.id, certificate=Certificate(content=content).to_json().encode())
    _nothing_left(small)


def test_a_consumer_sees_neither_whose_request_it_was_nor_what_others_took_nor_how_it_was_attacked(
    small: Stage,
) -> None:
    pushed = small.push(request_id=small.request.id)
    run_pending(small.catalog)
    small.person("second", UserRole.CONSUMER)
    theirs = small.ask(by="second")
    small.approve(theirs.id, small.made["strict"].id)
    with small.write("provider") as work:
        releases.fulfil(work, request_id=theirs.id, release_id=pushed.id)
    for _ in range(2):
        with small.write("consumer") as work:
            releases.open_download(work, release_id=pushed.id).stream.close()
    attacks = {"row order", "singled out", "same value in a group"}
    expected = {
        "consumer": (small.request.id, 2, set()),
        "second": (None, 0, set()),
        "provider": (small.request.id, 2, attacks),
    }
    for name, shown in expected.items():
        with small.read(name) as work:
            seen = [releases.release(work, release_id=pushed.id)]
            seen += releases.list_releases(work, product="clinic").items
        for each in seen:
            assert (each.request_id, each.downloads, {attack.name for attack in each.attacks}) == shown, name


def test_a_configuration_that_was_withdrawn_masks_nothing_any_more(small_stage: Stage) -> None:
    small_stage.product()
    made = small_stage.configurations()
    with small_stage.write("expert") as work:
        configurations.withdraw(work, configuration_id=made["strict"].id)
    with pytest.raises(VerificationError, match="was withdrawn"):
        small_stage.push(product="clinic")


def test_of_all_releases_those_in_one_state_are_asked_for(small: Stage) -> None:
    """Many that were refused since push none out of sight: the metadata for portals, and what an expert sees as out."""
    pushed = small.push(request_id=small.request.id)
    run_pending(small.catalog)
    withdrawn = small.push(product="clinic", name="everything-hidden")
    run_pending(small.catalog)
    with small.write("provider") as work:
        releases.withdraw(work, release_id=withdrawn.id, reason="a mistake")
        newest = releases.list_releases(work, product="clinic", page=PageRequest(size=1)).items
        out = releases.list_releases(
            work, product="clinic", state=ReleaseState.VERIFIED, page=PageRequest(size=1)
        ).items
    assert ([each.id for each in newest], [each.id for each in out]) == ([withdrawn.id], [pushed.id])


def test_the_worker_waits_for_no_backup_to_remove_a_file(stage: Stage) -> None:
    store = stage.catalog.store
    kept = keep_now(store, io.BytesIO(b"nobody names it"), limit_bytes=100)
    with store.referring():  # as a backup does while it copies
        assert verification.sweep(stage.catalog) == 0
    assert verification.sweep(stage.catalog) == 1
    assert kept.digest not in store.digests()

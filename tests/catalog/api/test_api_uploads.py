"""What is pushed is checked on arrival: streamed, limited, and refused with a reason before it is entered."""

from __future__ import annotations

import io
import json
import socket
import tarfile
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.catalog.client.client import packed
from aegis.catalog.worker.loop import run_pending

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any

TEN_GB = 10 * 10**9
GZIP = {"Content-Type": "application/gzip"}


def _archive(stage: Stage, change: Any = None) -> bytes:
    """The summary as a tar, perhaps with other files than it has."""
    files = {
        path.relative_to(stage.clinic.summary).as_posix(): path.read_bytes()
        for path in stage.clinic.summary.rglob("*.json")
    }
    if change is not None:
        change(files)
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _push(stage: Stage, content: bytes, kind: str = "application/x-tar", who: str = "provider") -> Any:
    path = f"/products/{stage.product}/summaries"
    return stage.send(who, "POST", path, content=content, headers={"Content-Type": kind})


def _raw(stage: Stage, who: str, path: str, headers: list[str], chunks: Iterator[bytes]) -> tuple[str, int]:
    """Send a body as slowly as it is taken; gives the status line and how many bytes went out before the answer."""
    parts = urlsplit(stage.url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=20) as line:
        token = stage.people[who].token
        head = [f"POST /api/v1{path} HTTP/1.1", f"Host: {parts.netloc}", f"Authorization: Bearer {token}", *headers]
        line.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        sent = 0
        line.settimeout(0.05)
        answer = b""
        for chunk in chunks:
            try:
                answer = line.recv(4096)
                break
            except TimeoutError:
                pass
            line.settimeout(20)
            try:
                line.sendall(chunk)
            except (BrokenPipeError, ConnectionResetError):
                break
            line.settimeout(0.001)
            sent += len(chunk)
            if sent > 200 << 20:
                break
        line.settimeout(60)
        if not answer:
            answer = line.recv(4096)
    return answer.split(b"\r\n", 1)[0].decode(), sent


def _chunked(size: int = 1 << 16) -> Iterator[bytes]:
    piece = f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"
    while True:
        yield piece


@pytest.mark.parametrize(
    ("where", "kind"), [("summaries", "application/x-tar"), ("releases", "multipart/form-data; boundary=b")]
)
def test_ten_gigabytes_are_refused_by_their_announcement(stage: Stage, where: str, kind: str) -> None:
    """Not a byte is sent: a server that reads before it refuses would never answer."""
    headers = [f"Content-Type: {kind}", f"Content-Length: {TEN_GB}"]
    status, _ = _raw(stage, "provider", f"/products/{stage.product}/{where}", headers, iter(()))
    assert " 413 " in status


def test_ten_gigabytes_without_announcement_are_refused_on_the_way(stage: Stage) -> None:
    headers = ["Content-Type: application/x-tar", "Transfer-Encoding: chunked"]
    status, sent = _raw(stage, "provider", f"/products/{stage.product}/summaries", headers, _chunked())
    assert " 413 " in status
    assert sent < 5 * stage.catalog.settings.summary_bytes, "much more was taken in than the limit allows"


def test_a_release_of_ten_gigabytes_is_refused_on_the_way(stage: Stage) -> None:
    stage.new_configuration(stage.product)
    certificate = stage.clinic.certificate.read_bytes()
    part = b'--b\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
    start = part % (b"certificate", b"c.json") + certificate + b"\r\n" + part % (b"file", b"released.csv")

    def body() -> Iterator[bytes]:
        yield f"{len(start):x}\r\n".encode() + start + b"\r\n"
        yield from _chunked()

    headers = ["Content-Type: multipart/form-data; boundary=b", "Transfer-Encoding: chunked"]
    status, sent = _raw(stage, "provider", f"/products/{stage.product}/releases", headers, body())
    assert " 413 " in status
    assert sent < 5 * stage.catalog.settings.release_bytes
    assert not stage.drafts(), "something of it stayed"


@pytest.mark.parametrize("who", ["consumer", "foreign_provider", "expert"])
def test_who_may_not_push_sends_nothing(stage: Stage, who: str) -> None:
    """The permission is checked before the body is read."""
    headers = ["Content-Type: application/x-tar", "Transfer-Encoding: chunked"]
    status, sent = _raw(stage, who, f"/products/{stage.product}/summaries", headers, _chunked())
    assert " 403 " in status
    assert sent < 4 << 20


def test_a_good_summary_is_entered_and_the_same_push_twice_is_one(stage: Stage) -> None:
    content = _archive(stage)
    path, key = f"/products/{stage.product}/summaries", {"Idempotency-Key": str(uuid.uuid4())}
    headers = {"Content-Type": "application/x-tar", **key}
    first = stage.send("provider", "POST", path, content=content, headers=headers)
    again = stage.send("provider", "POST", path, content=content, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    archive = stage.send("provider", "GET", f"/products/{stage.product}/summary/file")
    assert archive.content == content


def test_zip_and_gzip_are_taken_too(stage: Stage) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for path in stage.clinic.summary.rglob("*.json"):
            archive.write(path, path.relative_to(stage.clinic.summary).as_posix())
    assert _push(stage, written.getvalue(), "application/zip").status_code == 201
    with packed(stage.clinic.summary) as smaller:
        assert _push(stage, smaller.read(), "application/gzip").status_code == 201


def _margins(files: dict[str, bytes]) -> None:
    name = next(name for name in files if name.startswith("attributes/"))
    content = json.loads(files[name])
    content["joint"][0][0] += 7
    files[name] = json.dumps(content).encode()


def _outside(files: dict[str, bytes]) -> None:
    files["../outside.json"] = b"{}"


def _other_label(files: dict[str, bytes]) -> None:
    content = json.loads(files["summary.json"])
    content["label"]["name"] = "ward"
    files["summary.json"] = json.dumps(content).encode()


def _executable(files: dict[str, bytes]) -> None:
    files["run.pkl"] = b"cos\nsystem\n(S'true'\ntR."


def _no_manifest(files: dict[str, bytes]) -> None:
    del files["summary.json"]


@pytest.mark.parametrize("change", [_margins, _outside, _other_label, _executable, _no_manifest])
def test_a_summary_that_is_not_right_is_refused(stage: Stage, change: Any) -> None:
    before = stage.send("provider", "GET", f"/products/{stage.product}/summaries?page_size=200").json()["items"]
    answer = _push(stage, _archive(stage, change))
    assert answer.status_code == 422
    assert answer.json()["type"].startswith("urn:aegis:problem:")
    after = stage.send("provider", "GET", f"/products/{stage.product}/summaries?page_size=200").json()["items"]
    assert after == before
    assert not stage.drafts()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/python-pickle", ""])
def test_what_is_no_archive_is_refused_by_its_name(stage: Stage, kind: str) -> None:
    assert _push(stage, b"anything", kind).status_code == 422


@settings(max_examples=30)
@given(
    content=st.binary(max_size=3000), kind=st.sampled_from(["application/x-tar", "application/gzip", "application/zip"])
)
def test_any_bytes_are_answered(stage: Stage, content: bytes, kind: str) -> None:
    assert _push(stage, content, kind).status_code == 422


def _form(
    stage: Stage, *, certificate: bytes | None = None, file: bytes | None = None, name: str = "released.csv"
) -> Any:
    known = stage.clinic
    return [
        (
            "certificate",
            ("c.json", known.certificate.read_bytes() if certificate is None else certificate, "application/json"),
        ),
        ("file", (name, known.released.read_bytes() if file is None else file, "text/csv")),
    ]


def _release(stage: Stage, parts: Any, request: str | None = None, **headers: str) -> Any:
    query = {} if request is None else {"request_id": request}
    path = f"/products/{stage.product}/releases"
    return stage.send("provider", "POST", path, files=parts, params=query, headers=headers)


def test_a_release_is_measured_and_the_request_provisioned(stage: Stage) -> None:
    request = stage.new_request(stage.product, approved=True)
    key = {"Idempotency-Key": str(uuid.uuid4())}
    made = _release(stage, _form(stage), request, **key)
    assert made.status_code == 201
    assert made.json()["state"] == "received"
    path = f"/releases/{made.json()['id']}"
    assert stage.send("provider", "GET", f"{path}/file").status_code == 409, "downloaded before it was measured"
    run_pending(stage.catalog)
    assert stage.send("consumer", "GET", path).json()["state"] == "verified"
    assert stage.send("consumer", "GET", f"/requests/{request}").json()["state"] == "PROVISIONED"
    file = stage.send("consumer", "GET", f"{path}/file")
    assert file.content == stage.clinic.released.read_bytes()
    assert "released.csv" in file.headers["Content-Disposition"]
    again = _release(stage, _form(stage), request, **key)
    assert (again.status_code, again.json()) == (201, made.json()), "the repetition of an acknowledged push fails"
    other = _release(stage, _form(stage), request)
    assert other.status_code == 409


def _changed(path: Path) -> bytes:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["release"]["rows"] += 1
    return json.dumps(content).encode()


def test_what_does_not_match_its_certificate_is_refused(stage: Stage) -> None:
    request = stage.new_request(stage.product, approved=True)
    released = stage.clinic.released.read_bytes()
    cases = {
        "another file": (_form(stage, file=released + b"\n"), 409),
        "a changed certificate": (_form(stage, certificate=_changed(stage.clinic.certificate)), 409),
        "no certificate at all": (_form(stage, certificate=b"{}"), 422),
        "no JSON": (_form(stage, certificate=b"\x80\x04."), 422),
        "a name with a path": (_form(stage, name="../../released.csv"), 422),
        "a name that is executed elsewhere": (_form(stage, name="released.exe"), 422),
        "no file": (_form(stage)[:1], 422),
        "the file first": (list(reversed(_form(stage))), 422),
        "other parts": ([("other", ("x", b"x"))], 422),
    }
    for what, (parts, status) in cases.items():
        answer = _release(stage, parts, request)
        assert answer.status_code == status, f"{what}: {answer.text}"
    assert stage.send("provider", "GET", f"/requests/{request}").json()["state"] == "APPROVED"
    assert not stage.drafts()


@settings(max_examples=30)
@given(content=st.binary(max_size=2000), boundary=st.sampled_from(["b", "", "x" * 80]))
def test_any_form_is_answered(stage: Stage, content: bytes, boundary: str) -> None:
    kind = f"multipart/form-data; boundary={boundary}"
    path = f"/products/{stage.product}/releases"
    for body in (
        content,
        b"--b\r\n" + content,
        b'--b\r\nContent-Disposition: form-data; name="certificate"\r\n\r\n' + content,
    ):
        answer = stage.send("provider", "POST", path, content=body, headers={"Content-Type": kind})
        assert answer.status_code == 422

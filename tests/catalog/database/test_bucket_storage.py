"""A bucket's own: its address, its lock, a store that refuses, is full, is gone or gives back something else."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from tests.catalog.conftest import keep_now

from aegis.catalog.database.object_storage import ReferenceLock
from aegis.catalog.database.storage import Store, open_store, parse_bucket
from aegis.errors import InputError, StorageFullError, StorageUnreachableError, VerificationError

pytestmark = pytest.mark.usefixtures("own_temporary_folder")
Answering = Callable[[int, str], AbstractContextManager[str]]


def opened(address: str, tmp_path: Path) -> Store:
    return open_store(address, database_url=str(tmp_path / "catalog.sqlite"))


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, "<Error><Code>AccessDenied</Code></Error>", "may not be written"),
        (401, "<Error><Code>InvalidAccessKeyId</Code></Error>", "may not be written"),
        (404, "<Error><Code>NoSuchBucket</Code></Error>", "not there"),
        (400, "<Error><Code>QuotaExceeded</Code></Error>", "full"),
    ],
)
def test_a_store_that_refuses_is_a_sentence(
    status: int, body: str, words: str, tmp_path: Path, answering: Answering
) -> None:
    with answering(status, body) as address:
        store = opened(address, tmp_path)
        with pytest.raises(StorageFullError, match=words):
            store.check_room()
        with pytest.raises(StorageFullError, match=words):
            keep_now(store, [b"x"], limit_bytes=10)
    assert not [path for folder in tmp_path.rglob("drafts") for path in folder.iterdir()]


def test_a_store_that_is_gone_is_a_sentence_without_addresses_or_keys(
    tmp_path: Path, answering: Answering, caplog: pytest.LogCaptureFixture
) -> None:
    with answering(200, "") as address:
        pass  # nobody listens there any more
    store = opened(address, tmp_path)
    with caplog.at_level(logging.DEBUG), pytest.raises(StorageUnreachableError, match="does not answer") as caught:
        store.check_room()
    for text in (str(caught.value), caplog.text, repr(store)):
        assert "127.0.0.1" not in text
        assert "no secret" not in text


def test_a_bucket_that_was_never_made_is_said_to_be_missing(tmp_path: Path, new_bucket: Callable[[], str]) -> None:
    store = opened(new_bucket().replace("s3://files-", "s3://other-"), tmp_path)
    with pytest.raises(StorageFullError, match="not there"):
        store.check_room()


def test_files_that_were_changed_in_the_bucket_are_not_used(tmp_path: Path, new_bucket: Callable[[], str]) -> None:
    import obstore  # an extra
    from obstore.store import S3Store

    address = new_bucket()
    store = opened(address, tmp_path)
    kept = keep_now(store, [b"a release"], limit_bytes=99)
    bucket = parse_bucket(address)
    somebody = S3Store(
        bucket.name,
        prefix=bucket.prefix,
        endpoint=bucket.endpoint,
        region=bucket.region,
        client_options={"allow_http": True},
    )
    obstore.put(somebody, f"{kept.digest[:2]}/{kept.digest[2:4]}/{kept.digest}", b"something")
    with pytest.raises(VerificationError, match="changed"), store.local(kept.digest):
        pass


def test_other_files_of_the_bucket_are_left_alone(tmp_path: Path, new_bucket: Callable[[], str]) -> None:
    address = new_bucket()
    bucket = parse_bucket(address)
    digest = hashlib.sha256(b"").hexdigest()
    for key in (digest, f"{bucket.prefix}/{digest}", f"{bucket.prefix}/readme"):
        httpx.put(f"{bucket.endpoint}/{bucket.name}/{key}", content=b"x").raise_for_status()
    store = opened(address, tmp_path)
    assert list(store.digests()) == []
    kept = keep_now(store, [b"ours"], limit_bytes=9)
    assert list(store.digests()) == [kept.digest]


@pytest.mark.parametrize(
    "address",
    ["s3://", "s3:///prefix", "s3://UPPER/x", "s3://files/a b", "s3://files/../other", "s3://files#x", "gs://files",
     "s3://files?endpoint=ftp://host", "s3://files?endpoint=http://storage.example", "s3://files?key=secret",
     "s3://files?style=odd", "s3://files?region=a&region=b", "s3://files?region", "s3://[files"],
)  # fmt: skip
def test_addresses_that_are_none_are_refused_in_a_sentence(address: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        opened(address, tmp_path)
    assert not (tmp_path / "s3:").exists()


def test_credentials_in_an_address_are_refused_and_not_repeated(tmp_path: Path) -> None:
    for address in ("s3://me:hunter2@files/x", "s3://files?endpoint=https://me:hunter2@host"):
        with pytest.raises(InputError, match="AWS_ACCESS_KEY_ID") as caught:
            opened(address, tmp_path)
        assert "hunter2" not in str(caught.value)


def test_who_removes_is_alone_on_every_database(url: str) -> None:
    """And waits for nobody: a backup refers to files for as long as it copies them."""
    first, second = ReferenceLock(url), ReferenceLock(url)
    order: list[str] = []

    def keeper() -> None:
        with second.held(alone=False):
            order.append("kept")

    with first.held(alone=False) as referring, second.held(alone=False) as too, second.held(alone=True) as alone:
        assert (referring, too, alone) == (True, True, False)
    thread = threading.Thread(target=keeper)
    with first.held(alone=True) as alone:
        assert alone
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
        order.append("removed")
    thread.join()
    assert order == ["removed", "kept"]

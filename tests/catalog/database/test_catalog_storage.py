"""The store: whole files under their own hash, or nothing; the same contract for a folder and for a bucket."""

from __future__ import annotations

import errno
import hashlib
import io
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.conftest import keep_now

from aegis.catalog.database.storage import FolderStore, Store, limited, open_store
from aegis.catalog.states import TRANSITIONS, JobState, ProductState, ReleaseState, RequestState, check_step, follows
from aegis.errors import ConflictError, NotFoundError, StorageFullError, TooLargeError


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store of each kind."""
    database_url = str(tmp_path / "catalog.sqlite")
    if request.param == "folder":
        return open_store(tmp_path / "store", database_url=database_url)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    make: Callable[[], str] = request.getfixturevalue("new_bucket")
    return open_store(make(), database_url=database_url)


def drafts(tmp_path: Path) -> list[Path]:
    """What lies on the local disk and was not kept."""
    return [path for folder in tmp_path.rglob("drafts") for path in folder.iterdir()]


def test_a_folder_is_private_and_named_by_hashes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    kept = keep_now(store, io.BytesIO(b"hello"), limit_bytes=5)
    place = store.path(kept.digest)
    assert place == tmp_path / "store" / kept.digest[:2] / kept.digest[2:4] / kept.digest
    assert place.stat().st_mode & 0o777 == 0o600


def test_bytes_lie_under_their_hash(store: Store, tmp_path: Path) -> None:
    kept = keep_now(store, io.BytesIO(b"hello"), limit_bytes=5)
    assert kept.digest == hashlib.sha256(b"hello").hexdigest()
    assert (kept.bytes, store.size(kept.digest)) == (5, 5)
    with store.open(kept.digest) as file:
        assert (file.read(2), file.read(), file.read()) == (b"he", b"llo", b"")
    with store.local(kept.digest) as path:
        assert path.read_bytes() == b"hello"
    assert list(store.digests()) == [kept.digest]
    assert drafts(tmp_path) == []


def test_the_same_bytes_twice_are_one_file(store: Store) -> None:
    assert keep_now(store, [b"ab", b"c"], limit_bytes=9) == keep_now(store, [b"abc"], limit_bytes=9)
    assert len(list(store.digests())) == 1


def test_a_file_of_several_parts_comes_back_whole(store: Store) -> None:
    parts = [bytes([number]) * (1 << 20) for number in range(18)]  # more than two parts of an upload
    kept = keep_now(store, parts, limit_bytes=18 << 20)
    with store.open(kept.digest) as file:
        assert file.read() == b"".join(parts)


def test_what_is_staged_is_kept_and_leaves_no_draft(store: Store, tmp_path: Path) -> None:
    draft = store.draft([b"checked"], limit_bytes=9)
    assert draft.path.read_bytes() == b"checked"
    store.stage(draft)
    assert draft.digest not in set(store.digests()), "it is no file of the catalog before it is kept"
    assert list(store.digests()) == []
    assert store.keep(draft).digest == draft.digest
    store.discard(draft)
    assert list(store.digests()) == [draft.digest]
    assert drafts(tmp_path) == []
    assert store.sweep_drafts(older_than_seconds=-1e9, now_seconds=time.time()) == 0


def test_what_is_discarded_was_never_there(store: Store, tmp_path: Path) -> None:
    draft = store.draft([b"refused"], limit_bytes=9)
    store.stage(draft)
    store.discard(draft)
    assert list(store.digests()) == []
    assert drafts(tmp_path) == []
    assert store.sweep_drafts(older_than_seconds=-1e9, now_seconds=time.time()) == 0


def test_what_is_removed_is_gone_and_removing_it_again_is_no_error(store: Store) -> None:
    kept = keep_now(store, [b"short-lived"], limit_bytes=99)
    store.remove(kept.digest)
    store.remove(kept.digest)
    assert kept.digest not in set(store.digests())
    with pytest.raises(NotFoundError, match="push it again"):
        store.open(kept.digest)


def test_too_much_leaves_nothing_behind_and_is_not_read_to_its_end(store: Store, tmp_path: Path) -> None:
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b"x" * 1000

    with pytest.raises(TooLargeError, match="5000 bytes"):
        keep_now(store, endless(), limit_bytes=5000)
    assert len(taken) == 6
    assert list(store.digests()) == []
    assert drafts(tmp_path) == []


def test_a_stream_that_breaks_off_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        keep_now(store, broken(), limit_bytes=100)
    assert drafts(tmp_path) == []


def test_drafts_of_the_dead_are_swept_and_fresh_ones_are_not(store: Store) -> None:
    left, kept = store.draft([b"old"], limit_bytes=9), store.draft([b"new"], limit_bytes=9)
    store.keep(kept)
    store.discard(kept)
    assert store.sweep_drafts(older_than_seconds=3_600, now_seconds=time.time()) == 0
    assert left.path.exists()
    assert store.sweep_drafts(older_than_seconds=3_600, now_seconds=time.time() + 10_000) == 1
    assert not left.path.exists()
    assert kept.digest in set(store.digests())


def test_a_file_that_may_not_be_removed_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker that sweeps goes on with its jobs; a defect would end it."""
    store = FolderStore(tmp_path / "store")
    kept = keep_now(store, io.BytesIO(b"hello"), limit_bytes=5)
    store.draft(io.BytesIO(b"left"), limit_bytes=5)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageFullError, match="may not be written"):
        store.remove(kept.digest)
    with pytest.raises(StorageFullError, match="may not be written"):
        store.sweep_drafts(older_than_seconds=-1, now_seconds=time.time())


def test_what_is_not_there_is_not_found_and_a_path_is_no_digest(store: Store) -> None:
    for look in (store.open, store.size, lambda digest: store.local(digest).__enter__()):
        with pytest.raises(NotFoundError):
            look("a" * 64)
    for wrong in ("../../etc/passwd", "A" * 64, "a" * 63):
        with pytest.raises(ValueError, match="64 hexadecimal"):
            store.open(wrong)


def test_nothing_is_removed_while_somebody_is_about_to_refer_to_it(store: Store) -> None:
    order: list[str] = []

    def keeper() -> None:
        with store.referring():
            order.append("kept")

    with store.referring(), store.referring(), store.referring(removing=True) as alone:  # several may refer at once
        assert not alone
    thread = threading.Thread(target=keeper)
    with store.referring(removing=True) as alone:
        assert alone
        thread.start()
        thread.join(timeout=0.1)
        order.append("removed")
    thread.join()
    assert order == ["removed", "kept"]


@given(st.lists(st.binary(max_size=50), max_size=10), st.integers(0, 300))
def test_a_limit_lets_through_all_or_raises(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    if len(whole) <= limit:
        assert b"".join(limited(chunks, limit_bytes=limit)) == whole
    else:
        with pytest.raises(TooLargeError):
            list(limited(chunks, limit_bytes=limit))


def test_every_state_says_what_may_follow_and_states_of_different_things_never_do() -> None:
    kinds = (RequestState, ProductState, ReleaseState, JobState)
    assert set(TRANSITIONS) == {state for kind in kinds for state in kind}
    for before, afters in TRANSITIONS.items():
        assert all(type(after) is type(before) for after in afters)


@pytest.mark.parametrize(
    ("before", "after"),
    [("REJECTED", "APPROVED"), ("EXPIRED", "PROVISIONED"), ("PENDING", "PROVISIONED"), ("APPROVED", "APPROVED"),
     ("REVOKED", "PENDING"), ("PROVISIONED", "APPROVED"), ("APPROVED", "REJECTED")],
)  # fmt: skip
def test_illegal_steps_of_a_request_are_conflicts(before: str, after: str) -> None:
    assert not follows(RequestState(before), RequestState(after))
    with pytest.raises(ConflictError, match=before):
        check_step(RequestState(before), RequestState(after), what="the request")

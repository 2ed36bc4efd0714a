"""The store: whole files under their own hash, or nothing."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.catalog.database.storage import FolderStore, limited
from aegis.catalog.states import TRANSITIONS, JobState, ProductState, ReleaseState, RequestState, check_step, follows
from aegis.errors import ConflictError, NotFoundError, TooLargeError


def test_bytes_lie_under_their_hash_and_are_private(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    kept = store.put(io.BytesIO(b"hello"), limit_bytes=5)
    assert kept.digest == hashlib.sha256(b"hello").hexdigest()
    assert kept.bytes == 5
    place = store.path(kept.digest)
    assert place == tmp_path / "store" / kept.digest[:2] / kept.digest[2:4] / kept.digest
    assert place.stat().st_mode & 0o777 == 0o600
    with store.open(kept.digest) as file:
        assert file.read() == b"hello"
    assert list(store.digests()) == [kept.digest]


def test_the_same_bytes_twice_are_one_file(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    assert store.put([b"ab", b"c"], limit_bytes=9) == store.put([b"abc"], limit_bytes=9)
    assert len(list(store.digests())) == 1


def test_too_much_leaves_nothing_behind_and_is_not_read_to_its_end(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b"x" * 1000

    with pytest.raises(TooLargeError, match="5000 bytes"):
        store.put(endless(), limit_bytes=5000)
    assert len(taken) == 6
    assert list(store.digests()) == []
    assert list((tmp_path / "drafts").iterdir()) == []


def test_a_stream_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        store.put(broken(), limit_bytes=100)
    assert list((tmp_path / "drafts").iterdir()) == []


def test_drafts_of_the_dead_are_swept_and_fresh_ones_are_not(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    old, fresh = store.draft([b"old"], limit_bytes=9), store.draft([b"new"], limit_bytes=9)
    long_ago = time.time() - 10_000
    os.utime(old.path, (long_ago, long_ago))
    assert store.sweep_drafts(older_than_seconds=3_600, now_seconds=time.time()) == 1
    assert not old.path.exists()
    assert store.keep(fresh).digest == fresh.digest
    store.discard(fresh)  # kept: nothing to discard
    assert store.exists(fresh.digest)


def test_what_is_not_there_is_not_found_and_a_path_is_no_digest(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with pytest.raises(NotFoundError):
        store.path("a" * 64)
    for wrong in ("../../etc/passwd", "A" * 64, "a" * 63):
        with pytest.raises(ValueError, match="64 hexadecimal"):
            store.open(wrong)


def test_nothing_is_removed_while_somebody_is_about_to_refer_to_it(tmp_path: Path) -> None:
    store, order = FolderStore(tmp_path), []
    entered = threading.Event()

    def remover() -> None:
        entered.set()
        with store.referring(removing=True):
            order.append("removed")

    with store.referring(), store.referring():  # several may refer at once
        thread = threading.Thread(target=remover)
        thread.start()
        entered.wait()
        time.sleep(0.1)
        order.append("committed")
    thread.join()
    assert order == ["committed", "removed"]


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

"""A catalog whose files lie in a bucket: the whole flow, the sweep, and a store that is gone or refuses."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.catalog.conftest import keep_now

from aegis.catalog.server.app import create_site
from aegis.catalog.service import releases
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.states import RequestState
from aegis.catalog.worker import verification
from aegis.errors import StorageUnreachableError

pytestmark = pytest.mark.usefixtures("own_temporary_folder")
Stage = Any
NewStage = Callable[..., Stage]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_is_pushed_into_a_bucket_is_measured_and_downloaded(
    kind: str, new_stage: NewStage, new_bucket: Callable[[], str], tmp_path: Path
) -> None:
    stage = new_stage(kind, storage=new_bucket())
    stage.product()
    stage.summary()
    request, release = stage.provisioned()
    assert request.state == RequestState.PROVISIONED
    with stage.write("consumer") as work, releases.open_download(work, release_id=release.id).stream as stream:
        assert hashlib.sha256(stream.read()).hexdigest() == release.digest
    orphan = keep_now(stage.catalog.store, [b"a crash came between the file and its row"], limit_bytes=100)
    assert verification.sweep(stage.catalog) == 1
    assert orphan.digest not in set(stage.catalog.store.digests())
    assert len(list(stage.catalog.store.digests())) == 2
    left = [path for path in (tmp_path / "temporary").glob("aegis-*/**/*") if path.is_file() and path.name != "lock"]
    assert left == [], "nothing of a summary or a release stays on the disk of the server"


def health(catalog: Catalog) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(create_site(catalog), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/v1/health")

    return asyncio.run(get())


def test_health_says_whether_the_bucket_can_be_written(
    new_stage: NewStage, new_bucket: Callable[[], str], answering: Callable[[int, str], AbstractContextManager[str]]
) -> None:
    assert health(new_stage(storage=new_bucket()).catalog).status_code == 200
    with answering(403, "<Error><Code>AccessDenied</Code></Error>") as address:
        answer = health(new_stage(storage=address).catalog)
    assert (answer.status_code, answer.json()["type"]) == (507, "urn:aegis:problem:storage-full")
    answer = health(new_stage(storage=address).catalog)  # nobody listens there any more
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:aegis:problem:storage-unreachable")
    assert "127.0.0.1" not in answer.text


def test_a_push_while_the_bucket_is_gone_leaves_no_row_and_no_draft(
    new_stage: NewStage, answering: Callable[[int, str], AbstractContextManager[str]], tmp_path: Path
) -> None:
    with answering(200, "") as address:
        pass
    stage = new_stage(storage=address)
    stage.product()
    with pytest.raises(StorageUnreachableError):
        stage.summary()
    left = [path for path in (tmp_path / "temporary").glob("aegis-*/**/*") if path.is_file() and path.name != "lock"]
    assert left == []

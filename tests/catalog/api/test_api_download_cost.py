"""What a download costs: how many statements reach the database, and how many modules of ours it passes."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

import httpx
from sqlalchemy import event

from aegis.catalog.server.app import create_site

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any

MOST_STATEMENTS = 5
MOST_MODULES = 20  # counting of requests for Prometheus and the hash chain that ledger and audit share among them


def test_a_download_is_a_handful_of_statements_and_modules(stage: Stage) -> None:
    """Who it is, the release, the download, and the end of the audit chain: read and added to."""
    product = stage.new_product()
    request_id = stage.new_request(product, approved=True)
    release_id = stage.new_release(product, request_id=request_id)
    statements: list[str] = []
    modules: set[str] = set()

    def called(frame: FrameType, event: str, _argument: Any) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("aegis."):
            modules.add(name)

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    site = create_site(stage.catalog)

    async def download() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url="http://test") as client:
            headers = stage.people["consumer"].headers
            return (await client.get(f"/api/v1/releases/{release_id}/file", headers=headers)).status_code

    asyncio.run(download())  # the first one notes the last use of the token and builds the routes
    engine = stage.catalog.database.engine
    event.listen(engine, "before_cursor_execute", executed)
    threading.setprofile(called)  # handlers run in threads that are started from here on
    sys.setprofile(called)
    try:
        status = asyncio.run(download())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        event.remove(engine, "before_cursor_execute", executed)
    assert status == 200
    asked = [statement for statement in statements if not statement.startswith(("BEGIN", "PRAGMA"))]
    assert len(asked) <= MOST_STATEMENTS, asked
    assert len(modules) <= MOST_MODULES, "\n".join(sorted(modules))

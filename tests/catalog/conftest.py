"""What the catalog's tests share: an object store of our own, which speaks S3, and a catalog with the clinic in it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from aegis.catalog.database.storage import Store, Stored, Stream
    from aegis.catalog.service.permissions import Actor
    from aegis.catalog.worker.clinic_example import ClinicFlow

# The server takes a free port and says which; it ends when its standard input does, however this process ends.
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="session")
def object_store_address() -> Iterator[str]:
    """The address of an S3 server; anybody may do anything there."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("moto", reason="the S3 server of the tests is not installed: pip install '.[all,dev]'")
        pytest.importorskip("obstore", reason="storage in object stores is an extra: pip install '.[s3]'")
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:
        port = process.stdout.readline().decode().strip()
        assert port, "the S3 server did not start"
        yield f"http://127.0.0.1:{port}"
    process.wait()


@dataclass(frozen=True)
class ClinicFolder:
    """A catalog with the clinic's flow in it, at rest: to be copied, which is far quicker than the flow."""

    folder: Path
    flow: ClinicFlow
    sessions: dict[str, str] = field(repr=False)
    """The cookie of each person: admin, and those of the example."""
    admin: Actor


@pytest.fixture(scope="session")
def clinic_folder(tmp_path_factory: pytest.TempPathFactory) -> ClinicFolder:
    """The clinic as all sites begin with it."""
    from aegis.catalog.service import people, sessions, tokens
    from aegis.catalog.service.catalog import Catalog
    from aegis.catalog.settings import Settings
    from aegis.catalog.worker.clinic_example import load_clinic

    folder, password = tmp_path_factory.mktemp("flow"), "a clinic that nobody visits"
    cheap = Settings(argon2_time_cost=1, argon2_memory_kib=64)
    with Catalog.open(f"sqlite:///{folder / 'catalog.sqlite'}", folder / "store", settings=cheap) as catalog:
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password=password, name="admin", display_name="Ada Admin")
        admin = sessions.sign_in(catalog, name="admin", password=password, address="test")
        flow = load_clinic(catalog, admin.actor, rows=1_500)
        with catalog.write(admin.actor) as work:
            tokens.create_token(work, name="laptop", scopes=["read", "push"], days=30)
        cookies = {"admin": admin.secret}
        for name, chosen in flow.people.items():
            cookies[name] = sessions.sign_in(catalog, name=name, password=chosen, address="test").secret
    return ClinicFolder(folder=folder, flow=flow, sessions=cookies, admin=admin.actor)


@pytest.fixture
def own_temporary_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files of a test lie in a folder of its own; those of the servers that all share do not."""
    if "postgres" in getattr(request.node, "callspec", SimpleNamespace(params={})).params.values():
        request.getfixturevalue("postgres_address")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def object_store_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who one is, where nobody asks."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "no secret")


@pytest.fixture
def new_bucket(object_store_address: str, object_store_credentials: None) -> Callable[[], str]:
    """Makes empty buckets; gives their s3:// addresses."""

    def make() -> str:
        name = f"files-{next(_numbers)}"
        httpx.put(f"{object_store_address}/{name}").raise_for_status()
        return f"s3://{name}/some/catalog?endpoint={object_store_address}&region=us-east-1&style=path"

    return make


@pytest.fixture
def answering(object_store_credentials: None) -> Callable[[int, str], AbstractContextManager[str]]:
    """Starts stores that give one answer to everything; gives their s3:// addresses."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("obstore", reason="storage in object stores is an extra: pip install '.[s3]'")
    return _answering


@contextmanager
def _answering(status: int, body: str) -> Iterator[str]:
    """The address of a store that gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815 - the names of the base class

        def log_message(self, *_: object) -> None:
            """Nothing to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"s3://files?endpoint=http://127.0.0.1:{server.server_port}&region=us-east-1&style=path"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def keep_now(store: Store, stream: Stream, *, limit_bytes: int) -> Stored:
    """Bytes that a store keeps for good."""
    draft = store.draft(stream, limit_bytes=limit_bytes)
    try:
        return store.keep(draft)
    finally:
        store.discard(draft)


_numbers = itertools.count()

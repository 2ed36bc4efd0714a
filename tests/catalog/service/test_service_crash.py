"""A server killed at any moment loses nothing it acknowledged and leaves nothing half."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select, text

from aegis.catalog.database.audit_chain import verify_chain
from aegis.catalog.database.connection import parse_url
from aegis.catalog.database.tables import Audit, Release, Request, Summary, User
from aegis.catalog.service import people
from aegis.catalog.service.catalog import utc_now
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.worker.loop import run_pending
from aegis.errors import ConflictError, EngineError

Stage = Any
KILLS = 3

_SERVER = """
import io, json, os, sys
from pathlib import Path
from aegis.catalog.service import arrivals, releases, requests, summaries
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.sessions import actor_of_user

def serve():
    catalog = Catalog.open(told["url"], told["storage"])
    who = {name: actor_of_user(catalog, user_id=user_id) for name, user_id in told["people"].items()}
    files = {name: Path(path).read_bytes() for name, path in told["files"].items()}
    print("ready", os.getpid(), flush=True)
    while True:
        with catalog.write(who["consumer"]) as work:
            asked = requests.ask(work, product="clinic", purpose="to be killed")
        print("request", asked.id, flush=True)
        with catalog.write(who["expert"]) as work:
            requests.decide(work, request_id=asked.id, approve=True, configuration_id=told["configuration"])
        print("approved", asked.id, flush=True)
        with arrivals.incoming(catalog, who["provider"], request_id=asked.id, file=io.BytesIO(files["release"]),
                               certificate=io.BytesIO(files["certificate"]), file_name="a.csv") as checked:
            with catalog.write(who["provider"]) as work:
                pushed = arrivals.receive(work, checked)
        print("release", pushed.id, flush=True)
        with summaries.incoming(catalog, who["provider"], product="clinic",
                                stream=io.BytesIO(files["summary"])) as checked:
            with catalog.write(who["provider"]) as work:
                made = summaries.receive(work, checked)
        print("summary", made.id, flush=True)

# A server for each line that comes in. They are born with everything imported, and share nothing else.
told = json.loads(sys.argv[1])
for line in sys.stdin:
    server = os.fork()
    if server == 0:
        serve()
    os.waitpid(server, 0)
    print("\\nkilled", flush=True)  # on a line of its own, also after one that was cut off
"""


@contextlib.contextmanager
def _server(given: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """A process that begins a server for each line that it is sent."""
    command = [sys.executable, "-c", _SERVER, json.dumps(given)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_in_the_middle_of_pushes_and_approvals(new_stage: Any, kind: str, tmp_path: Path) -> None:
    stage = new_stage(kind)
    stage.catalog.clock = utc_now
    stage.product()
    made = stage.configurations()
    file, certificate = stage.parts.released["strict"]
    paths = {}
    for name, content in (("release", file), ("certificate", certificate), ("summary", stage.parts.summary)):
        (tmp_path / name).write_bytes(content)
        paths[name] = str(tmp_path / name)
    given = {
        "url": stage.url,
        "storage": str(stage.catalog.store.root),
        "people": {name: stage.user_id(name) for name in ("consumer", "expert", "provider")},
        "files": paths,
        "configuration": made["strict"].id,
    }
    acknowledged: dict[str, set[str]] = {"request": set(), "approved": set(), "release": set(), "summary": set()}
    chance = random.Random(kind)
    with _server(given) as server:
        for kill in itertools.count():
            if kill >= KILLS and acknowledged["request"]:  # on a busy machine the first request may take a while
                break
            for what, name in _killed_after(chance.uniform(0.05, 0.6) * (1 + kill // KILLS), server):
                acknowledged[what].add(name)
            _check(stage, acknowledged)
    run_pending(stage.catalog)
    _check(stage, acknowledged)
    assert acknowledged["request"]


def _killed_after(seconds: float, server: subprocess.Popen[str]) -> list[tuple[str, str]]:
    """What a server acknowledged before it was killed."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("serve\n")
    server.stdin.flush()
    ready, pid = server.stdout.readline().split()
    assert ready == "ready"
    time.sleep(seconds)
    os.kill(int(pid), signal.SIGKILL)
    lines = list(iter(server.stdout.readline, "killed\n"))
    return [
        (line.split()[0], line.split()[1]) for line in lines if len(line.split()) == 2 and len(line.split()[1]) == 32
    ]


def _check(stage: Stage, acknowledged: dict[str, set[str]]) -> None:
    with stage.catalog.read(SYSTEM) as work:
        assert verify_chain(work.session).intact
        asked = {row.id: row for row in work.session.scalars(select(Request))}
        pushed = {row.id: row for row in work.session.scalars(select(Release))}
        told = {row.id: row for row in work.session.scalars(select(Summary))}
        recorded = set(work.session.scalars(select(Audit.subject_id)))
    assert acknowledged["request"] <= set(asked)
    assert all(asked[each].state != "PENDING" for each in acknowledged["approved"])
    assert acknowledged["release"] <= set(pushed)
    assert acknowledged["summary"] <= set(told)
    assert {*asked, *pushed, *told} <= recorded  # nothing happened off the record
    for row in (*pushed.values(), *told.values()):
        path = stage.catalog.store.path(row.digest)
        assert path.stat().st_size == row.bytes


def test_connections_that_the_database_breaks_off_lose_nothing_acknowledged(new_stage: Any) -> None:
    stage = new_stage("postgres")
    address = parse_url(stage.url)
    ours = address.query["application_name"]
    acknowledged: list[str] = []
    refused: list[str] = []
    ended = threading.Event()

    admin = stage.actor("admin")

    def invite(number: int) -> None:
        for count in itertools.count():
            if ended.is_set():
                return
            name = f"user-{number}-{count}"
            try:
                with stage.catalog.write(admin) as work:
                    people.create_user(work, name=name, display_name="X")
                acknowledged.append(name)
            except (EngineError, ConflictError):
                refused.append(name)

    threads = [threading.Thread(target=invite, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    killer = create_engine(address.difference_update_query(["application_name"]), isolation_level="AUTOCOMMIT")
    with killer.connect() as connection:
        for _ in range(15):
            known, until = len(acknowledged), time.monotonic() + 1
            while len(acknowledged) == known and time.monotonic() < until:
                time.sleep(0.002)
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name"),
                {"name": ours},
            )
    killer.dispose()
    ended.set()
    for thread in threads:
        thread.join()
    with stage.catalog.read(SYSTEM) as work:
        kept = set(work.session.scalars(select(User.name)))
        assert verify_chain(work.session).intact
    assert acknowledged
    assert refused
    assert set(acknowledged) <= kept

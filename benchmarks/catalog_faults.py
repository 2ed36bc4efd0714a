"""kill -9 of the server, the worker and the database in the middle of pushes, approvals and releases.

A consumer asks, an expert approves, a provider pushes the release, and meanwhile summaries are pushed, through the
client that users have, at two `aegis serve` in turn that share one PostgreSQL and one folder, each with a worker of its
own. At 50 random moments one of the parts is killed. Then: every write that was acknowledged is there, nothing happened
twice, every release is whole or absent, every job ended, everybody was told of every step once, and the audit chain is
intact.

``python benchmarks/catalog_faults.py`` takes about fifteen minutes; ``--dry --kills 3 --flows 1`` tries it.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select

from _catalog_machine import QUICK, Person, Postgres, Served, add_person, first_administrator, served
from _result import write
from aegis import Client, release, summarize
from aegis.catalog.database import audit_chain
from aegis.catalog.database.tables import Notification
from aegis.catalog.service import tokens
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.notifications import NotificationKind
from aegis.data.engine import open_dataset
from aegis.errors import AegisError
from aegis.library.clinic import CONFIGURATIONS, POLICY, ROLES, write_clinic

PRODUCT, CONFIGURATION = "clinic", "strict"
PARTS = ("server", "worker", "database")
SETTINGS = "heartbeat_seconds: 3.0\njobs_queued_per_product: 100000\njob_attempts: 100\n"
"""A job whose worker fell silent is taken over after 3 seconds instead of 30; with kills every few seconds a job may
be begun more often than the three times that are allowed."""


@dataclass(slots=True)
class Ledger:
    """What the catalog acknowledged, as the clients saw it."""

    asked: dict[str, str] = field(default_factory=dict)
    approved: set[str] = field(default_factory=set)
    pushed: dict[str, tuple[str, str]] = field(default_factory=dict)
    summaries: list[str] = field(default_factory=list)
    downloads: int = 0
    refusals: list[str] = field(default_factory=list)
    retried: int = 0
    in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Clients:
    """Everybody who uses the catalog, each with the client that users have."""

    def __init__(self, urls: list[str], texts: dict[str, str], ledger: Ledger) -> None:
        self._sites = [
            {name: Client(url, text, attempts=40, timeout_s=20) for name, text in texts.items()} for url in urls
        ]
        self._turn = itertools.count()
        self._ledger = ledger

    def __getitem__(self, name: str) -> Client:
        """The client of a person; with several servers each call goes to the next one."""
        return self._sites[next(self._turn) % len(self._sites)][name]

    def close(self) -> None:
        for site in self._sites:
            for each in site.values():
                each.close()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A call that may be in the middle when something is killed."""
        with self._ledger.lock:
            self._ledger.in_flight += 1
        try:
            yield
        finally:
            with self._ledger.lock:
                self._ledger.in_flight -= 1


def flows(clients: Clients, ledger: Ledger, files: list[Path], stop: threading.Event, seed: int, rest_s: float) -> None:
    """Ask, approve, release, download, over and over, with a rest after each."""
    rng = random.Random(seed)
    configuration = next(each for each in clients["expert"].configurations(PRODUCT) if each.name == CONFIGURATION)
    number = 0
    while not stop.is_set():
        number += 1
        purpose, file = f"flow {seed}-{number}", rng.choice(files)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        certificate = file.with_name(f"{file.name}.certificate.json")
        try:
            with clients.under_way():
                asked = clients["consumer"].ask(PRODUCT, purpose=purpose, days=30)
            ledger.asked[purpose] = asked.id
            with clients.under_way():
                clients["expert"].approve(asked.id, configuration.id, version=asked.version)
            ledger.approved.add(asked.id)
            with clients.under_way():
                made = clients["provider"].push_release(PRODUCT, file, certificate, request_id=asked.id)
            ledger.pushed[made.id] = (asked.id, digest)
        except AegisError as error:
            # Whatever the catalog says no to here is a failure: each of these steps is allowed.
            ledger.refusals.append(f"{purpose}: {type(error).__name__}: {error}")
        time.sleep(rest_s)


def summaries(
    clients: Clients, ledger: Ledger, folders: list[Path], stop: threading.Event, seed: int, rest_s: float
) -> None:
    """Push summaries, over and over."""
    rng = random.Random(seed)
    while not stop.is_set():
        try:
            with clients.under_way():
                made = clients["provider"].push_summary(PRODUCT, rng.choice(folders))
            ledger.summaries.append(made.id)
        except AegisError as error:
            ledger.refusals.append(f"summary: {type(error).__name__}: {error}")
        time.sleep(rest_s + rng.uniform(0.1, 0.5))


def prepare(catalog: Catalog, folder: Path, *, rows: int) -> tuple[dict[str, str], list[Path], list[Path], Person]:
    """A product with people, tokens, configurations, summaries and releases to push."""
    table = write_clinic(folder / "clinic", rows=rows)
    admin = first_administrator(catalog)
    provider = add_person(catalog, admin, "provider", "provider")
    expert = add_person(catalog, admin, "expert", "expert")
    consumer = add_person(catalog, admin, "consumer", "consumer")
    texts = {}
    for person, scopes in (
        (provider, ["read", "push"]),
        (expert, ["read", "decide"]),
        (consumer, ["read", "request"]),
        (admin, ["read", "admin"]),
    ):
        with catalog.write(person.actor) as work:
            texts[person.name] = tokens.create_token(work, name="faults", scopes=scopes, days=1).text
    policy = folder / "clinic" / "policy.yaml"
    chosen = folder / "clinic" / "configurations" / f"{CONFIGURATION}.yaml"
    files = []
    for number in range(4):  # rows are shuffled, so each file has other bytes
        out = folder / f"clinic-{number}.csv"
        release(table, config=chosen, policy=policy, out=out)
        files.append(out)
    folders = []
    for number, count in enumerate((3, 5)):
        kept = folder / f"configurations-{number}"
        kept.mkdir()
        for name in sorted(CONFIGURATIONS)[-count:]:
            source = folder / "clinic" / "configurations" / f"{name}.yaml"
            (kept / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        out = folder / f"summary-{number}"
        summarize(table, configs=kept, out=out, race=False)
        folders.append(out)
    return texts, files, folders, admin


def register(client: Client, expert: Client, folder: Path) -> None:
    """The product and its configuration, through the API."""
    dataset = open_dataset(folder / "clinic" / "clinic.csv")
    columns = [{"name": c.name, "kind": c.kind.value, "role": dataset.roles[c.name].value} for c in dataset.schema]
    client.register(PRODUCT, title="Clinic", columns=columns, label=str(ROLES["label"]), policy=dict(POLICY))
    client.publish(PRODUCT)
    text = (folder / "clinic" / "configurations" / f"{CONFIGURATION}.yaml").read_text(encoding="utf-8")
    expert.propose(PRODUCT, text, name=CONFIGURATION)


def strike(sites: list[Served], database: Postgres, part: str, rng: random.Random) -> int:
    """kill -9, and for the database a restart; the catalog restarts its own parts."""
    if part == "database":
        database.kill()
        time.sleep(rng.uniform(0.0, 1.0))
        database.start()
        return 1
    living = [process for site in sites for process in site.parts(part)]
    if not living:
        return 0
    process = rng.choice(living)
    process.kill()
    psutil.wait_procs([process], timeout=10)
    return 1


def check(database_url: str, storage: Path, ledger: Ledger, admin: Client) -> dict[str, Any]:
    """What must hold, read from the database and the disk themselves."""
    wrong: list[str] = []
    with Catalog.open(database_url, storage, settings=QUICK) as catalog:
        with catalog.database.read() as session:
            chain = audit_chain.verify_chain(session)
        kept = set(catalog.store.digests())
        for digest in kept:
            with catalog.store.open(digest) as file:
                if hashlib.sha256(file.read()).hexdigest() != digest:
                    wrong.append("a stored file is not what its name says")
    requests = {each.id: each for each in admin.requests(product=PRODUCT)}
    releases = {each.id: each for each in admin.releases(PRODUCT)}
    recorded = Counter((each["action"], each["subject_id"]) for each in admin.audit(product=PRODUCT))
    purposes = Counter(each.purpose for each in requests.values())
    wrong += [f"{name} was asked {count} times" for name, count in purposes.items() if count != 1]
    wrong += [f"the request of {p} is lost" for p, each in ledger.asked.items() if each not in requests]
    wrong += [
        "an approval is lost"
        for each in ledger.approved
        if requests[each].state not in ("APPROVED", "PROVISIONED") or requests[each].configuration_id is None
    ]
    wrong += [
        f"{action} is on the record {n} times" for (action, _), n in recorded.items() if n != 1 and "ask" in action
    ]
    per_request = Counter(each.request_id for each in releases.values())
    wrong += ["a request was fulfilled twice" for count in per_request.values() if count != 1]
    for ident, (request, digest) in ledger.pushed.items():
        found = releases.get(ident)
        if found is None or found.digest != digest:
            wrong.append("a release is lost")
        elif found.state != "verified" or requests[request].state != "PROVISIONED":
            wrong.append(f"a release is {found.state} ({found.reason}) and its request {requests[request].state}")
    wrong += ["a release has no bytes" for each in releases.values() if each.digest not in kept]
    wrong += [
        "a request is provisioned without a verified release"
        for each in requests.values()
        if each.state == "PROVISIONED" and releases[str(each.release_id)].state != "verified"
    ]
    wrong += notifications_wrong(database_url, storage, ledger)
    return {"wrong": wrong, "audit_rows": chain.rows, "audit_intact": chain.intact, "requests": len(requests)}


def notifications_wrong(database_url: str, storage: Path, ledger: Ledger) -> list[str]:
    """What people were not told, or told twice: each step of each request tells each person once."""
    with Catalog.open(database_url, storage, settings=QUICK) as catalog, catalog.database.read() as session:
        rows = session.execute(select(Notification.user_id, Notification.kind, Notification.path)).all()
    times = Counter((row.user_id, row.kind, row.path) for row in rows)
    told = {(row.kind, row.path) for row in rows}
    wrong = [f"somebody was told {kind} {count} times" for (_, kind, _), count in times.items() if count != 1]
    steps = [(NotificationKind.ASKED, each) for each in ledger.asked.values()]
    steps += [
        (step, each) for each in ledger.approved for step in (NotificationKind.APPROVED, NotificationKind.TO_FULFIL)
    ]
    steps += [(NotificationKind.READY, request) for request, _ in ledger.pushed.values()]
    wrong += [
        f"nobody was told {kind.value}" for kind, ident in steps if (kind.value, f"/requests/{ident}") not in told
    ]
    return wrong


def settle(admin: Client, *, seconds: float) -> bool:
    """Until no job waits or runs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        states = {each["state"] for each in admin.jobs(product=PRODUCT)}
        if not states & {"queued", "running"}:
            return "failed" not in states
        time.sleep(0.3)
    return False


def main() -> int:
    """Run, kill, check, write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--servers", type=int, default=2, help="how many `aegis serve`, each with a worker of its own")
    parser.add_argument("--processes", type=int, default=2, help="how many processes each of them has for requests")
    parser.add_argument("--flows", type=int, default=3, help="how many people at a time ask, approve and push releases")
    parser.add_argument("--rest-s", type=float, default=0.0, help="how long a person rests after each of these")
    parser.add_argument("--pause-s", type=float, default=4.0, help="the longest time between two kills")
    parser.add_argument("--dry", action="store_true", help="print instead of writing the result")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    ledger, struck, busy = Ledger(), Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="aegis-faults-") as name:
        folder = Path(name)
        database = Postgres(folder / "postgres")
        storage, settings = folder / "storage", folder / "settings.yaml"
        settings.write_text(SETTINGS, encoding="utf-8")
        try:
            with Catalog.open(database.url, storage, settings=QUICK) as catalog:
                texts, files, folders, _ = prepare(catalog, folder, rows=given.rows)
            with ExitStack() as running:
                sites = [
                    running.enter_context(
                        served(
                            database.url,
                            storage,
                            processes=given.processes,
                            settings=settings,
                            log=folder / f"log-{number}",
                        )
                    )
                    for number in range(given.servers)
                ]
                clients = Clients([site.url for site in sites], texts, ledger)
                register(clients["provider"], clients["expert"], folder)
                stop = threading.Event()
                threads = [
                    threading.Thread(target=flows, args=(clients, ledger, files, stop, seed, given.rest_s))
                    for seed in range(given.flows)
                ]
                pushing = (clients, ledger, folders, stop, 9, given.rest_s)
                threads.append(threading.Thread(target=summaries, args=pushing))
                for each in threads:
                    each.start()
                for number in range(given.kills):
                    time.sleep(rng.uniform(0.3, given.pause_s))
                    part = PARTS[number % 3] if number < 3 else rng.choice(PARTS)
                    busy += ledger.in_flight > 0
                    struck[part] += strike(sites, database, part, rng)
                    for site in sites:
                        site.wait_until_well()
                    print(f"{number + 1}: {part}; {len(ledger.pushed)} releases acknowledged", flush=True)
                stop.set()
                for each in threads:
                    each.join()
                for site in sites:
                    site.wait_until_well()
                ended = settle(clients["admin"], seconds=600)
                found = check(database.url, storage, ledger, clients["admin"])
                clients.close()
        finally:
            database.stop()
    claims = {
        "no acknowledged write lost, nothing twice, no half release, everybody told once": not found["wrong"]
        and not ledger.refusals,
        "audit chain intact": found["audit_intact"],
        "every job ended": ended,
    }
    payload: dict[str, Any] = {
        "claims": claims,
        "seed": given.seed,
        "servers": given.servers,
        "processes_per_server": given.processes,
        "workers": given.servers,
        "flows": given.flows,
        "longest_pause_s": given.pause_s,
        "kills": dict(struck),
        "kills_while_a_write_was_under_way": busy,
        "acknowledged": {
            "requests": len(ledger.asked),
            "approvals": len(ledger.approved),
            "releases": len(ledger.pushed),
            "summaries": len(ledger.summaries),
        },
        "found": found,
        "refusals": ledger.refusals[:5],
    }
    if given.dry:
        print(payload)
    else:
        write("catalog_faults", payload)
    print(claims)
    return 0 if all(claims.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

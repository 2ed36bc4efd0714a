"""Is every page of a record of 100,000 acts under 200 ms: looked through by person, act and time, and verified?

Also says what the whole walk costs, which the worker and ``aegis audit verify`` do, and that an edit of an old row is
found by it. On SQLite, in this process: what is measured is the work of a request without the network.

Run: python benchmarks/audit_pages.py [--rows 100000]
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import text
from starlette.testclient import TestClient

from _result import write
from aegis.catalog.database.audit_chain import ACTS, append
from aegis.catalog.database.tables import Audit
from aegis.catalog.server.app import create_site
from aegis.catalog.service import people, sessions
from aegis.catalog.service.audit_log import keep_up
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import Settings

LIMIT_MS = 200.0
START = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


def filled(catalog: Catalog, rows: int) -> None:
    """Acts of 50 people over a year; one of them did one thing, long ago."""
    acts = sorted(ACTS)
    for first in range(0, rows, 5_000):
        entries = [
            Audit(
                at=START + datetime.timedelta(minutes=5 * number),
                actor="once" if number == 10 else f"person-{number % 50}",
                actor_id=None,
                action=acts[number % len(acts)],
                subject="release",
                subject_id=f"{number:032x}",
                details={"number": number},
            )
            for number in range(first, min(first + 5_000, rows))
        ]
        with catalog.database.write() as session:
            append(session, entries)
            session.commit()


def timed(ask: Callable[[], Any], *, times: int = 15) -> dict[str, float]:
    """Milliseconds of wall and CPU time, the median of several."""
    wall, cpu = [], []
    for _ in range(times):
        began, began_cpu = time.perf_counter(), time.process_time()
        answer = ask()
        wall.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.process_time() - began_cpu))
        assert answer.status_code == 200, answer.status_code
    return {"median_ms": statistics.median(wall), "median_cpu_ms": statistics.median(cpu), "worst_ms": max(wall)}


def main() -> int:
    """Fill, ask, walk, edit, walk again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory(prefix="aegis-audit-") as folder:
        settings = Settings(argon2_time_cost=1, argon2_memory_kib=64)
        with Catalog.open(f"{folder}/catalog.sqlite", Path(folder) / "storage", settings=settings) as catalog:
            link = people.setup_link(catalog)
            assert link is not None
            people.accept_link(catalog, secret=link.secret, password="a long password", name="admin")
            session = sessions.sign_in(catalog, name="admin", password="a long password", address="here")
            filled(catalog, rows)
            began = time.process_time()
            keep_up(catalog)
            walk_cpu_s = time.process_time() - began
            browser = TestClient(create_site(catalog), cookies={"aegis_session": session.secret})
            day = (START + datetime.timedelta(days=30)).date().isoformat()
            pages = {
                "/audit": timed(lambda: browser.get("/audit")),
                "/audit?actor=once": timed(lambda: browser.get("/audit?actor=once")),
                "/audit?action=token+made": timed(lambda: browser.get("/audit?action=token+made")),
                "/audit, one day of a year ago": timed(lambda: browser.get(f"/audit?since={day}&until={day}")),
                "/audit, a person, an act and a time": timed(
                    lambda: browser.get(f"/audit?actor=person-7&action=token+made&until={day}")
                ),
                "/api/v1/audit/verification": timed(lambda: browser.get("/api/v1/audit/verification")),
            }
            told = browser.get("/api/v1/audit/verification").json()
            with catalog.database.engine.begin() as connection:  # whoever has the file can do this
                for name in ("audit_is_not_changed", "audit_is_not_removed"):
                    connection.execute(text(f"DROP TRIGGER {name}"))
                connection.execute(text("UPDATE audit SET actor = 'nobody' WHERE sequence = 100"))
            keep_up(catalog)
            missed = browser.get("/api/v1/audit/verification").json()
            with catalog.database.engine.begin() as connection:
                connection.execute(text("DELETE FROM settings WHERE key = 'audit_check'"))  # as if a day had passed
            keep_up(catalog)
            found = browser.get("/api/v1/audit/verification").json()
    claims = {
        "every page under 200 ms": all(each["median_ms"] < LIMIT_MS for each in pages.values()),
        "the answer says what was walked and when": told["intact"] and told["walked_rows"] >= rows,
        "an edit of an old row is found by the whole walk": found["first_broken"] == 100,
    }
    write(
        "audit_pages",
        {
            "rows": told["rows"],
            "pages": pages,
            "whole_walk_cpu_s": walk_cpu_s,
            "edit_before_the_whole_walk": {"intact": missed["intact"], "walked_rows": missed["walked_rows"]},
            "edit_after_the_whole_walk": {"intact": found["intact"], "first_broken": found["first_broken"]},
            "claims": claims,
        },
    )
    return 0 if all(claims.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

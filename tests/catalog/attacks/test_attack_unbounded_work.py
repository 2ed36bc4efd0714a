"""Texts, lists and crowds without bounds: a clear answer in little time, and the health answers meanwhile."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from aegis.catalog.server.limits import Lane
from aegis.catalog.server.pages.page import page_routes
from aegis.catalog.service import sessions
from aegis.errors import TooBusyError

DEEP = {
    "brackets": "[" * 20_000,
    "braces": '{"a":' * 20_000,
    "dashes": "- " * 20_000 + "x",
    "closed": "[" * 20_000 + "]" * 20_000,
}
FIELDS = ("policy", "text", "spec.age", "set.age.edges", "k", "purpose", "reason", "columns", "version", "days")
MANY_KEYS = "".join(f"key{number}: 1\n" for number in range(40_000))


def form_of(site: Any, person: str) -> tuple[httpx.Client, str]:
    session = sessions.actor_of_session(site.catalog, secret=site.sessions[person])
    client = httpx.Client(base_url=site.url, timeout=120)
    client.cookies.set("aegis_session", site.sessions[person])
    return client, session.csrf


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_no_nesting_breaks_a_form(battered_site: Any, text: str) -> None:
    site = battered_site
    client, csrf = form_of(site, "provider")
    with client:
        for route in page_routes():
            if route.method != "POST" or route.path in ("/sign-out", "/welcome"):
                continue
            named = {"product": "clinic", "request": site.flow.request_id, "release": site.flow.release_id}
            path = route.path.format_map(defaultdict(lambda: "0" * 32, named))
            form = {"csrf": csrf, **dict.fromkeys(FIELDS, text), "column": "age", "kind": "integer", "role": "label"}
            form["mask.age"] = "="
            answer = client.post(path, data=form)
            assert answer.status_code < 500, (path, answer.text[:200])


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_no_nesting_breaks_the_api(battered_site: Any, text: str) -> None:
    site = battered_site
    client, csrf = form_of(site, "provider")
    with client:
        headers = {"X-CSRF-Token": csrf, "Content-Type": "application/json"}
        for path in ("/products", "/products/clinic/configurations", "/products/clinic/preview"):
            raw = client.post(f"/api/v1{path}", content=text, headers=headers)
            assert raw.status_code in (400, 422), (path, raw.status_code)
        proposed = client.post(
            "/api/v1/products/clinic/configurations", json={"content": text}, headers={"X-CSRF-Token": csrf}
        )
        assert proposed.status_code in (413, 422)


def test_a_policy_of_forty_thousand_keys_is_refused_before_it_is_read(battered_site: Any) -> None:
    """And before that somebody who may not register is."""
    for person, expected in (("consumer", 403), ("provider", 413)):
        client, csrf = form_of(battered_site, person)
        with client:
            form = {"csrf": csrf, "name": "x", "title": "x", "policy": MANY_KEYS}
            form |= {"column": "age", "kind": "integer", "role": "label", "meaning": ""}
            began = time.process_time()
            assert client.post("/register", data=form).status_code == expected
            assert time.process_time() - began < 2, "the server runs in this process: its work counts here"


@pytest.mark.parametrize("links", [13, 20_000])
def test_a_long_list_of_masks_is_refused(battered_site: Any, links: int) -> None:
    client, csrf = form_of(battered_site, "provider")
    with client:
        headers = {"X-CSRF-Token": csrf}
        mask = [{"bucketize": {"width": 10}}] * links
        answer = client.post("/api/v1/products/clinic/preview", json={"column": "age", "mask": mask}, headers=headers)
        assert answer.status_code in (413, 422)
        proposal = {"content": {"masks": {"age": mask}}, "name": "long"}
        answer = client.post("/api/v1/products/clinic/configurations", json=proposal, headers=headers)
        assert answer.status_code in (413, 422)


def test_random_masks_cost_a_preview_nothing(battered_site: Any) -> None:
    client, csrf = form_of(battered_site, "provider")
    with client:
        mask = [{"add_laplace_noise": {"scale": 2.0}}] * 12
        body = {"column": "age", "mask": mask}
        began = time.process_time()
        answer = client.post("/api/v1/products/clinic/preview", json=body, headers={"X-CSRF-Token": csrf})
        assert answer.status_code == 200, answer.text
        assert time.process_time() - began < 1


def test_a_lane_has_room_for_everybody_and_not_for_one_alone() -> None:
    import asyncio

    lane = Lane(at_once=2, waiting=4, share=3)
    free = threading.Event()
    started: list[str] = []

    def take(person: str) -> str:
        started.append(person)
        free.wait(60)
        return person

    async def until(person: str) -> None:
        for _ in range(3_000):
            if person in started:
                return
            await asyncio.sleep(0.01)

    async def crowd() -> list[Any]:
        greedy = [asyncio.create_task(lane.run("greedy", lambda: take("greedy"))) for _ in range(5)]
        await until("greedy")
        modest = asyncio.create_task(lane.run("modest", lambda: take("modest")))
        await until("modest")
        assert sorted(started) == ["greedy", "modest"], "one of the two threads is free for somebody else"
        free.set()
        return await asyncio.gather(*greedy, modest, return_exceptions=True)

    answers = asyncio.run(crowd())
    assert sum(isinstance(answer, TooBusyError) for answer in answers[:5]) == 2
    assert answers[5] == "modest"


@pytest.fixture
def watched(battered_site: Any) -> Iterator[list[float]]:
    """How long the health of the catalog takes to answer, in seconds, while the test runs."""
    took: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        with httpx.Client(base_url=battered_site.url, timeout=60) as client:
            while not stop.wait(0.05):
                began = time.monotonic()
                assert client.get("/api/v1/health").status_code == 200
                took.append(time.monotonic() - began)

    thread = threading.Thread(target=watch)
    thread.start()
    yield took
    stop.set()
    thread.join()


def test_a_crowd_at_the_sign_in_leaves_the_catalog_answerable(
    battered_site: Any, watched: list[float], tmp_path: Path
) -> None:
    """Forty at once; what is over the share of one address is told to come back."""
    page = httpx.get(f"{battered_site.url}/sign-in")
    cookie = page.headers["set-cookie"].split(";")[0]
    csrf = page.text.split('name="csrf" value="')[1].split('"')[0]

    def try_one(number: int) -> int:
        form = {"csrf": csrf, "name": f"nobody-{number}", "password": "wrong wrong wrong"}
        answer = httpx.post(f"{battered_site.url}/sign-in", data=form, headers={"cookie": cookie}, timeout=120)
        return answer.status_code

    with ThreadPoolExecutor(40) as crowd:
        answers = list(crowd.map(try_one, range(40)))
    assert set(answers) <= {401, 429, 503}
    assert watched, "the health was asked for"
    assert statistics.median(watched) < 1

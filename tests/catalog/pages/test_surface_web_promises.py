"""What pages say where a promise has changed: columns that were not asked for, a policy that was tightened later."""

from __future__ import annotations

import re
from typing import Any

import httpx

from aegis.catalog.service import configurations, products, releases, requests, sessions
from aegis.library import clinic
from aegis.library.release import release
from aegis.releases.certificate import certificate_paths


def _browser(site: Any, who: str) -> httpx.Client:
    return httpx.Client(base_url=site.url, cookies={"aegis_session": site.sessions[who]}, timeout=60, verify=False)


def _actor(site: Any, who: str) -> Any:
    return sessions.actor_of_session(site.catalog, secret=site.sessions[who]).actor


def test_a_request_for_some_columns_says_how_to_release_them(battered_site: Any, tmp_path: Any) -> None:
    site = battered_site
    with site.catalog.write(_actor(site, "consumer")) as work:
        asked = requests.ask(work, product="clinic", purpose="to learn", columns=["gender", "age", "health"])
    with site.catalog.write(_actor(site, "expert")) as work:
        listed = configurations.list_configurations(work, product="clinic")
        strict = next(one for one in listed if one.name == "strict")
        requests.decide(work, request_id=asked.id, approve=True, configuration_id=strict.id)
    table = clinic.write_clinic(tmp_path / "home", rows=600)
    whole = tmp_path / "whole.csv"
    release(table, config=configurations.masks_of(strict.content), policy=table.parent / "policy.yaml", out=whole)
    with _browser(site, "provider") as browser:
        page = browser.get(f"/requests/{asked.id}").text
        assert "--columns age,gender,health \\" in page
        assert "--columns" not in browser.get(f"/requests/{site.flow.request_id}").text
        csrf = re.search(r'name="csrf" value="([^"]+)"', page)
        assert csrf is not None
        answer = browser.post(
            f"/requests/{asked.id}/release",
            data={"csrf": csrf[1]},
            files={"certificate": certificate_paths(whole)[0].read_bytes(), "file": ("whole.csv", whole.read_bytes())},
        )
    assert answer.status_code == 409
    assert "columns that the request does not ask for" in answer.text


def test_a_tightened_policy_is_said_on_every_page_of_the_release(battered_site: Any) -> None:
    site = battered_site
    pages = (f"/releases/{site.flow.release_id}", "/products/clinic/releases")
    with _browser(site, "provider") as browser:
        for path in pages:
            assert "present policy" not in browser.get(path).text
        with site.catalog.write(_actor(site, "provider")) as work:
            now = products.product(work, product="clinic")
            policy = {**clinic.POLICY, "k": 2_000}
            products.change(work, product="clinic", version=now.version, policy=policy)
        told = browser.get(pages[0]).text
        assert "Not the present policy." in told
        assert "at least 2000 asked" in told
        assert "fails the present policy" in browser.get(pages[1]).text
    with site.catalog.read(_actor(site, "consumer")) as work:
        said = releases.release(work, release_id=site.flow.release_id).present_policy.said
    with _browser(site, "consumer") as browser:
        assert said[1:40] in browser.get(pages[0]).text

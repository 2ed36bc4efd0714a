"""What stands around every page: signing in, own forms only, headers, limits, files for good."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from aegis.catalog.server.app import PAGE_HEADERS, create_site
from aegis.catalog.server.pages import home_pages, rendering
from aegis.catalog.server.pages.page import NOTICE_COOKIE, Notice, PageContext, PageRoute, page_routes
from aegis.catalog.server.pages.rendering import asset_path, assets
from aegis.catalog.service import people, sessions
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import Settings

PASSWORD = "a clinic that nobody visits"
TEMPLATES = Path(rendering.__file__).parent / "templates"
OPEN = {"/sign-in", "/sign-out", "/link/{secret}", "/sign-in/oidc", "/sign-in/second", "/sign-in/enrol"}


@contextmanager
def made(folder: Path) -> Iterator[Catalog]:
    settings = Settings(argon2_time_cost=1, argon2_memory_kib=64, document_bytes=1 << 16)
    with Catalog.open(f"sqlite:///{folder / 'catalog.sqlite'}", folder / "store", settings=settings) as catalog:
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password=PASSWORD, name="admin", display_name="Ada")
        yield catalog


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with made(tmp_path_factory.mktemp("plumbing")) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def url(catalog: Catalog, serve: Callable[[ASGIApp], AbstractContextManager[str]]) -> Iterator[str]:
    with serve(create_site(catalog)) as address:
        yield address


@pytest.fixture
def anybody(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.fixture
def admin(catalog: Catalog, url: str) -> Iterator[httpx.Client]:
    session = sessions.sign_in(catalog, name="admin", password=PASSWORD, address="test")
    with httpx.Client(base_url=url, timeout=20) as client:
        client.cookies.set("aegis_session", session.secret)
        client.headers["x-test-csrf"] = session.csrf
        yield client


def csrf(client: httpx.Client) -> str:
    return client.headers["x-test-csrf"]


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "nowhere", path)


@pytest.mark.parametrize("route", page_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_nobody_gets_further_than_the_sign_in_page(anybody: httpx.Client, route: Any) -> None:
    answer = anybody.request(route.method, filled(route.path))
    if route.path in OPEN and answer.status_code != 303:
        assert answer.status_code in (200, 403, 404)
    else:
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")


@pytest.mark.parametrize(
    "path", ["/sign-in", "/nowhere", "/products", "/static/nothing.css", asset_path("console.css")]
)
def test_every_answer_carries_the_headers(anybody: httpx.Client, path: str) -> None:
    answer = anybody.get(path)
    assert answer.headers["content-security-policy"] == PAGE_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in PAGE_HEADERS["Content-Security-Policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert ("immutable" in answer.headers["cache-control"]) == (path in {one.path for one in assets().values()})


def test_a_defect_says_nothing_of_itself_and_has_the_headers(
    catalog: Catalog, serve: Callable[[ASGIApp], AbstractContextManager[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(context: PageContext) -> Any:
        raise RuntimeError("canary 4711")

    route = PageRoute(method="GET", path="/defect", handler=defect, is_open=True)
    monkeypatch.setattr(home_pages.routes, "listed", [route])
    with serve(create_site(catalog)) as url:
        answer = httpx.get(f"{url}/defect")
    assert answer.status_code == 500
    assert "canary" not in answer.text
    assert answer.headers["content-security-policy"] == PAGE_HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_no_template_relies_on_inline_script_or_style(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle\s*=", text)
    assert not re.search(r"<style|\son\w+\s*=|javascript:", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))
    assert "|safe" not in text
    assert not re.search(r"https?://", text)


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_every_form_that_writes_carries_the_secret(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    for form in re.findall(r'<form[^>]*method="post".*?</form>', text, re.S):
        assert "csrf(context)" in form


def test_files_are_kept_for_good_under_names_of_their_content(anybody: httpx.Client) -> None:
    for name in ("house.css", "console.css", "progress.js", "icon.svg"):
        plain = anybody.get(asset_path(name), headers={"accept-encoding": "identity"})
        packed = anybody.get(asset_path(name), headers={"accept-encoding": "gzip"})
        assert plain.status_code == packed.status_code == 200
        assert plain.content == packed.content == assets()[name].content
        assert packed.headers["content-encoding"] == "gzip"
        assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert anybody.get("/static/console.000000000000.css").status_code == 404


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_session_cookie_is_out_of_reach_for_scripts_and_other_sites(
    catalog: Catalog, serve: Callable[[ASGIApp], AbstractContextManager[str]], scheme: str
) -> None:
    pages = create_site(catalog)

    async def behind_a_proxy(scope: Scope, receive: Receive, send: Send) -> None:
        await pages({**scope, "scheme": scheme}, receive, send)

    with serve(behind_a_proxy) as url:
        page = httpx.get(f"{url}/sign-in")
        form = {"csrf": _secret_of(page), "name": "admin", "password": PASSWORD}
        kept = page.headers["set-cookie"].split(";")[0]
        answer = httpx.post(f"{url}/sign-in", data=form, headers={"cookie": kept})
    assert answer.status_code == 303
    (cookie,) = [c for c in answer.headers.get_list("set-cookie") if c.startswith("aegis_session=")]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert ("Secure" in cookie) == (scheme == "https")
    assert ("strict-transport-security" in answer.headers) == (scheme == "https")


def _secret_of(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found
    return found[1]


def test_a_wrong_password_keeps_the_name_and_says_so(anybody: httpx.Client) -> None:
    form = {"csrf": _secret_of(anybody.get("/sign-in")), "name": "admin", "password": "wrong wrong wrong"}
    answer = anybody.post("/sign-in", data=form)
    assert answer.status_code == 401
    assert 'value="admin"' in answer.text
    assert 'role="alert"' in answer.text
    assert "wrong wrong wrong" not in answer.text


def test_too_many_attempts_are_refused_with_a_time(
    tmp_path: Path, serve: Callable[[ASGIApp], AbstractContextManager[str]]
) -> None:
    with made(tmp_path) as catalog, serve(create_site(catalog)) as url, httpx.Client(base_url=url) as client:
        form = {"csrf": _secret_of(client.get("/sign-in")), "name": "somebody", "password": "wrong wrong wrong"}
        answers = [client.post("/sign-in", data=form) for _ in range(7)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize("wanted", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "x"])
def test_signing_in_leads_nowhere_else(anybody: httpx.Client, wanted: str) -> None:
    page = anybody.get("/sign-in", params={"next": wanted})
    assert "elsewhere" not in page.text
    form = {"csrf": _secret_of(page), "name": "admin", "password": PASSWORD, "next": wanted}
    assert anybody.post("/sign-in", data=form).headers["location"] == "/"


def test_after_signing_in_one_is_where_one_wanted_to_be(anybody: httpx.Client) -> None:
    sent = anybody.get("/products?q=heart")
    page = anybody.get(sent.headers["location"])
    form = {"csrf": _secret_of(page), "name": "admin", "password": PASSWORD, "next": "/products?q=heart"}
    assert anybody.post("/sign-in", data=form).headers["location"] == "/products?q=heart"


@pytest.mark.parametrize(
    "route", [route for route in page_routes() if route.method == "POST"], ids=lambda route: route.path
)
def test_no_form_counts_without_its_secret(admin: httpx.Client, route: Any) -> None:
    for sent in ({}, {"csrf": "0" * 32}):
        assert admin.post(filled(route.path), data=sent).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "https://elsewhere.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_from_another_site_is_refused_even_with_the_secret(admin: httpx.Client, headers: dict[str, str]) -> None:
    name = f"eve-{len(str(headers))}"
    form = {"csrf": csrf(admin), "name": name, "display_name": "Eve"}
    assert admin.post("/people", data=form, headers=headers).status_code == 403
    assert name not in admin.get("/people").text
    assert admin.post("/people", data=form, headers={"origin": str(admin.base_url).rstrip("/")}).status_code == 200


def test_signing_out_ends_the_session(admin: httpx.Client) -> None:
    assert admin.get("/account").status_code == 200
    kept = admin.cookies["aegis_session"]
    answer = admin.post("/sign-out", data={"csrf": csrf(admin)})
    assert answer.headers["location"] == "/sign-in"
    assert any("aegis_session=" in c and "Max-Age=0" in c for c in answer.headers.get_list("set-cookie"))
    stolen = httpx.get(f"{str(admin.base_url).rstrip('/')}/account", cookies={"aegis_session": kept})
    assert stolen.headers["location"].startswith("/sign-in")


def test_an_old_session_is_like_none(anybody: httpx.Client) -> None:
    anybody.cookies.set("aegis_session", "not a session of ours")
    assert anybody.get("/account").headers["location"].startswith("/sign-in")
    assert anybody.get("/sign-in").status_code == 200


def test_too_large_a_form_is_refused(admin: httpx.Client) -> None:
    form = {"csrf": csrf(admin), "name": "x" * 3_000_000}
    assert admin.post("/people", data=form).status_code == 413
    assert admin.post("/people", data={"csrf": csrf(admin), "name": "x" * 1_500_000}).status_code == 422
    streamed = admin.post(
        "/people",
        content=(b"&name=" + b"x" * 100_000 for _ in range(40)),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert streamed.status_code == 413


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"no boundary"),
        ("multipart/form-data; boundary=x", b"--y\r\nnothing of the kind"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--"),
        ("application/x-www-form-urlencoded", b"%%%&=&=&csrf=%00&a=b=c"),
        ("application/json", b'{"csrf": 1}'),
        ("text/plain", b"csrf=x"),
    ],
)
def test_forms_that_are_none_are_refused_in_words(admin: httpx.Client, kind: str, body: bytes) -> None:
    answer = admin.post("/people", content=body, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500


def test_files_of_a_form_that_is_refused_are_refused_with_it(admin: httpx.Client) -> None:
    path = "/products/nowhere/configurations/upload"
    sent = {"csrf": csrf(admin), "text": "a\0b"}
    assert admin.post(path, data=sent, files={"file": ("x.yaml", b"a: b")}).status_code == 422
    big = {"file": ("x.yaml", b"a" * 3_000_000)}
    assert admin.post(path, data={"csrf": csrf(admin)}, files=big).status_code == 413
    swapped: list[Any] = [("file", ("x.yaml", b"a: b")), ("csrf", (None, csrf(admin)))]
    assert admin.post(path, files=swapped).status_code == 403  # a file before the secret is not even read


def test_a_zero_byte_is_no_text(admin: httpx.Client) -> None:
    assert admin.post("/people", data={"csrf": csrf(admin), "name": "a\0b"}).status_code == 422
    assert admin.get("/products?q=a%00b").status_code == 200
    assert admin.get("/products/a%00b").status_code == 404


@pytest.mark.parametrize("cookie", ["", "x", "bm90IGpzb24=", "WzEsMl0=", "eyJhIjoxfQ==", "\u00fc", "W10="])
def test_what_a_browser_claims_was_said_is_text_at_most(cookie: str) -> None:
    assert Notice.from_cookie(cookie) is None


def test_what_was_said_is_escaped(admin: httpx.Client) -> None:
    admin.cookies.set(NOTICE_COOKIE, Notice(text="<script>alert(1)</script>", bad=True).to_cookie())
    page = admin.get("/account")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert" in page.text


def test_pages_answer_only_to_their_methods(admin: httpx.Client) -> None:
    assert admin.delete("/products").status_code == 405
    assert admin.put("/sign-in").status_code == 405
    assert admin.head("/products").status_code == 200

"""Signing in at an identity provider in a process of its own: what is believed, what is not, and what groups give."""

from __future__ import annotations

import html
import logging
import re
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from aegis.catalog.database.tables import ExternalIdentity, User
from aegis.catalog.records import UserRole
from aegis.catalog.service import people, sessions, tokens
from aegis.catalog.service.openid_provider import OpenIdProvider
from aegis.catalog.service.permissions import SYSTEM, Held
from aegis.catalog.settings import Settings, read_settings
from aegis.errors import InputError, NotSignedInError

from .conftest import SECRET, WIRE, NewBrowser, Provider, here

PASSWORD = "a clinic that nobody visits"


@pytest.fixture
def at_work(new_stage: Any, provider: Provider) -> Any:
    return new_stage(settings=Settings(**provider.settings()))


def session_of(on: Any, browser: Any) -> sessions.SessionActor:
    return sessions.actor_of_session(on.catalog, secret=browser.cookies["aegis_session"])


def with_a_password(on: Any, browser: Any, name: str) -> Any:
    """Sign somebody in with a password, in this browser."""
    with on.write("admin") as work:
        link = people.reset_link(work, user_id=on.user_id(name))
    people.accept_link(on.catalog, secret=link.secret, password=PASSWORD)
    browser.form("/sign-in", {"name": name, "password": PASSWORD})
    return browser


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_somebody_signs_in_with_their_organisation(
    kind: str, new_stage: Any, provider: Provider, browse: NewBrowser
) -> None:
    on = new_stage(kind, settings=Settings(**provider.settings()))
    browser = browse(on)
    assert "Sign in with your organisation" in browser.get("/sign-in?next=/requests").text
    back = browser.visit_provider("/sign-in/oidc?next=/requests")
    assert (back.status_code, back.headers["location"]) == (303, "/requests")
    actor = session_of(on, browser).actor
    assert (actor.name, actor.display_name) == ("ada.lovelace", "Ada Lovelace")
    assert actor.roles == {Held(role=UserRole.EXPERT)}
    browser.post("/sign-out")
    browser.cookies.clear()
    browser.visit_provider()
    assert session_of(on, browser).actor.user_id == actor.user_id  # the same person, not a second one


def test_groups_give_roles_and_take_them_away(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    product = at_work.product("clinic")
    browser = browse(at_work)
    provider.vouch_for(groups=["clinic-team", "a group that nobody mapped"])
    browser.visit_provider()
    actor = session_of(at_work, browser).actor
    assert actor.roles == {Held(role=UserRole.CONSUMER), Held(role=UserRole.PROVIDER, product_id=product.id)}
    with at_work.write("admin") as work:
        people.assign(work, user_id=str(actor.user_id), role="registrar")
    browser.cookies.clear()
    provider.vouch_for(groups="stewards")
    browser.visit_provider()
    assert session_of(at_work, browser).actor.roles == {Held(role=UserRole.EXPERT), Held(role=UserRole.REGISTRAR)}


def test_a_token_loses_what_a_group_gave_when_its_owner_stays_away(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    browser = browse(at_work)
    browser.visit_provider()
    actor = session_of(at_work, browser).actor
    with at_work.catalog.write(actor) as work:
        text = tokens.create_token(work, name="t", scopes=["read"], days=365).text
    at_work.clock.pass_by(days=29)
    assert sessions.actor_of_token(at_work.catalog, text=text).roles
    at_work.clock.pass_by(days=2)
    assert not sessions.actor_of_token(at_work.catalog, text=text).roles


def test_groups_that_only_the_user_info_tells(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    browser = browse(at_work)
    claims = {"sub": "u-1", "preferred_username": "ada"}
    provider.say(claims=claims, userinfo={"sub": "u-1", "groups": ["boss"]})
    browser.visit_provider()
    assert session_of(at_work, browser).actor.is_admin
    stranger = browse(at_work)
    provider.say(claims=claims, userinfo={"sub": "u-2", "groups": ["boss"]})
    stranger.visit_provider()
    assert "aegis_session" not in stranger.cookies


BAD: dict[str, dict[str, Any]] = {
    "another issuer": {"token": {"iss": "https://elsewhere.example"}},
    "for somebody else": {"token": {"aud": "another client"}},
    "for several, and another one asked": {"token": {"aud": ["aegis catalog", "b"], "azp": "b"}},
    "for several, and nobody says who asked": {"token": {"aud": ["aegis catalog", "b"]}},
    "another nonce": {"token": {"nonce": "x" * 43}},
    "no nonce": {"token": {"nonce": None}},
    "no subject": {"token": {"sub": None}},
    "no end": {"token": {"exp": None}},
    "over": {"shift_seconds": -400},
    "from the future": {"shift_seconds": 120},
    "unsigned": {"algorithm": "none"},
    "signed with the client's secret": {"algorithm": "HS256"},
    "a key that nobody knows": {"key_id": "unknown"},
    "the provider says no": {"error": "access_denied"},
    "another provider answers": {"answer_issuer": "https://elsewhere.example"},
    "the provider is out of order": {"status": 500},
}


@pytest.mark.parametrize("told", BAD.values(), ids=BAD.keys())
def test_what_the_provider_says_is_not_believed(
    at_work: Any, provider: Provider, browse: NewBrowser, told: dict[str, Any]
) -> None:
    browser = browse(at_work)
    provider.say(**told)
    back = browser.visit_provider()
    assert (back.status_code, back.headers["location"]) == (303, "/sign-in")
    assert "aegis_session" not in browser.cookies
    assert browser.notice
    with at_work.catalog.read(SYSTEM) as work:
        assert work.session.scalars(select(ExternalIdentity)).all() == []


def test_a_clock_that_is_a_little_off_does_no_harm(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    for shift_s in (30, -330):  # the token lives for 300 s, and 60 s may be off
        provider.say(shift_seconds=shift_s)
        browser = browse(at_work)
        browser.visit_provider()
        assert "aegis_session" in browser.cookies


def test_keys_may_change_and_are_not_fetched_for_every_sign_in(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    ticks = [0.0]
    at_work.catalog.identity_provider = OpenIdProvider(at_work.catalog.settings, ticking=lambda: ticks[0])

    def fetches() -> int:
        return int(WIRE.get(f"{provider.issuer}/state").json()["key_fetches"])

    def signs_in() -> bool:
        browser = browse(at_work)
        browser.visit_provider()
        return "aegis_session" in browser.cookies

    before = fetches()
    assert signs_in()
    assert signs_in()
    assert fetches() == before + 1
    provider.say(rotate=True)
    assert not signs_in()  # it was asked a moment ago: an unknown key does not make it ask each time
    assert fetches() == before + 1
    ticks[0] += 10
    assert signs_in()
    assert fetches() == before + 2
    provider.say(algorithm="ES256")
    assert signs_in()


def test_an_answer_counts_once_and_for_its_browser_only(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    browser, thief = browse(at_work), browse(at_work)
    out = browser.get("/sign-in/oidc")
    answer = here(WIRE.get(out.headers["location"]).headers["location"])
    assert thief.get(answer).headers["location"] == "/sign-in"
    assert "aegis_session" not in thief.cookies
    thief.get("/sign-in/oidc")  # with a flow of its own it is still another one's answer
    thief.get(answer)
    assert "aegis_session" not in thief.cookies
    flow = browser.cookies["aegis_flow"]
    browser.get(answer)
    assert "aegis_session" in browser.cookies
    again = browse(at_work)
    again.cookies.set("aegis_flow", flow)
    again.get(answer)
    assert "aegis_session" not in again.cookies


def test_a_name_that_is_taken_makes_another_person_and_not_that_one(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    provider.vouch_for(preferred_username="admin")
    browser = browse(at_work)
    browser.visit_provider()
    actor = session_of(at_work, browser).actor
    assert actor.user_id != at_work.user_id("admin")
    assert actor.name.startswith("admin-")
    assert not actor.is_admin


def test_somebody_adds_the_account_of_their_organisation(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    back = with_a_password(at_work, browse(at_work), "consumer").link_provider()
    assert back.headers["location"] == "/account"
    other = browse(at_work)
    other.visit_provider()
    assert session_of(at_work, other).actor.user_id == at_work.user_id("consumer")
    taken = with_a_password(at_work, browse(at_work), "provider")
    taken.link_provider()
    assert "somebody else" in taken.notice


def test_only_the_form_of_the_account_begins_to_add_another(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    """A link on another site, or a form of another site, leads nobody to the provider."""
    browser = with_a_password(at_work, browse(at_work), "consumer")
    for answer in (
        browser.get("/sign-in/oidc?link=1"),
        browser.get("/account/organisation"),
        browser.post("/account/organisation"),
        browser.post("/account/organisation", data={"csrf": "x" * 43}),
    ):
        assert provider.issuer not in answer.text + answer.headers.get("location", "")
        assert "aegis_flow" not in browser.cookies
    stranger = browse(at_work)
    assert stranger.form("/account/organisation").headers["location"].startswith("/sign-in")


def test_what_one_person_began_to_add_is_not_added_to_another(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    browser = with_a_password(at_work, browse(at_work), "consumer")
    page = browser.form("/account/organisation")
    flow = browser.cookies["aegis_flow"]
    address = html.unescape(re.findall(r'href="([^"]+)" rel="noreferrer"', page.text)[0])
    answer = here(WIRE.get(address).headers["location"])
    other = with_a_password(at_work, browse(at_work), "provider")
    other.cookies.set("aegis_flow", flow)
    assert other.get(answer).headers["location"] == "/account"
    assert "Somebody else began" in other.notice
    with at_work.read("admin") as work:
        assert work.session.scalars(select(ExternalIdentity)).all() == []


def test_somebody_who_was_switched_off_stays_out(at_work: Any, provider: Provider, browse: NewBrowser) -> None:
    browser = browse(at_work)
    browser.visit_provider()
    with at_work.write("admin") as work:
        people.set_active(work, user_id=str(work.session.scalar(select(ExternalIdentity.user_id))), active=False)
    browser.cookies.clear()
    browser.visit_provider()
    assert "aegis_session" not in browser.cookies
    assert "switched off" in browser.notice


def test_without_local_accounts_no_password_signs_in(new_stage: Any, provider: Provider, browse: NewBrowser) -> None:
    on = new_stage(settings=Settings(**provider.settings(local_accounts=False)))
    assert people.setup_link(on.catalog) is None
    with pytest.raises(NotSignedInError, match="organisation"):
        sessions.sign_in(on.catalog, name="admin", password="a clinic that nobody visits", address="a")
    browser = browse(on)
    page = browser.get("/sign-in").text
    assert "password" not in page.lower()
    provider.vouch_for(groups=["boss"])
    browser.visit_provider()
    assert session_of(on, browser).actor.is_admin
    assert "Invite somebody" not in browser.get("/people").text
    assert browser.form("/people", {"name": "x", "display_name": "x"}).status_code == 409


def test_a_provider_that_cannot_be_reached_is_a_sentence(
    new_stage: Any, provider: Provider, browse: NewBrowser
) -> None:
    settings = provider.settings(oidc_issuer="http://localhost:9")
    browser = browse(new_stage(settings=Settings(**settings)))
    assert browser.get("/sign-in/oidc").headers["location"] == "/sign-in"
    assert "cannot be reached" in browser.notice
    provider.say(issuer_of_document="https://elsewhere.example")
    mistaken = browse(new_stage(settings=Settings(**provider.settings())))
    mistaken.get("/sign-in/oidc")
    assert "oidc_issuer" in mistaken.notice


def test_a_connection_that_breaks_once_is_made_again(new_stage: Any, provider: Provider, browse: NewBrowser) -> None:
    browser = browse(new_stage(settings=Settings(**provider.settings())))
    provider.say(breaks=2)
    assert browser.get("/sign-in/oidc").headers["location"] == "/sign-in"
    assert "cannot be reached" in browser.notice
    provider.say(breaks=1)
    assert browser.get("/sign-in/oidc").headers["location"].startswith(f"{provider.issuer}/authorize")


def test_no_secret_reaches_a_log(
    at_work: Any, provider: Provider, browse: NewBrowser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser = browse(at_work)
    out = browser.get("/sign-in/oidc")
    sent = httpx.URL(out.headers["location"]).params
    caplog.clear()  # what the test's own browser logs is not ours
    back = WIRE.get(out.headers["location"]).headers["location"]
    caplog.clear()
    flow = at_work.catalog.identity_provider
    code = httpx.URL(back).params["code"]
    browser.get(here(back))
    ours = "\n".join(
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("aegis") or "/token" in record.getMessage()
    )
    hidden = [code, SECRET, sent["nonce"], sent["state"], browser.cookies["aegis_session"], "access-token"]
    assert ours
    assert not [secret for secret in hidden if secret in ours]
    assert SECRET not in repr(flow)


def test_settings_that_do_not_fit_together(tmp_path: Any) -> None:
    path = tmp_path / "settings.yaml"
    wrong = {
        "oidc_issuer": "oidc_issuer: http://login.example\npublic_url: https://c.example\noidc_client_id: a",
        "oidc_client_id": "oidc_issuer: https://login.example\npublic_url: https://c.example",
        "public_url": "oidc_issuer: https://login.example\noidc_client_id: a",
        "set it too": "local_accounts: false",
        "map one to admin": "oidc_issuer: https://l.example\noidc_client_id: a\npublic_url: https://c.example\n"
        "local_accounts: false\noidc_roles: {a: expert}",
        "maps a group to one of": "oidc_roles: {a: king}",
        "is a mapping": "oidc_roles: [a]",
        "true or false": "local_accounts: 1",
    }
    for words, text in wrong.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=words):
            read_settings(path)


def test_the_last_administrator_may_be_one_of_the_organisation(
    at_work: Any, provider: Provider, browse: NewBrowser
) -> None:
    provider.vouch_for(groups=["boss"])
    browse(at_work).visit_provider()
    with at_work.catalog.write(SYSTEM) as work:
        # The stage's own administrator has no password: nobody but the one of the organisation can come in.
        mine = work.session.scalars(select(User).where(User.name == "ada.lovelace")).one()
        with pytest.raises(Exception, match="last administrator"):
            people.set_active(work, user_id=mine.id, active=False)

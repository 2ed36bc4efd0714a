"""Rights that reach too far: registering, tokens that outlive a password, addresses that a request makes up."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from aegis.catalog.records import UserRole
from aegis.catalog.server.session import public_origin
from aegis.catalog.service import people, products, seen_requests, sessions, tokens
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.settings import Settings
from aegis.errors import InputError, NotPermittedError, NotSignedInError, RoleError

PASSWORD = "a password of nobody"
COLUMNS = [{"name": "age", "kind": "integer", "role": "quasi_identifying"}]


def newcomer(site: Any, name: str, role: UserRole | None = None) -> str:
    """A new person with one role; gives their id."""
    with site.catalog.write(site.admin) as work:
        link = people.create_user(work, name=name, display_name=name)
        assert link.user is not None
        if role is not None:
            people.assign(work, user_id=link.user.id, role=role.value)
    people.accept_link(site.catalog, secret=link.secret, password=PASSWORD)
    return link.user.id


def test_a_registrar_provides_what_they_registered_and_nothing_else(battered_site: Any) -> None:
    site = battered_site
    user_id = newcomer(site, "rita", UserRole.REGISTRAR)
    actor = sessions.actor_of_user(site.catalog, user_id=user_id)
    with site.catalog.read(actor) as work:
        clinic = products.product(work, product="clinic")
    assert may(actor, Permission.REGISTER_PRODUCT)
    for permission in (Permission.CHANGE_PRODUCT, Permission.SEE_RELEASES, Permission.PUSH_RELEASE):
        assert not may(actor, permission, clinic.id)
    with site.catalog.write(actor) as work:
        mine = products.register(work, name="ritas", title="Rita's", columns=COLUMNS)
    actor = sessions.actor_of_user(site.catalog, user_id=user_id)
    assert may(actor, Permission.CHANGE_PRODUCT, mine.id)
    assert not may(actor, Permission.CHANGE_PRODUCT, clinic.id)


def test_without_the_right_nobody_registers(battered_site: Any) -> None:
    actor = sessions.actor_of_user(battered_site.catalog, user_id=newcomer(battered_site, "carl", UserRole.CONSUMER))
    with pytest.raises(NotPermittedError), battered_site.catalog.write(actor) as work:
        products.register(work, name="carls", title="Carl's", columns=COLUMNS)


@pytest.mark.parametrize("how", ["reset", "change", "switched off and on"])
def test_tokens_end_with_the_password_and_never_come_back(battered_site: Any, how: str) -> None:
    site = battered_site
    name = f"tom-{how.split()[0]}"
    user_id = newcomer(site, name, UserRole.CONSUMER)
    actor = sessions.actor_of_user(site.catalog, user_id=user_id)
    with site.catalog.write(actor) as work:
        token = tokens.create_token(work, name="laptop", scopes=["read"]).text
    assert sessions.actor_of_token(site.catalog, text=token).user_id == user_id
    if how == "reset":
        with site.catalog.write(site.admin) as work:
            link = people.reset_link(work, user_id=user_id)
        people.accept_link(site.catalog, secret=link.secret, password=PASSWORD + " anew")
    elif how == "change":
        people.change_password(site.catalog, actor, old=PASSWORD, new=PASSWORD + " anew")
    else:
        for active in (False, True):
            with site.catalog.write(site.admin) as work:
                people.set_active(work, user_id=user_id, active=active)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_token(site.catalog, text=token)


def test_the_overview_of_a_token_counts_its_product_only(battered_site: Any) -> None:
    site = battered_site
    admin = site.admin
    with site.catalog.write(admin) as work:
        products.register(work, name="lonely", title="Lonely", columns=COLUMNS)
        text = tokens.create_token(work, name="one", scopes=["read"], product="lonely").text
    actor = sessions.actor_of_token(site.catalog, text=text)
    with site.catalog.read(actor) as work:
        seen = seen_requests.overview(work)
    assert seen.products == 1
    assert (seen.requests_of_mine, seen.requests_to_decide, seen.jobs_running) == (0, 0, 0)
    assert seen.recent == ()


def test_a_made_up_host_reaches_no_invitation(battered_site: Any) -> None:
    site = battered_site
    session = sessions.actor_of_session(site.catalog, secret=site.sessions["admin"])
    form = {"csrf": session.csrf, "name": "victim", "display_name": "Victim"}
    with httpx.Client(base_url=site.url) as client:
        client.cookies.set("aegis_session", site.sessions["admin"])
        page = client.post("/people", data=form, headers={"host": "evil.example"})
    assert page.status_code == 200
    assert "evil.example" not in page.text
    assert re.search(r"ADDRESS-OF-THE-CATALOG/link/[\w-]+", page.text)


def test_a_public_address_is_an_address() -> None:
    assert public_origin(Settings(public_url="https://a.example/"), scheme="http", host="b") == "https://a.example"
    for wrong in ("a.example", "javascript:alert(1)", "https://", "https://a/?q"):
        with pytest.raises(InputError):
            Settings(public_url=wrong)


def test_a_column_has_no_role_until_one_is_chosen(battered_site: Any) -> None:
    site = battered_site
    with httpx.Client(base_url=site.url) as client:
        client.cookies.set("aegis_session", site.sessions["provider"])
        page = client.get("/register").text
        chosen = re.findall(r'<select name="role"[^>]*>(.*?)</select>', page, re.S)
        assert chosen
        assert all('<option value="" selected>' in select for select in chosen)
    with pytest.raises(RoleError, match="needs a role"), site.catalog.write(site.admin) as work:
        products.register(work, name="x", title="x", columns=[{"name": "age", "kind": "integer", "role": ""}])

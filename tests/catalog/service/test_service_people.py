"""People: only the right password at the right time opens the door, and nothing secret lies in the database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select, text

from aegis.catalog.database.tables import Audit, Token, User
from aegis.catalog.records import UserRole
from aegis.catalog.service import people, products, sessions, tokens
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import ANONYMOUS, SYSTEM
from aegis.catalog.settings import Settings
from aegis.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    NotPermittedError,
    NotSignedInError,
    TooManyAttemptsError,
)

PASSWORD = "correct horse battery staple"
Stage = Any


@pytest.fixture
def ana(small_stage: Stage) -> Stage:
    """A stage with Ana, who was invited and chose a password."""
    return _with_ana(small_stage)


@pytest.fixture
def ana_everywhere(stage: Stage) -> Stage:
    """The same on every database."""
    return _with_ana(stage)


def _with_ana(stage: Stage) -> Stage:
    with stage.write("admin") as work:
        invited = people.create_user(work, name="ana", display_name="Ana")
    people.accept_link(stage.catalog, secret=invited.secret, password=PASSWORD)
    return stage


def _sign_in(stage: Stage, password: str = PASSWORD, *, name: str = "ana", address: str = "10.0.0.1") -> Any:
    return sessions.sign_in(stage.catalog, name=name, password=password, address=address)


def test_a_session_is_the_person_who_signed_in_until_it_ends(ana: Stage) -> None:
    opened = _sign_in(ana)
    found = sessions.actor_of_session(ana.catalog, secret=opened.secret)
    assert (found.actor.name, found.csrf) == ("ana", opened.csrf)
    with ana.catalog.write(found.actor) as work:
        sessions.sign_out(work, secret=opened.secret)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(ana.catalog, secret=opened.secret)


def test_a_session_expires(ana: Stage) -> None:
    opened = _sign_in(ana)
    ana.clock.pass_by(hours=11.9)
    sessions.actor_of_session(ana.catalog, secret=opened.secret)
    ana.clock.pass_by(hours=0.2)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(ana.catalog, secret=opened.secret)


@pytest.mark.parametrize("name", ["ana", "nobody", "a\0b", "x" * 10_000, "\ud800"])
def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(ana: Stage, name: str) -> None:
    with pytest.raises(NotSignedInError) as caught:
        _sign_in(ana, "wrong password here", name=name)
    assert str(caught.value) == "the name or the password is wrong"


def test_wrong_passwords_slow_down_the_address_they_come_from_and_lock_nobody_out(ana_everywhere: Stage) -> None:
    stage = ana_everywhere
    for _ in range(5):
        with pytest.raises(NotSignedInError):
            _sign_in(stage, "wrong password here", address="10.0.0.66")
    pauses = []
    for _ in range(9):
        with pytest.raises(TooManyAttemptsError) as caught:
            _sign_in(stage, address="10.0.0.66")  # not even the right one is tried
        _sign_in(stage, address="10.0.0.1")  # from elsewhere it is
        pauses.append(caught.value.retry_after_seconds)
        stage.clock.pass_by(seconds=caught.value.retry_after_seconds)
        with pytest.raises(NotSignedInError):
            _sign_in(stage, "wrong password here", address="10.0.0.66")
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    stage.clock.pass_by(seconds=60)
    _sign_in(stage, address="10.0.0.66")


def test_an_address_that_tries_many_names_slows_down_none_of_them(ana: Stage) -> None:
    for number in range(30):
        with pytest.raises(NotSignedInError):
            _sign_in(ana, "wrong password here", name=f"user{number}")
    _sign_in(ana)


def test_the_limit_holds_for_tries_at_the_same_moment(ana_everywhere: Stage) -> None:
    def wrong(_: int) -> type[Exception]:
        try:
            _sign_in(ana_everywhere, "wrong password here", address="10.0.0.77")
        except (NotSignedInError, TooManyAttemptsError) as error:
            return type(error)
        raise AssertionError("a wrong password was taken")

    with ThreadPoolExecutor(12) as crowd:
        answers = list(crowd.map(wrong, range(24)))
    assert answers.count(NotSignedInError) == 5


def test_a_right_password_forgets_the_failures(ana: Stage) -> None:
    for _ in range(3):
        for _ in range(4):
            with pytest.raises(NotSignedInError):
                _sign_in(ana, "wrong password here", address="10.0.0.7")
        _sign_in(ana, address="10.0.0.7")


def test_somebody_switched_off_is_out_at_once(ana: Stage) -> None:
    opened = _sign_in(ana)
    actor = sessions.actor_of_session(ana.catalog, secret=opened.secret).actor
    with ana.catalog.write(actor) as work:
        text_of_token = tokens.create_token(work, name="t", scopes=["read"]).text
    with ana.write("admin") as work:
        people.set_active(work, user_id=str(actor.user_id), active=False)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(ana.catalog, secret=opened.secret)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_token(ana.catalog, text=text_of_token)
    with pytest.raises(NotSignedInError):
        _sign_in(ana)


def test_a_link_works_once_and_not_for_ever(stage: Stage) -> None:
    with stage.write("admin") as work:
        first = people.create_user(work, name="bob", display_name="Bob")
        second = people.create_user(work, name="eve", display_name="Eve")
    assert people.link(stage.catalog, secret=first.secret).user_name == "bob"
    people.accept_link(stage.catalog, secret=first.secret, password=PASSWORD)
    with pytest.raises(NotFoundError):
        people.accept_link(stage.catalog, secret=first.secret, password=PASSWORD)
    stage.clock.pass_by(hours=73)
    with pytest.raises(NotFoundError):
        people.accept_link(stage.catalog, secret=second.secret, password=PASSWORD)
    with pytest.raises(NotFoundError):
        people.link(stage.catalog, secret="made up")


def test_a_reset_ends_the_sessions_and_the_older_links(ana_everywhere: Stage) -> None:
    opened = _sign_in(ana_everywhere)
    with ana_everywhere.write("admin") as work:
        older = people.reset_link(work, user_id=opened.actor.user_id)
    with ana_everywhere.write("admin") as work:
        newer = people.reset_link(work, user_id=opened.actor.user_id)
    with pytest.raises(NotFoundError):
        people.accept_link(ana_everywhere.catalog, secret=older.secret, password="another password 1")
    people.accept_link(ana_everywhere.catalog, secret=newer.secret, password="another password 1")
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(ana_everywhere.catalog, secret=opened.secret)
    _sign_in(ana_everywhere, "another password 1")


def test_the_setup_link_makes_the_first_administrator_and_nobody_else(new_stage: Any) -> None:
    stage = new_stage("sqlite")
    assert people.setup_link(stage.catalog) is None  # there are people already
    with stage.catalog.database.write() as session:
        for table in ("assignments", "users"):
            session.execute(text(f"DELETE FROM {table}"))
        session.commit()
    older, made = people.setup_link(stage.catalog), people.setup_link(stage.catalog)
    assert older is not None
    assert made is not None
    with pytest.raises(NotFoundError):
        people.link(stage.catalog, secret=older.secret)  # the last printed one counts
    with pytest.raises(InputError, match="password"):
        people.accept_link(stage.catalog, secret=made.secret, password="short", name="root", display_name="Root")
    view = people.accept_link(stage.catalog, secret=made.secret, password=PASSWORD, name="root", display_name="Root")
    assert [role.role for role in view.roles] == ["admin"]
    assert people.setup_link(stage.catalog) is None


def test_changing_the_password_needs_the_old_one_and_ends_every_session(ana: Stage) -> None:
    opened = _sign_in(ana)
    with pytest.raises(InputError, match="old password"):
        people.change_password(ana.catalog, opened.actor, old="not the old one", new="another password 1")
    people.change_password(ana.catalog, opened.actor, old=PASSWORD, new="another password 1")
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(ana.catalog, secret=opened.secret)
    with pytest.raises(NotSignedInError):
        _sign_in(ana)
    _sign_in(ana, "another password 1")


def test_roles_are_given_and_taken_and_the_last_administrator_stays(ana_everywhere: Stage) -> None:
    ana_everywhere.product()
    user_id = _sign_in(ana_everywhere).actor.user_id
    with ana_everywhere.write("admin") as work:
        people.assign(work, user_id=user_id, role="expert", product="clinic")
        view = people.assign(work, user_id=user_id, role="expert", product="clinic")  # twice is once
    assert [(role.role, role.product_name) for role in view.roles] == [("expert", "clinic")]
    with ana_everywhere.write("admin") as work:
        assert people.unassign(work, user_id=user_id, role="expert", product="clinic").roles == ()
    with pytest.raises(NotFoundError), ana_everywhere.write("admin") as work:
        people.unassign(work, user_id=user_id, role="expert", product="clinic")
    with pytest.raises(InputError), ana_everywhere.write("admin") as work:
        people.assign(work, user_id=user_id, role="emperor")
    people_admin = ana_everywhere.user_id("admin")
    with ana_everywhere.write("admin") as work:  # an administrator can only be one who has a password
        work.session.get(User, people_admin).password_hash = "x"
    with pytest.raises(ConflictError, match="last administrator"), ana_everywhere.write("admin") as work:
        people.unassign(work, user_id=people_admin, role="admin")
    with pytest.raises(ConflictError, match="last administrator"), ana_everywhere.write("admin") as work:
        people.set_active(work, user_id=people_admin, active=False)


def test_a_name_is_taken_once(ana: Stage) -> None:
    with pytest.raises(ConflictError), ana.write("admin") as work:
        people.create_user(work, name="ana", display_name="Another")


@pytest.mark.parametrize("name", ["", "Ana", "a b", "-a", "a" * 65, "../x", "ü", None, 5, "a" * 32])
def test_names_that_fit_no_address_are_refused(small_stage: Stage, name: Any) -> None:
    with pytest.raises(InputError), small_stage.write("admin") as work:
        people.create_user(work, name=name, display_name="X")


def test_tokens_expire_and_are_revoked_and_do_less_than_their_owner(stage: Stage) -> None:
    made = stage.product()
    with stage.write("provider") as work:
        reading = tokens.create_token(work, name="reader", scopes=["read"], days=10)
        pushing = tokens.create_token(work, name="pusher", scopes=["push"], product="clinic")
    reader = sessions.actor_of_token(stage.catalog, text=reading.text)
    assert reader.name == "provider"
    with stage.catalog.read(reader) as work:
        assert products.product(work, product="clinic").id == made.id
    with pytest.raises(NotPermittedError, match="scopes lack push"), stage.catalog.write(reader) as work:
        products.retire(work, product="clinic")
    pusher = sessions.actor_of_token(stage.catalog, text=pushing.text)
    with pytest.raises(NotPermittedError, match="one product only"), stage.catalog.write(pusher) as work:
        products.register(work, name="other", title="O", columns=stage.parts.columns)
    with stage.catalog.write(pusher) as work:
        products.change(work, product="clinic", version=made.version, title="B")
    for actor in (reader, pusher):
        with pytest.raises(NotPermittedError, match="token may not"), stage.catalog.write(actor) as work:
            tokens.create_token(work, name="child", scopes=["read"])
        with pytest.raises(NotPermittedError):
            people.change_password(stage.catalog, actor, old="x", new=PASSWORD)
    with stage.write("provider") as work:
        tokens.revoke_token(work, token_id=pushing.token.id)
        assert not tokens.revoke_token(work, token_id=pushing.token.id).valid
    with pytest.raises(NotSignedInError):
        sessions.actor_of_token(stage.catalog, text=pushing.text)
    stage.clock.pass_by(days=10)
    with pytest.raises(NotSignedInError, match="expired"):
        sessions.actor_of_token(stage.catalog, text=reading.text)


def test_tokens_of_others_are_not_found_but_an_administrator_revokes_them(stage: Stage) -> None:
    with stage.write("provider") as work:
        made = tokens.create_token(work, name="mine", scopes=["read"])
    with pytest.raises(NotFoundError), stage.write("consumer") as work:
        tokens.revoke_token(work, token_id=made.token.id)
    with pytest.raises(NotPermittedError), stage.read("consumer") as work:
        tokens.list_tokens(work, user_id=stage.user_id("provider"))
    with stage.write("admin") as work:
        assert tokens.list_tokens(work, user_id=stage.user_id("provider")).items[0].prefix == made.text[:12]
        tokens.revoke_token(work, token_id=made.token.id)


@pytest.mark.parametrize(
    "wrong", [{"scopes": []}, {"scopes": ["everything"]}, {"days": 0}, {"days": 10_000}, {"days": True}, {"name": ""}]
)
def test_tokens_without_sense_are_refused(small_stage: Stage, wrong: dict[str, Any]) -> None:
    given = {"name": "t", "scopes": ["read"], "days": 5, **wrong}
    with pytest.raises(InputError), small_stage.write("provider") as work:
        tokens.create_token(work, **given)


def test_a_token_of_one_product_does_not_even_see_the_others(stage: Stage) -> None:
    stage.product()
    stage.product("second")
    with stage.write("provider") as work:
        made = tokens.create_token(work, name="t", scopes=["read", "push"], product="clinic")
    actor = sessions.actor_of_token(stage.catalog, text=made.text)
    with stage.catalog.read(actor) as work:
        assert [each.name for each in products.list_products(work).items] == ["clinic"]
        with pytest.raises(NotFoundError):
            products.product(work, product="second")


def test_no_secret_lies_in_the_database(ana_everywhere: Stage) -> None:
    opened = _sign_in(ana_everywhere)
    with ana_everywhere.catalog.write(opened.actor) as work:
        made = tokens.create_token(work, name="t", scopes=["read"])
    with ana_everywhere.catalog.read(SYSTEM) as work:
        stored = work.session.scalars(select(User.password_hash)).all()
        hashes = work.session.scalars(select(Token.hash)).all()
        told = [str(row.details) for row in work.session.scalars(select(Audit))]
        dumped = str([work.session.execute(text(f"SELECT * FROM {name}")).all() for name in ("sign_ins", "links")])
    assert all(known is None or known.startswith("$argon2id$") for known in stored)
    assert made.text not in hashes
    for secret in (PASSWORD, made.text, opened.secret):
        assert secret not in dumped
        assert not any(secret in each for each in told)
    assert made.text not in repr(made)
    assert opened.secret not in repr(opened)


def test_nobody_is_refused_everywhere(small_stage: Stage) -> None:
    for act in (people.me, people.list_users, tokens.list_tokens, products.list_products):
        with pytest.raises(NotSignedInError), small_stage.catalog.read(ANONYMOUS) as work:
            act(work)


def test_settings_must_make_sense() -> None:
    with pytest.raises(InputError, match="release_bytes"):
        Settings(release_bytes=0)


def test_the_role_of_a_person_counts_from_the_next_question_on(small_stage: Stage) -> None:
    small_stage.person("newcomer")
    assert not small_stage.actor("newcomer").holds_anywhere(UserRole.CONSUMER)
    with small_stage.write("admin") as work:
        people.assign(work, user_id=small_stage.user_id("newcomer"), role="consumer")
    assert small_stage.actor("newcomer").holds(UserRole.CONSUMER, "any")


def test_tokens_that_work_are_found_among_many_that_do_not(small_stage: Stage) -> None:
    with small_stage.write("consumer") as work:
        works = tokens.create_token(work, name="works", scopes=["read"]).token
        for number in range(3):
            made = tokens.create_token(work, name=f"old {number}", scopes=["read"]).token
            tokens.revoke_token(work, token_id=made.id)
    with small_stage.read("admin") as work:
        listed = tokens.list_tokens(work, user_id=small_stage.user_id("consumer"), valid=True, page=PageRequest(size=1))
    assert ([each.id for each in listed.items], listed.next) == ([works.id], None)

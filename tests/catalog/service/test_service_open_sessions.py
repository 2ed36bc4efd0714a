"""One sees where one is signed in, and ends what one does not know; nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from aegis.catalog.service import people, sessions
from aegis.errors import NotFoundError, NotPermittedError, NotSignedInError

PASSWORD = "a clinic that nobody visits"


def signed_in(stage: Any, name: str, times: int) -> list[str]:
    with stage.write("admin") as work:
        link = people.reset_link(work, user_id=stage.user_id(name))
    people.accept_link(stage.catalog, secret=link.secret, password=PASSWORD)
    return [sessions.sign_in(stage.catalog, name=name, password=PASSWORD, address="a").secret for _ in range(times)]


def test_sessions_are_listed_and_ended_one_by_one(stage: Any) -> None:
    here, there, elsewhere = signed_in(stage, "consumer", 3)
    with stage.read("consumer") as work:
        listed = sessions.list_sessions(work, secret=there)
    assert [each.here for each in listed] == [False, True, False]
    assert not any(secret in each.id for each in listed for secret in (here, there, elsewhere))
    with stage.write("consumer") as work:
        sessions.end_session(work, session_id=listed[0].id)
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(stage.catalog, secret=elsewhere)
    with pytest.raises(NotFoundError), stage.write("consumer") as work:
        sessions.end_session(work, session_id=listed[0].id)
    with pytest.raises(NotFoundError), stage.write("provider") as work:
        sessions.end_session(work, session_id=listed[1].id)
    with stage.write("consumer") as work:
        assert sessions.end_others(work, secret=there) == 1
    assert sessions.actor_of_session(stage.catalog, secret=there).actor.name == "consumer"
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(stage.catalog, secret=here)


def test_a_session_that_is_over_is_not_listed_and_a_token_sees_none(small_stage: Any) -> None:
    stage = small_stage
    signed_in(stage, "consumer", 1)
    stage.clock.pass_by(hours=13)
    with stage.read("consumer") as work:
        assert sessions.list_sessions(work) == ()
    from aegis.catalog.service import tokens

    with stage.write("consumer") as work:
        text = tokens.create_token(work, name="t", scopes=["read"], days=1).text
    token = sessions.actor_of_token(stage.catalog, text=text)
    with pytest.raises(NotPermittedError), stage.catalog.read(token) as work:
        sessions.list_sessions(work)


def test_whoever_ends_all_others_ends_more_than_a_page_of_them(
    small_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    *others, here = signed_in(small_stage, "consumer", 5)
    with small_stage.write("consumer") as work:
        assert len(sessions.list_sessions(work, secret=here)) == 2
        assert sessions.end_others(work, secret=here) == 4
    for secret in others:
        with pytest.raises(NotSignedInError):
            sessions.actor_of_session(small_stage.catalog, secret=secret)
    assert sessions.actor_of_session(small_stage.catalog, secret=here).actor.name == "consumer"

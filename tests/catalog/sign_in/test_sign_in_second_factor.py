"""The second factor of local accounts: enrolled, asked for, used once, slowed down, and lost."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aegis.catalog.database.tables import RecoveryCode, SecondFactor
from aegis.catalog.service import audit_log, people, second_factor, sessions, tokens
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.service.second_factor import STEP_SECONDS, code_at, step_of
from aegis.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    NotPermittedError,
    NotSignedInError,
    TooManyAttemptsError,
)

from .conftest import NewBrowser, cheap

PASSWORD = "a clinic that nobody visits"


def with_password(on: Any, name: str = "consumer") -> Any:
    with on.write("admin") as work:
        link = people.reset_link(work, user_id=on.user_id(name))
    people.accept_link(on.catalog, secret=link.secret, password=PASSWORD)
    return on.actor(name)


def enrolled(on: Any, name: str = "consumer") -> tuple[str, tuple[str, ...]]:
    """The secret and the recovery codes of somebody; their clock is at the next code."""
    actor = with_password(on, name)
    with on.catalog.write(actor) as work:
        secret = second_factor.begin_enrolment(work).secret
    codes = second_factor.confirm_enrolment(on.catalog, actor, code=now_code(on, secret))
    on.clock.pass_by(seconds=STEP_SECONDS)
    return secret, codes


def now_code(on: Any, secret: str, *, steps: int = 0) -> str:
    return code_at(secret, step_of(on.clock.now) + steps)


def half(on: Any, name: str = "consumer") -> str:
    began = sessions.begin_sign_in(on.catalog, name=name, password=PASSWORD, address="a")
    assert isinstance(began, sessions.HalfSignedIn)
    return began.secret


def test_a_code_is_asked_for_and_works_once(stage: Any) -> None:
    secret, _ = enrolled(stage)
    with pytest.raises(NotSignedInError, match="second factor"):
        sessions.sign_in(stage.catalog, name="consumer", password=PASSWORD, address="a")
    code = now_code(stage, secret)
    session = second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=f"{code[:3]} {code[3:]}")
    assert sessions.actor_of_session(stage.catalog, secret=session.secret).actor.name == "consumer"
    with pytest.raises(NotSignedInError, match="used already"):
        second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=code)
    with pytest.raises(NotSignedInError):  # nor does the one before, which would still be near enough
        second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=now_code(stage, secret, steps=-1))
    second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=now_code(stage, secret, steps=1))


@pytest.mark.parametrize(("steps", "fine"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_a_phone_whose_clock_is_off_by_one_step(small_stage: Any, steps: int, fine: bool) -> None:
    secret, _ = enrolled(small_stage)
    small_stage.clock.pass_by(seconds=10 * STEP_SECONDS)
    began, code = half(small_stage), now_code(small_stage, secret, steps=steps)
    if fine:
        second_factor.finish_sign_in(small_stage.catalog, secret=began, code=code)
    else:
        with pytest.raises(NotSignedInError):
            second_factor.finish_sign_in(small_stage.catalog, secret=began, code=code)


def test_half_a_sign_in_is_over_after_one_use_and_after_a_while(small_stage: Any) -> None:
    on = small_stage
    secret, _ = enrolled(on)
    began = half(on)
    second_factor.finish_sign_in(on.catalog, secret=began, code=now_code(on, secret))
    on.clock.pass_by(seconds=STEP_SECONDS)
    with pytest.raises(NotSignedInError, match="took too long"):
        second_factor.finish_sign_in(on.catalog, secret=began, code=now_code(on, secret))
    began = half(on)
    on.clock.pass_by(minutes=6)
    with pytest.raises(NotSignedInError, match="took too long"):
        second_factor.finish_sign_in(on.catalog, secret=began, code=now_code(on, secret))
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(on.catalog, secret=began)


def test_wrong_codes_are_slowed_down_for_the_person_wherever_they_come_from(stage: Any) -> None:
    secret, _ = enrolled(stage)
    for _ in range(stage.catalog.settings.sign_in_failures):
        with pytest.raises(NotSignedInError, match="wrong"):
            second_factor.finish_sign_in(stage.catalog, secret=half(stage), code="not it")
    with pytest.raises(TooManyAttemptsError):
        second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=now_code(stage, secret))
    stage.clock.pass_by(seconds=2)
    second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=now_code(stage, secret))


def test_a_recovery_code_works_once_and_is_remembered_as_a_hash(stage: Any) -> None:
    _, codes = enrolled(stage)
    assert len(set(codes)) == second_factor.RECOVERY_CODES
    second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=codes[3].upper())
    with pytest.raises(NotSignedInError):
        second_factor.finish_sign_in(stage.catalog, secret=half(stage), code=codes[3])
    with stage.read("consumer") as work:
        assert second_factor.state(work).recovery_codes_left == second_factor.RECOVERY_CODES - 1
        kept = [code.hash for code in work.session.query(RecoveryCode)]
    assert not [code for code in codes if code.replace("-", "") in "".join(kept)]


def test_it_is_removed_with_a_code_and_by_an_administrator(small_stage: Any) -> None:
    on = small_stage
    secret, codes = enrolled(on)
    with pytest.raises(InputError):
        second_factor.remove(on.catalog, on.actor("consumer"), code="000 000")
    others = second_factor.new_recovery_codes(on.catalog, on.actor("consumer"), code=now_code(on, secret))
    with pytest.raises(NotSignedInError):
        second_factor.finish_sign_in(on.catalog, secret=half(on), code=codes[0])
    second_factor.remove(on.catalog, on.actor("consumer"), code=others[0])
    sessions.sign_in(on.catalog, name="consumer", password=PASSWORD, address="a")
    enrolled(on, "provider")
    with pytest.raises(NotPermittedError), on.write("consumer") as work:
        second_factor.reset(work, user_id=on.user_id("provider"))
    with on.write("admin") as work:
        second_factor.reset(work, user_id=on.user_id("provider"))
    sessions.sign_in(on.catalog, name="provider", password=PASSWORD, address="a")
    with pytest.raises(NotFoundError), on.write("admin") as work:
        second_factor.reset(work, user_id=on.user_id("provider"))


def test_nothing_counts_before_the_first_code(small_stage: Any) -> None:
    on = small_stage
    actor = with_password(on)
    with on.catalog.write(actor) as work:
        second_factor.begin_enrolment(work)
    with pytest.raises(InputError):
        second_factor.confirm_enrolment(on.catalog, actor, code="123")
    sessions.sign_in(on.catalog, name="consumer", password=PASSWORD, address="a")
    with pytest.raises(ConflictError, match="goes with a password"), on.write("provider") as work:
        second_factor.begin_enrolment(work)  # has none


def test_no_token_sets_it_up_and_the_record_tells_and_holds_no_secret(small_stage: Any) -> None:
    on = small_stage
    secret, codes = enrolled(on)
    with on.write("consumer") as work:
        text = tokens.create_token(work, name="t", scopes=["read"], days=1).text
    token = sessions.actor_of_token(on.catalog, text=text)
    with pytest.raises(NotPermittedError), on.catalog.write(token) as work:
        second_factor.begin_enrolment(work)
    with on.catalog.read(SYSTEM) as work:
        rows = audit_log.list_audit(work).items
        assert secret == work.session.get_one(SecondFactor, on.user_id("consumer")).secret
    assert {"second factor added", "recovery codes drawn"} <= {row.action for row in rows}
    assert not [hidden for hidden in (secret, *codes) if hidden in repr(rows)]


def test_where_it_is_required_it_is_set_up_before_the_first_session(new_stage: Any, browse: NewBrowser) -> None:
    on = new_stage(settings=cheap(second_factor_required=True))
    with_password(on)
    browser = browse(on)
    sent = browser.form("/sign-in", {"name": "consumer", "password": PASSWORD})
    assert sent.headers["location"] == "/sign-in/enrol"
    page = browser.get("/sign-in/enrol").text
    secret = re.search(r'<code class="key">([A-Z2-7 ]+)</code>', page)
    assert secret is not None
    assert "data:image/svg+xml" in page
    assert browser.form("/sign-in/enrol", {"code": "nothing"}).status_code == 422
    assert "aegis_session" not in browser.cookies
    done = browser.form("/sign-in/enrol", {"code": now_code(on, secret[1].replace(" ", ""))})
    assert done.text.count('<code class="key">') == second_factor.RECOVERY_CODES
    assert browser.get("/account").status_code == 200
    with pytest.raises(ConflictError, match="asks everybody"):
        second_factor.remove(on.catalog, on.actor("consumer"), code="1")


@pytest.mark.parametrize("how", ["another password", "switched off and on"])
def test_half_a_sign_in_ends_with_the_password_and_with_being_switched_off(small_stage: Any, how: str) -> None:
    on = small_stage
    secret, _ = enrolled(on)
    began = half(on)
    if how == "another password":
        with_password(on)
    else:
        for active in (False, True):
            with on.write("admin") as work:
                people.set_active(work, user_id=on.user_id("consumer"), active=active)
    with pytest.raises(NotSignedInError, match="took too long"):
        second_factor.finish_sign_in(on.catalog, secret=began, code=now_code(on, secret))


def test_a_password_that_is_replaced_while_it_is_compared_opens_nothing(
    small_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = small_stage
    with_password(on)
    compare = sessions.is_password

    def slowly(*given: Any) -> bool:
        right = compare(*given)
        monkeypatch.setattr(sessions, "is_password", compare)
        with on.write("admin") as work:
            link = people.reset_link(work, user_id=on.user_id("consumer"))
        people.accept_link(on.catalog, secret=link.secret, password=f"not {PASSWORD}")
        return right

    monkeypatch.setattr(sessions, "is_password", slowly)
    with pytest.raises(NotSignedInError):
        sessions.sign_in(on.catalog, name="consumer", password=PASSWORD, address="a")


def test_everybody_who_is_half_in_sees_another_secret_and_confirms_their_own(new_stage: Any) -> None:
    """One secret for all of them was shown to whoever else knew the password, who then had the codes as well."""
    on = new_stage(settings=cheap(second_factor_required=True))
    with_password(on)
    mine, theirs = half(on), half(on)
    seen = [second_factor.begin_required_enrolment(on.catalog, secret=each).secret for each in (mine, theirs, mine)]
    assert seen[0] == seen[2] != seen[1]
    with pytest.raises(InputError, match="wrong"):
        second_factor.finish_required_enrolment(on.catalog, secret=mine, code=now_code(on, seen[1]))
    second_factor.finish_required_enrolment(on.catalog, secret=mine, code=now_code(on, seen[0]))
    for late in (second_factor.begin_required_enrolment, second_factor.half_signed_in):
        with pytest.raises(NotSignedInError, match="took too long"):
            late(on.catalog, secret=theirs)


def test_switching_it_on_ends_the_sessions_that_had_the_password_alone(small_stage: Any) -> None:
    on = small_stage
    actor = with_password(on)
    here, there = (
        sessions.sign_in(on.catalog, name="consumer", password=PASSWORD, address="a").secret for _ in range(2)
    )
    with on.catalog.write(actor) as work:
        secret = second_factor.begin_enrolment(work).secret
    second_factor.confirm_enrolment(on.catalog, actor, code=now_code(on, secret), session=here)
    assert sessions.actor_of_session(on.catalog, secret=here).actor.name == "consumer"
    with pytest.raises(NotSignedInError):
        sessions.actor_of_session(on.catalog, secret=there)


def test_an_open_link_ends_with_a_password_that_was_chosen_meanwhile(small_stage: Any) -> None:
    on = small_stage
    actor = with_password(on)
    with on.write("admin") as work:
        link = people.reset_link(work, user_id=on.user_id("consumer"))
    people.change_password(on.catalog, actor, old=PASSWORD, new=f"not {PASSWORD}")
    with pytest.raises(NotFoundError, match="unknown, used or too old"):
        people.accept_link(on.catalog, secret=link.secret, password=PASSWORD)


def test_the_pages_from_the_password_to_the_account(new_stage: Any, browse: NewBrowser) -> None:
    on = new_stage(settings=cheap())
    with_password(on)
    browser = browse(on)
    browser.form("/sign-in", {"name": "consumer", "password": PASSWORD})
    begun = browser.form("/account/second-factor/begin")
    secret = re.search(r'<code class="key">([A-Z2-7 ]+)</code>', begun.text)
    assert secret is not None
    key = secret[1].replace(" ", "")
    assert browser.form("/account/second-factor/confirm", {"code": now_code(on, key)}).status_code == 200
    assert "On since" in browser.get("/account").text
    other = browse(on)
    other.get("/requests")
    sent = other.form("/sign-in", {"name": "consumer", "password": PASSWORD, "next": "/requests"})
    assert sent.headers["location"] == "/sign-in/second?next=%2Frequests"
    assert other.get("/requests").status_code == 303  # half is not in
    wrong = other.form("/sign-in/second", {"code": "12", "next": "/requests"})
    assert wrong.status_code == 401
    on.clock.pass_by(seconds=STEP_SECONDS)
    right = other.form("/sign-in/second", {"code": now_code(on, key), "next": "/requests"})
    assert right.headers["location"] == "/requests"
    assert other.get("/requests").status_code == 200
    assert browse(on).get("/sign-in/second").headers["location"].startswith("/sign-in")

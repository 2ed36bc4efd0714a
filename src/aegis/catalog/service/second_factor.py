"""The second factor of local accounts: enrolled with an app, proved at every sign-in, replaced by codes on paper.

Wrong codes are slowed down like wrong passwords, counted for the person: whoever gets this far knows the password
already. A code works once, and so does a recovery code.

Codes are time-based one-time passwords (RFC 6238): six digits, thirty seconds, SHA-1, the parameters that every app
knows. SHA-1 is not a weakness here: HMAC needs no collision resistance.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sqlalchemy import delete, func, select

from aegis.catalog.database.tables import HalfSignIn, RecoveryCode, SecondFactor, SignIn, User
from aegis.catalog.service.catalog import Catalog, Work, by_id
from aegis.catalog.service.people import found_user
from aegis.catalog.service.permissions import ANONYMOUS, Actor, Permission, require
from aegis.catalog.service.sessions import (
    HalfSignedIn,
    SignedIn,
    attempt_succeeded,
    begin_attempt,
    hash_of,
    open_session,
)
from aegis.errors import ConflictError, InputError, NotFoundError, NotSignedInError

RECOVERY_CODES = 10
_WRONG = "the code is wrong, too old or was used already; wait for the next one"
_OVER = "the sign-in took too long; begin again"
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is mistaken for something else on paper


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorState:
    """Whether somebody has a second factor, since when, and how many recovery codes are left."""

    since: datetime.datetime | None
    recovery_codes_left: int

    @property
    def is_on(self) -> bool:
        return self.since is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """A secret that waits for its first right code; shown to its owner only."""

    account: str
    secret: str = field(repr=False)


def state(work: Work) -> FactorState:
    """One's own second factor."""
    require(work.actor, Permission.MANAGE_SECOND_FACTOR)
    return factor_state(work, work.user_id)


def factor_state(work: Work, user_id: str) -> FactorState:
    """The second factor of somebody."""
    factor = work.session.get(SecondFactor, user_id)
    unused = (RecoveryCode.user_id == user_id, RecoveryCode.used_at.is_(None))
    left = work.session.scalar(select(func.count()).select_from(RecoveryCode).where(*unused))
    return FactorState(since=None if factor is None else factor.confirmed_at, recovery_codes_left=left or 0)


def begin_enrolment(work: Work) -> Enrolment:
    """A new secret to put into an app; it counts once `confirm_enrolment` saw a code of it. Not with a token."""
    require(work.actor, Permission.MANAGE_SECOND_FACTOR)
    person = by_id(work, User, work.user_id, lock=True)
    if person is None or person.password_hash is None:
        raise ConflictError("a second factor goes with a password here; your organisation asks for its own")
    stored = work.session.get(SecondFactor, person.id)
    if stored is not None and stored.confirmed_at is not None:
        raise ConflictError("there is a second factor already; remove it first")
    secret = new_totp_secret()
    _wait_for_code(work, person, secret)
    return Enrolment(account=person.name, secret=secret)


def confirm_enrolment(catalog: Catalog, actor: Actor, *, code: str, session: str | None = None) -> tuple[str, ...]:
    """Switch it on with a first code; gives the recovery codes, which are never shown again.

    Every session of this person ends but the one whose secret is ``session``.
    """
    require(actor, Permission.MANAGE_SECOND_FACTOR)
    with catalog.write(actor) as work:
        _begin(work, str(actor.user_id))
    with catalog.write(actor) as work:
        return _confirm(work, str(actor.user_id), code, session=session)


def remove(catalog: Catalog, actor: Actor, *, code: str) -> None:
    """Switch one's own off again, with a code of it or a recovery code."""
    require(actor, Permission.MANAGE_SECOND_FACTOR)
    if catalog.settings.second_factor_required:
        raise ConflictError("this catalog asks everybody for a second factor; it can be replaced, not left out")
    _prove(catalog, actor, user_id=str(actor.user_id), code=code)
    with catalog.write(actor) as work:
        _remove(work, str(actor.user_id))


def new_recovery_codes(catalog: Catalog, actor: Actor, *, code: str) -> tuple[str, ...]:
    """Other recovery codes in place of those there are, with a code of the app."""
    require(actor, Permission.MANAGE_SECOND_FACTOR)
    _prove(catalog, actor, user_id=str(actor.user_id), code=code)
    with catalog.write(actor) as work:
        return _draw_codes(work, str(actor.user_id))


def reset(work: Work, *, user_id: str) -> None:
    """Take away the second factor of somebody who lost it; they sign in with the password alone and enrol again."""
    require(work.actor, Permission.MANAGE_PEOPLE)
    if not factor_state(work, found_user(work, user_id).id).is_on:
        raise NotFoundError("this person has no second factor; there is nothing to take away")
    _remove(work, user_id)


def half_signed_in(catalog: Catalog, *, secret: str) -> HalfSignedIn:
    """Who is half signed in; `NotSignedInError` where nobody is, or not in time."""
    with catalog.read(ANONYMOUS) as work:
        half, person = _half(work, secret)
        return HalfSignedIn(secret=secret, name=person.name, must_enrol=not factor_state(work, half.user_id).is_on)


def finish_sign_in(catalog: Catalog, *, secret: str, code: str) -> SignedIn:
    """The second half: a code of the app or a recovery code opens the session."""
    with catalog.read(ANONYMOUS) as work:
        half, person = _half(work, secret)
    _prove(catalog, ANONYMOUS, user_id=half.user_id, code=code)
    with catalog.write(ANONYMOUS) as work:
        _half(work, secret)  # two tries at the same moment open one session
        work.session.execute(delete(HalfSignIn).where(HalfSignIn.hash == hash_of(secret)))
        return open_session(work, user_id=person.id, by="password and second factor")


def begin_required_enrolment(catalog: Catalog, *, secret: str) -> Enrolment:
    """The secret for somebody who must have a second factor before they come in; the same one each time they look.

    It belongs to this half of a sign-in alone: whoever else knows the password sees another one, and only a code of
    this one switches it on.
    """
    with catalog.read(ANONYMOUS) as work:
        half, person = _half(work, secret)
        _check_unconfirmed(work, half.user_id)
        return Enrolment(account=person.name, secret=totp_secret_of(secret))


def finish_required_enrolment(catalog: Catalog, *, secret: str, code: str) -> tuple[SignedIn, tuple[str, ...]]:
    """Switch it on with a first code and come in; gives the recovery codes too. Whoever else was half in is out."""
    with catalog.write(ANONYMOUS) as work:
        half, _ = _half(work, secret)
        _begin(work, half.user_id)
    with catalog.write(ANONYMOUS) as work:
        half, person = _half(work, secret)
        by_id(work, User, person.id, lock=True)  # of two who are half in one sets it up
        _check_unconfirmed(work, person.id)
        _wait_for_code(work, person, totp_secret_of(secret))
        codes = _confirm(work, person.id, code)
        return open_session(work, user_id=person.id, by="password and second factor"), codes


def _check_unconfirmed(work: Work, user_id: str) -> None:
    factor = work.session.get(SecondFactor, user_id, populate_existing=True)
    if factor is not None and factor.confirmed_at is not None:
        raise ConflictError("there is a second factor already; sign in with a code of it")


def _wait_for_code(work: Work, person: User, secret: str) -> None:
    """Keep a secret in place of one that waited before, until a first code of it was right."""
    work.session.execute(delete(SecondFactor).where(SecondFactor.user_id == person.id))
    work.session.add(SecondFactor(user_id=person.id, secret=secret, created_at=work.now, last_step=-1))
    work.session.flush()


def _confirm(work: Work, user_id: str, code: Any, *, session: str | None = None) -> tuple[str, ...]:
    factor = work.session.get(SecondFactor, user_id, with_for_update=True)
    if factor is None or factor.confirmed_at is not None:
        raise ConflictError("nothing waits for a first code; begin again")
    step = matching_step(factor.secret, _digits(code), now=work.now, after=factor.last_step)
    if step is None:
        raise InputError(_WRONG)
    factor.last_step, factor.confirmed_at = step, work.now
    # Whoever came in, or half in, with the password alone has to prove a code as well.
    work.session.execute(delete(HalfSignIn).where(HalfSignIn.user_id == user_id))
    work.session.execute(delete(SignIn).where(SignIn.user_id == user_id, SignIn.hash != hash_of(session or "")))
    attempt_succeeded(work, name=user_id, address=_place(user_id))
    work.record("second factor added", ("user", user_id))
    return _draw_codes(work, user_id)


def _prove(catalog: Catalog, actor: Actor, *, user_id: str, code: Any) -> None:
    """Raise unless the code is right; it is used up with that, in a transaction of its own."""
    with catalog.write(actor) as work:
        _begin(work, user_id)
    with catalog.write(actor) as work:
        proved = _use(work, user_id, _digits(code))
        if proved:
            attempt_succeeded(work, name=user_id, address=_place(user_id))
        else:
            work.record("second factor failed", ("user", user_id))
    if not proved:
        raise NotSignedInError(_WRONG) if actor is ANONYMOUS else InputError(_WRONG)


def _use(work: Work, user_id: str, code: str) -> bool:
    factor = work.session.get(SecondFactor, user_id, with_for_update=True)
    if factor is None or factor.confirmed_at is None:
        return False
    if len(code) == DIGITS and code.isdigit():
        step = matching_step(factor.secret, code, now=work.now, after=factor.last_step)
        if step is None:
            return False
        factor.last_step = step
        return True
    stored = work.session.get(RecoveryCode, _code_hash(user_id, code), with_for_update=True)
    if stored is None or stored.used_at is not None:
        return False
    stored.used_at = work.now
    work.record("recovery code used", ("user", user_id))
    return True


def _begin(work: Work, user_id: str) -> None:
    begin_attempt(work, name=user_id, address=_place(user_id))


def _place(user_id: str) -> str:
    return f"second factor:{user_id}"


def _remove(work: Work, user_id: str) -> None:
    work.session.execute(delete(SecondFactor).where(SecondFactor.user_id == user_id))
    work.session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    work.record("second factor removed", ("user", user_id))


def _draw_codes(work: Work, user_id: str) -> tuple[str, ...]:
    work.session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    letters = ("".join(secrets.choice(_LETTERS) for _ in range(20)) for _ in range(RECOVERY_CODES))
    drawn = tuple("-".join(code[at : at + 5] for at in range(0, 20, 5)) for code in letters)
    work.session.add_all(
        RecoveryCode(hash=_code_hash(user_id, code.replace("-", "")), user_id=user_id) for code in drawn
    )
    work.record("recovery codes drawn", ("user", user_id))
    return drawn


def _code_hash(user_id: str, code: str) -> str:
    return hash_of(f"recovery {user_id} {code}")


def _digits(code: Any) -> str:
    """A code as it was typed, without the blanks and dashes that apps and paper show."""
    return "".join(code.split()).replace("-", "").lower()[:64] if isinstance(code, str) else ""


def _half(work: Work, secret: str) -> tuple[HalfSignIn, User]:
    half = work.session.get(HalfSignIn, hash_of(secret), populate_existing=True)
    person = None if half is None else work.session.get(User, half.user_id)
    if half is None or person is None or half.expires_at <= work.now or not person.active:
        raise NotSignedInError(_OVER)
    return half, person


# Codes of an authenticator app

STEP_SECONDS = 30
DIGITS = 6
_AROUND = 1
"""How many steps a phone's clock may be off, to either side."""


def new_totp_secret() -> str:
    """160 random bits in base32, as apps want them typed."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def totp_secret_of(secret: str) -> str:
    """160 bits in base32 that only who holds another secret can work out, the same each time.

    >>> totp_secret_of("one") == totp_secret_of("one") != totp_secret_of("another")
    True
    """
    return base64.b32encode(hmac.new(secret.encode(), b"second factor", hashlib.sha256).digest()[:20]).decode()


def step_of(now: datetime.datetime) -> int:
    """The number of the thirty seconds that a moment lies in."""
    return int(now.timestamp()) // STEP_SECONDS


def code_at(secret: str, step: int) -> str:
    """The code of a step.

    >>> code_at(base64.b32encode(b"12345678901234567890").decode(), 59 // 30)  # RFC 6238, appendix B
    '287082'
    """
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    start = digest[-1] & 0x0F
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def matching_step(secret: str, code: str, *, now: datetime.datetime, after: int) -> int | None:
    """The step whose code it is, if that step is near and later than ``after``: what was used once is used up."""
    present = step_of(now)
    fitting = None
    for step in range(present - _AROUND, present + _AROUND + 1):  # all of them, so that time tells nothing
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode("utf-8", "replace")) and step > after:
            fitting = step
    return fitting


def enrolment_address(secret: str, *, account: str, issuer: str) -> str:
    """What the picture for an authenticator holds.

    >>> enrolment_address("GEZDGNBV", account="ada", issuer="Aegis catalog")
    'otpauth://totp/Aegis%20catalog:ada?secret=GEZDGNBV&issuer=Aegis%20catalog&digits=6&period=30'
    """
    named = f"{quote(issuer)}:{quote(account)}"
    return f"otpauth://totp/{named}?secret={secret}&issuer={quote(issuer)}&digits={DIGITS}&period={STEP_SECONDS}"

"""Codes of an authenticator app: time-based one-time passwords (RFC 6238), six digits, thirty seconds, SHA-1.

These are the parameters that every app knows. SHA-1 is not a weakness here: HMAC needs no collision resistance.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import secrets
import struct
from urllib.parse import quote

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

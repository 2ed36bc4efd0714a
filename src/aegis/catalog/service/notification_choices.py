"""How somebody is notified beside the inbox: by mail, by a webhook, or not at all. One choice for each person.

A mail address counts once the code that was sent to it came back, so that nobody sends mails to others. The secret of
a webhook is shown when it is made and never again. Its address leads to the public internet, and into private networks
only where an administrator says so: a name is looked up once and what it answers is checked; the connection then goes
to exactly that address. Whoever answers with another one the next time gains nothing.
"""

from __future__ import annotations

import base64
import datetime
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy import delete, select

from aegis.catalog import records
from aegis.catalog.database.tables import Delivery, NotificationChoice
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.notifications import Channel, enqueue
from aegis.catalog.service.permissions import Actor, Permission, require
from aegis.catalog.service.sessions import attempt_succeeded, begin_attempt, hash_of
from aegis.catalog.states import DeliveryState
from aegis.errors import ConflictError, InputError

SECRET_PREFIX = "whsec_"  # noqa: S105 - as the Standard Webhooks write it
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.?)*[A-Za-z0-9]")
_CODE_HOURS = 24


def choice(work: Work) -> records.NotificationChoice:
    """How one is notified beside the inbox."""
    require(work.actor, Permission.SEE_OWN_NOTIFICATIONS)
    row = work.session.get(NotificationChoice, work.actor.user_id)
    return _as_record(work, row)


def check_webhook(catalog: Catalog, actor: Actor, url: str | None) -> None:
    """Raise where a webhook leads nowhere or into a private network. Before `choose`: the name service may be slow, and
    no lock of the database is held meanwhile; it is asked again whenever something is sent."""
    require(actor, Permission.CHOOSE_NOTIFICATIONS)
    if url:
        checked_destination(read_address(url), networks=read_networks(catalog.settings.webhook_networks))


def choose(
    work: Work, *, channel: str, mail_address: str | None = None, webhook_url: str | None = None
) -> records.NewNotificationChoice:
    """Choose how to be notified. A new mail address is sent a code; a new webhook gets a secret, shown once."""
    require(work.actor, Permission.CHOOSE_NOTIFICATIONS)
    if channel not in set(Channel):
        raise InputError(f"a channel is one of {', '.join(Channel)}")
    if channel != Channel.MAIL and mail_address:
        raise InputError("a mail address is used where mail is chosen; leave it out")
    if channel != Channel.WEBHOOK and webhook_url:
        raise InputError("an address of a webhook is used where webhook is chosen; leave it out")
    row = work.session.get(NotificationChoice, work.actor.user_id, with_for_update=True)
    if row is None:
        row = NotificationChoice(user_id=work.user_id, channel=Channel.INBOX.value, changed_at=work.now)
        work.session.add(row)
    row.channel, row.changed_at = channel, work.now
    secret = ""
    if channel == Channel.MAIL:
        _choose_mail(work, row, mail_address)
    elif channel == Channel.WEBHOOK:
        secret = _choose_webhook(work, row, webhook_url)
    work.session.flush()
    work.record("notifications chosen", ("user", work.user_id), channel=channel)
    return records.NewNotificationChoice(choice=_as_record(work, row), secret=secret)


def _choose_mail(work: Work, row: NotificationChoice, mail_address: str | None) -> None:
    if not work.settings.smtp_host:
        raise ConflictError("this catalog sends no mail; an administrator sets smtp_host, or choose another way")
    address = (mail_address or "").strip()
    if len(address) > 254 or not _ADDRESS.fullmatch(address):
        raise InputError("a mail address is like name@example.org")
    if address == row.mail_address and row.mail_confirmed_at is not None:
        return
    row.mail_address, row.mail_confirmed_at, row.code_hash, row.code_expires_at = address, None, None, None
    waiting = (Delivery.user_id == row.user_id, Delivery.notification_id.is_(None))
    work.session.execute(delete(Delivery).where(*waiting, Delivery.state == DeliveryState.WAITING))
    enqueue(work, user_id=row.user_id, channel=Channel.MAIL, notification_id=None)


def _choose_webhook(work: Work, row: NotificationChoice, webhook_url: str | None) -> str:
    read_address(webhook_url or "")
    if webhook_url == row.webhook_url and row.webhook_secret is not None:
        return ""
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    row.webhook_url, row.webhook_secret = webhook_url, secret
    return SECRET_PREFIX + secret


def new_code(work: Work, *, user_id: str) -> str:
    """A fresh code for the mail that is just being sent; the one before counts no longer."""
    row = work.session.get_one(NotificationChoice, user_id, with_for_update=True)
    code = secrets.token_hex(4)
    row.code_hash = hash_of(code)
    row.code_expires_at = work.now + datetime.timedelta(hours=_CODE_HOURS)
    return code


def confirm(catalog: Catalog, actor: Actor, *, code: str) -> records.NotificationChoice:
    """The code of the mail came back: from now on mails go there. Wrong codes are slowed down as passwords are."""
    require(actor, Permission.CHOOSE_NOTIFICATIONS)
    where = f"code:{actor.user_id}"
    with catalog.write(actor) as work:
        begin_attempt(work, name=actor.name, address=where)
    with catalog.write(actor) as work:
        row = work.session.get(NotificationChoice, actor.user_id, with_for_update=True)
        waits = row is not None and row.code_expires_at is not None and row.code_expires_at > work.now
        expected_hash = row.code_hash if row is not None and waits else None
        if row is None or not hmac.compare_digest(expected_hash or "", hash_of(code.strip().lower())):
            raise InputError("the code is wrong or too old; look at the newest mail, or choose the address again")
        attempt_succeeded(work, name=actor.name, address=where)
        row.mail_confirmed_at, row.code_hash, row.code_expires_at = work.now, None, None
        assert actor.user_id is not None
        work.record("mail address confirmed", ("user", actor.user_id))
        work.session.flush()
        return _as_record(work, row)


def _as_record(work: Work, row: NotificationChoice | None) -> records.NotificationChoice:
    failed = None
    if row is not None and row.channel != Channel.INBOX:
        failed = work.session.scalar(
            select(Delivery.reason)
            .where(Delivery.user_id == row.user_id, Delivery.channel == row.channel, Delivery.reason.is_not(None))
            .where(Delivery.state != DeliveryState.SENT, Delivery.created_at >= row.changed_at)
            .order_by(Delivery.created_at.desc())
            .limit(1)
        )
    return records.NotificationChoice(
        channel=Channel.INBOX.value if row is None else row.channel,
        mail_address=None if row is None else row.mail_address,
        mail_confirmed=row is not None and row.mail_confirmed_at is not None,
        mail_offered=bool(work.settings.smtp_host),
        webhook_url=None if row is None else row.webhook_url,
        failed=failed,
    )


# Which addresses a webhook may have

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Iterable[str]]
_LONGEST = 2_000
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAddress:
    """The parts of an address that was read."""

    encrypted: bool
    host: str
    port: int
    target: str


def read_address(url: str) -> WebhookAddress:
    """An ``https`` address, or an ``http`` one, which only an allowed private network may have.

    >>> read_address("https://hooks.example/aegis?team=1").target
    '/aegis?team=1'
    >>> read_address("https://me:secret@hooks.example/")
    Traceback (most recent call last):
        ...
    aegis.errors.InputError: the address of a webhook is like https://hooks.example/path, without a name or password
    """
    wrong = InputError("the address of a webhook is like https://hooks.example/path, without a name or password")
    if not isinstance(url, str) or len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise wrong
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise wrong
    encrypted = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    return WebhookAddress(
        encrypted=encrypted,
        host=parts.hostname,
        port=port or (443 if encrypted else 80),
        target=(parts.path or "/") + query,
    )


def read_networks(text: str) -> tuple[Network, ...]:
    """The networks of a setting, separated by commas.

    >>> read_networks("10.1.0.0/16, ::1")
    (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError("the setting webhook_networks lists networks like 10.1.0.0/16, with commas") from None


def resolved(host: str, port: int) -> list[str]:
    """What the name service answers."""
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def checked_destination(address: WebhookAddress, *, networks: tuple[Network, ...], resolve: Resolve = resolved) -> str:
    """The one address to connect to; `InputError` unless every address of the name may be reached."""
    try:
        addresses = [ipaddress.ip_address(text.split("%")[0]) for text in resolve(address.host, address.port)]
    except (OSError, ValueError, UnicodeError):
        raise InputError("the host of the webhook has no address; check its name") from None
    if not addresses:
        raise InputError("the host of the webhook has no address; check its name")
    inside = [any(ip in network for network in networks if network.version == ip.version) for ip in addresses]
    if not all(allowed or is_public(ip) for allowed, ip in zip(inside, addresses, strict=True)):
        raise InputError(
            "the webhook leads into a private network; an administrator may allow it in the setting webhook_networks"
        )
    if not address.encrypted and not all(inside):
        raise InputError("a webhook on the internet must be https; its messages would travel in the clear")
    return str(addresses[0])


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet, also where it wraps another one.

    >>> [is_public(ipaddress.ip_address(text)) for text in ("93.184.216.34", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1")]
    [True, False, False, False]
    >>> is_public(ipaddress.ip_address("fec0::1"))  # private networks of old, which Python calls global
    False
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved

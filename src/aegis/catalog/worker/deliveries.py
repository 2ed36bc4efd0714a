"""Takes messages out of the outbox and sends them, beside the jobs: a long job keeps nobody waiting for a mail.

A mail is handed to a mail server; a webhook is a signed request to somebody's own address. The signature is that of the
Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over the id, the time and the body, so that a receiver
checks it with the libraries that there are. The connection goes to the address that was checked, and nowhere else: no
redirect is followed, and no second answer of the name service counts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import logging
import os
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

from aegis._version import __version__
from aegis.catalog.service import outbox
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.notification_choices import (
    Resolve,
    WebhookAddress,
    checked_destination,
    read_address,
    read_networks,
    resolved,
)
from aegis.catalog.service.notifications import Channel
from aegis.catalog.service.outbox import Message
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.settings import SMTP_PASSWORD_VARIABLE, Settings
from aegis.errors import AegisError, InputError

_log = logging.getLogger("aegis.deliveries")
_POLL_SECONDS = 1.0
Send = Callable[[Message, Settings], None]


def send(message: Message, settings: Settings) -> None:
    """Send a message the way that its person chose."""
    if message.channel is Channel.MAIL:
        send_mail(message, settings=settings)
    else:
        send_webhook(message, settings=settings)


@contextmanager
def delivering(catalog: Catalog, *, worker: str) -> Iterator[None]:
    """Send in a thread of its own until the block ends; what is just being sent is finished first."""
    stop = threading.Event()
    thread = threading.Thread(target=run_deliveries, args=(catalog, stop), kwargs={"worker": worker}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=45)


def run_deliveries(
    catalog: Catalog, stop: threading.Event, *, worker: str, poll_seconds: float = _POLL_SECONDS, send: Send = send
) -> None:
    """Send what is due until ``stop`` is set."""
    while not stop.is_set():
        try:
            while not stop.is_set() and deliver_one(catalog, worker=worker, send=send):
                pass
        except AegisError as error:  # the database may be restarting; it is asked again
            _log.warning("deliveries wait: %s", error)
        except Exception as error:  # a defect must not end all deliveries for good, and its message could hold values
            _log.error("a delivery broke off (%s)", type(error).__name__)
        stop.wait(poll_seconds)


def deliver_due(catalog: Catalog, *, worker: str, send: Send = send) -> int:
    """Send everything that is due now; gives how many messages were accepted or not."""
    number = 0
    while deliver_one(catalog, worker=worker, send=send):
        number += 1
    return number


def deliver_one(catalog: Catalog, *, worker: str, send: Send = send) -> bool:
    """Send one message; False if none is due."""
    with catalog.read(SYSTEM) as work:
        if not outbox.any_due(work):
            return False
    with catalog.write(SYSTEM) as work:
        message = outbox.claim(work, worker=worker)
    if message is None:  # somebody was faster, or it is not wanted any more
        return False
    try:
        send(message, catalog.settings)
    except DeliveryError as error:
        _log.info("message %s was not sent: %s", message.id, error)
        with catalog.write(SYSTEM) as work:
            outbox.not_sent(work, message_id=message.id, worker=worker, reason=str(error), for_good=error.for_good)
    else:
        with catalog.write(SYSTEM) as work:
            outbox.sent(work, message_id=message.id, worker=worker)
    return True


_MAIL_SECONDS = 30.0


# A message as a mail

_CLOSING = "This was sent by a data catalog. How you are notified is chosen on the page of your account: "


class DeliveryError(AegisError):
    """A message was not accepted; ``for_good``: it will not be the next time either."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


def as_mail(message: Message, *, settings: Settings) -> EmailMessage:
    """The mail, in plain text. Its id is that of the message: a mail that comes twice is recognised by it."""
    mail = EmailMessage(policy=SMTP)
    base = settings.public_url.rstrip("/")
    if message.code is not None:
        subject = "Confirm your mail address"
        lines = [f"The code for your address is {message.code}.", "Type it on the page of your account within a day:"]
        lines += [f"{base}/account", "", "If you did not ask for it, somebody mistyped; nothing else will come."]
    else:
        subject = message.items[0].words if len(message.items) == 1 else f"{len(message.items)} things for you"
        lines = []
        for item in message.items:
            lines += [item.words, f"{base}{item.path}", ""]
    mail["Subject"] = f"Aegis: {subject}"[:200]
    mail["From"] = settings.mail_from
    mail["To"] = Address(addr_spec=str(message.mail_address))
    domain = settings.mail_from.rpartition("@")[2].strip("> ") or "aegis.invalid"
    mail["Message-ID"] = f"<{message.id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join([f"Hello {message.person},", "", *lines, "", f"{_CLOSING}{base}/account", ""]))
    return mail


def send_mail(message: Message, *, settings: Settings) -> None:
    """Hand a message to the mail server; `DeliveryError` where it does not take it."""
    mail = as_mail(message, settings=settings)
    try:
        with _connected(settings) as server:
            if settings.smtp_user:
                server.login(settings.smtp_user, os.environ.get(SMTP_PASSWORD_VARIABLE, ""))
            server.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise DeliveryError(
            f"the mail server refused the address ({', '.join(map(str, codes))})", for_good=min(codes) >= 500
        ) from None
    except smtplib.SMTPAuthenticationError:
        raise DeliveryError("the mail server did not accept the catalog's own password", for_good=False) from None
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"the mail server answered {error.smtp_code}", for_good=error.smtp_code >= 550) from None
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        raise DeliveryError(f"the mail server could not be reached ({type(error).__name__})", for_good=False) from None


def _connected(settings: Settings) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if settings.smtp_security == "tls":
        return smtplib.SMTP_SSL(settings.smtp_host, settings.smtp_port, timeout=_MAIL_SECONDS, context=context)
    server = smtplib.SMTP(settings.smtp_host, settings.smtp_port, timeout=_MAIL_SECONDS)
    if settings.smtp_security == "starttls":
        try:
            server.starttls(context=context)
        except BaseException:
            server.close()
            raise
    return server


# A message as a signed request

_SECONDS = 10.0
_MOST_BYTES = 4_096


def body_of(message: Message, *, settings: Settings) -> bytes:
    """What is sent, as JSON."""
    (item,) = message.items
    content = {
        "type": item.kind,
        "timestamp": item.created_at.isoformat(),
        "data": {"id": item.id, "words": item.words, "url": settings.public_url.rstrip("/") + item.path},
    }
    return json.dumps(content, ensure_ascii=False).encode()


def signature(*, secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``; ``secret`` without its prefix is base64 of the key."""
    signed = hmac.new(base64.b64decode(secret), f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def send_webhook(
    message: Message, *, settings: Settings, resolve: Resolve = resolved, context: ssl.SSLContext | None = None
) -> None:
    """Send a message to a webhook; `DeliveryError` unless it answers with a 2xx in time."""
    assert message.webhook_url is not None
    assert message.webhook_secret is not None
    try:
        address = read_address(message.webhook_url)
        networks = read_networks(settings.webhook_networks)
        destination = checked_destination(address, networks=networks, resolve=resolve)
    except InputError as error:
        raise DeliveryError(str(error), for_good=False) from None
    body = body_of(message, settings=settings)
    timestamp = int(time.time())
    signed = signature(secret=message.webhook_secret, message_id=message.id, timestamp=timestamp, body=body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"aegis/{__version__}",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signed,
    }
    status = _status(address, destination, body, headers, context)
    if not 200 <= status < 300:
        # 410: the receiver says that it is gone and wants no more.
        raise DeliveryError(f"the webhook answered {status}", for_good=status == http.HTTPStatus.GONE)


def _status(
    address: WebhookAddress, destination: str, body: bytes, headers: dict[str, str], context: ssl.SSLContext | None
) -> int:
    connection = _Pinned(address, destination, context)
    # A receiver that answers a byte at a time must not hold the sender: the whole exchange has one deadline.
    deadline = threading.Timer(_SECONDS, connection.cut)
    deadline.start()
    try:
        connection.request("POST", address.target, body=body, headers=headers)
        answer = connection.getresponse()
        answer.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise DeliveryError(f"the webhook could not be reached ({type(error).__name__})", for_good=False) from None
    finally:
        deadline.cancel()
        connection.close()
    return answer.status


class _Pinned(http.client.HTTPConnection):
    """A connection to one address of a host, which is still asked for by its name."""

    def __init__(self, address: WebhookAddress, destination: str, context: ssl.SSLContext | None) -> None:
        super().__init__(address.host, address.port, timeout=_SECONDS)
        self._destination = destination
        self._context = (context or ssl.create_default_context()) if address.encrypted else None
        self.default_port = 443 if address.encrypted else 80

    def connect(self) -> None:
        plain = socket.create_connection((self._destination, self.port), timeout=_SECONDS)
        try:
            host = None if self._context is None else self.host
            self.sock = plain if self._context is None else self._context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    def cut(self) -> None:
        """End it from another thread."""
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it ended by itself

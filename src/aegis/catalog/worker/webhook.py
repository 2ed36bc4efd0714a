"""A message as a signed request to somebody's own address.

The signature is that of the Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over the id, the time and
the body, so that a receiver checks it with the libraries that there are. The connection goes to the address that was
checked, and nowhere else: no redirect is followed, and no second answer of the name service counts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time

from aegis._version import __version__
from aegis.catalog.service.outbox import Message
from aegis.catalog.service.webhook_address import (
    Resolve,
    WebhookAddress,
    checked_destination,
    read_address,
    read_networks,
    resolved,
)
from aegis.catalog.settings import Settings
from aegis.catalog.worker.mail import DeliveryError
from aegis.errors import InputError

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

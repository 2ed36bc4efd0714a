"""Takes messages out of the outbox and sends them, beside the jobs: a long job keeps nobody waiting for a mail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aegis.catalog.service import outbox
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.notifications import Channel
from aegis.catalog.service.outbox import Message
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.settings import Settings
from aegis.catalog.worker.mail import DeliveryError, send_mail
from aegis.catalog.worker.webhook import send_webhook
from aegis.errors import AegisError

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

"""Webhooks: signed, retried, and never a way into a private network."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
from tests.catalog.service.conftest import CHEAP

from aegis.catalog.service import notification_choices, notifications
from aegis.catalog.service.notification_choices import checked_destination, read_address
from aegis.catalog.service.outbox import Item, Message
from aegis.catalog.worker.deliveries import DeliveryError, deliver_due, send_webhook
from aegis.errors import InputError

Stage = Any
LOOPBACK = replace(CHEAP, public_url="https://catalog.example", webhook_networks="127.0.0.0/8")


@pytest.fixture
def hooked(new_stage: Any, receiver: Any) -> tuple[Stage, str]:
    """A catalog that may reach loopback, and the secret of its expert's webhook."""
    stage = new_stage("sqlite", settings=LOOPBACK)
    stage.product()
    with stage.write("expert") as work:
        made = notification_choices.choose(work, channel="webhook", webhook_url=receiver.url)
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    return stage, made.secret


def test_what_arrives_is_signed_as_the_standard_says(hooked: tuple[Stage, str], receiver: Any) -> None:
    stage, secret = hooked
    asked = stage.ask()
    assert deliver_due(stage.catalog, worker="w") == 1
    ((headers, body),) = receiver.requests
    content = json.loads(body)
    assert content["type"] == "asked"
    assert content["data"]["url"] == f"https://catalog.example/requests/{asked.id}"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_a_receiver_that_fails_is_tried_again_with_the_same_id(hooked: tuple[Stage, str], receiver: Any) -> None:
    stage, _ = hooked
    stage.ask()
    receiver.statuses = [500, 302]
    receiver.location = "http://169.254.169.254/latest"
    for pause_s in (31, 61, 121):
        deliver_due(stage.catalog, worker="w")
        stage.clock.pass_by(seconds=pause_s)
    assert len(receiver.requests) == 3, "a redirect is no answer and is not followed"
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1


def test_a_receiver_that_is_gone_is_left_alone(hooked: tuple[Stage, str], receiver: Any) -> None:
    stage, _ = hooked
    stage.ask()
    receiver.statuses = [410]
    deliver_due(stage.catalog, worker="w")
    stage.clock.pass_by(days=1)
    assert deliver_due(stage.catalog, worker="w") == 0
    with stage.read("expert") as work:
        assert notifications.list_notifications(work).items[0].kind == "undelivered"


def test_the_secret_stays_with_the_address_and_changes_with_it(hooked: tuple[Stage, str], receiver: Any) -> None:
    stage, secret = hooked
    with stage.write("expert") as work:
        assert notification_choices.choose(work, channel="webhook", webhook_url=receiver.url).secret == ""
        another = notification_choices.choose(work, channel="webhook", webhook_url=receiver.url + "x")
    assert another.secret not in ("", secret)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:192.168.1.1]/",
        "https://[64:ff9b::10.0.0.1]/",
        "https://0.0.0.0/",
        "https://224.0.0.1/",
        "https://2130706433/",
        "http://93.184.216.34/",
        "ftp://93.184.216.34/",
        "https://user@93.184.216.34/",
        "https://93.184.216.34/#x",
        "https://exa mple/",
        "https://93.184.216.34:99999/",
    ],
)
def test_addresses_that_lead_inside_or_are_none_are_refused(small_stage: Stage, url: str) -> None:
    with pytest.raises(InputError):
        notification_choices.check_webhook(small_stage.catalog, small_stage.actor("consumer"), url)


def test_a_webhook_has_an_address(small_stage: Stage) -> None:
    for url in (None, "", "https://exa mple/"):
        with small_stage.write("consumer") as work, pytest.raises(InputError):
            notification_choices.choose(work, channel="webhook", webhook_url=url)


def test_a_name_with_one_private_address_is_refused() -> None:
    address = read_address("https://hooks.example/")
    assert checked_destination(address, networks=(), resolve=lambda *_: ["93.184.216.34"]) == "93.184.216.34"
    with pytest.raises(InputError, match="private network"):
        checked_destination(address, networks=(), resolve=lambda *_: ["93.184.216.34", "10.0.0.1"])


def test_a_name_that_changes_its_address_reaches_nothing_else(monkeypatch: pytest.MonkeyPatch, receiver: Any) -> None:
    """The first answer is allowed, the second leads elsewhere: the connection goes to the one that was checked."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    connected: list[Any] = []
    original = socket.create_connection

    def noted(address: Any, *given: Any, **more: Any) -> Any:
        connected.append(address)
        return original(address, *given, **more)

    monkeypatch.setattr(socket, "create_connection", noted)
    port = read_address(receiver.url).port
    message = _message(f"http://hooks.example:{port}/x")
    send_webhook(message, settings=LOOPBACK, resolve=lambda *_: next(answers))
    assert connected == [("127.0.0.1", port)]
    assert receiver.requests[0][0]["host"] == f"hooks.example:{port}"
    with pytest.raises(DeliveryError, match="private network"):
        send_webhook(message, settings=LOOPBACK, resolve=lambda *_: next(answers))


def test_a_receiver_that_answers_a_byte_at_a_time_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aegis.catalog.worker.deliveries._SECONDS", 0.5)
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                try:
                    while not stop.wait(0.05):
                        connection.sendall(b"H")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(DeliveryError, match="could not be reached"):
            send_webhook(_message(url), settings=LOOPBACK)
        stop.set()
        thread.join()


def _message(url: str) -> Message:
    now = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    item = Item(
        id="1" * 32,
        kind="ready",
        words="It is ready.",
        path="/requests/1",
        created_at=now,
    )
    secret = base64.b64encode(b"x" * 32).decode()
    channel = notifications.Channel.WEBHOOK
    return Message(id="2" * 32, channel=channel, person="E", items=(item,), webhook_url=url, webhook_secret=secret)

"""Mails to a real SMTP server: a code first, then everything that waits in one mail, nothing lost or doubled."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from tests.catalog.service.conftest import CHEAP

from aegis.catalog.database.tables import Delivery
from aegis.catalog.service import notification_choices, notifications, outbox
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.settings import Settings, read_settings
from aegis.catalog.worker import deliveries
from aegis.catalog.worker.deliveries import DeliveryError, deliver_due
from aegis.errors import ConflictError, InputError, TooManyAttemptsError

Stage = Any


@pytest.fixture
def mailed(new_stage: Any, mail_server: Any) -> Stage:
    """A catalog that sends mails, whose expert gets theirs by mail."""
    stage = new_stage("sqlite", settings=with_mail(mail_server))
    stage.product()
    confirmed(stage, mail_server)
    return stage


def with_mail(mail_server: Any, **more: Any) -> Settings:
    return replace(
        CHEAP,
        public_url="https://catalog.example",
        smtp_host="127.0.0.1",
        smtp_port=mail_server.port,
        smtp_security="none",
        mail_from="Aegis <aegis@catalog.example>",
        **more,
    )


def confirmed(stage: Stage, mail_server: Any, name: str = "expert") -> None:
    with stage.write(name) as work:
        notification_choices.choose(work, channel="mail", mail_address=f"{name}@clinic.example")
    deliver_due(stage.catalog, worker="w")
    code = re.search(r"is ([0-9a-f]{8})\.", mail_server.text())
    assert code is not None
    notification_choices.confirm(stage.catalog, stage.actor(name), code=f" {code[1].upper()} ")
    mail_server.mails.clear()


def test_several_things_come_in_one_mail_with_links_to_the_catalog(mailed: Stage, mail_server: Any) -> None:
    first, second = mailed.ask(), mailed.ask()
    assert deliver_due(mailed.catalog, worker="w") == 1
    assert deliver_due(mailed.catalog, worker="w") == 0
    (mail,) = mail_server.mails
    assert mail["to"] == "expert@clinic.example"
    assert mail["from"] == "Aegis <aegis@catalog.example>"
    assert mail["subject"] == "Aegis: 2 things for you"
    assert mail["auto-submitted"] == "auto-generated"
    for asked in (first, second):
        assert f"https://catalog.example/requests/{asked.id}" in mail_server.text()
    assert "to learn" not in mail_server.text()
    mailed.ask()
    assert deliver_due(mailed.catalog, worker="w") == 0, "the next mail keeps a distance"
    mailed.clock.pass_by(seconds=61)
    assert deliver_due(mailed.catalog, worker="w") == 1
    assert mail_server.mails[1]["subject"] == "Aegis: Consumer asks for access to “A clinic”."


def test_an_address_that_was_not_confirmed_gets_a_code_and_nothing_else(new_stage: Any, mail_server: Any) -> None:
    stage = new_stage("sqlite", settings=with_mail(mail_server))
    stage.product()
    with stage.write("expert") as work:
        made = notification_choices.choose(work, channel="mail", mail_address="expert@clinic.example")
    assert not made.choice.mail_confirmed
    stage.ask()
    deliver_due(stage.catalog, worker="w")
    (mail,) = mail_server.mails
    assert mail["subject"] == "Aegis: Confirm your mail address"
    for wrong in ("00000000", "", "x" * 20):
        with pytest.raises(InputError, match="wrong or too old"):
            notification_choices.confirm(stage.catalog, stage.actor("expert"), code=wrong)
    for _ in range(3):
        with pytest.raises((InputError, TooManyAttemptsError)):
            notification_choices.confirm(stage.catalog, stage.actor("expert"), code="00000000")
    with pytest.raises(TooManyAttemptsError):
        notification_choices.confirm(stage.catalog, stage.actor("expert"), code="00000000")
    code = re.search(r"is ([0-9a-f]{8})\.", mail_server.text())
    assert code is not None
    stage.clock.pass_by(days=2)
    with pytest.raises(InputError, match="too old"):
        notification_choices.confirm(stage.catalog, stage.actor("expert"), code=code[1])


def test_a_server_that_says_later_is_tried_again_under_the_same_id(mailed: Stage, mail_server: Any) -> None:
    mailed.ask()
    mail_server.answers = ["451 later", "451 later"]
    for pause_s in (31, 61):
        assert deliver_due(mailed.catalog, worker="w") == 1
        assert mail_server.mails == []
        with mailed.read("expert") as work:
            assert notification_choices.choice(work).failed == "the mail server answered 451"
        mailed.clock.pass_by(seconds=pause_s)
    batch = _batches(mailed)
    deliver_due(mailed.catalog, worker="w")
    assert [mail["message-id"] for mail in mail_server.mails] == [f"<{batch[0]}@catalog.example>"]
    with mailed.read("expert") as work:
        assert notification_choices.choice(work).failed is None


def test_an_address_that_is_refused_for_good_is_said_in_the_inbox(mailed: Stage, mail_server: Any) -> None:
    mailed.ask()
    mail_server.answers = ["550 nobody here"]
    deliver_due(mailed.catalog, worker="w")
    with mailed.read("expert") as work:
        newest = notifications.list_notifications(work).items[0]
    assert newest.kind == "undelivered"
    assert "550" in newest.words
    mailed.clock.pass_by(days=1)
    assert deliver_due(mailed.catalog, worker="w") == 0


def test_a_server_that_is_away_costs_attempts_up_to_a_limit(mailed: Stage) -> None:
    mailed.catalog.settings = replace(mailed.catalog.settings, smtp_port=1, delivery_attempts=3)
    mailed.ask()
    for _ in range(3):
        assert deliver_due(mailed.catalog, worker="w") == 1
        mailed.clock.pass_by(hours=7)
    assert deliver_due(mailed.catalog, worker="w") == 0
    assert [row.state for row in _rows(mailed)] == ["failed"]


def test_a_worker_that_dies_while_it_sends_is_followed_by_another(mailed: Stage, mail_server: Any) -> None:
    mailed.ask()
    with mailed.catalog.write(SYSTEM) as work:
        message = outbox.claim(work, worker="dead")
    assert message is not None
    assert deliver_due(mailed.catalog, worker="w") == 0, "it may still be at work"
    mailed.clock.pass_by(seconds=121)
    assert deliver_due(mailed.catalog, worker="w") == 1
    assert mail_server.mails[0]["message-id"] == f"<{message.id}@catalog.example>"
    with mailed.catalog.write(SYSTEM) as work:
        assert not outbox.sent(work, message_id=message.id, worker="dead")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_several_workers_at_once_send_everything_once(new_stage: Any, mail_server: Any, kind: str) -> None:
    stage = new_stage(kind, settings=with_mail(mail_server))
    stage.product()
    confirmed(stage, mail_server)
    stage.catalog.settings = replace(stage.catalog.settings, mail_pause_seconds=1e-6)
    asked, stop = [], threading.Event()
    threads = [
        threading.Thread(
            target=deliveries.run_deliveries,
            args=(stage.catalog, stop),
            kwargs={"worker": f"w{number}", "poll_seconds": 0.005},
        )
        for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for _ in range(8):
        asked.append(stage.ask().id)
    for _ in range(400):
        if all(row.state == "sent" for row in _rows(stage)):
            break
        stop.wait(0.02)
    stop.set()
    for thread in threads:
        thread.join()
    text = "\n".join(mail_server.text(number) for number in range(len(mail_server.mails)))
    found = re.findall(r"/requests/([0-9a-f]{32})", text)
    assert sorted(found) == sorted(asked)


def test_a_choice_that_changed_meanwhile_is_respected(mailed: Stage, mail_server: Any) -> None:
    mailed.ask()
    with mailed.write("expert") as work:
        notification_choices.choose(work, channel="inbox")
    assert deliver_due(mailed.catalog, worker="w") == 0
    assert mail_server.mails == []


def test_a_defect_of_the_sender_is_not_the_end_of_all_mails(mailed: Stage, caplog: Any) -> None:
    mailed.ask()
    stop = threading.Event()

    def broken(*_: Any) -> None:
        stop.set()
        raise RuntimeError("a value of a record")

    deliveries.run_deliveries(mailed.catalog, stop, worker="w", send=broken)
    assert "RuntimeError" in caplog.text
    assert "a value of a record" not in caplog.text
    assert [row.state for row in _rows(mailed)] == ["sending"], "and is taken up again later"


def test_without_a_mail_server_mail_is_not_offered(small_stage: Stage) -> None:
    with small_stage.write("consumer") as work, pytest.raises(ConflictError, match="sends no mail"):
        notification_choices.choose(work, channel="mail", mail_address="a@b.example")
    with small_stage.write("consumer") as work:
        assert not notification_choices.choice(work).mail_offered


@pytest.mark.parametrize("address", ["", "nobody", "a@b@c", "a@b\nBcc: x@y.example", "x" * 250 + "@b.example", "a b@c"])
def test_what_is_no_mail_address_is_refused(mailed: Stage, address: str) -> None:
    with mailed.write("consumer") as work, pytest.raises(InputError, match="like name@example"):
        notification_choices.choose(work, channel="mail", mail_address=address)


def test_options_that_are_not_used_are_refused(mailed: Stage) -> None:
    for given in ({"channel": "inbox", "mail_address": "a@b.c"}, {"channel": "mail", "webhook_url": "https://x.y/"}):
        with mailed.write("consumer") as work, pytest.raises(InputError, match="leave it out"):
            notification_choices.choose(work, **given)
    with mailed.write("consumer") as work, pytest.raises(InputError, match="one of inbox, mail, webhook"):
        notification_choices.choose(work, channel="pigeon")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("smtp_host: mail.example", "public_url"),
        ("smtp_host: mail.example\npublic_url: https://c.example", "mail_from"),
        ("mail_from: a@b.example", "smtp_host"),
        ("smtp_security: perhaps", "starttls"),
        (
            "smtp_host: m.example\npublic_url: https://c.example\nmail_from: a@b\nsmtp_security: none\nsmtp_user: me",
            "in the clear",
        ),
    ],
)
def test_settings_that_make_no_sense_are_said(tmp_path: Any, text: str, said: str) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_settings(path)


def test_a_server_without_encryption_is_not_given_mails_unless_that_was_said(mailed: Stage, mail_server: Any) -> None:
    message = outbox.Message(id="1" * 32, channel=notifications.Channel.MAIL, person="E", items=(), code="c")
    with pytest.raises(DeliveryError):
        deliveries.send(
            replace(message, mail_address="e@x.example"), replace(mailed.catalog.settings, smtp_security="starttls")
        )
    assert mail_server.mails == []


def _rows(stage: Stage) -> list[Delivery]:
    with stage.catalog.read(SYSTEM) as work:
        return list(work.session.scalars(select(Delivery).where(Delivery.notification_id.is_not(None))))


def _batches(stage: Stage) -> list[str]:
    return sorted({row.batch for row in _rows(stage) if row.batch})

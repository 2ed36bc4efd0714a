"""Each hand-over tells whoever is next, once, in the transaction of the act itself."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from aegis.catalog.database.tables import Notification
from aegis.catalog.records import UserRole
from aegis.catalog.service import notifications, releases, requests
from aegis.catalog.service.permissions import ANONYMOUS, SYSTEM
from aegis.catalog.service.requests import notify_expiring
from aegis.catalog.worker.loop import run_pending
from aegis.errors import NotFoundError, NotSignedInError

Stage = Any


def told(stage: Stage, name: str) -> list[str]:
    """The kinds of what somebody was told, the oldest first."""
    with stage.read(name) as work:
        return [item.kind for item in reversed(notifications.list_notifications(work).items)]


def test_a_request_that_goes_all_the_way_tells_everybody_when_it_is_their_turn(stage: Stage) -> None:
    stage.product()
    stage.provisioned()
    assert told(stage, "expert") == ["asked"]
    assert told(stage, "provider") == ["to fulfil"]
    assert told(stage, "consumer") == ["approved", "ready"]
    assert told(stage, "admin") == [], "there is an expert and a provider"
    with stage.read("expert") as work:
        (item,) = notifications.list_notifications(work).items
    assert item.words == "Consumer asks for access to “A clinic”."
    assert item.path.startswith("/requests/")
    assert item.product_name == "clinic"
    assert "to learn" not in item.words, "what somebody wrote is read in the catalog only"


def test_the_other_ends_are_told_as_well(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    rejected, taken_back, revoked = (stage.ask(columns=["age", "health"]) for _ in range(3))
    with stage.write("expert") as work:
        requests.decide(work, request_id=rejected.id, approve=False, reason="no")
    with stage.write("consumer") as work:
        requests.withdraw(work, request_id=taken_back.id)
    stage.approve(revoked.id, made["strict"].id)
    with stage.write("provider") as work:
        requests.revoke(work, request_id=revoked.id, reason="no more")
    assert told(stage, "consumer") == ["rejected", "approved", "revoked"]
    assert told(stage, "expert") == ["asked", "asked", "asked", "withdrawn"]


def test_a_withdrawn_release_tells_its_consumers_and_a_refused_one_its_provider(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    _, release = stage.provisioned()
    with stage.write("provider") as work:
        releases.withdraw(work, release_id=release.id, reason="a mistake")
    assert told(stage, "consumer")[-1] == "revoked"
    made = stage.configurations()
    asked = stage.ask()
    stage.approve(asked.id, made["strict"].id)
    stage.push(request_id=asked.id)
    with stage.write("consumer") as work:
        requests.withdraw(work, request_id=asked.id)  # so that what was pushed comes too late
    run_pending(stage.catalog)
    assert told(stage, "provider")[-1] == "refused"


def test_what_ends_soon_is_told_once_and_what_ended_too(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    stage.provisioned()
    waits = stage.ask()
    stage.clock.pass_by(days=82)
    for _ in range(2):
        with stage.catalog.write(SYSTEM) as work:
            notify_expiring(work)
    assert told(stage, "consumer") == ["approved", "ready"], "a week before, not eight days"
    stage.clock.pass_by(days=2)
    for _ in range(2):
        with stage.catalog.write(SYSTEM) as work:
            notify_expiring(work)
    assert told(stage, "consumer")[2:] == ["expiring"]
    assert told(stage, "expert") == ["asked", "asked", "expiring"]
    stage.clock.pass_by(days=10)
    run_pending(stage.catalog)
    assert told(stage, "consumer")[3:] == ["expired", "expired"]
    with stage.write("admin") as work:
        requests.reinstate(work, request_id=waits.id, days=30)
    assert told(stage, "consumer")[-1] == "reinstated"


def test_without_an_expert_the_administrators_decide_and_are_told(small_stage: Stage) -> None:
    stage = small_stage
    with stage.write("provider") as work:
        from aegis.catalog.service import products
        from aegis.library import clinic

        products.register(work, name="alone", title="Alone", columns=stage.parts.columns, policy=clinic.POLICY)
        products.publish(work, product="alone")
    stage.ask("alone")
    assert told(stage, "admin") == ["asked"]


def test_nobody_is_told_of_what_they_did_or_after_they_left(small_stage: Stage) -> None:
    stage = small_stage
    product = stage.product()
    stage.person("both", UserRole.EXPERT, product_id=product.id)
    stage.person("both", UserRole.CONSUMER)
    stage.ask(by="both")
    assert told(stage, "both") == []
    from aegis.catalog.service import people

    with stage.write("admin") as work:
        people.set_active(work, user_id=stage.user_id("both"), active=False)
    stage.ask()
    with stage.catalog.read(SYSTEM) as work:
        assert work.session.scalar(select(func.count()).where(Notification.user_id == stage.user_id("both"))) == 0


def test_an_act_that_is_undone_told_nobody(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()

    def broken() -> None:
        with stage.write("consumer") as work:
            requests.ask(work, product="clinic", purpose="to learn")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert told(stage, "expert") == []


def test_the_inbox_is_ones_own(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    stage.ask()
    with stage.read("expert") as work:
        (item,) = notifications.list_notifications(work, unseen=True).items
    with pytest.raises(NotFoundError), stage.write("consumer") as work:
        notifications.see(work, notification_id=item.id)
    with stage.write("expert") as work:
        assert notifications.see(work, notification_id=item.id).seen_at is not None
        assert notifications.see_all(work) == 0
        assert notifications.list_notifications(work, unseen=True).items == ()
    with pytest.raises(NotSignedInError), stage.catalog.read(ANONYMOUS) as work:
        notifications.list_notifications(work)


def test_what_is_old_is_forgotten(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    stage.ask()
    stage.clock.pass_by(days=181)
    stage.ask()
    with stage.catalog.write(SYSTEM) as work:
        assert notifications.forget_old(work) == 1
    assert told(stage, "expert") == ["asked"]

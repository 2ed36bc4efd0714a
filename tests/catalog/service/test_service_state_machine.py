"""Whatever anybody does in whatever order: no illegal step is taken, every step is on the record, the chain holds."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from sqlalchemy import select

from aegis.catalog.database.audit_chain import verify_chain
from aegis.catalog.database.tables import Audit, Release, Request
from aegis.catalog.records import UserRole
from aegis.catalog.service import configurations, products, releases, requests
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.states import ReleaseState, RequestState, follows
from aegis.catalog.worker.loop import run_pending
from aegis.errors import AegisError

Stage = Any
NAMES = ("admin", "provider", "expert", "consumer", "second-expert", "second-consumer", "outsider")
_ENTERED = "access requested"
_STEPS = {
    "access requested": "PENDING",
    "request approved": "APPROVED",
    "request rejected": "REJECTED",
    "request revoked": "REVOKED",
    "request withdrawn": "REVOKED",
    "request expired": "EXPIRED",
    "request provisioned": "PROVISIONED",
}


class Flow(RuleBasedStateMachine):
    """Random acts by random people at random times."""

    new_stage: Any
    asked = Bundle("asked")
    pushed = Bundle("pushed")

    @initialize()
    def set_up(self) -> None:
        stage = self.stage = type(self).new_stage("sqlite")
        stage.product()
        self.made = stage.configurations()
        stage.person("second-expert", UserRole.EXPERT)
        stage.person("second-consumer", UserRole.CONSUMER)
        stage.person("outsider")
        self.done = 0

    @rule(target=asked, name=st.sampled_from(NAMES), days=st.integers(1, 40))
    def ask(self, name: str, days: int) -> Any:
        try:
            return self.stage.ask(by=name, days=days).id
        except AegisError:
            return multiple()

    @rule(
        request=asked,
        name=st.sampled_from(NAMES),
        approve=st.booleans(),
        which=st.sampled_from(["strict", "everything-hidden"]),
        version=st.none() | st.integers(1, 4),
    )
    def decide(self, request: str, name: str, approve: bool, which: str, version: int | None) -> None:
        self._try(
            name, lambda work: requests.decide(
                work, request_id=request, version=version, approve=approve, configuration_id=self.made[which].id,
                reason="because",
            ),
        )  # fmt: skip

    @rule(request=asked, name=st.sampled_from(NAMES))
    def revoke(self, request: str, name: str) -> None:
        self._try(name, lambda work: requests.revoke(work, request_id=request, reason="because"))

    @rule(request=asked, name=st.sampled_from(NAMES))
    def take_back(self, request: str, name: str) -> None:
        self._try(name, lambda work: requests.withdraw(work, request_id=request))

    @rule(
        target=pushed,
        request=asked,
        name=st.sampled_from(NAMES),
        which=st.sampled_from(["strict", "everything-hidden"]),
    )
    def push(self, request: str, name: str, which: str) -> Any:
        try:
            return self.stage.push(request_id=request, by=name, name=which).id
        except AegisError:
            return multiple()

    @rule(request=asked, release=pushed, name=st.sampled_from(NAMES))
    def fulfil(self, request: str, release: str, name: str) -> None:
        self._try(name, lambda work: releases.fulfil(work, request_id=request, release_id=release))

    @rule(release=pushed, name=st.sampled_from(NAMES))
    def withdraw_release(self, release: str, name: str) -> None:
        self._try(name, lambda work: releases.withdraw(work, release_id=release, reason="because"))

    @rule(release=pushed, name=st.sampled_from(NAMES))
    def download(self, release: str, name: str) -> None:
        self._try(name, lambda work: releases.open_download(work, release_id=release).stream.close())

    @rule(which=st.sampled_from(["strict", "everything-hidden"]), name=st.sampled_from(NAMES), back=st.booleans())
    def turn_configuration(self, which: str, name: str, back: bool) -> None:
        if back:
            self.stage.configurations()
        else:
            self._try(name, lambda work: configurations.withdraw(work, configuration_id=self.made[which].id))

    @rule(name=st.sampled_from(NAMES))
    def turn_product(self, name: str) -> None:
        self._try(name, lambda work: products.retire(work, product="clinic"))
        self._try(name, lambda work: products.publish(work, product="clinic"))

    @rule()
    def work_off(self) -> None:
        run_pending(self.stage.catalog)

    @rule(days=st.integers(1, 60))
    def wait(self, days: int) -> None:
        self.stage.clock.now += datetime.timedelta(days=days)

    def _try(self, name: str, act: Any) -> None:
        try:
            with self.stage.write(name) as work:
                act(work)
        except AegisError:
            pass

    @invariant()
    def everything_is_legal_and_on_the_record(self) -> None:
        if not hasattr(self, "stage"):
            return
        with self.stage.catalog.read(SYSTEM) as work:
            assert verify_chain(work.session).intact
            rows = work.session.scalars(select(Request)).all()
            held = {row.id: row for row in work.session.scalars(select(Release))}
            record: dict[str, list[Audit]] = {}
            for entry in work.session.scalars(select(Audit).where(Audit.subject == "request").order_by(Audit.sequence)):
                record.setdefault(entry.subject_id, []).append(entry)
        assert set(record) == {row.id for row in rows}
        for row in rows:
            states = [RequestState(_STEPS[entry.action]) for entry in record[row.id]]
            assert record[row.id][0].action == _ENTERED
            assert all(follows(before, after) for before, after in itertools.pairwise(states))
            assert states[-1] == row.state
            assert row.version >= len(states)
            deciders = {e.actor_id for e in record[row.id] if e.action in ("request approved", "request rejected")}
            assert len(deciders) <= 1
            assert row.consumer_id not in deciders
            if row.state == RequestState.PROVISIONED:
                release = held[str(row.release_id)]
                assert release.state == ReleaseState.VERIFIED
                assert release.configuration_id == row.configuration_id
                assert release.digest in set(self.stage.catalog.store.digests())
        for release in held.values():
            assert release.digest in set(self.stage.catalog.store.digests()) or release.state in (
                "refused",
                "withdrawn",
            )

    def teardown(self) -> None:
        if hasattr(self, "stage"):
            self.stage.catalog.close()


def test_random_acts_of_random_people_never_reach_an_illegal_state(new_stage: Any, tmp_path: Path) -> None:
    class Here(Flow):
        pass

    Here.new_stage = staticmethod(new_stage)
    case: Any = Here.TestCase
    case.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
    case().runTest()

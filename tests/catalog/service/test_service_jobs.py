"""Jobs: done by one worker at a time, taken over from the dead, and never half done."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from aegis.catalog.database.tables import Job
from aegis.catalog.records import UserRole
from aegis.catalog.service import audit_log, jobs, releases, seen_requests
from aegis.catalog.service.catalog import Catalog, utc_now
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.settings import GroupRole
from aegis.catalog.states import JobState, ReleaseState, RequestState
from aegis.catalog.worker import loop
from aegis.catalog.worker.job_process import JobProcess
from aegis.errors import ConflictError, DataError, EngineError, NotFoundError, NotPermittedError

Stage = Any


@pytest.fixture
def clinic(stage: Stage) -> Stage:
    stage.product()
    stage.made = stage.configurations()
    stage.summary()
    return stage


@pytest.fixture
def small(small_stage: Stage) -> Stage:
    small_stage.product()
    small_stage.made = small_stage.configurations()
    small_stage.summary()
    return small_stage


def _start(stage: Stage, **more: Any) -> Any:
    with stage.write("expert") as work:
        return jobs.start_advice(work, product="clinic", **more)


def _job(stage: Stage, job_id: str) -> Any:
    with stage.read("expert") as work:
        return jobs.job(work, job_id=job_id)


def _claim(stage: Stage, name: str) -> Any:
    with stage.catalog.write(SYSTEM) as work:
        return jobs.claim(work, worker=name)


def test_advice_runs_in_the_background_and_its_ranking_is_the_library_s_own(clinic: Stage) -> None:
    asked = clinic.ask(measure="theils-u")
    started = _start(clinic, request_id=asked.id)
    assert (started.state, started.progress, started.parameters["measure"]) == (JobState.QUEUED, 0.0, "theils-u")
    assert loop.run_pending(clinic.catalog) == 1
    done = _job(clinic, started.id)
    assert (done.state, done.progress, done.error) == (JobState.DONE, 1.0, None)
    ranking = jobs.ranking_of(done)
    assert {one.id for one in ranking.ranking} == {made.content_id for made in clinic.made.values()}
    assert ranking.to_json() == done.result["ranking"]
    bits = {each["configuration"]: each["identifying_bits"] for each in done.result["risk"]}
    assert bits["everything-hidden"] == 0.0 < bits["strict"] < bits["young-or-old"]
    with clinic.read("expert") as work:
        assert seen_requests.request(work, request_id=asked.id).job_id == started.id
        latest = jobs.latest_ranking(work, product="clinic")
        assert latest is not None
        assert latest.id == started.id
        assert [each.result for each in jobs.list_jobs(work, product="clinic").items] == [None]


def test_the_same_question_is_asked_once(small: Stage) -> None:
    first, other = _start(small), _start(small, measure="theils-u")
    assert first.id != other.id
    assert _start(small).id == first.id
    loop.run_pending(small.catalog)
    assert _start(small).id == first.id
    small.summary()
    assert _start(small).id != first.id  # another summary is another question


def test_two_workers_never_get_the_same_job(clinic: Stage) -> None:
    started = [_start(clinic, measure=name).id for name in (None, "theils-u", "mutual-information", "chi-square")]
    together = threading.Barrier(3)
    claimed: list[str] = []

    def take(name: str) -> None:
        together.wait()
        while (job := _claim(clinic, name)) is not None:
            claimed.append(job.id)

    threads = [threading.Thread(target=take, args=(f"w{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(started)


def test_a_silent_worker_loses_its_job_and_cannot_finish_it(clinic: Stage) -> None:
    started = _start(clinic)
    assert _claim(clinic, "first").attempt == 1
    assert _claim(clinic, "second") is None
    clinic.clock.pass_by(seconds=29)
    with clinic.catalog.write(SYSTEM) as work:
        assert jobs.heartbeat(work, job_id=started.id, worker="first", progress=0.5, stage="half way")
    clinic.clock.pass_by(seconds=29)
    assert _claim(clinic, "second") is None
    clinic.clock.pass_by(seconds=2)
    assert _claim(clinic, "second").attempt == 2
    with clinic.catalog.write(SYSTEM) as work:
        assert not jobs.heartbeat(work, job_id=started.id, worker="first", progress=0.9, stage="late")
        assert not jobs.finish(work, job_id=started.id, worker="first", result={"late": True})
        assert not jobs.fail(work, job_id=started.id, worker="first", error="late")
    assert _job(clinic, started.id).result is None
    with clinic.catalog.write(SYSTEM) as work:
        assert jobs.finish(work, job_id=started.id, worker="second", result={"in": "time"})
    assert _job(clinic, started.id).result == {"in": "time"}


def test_after_three_deaths_a_job_fails_with_a_sentence(clinic: Stage) -> None:
    started = _start(clinic)
    for name in ("a", "b", "c"):
        assert not _claim(clinic, name).exhausted
        clinic.clock.pass_by(seconds=31)
    loop.run_pending(clinic.catalog)
    failed = _job(clinic, started.id)
    assert (failed.state, failed.attempts) == (JobState.FAILED, 3)
    assert "tried 3 times" in failed.error


def test_a_worker_told_to_stop_gives_its_job_back(clinic: Stage) -> None:
    started = _start(clinic)
    _claim(clinic, "leaving")
    with clinic.catalog.write(SYSTEM) as work:
        assert jobs.release_claim(work, job_id=started.id, worker="leaving")
    assert _claim(clinic, "next").attempt == 1


def test_a_cancelled_job_stays_cancelled_whatever_its_worker_did(clinic: Stage) -> None:
    started = _start(clinic)
    _claim(clinic, "busy")
    with clinic.write("expert") as work:
        assert jobs.cancel(work, job_id=started.id).state is JobState.CANCELLED
    with clinic.catalog.write(SYSTEM) as work:
        assert not jobs.finish(work, job_id=started.id, worker="busy", result={})
    with pytest.raises(ConflictError), clinic.write("expert") as work:
        jobs.cancel(work, job_id=started.id)
    assert loop.run_pending(clinic.catalog) == 0


def test_jobs_are_seen_by_those_who_work_on_the_product(clinic: Stage) -> None:
    started = _start(clinic)
    clinic.person("stranger", UserRole.PROVIDER, product_id=clinic.product("second").id)
    for name in ("consumer", "stranger"):
        with pytest.raises(NotFoundError), clinic.read(name) as work:
            jobs.job(work, job_id=started.id)
        with pytest.raises(NotPermittedError), clinic.write(name) as work:
            jobs.start_advice(work, product="clinic")
    with clinic.read("stranger") as work:
        assert jobs.list_jobs(work).items == ()


def test_without_a_summary_there_is_nothing_to_advise_on(small_stage: Stage) -> None:
    small_stage.product()
    with pytest.raises(ConflictError, match="no summary"), small_stage.write("expert") as work:
        jobs.start_advice(work, product="clinic")


def test_only_so_many_jobs_wait(new_stage: Any) -> None:
    from dataclasses import replace

    stage = new_stage("sqlite")
    stage.product()
    stage.summary()
    stage.catalog.settings = replace(stage.catalog.settings, jobs_queued_per_product=1)
    _start(stage)
    with pytest.raises(ConflictError, match="too many jobs"):
        _start(stage, measure="theils-u")


def test_an_error_of_ours_fails_the_job_in_its_own_words_and_a_defect_in_none_of_the_data_s(
    small: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def ours(*_: Any) -> Any:
        raise DataError("the summary cannot be ranked; push another one")

    monkeypatch.setattr(loop, "run_advice", ours)
    first = _start(small)
    loop.run_pending(small.catalog)
    assert _job(small, first.id).error == "the summary cannot be ranked; push another one"

    def defect(*_: Any) -> Any:
        raise ZeroDivisionError("the value CANARY-77 broke it")

    monkeypatch.setattr(loop, "run_advice", defect)
    second = _start(small)
    loop.run_pending(small.catalog)
    assert _job(small, second.id).error == "the job broke off (ZeroDivisionError); tell the administrator"
    assert "CANARY-77" not in caplog.text


def test_a_database_that_breaks_off_does_not_fail_the_job(small: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise EngineError("the database broke off")

    monkeypatch.setattr(loop, "run_advice", broken)
    started = _start(small)
    loop.run_pending(small.catalog)
    assert _job(small, started.id).state is JobState.RUNNING
    monkeypatch.undo()
    small.clock.pass_by(seconds=31)
    loop.run_pending(small.catalog)
    assert _job(small, started.id).state is JobState.DONE


def test_a_cancelled_job_is_left_at_the_next_step(small: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []

    def slow(_catalog: Any, _claimed: Any, progress: Any) -> Any:
        progress(10, 100, "first step")
        with small.write("expert") as work:
            jobs.cancel(work, job_id=started.id)
        for number in range(100):
            time.sleep(0.05)
            progress(200 + number, 1000, "second step")
        reached.append("end")
        return {}

    monkeypatch.setattr(loop, "run_advice", slow)
    started = _start(small)
    loop.run_pending(small.catalog)
    assert reached == []
    assert _job(small, started.id).state is JobState.CANCELLED


def test_a_worker_told_to_stop_leaves_its_job_to_the_next_at_once(
    small: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()

    def slow(_catalog: Any, _claimed: Any, progress: Any) -> Any:
        stop.set()
        progress(1, 2, "half way")
        return {}

    monkeypatch.setattr(loop, "run_advice", slow)
    started = _start(small)
    assert loop.run_worker(small.catalog, stop, poll_seconds=0.01) == 0
    monkeypatch.undo()
    assert loop.run_pending(small.catalog) == 1
    done = _job(small, started.id)
    assert (done.state, done.attempts) == (JobState.DONE, 1)


def test_a_release_whose_measuring_breaks_off_is_refused_and_not_left_hanging(
    small: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = small.ask()
    small.approve(asked.id, small.made["strict"].id)
    pushed = small.push(request_id=asked.id)

    def defect(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(loop, "measure_release", defect)
    loop.run_pending(small.catalog)
    with small.read("provider") as work:
        seen = releases.release(work, release_id=pushed.id)
        assert seen_requests.request(work, request_id=asked.id).state is RequestState.APPROVED
    assert seen.state is ReleaseState.REFUSED
    assert pushed.digest not in set(small.catalog.store.digests())


_WORKER = """
import sys, threading, time
from aegis.catalog.worker import loop
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import Settings
catalog = Catalog.open(sys.argv[1], sys.argv[2], settings=Settings(heartbeat_seconds=1.0))
real = loop.{function}
def slow(catalog, claimed, progress):
    result = real(catalog, claimed, progress)
    print("working", flush=True)
    time.sleep(float(sys.argv[3]))
    return result
loop.{function} = slow
loop.run_worker(catalog, threading.Event(), poll_seconds=0.1)
"""


def _spawn(stage: Stage, function: str, seconds: float) -> subprocess.Popen[str]:
    arguments = [stage.url, str(stage.catalog.store.root), str(seconds)]
    code = _WORKER.replace("{function}", function)
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def _killed_in_the_middle(stage: Stage, function: str) -> None:
    first = _spawn(stage, function, 60)
    assert first.stdout is not None
    assert first.stdout.readline() == "working\\n".replace("\\n", "\n")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_worker_killed_in_the_middle_is_followed_by_another_and_nothing_is_half_done(
    new_stage: Any, kind: str, tmp_path: Path
) -> None:
    stage = new_stage(kind)
    stage.catalog.clock = utc_now  # a real clock: other processes have one too
    stage.product()
    made = stage.configurations()
    stage.summary()
    asked = stage.ask()
    stage.approve(asked.id, made["strict"].id)
    pushed = stage.push(request_id=asked.id)
    _killed_in_the_middle(stage, "measure_release")
    with stage.read("provider") as work:
        assert releases.release(work, release_id=pushed.id).state is ReleaseState.RECEIVED
        assert seen_requests.request(work, request_id=asked.id).state is RequestState.APPROVED
    with stage.catalog.read(SYSTEM) as work:
        silent = work.session.scalars(select(Job).where(Job.state == JobState.RUNNING.value)).one()
    assert silent.worker is not None
    second = _spawn(stage, "measure_release", 0)
    try:
        until = time.monotonic() + 180
        while time.monotonic() < until:
            with stage.read("provider") as work:
                seen = releases.release(work, release_id=pushed.id)
            if seen.state is not ReleaseState.RECEIVED:
                break
            time.sleep(0.2)
    finally:
        os.kill(second.pid, signal.SIGKILL)
        second.wait()
        assert second.stdout is not None
        second.stdout.close()
    assert seen.state is ReleaseState.VERIFIED
    with stage.read("admin") as work:
        assert seen_requests.request(work, request_id=asked.id).state is RequestState.PROVISIONED
        assert jobs.job(work, job_id=str(seen.job_id)).attempts == 2
        assert audit_log.verify(work).intact
        acts = [each.action for each in audit_log.list_audit(work).items]
    assert acts.count("release verified") == acts.count("request provisioned") == acts.count("job done") == 1


def test_a_worker_runs_until_it_is_told_to_stop_and_writes_down_what_expired(small: Stage) -> None:
    stop = threading.Event()
    done: list[int] = []
    thread = threading.Thread(
        target=lambda: done.append(loop.run_worker(small.catalog, stop, poll_seconds=0.02)), daemon=True
    )
    asked = small.ask(days=1)
    started = _start(small)
    small.clock.now += datetime.timedelta(days=100)
    thread.start()
    until = time.monotonic() + 30
    while time.monotonic() < until and not (
        _job(small, started.id).state is JobState.DONE and _expired(small, asked.id)
    ):
        time.sleep(0.05)
    stop.set()
    thread.join(10)
    assert done == [1]
    assert _expired(small, asked.id)


def _expired(stage: Stage, request_id: str) -> bool:
    with stage.read("consumer") as work:
        return seen_requests.request(work, request_id=request_id).history[-1].action == "request expired"


def test_a_catalog_is_opened_by_several_processes_at_once(small: Stage) -> None:
    with Catalog.open(small.url, small.catalog.store.root) as again, again.read(small.actor("expert")) as work:
        assert jobs.list_jobs(work).items == ()


def test_the_process_for_jobs_knows_every_setting_and_tells_all_that_it_found(small_stage: Stage) -> None:
    """Also where groups of an identity provider give the roles and nobody has a password."""
    stage = small_stage
    stage.product()
    stage.configurations()
    pushed = stage.push(product="clinic", name="strict")
    settings = replace(
        stage.catalog.settings,
        public_url="https://catalog.example",
        oidc_issuer="https://login.example",
        oidc_client_id="aegis",
        oidc_roles=(GroupRole(group="stewards", role="admin"),),
        local_accounts=False,
    )
    with JobProcess(database_url=stage.url, storage=stage.catalog.store.root, settings=settings) as runner:
        assert loop.run_pending(stage.catalog, runner=runner) == 1
    with stage.read("provider") as work:
        release = releases.release(work, release_id=pushed.id)
    assert (release.state, release.reason) == (ReleaseState.VERIFIED, None)
    assert {attack.name for attack in release.attacks} == {"row order", "singled out", "same value in a group"}

"""One organisation on both sides: the machine counts and releases in its owner's name; no row enters the catalog."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.records import UserRole
from aegis.catalog.service import configurations, products, releases, seen_requests, summaries
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.catalog.worker.provider import Provided, Provider
from aegis.errors import InputError
from aegis.library import clinic

Stage = Any


@pytest.fixture
def folder(tmp_path: Path, parts: Any) -> Path:
    """The organisation's own tables; nothing but the file and what is said about it."""
    home = tmp_path / "tables"
    home.mkdir()
    shutil.copy(parts.folder / "clinic.csv", home / "clinic.csv")
    return home


@pytest.fixture
def small(small_stage: Stage) -> Stage:
    small_stage.product()
    small_stage.made = small_stage.configurations()
    return small_stage


def _provider(stage: Stage, folder: Path, owner: str = "provider") -> Provider:
    return Provider(stage.catalog, folder, owner=owner)


def _approved(stage: Stage, name: str = "strict", **more: Any) -> str:
    asked = stage.ask(**more)
    stage.approve(asked.id, stage.made[name].id)
    return str(asked.id)


def _request(stage: Stage, request_id: str) -> Any:
    with stage.read("consumer") as work:
        return seen_requests.request(work, request_id=request_id)


def test_it_counts_what_is_new_and_releases_what_is_approved(small: Stage, folder: Path) -> None:
    machine = _provider(small, folder)
    assert list(machine.due()) == [Provided(what="summary", product="clinic")]
    with small.read("expert") as work:
        summary = summaries.current(work, product="clinic")
    assert summary is not None
    assert {each["id"] for each in summary.configurations} == {each.content_id for each in small.made.values()}
    assert list(machine.due()) == []

    asked, some = _approved(small), _approved(small, columns=["age", "health"])
    assert list(machine.due()) == [
        Provided(what="release", product="clinic", request_id=asked),
        Provided(what="release", product="clinic", request_id=some),
    ]
    assert list(machine.due()) == []  # they are being measured
    run_pending(small.catalog)
    # Something was released before now: what may be released beside it is judged here, on the rows, before anybody
    # approves it.
    assert list(machine.due()) == [Provided(what="together", product="clinic")]
    assert list(machine.due()) == []
    for request_id, columns in ((asked, None), (some, ["age", "health"])):
        done = _request(small, request_id)
        assert done.state is RequestState.PROVISIONED
        with small.read("consumer") as work:
            made = releases.release(work, release_id=done.release_id)
        assert made.state is ReleaseState.VERIFIED
        assert made.pushed_by == "provider"
        assert columns is None or made.certificate["release"]["columns"] == columns


def test_no_row_enters_the_catalog(small: Stage, folder: Path) -> None:
    """Patients' numbers are in the table and in nothing that the catalog keeps."""
    machine = _provider(small, folder)
    list(machine.due())
    _approved(small)
    list(machine.due())
    lines = (folder / "clinic.csv").read_text(encoding="utf-8").splitlines()
    patients = [line.split(",")[0].encode() for line in lines[1:50]]
    assert all(len(patient) > 3 for patient in patients)
    kept = [small.catalog.store.path(digest).read_bytes() for digest in small.catalog.store.digests()]
    assert len(kept) == 2  # a summary and a release
    for content in (*kept, Path(small.url).read_bytes()):
        assert not any(patient in content for patient in patients)


def test_a_new_configuration_is_counted_and_one_that_the_policy_keeps_out_once(small: Stage, folder: Path) -> None:
    machine = _provider(small, folder)
    list(machine.due())
    with small.write("expert") as work:
        configurations.propose(work, product="clinic", content={"age": {"bucketize": {"width": 5}}}, name="weak")
    assert [done.what for done in machine.due()] == ["summary"]
    assert list(machine.due()) == []


def test_a_policy_that_cannot_be_kept_is_said_on_the_request(small: Stage, folder: Path) -> None:
    machine = _provider(small, folder)
    list(machine.due())
    asked = _approved(small)
    with small.write("provider") as work:
        now = products.product(work, product="clinic")
        products.change(work, product="clinic", version=now.version, policy={**clinic.POLICY, "k": 5_000})
    done = [each for each in machine.due() if each.request_id == asked]
    assert len(done) == 1
    assert "nothing was released" in str(done[0].reason)
    history = _request(small, asked).history
    assert history[-1].action == "release not made"
    assert history[-1].details["reason"] == done[0].reason
    assert str(folder) not in str(done[0].reason)
    assert [each for each in machine.due() if each.request_id] == []  # not again while nothing changes
    assert _request(small, asked).state is RequestState.APPROVED
    with small.write("provider") as work:
        now = products.product(work, product="clinic")
        products.change(work, product="clinic", version=now.version, policy=dict(clinic.POLICY))
    again = Provider(small.catalog, folder, owner="provider")
    assert Provided(what="release", product="clinic", request_id=asked) in list(again.due())


def test_the_policy_beside_the_table_is_the_only_one_that_is_released_under(small: Stage, folder: Path) -> None:
    pinned = "{quasi_identifying: [age, weight, zip, gender], k: 3, max_suppression: 0.05}"
    (folder / "clinic.policy.yaml").write_text(pinned, encoding="utf-8")
    asked = _approved(small)
    done = [each for each in _provider(small, folder).due() if each.request_id == asked]
    assert "another policy" in str(done[0].reason)
    with small.read("provider") as work:
        assert releases.list_releases(work, product="clinic").items == ()


def test_a_product_of_somebody_else_gets_nothing(small: Stage, folder: Path) -> None:
    """Registering a product with the name of a table does not lead to its rows."""
    shutil.copy(folder / "clinic.csv", folder / "payroll.csv")
    small.person("rival", UserRole.PROVIDER)
    with small.write("rival") as work:
        products.register(work, name="payroll", title="P", columns=small.parts.columns, policy={"k": 2})
        configurations.propose(work, product="payroll", content=small.parts.configurations)
    done = list(_provider(small, folder).due())
    assert {each.product for each in done} == {"clinic"}
    assert list(_provider(small, folder, owner="nobody").due()) == []


def test_a_product_without_a_table_or_without_a_policy_is_left_alone(small_stage: Stage, folder: Path) -> None:
    small_stage.product("another")
    small_stage.configurations("another")
    assert list(_provider(small_stage, folder).due()) == []
    with pytest.raises(InputError, match="no folder"):
        _provider(small_stage, folder / "nothing")


def test_a_table_that_is_not_what_was_registered_is_said_without_its_values(small: Stage, folder: Path) -> None:
    canary = "canary-4711"
    (folder / "clinic.csv").write_text(f"patient,age\n{canary},{canary}\n", encoding="utf-8")
    done = list(_provider(small, folder).due())
    assert [each.what for each in done] == ["summary"]
    assert done[0].reason
    assert canary not in done[0].reason

"""A consumer gets the columns that the request names: whatever way a release comes to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.service import releases, seen_requests
from aegis.catalog.service.configurations import masks_of
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.errors import VerificationError
from aegis.library.release import release
from aegis.releases.certificate import certificate_paths, digest

Stage = Any
WANTED = ("age", "gender", "health")


@pytest.fixture
def small(small_stage: Stage) -> Stage:
    small_stage.product()
    small_stage.made = small_stage.configurations()
    small_stage.request = small_stage.ask(columns=WANTED)
    small_stage.approve(small_stage.request.id, small_stage.made["strict"].id)
    return small_stage


def _released(stage: Stage, columns: tuple[str, ...] | None, folder: Path) -> dict[str, bytes]:
    """What the provider's machine makes of the clinic with these columns."""
    source, out = stage.parts.folder, folder / "some.csv"
    masks = masks_of(stage.made["strict"].content)
    release(source / "clinic.csv", config=masks, policy=source / "policy.yaml", out=out, columns=columns)
    return {"file": out.read_bytes(), "certificate": certificate_paths(out)[0].read_bytes()}


def test_a_release_with_more_columns_is_refused_with_the_way_to_go(small: Stage) -> None:
    with pytest.raises(VerificationError) as said:
        small.push(request_id=small.request.id)
    assert "does not ask for" in str(said.value)
    for name in ("weight", "zip", "diagnosis", "patient"):
        assert name in str(said.value)
    assert str(said.value).endswith("--columns age,gender,health")
    assert list(small.catalog.store.digests()) == []
    assert list((small.catalog.store.root / "drafts").iterdir()) == []


@pytest.mark.parametrize("columns", [WANTED, ("health",), ("gender", "health")])
def test_a_release_of_what_was_asked_for_is_verified_and_provisioned(
    small: Stage, tmp_path: Path, columns: tuple[str, ...]
) -> None:
    pushed = small.push(request_id=small.request.id, **_released(small, columns, tmp_path))
    run_pending(small.catalog)
    with small.read("consumer") as work:
        seen = seen_requests.request(work, request_id=small.request.id)
        found = releases.release(work, release_id=pushed.id)
    assert seen.state is RequestState.PROVISIONED
    assert found.state is ReleaseState.VERIFIED
    assert found.certificate["release"]["columns"] == list(columns)


def test_a_known_release_with_more_columns_does_not_fulfil_it(small: Stage) -> None:
    whole = small.push(product="clinic")
    run_pending(small.catalog)
    with pytest.raises(VerificationError, match="does not ask for"), small.write("provider") as work:
        releases.fulfil(work, request_id=small.request.id, release_id=whole.id)
    with small.read("consumer") as work:
        assert seen_requests.request(work, request_id=small.request.id).state is RequestState.APPROVED


def test_a_known_release_of_fewer_columns_fulfils_it(small: Stage, tmp_path: Path) -> None:
    some = small.push(product="clinic", **_released(small, ("age", "health"), tmp_path))
    run_pending(small.catalog)
    with small.write("provider") as work:
        releases.fulfil(work, request_id=small.request.id, release_id=some.id)
    with small.read("consumer") as work:
        assert seen_requests.request(work, request_id=small.request.id).release_id == some.id


def test_a_request_without_a_list_takes_the_whole_release(small_stage: Stage) -> None:
    small_stage.product()
    asked, pushed = small_stage.provisioned()
    assert asked.state is RequestState.PROVISIONED
    assert "patient" in pushed.certificate["release"]["columns"]  # hidden by stars, as releases are


def test_a_certificate_that_hides_a_column_it_has_is_refused(small_stage: Stage) -> None:
    """The zip would not be judged if it were believed."""

    small_stage.product()
    small_stage.configurations()
    content = json.loads(small_stage.parts.released["strict"][1])
    content.pop("certificate_sha256")
    content["release"]["left_out"] = ["zip"]
    forged = json.dumps({**content, "certificate_sha256": digest(content)}).encode()
    with pytest.raises(VerificationError, match="left out and released"):
        small_stage.push(product="clinic", certificate=forged)
    content["release"]["columns"].remove("zip")  # then the file is not what it says, which its measuring finds
    forged = json.dumps({**content, "certificate_sha256": digest(content)}).encode()
    pushed = small_stage.push(product="clinic", certificate=forged)
    run_pending(small_stage.catalog)
    with small_stage.read("provider") as work:
        found = releases.release(work, release_id=pushed.id)
    assert found.state is ReleaseState.REFUSED
    assert "'zip'" in str(found.reason)

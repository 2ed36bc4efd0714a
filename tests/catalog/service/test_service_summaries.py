"""Summaries on arrival: what contradicts itself, does not fit, climbs or explodes stays outside, and leaves nothing."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aegis.catalog.client.client import packed
from aegis.catalog.records import UserRole
from aegis.catalog.service import configurations, people, products, summaries
from aegis.catalog.settings import MEBIBYTE, Settings
from aegis.errors import AegisError, NotFoundError, NotPermittedError, SummaryError, TooLargeError
from aegis.library.clinic import columns
from aegis.library.summarize import summarize

Stage = Any


@pytest.fixture
def clinic(stage: Stage) -> Stage:
    stage.product()
    return stage


@pytest.fixture
def small(small_stage: Stage) -> Stage:
    small_stage.product()
    return small_stage


def _files(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _tar(files: dict[str, bytes], *, change: Callable[[tarfile.TarInfo], None] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if change is not None:
                change(entry)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _edited(archive: bytes, edit: Callable[[dict[str, Any]], None], name: str = "summary.json") -> bytes:
    files = _files(archive)
    content = json.loads(files[name])
    edit(content)
    return _zip({**files, name: json.dumps(content).encode()})


def _nothing_left(stage: Stage) -> None:
    assert list(stage.catalog.store.digests()) == []
    assert list((stage.catalog.store.root / "drafts").iterdir()) == []
    with stage.read("provider") as work:
        assert summaries.current(work, product="clinic") is None


def test_a_summary_becomes_the_current_one_and_the_next_takes_its_place(clinic: Stage) -> None:
    first = clinic.summary()
    assert (first.rows, first.label, first.level, first.current) == (1_500, "health", "2d", True)
    assert {each["name"] for each in first.configurations} == {"strict", "everything-hidden", "young-or-old"}
    assert first.exposure is not None
    assert first.exposure["k"] == 5
    second = clinic.summary()
    with clinic.read("consumer") as work:
        shown = summaries.current(work, product="clinic")
        assert shown is not None
        assert shown.id == second.id
        assert [each.current for each in summaries.list_summaries(work, product="clinic").items] == [True, False]
        assert products.product(work, product="clinic").summary_id == second.id


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz", "in a folder", "tar with dots"])
def test_zip_and_tar_are_the_same_to_us(small: Stage, form: str) -> None:
    files = _files(small.parts.summary)
    archive = {
        "zip": lambda: _zip(files),
        "tar": lambda: _tar(files),
        "tar.gz": lambda: gzip.compress(_tar(files)),
        "in a folder": lambda: _zip({f"clinic-summary/{name}": content for name, content in files.items()}),
        "tar with dots": lambda: _tar({f"./{name}": content for name, content in files.items()}),
    }[form]()
    assert small.summary(archive=archive).rows == 1_500


def test_what_is_shown_names_no_rare_value_and_nothing_identifying(clinic: Stage) -> None:
    clinic.summary()
    drawn = columns(1_500)
    with clinic.read("consumer") as work:
        shown = {each.column: each for each in summaries.histograms(work, product="clinic")}
    assert "patient" not in shown
    assert set(shown) == set(drawn) - {"patient"}
    for name, histogram in shown.items():
        assert all(bar.records >= 5 for bar in histogram.bars if bar.records), name
        if histogram.kind == "text":
            named = {bar.name for bar in histogram.bars if not bar.merged}
            assert all(drawn[name].count(value) >= 5 for value in named), name
        assert all(bar.records % 5 == 0 for bar in histogram.bars), "a difference of two counts is no person"
        assert sum(bar.records for bar in histogram.bars) == pytest.approx(1_500, abs=2.5 * len(histogram.bars) + 3)


def test_a_rare_value_is_drawn_together_with_others(small: Stage) -> None:
    files = _files(small.parts.summary)
    manifest = json.loads(files["summary.json"])
    ward = next(each["file"] for each in manifest["attributes"] if each["name"] == "ward")
    content = json.loads(files[ward])
    joint = content["joint"]
    # All but three records of ward A move to ward B, in every place that tells it.
    for j, count in enumerate(joint[0]):
        keep = min(count, 3 if j == 0 else 0)
        joint[1][j] += count - keep
        joint[0][j] = keep
    content["histogram"]["counts"][:2] = [sum(joint[0]), sum(joint[1])]
    for masked in content["masked"]:
        if len(masked["counts"]) == len(joint):
            masked["counts"][:2] = joint[:2]
    small.summary(archive=_zip({**files, ward: json.dumps(content).encode()}))
    with small.read("consumer") as work:
        bars = {each.column: each for each in summaries.histograms(work, product="clinic")}["ward"].bars
    assert "A" not in {bar.name for bar in bars}
    assert "B" in {bar.name for bar in bars}


def test_margins_that_disagree_are_refused(clinic: Stage) -> None:
    def more(content: dict[str, Any]) -> None:
        content["label"]["counts"][0] += 1

    with pytest.raises(SummaryError, match="contradict"):
        clinic.summary(archive=_edited(clinic.parts.summary, more))
    _nothing_left(clinic)


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("ward", {"role": "identifying"}, "identifies people"),
        ("ward", {"name": "station"}, "does not have"),
        ("ward", {"kind": "integer"}, "takes 'ward' for text"),
    ],
)
def test_a_summary_that_does_not_fit_the_product_is_refused(
    small_stage: Stage, column: str, change: dict[str, str], said: str
) -> None:
    changed = [{**c, **change} if c["name"] == column else c for c in small_stage.parts.columns]
    with small_stage.write("provider") as work:
        products.register(work, name="clinic", title="C", columns=changed, policy={"k": 5})
    with pytest.raises(SummaryError, match=said):
        small_stage.summary()


def test_another_label_is_refused(small_stage: Stage) -> None:
    roles = {"health": "insensitive", "diagnosis": "label"}
    changed = [{**c, "role": roles.get(c["name"], c["role"])} for c in small_stage.parts.columns]
    with small_stage.write("provider") as work:
        products.register(work, name="clinic", title="C", columns=changed)
    with pytest.raises(SummaryError, match="another label"):
        small_stage.summary()


def test_who_does_not_own_the_product_pushes_nothing_and_is_told_before_sending(clinic: Stage) -> None:
    clinic.person("rival", UserRole.PROVIDER)
    clinic.product("hidden", publish=False)
    with clinic.write("admin") as work:
        people.unassign(work, user_id=clinic.user_id("rival"), role="provider")
    taken = []

    def stream() -> Any:
        taken.append(1)
        yield clinic.parts.summary

    for name, product, error in (
        ("rival", "clinic", NotPermittedError),
        ("consumer", "clinic", NotPermittedError),
        ("expert", "clinic", NotPermittedError),
        ("rival", "hidden", NotFoundError),
    ):
        actor = clinic.actor(name)
        with pytest.raises(error), summaries.incoming(clinic.catalog, actor, product=product, stream=stream()):
            pass
    assert taken == []
    _nothing_left(clinic)


def test_more_than_the_limit_is_refused_while_it_streams(small: Stage) -> None:
    sent = []

    def endless() -> Any:
        while True:
            sent.append(1)
            yield b"PK" + b"x" * MEBIBYTE

    actor = small.actor("provider")
    with pytest.raises(TooLargeError), summaries.incoming(small.catalog, actor, product="clinic", stream=endless()):
        pass
    assert len(sent) <= 3
    _nothing_left(small)


def _bomb_zip(files: dict[str, bytes]) -> bytes:
    return _zip({**files, "attributes/001.json": b" " * (70 * MEBIBYTE)})


def _bomb_gzip(files: dict[str, bytes]) -> bytes:
    return gzip.compress(_tar({**files, "attributes/001.json": b" " * (70 * MEBIBYTE)}), 9)


def _forged_long_name(files: dict[str, bytes]) -> bytes:
    def change(entry: tarfile.TarInfo) -> None:
        entry.type = tarfile.GNUTYPE_LONGNAME

    return gzip.compress(_tar({"x": b" " * (8 * MEBIBYTE)}, change=change), 9)


def test_bombs_do_not_go_off(small: Stage) -> None:
    files = _files(small.parts.summary)
    for make in (_bomb_zip, _bomb_gzip):
        archive = make(files)
        assert len(archive) < 3_000_000
        with pytest.raises(TooLargeError):
            small.summary(archive=archive)
    with pytest.raises(SummaryError):
        small.summary(archive=_forged_long_name(files))
    many = {f"attributes/{number}.json": b"{}" for number in range(5_001)}
    with pytest.raises(TooLargeError, match="5000 files"):
        small.summary(archive=_zip({**files, **many}))
    _nothing_left(small)


@pytest.mark.parametrize(
    "name",
    ["../evil.json", "/etc/passwd", "attributes/../../x.json", "attributes/001.json/../x", "a/b/summary.json",
     "attributes\\001.json", "evil.py", "attributes/x.json", "summary.json\0.txt", "C:/summary.json"],
)  # fmt: skip
def test_paths_that_climb_and_files_that_no_summary_has_are_refused(small: Stage, name: str) -> None:
    files = _files(small.parts.summary)
    for pack in (_zip, _tar):
        if "\0" in name and pack is _zip:
            continue
        with pytest.raises(SummaryError):
            small.summary(archive=pack({**files, name: b"{}"}))
    _nothing_left(small)


def test_links_devices_duplicates_and_locked_files_are_refused(small: Stage) -> None:
    files = _files(small.parts.summary)

    def link(entry: tarfile.TarInfo) -> None:
        if entry.name.endswith("001.json"):
            entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, "/etc/passwd", 0

    def device(entry: tarfile.TarInfo) -> None:
        if entry.name.endswith("001.json"):
            entry.type, entry.size = tarfile.CHRTYPE, 0

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo("summary.json")
        entry.external_attr = 0o120777 << 16  # a symbolic link
        archive.writestr(entry, "/etc/passwd")
    twice = _tar(files)[:-10_240] + _tar(files)
    for content in (_tar(files, change=link), _tar(files, change=device), buffer.getvalue(), twice):
        with pytest.raises(SummaryError):
            small.summary(archive=content)
    _nothing_left(small)


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18, b"\x1f\x8b\x08", b"hello", b"\0" * 2_000])
def test_what_is_no_archive_is_refused(small: Stage, content: bytes) -> None:
    with pytest.raises(SummaryError):
        small.summary(archive=content)
    _nothing_left(small)


def test_a_broken_off_archive_is_refused(small: Stage) -> None:
    whole = small.parts.summary
    for kept in (0.3, 0.7, 0.99):
        with pytest.raises(SummaryError):
            small.summary(archive=whole[: int(kept * len(whole))])
    _nothing_left(small)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_forged_summary_is_refused_or_sound_and_the_error_is_ours(small: Stage, data: Any) -> None:
    """One place of the summary, drawn at random, gets a value of another kind."""
    files = _files(small.parts.summary)
    name = data.draw(st.sampled_from(sorted(files)))
    content = json.loads(files[name])
    here, path = content, []
    for _ in range(data.draw(st.integers(1, 6))):
        keys = sorted(here) if isinstance(here, dict) else list(range(min(len(here), 4)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        path.append((here, key))
        here = here[key]
        if not isinstance(here, dict | list):
            break
    if not path:
        return
    holder, key = path[-1]
    holder[key] = data.draw(
        st.sampled_from([None, -1, 10**30, 1.5, "x", [], {}, [[]], True, "\0", float("1e308"), [-1] * 3, 10**7])
    )
    said = ""
    try:
        small.summary(archive=_zip({**files, name: json.dumps(content).encode()}))
    except AegisError as error:
        said = str(error)
    assert "/" not in said  # no path of the server
    with small.read("consumer") as work:
        summaries.histograms(work, product="clinic")  # whatever was let in can be shown


def test_a_deeply_nested_summary_is_refused(small: Stage) -> None:
    files = _files(small.parts.summary)
    with pytest.raises(SummaryError):
        small.summary(archive=_zip({**files, "summary.json": b"[" * 100_000}))


def test_a_summary_made_of_nothing_but_masked_counts_is_taken_too(small: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "told"
    summarize(
        small.parts.folder / "clinic.csv",
        configs=[{"age": {"bucketize": {"width": 10}}, "zip": "suppress"}],
        level="none",
        opaque=True,
        out=folder,
    )
    with packed(folder) as archive:
        small.summary(archive=archive.read())
    with small.read("consumer") as work:
        shown = {each.column: each for each in summaries.histograms(work, product="clinic")}
    assert shown["age"].bars == ()
    assert shown["health"].bars


def test_limits_are_settings(new_stage: Any) -> None:
    stage = new_stage("sqlite", settings=Settings(summary_bytes=100))
    stage.product()
    with pytest.raises(TooLargeError, match="100 bytes"):
        stage.summary()


def test_configurations_that_only_the_provider_knew_come_with_the_summary(clinic: Stage) -> None:
    with clinic.read("expert") as work:
        assert configurations.list_configurations(work, product="clinic") == []
    clinic.summary()
    with clinic.read("expert") as work:
        entered = {each.name: each for each in configurations.list_configurations(work, product="clinic")}
    assert set(entered) == {"strict", "everything-hidden", "young-or-old"}
    assert all(each.in_summary and each.proposed_by == "provider" for each in entered.values())
    with clinic.write("expert") as work:
        configurations.withdraw(work, configuration_id=entered["strict"].id)
    clinic.summary()
    with clinic.read("expert") as work:  # withdrawn stays withdrawn
        assert len(configurations.list_configurations(work, product="clinic")) == 2
    proposed = clinic.configurations()  # and the same content is the same configuration
    assert {each.id for each in proposed.values()} == {each.id for each in entered.values()}

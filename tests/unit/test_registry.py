"""Outsiders add entries by entry point, and wrong names are answered with the right ones."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from aegis import registry
from aegis.errors import MeasureError
from aegis.registry import Registry


def test_entry_points_of_other_packages_are_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = EntryPoint(name="theirs", value="math:tau", group="aegis.things")

    other = EntryPoint(name="other", value="math:pi", group="aegis.others")
    monkeypatch.setattr("aegis.registry._installed", lambda: EntryPoints((outside, other)))
    things: Registry[float] = Registry("things", noun="thing", error=MeasureError)
    things.add("ours", 1.0)
    assert list(things) == ["ours", "theirs"]
    assert things["theirs"] == pytest.approx(6.283185)
    with pytest.raises(MeasureError, match="did you mean 'theirs'"):
        _ = things["their"]


def test_a_name_is_taken_once() -> None:
    things: Registry[int] = Registry("things", noun="thing")
    things.add("one", 1)
    with pytest.raises(ValueError, match="two entries"):
        things.add("one", 2)


def test_threads_that_look_up_at_once_all_see_all_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    things: Registry[int] = Registry("things", noun="thing", package="a_module_that_registers")
    begun, may_end = threading.Event(), threading.Event()

    def slow_import(_: str) -> None:
        assert "one" not in things  # a module may look up while it is being imported
        begun.set()
        assert may_end.wait(10)
        things.add("one", 1)

    monkeypatch.setattr("aegis.registry._modules_of", lambda package: [package])
    monkeypatch.setattr("aegis.registry.import_module", slow_import)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(things.__getitem__, "one")
        assert begun.wait(10)
        second = pool.submit(things.__getitem__, "one")
        with pytest.raises(TimeoutError):  # it waits instead of finding nothing
            second.result(0.2)
        may_end.set()
        assert [first.result(10), second.result(10)] == [1, 1]


def test_what_could_not_be_imported_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    things: Registry[int] = Registry("things", noun="thing", package="a_module_that_registers")
    tries = iter([ImportError("not now"), None])

    def import_at_second_try(_: str) -> None:
        if trouble := next(tries):
            raise trouble
        things.add("one", 1)

    monkeypatch.setattr("aegis.registry._modules_of", lambda package: [package])
    monkeypatch.setattr("aegis.registry.import_module", import_at_second_try)
    with pytest.raises(ImportError, match="not now"):
        _ = things["one"]
    assert things["one"] == 1


def test_installed_packages_are_asked_once_for_all_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time a file of every installed package is read."""
    asked: list[int] = []

    def entry_points() -> EntryPoints:
        asked.append(1)
        return EntryPoints(())

    monkeypatch.setattr("aegis.registry.entry_points", entry_points)
    registry._installed.cache_clear()
    try:
        for kind in ("things", "others"):
            assert not list(Registry[int](kind, noun="thing"))
        assert len(asked) == 1
    finally:
        registry._installed.cache_clear()

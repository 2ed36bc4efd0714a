"""Outsiders add entries by entry point, and wrong names are answered with the right ones."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from aegis.errors import MeasureError
from aegis.registry import Registry


def test_entry_points_of_other_packages_are_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = EntryPoint(name="theirs", value="math:tau", group="aegis.things")

    def entry_points(*, group: str) -> list[Any]:
        return [outside] if group == "aegis.things" else []

    monkeypatch.setattr("aegis.registry.entry_points", entry_points)
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

"""Candidates side by side: what is recommended, and what a search that was cut short is given."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest

from aegis.data.schema import Roles
from aegis.library.guided.comparing import MORE_SECONDS, USUAL_SECONDS, Settings, compare

ROLES = Roles(label="y", quasi_identifying=("age",))
POLICY = {"quasi_identifying": ["age"], "k": 3}


def _table() -> pa.Table:
    ages = [20 + i % 8 for i in range(160)]
    return pa.table({"age": ages, "y": ["uv"[(age > 23) != (i * i // 11 % 6 == 0)] for i, age in enumerate(ages)]})


@pytest.mark.parametrize(
    ("limit", "cut_short", "tries"),
    [
        (None, True, [USUAL_SECONDS, MORE_SECONDS]),
        (None, False, [USUAL_SECONDS]),
        (2.0, True, [2.0]),
        (2.0, False, [2.0]),
    ],
)
def test_a_search_that_was_cut_short_gets_more_time_unless_somebody_gave_a_limit(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, cut_short: bool, tries: list[float]
) -> None:
    comparing: Any = import_module("aegis.library.guided.comparing")
    search, given = comparing.search, []

    def cut(data: Any, *, seconds: float, **options: Any) -> Any:
        given.append(seconds)
        found = search(data, seconds=None, **options)
        return replace(found, proved=False, cut_short=True, classes=1) if cut_short and len(given) == 1 else found

    monkeypatch.setattr(comparing, "search", cut)
    settings = Settings(kinds=("search",), generate=0, seconds=limit)
    compared = compare(_table(), roles=ROLES, policy=POLICY, settings=settings, reading={}, ledger="none")
    assert given == tries
    told = "the search ended after 2 s without a proof with nothing but hiding everything"
    assert any(note.startswith(told) for note in compared.notes) == (limit == 2.0 and cut_short)
    assert any("s without a proof" in note for note in compared.notes) == (limit == 2.0 and cut_short), (
        "a search that ended by itself did not take its whole time"
    )
    assert compared.recommended == "search"
    assert compared.alone_before == 0
    assert compared.best.smallest_class is not None
    assert compared.best.smallest_class >= 3

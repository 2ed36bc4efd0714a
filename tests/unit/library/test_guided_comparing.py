"""Candidates side by side: what is recommended, and what a search that was cut short is given."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.data.schema import Roles
from aegis.library.advising.candidate_kinds import MORE_SECONDS, USUAL_SECONDS
from aegis.library.guided.comparing import Settings, compare

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
    searched_kind: Any = import_module("aegis.library.advising.searched_kind")
    search = searched_kind.search_classes
    given: list[float] = []

    def cut(counts: Any, *, seconds: float, **options: Any) -> Any:
        given.append(seconds)
        found = search(counts, seconds=None, **options)
        if not cut_short or len(given) > 1:
            return found
        return replace(found, proved=False, cut_short=True, best=replace(found.best, classes=1))

    monkeypatch.setattr(searched_kind, "search_classes", cut)
    settings = Settings(kinds=("search",), generate=0, seconds=limit)
    compared = compare(_table(), roles=ROLES, policy=POLICY, settings=settings, reading={}, ledger="none")
    whole = [seconds / 2 for seconds in tries]  # the other half is for the two searches that test it
    assert given == [*whole, tries[-1] / 4, tries[-1] / 4]
    told = "the search ended after 1 s without a proof with nothing but hiding everything"
    notes = compared.ranking.notes
    assert any(note.startswith(told) for note in notes) == (limit == 2.0 and cut_short)
    assert any("s without a proof" in note for note in notes) == (limit == 2.0 and cut_short), (
        "a search that ended by itself did not take its whole time"
    )
    assert compared.recommended == "search"
    assert compared.alone_before == 0
    assert compared.best.smallest_class is not None
    assert compared.best.smallest_class >= 3


def _lots(rows: int, seed: int) -> pa.Table:
    """A label that is drawn by lot: nothing tells it."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 80, rows),
            "city": rng.choice(list("abcdefgh"), rows),
            "height": rng.normal(170, 10, rows).round(1),
            "y": rng.choice(["head", "tail"], rows),
        }
    )


def test_a_search_is_tested_on_rows_that_had_no_say_in_it_and_a_label_by_lot_stays_one() -> None:
    columns = ("age", "city", "height")
    roles = Roles(label="y", quasi_identifying=columns)
    reached, named = [], []
    for seed in (33, 101):
        compared = compare(
            _lots(1500, seed),
            roles=roles,
            policy={"quasi_identifying": list(columns), "k": 5},
            settings=Settings(kinds=("masks", "search"), generate=6, seconds=4.0),
            reading={},
            ledger="none",
        )
        searched = compared.named("search")
        reached.append(searched.performance)
        assert searched.low < 0.5 < searched.high
        assert compared.best.average_risk == min(each.average_risk for each in compared.candidates if each.average_risk)
        named.append(next(place for place in compared.ranking.ranking if place.configuration == "search").reasons[0])
    assert np.mean(reached) < 0.52, "cuts that were chosen on the rows that test them reach more"
    assert all(reason.endswith("found again on each half of the rows and tested on the other") for reason in named)

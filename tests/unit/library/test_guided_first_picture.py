"""A first picture after seconds: which kinds it shows, and that it comes before the others are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aegis.commands.fields import NO_LEDGER
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import PolicyNotSatisfiedError
from aegis.library.guided.comparing import QUICK_ROWS, QUICK_SECONDS, ReleaseSource, Settings, compare

Aegis = Callable[..., Any]


def test_quick_kinds_are_raced_first_unless_somebody_named_some() -> None:
    quick = Settings(seed=3).quick()
    assert quick == Settings(
        kinds=("search", "boxes"), generate=0, seconds=QUICK_SECONDS, rows=QUICK_ROWS, seed=3, ways=False
    )
    assert Settings(kinds=("masks",)).quick() is None
    limited = Settings(seconds=1.0).quick()
    assert limited is not None
    assert limited.seconds == 1.0, "a limit is a limit"


def test_a_table_that_is_open_is_enough_for_it() -> None:
    ages = [20 + i % 20 for i in range(160)]
    labels = ["uv"[(age > 29) != (i * i // 11 % 5 == 0)] for i, age in enumerate(ages)]
    quick = Settings().quick()
    assert quick is not None
    compared = compare(
        open_dataset(pa.table({"age": ages, "outcome": labels})),
        roles=Roles(label="outcome", quasi_identifying=("age",)),
        policy={"quasi_identifying": ["age"], "k": 3},
        settings=replace(quick, seconds=600.0),  # a busy machine must not cut it short
        reading={},
        ledger=NO_LEDGER,
        released_from=ReleaseSource(data="mine.csv", reading={}, ledger=None),
    )
    assert {each.name for each in compared.candidates if each.can_be_released} == {"search", "boxes"}, (
        "boxes leave as a file does, though the picture is drawn from a table that is open"
    )
    assert not any("row by row" in note for note in compared.notes)
    assert {each.kind for each in compared.candidates} == {"search", "boxes"}
    assert compared.so_far().startswith(f"a first picture: {compared.recommended} reaches ")


@pytest.mark.parametrize("refused", [False, True])
def test_the_first_picture_comes_before_the_rest(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    starting: Any = import_module("aegis.library.start")
    asked: list[tuple[str, ...]] = []
    small = Settings(kinds=("masks",), generate=4)

    def made(data: Any, *, settings: Settings, **options: Any) -> Any:
        asked.append(settings.kinds)
        if refused and settings.kinds == ("search", "boxes"):
            raise PolicyNotSatisfiedError("no candidate satisfies the policy")
        return compare(data, settings=small, **options)

    monkeypatch.setattr(starting, "compare", made)
    data = tmp_path / "mine.csv"
    lines = [f"{20 + i % 20},{'uv'[(i % 20 > 9) != (i * i // 11 % 5 == 0)]}" for i in range(160)]
    data.write_text("\n".join(["age,outcome", *lines]) + "\n", encoding="utf-8")
    answer = aegis("start", data, "-y", "--purpose", "internal")
    assert answer.status == 0, answer.err
    assert asked == [("search", "boxes"), ()]
    expected = "no first picture: no candidate" if refused else "a first picture: "
    assert answer.err.index(expected) < answer.err.index("Recommended: ")


def test_the_first_picture_is_raced_towards_the_goal_that_was_named() -> None:
    quick = Settings(goal="auc", seed=3).quick()
    assert quick is not None
    assert (quick.goal, quick.seed) == ("auc", 3)

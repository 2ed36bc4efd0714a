"""A first picture after seconds: which kinds it shows, and that it comes before the others are made."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from aegis.errors import PolicyNotSatisfiedError
from aegis.library.guided.comparing import Settings
from aegis.library.guided.first_picture import QUICK_ROWS, QUICK_SECONDS, quick_settings

Aegis = Callable[..., Any]


def test_quick_kinds_are_raced_first_unless_somebody_named_some() -> None:
    quick = quick_settings(Settings(seed=3))
    assert quick == Settings(kinds=("search", "boxes"), generate=0, seconds=QUICK_SECONDS, rows=QUICK_ROWS, seed=3)
    assert quick_settings(Settings(kinds=("masks",))) is None
    limited = quick_settings(Settings(seconds=1.0))
    assert limited is not None
    assert limited.seconds == 1.0, "a limit is a limit"


@pytest.mark.parametrize("refused", [False, True])
def test_the_first_picture_comes_before_the_rest(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    starting: Any = import_module("aegis.library.start")
    compare, asked = starting.compare, []
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

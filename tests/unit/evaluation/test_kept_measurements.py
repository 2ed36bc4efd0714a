"""What a long benchmark keeps as it goes: the same in any number of processes, and whole after a stop."""

from __future__ import annotations

import importlib
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def kept_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_kept")


def test_the_number_of_processes_changes_no_result(kept_module: Any, tmp_path: Path) -> None:
    tasks = {("root", number): partial(math.sqrt, number) for number in range(4)}
    one, two = (kept_module.Kept.of(tmp_path / f"{jobs}.jsonl").get_all(tasks, jobs=jobs) for jobs in (1, 2))
    assert one == two == {key: math.sqrt(key[1]) for key in tasks}


def test_a_line_that_was_cut_off_is_measured_again_and_the_others_are_not(kept_module: Any, tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('[["a", 0], 5]\n[["a", 1], 7', encoding="utf-8")
    kept = kept_module.Kept.of(path)
    tasks = {("a", 0): partial(math.sqrt, -1), ("a", 1): partial(math.sqrt, 9)}  # the first would fail
    assert kept.get_all(tasks, jobs=1) == {("a", 0): 5, ("a", 1): 3.0}
    assert path.read_text(encoding="utf-8") == '[["a", 0], 5]\n[["a", 1], 3.0]\n'

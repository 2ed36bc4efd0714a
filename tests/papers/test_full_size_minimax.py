"""The full-size runs that the minimax chapter quotes are those of the committed results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aegis_papers.minimax_full_size import FULL_BINARY, FULL_GAUSSIAN, FullSize

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.mark.parametrize("quoted", [FULL_GAUSSIAN, FULL_BINARY], ids=lambda run: run.result)
def test_the_quoted_numbers_are_those_of_the_file(quoted: FullSize) -> None:
    kept = json.loads((RESULTS / f"{quoted.result}.json").read_text(encoding="utf-8"))
    assert quoted.command == kept["command"]
    assert (quoted.points, quoted.asked_points, quoted.trials) == (
        len(kept["points"]),
        kept["asked_points"],
        kept["trials"],
    )
    assert quoted.claimed_ratio == round(kept["mean_claimed_ratio"], 4)
    assert quoted.audited_ratio == round(kept["mean_ratio"], 4)
    assert quoted.stronger == kept["stronger_than_claimed"]
    if quoted.own_ratio is not None:
        assert quoted.own_ratio == round(kept["mean_ratio_at_own_distortion"], 4)


def test_the_chapters_name_only_results_that_exist() -> None:
    folder = Path(__file__).parents[2] / "papers" / "aegis_papers"
    named = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(r"(?:results/|and )(\w+\.json)", path.read_text(encoding="utf-8"))
    }
    assert named
    assert {name for name in named if not (RESULTS / name).is_file()} == set()

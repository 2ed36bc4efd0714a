"""The grid and the search: the paper's rules, the front, and an interruption that keeps what is done."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError
from aegis.evaluation.grid_tuning import GridTuning, tune_records


def records(n: int = 120) -> Records:
    rng = np.random.default_rng(0)
    return Records.from_arrays(
        numeric=rng.integers(20, 60, n).astype(float),
        categorical=rng.choice(["f", "m"], n),
        sensitive=rng.choice(["a", "b", "c"], n),
    )


def run(**options: Any) -> GridTuning:
    given: dict[str, Any] = {
        "ks": (3, 6), "classes": (4, 8, 30), "trade_offs": (0.0, 1.0), "rounds": 30, "search": False,
    }  # fmt: skip
    return tune_records(records(), **{**given, **options})


@pytest.fixture(scope="module")
def finished() -> GridTuning:
    """The grid without a search, to be looked at."""
    return run()


def test_every_cell_of_the_grid_keeps_its_k_and_the_rule_leaves_out_the_rest(finished: GridTuning) -> None:
    found = finished
    assert found.left_out == 2  # 30 classes of 6 need 180 records
    assert len(found.grid) == 10
    for trial in found.grid:
        assert trial.known.smallest_class >= trial.setting.k
        assert trial.known.classes == trial.setting.classes
    assert found.cell(classes=30, trade_off=1.0, k=6) is None
    losses = [found.cell(classes=c, trade_off=0.0, k=3) for c in (4, 8, 30)]
    values = [trial.known.information_loss for trial in losses if trial is not None]
    assert values == sorted(values, reverse=True), "more classes lose less"


def test_nothing_that_was_tried_beats_the_front() -> None:
    found = run(search=True)
    assert found.search
    tried = [trial.known for trial in (*found.grid, *found.search) if trial.result is not None]
    for trial in found.front:
        mine = trial.known
        assert not any(
            other.information_loss < mine.information_loss - 1e-12
            and other.entropy_sum_of_minima_bits > mine.entropy_sum_of_minima_bits + 1e-12
            for other in tried
        )
    assert found.recommended in found.front
    assert list(found.by_k) == [3, 6]
    assert found.by_k[found.recommended.setting.k] == found.recommended
    assert str(found.recommended.setting.classes) in found.advice


def test_the_papers_ranges_are_the_default() -> None:
    found = tune_records(records(60), rounds=1, search=False)
    assert found.ks == (5, 10, 15, 20)
    assert found.trade_offs == (0.0001, 0.001, 0.01, 0.1, 1.0)
    assert max(found.classes) <= found.unique_tuples / 5
    binary = Records.from_arrays(numeric=np.arange(60.0), sensitive=["a", "b"] * 30)
    assert min(tune_records(binary, ks=(5,), rounds=1, search=False).trade_offs) >= 0.01


@pytest.mark.parametrize("search", [False, True])
def test_an_interruption_keeps_what_is_done(search: bool, finished: GridTuning) -> None:
    def stop(done: int, total: int, what: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    found = run(progress=stop, search=search)
    assert found.interrupted
    assert len(found.grid) == (1 if search else 3)
    assert found.recommended.known.smallest_class >= 3
    assert not finished.interrupted


def test_processes_give_the_same_answer() -> None:
    alone, together = (run(jobs=jobs, classes=(4, 8), ks=(3,)).to_json() for jobs in (1, 2))
    for content in (alone, together):
        for trial in (*content["grid"], *content["front"], content["recommended"], content["recommended_by_k"]["3"]):
            trial.pop("seconds")
        content.pop("seconds")
    assert alone == together


def test_the_json_says_everything_and_is_json() -> None:
    content = json.loads(json.dumps(run(classes=(4, 119), ks=(1 + 1,)).to_json(), allow_nan=False))
    assert content["k_values"] == [2]
    assert content["left_out"] == 2
    tried = content["grid"][0]
    assert {"classes", "lambda", "k", "information_loss", "entropy_bits", "linkage", "homogeneity"} <= set(tried)
    assert set(tried["linkage"]) == {"0.05", "0.075", "0.1"}


def test_a_refused_setting_says_why_and_the_others_go_on() -> None:
    found = run(l=3, classes=(4, 39), ks=(2,))
    refused = [trial for trial in found.grid if trial.result is None]
    assert refused
    assert all(trial.refusal for trial in refused)
    assert found.to_json()["grid"][-1]["refusal"] == refused[-1].refusal


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ks": (1,)}, "k starts at 2"),
        ({"classes": (0, 4)}, "at least 1"),
        ({"trade_offs": (2.0,)}, "between 0"),
        ({"classes": (100,)}, "the grid is empty"),
        ({"l": 9}, "every setting was refused"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(AnonymizerError, match=said):
        run(**given)

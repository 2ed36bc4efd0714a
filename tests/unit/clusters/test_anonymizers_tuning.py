"""Tuning: the paper's rules, a true front, a search that needs few trials, and words that match the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.clusters.anonymizer import Progress
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.tuning import (
    PAPER_TRADE_OFFS,
    Setting,
    Trial,
    Tuner,
    paper_classes,
    paper_grid,
    paper_trade_offs,
    pareto_front,
    recommend,
)
from aegis.errors import AnonymizerError


def people(secrets: int = 4, rows: int = 150) -> Records:
    rng = np.random.default_rng(0)
    return Records.from_arrays(
        numeric=rng.integers(18, 90, rows).astype(float),
        categorical=rng.integers(0, 2, rows),
        sensitive=rng.integers(0, secrets, rows),
    )


def test_the_papers_rules() -> None:
    records = people()
    classes = paper_classes(records)
    assert min(classes) == 4
    assert max(classes) == len(collapse(records)) // 5
    assert all(s.k * s.classes <= len(records) for s in paper_grid(records))
    assert paper_grid(records, classes=[60], ks=[2, 3]) == tuple(
        Setting(classes=60, trade_off=t, k=2) for t in PAPER_TRADE_OFFS
    )


def test_binary_secrets_start_at_higher_trade_offs() -> None:
    assert paper_trade_offs(people(secrets=4)) == PAPER_TRADE_OFFS
    assert paper_trade_offs(people(secrets=2)) == (0.01, 0.1, 1.0)


@pytest.fixture(scope="module")
def trials() -> tuple[Trial, ...]:
    settings = paper_grid(people(), classes=[4, 8], trade_offs=[0.001, 1.0], ks=[5, 10])
    return Tuner(people(), rounds=400).grid(settings).trials


def test_the_front_holds_exactly_the_unbeaten(trials: tuple[Trial, ...]) -> None:
    front = pareto_front(trials)

    def beaten(a: Trial) -> bool:
        return any(
            b.known.information_loss <= a.known.information_loss
            and b.known.entropy_sum_of_minima_bits > a.known.entropy_sum_of_minima_bits + 1e-12
            for b in trials
        )

    assert {t.setting for t in front} <= {t.setting for t in trials if not beaten(t)}
    points = {(t.known.information_loss, t.known.entropy_sum_of_minima_bits) for t in trials if not beaten(t)}
    assert min(points)[0] == front[0].known.information_loss
    assert recommend(front) in front


def test_a_parallel_grid_finds_the_same_and_reports_each_trial(trials: tuple[Trial, ...]) -> None:
    heard: list[tuple[int, int]] = []
    tuner = Tuner(people(), rounds=400, workers=2, progress=lambda done, total, _: heard.append((done, total)))
    tuned = tuner.grid([t.setting for t in trials])
    assert heard == [(i, len(trials)) for i in range(1, len(trials) + 1)]
    assert [t.known.information_loss for t in tuned.trials] == [t.known.information_loss for t in trials]
    assert f"Use {tuned.recommended.setting.classes} classes" in tuned.advice
    assert f"k = {tuned.recommended.setting.k}" in tuned.advice


def test_a_refused_setting_keeps_its_reason_and_stops_nothing() -> None:
    tuned = Tuner(people(secrets=2), l=2, rounds=50).grid(
        [Setting(classes=4, trade_off=0.1, k=5), Setting(classes=140, trade_off=0.1, k=1)]
    )
    refused = [t for t in tuned.trials if t.result is None]
    assert len(refused) == 1
    assert "140 classes" in (refused[0].refusal or "")
    with pytest.raises(AnonymizerError, match="no result"):
        _ = refused[0].known
    with pytest.raises(AnonymizerError, match="every setting was refused"):
        Tuner(people(secrets=2), l=2, rounds=50).grid([Setting(classes=140, trade_off=0.1, k=1)])


def test_the_automated_search_finds_where_protection_ends() -> None:
    records = people(secrets=2)
    tuned = Tuner(records, rounds=150).search(ks=[3], trade_offs=[0.01, 1.0])
    assert len(tuned.trials) <= 12
    assert tuned.recommended.known.after.homogeneity == 0
    failed = [t.setting.classes for t in tuned.trials if t.known.after.homogeneity > 0]
    kept = [t.setting.classes for t in tuned.trials if t.known.after.homogeneity == 0]
    assert failed
    assert max(kept) < max(failed)


def test_an_empty_grid_and_no_workers_are_refused() -> None:
    with pytest.raises(AnonymizerError, match="at least one worker"):
        Tuner(people(), workers=0)
    with pytest.raises(AnonymizerError, match="grid is empty"):
        Tuner(people()).grid(paper_grid(people(), classes=[100], ks=[5]))


def test_anonymizers_are_found_by_name() -> None:
    assert list(ANONYMIZERS) == ["k-member", "mdav", "mo-obam"]
    with pytest.raises(AnonymizerError, match="did you mean 'mdav'"):
        _ = ANONYMIZERS["mdva"]


def test_ctrl_c_keeps_the_finished_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = paper_grid(people(), classes=[4, 8], trade_offs=[0.001], ks=[5])

    def stop_after_one(done: int, total: int, trial: Trial) -> None:
        if done == 1:
            raise KeyboardInterrupt

    assert len(Tuner(people(), rounds=50, progress=stop_after_one).grid(settings).trials) == 1
    calls: list[int] = []
    real = MOOBAM.fit

    def fit(self: MOOBAM, records: Records, **_: object) -> object:
        def interrupt(progress: Progress) -> None:
            if calls:
                raise KeyboardInterrupt

        fitted = real(self, records, progress=interrupt)
        calls.append(1)
        return fitted

    monkeypatch.setattr(MOOBAM, "fit", fit)
    assert len(Tuner(people(), rounds=3000).grid(settings).trials) == 1

"""Tuning: the paper's rules, a true front, a search that needs few trials, and words that match the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.tuning import (
    PAPER_TRADE_OFFS,
    Attempts,
    Setting,
    Trial,
    paper_classes,
    paper_grid,
    paper_trade_offs,
    pareto_front,
    recommend,
    search_classes,
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
    return tuple(Attempts(rounds=60).trial(people(), setting) for setting in settings)


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


def test_a_refused_setting_keeps_its_reason() -> None:
    attempts = Attempts(l=2, rounds=50)
    assert attempts.trial(people(secrets=2), Setting(classes=4, trade_off=0.1, k=5)).refusal is None
    refused = attempts.trial(people(secrets=2), Setting(classes=140, trade_off=0.1, k=1))
    assert "140 classes" in (refused.refusal or "")
    with pytest.raises(AnonymizerError, match="no result"):
        _ = refused.known


def test_the_search_finds_where_protection_ends() -> None:
    trials = list(search_classes(people(secrets=2), Attempts(rounds=150), k=3, trade_offs=[0.01, 1.0]))
    assert len(trials) <= 12
    assert len({trial.setting for trial in trials}) == len(trials), "no setting is tried twice"
    failed = [trial.setting.classes for trial in trials if trial.known.after.homogeneity > 0]
    kept = [trial.setting.classes for trial in trials if trial.known.after.homogeneity == 0]
    assert failed
    assert max(kept) < max(failed)
    assert recommend(pareto_front(trials)).known.after.homogeneity == 0


def test_a_method_that_chooses_its_classes_cannot_be_tuned() -> None:
    with pytest.raises(AnonymizerError, match="chooses its classes itself, so only k could be tuned; use mo-obam"):
        Attempts(method="mdav")
    with pytest.raises(AnonymizerError, match="did you mean 'mdav'"):
        Attempts(method="mdva").trial(people(), Setting(classes=4, trade_off=0.1, k=5))


def test_a_trial_that_was_cut_short_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[Trial] = []
    fit = MOOBAM.fit

    def interrupted_later(self: MOOBAM, records: Records, **_: object) -> object:
        def interrupt(done: int, total: int | None, what: str) -> None:
            if finished:
                raise KeyboardInterrupt

        return fit(self, records, progress=interrupt)

    monkeypatch.setattr(MOOBAM, "fit", interrupted_later)
    trials = search_classes(people(), Attempts(rounds=3000), k=5, trade_offs=[0.001])
    finished.append(next(trials))
    with pytest.raises(KeyboardInterrupt):
        next(trials)

"""The audit: attackers find what is there, contradictions are rejected, curves keep their contract."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import Evidence, Exposure, audit, verify
from aegis.candidates.sanitizers.components import Erasure, Modulo, Noise
from aegis.candidates.sanitizers.curve import check_counts
from aegis.candidates.sanitizers.finite import binary_problem, draw, optimum
from aegis.candidates.sanitizers.finite_curve import audit_release, certain_share, finite_curve
from aegis.candidates.sanitizers.gaussian import coalition_problem, paper_problem
from aegis.candidates.sanitizers.gaussian_curve import AuditRows, audit_mixture, gaussian_curve, method_of
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.errors import SanitizerError, VerificationError

ROWS = AuditRows(fit=6000, compare=3000, measure=60_000)
KEYS = {
    "target", "distortion", "adversary_losses", "worst", "theory", "erasure", "ratio", "interval", "exposure",
    "attacker",
}  # fmt: skip


def noisy(rows: int = 9000, seed: int = 0) -> tuple[np.ndarray, View]:
    rng = np.random.default_rng(seed)
    side = rng.standard_normal((rows, 1))
    x = side[:, 0] + rng.standard_normal(rows)
    release = (x + 0.5 * rng.standard_normal(rows))[:, None]
    return x, View(release=release, side=side)


@pytest.mark.parametrize("name", ["network", "trees", "neighbours"])
def test_every_attacker_comes_near_the_best_guess(name: str) -> None:
    if name not in attackers.available():
        pytest.skip(f"the library of the attacker '{name}' is not installed")
    x, view = noisy()
    fitters: dict[str, Any] = {
        "network": attackers.fit_network,
        "trees": attackers.fit_trees,
        "neighbours": attackers.fit_neighbours,
    }
    fitter = fitters[name]
    guess = fitter(view.features()[:6000], x[:6000], "number")
    loss = ((x[6000:] - guess(view.features()[6000:])) ** 2).mean()
    # precisions add: 1/(1/1 + 1/0.25) = 0.2
    assert 0.19 <= loss <= 0.25
    labels = (x > 0).astype(float)
    guess = fitter(view.features()[:6000], labels[:6000], "category")
    wrong = (labels[6000:] != guess(view.features()[6000:])).mean()
    assert wrong < 0.14


def test_the_histogram_referee_unfolds_a_remainder() -> None:
    rng = np.random.default_rng(1)
    score = rng.standard_normal(60_000)
    x = score + 0.3 * rng.standard_normal(score.size)
    f = np.mod(x, 2.0)
    referee = attackers.fit_histogram(f[:50_000], score[:50_000], x[:50_000])
    assert ((x[50_000:] - referee(f[50_000:], score[50_000:])) ** 2).mean() < 0.02


def test_the_table_attacker_names_what_a_symbol_tells() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 5000).astype(float)
    symbol = np.where(rng.random(5000) < 0.8, x, 0.0)[:, None]
    side = rng.standard_normal((5000, 2))
    guess = attackers.fit_table(symbol, side, x)
    assert (guess(np.hstack([symbol, side])) == x).mean() > 0.8


def test_the_pinning_adversary_beats_the_mean_between_two_points() -> None:
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], 3000) + 0.01 * rng.standard_normal(3000)
    nothing = rng.standard_normal((3000, 1))
    share = attackers.pinning_share(nothing[:2000], x[:2000], nothing[2000:], x[2000:], epsilon=0.1)
    assert 0.4 < share < 0.6
    assert (np.abs(x - x.mean()) <= 0.1).mean() == 0.0


def test_an_audit_without_the_law_finds_the_loss() -> None:
    x, view = noisy(12_000)
    report = audit(x, Evidence(view=view), [Evidence(view=view)], epsilon=0.1)
    assert report.worst == pytest.approx(0.2, rel=0.12)
    assert report.strongest.interval[0] < report.worst < report.strongest.interval[1]
    assert set(report.strongest.by_attacker) >= {"histogram", "neighbours"}
    json.dumps(report.to_json())


def test_a_contradicted_training_is_rejected() -> None:
    x, view = noisy(6000)
    report = audit(x, Evidence(view=view), [Evidence(view=view)], epsilon=0.1, names=("neighbours",))
    verify(report, distortion=0.25, adversary_losses=[0.2])
    with pytest.raises(VerificationError, match="adversary 1"):
        verify(report, distortion=0.25, adversary_losses=[0.4])
    with pytest.raises(VerificationError, match="fresh reconstructor"):
        verify(report, distortion=0.1, adversary_losses=[0.2])


def test_an_exact_attack_that_is_not_exact_is_found_out() -> None:
    x, view = noisy(6000)
    fake = Evidence(view=view, exact=lambda seen: np.zeros(len(seen.side)), exact_loss=2.0)
    with pytest.raises(VerificationError, match="taken for exact"):
        audit(x, fake, [fake], epsilon=0.1, names=("neighbours",))
    wrong_loss = Evidence(view=view, exact=lambda seen: np.zeros(len(seen.side)), exact_loss=0.05)
    with pytest.raises(VerificationError):
        audit(x, wrong_loss, [wrong_loss], epsilon=0.1, names=())


def test_too_few_rows_are_refused() -> None:
    x, view = noisy(100)
    with pytest.raises(SanitizerError, match="at least 300 rows"):
        audit(x, Evidence(view=view), [Evidence(view=view)], epsilon=0.1)
    with pytest.raises(SanitizerError, match="epsilon"):
        Exposure(epsilon=0.0, pinned_share=0.0, error_quantiles={})


def test_a_mixture_is_audited_at_its_exact_figures() -> None:
    problem = paper_problem()
    mixture = Mixture(components=(Modulo(period=9.0), Erasure(), Noise(std=1.0)), weights=(0.5, 0.2, 0.3))
    report = audit_mixture(problem, mixture, epsilon=0.4, rows=ROWS, attackers=("neighbours",))
    assert report.distortion.loss == pytest.approx(mixture.loss(problem.max_distortion))
    assert report.worst == pytest.approx(mixture.loss(9.24))
    # the figure is computed; what the draws gave stands beside it and is not the same number
    assert report.strongest.drawn_loss == pytest.approx(report.worst, rel=0.05)
    assert report.strongest.drawn_loss != report.worst
    assert report.exposure.pinned_share == pytest.approx(mixture.pinned(9.24, 0.4))
    assert method_of(mixture) == "modulo+noise+erasure"


@pytest.mark.parametrize("capped", [False, True])
def test_the_gaussian_curve_keeps_its_contract(capped: bool) -> None:
    curve = gaussian_curve(
        paper_problem(), points=4, trials=0, exposure_capped=capped, rows=ROWS, attackers=("neighbours",)
    )
    document = json.loads(json.dumps(curve.to_json()))
    assert set(document["seconds"]) == {"compile", "train", "audit"}
    assert [p["target"] for p in document["points"]] == pytest.approx([1.44, 2.88, 4.32, 5.76])
    for point in document["points"]:
        assert set(point) >= KEYS
        assert point["distortion"] <= 1.02 * point["target"]
        assert point["ratio"] >= 0.999
        if capped:
            assert point["exposure"]["pinned_share"] <= point["exposure"]["reference_pinned_share"] + 1e-6
    assert curve.mean_ratio > (1.0 if capped else 1.9) - 1e-6


def test_the_coalition_curve_protects_its_members() -> None:
    curve = gaussian_curve(coalition_problem(), points=2, trials=0, rows=ROWS, attackers=("neighbours",))
    assert curve.points[0].target == pytest.approx(1.0)
    assert min(curve.points[0].adversary_losses) > 4 * curve.points[0].target


def test_the_binary_curve_keeps_its_contract() -> None:
    problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    curve = finite_curve(problem, points=3, trials=0, symbols=3, rows=12_000, attackers=("neighbours",))
    for point in json.loads(json.dumps(curve.to_json()))["points"]:
        assert set(point) >= KEYS
        assert point["worst"] == pytest.approx(point["baselines"]["any_alphabet"], abs=1e-6)
    assert curve.points[0].ratio == pytest.approx(2.2, abs=0.01)


def test_draws_of_a_finite_problem_follow_its_channels() -> None:
    problem = binary_problem(p=0.3, qy=0.1, qz=[0.4])
    x, y, (z,) = draw(problem, 40_000, rng=np.random.default_rng(0))
    assert x.mean() == pytest.approx(0.3, abs=0.01)
    assert (x != y).mean() == pytest.approx(0.1, abs=0.01)
    assert (x != z).mean() == pytest.approx(0.4, abs=0.01)
    best = optimum(problem, distortion=0.05)
    report = audit_release(problem, best.release, rows=12_000, attackers=("neighbours",))
    assert report.worst == pytest.approx(best.worst)
    assert certain_share(problem, np.eye(2), problem.adversaries[0]) == pytest.approx(1.0)


def test_bad_counts_are_refused() -> None:
    with pytest.raises(SanitizerError, match="points"):
        check_counts(points=0, trials=1)
    with pytest.raises(SanitizerError, match="trials"):
        check_counts(points=1, trials=-1)
    three = replace(binary_problem(p=0.5, qy=0.2, qz=[0.4]), distortion_cost=2 * (1 - np.eye(2)))
    with pytest.raises(SanitizerError, match="0–1 costs"):
        finite_curve(three, points=1, trials=0)


def test_a_rare_error_that_does_not_happen_among_few_rows_is_no_contradiction() -> None:
    problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    release = np.array([[1.0, 0.0], [0.0004, 0.9996]])
    report = audit_release(problem, release, rows=2_000, attackers=("neighbours",), seed=1)
    assert report.strongest.drawn_loss == 0.0
    assert report.worst == pytest.approx(0.54 * 0.0004)
    low, high = report.strongest.interval
    assert low == 0.0 < report.worst < high


def test_the_table_of_many_categories_holds_only_what_occurs() -> None:
    """Four cells a class, forty classes: a table of all combinations would not fit into any memory."""
    rng = np.random.default_rng(0)
    x, side = rng.integers(0, 40, 800).astype(float), rng.normal(size=(800, 3))
    guess = attackers.fit_table(x[:, None], side, x)
    np.testing.assert_array_equal(guess(np.column_stack([x, side])), x)
    unseen = guess(np.column_stack([x[:5], 50 * rng.normal(size=(5, 3))]))
    np.testing.assert_array_equal(unseen, x[:5], err_msg="what was never seen falls back on the symbol")

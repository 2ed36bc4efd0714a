"""The whole mechanism against its promise: neighbouring tables, many runs, a lower bound on ε from what comes out.

A record of a rare kind is there or not. An attacker guesses which from everything that was measured, and another from
the made-up rows alone. How often they are right bounds the distance of the two worlds from below, at a confidence of
0.999 (Clopper and Pearson): the mechanism is a composition of Gaussian ones, whose trade-off curve is that of two
normal laws a distance μ apart, so that rates of hits and of alarms say a μ, and a μ says an ε at δ (Dong, Roth and Su
2022). A promise that holds is never exceeded; noise of half the width is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import beta, norm

from aegis.candidates.synthesis.declared import DeclaredValues, PublicDomain
from aegis.candidates.synthesis.measuring import Account, Promise, SeededNoise
from aegis.candidates.synthesis.synthesizer import Settings, learn
from aegis.counts.marginals import CodesCounter
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Column

COLUMNS = [Column(name=name, kind=Kind.TEXT) for name in ("a", "b", "y")]
VALUES = DeclaredValues(values=("common", "rare"), missing=False)
PUBLIC = PublicDomain(columns={"a": VALUES, "b": VALUES, "y": VALUES})
EPSILON, DELTA = 6.0, 1e-3
CONFIDENCE = 1e-3
SETTINGS = Settings(pool=300, least_pool=300, rounds=1)
RUNS = 250


class Recorder(SeededNoise):
    """Keeps what was measured; ``part`` of the stated noise is added, 1 for all of it."""

    def __init__(self, rng: np.random.Generator, *, part: float) -> None:
        super().__init__(rng)
        self._part = part
        self.evidence = self.half_way = 0.0

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        noisy = super().on_counts(counts, sigma=sigma * self._part)
        if noisy.ndim > 1:  # by label: the rare record is in the last cell of each
            self.evidence += float(noisy[(-1,) * noisy.ndim]) / sigma**2
            self.half_way += 0.5 / sigma**2
        return noisy


@dataclass(frozen=True)
class Seen:
    """What the two attackers look at: evidence among the measurements, and the share of rare rows."""

    evidence: float
    rare_rows: float


def _run(*, with_record: bool, part: float, seed: int) -> Seen:
    domain = Domain.of(Kind.TEXT, ["common", "rare"])
    codes = np.append(np.zeros(40, dtype=np.int64), [1] * with_record).astype(np.int64)
    rng = np.random.default_rng([seed, int(with_record)])
    noise = Recorder(rng, part=part)
    model = learn(
        CodesCounter(dict.fromkeys(("a", "b", "y"), (domain, codes))),
        COLUMNS,
        label="y",
        account=Account.of(Promise(epsilon=EPSILON, delta=DELTA), finds_values=False),
        noise=noise,
        public=PUBLIC,
        rng=rng,
        settings=SETTINGS,
    )
    drawn = model.drawn_codes(200, rng)
    rare = (drawn["a"] == 1) & (drawn["b"] == 1) & (drawn["y"] == 1)
    return Seen(evidence=noise.evidence - noise.half_way, rare_rows=float(rare.mean()))


def _least_epsilon(present: NDArray[np.float64], absent: NDArray[np.float64], threshold: float) -> float:
    """The ε at δ that these scores refute any smaller one of."""
    hits, alarms = int((present > threshold).sum()), int((absent > threshold).sum())
    hit_rate = float(beta.ppf(CONFIDENCE, hits, RUNS - hits + 1)) if hits else 0.0
    alarm_rate = float(beta.ppf(1 - CONFIDENCE, alarms + 1, RUNS - alarms)) if alarms < RUNS else 1.0
    if hit_rate <= alarm_rate:
        return 0.0
    mu = float(norm.ppf(hit_rate) - norm.ppf(alarm_rate))

    def excess(epsilon: float) -> float:
        above = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(above) - DELTA

    return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 60.0))


def _audited(part: float) -> tuple[float, float]:
    """Lower bounds on ε: from the measurements, and from the rows (with the threshold that suits them best)."""
    worlds = {
        present: [_run(with_record=present, part=part, seed=seed) for seed in range(RUNS)] for present in (False, True)
    }
    evidence = {present: np.array([seen.evidence for seen in runs]) for present, runs in worlds.items()}
    rows = {present: np.array([seen.rare_rows for seen in runs]) for present, runs in worlds.items()}
    from_rows = max(_least_epsilon(rows[True], rows[False], threshold) for threshold in (0.0, 0.02, 0.05, 0.1))
    return _least_epsilon(evidence[True], evidence[False], 0.0), from_rows


def test_no_attack_on_neighbouring_tables_exceeds_the_promise() -> None:
    from_measurements, from_rows = _audited(part=1.0)
    assert 1.0 < from_measurements <= EPSILON, "below 1 the audit would see nothing, whatever was wrong"
    assert from_rows <= EPSILON


def test_half_the_noise_is_caught() -> None:
    assert _audited(part=0.5)[0] > EPSILON


@pytest.mark.parametrize("seed", range(5))
def test_a_value_that_one_record_has_is_never_listed_though_it_is_looked_for(seed: int) -> None:
    """Values are found above a threshold far from one record: the chance to show it is below δ."""
    domain = Domain.of(Kind.TEXT, ["canary", "common", "usual"])
    codes = np.append(np.tile([1, 2], 300), 0)
    rng = np.random.default_rng(seed)
    account = Account.of(Promise(epsilon=2.0, delta=1e-6), finds_values=True)
    model = learn(
        CodesCounter(dict.fromkeys(("a", "y"), (domain, codes))),
        [COLUMNS[0], COLUMNS[2]],
        label="y",
        account=account,
        noise=SeededNoise(rng),
        public=PublicDomain(),
        rng=rng,
        settings=SETTINGS,
    )
    assert "canary" not in model.attributes[0].values
    assert account.spent_delta <= account.found_delta

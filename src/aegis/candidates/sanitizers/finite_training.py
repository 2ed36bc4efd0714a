"""A finite release learned by gradients instead of solved by a program (JAX).

A release is a table of logits. Against it the best reconstruction and the best attacks are known exactly (a minimum
per cell), so there is no inner training: the privatizer climbs the exact losses, smoothed at first and less and less
so, while an augmented Lagrangian holds the distortion. Sampling f and its missing gradient never enter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, linear_sum_assignment

from aegis.arrays import Floats
from aegis.candidates.sanitizers.finite import FiniteProblem, coded_sample
from aegis.candidates.sanitizers.networks import jax, jnp, optimizer_state, optimizer_step
from aegis.candidates.sanitizers.symbol_training import train_symbols
from aegis.candidates.sanitizers.training_settings import SymbolSettings
from aegis.errors import SanitizerError
from aegis.progress import Progress

_RATE = 0.05
_ROWS = (10_000, 2_000)  # drawn from the law, to train networks on and to judge them by


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteTraining:
    """Learned releases: ``releases[d, t, x, f]``, already brought to the distortion, and the best trial of each."""

    targets: tuple[float, ...]
    releases: Floats
    distortions: Floats
    worst: Floats
    device: str
    compile_seconds: float
    train_seconds: float

    def best(self, point: int) -> Floats:
        """The release with the largest worst loss among those within the target."""
        feasible = self.distortions[point] <= self.targets[point] * (1 + 1e-6) + 1e-12
        score = np.where(feasible, self.worst[point], -1.0)
        return np.asarray(self.releases[point, int(score.argmax())])


def train_finite(
    problem: FiniteProblem,
    *,
    targets: Sequence[float],
    symbols: int,
    trials: int = 15,
    steps: int = 3000,
    seed: int = 0,
) -> FiniteTraining:
    """Learn ``trials`` releases with ``symbols`` symbols for each target distortion."""
    if symbols < 2:
        raise SanitizerError("a learned release needs at least two symbols")
    if trials < 1 or not targets or min(targets) <= 0:
        raise SanitizerError("training needs at least one trial and positive target distortions")
    size = problem.prior.size
    aims = jnp.repeat(jnp.asarray([min(t, problem.max_distortion) for t in targets]), trials)
    start = 2.0 * jax.random.normal(jax.random.key(seed), (aims.size, size, symbols))
    reveal = jnp.asarray(_revealing(problem, symbols))
    # half of the trials start near a release that shows X, the other half anywhere
    start = start + 4.0 * reveal * (jnp.arange(aims.size) % 2 == 0)[:, None, None]
    # a stiffer penalty suits targets where the frontier bends the wrong way, a softer one all others: trials take turns
    stiffness = jnp.tile(jnp.geomspace(4.0, 60.0, trials), len(targets))
    program = jax.jit(jax.vmap(lambda logits, aim, w: _climb(problem, logits, aim, w, steps=steps)))
    began = time.perf_counter()
    compiled = program.lower(start, aims, stiffness).compile()
    compiled_at = time.perf_counter()
    logits = compiled(start, aims, stiffness).block_until_ready()
    ended = time.perf_counter()
    raw = np.asarray(jax.nn.softmax(logits, axis=-1), dtype=np.float64).reshape(len(targets), trials, size, symbols)
    return _finished(
        problem,
        targets,
        raw,
        device=str(jax.devices()[0].device_kind),
        compile_seconds=compiled_at - began,
        train_seconds=ended - compiled_at,
    )


def train_finite_from_rows(
    problem: FiniteProblem,
    *,
    targets: Sequence[float],
    symbols: int,
    trials: int = 15,
    settings: SymbolSettings | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FiniteTraining:
    """The same from rows drawn from the law, by the networks of Algorithm 1; only the last correction knows the law."""
    rng = np.random.default_rng(seed)
    sample, held_out = (coded_sample(problem, count, rng=rng) for count in _ROWS)
    trained = train_symbols(
        sample,
        held_out,
        targets=[min(t, problem.max_distortion) for t in targets],
        max_distortion=problem.max_distortion,
        trials=trials,
        settings=replace(settings or SymbolSettings(), symbols=symbols),
        seed=seed,
        progress=progress,
    )
    return _finished(
        problem,
        targets,
        trained.releases[:, :, -1],
        device=trained.device,
        compile_seconds=trained.compile_seconds,
        train_seconds=trained.train_seconds,
    )


def _finished(problem: FiniteProblem, targets: Sequence[float], raw: Floats, **how: Any) -> FiniteTraining:
    """Releases without dust, brought to their distortions."""
    raw = np.where(raw < 1e-6, 0.0, raw)
    raw = raw / raw.sum(axis=-1, keepdims=True)
    releases = np.array(
        [[_calibrated(problem, release, target) for release in row] for row, target in zip(raw, targets, strict=True)]
    )
    return FiniteTraining(
        targets=tuple(float(t) for t in targets),
        releases=releases,
        distortions=np.array([[problem.distortion_of(r) for r in row] for row in releases]),
        worst=np.array([[problem.losses_of(r).min() for r in row] for row in releases]),
        **how,
    )


def _climb(problem: FiniteProblem, logits: Any, aim: Any, stiffness: Any, *, steps: int) -> Any:
    def bayes(release: Any, channel: Floats, cost: Floats, softness: Any) -> Any:
        joint = jnp.einsum("x,xf,xs->xfs", problem.prior, release, channel)
        options = jnp.einsum("xg,xfs->gfs", cost, joint)
        # a soft minimum relative to the cell's own size, so that small cells are smoothed as much as large ones
        scale = softness * jnp.mean(options, axis=0, keepdims=True) + 1e-9
        weights = jax.lax.stop_gradient(jax.nn.softmax(-options / scale, axis=0))
        return jnp.sum(weights * options)

    def objective(logits: Any, multiplier: Any, softness: Any) -> tuple[Any, Any]:
        release = jax.nn.softmax(logits, axis=-1)
        distortion = bayes(release, problem.authorized, problem.distortion_cost, softness)
        losses = jnp.stack([bayes(release, z, problem.loss_cost, softness) for z in problem.adversaries])
        gap = distortion / aim - 1.0
        return -jnp.min(losses) / aim + multiplier * gap + stiffness * gap**2, gap

    def step(state: Any, number: Any) -> tuple[Any, None]:
        logits, moments, multiplier = state
        progress = number / steps
        softness = jnp.maximum(0.3 * (1.0 - 1.4 * progress), 1e-3)
        rate = _RATE * (0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * progress)))
        gradients, gap = jax.grad(objective, has_aux=True)(logits, multiplier, softness)
        logits, moments = optimizer_step(logits, gradients, moments, rate)
        return (jnp.clip(logits, -15.0, 15.0), moments, jnp.clip(multiplier + 0.02 * gap, -5.0, 50.0)), None

    final, _ = jax.lax.scan(step, (logits, optimizer_state(logits), jnp.ones(())), jnp.arange(steps))
    return final[0]


def _revealing(problem: FiniteProblem, symbols: int) -> Floats:
    """The symbol that shows each value: spread over the symbols there are."""
    table = np.zeros((problem.prior.size, symbols))
    table[np.arange(problem.prior.size), np.arange(problem.prior.size) % symbols] = 1.0
    return table


def _calibrated(problem: FiniteProblem, release: Floats, target: float) -> Floats:
    """The same release, moved towards full disclosure or towards silence until its distortion is the target."""
    aim = min(target, problem.max_distortion)
    distortion = problem.distortion_of(release)
    # disclosure keeps each symbol's meaning: every value takes a symbol of its own that speaks for it most
    clear = np.zeros_like(release)
    shown = release.argmax(axis=1)
    if release.shape[1] >= release.shape[0]:
        shown = linear_sum_assignment(problem.prior[:, None] * release, maximize=True)[1]
    clear[np.arange(release.shape[0]), shown] = 1.0
    silent = np.repeat((problem.prior @ release)[None, :], release.shape[0], axis=0)
    toward = clear if distortion > aim else silent

    def mixed(share: float) -> Floats:
        return np.asarray((1 - share) * release + share * toward)

    def gap(share: float) -> float:
        return problem.distortion_of(mixed(share)) - aim

    if abs(gap(0.0)) <= 1e-12 or gap(0.0) * gap(1.0) > 0:
        return release
    share = float(brentq(gap, 0.0, 1.0, xtol=1e-12))
    # stay on the side that meets the target
    for nudge in (0.0, 1e-9, 1e-7, 1e-5):
        near = min(1.0, share + nudge) if distortion > aim else max(0.0, share - nudge)
        if gap(near) <= 1e-12:
            return mixed(near)
    return mixed(share)

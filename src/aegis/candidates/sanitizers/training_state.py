"""What a run of training starts from: privatizers by their start, fresh players, empty moments (JAX)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.starts import period_for, start_weights, starts_for
from aegis.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # pragma: no cover - the suite runs with the extra
    raise MissingExtraError(feature="training a sanitizer", extra="sanitize") from None

from aegis.candidates.sanitizers.networks import initial, optimizer_state

Floats = NDArray[np.float64]


def initial_state(
    run: Any, targets: Sequence[float], trials: int, caps: Sequence[Sequence[float]] | None, seed: int
) -> tuple[Any, Any]:
    """All that the steps change, and what each trial aims for; leading axis: distortion × trial."""
    settings = run.settings
    rng = np.random.default_rng(seed)
    first: list[Floats] = []
    first_bias: list[Floats] = []
    last: list[Floats] = []
    last_bias: list[Floats] = []
    erase: list[float] = []
    for target in targets:
        aim = target / run.scale**2
        for start in starts_for(trials, settings.starts):
            # leave room for the erasure and the noise to add their part of the distortion
            share = 0.8 * float(rng.uniform(0.6, 1.0))
            period = period_for(min(share * aim, 0.95 * run.blank_distortion), run.blank_distortion)
            (w1, b1), (w2, b2) = start_weights(
                start, hidden=settings.hidden, period=period, noise=0.3 * (0.1 * aim) ** 0.5, rng=rng
            )
            for kept, part in zip((first, first_bias, last, last_bias), (w1, b1, w2, b2), strict=True):
                kept.append(part)
            erase.append(-4.0)
    privatizer = {
        "layers": [
            (jnp.asarray(np.array(first), jnp.float32), jnp.asarray(np.array(first_bias), jnp.float32)),
            (jnp.asarray(np.array(last), jnp.float32), jnp.asarray(np.array(last_bias), jnp.float32)),
        ],
        "erase": jnp.asarray(np.array(erase), jnp.float32),
    }
    batch = len(targets) * trials
    keys = jax.random.split(jax.random.key(seed + 1), (batch, 2 * len(run.sides)))
    players = [
        jax.vmap(lambda k, w=side.shape[1]: initial(k, (1 + w, settings.player_hidden, 1)))(keys[:, i])
        for i, side in enumerate(run.sides)
    ]
    pinners = []
    if settings.exposure_weight > 0:
        pinners = [
            jax.vmap(lambda k, w=side.shape[1]: initial(k, (1 + w, settings.player_hidden, 1)))(keys[:, -1 - i])
            for i, side in enumerate(run.sides[1:])
        ]
    state: dict[str, Any] = {"privatizer": privatizer, "players": players, "pinners": pinners}
    state["optimizers"] = {
        name: jax.vmap(optimizer_state, axis_size=batch)(state[name]) for name in ("privatizer", "players", "pinners")
    }
    state["multiplier"] = jnp.ones(batch)
    state["gap"] = jnp.zeros(batch)
    aims = {"distortion": jnp.repeat(jnp.asarray(targets, jnp.float32) / run.scale**2, trials)}
    limits = np.ones((len(targets), len(run.sides) - 1)) if caps is None else np.asarray(caps, dtype=float)
    aims["caps"] = jnp.repeat(jnp.asarray(limits, jnp.float32), trials, axis=0)
    return state, aims

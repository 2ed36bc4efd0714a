"""The network attacker (JAX): trained from scratch on the rows it is given, standardised, with a decaying rate."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.networks import descend, forward, initial, optimizer_state

Floats = NDArray[np.float64]


def fit(features: Floats, x: Floats, kind: Literal["number", "category"], *, seed: int, steps: int, width: int) -> Any:
    """A function from features to guesses."""
    center, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    classes = 1 if kind == "number" else int(x.max()) + 1
    shift, scale = (float(x.mean()), float(x.std()) or 1.0) if kind == "number" else (0.0, 1.0)
    inputs = jnp.asarray((features - center) / spread, jnp.float32)
    targets = jnp.asarray((x - shift) / scale, jnp.float32 if kind == "number" else jnp.int32)
    network = _train(inputs, targets, jax.random.key(seed), classes=classes, steps=steps, width=width)
    layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in network]

    def guess(rows: Floats) -> Floats:
        hidden = (rows - center) / spread
        for weights, bias in layers[:-1]:
            hidden = np.maximum(hidden @ weights + bias, 0.0)
        out = hidden @ layers[-1][0] + layers[-1][1]
        if kind == "number":
            return np.asarray(shift + scale * out[:, 0])
        return np.asarray(out.argmax(axis=1), dtype=np.float64)

    return guess


@partial(jax.jit, static_argnames=("classes", "steps", "width"))
def _train(inputs: Any, targets: Any, key: Any, *, classes: int, steps: int, width: int) -> Any:
    for_weights, for_rows = jax.random.split(key)
    network = initial(for_weights, (inputs.shape[1], width, width, classes))

    def loss(network: Any, rows: Any, truth: Any) -> Any:
        out = forward(network, rows)
        if classes == 1:
            return jnp.mean((out[:, 0] - truth) ** 2)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(out), truth[:, None], axis=1))

    def step(state: Any, number: Any) -> tuple[Any, None]:
        network, moments = state
        chosen = jax.random.randint(jax.random.fold_in(for_rows, number), (256,), 0, inputs.shape[0])
        rate = 3e-3 * (0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * number / steps)))
        return descend(loss, network, moments, rate, inputs[chosen], targets[chosen]), None

    (network, _), _ = jax.lax.scan(step, (network, optimizer_state(network)), jnp.arange(steps))
    return network

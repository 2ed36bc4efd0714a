"""Small networks and their optimisers, written for many copies at once (JAX; without it this says how to install it).

Everything here is a pure function of arrays, so a batch of trials is a ``vmap`` and a training run a ``scan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.training_settings import Optimizer
from aegis.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # pragma: no cover - the suite runs with the extra
    raise MissingExtraError(feature="training a sanitizer", extra="sanitize") from None

__all__ = ["descend", "fit_layers", "forward", "initial", "jax", "jnp", "optimizer_state", "optimizer_step"]

Parameters = Any
_STEPS, _WIDTH = 1500, 96  # of a network that guesses


def initial(key: Any, widths: Sequence[int]) -> Parameters:
    """Weights of a fully connected network, uniform within ±1/√inputs."""
    layers = []
    for fan_in, fan_out in pairwise(widths):
        key, for_weights, for_bias = jax.random.split(key, 3)
        bound = fan_in**-0.5
        layers.append(
            (
                jax.random.uniform(for_weights, (fan_in, fan_out), minval=-bound, maxval=bound),
                jax.random.uniform(for_bias, (fan_out,), minval=-bound, maxval=bound),
            )
        )
    return layers


def forward(parameters: Parameters, inputs: Any) -> Any:
    """ReLU between the layers, nothing after the last."""
    for weights, bias in parameters[:-1]:
        inputs = jax.nn.relu(inputs @ weights + bias)
    weights, bias = parameters[-1]
    return inputs @ weights + bias


def optimizer_state(parameters: Parameters) -> tuple[Any, Any, Any]:
    """Step count, first and second moments."""
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return jnp.zeros(()), zeros, zeros


def optimizer_step(
    parameters: Parameters, gradients: Any, state: tuple[Any, Any, Any], rate: Any, kind: Optimizer = "adam"
) -> tuple[Parameters, tuple[Any, Any, Any]]:
    """One step of Adam, or of RAdam, which holds the adaptive part back until its variance is known."""
    first_decay, second_decay = 0.9, 0.999
    count = state[0] + 1.0
    first = jax.tree.map(lambda m, g: first_decay * m + (1 - first_decay) * g, state[1], gradients)
    second = jax.tree.map(lambda v, g: second_decay * v + (1 - second_decay) * g * g, state[2], gradients)
    first_scale = 1.0 / (1.0 - first_decay**count)
    second_scale = 1.0 / (1.0 - second_decay**count)
    if kind == "adam":
        step = jax.tree.map(lambda m, v: m * first_scale / (jnp.sqrt(v * second_scale) + 1e-8), first, second)
    else:
        longest = 2.0 / (1.0 - second_decay) - 1.0
        length = longest - 2.0 * count * second_decay**count * second_scale
        safe = jnp.maximum(length, 5.0)
        rectified = jnp.sqrt((safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe))
        step = jax.tree.map(
            lambda m, v: jnp.where(
                length > 5.0, rectified * m * first_scale / (jnp.sqrt(v * second_scale) + 1e-8), m * first_scale
            ),
            first,
            second,
        )
    return jax.tree.map(lambda p, s: p - rate * s, parameters, step), (count, first, second)


def descend(
    loss: Callable[..., Any], parameters: Parameters, state: Any, rate: Any, *arguments: Any, kind: Optimizer = "adam"
) -> tuple[Parameters, Any]:
    """One gradient step on ``loss(parameters, *arguments)``."""
    gradients = jax.grad(loss)(parameters, *arguments)
    return optimizer_step(parameters, gradients, state, rate, kind)


def fit_layers(features: Floats, x: Floats, *, classes: int, seed: int = 0) -> list[tuple[Floats, Floats]]:
    """A network trained from scratch on these rows: one output for a number (``classes`` 1), else a logit for each."""
    center, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    shift, scale = (float(x.mean()), float(x.std()) or 1.0) if classes == 1 else (0.0, 1.0)
    inputs = jnp.asarray((features - center) / spread, jnp.float32)
    targets = jnp.asarray((x - shift) / scale, jnp.float32 if classes == 1 else jnp.int32)
    network = _train(inputs, targets, jax.random.key(seed), classes=classes)
    layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in network]
    # the standardisation becomes part of the first layer, the unit of X part of the last
    weights, bias = layers[0]
    layers[0] = (weights / spread[:, None], bias - (center / spread) @ weights)
    layers[-1] = (layers[-1][0] * scale, layers[-1][1] * scale + shift)
    return layers


@partial(jax.jit, static_argnames="classes")
def _train(inputs: Any, targets: Any, key: Any, *, classes: int) -> Any:
    for_weights, for_rows = jax.random.split(key)
    network = initial(for_weights, (inputs.shape[1], _WIDTH, _WIDTH, classes))

    def loss(network: Any, rows: Any, truth: Any) -> Any:
        out = forward(network, rows)
        if classes == 1:
            return jnp.mean((out[:, 0] - truth) ** 2)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(out), truth[:, None], axis=1))

    def step(state: Any, number: Any) -> tuple[Any, None]:
        network, moments = state
        chosen = jax.random.randint(jax.random.fold_in(for_rows, number), (256,), 0, inputs.shape[0])
        rate = 3e-3 * (0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * number / _STEPS)))
        return descend(loss, network, moments, rate, inputs[chosen], targets[chosen]), None

    (network, _), _ = jax.lax.scan(step, (network, optimizer_state(network)), jnp.arange(_STEPS))
    return network

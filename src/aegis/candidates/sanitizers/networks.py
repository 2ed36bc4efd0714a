"""Small networks and their optimisers, written for many copies at once (JAX).

Everything here is a pure function of arrays, so a batch of trials is a ``vmap`` and a training run a ``scan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.learned import apply_layers
from aegis.candidates.sanitizers.training_settings import Optimizer
from aegis.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # pragma: no cover - the suite runs with the extra
    raise MissingExtraError(feature="training a sanitizer", extra="sanitize") from None


Parameters = Any


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


def fit_attacker(
    features: Floats, x: Floats, kind: Literal["number", "category"], *, seed: int, steps: int, width: int
) -> Callable[[Floats], Floats]:
    """A network trained from scratch on these rows, standardised, with a decaying rate: features to guesses."""
    classes = 1 if kind == "number" else int(x.max()) + 1
    layers = fit_layers(features, x, classes=classes, seed=seed, steps=steps, width=width)

    def guess(rows: Floats) -> Floats:
        out = apply_layers(layers, rows)
        return out[:, 0] if kind == "number" else np.asarray(out.argmax(axis=1), dtype=np.float64)

    return guess


def fit_shares(
    features: Floats, codes: NDArray[np.int64], *, size: int, seed: int = 0, steps: int = 1500, width: int = 96
) -> Callable[[Floats], Floats]:
    """Such a network for a category that says how likely each of ``size`` values is."""
    layers = fit_layers(features, codes.astype(np.float64), classes=size, seed=seed, steps=steps, width=width)

    def shares(rows: Floats) -> Floats:
        logits = apply_layers(layers, rows)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    return shares


def fit_layers(
    features: Floats, x: Floats, *, classes: int, seed: int = 0, steps: int = 1500, width: int = 96
) -> list[tuple[Floats, Floats]]:
    """The weights of such a network for raw features: one output for a number (``classes`` 1), else a logit each."""
    center, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    shift, scale = (float(x.mean()), float(x.std()) or 1.0) if classes == 1 else (0.0, 1.0)
    inputs = jnp.asarray((features - center) / spread, jnp.float32)
    targets = jnp.asarray((x - shift) / scale, jnp.float32 if classes == 1 else jnp.int32)
    network = _train(inputs, targets, jax.random.key(seed), classes=classes, steps=steps, width=width)
    layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in network]
    # the standardisation becomes part of the first layer, the unit of X part of the last
    weights, bias = layers[0]
    layers[0] = (weights / spread[:, None], bias - (center / spread) @ weights)
    layers[-1] = (layers[-1][0] * scale, layers[-1][1] * scale + shift)
    return layers


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

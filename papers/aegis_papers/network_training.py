"""The Aegis paper's neural network, many at a time: two hidden layers of 100 with ReLU, trained by Adam.

Rates, penalty and the rule that ends the training are scikit-learn's. Networks of as many tables of the same rows are
one array operation, on an accelerator where there is one and on the processor otherwise. Nothing here needs more than
NumPy and JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints

HIDDEN = 100
BATCH = 200
RATE, FIRST_DECAY, SECOND_DECAY, TINY = 1e-3, 0.9, 0.999, 1e-8
PENALTY = 1e-4
TOLERANCE, PATIENCE = 1e-4, 10
"""Training ends after so many epochs in which the loss has not fallen by the tolerance."""

Floats = NDArray[np.float32]


def device_name() -> str:
    """Where networks are trained: the accelerator's name, or cpu."""
    import jax

    device: str = jax.devices()[0].device_kind
    return device


def network_accuracies(
    features: Sequence[Floats], label: Ints, *, training: Ints, testing: Ints, epochs: int, seed: int
) -> list[float]:
    """The share of test rows that each network gets right; one network for each matrix of features of the same rows.

    A matrix without columns is answered by the commonest label.
    """
    classes = int(label.max()) + 1
    commonest = float((label[testing] == np.bincount(label[training]).argmax()).mean())
    guesses = [commonest] * len(features)
    places = [place for place, matrix in enumerate(features) if matrix.shape[1]]
    if not places:
        return guesses
    widths = np.array([features[place].shape[1] for place in places])
    padded = np.zeros((len(places), len(label), int(widths.max())), dtype=np.float32)
    for row, place in enumerate(places):
        padded[row, :, : widths[row]] = features[place]
    right = _train(padded, widths, label, training, testing, classes=classes, epochs=epochs, seed=seed)
    for place, share in zip(places, right, strict=True):
        guesses[place] = float(share)
    return guesses


def _first_weights(widths: Ints, widest: int, classes: int, seed: int) -> list[tuple[Floats, Floats]]:
    """Glorot's uniform weights and biases, each network's by its own number of features; padding weighs nothing."""
    rng = np.random.default_rng(seed)
    layers = []
    for inputs, taken in ((widest, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, classes)):
        wide = np.asarray(widths if inputs == widest else np.full(len(widths), inputs), dtype=np.float64)
        bound = np.sqrt(6.0 / (wide + taken))[:, None, None]
        weights = rng.uniform(-1.0, 1.0, (len(widths), inputs, taken)) * bound
        weights *= np.arange(inputs)[None, :, None] < wide[:, None, None]
        biases = rng.uniform(-1.0, 1.0, (len(widths), 1, taken)) * bound
        layers.append((weights.astype(np.float32), biases.astype(np.float32)))
    return layers


def _train(
    padded: Floats, widths: Ints, label: Ints, training: Ints, testing: Ints, *, classes: int, epochs: int, seed: int
) -> NDArray[np.float64]:
    import jax
    import jax.numpy as jnp

    weights: Any = _first_weights(widths, padded.shape[2], classes, seed)
    rows, networks = len(training), len(widths)
    batch = min(BATCH, rows)
    steps = -(-rows // batch)
    training_features = jnp.asarray(padded[:, training])
    answers = jnp.asarray(label[training])

    def outputs(layers: Any, x: Any) -> Any:
        for place, (w, b) in enumerate(layers):
            x = jnp.einsum("nrf,nfo->nro", x, w) + b
            x = jnp.maximum(x, 0.0) if place < 2 else x
        return x

    def losses(layers: Any, x: Any, y: Any, counted: Any) -> Any:
        chances = jax.nn.log_softmax(outputs(layers, x))
        of_rows = -jnp.take_along_axis(chances, jnp.broadcast_to(y[None, :, None], (networks, len(y), 1)), axis=2)
        size = counted.sum()
        squares = sum((w**2).sum(axis=(1, 2)) for w, _ in layers)
        return (of_rows[:, :, 0] * counted).sum(axis=1) / size + 0.5 * PENALTY * squares / size

    def step(state: Any, chosen: Any) -> Any:
        layers, means, squares, count, going = state
        places, counted = chosen

        def total(layers: Any) -> Any:
            spent = losses(layers, training_features[:, places], answers[places], counted)
            return spent.sum(), spent

        (_, by_network), gradient = jax.value_and_grad(total, has_aux=True)(layers)
        count = count + 1.0
        rate = RATE * jnp.sqrt(1.0 - SECOND_DECAY**count) / (1.0 - FIRST_DECAY**count)
        means = jax.tree.map(lambda m, g: FIRST_DECAY * m + (1 - FIRST_DECAY) * g, means, gradient)
        squares = jax.tree.map(lambda v, g: SECOND_DECAY * v + (1 - SECOND_DECAY) * g**2, squares, gradient)
        layers = jax.tree.map(
            lambda w, m, v: w - going[:, None, None] * rate * m / (jnp.sqrt(v) + TINY), layers, means, squares
        )
        return (layers, means, squares, count, going), by_network * counted.sum()

    @jax.jit
    def epoch(state: Any, order: Any) -> Any:
        filled = jnp.concatenate([order, jnp.zeros(steps * batch - rows, dtype=order.dtype)]).reshape(steps, batch)
        counted = (jnp.arange(steps * batch) < rows).astype(jnp.float32).reshape(steps, batch)
        state, spent = jax.lax.scan(step, state, (filled, counted))
        return state, spent.sum(axis=0) / rows

    zeros = jax.tree.map(jnp.zeros_like, weights)
    going = np.ones(networks, dtype=np.float32)
    state = (jax.tree.map(jnp.asarray, weights), zeros, zeros, jnp.float32(0.0), jnp.asarray(going))
    best, waited = np.full(networks, np.inf), np.zeros(networks, dtype=np.int64)
    rng = np.random.default_rng([seed, 1])
    for _ in range(epochs):
        state, loss = epoch(state, jnp.asarray(rng.permutation(rows)))
        final_losses = np.asarray(loss, dtype=np.float64)
        waited = np.where(final_losses > best - TOLERANCE, waited + 1, 0)
        best = np.minimum(best, final_losses)
        going = np.where(waited > PATIENCE, 0.0, going).astype(np.float32)
        if not going.any():
            break
        state = (*state[:4], jnp.asarray(going))
    predicted = np.asarray(jax.jit(outputs)(state[0], jnp.asarray(padded[:, testing]))).argmax(axis=2)
    right: NDArray[np.float64] = (predicted == label[testing][None, :]).mean(axis=1)
    return right

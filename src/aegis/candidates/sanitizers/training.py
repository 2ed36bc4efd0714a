"""Algorithm 1 for a number: privatizer, reconstructor and adversaries trained against each other (JAX).

All distortions and trials run as one program: ``vmap`` over (distortion, trial), ``scan`` over the steps of an epoch.
Between epochs Python has the word: it can be interrupted there, report progress, and stop early. The privatizer is a
network of (x, r), r fresh normal noise; it may also learn how often to release nothing, whose effect on every loss
is linear and needs no sampling. Minibatches are shared by the trials of one run; trials differ in their weights.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.checkpoint import Checkpoint, run_name
from aegis.candidates.sanitizers.jax_extra import jax, jnp
from aegis.candidates.sanitizers.starts import Start, starts_for
from aegis.candidates.sanitizers.training_run import Run, initial_state, run_epoch
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings, Watch
from aegis.errors import SanitizerError
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """Everything a run leaves behind. Leading axes are (distortion, trial); losses are in units of X squared.

    ``distortion_by_epoch[d, t, e]`` and ``losses_by_epoch[d, t, e, i]`` are on the held-out rows. ``layers_by_epoch``
    holds the privatizers after each epoch if the settings keep them.
    """

    targets: tuple[float, ...]
    starts: tuple[Start, ...]
    layers: tuple[tuple[Floats, Floats], ...]
    erasure_share: Floats
    center: float
    scale: float
    distortion_by_epoch: Floats
    losses_by_epoch: Floats
    device: str
    compile_seconds: float
    train_seconds: float
    layers_by_epoch: tuple[tuple[tuple[Floats, Floats], ...], ...] = ()

    @property
    def distortion(self) -> Floats:
        """Held-out distortion after the last epoch."""
        return np.asarray(self.distortion_by_epoch[:, :, -1])

    @property
    def losses(self) -> Floats:
        """Held-out adversary losses after the last epoch."""
        return np.asarray(self.losses_by_epoch[:, :, -1])

    def weights(self, point: int, trial: int) -> list[tuple[Floats, Floats]]:
        """The privatizer of one trial, as numpy layers."""
        return [(w[point, trial], b[point, trial]) for w, b in self.layers]

    def weights_at(self, point: int, trial: int, epoch: int) -> list[tuple[Floats, Floats]]:
        """The same after an epoch, where epochs were kept."""
        return [(w[point, trial], b[point, trial]) for w, b in self.layers_by_epoch[epoch]]


def train(
    sample: Sample,
    held_out: Sample,
    *,
    targets: Sequence[float],
    trials: int,
    blank: tuple[float, Sequence[float]],
    settings: TrainingSettings | None = None,
    caps: Sequence[Sequence[float]] | None = None,
    epsilon: float | None = None,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train ``trials`` privatizers for each target distortion; ``progress`` is called after every epoch.

    ``blank`` holds the distortion and the adversary losses when nothing is released. ``caps[d][i]`` bounds the pinned
    share of adversary i at target d, for windows of half-width ``epsilon``, when the settings charge for exposure.
    A run that was interrupted goes on from its ``checkpoint``, and ends as if nothing had happened.
    """
    settings = settings or TrainingSettings()
    if trials < 1 or not targets or min(targets) <= 0:
        raise SanitizerError("training needs at least one trial and positive target distortions")
    if settings.exposure_weight > 0 and (caps is None or epsilon is None):
        raise SanitizerError("charging for exposure needs a cap for each adversary and an epsilon")
    center = float(sample.private.mean()) if settings.standardize else 0.0
    scale = float(sample.private.std()) if settings.standardize else 1.0
    run = Run(sample, held_out, settings, center, scale, blank, epsilon)
    state, aims = initial_state(run, targets, trials, caps, seed)
    key = jax.random.key(seed)
    program = jax.jit(lambda d, s, a, k, number: run_epoch(run.seeing(d), s, a, k, number))
    saved = None if checkpoint is None else _checkpoint(checkpoint, run, targets, trials, caps, seed)
    history: list[tuple[Floats, Floats]] = []
    state = state if saved is None else _resumed(saved, state, history)
    states: list[Any] = []
    watch = Watch(np.repeat(np.asarray(targets, dtype=float) / scale**2, trials), settings.patience)
    tired = any([watch.tired(*figures) for figures in history])  # noqa: C419 - every epoch has to be seen
    ahead = range(settings.epochs if tired else len(history), settings.epochs)
    began = time.perf_counter()
    # a run that its checkpoint has finished needs no program
    compiled = program.lower(run.data, state, aims, key, jnp.int32(0)).compile() if ahead else program
    compiled_at = time.perf_counter()
    for number in ahead:
        state, figures = compiled(run.data, state, aims, key, jnp.int32(number))
        history.append((np.asarray(figures[0], dtype=np.float64), np.asarray(figures[1], dtype=np.float64)))
        if settings.keep_epochs:
            states.append([(np.asarray(w), np.asarray(b)) for w, b in state["privatizer"]["layers"]])
        if saved is not None:
            saved.save([np.asarray(leaf) for leaf in jax.tree.leaves(state)], history)
        if progress is not None:
            progress(number + 1, settings.epochs, "training")
        if watch.tired(*history[-1]):
            break
    final = state
    ended = time.perf_counter()

    def shaped(array: Any) -> Floats:
        values = np.asarray(array, dtype=np.float64)
        return values.reshape((len(targets), trials, *values.shape[1:]))

    distortion, losses = (np.stack(part, axis=1) for part in zip(*history, strict=True))
    return Trained(
        targets=tuple(float(t) for t in targets),
        starts=starts_for(trials, settings.starts),
        layers=tuple((shaped(w), shaped(b)) for w, b in final["privatizer"]["layers"]),
        erasure_share=shaped(jax.nn.sigmoid(final["privatizer"]["erase"]))
        if settings.erasure
        else np.zeros((len(targets), trials)),
        center=center,
        scale=scale,
        distortion_by_epoch=shaped(distortion) * scale**2,
        losses_by_epoch=shaped(losses) * scale**2,
        device=str(jax.devices()[0].device_kind),
        compile_seconds=compiled_at - began,
        train_seconds=ended - compiled_at,
        layers_by_epoch=tuple(tuple((shaped(w), shaped(b)) for w, b in layers) for layers in states),
    )


def _checkpoint(
    path: Path,
    run: Run,
    targets: Sequence[float],
    trials: int,
    caps: Sequence[Sequence[float]] | None,
    seed: int,
) -> Checkpoint:
    if run.settings.keep_epochs:
        raise SanitizerError("a training that keeps every epoch has no checkpoint; train it in one go")
    arrays = [np.asarray(part) for part in jax.tree.leaves(run.data)]
    numbers = (list(targets), trials, None if caps is None else [list(cap) for cap in caps], seed, run.epsilon)
    return Checkpoint(path=path, run=run_name(run.settings, numbers, arrays=arrays))


def _resumed(saved: Checkpoint, state: Any, history: list[tuple[Floats, Floats]]) -> Any:
    stored = saved.load()
    if stored is None:
        return state
    leaves, figures = stored
    history += [(distortion, losses) for distortion, losses in figures]
    return jax.tree.unflatten(jax.tree.structure(state), [jnp.asarray(leaf) for leaf in leaves])

"""The paper's protocol: from training histories to one audited point per distortion (sections V.A and V.B).

Of each trial the last five epochs whose distortion lies in [D − τ, D] are kept and the one with the median loss
represents it. A trial is accepted if every adversary loses at least as much as at the previous distortion. Of the
first fifteen accepted trials the one with the median mean loss is the point. τ is a sixtieth of the range of D.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.curve import Curve, CurvePoint, Training
from aegis.candidates.sanitizers.finite import FiniteProblem
from aegis.candidates.sanitizers.gaussian import GaussianProblem
from aegis.errors import NotConvergedError, SanitizerError
from aegis.progress import Progress


class History(Training, Protocol):
    """What the protocol needs of a training: figures on the held-out rows, by (distortion, trial, epoch)."""

    @property
    def distortion_by_epoch(self) -> Floats: ...
    @property
    def losses_by_epoch(self) -> Floats: ...


Run = TypeVar("Run", bound=History)
_KEPT_EPOCHS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPoint:
    """One point of the published curve; without an accepted trial ``trial`` is None and the figures are empty."""

    target: float
    trial: int | None
    epoch: int | None
    distortion: float | None
    adversary_losses: tuple[float, ...]
    accepted: int


def paper_targets(max_distortion: float, *, first: float, points: int = 30) -> tuple[float, ...]:
    """Evenly spaced distortions from D0 to D_max, both included.

    >>> paper_targets(0.2, first=0.0025, points=3)
    (0.0025, 0.10125, 0.2)
    """
    if points < 2 or not 0 < first < max_distortion:
        raise SanitizerError("the paper's distortions need at least two points and a first one between 0 and D_max")
    return tuple(float(d) for d in np.linspace(first, max_distortion, points))


def paper_points(
    targets: Sequence[float],
    distortions: Sequence[Floats] | Floats,
    losses: Sequence[Floats] | Floats,
    *,
    wanted: int = 15,
) -> tuple[ProtocolPoint, ...]:
    """Points from ``distortions[d][t, e]`` and ``losses[d][t, e, i]``, distortions ascending.

    Targets may differ in their number of trials: the loop adds some where too few were accepted.
    """
    if len(distortions) != len(targets) or any(
        allowed.shape != other.shape[:2] for allowed, other in zip(distortions, losses, strict=False)
    ):
        raise SanitizerError("histories need the axes (distortion, trial, epoch) and (…, adversary)")
    tolerance = (max(targets) - min(targets)) / (2 * len(targets)) if len(targets) > 1 else max(targets) / 60
    floor = np.zeros(losses[0].shape[2])
    points = []
    for d, target in enumerate(targets):
        accepted: list[tuple[int, int, float, Floats]] = []
        for trial in range(distortions[d].shape[0]):
            reached = distortions[d][trial]
            inside = np.flatnonzero((reached >= target - tolerance) & (reached <= target))[-_KEPT_EPOCHS:]
            if inside.size == 0:
                continue
            worst = losses[d][trial, inside].min(axis=1)
            epoch = inside[np.argsort(worst, kind="stable")[inside.size // 2]]
            if (losses[d][trial, epoch] >= floor).all():
                accepted.append((trial, int(epoch), float(distortions[d][trial, epoch]), losses[d][trial, epoch]))
            if len(accepted) == wanted:
                break
        if not accepted:
            points.append(
                ProtocolPoint(target=target, trial=None, epoch=None, distortion=None, adversary_losses=(), accepted=0)
            )
            continue
        order = np.argsort([chosen.mean() for *_, chosen in accepted], kind="stable")
        trial, at, distortion, chosen = accepted[order[len(accepted) // 2]]
        floor = chosen
        points.append(
            ProtocolPoint(
                target=target,
                trial=trial,
                epoch=at,
                distortion=distortion,
                adversary_losses=tuple(float(loss) for loss in chosen),
                accepted=len(accepted),
            )
        )
    return tuple(points)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds(Generic[Run]):
    """All rounds of trials: the points they make, and for each target its trials as (run, place in the run, trial)."""

    points: tuple[ProtocolPoint, ...]
    sources: tuple[tuple[tuple[Run, int, int], ...], ...]
    runs: tuple[Run, ...]

    @property
    def device(self) -> str:
        """Where the last round ran."""
        return self.runs[-1].device

    @property
    def compile_seconds(self) -> float:
        """Compiling, over all rounds."""
        return sum(run.compile_seconds for run in self.runs)

    @property
    def train_seconds(self) -> float:
        """Training, over all rounds."""
        return sum(run.train_seconds for run in self.runs)


def in_rounds(
    train: Callable[[int, Sequence[float]], Run], targets: Sequence[float], *, wanted: int, most_rounds: int
) -> Rounds[Run]:
    """Train in rounds, each only for the targets that still want accepted trials.

    ``train(number, targets)`` runs one round. The paper goes on until every target has its fifteen; ``most_rounds``
    is where patience ends, and points then say how many they have.
    """
    distortions: list[list[Floats]] = [[] for _ in targets]
    losses: list[list[Floats]] = [[] for _ in targets]
    sources: list[list[tuple[Run, int, int]]] = [[] for _ in targets]
    runs: list[Run] = []
    points: tuple[ProtocolPoint, ...] = ()
    waiting = list(range(len(targets)))
    for number in range(most_rounds):
        run = train(number, [targets[place] for place in waiting])
        runs.append(run)
        for position, place in enumerate(waiting):
            distortions[place].append(run.distortion_by_epoch[position])
            losses[place].append(run.losses_by_epoch[position])
            count = run.distortion_by_epoch.shape[1]
            sources[place] += [(run, position, trial) for trial in range(count)]
        points = paper_points(
            targets,
            [np.concatenate(d) for d in distortions],
            [np.concatenate(parts) for parts in losses],
            wanted=wanted,
        )
        waiting = [place for place, point in enumerate(points) if point.accepted < wanted]
        if not waiting:
            break
    return Rounds(points=points, sources=tuple(tuple(places) for places in sources), runs=tuple(runs))


def protocol_curve(
    problem: GaussianProblem | FiniteProblem,
    train: Callable[[int, Sequence[float], Progress | None], Run],
    audit: Callable[[ProtocolPoint, Run, int, int, int], CurvePoint],
    *,
    kind: str,
    targets: Sequence[float],
    trials: int,
    most_rounds: int,
    seed: int,
    progress: Progress | None,
) -> Curve:
    """The protocol's curve, audited; ``trials`` is both the size of a round and how many must be accepted.

    ``train(round, targets, progress)`` runs one round. ``audit(point, run, position, trial, seed)`` attacks the chosen
    trial of a run. A distortion at which no trial was accepted after ``most_rounds`` rounds has no point, and an audit
    that contradicts the protocol's claim is no error: the point says so in its ``method``.
    """

    def one_round(number: int, aims: Sequence[float]) -> Run:
        def tell(done: int, total: int | None, what: str) -> None:
            if progress is not None:
                progress(done, total, f"round {number + 1}: {what}")

        return train(number, aims, None if progress is None else tell)

    rounds = in_rounds(one_round, targets, wanted=max(trials, 1), most_rounds=most_rounds)
    began = time.perf_counter()
    audited = []
    for place, point in enumerate(rounds.points):
        if progress is not None:
            progress(place, len(targets), "audit")
        if point.trial is not None:
            audited.append(audit(point, *rounds.sources[place][point.trial], seed + 5000 + place))
    if not audited:
        raise NotConvergedError("the paper's protocol accepted no trial at any distortion; train for more epochs")
    seconds = time.perf_counter() - began
    return Curve.of(problem, audited, kind=kind, training=rounds, audit_seconds=seconds, seed=seed)


def verdict(point: ProtocolPoint, report: AuditReport) -> str:
    """What the audit makes of a point of the protocol, in a few words."""
    words = [f"paper, {point.accepted} accepted"]
    if report.strongest.interval[1] < 0.95 * min(point.adversary_losses):
        words.append("adversary stronger than claimed")
    if report.distortion.interval[0] > 1.02 * point.target:
        words.append("distortion not confirmed")
    return ", ".join(words)

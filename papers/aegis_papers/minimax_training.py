"""The paper's experiments as a training that ``aegis curve --training paper`` offers."""

from __future__ import annotations

from typing import Any

from aegis.candidates.sanitizers.curve import Curve
from aegis.candidates.sanitizers.finite import FiniteProblem
from aegis.candidates.sanitizers.gaussian import GaussianProblem
from aegis.candidates.sanitizers.trainings import Training

STEPS_AN_EPOCH = 50  # of 200 rows: they see the 10,000 rows once


def _gaussian(problem: GaussianProblem, *, steps: int = 5000, **options: Any) -> Curve:
    from aegis_papers.minimax_gaussian_experiment import paper_curve

    return paper_curve(problem, epochs=max(1, round(steps / STEPS_AN_EPOCH)), **options)


def _binary(problem: FiniteProblem, *, epochs: int = 1000, **options: Any) -> Curve:
    from aegis_papers.minimax_binary_experiment import binary_settings, paper_binary_curve

    return paper_binary_curve(problem, settings=binary_settings(epochs=epochs), **options)


PAPER = Training(
    name="paper",
    summary="the paper's experiment to the letter: its networks, its distortions, its choice of trials",
    uses=frozenset({"steps", "epochs"}),
    gaussian=_gaussian,
    binary=_binary,
)

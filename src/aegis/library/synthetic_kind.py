"""Made-up rows as a kind of candidates, at the budgets that people ask for most."""

from __future__ import annotations

import numpy as np

from aegis.candidates.synthesis.candidate import SyntheticCandidate
from aegis.data.shell import word
from aegis.library.candidate_kinds import Made, Workshop
from aegis.ranking.verdicts import CandidateVerdict

EPSILONS = (1.0, 3.0)
DELTA = 1e-6


def synthetic(workshop: Workshop) -> list[Made]:
    """A table for each budget. Its rows are nobody's, so the models of the policy have nothing to judge in them."""
    made = []
    for epsilon in EPSILONS:
        candidate = SyntheticCandidate(workshop.sample, epsilon=epsilon, delta=DELTA)
        model = candidate.learnt(np.arange(workshop.sample.rows, dtype=np.int64), seed=0)
        left_out = "".join(f"; {column.name} left out" for column in model.left_out)
        made.append(
            Made(
                candidate=candidate,
                verdict=CandidateVerdict(satisfied=True, suppressed=0, smallest_class=0, failing=()),
                reason=f"made-up rows that promise ε = {epsilon:g} at δ = {DELTA:g}; they train and real rows test; "
                f"no row is anybody's, so the policy's models do not apply{left_out}",
                command=f"aegis synthesize DATA --epsilon {word(f'{epsilon:g}')} --delta {word(f'{DELTA:g}')} "
                f"--label {word(workshop.label)} --out OUT.csv",
            )
        )
    return made

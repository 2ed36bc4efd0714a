"""What a search of another kind found, made exact: caps and distortions hold, and the probabilities are the best.

Symbols are kept as they are used, by rule, and the program finds the best probabilities of each. Under the logarithmic
loss a rule is a belief, and a release that misses the distortion by a little has no mixture that meets it. There the
two take turns: the best probabilities for the beliefs, then the beliefs that these symbols deserve. A group loses no
more with the new beliefs than with the old ones, so each turn is as good as the last; all symbols that were seen on the
way are mixed at the end, where losses are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.capped_master import Master
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.capped_program import CappedOptimum, by_belief, limits_of, met, optimum_of
from aegis.candidates.sanitizers.cones import Cone, cone_of
from aegis.candidates.sanitizers.mixture_master import MixtureMaster

Floats = NDArray[np.float64]
_REFINING = 24  # times that tangents are added where no symbol will be
_TURNS = 6  # of probabilities and beliefs
_REFINING_A_TURN = 8


def refined(problem: CappedProblem, release: Floats) -> CappedOptimum | None:
    """The best release whose symbols are used as those of ``release`` are, or nearly; None where none is feasible."""
    cone = cone_of(problem.law, problem.caps)
    symbols = cone.drawn_in(_of_share_one(problem, release))
    master: Master | MixtureMaster
    if by_belief(problem):
        master = MixtureMaster(problem, limits_of(problem))
        master.add(np.vstack(_by_turns(problem, cone, symbols)))
    else:
        master = Master(problem, cone, limits_of(problem))
        master.add(_with_silence(symbols))
    master.solve(_scale(problem), once=False, rounds=_REFINING)
    return optimum_of(problem, master) if met(problem, master.missed) else None


def _by_turns(problem: CappedProblem, cone: Cone, symbols: Floats) -> list[Floats]:
    """The symbols, and those of every turn; over when a turn gains next to nothing."""
    seen, reached = [_with_silence(symbols)], -np.inf
    for _ in range(_TURNS):
        master = Master(problem, cone, limits_of(problem))
        master.add(seen[-1])
        master.solve(_scale(problem), once=False, rounds=_REFINING_A_TURN)
        # a symbol that rounding left outside of a cap must not be mixed
        seen.append(_with_silence(cone.drawn_in(_of_share_one(problem, master.release()))))
        if master.value <= reached + 1e-4 * _scale(problem):
            break
        reached = master.value
    return seen


def _of_share_one(problem: CappedProblem, release: Floats) -> Floats:
    symbols = release.T[release.max(axis=0) > 1e-6]
    return np.asarray(symbols / (symbols @ problem.law.prior)[:, None])


def _with_silence(symbols: Floats) -> Floats:
    return np.vstack([symbols, np.ones((1, symbols.shape[1]))])


def _scale(problem: CappedProblem) -> float:
    return max(1e-12, *problem.silent_losses)

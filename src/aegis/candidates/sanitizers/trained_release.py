"""From a trained privatizer to a release under the caps, exactly, and comparable with the program's.

What the networks found is which values share a symbol and how parties use it. Where the program fits, the probabilities
of these symbols, of one trial or of all together, are solved for (`refined`). Otherwise every row of the table is drawn
towards their common mean until each symbol satisfies each cap (silence satisfies all of them), and a blank is mixed in
until the distortion is spent. Either is judged under the same law and by the same figures as the program's release.

Solved for means that symbols are kept as they are used, by rule, and the program finds the best probabilities of each.
Under the logarithmic loss a rule is a belief, and a release that misses the distortion by a little has no mixture that
meets it. There the two take turns: the best probabilities for the beliefs, then the beliefs that these symbols deserve.
A group loses no more with the new beliefs than with the old ones, so each turn is as good as the last; all symbols that
were seen on the way are mixed at the end, where losses are exact.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.capped_master import Master, MixtureMaster, RuleMaster
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.capped_program import CappedOptimum, optimum_of
from aegis.candidates.sanitizers.cones import Cone, cone_of, without_rounded_zeros
from aegis.candidates.sanitizers.costs import LogCost

_STEPS = 24
_TOGETHER = 3  # trials whose symbols are put together
_REFINED = 60  # values up to which the probabilities are solved for
_REFINING = 24  # times that tangents are added where no symbol will be
_TURNS = 6  # of probabilities and beliefs
_REFINING_A_TURN = 8


def under_caps(release: Floats, cone: Cone, prior: Floats) -> Floats:
    """The release with the smallest share of silence, on every symbol, that satisfies the caps."""
    mean = np.broadcast_to(prior @ release, release.shape)
    if bool(cone.inside(release.T).all()):
        return release
    near, far = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        fits = bool(cone.inside(((1 - middle) * release + middle * mean).T).all())
        near, far = (near, middle) if fits else (middle, far)
    return np.asarray((1 - far) * release + far * mean)


def spent(release: Floats, problem: CappedProblem) -> Floats | None:
    """The release with a blank mixed in until the first group to reach its distortion does; None where it is beyond."""
    limits = problem.limits

    def mixed(blank: float) -> Floats:
        return np.hstack([(1 - blank) * release, np.full((len(release), 1), blank)])

    def within(table: Floats) -> bool:
        return all(
            reached <= limit * (1 + 1e-9) + 1e-12
            for reached, limit in zip(problem.distortions_of(table), limits, strict=True)
        )

    if not within(release):
        return None
    near, far = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if within(mixed(middle)) else (near, middle)
    return mixed(near) if near > 0 else release


def best_trained(releases: Floats, problem: CappedProblem, cone: Cone) -> tuple[Floats, float] | None:
    """The best of several trained privatizers, under the caps and within the distortion, and its worst loss.

    Every trial is tried by itself and, where the program fits, the symbols of the best ones together: what one start
    did not find another may have.
    """
    drawn = (under_caps(release, cone, problem.law.prior) for release in releases)
    tried = [spent(without_rounded_zeros(release, problem.caps.local_dp), problem) for release in drawn]
    if problem.law.size <= _REFINED:
        optima = [optimum for release in releases if (optimum := refined(problem, release)) is not None]
        best = sorted(optima, key=lambda optimum: -optimum.worst)[:_TOGETHER]
        if len(best) > 1:
            together = refined(problem, np.hstack([optimum.release for optimum in best]) / len(best))
            optima += [] if together is None else [together]
        tried += [optimum.release for optimum in optima]
    judged = [(release, min(problem.losses_of(release))) for release in tried if release is not None]
    return max(judged, key=lambda pair: pair[1], default=None)


def refined(problem: CappedProblem, release: Floats) -> CappedOptimum | None:
    """The best release whose symbols are used as those of ``release`` are, or nearly; None where none is feasible."""
    cone = cone_of(problem.law, problem.caps)
    symbols = cone.drawn_in(_of_share_one(problem, release))
    master: Master
    if isinstance(problem.cost, LogCost):
        master = MixtureMaster(problem)
        master.add(np.vstack(_by_turns(problem, cone, symbols)))
    else:
        master = RuleMaster(problem, cone)
        master.add(_with_silence(symbols))
    master.solve(rounds=_REFINING)
    return optimum_of(problem, master) if problem.met(master.missed) else None


def _by_turns(problem: CappedProblem, cone: Cone, symbols: Floats) -> list[Floats]:
    """The symbols, and those of every turn; over when a turn gains next to nothing."""
    seen, reached = [_with_silence(symbols)], -np.inf
    for _ in range(_TURNS):
        master = RuleMaster(problem, cone)
        master.add(seen[-1])
        master.solve(rounds=_REFINING_A_TURN)
        # a symbol that rounding left outside of a cap must not be mixed
        seen.append(_with_silence(cone.drawn_in(_of_share_one(problem, master.release()))))
        if master.value <= reached + 1e-4 * problem.scale:
            break
        reached = master.value
    return seen


def _of_share_one(problem: CappedProblem, release: Floats) -> Floats:
    symbols = release.T[release.max(axis=0) > 1e-6]
    return np.asarray(symbols / (symbols @ problem.law.prior)[:, None])


def _with_silence(symbols: Floats) -> Floats:
    return np.vstack([symbols, np.ones((1, symbols.shape[1]))])

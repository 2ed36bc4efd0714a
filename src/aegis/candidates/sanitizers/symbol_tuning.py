"""The release under caps whose reconstructors spend their distortions: by the program, or by networks that beat it.

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

from dataclasses import dataclass, replace

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audited_column import Reconstruction
from aegis.candidates.sanitizers.capped_master import Master, MixtureMaster, RuleMaster
from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, SquaredCost
from aegis.candidates.sanitizers.capped_program import (
    CappedOptimum,
    how_far,
    nearest_distortions,
    optimum_of,
    solve_or_none,
)
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator, Training
from aegis.candidates.sanitizers.law import Cone, cone_of, without_rounded_zeros
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.candidates.sanitizers.symbol_column import SymbolColumn
from aegis.errors import SanitizerError, VerificationError

_STEPS = 24
_TOGETHER = 3  # trials whose symbols are put together
_REFINED = 60  # values up to which the probabilities are solved for
_REFINING = 24  # times that tangents are added where no symbol will be
_TURNS = 6  # of probabilities and beliefs
_REFINING_A_TURN = 8
_AIMS = 7  # tries to spend a distortion


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


@dataclass(frozen=True, slots=True)
class TunedRelease:
    """A release, what it leaves every party, and the optimum that it was drawn from."""

    drawn: Drawn
    reconstructions: tuple[Reconstruction, ...]
    after: list[Certainty]
    optimum: CappedOptimum
    method: str
    problem: CappedProblem


def tuned(problem: CappedProblem, column: SymbolColumn, evaluator: Evaluator) -> TunedRelease:
    """The best release under the caps whose reconstructor spends the distortion and no more.

    The caps are asked for over the whole set of laws first; where the rows are too few for that, under the estimate.
    """
    aims, caps = problem.limits, problem.caps
    beyond = caps.strict and caps.posterior is not None and problem.law.surest_of_set > caps.posterior
    over_set = None if beyond else _spent(problem, column, evaluator, aims)
    if over_set is not None and not over_set.short:
        return _accepted(over_set, column, evaluator)
    problem = replace(problem, law=problem.law.estimate)
    target = replace(problem, distortions=aims)
    aimed = _spent(problem, column, evaluator, aims)
    if aimed is None:
        # cells are a summary: what the reconstructor makes of its columns may still meet the distortion
        nearest = tuple(map(min, nearest_distortions(target), problem.silent_distortions))
        aimed = _spent(problem, column, evaluator, nearest)
        if aimed is None or aimed.short:
            raise SanitizerError(how_far(target, nearest if aimed is None else tuple(map(max, nearest, aimed.needed))))
    return _accepted(aimed, column, evaluator)


@dataclass(frozen=True, slots=True)
class _Aimed:
    """The release for the aims that spend the distortions; ``short`` where even the smallest aims err too much.

    ``needed`` is what each group would have to be allowed for it, by the tuning rows.
    """

    problem: CappedProblem
    optimum: CappedOptimum
    drawn: Drawn
    short: bool
    needed: tuple[float, ...]


def _spent(
    problem: CappedProblem, column: SymbolColumn, evaluator: Evaluator, aims: tuple[float, ...]
) -> _Aimed | None:
    """The release whose reconstructors spend the distortions on the tuning rows; None where the caps allow no aims."""
    split, most = evaluator.split, problem.silent_distortions
    aimed: _Aimed | None = None
    solved, lowest = aims, tuple(0.0 for _ in aims)  # aims that the caps allow, and some that they do not
    # cells are a summary of what an authorised group knows, so the first try often finds distortion to spare
    for _ in range(_AIMS):
        tried = replace(problem, distortions=aims)
        optimum = solve_or_none(tried)
        if optimum is None:
            if aimed is None or not aimed.short:
                break
            lowest, aims = aims, _between(aims, solved)  # it went too far: the smallest that the caps allow lie between
            continue
        drawn = column.drawn(optimum.release, split.rng)
        losses = evaluator.tuning_losses(drawn)
        short = any(split.needs_release(lost, group=group) for group, lost in enumerate(losses))
        needed = tuple(split.needed(lost, group=group) for group, lost in enumerate(losses))
        if aimed is None or not short or (aimed.short and sum(needed) < sum(aimed.needed)):
            aimed = _Aimed(tried, optimum, drawn, short, needed)
        solved = aims
        aims = tuple(
            aim if (wanted := split.spent(lost, aim, group=group)) is None else min(wanted, limit)
            for group, (lost, aim, limit) in enumerate(zip(losses, solved, most, strict=True))
        )
        if any(aim < low for aim, low in zip(aims, lowest, strict=True)):
            aims = _between(lowest, solved)
        if aims == solved:
            break
    return aimed


def _between(low: tuple[float, ...], high: tuple[float, ...]) -> tuple[float, ...]:
    return tuple((a + b) / 2 for a, b in zip(low, high, strict=True))


def _accepted(aimed: _Aimed, column: SymbolColumn, evaluator: Evaluator) -> TunedRelease:
    """The release with its reconstructors' errors on the measured rows, which must be within the distortions.

    Where the tuning rows say that it errs too much, the measured rows may not outvote them by chance: the errors on
    both together must be within the distortions as well.
    """
    try:
        reconstructions = evaluator.reconstructions(aimed.drawn)
        if aimed.short:
            evaluator.reconstructions(aimed.drawn, tuned_too=True)
    except VerificationError as refusal:
        if not aimed.short:
            raise
        needed = ", ".join(f"{value:.4g}" for value in aimed.needed)
        raise VerificationError(
            f"{refusal}. Nothing under {aimed.problem.caps.describe()} tells it more; a distortion of about {needed} "
            "would do"
        ) from None
    return TunedRelease(
        aimed.drawn,
        reconstructions,
        evaluator.certainties(aimed.drawn),
        aimed.optimum,
        "program under caps" if column.category else f"program under caps, {column.size} bins",
        aimed.problem,
    )


def or_trained(chosen: TunedRelease, column: SymbolColumn, evaluator: Evaluator, training: Training) -> TunedRelease:
    """What networks found on the rows, where it beats the program under the same caps; the method says which."""
    from aegis.candidates.sanitizers.row_training import Part, Rows, RowSettings, symbols_for, train_rows

    problem, cost, split = chosen.problem, column.cost, evaluator.split
    cone = cone_of(problem.law, problem.caps)
    if isinstance(cost, SquaredCost):
        part = Part(codes=np.arange(column.size), cost=cost.means[:, None], loss="squared")
    elif isinstance(cost, LogCost):
        part = Part(codes=np.arange(column.size), cost=np.zeros((column.size, 1)), loss="log")
    else:
        part = Part(codes=np.arange(column.size), cost=cost.tangents().T)
    offset = float((problem.law.prior * cost.variances).sum()) if isinstance(cost, SquaredCost) else 0.0
    half = split.half
    trained = train_rows(
        Rows(
            codes=column.codes[:half],
            groups=tuple(side[:half] for side in split.sides[: split.groups]),
            adversaries=tuple(side[:half] for side in split.adversary_sides),
            parts=(part,),
        ),
        distortions=[max(target - offset, 0.05 * target) for target in problem.distortions],
        cone=cone,
        settings=RowSettings(
            symbols=symbols_for(column.size), steps=training.steps, seed=int(split.rng.integers(2**31))
        ),
        checkpoint=training.checkpoint,
        progress=training.progress,
    )
    best = best_trained(trained.releases, problem, cone)
    if best is None:
        return replace(chosen, method=f"{chosen.method} (networks found nothing within the caps and the distortion)")
    share = best[1] / chosen.optimum.worst
    if share <= 1.001:
        return replace(chosen, method=f"{chosen.method} (networks reached {100 * share:.1f} % of it)")
    drawn = column.drawn(best[0], split.rng)
    losses = evaluator.tuning_losses(drawn)
    if any(float(lost.mean()) > target for lost, target in zip(losses, split.distortions, strict=True)):
        return replace(chosen, method=f"{chosen.method} (networks missed the distortion)")
    return TunedRelease(
        drawn,
        evaluator.reconstructions(drawn),
        evaluator.certainties(drawn),
        replace(
            chosen.optimum,
            release=best[0],
            distortions=problem.distortions_of(best[0]),
            adversary_losses=problem.losses_of(best[0]),
        ),
        f"networks trained on the rows ({100 * share:.1f} % of the program under caps)",
        problem,
    )

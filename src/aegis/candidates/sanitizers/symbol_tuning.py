"""The release under caps whose reconstructors spend their distortions: by the program, or by networks that beat it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aegis.candidates.sanitizers.audited_column import Reconstruction
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.capped_program import CappedOptimum, how_far, nearest_distortions, solve_or_none
from aegis.candidates.sanitizers.cones import cone_of
from aegis.candidates.sanitizers.costs import LogCost, SquaredCost
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.candidates.sanitizers.split import Training
from aegis.candidates.sanitizers.symbol_column import SymbolColumn
from aegis.candidates.sanitizers.trained_release import best_trained
from aegis.errors import SanitizerError, VerificationError

_AIMS = 7  # tries to spend a distortion


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

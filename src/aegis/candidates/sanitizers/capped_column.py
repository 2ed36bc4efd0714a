"""A mechanism for a column under caps: the values of a category, or the bins of a number, released as symbols.

Cells are fitted on some rows, the law and its confidence set are counted on others, the program under caps finds the
table of probabilities, and rows that had no part in it prove how much the adversaries keep losing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.audited_column import AuthorizedGroup, Fitted, Party, Reconstruction
from aegis.candidates.sanitizers.capped_program import (
    CappedOptimum,
    CappedProblem,
    nearest_distortions,
    released_loss,
    solve,
    solve_or_none,
    with_bound,
)
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.cells import ADVERSARY_LEVELS, AUTHORIZED_LEVELS, Cells, fit_cells
from aegis.candidates.sanitizers.cones import cone_of
from aegis.candidates.sanitizers.costs import Cost, MatrixCost, SquaredCost, zero_one
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.law import estimated_law
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism, draw_symbols
from aegis.candidates.sanitizers.number_column import residual_variance, with_known_channel
from aegis.candidates.sanitizers.posterior import Belief, Certainty, fit_category_belief, fit_number_belief
from aegis.candidates.sanitizers.proof import Proof, adversary_proofs, figures_over_set, law_free_figures
from aegis.candidates.sanitizers.split import Split, Training, protections, refuse_certain, too_certain
from aegis.candidates.sanitizers.trained_release import best_trained
from aegis.errors import SanitizerError, VerificationError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SymbolMechanism = CategoryMechanism | BinMechanism
DEFAULT_POSTERIOR = 0.98
CONFIDENCE = 0.95
BINS = 12
_FLAGS = 6
_DOUBTS = (2.0, 3.5, 5.0, 7.5, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """The private column as codes, with the mechanism that a table of probabilities makes of it."""

    codes: Ints
    truth: Floats
    size: int
    cost: Cost
    largest_cost: float
    made: Callable[[Floats], SymbolMechanism]
    category: bool


def fit_category(x: NDArray[np.str_], split: Split, encoders: Sequence[Encoder], caps: Caps) -> Fitted:
    """A category, each of whose values is one of the program's."""
    values, codes = np.unique(x, return_inverse=True)
    named = tuple(str(value) for value in values)
    size = len(values)
    column = _Column(
        codes=codes,
        truth=codes.astype(np.float64),
        size=size,
        cost=zero_one(size) if split.cost is None else MatrixCost(split.cost),
        largest_cost=1.0 if split.cost is None else float(split.cost.max()),
        made=lambda release: CategoryMechanism(column=split.column, values=named, release=release, parts=split.parts),
        category=True,
    )
    half = split.half
    beliefs = [
        fit_category_belief(side[:half], codes[:half], size=size, quick=split.quick, cost=split.cost)
        for side in split.sides
    ]
    return _fitted(column, split, encoders, beliefs, caps)


def fit_bins(x: Floats, split: Split, encoders: Sequence[Encoder], caps: Caps) -> Fitted:
    """A number, released by its bin: caps speak of bins, and so does the certificate."""
    edges = np.unique(np.quantile(x[split.celled], np.arange(1, BINS) / BINS))
    edges = edges[(edges > x.min()) & (edges <= x.max())]
    codes = np.searchsorted(edges, x, side="right")
    size = edges.size + 1
    if size < 2:
        raise SanitizerError(
            f"nearly all rows of column '{split.column}' hold one value; there are no bins to hide it in"
        )
    held = np.maximum(np.bincount(codes, minlength=size), 1)
    means = np.bincount(codes, weights=x, minlength=size) / held
    variances = np.maximum(np.bincount(codes, weights=x**2, minlength=size) / held - means**2, 0.0)
    column = _Column(
        codes=codes,
        truth=x,
        size=size,
        cost=SquaredCost(means, variances),
        largest_cost=float(np.ptp(x)) ** 2,
        made=lambda release: BinMechanism(column=split.column, edges=edges, release=release),
        category=False,
    )
    half = split.half
    beliefs = [
        fit_number_belief(side[:half], x[:half], column=x, quick=split.quick, coarse=number < split.groups)
        for number, side in enumerate(split.sides)
    ]
    return _fitted(column, split, encoders, beliefs, caps)


def _fitted(
    column: _Column, split: Split, encoders: Sequence[Encoder], beliefs: Sequence[Belief], caps: Caps
) -> Fitted:
    cells = [
        fit_cells(
            side[split.celled],
            column.codes[split.celled],
            size=column.size,
            levels=AUTHORIZED_LEVELS if number < split.groups else ADVERSARY_LEVELS,
            ordered=not column.category,
            fine=number >= split.groups,
        )
        for number, side in enumerate(split.sides)
    ]
    problem = _problem(column, split, cells, caps)
    judged = column.codes[split.measured] if column.category else None
    silent = np.ones((column.size, 1))
    silence, blank = _drawn(column, split, silent)
    before = split.known_channel(silence, blank, column.truth, beliefs)
    left = _group_losses(column, split, beliefs, silence, blank)
    if not any(split.needs_release(losses, group=group) for group, losses in enumerate(left)):
        reconstructions = _reconstructions(column, split, beliefs, silence, blank)
        losses = problem.silent_losses
        optimum = CappedOptimum(
            release=silent,
            distortions=problem.silent_distortions,
            adversary_losses=losses,
            bound=min(losses),
            value=min(losses),
        )
        chosen = _Tried(silence, blank, reconstructions, before, optimum, "silence", problem)
    else:
        chosen = _tuned(problem, column, split, beliefs)
        # a cell is a summary of what an adversary knows; where its posteriors go further, the cap is tightened
        asked = 1.0 if caps.posterior is None else caps.posterior
        for doubt in _DOUBTS:
            if too_certain(before, chosen.after, codes=judged) is None:
                break
            try:
                tighter = replace(caps, posterior=max(1 - doubt * max(1 - asked, 0.02), 0.5))
                problem = replace(problem, caps=tighter)
                chosen = _tuned(problem, column, split, beliefs)
            except (SanitizerError, VerificationError):
                break  # nothing keeps both; what was found is refused below
        if split.training is not None:
            chosen = _or_trained(chosen, column, split, beliefs, split.training)
        refuse_certain(split.column, before, chosen.after, codes=judged)
    report = split.audited(chosen.mechanism, chosen.release, column.truth, beliefs)
    saturation = (
        problem.silent_losses
        if column.category
        else tuple(residual_variance(side, column.truth) for side in split.adversary_sides)
    )
    parties = tuple(Party(encoder=encoder, belief=belief) for encoder, belief in zip(encoders, beliefs, strict=True))
    return Fitted(
        column=split.column,
        mechanism=chosen.mechanism,
        audit=report if column.category else with_known_channel(report, chosen.after, None),
        groups=tuple(
            AuthorizedGroup(distortion=asked, max_distortion=float(losses.mean()), reconstruction=reached)
            for asked, losses, reached in zip(split.distortions, left, chosen.reconstructions, strict=True)
        ),
        saturation_losses=tuple(float(loss) for loss in saturation),
        method=chosen.method,
        protection=protections(before, chosen.after, None),
        proof=_proof(problem, chosen.problem, column, split, cells, chosen.optimum),
        authorized=parties[: split.groups],
        adversaries=parties[split.groups :],
    )


def _group_losses(
    column: _Column, split: Split, beliefs: Sequence[Belief], mechanism: SymbolMechanism, release: Floats
) -> list[Floats]:
    """What the reconstructor of each authorised group loses on the tuning rows."""
    return [
        split.losses(beliefs[group], mechanism, release, column.truth, split.tuned, group=group)
        for group in range(split.groups)
    ]


def _reconstructions(
    column: _Column, split: Split, beliefs: Sequence[Belief], mechanism: SymbolMechanism, release: Floats
) -> tuple[Reconstruction, ...]:
    """What the reconstructor of each authorised group reaches on the measured rows, each within its distortion."""
    return tuple(
        split.reconstruction(beliefs[group], mechanism, release, column.truth, group=group)
        for group in range(split.groups)
    )


def _problem(column: _Column, split: Split, cells: Sequence[Cells], caps: Caps) -> CappedProblem:
    rows = split.counted
    coded = [cell.of(side[rows]) for cell, side in zip(cells, split.sides, strict=True)]
    # half of the doubt for the set of laws, half for the proved losses
    law = estimated_law(
        column.codes[rows],
        coded[: split.groups],
        coded[split.groups :],
        size=column.size,
        confidence=1 - (1 - CONFIDENCE) / 2,
    )
    return CappedProblem(
        law=law,
        authorized_costs=(column.cost,) * split.groups,
        adversary_cost=column.cost,
        distortions=split.distortions,
        caps=caps,
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    mechanism: SymbolMechanism
    release: Floats
    reconstructions: tuple[Reconstruction, ...]
    after: list[Certainty]
    optimum: CappedOptimum
    method: str
    problem: CappedProblem


def _drawn(column: _Column, split: Split, release: Floats) -> tuple[SymbolMechanism, Floats]:
    mechanism = column.made(release)
    return mechanism, symbol_matrix(mechanism, draw_symbols(release, column.codes, split.rng))


def symbol_matrix(mechanism: SymbolMechanism, symbols: Ints) -> Floats:
    """Symbols as numbers: the code and, for a number, one flag for each symbol, as a mixture has them."""
    if isinstance(mechanism, CategoryMechanism):
        return symbols[:, None].astype(np.float64)
    flags = np.eye(max(_FLAGS, mechanism.release.shape[1]))[symbols]
    return np.hstack([symbols[:, None].astype(np.float64), flags])


def _tuned(problem: CappedProblem, column: _Column, split: Split, beliefs: Sequence[Belief]) -> _Tried:
    """The best release under the caps whose reconstructor spends the distortion and no more.

    The caps are asked for over the whole set of laws first; where the rows are too few for that, under the estimate.
    """
    silent = problem.silent_distortions
    aims = tuple(min(asked, left) for asked, left in zip(split.distortions, silent, strict=True))
    over_set = _spent(problem, column, split, beliefs, aims)
    if over_set is not None and not over_set.short:
        return _accepted(over_set, column, split, beliefs)
    problem = replace(problem, law=problem.law.estimate)
    asked = replace(problem, distortions=aims)
    found = _spent(problem, column, split, beliefs, aims)
    if found is None:
        # cells are a summary: what the reconstructor makes of its columns may still meet the distortion
        nearest = tuple(min(near, left) for near, left in zip(nearest_distortions(asked), silent, strict=True))
        found = _spent(problem, column, split, beliefs, nearest)
        if found is None or found.short:
            solve(asked)  # raises, and says how far it is
    assert found is not None
    return _accepted(found, column, split, beliefs)


@dataclass(frozen=True, slots=True)
class _Aimed:
    """The release for the aims that spend the distortions; ``short`` where even the smallest aims err too much."""

    problem: CappedProblem
    optimum: CappedOptimum
    mechanism: SymbolMechanism
    release: Floats
    short: bool


def _spent(
    problem: CappedProblem, column: _Column, split: Split, beliefs: Sequence[Belief], aims: tuple[float, ...]
) -> _Aimed | None:
    """The release whose reconstructors spend the distortions on the tuning rows; None where the caps allow no aims."""
    most = problem.silent_distortions
    found: _Aimed | None = None
    # cells are a summary of what an authorised group knows, so the first try often finds distortion to spare
    for _ in range(5):
        tried = replace(problem, distortions=aims)
        optimum = solve_or_none(tried)
        if optimum is None:
            break  # the aims before were the smallest that the caps allow
        mechanism, release = _drawn(column, split, optimum.release)
        losses = _group_losses(column, split, beliefs, mechanism, release)
        short = any(split.needs_release(lost, group=group) for group, lost in enumerate(losses))
        if found is None or found.short or not short:
            found = _Aimed(tried, optimum, mechanism, release, short)
        changed = tuple(
            aim if (wanted := split.spent(lost, aim, group=group)) is None else min(wanted, limit)
            for group, (lost, aim, limit) in enumerate(zip(losses, aims, most, strict=True))
        )
        if changed == aims:
            break
        aims = changed
    return found


def _accepted(found: _Aimed, column: _Column, split: Split, beliefs: Sequence[Belief]) -> _Tried:
    """The release with its reconstructors' errors on the measured rows, which must be within the distortions."""
    return _Tried(
        found.mechanism,
        found.release,
        _reconstructions(column, split, beliefs, found.mechanism, found.release),
        split.known_channel(found.mechanism, found.release, column.truth, beliefs),
        with_bound(found.problem, found.optimum),
        "program under caps" if column.category else f"program under caps, {column.size} bins",
        found.problem,
    )


def _or_trained(chosen: _Tried, column: _Column, split: Split, beliefs: Sequence[Belief], training: Training) -> _Tried:
    """What networks found on the rows, where it beats the program under the same caps; the method says which."""
    from aegis.candidates.sanitizers.row_training import Part, Rows, RowSettings, symbols_for, train_rows

    problem, cost = chosen.problem, column.cost
    cone = cone_of(problem.law, problem.caps)
    if isinstance(cost, SquaredCost):
        part = Part(codes=np.arange(column.size), cost=cost.means[:, None], loss="squared")
        offset = float((problem.law.prior * cost.variances).sum())
    else:
        part = Part(codes=np.arange(column.size), cost=cost.tangents().T)
        offset = 0.0
    half = split.half
    trained = train_rows(
        Rows(
            codes=column.codes[:half],
            groups=tuple(side[:half] for side in split.sides[: split.groups]),
            adversaries=tuple(side[:half] for side in split.adversary_sides),
            parts=(part,),
        ),
        distortions=[max(asked - offset, 0.05 * asked) for asked in problem.distortions],
        cone=cone,
        settings=RowSettings(
            symbols=symbols_for(column.size), steps=training.steps, seed=int(split.rng.integers(2**31))
        ),
        checkpoint=training.checkpoint,
        progress=training.progress,
    )
    best = best_trained(trained.releases, problem, cone)
    share = 0.0 if best is None else best[1] / chosen.optimum.worst
    if best is None or share <= 1.001:
        return replace(chosen, method=f"{chosen.method} (networks reached {100 * share:.1f} % of it)")
    mechanism, release = _drawn(column, split, best[0])
    losses = _group_losses(column, split, beliefs, mechanism, release)
    if any(float(lost.mean()) > asked for lost, asked in zip(losses, split.distortions, strict=True)):
        return replace(chosen, method=f"{chosen.method} (networks missed the distortion)")
    return _Tried(
        mechanism,
        release,
        _reconstructions(column, split, beliefs, mechanism, release),
        split.known_channel(mechanism, release, column.truth, beliefs),
        replace(
            chosen.optimum,
            release=best[0],
            distortions=problem.distortions_of(best[0]),
            adversary_losses=problem.losses_of(best[0]),
            bound=max(chosen.optimum.bound, best[1]),
        ),
        f"networks trained on the rows ({100 * share:.1f} % of the program under caps)",
        problem,
    )


def _proof(
    problem: CappedProblem,
    solved: CappedProblem,
    column: _Column,
    split: Split,
    cells: Sequence[Cells],
    optimum: CappedOptimum,
) -> Proof:
    rows = split.measured
    kept, local_dp = law_free_figures(optimum.release)
    posterior, leakage, open_share = figures_over_set(problem.law, optimum.release, solved.caps)
    codes = column.codes[rows]
    empirical = []
    for cell, side in zip(cells[split.groups :], split.adversary_sides, strict=True):
        coded = cell.of(side[rows])
        if column.category:
            table = np.zeros((column.size, cell.count))
            np.add.at(table, (codes, coded), 1.0 / len(codes))
            empirical.append(released_loss(table, optimum.release, column.cost))
        else:
            empirical.append(_squared_loss(column.truth[rows], codes, coded, optimum.release))
    return Proof(
        caps=solved.caps,
        holds_for_set=solved.law.lows is problem.law.lows,
        confidence=CONFIDENCE,
        rows_of_set=problem.law.rows,
        rows_of_losses=len(codes),
        program_loss=optimum.worst,
        bound=optimum.bound,
        kept_share=kept,
        posterior=posterior,
        leakage=leakage,
        local_dp=local_dp,
        open_share=open_share,
        adversaries=adversary_proofs(
            optimum.adversary_losses,
            empirical,
            cells=[(cell.count, cell.exact) for cell in cells[split.groups :]],
            largest=column.largest_cost,
            rows=len(codes),
            doubt=(1 - CONFIDENCE) / 2,
        ),
    )


def _squared_loss(x: Floats, codes: Ints, cells: Ints, release: Floats) -> float:
    """The smallest mean squared error on these very rows of anybody who sees a cell and the symbol."""
    shifted = x - x.mean()
    sums = []
    for power in (0, 1, 2):
        table = np.zeros((release.shape[0], int(cells.max()) + 1))
        np.add.at(table, (codes, cells), shifted**power)
        sums.append(table.T @ release)
    count, first, second = sums
    return float((second - first**2 / np.maximum(count, 1e-300)).sum() / len(x))

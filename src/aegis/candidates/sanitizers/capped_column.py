"""A mechanism for a column under caps: the values of a category, or the bins of a number, released as symbols.

Cells are fitted on some rows, the law and its confidence set are counted on others, the program under caps finds the
table of probabilities, and rows that had no part in it prove how much the adversaries keep losing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.audited_column import AuthorizedGroup, Fitted, Party
from aegis.candidates.sanitizers.capped_problem import CappedProblem, released_loss
from aegis.candidates.sanitizers.capped_program import CappedOptimum
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.cells import ADVERSARY_LEVELS, AUTHORIZED_LEVELS, Cells, fit_cells
from aegis.candidates.sanitizers.costs import LogCost, MatrixCost, SquaredCost, zero_one
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.law import estimated_law
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism
from aegis.candidates.sanitizers.number_column import residual_variance, with_known_channel
from aegis.candidates.sanitizers.posterior import Belief, fit_category_belief, fit_number_belief
from aegis.candidates.sanitizers.proof import Proof, adversary_proofs, figures_over_set, law_free_figures
from aegis.candidates.sanitizers.split import Split, protections, refuse_certain, too_certain
from aegis.candidates.sanitizers.symbol_column import SymbolColumn, drawn, group_losses, reconstructions_of
from aegis.candidates.sanitizers.symbol_tuning import TunedRelease, or_trained, tuned
from aegis.errors import SanitizerError, VerificationError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SymbolMechanism = CategoryMechanism | BinMechanism
DEFAULT_POSTERIOR = 0.98
CONFIDENCE = 0.95
BINS = 12
_FLAGS = 6
_DOUBTS = (2.0, 3.5, 5.0, 7.5, 10.0)


def fit_category(x: NDArray[np.str_], split: Split, encoders: Sequence[Encoder], caps: Caps) -> Fitted:
    """A category, each of whose values is one of the program's."""
    values, codes = np.unique(x, return_inverse=True)
    named = tuple(str(value) for value in values)
    size = len(values)
    by_log = LogCost(size)
    by_guess = zero_one(size) if split.cost is None else MatrixCost(split.cost)
    column = SymbolColumn(
        codes=codes,
        truth=codes.astype(np.float64),
        size=size,
        cost=by_log if split.log else by_guess,
        largest_cost=by_log.largest if split.log else float(by_guess.matrix.max()),
        slack=by_log.slack if split.log else 0.0,
        made=lambda release: CategoryMechanism(column=split.column, values=named, release=release, parts=split.parts),
        category=True,
    )
    half = split.half
    beliefs = [
        fit_category_belief(side[:half], codes[:half], size=size, quick=split.quick, cost=split.cost, log=split.log)
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
    column = SymbolColumn(
        codes=codes,
        truth=x,
        size=size,
        cost=SquaredCost(means, variances),
        largest_cost=float(np.ptp(x)) ** 2,
        slack=0.0,
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
    column: SymbolColumn, split: Split, encoders: Sequence[Encoder], beliefs: Sequence[Belief], caps: Caps
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
    silence, blank = drawn(column, split, silent)
    before = split.known_channel(silence, blank, column.truth, beliefs)
    left = group_losses(column, split, beliefs, silence, blank)
    if not any(split.needs_release(losses, group=group) for group, losses in enumerate(left)):
        reconstructions = reconstructions_of(column, split, beliefs, silence, blank)
        losses = problem.silent_losses
        optimum = CappedOptimum(
            release=silent,
            distortions=problem.silent_distortions,
            adversary_losses=losses,
            bound=min(losses),
            value=min(losses),
        )
        chosen = TunedRelease(silence, blank, reconstructions, before, optimum, "silence", problem)
    else:
        chosen = tuned(problem, column, split, beliefs)
        # a cell is a summary of what an adversary knows; where its posteriors go further, the cap is tightened
        posterior = 1.0 if caps.posterior is None else caps.posterior
        for doubt in _DOUBTS:
            if too_certain(before, chosen.after, codes=judged) is None:
                break
            try:
                tighter = replace(caps, posterior=max(1 - doubt * max(1 - posterior, 0.02), 0.5))
                problem = replace(problem, caps=tighter)
                chosen = tuned(problem, column, split, beliefs)
            except (SanitizerError, VerificationError):
                break  # nothing keeps both; what was found is refused below
        if split.training is not None:
            chosen = or_trained(chosen, column, split, beliefs, split.training)
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
            AuthorizedGroup(distortion=distortion, max_distortion=float(losses.mean()), reconstruction=reached)
            for distortion, losses, reached in zip(split.distortions, left, chosen.reconstructions, strict=True)
        ),
        saturation_losses=tuple(float(loss) for loss in saturation),
        method=chosen.method,
        loss=split.loss if column.category else "squared",
        protection=protections(before, chosen.after, None),
        proof=_proof(problem, chosen.problem, column, split, cells, chosen.optimum),
        authorized=parties[: split.groups],
        adversaries=parties[split.groups :],
    )


def _problem(column: SymbolColumn, split: Split, cells: Sequence[Cells], caps: Caps) -> CappedProblem:
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


def _proof(
    problem: CappedProblem,
    solved: CappedProblem,
    column: SymbolColumn,
    split: Split,
    cells: Sequence[Cells],
    optimum: CappedOptimum,
) -> Proof:
    rows = split.measured
    kept_share, local_dp = law_free_figures(optimum.release)
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
        kept_share=kept_share,
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
            slack=column.slack,
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

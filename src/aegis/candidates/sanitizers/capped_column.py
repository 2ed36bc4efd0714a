"""A mechanism for a column under caps: the values of a category, or the bins of a number, released as symbols.

Cells are fitted on some rows, the law and its confidence set are counted on others, the program under caps finds the
table of probabilities, and rows that had no part in it prove how much the adversaries keep losing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.audit import UNAIDED
from aegis.candidates.sanitizers.audited_column import (
    CERTAIN_CAP,
    VALUE_CAP,
    AuthorizedGroup,
    Fitted,
    Party,
    protections,
    refuse_certain,
    refuse_certain_parts,
    too_certain,
    too_certain_part,
)
from aegis.candidates.sanitizers.capped_problem import (
    CappedProblem,
    LogCost,
    MatrixCost,
    SquaredCost,
    released_loss,
    zero_one,
)
from aegis.candidates.sanitizers.capped_program import CappedOptimum, most_any_release_leaves, solve_or_none
from aegis.candidates.sanitizers.caps import CERTAIN, Caps
from aegis.candidates.sanitizers.encoding import BETWEEN, Encoder
from aegis.candidates.sanitizers.evaluator import Evaluator, Split
from aegis.candidates.sanitizers.law import UNDECIDED, estimated_law, nearly_sure
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism
from aegis.candidates.sanitizers.number_column import residual_variance, with_known_channel
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.candidates.sanitizers.proof import Proof, adversary_proofs, figures_over_set, law_free_figures
from aegis.candidates.sanitizers.symbol_column import (
    ADVERSARY_LEVELS,
    AUTHORIZED_LEVELS,
    Cells,
    SymbolColumn,
    fit_cells,
)
from aegis.candidates.sanitizers.symbol_tuning import TunedRelease, or_trained, tuned
from aegis.errors import SanitizerError, VerificationError

CONFIDENCE = 0.95
_DOUBT = (1 - CONFIDENCE) / 2  # for the set of laws, and as much for the proved losses
BINS = 12
_ROUNDING = 1e-6
_TRIES = ((0.6, None), (0.4, None), (0.2, 3.5), (0.1, 5.0), (0.05, 10.0))
"""How much of what the gate lets become certain the program is told of, and by what the doubt of its cap is widened."""
_NEARLY = 0.9  # an adversary that believes a value with this is nearly sure of it


def fit_category(x: NDArray[np.str_], split: Split, encoders: Sequence[Encoder], caps: Caps) -> Fitted:
    """A category, each of whose values is one of the program's."""
    values, codes = np.unique(x, return_inverse=True)
    named = tuple(str(value) for value in values)
    size = len(values)
    by_log = LogCost(size)
    by_guess = zero_one(size) if split.cost is None else MatrixCost(split.cost)
    column = SymbolColumn(
        codes=codes,
        size=size,
        cost=by_log if split.log else by_guess,
        largest_cost=by_log.largest if split.log else float(by_guess.matrix.max()),
        slack=by_log.slack if split.log else 0.0,
        mechanism_of=lambda release: CategoryMechanism(
            column=split.column, values=named, release=release, parts=split.parts
        ),
        category=True,
        parts=tuple(
            np.unique([value.split(BETWEEN)[place] for value in named], return_inverse=True)[1]
            for place in range(len(split.parts))
        ),
    )
    return _fitted(column, Evaluator.of_category(split, codes, size=size), encoders, caps)


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
    records = np.maximum(np.bincount(codes, minlength=size), 1)
    means = np.bincount(codes, weights=x, minlength=size) / records
    variances = np.maximum(np.bincount(codes, weights=x**2, minlength=size) / records - means**2, 0.0)
    column = SymbolColumn(
        codes=codes,
        size=size,
        cost=SquaredCost(means, variances),
        largest_cost=float(np.ptp(x)) ** 2,
        slack=0.0,
        mechanism_of=lambda release: BinMechanism(column=split.column, edges=edges, release=release),
        category=False,
    )
    return _fitted(column, Evaluator.of_number(split, x), encoders, caps)


def _fitted(column: SymbolColumn, evaluator: Evaluator, encoders: Sequence[Encoder], caps: Caps) -> Fitted:
    split = evaluator.split
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
    _refuse_impossible(split.column, problem)
    judged = column.codes[split.measured] if column.category else None
    silent = np.ones((column.size, 1))
    silence = column.drawn(silent, split.rng)
    before = evaluator.certainties(silence)
    left = evaluator.tuning_losses(silence)
    if not any(split.needs_release(losses, group=group) for group, losses in enumerate(left)):
        reconstructions = evaluator.reconstructions(silence)
        losses = problem.silent_losses
        optimum = CappedOptimum(
            release=silent,
            distortions=problem.silent_distortions,
            adversary_losses=losses,
            bound=min(losses),
            value=min(losses),
        )
        chosen = TunedRelease(silence, reconstructions, before, optimum, "silence", problem)
        doubt = _DOUBT  # no measured row had a say
    else:
        chosen, doubt = _undetermined(problem, column, evaluator, before)
        if split.training is not None:
            chosen = or_trained(chosen, column, evaluator, split.training)
        refuse_certain(split.column, before, chosen.after, codes=judged)
        refuse_certain_parts(split.column, evaluator.certain_parts(chosen.drawn))
    report = evaluator.audited(chosen.drawn)
    saturation = (
        tuple(party.by_attacker[UNAIDED] for party in report.adversaries)  # on the rows that the others are measured on
        if column.category
        else tuple(residual_variance(side, evaluator.truth) for side in split.adversary_sides)
    )
    parties = tuple(map(Party, encoders, evaluator.beliefs))
    return Fitted(
        column=split.column,
        mechanism=chosen.drawn.mechanism,
        audit=report if column.category else with_known_channel(report, chosen.after),
        groups=tuple(
            AuthorizedGroup(distortion=distortion, max_distortion=float(losses.mean()), reconstruction=reached)
            for distortion, losses, reached in zip(split.distortions, left, chosen.reconstructions, strict=True)
        ),
        saturation_losses=tuple(float(loss) for loss in saturation),
        method=chosen.method,
        loss=split.loss if column.category else "squared",
        protection=protections(before, chosen.after),
        proof=_proof(
            replace(problem, distortions=chosen.problem.distortions), column, evaluator, cells, chosen.optimum, doubt
        ),
        authorized=parties[: split.groups],
        adversaries=parties[split.groups :],
    )


def _problem(column: SymbolColumn, split: Split, cells: Sequence[Cells], caps: Caps) -> CappedProblem:
    rows = split.counted
    coded = [cell.of(side[rows]) for cell, side in zip(cells, split.sides, strict=True)]
    law = estimated_law(
        column.codes[rows], coded[: split.groups], coded[split.groups :], size=column.size, confidence=1 - _DOUBT
    )
    return CappedProblem(
        law=replace(law, events=column.events), cost=column.cost, distortions=split.distortions, caps=caps
    )


def _undetermined(
    problem: CappedProblem, column: SymbolColumn, evaluator: Evaluator, before: Sequence[Certainty]
) -> tuple[TunedRelease, float]:
    """The release under the caps that determines few records on the measured rows too, or the nearest to that.

    With it comes the doubt that is left for the losses which the same rows prove (`doubt_of_try`).

    A cell is a summary of what an adversary knows. Of a category the program is told of records as well; where that is
    not enough, of more of them, and of a tighter cap.
    """
    split = evaluator.split
    rows = split.tuned  # no belief was fitted on these
    priors = [belief.prior(side[rows]) for belief, side in evaluator.adversaries]
    codes = column.codes[rows]
    judged = column.codes[split.measured] if column.category else None
    caps = problem.caps
    chosen: TunedRelease | None = None
    place = 0
    for number, (let_go, widened) in enumerate(_TRIES, start=1):
        law, tighter = problem.law, caps
        if column.category:
            sure = nearly_sure(
                priors,
                codes,
                column.partitions,
                undecided=UNDECIDED,
                share=let_go * CERTAIN_CAP,
                of_set=let_go * VALUE_CAP,
            )
            law = replace(law, nearly_sure=sure)
        if widened is not None:
            tighter = tightened(caps, widened, surest=law.surest)
        try:
            chosen = tuned(replace(problem, law=law, caps=tighter), column, evaluator)
        except (SanitizerError, VerificationError) as refusal:
            if chosen is None:
                raise type(refusal)(f"{refusal}{_why_certain(replace(problem, law=law), priors, codes)}") from None
            break  # nothing keeps both; what was found is refused by the caller
        place = number
        parts = evaluator.certain_parts(chosen.drawn)
        if too_certain(before, chosen.after, codes=judged) is None and too_certain_part(parts) is None:
            break
    assert chosen is not None, "there is a first try"
    return chosen, doubt_of_try(place)


def doubt_of_try(number: int) -> float:
    """The doubt of the losses that are proved of one try, counted from 1; all tries together have no more than all.

    The measured rows that prove the losses have said which try is the last. So the doubts of all tries there might be
    are added up (union bound): a half for the first, with which most end, then a half of what is left.

    >>> [round(doubt_of_try(number) / doubt_of_try(1), 3) for number in (1, 2, 3)]
    [1.0, 0.5, 0.25]
    """
    return _DOUBT * 0.5**number


def tightened(caps: Caps, doubt: float, *, surest: float) -> Caps:
    """The caps with the doubt that their posterior leaves widened by a factor, and never a looser one.

    Below one half there is no further to go, nor, where the cap is strict, below what is believed without a release.

    >>> [tightened(Caps(posterior=cap), 1.5, surest=0.0).posterior for cap in (0.75, 0.4)]
    [0.625, 0.4]
    """
    cap = 1.0 if caps.posterior is None else caps.posterior
    posterior = max(1 - doubt * max(1 - cap, 0.02), 0.5, surest if caps.strict else 0.0)
    return replace(caps, posterior=min(cap, posterior))


def _why_certain(problem: CappedProblem, priors: Sequence[Floats], codes: Ints) -> str:
    """That records which are nearly certain without a release are what stands in the way, where they are."""
    if not problem.law.nearly_sure:
        return ""
    if solve_or_none(replace(problem, law=problem.law.estimate, caps=Caps())) is not None:
        return ""
    believed = [prior[np.arange(len(codes)), codes] for prior in priors]
    share = max(float(((chance >= _NEARLY) & (chance < CERTAIN)).mean()) for chance in believed)
    return (
        f". Without any release an adversary believes the value of {100 * share:.1f} % of the records with {_NEARLY:g} "
        f"to {CERTAIN:g}: whatever keeps that distortion makes more than {100 * CERTAIN_CAP:g} % of the records "
        "certain for it"
    )


def _refuse_impossible(column: str, problem: CappedProblem) -> None:
    """Refuse a cap on posteriors that an adversary is beyond without a release, and say the lowest that can hold."""
    caps, surest = problem.caps, problem.law.surest
    if caps.strict and caps.posterior is not None and caps.posterior < surest:
        raise SanitizerError(
            f"no release keeps posteriors of column '{column}' at most {caps.posterior:g}: an adversary believes a "
            f"value with {surest:.4g} without any release; the lowest cap on posteriors that can hold is "
            f"{math.ceil(1e4 * surest) / 1e4:g}"
        )


def _proof(
    problem: CappedProblem,
    column: SymbolColumn,
    evaluator: Evaluator,
    cells: Sequence[Cells],
    optimum: CappedOptimum,
    doubt: float,
) -> Proof:
    """What holds for a release under the caps as they were asked for, within the distortions that it was found for."""
    split = evaluator.split
    rows, caps = split.measured, problem.caps
    kept_share, local_dp = law_free_figures(optimum.release)
    if caps.local_dp is not None and (local_dp is None or local_dp > caps.local_dp + 10 * _ROUNDING):
        raise VerificationError(
            f"no release of column '{split.column}' was found that keeps local differential privacy of ε = "
            f"{caps.local_dp:g} exactly; nothing is written: ask for another ε, or another cap"
        )
    posterior, leakage, open_share = figures_over_set(problem.law, optimum.release, caps)
    under_law, _, exempt_share = figures_over_set(problem.law.estimate, optimum.release, caps)
    holds = (caps.posterior is None or posterior <= caps.posterior + _ROUNDING) and (
        caps.leakage is None or (leakage is not None and leakage <= caps.leakage + _ROUNDING)
    )  # local differential privacy needs no law
    most = min(problem.silent_losses)  # nobody errs by more than without a release
    if optimum.worst < most:
        most = max(most_any_release_leaves(problem), optimum.worst)  # it may be beyond the caps by rounding
    codes = column.codes[rows]
    empirical = []
    for cell, side in zip(cells[split.groups :], split.adversary_sides, strict=True):
        coded = cell.of(side[rows])
        if column.category:
            table = np.zeros((column.size, cell.count))
            np.add.at(table, (codes, coded), 1.0 / len(codes))
            empirical.append(released_loss(table, optimum.release, column.cost))
        else:
            empirical.append(_squared_loss(evaluator.truth[rows], codes, coded, optimum.release))
    return Proof(
        caps=caps,
        holds_for_set=holds,
        confidence=CONFIDENCE,
        rows_of_set=problem.law.rows,
        rows_of_losses=len(codes),
        loss_under_law=optimum.worst,
        most_any_release_leaves=most,
        kept_share=kept_share,
        posterior=posterior,
        leakage=leakage,
        local_dp=local_dp,
        open_share=open_share,
        posterior_under_law=under_law,
        exempt_share=exempt_share,
        adversaries=adversary_proofs(
            optimum.adversary_losses,
            empirical,
            cells=[(cell.count, cell.exact) for cell in cells[split.groups :]],
            largest=column.largest_cost,
            rows=len(codes),
            doubt=doubt,
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

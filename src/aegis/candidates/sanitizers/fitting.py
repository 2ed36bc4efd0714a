"""Finding a mechanism for one column of a table, or for several, and measuring what it protects before it is written.

The mechanism sees the private column alone, so a saved one needs no side information. A number without caps gets a
mixture of plain releases that was tried on the table (`number_column`); a category, and a number under caps, the
program under caps (`capped_column`). In every case the audit has the last word: the reconstructor that the authorised
party will hold must meet the distortion on rows of its own, and among the attackers is always the one that knows the
mechanism, the exact posterior on the column's own values.

Several columns, each told to the authorised party, each hidden from the adversaries, are fitted one after the other,
and the parties of each see the releases before it. Then every column is audited once more with all releases in sight:
what is reported is the smaller loss, the larger certainty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS, PartyAudit
from aegis.candidates.sanitizers.audited_column import Fitted, refuse_certain
from aegis.candidates.sanitizers.capped_column import fit_bins, fit_category
from aegis.candidates.sanitizers.caps import DEFAULT_POSTERIOR, Caps
from aegis.candidates.sanitizers.encoding import Columns, Encoder, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator, Split, Training
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, as_side, numbers, release_matrix, true_values
from aegis.candidates.sanitizers.number_column import Family, fit_number
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.errors import SanitizerError
from aegis.progress import Progress

FEW_CATEGORIES = 12  # whole numbers with no more values are categories
MOST_CATEGORIES = 60
_ROWS_A_CATEGORY = 25


def fit(
    private: NDArray[Any],
    *,
    column: str,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortion: float,
    also: Sequence[tuple[Columns, float]] = (),
    family: Family = "capped",
    caps: Caps | None = None,
    cost: Floats | None = None,
    log: bool = False,
    parts: Sequence[str] = (),
    training: Training | None = None,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
    quick: bool = False,
) -> Fitted:
    """Find, audit and return a mechanism for one private column.

    ``distortion`` is the mean squared error (number) or share of wrong guesses (category) that the authorised party
    may have, or with ``log`` the bits that it may lack of a category (its logarithmic loss); above what it has without
    any release, nothing is released. ``also`` are further authorised groups, what each knows and the error it may have.
    ``caps`` bound what any symbol may tell, of a category's values or of a number's bins; without them a category has a
    cap on posteriors of 0.98, and a number is released in its own unit: ``family`` ``capped`` exposes no more records
    than noise of the same measured distortion does, ``noise`` is that noise. ``cost[value, guess]`` replaces the share
    of wrong guesses of a category, its values in their order; ``parts`` names the columns whose tuples they are. With
    ``training`` networks learn from the rows as well, and are used where they beat the program under the same caps.
    ``names`` are the fresh attackers of the audit: all that are installed unless given. ``quick`` takes lines for
    networks.
    """
    groups = [authorized, *(columns for columns, _ in also)]
    distortions = (distortion, *(allowed for _, allowed in also))
    for allowed in distortions:
        check_distortion(allowed)
    if family not in ("capped", "noise"):
        raise SanitizerError("on a table the family is 'capped' or 'noise': others would show values as they are")
    kind = _checked(private, column, groups, adversaries)
    names = attackers.available() if names is None else tuple(names)
    rows = len(private)
    order = rng.permutation(rows)
    encoders = [Encoder.fit(side, party="authorised party's") for side in groups]
    encoders += [Encoder.fit(side, party=f"adversary {n}'s") for n, side in enumerate(adversaries, start=1)]
    sides = [
        encoder.matrix(side, rows=rows)[order] for encoder, side in zip(encoders, (*groups, *adversaries), strict=True)
    ]
    split = Split(column=column, sides=sides, names=names, rng=rng, quick=quick, distortions=distortions)
    if kind == "category":
        if log and cost is not None:
            raise SanitizerError(f"column '{column}' is judged by the logarithmic loss or by given costs, not by both")
        split = replace(
            split, cost=_checked_cost(private, cost, column), log=log, parts=tuple(parts), training=training
        )
        return fit_category(private.astype(str)[order], split, encoders, caps or Caps(posterior=DEFAULT_POSTERIOR))
    if cost is not None:
        raise SanitizerError(f"column '{column}' is a number: its cost is the squared error")
    if log:
        raise SanitizerError(
            f"column '{column}' is a number: its error is the squared one. The logarithmic loss is for categories: put "
            "the number into ranges first, or release it with other columns as one tuple (jointly)"
        )
    x = numbers(private, column)[order]
    if caps:
        split = replace(split, training=training)
    elif also:
        raise SanitizerError(
            f"column '{column}' is a number: for several authorised groups name a cap (posterior, leakage or local "
            "differential privacy), and it is released by bins"
        )
    elif training is not None:
        raise SanitizerError(f"column '{column}' is a number: name a cap to release it by bins, which training can do")
    return fit_bins(x, split, encoders, caps) if caps else fit_number(x, split, encoders, family)


def _checked_cost(private: NDArray[Any], cost: Floats | None, column: str) -> Floats | None:
    size = np.unique(private.astype(str)).size
    if cost is not None and cost.shape != (size, size):
        raise SanitizerError(f"column '{column}' has {size} values; its cost needs as many rows and columns")
    return cost


def _checked(private: NDArray[Any], column: str, groups: Sequence[Columns], adversaries: Sequence[Columns]) -> str:
    if private.ndim != 1 or len(private) < MINIMUM_ROWS:
        raise SanitizerError(
            f"fitting and auditing a sanitizer needs at least {MINIMUM_ROWS} rows in column '{column}'"
        )
    if not all(groups):
        raise SanitizerError("the authorised party needs at least one column of side information")
    if not adversaries or not all(adversaries):
        raise SanitizerError("name at least one adversary, and at least one column for each")
    refuse_missing(private, name=column)
    distinct = np.unique(private.astype(str)).size
    if distinct < 2:
        raise SanitizerError(f"column '{column}' is constant; there is nothing to protect")
    for side in (*groups, *adversaries):
        if column in side:
            raise SanitizerError(f"column '{column}' is private and cannot be side information")
        for name, values in side.items():
            refuse_missing(values, name=name)
        refuse_copies(private, side, name=column)
    numeric = private.dtype.kind in "iuf"
    # measurements may differ in every row; whole numbers without a gap are row numbers
    counted = numeric and np.ptp(private) == len(private) - 1
    if numeric and distinct > 2 * FEW_CATEGORIES and not (counted and distinct == len(private)):
        return "number"
    if distinct == len(private):
        raise SanitizerError(f"column '{column}' is unique in every row; a sanitizer cannot learn from an identifier")
    if numeric and distinct > FEW_CATEGORIES:
        return "number"
    most = min(MOST_CATEGORIES, max(FEW_CATEGORIES, len(private) // _ROWS_A_CATEGORY))
    if distinct > most:
        raise SanitizerError(
            f"column '{column}' has {distinct} categories; group them into at most {most} before sanitizing"
        )
    return "category"


def fit_together(
    private: Columns,
    *,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortions: Mapping[str, float],
    also: Sequence[tuple[Columns, Mapping[str, float]]] = (),
    family: Family = "capped",
    caps: Caps | None = None,
    costs: Mapping[str, Floats] | None = None,
    log: bool = False,
    parts: Mapping[str, Sequence[str]] | None = None,
    training: Training | None = None,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
    progress: Progress | None = None,
    quick: bool = False,
) -> tuple[Fitted, ...]:
    """A mechanism for each private column, audited against parties that see every release.

    ``distortions`` holds what the authorised party may have for each column; with all releases in sight it has at most
    that. ``also`` are further authorised groups, what each knows and what it may have for each column. ``costs`` and
    ``parts`` are those of columns that are tuples, ``log`` counts errors on categories in bits (logarithmic
    loss). A single column is simply fitted.
    """
    if not private:
        raise SanitizerError("name at least one private column")
    groups = [authorized, *(columns for columns, _ in also)]
    for column in private:
        if any(column in side for side in (*groups, *adversaries)):
            raise SanitizerError(f"column '{column}' is private and cannot be side information")
    for number, side in enumerate(adversaries, start=1):
        if any(group and set(group) <= set(side) for group in groups):
            raise SanitizerError(
                f"adversary {number} knows every column of the authorised party: whatever one can tell from the "
                "release, so can the other; give the authorised party a column of its own"
            )
    fits: list[Fitted] = []
    seen: dict[str, NDArray[Any]] = {}
    steps = len(private) + (len(private) > 1)
    for number, (column, values) in enumerate(private.items()):
        if progress is not None:
            progress(number, steps, f"fitting {column}")
        fitted = fit(
            values,
            column=column,
            authorized={**authorized, **seen},
            adversaries=[{**side, **seen} for side in adversaries],
            distortion=distortions[column],
            also=[({**columns, **seen}, allowed[column]) for columns, allowed in also],
            family=family,
            caps=caps,
            cost=(costs or {}).get(column),
            log=log,
            parts=(parts or {}).get(column, ()),
            training=training,
            names=names,
            rng=rng,
            quick=quick,
        )
        fits.append(fitted)
        seen |= as_side(fitted.mechanism.apply(values, rng=rng))
    if len(fits) == 1:
        return tuple(fits)
    if progress is not None:
        progress(steps - 1, steps, "auditing together")
    return audited_together(fits, private, parties=(*groups, *adversaries), names=names, rng=rng, quick=quick)


def audited_together(
    fitted: Sequence[Fitted],
    private: Columns,
    *,
    parties: Sequence[Columns],
    names: Sequence[str] | None,
    rng: np.random.Generator,
    quick: bool = False,
) -> tuple[Fitted, ...]:
    """Mechanisms of several columns before ``parties`` (authorised groups first) that see every release.

    Raises where all releases together determine more records of a column than the cap allows.
    """
    releases = {f.mechanism.column: f.mechanism.apply(private[f.mechanism.column], rng=rng) for f in fitted}
    return tuple(_audited(f, private, releases, parties, names, rng, quick=quick) for f in fitted)


def _audited(
    fitted: Fitted,
    private: Columns,
    releases: Mapping[str, Columns],
    parties: Sequence[Columns],
    names: Sequence[str] | None,
    rng: np.random.Generator,
    *,
    quick: bool,
) -> Fitted:
    """The same mechanism before parties that see the releases of the other columns too."""
    column, mechanism = fitted.mechanism.column, fitted.mechanism
    values = private[column]
    others = {
        name: part
        for other, released in releases.items()
        if other != column
        for name, part in as_side(released).items()
    }
    order = rng.permutation(len(values))
    seeing = [{**side, **others} for side in parties]
    sides = [Encoder.fit(side, party="a").matrix(side, rows=len(values))[order] for side in seeing]
    split = Split(
        column=column,
        sides=sides,
        names=attackers.available() if names is None else tuple(names),
        rng=rng,
        quick=quick,
        distortions=tuple(group.distortion for group in fitted.groups),
        log=fitted.loss == "log",
    )
    truth = true_values(mechanism, values)[order]
    codes = None
    if isinstance(mechanism, CategoryMechanism):
        codes = truth.astype(np.int64)
        evaluator = Evaluator.of_category(split, codes, size=len(mechanism.values))
    else:
        evaluator = Evaluator.of_number(split, truth)
    drawn = Drawn(mechanism, release_matrix(mechanism, releases[column])[order])
    protection = tuple(
        replace(by_itself, after=_worse(now, by_itself.after))
        for now, by_itself in zip(evaluator.certainties(drawn), fitted.protection, strict=True)
    )
    refuse_certain(
        column,
        [party.before for party in protection],
        [party.after for party in protection],
        codes=None if codes is None else codes[split.measured],
    )
    report = evaluator.audited(drawn)
    alone = fitted.audit
    report = replace(
        report,
        distortion=_better(report.distortion, alone.distortion),
        adversaries=tuple(map(_better, report.adversaries, alone.adversaries)),
        exposure=replace(
            max(report.exposure, alone.exposure, key=lambda exposure: exposure.pinned_share),
            reference_pinned_share=alone.exposure.reference_pinned_share,
        ),
    )
    return replace(fitted, audit=report, protection=protection, method=f"{fitted.method}, together")


def _better(first: PartyAudit, other: PartyAudit) -> PartyAudit:
    return min(first, other, key=lambda party: party.loss)


def _worse(first: Certainty, other: Certainty) -> Certainty:
    """The more that either of two says of single records."""
    return Certainty(
        certain=max(first.certain, other.certain),
        by_value=tuple(max(pair) for pair in zip(first.by_value, other.by_value, strict=True)),
        epsilons=first.epsilons,
        pinned=tuple(max(pair) for pair in zip(first.pinned, other.pinned, strict=True)),
        loss=min(first.loss, other.loss),
    )

"""Finding a mechanism for a column of a table, and measuring what it protects before anything is written.

The mechanism sees the private column alone, so a saved one needs no side information. A number without caps gets a
mixture of plain releases that was tried on the table (`number_column`); a category, and a number under caps, the
program under caps (`capped_column`). In every case the audit has the last word: the reconstructor that the authorised
party will hold must meet the distortion on rows of its own, and among the attackers is always the one that knows the
mechanism, the exact posterior on the column's own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS
from aegis.candidates.sanitizers.audited_column import Fitted
from aegis.candidates.sanitizers.capped_column import fit_bins, fit_category
from aegis.candidates.sanitizers.caps import DEFAULT_POSTERIOR, Caps
from aegis.candidates.sanitizers.encoding import Encoder, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import numbers
from aegis.candidates.sanitizers.number_column import Family, fit_number
from aegis.candidates.sanitizers.split import Split, Training
from aegis.errors import SanitizerError

Columns = Mapping[str, NDArray[Any]]
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

"""Candidates that a sanitizer makes: private columns replaced by releases, at several distortions.

They are found and audited as ``aegis sanitize`` does it, on a sample and with lines in place of networks: the exact
posterior of an adversary that knows the mechanism is among the attackers, caps hold, and a release whose reconstructor
misses its distortion is no candidate. Several columns are audited once more with all releases in sight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import fit_linear
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS
from aegis.candidates.sanitizers.audited_column import Fitted
from aegis.candidates.sanitizers.encoding import Columns, encode_side, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.fitting import audited_together, fit
from aegis.candidates.sanitizers.mechanism import Mechanism
from aegis.errors import GuaranteeError, SanitizerError

SHARES = (0.1, 0.4, 0.8)
"""Distortions, as shares of what the authorised party has when nothing is released."""

MOST_CHOSEN = 2
"""Columns that are taken where none is named as sensitive."""

MOST_ROWS = 10_000
"""A mechanism sees its column alone, so a sample of this many rows is enough to find it."""

_CATEGORIES = 12
_RAREST = 20  # rows of the sample that hold a category: with fewer its share is a guess


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitizers:
    """For each share of the distortion one mechanism for each private column; ``notes`` say what could not be done."""

    private: tuple[str, ...]
    adversary: tuple[str, ...]
    authorized: tuple[str, ...]
    by_share: Mapping[float, tuple[Mechanism, ...]] = field(repr=False)  # holds the categories of columns
    fitted: Mapping[float, tuple[Fitted, ...]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()


def find_sanitizers(
    columns: Columns,
    *,
    private: Sequence[str],
    adversary: Sequence[str],
    shares: Sequence[float] = SHARES,
    seed: int = 0,
) -> Sanitizers:
    """Mechanisms for the ``private`` columns, found each for itself, audited with all of them in one table.

    An adversary knows the columns ``adversary``, the authorised party every column that is not private; a column that
    misses values, or that tells a private one, is nobody's side information.
    """
    rows = len(next(iter(columns.values())))
    if rows < MINIMUM_ROWS:
        return _none(f"nothing is sanitized: a sanitizer is found on {MINIMUM_ROWS} rows or more")
    sample = {name: values[_sample(rows, seed)] for name, values in columns.items()}
    reasons = {name: _why_not(columns[name], sample[name]) for name in private}
    notes = [f"{name} is not sanitized: {reason}" for name, reason in reasons.items() if reason]
    hidden = [name for name, reason in reasons.items() if reason is None]
    side = {
        name: values
        for name, values in sample.items()
        if name not in private
        and not _misses(columns[name])
        and not any(_tells(sample[secret], values) for secret in hidden)
    }
    adversary_side = {name: side[name] for name in adversary if name in side} or side
    results: dict[float, list[Fitted]] = {share: [] for share in shares}
    for name in hidden:
        try:
            fitted = _fitted(sample[name], name, side, adversary_side, shares, seed)
        except (SanitizerError, GuaranteeError) as error:
            notes.append(f"{name} is not sanitized: {error}")
            continue
        for share, result in fitted.items():
            if isinstance(result, str):
                notes.append(f"{name} is not sanitized at {100 * share:.0f} %: {result}")
            else:
                results[share].append(result)
    private_there = [[fit.mechanism.column for fit in fits] for fits in results.values()]
    everywhere = max(private_there, key=len, default=[])
    complete = {share: tuple(made) for share, made in results.items() if made and len(made) == len(everywhere)}
    if len(everywhere) > 1:
        complete = _seen_together(complete, sample, (side, adversary_side), notes, seed)
    if not complete:
        return _none(*(notes or ["nothing is sanitized: no column can be"]))
    return Sanitizers(
        private=tuple(everywhere),
        adversary=tuple(adversary_side),
        authorized=tuple(side),
        by_share={share: tuple(fit.mechanism for fit in made) for share, made in complete.items()},
        fitted=complete,
        notes=tuple(notes),
    )


def _seen_together(
    kept: Mapping[float, tuple[Fitted, ...]],
    sample: Columns,
    parties: tuple[Columns, Columns],
    notes: list[str],
    seed: int,
) -> dict[float, tuple[Fitted, ...]]:
    """The shares at which no column is told by what all releases say together; ``notes`` say of the others why not."""
    safe: dict[float, tuple[Fitted, ...]] = {}
    for place, (share, fits) in enumerate(kept.items()):
        private = {fitted.mechanism.column: _private(sample[fitted.mechanism.column]) for fitted in fits}
        rng = np.random.default_rng([seed, place, 1])
        try:
            safe[share] = audited_together(fits, private, parties=parties, names=(), rng=rng, quick=True)
        except (SanitizerError, GuaranteeError) as error:
            notes.append(f"nothing is sanitized at {100 * share:.0f} %: with all releases in sight, {error}")
    return safe


def choose_private(columns: Columns, order: Sequence[str], *, seed: int = 0) -> list[str]:
    """The first columns of ``order`` that can be sanitized, as many as are taken."""
    chosen = _sample(len(next(iter(columns.values()))), seed)
    return [name for name in order if _why_not(columns[name], columns[name][chosen]) is None][:MOST_CHOSEN]


def _fitted(
    values: NDArray[Any], name: str, side: Columns, adversary_side: Columns, shares: Sequence[float], seed: int
) -> dict[float, Fitted | str]:
    """One audited mechanism for each share of the error that the authorised party has without a release, or why not."""
    private = _private(values)
    left = _left(private, side, number=_is_number(values))
    by_share: dict[float, Fitted | str] = {}
    for place, share in enumerate(shares):
        try:
            by_share[share] = fit(
                private,
                column=name,
                authorized=side,
                adversaries=[adversary_side],
                distortion=share * left,
                names=(),
                rng=np.random.default_rng([seed, place]),
                quick=True,
            )
        except (SanitizerError, GuaranteeError) as error:
            by_share[share] = str(error)
    return by_share


def _private(values: NDArray[Any]) -> NDArray[Any]:
    """A column as a mechanism sees it: numbers, or the texts of categories."""
    return values.astype(np.float64) if _is_number(values) else values.astype(str)


def _left(private: NDArray[Any], side: Columns, *, number: bool) -> float:
    """The error of a line through the other half of the rows: squared for a number, wrong guesses for a category."""
    matrix = encode_side(side, rows=len(private), party="side")
    if number:
        left = float(((private - _foretold(matrix, private)) ** 2).mean())
        if left < 1e-6 * private.var():
            raise SanitizerError("the other columns determine it")
        return min(left, float(private.var()))
    codes = np.unique(private, return_inverse=True)[1]
    guesses = _foretold(matrix, np.eye(int(codes.max()) + 1)[codes]).argmax(axis=1)
    wrong = float((guesses != codes).mean())
    if wrong == 0:
        raise SanitizerError("the other columns determine it")
    return wrong


def _foretold(side: Floats, x: Floats) -> Floats:
    """``x``, or each of its columns, guessed from side information by a line through the other half of the rows."""
    guesses = np.empty_like(x)
    even = np.arange(len(x)) % 2 == 0
    for chosen in (even, ~even):
        guesses[~chosen] = fit_linear(side[chosen], x[chosen])(side[~chosen])
    return guesses


def _why_not(column: NDArray[Any], sample: NDArray[Any]) -> str | None:
    """Why a column cannot be sanitized, or None; ``sample`` are the rows that a mechanism is found on."""
    if _misses(column):
        return "it misses values"
    distinct = np.unique(column.astype(str)).size
    if distinct < 2:
        return "it is constant"
    if _is_number(sample):
        return None
    if distinct > _CATEGORIES and column.dtype.kind not in "iuf":
        return f"it has {distinct} categories, and {_CATEGORIES} are the most"
    sizes = np.unique(sample.astype(str), return_counts=True)[1]
    if sizes.size < distinct or sizes.min() < _RAREST:
        return f"a value of it is held by fewer than {_RAREST} of the {len(sample):,} rows looked at"
    return None


def _is_number(values: NDArray[Any]) -> bool:
    """Whether its distances mean something: numbers that take more values than a category may."""
    return values.dtype.kind in "iuf" and np.unique(values).size > _CATEGORIES


def _sample(rows: int, seed: int) -> Ints:
    """Some rows in an order of their own: what lies side by side in a table is often alike."""
    return np.random.default_rng(seed).permutation(rows)[:MOST_ROWS]


def _misses(values: NDArray[Any]) -> bool:
    try:
        refuse_missing(values, name="it")
    except SanitizerError:
        return True
    return False


def _tells(private: NDArray[Any], values: NDArray[Any]) -> bool:
    try:
        refuse_copies(private, {"other": values}, name="it")
    except SanitizerError:
        return True
    return False


def _none(*notes: str) -> Sanitizers:
    return Sanitizers(private=(), adversary=(), authorized=(), by_share={}, notes=notes)

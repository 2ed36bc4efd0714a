"""Candidates that a sanitizer makes: private columns replaced by releases, at several distortions.

Closed forms only: the best mixture of plain releases for a number, under the cap on exposure that is the default of
``aegis sanitize``, and the exact finite program for a category. What side information tells is estimated by lines, on
rows that the line was not fitted on. Nothing is tuned or attacked here: an evaluation asks what a release is good for,
and how well it protects is what ``aegis sanitize`` audits before it writes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.attackers import fit_linear
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS
from aegis.candidates.sanitizers.encoding import encode_side, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.finite import finite_problem
from aegis.candidates.sanitizers.finite_program import optimum
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism, NumberMechanism
from aegis.candidates.sanitizers.mixtures import best_mixture, library, plain_noise
from aegis.errors import GuaranteeError, SanitizerError

Columns = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]

SHARES = (0.1, 0.4, 0.8)
"""Distortions, as shares of what the authorised party has when nothing is released."""

MOST_CHOSEN = 2
"""Columns that are taken where none is named as sensitive."""

MOST_ROWS = 10_000
"""A mechanism sees its column alone, so a sample of this many rows is enough to find it."""

_CATEGORIES = 12
_RAREST = 20  # rows of the sample that hold a category: with fewer its share is a guess
_RULES = 150  # channels are estimates: more rules cost seconds and buy nothing
_EPSILON_SHARE = 0.1  # of a standard deviation: within it a record counts as pinned


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitizers:
    """For each share of the distortion one mechanism for each private column; ``notes`` say what could not be done."""

    private: tuple[str, ...]
    adversary: tuple[str, ...]
    authorized: tuple[str, ...]
    by_share: Mapping[float, tuple[Mechanism, ...]] = field(repr=False)  # holds the categories of columns
    notes: tuple[str, ...] = ()


def find_sanitizers(
    columns: Columns,
    *,
    private: Sequence[str],
    adversary: Sequence[str],
    shares: Sequence[float] = SHARES,
    seed: int = 0,
) -> Sanitizers:
    """Mechanisms for the ``private`` columns, each for itself, all released in one table.

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
        if name not in private and not _misses(columns[name]) and not any(_tells(sample[one], values) for one in hidden)
    }
    known = {name: side[name] for name in adversary if name in side} or side
    found: dict[str, list[Mechanism]] = {}
    for name in hidden:
        try:
            found[name] = _mechanisms(sample[name], name, [side, known], shares)
        except (SanitizerError, GuaranteeError) as error:
            notes.append(f"{name} is not sanitized: {error}")
    if not found:
        return _none(*(notes or ["nothing is sanitized: no column can be"]))
    return Sanitizers(
        private=tuple(found),
        adversary=tuple(known),
        authorized=tuple(side),
        by_share=dict(zip(shares, zip(*found.values(), strict=True), strict=True)),
        notes=tuple(notes),
    )


def choose_private(columns: Columns, order: Sequence[str], *, seed: int = 0) -> list[str]:
    """The first columns of ``order`` that can be sanitized, as many as are taken."""
    chosen = _sample(len(next(iter(columns.values()))), seed)
    return [name for name in order if _why_not(columns[name], columns[name][chosen]) is None][:MOST_CHOSEN]


def _mechanisms(
    values: NDArray[Any], name: str, parties: Sequence[Columns], shares: Sequence[float]
) -> list[Mechanism]:
    """One mechanism for each share of the distortion that the first party has without a release."""
    rows = len(values)
    sides = [encode_side(party, rows=rows, party="side") for party in parties]
    if _is_number(values):
        return _of_a_number(values.astype(np.float64), name, sides, shares)
    return _of_a_category(values.astype(str), name, sides, shares)


def _of_a_number(x: Floats, name: str, sides: Sequence[Floats], shares: Sequence[float]) -> list[Mechanism]:
    left = [min(float(((x - _foretold(side, x)) ** 2).mean()), float(x.var())) for side in sides]
    if min(left) < 1e-6 * x.var():
        raise SanitizerError("the other columns determine it")
    shelf = library(
        authorized_variance=left[0],
        adversary_variances=left[1:],
        epsilon=_EPSILON_SHARE * float(x.std()),
        periods=28,
        blurs=14,
    )
    caps = [plain_noise(shelf, distortion=share * left[0]).pinned_shares for share in shares]
    return [
        NumberMechanism(column=name, mixture=best_mixture(shelf, distortion=share * left[0], caps=cap).mixture)
        for share, cap in zip(shares, caps, strict=True)
    ]


def _of_a_category(x: NDArray[Any], name: str, sides: Sequence[Floats], shares: Sequence[float]) -> list[Mechanism]:
    values, codes = np.unique(x, return_inverse=True)
    size = len(values)
    channels = []
    for side in sides:
        cells = _foretold(side, np.eye(size)[codes]).argmax(axis=1)
        counts = np.full((size, size), 0.5 / size)  # what no row shows may still happen
        np.add.at(counts, (codes, cells), 1.0)
        channels.append(counts / counts.sum(axis=1, keepdims=True))
    prior = np.bincount(codes) / len(codes)
    problem = finite_problem(prior=prior, authorized=channels[0], adversaries=channels[1:])
    return [
        CategoryMechanism(
            column=name,
            values=tuple(str(value) for value in values),
            release=optimum(problem, distortion=share * problem.max_distortion, most_rules=_RULES).release,
        )
        for share in shares
    ]


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
    held = np.unique(sample.astype(str), return_counts=True)[1]
    if held.size < distinct or held.min() < _RAREST:
        return f"a value of it is held by fewer than {_RAREST} of the {len(sample):,} rows looked at"
    return None


def _is_number(values: NDArray[Any]) -> bool:
    """Whether its distances mean something: numbers that take more values than a category may."""
    return values.dtype.kind in "iuf" and np.unique(values).size > _CATEGORIES


def _sample(rows: int, seed: int) -> NDArray[np.int64]:
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

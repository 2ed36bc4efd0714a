"""The audit: fresh attackers decide which numbers are reported.

Every attacker is fitted on rows of its own and measured on others. On a table the smallest loss of any of them is
reported, with its confidence interval: no attacker that ran did better, and choosing among them errs on the side of the
adversary. Where the law is known all are compared on a second set of rows, and the exact attack, whose loss is
computed, is the one to beat. The authorised party is measured in the same way. A privatizer whose audit contradicts its
training is rejected.

Exposure is how many records an adversary pins down, which the mean of its error hides. The *mean* adversary minimises
squared error: its error quantiles are reported. The *pinning* adversary puts a window of half-width ε where the
posterior is heaviest and so catches the largest possible share of records: that share is what caps are put on. For a
two-point posterior the mean adversary sits between the points and catches nothing, so only the pinning share is an
honest promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import Kind, View
from aegis.errors import SanitizerError, VerificationError
from aegis.result import plain

QUANTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
Z_95 = 1.959964
MINIMUM_ROWS = 300
_LOSS_TOLERANCE, _DISTORTION_TOLERANCE = 0.05, 0.02  # by which an audit may fall short of what was claimed
TREE_ROWS = 25_000  # beyond this the trees gain little and the audit slows down
UNAIDED = "side alone"
"""The attacker that does not look at the release: no adversary need err more than without it."""
SLOW_ROWS = 200_000  # rows on which attackers other than the exact one are measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What the most successful adversary can say about single records.

    ``pinned_share`` is the share of records it places within ``epsilon`` (for categories: names correctly, where the
    law is known with a posterior of at least 1 − ``epsilon``). ``error_quantiles`` are those of the mean adversary's
    absolute error. ``reference_pinned_share`` is the share that plain noise of the same distortion pins.
    """

    epsilon: float
    pinned_share: float
    reference_pinned_share: float | None = None
    error_quantiles: Mapping[float, float]

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise SanitizerError("epsilon of the exposure must be positive")


def exposure_of(errors: Floats, *, epsilon: float, pinned_share: float | None = None) -> Exposure:
    """The exposure seen in a sample of an adversary's errors; a pinned share that is known better replaces theirs.

    >>> round(exposure_of(np.array([0.0, 1.0, 2.0, 3.0]), epsilon=0.5).pinned_share, 2)
    0.25
    """
    if errors.size == 0:
        raise SanitizerError("there are no records to measure exposure on")
    magnitudes = np.abs(errors)
    share = float((magnitudes <= epsilon).mean())
    quantiles = np.quantile(magnitudes, QUANTILE_LEVELS)
    return Exposure(
        epsilon=epsilon,
        pinned_share=share if pinned_share is None else pinned_share,
        error_quantiles=dict(zip(QUANTILE_LEVELS, (float(q) for q in quantiles), strict=True)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Rows for one party: what it sees and, where the law is known, the exact attack and (if computable) its loss.

    ``unaided`` is the attack that does not look at the release, where one is to be compared.
    """

    view: View
    exact: Callable[[View], Floats] | None = None
    exact_loss: float | None = None
    unaided: Callable[[View], Floats] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyAudit:
    """The smallest loss any attacker reached for one party.

    ``loss`` is the computed loss of the exact attack where that is an integral or a sum, and then ``drawn_loss`` is
    what the same attack had on the fresh rows, and ``by_attacker`` what each had on rows for comparing; otherwise all
    were measured on the same rows, and ``loss`` is the smallest of ``by_attacker``.
    """

    loss: float
    drawn_loss: float
    interval: tuple[float, float]
    attacker: str
    by_attacker: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What the audit found: distortion of the authorised party, loss of each adversary, exposure of records."""

    distortion: PartyAudit
    adversaries: tuple[PartyAudit, ...]
    exposure: Exposure
    rows: int
    seconds: float

    @property
    def strongest(self) -> PartyAudit:
        """The adversary with the smallest loss."""
        return min(self.adversaries, key=lambda party: party.loss)

    @property
    def worst(self) -> float:
        """The loss of the adversary that does best."""
        return self.strongest.loss

    def to_json(self) -> dict[str, Any]:
        """Plain numbers for a report."""
        return {
            "distortion": plain(self.distortion),
            "adversaries": plain(self.adversaries),
            "worst": self.worst,
            "exposure": plain(self.exposure),
            "rows": self.rows,
            "seconds": self.seconds,
        }


def audit(
    truth: Floats,
    authorized: Evidence,
    adversaries: Sequence[Evidence],
    *,
    kind: Kind = "number",
    epsilon: float,
    names: Sequence[str] | None = None,
    fit_rows: int | None = None,
    compare_rows: int | None = None,
    pinned_share: float | None = None,
    cost: Floats | None = None,
    stated_values: int | None = None,
    seed: int = 0,
) -> AuditReport:
    """Attack a release on rows that nothing was trained on.

    ``pinned_share`` is an exactly known share of pinned records where there is one; it replaces the estimate.
    ``cost[value, guess]`` replaces the share of wrong guesses of a category. With ``stated_values`` every attacker, the
    exact one included, states how likely each of so many values is, and loses the logarithm of that, in bits.
    """
    if len(truth) < MINIMUM_ROWS:
        raise SanitizerError(f"an audit needs at least {MINIMUM_ROWS} rows; this table has {len(truth)}")
    began = time.perf_counter()
    names = attackers.available() if names is None else tuple(names)
    fitting = fit_rows or len(truth) // 2
    comparing = fitting + (compare_rows or (len(truth) - fitting) // 3)
    measured: list[tuple[PartyAudit, Floats]] = [
        _audit_party(truth, party, kind, names, fitting, comparing, seed, cost, stated_values)
        for party in (authorized, *adversaries)
    ]
    strongest = 1 + int(np.argmin([party.loss for party, _ in measured[1:]]))
    exposure = _exposure(
        truth, [party.view for party in adversaries], measured[strongest][1], kind, epsilon, fitting, pinned_share
    )
    return AuditReport(
        distortion=measured[0][0],
        adversaries=tuple(party for party, _ in measured[1:]),
        exposure=exposure,
        rows=len(truth) - comparing,
        seconds=time.perf_counter() - began,
    )


def verify(report: AuditReport, *, distortion: float, adversary_losses: Sequence[float]) -> None:
    """Reject a release whose audit contradicts what was claimed for it."""
    low = report.distortion.interval[0]
    if low > distortion * (1 + _DISTORTION_TOLERANCE):
        raise VerificationError(
            f"the audit rejects this privatizer: a fresh reconstructor has distortion {report.distortion.loss:.4g} "
            f"where {distortion:.4g} was claimed; train longer or allow more distortion"
        )
    for number, (party, claimed) in enumerate(zip(report.adversaries, adversary_losses, strict=True), start=1):
        if party.interval[1] < claimed * (1 - _LOSS_TOLERANCE):
            raise VerificationError(
                f"the audit rejects this privatizer: the attacker '{party.attacker}' brings adversary {number} down to "
                f"{party.loss:.4g} where training claimed {claimed:.4g}; train with more inner steps or another start"
            )


def _audit_party(
    truth: Floats,
    party: Evidence,
    kind: Kind,
    names: Sequence[str],
    fitting: int,
    comparing: int,
    seed: int,
    cost: Floats | None = None,
    stated_values: int | None = None,
) -> tuple[PartyAudit, Floats]:
    if stated_values is None:
        guesses = _fitted(truth[:fitting], party, kind, names, fitting, seed)
    else:
        guesses = _fitted_stating(truth[:fitting], party, names, stated_values, seed)
    known_law = party.exact_loss is not None
    rows = slice(fitting, comparing) if known_law else slice(comparing, comparing + SLOW_ROWS)
    view = party.view.rows(rows)
    seen = {name: _losses(truth[rows], guess(view), kind, cost) for name, guess in guesses.items()}
    compared = {name: float(losses.mean()) for name, losses in seen.items()}
    best = min(compared, key=lambda name: compared[name])
    if known_law and best != "exact":
        difference = seen["exact"] - seen[best]
        noise = float(difference.std(ddof=1)) / np.sqrt(difference.size)
        if difference.mean() > 5 * noise + 1e-12:
            raise VerificationError(
                f"the audit rejects this release: the attacker '{best}' beats the attack that was taken for exact"
            )
        best = "exact"
    end = None if known_law and stated_values is None else comparing + SLOW_ROWS
    answers = guesses[best](party.view.rows(slice(comparing, end)))
    losses = _losses(truth[comparing:end], answers, kind, cost)
    mean, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(losses.size))
    drawn = mean
    if party.exact_loss is not None:
        if kind == "category":
            # among few rows a rare error may not happen at all, and the rows then claim to have no noise
            error = max(error, float(np.sqrt(party.exact_loss * max(0.0, 1 - party.exact_loss) / losses.size)))
        # the computed figure carries no noise of its own; the draws check that it is what happens
        if abs(mean - party.exact_loss) > 5 * error + 1e-9:
            raise VerificationError(
                f"the audit rejects this release: its exact loss is {party.exact_loss:.4g}, but draws give {mean:.4g}"
            )
        mean = party.exact_loss
    result = PartyAudit(
        loss=mean,
        drawn_loss=drawn,
        interval=(max(0.0, mean - Z_95 * error), mean + Z_95 * error),
        attacker=best,
        by_attacker=compared,
    )
    return result, truth[comparing:end] - (answers if stated_values is None else answers.argmax(axis=1))


def _fitted_stating(
    x: Floats, party: Evidence, names: Sequence[str], values: int, seed: int
) -> dict[str, Callable[[View], Floats]]:
    """Attackers that state how likely each value is."""
    view = party.view.rows(slice(0, len(x)))
    features, codes = view.features(), x.astype(np.int64)
    attacks = _given(party)
    for name in names:
        most = TREE_ROWS if name == "trees" else None
        attacks[name] = _on_features(attackers.stating(name, features[:most], codes[:most], size=values, seed=seed))
    attacks["table"] = _on_features(attackers.fit_table_shares(view.release, view.side, codes, size=values))
    return attacks


def _fitted(
    x: Floats, party: Evidence, kind: Kind, names: Sequence[str], fitting: int, seed: int
) -> dict[str, Callable[[View], Floats]]:
    view = party.view.rows(slice(0, fitting))
    features = view.features()
    attacks = _given(party)
    fitters: dict[str, Callable[[], attackers.Guess]] = {
        "network": lambda: attackers.fit_network(features, x, kind, seed=seed),
        "trees": lambda: attackers.fit_trees(features[:TREE_ROWS], x[:TREE_ROWS], kind, seed=seed),
        "neighbours": lambda: attackers.fit_neighbours(features, x, kind),
    }
    if kind == "category":
        fitters["table"] = lambda: attackers.fit_table(view.release, view.side, x)
        names = (*names, "table")
    else:
        attacks["linear"] = _on_features(attackers.fit_linear(features, x))
        if view.side.shape[1] > 0:
            attacks["histogram"] = _histogram(view, x)
    for name in names:
        attacks[name] = _on_features(fitters[name]())
    return attacks


def _given(party: Evidence) -> dict[str, Callable[[View], Floats]]:
    """The attacks that need no fitting here."""
    attacks = {"exact": party.exact, UNAIDED: party.unaided}
    return {name: attack for name, attack in attacks.items() if attack is not None}


def _on_features(guess: attackers.Guess) -> Callable[[View], Floats]:
    return lambda seen: guess(seen.features())


def _histogram(view: View, x: Floats) -> Callable[[View], Floats]:
    """One referee for each component of the release; a component's value is its first column, its flags the rest."""
    score = attackers.linear_scores(view.side, x)
    side_scores = score(view.side)
    flags = _flag(view.release)
    tables = {
        int(flag): attackers.fit_histogram(view.release[flags == flag, 0], side_scores[flags == flag], x[flags == flag])
        for flag in np.unique(flags)
        if (flags == flag).sum() >= 50
    }

    def guess(seen: View) -> Floats:
        scores = score(seen.side)
        estimate = scores.copy()
        drawn = _flag(seen.release)
        for flag, table in tables.items():
            chosen = drawn == flag
            estimate[chosen] = table(seen.release[chosen, 0], scores[chosen])
        return estimate

    return guess


def _flag(release: Floats) -> Ints:
    if release.shape[1] == 1:
        return np.zeros(len(release), dtype=np.int64)
    return np.asarray(release[:, 1:].argmax(axis=1), dtype=np.int64)


def _losses(truth: Floats, guess: Floats, kind: Kind, cost: Floats | None) -> Floats:
    if guess.ndim == 2:
        return attackers.bits(guess, truth.astype(np.int64))
    if kind == "number":
        return np.asarray((truth - guess) ** 2)
    if cost is not None:
        return np.asarray(cost[truth.astype(np.int64), guess.astype(np.int64)])
    return np.asarray(truth != guess, dtype=np.float64)


def _exposure(
    truth: Floats,
    views: Sequence[View],
    errors: Floats,
    kind: Kind,
    epsilon: float,
    fitting: int,
    pinned_share: float | None,
) -> Exposure:
    if kind == "category":
        return exposure_of(np.asarray(errors != 0, dtype=np.float64), epsilon=epsilon)
    if pinned_share is None:
        used, tested = min(fitting, 30_000), min(len(truth) - fitting, 10_000)
        pinned_share = max(
            attackers.pinning_share(
                view.features()[:used],
                truth[:used],
                view.features()[fitting : fitting + tested],
                truth[fitting : fitting + tested],
                epsilon=epsilon,
            )
            for view in views
        )
        # the mean adversary may catch more than the neighbours do where the release is nearly exact
        pinned_share = max(pinned_share, float((np.abs(errors) <= epsilon).mean()))
    return exposure_of(errors, epsilon=epsilon, pinned_share=pinned_share)

"""A trade-off curve as a page: audited beside theory and baselines, exposure beside both, and what the releases do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aegis.report.charts.curves import Curve as Line
from aegis.report.charts.curves import curves
from aegis.report.figures import count, figure, percent, seconds
from aegis.report.page import Entry, Fact, entry, picture, render_page
from aegis.report.release_pictures import RECORDS, picture_of_mixture, picture_of_table

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.curve import Curve, CurvePoint

_BASELINES = {
    "modulo": "modulo, time-shared",
    "program": "best with this many symbols",
    "any_alphabet": "best with any number of symbols",
}


def render_curve(curve: Curve, *, source: str) -> str:
    """The page for a curve, as one self-contained HTML document."""
    gaussian = curve.kind == "gaussian"
    return render_page(
        "curve.html",
        title=f"Trade-off curve · {source} · Aegis",
        source=source,
        kind=curve.kind,
        gaussian=gaussian,
        headline=f"{curve.mean_ratio:.2f} times {'Proposition 1' if gaussian else 'Proposition 2'} in the mean",
        lead=_lead(curve),
        facts=_facts(curve),
        trade_off=picture(_trade_off(curve)),
        exposure=picture(_exposure(curve)),
        exposure_text=_exposure_text(curve),
        maps=_maps(curve),
        points=curve.points,
        ledger=_ledger(curve),
    )


def _lead(curve: Curve) -> str:
    worse = [p for p in curve.points if _excess(p) > 0.02]
    if curve.kind != "gaussian":
        most = max(p.exposure.pinned_share for p in curve.points)
        return (
            f"The worst adversary's audited share of wrong guesses, over that of the best release with two symbols. At "
            f"some point of the curve it names {percent(most)} of the records with a doubt of at most 5 %."
        )
    if worse:
        top = max(worse, key=_excess)
        return (
            f"That is a mean over records, and means hide people: at {count(len(worse), 'point')} of "
            f"{len(curve.points)} the adversary pins more records than under plain noise of the same distortion, at "
            f"D = {figure(top.target, 3)} it pins {percent(top.exposure.pinned_share)} of them instead of "
            f"{percent(top.exposure.reference_pinned_share)}. Where that is so the ratio comes from rare large errors."
        )
    gaining = [p for p in curve.points if p.ratio > 1.01]
    if not gaining:
        return "No point gains on plain noise, and none exposes more records than it."
    reach = figure(max(p.target for p in gaining), 3)
    return (
        f"No point exposes more records than plain noise of the same distortion. The gain is at "
        f"{count(len(gaining), 'point')} of {len(curve.points)}, up to D = {reach}; "
        "elsewhere the release is as good as plain noise and no better."
    )


def _facts(curve: Curve) -> list[Fact]:
    ratios = [point.ratio for point in curve.points]
    lowest = min(point.interval[0] / point.theory for point in curve.points)
    # every point of the paper's protocol is learned
    learned = sum("learned" in point.method or point.claimed_distortion is not None for point in curve.points)
    return [
        Fact(term="mean ratio", value=f"{curve.mean_ratio:.3f}"),
        Fact(term="smallest and largest", value=f"{min(ratios):.2f} – {max(ratios):.2f}"),
        Fact(term="lowest limit (95 %) / theory", value=f"{lowest:.3f}"),
        Fact(term="most records pinned", value=percent(max(p.exposure.pinned_share for p in curve.points))),
        Fact(term="points with a learned release", value=f"{learned}", unit=f"of {len(curve.points)}"),
    ]


def _trade_off(curve: Curve) -> str:
    points = curve.points
    at = tuple(point.target for point in points)
    theory = "Proposition 1 (noise)" if curve.kind == "gaussian" else "Proposition 2 (two symbols)"
    # the paper's training may miss its target: its points stand where they really are
    reported = all(p.claimed_distortion is not None and p.learned is not None for p in points)
    shown = sorted(points, key=lambda p: p.distortion) if reported else list(points)
    lines = [
        Line(
            name="audited",
            x=tuple(p.distortion for p in shown) if reported else at,
            y=tuple(p.worst for p in shown),
            band=tuple(p.interval for p in shown),
            dots=True,
        ),
        Line(name=theory, x=at, y=tuple(p.theory for p in points)),
        Line(name="erasure", x=at, y=tuple(p.erasure for p in points)),
    ]
    for name, words in _BASELINES.items():
        # with two symbols the program is the proposition: one line is enough
        if all(name in p.baselines for p in points) and any(abs(p.baselines[name] - p.theory) > 1e-9 for p in points):
            lines.append(Line(name=words, x=at, y=tuple(p.baselines[name] for p in points)))
    if reported:
        claims = sorted((p.claimed_distortion or 0.0, p.learned or 0.0) for p in points)
        lines.append(
            Line(name="as the training reports it", x=tuple(d for d, _ in claims), y=tuple(y for _, y in claims))
        )
    elif curve.kind == "gaussian" and all(p.learned is not None for p in points):
        lines.append(Line(name="learned alone", x=at, y=tuple(p.learned or 0.0 for p in points)))
    error = "squared error" if curve.kind == "gaussian" else "share of wrong guesses"
    return curves(
        lines,
        title="Worst adversary's loss over the distortion of the authorised party",
        x_axis=f"distortion D of the authorised party ({error})",
        y_axis=f"worst adversary's {error}",
    )


def _exposure(curve: Curve) -> str:
    points = curve.points
    at = tuple(point.target for point in points)
    lines = [Line(name="this release", x=at, y=tuple(p.exposure.pinned_share for p in points), dots=True)]
    if all(p.exposure.reference_pinned_share is not None for p in points):
        reference = tuple(p.exposure.reference_pinned_share or 0.0 for p in points)
        lines.append(Line(name="plain noise of the same distortion", x=at, y=reference))
    return curves(
        lines,
        title="Share of records an adversary pins, over the distortion",
        x_axis="distortion D of the authorised party",
        y_axis="share of records",
        height=300,
    )


def _exposure_text(curve: Curve) -> str:
    epsilon = curve.points[0].exposure.epsilon
    if curve.kind == "gaussian":
        return f"The share of records that the adversary that pins most places within {figure(epsilon, 3)} (0.1 σ)."
    return f"The share of records that an adversary names with a posterior of at least {percent(1 - epsilon)}."


def _maps(curve: Curve) -> list[tuple[str, Any]]:
    places = sorted({round((len(curve.points) - 1) * share) for share in (0.1, 0.35, 0.7)})
    maps: list[tuple[str, Any]] = []
    for place in places:
        point = curve.points[place]
        at = f"D = {figure(point.target, 3)}"
        if point.table is not None:
            names = [f"X = {value}" for value in range(point.table.shape[0])]
            maps.append((at, picture(picture_of_table(point.table, names=names, title=f"Release at {at}"))))
        elif point.mixture is not None and curve.private_mean is not None and curve.private_std is not None:
            x = np.random.default_rng(1).normal(curve.private_mean, curve.private_std, RECORDS)
            drawn = picture_of_mixture(point.mixture, x, title=f"Map from X to F at {at}", x_axis="private value X")
            maps.append((f"{at}: the audited release", picture(drawn)))
            if point.learned_mixture is not None:
                drawn = picture_of_mixture(
                    point.learned_mixture, x, title=f"Learned map at {at}", x_axis="private value X"
                )
                maps.append((f"{at}: the best that training alone found", picture(drawn)))
    return maps


def _ledger(curve: Curve) -> list[Entry]:
    losses = ", ".join(figure(loss, 4) for loss in curve.saturation_losses)
    return [
        entry(
            "saturation",
            f"Without any release the authorised party has {figure(curve.saturation_distortion, 4)}, the "
            f"adversaries {losses}. A larger distortion changes nothing.",
        ),
        entry(
            "ratio",
            "The audited worst loss over the proposition at the target or at the audited distortion, whichever is "
            "larger: distortion that was spent is not counted as privacy.",
        ),
        entry(
            "audit",
            "Fresh attackers; the smallest loss any of them reached is reported. Where the best possible attack is "
            "known, its computed loss is reported, and draws and attackers check it.",
        ),
        entry("exposure", "capped at that of plain noise" if curve.capped else "not capped"),
        entry("device", curve.device),
        entry(
            "time",
            f"{seconds(curve.seconds.compile)} to compile, {seconds(curve.seconds.train)} to train, "
            f"{seconds(curve.seconds.audit)} to audit",
        ),
        entry("seed", str(curve.seed)),
    ]


def _excess(point: CurvePoint) -> float:
    reference = point.exposure.reference_pinned_share
    return 0.0 if reference is None else point.exposure.pinned_share - reference

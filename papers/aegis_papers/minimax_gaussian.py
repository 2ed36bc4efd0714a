"""Fig. 2 of the minimax paper: the Gaussian experiment, repeated and audited."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

from aegis.candidates.sanitizers.gaussian import paper_problem, proposition_1
from aegis.candidates.sanitizers.gaussian_curve import gaussian_curve
from aegis.errors import NotConvergedError
from aegis.result import plain
from aegis_papers.minimax_full_size import FULL_GAUSSIAN
from aegis_papers.minimax_gaussian_experiment import paper_curve
from aegis_papers.minimax_size import Size
from aegis_papers.reproduction import Claim, LineFigure, Section, Series, Significance, TableFigure, judged
from aegis_papers.setting import Setting

Point = dict[str, Any]
PROTOCOL_FIGURES = ("target", "claimed_distortion", "distortion", "learned", "worst", "theory")
"""The figures of the protocol's points that the tables show."""


def figure_2(setting: Setting, size: Size) -> Section:
    """The protocol's points, what an audit makes of them, the closed forms."""
    setting.progress(0, 4, "Fig. 2: training")
    protocol = setting.part("figure 2 protocol", lambda: _protocol(setting, size), points=size.points)
    setting.progress(1, 4, "Fig. 2: closed forms")
    free = setting.part("figure 2 closed forms", lambda: _ours(setting, size, capped=False), points=size.points)
    capped = setting.part("figure 2 capped", lambda: _ours(setting, size, capped=True), points=size.points)
    return Section(
        title="Fig. 2: Gaussian data",
        text="The paper's training and choice of trials, on its law. Each published point is attacked anew: the loss "
        "reported is then the smallest any attacker reached. Beside it stand releases that need no training: erasure, "
        "X mod P with time-sharing, and the same where no adversary may pin more records than under plain noise.",
        claims=tuple(_claims(protocol, free, capped)),
        figures=(
            _as_printed(protocol),
            _losses(protocol, free, capped),
            _exposure(protocol, free, capped),
            _table(protocol),
        ),
    )


def _protocol(setting: Setting, size: Size) -> list[Point]:
    try:
        curve = paper_curve(
            paper_problem(),
            points=size.points,
            trials=size.trials,
            epochs=size.gaussian_epochs,
            most_rounds=size.rounds,
            rows=size.gaussian_rows,
            attackers=size.attackers,
            seed=setting.seed,
        )
    except NotConvergedError:
        return []
    return [plain(point) for point in curve.points]


def _ours(setting: Setting, size: Size, *, capped: bool) -> list[Point]:
    curve = gaussian_curve(
        paper_problem(),
        points=size.points,
        trials=0,
        exposure_capped=capped,
        rows=size.gaussian_rows,
        attackers=size.attackers,
        seed=setting.seed,
    )
    return [plain(point) for point in curve.points]


def _claims(protocol: list[Point], free: list[Point], capped: list[Point]) -> list[Claim]:
    claimed = mean(p["learned"] / p["theory"] for p in protocol)
    audited = mean(p["ratio"] for p in protocol)
    stronger = sum("stronger" in p["method"] for p in protocol)
    pinned = [p["exposure"]["pinned_share"] for p in free]
    return [
        judged(
            what="loss of the trained privatizer over Proposition 1, as the protocol reports it (mean)",
            source="Fig. 2, V",
            printed=1.0,
            as_printed=FULL_GAUSSIAN.claimed_ratio,
            tolerance=0.05,
            why=f"'Closely match' in the text; the points lie on the curve. {FULL_GAUSSIAN.words} In the smaller run "
            f"of this page: {claimed:.3f}.",
        ),
        judged(
            what="the same after fresh attackers (mean)",
            source="Fig. 2, V",
            printed=1.0,
            as_printed=FULL_GAUSSIAN.audited_ratio,
            tolerance=0.05,
            why=f"In the smaller run of this page: {audited:.3f}. At {stronger} of {len(protocol)} points an attacker "
            "does over a twentieth better than the adversary that was trained alongside.",
        ),
        judged(
            what="largest loss at these distortions over Proposition 1, without a cap on exposure (mean)",
            source="Prop. 1",
            printed=1.0,
            ours=mean(p["ratio"] for p in free),
            test=_above(free),
            why=f"The mean hides people: {100 * max(pinned):.0f} % of the records are pinned within 0.1 σ at the "
            "smallest distortion. It comes from rare errors of a whole period.",
        ),
        judged(
            what="the same with no more records pinned than by plain noise (mean)",
            source="Prop. 1",
            printed=1.0,
            ours=mean(p["ratio"] for p in capped),
            test=_above(capped),
            why="All of it at the smallest distortions; elsewhere plain noise is as good.",
        ),
    ]


def _above(points: list[Point]) -> Significance | None:
    """Whether closed forms lose more than Proposition 1, distortion by distortion."""
    ratios = np.array([p["ratio"] for p in points])
    apart = ratios[np.abs(ratios - 1) > 1e-9]
    if not len(ratios):
        return None
    name = "sign test over distortions"
    if not len(apart):
        return Significance(name=name, p=1.0)
    return Significance(name=name, p=float(binomtest(int((apart > 1).sum()), len(apart), alternative="greater").pvalue))


def _as_printed(protocol: list[Point]) -> LineFigure:
    problem = paper_problem()
    at = [problem.max_distortion * i / 30 for i in range(1, 31)]

    def both(number: int) -> tuple[Series, Series]:
        trained = ((p["distortion"], p["adversary_losses"][number]) for p in protocol)
        return (
            Series.through(f"adversary {number + 1}, audited", trained),
            Series.through(
                f"adversary {number + 1}, Proposition 1",
                ((d, proposition_1(problem, distortion=d).adversary_losses[number]) for d in at),
            ),
        )

    return LineFigure(
        title="As in Fig. 2: both adversaries",
        x_axis="distortion D",
        y_axis="squared error",
        series=(*both(0), *both(1)),
        caption="Trained as in the paper; losses are those of the audit.",
    )


def _losses(protocol: list[Point], free: list[Point], capped: list[Point]) -> LineFigure:
    def line(name: str, points: list[Point], figure: str) -> Series:
        return Series.through(name, ((p["target"], p[figure]) for p in points))

    return LineFigure(
        title="The stronger adversary: reported, audited, closed forms",
        x_axis="distortion D",
        y_axis="squared error",
        series=(
            Series.through("paper's training, reported", ((p["claimed_distortion"], p["learned"]) for p in protocol)),
            Series(
                name="the same, audited",
                x=tuple(p["distortion"] for p in protocol),
                y=tuple(p["worst"] for p in protocol),
                band=tuple((p["interval"][0], p["interval"][1]) for p in protocol),
            ),
            line("Proposition 1 (noise)", free, "theory"),
            line("erasure", free, "erasure"),
            line("modulo, time-shared", free, "worst"),
            line("exposure capped", capped, "worst"),
        ),
        caption="Lines of closed forms are exact; the band is the 95 % interval of the audit.",
    )


def _exposure(protocol: list[Point], free: list[Point], capped: list[Point]) -> LineFigure:
    def line(name: str, points: list[Point], key: str = "pinned_share") -> Series:
        return Series.through(name, ((p["target"], p["exposure"][key]) for p in points))

    return LineFigure(
        title="Records that an adversary places within 0.1 σ",
        x_axis="distortion D",
        y_axis="share of records",
        series=(
            line("paper's training", protocol),
            line("noise (Proposition 1)", free, "reference_pinned_share"),
            line("modulo, time-shared", free),
            line("exposure capped", capped),
        ),
        caption="Not in the paper. Lower is better.",
    )


def _table(protocol: list[Point]) -> TableFigure:
    return TableFigure(
        title="The protocol's points",
        columns=("D", "distortion reported", "audited", "loss reported", "audited", "Prop. 1", "attacker", "trials"),
        rows=tuple(
            (
                *(round(p[figure], 4) for figure in PROTOCOL_FIGURES),
                p["attacker"],
                p["method"].removeprefix("paper, "),
            )
            for p in protocol
        ),
        caption="Distortions without an accepted trial have no row.",
    )


def mean(values: Any) -> float:
    """The mean of what there is, not a number where there is nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else float("nan")

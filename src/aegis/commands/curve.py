"""``aegis curve``: what the adversaries are left with for each distortion of the authorised party."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.curve import Curve

app = typer.Typer(help="Trade-off curves of sanitizers: theory, baselines, and what an audit measured.")

Points = Annotated[int, typer.Option("--points", help="How many distortions, evenly up to saturation.")]
Trials = Annotated[int, typer.Option("--trials", help="Trainings for each distortion; 0 uses the closed forms alone.")]
Attackers = Annotated[
    str, typer.Option("--attackers", help="Who attacks in the audit: network, trees, neighbours (default: all).")
]


@app.command("gaussian")
def gaussian(
    covariance: Annotated[
        Path | None,
        typer.Option("--covariance", help="JSON: a covariance with X first, or an object with 'covariance', 'mean', …"),
    ] = None,
    preset: Annotated[str | None, typer.Option("--preset", help="A known law: paper or coalition.")] = None,
    points: Points = 30,
    trials: Trials = 15,
    coalition: Annotated[
        bool, typer.Option("--coalition", help="The adversaries together are the authorised party.")
    ] = False,
    cap_exposure: Annotated[
        bool, typer.Option("--cap-exposure", help="Pin no more records than plain noise of the same distortion does.")
    ] = False,
    training: Annotated[
        str,
        typer.Option("--training", help="ours, or paper: its experiment, audited (pip install aegis-papers)."),
    ] = "ours",
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of each training (default 2500; 5000 for the paper's).")
    ] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", help="Stop after this many epochs without any gain.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="A file that training continues from and keeps its state in (.npz)."),
    ] = None,
    attackers: Attackers = "",
    seed: options.Seed = 0,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """The curve of a number with normal side information, at Var[X|Y]·i/points."""
    from aegis.library.curve import curve_of_gaussian

    with terminal.progress("curve") as bar:
        curve = curve_of_gaussian(
            covariance,
            preset=preset,
            points=points,
            trials=trials,
            coalition=coalition,
            exposure_capped=cap_exposure,
            training=training,
            steps=steps,
            patience=patience,
            checkpoint=checkpoint,
            attackers=options.names(attackers),
            seed=seed,
            report=report,
            overwrite=overwrite,
            progress=bar,
        )
    _answer(curve, json=json, report=report)


@app.command("binary")
def binary(
    p: Annotated[
        float | None, typer.Option("--p", help="How often the private bit is 1 (default 0.54).", show_default=False)
    ] = None,
    qy: Annotated[
        float | None,
        typer.Option("--qy", help="How often the authorised party's copy is wrong (default 0.2).", show_default=False),
    ] = None,
    qz: Annotated[
        list[float] | None,
        typer.Option("--qz", help="How often an adversary's copy is wrong (default 0.44); may be repeated."),
    ] = None,
    preset: Annotated[str | None, typer.Option("--preset", help="A known law: paper.")] = None,
    points: Points = 30,
    trials: Trials = 15,
    symbols: Annotated[int, typer.Option("--symbols", help="How many values the release has.")] = 2,
    training: Annotated[
        str,
        typer.Option(
            "--training",
            help="ours (knows the law), network (10,000 rows), or paper: its experiment (pip install aegis-papers).",
        ),
    ] = "ours",
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Epochs of networks (default 300; 1000 for the paper's).")
    ] = None,
    attackers: Attackers = "",
    seed: options.Seed = 0,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """The curve of a private bit that everybody sees through a channel of their own."""
    from aegis.library.curve import curve_of_binary

    with terminal.progress("curve") as bar:
        curve = curve_of_binary(
            p=p,
            qy=qy,
            qz=qz,
            preset=preset,
            points=points,
            trials=trials,
            symbols=symbols,
            training=training,
            epochs=epochs,
            attackers=options.names(attackers),
            seed=seed,
            report=report,
            overwrite=overwrite,
            progress=bar,
        )
    _answer(curve, json=json, report=report)


def _answer(curve: Curve, *, json: bool, report: Path | None) -> None:
    if json:
        terminal.print_json(curve.to_json())
    else:
        _show(curve)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    elif not json:
        terminal.next_step(f"aegis curve {curve.kind} … --report curve.html")


def _show(curve: Curve) -> None:
    rows = []
    for point in curve.points:
        reference = point.exposure.reference_pinned_share
        rows.append(
            [
                f"{point.target:.4g}",
                f"{point.distortion:.4g}",
                f"{point.worst:.4g}",
                f"{point.theory:.4g}",
                f"{point.erasure:.4g}",
                f"{point.ratio:.3f}",
                f"{100 * point.exposure.pinned_share:.1f} %",
                "" if reference is None else f"{100 * reference:.1f} %",
                point.attacker,
                point.method,
            ]
        )
    names = ("target", "distortion", "worst loss", "theory", "erasure", "ratio", "pinned", "by noise")
    columns: list[str | tuple[str, str]] = [*((name, "right") for name in names), "attacker", "release"]
    title = f"{curve.kind}: {len(curve.points)} points, mean ratio to theory {curve.mean_ratio:.3f}"
    terminal.out().print(terminal.table(title, columns, rows))
    terminal.aside(
        "A ratio is a mean: a large one beside a large pinned share comes from rare huge errors, not from privacy."
    )

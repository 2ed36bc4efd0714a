"""``aegis curve``: what the adversaries are left with for each distortion of the authorised party."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.sanitizers.trainings import training_for
from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.fields import PathLike, Reporting, Seed, Working
from aegis.errors import OptionError
from aegis.operation import Option

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.curve import Curve

ATTACKERS = ("network", "trees", "neighbours")

Attackers = Annotated[Sequence[str], Option("Who attacks in the audit, all unless named.", choices=ATTACKERS)]


@dataclass(frozen=True, kw_only=True)
class CurveOptions(Working, Reporting):
    """What every curve takes."""

    points: Annotated[int, Option("How many distortions, evenly up to saturation.")] = 30
    trials: Annotated[int, Option("Trainings for each distortion; 0 uses the closed forms alone.")] = 15
    attackers: Attackers = ()
    loss: Annotated[
        str,
        Option("How errors are counted: usual (squared for a number, wrong guesses for a bit); log is for tables."),
    ] = "usual"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss != "usual":
            raise OptionError(
                "a curve stands beside a proposition, which counts squared errors of a number and wrong guesses of a "
                "bit: --loss log is for columns of tables (aegis sanitize)"
            )


@dataclass(frozen=True, kw_only=True)
class CurveGaussian(CurveOptions):
    """The curve of a number with normal side information, at Var[X|Y]·i/points."""

    covariance: Annotated[
        PathLike | None, Option("JSON: a covariance with X first, or an object with 'covariance', 'mean', …")
    ] = None
    preset: Annotated[str | None, Option("A known law.", choices=("paper", "coalition"))] = None
    coalition: Annotated[bool, Option("The adversaries together are the authorised party.")] = False
    cap_exposure: Annotated[bool, Option("Pin no more records than plain noise of the same distortion does.")] = False
    training: Annotated[str, Option("ours, or paper: its experiment, audited (pip install aegis-papers).")] = "ours"
    steps: Annotated[int | None, Option("Steps of each training (default 2500; 5000 for the paper's).", minimum=1)] = (
        None
    )
    patience: Annotated[int | None, Option("Stop after this many epochs without any gain.", minimum=1)] = None
    checkpoint: Annotated[
        PathLike | None, Option("A file that training continues from and keeps its state in (.npz).")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.covariance is None) == (self.preset is None):
            raise OptionError("give either a covariance file (--covariance) or a preset (--preset paper)")
        if self.preset == "coalition":
            self.refuse("coalition", because="in the preset coalition the adversaries are together already")
        if self.trials == 0:
            self.refuse("steps", "patience", "checkpoint", because="nothing is trained with --trials 0")
        training_for(self.training, "gaussian").options(self.asked(), trials=self.trials)

    def asked(self) -> dict[str, object]:
        """The options that only some trainings use."""
        return {
            "exposure_capped": self.cap_exposure,
            "steps": self.steps,
            "patience": self.patience,
            "checkpoint": self.checkpoint,
        }


@dataclass(frozen=True, kw_only=True)
class CurveBinary(CurveOptions):
    """The curve of a private bit that everybody sees through a channel of their own."""

    p: Annotated[float | None, Option("How often the private bit is 1 (default 0.54).")] = None
    qy: Annotated[float | None, Option("How often the authorised party's copy is wrong (default 0.2).")] = None
    qz: Annotated[Sequence[float], Option("How often an adversary's copy is wrong (default 0.44).", repeat=True)] = ()
    preset: Annotated[str | None, Option("A known law.", choices=("paper",))] = None
    symbols: Annotated[int, Option("How many values the release has, 2 to 8; more than 3 gain nothing.")] = 2
    training: Annotated[
        str,
        Option("ours (knows the law), network (10,000 rows), or paper: its experiment (pip install aegis-papers)."),
    ] = "ours"
    epochs: Annotated[int | None, Option("Epochs of networks (default 300; 1000 for the paper's).", minimum=1)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preset is not None:
            self.refuse("p", "qy", "qz", because="the preset holds p, qy and qz: give either it or those")
        if not 2 <= self.symbols <= 8:
            raise OptionError("a release of a bit has between 2 and 8 symbols (--symbols); more than 3 gain nothing")
        training_for(self.training, "binary").options(self.asked(), trials=self.trials)

    def asked(self) -> dict[str, object]:
        """The options that only some trainings use."""
        return {"symbols": self.symbols, "epochs": self.epochs}


@command("curve gaussian", CurveGaussian, run="aegis.library.curve:curve_gaussian", group=MAKE, working="curve")
def show_gaussian(curve: Curve, options: CurveGaussian) -> None:
    """Every point of the curve, with what an audit measured."""
    _show(curve, options)


@command("curve binary", CurveBinary, run="aegis.library.curve:curve_binary", group=MAKE, working="curve")
def show_binary(curve: Curve, options: CurveBinary) -> None:
    """Every point of the curve, with what an audit measured."""
    _show(curve, options)


def _show(curve: Curve, options: CurveOptions) -> None:
    rows = [
        [
            f"{row['target']:.4g}",
            f"{row['distortion']:.4g}",
            f"{row['worst_loss']:.4g}",
            f"{row['theory']:.4g}",
            f"{row['erasure']:.4g}",
            f"{row['ratio']:.3f}",
            f"{100 * row['pinned_share']:.1f} %",
            "" if row["pinned_share_of_noise"] is None else f"{100 * row['pinned_share_of_noise']:.1f} %",
            row["attacker"],
            row["method"],
        ]
        for row in curve.table_rows()
    ]
    names = ("target", "distortion", "worst loss", "theory", "erasure", "ratio", "pinned", "by noise")
    terminal.show_table(curve.headline, [*terminal.numbers(*names), "attacker", "release"], rows)
    terminal.aside(
        "A ratio is a mean: a large one beside a large pinned share comes from rare huge errors, not from privacy."
    )
    if options.report is None:
        terminal.next_step(f"aegis curve {curve.kind} … --report curve.html")

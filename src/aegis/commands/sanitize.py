"""``aegis sanitize``: release private columns to some and hide them from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.curve import ATTACKERS
from aegis.commands.fields import Data, Option, Overwrite, PathLike, PolicyLike, Reading, Report, Working
from aegis.errors import OptionError
from aegis.operation import names

if TYPE_CHECKING:
    from aegis.library.sanitize import Sanitized

FITTING = "Fitting a mechanism"
FAMILIES = ("capped", "noise")


@dataclass(frozen=True)
class Sanitize(Reading, Working):
    """Release private columns so that one party can use them and others cannot; or apply a saved model to new rows."""

    data: Data
    _: KW_ONLY
    out: Annotated[
        PathLike | None,
        Option("The public .csv or .parquet file: the releases and what every adversary knows anyway."),
    ] = None
    authorized_out: Annotated[
        PathLike | None,
        Option("The authorised party's file (default: OUT-authorized beside OUT).", only_with="out"),
    ] = None
    reconstructor: Annotated[
        PathLike | None,
        Option("The authorised party's reconstructor (default: OUT-authorized.npz).", only_with="out", section=FITTING),
    ] = None
    model: Annotated[PathLike | None, Option("Where the mechanism is kept; without --private: the model to apply.")] = (
        None
    )
    private: Annotated[Sequence[str], Option("The private columns, comma separated.", section=FITTING)] = ()
    authorized: Annotated[
        Sequence[str], Option("What the authorised party knows, comma separated.", section=FITTING)
    ] = ()
    adversary: Annotated[
        Sequence[Sequence[str]],
        Option("What one adversary knows, comma separated.", section=FITTING, repeat=True),
    ] = ()
    distortion: Annotated[
        Sequence[float] | float,
        Option(
            "Mean squared error (a number) or share of wrong guesses (a category) of the authorised party; one, or one "
            "for each private column.",
            section=FITTING,
        ),
    ] = ()
    family: Annotated[
        str,
        Option(
            "Which releases of a number: capped exposes no more records than noise of the same error does.",
            section=FITTING,
            choices=FAMILIES,
        ),
    ] = "capped"
    posterior: Annotated[
        float, Option("The most an adversary may believe of a value of a category.", section=FITTING, minimum=0.5)
    ] = 0.98
    policy: Annotated[
        PolicyLike | None, Option("What the true values must satisfy, in public classes (YAML).", section=FITTING)
    ] = None
    attackers: Annotated[
        Sequence[str], Option("Who attacks in the audit, all unless named.", section=FITTING, choices=ATTACKERS)
    ] = ()
    seed: Annotated[
        int | None, Option("Repeat a run exactly. Whoever knows the seed can undo the noise: keep it secret.")
    ] = None
    keep_names: Annotated[
        bool, Option("Call a release what the column was called: advise then takes it for that column.")
    ] = False
    report: Report = None
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        sides = tuple(names(side) if isinstance(side, str) else tuple(side) for side in self.adversary)
        object.__setattr__(self, "adversary", sides)
        if not self.private:
            self.refuse(
                *("authorized", "adversary", "distortion", "family", "posterior", "policy"),
                *("attackers", "report", "reconstructor"),
                because="a saved model is applied as it is; to fit one name the private columns with --private",
            )
            if self.model is None:
                raise OptionError("name the private columns with --private, or a model to apply with --model")
            return
        if not sides or not all(sides):
            raise OptionError("name at least one adversary's columns with --adversary")
        if self.posterior > 1:
            raise OptionError("--posterior is a probability, such as 0.98")
        if not self.distortions:
            raise OptionError("say how much error the authorised party may have, with --distortion")

    @property
    def distortions(self) -> tuple[float, ...]:
        """The distortions that were given: one, or one for each private column."""
        return (self.distortion,) if isinstance(self.distortion, int | float) else tuple(self.distortion)


@command("sanitize", Sanitize, run="aegis.library.sanitize:sanitize", group=MAKE, working="sanitizing", one_of=("out",))
def show(done: Sanitized, options: Sanitize) -> None:
    """What attackers found out with and without the release, column by column."""
    if not done.audits:
        terminal.out().print(done.headline, soft_wrap=True)
    for audited in done.audits:
        audit, exposure = audited.audit, audited.audit.exposure
        rows = [
            [
                "authorised",
                f"{audited.max_distortion:.4g}",
                f"{audited.reconstruction.loss:.4g}",
                "its reconstructor",
            ]
        ]
        for number, (party, before) in enumerate(
            zip(audit.adversaries, audited.saturation_losses, strict=True), start=1
        ):
            rows.append([f"adversary {number}", f"{before:.4g}", f"{party.loss:.4g}", party.attacker])
        columns: list[str | tuple[str, str]] = ["error of", ("without", "right"), ("with", "right"), "best attacker"]
        terminal.out().print(terminal.table(f"{audited.column} ({audited.method})", columns, rows))
        noise = exposure.reference_pinned_share
        terminal.out().print(
            f"records an adversary names correctly: {100 * exposure.pinned_share:.1f} %"
            if noise is None
            else f"records an adversary places within {exposure.epsilon:.3g}: {100 * exposure.pinned_share:.1f} %; "
            f"noise of the same error: {100 * noise:.1f} %",
            soft_wrap=True,
        )
        terminal.out().print(
            f"records determined for an adversary that knows the mechanism: {100 * audited.determined:.1f} %",
            soft_wrap=True,
        )
        for number, party in enumerate(audit.adversaries, start=1):
            if audited.method != "silence" and party.loss <= audited.reconstruction.loss:
                terminal.aside(
                    f"adversary {number} errs no more than the authorised party: the release of {audited.column} does "
                    "not protect from it"
                )
        if audited.method.startswith("silence"):
            terminal.aside(
                f"the authorised party needs no release of {audited.column} for that distortion: it is silent"
            )
    if done.audits:
        terminal.aside(f"written in place of {', '.join(done.columns)}: {', '.join(done.released)}")
        if done.left_out:
            terminal.aside(f"in neither file: {', '.join(done.left_out)}")
        if done.seeded:
            terminal.aside("the noise comes from the seed: whoever knows it can undo the release")
    if done.reconstructor is not None:
        terminal.next_step(
            f"aegis reconstruct {terminal.word(done.out)} --with {terminal.word(done.authorized_out)} "
            f"--model {terminal.word(done.reconstructor)} --out ESTIMATES.csv"
        )

"""``aegis sanitize``: release private columns to some and hide them from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.sanitizers.caps import MOST_LOCAL_DP
from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.curve import ATTACKERS
from aegis.commands.fields import (
    Data,
    DespiteLedger,
    PathLike,
    PolicyLike,
    Reading,
    Report,
    WithLedger,
    Working,
    replacing,
)
from aegis.errors import OptionError
from aegis.operation import Option, names

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.audited_column import AuditedColumn
    from aegis.candidates.sanitizers.proof import Proof
    from aegis.library.sanitize import Sanitized

FITTING = "Fitting a mechanism"
FAMILIES = ("capped", "noise")
LOSSES = ("usual", "log")
_NO_BOUND = 0.9995  # a posterior that is 1 where it is printed


@dataclass(frozen=True)
class Sanitize(Reading, WithLedger, Working):
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
    also_authorized: Annotated[
        Sequence[str],
        Option(
            "A further authorised group: what it knows and its distortion, as COLUMN,COLUMN:DISTORTION; its file and "
            "reconstructor are numbered from 2.",
            section=FITTING,
            repeat=True,
        ),
    ] = ()
    adversary: Annotated[
        Sequence[Sequence[str]],
        Option("What one adversary knows, comma separated.", section=FITTING, repeat=True),
    ] = ()
    distortion: Annotated[
        Sequence[float] | float,
        Option(
            "Mean squared error (a number) or share of wrong guesses (a category) of the authorised party, bits with "
            "--loss log; one, or one for each private column.",
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
        float | None,
        Option(
            "The most an adversary may believe of any value of a category, or bin of a number (a category without any "
            "cap: 0.98).",
            section=FITTING,
        ),
    ] = None
    leakage: Annotated[
        float | None,
        Option("Pointwise leakage ε: no symbol is likelier by more than e^ε for any value or bin.", section=FITTING),
    ] = None
    local_dp: Annotated[
        float | None,
        Option("Local differential privacy ε of the release, of values or bins.", section=FITTING),
    ] = None
    coalition: Annotated[
        bool, Option("Protect from all adversaries together as well, who share what they know.", section=FITTING)
    ] = False
    jointly: Annotated[
        bool,
        Option(
            "Release all private columns as one tuple, numbers of many values by range; errors are counted by column.",
            section=FITTING,
        ),
    ] = False
    costs: Annotated[
        PathLike | None,
        Option(
            "What each wrong guess of the private category costs (.csv: true values down, guesses across), in place of "
            "1; errors are mean costs then.",
            section=FITTING,
        ),
    ] = None
    loss: Annotated[
        str,
        Option(
            "How errors are counted: usual (squared for a number; wrong guesses, or --costs, for a category) or log "
            "(for categories: the bits that a party lacks, by the chances that it states).",
            section=FITTING,
            choices=LOSSES,
        ),
    ] = "usual"
    train: Annotated[
        bool,
        Option(
            "Train networks on the rows as well (Algorithm 1); used where they beat the program under the caps.",
            section=FITTING,
        ),
    ] = False
    checkpoint: Annotated[
        PathLike | None,
        Option("Keep the state of the training here, and go on from it.", section=FITTING, only_with="train"),
    ] = None
    policy: Annotated[
        PolicyLike | None, Option("What the true values must satisfy, in public classes (YAML).", section=FITTING)
    ] = None
    attackers: Annotated[
        Sequence[str], Option("Who attacks in the audit, all unless named.", section=FITTING, choices=ATTACKERS)
    ] = ()
    despite_adversary: Annotated[
        bool,
        Option("Write the release although an adversary errs no more than the authorised party.", section=FITTING),
    ] = False
    seed: Annotated[
        int | None, Option("Repeat a run exactly. Whoever knows the seed can undo the noise: keep it secret.")
    ] = None
    keep_names: Annotated[
        bool, Option("Give a released column the name of its private column, so that advise compares the two.")
    ] = False
    despite_ledger: DespiteLedger = None
    report: Report = None
    overwrite: Annotated[bool, replacing("out", "model", "report")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is None:
            self.refuse("ledger", "recipient", "despite_ledger", because="no table is written, so nothing is released")
        sides = tuple(names(side) if isinstance(side, str) else tuple(side) for side in self.adversary)
        object.__setattr__(self, "adversary", sides)
        if not self.private:
            self.refuse(
                *(
                    "authorized",
                    "also_authorized",
                    "adversary",
                    "distortion",
                    "family",
                    "posterior",
                    "leakage",
                    "local_dp",
                ),
                *("coalition", "jointly", "costs", "loss", "train", "checkpoint", "policy", "attackers", "report"),
                "despite_adversary",
                "reconstructor",
                because="a saved model is applied as it is; to fit one name the private columns with --private",
            )
            if self.model is None:
                raise OptionError("name the private columns with --private, or a model to apply with --model")
            return
        if not sides or not all(sides):
            raise OptionError("name at least one adversary's columns with --adversary")
        if self.posterior is not None and not 0 < self.posterior <= 1:
            raise OptionError("--posterior is a probability above 0, such as 0.9")
        for name, value in (("--leakage", self.leakage), ("--local-dp", self.local_dp)):
            if value is not None and not 0 < value < 700:
                raise OptionError(f"{name} is a positive number ε, such as 2")
        if self.local_dp is not None and self.local_dp > MOST_LOCAL_DP:
            raise OptionError(
                f"--local-dp {self.local_dp:g} protects nobody: a symbol may be e^ε times likelier for one value than "
                f"for another; ask for {MOST_LOCAL_DP:g} at most, or leave it out"
            )
        if self.jointly and len(self.private) < 2:
            raise OptionError("--jointly needs two private columns or more")
        if self.costs is not None and len(self.private) > 1:
            raise OptionError("--costs is for one private column")
        if self.costs is not None and self.loss == "log":
            raise OptionError("--costs is about wrong guesses, and --loss log counts no guesses: take one of them")
        if self.train and not self.jointly and len(self.private) > 1:
            raise OptionError("--train is for one private column, or several with --jointly")
        if self.coalition and len(sides) < 2:
            raise OptionError("--coalition needs two adversaries or more")
        _ = self.further_groups  # a text that is not a group is refused before anything is read
        if not self.distortions:
            raise OptionError("say how much error the authorised party may have, with --distortion")

    @property
    def further_groups(self) -> tuple[tuple[tuple[str, ...], tuple[float, ...]], ...]:
        """The columns and the distortions of each further authorised group."""
        groups = []
        for text in self.also_authorized:
            columns, colon, allowed = text.rpartition(":")
            try:
                distortions = tuple(float(part) for part in allowed.split(","))
            except ValueError:
                distortions = ()
            if not colon or not names(columns) or not distortions:
                raise OptionError(
                    "--also-authorized is what a group knows and its distortion, such as income,hours:0.2"
                )
            groups.append((names(columns), distortions))
        return tuple(groups)

    @property
    def distortions(self) -> tuple[float, ...]:
        """The distortions that were given: one, or one for each private column."""
        return (self.distortion,) if isinstance(self.distortion, int | float) else tuple(self.distortion)


@command("sanitize", Sanitize, run="aegis.library.sanitize:sanitize", group=MAKE, working="sanitizing", one_of=("out",))
def show(done: Sanitized, options: Sanitize) -> None:
    """What attackers found out with and without the release, column by column."""
    if not done.audits:
        terminal.out().print(done.headline, soft_wrap=True)
    for filled in done.filled:
        terminal.aside(filled.sentence())
    for audited in done.audits:
        audit = audited.audit
        rows = [
            [party, f"{group.max_distortion:.4g}", f"{group.reconstruction.loss:.4g}", "its reconstructor"]
            for party, group in zip(group_names(len(audited.groups)), audited.groups, strict=True)
        ]
        for number, (party, before) in enumerate(
            zip(audit.adversaries, audited.saturation_losses, strict=True), start=1
        ):
            rows.append([f"adversary {number}", f"{before:.4g}", f"{party.loss:.4g}", party.attacker])
        unit = ", errors in bits" if audited.loss == "log" else ""
        columns = ["error of", *terminal.numbers("without", "with"), "best attacker"]
        terminal.show_table(f"{audited.column} ({audited.method}{unit})", columns, rows)
        terminal.out().print(exposed_words(audited), soft_wrap=True)
        terminal.out().print(
            f"records determined for an adversary that knows the mechanism: {100 * audited.determined:.1f} % "
            f"({100 * audited.determined_before:.1f} % without the release)",
            soft_wrap=True,
        )
        if audited.proof is not None:
            terminal.out().print(proved_words(audited.proof), soft_wrap=True)
        if audited.method.startswith("silence"):
            terminal.aside(
                f"the authorised party needs no release of {audited.column} for that distortion: it is silent"
            )
    for column in done.written:
        terminal.aside(
            f"whoever holds the public file and all authorised ones errs by {column.both_files_loss:.4g} on "
            f"{column.column}: give each file to its recipient alone"
        )
        if column.proxies:
            proxies = ", ".join(f"{proxy.column} ({proxy.error:.4g})" for proxy in column.proxies)
            terminal.aside(
                f"not in the public file, but each alone tells {column.column} better than nothing "
                f"({column.proxies[0].error_without:.4g}): {proxies}; who knows them is an adversary to name"
            )
    if done.audits:
        terminal.aside(f"written in place of {', '.join(done.columns)}: {', '.join(done.released)}")
        if done.left_out:
            terminal.aside(f"in neither file: {', '.join(done.left_out)}")
        if done.seeded:
            terminal.aside("the noise comes from the seed: whoever knows it can undo the release")
    if done.ledger_entries:
        entries = " and ".join(f"{number}" for number in done.ledger_entries)
        terminal.aside(
            f"on record as entries {entries} of the ledger: whatever leaves of this table next is judged together with "
            "them"
        )
    if done.reconstructor is not None:
        terminal.next_step(
            f"aegis reconstruct {terminal.word(done.out)} --with {terminal.word(done.authorized_out)} "
            f"--model {terminal.word(done.reconstructor)} --out ESTIMATES.csv"
        )


def group_names(number: int) -> tuple[str, ...]:
    """What the authorised groups are called: numbered where there are several."""
    return ("authorised",) if number == 1 else tuple(f"authorised {place}" for place in range(1, number + 1))


def exposed_words(audited: AuditedColumn) -> str:
    """Which share of the records an adversary names, or places nearly, in a sentence."""
    exposure = audited.audit.exposure
    share = f"{100 * exposure.pinned_share:.1f} %"
    if audited.loss != "squared":
        return f"records an adversary names correctly: {share}"
    noise = exposure.reference_pinned_share  # none where a number is released by its bin
    beside = "" if noise is None else f"; noise of the same error: {100 * noise:.1f} %"
    return f"records an adversary places within {exposure.epsilon:.3g}: {share}{beside}"


def proved_words(proof: Proof) -> str:
    """What was proved, in a few sentences."""
    losses = ", ".join(f"{adversary.proved_loss:.4g}" for adversary in proof.adversaries)
    epsilon = "none" if proof.local_dp is None else f"ε = {proof.local_dp:.3g}"
    bounded = proof.posterior is not None and proof.posterior < _NO_BOUND
    posterior = f"; posteriors at most {proof.posterior:.3g} for every law of the set" if bounded else ""
    caps = f" {proof.where_caps_hold.capitalize()}." if proof.holds_for_set else ""  # otherwise it is a warning
    return (
        f"proved with {100 * proof.confidence:g} % confidence: adversaries err by at least {losses}{posterior}.{caps} "
        f"Whatever they know: at least {100 * proof.kept_share:.1f} % of their error without it, local differential "
        f"privacy {epsilon}. Under the estimated law the worst adversary errs by {proof.loss_under_law:.4g}, and no "
        "release that keeps these caps under it and tells the authorised party no less makes it err by more than "
        f"{proof.most_any_release_leaves:.4g} ({100 * (1 - proof.gap):.1f} % reached)"
    )

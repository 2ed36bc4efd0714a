"""``aegis anonymize``: microaggregation with a hard k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.fields import Data, Option, Overwrite, PathLike, Seed, WithRoles, Working
from aegis.errors import OptionError

if TYPE_CHECKING:
    from aegis.library.anonymize import Anonymization

CENTROIDS = ("mean", "rounded", "medoid")

Classes = Annotated[int | None, Option("How many classes, as many as fit unless given (mo-obam).", minimum=1)]
Diversity = Annotated[int, Option("The fewest values of each sensitive attribute in a class.", minimum=1)]
Categorical = Annotated[Sequence[str], Option("Number columns that name categories, comma separated.")]


@dataclass(frozen=True, kw_only=True)
class Clustering(WithRoles, Working):
    """What classes have to satisfy, and what some methods take beside it."""

    k: Annotated[int, Option("The fewest records a class may have.", minimum=1)]
    l: Diversity = 1  # noqa: E741  as in l-diversity
    classes: Classes = None
    trade_off: Annotated[
        float, Option("How much mixed secrets matter against loss, the paper's λ: 0 to 1 (mo-obam).")
    ] = 0.0
    seconds: Annotated[float | None, Option("Time for a search (mo-obam, 20 unless given).", minimum=0)] = None
    categorical: Categorical = ()
    seed: Seed = 0

    def asked(self) -> dict[str, object]:
        """The options that only some methods use."""
        return {"l": self.l, "classes": self.classes, "trade_off": float(self.trade_off), "seconds": self.seconds}

    def refuse_without_secrets(self, sensitive: Sequence[str]) -> None:
        """Raise for what is asked of secrets where no column is sensitive."""
        if not sensitive:
            self.refuse(
                "l",
                "trade_off",
                because="no column is sensitive, so there are no values to mix: name some with --sensitive",
            )


@dataclass(frozen=True)
class Anonymize(Clustering):
    """Replace quasi-identifiers by the centres of classes of at least k records. Rows stay in order."""

    data: Data
    _: KW_ONLY
    out: Annotated[PathLike | None, Option("The .csv or .parquet file to write.")] = None
    method: Annotated[str, Option(f"The anonymizer: {', '.join(ANONYMIZERS)}.")] = "mo-obam"
    centroid: Annotated[
        str,
        Option(
            "What stands for a class: its mean, the mean rounded, or a real tuple (no invented values).",
            choices=CENTROIDS,
        ),
    ] = "mean"
    tau: Annotated[
        Sequence[float], Option("More linkage thresholds to count people for (beside 0.05, 0.075, 0.1).")
    ] = ()
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        ANONYMIZERS[self.method].check({**self.asked(), "centroid": self.centroid})
        if not all(0 < threshold <= 1 for threshold in self.tau):
            raise OptionError("a linkage threshold (--tau) is a probability above 0 and at most 1, such as 0.2")


@command(
    "anonymize",
    Anonymize,
    run="aegis.library.anonymize:anonymize",
    group=MAKE,
    working="searching",
    anytime=True,
    one_of=("out",),
)
def show(done: Anonymization, options: Anonymize) -> None:
    """What an attacker saw before and sees now, and what is published as it was."""
    rows = [[row["what"], f"{row['before']:,}", f"{row['after']:,}"] for row in done.table_rows()]
    terminal.out().print(terminal.table(done.headline, ["", ("before", "right"), ("after", "right")], rows))
    for column in done.suppressed:
        terminal.aside(f"{column} is identifying and was replaced by *")
    if done.as_they_are:
        terminal.aside(f"published as they are: {', '.join(done.as_they_are)}")
    if not done.exit_status:
        terminal.next_step(f"aegis check {terminal.word(options.out)} --policy POLICY.yaml")

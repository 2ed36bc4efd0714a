"""``aegis anonymize``: microaggregation with a hard k, and local recoding under a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.fields import (
    ROLES,
    Data,
    HierarchiesLike,
    PathLike,
    Person,
    PolicyLike,
    Seed,
    WithRoles,
    Working,
    replacing,
)
from aegis.commands.release import Release
from aegis.errors import OptionError
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.anonymize import Anonymization

CENTROIDS = ("mean", "rounded", "medoid")
SCALES = ("raw", "standardised")

FEWEST = "The fewest records a class may have."
Classes = Annotated[int | None, Option("How many classes, as many as fit unless given (mo-obam).", minimum=1)]
Diversity = Annotated[int, Option("The fewest values of each sensitive attribute in a class.", minimum=1)]
Categorical = Annotated[Sequence[str], Option("Columns of numbers that stand for categories, comma separated.")]


@dataclass(frozen=True, kw_only=True)
class Clustering(WithRoles, Working):
    """What classes have to satisfy, and what some methods take beside it."""

    l: Diversity = 1
    classes: Classes = None
    trade_off: Annotated[
        float, Option("Weight of diverse sensitive values against information loss, the paper's λ: 0 to 1 (mo-obam).")
    ] = 0.0
    seconds: Annotated[
        float | None, Option("Time limit of a search in seconds (mo-obam, 20 unless given).", minimum=0)
    ] = None
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
    """Replace quasi-identifiers by the centres of groups, or by intervals and sets (boxes). Rows stay in order."""

    data: Data
    _: KW_ONLY
    k: Annotated[int | None, Option(f"{FEWEST} A policy says it otherwise.", minimum=1)] = None
    policy: Annotated[PolicyLike | None, Option("What every class must satisfy (boxes, mo-obam).")] = None
    person: Person = None
    label: Annotated[
        Sequence[str],
        Option("What classes are to keep predictable: several with commas (boxes), or one (mo-obam).", section=ROLES),
    ] = ()
    hierarchies: Annotated[
        HierarchiesLike | None, Option("Folder of hierarchy files: categories are put in their order (boxes).")
    ] = None
    by_branch: Annotated[
        bool, Option("Cut categories only between the branches of their hierarchies (boxes).", only_with="hierarchies")
    ] = False
    label_weight: Annotated[
        float | None,
        Option(
            "How much the label counts: against narrow intervals and sets, 0 to 1, 0.99 unless given (boxes); "
            "against the loss of all quasi-identifiers together, 1 unless given (mo-obam).",
            minimum=0,
        ),
    ] = None
    model: Annotated[
        PathLike | None, Option("Write the boxes to this JSON file, for new rows (boxes).", writes="boxes")
    ] = None
    out: Annotated[PathLike | None, Option("The .csv or .parquet file to write.")] = None
    method: Annotated[str, Option(f"The anonymizer: {', '.join(ANONYMIZERS)}.")] = "mo-obam"
    centroid: Annotated[
        str,
        Option(
            "What stands for a class: its mean, the mean rounded, or a real tuple (no invented values).",
            choices=CENTROIDS,
        ),
    ] = "mean"
    scale: Annotated[
        str,
        Option("How far apart numbers are: as they are, or in standard deviations of their column.", choices=SCALES),
    ] = "raw"
    tau: Annotated[
        Sequence[float], Option("More linkage thresholds to count people for (beside 0.05, 0.075, 0.1).")
    ] = ()
    overwrite: Annotated[bool, replacing("out", "model")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        method = ANONYMIZERS[self.method]
        method.check(
            {
                **self.asked(),
                "centroid": self.centroid,
                "scale": self.scale,
                "policy": self.policy,
                "hierarchies": self.hierarchies,
                "by_branch": self.by_branch,
                "label_weight": self.label_weight,
            }
        )
        if "label_weight" not in method.uses:
            self.refuse("label", because=f"{self.method} publishes centres, which are made for no label")
        if not method.recodes:
            self.refuse("model", because=f"{self.method} publishes centres, and keeps no recoding for other rows")
            if len(self.label) > 1:
                raise OptionError(f"{self.method} keeps one label predictable; name one, or use --method boxes")
        if self.label_weight is not None and self.label_weight > 1 and method.recodes:
            raise OptionError("the weight of the label (--label-weight) lies between 0 and 1, such as 0.9")
        if self.policy is not None:
            self.refuse("k", "l", because="the policy says what every class must satisfy")
        elif self.k is None:
            raise OptionError("how many records a class needs is not said; give --k, or a policy (boxes, mo-obam)")
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
    terminal.show_table(done.headline, ["", *terminal.numbers("before", "after")], rows)
    for filled in done.filled:
        terminal.aside(filled.sentence())
    for column, records in done.rare.items():
        terminal.aside(
            f"{column}: {count(records, 'record')} with a text that few people have; such texts count as one, *"
        )
    for column in done.suppressed:
        terminal.aside(f"{column} is identifying and was replaced by *")
    if done.as_they_are:
        terminal.aside(f"published as they are: {', '.join(done.as_they_are)}")
    if not done.exit_status:
        terminal.aside(
            "judged alone and not on record: aegis release judges it with all earlier releases of the same rows"
        )
        source = terminal.word(options.data) if isinstance(options.data, str | Path) else "SOURCE"
        policy = terminal.word(options.policy) if isinstance(options.policy, str | Path) else "POLICY.yaml"
        terminal.next_step(
            f"aegis release {terminal.word(options.out)} --rows-of {source} --policy {policy}"
            f"{terminal.role_words(options, of=Release)} --out RELEASE.csv"
        )

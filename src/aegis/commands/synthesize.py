"""``aegis synthesize``: a table of made-up rows with a promise of differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import MAKE, command
from aegis.commands.fields import (
    Data,
    HierarchiesLike,
    Label,
    PathLike,
    Report,
    WithBudget,
    WithIdentifying,
    Working,
    replacing,
)
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.synthesize import Synthesized

    DomainLike = PathLike | Mapping[str, Any]
else:
    DomainLike = PathLike

PERSON = "Unit of protection"


@dataclass(frozen=True)
class Synthesize(WithIdentifying, WithBudget, Working):
    """Draw made-up rows from noisy marginals of a table: differentially private, whatever else is known.

    Identifying columns and free text are left out. The certificate beside the file says what was measured, with how
    much noise, for how much of the budget.
    """

    data: Data
    _: KW_ONLY
    epsilon: Annotated[float, Option("The privacy budget: the smaller, the more is promised; 1 is a common choice.")]
    out: Annotated[PathLike | None, Option("A .csv or .parquet file.")] = None
    label: Label = None
    delta: Annotated[float, Option("The chance that the promise does not hold: far less than one in the rows.")] = 1e-6
    domain: Annotated[
        DomainLike | None, Option("Types, values, ranges and impossible combinations that are public knowledge (YAML).")
    ] = None
    purpose: Annotated[
        str,
        Option("What the rows are for: predicting the label, or the table as a whole.", choices=("label", "general")),
    ] = "label"
    rows: Annotated[
        int | None, Option("How many rows to draw (default: about as many as there are, at most a million).", minimum=1)
    ] = None
    unit: Annotated[
        str,
        Option("Whose presence is hidden: that of a row, or of a person.", section=PERSON, choices=("row", "person")),
    ] = "row"
    person: Annotated[
        str | None, Option("The column that says which rows are of one person (with --unit person).", section=PERSON)
    ] = None
    rows_per_person: Annotated[
        int | None,
        Option("At most so many rows of each person count, drawn at random (default: 1).", section=PERSON, minimum=1),
    ] = None
    hierarchies: Annotated[
        HierarchiesLike | None,
        Option("Folder of hierarchy files whose values are public knowledge; those made from the data are not."),
    ] = None
    seed: Annotated[
        int | None,
        Option("For tests only: noise by this seed, which protects nobody, and the certificate says so."),
    ] = None
    report: Report = None
    overwrite: Annotated[bool, replacing("out", "report")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit == "row":
            self.refuse("person", "rows_per_person", because="a row is the unit of protection")
        if self.out is None:
            self.refuse("ledger", "recipient", "despite_ledger", because="nothing is written, so nothing is released")


@command(
    "synthesize",
    Synthesize,
    run="aegis.library.synthesize:synthesize",
    group=MAKE,
    working="synthesizing",
    one_of=("out",),
)
def show(made: Synthesized, options: Synthesize) -> None:
    """What was promised, what it was spent on, and what was left out."""
    rows: list[list[str | Text]] = [
        [part.what, f"{part.times:,}", f"{part.sigma:,.1f}", f"{100 * part.share:.0f} %"] for part in made.parts
    ]
    terminal.show_table(made.headline, ["measured", "times", "noise (σ, records)", "of the budget"], rows)
    for column, reason in made.left_out.items():
        terminal.aside(f"left out: {column} ({reason})")
    terminal.aside(f"one unit of protection: {made.unit}")
    from_rows = [column for column, origin in made.origins.items() if origin == "found"]
    if from_rows:
        terminal.aside(
            f"values of {count(len(from_rows), 'column')} were found under the budget; a domain file (--domain) would "
            "leave it to what is measured"
        )
    of_hierarchies = [column for column, origin in made.origins.items() if origin == "a hierarchy"]
    if of_hierarchies:
        terminal.aside(
            f"values of {count(len(of_hierarchies), 'column')} are those of hierarchies, taken as public: the promise "
            "does not cover what is in there because these rows have it"
        )
    if made.ledger is not None:
        terminal.aside(f"entry {made.ledger} of the ledger")
    if made.certificate is not None:
        terminal.aside(f"certificate: {made.certificate}")
        terminal.next_step(f"aegis verify {terminal.word(made.out)} {terminal.word(made.certificate)}")

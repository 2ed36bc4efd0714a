"""``aegis compare``: what anonymizers cost the people who train models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.clusters.methods import ANONYMIZERS, check_methods
from aegis.commands import terminal
from aegis.commands.anonymize import FEWEST, Clustering
from aegis.commands.command import MAKE, command
from aegis.commands.fields import AllCores, Data, Label, PathLike, Reporting
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.compare import AnonymizerComparison

MODELS = "Training models"
TESTS_ON = ("released", "original")
BALANCES = ("auto", "none", "weights", "matching")


@dataclass(frozen=True)
class Compare(Clustering, Reporting):
    """Compare anonymizers by the F1 scores of models trained on their tables, with tests against the original."""

    data: Data
    _: KW_ONLY
    k: Annotated[int, Option(FEWEST, minimum=1)]
    methods: Annotated[
        Sequence[str], Option(f"Anonymizers to compare, all unless named: {', '.join(ANONYMIZERS)}.")
    ] = ()
    label: Label = None
    models: Annotated[
        Sequence[str], Option("Models to train, comma separated (default: the learners of `advise`).", section=MODELS)
    ] = ()
    splits: Annotated[int, Option("Train/test splits.", minimum=2, section=MODELS)] = 100
    test_share: Annotated[float, Option("The share of records to test on.", section=MODELS)] = 0.25
    training_rows: Annotated[int | None, Option("Train on at most this many records.", section=MODELS)] = 5_000
    test_rows: Annotated[int | None, Option("Test on at most this many records.", section=MODELS)] = 5_000
    positive: Annotated[str | None, Option("The label F1 is about (default: the rarer of two).", section=MODELS)] = None
    balance: Annotated[
        str,
        Option(
            "What is done about a rare label: weights, matching by propensity, or auto: weights below 10 %.",
            choices=BALANCES,
            section=MODELS,
        ),
    ] = "auto"
    matches: Annotated[
        int, Option("Records matched to each rare one (--balance matching).", minimum=1, section=MODELS)
    ] = 1
    test_on: Annotated[
        str,
        Option(
            "Which records are tested on: released ones as in the paper, or original ones as when a model is used.",
            choices=TESTS_ON,
            section=MODELS,
        ),
    ] = "released"
    cache: Annotated[
        PathLike | None, Option("A folder that keeps results: an interrupted comparison continues from there.")
    ] = None
    jobs: AllCores = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_methods(self.chosen_methods, self.asked())
        if self.balance != "matching":
            self.refuse("matches", because="records are matched with --balance matching only")

    @property
    def chosen_methods(self) -> tuple[str, ...]:
        """Those that are named, or all there are."""
        return tuple(self.methods) or tuple(ANONYMIZERS)


def kept(options: Compare) -> str:
    """What is said when Ctrl-C ended it."""
    return "" if options.cache is None else f"what was trained is kept in {options.cache}: the same command goes on"


@command("compare", Compare, run="aegis.library.compare:compare", group=MAKE, working="comparing", interrupted=kept)
def show(done: AnonymizerComparison, options: Compare) -> None:
    """The scores of every model on every table, with what the tests tell apart."""
    comparison = done.comparison
    marks = {
        (difference.first, difference.model): "▼" if difference.f1_difference < 0 else "▲"
        for difference in comparison.against_original
        if difference.significant
    }
    rows = [
        [
            str(row["table"]),
            f"{row['information_loss']:.5f}",
            *(f"{marks.get((row['table'], model), '')}{row[model]:.4f}" for model in comparison.models),
        ]
        for row in done.table_rows()
    ]
    splits, records = count(comparison.splits, "split"), count(comparison.training_rows, "record")
    title = f"{done.headline} · {splits} · {records} to train on"
    terminal.show_table(title, ["table", *terminal.numbers("loss", *comparison.models)], rows)
    terminal.aside("▼ ▲: apart from the original by Mann–Whitney U at 5 %, after Holm's correction")
    for note in done.notes:
        terminal.aside(note)
    if done.skipped:
        terminal.aside(f"left out, because nearly every record has its own text: {', '.join(done.skipped)}")
    if options.report is None:
        terminal.next_step("add --report OUT.html for intervals, tests and feature importance")

"""``aegis search``: the best configuration that satisfies a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import (
    GOALS,
    Data,
    Hierarchies,
    Label,
    PathLike,
    Person,
    PolicyLike,
    WithIdentifying,
    WithLedger,
    Working,
    replacing,
)
from aegis.errors import OptionError
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.search import Found
    from aegis.library.search_boxes import FoundBoxes

SPACES = ("levels", "cuts", "both", "boxes")


@dataclass(frozen=True)
class Search(WithIdentifying, WithLedger, Working):
    """Find the configuration that keeps most of the label among those that satisfy the policy."""

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("The privacy policy (YAML).")]
    label: Label = None
    person: Person = None
    hierarchies: Hierarchies = None
    order: Annotated[
        Sequence[str],
        Option("An order of texts, COLUMN=first<second<third; usual ones are known (months, sizes).", repeat=True),
    ] = ()
    space: Annotated[
        str,
        Option(
            "What is searched: levels of hierarchies, free cuts, both of them, or boxes of records (local recoding).",
            choices=SPACES,
        ),
    ] = "both"
    measure: Annotated[str | None, Option("The measure of utility to maximise; see aegis measures.")] = None
    train: Annotated[
        int,
        Option(
            "Train models on so many of the best and take the one they do best with (boxes: 1, there is one).",
            minimum=0,
        ),
    ] = 0
    goal: Annotated[
        str | None, Option("The metric that models are judged by; see advise.", choices=GOALS, only_with="train")
    ] = None
    seconds: Annotated[float | None, Option("Time limit of the search in seconds.", above=0)] = 60.0
    seed: Annotated[int, Option("Equal seeds give equal results.", only_with="train")] = 0
    out: Annotated[
        PathLike | None,
        Option(
            "Write the best configuration here (YAML or JSON; boxes: JSON, for aegis apply).", writes="configuration"
        ),
    ] = None
    save_hierarchies: Annotated[
        PathLike | None,
        Option("Write the hierarchies used, for editing, to this folder.", writes="hierarchies"),
    ] = None
    overwrite: Annotated[bool, replacing("out", "save_hierarchies")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space == "boxes":
            self.refuse("order", because="boxes put texts in order by the label, or by --hierarchies")
            self.refuse("measure", because="boxes are grown by what learners reach on records held out")
            self.refuse("seconds", because="boxes are grown to their end")
            self.refuse("save_hierarchies", because="boxes use no levels")
            if self.train > 1:
                raise OptionError("one recoding is found, so there is no more than one to train on; use --train 1")
            if self.out is not None and Path(self.out).suffix.lower() != ".json":
                raise OptionError("boxes are written as JSON; give --out a name that ends in .json")


@command("search", Search, run="aegis.library.search:search", group=CHOOSE, working="searching", anytime=True)
def show(answer: Found | FoundBoxes, options: Search) -> None:
    """The masks, how good they are, what is known about better ones, and the next step."""
    if options.space == "boxes":
        _show_boxes(cast("FoundBoxes", answer), options)
    else:
        _show_configuration(cast("Found", answer), options)


def _show_configuration(answer: Found, options: Search) -> None:
    rows = [[column, mask.describe()] for column, mask in answer.configuration.masks.items()]
    title = (
        f"{_told(answer.configuration.label, answer.utility, answer.unit, answer.measure)} · "
        f"{count(answer.classes, 'class', 'classes')}, "
        f"smallest {answer.smallest_class:,}, {answer.suppressed:,} of {count(answer.records, 'record')} suppressed"
    )
    console = terminal.out()
    terminal.show_table(title, ["column", "mask"], rows)
    weighed = f"{count(answer.nodes, 'configuration')} weighed"
    if answer.proved:
        console.print(f"Proved: no configuration of its space is better ({weighed}).")
    elif answer.bound is not None:
        console.print(f"{weighed}; none of the space searched can exceed {answer.bound:.5f} {answer.unit}.")
    else:
        console.print(f"{weighed}; nothing is known about better ones.")
    if answer.together_with:
        console.print(f"It satisfies the policy together with {count(len(answer.together_with), 'earlier release')}.")
    taken = answer.words
    for number, trained in enumerate(answer.trained, start=1):
        mark = " ← taken" if trained.configuration == taken else ""
        console.print(f"{number}. {answer.reached(trained)}{mark}")
    if answer.trained:
        console.print("These were found with the labels of the rows that test them: each figure may be a little high.")
    if answer.interrupted:
        return
    if options.out is None:
        terminal.aside("add --out BEST.yaml to keep it")
    config = terminal.word(options.out or "BEST.yaml")
    again = terminal.data_words(options.data, options)
    policy = terminal.word(options.policy)
    terminal.next_step(f"aegis release {again} --config {config} --policy {policy} --out released.parquet")


def _told(label: str | None, utility: float, unit: str, measure: str) -> str:
    """What a release tells, for somebody who never heard of the measure."""
    amount = f"{utility:.5f} {unit} (by {measure})"
    return f"the quasi-identifiers as released, together, about {label or 'the label'}: {amount}"


def _show_boxes(answer: FoundBoxes, options: Search) -> None:
    console = terminal.out()
    rows = [[column, words] for column, words in answer.words.items()]
    terminal.show_table(answer.headline, ["column", "what is published"], rows)
    if answer.utility is not None:
        console.print(f"{_told(answer.label, answer.utility, answer.unit, answer.measure)}.")
    if answer.utility_note is not None:
        terminal.aside(answer.utility_note)
    if answer.trained is not None:
        console.print(answer.trained.sentence())
    if options.out is None:
        terminal.aside("add --out BOXES.json to keep it for aegis apply")
    else:
        terminal.aside(f"new rows: aegis apply NEW --config {terminal.word(options.out)} --out FILE")
    again = terminal.data_words(options.data, options)
    words = [f"--policy {terminal.word(options.policy)}", f"--label {terminal.word(answer.label)}"]
    if options.person is not None:
        words.append(f"--person {terminal.word(options.person)}")
    if options.hierarchies is not None:
        words.append(f"--hierarchies {terminal.word(options.hierarchies)}")
    if options.seed:
        words.append(f"--seed {options.seed}")
    terminal.next_step(f"aegis anonymize {again} --method boxes {' '.join(words)} --out released.parquet")

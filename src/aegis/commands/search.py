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
    Option,
    Overwrite,
    PathLike,
    Person,
    PolicyLike,
    WithIdentifying,
    WithLedger,
    Working,
)
from aegis.errors import OptionError
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
    policy: Annotated[PolicyLike, Option("What the release must satisfy (YAML).")]
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
    measure: Annotated[str | None, Option("Utility of the released tuple; see aegis measures.")] = None
    train: Annotated[
        int,
        Option(
            "Let so many of the best race by what models reach on them, and take the best (boxes: 1, there is one).",
            minimum=0,
        ),
    ] = 0
    goal: Annotated[str | None, Option("What models are judged by; see advise.", choices=GOALS, only_with="train")] = (
        None
    )
    seconds: Annotated[float | None, Option("The most it may take.", above=0)] = 60.0
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
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is None and self.save_hierarchies is None:
            self.refuse("overwrite", because="without --out and --save-hierarchies nothing is written")
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
def show(found: Found | FoundBoxes, options: Search) -> None:
    """The masks, how good they are, what is known about better ones, and the next step."""
    if options.space == "boxes":
        _show_boxes(cast("FoundBoxes", found), options)
    else:
        _show_configuration(cast("Found", found), options)


def _show_configuration(found: Found, options: Search) -> None:
    rows = [[column, mask.describe()] for column, mask in found.configuration.masks.items()]
    title = (
        f"{_told(found.configuration.label, found.utility, found.unit, found.measure)} · "
        f"{count(found.classes, 'class', 'classes')}, "
        f"smallest {found.smallest_class:,}, {found.suppressed:,} of {count(found.records, 'record')} suppressed"
    )
    console = terminal.out()
    console.print(terminal.table(title, ["column", "mask"], rows))
    weighed = f"{count(found.nodes, 'configuration')} weighed"
    if found.proved:
        console.print(f"Proved: no configuration of its space is better ({weighed}).")
    elif found.bound is not None:
        console.print(f"{weighed}; none of the space searched can exceed {found.bound:.5f} {found.unit}.")
    else:
        console.print(f"{weighed}; nothing is known about better ones.")
    if found.together_with:
        console.print(f"It satisfies the policy together with {count(len(found.together_with), 'earlier release')}.")
    taken = found.words
    for number, trained in enumerate(found.trained, start=1):
        mark = " ← taken" if trained.configuration == taken else ""
        console.print(f"{number}. {found.reached(trained)}{mark}")
    if found.interrupted:
        return
    if options.out is None:
        terminal.aside("add --out BEST.yaml to keep it")
    config = terminal.word(options.out or "BEST.yaml")
    again = terminal.data_words(options.data, options)
    policy = terminal.word(options.policy)
    terminal.next_step(f"aegis release {again} --config {config} --policy {policy} --out released.parquet")


def _told(label: str | None, utility: float, unit: str, measure: str) -> str:
    """What a release tells, for somebody who never heard of the measure."""
    told = f"{utility:.5f} {unit} (by {measure})"
    return f"the quasi-identifiers as released, together, about {label or 'the label'}: {told}"


def _show_boxes(found: FoundBoxes, options: Search) -> None:
    console = terminal.out()
    rows = [[column, words] for column, words in found.words.items()]
    console.print(terminal.table(found.headline, ["column", "what is published"], rows))
    if found.utility is not None:
        console.print(f"{_told(found.label, found.utility, found.unit, found.measure)}.")
    if found.utility_note is not None:
        terminal.aside(found.utility_note)
    if found.trained is not None:
        console.print(found.trained.sentence())
    if options.out is None:
        terminal.aside("add --out BOXES.json to keep it for aegis apply")
    else:
        terminal.aside(f"new rows: aegis apply NEW --config {terminal.word(options.out)} --out FILE")
    again = terminal.data_words(options.data, options)
    words = [f"--policy {terminal.word(options.policy)}", f"--label {terminal.word(found.label)}"]
    if options.person is not None:
        words.append(f"--person {terminal.word(options.person)}")
    if options.hierarchies is not None:
        words.append(f"--hierarchies {terminal.word(options.hierarchies)}")
    if options.seed:
        words.append(f"--seed {options.seed}")
    terminal.next_step(f"aegis anonymize {again} --method boxes {' '.join(words)} --out released.parquet")

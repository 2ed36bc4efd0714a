"""``aegis generate`` and ``aegis diff``: configurations to choose from, and what sets two of them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, LOOK_UP, command
from aegis.commands.fields import (
    MASK_COLUMNS,
    STRENGTHS,
    ConfigurationLike,
    Data,
    Hierarchies,
    HierarchiesLike,
    Label,
    LabelBins,
    PathLike,
    Seed,
    WithIdentifying,
    Working,
    replacing,
)
from aegis.operation import Argument, Option, Options
from aegis.plural import count as counted

if TYPE_CHECKING:
    from aegis.library.configurations import Difference, Generated


@dataclass(frozen=True)
class Generate(WithIdentifying, Working):
    """Make masking configurations that fit a table, for editing or for the advisor."""

    data: Data
    _: KW_ONLY
    out: Annotated[PathLike | None, Option("The YAML or JSON file to write.")] = None
    label: Label = None
    label_bins: LabelBins = None
    count: Annotated[int, Option("How many configurations to make.", minimum=1)] = 50
    strength: Annotated[str, Option("How strong they are.", choices=STRENGTHS)] = "mixed"
    masks: Annotated[Sequence[str], Option("Only these masks, comma separated.")] = ()
    mask_columns: Annotated[Sequence[str], Option(MASK_COLUMNS)] = ()
    hierarchies: Hierarchies = None
    seed: Seed = 0
    overwrite: Annotated[bool, replacing("out")] = False


@command(
    "generate",
    Generate,
    run="aegis.library.configurations:generate",
    group=CHOOSE,
    working="counting",
    one_of=("out",),
)
def show_generated(generated: Generated, options: Generate) -> None:
    """Where they are, and how to rank them."""
    terminal.talk().print(f"{options.out}: {counted(len(generated), 'configuration')}", soft_wrap=True)
    again = terminal.data_words(options.data, options)
    again += terminal.label_words(options.label, options.label_bins)
    terminal.next_step(f"aegis advise {again} --configs {terminal.word(options.out)}")


@dataclass(frozen=True)
class Diff(Options):
    """Show what the second configuration does differently: + masked there only, - here only, ~ both."""

    first: Annotated[ConfigurationLike, Argument("A configuration file.")]
    second: Annotated[ConfigurationLike, Argument("Another one.")]
    _: KW_ONLY
    hierarchies: Annotated[
        HierarchiesLike | None, Option("Folder of hierarchy files that the configurations name.")
    ] = None


@command("diff", Diff, run="aegis.library.configurations:diff", group=LOOK_UP)
def show_difference(difference: Difference, options: Diff) -> None:
    """A line for each column that is masked differently."""
    for line in difference.lines or ("no difference",):
        terminal.out().print(line, markup=False, soft_wrap=True)

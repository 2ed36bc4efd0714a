"""``aegis merge``: the summaries of several providers, or of several parts, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import PathLike, SummaryLike, replacing
from aegis.commands.summarize import description, show_summary
from aegis.operation import Argument, Option, Options

if TYPE_CHECKING:
    from aegis.counts.summary import Summary


@dataclass(frozen=True)
class Merge(Options):
    """Add summaries of different rows under the same configurations: counts add up exactly, and no row is shared."""

    summaries: Annotated[Sequence[SummaryLike], Argument("Summary folders of different rows, two or more.")]
    _: KW_ONLY
    out: Annotated[PathLike | None, Option("Folder to write.")] = None
    name: Annotated[str | None, Option("What to call the whole (default: the name of the first).")] = None
    overwrite: Annotated[bool, replacing("out")] = False


def as_json(summary: Summary, options: Merge) -> dict[str, Any]:
    """What the folder now holds."""
    return description(summary, options.out)


@command("merge", Merge, run="aegis.library.merge:merge", group=CHOOSE, json=as_json, one_of=("out",))
def show(summary: Summary, options: Merge) -> None:
    """What the folder now holds, and what can be done with it."""
    show_summary(summary, options.out)

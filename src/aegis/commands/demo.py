"""``aegis demo``: the bundled clinic, ranked and reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.advise import show_ranking
from aegis.commands.command import START, command
from aegis.commands.fields import PathLike, Seed, Working
from aegis.operation import Option

if TYPE_CHECKING:
    from aegis.ranking.ranking import Ranking


@dataclass(frozen=True, kw_only=True)
class Demo(Working):
    """Write the clinic example, rank its configurations and write the report."""

    out: Annotated[PathLike, Option("Folder for the example and its report.")] = Path("demo")
    seed: Seed = 0


@command("demo", Demo, run="aegis.library.clinic:demo", group=START, working="counting")
def show(ranking: Ranking, options: Demo) -> None:
    """The ranking of the example, and where it lies."""
    folder = Path(options.out)
    show_ranking(ranking, top=20)
    terminal.talk().print(f"example: {folder / 'clinic.csv'}\nreport:  {(folder / 'ranking.html').resolve()}")
    terminal.next_step(f"aegis start YOUR.csv, or aegis inspect {terminal.word(folder / 'clinic.csv')}")

"""``aegis tune``: which number of classes, trade-off and k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.candidates.clusters.methods import check_tunable
from aegis.commands import terminal
from aegis.commands.anonymize import Categorical, Diversity
from aegis.commands.command import MAKE, command
from aegis.commands.fields import AllCores, Data, Reporting, Seed, WithRoles, Working
from aegis.operation import Option

if TYPE_CHECKING:
    from aegis.library.tune import Tuning


@dataclass(frozen=True)
class Tune(WithRoles, Working, Reporting):
    """Try a method over a grid of classes, trade-offs and k, and by search, and recommend a setting."""

    data: Data
    _: KW_ONLY
    method: Annotated[str, Option("The anonymizer, one whose classes can be chosen.")] = "mo-obam"
    k_values: Annotated[Sequence[int], Option("Values of k to try, comma separated.")] = (5, 10, 15, 20)
    classes_values: Annotated[
        Sequence[int],
        Option("Numbers of classes to try (default: 4, then 10 to a fifth of the unique tuples)."),
    ] = ()
    trade_off_values: Annotated[
        Sequence[float],
        Option("Trade-offs to try (default: 0.0001 to 1 by tens; from 0.01 for binary secrets)."),
    ] = ()
    l: Diversity = 1
    seconds_each: Annotated[float, Option("Seconds for each setting.", minimum=0)] = 2.0
    rounds: Annotated[int | None, Option("Search steps instead of time, for equal results anywhere.", minimum=1)] = None
    search: Annotated[bool, Option("Also search the number of classes for each k.")] = True
    categorical: Categorical = ()
    jobs: AllCores = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tunable(self.method)
        if self.rounds is not None:
            self.refuse("seconds_each", because="steps are counted (--rounds), not seconds")


@command("tune", Tune, run="aegis.library.tune:tune", group=MAKE, working="tuning")
def show(done: Tuning, options: Tune) -> None:
    """The best setting for each k, what is recommended, and the command that uses it."""
    figures = ("k", "classes", "λ", "loss", "entropy", "smallest class", "linkage 0.05", "homogeneity")
    rows = [
        [
            f"{row['k']}",
            f"{row['classes']:,}",
            f"{row['trade_off']:g}",
            f"{row['information_loss']:.5f}",
            f"{row['entropy_bits']:.2f}",
            f"{row['smallest_class']:,}",
            f"{row['linkage_0.05']:,}",
            f"{row['homogeneity']:,}",
            "recommended" if row["recommended"] else "",
        ]
        for row in done.table_rows()
    ]
    tried = len(done.tuning.grid) + len(done.tuning.search)
    title = f"{done.source} · best of {tried} settings for each k"
    terminal.show_table(title, [*terminal.numbers(*figures), ""], rows)
    terminal.out().print(done.headline, soft_wrap=True)
    if done.exit_status:
        return
    best = done.tuning.recommended.setting
    sensitive = terminal.word(",".join(done.sensitive))
    secrets = f"--sensitive {sensitive} --trade-off {best.trade_off:g} " if done.sensitive else ""
    quasi = terminal.word(",".join(done.quasi))
    again = terminal.data_words(options.data, options)
    terminal.next_step(
        f"aegis anonymize {again} --quasi {quasi} {secrets}--k {best.k} --classes {best.classes} --out OUT.csv"
    )

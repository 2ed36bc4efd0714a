"""``aegis evaluate``: does choosing from counts choose well on this table?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import LOOK_UP, command
from aegis.commands.fields import (
    STRENGTHS,
    Data,
    Jobs,
    Label,
    LabelBins,
    PathLike,
    Proposing,
    Reporting,
    Seed,
    WithRoles,
    Working,
)
from aegis.errors import OptionError
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.evaluation.evaluated import Agreement, Evaluation, Spread

K_ANONYMOUS, RELEASED = "k-anonymous", "released"
FAMILIES = (*STRENGTHS, K_ANONYMOUS, RELEASED)


@dataclass(frozen=True)
class Evaluate(Proposing, WithRoles, Working, Reporting):
    """Train models on every configuration and compare all ways of choosing one without training.

    Models: logistic-regression, linear-svm, kernel-svm, random-forest, boosted-trees, sgd, naive-bayes, mlp.
    """

    data: Data
    _: KW_ONLY
    label: Label = None
    label_bins: LabelBins = None
    families: Annotated[
        Sequence[str],
        Option(
            "Sets of --generate candidates, comma separated; released: masks, noise, clustered and sanitized tables.",
            choices=FAMILIES,
            only_with="generate",
        ),
    ] = ()
    tables: Annotated[
        Sequence[PathLike], Option("A released table of the same rows in the same order.", repeat=True)
    ] = ()
    draws: Annotated[
        int, Option("Draw the random families this often, by seed, seed + 1, ….", minimum=1, only_with="generate")
    ] = 1
    models: Annotated[Sequence[str], Option("Models to train, comma separated; three by default.")] = ()
    splits: Annotated[int, Option("Train/test splits per configuration.", minimum=1)] = 4
    most_rows: Annotated[int | None, Option("Train on at most this many rows per split.", minimum=50)] = None
    shortlist: Annotated[int, Option("Also try cheap models on this many of the advisor's first.", minimum=0)] = 8
    jobs: Jobs = 1
    cache: Annotated[PathLike | None, Option("File that keeps results, so that a stopped run goes on.")] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.families:
            return
        self.refuse("strength", "masks", because="the families (--families) say which masks and how strong")
        if self.generate < 2:
            raise OptionError("a family needs at least two candidates; say how many with --generate")
        if self.tables and RELEASED not in self.families:
            raise OptionError(f"tables are judged in the family {RELEASED}; name it with --families as well")
        if set(self.families) == {K_ANONYMOUS}:
            self.refuse("draws", because=f"nothing in the family {K_ANONYMOUS} is drawn: a search finds it again")


@command("evaluate", Evaluate, run="aegis.library.evaluate:evaluate", group=LOOK_UP, working="training")
def show(done: Evaluation, options: Evaluate) -> None:
    """How near every way of choosing comes to training models on all candidates, family by family."""
    from aegis.evaluation.evaluated import over_draws

    for family in done.families:
        low = min(float(draw.gold.accuracies.min()) for draw in family.draws)
        high = max(float(draw.gold.accuracies.max()) for draw in family.draws)
        candidates = sum(len(draw.gold.scores) for draw in family.draws)
        of = f"{done.name}, {family.name}" if len(done.families) > 1 else done.name
        drawn, per_draw = "", ""
        if len(family.draws) > 1:
            drawn, per_draw = f" in {len(family.draws)} draws", ", for one draw"
        title = (
            f"{of}: {count(candidates, 'candidate')}{drawn}, accuracy {100 * low:.1f} to {100 * high:.1f} %, "
            f"{family.training_seconds:.1f} CPU seconds to train them all{per_draw}"
        )
        _table(title, family.spreads, ranges=len(family.draws) > 1)
        for note in family.notes:
            terminal.aside(note)
    if len(done.families) > 1:
        title = f"{done.name}: means over {count(len(done.families), 'family', 'families')}"
        _table(title, over_draws([done.selectors]), ranges=False)
    if options.report is None:
        terminal.next_step("the same with --report OUT.html for the accuracy of every configuration")


def _table(title: str, selectors: Sequence[Spread], *, ranges: bool) -> None:
    def cell(spread: Spread, text: Callable[[Agreement], str]) -> str:
        return text(spread.mean) + (f" ({text(spread.lowest)} to {text(spread.highest)})" if ranges else "")

    rows = [
        [
            spread.mean.selector,
            cell(spread, lambda agreement: f"{agreement.spearman:.2f}"),
            cell(spread, lambda agreement: f"{agreement.kendall:.2f}"),
            cell(spread, lambda agreement: f"{100 * agreement.regret:.2f}"),
            cell(spread, lambda agreement: f"{100 * agreement.top5:.0f} %"),
            f"{spread.mean.cpu_seconds:.2f}",
        ]
        for spread in selectors
    ]
    figures = terminal.numbers("Spearman", "Kendall", "regret (points)", "in the best five", "CPU s")
    terminal.show_table(title, ["selector", *figures], rows)

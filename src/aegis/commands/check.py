"""``aegis check``: does a table satisfy a policy?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import JUDGE, command
from aegis.commands.fields import (
    ConfigurationLike,
    Data,
    Hierarchies,
    Label,
    PathLike,
    Person,
    PolicyLike,
    SeveralConfigurations,
    WithIdentifying,
)
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.check import Checked


@dataclass(frozen=True)
class Check(WithIdentifying):
    """Check a table against a policy: as it is, masked by a configuration, or by several whose rows can be linked.

    Files that were released of it are judged like configurations.

    Exit status 1 if the policy is not satisfied.
    """

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("The privacy policy (YAML).")]
    config: Annotated[
        SeveralConfigurations | None,
        Option(
            "Mask by this configuration first (YAML or JSON); repeated, judge what all of them show together.",
            repeat=True,
        ),
    ] = None
    release: Annotated[
        Sequence[PathLike],
        Option(
            "A file that was released of this table: masked as its certificate says, or in the table's order; "
            "repeated, judge what all of them show together.",
            repeat=True,
        ),
    ] = ()
    suppress: Annotated[bool, Option("Suppress failing records up to the policy's limit.")] = True
    label: Label = None
    person: Person = None
    hierarchies: Hierarchies = None

    def __post_init__(self) -> None:
        if self.config is not None and not isinstance(self.config, list | tuple):
            object.__setattr__(self, "config", (self.config,))
        super().__post_init__()

    @property
    def configs(self) -> tuple[ConfigurationLike, ...]:
        """The configurations, however many were given."""
        return tuple(self.config or ())  # type: ignore[arg-type]  # made a tuple when it came


@command("check", Check, run="aegis.library.check:check", group=JUDGE)
def show(checked: Checked, options: Check) -> None:
    """What every model found, the classes that fail, and the next step."""
    several = f"{', '.join(checked.together)} together · " if checked.together else ""
    terminal.show_verdicts(
        checked.models,
        title=f"{several}{', '.join(checked.roles.quasi_identifying)} · {count(checked.records, 'record')}",
        classes=checked.classes,
        smallest=checked.smallest_class,
        unit=checked.unit,
        suppressed=checked.suppressed,
    )
    _show_worst(checked)
    _show_unlisted(checked.unlisted_are_insensitive)
    again = terminal.data_words(options.data, options)
    policy = terminal.word(options.policy)
    if checked.reason is not None:
        terminal.out().print(Text.assemble(("not satisfied: ", "bold red"), checked.reason), soft_wrap=True)
        terminal.next_step(f"aegis search {again} --policy {policy}")
        return
    terminal.out().print(Text("satisfied", style="bold green"))
    if len(options.configs) == 1:
        config = terminal.word(options.configs[0])
        terminal.next_step(f"aegis release {again} --config {config} --policy {policy} --out released.parquet")


def _show_unlisted(names: Sequence[str]) -> None:
    """A release asks for the roles of columns that have none: say so before."""
    if names:
        terminal.aside(
            f"no role was given to {', '.join(names)}: judged as insensitive; a release asks for it (--insensitive)"
        )


def _show_worst(checked: Checked) -> None:
    if not checked.worst_classes:
        return
    rows = [[f"{w.size:,}", f"{w.classes:,}", f"{w.records:,}", ", ".join(w.models)] for w in checked.worst_classes]
    size = "people" if checked.unit else "size"
    title = "classes that fail before suppression" if checked.satisfied else "classes that fail"
    terminal.out().print(Text(f"{title}, smallest first", style="bold"))
    terminal.show_table("", [*terminal.numbers(size, "classes", "records"), "fail"], rows)

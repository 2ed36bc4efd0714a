"""Options that several operations share, each declared once.

Under a type checker the aliases name everything Python may give (a data frame, a `Policy`); at run time they name what
a terminal gives, which is all that the command line needs to know and costs no import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from aegis.errors import OptionError
from aegis.operation import Argument, Option, Options, fields_of, names
from aegis.progress import Progress

if TYPE_CHECKING:
    from aegis.counts.summary import Summary
    from aegis.data.dataset import Dataset
    from aegis.data.hierarchy import Hierarchy
    from aegis.data.schema import Roles
    from aegis.masking.configuration import Configuration
    from aegis.privacy.policy import Policy

    class ArrowTable(Protocol):
        """A table that can hand its columns over as Arrow: pandas, Polars, PyArrow, Ibis."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    TableLike = str | Path | ArrowTable | Dataset
    SummaryLike = str | Path | Summary
    PolicyLike = str | Path | Policy | Mapping[str, Any]
    ConfigurationLike = str | Path | Configuration | Mapping[str, Any]
    ConfigurationsLike = str | Path | Configuration | Mapping[str, Any] | Sequence[Configuration | Mapping[str, Any]]
    SeveralConfigurations = ConfigurationLike | Sequence[ConfigurationLike]
    HierarchiesLike = str | Path | Mapping[str, Hierarchy]
    RolesLike = str | Path | Roles
    PathLike = str | Path
else:
    TableLike = SummaryLike = str
    PolicyLike = ConfigurationLike = ConfigurationsLike = HierarchiesLike = RolesLike = PathLike = Path
    SeveralConfigurations = Sequence[Path]

DATA = "Reading the data"
ROLES = "Roles of columns"
LEDGER = "Earlier releases"
NO_LEDGER = "none"
"""The answer to ``--ledger`` that judges a table alone."""
STRENGTHS = ("light", "medium", "heavy", "mixed", "any")

Data = Annotated[
    TableLike,
    Argument(
        "A CSV, Parquet, Excel, JSON lines, Arrow or DuckDB file, or a URL (…#table); in Python also a data frame."
    ),
]
Seed = Annotated[int, Option("Equal seeds give equal results.")]
Overwrite = Annotated[
    bool, Option("Replace output files that exist.", replaces=("out", "report", "model", "fitted", "mapping"))
]
"""For operations that always write; see `replacing`."""
Report = Annotated[PathLike | None, Option("Write a self-contained HTML report here.", writes="report")]
Label = Annotated[str | None, Option("The column to be predicted.", section=ROLES)]
LabelBins = Annotated[int | None, Option("Cut a continuous label into this many classes.", section=ROLES, minimum=2)]
Quasi = Annotated[Sequence[str], Option("Quasi-identifying columns, comma separated.", section=ROLES)]
Sensitive = Annotated[Sequence[str], Option("Sensitive columns, comma separated.", section=ROLES)]
Hierarchies = Annotated[
    HierarchiesLike | None, Option("Folder of hierarchy files (default: hierarchies beside the data).")
]
Jobs = Annotated[int, Option("Processes that work at the same time.", minimum=1)]
Engine = Annotated[
    str | None, Option("URL of an engine; the data is then a table inside it, or a file that it reads.", section=DATA)
]
RolesFile = Annotated[
    RolesLike | None, Option("A roles file (default: DATA.roles.yaml beside the data).", section=ROLES)
]
Identifying = Annotated[Sequence[str], Option("Columns that name a person, comma separated.", section=ROLES)]
Person = Annotated[
    str | None,
    Option("The column that says which rows are of one person: people are counted instead of rows.", section=ROLES),
]
AllCores = Annotated[
    int | None, Option("Processes that work at the same time (default: one for each core).", minimum=1)
]


def replacing(*outputs: str) -> Option:
    """``--overwrite`` of an operation that writes only where one of these ``outputs`` is given."""
    return Option("Replace output files that exist.", only_with=outputs, replaces=outputs)


@dataclass(frozen=True, kw_only=True)
class Working(Options):
    """What long work takes."""

    progress: Annotated[
        Progress | None, Option("Called with (done, total, what) as the work proceeds.", terminal=False)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Reporting(Options):
    """What an operation takes that writes a page, and nothing else."""

    report: Report = None
    overwrite: Annotated[bool, replacing("report")] = False


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How the table is opened."""

    delimiter: Annotated[str | None, Option("Field delimiter of a text file.", section=DATA, blank=True)] = None
    encoding: Annotated[str, Option("Encoding of a text file.", section=DATA)] = "utf-8"
    missing: Annotated[Sequence[str], Option("A text that means a missing value.", section=DATA, repeat=True)] = ()
    decimal_comma: Annotated[
        Sequence[str], Option("Columns of numbers that are written 1.234,5, comma separated.", section=DATA)
    ] = ()
    day_first: Annotated[
        Sequence[str], Option("Columns of dates that are written 31.12.2024, comma separated.", section=DATA)
    ] = ()
    month_first: Annotated[
        Sequence[str], Option("Columns of dates that are written 12/31/2024, comma separated.", section=DATA)
    ] = ()
    table: Annotated[str | None, Option("The table of a database.", section=DATA)] = None
    engine: Engine = None


READING = ("delimiter", "encoding", "missing", "decimal_comma", "day_first", "month_first", "table", "engine")
"""The options of `Reading`: useless where the table is open already."""


@dataclass(frozen=True, kw_only=True)
class WithIdentifying(Reading):
    """How the table is opened, and which of its columns name people; other roles are read from a file only."""

    roles: RolesFile = None
    identifying: Identifying = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        label = getattr(self, "label", None)
        labels = names(label) if isinstance(label, str) else tuple(label or ())
        for role in ("identifying", "quasi", "insensitive"):  # a label may be sensitive as well
            both = [name for name in getattr(self, role, ()) if name in labels]
            if both:
                raise OptionError(f"{both[0]!r} is named the label and under --{role}; give it one role")


@dataclass(frozen=True, kw_only=True)
class WithRoles(WithIdentifying):
    """How the table is opened, and what part its columns play."""

    quasi: Quasi = ()
    sensitive: Sensitive = ()
    insensitive: Annotated[Sequence[str], Option("Insensitive columns, comma separated.", section=ROLES)] = ()


@dataclass(frozen=True, kw_only=True)
class WithLedger(Options):
    """What a release is judged together with."""

    ledger: Annotated[
        PathLike | None,
        Option(
            "The ledger of earlier releases (default: DATA.ledger.jsonl beside a file; no ledger with --engine); "
            "none to leave them out of account.",
            section=LEDGER,
        ),
    ] = None
    recipient: Annotated[
        str | None, Option("Who gets the release, by a name of your own (default: anybody).", section=LEDGER)
    ] = None

    unused_without_ledger: ClassVar[frozenset[str]] = frozenset({"recipient", "despite_ledger", "rows_of"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_ledger:
            about_it = [field.name for field in fields_of(type(self)) if field.name in self.unused_without_ledger]
            self.refuse(*about_it, because="without a ledger nothing is judged together or remembered")

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger is asked, one that is not named included."""
        return self.ledger is None or str(self.ledger) != NO_LEDGER


DespiteLedger = Annotated[
    str | None,
    Option(
        "A reason to release although the policy is broken together with earlier releases; the certificate states it.",
        section=LEDGER,
    ),
]


@dataclass(frozen=True, kw_only=True)
class WithBudget(WithLedger):
    """What spends a privacy budget, and the reason to spend more than its limit or off the record."""

    unused_without_ledger: ClassVar[frozenset[str]] = frozenset({"recipient"})

    despite_ledger: Annotated[
        str | None,
        Option("A reason to release although the limit on record has no room for it, or is passed by.", section=LEDGER),
    ] = None


GOALS = ("accuracy", "balanced-accuracy", "auc", "log-loss", "r2", "mae")
Goal = Annotated[
    str | None, Option("The metric that models are judged by (default: by the label's kind).", choices=GOALS)
]

LEDGER_OPTIONS = ("ledger", "recipient")

ROLE_OPTIONS = ("roles", "identifying", "quasi", "sensitive", "insensitive")


MASK_COLUMNS = (
    "Columns that generated configurations mask (default: the quasi-identifying ones, or all if none is named)."
)


@dataclass(frozen=True, kw_only=True)
class Proposing(Options):
    """Which configurations are compared: those of files, and generated ones."""

    configs: Annotated[
        ConfigurationsLike | None, Option("A configuration file, or a folder of them (YAML or JSON).")
    ] = None
    generate: Annotated[int, Option("Make this many configurations.", minimum=0)] = 0
    strength: Annotated[
        str, Option("How strong generated configurations are.", choices=STRENGTHS, only_with="generate")
    ] = "mixed"
    masks: Annotated[Sequence[str], Option("Only these masks in generated configurations.", only_with="generate")] = ()
    mask_columns: Annotated[Sequence[str], Option(MASK_COLUMNS, only_with="generate")] = ()
    hierarchies: Hierarchies = None

"""What a paper prints, what its recipe gives here, and what the product reaches: claims and figures as plain data.

Nothing is drawn and nothing is trained here: a chapter fills these values, a report turns them into a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from aegis.errors import InputError


class Verdict(StrEnum):
    """How the paper's own recipe, followed here, stands beside what the paper prints."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_COMPARABLE = "not comparable"

    @classmethod
    def of(cls, same: bool | None) -> Verdict:
        """Same or different; None is not comparable."""
        return cls.NOT_COMPARABLE if same is None else cls.SAME if same else cls.DIFFERENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A value that the paper gives as a range; ``None`` leaves a side open.

    >>> str(Between(low=0.45, high=0.5)), str(Between(high=0.55)), str(Between(low=400))
    ('0.45 to 0.5', 'below 0.55', 'above 400')
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise InputError("a range needs a lower or an upper end")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InputError("the lower end of a range lies above its upper end")

    def __str__(self) -> str:
        if self.low is None:
            return f"below {self.high:g}"
        return f"above {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"

    def distance(self, value: float) -> float:
        """How far ``value`` lies outside."""
        below = 0.0 if self.low is None else self.low - value
        above = 0.0 if self.high is None else value - self.high
        return max(below, above, 0.0)


Value = float | int | str | Between | None
"""A number, a range, or words where the paper gives no number."""


LEVEL = 0.05
"""A test shows something below this p-value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """A test of whether the product does better than the paper's recipe does; ``p`` is one-sided.

    >>> Significance(name="Mann–Whitney U", p=0.01).shows, str(Significance(name="Mann–Whitney U", p=0.01))
    (True, 'Mann–Whitney U, p = 0.01')
    """

    name: str
    p: float

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise InputError(f"a p-value lies between 0 and 1, not at {self.p}")

    @property
    def shows(self) -> bool:
        return self.p < LEVEL

    def __str__(self) -> str:
        return f"{self.name}, p < 0.0001" if self.p < 1e-4 else f"{self.name}, p = {self.p:.2g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of the paper, with two answers that are never counted for one another.

    ``printed`` is what ``source`` prints. ``as_printed`` is what the paper's own recipe gives here, None where the
    recipe cannot be followed; the verdict is about it alone. ``ours`` is the product at its best, None where it has
    nothing to add; it is better only where ``test`` shows it.
    """

    what: str
    source: str
    printed: Value = None
    as_printed: Value = None
    ours: Value = None
    unit: str = ""
    verdict: Verdict = Verdict.NOT_COMPARABLE
    spread: Between | None = None
    test: Significance | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.as_printed is None and self.verdict is not Verdict.NOT_COMPARABLE:
            raise InputError(f"{self.what!r} has a verdict without a value by the paper's recipe")
        if self.test is not None and self.ours is None:
            raise InputError(f"{self.what!r} has a test without a value of ours")

    @property
    def better(self) -> bool:
        """Whether the product does better than the paper's recipe, shown by a test."""
        return self.test is not None and self.test.shows

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "source": self.source,
            "printed": _plain(self.printed),
            "as_printed": _plain(self.as_printed),
            "spread": _plain(self.spread),
            "ours": _plain(self.ours),
            "unit": self.unit,
            "verdict": str(self.verdict),
            "better": self.better,
            "test": None if self.test is None else {"name": self.test.name, "p": self.test.p},
            "why": self.why,
        }


def judged(
    *,
    what: str,
    source: str,
    printed: float | Between,
    as_printed: float | None = None,
    tolerance: float = 0.0,
    spread: Between | None = None,
    ours: Value = None,
    test: Significance | None = None,
    unit: str = "",
    why: str = "",
) -> Claim:
    """A claim whose verdict follows from the numbers: within ``tolerance`` of the printed value or range it is the
    same, and where the recipe is random also if the printed value lies in the ``spread`` of its runs.

    >>> judged(what="loss", source="Table 1", printed=0.5, as_printed=0.52, tolerance=0.05).verdict.value
    'same'
    >>> runs = Between(low=0.4, high=0.7)
    >>> judged(what="loss", source="Table 1", printed=0.5, as_printed=0.6, spread=runs).verdict.value
    'same'
    >>> judged(what="loss", source="Table 1", printed=0.5, as_printed=None, ours=0.2).verdict.value
    'not comparable'
    """
    if as_printed is None or not math.isfinite(as_printed):
        verdict, as_printed = Verdict.NOT_COMPARABLE, None
    else:
        bounds = printed if isinstance(printed, Between) else Between(low=printed, high=printed)
        near = bounds.distance(as_printed) <= tolerance * (1 + 1e-9)
        inside = spread is not None and not isinstance(printed, Between) and spread.distance(printed) <= 0
        verdict = Verdict.of(near or inside)
    return Claim(
        what=what,
        source=source,
        printed=printed,
        as_printed=as_printed,
        ours=ours,
        unit=unit,
        verdict=verdict,
        spread=spread,
        test=test,
        why=why,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A named line; ``band`` holds a lower and an upper value per point. Not a number leaves a gap."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    band: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.band is not None and len(self.band) != len(self.x)):
            raise InputError(f"the series {self.name!r} has x, y and band of different lengths")

    @classmethod
    def through(cls, name: str, points: Iterable[tuple[float, float]]) -> Series:
        """A line through points (x, y)."""
        pairs = tuple(points)
        return cls(name=name, x=tuple(x for x, _ in pairs), y=tuple(y for _, y in pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFigure:
    """Lines over one axis. A logarithmic axis leaves out what is not positive."""

    title: str
    x_axis: str
    y_axis: str
    series: tuple[Series, ...]
    caption: str = ""
    log_x: bool = False
    log_y: bool = False
    kind: str = field(default="lines", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow:
    """A value with a range around it: a median with quartiles, a mean with an interval. ``note`` stands beside it."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""
    marked: bool = False

    @classmethod
    def of(
        cls, label: str, value: float, spread: Between | None = None, *, note: str = "", marked: bool = False
    ) -> RangeRow:
        """A value in the spread of its runs, a point without one."""
        low, high = (None, None) if spread is None else (spread.low, spread.high)
        ends = (value, value) if low is None or high is None else (low, high)
        return cls(label=label, value=value, low=ends[0], high=ends[1], note=note, marked=marked)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFigure:
    """One row per thing, with its range; the caption says what the range is. ``guide`` draws an upright line."""

    title: str
    axis: str
    rows: tuple[RangeRow, ...]
    caption: str = ""
    note_heading: str = ""
    guide: float | None = None
    kind: str = field(default="ranges", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigure:
    """A table: texts stand at the left, numbers at the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    kind: str = field(default="table", init=False)

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InputError(f"the table {self.title!r} has rows that do not fit its columns")


Figure = LineFigure | RangeFigure | TableFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table or figure of the paper: how it was repeated, what came out, and the pictures."""

    title: str
    text: str
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    command: str = ""
    cpu_seconds: float = 0.0

    @property
    def summary(self) -> dict[str, int]:
        """How often each kind occurs: every claim has one verdict, and those that are better are counted beside."""
        counted = {str(verdict): sum(claim.verdict is verdict for claim in self.claims) for verdict in Verdict}
        return {**counted, "better": sum(claim.better for claim in self.claims)}

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "text": self.text,
            "command": self.command,
            "cpu_seconds": round(self.cpu_seconds, 1),
            "summary": self.summary,
            "claims": [claim.to_json() for claim in self.claims],
            "figures": [_figure(figure) for figure in self.figures],
        }


def incomparable(section: Section, *, why: str) -> Section:
    """The same section with no verdict and no test: of a run that says nothing about the paper."""
    claims = tuple(
        replace(claim, verdict=Verdict.NOT_COMPARABLE, test=None, spread=None, why=why) for claim in section.claims
    )
    return replace(section, claims=claims)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A paper, section by section. ``choices`` states what the paper leaves open and how it was settled here."""

    paper: str
    title: str
    sections: tuple[Section, ...]
    choices: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    quick: bool = False
    cpu_seconds: float = 0.0

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(claim for section in self.sections for claim in section.claims)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How often each verdict was given."""
        return {verdict: sum(claim.verdict is verdict for claim in self.claims) for verdict in Verdict}

    @property
    def better(self) -> int:
        """Of how many claims the product does better than the paper's recipe, shown by a test."""
        return sum(claim.better for claim in self.claims)

    @property
    def comparable(self) -> int:
        """How many values the paper's recipe could be followed for."""
        return len(self.claims) - self.verdicts[Verdict.NOT_COMPARABLE]

    @property
    def same_share(self) -> float:
        """The share of the comparable values that are the same; not a number where none is."""
        return self.verdicts[Verdict.SAME] / self.comparable if self.comparable else math.nan

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis reproduce --json`` prints."""
        return {
            "paper": self.paper,
            "title": self.title,
            "seed": self.seed,
            "quick": self.quick,
            "cpu_seconds": self.cpu_seconds,
            "verdicts": {str(verdict): count for verdict, count in self.verdicts.items()},
            "comparable": self.comparable,
            "same_share": _plain(self.same_share),
            "better": self.better,
            "choices": dict(self.choices),
            "sections": [section.to_json() for section in self.sections],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Between):
        return [value.low, value.high]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    return value


def _figure(figure: Figure) -> dict[str, Any]:
    if isinstance(figure, TableFigure):
        # asdict would take a range apart into a mapping
        return {
            "kind": figure.kind,
            "title": figure.title,
            "columns": list(figure.columns),
            "rows": _plain(figure.rows),
            "caption": figure.caption,
        }
    shown: dict[str, Any] = _plain(asdict(figure))
    return shown

"""What a paper printed beside what this library measures: claims with a verdict, figures as plain data.

Nothing is drawn and nothing is trained here: a chapter fills these values, a report turns them into a page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

from aegis.errors import InputError


class Verdict(StrEnum):
    """How ours stands beside the paper's."""

    SAME = "same"
    BETTER = "better"
    DIFFERENT = "different"
    NOT_COMPARABLE = "not comparable"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of the paper: ``source`` cites the table, figure or section that prints ``paper``."""

    what: str
    source: str
    paper: Value
    ours: Value
    unit: str = ""
    verdict: Verdict
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "source": self.source,
            "paper": _plain(self.paper),
            "ours": _plain(self.ours),
            "unit": self.unit,
            "verdict": str(self.verdict),
            "why": self.why,
        }


def judged(
    *,
    what: str,
    source: str,
    paper: float | Between,
    ours: float,
    tolerance: float = 0.0,
    better: Literal["higher", "lower"] | None = None,
    unit: str = "",
    why: str = "",
) -> Claim:
    """A claim whose verdict follows from the numbers: within ``tolerance`` of the paper's value or range it is the
    same, beyond it on the side that ``better`` names it is better, otherwise different.

    >>> judged(what="loss", source="Table 1", paper=0.5, ours=0.2, tolerance=0.05, better="lower").verdict.value
    'better'
    >>> judged(what="loss", source="Table 1", paper=Between(low=0.4, high=0.5), ours=0.52, tolerance=0.05).verdict.value
    'same'
    """
    if not math.isfinite(ours):
        verdict = Verdict.NOT_COMPARABLE
    else:
        given = paper if isinstance(paper, Between) else Between(low=paper, high=paper)
        verdict = Verdict.SAME if given.distance(ours) <= tolerance * (1 + 1e-9) else Verdict.DIFFERENT
        if verdict is Verdict.DIFFERENT and better is not None:
            beyond = given.low is None or ours > given.low
            beyond = beyond if better == "higher" else given.high is None or ours < given.high
            verdict = Verdict.BETTER if beyond else Verdict.DIFFERENT
    return Claim(what=what, source=source, paper=paper, ours=ours, unit=unit, verdict=verdict, why=why)


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

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "text": self.text,
            "claims": [one.to_json() for one in self.claims],
            "figures": [_figure(one) for one in self.figures],
        }


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

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis reproduce --json`` prints."""
        return {
            "paper": self.paper,
            "title": self.title,
            "seed": self.seed,
            "quick": self.quick,
            "cpu_seconds": self.cpu_seconds,
            "verdicts": {str(verdict): count for verdict, count in self.verdicts.items()},
            "choices": dict(self.choices),
            "sections": [one.to_json() for one in self.sections],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Between):
        return [value.low, value.high]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
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
    made: dict[str, Any] = _plain(asdict(figure))
    return made

"""What a comparison of candidates says: each of them, the one that is recommended, and why.

It is kept between two sittings, so that whoever leaves before the release need not race again. The file holds counts
and masks of the table, so only its owner may read it. It is taken only where nothing that went into it has changed: the
file of the data, roles, policy, settings and version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import ConfigurationError, InputError, PolicyNotSatisfiedError
from aegis.learners.race_result import kept_words
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, to_mapping
from aegis.plural import count
from aegis.ranking.ranking import RankedConfiguration, Ranking
from aegis.report.page import picture, render_page, write_page
from aegis.result import Result, called

SEARCHED = "search"
AS_GOOD = 0.001
"""Candidates this near to the best are taken for equally useful; the safer one is recommended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCandidate:
    """A candidate as the picture shows it.

    ``risk`` is the highest chance to name somebody's row, ``average_risk`` the share of rows that somebody names
    rightly who knows everybody's quasi-identifiers; None for made-up rows, which are nobody's. ``on_front`` says
    that no other is both more useful and less risky; ``can_be_released`` that it can be released with one command, with
    certificate, attacks and ledger.
    """

    name: str
    kind: str
    performance: float
    low: float
    high: float
    kept: str
    smallest_class: int | None
    average_risk: float | None
    suppressed: int
    on_front: bool
    can_be_released: bool = field(metadata=called("can_leave"))
    why: str

    @property
    def risk(self) -> float | None:
        return None if not self.smallest_class else 1.0 / self.smallest_class

    def as_row(self) -> dict[str, Any]:
        """What a table of candidates shows."""
        return {
            "candidate": self.name,
            "kind": self.kind,
            "performance": self.performance,
            "low": self.low,
            "high": self.high,
            "smallest_class": self.smallest_class,
            "rows_suppressed": self.suppressed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture as SVG; a notebook shows it by itself."""

    svg: str

    def _repr_html_(self) -> str:
        return render_page("picture.html", picture=picture(self.svg))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it as a page of its own."""
        return write_page(path, self._repr_html_(), overwrite=overwrite)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """All candidates, the most useful first, and the one that is recommended.

    ``rejected`` says why others were no candidates. ``alone_before`` is how many rows of the table as it is stand
    alone by their quasi-identifiers, ``average_risk_before`` its average risk (see `ComparedCandidate`).
    ``finished`` are boxes and clusters that can be released, row by row; they are made with ``seed`` as they were
    raced. ``unit`` is the column by which people were counted; None where rows were.
    """

    ranking: Ranking
    candidates: tuple[ComparedCandidate, ...]
    recommended: str
    why: str
    configurations: Mapping[str, Configuration]
    rejected: Mapping[str, str]
    alone_before: int
    average_risk_before: float
    notes: tuple[str, ...] = field(default=())
    finished: frozenset[str] = field(default=frozenset())
    seed: int = 0
    unit: str | None = None

    @property
    def best(self) -> ComparedCandidate:
        """The recommended candidate."""
        return self.named(self.recommended)

    def named(self, name: str) -> ComparedCandidate:
        return next(candidate for candidate in self.candidates if candidate.name == name)

    @property
    def able(self) -> tuple[str, ...]:
        """The candidates that can be released."""
        return tuple(candidate.name for candidate in self.candidates if candidate.can_be_released)

    def instead(self, name: str) -> str:
        """Why a candidate that cannot be released here cannot, and the command that makes it where there is one."""
        if name in self.rejected:
            return f"{name} was refused: {self.rejected[name]}"
        commands = {place.configuration: place.command for place in self.ranking.ranking}
        own = f": {commands[name]}" if commands.get(name) else ""
        return f"{name} is made by a command of its own{own}"

    def without(self, name: str, *, because: str) -> Comparison:
        """The comparison where a release of ``name`` was refused, and the next one is recommended."""
        left = tuple(
            replace(candidate, can_be_released=False) if candidate.name == name else candidate
            for candidate in self.candidates
        )
        if not any(candidate.can_be_released for candidate in left):
            raise PolicyNotSatisfiedError(f"{name} was refused, and no other candidate can be released: {because}")
        recommended = recommend(left, self.ranking)
        others = tuple(candidate for candidate in left if candidate.name != name)
        return replace(
            self,
            candidates=left,
            recommended=recommended.name,
            why=why_chosen(recommended, others, self.ranking, self.unit),
            rejected={**self.rejected, name: because},
            configurations={
                other_name: masks for other_name, masks in self.configurations.items() if other_name != name
            },
            finished=self.finished - {name},
            notes=(*self.notes, f"{name} was not released: {because}"),
        )

    def configuration(self, name: str | None = None) -> Configuration:
        """The masks of a candidate, the recommended one unless named; raises for one that is none of masks."""
        chosen = name or self.recommended
        if chosen not in self.configurations:
            raise ConfigurationError(f"{chosen!r} is no candidate of masks; those are {', '.join(self.configurations)}")
        return self.configurations[chosen]

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per candidate."""
        return [
            {
                **candidate.as_row(),
                "average_risk": candidate.average_risk,
                "recommended": candidate.name == self.recommended,
            }
            for candidate in self.candidates
        ]

    @property
    def headline(self) -> str:
        return self.why

    def plot(self) -> Plot:
        """Usefulness against risk, as a picture that a notebook shows."""
        from aegis.report.start_report import risk_chart  # an extra

        return Plot(svg=risk_chart(self))

    def shown(self, value: float) -> str:
        """A performance as people read it."""
        assert self.ranking.race is not None
        return self.ranking.race.shown(value)

    def so_far(self) -> str:
        """What a first picture says, to somebody who waits for the whole."""
        return (
            f"a first picture: {self.best.name} reaches {self.shown(self.best.performance)} so far; every kind is made "
            "and raced now, which takes longer"
        )

    def to_json(self) -> dict[str, Any]:
        """What is kept between two sittings."""
        return {
            "ranking": self.ranking.to_json(),
            "configurations": {name: to_mapping(configuration) for name, configuration in self.configurations.items()},
            "recommended": self.recommended,
            "why": self.why,
            "alone_before": self.alone_before,
            "average_risk_before": self.average_risk_before,
            "notes": list(self.notes),
            "finished": sorted(self.finished),
            "seed": self.seed,
            "unit": self.unit,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Comparison:
        ranking = Ranking.from_json(content["ranking"])
        configurations = {
            name: configurations_from_mapping(masks, name=name)[0] for name, masks in content["configurations"].items()
        }
        finished = frozenset(content["finished"])
        return cls(
            ranking=ranking,
            candidates=candidates_of(ranking, {*configurations, *finished}),
            recommended=content["recommended"],
            why=content["why"],
            configurations=configurations,
            rejected=ranking.rejected,
            alone_before=int(content["alone_before"]),
            average_risk_before=float(content["average_risk_before"]),
            notes=tuple(content["notes"]),
            finished=finished,
            seed=int(content["seed"]),
            unit=content["unit"],
        )


def candidates_of(ranking: Ranking, able: Collection[str]) -> tuple[ComparedCandidate, ...]:
    places = ranking.ranking
    sign = 1.0 if ranking.higher_is_better else -1.0
    return tuple(_compared(place, places, sign, can_be_released=place.configuration in able) for place in places)


def _compared(
    place: RankedConfiguration, all_: Sequence[RankedConfiguration], sign: float, *, can_be_released: bool
) -> ComparedCandidate:
    assert place.performance is not None
    size = None if place.privacy is None else place.privacy.smallest_class
    return ComparedCandidate(
        name=place.configuration,
        kind="search" if place.configuration == SEARCHED else place.kind,
        performance=place.performance,
        low=place.interval[0],
        high=place.interval[1],
        kept=kept_words(place),
        smallest_class=size,
        average_risk=None if place.privacy is None else place.privacy.average_risk,
        suppressed=0 if place.privacy is None else place.privacy.suppressed,
        on_front=place.privacy is not None
        and place.privacy.average_risk is not None
        and not any(_beats(other, place, sign) for other in all_),
        can_be_released=can_be_released,
        why="; ".join(place.reasons[:2]),
    )


def _beats(other: RankedConfiguration, place: RankedConfiguration, sign: float) -> bool:
    """Whether ``other`` is at least as useful and as safe, and better in one of them."""
    if other.privacy is None or place.privacy is None:
        return False
    if other.privacy.average_risk is None or place.privacy.average_risk is None:
        return False
    useful = sign * ((other.performance or 0.0) - (place.performance or 0.0))
    riskier = other.privacy.average_risk - place.privacy.average_risk
    return useful >= 0 and riskier <= 0 and (useful > 0 or riskier < 0)


def recommend(candidates: Sequence[ComparedCandidate], ranking: Ranking) -> ComparedCandidate:
    """The most useful that can be released; among equally useful ones the one that gives fewest rows away.

    Where nothing tells the label all are equally useful.
    """
    able = [candidate for candidate in candidates if candidate.can_be_released]
    if not able:
        because = f": {ranking.rejected[SEARCHED]}" if SEARCHED in ranking.rejected else ""
        raise PolicyNotSatisfiedError(
            f"no candidate satisfies the policy ({count(len(ranking.rejected), 'candidate')} rejected){because}. "
            "Ask for less, name fewer quasi-identifiers, or let more rows be suppressed"
        )
    sign = 1 if ranking.higher_is_better else -1
    first = able[0]
    label_told = ranking.race is None or ranking.race.label_told
    near = [
        candidate
        for candidate in able
        if not label_told or sign * (first.performance - candidate.performance) <= AS_GOOD
    ]
    return min(
        near, key=lambda candidate: (candidate.average_risk or 0.0, candidate.suppressed, -sign * candidate.performance)
    )


def why_chosen(
    chosen: ComparedCandidate, candidates: Sequence[ComparedCandidate], ranking: Ranking, unit: str | None
) -> str:
    race = ranking.race
    assert race is not None
    sentence = (
        f"{chosen.name} reaches {race.shown(chosen.performance)} {race.title} (95 %: {race.shown(chosen.low)} to "
        f"{race.shown(chosen.high)}), where the unmasked table reaches {race.shown(race.unmasked.performance)} and "
        f"guessing {race.shown(race.guessing)}"
    )
    if chosen.smallest_class:
        counted = ("row",) if unit is None else ("person", "people")
        sentence += "; by the quasi-identifiers nobody can be narrowed down to fewer than "
        sentence += count(chosen.smallest_class, *counted)
    if chosen.average_risk is not None:
        sentence += f", and whoever guesses names {100 * chosen.average_risk:.3g} % of the rows rightly"
    if chosen.suppressed:
        sentence += f"; {count(chosen.suppressed, 'row')} would be suppressed"
    if race.unmasked.performance != race.guessing and chosen.kept.startswith("0%"):
        sentence += (
            ". That keeps nothing: ask for less, name fewer quasi-identifiers, or give the search more --seconds"
        )
    better = [
        candidate
        for candidate in candidates
        if not candidate.can_be_released and _more_useful(candidate, chosen, ranking)
    ]
    if better:
        named = ", ".join(f"{candidate.name} ({race.shown(candidate.performance)})" for candidate in better[:3])
        sentence += f". More useful, and released by a command of their own: {named}"
    return sentence


def _more_useful(candidate: ComparedCandidate, chosen: ComparedCandidate, ranking: Ranking) -> bool:
    difference = candidate.performance - chosen.performance
    return (difference if ranking.higher_is_better else -difference) > AS_GOOD


def comparison_path(project: Path) -> Path:
    """Where the comparison of a project is kept."""
    return project.with_name(f".{project.stem}.comparison.json")


def comparison_key(source: str, ledger: object, **decided: Any) -> str:
    """What a comparison depends on, as a hash."""
    file = Path(source)
    state: list[Any] = [source]
    if "://" not in source and file.is_file():
        about = file.stat()
        state += [about.st_size, about.st_mtime_ns]
        beside = file.with_name(f"{file.name}.ledger.jsonl")
        state.append(beside.stat().st_size if beside.is_file() else 0)
        hierarchies = sorted((file.parent / "hierarchies").glob("*.csv"))
        state.append([[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in hierarchies])
    text = json.dumps([__version__, state, str(ledger), decided], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def keep_comparison(path: Path, key: str, comparison: Comparison) -> None:
    """Write a comparison for the next sitting."""
    with draft_of(path, overwrite=True, mode=PRIVATE) as draft:
        draft.write_text(json.dumps({"key": key, "comparison": comparison.to_json()}), encoding="utf-8")


def kept_comparison(path: Path, key: str) -> Comparison | None:
    """The comparison of the last sitting, if nothing changed since."""
    try:
        content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Comparison.from_json(content["comparison"]) if content["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, StopIteration, InputError):
        return None  # a file of another version, or somebody's edit: the race is run again

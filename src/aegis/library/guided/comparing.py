"""The fourth step: candidates of every kind, made and raced under the policy, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aegis.commands.fields import TableLike
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError, GuaranteeError, LabelError, PolicyNotSatisfiedError
from aegis.library.advise import advise
from aegis.library.candidate_kinds import CANDIDATES
from aegis.library.guided.finishing import FINISHED, why_not_finished
from aegis.library.judging import read_policy
from aegis.library.search import Found, search
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, to_mapping
from aegis.plural import count
from aegis.progress import Progress
from aegis.ranking.ranking import RankedConfiguration, Ranking, kept_words
from aegis.releases.ledger import ledger_path
from aegis.report.page import picture, render_page, write_page
from aegis.result import Result

SEARCHED = "search"
FOUND_BY_MASKS = frozenset({"masks", "search"})
"""Kinds that are configurations of masks: `release` writes them with certificate, attacks and ledger."""
USUAL_SECONDS, MORE_SECONDS = 20.0, 120.0
"""How long a search may take if nobody says so; one that found nothing but hiding everything is given more."""
NO_LEDGER = "none"
"""The answer to ``--ledger`` that judges a table alone."""
AS_GOOD = 0.001
"""Candidates this near to the best are taken for equally useful; the safer one is recommended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is made: kinds of the registry, how many generated maskings, and how long a search may take.

    ``seconds`` is a limit. None stands for the usual ones: see `USUAL_SECONDS`. Models are trained on at most ``rows``
    towards ``goal``, or the one that the label's kind suggests. Without ``ways`` boxes are cut the usual way.
    """

    kinds: tuple[str, ...] = ()
    generate: int = 40
    seconds: float | None = None
    rows: int = 20_000
    seed: int = 0
    goal: str | None = None
    ways: bool = True

    @property
    def tries(self) -> tuple[float, ...]:
        """How long a search may take, and how long once more where it found nothing."""
        return (USUAL_SECONDS, MORE_SECONDS) if self.seconds is None else (self.seconds,)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The kinds named, or all there are."""
        return self.kinds or tuple(name for name, _ in CANDIDATES.items())

    def to_mapping(self) -> dict[str, Any]:
        limit = {} if self.seconds is None else {"seconds": self.seconds}
        goal = {} if self.goal is None else {"goal": self.goal}
        return {"kinds": list(self.wanted), "generate": self.generate, **limit, **goal}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """How a table leaves: as it is read again then, under which ledger."""

    data: TableLike
    reading: Mapping[str, Any]
    ledger: str | Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A candidate as the picture shows it.

    ``risk`` is the highest chance to name somebody's row, ``average_risk`` the share of rows that somebody names
    rightly who knows everybody's quasi-identifiers; None for made-up rows, which are nobody's. ``on_front`` says
    that no other is both more useful and less risky; ``can_leave`` that it can be released with one command, with
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
    can_leave: bool
    why: str

    @property
    def risk(self) -> float | None:
        return None if not self.smallest_class else 1.0 / self.smallest_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture as SVG; a notebook shows it by itself."""

    svg: str

    def _repr_html_(self) -> str:
        return render_page("picture.html", picture=picture(self.svg))

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it as a page of its own."""
        return write_page(path, self._repr_html_(), overwrite=overwrite)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """All candidates, the most useful first, and the one that is recommended.

    ``rejected`` says why others were no candidates. ``alone_before`` is how many rows of the table as it is stand alone
    by their quasi-identifiers, ``average_risk_before`` its average risk (see `Compared`). ``finished`` are boxes and
    clusters that can be released, row by row; they are made with ``seed`` as they were raced. ``unit`` is the column
    by which people were counted; None where rows were.
    """

    ranking: Ranking
    candidates: tuple[Compared, ...]
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
    def best(self) -> Compared:
        """The recommended candidate."""
        return self.named(self.recommended)

    def named(self, name: str) -> Compared:
        return next(each for each in self.candidates if each.name == name)

    @property
    def able(self) -> tuple[str, ...]:
        """The candidates that can leave."""
        return tuple(each.name for each in self.candidates if each.can_leave)

    def without(self, name: str, *, because: str) -> Comparison:
        """The comparison where a release of ``name`` was refused, and the next one is recommended."""
        left = tuple(replace(each, can_leave=False) if each.name == name else each for each in self.candidates)
        if not any(each.can_leave for each in left):
            raise PolicyNotSatisfiedError(f"{name} was refused, and no other candidate can leave: {because}")
        recommended = _recommended(left, self.ranking)
        others = tuple(each for each in left if each.name != name)
        return replace(
            self,
            candidates=left,
            recommended=recommended.name,
            why=_why(recommended, others, self.ranking, self.unit),
            rejected={**self.rejected, name: because},
            configurations={each: masks for each, masks in self.configurations.items() if each != name},
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
                "candidate": each.name,
                "kind": each.kind,
                "performance": each.performance,
                "low": each.low,
                "high": each.high,
                "smallest_class": each.smallest_class,
                "average_risk": each.average_risk,
                "rows_suppressed": each.suppressed,
                "recommended": each.name == self.recommended,
            }
            for each in self.candidates
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

    def to_json(self) -> dict[str, Any]:
        """What is kept between two sittings."""
        return {
            "ranking": self.ranking.to_json(),
            "configurations": {name: to_mapping(each) for name, each in self.configurations.items()},
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
            name: configurations_from_mapping(each, name=name)[0] for name, each in content["configurations"].items()
        }
        finished = frozenset(content["finished"])
        return cls(
            ranking=ranking,
            candidates=_candidates(ranking, {*configurations, *finished}),
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


def compare(
    data: TableLike,
    *,
    roles: Roles,
    policy: Mapping[str, Any],
    settings: Settings,
    reading: Mapping[str, Any],
    label_bins: int | None = None,
    ledger: str | Path | None = None,
    recipient: str | None = None,
    leaves_from: Leaving | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Make candidates of the kinds that are wanted and race those that satisfy the policy, with the ledger.

    ``leaves_from`` says how the table leaves where that is not as ``data`` is read here.
    """
    asked = read_policy(policy)
    together: dict[str, Any] = {"ledger": ledger, "recipient": recipient}
    constrained = something_left(data, ledger, reading)
    notes: list[str] = []
    rejected: dict[str, str] = {}
    configurations: list[Configuration] = []
    if SEARCHED in settings.wanted:
        try:
            for seconds in settings.tries:
                answer = search(
                    data,
                    policy=policy,
                    roles=roles,
                    seconds=seconds,
                    progress=_titled(progress, "searching"),
                    **together,
                    **reading,
                )
                assert isinstance(answer, Found), "masks are searched, not boxes"
                searched = answer
                if not searched.cut_short or searched.classes > 1:
                    break  # on a busy machine a search may be cut before it found more than hiding everything
            configurations.append(replace(searched.configuration, name=SEARCHED))
            nothing = " with nothing but hiding everything" if searched.classes <= 1 else ""
            if searched.cut_short:
                notes.append(f"the search ended after {seconds:g} s without a proof{nothing}; --seconds gives it more")
            elif not searched.proved:
                notes.append(f"the search ended{nothing} where no change helped, which is no proof that none is better")
        except (GuaranteeError, LabelError) as error:
            rejected[SEARCHED] = str(error)
    kinds = tuple(kind for kind in settings.wanted if kind not in FOUND_BY_MASKS)
    if constrained and kinds:
        notes.append(
            f"something left of this table before, and only masks can be judged together with that: "
            f"{', '.join(kinds)} were not made"
        )
        kinds = ()
    ranking = advise(
        data,
        roles=roles,
        policy=policy,
        configs=configurations or None,
        generate=settings.generate if "masks" in settings.wanted else 0,
        candidates=("masks", *kinds),
        seconds=settings.tries[0] if "sanitized" in kinds else None,
        rows=settings.rows,
        label_bins=label_bins,
        goal=settings.goal,
        seed=settings.seed,
        ways=settings.ways or "boxes" not in kinds,
        progress=progress,
        **together,
        **reading,
    )
    opened = data if isinstance(data, Dataset) else open_dataset(data, **reading)
    before = count_classes(opened, roles.quasi_identifying)
    known = dict(ranking.configurations)
    raced = {place.configuration for place in ranking.ranking if place.kind in FINISHED}
    leaving = leaves_from or Leaving(data=data, reading=reading, ledger=ledger)
    because = why_not_finished(leaving.data, asked, reading=leaving.reading, ledger=leaving.ledger) if raced else None
    if because is not None:
        notes.append(because)
    finished = frozenset() if because is not None else frozenset(raced)
    candidates = _candidates(ranking, {*known, *finished})
    recommended = _recommended(candidates, ranking, rejected)
    return Comparison(
        ranking=replace(ranking, rejected={**rejected, **ranking.rejected}),
        candidates=candidates,
        recommended=recommended.name,
        why=_why(recommended, candidates, ranking, asked.unit),
        configurations={name: known[name] for name in known if name in {each.name for each in candidates}},
        rejected={**rejected, **ranking.rejected},
        alone_before=int((before.sizes == 1).sum()),
        average_risk_before=before.classes / max(before.records, 1),
        notes=tuple(notes),
        finished=finished,
        seed=settings.seed,
        unit=asked.unit,
    )


def something_left(data: TableLike, ledger: str | Path | None, reading: Mapping[str, Any]) -> bool:
    if str(ledger) == NO_LEDGER or not isinstance(data, str | Path) or "://" in str(data):
        return False
    return (Path(ledger) if ledger is not None else ledger_path(Path(data), table=reading.get("table"))).is_file()


def _titled(progress: Progress | None, title: str) -> Progress | None:
    if progress is None:
        return None
    call: Callable[[int, int | None, str], None] = progress
    return lambda done, total, what: call(done, total, f"{title}: {what}")


def _candidates(ranking: Ranking, able: Collection[str]) -> tuple[Compared, ...]:
    places = ranking.ranking
    sign = 1.0 if ranking.higher_is_better else -1.0
    return tuple(_compared(place, places, sign, can_leave=place.configuration in able) for place in places)


def _compared(
    place: RankedConfiguration, all_: Sequence[RankedConfiguration], sign: float, *, can_leave: bool
) -> Compared:
    assert place.performance is not None
    size = None if place.privacy is None else place.privacy.smallest_class
    return Compared(
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
        can_leave=can_leave,
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


def _recommended(
    candidates: Sequence[Compared], ranking: Ranking, rejected: Mapping[str, str] = MappingProxyType({})
) -> Compared:
    """The most useful that can leave; among equally useful ones the one that gives fewest rows away."""
    able = [each for each in candidates if each.can_leave]
    if not able:
        because = f": {rejected[SEARCHED]}" if SEARCHED in rejected else ""
        raise PolicyNotSatisfiedError(
            f"no candidate satisfies the policy ({count(len(ranking.rejected), 'candidate')} rejected){because}. "
            "Ask for less, name fewer quasi-identifiers, or let more rows be suppressed"
        )
    sign = 1 if ranking.higher_is_better else -1
    first = able[0]
    near = [each for each in able if sign * (first.performance - each.performance) <= AS_GOOD]
    return min(near, key=lambda each: (each.average_risk or 0.0, each.suppressed, -sign * each.performance))


def _why(chosen: Compared, candidates: Sequence[Compared], ranking: Ranking, unit: str | None) -> str:
    race = ranking.race
    assert race is not None
    said = (
        f"{chosen.name} reaches {race.shown(chosen.performance)} {race.title} (95 %: {race.shown(chosen.low)} to "
        f"{race.shown(chosen.high)}), where the unmasked table reaches {race.shown(race.unmasked.performance)} and "
        f"guessing {race.shown(race.guessing)}"
    )
    if chosen.smallest_class:
        counted = ("row",) if unit is None else ("person", "people")
        said += "; by the quasi-identifiers nobody can be narrowed down to fewer than "
        said += count(chosen.smallest_class, *counted)
    if chosen.average_risk is not None:
        said += f", and whoever guesses names {100 * chosen.average_risk:.3g} % of the rows rightly"
    if chosen.suppressed:
        said += f"; {count(chosen.suppressed, 'row')} would be suppressed"
    if race.unmasked.performance != race.guessing and chosen.kept.startswith("0%"):
        said += ". That keeps nothing: ask for less, name fewer quasi-identifiers, or give the search more --seconds"
    better = [each for each in candidates if not each.can_leave and _more_useful(each, chosen, ranking)]
    if better:
        named = ", ".join(f"{each.name} ({race.shown(each.performance)})" for each in better[:3])
        said += f". More useful, and released by a command of their own: {named}"
    return said


def _more_useful(each: Compared, chosen: Compared, ranking: Ranking) -> bool:
    difference = each.performance - chosen.performance
    return (difference if ranking.higher_is_better else -difference) > AS_GOOD

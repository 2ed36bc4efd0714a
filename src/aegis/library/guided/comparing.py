"""The fourth step: candidates of every kind, made and raced under the policy, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import NO_LEDGER, TableLike
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.library.advise import advise
from aegis.library.advising.candidate_kinds import CANDIDATES
from aegis.library.guided.candidate_release import FINISHED, why_not_finished
from aegis.library.guided.comparison import SEARCHED, Comparison, candidates_of, recommend, why_chosen
from aegis.library.tables.judging import read_policy
from aegis.progress import Progress
from aegis.releases.ledger import ledger_path

FOUND_BY_MASKS = frozenset({"masks", "search"})
"""Kinds that are configurations of masks: `release` writes them with certificate, attacks and ledger."""
QUICK_KINDS = ("search", "boxes")
QUICK_SECONDS, QUICK_ROWS = 2.0, 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is made: kinds of the registry, how many generated maskings, and how long a search may take.

    ``seconds`` is a limit; None stands for the usual ones. Models are trained on at most ``rows``
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
    def wanted(self) -> tuple[str, ...]:
        """The kinds named, or all there are."""
        return self.kinds or tuple(name for name, _ in CANDIDATES.items())

    def quick(self) -> Settings | None:
        """What is made for a first picture after seconds, raced alone while the other kinds take their time; None where
        somebody named kinds, or all of them are quick."""
        kinds = tuple(kind for kind in QUICK_KINDS if kind in self.wanted)
        if self.kinds or len(kinds) < len(QUICK_KINDS):
            return None
        seconds = min(QUICK_SECONDS, self.seconds or QUICK_SECONDS)
        return replace(self, kinds=kinds, generate=0, seconds=seconds, rows=QUICK_ROWS, ways=False)

    def to_mapping(self) -> dict[str, Any]:
        limit = {} if self.seconds is None else {"seconds": self.seconds}
        goal = {} if self.goal is None else {"goal": self.goal}
        return {"kinds": list(self.wanted), "generate": self.generate, **limit, **goal}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSource:
    """Where the release is made from: the table as it is read again then, and its ledger."""

    data: TableLike
    reading: Mapping[str, Any]
    ledger: str | Path | None


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
    released_from: ReleaseSource | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Make candidates of the kinds that are wanted and race those that satisfy the policy, with the ledger.

    ``released_from`` says what the release is made from where that is not ``data`` as it is read here.
    """
    rules = read_policy(policy)
    together: dict[str, Any] = {"ledger": ledger, "recipient": recipient}
    constrained = something_left(data, ledger, reading)
    notes: list[str] = []
    kinds = settings.wanted
    if constrained and (alone := tuple(kind for kind in kinds if kind not in FOUND_BY_MASKS)):
        notes.append(
            f"something was released from this table before, and only masks can be judged together with that: "
            f"{', '.join(alone)} were not made"
        )
        kinds = tuple(kind for kind in kinds if kind in FOUND_BY_MASKS)
    ranking = advise(
        data,
        roles=roles,
        policy=policy,
        generate=settings.generate if "masks" in kinds else 0,
        candidates=("masks", *(kind for kind in kinds if kind != "masks")),
        seconds=settings.seconds if {SEARCHED, "sanitized"} & set(kinds) else None,
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
    masks_of = dict(ranking.configurations)
    raced = {place.configuration for place in ranking.ranking if place.kind in FINISHED}
    source = released_from or ReleaseSource(data=data, reading=reading, ledger=ledger)
    because = why_not_finished(source.data, rules, reading=source.reading, ledger=source.ledger) if raced else None
    if because is not None:
        notes.append(because)
    finished = frozenset() if because is not None else frozenset(raced)
    candidates = candidates_of(ranking, {*masks_of, *finished})
    recommended = recommend(candidates, ranking)
    return Comparison(
        ranking=ranking,
        candidates=candidates,
        recommended=recommended.name,
        why=why_chosen(recommended, candidates, ranking, rules.unit),
        configurations={
            name: masks_of[name] for name in masks_of if name in {candidate.name for candidate in candidates}
        },
        rejected=ranking.rejected,
        alone_before=int((before.sizes == 1).sum()),
        average_risk_before=before.classes / max(before.records, 1),
        notes=tuple(notes),
        finished=finished,
        seed=settings.seed,
        unit=rules.unit,
    )


def something_left(data: TableLike, ledger: str | Path | None, reading: Mapping[str, Any]) -> bool:
    if str(ledger) == NO_LEDGER or not isinstance(data, str | Path) or "://" in str(data):
        return False
    return (Path(ledger) if ledger is not None else ledger_path(Path(data), table=reading.get("table"))).is_file()

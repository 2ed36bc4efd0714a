"""Verdicts and what models reach to a ranking: the candidate that models learn most from comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aegis.learners.goal import GOALS
from aegis.learners.race_result import Raced, RaceResult
from aegis.plural import listed
from aegis.ranking.ranking import (
    BEHIND,
    GAINS,
    LOSES,
    LOST_TOGETHER,
    NOTHING_LOST,
    Privacy,
    RankedConfiguration,
    Ranking,
)

LEARNERS_SAID = {"line": "a regularised line", "forest": "a forest", "boosting": "boosted trees"}


def rank_raced(
    counted: Ranking,
    raced: RaceResult,
    *,
    privacy: Mapping[str, Privacy] | None = None,
    ids: Mapping[str, str] | None = None,
    reasons: Mapping[str, tuple[str, ...]] | None = None,
    commands: Mapping[str, str] | None = None,
) -> Ranking:
    """The order of a race, with the reasons of ``counted``, the ranking of the same configurations from counts.

    ``privacy`` is what was counted of each candidate; ``ids``, ``reasons`` and ``commands`` are those of candidates
    that are no configurations, by name.
    """
    by_name = {place.configuration: place for place in counted.ranking}
    places = tuple(
        _place(
            candidate,
            by_name.get(candidate.name),
            privacy=(privacy or {}).get(candidate.name),
            id=(ids or {}).get(candidate.name, ""),
            reasons=(reasons or {}).get(candidate.name, ()),
            command=(commands or {}).get(candidate.name, ""),
            label_told=raced.label_told,
        )
        for candidate in raced.ranking
    )
    return replace(
        counted,
        measure=raced.goal,
        unit=GOALS[raced.goal].title,
        higher_is_better=GOALS[raced.goal].higher_is_better,
        ranking=places,
        race=raced.facts,
        notes=(*_notes(counted, raced), *raced.notes),
    )


def _place(
    candidate: Raced,
    counted: RankedConfiguration | None,
    *,
    privacy: Privacy | None,
    id: str,
    reasons: tuple[str, ...],
    command: str,
    label_told: bool,
) -> RankedConfiguration:
    if candidate.doubt is not None:
        reasons = (*reasons, candidate.doubt)
    if counted is not None:
        reasons = _agreeing(counted.reasons, candidate, label_told=label_told)
    return RankedConfiguration(
        rank=candidate.rank,
        configuration=candidate.name,
        id=id if counted is None else counted.id,
        kind=candidate.kind,
        performance=candidate.performance,
        interval=candidate.interval,
        half_width=candidate.half_width,
        kept=candidate.kept,
        loss_interval=candidate.loss_interval,
        no_loss_found=candidate.no_loss_found,
        stage=candidate.stage,
        protocol=candidate.protocol,
        doubt=candidate.doubt,
        command=command,
        like_best=candidate.in_best_group,
        privacy=privacy,
        reasons=reasons,
        attributes=() if counted is None else counted.attributes,
    )


def _agreeing(reasons: tuple[str, ...], candidate: Raced, *, label_told: bool) -> tuple[str, ...]:
    """What counts say of single attributes, as far as it agrees with what models say of all of them together.

    Where models found no loss, an attribute that loses alone is one that they do not miss; where they lose and no
    attribute does, it is lost of what attributes tell together; where nothing tells the label, what attributes lose of
    it is noise.
    """
    models_lose = candidate.kept is not None and candidate.kept < 1 and not candidate.no_loss_found
    agreeing = []
    for reason in reasons:
        about = next((words for words in (LOSES, BEHIND) if words in reason), None)
        if reason.startswith("keeps ") or (about is not None and not label_told):
            continue
        if about is not None and candidate.no_loss_found:
            before, attributes = reason.split(about, 1)
            than = "" if about == LOSES else " against the best"
            reason = f"{before}models do not miss what is lost{than}, taken alone, on {attributes}"
        elif reason.endswith(NOTHING_LOST) and models_lose:
            reason = reason.removesuffix(NOTHING_LOST) + LOST_TOGETHER
        agreeing.append(reason)
    return tuple(agreeing)


def _notes(counted: Ranking, raced: RaceResult) -> tuple[str, ...]:
    models = [LEARNERS_SAID.get(name, name) for name in raced.learners]
    rows = max(stage.rows for stage in raced.stages)
    notes = [
        f"goal {raced.goal}: {raced.goal_reason}",
        f"ranked by what {listed(models)} reach on rows they were not trained on, up to {rows:,} of the "
        f"{raced.table_rows:,} rows; what a column loses by itself is given in {counted.unit} about the label",
    ]
    if raced.interrupted:
        notes.append("the race was interrupted: this is what was known by then")
    return (*notes, *(note for note in counted.notes if "attributes one by one" not in note and GAINS not in note))

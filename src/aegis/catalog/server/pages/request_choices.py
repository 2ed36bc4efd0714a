"""The configurations that an expert may approve for a request, in the order of the ranking."""

from __future__ import annotations

from dataclasses import dataclass

from aegis.catalog.database.states import JobState
from aegis.catalog.service import jobs
from aegis.catalog.service.views import ConfigurationView, JobView
from aegis.report.figures import kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A configuration that an expert may approve."""

    id: str
    name: str
    words: str
    note: str


def choices(listed: list[ConfigurationView], job: JobView | None) -> list[Choice]:
    """Ranked configurations first, from best to worst; those that were not counted cannot be judged and come last."""
    ranks: dict[str, tuple[int, str]] = {}
    kept_out: set[str] = set()
    if job is not None and job.state is JobState.DONE and job.result:
        ranking = jobs.ranking_of(job)
        kept_out = set(ranking.rejected)
        for one in ranking.ranking:
            note = f"place {one.rank}, keeps {kept(one.retained)}" if one.retained is not None else f"place {one.rank}"
            ranks[one.id] = (one.rank, note + (", like the first" if one.like_best and one.rank > 1 else ""))
    ordered = sorted(listed, key=lambda one: (ranks.get(one.content_id, (10**9, ""))[0], one.name))
    return [
        Choice(
            id=one.id,
            name=one.name,
            words="; ".join(f"{column}: {said}" for column, said in one.described.items()) or "masks nothing",
            note=ranks.get(one.content_id, (0, "the policy keeps it out" if one.name in kept_out else "not ranked"))[1],
        )
        for one in ordered
    ]

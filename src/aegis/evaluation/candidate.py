"""Anything that may be released and can be trained on: a configuration of some rows, or a table that no mask made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aegis.evaluation.coded_rows import CodedRows
from aegis.evaluation.features import ENCODING, Encoding
from aegis.evaluation.gold import GoldScore, GoldStandard, gold_standard
from aegis.evaluation.models import GOLD_MODELS
from aegis.evaluation.result_cache import ResultCache
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """Rows and the configuration that masks them; a table that was clustered or sanitized is masked by none."""

    rows: CodedRows
    configuration: Configuration

    @property
    def name(self) -> str:
        return self.configuration.name


def gold_of(
    candidates: Sequence[Candidate],
    *,
    label: str,
    models: Sequence[str] = GOLD_MODELS,
    plan: SplitPlan | None = None,
    encoding: Encoding = ENCODING,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> GoldStandard:
    """The gold standard of candidates whose rows are the same records in the same order: all see the same splits."""
    plan = plan or SplitPlan()
    tables: dict[int, list[int]] = {}
    for place, candidate in enumerate(candidates):
        tables.setdefault(id(candidate.rows), []).append(place)
    scores: dict[int, GoldScore] = {}
    found = None
    for places in tables.values():
        done, total = plan.splits * len(scores), plan.splits * len(candidates)
        found = gold_standard(
            candidates[places[0]].rows,
            [candidates[place].configuration for place in places],
            label=label,
            models=models,
            plan=plan,
            encoding=encoding,
            cache=cache,
            jobs=jobs,
            progress=None if progress is None else _further(progress, done, total),
        )
        scores.update(zip(places, found.scores, strict=True))
    assert found is not None, "there is at least one candidate"
    in_order = tuple(scores[place] for place in range(len(candidates)))
    return GoldStandard(
        models=found.models,
        splits=found.splits,
        training_rows=found.training_rows,
        test_rows=found.test_rows,
        scores=in_order,
        cpu_seconds=sum(score.cpu_seconds for score in in_order),
    )


def _further(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _, what: progress(before + done, total, what)

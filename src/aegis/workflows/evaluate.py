"""Does the advisor choose well on this table? Train models on every configuration and see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.advisor.rank import TOGETHER
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.output import check_apart, check_free
from aegis.data.schema import Roles
from aegis.evaluation.agreement import Agreement, agreement, random_choice
from aegis.evaluation.coded_rows import read_rows
from aegis.evaluation.gold import GoldStandard, gold_standard
from aegis.evaluation.models import GOLD_MODELS
from aegis.evaluation.result_cache import ResultCache
from aegis.evaluation.selectors import select
from aegis.evaluation.splits import SplitPlan
from aegis.evaluation.verify import verify as try_shortlist
from aegis.summaries.collect_pairs import count_pairs
from aegis.summaries.summary import summarize as summarize_counts
from aegis.workflows.candidates import Configurations, checked, find_hierarchies, gather, with_generated
from aegis.workflows.summarize import DEFAULT_PAIR_SCORES, count

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The gold standard of one table, and how near every way of choosing comes to it."""

    name: str
    rows: int
    attributes: int
    label: str
    gold: GoldStandard
    selectors: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis evaluate --json`` prints."""
        return {
            "datasets": [
                {
                    "name": self.name,
                    "rows": self.rows,
                    "attributes": self.attributes,
                    "label": self.label,
                    "gold": {
                        "models": list(self.gold.models),
                        "splits": self.gold.splits,
                        "training_rows": self.gold.training_rows,
                        "cpu_seconds": self.gold.cpu_seconds,
                        "reliability": self.gold.accuracy_reliability,
                        "configurations": [
                            {
                                "configuration": one.configuration,
                                "id": one.id,
                                "accuracy": one.accuracy,
                                "interval": list(one.interval),
                                "auc": one.auc,
                            }
                            for one in self.gold.scores
                        ],
                    },
                    "selectors": [one.to_json() for one in self.selectors],
                }
            ]
        }


def evaluate(
    data: Any,
    *,
    label: str | None = None,
    configurations: Configurations = None,
    generate: int = 0,
    strength: str = "mixed",
    seed: int = 0,
    models: Sequence[str] = GOLD_MODELS,
    splits: int = 4,
    most_training_rows: int | None = None,
    shortlist: int = 8,
    jobs: int = 1,
    cache: str | Path | None = None,
    report: str | Path | None = None,
    overwrite: bool = False,
    roles: Roles | None = None,
    label_bins: int | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Train ``models`` on every configuration, the exhaustive way, and compare every way of choosing without training.

    Results are kept in the file ``cache`` as they come, so that an interrupted run goes on where it stopped.
    """
    if report is not None:
        check_free(Path(report), overwrite=overwrite)
        check_apart([report], [data, configurations])
    dataset = data if isinstance(data, Dataset) else open_dataset(data, roles=roles, **options)
    counted = count(dataset, label=label, label_bins=label_bins)
    known = find_hierarchies(hierarchies, data)
    chosen = with_generated(
        gather(configurations, hierarchies=known, data=data),
        counted,
        count=generate,
        strength=strength,
        seed=seed,
        hierarchies=known,
    )
    chosen = checked(chosen, counted, dataset.schema.names)
    summary = summarize_counts(
        name=dataset.name,
        label=counted.label,
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=chosen,
    )
    pairs = count_pairs(dataset, counted, seed=seed) if len(counted.joints) > 1 else None
    selections = select(summary, pairs=pairs, seed=seed)
    rows = read_rows(dataset, counted)
    plan = SplitPlan(splits=splits, most_training_rows=most_training_rows, most_test_rows=most_training_rows, seed=seed)
    with ResultCache(None if cache is None else Path(cache)) as store:
        gold = gold_standard(
            rows,
            chosen,
            label=counted.label,
            models=models,
            plan=plan,
            cache=store,
            jobs=jobs,
            progress=progress,
        )
        found = [agreement(s.selector, s.scores, gold.accuracies, cpu_seconds=s.cpu_seconds) for s in selections]
        best = next((s for s in selections if s.selector in DEFAULT_PAIR_SCORES), selections[0])
        if shortlist and len(chosen) > 1:
            tried = try_shortlist(
                rows, chosen, best.scores, label=counted.label, shortlist=shortlist, cache=store, jobs=jobs
            )
            spent = best.cpu_seconds + tried.cpu_seconds
            found.append(agreement(f"verify-{shortlist}", tried.scores, gold.accuracies, cpu_seconds=spent))
    found.append(random_choice(gold.accuracies))
    evaluation = Evaluation(
        name=dataset.name,
        rows=counted.rows,
        attributes=len(counted.joints),
        label=counted.label,
        gold=gold,
        selectors=tuple(sorted(found, key=lambda one: (one.regret, -one.spearman))),
    )
    if report is not None:
        from aegis.report.evaluation_report import render_evaluation  # an extra
        from aegis.report.page import write_page

        page = render_evaluation(
            name=evaluation.name,
            label=evaluation.label,
            rows=evaluation.rows,
            attributes=evaluation.attributes,
            gold=gold,
            selectors=evaluation.selectors,
            default=TOGETHER,
            version=__version__,
        )
        write_page(Path(report), page, overwrite=overwrite)
    return evaluation

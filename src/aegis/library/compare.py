"""Train the same models on the original and on what several anonymizers make of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from aegis.candidates.boxes.estimator import k_and_l
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.commands.compare import Compare
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.output import PRIVATE, check_free, draft_of
from aegis.errors import LabelError, RoleError
from aegis.evaluation.anonymizer_comparison import compare_tables
from aegis.evaluation.classifiers import check_models
from aegis.evaluation.comparison_result import ORIGINAL, Balance, Comparison
from aegis.evaluation.long_work import ResultCache, available_cores
from aegis.evaluation.model_table import label_codes, model_table, split_recoding, with_published
from aegis.evaluation.splits import SplitPlan
from aegis.learners.learner import LEARNERS
from aegis.library.anonymize import anonymize
from aegis.library.tables.opening import open_table
from aegis.operation import operation
from aegis.report.comparison_report import render_comparison
from aegis.report.page import write_page
from aegis.result import AMONG_OTHERS, Result, called

RESULTS = "results.jsonl"
"""The file of a comparison's folder that holds what was published and how models did on it."""
RARE = 0.1  # a label below this share is balanced by weights unless the options say otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymizerComparison(Result):
    """What each anonymizer costs and protects, and what models trained on its table can still do."""

    source: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    releases: dict[str, dict[str, Any]] = field(metadata=called("anonymizers"))  # as aegis anonymize --json says them
    comparison: Comparison = field(metadata=AMONG_OTHERS)
    skipped: tuple[str, ...]  # columns that name records instead of describing them
    notes: tuple[str, ...]
    report: Path | None

    @property
    def headline(self) -> str:
        """The label, and what the scores are of."""
        positive = self.comparison.positive
        return f"{self.comparison.label} · {'mean F1 of all labels' if positive is None else f'F1 of {positive}'}"

    def table_rows(self) -> list[dict[str, Any]]:
        """The information loss of each table, and the mean F1 of every model on it."""
        comparison = self.comparison
        losses = {name: facts["information_loss"] for name, facts in self.releases.items()}
        return [
            {
                "table": name,
                "information_loss": losses.get(name, 0.0),
                **{model: comparison.score(name, model).f1 for model in comparison.models},
            }
            for name in comparison.tables
        ]


@operation(Compare)
def compare(options: Compare) -> AnonymizerComparison:
    """Compare anonymizers by the F1 scores of models trained and tested on their tables.

    All anonymizers are compared unless ``methods`` names some; an option that only some of them use is theirs alone,
    one that none uses is refused. ``cache`` names a folder of what is done already: a second call with the same data
    and parameters trains nothing. More ``jobs`` than one are processes of their own: a script calls it below
    ``if __name__ == "__main__"``.

    Example::

        aegis.compare(
            "clinic.csv",
            quasi=["age", "gender"],
            sensitive=["diagnosis"],
            k=5,
            label="smoker",
            methods=["mdav"],
            models=["decision-tree"],
            splits=2,
            jobs=1,
        )
    """
    target = None if options.report is None else Path(options.report)
    check_free(target, overwrite=options.overwrite)
    models = tuple(options.models) or tuple(LEARNERS)
    check_models(models)
    plan = SplitPlan(
        splits=options.splits,
        test_share=options.test_share,
        most_training_rows=options.training_rows,
        most_test_rows=options.test_rows,
        seed=options.seed,
    )
    dataset = open_table(options.data, options)
    quasi = tuple(options.quasi) or dataset.roles.quasi_identifying
    sensitive = tuple(options.sensitive) or dataset.roles.sensitive
    label = options.label or dataset.roles.label
    _check_roles(dataset, label, quasi, sensitive)
    assert label is not None
    options.refuse_without_secrets(sensitive)
    table = ask(dataset.table)
    identifying = tuple(options.identifying) or dataset.roles.identifying
    original, skipped = model_table(ORIGINAL, table, dataset, leave=(label, *identifying), keep=(*quasi, *sensitive))
    label_domain, codes = label_codes(table, label, dataset)
    positive = _positive(label_domain, codes, options.positive)
    home = None if options.cache is None else Path(options.cache)
    tables, releases = [original], {}
    for number, method in enumerate(options.chosen_methods):
        if options.progress is not None:
            options.progress(number, len(options.chosen_methods), f"anonymizing with {method}")
        uses = ANONYMIZERS[method].uses
        settings = {
            "method": method,
            "k": options.k,
            **{option: value for option, value in options.asked().items() if option in uses},
            "seed": options.seed,
            "categorical": list(options.categorical),
        }
        if ANONYMIZERS[method].recodes:
            settings["label"] = [label]
        columns, facts = _published(dataset, settings, quasi, sensitive, home, original.fingerprint(codes))
        recodes = ANONYMIZERS[method].recodes
        # Whoever uses a recoding recodes new rows by it: an original row is tested as the box that it falls into.
        raw = table if options.test_on == "original" and not recodes else None
        table_of_method = with_published(original, method, columns, raw=raw)
        if recodes:
            policy = k_and_l(options.k, options.l, sensitive)
            secrets = sensitive if options.l > 1 else ()
            refit = split_recoding(
                original, (label, label_domain, codes), quasi, secrets, policy, options.categorical, seed=options.seed
            )
            table_of_method = replace(table_of_method, refit=refit)
        tables.append(table_of_method)
        releases[method] = facts
    with ResultCache(None if home is None else home / RESULTS) as results:
        comparison = compare_tables(
            tables,
            codes,
            label_name=label,
            label_domain=label_domain,
            quasi=quasi,
            positive=positive,
            balance=_balance(options.balance, codes),
            matches=options.matches,
            models=models,
            plan=plan,
            cache=results,
            jobs=options.jobs or available_cores(),
            progress=options.progress,
        )
    answer = AnonymizerComparison(
        source=dataset.name,
        quasi=quasi,
        sensitive=sensitive,
        releases=releases,
        comparison=comparison,
        skipped=skipped,
        notes=_notes(
            comparison,
            releases,
            sensitive,
            matches=options.matches,
            mixed=options.l > 1 or options.trade_off > 0,
        ),
        report=target,
    )
    if target is not None:
        page = render_comparison(
            comparison,
            releases,
            source=dataset.name,
            quasi=quasi,
            sensitive=sensitive,
            notes=answer.notes,
        )
        write_page(target, page, overwrite=options.overwrite)
    return answer


def _published(
    dataset: Dataset,
    settings: dict[str, Any],
    quasi: Sequence[str],
    sensitive: Sequence[str],
    home: Path | None,
    fingerprint: str,
) -> tuple[pa.Table, dict[str, Any]]:
    """The published quasi-identifiers and what they cost, from the cache folder where they are there.

    A search that ran by the clock is not run twice for a comparison.
    """
    described = json.dumps([fingerprint, settings, list(quasi), list(sensitive)], sort_keys=True)
    key = f"{settings['method']}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"
    with ResultCache(None if home is None else home / RESULTS) as results:
        if home is not None and key in results:
            try:
                return pa.parquet.read_table(home / f"{key}.parquet"), results[key]["facts"]
            except (OSError, ValueError, pa.ArrowException):
                pass  # a broken file is no result: it is made again
        anonymized = anonymize(dataset, quasi=quasi, sensitive=sensitive, **settings)
        if anonymized.result.diagnosis.finished == "interrupted":  # valid, but not what its time would have given
            raise KeyboardInterrupt
        assert anonymized.table is not None
        columns, facts = anonymized.table.select(list(quasi)), anonymized.to_json()
        if home is not None:
            with draft_of(home / f"{key}.parquet", overwrite=True, mode=PRIVATE) as draft:
                pa.parquet.write_table(columns, draft)
            results.add(key, facts=facts)
    return columns, facts


def _check_roles(dataset: Dataset, label: str | None, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if label is None:
        raise LabelError("no label is named; say which column is to be predicted with --label")
    dataset.schema.check(label, *quasi, *sensitive)
    if not quasi:
        raise RoleError("no column is quasi-identifying; name some with --quasi or in the roles file")
    if label in quasi:
        raise RoleError(f"{label!r} is both the label and a quasi-identifier; give it one role")


def _positive(domain: Domain, codes: np.ndarray[Any, np.dtype[np.int64]], asked: str | None) -> int | None:
    """The label that F1 is about: the one asked for, or the rarer of two; several are averaged."""
    if asked is not None:
        if asked not in domain.labels():
            raise LabelError(f"no record has the label {asked!r} that --positive names; name one of the label's values")
        return domain.labels().index(asked)
    return int(np.bincount(codes).argmin()) if len(domain.values) == 2 else None


def _balance(asked: str, codes: np.ndarray[Any, np.dtype[np.int64]]) -> Balance:
    if asked == "auto":
        return "weights" if np.bincount(codes).min() < RARE * len(codes) else "none"
    return "matching" if asked == "matching" else "weights" if asked == "weights" else "none"


def _notes(
    comparison: Comparison, releases: dict[str, dict[str, Any]], sensitive: Sequence[str], *, matches: int, mixed: bool
) -> tuple[str, ...]:
    notes = []
    recoding = [method for method in releases if ANONYMIZERS[method].recodes]
    if recoding:
        notes.append(
            f"{', '.join(recoding)}: cut for the label, so models meet boxes cut on the training rows of each split, "
            "with k in proportion to them; the release itself is cut on all rows."
        )
    rare = f"the rarer label has {100 * comparison.rare_share:.1f} % of the records"
    if comparison.balance == "weights":
        notes.append(f"Balanced weights: {rare}, and every label weighs the same in training.")
    if comparison.balance == "matching":
        kept = "nearest other" if matches == 1 else f"{matches} nearest others"
        notes.append(
            f"Propensity matching: {rare}; each keeps its {kept} by the original quasi-identifiers, so these tell the "
            "labels apart less than they did, and anonymizing them costs less than it would."
        )
    most_values = max(facts["l"] for facts in releases.values())
    blind = [method for method, facts in releases.items() if facts["l"] < most_values]
    if blind:
        know = "knows" if len(blind) == 1 else "know"
        notes.append(
            f"{', '.join(blind)} {know} nothing of sensitive values: l = {most_values} is kept by the others only."
        )
    if mixed and comparison.label in sensitive and comparison.tested_on == "released":
        notes.append(
            f"{comparison.label} is sensitive too: classes were formed with its help, and the published values of the "
            "test records can betray it. A score above the original's is disclosure, not quality; test on original "
            "records."
        )
    return tuple(notes)

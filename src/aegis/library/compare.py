"""Train the same models on the original and on what several anonymizers make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis._version import __version__
from aegis.candidates.clusters.methods import ANONYMIZERS, is_asked, users_of, words
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.output import check_free
from aegis.errors import AnonymizerError, LabelError, MeasureError, RoleError
from aegis.evaluation.anonymizer_comparison import compare_tables
from aegis.evaluation.classifiers import CLASSIFIERS, check_classifiers
from aegis.evaluation.comparison_result import ORIGINAL, Balance, Comparison
from aegis.evaluation.result_cache import ResultCache
from aegis.evaluation.splits import SplitPlan
from aegis.library.keywords import check_keywords
from aegis.library.model_tables import label_codes, model_table, with_published
from aegis.library.published_cache import RESULTS, published
from aegis.progress import Progress
from aegis.report.comparison_report import render_comparison
from aegis.report.page import write_page

TESTS_ON = ("released", "original")
BALANCES = ("auto", "none", "weights", "matching")
RARE = 0.1  # a label below this share is balanced by weights unless told otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymizerComparison:
    """What each anonymizer costs and protects, and what models trained on its table can still do."""

    source: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    releases: dict[str, dict[str, Any]]  # method → what aegis anonymize --json says
    comparison: Comparison
    skipped: tuple[str, ...]  # columns that name records instead of describing them
    notes: tuple[str, ...]
    report: Path | None

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis compare --json`` prints."""
        return {
            "source": self.source,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            **self.comparison.to_json(),
            "anonymizers": self.releases,
            "skipped": list(self.skipped),
            "notes": list(self.notes),
            "report": None if self.report is None else str(self.report),
        }


def compare(
    data: Any,
    *,
    label: str | None = None,
    methods: Sequence[str] = (),
    k: int,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    identifying: Sequence[str] = (),
    categorical: Sequence[str] = (),
    l: int = 1,  # noqa: E741  as in l-diversity
    classes: int | None = None,
    trade_off: float = 0.0,
    seconds: float | None = None,
    models: Sequence[str] = CLASSIFIERS,
    splits: int = 100,
    test_share: float = 0.25,
    training_rows: int | None = 5_000,
    test_rows: int | None = 5_000,
    positive: str | None = None,
    balance: str = "auto",
    matches: int = 1,
    test_on: str = "released",
    seed: int = 0,
    jobs: int = 1,
    cache: str | Path | None = None,
    report: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> AnonymizerComparison:
    """Compare anonymizers by the F1 scores of models trained and tested on their tables.

    All anonymizers are compared unless ``methods`` names some; an option that only some of them use is theirs alone,
    one that none uses is refused. ``cache`` names a folder of what is done already: a second call with the same data
    and parameters trains nothing.
    """
    check_keywords(compare, options)
    target = None if report is None else Path(report)
    if target is not None:
        check_free(target, overwrite=overwrite)
    check_classifiers(tuple(models))
    asked = {"l": l, "classes": classes, "trade_off": float(trade_off), "seconds": seconds}
    methods = tuple(methods) or tuple(ANONYMIZERS)
    _check_methods(methods, asked)
    if balance not in BALANCES:
        raise MeasureError(f"there is no balance called {balance!r}; use {', '.join(BALANCES)}")
    if test_on not in TESTS_ON:
        raise MeasureError(f"models are tested on {' or '.join(TESTS_ON)} records, not on {test_on!r}")
    plan = SplitPlan(
        splits=splits, test_share=test_share, most_training_rows=training_rows, most_test_rows=test_rows, seed=seed
    )
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    chosen = tuple(quasi) or dataset.roles.quasi_identifying
    hidden = tuple(sensitive) or dataset.roles.sensitive
    predicted = label or dataset.roles.label
    _check_roles(dataset, predicted, chosen, hidden)
    assert predicted is not None
    table = ask(dataset.table)
    names = tuple(identifying) or dataset.roles.identifying
    original, skipped = model_table(ORIGINAL, table, dataset, leave=(predicted, *names), keep=(*chosen, *hidden))
    label_domain, codes = label_codes(table, predicted, dataset)
    aim = _positive(label_domain, codes, positive)
    way = _balance(balance, codes)
    home = None if cache is None else Path(cache)
    tables, releases = [original], {}
    for number, method in enumerate(methods):
        if progress is not None:
            progress(number, len(methods), f"anonymizing with {method}")
        uses = ANONYMIZERS[method].uses
        settings = {
            "method": method,
            "k": k,
            **{option: value for option, value in asked.items() if option in uses},
            "seed": seed,
            "categorical": list(categorical),
        }
        columns, facts = published(dataset, settings, chosen, hidden, home, original.fingerprint(codes))
        tables.append(with_published(original, method, columns, raw=table if test_on == "original" else None))
        releases[method] = facts
    with ResultCache(None if home is None else home / RESULTS) as results:
        found = compare_tables(
            tables,
            codes,
            label_name=predicted,
            label_domain=label_domain,
            quasi=chosen,
            positive=aim,
            balance=way,
            matches=matches,
            models=models,
            plan=plan,
            cache=results,
            jobs=jobs,
            progress=progress,
        )
    answer = AnonymizerComparison(
        source=dataset.name,
        quasi=chosen,
        sensitive=hidden,
        releases=releases,
        comparison=found,
        skipped=skipped,
        notes=_notes(found, releases, hidden, matches=matches, mixed=l > 1 or trade_off > 0),
        report=target,
    )
    if target is not None:
        page = render_comparison(
            found,
            releases,
            source=dataset.name,
            quasi=chosen,
            sensitive=hidden,
            notes=answer.notes,
            version=__version__,
        )
        write_page(target, page, overwrite=overwrite)
    return answer


def _check_methods(methods: Sequence[str], asked: dict[str, Any]) -> None:
    if len(set(methods)) < len(methods):
        raise AnonymizerError("a method is named twice; name it once")
    used = frozenset().union(*(ANONYMIZERS[method].uses for method in methods))
    for option, value in asked.items():
        if is_asked(option, value) and option not in used:
            users = " or ".join(users_of(option))
            raise AnonymizerError(
                f"none of {', '.join(methods)} uses {words(option)}; leave it out, or compare {users} too"
            )


def _check_roles(dataset: Dataset, label: str | None, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if label is None:
        raise LabelError("no label is named; say which column is to be predicted with --label")
    for name in (label, *quasi, *sensitive):
        dataset.schema.kind(name)
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
    found: Comparison, releases: dict[str, dict[str, Any]], sensitive: Sequence[str], *, matches: int, mixed: bool
) -> tuple[str, ...]:
    notes = []
    rare = f"the rarer label has {100 * found.rare_share:.1f} % of the records"
    if found.balance == "weights":
        notes.append(f"Balanced weights: {rare}, and every label weighs the same in training.")
    if found.balance == "matching":
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
    if mixed and found.label in sensitive and found.tested_on == "released":
        notes.append(
            f"{found.label} is sensitive too: classes were formed with its help, and the published values of the test "
            "records can betray it. A score above the original's is disclosure, not quality; test on original records."
        )
    return tuple(notes)

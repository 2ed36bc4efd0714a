"""Cluster the records on their quasi-identifiers and publish the centres, rows in order, other columns untouched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from aegis.candidates.clusters.anonymizer import Anonymized
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.risk import THRESHOLDS, Risk, measure_risk, risk_before
from aegis.counts.answer import ask
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import check_apart, check_free, draft_of
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError
from aegis.library.keywords import check_keywords
from aegis.library.records import read_records
from aegis.library.unlisted import looks_identifying
from aegis.masking.masks.suppress import STAR
from aegis.progress import Progress
from aegis.releases.write import check_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymization:
    """A clustered table, written or not, with what it cost and what it protects."""

    result: Anonymized
    path: Path | None
    table: pa.Table
    suppressed: tuple[str, ...]
    as_they_are: tuple[str, ...]
    looks_identifying: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis anonymize --json`` prints."""
        result = self.result
        return {
            "method": result.method,
            "k": result.k,
            "l": result.l,
            "classes": result.classes,
            "distinct_tuples": result.distinct_tuples,
            "smallest_class": result.smallest_class,
            "scale": result.scale,
            "information_loss": result.information_loss,
            "lower_bound": result.lower_bound,
            "gap": result.gap,
            "entropy": result.entropy_bits,
            **_risk(result.after),
            "before": _risk(result.before),
            "identifying_suppressed": list(self.suppressed),
            "published_as_they_are": list(self.as_they_are),
            "looks_identifying": list(self.looks_identifying),
            "finished": result.diagnosis.finished,
            "seconds": result.seconds,
        }


def anonymize(
    data: Any,
    *,
    method: str = "mo-obam",
    k: int,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    l: int = 1,  # noqa: E741  as in l-diversity
    classes: int | None = None,
    trade_off: float = 0.0,
    seconds: float | None = None,
    seed: int = 0,
    centroid: str = "mean",
    categorical: Sequence[str] = (),
    taus: Sequence[float] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Anonymization:
    """Publish class centres instead of quasi-identifiers, with every class at least ``k`` records and ``l`` values.

    ``method`` is a name in `ANONYMIZERS`; an option that it does not use is refused. ``seconds`` is its own default
    unless given. ``taus`` are linkage thresholds to count people at risk for, beside 0.05, 0.075 and 0.1.

    Columns that are identifying by their role are replaced by ``*``; all others are published as they are, and the
    answer names them. What is written is read back and counted again: if a class has fewer than ``k`` records nothing
    is left behind.
    """
    check_keywords(anonymize, options)
    target = None if out is None else Path(out)
    if target is not None:
        check_format(target)
        check_free(target, overwrite=overwrite)
        check_apart([target], [data])
    if not all(0 < tau <= 1 for tau in taus):
        raise AnonymizerError("a linkage threshold is a probability above 0 and at most 1, such as 0.2")
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    estimator = ANONYMIZERS[method].anonymizer(
        k=k, seed=seed, l=l, classes=classes, trade_off=trade_off, seconds=seconds, centroid=centroid
    )
    table = ask(dataset.table)
    records = read_records(dataset, quasi=quasi, sensitive=sensitive, categorical=categorical, rows=table)
    chosen, hidden = records.quasi_identifiers, records.sensitive_names
    published = estimator.fit_transform(records, progress=progress)
    starred = tuple(n for n in dataset.roles.identifying if n in table.column_names and n not in published)
    for name in starred:
        stars = pa.array([STAR] * len(table))
        table = table.set_column(table.column_names.index(name), name, stars)
    for name, values in published.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values.tolist()))
    if target is not None:
        with draft_of(target, overwrite=overwrite) as draft:
            if target.suffix.lower() == ".csv":
                pa.csv.write_csv(table, draft)
            else:
                pa.parquet.write_table(table, draft)
            _check_written(draft, target, chosen, hidden, k=k, l=l)
    untouched = tuple(n for n in table.column_names if n not in published and n not in starred)
    result = estimator.result_
    if taus:
        wanted = tuple(sorted({*THRESHOLDS, *taus}))
        seen = measure_risk(estimator.labels_, records.sensitive, names=records.sensitive_names, thresholds=wanted)
        result = replace(result, before=risk_before(records, thresholds=wanted), after=seen)
    return Anonymization(
        result=result,
        path=target,
        table=table,
        suppressed=starred,
        as_they_are=untouched,
        looks_identifying=looks_identifying(dataset, dataset.roles, masked=(*chosen, *hidden)),
    )


def _check_written(
    draft: Path,
    target: Path,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    k: int,
    l: int,  # noqa: E741
) -> None:
    """Count the written file again, every value as it stands there."""
    link = draft.with_name(f"{draft.name}{target.suffix}")
    link.hardlink_to(draft)
    try:
        classes = count_classes(open_dataset(link, as_text=True), quasi, contents=sensitive)
    finally:
        link.unlink()
    smallest = int(classes.sizes.min())
    fewest = min((int(classes.contents[name].distinct.min()) for name in sensitive), default=l)
    if smallest < k or fewest < l:
        raise PolicyNotSatisfiedError(
            f"the written table has a class of {smallest} records and {fewest} sensitive values where {k} and {l} are "
            "asked; nothing was kept"
        )


def _risk(risk: Risk) -> dict[str, Any]:
    return {
        "linkage": {f"{tau:g}": people for tau, people in risk.linkage.items()},
        "homogeneity": risk.homogeneity,
        "homogeneity_by_attribute": risk.homogeneity_by_attribute,
        "classes_seen": risk.classes,
        "smallest_class": risk.smallest_class,
    }

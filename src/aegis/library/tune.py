"""Which number of classes, trade-off and k: a grid and a search over a table, and a report of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.candidates.clusters.tuning import PAPER_K
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import check_free
from aegis.evaluation.grid_tuning import GridTuning, tune_records
from aegis.library.keywords import check_keywords
from aegis.library.records import read_records
from aegis.progress import Progress
from aegis.report.page import write_page
from aegis.report.tuning_report import render_tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was tried on a table, and the page that shows it."""

    source: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    tuning: GridTuning
    report: Path | None

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis tune --json`` prints."""
        return {
            "source": self.source,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            **self.tuning.to_json(),
            "report": None if self.report is None else str(self.report),
        }


def tune(
    data: Any,
    *,
    method: str = "mo-obam",
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    ks: Sequence[int] = PAPER_K,
    classes: Sequence[int] | None = None,
    trade_offs: Sequence[float] | None = None,
    l: int = 1,  # noqa: E741  as in l-diversity
    seconds_each: float = 2.0,
    rounds: int | None = None,
    search: bool = True,
    categorical: Sequence[str] = (),
    seed: int = 0,
    jobs: int = 1,
    report: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Tuning:
    """Try a method over a grid and by search; ``rounds`` instead of seconds makes equal seeds give equal answers.

    An interruption is answered with what was done until then, ``tuning.interrupted`` set.
    """
    check_keywords(tune, options)
    target = None if report is None else Path(report)
    if target is not None:
        check_free(target, overwrite=overwrite)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    records = read_records(dataset, quasi=quasi, sensitive=sensitive, categorical=categorical)
    found = tune_records(
        records,
        method=method,
        ks=ks,
        classes=classes,
        trade_offs=trade_offs,
        l=l,
        seconds_each=seconds_each,
        rounds=rounds,
        search=search,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    if target is not None:
        page = render_tuning(
            found,
            source=dataset.name,
            data=Path(data).name if isinstance(data, (str, Path)) and Path(data).exists() else "DATA",
            quasi=records.quasi_identifiers,
            sensitive=records.sensitive_names,
            version=__version__,
        )
        write_page(target, page, overwrite=overwrite)
    return Tuning(
        source=dataset.name,
        quasi=records.quasi_identifiers,
        sensitive=records.sensitive_names,
        tuning=found,
        report=target,
    )

"""Which number of classes, trade-off and k: a grid and a search over a table, and a report of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aegis.commands.tune import Tune
from aegis.data.output import check_free
from aegis.evaluation.grid_tuning import GridTuning, tune_records
from aegis.evaluation.long_work import available_cores
from aegis.library.tables.opening import open_table
from aegis.library.tables.records import read_records
from aegis.operation import operation
from aegis.report.page import write_page
from aegis.report.tuning_report import render_tuning
from aegis.result import AMONG_OTHERS, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning(Result):
    """What was tried on a table, and the page that shows it."""

    source: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    tuning: GridTuning = field(metadata=AMONG_OTHERS)
    report: Path | None

    @property
    def exit_status(self) -> int:
        """130 where Ctrl-C ended the tuning: it holds what was tried until then."""
        return 130 if self.tuning.interrupted else 0

    @property
    def headline(self) -> str:
        """The setting that is recommended, and what it gives."""
        return self.tuning.advice

    @property
    def warnings(self) -> tuple[str, ...]:
        """An interruption."""
        return ("interrupted: this is what was tried until then",) if self.tuning.interrupted else ()

    def table_rows(self) -> list[dict[str, Any]]:
        """The best setting for each k."""
        return [
            {
                "k": trial.setting.k,
                "classes": trial.setting.classes,
                "trade_off": trial.setting.trade_off,
                "information_loss": trial.known.information_loss,
                "entropy_bits": trial.known.entropy_sum_of_minima_bits,
                "smallest_class": trial.known.smallest_class,
                "linkage_0.05": trial.known.after.linkage[0.05],
                "homogeneity": trial.known.after.homogeneity,
                "recommended": trial.setting == self.tuning.recommended.setting,
            }
            for trial in self.tuning.by_k.values()
        ]


@operation(Tune)
def tune(options: Tune) -> Tuning:
    """Try a method over a grid and by search; ``rounds`` instead of seconds makes equal seeds give equal answers.

    An interruption is answered with what was done until then, ``tuning.interrupted`` set. More ``jobs`` than one are
    processes of their own: a script calls it below ``if __name__ == "__main__"``.

    Example::

        aegis.tune(
            "clinic.csv",
            quasi=["age", "gender"],
            sensitive=["diagnosis"],
            k_values=[5],
            rounds=3,
            search=False,
            jobs=1,
        )
    """
    target = None if options.report is None else Path(options.report)
    check_free(target, overwrite=options.overwrite)
    dataset = open_table(options.data, options)
    records = read_records(dataset, quasi=options.quasi, sensitive=options.sensitive, categorical=options.categorical)
    if not records.sensitive_names:
        options.refuse(
            "l",
            "trade_off_values",
            because="no column is sensitive, so there are no values to mix: name some with --sensitive",
        )
    tuning = tune_records(
        records,
        method=options.method,
        ks=options.k_values,
        classes=options.classes_values,
        trade_offs=options.trade_off_values,
        l=options.l,
        seconds_each=options.seconds_each,
        rounds=options.rounds,
        search=options.search,
        seed=options.seed,
        jobs=options.jobs or available_cores(),
        progress=options.progress,
    )
    if target is not None:
        named = isinstance(options.data, str | Path) and Path(options.data).exists()
        page = render_tuning(
            tuning,
            source=dataset.name,
            data=Path(str(options.data)).name if named else "DATA",
            quasi=records.quasi_identifiers,
            sensitive=records.sensitive_names,
        )
        write_page(target, page, overwrite=options.overwrite)
    return Tuning(
        source=dataset.name,
        quasi=records.quasi_identifiers,
        sensitive=records.sensitive_names,
        tuning=tuning,
        report=target,
    )

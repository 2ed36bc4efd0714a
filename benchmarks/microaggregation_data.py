"""The tables that the microaggregation benchmarks run on."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from _result import dataset
from aegis.candidates.clusters.anonymizer import Anonymizer
from aegis.candidates.clusters.records import Records


def read(relative: str, *, quasi: list[str], sensitive: list[str], numbers: set[str]) -> Records:
    """Records from a file of the benchmark data."""
    with dataset(relative).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=float if name in numbers else str)
        for name in (*quasi, *sensitive)
    }
    categorical = [name for name in (*quasi, *sensitive) if name not in numbers]
    return Records.from_columns(columns, quasi_identifiers=quasi, sensitive=sensitive, categorical=categorical)


def german() -> Records:
    """German credit, 1,000 rows."""
    return read(
        "german/german_credit_labelled.csv",
        quasi=["age", "personal_status", "job"],
        sensitive=["checking_status", "savings_status"],
        numbers={"age"},
    )


def adult() -> Records:
    """Adult, the 45,222 complete cases."""
    return read(
        "adult/adult_complete_45222.csv",
        quasi=["age", "race", "sex", "marital-status"],
        sensitive=["occupation"],
        numbers={"age"},
    )


def sepsis() -> Records:
    """Sepsis survival, 110,204 rows."""
    return read(
        "ehr/sepsis_survival_primary_110204.csv",
        quasi=["age_years", "sex_0male_1female", "episode_number"],
        sensitive=["hospital_outcome_1alive_0dead"],
        numbers={"age_years", "episode_number"},
    )


def synthetic(*, rarest: float, rows: int = 120_000, seed: int = 0) -> Records:
    """Patients with 3 numbers, 3 categories and 30 binary secrets, the rarest with a share of ``rarest``."""
    rng = np.random.default_rng(seed)
    numeric = np.column_stack(
        [
            np.clip(np.rint(rng.normal(55, 20, rows)), 18, 100),
            np.minimum(rng.geometric(0.3, rows), 40),
            np.minimum(np.rint(rng.lognormal(1, 0.9, rows)), 90),
        ]
    )
    categorical = np.column_stack(
        [
            rng.integers(0, 2, rows),
            rng.choice(5, rows, p=[0.6, 0.25, 0.08, 0.05, 0.02]),
            rng.choice(3, rows, p=[0.85, 0.12, 0.03]),
        ]
    )
    shares = np.linspace(rarest, 0.4, 30) * np.exp(0.5 * rng.normal(size=rows) - 0.125)[:, None]
    secrets = (rng.random((rows, 30)) < np.clip(shares, 0, 1)).astype(np.int64)
    return Records.from_arrays(numeric=numeric, categorical=categorical, sensitive=secrets)


def row(fitted: Anonymizer, records: Records) -> dict[str, Any]:
    """What a table of results shows of one fit, and what a plain count of the written file says of the same."""
    result = fitted.result_
    shown = {
        "method": result.method,
        "k": result.k,
        "l": result.l,
        "classes": result.classes,
        "distinct_tuples": result.distinct_tuples,
        "smallest_class": result.smallest_class,
        "information_loss": result.information_loss,
        "lower_bound": result.lower_bound,
        "entropy_bits": result.entropy_sum_of_minima_bits,
        "entropy_ceiling_bits": result.entropy_ceiling_bits,
        "linkage": {str(tau): people for tau, people in result.after.linkage.items()},
        "homogeneity": result.after.homogeneity,
        "seconds": round(result.seconds, 2),
        "rounds": result.diagnosis.rounds,
    }
    counted = written_and_counted(fitted, records)
    for name in ("distinct_tuples", "smallest_class", "linkage", "homogeneity"):
        if counted[name] != shown[name]:
            raise SystemExit(f"the written table has another {name} than the result says")
    if not np.isclose(counted["information_loss"], result.information_loss, rtol=1e-9):
        raise SystemExit("the written table has another information loss than the result says")
    return {**shown, "written_table": counted}


def written_and_counted(fitted: Anonymizer, records: Records) -> dict[str, Any]:
    """Write the table, read it as text, and count with nothing of this library."""
    published = fitted.transform()
    secrets = [column.tolist() for column in records.sensitive.T]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerows(zip(*(column.tolist() for column in published.values()), *secrets, strict=True))
        with path.open(encoding="utf-8", newline="") as file:
            lines = [tuple(line) for line in csv.reader(file)]
    width = len(published)
    tuples = [line[:width] for line in lines]
    counted = count_text(tuples, [line[width:] for line in lines], fitted.result_.after.linkage)
    return {**counted, "information_loss": _loss_of_text(records, list(published), tuples)}


def count_text(
    tuples: list[tuple[str, ...]], secrets: list[tuple[str, ...]], thresholds: Iterable[Any]
) -> dict[str, Any]:
    """Classes, sizes and people at risk of a table as text: equal tuples are a class."""
    sizes = Counter(tuples)
    values: dict[tuple[str, ...], list[set[str]]] = defaultdict(lambda: [set() for _ in secrets[0]])
    for one, hidden in zip(tuples, secrets, strict=True):
        for seen, value in zip(values[one], hidden, strict=True):
            seen.add(value)
    certain = {one for one, sets in values.items() if any(len(seen) == 1 for seen in sets)}
    return {
        "rows": len(tuples),
        "distinct_tuples": len(sizes),
        "smallest_class": min(sizes.values()),
        "fewest_sensitive_values": min((len(seen) for sets in values.values() for seen in sets), default=0),
        "linkage": {str(t): sum(n for n in sizes.values() if 1 / n > float(t)) for t in thresholds},
        "homogeneity": sum(sizes[one] for one in certain),
    }


def _loss_of_text(records: Records, names: list[str], tuples: list[tuple[str, ...]]) -> float:
    """Deviation of the text from the original over that of the original from its own mean and mode (raw scale)."""
    lost = whole = 0.0
    for place, name in enumerate(names):
        told = [one[place] for one in tuples]
        if name in records.numeric_names:
            original = records.numeric[:, records.numeric_names.index(name)]
            lost += float(((original - np.array(told, dtype=float)) ** 2).sum())
            whole += float(((original - original.mean()) ** 2).sum())
        else:
            codes = records.categorical[:, records.categorical_names.index(name)]
            values = records.categories[records.categorical_names.index(name)][codes].tolist()
            lost += sum(str(a) != b for a, b in zip(values, told, strict=True))
            whole += len(codes) - int(np.bincount(codes).max())
    return lost / whole

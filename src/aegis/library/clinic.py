"""The bundled example: a made-up clinic, in the spirit of the running example of the Aegis paper.

Nobody in it exists. It is drawn by a seeded generator, so that every machine shows the same table, and it has what
real tables have: an identifier, codes with leading zeros, missing values, a redundant column and a useless one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aegis.commands.demo import Demo
from aegis.data.engine import open_dataset
from aegis.data.yaml_text import dump
from aegis.errors import OutputError
from aegis.library.advise import advise
from aegis.library.ledgers.recognition import forget_rows
from aegis.operation import operation
from aegis.ranking.ranking import Ranking

ROWS = 12_000
HEALTH = ("very good", "good", "moderate", "poor", "very poor")
_DIAGNOSES = ("none", "asthma", "hypertension", "diabetes", "arthritis", "heart disease")
_REGIONS = (("02", 0.9), ("10", 0.2), ("11", -0.3), ("21", -0.8), ("60", 0.0), ("94", -0.5))

ROLES: Mapping[str, Any] = {
    "label": "health",
    "identifying": ["patient"],
    "quasi_identifying": ["age", "weight", "zip", "gender"],
    "sensitive": ["diagnosis"],
    "insensitive": ["visits", "smoker", "admitted", "ward"],
}

POLICY: Mapping[str, Any] = {
    "quasi_identifying": ["age", "weight", "zip", "gender"],
    "sensitive": ["diagnosis"],
    "k": 5,
    "l": {"diagnosis": {"kind": "distinct", "l": 2}},
    "max_suppression": 0.05,
}

CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "paper-m1": {"age": {"bucketize": {"width": 10}}, "weight": {"round": {"step": 10}}, "zip": "suppress"},
    "paper-m2": {"age": {"generalize": {"level": 2}}, "weight": {"bucketize": {"width": 5}}},
    "light": {"age": {"bucketize": {"width": 5}}, "zip": {"star_trailing": {"characters": 1}}},
    "decades": {
        "age": {"bucketize": {"width": 10}},
        "weight": {"bucketize": {"width": 20}},
        "zip": {"star_trailing": {"characters": 3}},
    },
    "generations": {
        "age": {"generalize": {"level": 1}},
        "weight": {"bucketize": {"quantiles": 4}},
        "zip": {"generalize": {"level": 3}},
    },
    "young-or-old": {
        "age": {"generalize": {"level": 2}},
        "weight": {"bucketize": {"quantiles": 2}},
        "zip": {"generalize": {"level": 4}},
    },
    "no-place": {"age": {"bucketize": {"width": 10}}, "zip": "suppress", "gender": "suppress"},
    "no-body": {"weight": "suppress", "gender": "suppress", "zip": {"star_trailing": {"characters": 2}}},
    "capped": {
        "age": [{"top_code": {"at": 80}}, {"bucketize": {"width": 5}}],
        "weight": {"round": {"step": 5}},
        "zip": {"star_trailing": {"characters": 3}},
    },
    "noisy": {
        "age": {"add_laplace_noise": {"scale": 5, "step": 1}},
        "gender": {"randomize": {"keep": 0.8}},
        "zip": {"star_trailing": {"characters": 3}},
    },
    "strict": {
        "age": {"bucketize": {"width": 20}},
        "weight": {"bucketize": {"quantiles": 2}},
        "zip": "suppress",
        "gender": "suppress",
        "admitted": {"date_truncate": {"unit": "year"}},
    },
    "everything-hidden": {
        "age": "suppress",
        "weight": "suppress",
        "zip": "suppress",
        "gender": "suppress",
    },
}


def columns(rows: int = ROWS, *, seed: int = 0) -> dict[str, list[str]]:
    """The clinic's table, column by column, as text; an empty text is a missing value."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(np.where(rng.random(rows) < 0.3, rng.normal(24, 9, rows), rng.normal(58, 15, rows))), 10, 95)
    gender = rng.choice(["female", "male", "other"], rows, p=[0.50, 0.48, 0.02])
    weight = np.round(2 * (rng.normal(62, 11, rows) + 10 * (gender == "male") + 8 * (age > 40) - 18 * (age < 16))) / 2
    weight = np.clip(weight, 28.0, 140.0)
    region = rng.choice(len(_REGIONS), rows, p=[0.26, 0.2, 0.18, 0.14, 0.12, 0.1])
    place = rng.integers(0, 60, rows)
    postcode = [f"{_REGIONS[r][0]}{100 + p // 6:03d}" for r, p in zip(region, place, strict=True)]
    smoker = rng.random(rows) < 0.28
    burden = (
        0.055 * (age - 45)
        + 0.035 * np.abs(weight - 68)
        + 0.9 * smoker
        + np.array([_REGIONS[r][1] for r in region])
        + rng.logistic(0, 0.4, rows)
    )
    visits = rng.poisson(np.exp(0.6 + 0.12 * np.clip(burden, -3, 4)))
    sickness = burden + rng.normal(0, 0.6, rows)
    diagnosis = np.array(_DIAGNOSES)[np.clip(np.round(1 + 0.4 * sickness + rng.normal(0, 1.5, rows)), 0, 5).astype(int)]
    health = np.array(HEALTH)[np.digitize(sickness, [-1.4, 0.2, 1.6, 3.0])]
    admitted = np.datetime64("2023-01-01") + rng.integers(0, 730, rows).astype("timedelta64[D]")
    ward = rng.choice(list("ABCDEFGH"), rows)
    weighed = rng.random(rows) > 0.03
    return {
        "patient": [f"P{number:06d}" for number in rng.permutation(rows) + 100_000],
        "age": [str(int(a)) for a in age],
        "weight": [f"{w:.1f}" if on_scale else "" for w, on_scale in zip(weight, weighed, strict=True)],
        "zip": postcode,
        "gender": gender.tolist(),
        "visits": visits.astype(str).tolist(),
        "smoker": ["true" if s else "false" for s in smoker],
        "admitted": admitted.astype(str).tolist(),
        "ward": ward.tolist(),
        "diagnosis": diagnosis.tolist(),
        "health": health.tolist(),
    }


def hierarchies() -> dict[str, list[list[str]]]:
    """Hierarchies for age and zip, as rows of an ARX file: the value, then ever coarser groups."""
    ages = []
    for age in range(10, 96):
        generation = "under 30" if age < 30 else "30 to 45" if age <= 45 else "46 to 64" if age < 65 else "65 and over"
        ages.append([str(age), generation, "young" if age <= 45 else "old", "*"])
    zips = []
    for prefix, _ in _REGIONS:
        for street in range(100, 110):
            code = f"{prefix}{street}"
            zips.append([code, code[:4] + "*", code[:3] + "**", code[:2] + "***", code[:1] + "****", "*"])
    return {"age": ages, "zip": zips}


def write_clinic(folder: Path, *, rows: int = ROWS) -> Path:
    """Write the example into a folder: table, roles, hierarchies, configurations, policy. Gives the table's path."""
    table = folder / "clinic.csv"
    if table.exists():
        drawn = table.read_text(encoding="utf-8")
        if drawn != _table_text(rows):
            raise OutputError(f"{table} exists and is not the example; choose another folder")
    (folder / "configurations").mkdir(parents=True, exist_ok=True)
    (folder / "hierarchies").mkdir(exist_ok=True)
    table.write_text(_table_text(rows), encoding="utf-8")
    (folder / "clinic.roles.yaml").write_text(dump(dict(ROLES)), encoding="utf-8")
    (folder / "policy.yaml").write_text(dump(dict(POLICY)), encoding="utf-8")
    for name, masks in CONFIGURATIONS.items():
        (folder / "configurations" / f"{name}.yaml").write_text(dump(dict(masks)), encoding="utf-8")
    for column, levels in hierarchies().items():
        lines = "".join(";".join(row) + "\n" for row in levels)
        (folder / "hierarchies" / f"clinic_hierarchy_{column}.csv").write_text(lines, encoding="utf-8")
    return table


def _table_text(rows: int) -> str:
    drawn = columns(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(drawn)
    writer.writerows(zip(*drawn.values(), strict=True))
    return text.getvalue()


@operation(Demo)
def demo(options: Demo) -> Ranking:
    """Write the clinic, rank its configurations and write the report beside it.

    Example::

        aegis.demo(out="demo")
    """
    folder = Path(options.out)
    table = write_clinic(folder)
    forget_rows(open_dataset(table))  # nobody is in it: whoever writes the example again begins anew
    return advise(
        table,
        configs=folder / "configurations",
        seed=options.seed,
        progress=options.progress,
        report=folder / "ranking.html",
        overwrite=True,
    )

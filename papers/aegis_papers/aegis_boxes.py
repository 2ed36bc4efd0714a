"""Local recoding beside the 5-anonymous configurations of Figure 6b: boxes of records in place of masks of columns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.boxes.terms import Growth
from aegis.counts.class_table import ClassTable
from aegis.evaluation.models import try_model
from aegis_papers.aegis_data import MODELS, Table, split_plan
from aegis_papers.aegis_k_anonymous import policy_for
from aegis_papers.setting import Setting


def recoded_accuracies(setting: Setting, table: Table, models: tuple[str, ...], *, suppressed: float) -> dict[str, Any]:
    """By model what it reaches on 5-anonymous boxes, the mean over splits, and how many boxes and suppressed records.

    Boxes are cut on the training rows alone, where the label may be looked at; the test rows fall into them.
    """
    trained: dict[str, Any] = setting.part(
        f"boxes-{table.name}", partial(_recoded, setting, table, models, suppressed), suppressed=suppressed
    )
    return trained


def _recoded(setting: Setting, table: Table, models: tuple[str, ...], suppressed: float) -> dict[str, Any]:
    plan = split_plan(setting, table)
    rows, names = table.rows, tuple(table.rows.domains)
    domains = [rows.domains[name] for name in names]
    codes = np.column_stack([rows.codes[name] for name in names])
    by_split: dict[str, list[float]] = {model: [] for model in models}
    counted: dict[str, list[int]] = {"boxes": [], "suppressed": []}
    for split in range(plan.splits):
        training, testing = plan.split(rows.label, split)
        classes = ClassTable.from_codes(
            columns=names,
            domains=domains,
            codes=codes[training],
            counts=np.ones(len(training), dtype=np.int64),
            contents={table.label: (rows.label_domain, rows.label[training])},
        )
        boxes = LocalRecoding(
            policy=policy_for(table, suppressed=suppressed),
            # choosing how to grow, and expecting labels, train learners
            growth=Growth(expected_labels=False) if setting.quick else None,
            random_state=setting.seed,
        ).fit_counts(classes, labels=(table.label,))
        counted["boxes"].append(sum(not leaf.suppressed for leaf in boxes.boxes))
        counted["suppressed"].append(boxes.suppressed)
        places = [boxes.box_of(domains, codes[part]) for part in (training, testing)]
        columns = box_columns(boxes, *places)
        features = np.vstack([_features(columns, tested=False), _features(columns, tested=True)])
        features = _scaled(features, len(training))
        label = np.concatenate([rows.label[training], rows.label[testing]])
        kept = _kept(boxes, places[0])
        for model in models:
            quality = try_model(
                MODELS[model],
                features,
                label,
                training=np.flatnonzero(kept),
                testing=np.arange(len(training), len(label)),
                seed=split,
            )
            by_split[model].append(quality.accuracy)
    return {
        "accuracies": {model: float(np.mean(values)) for model, values in by_split.items()},
        **{name: float(np.mean(values)) for name, values in counted.items()},
    }


def _kept(boxes: Any, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which training records are published: those of boxes that are not suppressed."""
    hidden = np.array([leaf.suppressed for leaf in boxes.boxes])
    kept: NDArray[np.bool_] = (places >= 0) & ~hidden[np.maximum(places, 0)]
    return kept


def _features(columns: Any, *, tested: bool) -> Floats:
    """One column a line of numbers that a box stands for."""
    return np.column_stack([column.column.numbers[column.testing if tested else column.training] for column in columns])


def _scaled(features: Floats, training_rows: int) -> Floats:
    """Scaled by the training rows; a record without a box has the mean, and a column that never differs is left out."""
    seen = features[:training_rows]
    mean, spread = np.nanmean(seen, axis=0), np.nanstd(seen, axis=0)
    used = spread > 1e-12 * np.maximum(np.abs(mean), 1.0)
    scaled: Floats = (features[:, used] - mean[used]) / spread[used]
    return np.where(np.isnan(scaled), 0.0, scaled)

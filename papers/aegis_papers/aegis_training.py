"""Models on all rows of a table under many configurations: the paper's 70 to 30, no row left out.

A kernel machine is the dear one: on Income it is trained on 22,800 records. Masked records are often equal, and equal
ones weigh together what they weigh apart, so it is solved on the distinct records with their numbers as weights. That
is the same program, and the same answer up to the solver's tolerance. Where *time* is compared nothing is put together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.evaluation.coded_rows import CodedRows, RowMasker, feature_matrix
from aegis.evaluation.models import Estimator, check_models, one_thread, try_model
from aegis.masking.configuration import Configuration
from aegis_papers.aegis_data import MODELS, Table, split_plan
from aegis_papers.setting import Setting

Accuracy = Callable[[CodedRows, Codes, Codes, int], float]
"""What a model reaches on masked rows: trained on the first places, tested on the second, with a seed."""

CHUNK = 10
"""Configurations that are one finished part: a run that is stopped loses at most these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """The exhaustive way with one model: accuracy per configuration, and the CPU of training each once."""

    model: str
    accuracies: Floats
    cpu_seconds: float

    @property
    def best(self) -> float:
        return float(self.accuracies.max())


def trained(setting: Setting, table: Table, model: str) -> Trained:
    """Train one model of the paper on every configuration of a table."""
    return trained_on(setting, table, table.configurations, model, accuracy_of(model), part=f"train-{table.name}")


def trained_on(
    setting: Setting,
    table: Table,
    chosen: Sequence[Configuration],
    model: str,
    accuracy: Accuracy,
    *,
    part: str,
) -> Trained:
    """Train a model on each of these configurations, a few to a part; the mean over the splits."""
    plan = split_plan(setting, table)
    masker = RowMasker(table.rows, label=table.label, seed=plan.seed)

    def work(some: Sequence[Configuration]) -> dict[str, Any]:
        started = time.process_time()
        accuracies = []
        for configuration in some:
            masked = masker.masked(configuration.masks, configuration=configuration.name)
            by_split = [accuracy(masked, *plan.split(table.rows.label, split), split) for split in range(plan.splits)]
            accuracies.append(float(np.mean(by_split)))
        return {"accuracies": accuracies, "cpu_seconds": (time.process_time() - started) / plan.splits}

    parts = []
    for first in range(0, len(chosen), CHUNK):
        some = chosen[first : first + CHUNK]
        setting.progress(first, len(chosen), f"{table.title}: training {model}")
        ids = [configuration.id for configuration in some]
        parts.append(setting.part(f"{part}-{model}-{first}", partial(work, some), family=ids, plan=plan.id))
    return Trained(
        model=model,
        accuracies=np.array([value for kept in parts for value in kept["accuracies"]]),
        cpu_seconds=sum(kept["cpu_seconds"] for kept in parts),
    )


def accuracy_of(model: str) -> Accuracy:
    """How one of the paper's models is trained."""
    if model == "SVM":
        return kernel_machine

    def accuracy(masked: CodedRows, training: Codes, testing: Codes, seed: int) -> float:
        features = feature_matrix(masked.domains, masked.codes, training=training)
        return try_model(MODELS[model], features, masked.label, training=training, testing=testing, seed=seed).accuracy

    return accuracy


def kernel_machine(masked: CodedRows, training: Codes, testing: Codes, seed: int) -> float:
    """The accuracy of an SVM with a Gaussian kernel, solved on the distinct records."""
    check_models((MODELS["SVM"],))
    features = feature_matrix(masked.domains, masked.codes, training=training)
    seen, wanted = masked.label[training], masked.label[testing]
    spread = float(features[training].var()) if features.shape[1] else 0.0
    if spread <= 0.0:
        return float((wanted == np.bincount(seen).argmax()).mean())
    tuples = np.column_stack(list(masked.codes.values()))
    _, first, counts = np.unique(
        np.column_stack([tuples[training], seen]), axis=0, return_index=True, return_counts=True
    )
    _, distinct, back = np.unique(tuples[testing], axis=0, return_index=True, return_inverse=True)
    # scikit-learn's own scale of the kernel, of all records
    scale = 1.0 / (features.shape[1] * spread)
    model = Estimator("svm.SVC", {"kernel": "rbf", "gamma": scale, "cache_size": 1_000}).build(seed)
    with one_thread():
        model.fit(features[training[first]], seen[first], sample_weight=counts.astype(np.float64))
        answers = model.predict(features[testing[distinct]])
    return float((answers[back.reshape(-1)] == wanted).mean())

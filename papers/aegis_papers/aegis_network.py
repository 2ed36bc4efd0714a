"""The neural network of Figure 6a of the Aegis paper, on all rows of its tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from aegis.arrays import Ints
from aegis.errors import MissingExtraError
from aegis.evaluation.coded_rows import RowMasker, feature_matrix
from aegis.masking.configuration import Configuration
from aegis_papers.aegis_data import Table, split_plan
from aegis_papers.aegis_training import Trained
from aegis_papers.network_training import Floats, device_name, network_accuracies
from aegis_papers.setting import Setting

NETWORK = "NN"
EPOCHS = 200
CHUNK = 25
"""Networks that are trained together, and kept as one finished part."""


def trained_network(setting: Setting, table: Table) -> tuple[Trained, str]:
    """The paper's neural network (section 5.2.2) on every configuration, one split of 70 to 30; and where it ran."""
    try:
        import jax  # noqa: F401
    except ImportError:
        raise MissingExtraError(feature="the neural network", extra="sanitize") from None
    training, testing, seed = network_rows(setting, table)
    parts: list[dict[str, Any]] = []
    for first in range(0, len(table.configurations), CHUNK):
        some = table.configurations[first : first + CHUNK]

        def work(some: Sequence[Configuration] = some) -> dict[str, Any]:
            started = time.process_time()
            accuracies = network_accuracies(
                network_features(table, some, training),
                table.rows.label,
                training=training,
                testing=testing,
                epochs=20 if setting.quick else EPOCHS,
                seed=seed,
            )
            return {
                "accuracies": accuracies,
                "cpu_seconds": time.process_time() - started,
                "device": device_name(),
            }

        setting.progress(first, len(table.configurations), f"{table.title}: training {NETWORK}")
        parts.append(
            setting.part(f"network-{table.name}-{first}", work, family=[configuration.id for configuration in some])
        )
    trained = Trained(
        model=NETWORK,
        accuracies=np.array([value for kept in parts for value in kept["accuracies"]]),
        cpu_seconds=sum(kept["cpu_seconds"] for kept in parts),
    )
    return trained, ", ".join(dict.fromkeys(kept["device"] for kept in parts))


def network_rows(setting: Setting, table: Table) -> tuple[Ints, Ints, int]:
    """The rows to train and to test on, and the seed."""
    plan = split_plan(setting, table, splits=1)
    return *plan.split(table.rows.label, 0), plan.seed


def network_features(table: Table, some: Sequence[Configuration], training: Ints) -> list[Floats]:
    """What a network sees of the rows under each configuration: numbers scaled, categories one-hot."""
    masker = RowMasker(table.rows, label=table.label)
    features = []
    for configuration in some:
        masked = masker.masked(configuration.masks, configuration=configuration.name)
        features.append(feature_matrix(masked.domains, masked.codes, training=training).astype(np.float32))
    return features

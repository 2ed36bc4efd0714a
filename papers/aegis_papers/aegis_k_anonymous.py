"""Configurations under which a table is 5-anonymous, found by the search, and models trained on what they release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.candidates.search.search import search
from aegis.data.schema import Roles
from aegis.evaluation.coded_rows import CodedRows
from aegis.library.tables.judging import classes_of
from aegis.masking.configuration import Configuration
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis_papers.aegis_data import Table
from aegis_papers.aegis_training import Accuracy, Trained, accuracy_of, trained_on
from aegis_papers.setting import Setting

K = 5
SUPPRESSED = 0.05
"""The share of records that the family which allows suppression may leave out."""
NODES = 3_000
"""Configurations that each search weighs: the same on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """5-anonymous configurations, and the share of the records that each may suppress."""

    name: str
    suppressed: float
    configurations: tuple[Configuration, ...]

    def of(self, space: str) -> list[int]:
        """The places of those that come from one space of the search."""
        return [place for place, chosen in enumerate(self.configurations) if chosen.name.startswith(space)]


def policy_for(table: Table, *, suppressed: float) -> Policy:
    """5-anonymity, all attributes being quasi-identifiers."""
    roles = Roles(label=table.label, quasi_identifying=tuple(table.counted.joints))
    return Policy(models=(KAnonymity(k=K),), roles=roles, max_suppression=suppressed)


def families(setting: Setting, table: Table) -> tuple[Family, ...]:
    """One that suppresses nothing, and one that may suppress what falls into small classes."""
    return (
        _family(setting, table, name="nothing suppressed", suppressed=0.0),
        _family(setting, table, name=f"up to {100 * SUPPRESSED:g} % suppressed", suppressed=SUPPRESSED),
    )


def _family(setting: Setting, table: Table, *, name: str, suppressed: float) -> Family:
    """The 25 best of automatic hierarchies and the 25 best of free cuts."""
    policy = policy_for(table, suppressed=suppressed)
    classes = classes_of(table.dataset, policy, policy.roles, contents=(table.label,))
    candidates = [
        (space, candidate)
        for space in ("levels", "cuts")
        for candidate in search(
            classes,
            label=table.label,
            policy=policy,
            space=space,
            shortlist=3 if setting.quick else 25,
            seconds=None,
            most_nodes=30 if setting.quick else NODES,
        ).shortlist
    ]
    return Family(
        name=name,
        suppressed=suppressed,
        configurations=tuple(
            Configuration(name=f"{space}-{number:02d}", masks=dict(candidate.masks), label=table.label)
            for number, (space, candidate) in enumerate(candidates, start=1)
        ),
    )


def trained_on_family(setting: Setting, table: Table, family: Family, model: str) -> Trained:
    """Train a model on what each configuration releases, and test it on the other rows under the same masks."""
    accuracy = accuracy_of(model)
    part = "train-k-anonymous" + ("-suppressed" if family.suppressed else "")
    return trained_on(
        setting,
        table,
        family.configurations,
        model,
        without_small_classes(accuracy) if family.suppressed else accuracy,
        part=part,
    )


def unmasked(setting: Setting, table: Table, model: str) -> float:
    """What the model reaches with nothing masked."""
    chosen: Sequence[Configuration] = (Configuration(name="unmasked", masks={}, label=table.label),)
    return trained_on(setting, table, chosen, model, accuracy_of(model), part="train-unmasked").best


def without_small_classes(accuracy: Accuracy) -> Accuracy:
    """The same model trained without the records that are suppressed; it is still asked about every test row."""

    def of_released(masked: CodedRows, training: Codes, testing: Codes, seed: int) -> float:
        return accuracy(masked, training[in_large_classes(masked)[training]], testing, seed)

    return of_released


def in_large_classes(masked: CodedRows) -> NDArray[np.bool_]:
    """Which records share all their masked values with at least four others."""
    tuples = np.column_stack(list(masked.codes.values()))
    _, back, sizes = np.unique(tuples, axis=0, return_inverse=True, return_counts=True)
    large: NDArray[np.bool_] = sizes[back.reshape(-1)] >= K
    return large

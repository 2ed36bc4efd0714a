"""Configurations under which a table is k-anonymous, found by the search, and models trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aegis.candidates.search.search import search
from aegis.data.schema import Roles
from aegis.evaluation.gold import gold_standard
from aegis.library.judging import classes_of
from aegis.masking.configuration import Configuration
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis_papers.aegis_choices import Trained
from aegis_papers.aegis_data import MODELS, Table, split_plan
from aegis_papers.setting import Setting

K = 5


def k_anonymous(setting: Setting, table: Table) -> tuple[Configuration, ...]:
    """The best ones of the levels and of free cuts, all attributes being quasi-identifiers, nothing suppressed."""
    roles = Roles(label=table.label, quasi_identifying=tuple(table.counted.joints))
    policy = Policy(models=(KAnonymity(k=K),), roles=roles)
    classes = classes_of(table.dataset, policy, roles, contents=(table.label,))
    most = 3 if setting.quick else 25
    found = [
        (space, one)
        for space in ("levels", "cuts")
        for one in search(
            classes,
            label=table.label,
            policy=policy,
            space=space,
            shortlist=most,
            seconds=0.3 if setting.quick else None,
        ).shortlist
    ]
    return tuple(
        Configuration(name=f"{space}-{number:02d}", masks=dict(one.masks), label=table.label)
        for number, (space, one) in enumerate(found, start=1)
    )


def trained_on(setting: Setting, table: Table, family: Sequence[Configuration], model: str) -> Trained:
    """Train one model on each of these configurations."""

    def work() -> dict[str, Any]:
        plan = split_plan(setting)
        gold = gold_standard(table.rows, family, label=table.label, models=(MODELS[model],), plan=plan)
        return {"accuracies": gold.accuracies.tolist(), "cpu_seconds": gold.cpu_seconds / plan.splits}

    kept = setting.part(f"train-k-anonymous-{model}", work, family=[one.id for one in family])
    return Trained(model=model, accuracies=np.array(kept["accuracies"]), cpu_seconds=kept["cpu_seconds"])

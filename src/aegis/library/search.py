"""Search for the configuration that keeps most of the label and satisfies the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis.candidates.search.board import Progress
from aegis.candidates.search.result import Candidate, SearchResult
from aegis.candidates.search.search import automatic_hierarchies
from aegis.candidates.search.search import search as search_classes
from aegis.counts.class_table import ClassTable
from aegis.counts.joint import check_classes, check_filled
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy, write_hierarchies
from aegis.data.output import check_apart, check_free, write_text
from aegis.data.schema import Roles
from aegis.errors import LabelError
from aegis.evaluation.tuple_accuracy import TupleAccuracy, tuple_accuracy
from aegis.library.judging import classes_of, read_policy
from aegis.library.keywords import check_keywords
from aegis.library.proposals import find_hierarchies
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import as_text, check_ending
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A configuration of the shortlist with the accuracy a model reached on it."""

    candidate: Candidate
    accuracy: TupleAccuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The chosen configuration and the search that led to it."""

    configuration: Configuration
    chosen: Candidate
    search: SearchResult
    verified: tuple[Verified, ...]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis search --json`` prints."""
        return {
            "configuration": {column: mask.describe() for column, mask in self.configuration.masks.items()},
            "id": self.configuration.id,
            **self.search.describe(),
            "levels": dict(self.chosen.levels),
            "utility": self.chosen.utility,
            "suppressed": self.chosen.suppressed,
            "classes": self.chosen.classes,
            "smallest_class": self.chosen.smallest_class,
            "verified": [
                {
                    "configuration": {c: m.describe() for c, m in one.candidate.masks.items()},
                    "utility": one.candidate.utility,
                    "accuracy": one.accuracy.accuracy,
                    "interval": list(one.accuracy.interval),
                }
                for one in self.verified
            ],
        }


def search(
    data: Any,
    *,
    policy: Policy | str | Path,
    label: str | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    space: str = "both",
    measure: str | None = None,
    verify: int = 0,
    seconds: float | None = 60.0,
    seed: int = 0,
    out: str | Path | None = None,
    save_hierarchies: str | Path | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Found:
    """Find the best configuration of the quasi-identifiers of ``data`` that satisfies ``policy``.

    The rows are counted once; the search works on the distinct tuples. ``verify`` trains a cheap model on that many
    of the best candidates and takes the most accurate. ``out`` receives the configuration, with label and roles.
    """
    check_keywords(search, options)
    if out is not None:
        check_free(Path(out), overwrite=overwrite)
        check_apart([out], [data, policy])
        check_ending(Path(out))
    rules = read_policy(policy)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    own = dataset.roles if label is None else dataset.roles.overridden_by(Roles(label=label))
    roles = rules.roles_in(dataset.schema, own)
    if roles.label is None:
        raise LabelError("no label is given; name the column to be predicted with --label or in the roles file")
    if roles.label not in dataset.schema:
        raise LabelError(f"there is no column {roles.label!r}; the columns are {', '.join(dataset.schema.names)}")
    known = find_hierarchies(hierarchies, data)
    table = classes_of(dataset, rules, roles, contents=(roles.label,), hierarchies=known)
    check_classes(roles.label, table.contents[roles.label].totals)
    empty = "drop it, or take it out of the quasi-identifiers"
    check_filled(dict(zip(table.columns, table.domains, strict=True)), what_to_do=empty)
    result = search_classes(
        table,
        label=roles.label,
        policy=rules,
        hierarchies=known,
        space=space,
        shortlist=max(10, verify),
        seconds=seconds,
        progress=progress,
        **({} if measure is None else {"measure": measure}),
    )
    verified = tuple(
        Verified(candidate=one, accuracy=_accuracy(one, table, rules, roles.label, seed))
        for one in result.shortlist[:verify]
    )
    best = max(verified, key=lambda one: one.accuracy.accuracy).candidate if verified else result.best
    configuration = Configuration(name="best", masks=best.masks, label=roles.label, roles=roles)
    if save_hierarchies is not None:
        write_hierarchies({**automatic_hierarchies(table), **known}, save_hierarchies, dataset=dataset.name)
    if out is not None:
        write_text(Path(out), as_text([configuration], path=Path(out)), overwrite=overwrite)
    return Found(configuration=configuration, chosen=best, search=result, verified=verified)


def _accuracy(candidate: Candidate, table: ClassTable, policy: Policy, label: str, seed: int) -> TupleAccuracy:
    partitions: dict[str, Partition] = {}
    for position, column in enumerate(table.columns):
        domain = table.domains[position]
        counts = np.bincount(table.codes[:, position], weights=table.sizes, minlength=domain.size)
        change = transition(candidate.masks[column], domain, counts)
        assert isinstance(change, Partition), "the search finds deterministic masks only"
        partitions[column] = change
    released = judge_all(table.merged(partitions), policy).released
    return tuple_accuracy(released, label=label, seed=seed)

"""Count a table under its configurations: what a provider sends to a publisher instead of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.counts.collect import Counted, Limits, count_joints
from aegis.counts.folder import write_summary
from aegis.counts.noise import add_noise
from aegis.counts.protect import merge_small
from aegis.counts.protection import Protection
from aegis.counts.summary import Level, Summary, reduced
from aegis.counts.summary import summarize as summarize_counts
from aegis.counts.usable_columns import check_classes, check_filled
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError, LabelError, PolicyNotSatisfiedError
from aegis.library.candidates import Configurations, checked, find_hierarchies, gather, label_of, with_generated
from aegis.library.check import read_policy
from aegis.library.gate import judge_configurations
from aegis.library.keywords import check_keywords
from aegis.library.pair_scoring import with_pair_scores
from aegis.library.parts import append_part
from aegis.masking.configuration import Configuration
from aegis.measures.measure import find_pair_measure
from aegis.privacy.policy import Policy
from aegis.progress import Progress
from aegis.ranking.rank import TOGETHER

DEFAULT_PAIR_SCORES = (TOGETHER,)


def summarize(
    data: Any,
    *,
    label: str | None = None,
    configurations: Configurations = None,
    generate: int = 0,
    strength: str = "mixed",
    masks: Iterable[str] | None = None,
    seed: int = 0,
    level: Level | str = Level.TWO_D,
    ranges: int | None = None,
    opaque: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    roles: Roles | None = None,
    label_bins: int | None = None,
    policy: Policy | str | Path | None = None,
    pair_scores: Sequence[str] = DEFAULT_PAIR_SCORES,
    min_count: int | None = None,
    epsilon: float | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    limits: Limits | None = None,
    append: str | Path | None = None,
    part: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Summary:
    """Count ``data`` once and summarise it under its configurations; write it to the folder ``out`` if one is given.

    ``level`` says how much of the unmasked table is told (``2d``, ``1d``, ``none``), ``ranges`` tells the 1D
    histograms in that many ranges instead of values, ``opaque`` names the masks by numbers only, which leaves the
    unmasked table untold: the level is then ``none``. ``pair_scores`` are
    the scores of whole configurations to add, measured on pairs of attributes that the summary itself does not tell.
    With a ``policy`` only configurations that satisfy it are kept; the others are named with the reason.

    ``min_count`` merges cells of fewer records; ``epsilon`` adds differentially private noise to all counts. Both leave
    the scores of pairs out, which they do not cover: such a summary is ranked by single attributes.

    ``append`` is the folder of a summary of other rows of the same table: ``data`` is counted alone, as those were, and
    added to it, under the name ``part``. The folder brings label, configurations and level along.

    Without a ``label``, in the roles or here, it is the one that the configurations name; one that names another is an
    error.
    """
    check_keywords(summarize, options)
    if append is not None:
        decided = {
            "label": label,
            "configurations": configurations,
            "generate": generate,
            "ranges": ranges,
            "opaque": opaque,
            "label_bins": label_bins,
            "policy": policy,
            "min_count": min_count,
            "epsilon": epsilon,
        }
        if any(decided.values()):
            named = ", ".join(name for name, value in decided.items() if value)
            raise ConfigurationError(f"the summary that is added to decides what is counted; leave out {named}")
        return append_part(
            data, append=append, part=part, out=out, overwrite=overwrite, roles=roles, progress=progress, **options
        )
    for name in pair_scores:
        find_pair_measure(name)
    if min_count is not None or epsilon is not None:
        Protection(min_count=min_count, epsilon=epsilon, attributes=1)  # says what is wrong before anything is counted
    dataset = data if isinstance(data, Dataset) else open_dataset(data, roles=roles, **options)
    known = find_hierarchies(hierarchies, data)
    given = gather(configurations, hierarchies=known, data=data)
    label = label_of(label, dataset.roles.label, given)
    counted = count(dataset, label=label, label_bins=label_bins, limits=limits, progress=progress)
    protection: Protection | None = None
    if epsilon is not None:
        counted, protection = add_noise(counted, epsilon)
    if epsilon is not None or min_count is not None:
        pair_scores = ()
    chosen = with_generated(
        given,
        counted,
        count=generate,
        strength=strength,
        masks=masks,
        seed=seed,
        hierarchies=known,
    )
    chosen = checked(chosen, counted, dataset.schema.names)
    rejected: dict[str, str] = {}
    if policy is not None:
        chosen, rejected = _let_pass(dataset, chosen, read_policy(policy), known)
    full = summarize_counts(
        name=dataset.name,
        label=counted.label,
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=chosen,
        skipped=counted.skipped,
    )
    full = replace(full, rejected=rejected)
    full = replace(full, protection=protection)
    full = with_pair_scores(full, dataset, counted, names=pair_scores, seed=seed, progress=progress)
    if min_count is not None:
        full = merge_small(full, min_count)
    told = reduced(full, level=Level(level), ranges=ranges, opaque=opaque)
    if out is not None:
        write_summary(told, Path(out), overwrite=overwrite)
    return told


def _let_pass(
    dataset: Dataset, configurations: list[Configuration], policy: Policy, hierarchies: Mapping[str, Hierarchy]
) -> tuple[list[Configuration], dict[str, str]]:
    """The configurations that satisfy the policy, and why the others do not."""
    passages = judge_configurations(dataset, configurations, policy, hierarchies=hierarchies)
    passing = [one for one in configurations if passages[one.name].satisfied]
    if not passing:
        raise PolicyNotSatisfiedError(
            f"none of the {len(configurations)} configurations satisfies the policy; mask more, or search for one"
        )
    return passing, {name: passage.reason for name, passage in passages.items() if not passage.satisfied}


def count(
    dataset: Dataset,
    *,
    label: str | None,
    label_bins: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Counted:
    """The one pass over the rows."""
    label = label or dataset.roles.label
    if label is None:
        raise LabelError(
            f"no label is given for {dataset.name}; name the column to be predicted with --label or in its roles file"
        )
    counted = count_joints(dataset, label=label, label_bins=label_bins, limits=limits, progress=progress)
    check_classes(label, counted.label_histogram.counts)
    check_filled({name: joint.attribute for name, joint in counted.joints.items()})
    return counted

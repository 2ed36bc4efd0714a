"""Count a table under its configurations: what a provider sends to a publisher instead of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.commands.summarize import Summarize
from aegis.counts.collect import count_table
from aegis.counts.folder import check_summary_free, write_summary
from aegis.counts.joint import TableCounts
from aegis.counts.named_from import named_from
from aegis.counts.protect import add_noise, merge_small
from aegis.counts.protection import Protection
from aegis.counts.summary import Level, Summary, mask_counts, reduced
from aegis.data.dataset import Dataset
from aegis.errors import MeasureError, PolicyNotSatisfiedError
from aegis.library.advising.racing import CONTINUOUS_BINS, race_configurations, sample_for_masks
from aegis.library.advising.scoring import pair_scores
from aegis.library.ledgers.budgets import SharedBudget, reason_to_spend, shared_budget
from aegis.library.ledgers.constraints import Constraints, judging
from aegis.library.merge import append_part
from aegis.library.tables.judging import read_policy
from aegis.library.tables.opening import find_hierarchies, gather, label_of, open_table
from aegis.library.tables.proposals import check_proposing, propose
from aegis.library.tables.unlisted import looks_identifying, not_counted
from aegis.measures.measure import MEASURES
from aegis.operation import operation
from aegis.ranking.verdicts import Verdicts
from aegis.releases.budget import Budget
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease, recipient_named


@operation(Summarize)
def summarize(options: Summarize) -> Summary:
    """Count the table once and summarise it under its configurations; write it to the folder ``out`` if one is given.

    Columns that identify, and those that look so and that nobody gave a role, are not counted: what names people is
    in no summary. With a ``policy`` only configurations that satisfy it are kept; the others are named with the
    reason. What models reach on each travels with the counts, so that whoever has no rows gets the same ranking;
    ``min_count`` and ``epsilon`` leave it out, because they do not cover it: such a summary is ranked by single
    attributes. Without a ``label``, in the roles or here, it is the one that the configurations name.

    What is written goes on the record of a table that has a ledger, and ``epsilon`` is spent from the budget that all
    differentially private releases of the table share.

    Example::

        aegis.summarize("clinic.csv", configs="configurations", out="summary")
    """
    if options.append is not None:
        return append_part(options)
    _check(options)
    dataset = open_table(options.data, options)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    configurations = gather(options.configs, hierarchies=hierarchies, data=options.data)
    label = label_of(options.label, dataset.roles.label, configurations)
    policy = None if options.policy is None else read_policy(options.policy)
    roles = dataset.roles if policy is None else policy.roles_in(dataset.schema, dataset.roles)
    looking_so = looks_identifying(dataset, roles, masked=() if label is None else (label,), empty=False)
    roles = replace(roles, identifying=(*roles.identifying, *looking_so))
    dataset = dataset.with_roles(roles)

    shared = None if options.out is None else _ledger(dataset, options)
    despite = None
    if options.out is not None and options.epsilon is not None:
        asked = Budget(epsilon=options.epsilon)
        despite = reason_to_spend(options.data, dataset, options, shared=shared, asked=asked)

    counted = count_table(
        dataset,
        label=label,
        label_bins=options.label_bins,
        continuous_bins=CONTINUOUS_BINS,
        limits=options.limits,
        progress=options.progress,
    )
    counted = replace(counted, skipped={**counted.skipped, **{name: not_counted(name) for name in looking_so}})
    check_proposing(configurations, options, counted, dataset.schema.names, dataset.roles)
    if options.out is not None:
        check_summary_free(Path(options.out), overwrite=options.overwrite)
    protection: Protection | None = None
    begun: int | None = None
    if options.epsilon is not None:
        if shared is not None:  # spent before noise is drawn, whatever comes of it
            begun = shared.begin(_leaving(options, despite=despite))
        counted, protection = add_noise(counted, options.epsilon)
    constraints = None
    if policy is not None:
        constraints = Constraints(dataset=dataset, policy=policy, roles=roles, hierarchies=hierarchies)
    candidates = propose(
        configurations, options, counted, dataset.schema.names, seed=options.seed, hierarchies=hierarchies, roles=roles
    )
    verdicts = judging(dataset, constraints)(candidates)
    if not verdicts.passed:
        raise PolicyNotSatisfiedError(
            f"none of the {len(candidates)} configurations satisfies the policy; mask more, or search for one"
        )
    counts = mask_counts(counted, verdicts.passed, name=dataset.name)
    scores = pair_scores(
        counts, dataset, counted, names=_scores_wanted(options), seed=options.seed, progress=options.progress
    )
    race = _race(dataset, counted, verdicts, counts, constraints, options)
    full = replace(
        counts,
        scores=scores,
        race=race,
        rejected=verdicts.rejected,
        protection=protection,
        named_from=named_from(dataset, None if constraints is None else constraints.policy.unit),
    )
    if options.min_count is not None:
        full = merge_small(full, options.min_count)
    shown = reduced(full, level=Level(options.level or "2d"), ranges=options.ranges, opaque=options.opaque)
    if options.out is not None:
        check_summary_free(Path(options.out), overwrite=options.overwrite)
        if shared is not None:  # on the record before anybody can see it
            leaving = _leaving(options, despite=despite)
            leaving = replace(leaving, columns=tuple(shown.attributes), rows=int(shown.rows))
            shared.spend(leaving, begun=begun)
        write_summary(shown, Path(options.out), overwrite=options.overwrite)
    return shown


def _ledger(dataset: Dataset, options: Summarize) -> SharedBudget | None:
    """The ledger that a summary goes into: that of a table which has one, or whose budget is spent."""
    shared = shared_budget(options.data, dataset, options)
    if shared is None:
        options.refuse("recipient", because="this source has no ledger: name one with --ledger")
        return None
    if options.epsilon is None and options.ledger is None and not read_ledger(shared.path).entries:
        options.refuse("recipient", because="nothing was released from this table yet, so there is no ledger: name one")
        return None
    return shared


def _leaving(options: Summarize, *, despite: str | None) -> RecordedRelease:
    """Counts by single columns: nobody links rows by them, and only noise has a budget."""
    return RecordedRelease(
        name=Path(str(options.out)).name,
        kind="summary",
        recipient=recipient_named(options.recipient),
        linkable=False,
        budget=None if options.epsilon is None else Budget(epsilon=options.epsilon),
        despite=despite,
    )


def _check(options: Summarize) -> None:
    """Say what is wrong before anything is counted."""
    for name in options.score:
        if not MEASURES[name].of_whole_configurations:
            raise MeasureError(f"{name} measures single attributes, which a summary tells anyhow; leave it out")
    if options.min_count is not None or options.epsilon is not None:
        Protection(min_count=options.min_count, epsilon=options.epsilon, attributes=1)


def _scores_wanted(options: Summarize) -> tuple[str, ...]:
    if options.min_count is not None or options.epsilon is not None:
        return ()
    return tuple(dict.fromkeys(options.score))


def _race(
    dataset: Dataset,
    counted: TableCounts,
    verdicts: Verdicts,
    counts: Summary,
    constraints: Constraints | None,
    options: Summarize,
) -> Mapping[str, Any] | None:
    """What models reach on each configuration; None where it is not wanted, or would not be protected."""
    if not options.race or options.min_count is not None or options.epsilon is not None:
        return None
    sample = sample_for_masks(dataset, counted, goal=options.goal, label_bins=options.label_bins, seed=options.seed)
    raced = race_configurations(
        verdicts,
        sample,
        goal=options.goal,
        policy=None if constraints is None else constraints.policy,
        changes=counts.changes,
        seed=options.seed,
        progress=options.progress,
    )
    return raced.to_json()

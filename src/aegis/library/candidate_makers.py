"""What makes the candidates of each kind, for a table, a label and a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aegis.candidates.boxes.candidate import BoxesCandidate
from aegis.candidates.boxes.choosing import growth_for, usual_growth
from aegis.candidates.boxes.growing import check_possible, grow_boxes
from aegis.candidates.clusters.candidate import MOST_ROWS, ClustersCandidate
from aegis.candidates.search.gate import Out
from aegis.candidates.search.search import search as search_classes
from aegis.candidates.synthesis.candidate import SyntheticCandidate
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.shell import word
from aegis.errors import LabelError, PolicyError, RoleError
from aegis.learners.candidate import MaskedCandidate, MaskTables
from aegis.learners.sample import Sample
from aegis.learners.target import Places
from aegis.library.boxes_together import BoxesUnderLedger
from aegis.library.candidate_kinds import Made, Workshop
from aegis.library.judging import classes_of
from aegis.library.masked_data import masked_data
from aegis.library.racing import suppressed_rows
from aegis.library.sensitive_masks import masks_to_repeat
from aegis.masking.configuration import Configuration
from aegis.operation import listed
from aegis.plural import count
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.together import Together, nobody_gone, without_known
from aegis.ranking.verdicts import CandidateVerdict, verdicts_on

EPSILONS = (1.0, 3.0)
DELTA = 1e-6


def boxes(workshop: Workshop) -> list[Made]:
    """Local recoding; the verdict is of boxes cut on the whole table."""
    contents = tuple(dict.fromkeys((workshop.label, *workshop.policy.attributes)))
    under = seen = None
    if workshop.out is None:
        counts = classes_of(
            workshop.dataset, workshop.policy, workshop.roles, contents=contents, hierarchies=workshop.hierarchies
        )
    else:
        under = BoxesUnderLedger(
            standing=workshop.out,
            policy=workshop.policy,
            roles=workshop.roles,
            contents=contents,
            hierarchies=workshop.hierarchies,
        )
        seen = under.counts()
        counts = without_known(seen)
    check_possible(counts, workshop.policy)
    growth = usual_growth(counts)
    if workshop.ways:
        growth = growth_for(counts, workshop.policy, workshop.label, seed=workshop.seed)
    grown = grow_boxes(counts, workshop.policy, labels=[workshop.label], growth=growth)
    number = len(grown.boxes.leaves)
    return [
        Made(
            candidate=BoxesCandidate(
                workshop.sample, workshop.policy, workshop.quasi, seed=workshop.seed, ways=workshop.ways
            ),
            verdict=_verdict(grown.judgement)
            if under is None or seen is None
            else _beside(_verdict(grown.judgement), under.judge(grown.boxes, seen)),
            reason=f"local recoding into {count(number, 'box', 'boxes')}, fitted on the training rows of each part",
            command=f"aegis anonymize DATA --method boxes --policy POLICY --quasi {word(listed(workshop.quasi))} "
            f"--label {word(workshop.label)} --out OUT.csv",
        )
    ]


def clusters(workshop: Workshop) -> list[Made]:
    """Microaggregation, judged on a part of the sample."""
    workshop.check_nothing_is_out("clusters", because="clusters are judged on a sample of the rows")
    check_counts_records(workshop.policy, "clusters are judged on a sample, which does not say whose its rows are")
    k = max((model.k for model in workshop.policy.models if isinstance(model, KAnonymity)), default=2)
    candidate = ClustersCandidate(workshop.sample, k=k, columns=workshop.quasi)
    rows = np.arange(min(workshop.sample.rows, MOST_ROWS), dtype=np.int64)
    classes = candidate.classes_of(rows).labels_
    judged = ClassTable.from_codes(
        columns=("class",),
        domains=(Domain.of(Kind.INTEGER, np.arange(int(classes.max()) + 1)),),
        codes=classes.reshape(-1, 1),
        counts=np.ones(len(rows), dtype=np.int64),
        contents={name: _held(workshop.sample, name, rows) for name in workshop.policy.attributes},
    )
    judgement = judge_all(judged, workshop.policy)
    return [
        Made(
            candidate=candidate,
            verdict=_verdict(judgement),
            reason=f"MDAV with classes of at least {k} records, judged on {len(rows):,} of the rows; the clustered "
            "table trains and real rows test",
            command=f"aegis anonymize DATA --method mdav --k {word(k)} --scale standardised "
            f"--quasi {word(listed(workshop.quasi))} --out OUT.csv",
        )
    ]


class _SearchedCandidate(MaskedCandidate):
    """A configuration that a search found."""

    kind = "search"


def search(workshop: Workshop) -> Sequence[Made]:
    """The best configuration of cuts and levels."""
    if "search" not in workshop.shared:
        workshop.shared["search"] = _searched(workshop)
    return workshop.shared["search"]


def _searched(workshop: Workshop) -> list[Made]:
    policy, label, sample = workshop.policy, workshop.label, workshop.sample
    if sample.looks_like_numbers:
        raise LabelError("a search keeps classes predictable, and this label is a number; cut it with --label-bins")
    standing, out = workshop.out, None
    repeated = {} if standing is None else masks_to_repeat(standing)
    rows = workshop.dataset if standing is None else standing.dataset
    seen = classes_of(
        masked_data(rows, repeated).dataset if repeated else rows,
        policy,
        workshop.roles,
        contents=(label,),
        hierarchies=workshop.hierarchies,
        known=standing is not None,
    )
    counts = seen
    if standing is not None:
        counts, out = without_known(seen), Out(table=seen, gone=standing.gone_from, apart=standing.apart)
    result = search_classes(
        counts, label=label, policy=policy, hierarchies=workshop.hierarchies, seconds=workshop.seconds, out=out
    )
    configuration = Configuration(name="search", masks=result.best.masks, label=label, roles=workshop.roles)
    gone = nobody_gone if standing is None else standing.gone_from
    verdict = verdicts_on([configuration], seen, policy, gone=gone)[configuration.name]
    configuration = replace(configuration, masks={**configuration.masks, **repeated})
    starred = None
    if verdict.released is not None and verdict.suppressed:
        starred = suppressed_rows(sample, verdict.released)
    candidate = _SearchedCandidate(
        configuration,
        MaskTables(sample),
        starred=starred,
        quasi_identifiers=workshop.quasi,
        dropped=policy.suppressed is Suppressed.DROPPED,
    )
    masks = ", ".join(f"{column}: {mask.describe()}" for column, mask in configuration.masks.items())
    return [Made(candidate=candidate, verdict=verdict, reason=masks, id=configuration.id, configuration=configuration)]


def synthetic(workshop: Workshop) -> list[Made]:
    """Made-up rows, a table for each budget that people ask for most.

    The rows are nobody's, so the models of the policy have nothing to judge in them.
    """
    made = []
    for epsilon in EPSILONS:
        candidate = SyntheticCandidate(workshop.sample, epsilon=epsilon, delta=DELTA)
        model = candidate.learnt(np.arange(workshop.sample.rows, dtype=np.int64), seed=0)
        left_out = "".join(f"; {column.name} left out" for column in model.left_out)
        made.append(
            Made(
                candidate=candidate,
                verdict=CandidateVerdict(satisfied=True, suppressed=0, smallest_class=0, failing=()),
                reason=f"made-up rows that promise ε = {epsilon:g} at δ = {DELTA:g}; they train and real rows test; "
                f"no row is anybody's, so the policy's models do not apply{left_out}",
                command=f"aegis synthesize DATA --epsilon {word(f'{epsilon:g}')} --delta {word(f'{DELTA:g}')} "
                f"--label {word(workshop.label)} --out OUT.csv",
            )
        )
    return made


def check_counts_records(policy: Policy, because: str) -> None:
    """Raise where a policy counts people and a kind of candidates cannot."""
    if policy.unit is not None:
        raise PolicyError(f"the policy counts people by {policy.unit!r}, and {because}")


def _held(sample: Sample, name: str, rows: Places) -> tuple[Domain, Places]:
    if name == sample.label:
        return sample.label_domain, sample.label_codes[rows].astype(np.int64)
    if name not in sample.codes:
        raise RoleError(f"the policy speaks of {name!r}, which could not be counted")
    return sample.histograms[name].domain, sample.codes[name][rows].astype(np.int64)


def _beside(alone: CandidateVerdict, together: Together) -> CandidateVerdict:
    """The verdict on a candidate that satisfies the policy by itself, together with what is out."""
    if together.satisfied or not alone.satisfied:
        return alone
    failing = tuple(f"{each.model} together with what is out" for each in together.broken) or ("what is out",)
    return replace(alone, satisfied=False, failing=failing)


def _verdict(judgement: Judgement) -> CandidateVerdict:
    failing = tuple(verdict.title for verdict in judgement.verdicts if not verdict.satisfied)
    return CandidateVerdict(
        satisfied=judgement.satisfied,
        suppressed=judgement.suppressed,
        smallest_class=judgement.smallest_class,
        failing=failing or (() if judgement.satisfied else ("max_suppression",)),
        average_risk=judgement.classes / max(judgement.records, 1),
    )

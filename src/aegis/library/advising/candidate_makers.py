"""What makes the candidates of each kind, for a table, a label and a policy."""

from __future__ import annotations

import numpy as np

from aegis.candidates.boxes.candidate import BoxesCandidate
from aegis.candidates.boxes.choosing import growth_for, usual_growth
from aegis.candidates.boxes.growing import check_possible, grow_boxes
from aegis.candidates.clusters.candidate import MOST_ROWS, ClustersCandidate
from aegis.candidates.synthesis.candidate import SyntheticCandidate
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import PolicyError, RoleError
from aegis.learners.sample import Sample
from aegis.learners.target import Places
from aegis.library.advising.boxes_together import counts_for_boxes, judge_boxes
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate
from aegis.operation import listed, word
from aegis.plural import count
from aegis.privacy.judgement import judge_all
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis.privacy.together import without_known
from aegis.ranking.verdicts import CandidateVerdict

EPSILONS = (1.0, 3.0)
DELTA = 1e-6


def boxes(inputs: CandidateInputs) -> list[MadeCandidate]:
    """Local recoding; the verdict is of boxes cut on the whole table."""
    constraints = inputs.constraints
    seen = counts_for_boxes(constraints, tuple(dict.fromkeys((inputs.label, *inputs.policy.attributes))))
    counts = seen if constraints.earlier is None else without_known(seen)
    check_possible(counts, inputs.policy)
    growth = usual_growth(counts)
    if inputs.ways:
        growth = growth_for(counts, inputs.policy, inputs.label, seed=inputs.seed)
    grown = grow_boxes(counts, inputs.policy, labels=[inputs.label], growth=growth)
    verdict = CandidateVerdict.of(grown.judgement)
    if constraints.earlier is not None:
        verdict = verdict.beside(judge_boxes(grown.boxes, seen, constraints))
    number = grown.boxes.many
    return [
        MadeCandidate(
            candidate=BoxesCandidate(inputs.sample, inputs.policy, inputs.quasi, seed=inputs.seed, ways=inputs.ways),
            verdict=verdict,
            reason=f"local recoding into {count(number, 'box', 'boxes')}, fitted on the training rows of each part",
            command=f"aegis anonymize DATA --method boxes --policy POLICY --quasi {word(listed(inputs.quasi))} "
            f"--label {word(inputs.label)} --out OUT.csv",
        )
    ]


def clusters(inputs: CandidateInputs) -> list[MadeCandidate]:
    """Microaggregation, judged on a part of the sample."""
    inputs.check_nothing_is_out("clusters", because="clusters are judged on a sample of the rows")
    check_counts_records(inputs.policy, "clusters are judged on a sample, which does not say whose its rows are")
    k = max((model.k for model in inputs.policy.models if isinstance(model, KAnonymity)), default=2)
    candidate = ClustersCandidate(inputs.sample, k=k, columns=inputs.quasi)
    rows = np.arange(min(inputs.sample.rows, MOST_ROWS), dtype=np.int64)
    classes = candidate.classes_of(rows).labels_
    judged = ClassTable.from_codes(
        columns=("class",),
        domains=(Domain.of(Kind.INTEGER, np.arange(int(classes.max()) + 1)),),
        codes=classes.reshape(-1, 1),
        counts=np.ones(len(rows), dtype=np.int64),
        contents={name: _held(inputs.sample, name, rows) for name in inputs.policy.attributes},
    )
    judgement = judge_all(judged, inputs.policy)
    return [
        MadeCandidate(
            candidate=candidate,
            verdict=CandidateVerdict.of(judgement),
            reason=f"MDAV with classes of at least {k} records, judged on {len(rows):,} of the rows; the clustered "
            "table trains and real rows test",
            command=f"aegis anonymize DATA --method mdav --k {word(k)} --scale standardised "
            f"--quasi {word(listed(inputs.quasi))} --out OUT.csv",
        )
    ]


def synthetic(inputs: CandidateInputs) -> list[MadeCandidate]:
    """Made-up rows, a table for each budget that people ask for most.

    The rows are nobody's, so the models of the policy have nothing to judge in them.
    """
    made = []
    for epsilon in EPSILONS:
        candidate = SyntheticCandidate(inputs.sample, epsilon=epsilon, delta=DELTA)
        model = candidate.learnt(np.arange(inputs.sample.rows, dtype=np.int64), seed=0)
        left_out = "".join(f"; {column.name} left out" for column in model.left_out)
        made.append(
            MadeCandidate(
                candidate=candidate,
                verdict=CandidateVerdict(satisfied=True, suppressed=0, smallest_class=0, failing=()),
                reason=f"made-up rows that promise ε = {epsilon:g} at δ = {DELTA:g}; they train and real rows test; "
                f"no row is anybody's, so the policy's models do not apply{left_out}",
                command=f"aegis synthesize DATA --epsilon {word(f'{epsilon:g}')} --delta {word(f'{DELTA:g}')} "
                f"--label {word(inputs.label)} --out OUT.csv",
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

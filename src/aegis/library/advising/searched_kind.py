"""The kind ``search``: the configuration of cuts and levels that a search finds, tested on rows that did not choose it.

What is released is found with the labels of all rows. On those rows it would look too good: on a label that is drawn by
lot, cuts that were chosen among thousands reach three points more than guessing. So two more are found, each on half of
the sample, and the race tests each on rows of the other half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aegis.candidates.search.board import SearchResult, reporting
from aegis.candidates.search.gate import Out
from aegis.candidates.search.search import search as search_classes
from aegis.candidates.some_rows import classes_of_rows, policy_for_share
from aegis.counts.class_table import ClassTable
from aegis.errors import GuaranteeError, LabelError
from aegis.learners.candidate import Candidate, MaskedCandidate, MaskTables, Part
from aegis.learners.features import Split
from aegis.learners.sample import Sample
from aegis.learners.target import Places
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate
from aegis.library.advising.racing import masked_candidate
from aegis.library.ledgers.constraints import Constraints
from aegis.library.ledgers.earlier_promises import masks_to_repeat
from aegis.library.tables.opening import with_orders
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.privacy.policy import Suppressed
from aegis.privacy.together import nobody_gone, without_known
from aegis.ranking.verdicts import CandidateVerdict, verdicts_on

NAME = "search"
MOST_TIMES = 2
"""A table of so many times the rows of the sample has so many that its cuts cannot be fitted to those that test them,
and half a sample of it is too small for its k."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountsForSearch:
    """The classes that a search works on, and ``out``: what they are judged together with; None where nothing is out.

    The masks that sensitive columns left with are on them already, and have to be ``repeated``.
    """

    counts: ClassTable
    out: Out | None
    repeated: Mapping[str, Mask]


def counts_for_search(constraints: Constraints, label: str) -> CountsForSearch:
    """Count a table for a search of what keeps ``label`` predictable."""
    earlier = constraints.earlier
    repeated = {} if earlier is None else masks_to_repeat(earlier)
    counts, out = constraints.classes(contents=(label,), masks=repeated), None
    if earlier is not None:
        out = Out(table=counts, gone=earlier.gone_from, apart=earlier.apart)
        counts = without_known(counts)
    return CountsForSearch(counts=counts, out=out, repeated=repeated)


class SearchedCandidate:
    """What searches on parts of a sample found: each is trained on all training rows, and tested on the others' rows.

    ``seen`` are the rows of the sample that each was found on; together the others cover the sample.
    """

    kind = name = NAME

    def __init__(self, found: Sequence[MaskedCandidate], seen: Sequence[Places], sample: Sample) -> None:
        self._found = tuple(found)
        self._unseen = []
        for rows in seen:
            unseen = np.ones(sample.rows, dtype=np.bool_)
            unseen[rows] = False
            self._unseen.append(unseen)
        self.draws = len(self._found)

    def __repr__(self) -> str:
        return f"SearchedCandidate({self.draws} parts)"

    def split(self, part: Part, *, draw: int) -> Split:
        split = self._found[draw].split(part, draw=0)
        return replace(split, apart=np.flatnonzero(self._unseen[draw][part.testing]))


def searched(inputs: CandidateInputs) -> Sequence[MadeCandidate]:
    """The best configuration of cuts and levels; made once, because other kinds build on it."""
    if NAME not in inputs.shared:
        inputs.shared[NAME] = [_made(inputs)]
    return inputs.shared[NAME]


def _made(inputs: CandidateInputs) -> MadeCandidate:
    sample = inputs.sample
    if sample.looks_like_numbers:
        raise LabelError("a search keeps classes predictable, and this label is a number; cut it with --label-bins")
    by_halves = inputs.constraints.earlier is None and sample.table_rows <= MOST_TIMES * sample.rows
    tables = MaskTables(sample)
    for limit in inputs.tries:
        seconds = limit / 2 if by_halves else limit
        result, configuration, verdict = _of_the_table(inputs, seconds=seconds)
        if not result.cut_short or result.best.classes > 1:
            break  # on a busy machine a search may be cut before it found more than hiding everything
    candidate: Candidate = _masked(inputs, tables, configuration, verdict)
    tested = "tested on rows that it was found on"
    if by_halves:
        try:
            candidate = _of_halves(inputs, tables, seconds=seconds / 2)
            tested = "found again on each half of the rows and tested on the other"
        except (GuaranteeError, LabelError) as error:  # half of a small table may be too little for the policy
            tested += f", because half of them is too little: {error}"
    masks = ", ".join(f"{column}: {mask.describe()}" for column, mask in configuration.masks.items())
    return MadeCandidate(
        candidate=candidate,
        verdict=verdict,
        reason=f"{masks}; {tested}",
        id=configuration.id,
        configuration=configuration,
        note=_note(result, seconds),
    )


def _note(result: SearchResult, seconds: float) -> str:
    """What is known of better ones; nothing where there is a proof."""
    nothing = " with nothing but hiding everything" if result.best.classes <= 1 else ""
    if result.cut_short:
        return f"the search ended after {seconds:g} s without a proof{nothing}; --seconds gives it more"
    if not result.proved:
        return f"the search ended{nothing} where no change helped, which is no proof that none is better"
    return ""


def _of_the_table(inputs: CandidateInputs, *, seconds: float) -> tuple[SearchResult, Configuration, CandidateVerdict]:
    """What would be released: found on all rows, and judged together with earlier releases."""
    label, roles = inputs.label, inputs.constraints.roles
    searched = counts_for_search(inputs.constraints, label)
    result = _search(inputs, searched.counts, seconds=seconds, out=searched.out)
    configuration = Configuration(name=NAME, masks=result.best.masks, label=label, roles=roles)
    seen, gone = (searched.counts, nobody_gone) if searched.out is None else (searched.out.table, searched.out.gone)
    verdict = verdicts_on([configuration], seen, inputs.policy, gone=gone)[NAME]
    return result, replace(configuration, masks={**configuration.masks, **searched.repeated}), verdict


def _of_halves(inputs: CandidateInputs, tables: MaskTables, *, seconds: float) -> SearchedCandidate:
    """The same on either half of the sample, k in proportion; each is judged on the whole sample, as a release is."""
    sample, policy = inputs.sample, inputs.policy.by_records()  # a sample does not say whose its rows are
    everybody = np.arange(sample.rows, dtype=np.int64)
    whole = classes_of_rows(sample, inputs.quasi, everybody, policy.attributes)
    judged_by = policy_for_share(policy, sample.rows / sample.table_rows)
    by_half, halves = [], (everybody[::2], everybody[1::2])
    for half in halves:
        counts = classes_of_rows(sample, inputs.quasi, half, policy.attributes)
        share = len(half) / sample.table_rows
        result = _search(inputs, counts, seconds=seconds, share=share)
        configuration = Configuration(
            name=NAME, masks=result.best.masks, label=sample.label, roles=inputs.constraints.roles
        )
        verdict = verdicts_on([configuration], whole, judged_by)[NAME]
        by_half.append(_masked(inputs, tables, configuration, verdict))
    return SearchedCandidate(by_half, halves, sample)


def _search(
    inputs: CandidateInputs, counts: ClassTable, *, seconds: float, share: float = 1.0, out: Out | None = None
) -> SearchResult:
    policy = inputs.policy if share >= 1.0 else policy_for_share(inputs.policy.by_records(), share)
    return search_classes(
        with_orders(counts, inputs.constraints.dataset.orders),
        label=inputs.label,
        policy=policy,
        hierarchies=inputs.constraints.hierarchies,
        seconds=seconds,
        progress=reporting(inputs.progress, title="searching: "),
        out=out,
    )


def _masked(
    inputs: CandidateInputs, tables: MaskTables, configuration: Configuration, verdict: CandidateVerdict
) -> MaskedCandidate:
    dropped = inputs.policy.suppressed is Suppressed.DROPPED
    return masked_candidate(configuration, tables, verdict, dropped=dropped)

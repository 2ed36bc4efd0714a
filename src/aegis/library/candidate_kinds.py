"""The kinds of candidates that can be made on the spot: masks, cuts found by a search, clusters, boxes.

A kind is a maker in `CANDIDATES`; other packages add theirs through entry points of the group ``aegis.candidates``, and
``aegis advise --candidates`` offers it. The protocol is that of the race (`aegis.learners.candidate`): what can be
fitted is fitted on the training rows of each part and judged on the others, masked alike; a clustered table trains and
real rows test. A part has fewer rows than the table, so k is taken in proportion. The verdict is about the release
itself, made of the whole table; a kind that cannot satisfy the policy is rejected with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aegis.candidates.boxes.candidate import BoxesCandidate, sample_classes
from aegis.candidates.boxes.growing import check_possible, grow_boxes
from aegis.candidates.boxes.judged import growth_for
from aegis.candidates.clusters.candidate import MOST_ROWS, ClustersCandidate
from aegis.candidates.search.search import search as search_classes
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind as DataKind
from aegis.data.schema import Roles
from aegis.errors import GuaranteeError, InputError, LabelError, OptionError, RoleError
from aegis.learners.candidate import Candidate, MaskedCandidate, MaskTables
from aegis.learners.sample import Sample
from aegis.learners.target import Places
from aegis.library.judging import classes_of
from aegis.library.racing import suppressed_rows
from aegis.masking.configuration import Configuration
from aegis.masking.plural import count
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy, Suppressed
from aegis.progress import Progress
from aegis.ranking.verdicts import CandidateVerdict, verdicts_on
from aegis.registry import Registry

SEARCH_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Workshop:
    """What a maker is given: the table, a sample of its rows with the label, and what has to hold."""

    dataset: Dataset
    sample: Sample
    policy: Policy
    roles: Roles
    hierarchies: Mapping[str, Hierarchy]
    seed: int = 0
    seconds: float = SEARCH_SECONDS
    progress: Progress | None = None

    @property
    def label(self) -> str:
        return self.sample.label

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.roles.quasi_identifying


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A candidate for the race, with what the policy says of its release and what is worth knowing of it."""

    candidate: Candidate
    verdict: CandidateVerdict
    reason: str
    id: str = ""

    @property
    def name(self) -> str:
        return self.candidate.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of candidates: a line for people, and a maker. ``make`` is None for masks, which the options propose."""

    name: str
    summary: str
    make: Callable[[Workshop], Sequence[Made]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Makings:
    """What was made, and why other kinds were not."""

    made: tuple[Made, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)


CANDIDATES: Registry[Kind] = Registry("candidates", noun="kind of candidates", error=OptionError)


def make_candidates(kinds: Sequence[str], workshop: Workshop) -> Makings:
    """The candidates of some kinds; one that cannot satisfy the policy, or does not fit the table, is rejected."""
    made: list[Made] = []
    rejected: dict[str, str] = {}
    for name in kinds:
        make = CANDIDATES[name].make
        if make is None:
            continue
        if workshop.progress is not None:
            workshop.progress(0, None, f"making {name}")
        absent = [column for column in workshop.quasi if column not in workshop.sample.codes]
        if absent:
            rejected[name] = f"{absent[0]!r} is quasi-identifying and could not be counted"
            continue
        # What a kind cannot do with this table or policy is its verdict, not the end of the others.
        try:
            made += make(workshop)
        except (GuaranteeError, InputError) as error:
            rejected[name] = str(error)
    return Makings(made=tuple(made), rejected=rejected)


def _boxes(workshop: Workshop) -> list[Made]:
    contents = tuple(dict.fromkeys((workshop.label, *workshop.policy.attributes)))
    counts = classes_of(
        workshop.dataset, workshop.policy, workshop.roles, contents=contents, hierarchies=workshop.hierarchies
    )
    check_possible(counts, workshop.policy)
    rows = np.arange(workshop.sample.rows, dtype=np.int64)
    by_sample = sample_classes(workshop.sample, workshop.quasi, rows, ())
    growth = growth_for(by_sample, workshop.policy, workshop.label, seed=workshop.seed)
    grown = grow_boxes(counts, workshop.policy, labels=[workshop.label], growth=growth)
    boxes = len(grown.boxes.leaves)
    return [
        Made(
            candidate=BoxesCandidate(workshop.sample, workshop.policy, workshop.quasi, growth),
            verdict=_verdict(grown.judgement),
            reason=f"local recoding into {count(boxes, 'box', 'boxes')}, fitted on the training rows of each part",
        )
    ]


def _clusters(workshop: Workshop) -> list[Made]:
    k = max((model.k for model in workshop.policy.models if isinstance(model, KAnonymity)), default=2)
    candidate = ClustersCandidate(workshop.sample, k=k, columns=workshop.quasi)
    rows = np.arange(min(workshop.sample.rows, MOST_ROWS), dtype=np.int64)
    classes = candidate.classes_of(rows).labels_
    judged = ClassTable.from_codes(
        columns=("class",),
        domains=(Domain.of(DataKind.INTEGER, np.arange(int(classes.max()) + 1)),),
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
        )
    ]


class _SearchedCandidate(MaskedCandidate):
    """A configuration that a search found."""

    kind = "search"


def _search(workshop: Workshop) -> list[Made]:
    policy, label, sample = workshop.policy, workshop.label, workshop.sample
    if sample.looks_like_numbers:
        raise LabelError("a search keeps classes predictable, and this label is a number; cut it with --label-bins")
    counts = classes_of(workshop.dataset, policy, workshop.roles, contents=(label,), hierarchies=workshop.hierarchies)
    found = search_classes(
        counts, label=label, policy=policy, hierarchies=workshop.hierarchies, seconds=workshop.seconds
    )
    configuration = Configuration(name="search", masks=found.best.masks, label=label, roles=workshop.roles)
    verdict = verdicts_on([configuration], counts, policy)[configuration.name]
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
    return [Made(candidate=candidate, verdict=verdict, reason=masks, id=configuration.id)]


def _held(sample: Sample, name: str, rows: Places) -> tuple[Domain, Places]:
    if name == sample.label:
        return sample.label_domain, sample.label_codes[rows].astype(np.int64)
    if name not in sample.codes:
        raise RoleError(f"the policy speaks of {name!r}, which could not be counted")
    return sample.histograms[name].domain, sample.codes[name][rows].astype(np.int64)


def _verdict(judgement: Judgement) -> CandidateVerdict:
    failing = tuple(verdict.title for verdict in judgement.verdicts if not verdict.satisfied)
    return CandidateVerdict(
        satisfied=judgement.satisfied,
        suppressed=judgement.suppressed,
        smallest_class=judgement.smallest_class,
        failing=failing or (() if judgement.satisfied else ("max_suppression",)),
    )


for _kind in (
    Kind(name="masks", summary="configurations of masks, given or generated", make=None),
    Kind(name="search", summary="the configuration of cuts and levels that a search finds", make=_search),
    Kind(name="clusters", summary="microaggregation: centres of classes of at least k records", make=_clusters),
    Kind(name="boxes", summary="local recoding: intervals and sets, cut where the label gains most", make=_boxes),
):
    CANDIDATES.add(_kind.name, _kind)

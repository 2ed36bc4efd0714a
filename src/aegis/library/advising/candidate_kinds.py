"""The kinds of candidates that can be made on the spot: masks, cuts found by a search, clusters, boxes, sanitizers.

A kind is a maker in `CANDIDATES`; other packages add theirs through entry points of the group ``aegis.candidates``, and
``aegis advise --candidates`` offers it. The protocol is that of the race (`aegis.learners.candidate`): what can be
fitted is fitted on the training rows of each part and judged on the others, masked alike; a clustered table trains and
real rows test. A part has fewer rows than the table, so k is taken in proportion. The verdict is about the release
itself, made of the whole table; a kind that cannot satisfy the policy is rejected with the reason.

This module imports none of the makers: a list of names is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from aegis.errors import GuaranteeError, InputError, LedgerError, OptionError
from aegis.learners.candidate import Candidate
from aegis.learners.sample import Sample
from aegis.masking.configuration import Configuration
from aegis.plural import count
from aegis.privacy.policy import Policy
from aegis.progress import Progress
from aegis.ranking.verdicts import CandidateVerdict
from aegis.registry import Registry

if TYPE_CHECKING:
    from aegis.library.ledgers.constraints import Constraints

USUAL_SECONDS, MORE_SECONDS = 20.0, 120.0
"""How long a search may take if nobody says so; one that found nothing but hiding everything is given more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CandidateInputs:
    """What a maker is given: the table with what has to hold, and a sample of its rows with the label.

    What is made is judged together with what was released before, or rejected where it cannot be. ``seconds`` is the
    most that a search may take; None stands for the usual ones. Without ``ways`` boxes are cut the usual way, and no
    other is tried. What one kind made and another builds on is ``shared`` by name, so that it is made once.
    """

    constraints: Constraints
    sample: Sample
    seed: int = 0
    seconds: float | None = None
    progress: Progress | None = None
    ways: bool = True
    shared: dict[str, Sequence[MadeCandidate]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.sample.label

    @property
    def tries(self) -> tuple[float, ...]:
        """How long a search may take, and how long once more where it found nothing."""
        return (USUAL_SECONDS, MORE_SECONDS) if self.seconds is None else (self.seconds,)

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.constraints.roles.quasi_identifying

    @property
    def policy(self) -> Policy:
        return self.constraints.policy

    def check_nothing_is_out(self, kind: str, *, because: str) -> None:
        """Raise where something left before and a kind cannot be judged together with it before it is written."""
        earlier = self.constraints.earlier
        if earlier is not None:
            raise LedgerError(
                f"{because}, and {count(len(earlier.counted), 'earlier release')} of this table must be judged "
                f"together with {kind}: write the table and give it with --tables, which is judged row by row"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCandidate:
    """A candidate for the race, with what the policy says of its release and what is worth knowing of it.

    ``configuration`` are its masks where it is made of masks alone; otherwise ``command`` makes it again. ``note`` is
    for whoever reads the whole ranking.
    """

    candidate: Candidate
    verdict: CandidateVerdict
    reason: str
    id: str = ""
    configuration: Configuration | None = None
    command: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def doubt(self) -> str | None:
        """What is made here can be compared; a finished table from elsewhere may leave doubts."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateKind:
    """A kind of candidates: a line for people, and a maker. ``make`` is None for masks, which the options propose.

    ``judged`` says that its rows are those of people, so that the policy's models judge them; made-up rows keep a
    promise of their own instead.
    """

    name: str
    summary: str
    make: Callable[[CandidateInputs], Sequence[MadeCandidate]] | None
    judged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCandidates:
    """What was made, and why other kinds were not."""

    made: tuple[MadeCandidate, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)


CANDIDATES: Registry[CandidateKind] = Registry("candidates", noun="kind of candidates", error=OptionError)


def make_candidates(kinds: Sequence[str], inputs: CandidateInputs) -> MadeCandidates:
    """The candidates of some kinds; one that cannot satisfy the policy, or does not fit the table, is rejected."""
    made: list[MadeCandidate] = []
    rejected: dict[str, str] = {}
    for name in kinds:
        make = CANDIDATES[name].make
        if make is None:
            continue
        if inputs.progress is not None:
            inputs.progress(0, None, f"making {name}")
        absent = [column for column in inputs.quasi if column not in inputs.sample.codes]
        if absent:
            rejected[name] = f"{absent[0]!r} is quasi-identifying and could not be counted"
            continue
        # What a kind cannot do with this table or policy is its verdict, not the end of the others.
        try:
            made += make(inputs)
        except (GuaranteeError, InputError) as error:
            rejected[name] = str(error)
    return MadeCandidates(made=tuple(made), rejected=rejected)


def _of(
    maker: str, module: str = "aegis.library.advising.candidate_makers"
) -> Callable[[CandidateInputs], Sequence[MadeCandidate]]:
    """A maker that is imported when it is first called: compiled loops take a second to load."""

    def make(inputs: CandidateInputs) -> Sequence[MadeCandidate]:
        made: Sequence[MadeCandidate] = getattr(import_module(module), maker)(inputs)
        return made

    return make


for _kind in (
    CandidateKind(name="masks", summary="configurations of masks, given or generated", make=None),
    CandidateKind(
        name="search",
        summary="the configuration of cuts and levels that a search finds",
        make=_of("searched", "aegis.library.advising.searched_kind"),
    ),
    CandidateKind(
        name="clusters", summary="microaggregation: centres of classes of at least k records", make=_of("clusters")
    ),
    CandidateKind(
        name="boxes", summary="local recoding: intervals and sets, cut where the label gains most", make=_of("boxes")
    ),
    CandidateKind(
        name="sanitized",
        summary="sensitive columns as a sanitizer releases them, the others as the search masks them",
        make=_of("sanitized", "aegis.library.advising.sanitized_kind"),  # its learners take as long again to load
    ),
    CandidateKind(
        name="synthetic",
        summary="made-up rows under a privacy budget; they train and real rows test",
        make=_of("synthetic"),
        judged=False,
    ),
):
    CANDIDATES.add(_kind.name, _kind)

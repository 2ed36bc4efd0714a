"""Algorithm 1 of the Aegis paper (PACMMOD 3, 6, article 292, 2025) by one name: a case fixes all its authors fixed.

=======  ==========================================  ===================  ==========  ==================
case     what is known of an attribute               the fit starts at    rounded     over attributes
=======  ==========================================  ===================  ==========  ==================
I        its histogram, and each masked joint        equal cells          at random   mean of the masked
II       each masked joint                           equal cells          at random   mean of the masked
draft-1  its histogram, and each masked joint        the masked joint     not at all  sum of all
draft-2  its joint with the label                    –                    –           sum of all
draft-3  its histogram, and the label's              equal rows           not at all  sum of all
=======  ==========================================  ===================  ==========  ==================

I and II are those of the printed paper (section 4.2; which attributes are averaged is said in section 4.1), the others
those of the draft before it. What a deviation is made of is an absolute difference in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from aegis.counts.summary import Level, Summary, reduced
from aegis.errors import MeasureError
from aegis.measures.deviation import Averaging
from aegis.ranking.attribute_values import Reference, Rounding

PAPER_MEASURE = "g3"
PAPER_MEASURES = (PAPER_MEASURE, "mutual-information", "chi-square")
"""The measures that the paper studies; its algorithm takes one as input, and g3 is the one that its text leads with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCase:
    """What a case takes as known, how it fits and rounds, and how it adds up what attributes lost.

    ``start`` is that of `aegis.reconstruction.rebuilt_joints`.
    """

    name: str
    known: str
    level: Level
    reference: Reference
    start: str = "uniform"
    rounding: Rounding = Rounding.NONE
    averaging: Averaging = Averaging.SUM

    @property
    def note(self) -> str:
        """What a reader of the ranking must know of the way it was made."""
        over = "the sum over all attributes" if self.averaging is Averaging.SUM else "the mean over masked attributes"
        lead = f"Algorithm 1 of the Aegis paper, case {self.name} ({self.known}); a deviation is {over}"
        if self.rounding is Rounding.NONE:
            return lead
        return f"{lead}, and comes from rounding at random: another seed may rank otherwise"


CASES = {
    case.name: case
    for case in (
        PaperCase(
            name="I",
            known="histograms are known",
            level=Level.ONE_D,
            reference=Reference.PER_CONFIGURATION,
            rounding=Rounding.RANDOMISED,
            averaging=Averaging.MASKED_MEAN,
        ),
        PaperCase(
            name="II",
            known="no histogram is known",
            level=Level.NONE,
            reference=Reference.PER_CONFIGURATION,
            rounding=Rounding.RANDOMISED,
            averaging=Averaging.MASKED_MEAN,
        ),
        PaperCase(
            name="draft-1",
            known="histograms are known and the fit starts at the masked joint",
            level=Level.ONE_D,
            reference=Reference.PER_CONFIGURATION,
            start="masked",
        ),
        PaperCase(
            name="draft-2",
            known="joints with the label are known",
            level=Level.TWO_D,
            reference=Reference.EXACT,
        ),
        PaperCase(
            name="draft-3",
            known="histograms are known and the fit starts at equal rows",
            level=Level.ONE_D,
            reference=Reference.PER_CONFIGURATION,
            start="equalised",
        ),
    )
}


def find_case(name: str) -> PaperCase:
    """The case called ``name``, or an error that lists them."""
    if name not in CASES:
        raise MeasureError(f"the paper has no case called {name!r}; use {', '.join(CASES)}")
    return CASES[name]


def as_known(summary: Summary, case: PaperCase) -> Summary:
    """The summary without what the case takes as unknown, or an error where it does not tell enough."""
    if summary.opaque:
        raise MeasureError(
            "the summary names its masks by opaque ids only, and the paper's algorithm needs what they do"
        )
    if list(Level).index(summary.level) > list(Level).index(case.level):
        raise MeasureError(
            f"case {case.name} of the paper needs a summary of level {case.level.value}, and this one is of level "
            f"{summary.level.value}; ask for another one, or use a case in which less is known"
        )
    ranged = [
        name
        for name, attribute in summary.attributes.items()
        if attribute.histogram is not None
        and attribute.domain is not None
        and len(attribute.histogram.counts) != attribute.domain.size
    ]
    if case.level is Level.ONE_D and ranged:
        raise MeasureError(
            f"case {case.name} of the paper needs how often each value occurs, and the summary tells ranges of "
            f"{', '.join(ranged)}; use case II"
        )
    return reduced(summary, level=case.level)

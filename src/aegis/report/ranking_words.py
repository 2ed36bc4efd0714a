"""The ranking in words: the answer, the figures beside it, and the ledger of what was done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aegis._version import __version__
from aegis.counts.disclosure_rule import FEWEST
from aegis.learners.goal import goal_called
from aegis.learners.race_result import kept_words
from aegis.measures.measure import MEASURES
from aegis.ranking.rank import BY_ATTRIBUTE
from aegis.report.figures import amount, count, kept, listed, measured_in, percent, seconds
from aegis.report.page import Entry, Fact, entry

if TYPE_CHECKING:
    from aegis.counts.summary import Summary
    from aegis.learners.race_result import RaceFacts
    from aegis.ranking.ranking import RankedConfiguration, Ranking

_TIMINGS = {
    "counting_seconds": "counting",
    "ranking_seconds": "ranking",
    "total_seconds": "together",
}
_LEVELS = {
    "2d": "2d: each attribute with the label",
    "1d": "1d: histograms, and masked attributes with the label",
    "none": "none: masked attributes with the label only",
}
_REFERENCES = {
    "exact": "exact: the unmasked counts are known",
    "pooled": "pooled: reconstructed from everything that was published",
    "per-configuration": "per-configuration: reconstructed from each configuration alone, as in the paper",
    "sampling": "sampling: values drawn for each configuration alone, the paper's baseline",
    **{
        f"nearest-{norm}{whole}": f"nearest-{norm}{whole}: each configuration's joint that is nearest to equal cells"
        for norm in ("l1", "l2", "linf")
        for whole in ("", "-integer")
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answer, in a title, a few sentences and a few figures."""

    title: str
    sentences: tuple[str, ...]
    facts: tuple[Fact, ...]


def headline(ranking: Ranking) -> Headline:
    """What a reader should know who reads nothing else."""
    if ranking.race is not None:
        return _race_headline(ranking, ranking.race)
    best, others = ranking.best, ranking.ranking[1:]
    alike = [place.configuration for place in others if place.like_best]
    if best.borrowed:
        title = f"{best.configuration} keeps all that the table says about {ranking.label}"
    elif best.retained is not None and math.isfinite(best.retained):
        title = f"{best.configuration} keeps {percent(best.retained)} of what the table says about {ranking.label}"
    else:
        title = f"{best.configuration} comes first of {count(len(ranking.ranking), 'configuration')}"
    sentences = [_alike(ranking, alike), _why(ranking, best)]
    if others and not ranking.ranking[-1].like_best:
        sentences.append(_last(ranking, ranking.ranking[-1]))
    facts = [
        Fact(term="first", value=best.configuration, is_name=True),
        Fact(term=f"kept of {ranking.label}", value=kept(best.retained))
        if best.retained is not None
        else Fact(term="mean of the measure", value=amount(best.utility, ranking.unit)),
        Fact(term="not told apart from it", value=f"{len(alike):,}", unit=f"of {len(others):,} others"),
        Fact(term="records", value=f"{ranking.rows:,}"),
    ]
    return Headline(title=title, sentences=tuple(s for s in sentences if s), facts=tuple(facts))


def _race_headline(ranking: Ranking, race: RaceFacts) -> Headline:
    """What models reach, in a sentence that needs no other."""
    best, others = ranking.best, ranking.ranking[1:]
    assert best.performance is not None
    unmasked, guessing = race.shown(race.unmasked.performance), race.shown(race.guessing)
    if best.kept is None and best.doubt is None:
        title = f"Nothing in this table tells {ranking.label}: models do no better than guessing"
    else:
        reached = f"{race.title} {race.shown(best.performance)}"
        title = f"Models trained on {best.configuration} reach {reached}, on the unmasked table {unmasked}"
    alike = [place.configuration for place in others if place.like_best]
    sentences = [
        f"Guessing without any column gives {guessing}. " + kept_words(best).capitalize() + ".",
        _alike(ranking, alike),
        " ".join(f"{part[:1].upper()}{part[1:]}." for part in why(best)),
    ]
    compared = [place for place in others if place.doubt is None]
    if compared and not compared[-1].like_best:
        last = compared[-1]
        sentences.append(f"At the other end, {last.configuration} reaches {race.shown(last.performance or 0.0)}.")
    facts = [
        Fact(term=race.title, value=race.shown(best.performance), unit=f"± {race.shown_width(best)}"),
        Fact(term="unmasked", value=unmasked),
        Fact(term="guessing", value=guessing),
        Fact(term="kept", value="all" if best.kept is not None and best.no_loss_found else kept(best.kept)),
        Fact(term="may be the best as well", value=f"{len(alike):,}", unit=f"of {len(others):,} others")
        if best.privacy is None
        else Fact(term="smallest group", value=f"{best.privacy.smallest_class:,}", unit="records"),
    ]
    return Headline(title=title, sentences=tuple(s for s in sentences if s), facts=tuple(facts))


def _alike(ranking: Ranking, alike: list[str]) -> str:
    others = len(ranking.ranking) - 1
    if not others:
        return "It is the only configuration that was given, so there is nothing to compare it with."
    if not alike:
        only = "the other configuration" if others == 1 else f"none of the {others:,} other configurations"
        negation = "is too far behind" if others == 1 else "is close enough"
        return f"On these records {only} {negation} to be mistaken for it."
    tied = sum(place.rank == ranking.best.rank for place in ranking.ranking[1:])
    exactly = f" ({tied:,} of them exactly equal)" if tied and tied < len(alike) else ""
    if tied == len(alike):
        exactly = " (exactly equal)"
    which = "The other one" if others == 1 else f"{len(alike):,} of the {others:,} others"
    return (
        f"{which} cannot be told apart from it on these records{exactly}: {listed(alike)}. "
        "Between these, choose by other needs, such as privacy."
    )


def _why(ranking: Ranking, best: RankedConfiguration) -> str:
    if best.retained is None:
        better = "more" if ranking.higher_is_better else "less"
        return (
            f"Nothing is known of the unmasked attributes, so the size of the loss is not known either. Its attributes "
            f"come to {amount(best.utility, ranking.unit)} on average; {better} is better."
        )
    surplus = ""
    if best.borrowed:
        more = (
            "As a whole it even scores above the unmasked table"
            if is_of_whole_configurations(ranking)
            else "Taken one by one, its masked attributes even say more than the original ones"
        )
        surplus = f"{more}: merging rare values makes them clearer. That surplus is gained, not kept. "
    parts = [f"it {part}" if part.startswith("loses") else part for part in why(best)]
    return surplus + " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def why(place: RankedConfiguration) -> list[str]:
    """The reasons, without the one that repeats the share that is kept."""
    return [reason for reason in place.reasons if not reason.startswith("keeps ")]


def _last(ranking: Ranking, last: RankedConfiguration) -> str:
    if last.retained is not None and math.isfinite(last.retained):
        return f"At the other end, {last.configuration} keeps {kept(last.retained)}."
    return f"At the other end, {last.configuration} comes to {amount(last.utility, ranking.unit)}."


def ledger(ranking: Ranking, summary: Summary) -> list[Entry]:
    """What was counted and how it was judged."""
    masks = sum(len({ident for ident, _ in attribute.masked}) for attribute in summary.attributes.values())
    label_masks = f", and {count(len(summary.label_masks), 'mask')} of the label" if summary.label_masks else ""
    better = "higher is better" if ranking.higher_is_better else "lower is better"
    measured = f"{ranking.measure}{measured_in(ranking.unit)}; {better}"
    if ranking.race is not None:
        measured = f"{goal_called(ranking.race.goal).title}; {better}; {ranking.race.goal_reason}"
    over = "of whole configurations" if is_of_whole_configurations(ranking) else "mean over the attributes"
    entries = [
        entry("source", summary.name),
        entry("records", f"{ranking.rows:,}"),
        entry("label", f"{ranking.label}, {count(summary.label_histogram.domain.size, 'value')}"),
        entry("attributes counted", f"{len(summary.attributes):,}: {', '.join(summary.attributes)}"),
        entry(
            "left out", *tuple(f"{column}: {reason}" for column, reason in ranking.skipped.items()) or ("no column",)
        ),
        entry(
            "configurations",
            f"{len(ranking.ranking):,}, with {count(masks, 'distinct mask')} of attributes{label_masks}",
        ),
        entry("goal" if ranking.race else "measure", measured if ranking.race else f"{measured}; {over}"),
        entry("compared with", _REFERENCES.get(ranking.reference, ranking.reference)),
        entry(
            "summary",
            _LEVELS.get(str(summary.level), str(summary.level))
            + ("; masks named by opaque ids" if summary.opaque else ""),
        ),
        entry("notes", *ranking.notes or ("none",)),
        entry("shown here", f"no value with fewer than {FEWEST} records is named, and no record is part of this page"),
    ]
    if ranking.timing:
        spent = [f"{_TIMINGS.get(name, name)} {seconds(value)}" for name, value in ranking.timing.items()]
        entries.append(entry("time", ", ".join(spent)))
    entries.append(entry("software", f"Aegis {__version__}"))
    return entries


def is_of_whole_configurations(ranking: Ranking) -> bool:
    """Whether configurations were scored as a whole, and their attributes by another measure."""
    return ranking.race is not None or MEASURES[ranking.measure].of_whole_configurations


def attribute_unit(ranking: Ranking) -> str:
    """What the numbers of single attributes count."""
    return MEASURES[BY_ATTRIBUTE].unit if is_of_whole_configurations(ranking) else ranking.unit


def attribute_measure(ranking: Ranking) -> str:
    """The measure of single attributes with its unit, where it is not that of the ranking; else the unit alone."""
    if not is_of_whole_configurations(ranking):
        return ranking.unit
    return f"{attribute_unit(ranking)} of information about the label"

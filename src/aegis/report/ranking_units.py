"""In what a ranking and its attributes are measured: a score of whole configurations says nothing of single ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis.measures.measure import MEASURES
from aegis.ranking.rank import BY_ATTRIBUTE

if TYPE_CHECKING:
    from aegis.ranking.ranking import Ranking


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
    return f"{BY_ATTRIBUTE.replace('-information', ' information')}, {attribute_unit(ranking)}"

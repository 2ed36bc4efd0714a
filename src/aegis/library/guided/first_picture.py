"""A first picture after seconds: the kinds that are made quickly, raced alone, while the others take their time."""

from __future__ import annotations

from dataclasses import replace

from aegis.library.guided.comparing import Settings
from aegis.library.guided.comparison import Comparison

QUICK_KINDS = ("search", "boxes")
QUICK_SECONDS, QUICK_ROWS = 2.0, 5_000


def quick_settings(settings: Settings) -> Settings | None:
    """What is made for a first picture; None where somebody named kinds, or all of them are quick."""
    quick = tuple(kind for kind in QUICK_KINDS if kind in settings.wanted)
    if settings.kinds or len(quick) < len(QUICK_KINDS):
        return None
    seconds = min(QUICK_SECONDS, settings.seconds or QUICK_SECONDS)
    return replace(settings, kinds=quick, generate=0, seconds=seconds, rows=QUICK_ROWS, ways=False)


def first_words(comparison: Comparison) -> str:
    """What the first picture says, to somebody who waits for the whole."""
    best = comparison.best
    return (
        f"a first picture: {best.name} reaches {comparison.shown(best.performance)} so far; every kind is made and "
        "raced now, which takes longer"
    )

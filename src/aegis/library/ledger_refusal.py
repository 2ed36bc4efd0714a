"""Why a release may not leave beside what is out: with which releases it breaks which models, and what may leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aegis.library.standing import Standing
from aegis.privacy.together import BrokenModel, Together
from aegis.releases.ledger_entry import ANYBODY, Leaving

_NAMED = 12
"""How many earlier releases are tried one by one to say which of them a new one breaks the policy with."""


def breaks_with(standing: Standing, judge: Callable[[Standing], Together]) -> tuple[int, ...]:
    """Which releases a new one breaks the policy with: each that does so alone, or all that count."""
    firsts: dict[int, int] = {}  # of releases that show the same the first stands for all
    for number, leaving in standing.counted.items():
        firsts.setdefault(leaving.rows_as or number, number)
    different = tuple(firsts.values())
    if 1 < len(different) <= _NAMED:
        alone = [number for number in different if not judge(standing.narrowed_to([number])).satisfied]
        return tuple(alone) or different
    return different


def refusal(standing: Standing, broken: Sequence[BrokenModel], numbers: Sequence[int], reason: str | None) -> str:
    """Why nothing may leave, in a sentence: with which releases, which models, how many records, and what may."""
    with_which = ", ".join(f"entry {n} ({_described(standing.counted[n])})" for n in numbers)
    models = ", ".join(f"{each.model} (for {each.records:,} records)" for each in broken)
    more = f": {reason}" if reason else ""
    what = f"breaks {models}" if models else "breaks the policy"
    return (
        f"together with {with_which} it {what}{more}; allowed are the same release again, a coarser one, or what aegis "
        f"search finds under the ledger {standing.path.name}"
    )


def _described(leaving: Leaving) -> str:
    to = "" if leaving.recipient == ANYBODY else f" to {leaving.recipient}"
    return f"{leaving.name}{to}"

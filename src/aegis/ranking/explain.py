"""Why a configuration stands where it stands, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.ranking.ranking import AttributeLoss

LOSES, BEHIND = "loses on ", "behind the best on "
"""What a reason begins with that names attributes, or goes on with after what is done to the label."""
NOTHING_LOST = "no attribute loses anything"
LOST_TOGETHER = "no attribute loses anything by itself; what is lost they tell together"
GAINS = "can gain from merging values"
_WORTH_SAYING = 0.05  # smaller parts of a loss are not named


def reasons(
    cards: Sequence[AttributeLoss],
    behind: Sequence[float],
    *,
    retained: float | None,
    label: str,
    label_mask: str | None = None,
) -> tuple[str, ...]:
    """What is kept overall, and which attributes put the configuration behind the best, or cost the best most.

    ``behind`` says per attribute by how much the best configuration is better, all zero for the best itself;
    ``label_mask`` what is done to the label, which costs every attribute something.

    >>> age = AttributeLoss(name="age", mask="suppressed", original=0.4, masked=0.0, deviation=0.4, standard_error=0.0)
    >>> zip = AttributeLoss(name="zip", mask="unchanged", original=0.1, masked=0.1, deviation=0.0, standard_error=0.0)
    >>> reasons([age, zip], [0.0, 0.0], retained=0.2, label="health")
    ('keeps 20.0 % of what the attributes say about health', 'loses on age (suppressed)')
    >>> reasons([age, zip], [0.3, 0.0], retained=0.2, label="health")[1]
    'behind the best on age (suppressed)'
    """
    reasons: list[str] = []
    if retained is not None and retained > 1 + 1e-9:
        reasons.append(f"keeps all that the attributes say about {label}: merging rare values even makes them clearer")
    elif retained is not None:
        reasons.append(f"keeps {100 * retained:.1f} % of what the attributes say about {label}")
    if any(gap > 1e-12 for gap in behind):
        reasons.append(f"{BEHIND}{_worst(cards, behind)}")
    else:
        lost = [card.deviation or 0.0 for card in cards]
        if any(amount > 1e-12 for amount in lost):
            reasons.append(f"{LOSES}{_worst(cards, lost)}")
        elif retained is not None and retained < 1 - 1e-9:
            reasons.append(LOST_TOGETHER)
        elif retained is not None:
            reasons.append(NOTHING_LOST)
    if label_mask is not None:
        last = f"; {reasons.pop()}" if len(reasons) > 1 or (retained is None and reasons) else ""
        reasons.append(f"{label} itself is masked ({label_mask}){last}")
    return tuple(reasons)


def _worst(cards: Sequence[AttributeLoss], amounts: Sequence[float]) -> str:
    """The attributes that make up most of a loss, with their share of it where several do."""
    total = sum(amount for amount in amounts if amount > 0)
    ordered = sorted(zip(amounts, cards, strict=True), key=lambda pair: -pair[0])
    # Where many lose a little each, the first is named all the same.
    named = [
        (amount / total, card)
        for place, (amount, card) in enumerate(ordered[:2])
        if place == 0 or amount / total >= _WORTH_SAYING
    ]
    if named[0][0] > 0.995:
        return f"{named[0][1].name} ({named[0][1].mask})"
    return ", ".join(f"{card.name} ({card.mask}; {100 * share:.0f} %)" for share, card in named)

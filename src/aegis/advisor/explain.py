"""Why a configuration stands where it stands, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.advisor.ranking import AttributeLoss


def reasons(losses: Sequence[AttributeLoss], *, retained: float | None, label: str, unit: str) -> tuple[str, ...]:
    """What is kept overall, and where most of the loss comes from.

    >>> age = AttributeLoss(name="age", mask="suppressed", original=0.4, masked=0.0, deviation=0.4, standard_error=0.0)
    >>> zip = AttributeLoss(name="zip", mask="unchanged", original=0.1, masked=0.1, deviation=0.0, standard_error=0.0)
    >>> reasons([age, zip], retained=0.2, label="health", unit="bits")
    ('keeps 20.0 % of what the attributes say about health', 'age (suppressed) accounts for all of the loss')
    """
    said: list[str] = []
    if retained is not None:
        if retained > 1 + 1e-9:
            said.append(f"says more about {label} than the original attributes one by one: a gain, not something kept")
        else:
            said.append(f"keeps {retained:.1%}".replace("%", " %") + f" of what the attributes say about {label}")
    known = [(loss.deviation, loss) for loss in losses if loss.deviation is not None]
    lost = sum(amount for amount, _ in known if amount > 0)
    if not known:
        weakest = min(losses, key=lambda loss: loss.masked)
        said.append(f"{weakest.name} ({weakest.mask}) is left with least: {weakest.masked:.3g} {unit}")
    elif lost <= 1e-12:
        said.append("nothing is lost on any attribute")
    else:
        for amount, loss in sorted(known, key=lambda pair: -pair[0])[:2]:
            share = amount / lost
            if share < 0.05:
                break
            part = "all" if share > 0.995 else f"{share:.0%}".replace("%", " %")
            said.append(f"{loss.name} ({loss.mask}) accounts for {part} of the loss")
    return tuple(said)

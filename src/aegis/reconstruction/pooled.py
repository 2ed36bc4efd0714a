"""The reference when only summaries are known: one joint fitted to everything that is known about the attribute.

All configurations together say more than each alone. Two masks that cut a column at different places bound what lies
between the cuts, so the fit is the same for every configuration and its measure does not flatter any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aegis.counts.joint import Counts
from aegis.masking.partition import Partition
from aegis.reconstruction.constraint import Constraint
from aegis.reconstruction.ipf import STOPPING, Fit, Stopping, fit


def pooled(
    masked: Mapping[str, tuple[Partition, Counts]],
    *,
    histogram: Counts | None = None,
    further: Sequence[Constraint] = (),
    stopping: Stopping = STOPPING,
    require_convergence: bool = True,
) -> Fit:
    """The maximum-entropy joint that has every masked joint, and the histogram where there is one.

    ``masked`` holds for each mask, by name, which values it merges and its joint with the label; ``further`` anything
    else, such as a histogram of ranges that cross the masks' groups. Masks that say the same are used once.
    """
    constraints = [] if histogram is None else [Constraint.histogram(histogram)]
    seen: set[tuple[bytes, bytes]] = set()
    for name, (partition, counts) in masked.items():
        constraint = Constraint.masked(partition, counts, name=name)
        key = (constraint.codes.tobytes(), constraint.targets.tobytes())
        if key not in seen:
            seen.add(key)
            constraints.append(constraint)
    return fit([*constraints, *further], stopping=stopping, require_convergence=require_convergence)

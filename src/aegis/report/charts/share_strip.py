"""A thin strip cut into groups by their size: how coarse a masked column is, at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.report.svg import Svg, num

_MOST = 60


def share_strip(
    shares: Sequence[float], *, title: str, rest: float = 0.0, width: float = 110, height: float = 10
) -> str:
    """``shares`` in order, then ``rest`` (groups too small to show) in a paler tone. Together they make the width."""
    total = sum(shares) + rest
    drawn = list(shares) if len(shares) <= _MOST else _joined(shares)
    picture = Svg(width, height, title=title, description=f"{len(shares)} groups.")
    x, steps = 0.0, ""
    for share in drawn:
        wide = width * share / total if total > 0 else 0.0
        gap = min(1.0, wide / 4)
        steps += f"M{num(x)} 0h{num(wide - gap)}v{num(height)}h-{num(wide - gap)}Z"
        x += wide
    # One path for all groups: a page may hold hundreds of strips.
    picture.path(steps or "M0 0", "strip")
    if rest > 0 and total > 0:
        picture.rect(x, 0, width * rest / total, height, "strip-rest")
    return picture.markup()


def _joined(shares: Sequence[float]) -> list[float]:
    """At most ``_MOST`` stretches: beyond that single groups are thinner than a pixel."""
    size = -(-len(shares) // _MOST)
    return [sum(shares[i : i + size]) for i in range(0, len(shares), size)]

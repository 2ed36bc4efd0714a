"""Pictures made of characters: the shape of a column, and usefulness against risk."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.library.guided.comparing import Compared, Comparison

_HEIGHTS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT = 56, 12


def bars(heights: Sequence[float]) -> str:
    """Heights between 0 and 1 as a row of bars.

    >>> bars([0.0, 0.5, 1.0])
    '▁▅█'
    """
    return "".join(_HEIGHTS[min(int(height * 7 + 0.5), 7)] for height in heights)


def picture(comparison: Comparison) -> str:
    """Usefulness upwards, risk to the right: ● recommended, ○ on the front, · beaten by another in both."""
    drawn = [each for each in comparison.candidates if each.average_risk is not None]
    race = comparison.ranking.race
    assert race is not None
    if not drawn:
        return ""
    risks = [each.average_risk or 0.0 for each in drawn]
    values = [each.performance for each in drawn]
    low, high = min(values), max(values)
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    order = sorted(drawn, key=lambda each: (each.name == comparison.recommended, each.on_front))
    for each in order:
        x = round((_WIDTH - 1) * (each.average_risk or 0.0) / max(*risks, 1e-9, 0.0))
        share = 0.5 if high == low else (each.performance - low) / (high - low)
        y = round((_HEIGHT - 1) * ((1 - share) if comparison.ranking.higher_is_better else share))
        grid[y][x] = _sign(each, comparison)
    top, foot = (high, low) if comparison.ranking.higher_is_better else (low, high)
    labels = [race.shown(top), *[""] * (_HEIGHT - 2), race.shown(foot)]
    room = max(map(len, labels))
    lines = [f"{label:>{room}} │{''.join(row).rstrip()}" for label, row in zip(labels, grid, strict=True)]
    most = f"{100 * max(risks):.3g} %"
    lines.append(f"{'':>{room}} └{'─' * _WIDTH}")
    lines.append(f"{'':>{room}}  0 {'rows that a guess names rightly':^{_WIDTH - len(most) - 3}} {most}")
    lines.append(f"{'':>{room}}  ● recommended  ○ on the front: none is better in both  · beaten in both")
    return "\n".join(lines)


def _sign(each: Compared, comparison: Comparison) -> str:
    return "●" if each.name == comparison.recommended else "○" if each.on_front else "·"

"""Each attribute under one configuration: original against masked distribution, and its masks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis.counts.disclosure_rule import may_name
from aegis.report.charts.bars import paired_bars
from aegis.report.distribution import distribution
from aegis.report.figures import amount, count, difference, figure, percent
from aegis.report.page import picture
from aegis.report.ranking_words import attribute_unit
from aegis.report.svg import Svg, num

if TYPE_CHECKING:
    from aegis.counts.summary import AttributeSummary, ConfigurationSummary, MaskedJoint, Summary
    from aegis.ranking.ranking import AttributeLoss, RankedConfiguration, Ranking

Key = tuple[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRow:
    """One of the masks that the configurations put on an attribute."""

    mask: str
    of_best: bool
    groups: str
    strip: Any
    left: str
    lost: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """An attribute, ready for the template."""

    name: str
    mask: str
    effect: str
    changed: bool
    chart: Any
    notes: tuple[str, ...]
    has_loss: bool
    masks: tuple[MaskRow, ...]


def best_masks(ranking: Ranking) -> RankedConfiguration | None:
    """The best candidate that masks attributes; clustered, recoded, made-up and finished tables mask none."""
    return next((place for place in ranking.ranking if place.attributes), None)


def attribute_cards(ranking: Ranking, summary: Summary) -> list[Card]:
    """A card for every attribute under the best configuration of masks, the largest loss first."""
    first = best_masks(ranking)
    if first is None:
        return []
    described = {(configuration.name, configuration.id): configuration for configuration in summary.configurations}
    best = described[first.configuration, first.id]
    scored = _scored(ranking, described)
    cards = []
    for loss in _by_loss(first):
        attribute = summary.attributes[loss.name]
        key = (best.masks[loss.name], best.label_mask)
        cards.append(_card(ranking, attribute, attribute.masked[key], loss, scored[loss.name], summary.named_from))
    return cards


def _scored(
    ranking: Ranking, described: dict[tuple[str, str], ConfigurationSummary]
) -> dict[str, dict[Key, tuple[AttributeLoss, int]]]:
    """Per attribute and mask: what it costs, and in how many configurations it is used."""
    losses: dict[str, dict[Key, tuple[AttributeLoss, int]]] = {}
    for place in ranking.ranking:
        for loss in place.attributes:
            configuration = described[place.configuration, place.id]
            of_attribute = losses.setdefault(loss.name, {})
            key = (configuration.masks[loss.name], configuration.label_mask)
            of_attribute[key] = loss, of_attribute.get(key, (loss, 0))[1] + 1
    return losses


def _by_loss(best: RankedConfiguration) -> list[AttributeLoss]:
    def amount(loss: AttributeLoss) -> float:
        return -loss.deviation if loss.deviation is not None else loss.masked

    return sorted(best.attributes, key=amount)


def _card(
    ranking: Ranking,
    attribute: AttributeSummary,
    masked: MaskedJoint,
    loss: AttributeLoss,
    scored: dict[Key, tuple[AttributeLoss, int]],
    named_from: int,
) -> Card:
    drawn = distribution(attribute, masked, named_from=named_from)
    changed = masked.mask is None or masked.mask.name != "identity" or masked.label_mask is not None
    chart = paired_bars(
        drawn.upper,
        drawn.lower,
        ticks=drawn.ticks,
        title=f"{attribute.name}, original and {loss.mask}" if drawn.upper else f"{attribute.name}, {loss.mask}",
        lower_name="masked" if masked.mask is None or masked.mask.name != "identity" else "published",
    )
    rows = [
        _mask_row(
            attribute,
            key,
            loss,
            used,
            len(ranking.ranking),
            of_best=key == (masked.id, masked.label_mask),
            named_from=named_from,
        )
        for key, (loss, used) in scored.items()
    ]
    order = {key: i for i, key in enumerate(sorted(scored, key=lambda key: _cost(scored[key][0], ranking)))}
    ordered = [row for _, row in sorted(zip((order[key] for key in scored), rows, strict=True), key=lambda p: p[0])]
    return Card(
        name=attribute.name,
        mask=loss.mask,
        effect=_effect(loss, ranking),
        changed=changed,
        chart=picture(chart),
        notes=drawn.notes,
        has_loss=any(loss.deviation is not None for loss, _ in scored.values()),
        masks=tuple(ordered),
    )


def _cost(loss: AttributeLoss, ranking: Ranking) -> float:
    if loss.deviation is not None:
        return loss.deviation
    return -loss.masked if ranking.higher_is_better else loss.masked


def _effect(loss: AttributeLoss, ranking: Ranking) -> str:
    unit, lost = attribute_unit(ranking), difference(loss.deviation, loss.original)
    if lost is None or loss.original is None:
        return f"{amount(loss.masked, unit)} {'left' if ranking.higher_is_better else 'now'}"
    if lost == 0:
        return f"nothing lost ({amount(loss.masked, unit)})"
    if lost < 0:
        return f"gains {amount(-lost, unit)} ({figure(loss.original, 3)} before)"
    if not ranking.higher_is_better or loss.original <= 1e-12:
        return f"worse by {amount(lost, unit)} ({figure(loss.original, 3)} before)"
    return f"loses {figure(lost, 3)} of {amount(loss.original, unit)} ({percent(min(lost / loss.original, 1.0))})"


def _mask_row(
    attribute: AttributeSummary,
    key: Key,
    loss: AttributeLoss,
    used: int,
    configurations: int,
    *,
    of_best: bool,
    named_from: int,
) -> MaskRow:
    counts = np.asarray(attribute.masked[key].joint.counts.sum(axis=1), dtype=np.float64)
    total = float(counts.sum()) or 1.0
    large = counts[may_name(counts, at_least=named_from)] / total
    groups = int((counts > 0).sum())
    return MaskRow(
        mask=loss.mask,
        of_best=of_best,
        groups=f"{groups:,}",
        strip=picture(
            share_strip(large.tolist(), rest=max(1.0 - float(large.sum()), 0.0), title=count(groups, "group"))
        ),
        left=figure(loss.masked, 3),
        lost=figure(difference(loss.deviation, loss.original), 3),
        used=f"{used:,} of {configurations:,}",
    )


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

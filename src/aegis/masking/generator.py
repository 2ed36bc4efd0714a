"""Configurations to choose from, made at random from masks that fit each column.

For each column a pool of sensible masks is made once, and each is measured by the share of the column's entropy that it
keeps; the strength says from which part of the pool to draw. The label is never touched.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain, show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import ConfigurationError, InputError
from aegis.masking.configuration import Configuration
from aegis.masking.mask import MASKS, Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_truncate import DateTruncate
from aegis.masking.masks.digits import MOST_DIGITS, EraseDigits, StarDigits
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.limits import BottomCode, TopCode
from aegis.masking.masks.noise import AddGaussianNoise, AddLaplaceNoise
from aegis.masking.masks.randomize import Randomize, Shuffle
from aegis.masking.masks.ranges import Ranges
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.round import Round
from aegis.masking.masks.stars import StarTrailing
from aegis.masking.masks.suppress import Nullify, Suppress
from aegis.masking.transition import Partition, Transition

DEFAULT_MASKS = (
    "bucketize", "round", "top_code", "bottom_code", "date_truncate", "generalize", "regroup", "star_trailing",
    "suppress",
)  # fmt: skip
"""Drawn from unless others are allowed: the ones that a reader of the release understands at once."""

_SMALLEST_STEP, _LARGEST_STEP = 1e-9, 1e12  # beyond these a width is no longer exact in every engine
_LARGE_CATEGORY = 200  # beyond it a configuration would list too many values


class ColumnCounts(Protocol):
    """A column's domain and how often each of its values occurs: a Histogram."""

    @property
    def domain(self) -> Domain: ...
    @property
    def counts(self) -> NDArray[Any]: ...


class MaskedCounts(ColumnCounts, Protocol):
    """The same, where what masks do to it is remembered."""

    def changed_by(self, mask: Mask) -> Transition: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """Which share of a column's entropy a mask may keep, and how often a column stays as it is."""

    least: float
    most: float
    unmasked: float

    def distance(self, share: float) -> float:
        return max(self.least - share, share - self.most, 0.0)


STRENGTHS = {
    "light": Strength(least=0.6, most=1.0, unmasked=0.3),
    "medium": Strength(least=0.25, most=0.7, unmasked=0.15),
    "heavy": Strength(least=0.0, most=0.35, unmasked=0.05),
    "mixed": Strength(least=0.0, most=1.0, unmasked=0.2),
    "any": Strength(least=0.0, most=1.0, unmasked=0.0),
}
"""``any`` masks every column there is a mask for, as strongly or as weakly as it comes; the others leave some alone."""


def generate(
    histograms: Mapping[str, MaskedCounts],
    *,
    count: int,
    rng: np.random.Generator,
    strength: str = "mixed",
    masks: Collection[str] | None = None,
    label: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    fewer_if_need_be: bool = False,
) -> list[Configuration]:
    """``count`` different configurations of the columns in ``histograms``, the label excepted.

    ``masks`` names the masks to draw from; ``hierarchies`` gives columns their `generalize`. Where
    columns and masks allow fewer that is an error, unless ``fewer_if_need_be``.
    """
    if strength not in STRENGTHS:
        raise ConfigurationError(f"there is no strength {strength!r}; choose one of {', '.join(STRENGTHS)}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigurationError("the number of configurations to generate must be 1 or more")
    allowed = DEFAULT_MASKS if masks is None else tuple(MASKS[name].name for name in masks)
    chosen = STRENGTHS[strength]
    pools: dict[str, tuple[Mask, ...]] = {}
    for column, counted in histograms.items():
        if column != label:
            own = None if hierarchies is None else hierarchies.get(column)
            if pool := _pool(counted, chosen, allowed, own):
                pools[column] = pool
    sizes = [len(pool) for pool in pools.values()]
    first = -1 if chosen.unmasked else 0  # -1 leaves a column as it is; doing so to all is no configuration
    possible = math.prod(size - first for size in sizes) - (1 if first or not sizes else 0)
    if fewer_if_need_be and possible:
        count = min(count, possible)
    if not possible:
        raise ConfigurationError(
            "no configuration can be made: of these columns none has several values that these masks can change; name "
            "other columns or masks"
        )
    if count > possible:
        raise ConfigurationError(
            f"only {possible} different configurations can be made of these columns and masks, not {count}; "
            "ask for fewer, or allow more masks"
        )
    digits = max(3, len(str(count)))
    drawn = _draw(sizes, count=count, possible=possible, first=first, unmasked=chosen.unmasked, rng=rng)
    return [
        Configuration(
            name=f"g{number:0{digits}d}",
            masks={column: pools[column][place] for column, place in zip(pools, places, strict=True) if place >= 0},
            label=label,
        )
        for number, places in enumerate(drawn, start=1)
    ]


def _draw(
    sizes: list[int], *, count: int, possible: int, first: int, unmasked: float, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Different rows of places in the pools; -1 leaves a column as it is, and no row leaves all."""
    if possible <= 4 * count:
        everything = [row for row in product(*(range(first, size) for size in sizes)) if max(row) >= 0]
        return [everything[i] for i in rng.choice(len(everything), size=count, replace=False)]
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < count:
        batch = rng.integers(0, sizes, size=(count, len(sizes)))
        batch[rng.random(batch.shape) < unmasked] = -1
        drawn.update(dict.fromkeys(row for row in map(tuple, batch.tolist()) if max(row) >= 0))
    return list(drawn)[:count]


def _pool(
    counted: MaskedCounts, strength: Strength, allowed: Collection[str], hierarchy: Hierarchy | None
) -> tuple[Mask, ...]:
    """The masks of the wanted strength; the nearest ones where a column has none."""
    counts = np.asarray(counted.counts, dtype=np.float64)
    if len(counted.domain.values) < 2 or counts.sum() <= 0:
        return ()
    before = _entropy(counts)
    seen: set[bytes] = set()
    measured: list[tuple[float, Mask]] = []
    for mask in _candidates(counted.domain, counts, hierarchy):
        if mask.name not in allowed or counted.domain.kind not in mask.accepts:
            continue
        try:
            step = counted.changed_by(mask)
        except InputError:
            continue  # does not fit these values; there are others
        if isinstance(step, Partition):
            if step.target.size == counted.domain.size or step.codes.tobytes() in seen:
                continue
            seen.add(step.codes.tobytes())
        after = step.push(counts)
        inside = 0.0 if isinstance(step, Partition) else float(counts @ _row_entropies(step.matrix)) / counts.sum()
        measured.append(((_entropy(after) - inside) / before if before else 0.0, mask))
    if not measured:
        return ()
    nearest = min(strength.distance(share) for share, _ in measured)
    return tuple(mask for share, mask in measured if strength.distance(share) <= nearest)


def _candidates(domain: Domain, counts: NDArray[np.float64], hierarchy: Hierarchy | None) -> Iterator[Mask]:
    """Everything worth trying on a column; what comes first is kept where two do the same."""
    if hierarchy is not None:
        yield from (Generalize(level=level, hierarchy=hierarchy) for level in range(1, hierarchy.top))
    if domain.kind.is_number:
        yield from _for_numbers(domain)
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        yield from (DateTruncate(unit=unit) for unit in ("day", "week", "month", "quarter", "year"))
    if domain.kind is Kind.TEXT or (domain.kind is Kind.INTEGER and len(domain.values) <= 12):
        yield from _for_categories(domain, counts)
    if domain.kind is Kind.TEXT and (length := _code_length(domain)) is not None:
        yield from (StarTrailing(characters=characters) for characters in range(1, length))
    yield Suppress()
    yield Nullify()
    yield Shuffle()
    if len(domain.values) <= _LARGE_CATEGORY:
        yield from (Randomize(keep=keep) for keep in (0.9, 0.8, 0.6, 0.4, 0.2))


def _for_numbers(domain: Domain) -> Iterator[Mask]:
    low, high = float(domain.values[0]), float(domain.values[-1])
    spread = high - low
    if not 0 < spread < math.inf:
        return  # doubles cannot tell such whole numbers apart, or cannot hold their spread
    finest = spread / (2 * len(domain.values))
    steps = _nice_numbers(least=max(finest, spread / 200), most=spread)
    if domain.kind is Kind.INTEGER:
        steps = [step for step in steps if step >= 2 and isinstance(step, int)]
    yield from (Bucketize(width=width) for width in steps)
    yield from (Bucketize(quantiles=number) for number in (2, 3, 4, 5, 6, 8, 10, 16, 20, 32))
    yield from (Bucketize(count=number) for number in (2, 3, 4, 6, 8, 12))
    yield from (Round(step=step) for step in steps)
    digits = len(str(int(max(abs(low), abs(high)))))
    for number in range(1, min(digits, MOST_DIGITS)):
        yield EraseDigits(digits=number)
        yield StarDigits(digits=number)
    yield from (Ranges(count=number) for number in (2, 3, 4, 5, 8, 10))
    yield from (TopCode(quantile=share) for share in (0.95, 0.9, 0.75, 0.5))
    yield from (BottomCode(quantile=share) for share in (0.05, 0.1, 0.25, 0.5))
    whole = domain.kind is Kind.INTEGER
    least = 1 if whole else 0
    for grain in _nice_numbers(least=max(spread / 400, least), most=max(spread / 20, least))[:1]:
        for share in (0.02, 0.05, 0.1, 0.2, 0.5):
            scale = float(f"{spread * share:.3g}")
            yield AddLaplaceNoise(scale=scale, step=grain)
            yield AddGaussianNoise(scale=scale, step=grain)


def _for_categories(domain: Domain, counts: NDArray[np.float64]) -> Iterator[Mask]:
    """Keep the most frequent values and put the rest together; or deal all values into a few groups."""
    values = [show(value) for value in domain.values.tolist()]
    frequent = [values[i] for i in np.argsort(-counts[: len(values)], kind="stable")]
    for kept in (1, 2, 3, 4, 6, 8, 12, 20, 50):
        if kept < len(values):
            yield Regroup(groups={value: [value] for value in frequent[:kept]}, other="other")
    if len(values) <= _LARGE_CATEGORY:
        for number in (2, 3, 5, 8):
            if number < len(values):
                yield Regroup(groups={f"group {i + 1}": frequent[i::number] for i in range(number)})


def _entropy(counts: NDArray[np.float64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _row_entropies(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.where(matrix > 0, matrix, 1.0)
    return -(positive * np.log2(positive)).sum(axis=1)


def _nice_numbers(*, least: float, most: float) -> list[float]:
    """The round numbers (1, 2 and 5 times a power of ten) from ``least`` to ``most``, rising; whole ones as integers.

    >>> _nice_numbers(least=0.3, most=12)
    [0.5, 1, 2, 5, 10]
    """
    least, most = max(least, _SMALLEST_STEP), min(most, _LARGEST_STEP)
    if not least <= most:
        return []
    powers = range(math.floor(math.log10(least)), math.floor(math.log10(most)) + 1)
    numbers = [float(f"{lead}e{power}") for power in powers for lead in (1, 2, 5)]
    return [int(n) if n.is_integer() else n for n in numbers if least <= n <= most]


def _code_length(domain: Domain) -> int | None:
    """The length that all values share, where they look like codes: equally long, without spaces, with a digit."""
    texts = domain.values.tolist()
    lengths = {len(text) for text in texts}
    if len(lengths) != 1 or not 2 <= (length := lengths.pop()) <= 20:
        return None
    return length if all(not any(c.isspace() for c in t) and any(c.isdigit() for c in t) for t in texts) else None

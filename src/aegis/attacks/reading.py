"""What a written value says of the true one: the part of the true domain that could be behind it.

An attacker knows how a table was masked: the certificate says so. Where a mask is known, a written value stands for
every true value that the mask turns into it. Otherwise it is read as people read it: ``[20, 30)`` is an interval,
``021**`` a prefix, ``{a, b}`` a set, ``*`` anything, and everything else itself. Other values in a set are those that
no set of the column names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.data.published_values import Interval, ValueSet
from aegis.errors import MaskError
from aegis.masking.mask import Mask, ValueMask
from aegis.masking.masks.suppress import STAR
from aegis.masking.transition import Partition, transition

Written = Sequence[str | None]

_OR_MISSING = " or missing"
_DATES = re.compile(r"^\[\s*([0-9T: -]+?)\s*,\s*([0-9T: -]+?|inf)\s*\)$|^\(-inf\s*,\s*([0-9T: -]+?)\s*\)$")
_PREFIX = re.compile(r"^([^*]*)(\*+)$")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Reading:
    """The true codes behind each written value: from ``low`` up to but not including ``high``.

    Where only some of those are meant, ``start`` is the place in ``member`` at which a truth value for each code of
    the domain begins; it is -1 where all of them are. ``size`` is how many codes the true domain has.
    """

    size: int
    low: Codes
    high: Codes
    start: Codes
    member: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Reading({len(self.low)} written values of {self.size})"

    @property
    def tells(self) -> bool:
        """Whether any written value rules a true one out."""
        return bool(((self.high - self.low < self.size) | (self.start >= 0)).any())

    @property
    def exact(self) -> NDArray[np.bool_]:
        """The written values that stand for one true value only."""
        return np.asarray(self.high - self.low == 1)

    def met_with(self, other: Reading, ours: Codes, theirs: Codes) -> Reading:
        """What two written values say together, for each pair of ``ours`` and ``theirs``."""
        low = np.maximum(self.low[ours], other.low[theirs])
        high = np.maximum(np.minimum(self.high[ours], other.high[theirs]), low)
        some = np.flatnonzero((self.start[ours] >= 0) | (other.start[theirs] >= 0))
        start = np.full(len(ours), -1, dtype=np.int64)
        start[some] = np.arange(len(some)) * self.size
        member = self._members(ours[some]) & other._members(theirs[some])
        return Reading(size=self.size, low=low, high=high, start=start, member=member.reshape(-1))

    def _members(self, written: Codes) -> NDArray[np.bool_]:
        """A line of truth values for each of some written values."""
        places = np.arange(self.size)
        whole = (places >= self.low[written, None]) & (places < self.high[written, None])
        listed = np.flatnonzero(self.start[written] >= 0)
        whole[listed] &= self.member[self.start[written[listed], None] + places]
        return whole


def read_column(written: Written, domain: Domain, *, mask: Mask | None, counts: NDArray[Any]) -> Reading:
    """What each of the ``written`` values says of a column with this ``domain``, whose codes occur ``counts`` times."""
    if mask is not None and not is_deterministic(mask):
        return _of_sets([slice(0, domain.size)] * len(written), domain.size)
    produced = {} if mask is None else _produced(mask, domain, counts)
    kind = domain.kind if mask is None else mask.kind_after(domain.kind)
    itself = _by_text(domain)
    read = _Reader(domain, written)
    meanings: list[slice | Codes] = []
    for value in written:
        text = None if value is None else _number_text(value, kind)
        if text in produced:
            meanings.append(produced[text])
        elif value is None or text is None:
            meanings.append(slice(len(domain.values), domain.size))
        elif value == STAR:
            meanings.append(slice(0, domain.size))
        elif mask is None and text in itself:
            code = itself[text]
            meanings.append(slice(code, code + 1))
        else:
            meanings.append(read(value))
    return _of_sets(meanings, domain.size)


def written_by(mask: Mask, domain: Domain, counts: NDArray[Any]) -> list[str | None] | None:
    """What ``mask`` writes for each code of the domain; None for a mask that draws or invents names."""
    if not is_deterministic(mask):
        return None
    change = _partition(mask, domain, counts)
    if change is None:
        return None
    labels: list[str | None] = [show(value) for value in change.target.values.tolist()]
    labels.append(None)
    return [labels[code] for code in change.codes.tolist()]


def is_deterministic(mask: Mask) -> bool:
    """Whether equal values become equal ones that mean something: nothing is drawn, no name invented."""
    return all(isinstance(step, ValueMask) and not step.injective for step in mask.steps)


def _partition(mask: Mask, domain: Domain, counts: NDArray[Any]) -> Partition | None:
    try:
        change = transition(mask, domain, counts)
    except MaskError:
        return None  # the original has values that this mask never met: what is written is read as it stands
    return change if isinstance(change, Partition) else None


def _produced(mask: Mask, domain: Domain, counts: NDArray[Any]) -> dict[str | None, Codes]:
    """The true codes that ``mask`` turns into each written value."""
    change = _partition(mask, domain, counts)
    if change is None:
        return {}
    order = np.argsort(change.codes, kind="stable")
    parts = np.split(order, np.searchsorted(change.codes[order], np.arange(1, change.target.size)))
    labels: list[str | None] = [_number_text(show(v), change.target.kind) for v in change.target.values.tolist()]
    return dict(zip([*labels, None] if change.target.missing else labels, parts, strict=True))


def _number_text(text: str, kind: Kind) -> str:
    """A number as `show` writes it, whatever the file wrote: 50.0 and 50 are one value."""
    if not kind.is_number:
        return text
    try:
        return show(float(text))
    except ValueError:
        return text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _by_text(domain: Domain) -> Mapping[str, int]:
    return {_number_text(show(value), domain.kind): code for code, value in enumerate(domain.values.tolist())}


class _Reader:
    """Reads a written value as people would; one that says nothing to them may be anything."""

    def __init__(self, domain: Domain, written: Written) -> None:
        self._domain = domain
        self._written = written
        self._named: frozenset[str] | None = None
        self._texts: NDArray[Any] | None = None

    def __call__(self, text: str) -> slice | Codes:
        domain = self._domain
        if text.endswith(_OR_MISSING) and domain.missing:
            return np.append(_as_codes(self(text.removesuffix(_OR_MISSING)), domain.size), len(domain.values))
        if domain.kind.is_ordered:
            bounded = self._interval(text)
            if bounded is not None:
                return bounded
            if domain.kind.is_number and _is_number(text):
                return slice(0, 0)  # a number that nobody has
        listed = ValueSet.parse(text)
        if listed is not None:
            return self._of_set(listed)
        prefix = _PREFIX.match(text)
        if prefix is not None and prefix[1]:
            return np.flatnonzero([_starred(value, prefix[1], len(prefix[2])) for value in self._shown()])
        return slice(0, domain.size)

    def _of_set(self, listed: ValueSet) -> Codes:
        values = set(listed.values)
        inside = [value in values for value in self._shown()]
        if listed.unnamed:
            if self._named is None:
                sets = [ValueSet.parse(text) for text in self._written if text is not None]
                self._named = frozenset(
                    value for value_set in sets if value_set is not None for value in value_set.values
                )
            inside = [
                is_inside or value not in self._named for is_inside, value in zip(inside, self._shown(), strict=True)
            ]
        return np.flatnonzero([*inside, *[listed.missing] * self._domain.missing])

    def _shown(self) -> list[str]:
        if self._texts is None:
            self._texts = np.array([show(value) for value in self._domain.values.tolist()], dtype=object)
        return list(self._texts)

    def _interval(self, text: str) -> slice | None:
        values = self._domain.values
        if self._domain.kind.is_number:
            interval = Interval.parse(text)
            if interval is None:
                return None
            low: Any = interval.low
            high: Any = interval.high
            sides: tuple[Any, Any] = (
                "left" if interval.closed_low else "right",
                "right" if interval.closed_high else "left",
            )
        else:
            match = _DATES.match(text)
            if match is None:
                return None
            try:
                low = _date(match[1], values.dtype) if match[1] else -math.inf
                high = _date(match[2] or match[3], values.dtype) if (match[2] or match[3]) != "inf" else math.inf
            except ValueError:
                return None
            sides = ("left", "left")
        first = 0 if low == -math.inf else int(np.searchsorted(values, low, side=sides[0]))
        last = len(values) if high == math.inf else int(np.searchsorted(values, high, side=sides[1]))
        return slice(first, max(first, last))


def _date(text: str, dtype: Any) -> Any:
    return np.datetime64(text.strip().replace(" ", "T", 1)).astype(dtype)


def _starred(value: str, prefix: str, stars: int) -> bool:
    return value.startswith(prefix) and len(value) == len(prefix) + stars


def _as_codes(meaning: slice | Codes, size: int) -> Codes:
    return np.arange(size)[meaning] if isinstance(meaning, slice) else meaning


def _of_sets(meanings: Sequence[slice | Codes], size: int) -> Reading:
    """A reading from the codes behind each written value."""
    low, high = np.zeros((2, len(meanings)), dtype=np.int64)
    start = np.full(len(meanings), -1, dtype=np.int64)
    members: list[NDArray[np.bool_]] = []
    for number, meaning in enumerate(meanings):
        if isinstance(meaning, slice):
            low[number], high[number] = meaning.start, max(meaning.start, meaning.stop)
            continue
        if not len(meaning):
            continue
        low[number], high[number] = meaning.min(), meaning.max() + 1
        if high[number] - low[number] > len(meaning):
            start[number] = len(members) * size
            listed = np.zeros(size, dtype=bool)
            listed[meaning] = True
            members.append(listed)
    member = np.concatenate(members) if members else np.zeros(0, dtype=bool)
    return Reading(size=size, low=low, high=high, start=start, member=member)

"""The rows of a table as codes of its domains, under masks, and as the numbers that models learn from.

This is the one place beside a release where rows come to the client, because models learn from rows. A column that the
engine counted in ranges is read in the same ranges, so that both ways see the same table.

Features are fitted on training rows only:

==================================  =====================================================
masked column                       features
==================================  =====================================================
numbers, dates, times               one scaled number
intervals ``[a, b)``, ``3*``        one scaled number, the middle: a masked number stays ordered
anything else                       one indicator per value; rare values share one
a missing value                     an indicator of its own, and the mean where a number is due
==================================  =====================================================

Every value of a domain is described once; the rows pick their description by code.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.counts.answer import ask, to_numpy
from aegis.counts.joint import TableCounts
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.errors import ConfigurationError, DataError, RoleError
from aegis.learners.features import as_numbers
from aegis.masking.mask import Mask
from aegis.masking.transition import Partition, Transition, transition

_SAMPLED = 1.2


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CodedRows:
    """``codes[name][i]`` is the code of row i in ``domains[name]``; ``label`` holds the codes of the label."""

    label_domain: Domain
    label: Codes
    domains: Mapping[str, Domain]
    codes: Mapping[str, Codes]

    def __post_init__(self) -> None:
        if set(self.domains) != set(self.codes):
            raise RoleError("coded rows need one domain for each column; give both for the same columns")
        if any(len(codes) != len(self.label) for codes in self.codes.values()):
            raise DataError("coded rows need as many codes in each column as there are labels")

    def __repr__(self) -> str:
        return f"CodedRows({len(self.label)} rows, {len(self.codes)} attributes)"

    @property
    def rows(self) -> int:
        return len(self.label)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of everything: equal tables share cached results, others never do."""
        digest = hashlib.sha256()
        for name, domain in (("", self.label_domain), *sorted(self.domains.items())):
            codes = self.codes[name] if name else self.label
            digest.update(repr((name, str(domain.kind), domain.labels())).encode())
            digest.update(np.ascontiguousarray(codes, dtype=np.int64).tobytes())
        return digest.hexdigest()[:16]

    def counts(self, name: str) -> Codes:
        """How often each value of a column occurs."""
        return np.bincount(self.codes[name], minlength=self.domains[name].size)


def read_rows(
    dataset: Dataset, counted: TableCounts, *, most_rows: int | None = None, seed: int = 0, in_order: bool = False
) -> CodedRows:
    """Read the counted columns of ``dataset`` as codes; ``most_rows`` keeps a random sample of that many.

    ``in_order`` keeps the order in which the engine hands the rows over, for tables that hold the same records.
    """
    return read_columns(
        dataset,
        label=counted.label,
        label_domain=counted.label_histogram.domain,
        domains={name: joint.attribute for name, joint in counted.joints.items()},
        rows=counted.rows,
        most_rows=most_rows,
        seed=seed,
        in_order=in_order,
    )


def read_columns(
    dataset: Dataset,
    *,
    label: str,
    label_domain: Domain,
    domains: Mapping[str, Domain],
    rows: int,
    most_rows: int | None = None,
    seed: int = 0,
    in_order: bool = False,
) -> CodedRows:
    """Read the columns of ``domains`` as codes, or a sample of ``most_rows`` of the ``rows`` there are."""
    table = dataset.table.select(label, *domains)
    if most_rows is not None and rows > _SAMPLED * most_rows:
        # The engine keeps what need not travel: a few more rows than are wanted, because a sample has no fixed size.
        table = table.sample(_SAMPLED * most_rows / rows, method="row", seed=seed)
    answer = ask(table)
    coded = {name: _codes(answer[name], domain) for name, domain in domains.items()}
    labels = _codes(answer[label], label_domain)
    # The engine may hand rows over in any order; results that are cached must not depend on it.
    order = np.arange(len(labels)) if in_order else np.lexsort([labels, *coded.values()])
    if most_rows is not None and most_rows < len(order):
        order = order[np.sort(np.random.default_rng(seed).choice(len(order), size=most_rows, replace=False))]
    return CodedRows(
        label_domain=label_domain,
        label=labels[order],
        domains=dict(domains),
        codes={name: codes[order] for name, codes in coded.items()},
    )


def _codes(column: object, domain: Domain) -> Codes:
    present, values = to_numpy(column, domain.kind)
    codes = np.full(len(present), len(domain.values), dtype=np.int64)
    if domain.discretised:
        codes[present] = np.maximum(np.searchsorted(domain.values, values, side="right") - 1, 0)
    else:
        codes[present] = domain.codes(values)
    return codes


class RowMasker:
    """Masks coded rows; what a mask does to a column is worked out once, however many configurations share it."""

    def __init__(self, rows: CodedRows, *, label: str, seed: int = 0) -> None:
        self._rows, self._label, self._seed = rows, label, seed
        self._changes: dict[tuple[str, Mask], Transition] = {}

    def masked(self, masks: Mapping[str, Mask], *, configuration: str = "it") -> CodedRows:
        """The rows as they would be released under these masks; random ones draw by seed and column."""
        if self._label in masks:
            raise ConfigurationError(
                f"configuration {configuration!r} masks the label: accuracies on different labels cannot be "
                "compared, evaluate it without that mask"
            )
        domains, codes = dict(self._rows.domains), dict(self._rows.codes)
        for column, mask in masks.items():
            if column not in domains:
                continue  # identifying columns and those with too many texts are no attributes
            change = self._change(column, mask)
            domains[column] = change.target
            codes[column] = self._moved(change, codes[column], column)
        return replace(self._rows, domains=domains, codes=codes)

    def _change(self, column: str, mask: Mask) -> Transition:
        if (column, mask) not in self._changes:
            counts = self._rows.counts(column)
            self._changes[column, mask] = transition(mask, self._rows.domains[column], counts)
        return self._changes[column, mask]

    def _moved(self, change: Transition, codes: Codes, column: str) -> Codes:
        if isinstance(change, Partition):
            return change.codes[codes]
        rng = np.random.default_rng([self._seed, zlib.crc32(column.encode())])
        return change.drawn(codes, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How categories become indicators: a value that fewer training rows have shares an indicator with the others."""

    least_rows: int = 10
    most_levels: int = 40

    @property
    def id(self) -> str:
        """What a cached result depends on; the last number counts how often this file changed what features are."""
        return f"{self.least_rows}-{self.most_levels}-2"


ENCODING = Encoding()


def feature_matrix(
    domains: Mapping[str, Domain], codes: Mapping[str, Codes], *, training: Codes, encoding: Encoding = ENCODING
) -> Floats:
    """The features of all rows; what must be learnt of them is learnt from the rows at ``training``."""
    parts = [_column(domains[name], codes[name], training, encoding) for name in domains]
    rows = len(next(iter(codes.values()))) if codes else 0
    return np.hstack([np.empty((rows, 0), dtype=np.float64), *parts])


def _column(domain: Domain, codes: Codes, training: Codes, encoding: Encoding) -> Floats:
    counts = np.bincount(codes[training], minlength=domain.size).astype(np.float64)
    numbers = as_numbers(domain)
    values = len(domain.values)
    described: list[Floats] = []
    if numbers is not None:
        scaled = _scaled(numbers, counts[:values])
        if scaled is not None:
            described.append(np.append(scaled, [0.0] * domain.missing)[:, None])
    else:
        described.append(_indicators(counts, values, domain.size, encoding))
    if domain.missing and 0 < counts[values] < counts.sum():
        described.append(np.append(np.zeros(values), 1.0)[:, None])
    if not described:
        return np.empty((len(codes), 0))
    return np.hstack(described)[codes]


def _scaled(numbers: Floats, counts: Floats) -> Floats | None:
    total = counts.sum()
    if total <= 0:
        return None
    mean = counts @ numbers / total
    spread = np.sqrt(counts @ (numbers - mean) ** 2 / total)
    return (numbers - mean) / spread if spread > 1e-12 * max(abs(mean), 1.0) else None


def _indicators(counts: Floats, named: int, size: int, encoding: Encoding) -> Floats:
    """One column per frequent value and one for the rest; none where a single value is left."""
    falling = np.argsort(-counts[:named], kind="stable")
    frequent = falling[counts[falling] >= encoding.least_rows][: encoding.most_levels]
    rest = np.setdiff1d(np.arange(named), frequent)
    columns = [*frequent[:, None], *([rest] if counts[rest].sum() > 0 else [])]
    if len(columns) < 2:
        return np.empty((size, 0))
    indicators = np.zeros((size, len(columns)))
    for place, values in enumerate(columns):
        indicators[values, place] = 1.0
    return indicators

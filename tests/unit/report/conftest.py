"""Small tables counted by hand, for pages to be made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from aegis.counts.joint import Histogram, Joint
from aegis.counts.summary import Summary, masked_counts
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.configuration import Configuration


class Bench:
    """Builds joints and summaries from columns of values; None is a missing value."""

    @staticmethod
    def joint(kind: Kind, values: Sequence[Any], label: Sequence[str]) -> Joint:
        labels = Domain.of(Kind.TEXT, np.array(label, dtype=object))
        known = [value for value in values if value is not None]
        missing = len(known) < len(values)
        domain = Domain.of(kind, np.array(known, dtype=kind.dtype), missing=missing)
        place = {value: code for code, value in enumerate(domain.values.tolist())}
        tidy = np.array(known, dtype=kind.dtype).tolist()
        found = iter(tidy)
        codes = [len(place) if value is None else place[next(found)] for value in values]
        counts = np.zeros((domain.size, labels.size), dtype=np.int64)
        across = np.searchsorted(labels.values, np.array(label, dtype=object))
        for down, over in zip(codes, across.tolist(), strict=True):
            counts[down, over] += 1
        return Joint(attribute=domain, label=labels, counts=counts)

    def summary(
        self,
        columns: Mapping[str, tuple[Kind, Sequence[Any]]],
        label: Sequence[str],
        configurations: Mapping[str, Mapping[str, Any]],
        *,
        name: str = "table.csv",
        skipped: Mapping[str, str] | None = None,
    ) -> Summary:
        labels = Domain.of(Kind.TEXT, np.array(label, dtype=object))
        counts = np.bincount(np.searchsorted(labels.values, np.array(label, dtype=object)), minlength=labels.size)
        return masked_counts(
            name=name,
            label="outcome",
            label_histogram=Histogram(domain=labels, counts=counts),
            joints={column: self.joint(kind, values, label) for column, (kind, values) in columns.items()},
            configurations=[Configuration.of(key, masks) for key, masks in configurations.items()],
            skipped=skipped,
        )

    def people(self, *, rows: int = 600, seed: int = 0) -> Summary:
        """Numbers, dates, texts and missing values under four configurations."""
        rng = np.random.default_rng(seed)
        ill = rng.random(rows) < 0.4
        age = np.round(rng.normal(45 + 10 * ill, 14)).clip(1, 99).astype(int).tolist()
        weight = [None if rng.random() < 0.05 else round(float(w), 1) for w in rng.normal(70 - 5 * ill, 12)]
        town = [f"town-{t}" for t in rng.zipf(1.7, rows).clip(1, 70)]
        seen = (np.datetime64("2023-01-01") + rng.integers(0, 500, rows).astype("timedelta64[D]")).tolist()
        return self.summary(
            {
                "age": (Kind.INTEGER, age),
                "weight": (Kind.REAL, weight),
                "town": (Kind.TEXT, town),
                "seen": (Kind.DATE, seen),
                "smoker": (Kind.BOOLEAN, (rng.random(rows) < 0.3 + 0.2 * ill).tolist()),
            },
            ["ill" if one else "well" for one in ill],
            {
                "light": {"age": {"bucketize": {"width": 5}}},
                "coarse": {"age": {"bucketize": {"quantiles": 3}}, "weight": {"round": {"step": 10}}},
                "noisy": {"town": {"randomize": {"keep": 0.5}}, "age": {"shuffle": {}}, "smoker": "shuffle"},
                "nothing": dict.fromkeys(("age", "weight", "town", "seen", "smoker"), "suppress"),
            },
            skipped={"patient": "identifying: never counted"},
        )


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="session")
def people(bench: Bench) -> Summary:
    return bench.people()

"""What one unit of protection moves is never more than what was paid for: exact counts of neighbouring tables compared.

One table is measured with noise. Its neighbours are then answered with the noisy numbers of the first, so that they are
asked the same questions, and the exact counts behind each answer are compared with those of the first table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from aegis.candidates.synthesis.declared import PublicDomain
from aegis.candidates.synthesis.measuring import Account, Promise, SeededNoise
from aegis.candidates.synthesis.synthesizer import Settings, learn
from aegis.counts.marginals import TableCounter, bounded
from aegis.data.engine import open_dataset

Row = dict[str, Any]
PEOPLE = 600
ROWS_EACH = 2


@dataclass
class Asked:
    """What noise was drawn for: the exact numbers, its width, and the noisy ones."""

    exact: NDArray[Any]
    sigma: float
    noisy: NDArray[np.float64]


@dataclass
class Answering:
    """Noise that keeps what it is asked for, and answers as ``first`` did where there is one."""

    first: Sequence[Asked] = ()
    asked: list[Asked] = field(default_factory=list)
    private: bool = False

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        return self._answered(counts, sigma, self._drawing().on_counts)

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
        return self._answered(numbers, sigma, self._drawing().on_numbers)

    def _drawing(self) -> SeededNoise:
        return SeededNoise(np.random.default_rng(len(self.asked)))

    def _answered(self, exact: NDArray[Any], sigma: float, draw: Any) -> NDArray[np.float64]:
        place = len(self.asked)
        noisy = self.first[place].noisy if self.first else draw(exact, sigma=sigma)
        assert noisy.shape == exact.shape
        self.asked.append(Asked(exact=exact.copy(), sigma=sigma, noisy=noisy))
        return noisy


def people(rows_each: int) -> list[Row]:
    rng = np.random.default_rng(3)
    return [
        {
            "who": f"P{person}",
            "age": int(rng.integers(20, 80)),
            "weight": None if rng.random() < 0.1 else float(np.round(rng.normal(70, 9), 1)),
            "town": str(rng.choice(["Ayr", "Bude", "Cork"])),
            "insured": bool(rng.random() < 0.5),
            "sick": "yes" if rng.random() < 0.4 else "no",
        }
        for person in range(PEOPLE)
        for _ in range(rows_each)
    ]


def measured(
    rows: Sequence[Row], *, label: str | None, rows_each: int, first: Sequence[Asked]
) -> tuple[list[Asked], Account]:
    """What noise was drawn for, and the account."""
    dataset = open_dataset(pa.Table.from_pylist(list(rows)))
    person = "who" if rows_each > 1 else None
    account = Account.of(Promise(epsilon=8.0, delta=1e-6, person=person, rows_each=rows_each), finds_values=True)
    noise = Answering(first=first)
    learn(
        TableCounter(dataset.table if person is None else bounded(dataset, person, rows_each=rows_each)),
        [column for column in dataset.schema if column.name != "who"],
        label=label,
        account=account,
        noise=noise,
        public=PublicDomain(),
        rng=np.random.default_rng(5),
        settings=Settings(pool=2000, least_pool=2000, rounds=2),
    )
    return noise.asked, account


ORDINARY: Row = {"who": "new", "age": 41, "weight": 71.5, "town": "Bude", "insured": True, "sick": "yes"}
ADDED: dict[str, Row] = {
    "one like others": ORDINARY,
    "values missing": {**ORDINARY, "weight": None, "town": None, "insured": None},
    "a town that nobody else has": {**ORDINARY, "town": "Eye"},
    "numbers far away": {**ORDINARY, "age": 2**62, "weight": -1e300},
    "zeros": {**ORDINARY, "age": 0, "weight": 0.0},
}


@pytest.mark.parametrize("label", ["sick", None])
@pytest.mark.parametrize("rows_each", [1, ROWS_EACH])
def test_one_unit_moves_no_more_than_was_paid_for(label: str | None, rows_each: int) -> None:
    rows = people(rows_each)
    first, account = measured(rows, label=label, rows_each=rows_each, first=())
    assert {"pair", "departures from independence", "departures"} <= {entry.what for entry in account.measured}
    for name, row in ADDED.items():
        added = [row] * (1 if rows_each == 1 else rows_each + 3)  # of the others only so many count
        other, _ = measured([*rows, *added], label=label, rows_each=rows_each, first=first)
        assert len(other) == len(first) == len(account.measured), name
        apart = [float(np.linalg.norm(a.exact - b.exact)) for a, b in zip(first, other, strict=True)]
        for entry, moved in zip(account.measured, apart, strict=True):
            assert moved <= rows_each * np.sqrt(entry.marginals) * (1 + 1e-9), (name, entry)
        assert max(apart) >= rows_each, "the row is counted at all"
        cost = sum(moved**2 / (2 * a.sigma**2) for moved, a in zip(apart, first, strict=True))
        assert cost <= account.spent * (1 + 1e-9) <= account.rho * (1 + 1e-8), name

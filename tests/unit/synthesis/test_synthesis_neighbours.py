"""Only noisy numbers reach what is written: neighbouring tables that are given the same ones are made into the same.

One table is measured with noise, by a seed. Its neighbours are then given the noisy numbers of the first, and the same
seed: whatever differs between the certificates, or between the rows, was read off the data without noise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import aegis
from aegis.candidates.synthesis.finding import AT_LEAST
from aegis.candidates.synthesis.measuring import Measurer, SeededNoise

ROWS = 1200
BETWEEN = 100
"""Values of more rows are kept, rarer ones are not: for certain here, and nearly so under noise and a threshold."""

Row = dict[str, Any]


class Tape:
    """Noisy numbers in the order in which they were measured: kept the first time, given out again after `rewind`."""

    def __init__(self) -> None:
        self._kept: list[NDArray[np.float64]] = []
        self._place: int | None = None

    def rewind(self) -> None:
        self._place = 0

    def instead_of(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._place is None:
            self._kept.append(noisy)
            return noisy
        kept = self._kept[self._place]
        assert kept.shape == noisy.shape, "how many numbers are measured was read off the data"
        self._place += 1
        return kept


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Tape:
    """A tape between what is measured and what is made of it; only values that are surely kept are."""
    measure, measure_values, measure_errors = Measurer.counts, Measurer.counts_of_values, Measurer.errors
    kept = Tape()

    def counts(self: Measurer, exact: NDArray[np.int64], **what: Any) -> NDArray[np.float64]:
        return kept.instead_of(measure(self, exact, **what))

    def counts_of_values(self: Measurer, exact: NDArray[np.int64], **what: Any) -> NDArray[np.float64]:
        measure_values(self, exact, **what)
        return np.where(exact > BETWEEN, 1e6, 0.0)

    def errors(self: Measurer, exact: NDArray[np.float64], **what: Any) -> NDArray[np.float64]:
        return kept.instead_of(measure_errors(self, exact, **what))

    monkeypatch.setattr(Measurer, "counts", counts)
    monkeypatch.setattr(Measurer, "counts_of_values", counts_of_values)
    monkeypatch.setattr(Measurer, "errors", errors)
    # of how many numbers noise is drawn does not show where it comes from a source of its own, as it does in a release
    monkeypatch.setattr("aegis.library.synthesize.SeededNoise", lambda rng: SeededNoise(np.random.default_rng(2)))
    return kept


def people() -> list[Row]:
    """Rows of whom some share a town that is nearly too rare to be looked at."""
    rng = np.random.default_rng(3)
    rows: list[Row] = [
        {
            "age": int(rng.integers(20, 80)),
            "weight": float(np.round(rng.normal(70, 9), 1)),
            "town": str(rng.choice(["Ayr", "Bude", "Cork"])),
            "insured": bool(rng.random() < 0.5),
            "sick": "yes" if rng.random() < 0.4 else "no",
        }
        for _ in range(ROWS)
    ]
    for row in rows[: AT_LEAST - 1]:
        row["town"] = "Deal"
    return rows


def with_row(rows: list[Row], **others: Any) -> list[Row]:
    """The rows and one more, which is like the last but for ``others``."""
    return [*rows, {**rows[-1], **others}]


def written(rows: list[Row], folder: Path, **options: Any) -> tuple[dict[str, Any], str]:
    """The certificate without what says when and of which file it is, and the made-up rows."""
    made = aegis.synthesize(
        pa.Table.from_pylist(rows),
        **{"epsilon": 4.0, "label": "sick", "seed": 1, "rows": 300, "out": folder / "made.csv", **options},
        overwrite=True,
    )
    assert made.certificate is not None
    certificate = json.loads(Path(made.certificate).read_text(encoding="utf-8"))
    for part in ("date", "certificate_sha256"):
        del certificate[part]
    return certificate, (folder / "made.csv").read_text(encoding="utf-8")


NEIGHBOURS = {
    "one row fewer": people()[:-1],
    "one row more": with_row(people()),
    "a row whose value nobody else has": with_row(people(), town="Eye"),
    "a row whose value is then looked at": with_row(people(), town="Deal"),
    "a row with a value missing": with_row(people(), town=None),
    "a row far from all others": with_row(people(), weight=1234567.125),
    "a row of a number that no whole number of an engine reaches": with_row(people(), weight=1.7e308),
    "a row of the largest whole number": with_row(people(), age=2**63 - 1),
    "another last row": [*people()[:-1], {**people()[0], "town": "Eye", "age": 300}],
}


@pytest.mark.parametrize("purpose", ["label", "general"])
def test_neighbouring_tables_have_the_same_certificate(purpose: str, tmp_path: Path, tape: Tape) -> None:
    certificate, made = written(people(), tmp_path, purpose=purpose)
    for name, rows in NEIGHBOURS.items():
        tape.rewind()
        other, other_made = written(rows, tmp_path, purpose=purpose)
        assert other == certificate, name
        assert other_made == made, name

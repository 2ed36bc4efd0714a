"""The whole of ``aegis.synthesize`` against its promise: neighbouring files, many runs, a lower bound on ε.

A record of a rare kind is in the file or not. Every run is the whole operation: the file is read and counted by the
engine, values are checked, OpenDP draws the noise, rows are made, table and certificate are written. An attacker who
sees everything that was measured guesses which file it was; rates of hits and alarms at a confidence of 0.999 (Clopper
and Pearson) bound ε from below by the trade-off curve of Gaussian mechanisms (Dong, Roth and Su 2022). The same with
half the stated noise, and with a count that slips through without noise: both have to be caught. What is done is kept,
and a run that is started again goes on after it.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import beta, norm

import aegis
from _kept import Kept
from _result import write
from aegis.candidates.synthesis.measuring import OpenDPNoise

EPSILON, DELTA, CONFIDENCE = 6.0, 1e-3, 1e-3
COMMON = 40
PIECE = 50
"""So many runs are kept together."""
DOMAIN = {"columns": {name: {"values": ["common", "rare"], "missing": False} for name in ("a", "b", "y")}}


class Watched(OpenDPNoise):
    """OpenDP's noise of ``part`` of the stated width; keeps what the cell of the rare record was measured to be."""

    part = 1.0
    leaks = False
    evidence = 0.0

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        noisy = super().on_counts(counts, sigma=sigma * Watched.part)
        if counts.ndim > 1:  # by label: the rare record is in the last cell of each
            if Watched.leaks:
                noisy[(-1,) * noisy.ndim] = counts[(-1,) * counts.ndim]
            Watched.evidence += (float(noisy[(-1,) * noisy.ndim]) - 0.5) / sigma**2
        return noisy


def evidence_of(file: Path, out: Path) -> float:
    Watched.evidence = 0.0
    aegis.synthesize(
        file, epsilon=EPSILON, delta=DELTA, label="y", domain=DOMAIN, out=out, rows=50, ledger="none", overwrite=True
    )
    return Watched.evidence


def least_epsilon(present: NDArray[np.float64], absent: NDArray[np.float64]) -> float:
    """The ε at δ that these scores refute any smaller one of."""
    runs = len(present)
    hits, alarms = int((present > 0).sum()), int((absent > 0).sum())
    hit_rate = float(beta.ppf(CONFIDENCE, hits, runs - hits + 1)) if hits else 0.0
    alarm_rate = float(beta.ppf(1 - CONFIDENCE, alarms + 1, runs - alarms)) if alarms < runs else 1.0
    if hit_rate <= alarm_rate:
        return 0.0
    mu = float(norm.ppf(hit_rate) - norm.ppf(alarm_rate))

    def excess(epsilon: float) -> float:
        above = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(above) - DELTA

    return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 60.0))


def scores_of(*, with_record: bool, part: float, leaks: bool) -> list[float]:
    """What the attacker saw in `PIECE` runs on one of the two files."""
    Watched.part, Watched.leaks = part, leaks
    rows = ["common,common,common"] * COMMON + ["rare,rare,rare"] * with_record
    with tempfile.TemporaryDirectory() as folder, patch("aegis.library.synthesize.OpenDPNoise", Watched):
        file = Path(folder) / "people.csv"
        file.write_text("\n".join(["a,b,y", *rows]) + "\n", encoding="utf-8")
        return [evidence_of(file, Path(folder) / "made.csv") for _ in range(PIECE)]


def audited(kept: Kept, what: str, pieces: int, *, part: float, leaks: bool) -> dict[str, Any]:
    scores = {
        with_record: np.concatenate(
            [
                kept.get(
                    [what, with_record, piece], partial(scores_of, with_record=with_record, part=part, leaks=leaks)
                )
                for piece in range(pieces)
            ]
        )
        for with_record in (False, True)
    }
    return {
        "hits": int((scores[True] > 0).sum()),
        "alarms": int((scores[False] > 0).sum()),
        "epsilon_at_least": round(least_epsilon(scores[True], scores[False]), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--kept", default=".bench/synthesis_audit.jsonl", help="what is done; a later run goes on")
    chosen = parser.parse_args()
    kept = Kept.of(Path(chosen.kept))
    # Where the parts lie is nobody's business but the machine's.
    sys.argv[1:] = ["--runs", str(chosen.runs)]
    rows = []
    for what, part, leaks in (("as promised", 1.0, False), ("half the noise", 0.5, False), ("a leak", 1.0, True)):
        found = audited(kept, what, chosen.runs // PIECE, part=part, leaks=leaks)
        rows.append({"mechanism": what, **found, "caught": found["epsilon_at_least"] > EPSILON})
        print(rows[-1], flush=True)
    facts = {"epsilon": EPSILON, "delta": DELTA, "runs": chosen.runs // PIECE * PIECE}
    write("synthesis_audit", {**facts, "audits": rows})


if __name__ == "__main__":
    main()

"""Sanitized columns of four public tables: claims against independent attackers, promises on fresh rows, and rivals.

For each of twelve private columns: the mechanism is fitted on some rows and judged on others. The claimed error of the
adversary is compared with the exact posterior and six attackers that are fitted on fresh rows; the reconstructor's
error on fresh rows with the distortion asked for; and, under the estimated law, at equal distortion and equal caps, the
program with randomized response, ordinal noise and erasure, and with its own proved bound.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeRegressor

from _result import dataset, write
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audited_column import Fitted
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.capped_program import solve_or_none, with_bound
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.cells import ADVERSARY_LEVELS, AUTHORIZED_LEVELS, fit_cells
from aegis.candidates.sanitizers.cones import cone_of
from aegis.candidates.sanitizers.costs import zero_one
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.law import estimated_law
from aegis.candidates.sanitizers.mechanism import CategoryMechanism
from aegis.candidates.sanitizers.split import CERTAIN_CAP
from aegis.candidates.sanitizers.together import release_matrix, true_values
from aegis.errors import AegisError

Floats = NDArray[np.float64]
Table = dict[str, NDArray[Any]]
ROWS = 5_000
FRESH = 4_000


@dataclass(frozen=True)
class Case:
    """A private column, who knows what, and how much of its error without a release the authorised party may have."""

    table: str
    column: str
    authorized: tuple[str, ...]
    adversary: tuple[str, ...]
    share: float
    caps: Caps | None = None


CASES = (
    Case("adult", "income", ("education", "occupation", "hours-per-week", "age"), ("sex", "race"), 0.6),
    Case("adult", "race", ("native-country", "education", "occupation", "age"), ("sex", "income"), 0.85),
    Case("adult", "age", ("marital-status", "education", "occupation", "relationship"), ("sex", "race"), 0.7),
    Case(
        "hotel", "booking_status", ("lead_time", "avg_price_per_room", "market_segment_type"), ("arrival_month",), 0.7
    ),
    Case("hotel", "market_segment_type", ("avg_price_per_room", "lead_time"), ("arrival_month", "arrival_date"), 0.7),
    Case(
        "hotel", "avg_price_per_room", ("room_type_reserved", "arrival_month", "lead_time"), ("no_of_week_nights",), 0.7
    ),
    Case("german", "class", ("checking_status", "duration", "credit_history"), ("age", "job"), 0.85),
    Case("german", "housing", ("age", "property_magnitude", "residence_since"), ("job",), 0.85),
    Case("german", "age", ("housing", "employment", "credit_amount"), ("job", "purpose"), 0.8, Caps(local_dp=6.0)),
    Case("air", "Air Quality", ("CO", "NO2", "Humidity"), ("Population_Density",), 0.7),
    Case("air", "Temperature", ("Humidity", "CO", "Air Quality"), ("Population_Density",), 0.8, Caps(posterior=0.8)),
    Case("air", "CO", ("NO2", "Air Quality", "Proximity_to_Industrial_Areas"), ("Population_Density",), 0.8),
)
FILES = {
    "adult": "adult/adult_complete_45222.csv",
    "hotel": "hotel/hotel_reservations.csv",
    "german": "german/german_credit_labelled.csv",
    "air": "air_quality/updated_pollution_dataset.csv",
}


def read(path: Path) -> Table:
    with path.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    table: Table = {}
    for name in rows[0]:
        values = np.array([row[name].strip() for row in rows])
        try:
            table[name.strip()] = values.astype(np.float64)
        except ValueError:
            table[name.strip()] = values.astype(object)
    return table


def category(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "O" or np.unique(values).size <= 12


def sides(case: Case, table: Table, rows: NDArray[np.int64]) -> tuple[Table, Table]:
    known, other = ({n: table[n][rows] for n in names} for names in (case.authorized, case.adversary))
    return known, other


def asked(case: Case, table: Table, rows: NDArray[np.int64]) -> float:
    """The distortion: a share of what boosted trees err by from the authorised columns alone."""
    known, _ = sides(case, table, rows)
    features = Encoder.fit(known, party="a").matrix(known, rows=len(rows))
    x, half = table[case.column][rows], len(rows) // 2
    if category(x):
        model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(features[:half], x[:half].astype(str))
        return case.share * float((model.predict(features[half:]) != x[half:].astype(str)).mean())
    model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(features[:half], x[:half])
    return case.share * float(((model.predict(features[half:]) - x[half:]) ** 2).mean())


def attackers(of_category: bool) -> dict[str, Any]:
    if of_category:
        return {
            "logistic": LogisticRegression(max_iter=300),
            "trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
            "forest": RandomForestClassifier(60, min_samples_leaf=8, random_state=0),
            "neighbours": KNeighborsClassifier(40),
            "bayes": GaussianNB(),
            "network": MLPClassifier(hidden_layer_sizes=(48,), max_iter=60, random_state=0),
        }
    return {
        "ridge": Ridge(),
        "trees": HistGradientBoostingRegressor(max_iter=60, random_state=0),
        "forest": RandomForestRegressor(60, min_samples_leaf=8, random_state=0),
        "neighbours": KNeighborsRegressor(40),
        "tree": DecisionTreeRegressor(min_samples_leaf=40, random_state=0),
        "network": MLPRegressor(hidden_layer_sizes=(48,), max_iter=60, random_state=0),
    }


def on_fresh(
    case: Case, table: Table, found: Fitted, fresh: NDArray[np.int64], attack: bool, rng: Any
) -> dict[str, Any]:
    """The reconstructor's error on fresh rows and, where asked for, what attackers reach."""
    known, other = sides(case, table, fresh)
    mechanism = found.mechanism
    private = table[case.column][fresh]
    truth = true_values(mechanism, private)
    release = release_matrix(mechanism, mechanism.apply(private, rng=rng))
    of_category = isinstance(mechanism, CategoryMechanism)

    def lost(guess: Floats, rows: slice) -> Floats:
        return np.asarray(guess != truth[rows], dtype=float) if of_category else (guess - truth[rows]) ** 2

    view = View(release=release, side=found.authorized[0].encoder.matrix(known, rows=len(fresh)))
    errors = lost(found.authorized[0].belief.guess(mechanism, view), slice(None))
    result: dict[str, Any] = {"reconstructor_on_fresh_rows": float(errors.mean())}
    if not attack:
        return result
    half = len(fresh) // 2
    after = slice(half, None)
    party = found.adversaries[0]
    side = party.encoder.matrix(other, rows=len(fresh))
    exact = lost(party.belief.guess(mechanism, View(release=release[after], side=side[after])), after)
    reached = {"exact posterior": (float(exact.mean()), float(exact.std() / np.sqrt(exact.size)))}
    symbols = np.unique(release[:, 0], return_inverse=True)[1]
    shown = release if symbols.max() > 60 else np.eye(int(symbols.max()) + 1)[symbols]
    features = np.hstack([shown, side])
    for name, model in attackers(of_category).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some stop before they converge: they are attackers all the same
            guess = model.fit(features[:half], truth[:half]).predict(features[after])
        each = lost(guess, after)
        reached[name] = float(each.mean()), float(each.std() / np.sqrt(each.size))
    best = min(reached, key=lambda name: reached[name][0])
    claimed = found.audit.adversaries[0]
    width = (claimed.interval[1] - claimed.interval[0]) / 2
    return result | {
        "claimed_adversary_error": claimed.loss,
        "best_attacker": best,
        "best_attacker_error": reached[best][0],
        "attackers": {name: error for name, (error, _) in reached.items()},
        "claim_exceeds_by_more_than_its_interval": claimed.loss - width > reached[best][0] + 1.96 * reached[best][1],
    }


def rivals(case: Case, table: Table, rows: NDArray[np.int64]) -> dict[str, Any] | None:
    """Adversary errors under the estimated law at equal distortion and equal caps; None for a number."""
    x = table[case.column][rows]
    if not category(x):
        return None
    values, codes = np.unique(x.astype(str), return_inverse=True)
    size, half = len(values), len(rows) // 2
    matrices = [Encoder.fit(s, party="a").matrix(s, rows=len(rows)) for s in sides(case, table, rows)]
    cells = [
        fit_cells(m[:half], codes[:half], size=size, levels=levels, ordered=False, fine=fine)
        for m, levels, fine in zip(matrices, (AUTHORIZED_LEVELS, ADVERSARY_LEVELS), (False, True), strict=True)
    ]
    coded = [cell.of(m[half:]) for cell, m in zip(cells, matrices, strict=True)]
    law = estimated_law(codes[half:], coded[:1], coded[1:], size=size, confidence=0.975).estimate
    caps = case.caps or Caps(posterior=0.98)
    problem = CappedProblem(
        law=law, authorized_costs=(zero_one(size),), adversary_cost=zero_one(size), distortions=(1.0,), caps=caps
    )
    problem = replace(problem, distortions=(case.share * problem.silent_distortions[0],))
    found = solve_or_none(problem)
    if found is None:
        return {"caps": caps.describe(), "program": None}
    found = with_bound(problem, found, seconds=40.0)
    cone, identity, uniform = cone_of(law, caps), np.eye(size), np.full((size, size), 1 / size)
    families: dict[str, Callable[[float], Floats]] = {
        "randomized response": lambda w: (1 - w) * identity + w * uniform,
        "response by shares": lambda w: (1 - w) * identity + w * law.prior[None, :].repeat(size, 0),
        "erasure": lambda w: np.hstack([(1 - w) * identity, np.full((size, 1), w)]),
        "ordinal noise": lambda w: _noise(size, 4 * w * size + 1e-9),
    }
    reached: dict[str, Any] = {}
    for name, channel in families.items():
        near, far = 0.0, 1.0
        for _ in range(30):
            middle = (near + far) / 2
            fits = problem.distortions_of(channel(middle))[0] <= problem.distortions[0]
            near, far = (middle, far) if fits else (near, middle)
        release = channel(near)
        keeps = bool(cone.inside(release.T).all())
        within = problem.distortions_of(release)[0] <= problem.distortions[0] * (1 + 1e-6)
        reached[name] = {"adversary_error": min(problem.losses_of(release)), "keeps_the_caps": keeps and within}
    return {
        "caps": caps.describe(),
        "distortion": problem.distortions[0],
        "program": found.worst,
        "bound": found.bound,
        "share_of_bound": found.worst / found.bound,
        "rivals": reached,
    }


def _noise(size: int, std: float) -> Floats:
    steps = np.arange(size)
    weights = np.exp(-0.5 * ((steps[:, None] - steps) / std) ** 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    tables = {name: read(dataset(path)) for name, path in FILES.items()}
    cases: list[dict[str, Any]] = []
    for case in CASES:
        table = tables[case.table]
        order = np.random.default_rng(0).permutation(len(table[case.column]))
        rows = order[: min(ROWS, len(order) * 2 // 3)]
        distortion = asked(case, table, rows)
        cases.append(
            {
                "table": case.table,
                "column": case.column,
                "authorized": list(case.authorized),
                "adversary": list(case.adversary),
                "distortion": distortion,
                "law": rivals(case, table, rows),
                "seeds": [],
            }
        )
        print(case.table, case.column, distortion, cases[-1]["law"], flush=True)
    for seed in range(arguments.seeds):
        for case, record in zip(CASES, cases, strict=True):
            record["seeds"].append(one_seed(case, tables[case.table], record["distortion"], seed))
            print(seed, case.table, case.column, record["seeds"][-1], flush=True)
        write("sanitize_tables", {"rows": ROWS, "fresh_rows": FRESH, "summary": summary(cases), "cases": cases})


def one_seed(case: Case, table: Table, distortion: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(len(table[case.column]))
    count = min(ROWS, len(order) * 2 // 3)
    rows, fresh = order[:count], order[count : count + FRESH]
    known, other = sides(case, table, rows)
    began = time.process_time()
    try:
        found = fit(
            table[case.column][rows],
            column=case.column,
            authorized=known,
            adversaries=[other],
            distortion=distortion,
            caps=case.caps,
            names=("trees", "neighbours"),
            rng=np.random.default_rng(seed),
            quick=True,
        )
    except AegisError as refusal:
        return {"refused": str(refusal), "cpu_seconds": time.process_time() - began}
    proof = found.proof
    return {
        "cpu_seconds": time.process_time() - began,
        "method": found.method,
        "determined": found.determined,
        "determined_before": max(p.before.certain for p in found.protection),
        "proved_adversary_error": None if proof is None else proof.adversaries[0].proved_loss,
        "program_gap": None if proof is None else proof.gap,
        **on_fresh(case, table, found, fresh, seed == 0, np.random.default_rng([seed, 9])),
    }


def summary(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that are claimed: counts over columns and seeds."""
    made = [(case, seed) for case in cases for seed in case["seeds"] if "refused" not in seed]
    judged = [seed for _, seed in made if "claimed_adversary_error" in seed]
    laws = [case["law"] for case in cases if case["law"] is not None and case["law"]["program"] is not None]
    ratios = {
        name: [
            law["program"] / law["rivals"][name]["adversary_error"]
            for law in laws
            if law["rivals"][name]["keeps_the_caps"]
        ]
        for name in (laws[0]["rivals"] if laws else ())
    }
    return {
        "columns": len(cases),
        "seeds": len(cases[0]["seeds"]),
        "releases": len(made),
        "refused": sum("refused" in seed for case in cases for seed in case["seeds"]),
        "within_distortion_on_fresh_rows": float(
            np.mean([seed["reconstructor_on_fresh_rows"] <= case["distortion"] for case, seed in made])
        ),
        "within_distortion_and_noise_of_fresh_rows": float(
            np.mean([seed["reconstructor_on_fresh_rows"] <= 1.05 * case["distortion"] for case, seed in made])
        ),
        "claims_beyond_the_best_attacker": sum(seed["claim_exceeds_by_more_than_its_interval"] for seed in judged),
        "claims_judged": len(judged),
        "most_determined_beyond_before": max(seed["determined"] - seed["determined_before"] for _, seed in made),
        "cap_on_determined": CERTAIN_CAP,
        "least_share_of_bound": min(law["share_of_bound"] for law in laws),
        "ratio_to_rivals_that_keep_the_caps": {
            name: {"columns": len(values), "least": min(values), "mean": float(np.mean(values))}
            for name, values in ratios.items()
            if values
        },
        "rivals_that_keep_no_cap": {
            name: sum(not law["rivals"][name]["keeps_the_caps"] for law in laws) for name in ratios
        },
    }


if __name__ == "__main__":
    main()

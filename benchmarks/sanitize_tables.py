"""Sanitized columns of four public tables: claims against independent attackers, promises on fresh rows, and rivals.

For each of twelve private columns: the mechanism is fitted on some rows and judged on others. The claimed error of the
adversary is compared with the exact posterior and six attackers that are fitted on fresh rows; the reconstructor's
error on fresh rows with the distortion asked for; and, under the estimated law, at equal distortion and equal caps, the
program with randomized response, noise and erasure, each mixed with silence as well as it can be, and with its own
proved bound. Concept erasure (LEACE) of the authorised columns is measured by attackers. What is done is kept, and a
run that is started again goes on after it.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
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

from _kept import Kept
from _leace import erased
from _result import dataset, write
from _sanitize_summary import summary
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audited_column import Fitted
from aegis.candidates.sanitizers.capped_problem import CappedProblem, SquaredCost, zero_one
from aegis.candidates.sanitizers.capped_program import solve_or_none, with_bound
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.law import Law, cone_of, estimated_law
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, release_matrix, true_values
from aegis.candidates.sanitizers.symbol_column import ADVERSARY_LEVELS, AUTHORIZED_LEVELS, fit_cells
from aegis.errors import AegisError

Floats = NDArray[np.float64]
Table = dict[str, NDArray[Any]]
ROWS = 5_000
FRESH = 4_000
BINS = 12
NOISE_CELLS = 24
WEIGHTS = 25


@dataclass(frozen=True)
class Case:
    """A private column, who knows what, and how much of its error without a release the authorised party may have."""

    table: str
    column: str
    authorized: tuple[str, ...]
    adversary: tuple[str, ...]
    share: float
    caps: Caps | None = None

    @property
    def name(self) -> str:
        return f"{self.table}/{self.column}"


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


@cache
def read(relative: str) -> Table:
    with dataset(relative).open(encoding="utf-8") as stream:
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


def on_fresh(case: Case, table: Table, found: Fitted, fresh: NDArray[np.int64], rng: Any) -> dict[str, Any]:
    """The reconstructor's error on fresh rows, and what attackers reach there."""
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
    return {
        "reconstructor_on_fresh_rows": float(errors.mean()),
        "claimed_adversary_error": claimed.loss,
        "best_attacker": best,
        "best_attacker_error": reached[best][0],
        "attackers": {name: error for name, (error, _) in reached.items()},
        "claim_exceeds_by_more_than_its_interval": claimed.loss - width > reached[best][0] + 1.96 * reached[best][1],
    }


def rivals(case: Case, table: Table, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Adversary errors under the estimated law at equal distortion and equal caps; a number is known by its bin."""
    x = table[case.column][rows]
    half = len(rows) // 2
    edges, cost, codes, size = binned(x, half) if not category(x) else (None, None, *coded(x))
    matrices = [Encoder.fit(s, party="a").matrix(s, rows=len(rows)) for s in sides(case, table, rows)]
    cells = [
        fit_cells(m[:half], codes[:half], size=size, levels=levels, ordered=edges is not None, fine=fine)
        for m, levels, fine in zip(matrices, (AUTHORIZED_LEVELS, ADVERSARY_LEVELS), (False, True), strict=True)
    ]
    known = [cell.of(m[half:]) for cell, m in zip(cells, matrices, strict=True)]
    law = estimated_law(codes[half:], known[:1], known[1:], size=size, confidence=0.975).estimate
    caps = case.caps or Caps(posterior=0.98)
    loss = cost or zero_one(size)
    problem = CappedProblem(law=law, cost=loss, distortions=(1.0,), caps=caps)
    problem = replace(problem, distortions=(case.share * problem.silent_distortions[0],))
    found = solve_or_none(problem)
    if found is None:
        return {"caps": caps.describe(), "program": None}
    if edges is None:
        found = with_bound(problem, found, seconds=40.0)
    reached = {
        name: rival_of(problem, channel) for name, channel in families(law, None if cost is None else cost.means)
    }
    return {
        "caps": caps.describe(),
        "distortion": problem.distortions[0],
        "program": found.worst,
        "bound": found.bound if edges is None else None,
        "share_of_bound": found.worst / found.bound if edges is None else None,
        "rivals": reached,
    }


def leace(case: Case, table: Table, rows: NDArray[np.int64]) -> dict[str, Any]:
    """What attackers reach where the authorised columns are published with the private one erased from them by LEACE.

    Erased columns tell the authorised party nothing that it does not know, so for its distortion the value itself is
    shown in the share of records that brings it there, as erasure by a blank does. Who sees the rest has no more than a
    blank and the erased columns to go by.
    """
    x, half = table[case.column][rows], len(rows) // 2
    known, other = sides(case, table, rows)
    features, side = (Encoder.fit(s, party="a").matrix(s, rows=len(rows)) for s in (known, other))
    of_category = category(x)
    truth = coded(x)[0].astype(float) if of_category else x.astype(float)
    concept = np.eye(int(truth.max()) + 1)[truth.astype(int)] if of_category else truth[:, None]
    seen = np.hstack([erased(features, concept, fitted=slice(0, half)), side])
    reached = {}
    for name, model in attackers(of_category).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some stop before they converge: they are attackers all the same
            guess = model.fit(seen[:half], truth[:half]).predict(seen[half:])
        wrong = guess != truth[half:] if of_category else (guess - truth[half:]) ** 2
        reached[name] = float(np.mean(wrong))
    best = min(reached, key=lambda name: reached[name])
    return {
        "best_attacker": best,
        "error_on_erased_columns": reached[best],
        "adversary_error": case.share * reached[best],
        "keeps_the_caps": False,  # values are shown as they are
    }


def coded(x: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    values, codes = np.unique(x.astype(str), return_inverse=True)
    return codes, len(values)


def binned(x: Floats, half: int) -> tuple[Floats, SquaredCost, NDArray[np.int64], int]:
    """The bins of a number, what errors cost in them, and the bin of each row."""
    edges = np.unique(np.quantile(x[:half], np.arange(1, BINS) / BINS))
    codes = np.searchsorted(edges, x, side="right")
    held = np.maximum(np.bincount(codes, minlength=len(edges) + 1), 1)
    means = np.bincount(codes, weights=x, minlength=len(held)) / held
    variances = np.maximum(np.bincount(codes, weights=x**2, minlength=len(held)) / held - means**2, 0.0)
    return edges, SquaredCost(means, variances), codes, len(held)


def families(law: Law, means: Floats | None) -> list[tuple[str, Callable[[float], Floats]]]:
    """Plain mechanisms by name, each a channel for a weight: 0 shows the value, 1 (nearly) nothing."""
    size = law.size
    identity, uniform = np.eye(size), np.full((size, size), 1 / size)
    places = np.arange(size, dtype=float) if means is None else means
    reach = float(np.ptp(places))
    outputs = places if means is None else np.linspace(places.min() - reach, places.max() + reach, 3 * NOISE_CELLS)
    return [
        ("randomized response", lambda w: (1 - w) * identity + w * uniform),
        ("response by shares", lambda w: (1 - w) * identity + w * law.prior[None, :].repeat(size, 0)),
        ("erasure", lambda w: np.hstack([(1 - w) * identity, np.full((size, 1), w)])),
        ("noise", lambda w: _noise(places, outputs, reach * 10 ** (4 * w - 3))),
    ]


def rival_of(problem: CappedProblem, channel: Callable[[float], Floats]) -> dict[str, Any]:
    """What a plain mechanism leaves the adversary at the distortion, and the best that it leaves under the caps.

    Under the caps it may be mixed with silence as well: at every weight by as much as the distortion allows.
    """
    cone = cone_of(problem.law, problem.caps)
    plain = _within(problem, channel)
    allowed = [] if plain is None or not cone.inside(plain.T).all() else [min(problem.losses_of(plain))]
    for weight in np.linspace(0.0, 1.0, WEIGHTS):
        shown = channel(float(weight))
        silence = (problem.law.prior @ shown)[None, :].repeat(len(shown), 0)
        mixed = _within(problem, partial(_mixed, shown, silence))
        if mixed is not None and cone.inside(mixed.T).all():
            allowed.append(min(problem.losses_of(mixed)))
    return {
        "adversary_error": None if plain is None else min(problem.losses_of(plain)),
        "keeps_the_caps": plain is not None and bool(cone.inside(plain.T).all()),
        "adversary_error_within_caps": max(allowed, default=None),
    }


def _mixed(shown: Floats, silence: Floats, part: float) -> Floats:
    return (1 - part) * shown + part * silence


def _within(problem: CappedProblem, channel: Callable[[float], Floats]) -> Floats | None:
    """The channel of the largest weight that keeps the distortion, or None."""
    near, far = 0.0, 1.0
    for _ in range(30):
        middle = (near + far) / 2
        fits = problem.distortions_of(channel(middle))[0] <= problem.distortions[0]
        near, far = (middle, far) if fits else (near, middle)
    release = channel(near)
    return release if problem.distortions_of(release)[0] <= problem.distortions[0] * (1 + 1e-6) else None


def _noise(places: Floats, outputs: Floats, std: float) -> Floats:
    weights = np.exp(-0.5 * ((places[:, None] - outputs) / std) ** 2) + 1e-300
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="processes; their number changes no result")
    parser.add_argument("--columns", help="only some, as table/column with commas; nothing is written then")
    parser.add_argument("--kept", default=".bench/sanitize_tables.jsonl", help="what is done; a later run goes on")
    parser.add_argument("--name", default="sanitize_tables", help="the result's name")
    arguments = parser.parse_args()
    chosen = tuple(case for case in CASES if not arguments.columns or case.name in arguments.columns.split(","))
    kept = Kept.of(Path(arguments.kept))
    parts = {"distortion": asked_of, "law": rivals_of, "leace": leace_of}
    of_columns = kept.get_all(
        {(case.table, case.column, part): partial(made, case) for part, made in parts.items() for case in chosen},
        jobs=arguments.jobs,
    )
    tasks = {}
    for seed in range(arguments.seeds):
        for case in chosen:
            distortion = of_columns[case.table, case.column, "distortion"]
            tasks[case.table, case.column, seed] = partial(one_seed, case, distortion, seed)
    of_seeds = kept.get_all(tasks, jobs=arguments.jobs)
    cases = [
        {
            "table": case.table,
            "column": case.column,
            "authorized": list(case.authorized),
            "adversary": list(case.adversary),
            **{part: of_columns[case.table, case.column, part] for part in parts},
            "seeds": [of_seeds[case.table, case.column, seed] for seed in range(arguments.seeds)],
        }
        for case in chosen
    ]
    if len(chosen) < len(CASES):  # a look at some of them is no result
        print(json.dumps(summary(cases), indent=1))
        return
    write(arguments.name, {"rows": ROWS, "fresh_rows": FRESH, "summary": summary(cases), "cases": cases})


def asked_of(case: Case) -> float:
    return asked(case, *_table_and_rows(case))


def rivals_of(case: Case) -> dict[str, Any]:
    return rivals(case, *_table_and_rows(case))


def leace_of(case: Case) -> dict[str, Any]:
    return leace(case, *_table_and_rows(case))


def _table_and_rows(case: Case) -> tuple[Table, NDArray[np.int64]]:
    table = read(FILES[case.table])
    order = np.random.default_rng(0).permutation(len(table[case.column]))
    return table, order[: min(ROWS, len(order) * 2 // 3)]


def one_seed(case: Case, distortion: float, seed: int) -> dict[str, Any]:
    table = read(FILES[case.table])
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
        **on_fresh(case, table, found, fresh, np.random.default_rng([seed, 9])),
    }


if __name__ == "__main__":
    main()

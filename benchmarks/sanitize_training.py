"""Algorithm 1 on a table's own rows against the program under the same caps, and a vector of three columns at once.

For each column that is a category the law is counted as `aegis sanitize` counts it; networks learn from the columns as
they are. What they found is brought under the caps and judged under that law, beside the program and its bound.
Errors are shares of wrong guesses, or bits with ``--loss log``.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from _result import dataset, write
from aegis.candidates.sanitizers.capped_problem import CappedProblem, Cost, LogCost, MatrixCost
from aegis.candidates.sanitizers.capped_program import solve_or_none, with_bound
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.encoding import Encoder, joined, joint_cost
from aegis.candidates.sanitizers.law import cone_of, estimated_law
from aegis.candidates.sanitizers.row_training import Part, Rows, RowSettings, symbols_for, train_rows
from aegis.candidates.sanitizers.symbol_column import ADVERSARY_LEVELS, AUTHORIZED_LEVELS, fit_cells
from aegis.candidates.sanitizers.symbol_tuning import best_trained, refined, spent, under_caps

Table = dict[str, NDArray[Any]]
ADULT, HOTEL, AIR = (
    "adult/adult_complete_45222.csv",
    "hotel/hotel_reservations.csv",
    "air_quality/updated_pollution_dataset.csv",
)
CASES = (
    (
        ADULT,
        ("income",),
        ("education", "occupation", "hours-per-week", "age"),
        (("sex", "race"),),
        0.6,
        Caps(posterior=0.98),
    ),
    (ADULT, ("race",), ("native-country", "education", "age"), (("sex", "income"),), 0.85, Caps(posterior=0.98)),
    (
        ADULT,
        ("relationship",),
        ("marital-status", "age", "sex"),
        (("education", "hours-per-week"),),
        0.6,
        Caps(local_dp=4.0),
    ),
    (
        HOTEL,
        ("booking_status",),
        ("lead_time", "market_segment_type"),
        (("arrival_month",), ("no_of_adults",)),
        0.7,
        Caps(local_dp=4.0),
    ),
    (
        HOTEL,
        ("market_segment_type",),
        ("avg_price_per_room", "lead_time"),
        (("arrival_month",),),
        0.7,
        Caps(posterior=0.98),
    ),
    (AIR, ("Air Quality",), ("CO", "NO2", "Humidity"), (("Population_Density",),), 0.7, Caps(posterior=0.98)),
    (
        ADULT,
        ("sex", "race", "income"),
        ("relationship", "occupation", "age", "hours-per-week"),
        (("education",), ("native-country",)),
        0.8,
        Caps(local_dp=5.0),
    ),
)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--batch-rows", type=int, default=256)
    parser.add_argument("--loss", choices=("guesses", "log"), default="guesses")
    parser.add_argument("--cases", default="", help="numbers of cases, comma separated; all unless given")
    parser.add_argument("--name", default="sanitize_training")
    arguments = parser.parse_args()
    chosen = [int(n) for n in arguments.cases.split(",") if n] or range(len(CASES))
    records = []
    for number in chosen:
        records.append(compared(*CASES[number], arguments=arguments))
        print(records[-1], flush=True)
        both = [record["share_of_program"] for record in records if record["share_of_program"] is not None]
        write(
            arguments.name,
            {
                "device": str(jax.devices()[0].device_kind),
                "loss": arguments.loss,
                "rows": arguments.rows,
                "steps": arguments.steps,
                "trials": arguments.trials,
                "batch_rows": arguments.batch_rows,
                "least_share_of_program": min(both, default=None),
                "cases": records,
            },
        )


def compared(
    path: str,
    private: tuple[str, ...],
    authorized: tuple[str, ...],
    adversaries: tuple[tuple[str, ...], ...],
    share: float,
    caps: Caps,
    *,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    table = read(path)
    order = np.random.default_rng(0).permutation(len(table[private[0]]))[: arguments.rows]
    some = {name: values[order] for name, values in table.items()}
    text = joined(some, private) if len(private) > 1 else some[private[0]].astype(str)
    values, codes = np.unique(text, return_inverse=True)
    size, half = len(values), len(order) // 2
    matrix = joint_cost(text) if len(private) > 1 else 1.0 - np.eye(size)
    cost: Cost = MatrixCost(matrix)
    part = Part(codes=np.arange(size), cost=matrix)
    if arguments.loss == "log":
        cost = LogCost(size)
        part = Part(codes=np.arange(size), cost=np.zeros((size, 1)), loss="log")
    sides = [
        Encoder.fit(known, party="a").matrix(known, rows=len(order))
        for names in (authorized, *adversaries)
        for known in [{name: some[name] for name in names}]
    ]
    cells = [
        fit_cells(
            side[: half // 2],
            codes[: half // 2],
            size=size,
            levels=AUTHORIZED_LEVELS if number == 0 else ADVERSARY_LEVELS,
            ordered=False,
            fine=number > 0,
        )
        for number, side in enumerate(sides)
    ]
    coded = [cell.of(side[half // 2 :]) for cell, side in zip(cells, sides, strict=True)]
    law = estimated_law(codes[half // 2 :], coded[:1], coded[1:], size=size, confidence=0.975).estimate
    problem = CappedProblem(law=law, cost=cost, distortions=(1.0,), caps=caps)
    problem = replace(problem, distortions=(share * problem.silent_distortions[0],))
    began = time.perf_counter()
    program = solve_or_none(problem)
    program_seconds = time.perf_counter() - began
    cone = cone_of(law, caps)
    began, began_cpu = time.perf_counter(), time.process_time()
    trained = train_rows(
        Rows(
            codes=codes[half // 2 :],
            groups=(sides[0][half // 2 :],),
            adversaries=tuple(side[half // 2 :] for side in sides[1:]),
            parts=(part,),
        ),
        distortions=list(problem.distortions),
        cone=cone,
        settings=RowSettings(
            symbols=symbols_for(size),
            steps=arguments.steps,
            trials=arguments.trials,
            batch_rows=arguments.batch_rows,
        ),
    )
    best = best_trained(trained.releases, problem, cone)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    drawn_in = [spent(under_caps(release, cone, law.prior), problem) for release in trained.releases]
    unrefined = max((min(problem.losses_of(release)) for release in drawn_in if release is not None), default=None)
    bound = None if program is None else with_bound(problem, program, seconds=10.0).bound
    return {
        "table": path.split("/")[0],
        "private": list(private),
        "values": size,
        "caps": caps.describe(),
        "distortion": problem.distortions[0],
        "adversary_error_without_release": min(problem.silent_losses),
        "program": None if program is None else program.worst,
        "bound": bound,
        "program_seconds": program_seconds,
        "networks": None if best is None else best[1],
        "networks_before_the_exact_step": unrefined,
        "trials_refined": sum(refined(problem, release) is not None for release in trained.releases),
        "share_of_program": None if program is None or best is None else best[1] / program.worst,
        "training_seconds": seconds,
        "training_cpu_seconds": cpu_seconds,
        "compile_seconds": trained.compile_seconds,
        "train_seconds": trained.train_seconds,
    }


if __name__ == "__main__":
    main()

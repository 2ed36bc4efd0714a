"""Made-up rows of Aegis beside AIM, MST and PrivBayes of ``dpmm`` and MST and AIM of SmartNoise, at equal ε.

Four public tables, δ = 10⁻⁶, values and ranges declared for all. Seven tenths are synthesized, three tenths test: a
logistic regression on indicators of categories and of 32 quantile bins of each number, learnt from the made-up rows.
The peers pin versions of their own, so each library gets an environment of its own under ``--environments`` (made on
first use from the package index). A fit that needs more than ``--cpu-limit`` seconds is stopped and named, and is not
tried on other splits of that table. What is done is added to the committed result at once: a run that is started again
goes on after it, and ``--methods``, ``--tables`` and ``--seeds`` choose single fits. A fit that was stopped is tried
again where the limit is longer. ``--elsewhere FOLDER`` fits nothing: it scores the rows that another machine left in
the folder and writes the other fits there as jobs, each for ``python _synthesis_peer.py NAME.job.json`` in the peer's
environment. The peers' noise comes from seeded generators here; that of Aegis from OpenDP.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

import aegis
from _result import RESULTS, dataset, write

DELTA = 1e-6
PACKAGES = {"dpmm": "dpmm==0.1.9", "smartnoise": "smartnoise-synth==1.0.8"}
METHODS = (
    *("aegis", "dpmm:mst", "dpmm:privbayes", "dpmm:aim", "dpmm:aim-small"),
    *("smartnoise:mst", "smartnoise:aim", "smartnoise:aim-small"),
)
FEW = 20
"""Columns of numbers with at most so many values are declared as lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file, its label with the value that is predicted, and columns that are left out."""

    file: str
    label: str
    positive: str
    without: tuple[str, ...] = ()


SOURCES = {
    "adult": Source(file="adult/adult_complete_45222.csv", label="income", positive=">50K"),
    "german": Source(file="german/german_credit_labelled.csv", label="class", positive="good"),
    "hotel": Source(
        file="hotel/hotel_reservations.csv", label="booking_status", positive="Canceled", without=("Booking_ID",)
    ),
    "air_quality": Source(file="air_quality/updated_pollution_dataset.csv", label="Air Quality", positive="Good"),
}


def declared(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """What a code book would say of each column; ranges are widened to round numbers."""
    columns: dict[str, dict[str, Any]] = {}
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]) and table[name].nunique() > FEW:
            low, high = float(table[name].min()), float(table[name].max())
            step = 10.0 ** np.floor(np.log10(max(high - low, 1e-9)))
            low, high = np.floor(low / step) * step, np.ceil(high / step) * step
            columns[name] = {"min": float(low), "max": float(high), "missing": False}
        else:
            columns[name] = {"values": sorted(table[name].unique().tolist()), "missing": False}
    return columns


def score(made: pd.DataFrame, testing: pd.DataFrame, source: Source, columns: dict[str, Any]) -> tuple[float, float]:
    """Accuracy and AUC on real rows of a model of made-up ones."""
    numbers = [name for name, says in columns.items() if "min" in says and name != source.label]
    others = [name for name in columns if name not in numbers and name != source.label]
    made, testing = made.copy(), testing.copy()
    for frame in (made, testing):
        frame[others] = frame[others].astype(str)
        frame[numbers] = frame[numbers].astype(float)
    bins = KBinsDiscretizer(32, encode="onehot", quantile_method="averaged_inverted_cdf")
    features = ColumnTransformer([("n", bins, numbers), ("c", OneHotEncoder(handle_unknown="ignore"), others)])
    wanted = made[source.label].astype(str) == source.positive
    truth = (testing[source.label].astype(str) == source.positive).to_numpy()
    if wanted.nunique() < 2:
        return float(max(truth.mean(), 1 - truth.mean())), 0.5
    model = make_pipeline(features, LogisticRegression(max_iter=300))
    model.fit(made[numbers + others], wanted)
    chances = model.predict_proba(testing[numbers + others])[:, 1]
    return float(((chances > 0.5) == truth).mean()), float(roc_auc_score(truth, chances))


def environment(folder: Path, library: str) -> Path:
    """The Python of a peer's own environment, made on first use."""
    home = folder / library
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGES[library]], check=True)
    return python


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Made-up rows, or none, with what is known of the fit: CPU seconds, its limit, the machine, why there are none."""

    rows: pd.DataFrame | None = None
    facts: dict[str, Any]


def made_by_aegis(training: pd.DataFrame, columns: dict[str, Any], source: Source, epsilon: float) -> Made:
    began = time.process_time()
    made = aegis.synthesize(training, epsilon=epsilon, delta=DELTA, label=source.label, domain={"columns": columns})
    assert made.table is not None
    return Made(rows=made.table.to_pandas(), facts={"cpu_seconds": round(time.process_time() - began, 1)})


def made_by_peer(
    of: tuple[str, str], seed: int, training: pd.DataFrame, columns: dict[str, Any], chosen: argparse.Namespace
) -> Made | None:
    """What a peer makes of the training rows, here or elsewhere; none where another machine has not answered yet."""
    table, method = of
    folder = Path(chosen.elsewhere or chosen.environments)
    name = folder / f"{table}-{seed}-{method.replace(':', '-')}-{chosen.epsilon:g}"
    answer, job = Path(f"{name}.answer.json"), Path(f"{name}.job.json")
    if not (chosen.elsewhere and answer.exists()):
        rows = folder / f"{table}-{seed}.csv"
        training.to_csv(rows, index=False)
        content = {
            "method": method, "training": rows.name, "epsilon": chosen.epsilon, "delta": DELTA,
            "seed": seed, "columns": columns, "cpu_limit": chosen.cpu_limit,
        }  # fmt: skip
        job.write_text(json.dumps(content), encoding="utf-8")
        if chosen.elsewhere:
            return None
        python = environment(folder, method.split(":")[0])
        subprocess.run([python, Path(__file__).with_name("_synthesis_peer.py"), job], check=True)
    facts = json.loads(answer.read_text(encoding="utf-8"))
    return Made(rows=None if "ended" in facts else pd.read_csv(f"{name}.csv", keep_default_na=False), facts=facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--environments", help="a folder for the peers' environments")
    place.add_argument("--elsewhere", help="a folder of jobs and rows of another machine")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="the splits")
    parser.add_argument("--cpu-limit", type=int, default=600)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--tables", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--again", action="store_true", help="also what is in the result already")
    chosen = parser.parse_args()
    sys.argv[1:] = ["--environments", "FOLDER"]  # the result holds what all calls made, and no path of a machine
    Path(chosen.elsewhere or chosen.environments).mkdir(parents=True, exist_ok=True)
    runs = kept_runs(chosen.epsilon)
    for seed in chosen.seeds:
        for table in chosen.tables:
            wanted = [
                method
                for method in ("real rows", *chosen.methods)
                if chosen.again or not is_done(runs, (table, method), seed, chosen)
            ]
            for run in _made_runs(table, seed, wanted, chosen):
                runs = [other for other in runs if _place(other) != _place(run)] + [run]
                print(run, flush=True)
                facts = {"epsilon": chosen.epsilon, "delta": DELTA, "packages": PACKAGES}
                write("synthesis_peers", {**facts, "summary": summary_of(runs), "runs": runs})


def kept_runs(epsilon: float) -> list[dict[str, Any]]:
    """The runs of the committed result."""
    path = RESULTS / "synthesis_peers.json"
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["epsilon"] != epsilon:
        sys.exit(f"{path.name} holds runs at ε = {kept['epsilon']:g}; move it away to measure others")
    return list(kept["runs"])


def is_done(runs: list[dict[str, Any]], of: tuple[str, str], seed: int, chosen: argparse.Namespace) -> bool:
    """Whether a (table, method) has its rows on this split, or was stopped by a limit that is no shorter.

    Elsewhere splits are fitted side by side; here one that is stopped speaks for the others.
    """
    own = [run for run in runs if (run["table"], run["method"]) == of]
    here = [run for run in own if run["seed"] == seed]
    stopped = [run for run in (here if chosen.elsewhere else own) if "ended" in run]
    return any("ended" not in run for run in here) or any(run["cpu_limit"] >= chosen.cpu_limit for run in stopped)


def _place(run: dict[str, Any]) -> tuple[str, int, str]:
    return run["table"], run["seed"], run["method"]


def _made_runs(name: str, seed: int, methods: list[str], chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What each method reaches on one split of one table, one after the other."""
    if not methods:
        return
    source = SOURCES[name]
    table = pd.read_csv(dataset(source.file), keep_default_na=False).drop(columns=list(source.without))
    columns = declared(table)
    training, testing = train_test_split(table, test_size=0.3, random_state=seed, stratify=table[source.label])
    for method in methods:
        made: Made | None
        if method == "real rows":
            made = Made(rows=training, facts={"cpu_seconds": None})
        elif method == "aegis":
            made = made_by_aegis(training, columns, source, chosen.epsilon)
        else:
            made = made_by_peer((name, method), seed, training, columns, chosen)
        if made is None:
            continue
        run: dict[str, Any] = {"table": name, "seed": seed, "method": method, **made.facts}
        if made.rows is not None:
            run["accuracy"], run["auc"] = score(made.rows, testing, source, columns)
        yield run


def summary_of(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The means over seeds, and why there is none."""
    rows = []
    for table, method in dict.fromkeys((run["table"], run["method"]) for run in runs):
        own = [run for run in runs if (run["table"], run["method"]) == (table, method)]
        reached = [run for run in own if "auc" in run]
        row: dict[str, Any] = {"table": table, "method": method, "seeds": len(own), "seeds_with_rows": len(reached)}
        for figure in ("accuracy", "auc", "cpu_seconds"):
            held = [run[figure] for run in reached if run.get(figure) is not None]
            if held:
                row[figure] = round(float(np.mean(held)), 4)
        if not reached:
            row["ended"] = own[-1]["ended"]
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()

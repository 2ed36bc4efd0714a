"""Local recoding beside published peers: Mondrian of anonypy, and the full-domain search of ANJANA.

Peers recode the rows they are given and no others, so models train on the released 70 % and are tested on the other
rows *as they are*, for all alike, for Aegis once more with boxes that stay finer (``finer``: a label weight of .9), and
once more on those rows recoded by its boxes (``applied``). Every
release is read by the same consumer (`ReleasedFeatures`, without what classes
say of the label). No suppression. The peers have an environment of their own under ``--environment``, made on first
use from the package index; what is done is kept, and a run that is started again goes on after it. Figures are AUC of
logistic regression and of boosted trees, and CPU seconds of the recoding alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _kept import Kept
from _result import dataset, write
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.released_features import ReleasedFeatures
from boxes_tables import SOURCES, TRAINING, Source

PACKAGES = ("anonypy==0.2.1", "anjana==1.2.3")
METHODS = ("aegis", "aegis, finer", "aegis, applied", "anonypy", "anjana")
FINER = 0.9
"""How much the label counts where boxes are to stay finer."""


def aucs(released: pd.DataFrame, label: np.ndarray, testing: pd.DataFrame, wanted: np.ndarray) -> dict[str, float]:
    features = ReleasedFeatures()
    train = features.fit_transform(released, label)
    test = features.transform(testing)
    mean, spread = train.mean(axis=0), train.std(axis=0) + 1e-9
    line = LogisticRegression(max_iter=300).fit((train - mean) / spread, label)
    trees = HistGradientBoostingClassifier(random_state=0).fit(train, label)
    return {
        "logistic": float(roc_auc_score(wanted, line.decision_function((test - mean) / spread))),
        "boosted": float(roc_auc_score(wanted, trees.predict_proba(test)[:, 1])),
    }


def by_aegis(
    training: pd.DataFrame, testing: pd.DataFrame, source: Source, k: int, *, label_weight: float | None
) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """The released rows, the test rows recoded by the same boxes, and the CPU seconds of the release."""
    columns = [*source.numbers, *source.categories]
    label = (training[source.label].astype(str) == source.positive).astype(int)
    recoding = LocalRecoding(k=k, label_weight=label_weight)
    began = time.process_time()
    released = recoding.fit_transform(training[columns], label.to_numpy())
    seconds = time.process_time() - began
    applied = pd.DataFrame(recoding.transform(testing[columns]))
    return pd.DataFrame(released).assign(**{source.label: training[source.label].to_numpy()}), applied, seconds


def by_peer(
    method: str, training: pd.DataFrame, source: Source, k: int, folder: Path
) -> tuple[pd.DataFrame | None, float | None]:
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    rows, out, job = folder / "rows.csv", folder / "released.csv", folder / "job.json"
    columns = [*source.numbers, *source.categories, source.label]
    training[columns].to_csv(rows, index=False)
    out.unlink(missing_ok=True)
    content = {
        "method": method, "rows": str(rows), "out": str(out), "k": k, "label": source.label,
        "numbers": list(source.numbers), "categories": list(source.categories),
    }  # fmt: skip
    job.write_text(json.dumps(content), encoding="utf-8")
    script = Path(__file__).with_name("_boxes_peer.py")
    done = subprocess.run([python, script, job], capture_output=True, text=True, check=False)
    if done.returncode or not out.exists():
        print(done.stderr[-400:], file=sys.stderr)
        return None, None
    seconds = float(json.loads(done.stdout.strip().splitlines()[-1])["cpu_seconds"])
    return pd.read_csv(out, keep_default_na=False, dtype=str), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", required=True, help="a folder for the peers' environment")
    parser.add_argument("--kept", default=".bench/boxes_peers.jsonl", help="what is done; a later run goes on")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--tables", nargs="+", default=["german", "adult_arx"], choices=list(SOURCES))
    chosen = parser.parse_args()
    kept = Kept.of(Path(chosen.kept))
    first = Rows.of("german", 0)
    by_aegis(
        first.training, first.testing, first.source, 300, label_weight=None
    )  # compiled once, so that it is in nobody's seconds
    with threadpool_limits(1):
        for split in range(chosen.splits):
            for name in chosen.tables:
                rows = Rows.of(name, split)
                for k in chosen.k:
                    for method in METHODS:
                        kept.get([name, split, k, method], partial(reached, rows, k, method, chosen))
                        runs = all_runs(kept)
                        write("boxes_peers", {"packages": PACKAGES, "summary": summary_of(runs), "runs": runs})


def all_runs(kept: Kept) -> list[dict[str, Any]]:
    """What this run and those before it measured."""
    runs = []
    for key, measured in kept.parts.items():
        name, split, k, method = json.loads(key)
        runs.append({"table": name, "split": split, "k": k, "method": method, **measured})
    return runs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rows:
    """The two parts of a split of a table."""

    source: Source
    training: pd.DataFrame
    testing: pd.DataFrame

    @classmethod
    def of(cls, name: str, split: int) -> Rows:
        table = pd.read_csv(dataset(SOURCES[name].file), keep_default_na=False)
        order = np.random.default_rng(split).permutation(len(table))
        training, testing = (table.iloc[part] for part in np.split(order, [int(TRAINING * len(order))]))
        return cls(source=SOURCES[name], training=training, testing=testing)


def reached(rows: Rows, k: int, method: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """What models reach on the release of one method, with its smallest class and CPU seconds."""
    source = rows.source
    columns = [*source.numbers, *source.categories]
    released: pd.DataFrame | None
    seconds: float | None
    testing = rows.testing[columns]
    if method.startswith("aegis"):
        released, applied, seconds = by_aegis(
            rows.training, rows.testing, source, k, label_weight=FINER if method == "aegis, finer" else None
        )
        testing = applied if method == "aegis, applied" else testing
    else:
        released, seconds = by_peer(method, rows.training, source, k, Path(chosen.environment))
    if released is None:
        return {"ended": "an error, or nothing released"}
    label = (released[source.label].astype(str) == source.positive).to_numpy()
    wanted = (rows.testing[source.label].astype(str) == source.positive).to_numpy()
    smallest = int(released.groupby(columns, observed=True).size().min())
    facts = {"cpu_seconds": seconds, "rows": len(released), "smallest_class": smallest}
    return {**facts, **aucs(released[columns], label, testing, wanted)}


def summary_of(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The means over splits."""
    lines = []
    for table, k, method in dict.fromkeys((run["table"], run["k"], run["method"]) for run in runs):
        own = [run for run in runs if (run["table"], run["k"], run["method"]) == (table, k, method)]
        released = [run for run in own if "ended" not in run]
        line: dict[str, Any] = {"table": table, "k": k, "method": method, "splits": len(own), "released": len(released)}
        for figure in ("logistic", "boosted", "cpu_seconds"):
            if released:
                line[figure] = round(float(np.mean([run[figure] for run in released])), 4)
        if released:
            line["smallest_class"] = min(run["smallest_class"] for run in released)
        lines.append(line)
    return lines


if __name__ == "__main__":
    main()

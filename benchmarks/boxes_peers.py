"""Local recoding beside published peers: Mondrian of anonypy, and the full-domain search of ANJANA.

Peers recode the rows they are given and no others, so models train on the released 70 % and are tested on the other
rows *as they are*, for all alike; every release is read by the same consumer (`ReleasedFeatures`, without what classes
say of the label). No suppression. The peers have an environment of their own under ``--environment``, made on first
use from the package index. Figures are AUC of logistic regression and of boosted trees, and CPU seconds of the
recoding alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _result import dataset, write
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.released_features import ReleasedFeatures
from boxes_tables import SOURCES, TRAINING, Source

PACKAGES = ("anonypy==0.2.1", "anjana==1.2.3")
METHODS = ("aegis", "anonypy", "anjana")


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


def by_aegis(training: pd.DataFrame, source: Source, k: int) -> tuple[pd.DataFrame, float]:
    columns = [*source.numbers, *source.categories]
    label = (training[source.label].astype(str) == source.positive).astype(int)
    began = time.process_time()
    released = LocalRecoding(k=k).fit_transform(training[columns], label.to_numpy())
    seconds = time.process_time() - began
    return pd.DataFrame(released).assign(**{source.label: training[source.label].to_numpy()}), seconds


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
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--tables", nargs="+", default=["german", "adult_arx"], choices=list(SOURCES))
    chosen = parser.parse_args()
    runs: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for split in range(chosen.splits):
            for name in chosen.tables:
                source = SOURCES[name]
                table = pd.read_csv(dataset(source.file), keep_default_na=False)
                order = np.random.default_rng(split).permutation(len(table))
                training, testing = (table.iloc[part] for part in np.split(order, [int(TRAINING * len(order))]))
                columns = [*source.numbers, *source.categories]
                wanted = (testing[source.label].astype(str) == source.positive).to_numpy()
                for k in chosen.k:
                    for method in METHODS:
                        released, seconds = (
                            by_aegis(training, source, k)
                            if method == "aegis"
                            else by_peer(method, training, source, k, Path(chosen.environment))
                        )
                        run: dict[str, Any] = {"table": name, "split": split, "k": k, "method": method}
                        if released is None:
                            run["ended"] = "an error, or nothing released"
                        else:
                            label = (released[source.label].astype(str) == source.positive).to_numpy()
                            smallest = int(released.groupby(columns, observed=True).size().min())
                            run |= {"cpu_seconds": seconds, "rows": len(released), "smallest_class": smallest}
                            run |= aucs(released[columns], label, testing[columns], wanted)
                        runs.append(run)
                        print(run, flush=True)
            write("boxes_peers", {"packages": PACKAGES, "splits": split + 1, "runs": runs})  # what is done is kept


if __name__ == "__main__":
    main()

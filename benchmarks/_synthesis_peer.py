"""Made-up rows by a peer, run in the peer's own environment: ``python _synthesis_peer.py JOB.json``.

The job names the method, the training rows, what is declared of each column, ε, δ, a seed and where the rows go. The
answer is one line of JSON with the CPU seconds. The peers are given the same declared values and ranges as Aegis is.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

BINS = 32
"""SmartNoise has no bins of its own that know a declared range: equal ones. dpmm cuts its own under the budget."""
MEGABYTES, ROUNDS, STEPS = 1.0, 4, 200
"""What ``aim-small`` is: AIM with a model of so many megabytes at most, with so many rounds for each column, and in
dpmm, where they can be chosen, so many steps of each fit. AIM's own values are 80, 16 and 1,000, and it says of itself
that it can take many hours with them; dpmm's pipeline sets no limit to the model."""


def by_dpmm(method: str, table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline  # type: ignore[import-not-found]

    pipelines = {"aim": AIMPipeline, "mst": MSTPipeline, "privbayes": PrivBayesPipeline}
    name, _, small = method.partition("-")
    rounds = ROUNDS * len(job["columns"])
    smaller = {"max_model_size": MEGABYTES, "gen_kwargs": {"rounds": rounds, "n_iters": STEPS}} if small else {}
    pipeline = pipelines[name](
        epsilon=0.9 * job["epsilon"], proc_epsilon=0.1 * job["epsilon"], delta=job["delta"], n_jobs=1, **smaller
    )
    domain: dict[str, Any] = {}
    for name, declared in job["columns"].items():
        if "values" in declared:
            table[name] = pd.Categorical(table[name].astype(str), categories=[str(v) for v in declared["values"]])
            domain[name] = {"categories": [str(v) for v in declared["values"]]}
        else:
            domain[name] = {"lower": declared["min"], "upper": declared["max"]}
    pipeline.fit(table, domain, random_state=job["seed"])
    return pipeline.generate(n_records=len(table), random_state=job["seed"])


def by_smartnoise(method: str, table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    import numpy as np
    from snsynth import Synthesizer  # type: ignore[import-not-found]
    from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer  # type: ignore[import-not-found]

    np.random.seed(job["seed"])  # noqa: NPY002  the peer draws from it
    parts = [
        LabelTransformer()
        if "values" in declared
        else BinTransformer(bins=BINS, lower=declared["min"], upper=declared["max"])
        for declared in job["columns"].values()
    ]
    name, _, small = method.partition("-")
    smaller = {"max_model_size": MEGABYTES, "rounds": ROUNDS * len(job["columns"])} if small else {}
    made = Synthesizer.create(name, epsilon=job["epsilon"], delta=job["delta"], verbose=False, **smaller)
    return made.fit_sample(table[list(job["columns"])], transformer=TableTransformer(parts), preprocessor_eps=0.0)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_CPU, (job["cpu_limit"], job["cpu_limit"] + 5))
    table = pd.read_csv(job["training"], keep_default_na=False)
    library, method = job["method"].split(":")
    began = time.process_time()
    made = {"dpmm": by_dpmm, "smartnoise": by_smartnoise}[library](method, table, job)
    seconds = time.process_time() - began
    made.to_csv(job["out"], index=False)
    print(json.dumps({"cpu_seconds": round(seconds, 1)}))


if __name__ == "__main__":
    main()

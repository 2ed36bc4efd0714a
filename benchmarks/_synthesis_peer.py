"""Made-up rows by a peer, run in the peer's own environment: ``python _synthesis_peer.py NAME.job.json``.

The job names the method, the training rows (a file beside it), what is declared of each column, ε, δ, a seed and a
limit of CPU seconds. The rows go to ``NAME.csv``; ``NAME.answer.json`` says what they took, of which machine, or why
there are none. The peers are given the same declared values and ranges as Aegis is. A second process does the fit, so
that one which is stopped has its answer too.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""Threads that wait for each other would count as work."""
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


def fit(job: dict[str, Any], folder: Path, out: Path) -> None:
    """The fit alone, under its limit."""
    resource.setrlimit(resource.RLIMIT_CPU, (job["cpu_limit"], job["cpu_limit"] + 5))
    table = pd.read_csv(folder / job["training"], keep_default_na=False)
    library, method = job["method"].split(":")
    began = time.process_time()
    made = {"dpmm": by_dpmm, "smartnoise": by_smartnoise}[library](method, table, job)
    seconds = time.process_time() - began
    made.to_csv(out, index=False)
    print(json.dumps({"cpu_seconds": round(seconds, 1)}))


def main() -> None:
    content, *fits = sys.argv[1:]
    name = content.removesuffix(".job.json")
    job = json.loads(Path(content).read_text(encoding="utf-8"))
    if fits:
        fit(job, Path(content).parent, Path(f"{name}.csv"))
        return
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, __file__, content, "fit"],
        capture_output=True, text=True, check=False, env={**os.environ, **ONE_THREAD},
    )  # fmt: skip
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = round(used.ru_utime + used.ru_stime)
    answer = {"cpu_limit": job["cpu_limit"], "machine": machine(), "peak_gb": round(used.ru_maxrss / 1e6, 1)}
    answer["wall_seconds"] = round(time.monotonic() - began)
    if done.returncode == 0:
        answer |= json.loads(done.stdout.strip().splitlines()[-1])
    elif done.returncode == -signal.SIGXCPU or seconds >= job["cpu_limit"]:
        answer |= {"ended": f"stopped after {seconds} CPU seconds", "cpu_limit": min(seconds, job["cpu_limit"])}
    elif done.returncode == -signal.SIGKILL:
        answer["ended"] = f"killed after {seconds} CPU seconds, for want of memory"
    else:
        print(done.stderr, file=sys.stderr)
        answer["ended"] = f"an error: {(done.stderr.strip().splitlines() or ['no rows'])[-1][:200]}"
    Path(f"{name}.answer.json").write_text(json.dumps(answer), encoding="utf-8")


def machine() -> dict[str, Any]:
    models = [line for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if "model name" in line]
    return {"processor": models[0].split(":")[1].strip(), "cores": os.cpu_count()}


if __name__ == "__main__":
    main()

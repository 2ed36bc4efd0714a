"""Our privacy models against pyCANON, an independent implementation, on Adult.

pyCANON pins old versions of its dependencies, so it runs in an interpreter of its own:

    python -m venv ORACLE && ORACLE/bin/pip install pycanon==1.3.6
    python benchmarks/privacy_oracle.py --oracle-python ORACLE/bin/python

Without ``--oracle-python`` the oracle's values are read from the committed result and only ours are computed again.
What each figure means, and why some differ on purpose, is told in docs/theory/privacy-models.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

FILE = "adult/adult_complete_45222.csv"
ARX = "adult_arx/adult.csv"
SEVEN = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
CASES: list[dict[str, Any]] = [
    {"file": FILE, "quasi": ["sex"], "sensitive": "income"},
    {"file": FILE, "quasi": ["sex"], "sensitive": "age"},
    {"file": FILE, "quasi": ["sex", "race"], "sensitive": "education"},
    {"file": FILE, "quasi": ["race", "income"], "sensitive": "workclass"},
    {"file": FILE, "quasi": ["sex", "race", "marital-status"], "sensitive": "occupation"},
    {"file": FILE, "quasi": ["workclass", "education"], "sensitive": "hours-per-week"},
    {"file": ARX, "quasi": SEVEN, "sensitive": "occupation"},
]

# What the other interpreter runs: one JSON of cases in, one JSON of values out.
ORACLE = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
answers = []
for case in json.loads(sys.stdin.read()):
    rows, quasi, sensitive = pd.read_csv(case["path"]), case["quasi"], [case["sensitive"]]
    start = time.process_time()
    alpha, k = anonymity.alpha_k_anonymity(rows, quasi, sensitive)
    c, l = anonymity.recursive_c_l_diversity(rows, quasi, sensitive)
    found = {
        "k": anonymity.k_anonymity(rows, quasi),
        "alpha": alpha,
        "distinct_l": anonymity.l_diversity(rows, quasi, sensitive),
        "entropy_l": anonymity.entropy_l_diversity(rows, quasi, sensitive),
        "recursive_c": c,
        "basic_beta": anonymity.basic_beta_likeness(rows, quasi, sensitive),
        "enhanced_beta": anonymity.enhanced_beta_likeness(rows, quasi, sensitive),
        "delta": anonymity.delta_disclosure(rows, quasi, sensitive),
    }
    before = time.process_time()
    found["t"] = anonymity.t_closeness(rows, quasi, sensitive)
    found = {key: None if value != value else float(value) for key, value in found.items()}
    answers.append({"values": found, "t_cpu_s": time.process_time() - before, "cpu_s": time.process_time() - start})
from importlib.metadata import version
print(json.dumps({"pycanon": version("pycanon"), "pandas": version("pandas"), "answers": answers}))
"""


def oracle(python: str, paths: list[Path]) -> dict[str, Any]:
    """Ask pyCANON in its own interpreter."""
    asked = json.dumps([{**case, "path": str(path)} for case, path in zip(CASES, paths, strict=True)])
    done = subprocess.run(
        [python, "-W", "ignore", "-c", ORACLE], input=asked, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"the oracle failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def read_columns(file: Path) -> dict[str, list[str]]:
    """A CSV file, column by column."""
    with file.open(encoding="utf-8", newline="") as lines:
        header, *body = csv.reader(lines)
    return {name: [row[i] for row in body] for i, name in enumerate(header)}


def our_values(columns: dict[str, list[str]], case: dict[str, Any]) -> tuple[dict[str, float | None], float]:
    """The same figures from our models, and the CPU seconds that t-closeness took."""
    import numpy as np

    from aegis.counts.class_table import ClassTable
    from aegis.data.domain import Domain
    from aegis.data.kind import Kind
    from aegis.privacy.model import MODELS

    def coded(name: str) -> tuple[Domain, Any]:
        texts = np.array(columns[name], dtype=object)
        if all(text.lstrip("-").isdigit() for text in columns[name]):
            values, codes = np.unique(texts.astype(np.int64), return_inverse=True)
            return Domain(kind=Kind.INTEGER, values=values), codes
        values, codes = np.unique(texts, return_inverse=True)
        return Domain(kind=Kind.TEXT, values=values), codes

    quasi = [coded(name) for name in case["quasi"]]
    sensitive = coded(case["sensitive"])
    table = ClassTable.from_codes(
        columns=case["quasi"],
        domains=[domain for domain, _ in quasi],
        codes=np.column_stack([codes for _, codes in quasi]),
        counts=np.ones(len(quasi[0][1]), dtype=np.int64),
        contents={"s": sensitive},
    )

    def value(name: str, **parameters: Any) -> float | None:
        return MODELS[name].from_parameters(parameters).judge(table).value

    distinct = value("distinct-l-diversity", attribute="s", l=1)
    assert distinct is not None
    start = time.process_time()
    t = value("t-closeness", attribute="s", t=1.0, distance="ordered" if sensitive[0].kind is Kind.INTEGER else "equal")
    seconds = time.process_time() - start
    found = {
        "k": value("k-anonymity", k=1),
        "alpha": value("alpha-k-anonymity", attribute="s", alpha=1.0),
        "distinct_l": distinct,
        "entropy_l": value("entropy-l-diversity", attribute="s", l=1.0),
        "recursive_c": value("recursive-l-diversity", attribute="s", c=1.0, l=int(distinct)),
        "basic_beta": value("basic-beta-likeness", attribute="s", beta=1.0),
        "enhanced_beta": value("enhanced-beta-likeness", attribute="s", beta=1.0),
        "delta": value("delta-disclosure", attribute="s", delta=1.0),
        "delta_absent_ignored": value("delta-disclosure", attribute="s", delta=1.0, absent="ignored"),
        "t": t,
        **as_pycanon(table, int(distinct)),
    }
    return {key: None if number is None or math.isinf(number) else number for key, number in found.items()}, seconds


def as_pycanon(table: Any, distinct: int) -> dict[str, float]:
    """Its readings of three models where they are not ours, computed from our class table."""
    import numpy as np

    content = table.contents["s"]
    dense = content.dense()
    rising = [np.sort(row[row > 0]) for row in dense]
    c = max(math.floor(row[0] / row[distinct - 1 :].sum() + 1) for row in rising)
    p = content.totals / content.totals.sum()
    gain = float((dense / table.sizes[:, None] / p - 1).max())
    return {
        "recursive_c_as_pycanon": float(c) if distinct > 1 else math.inf,
        "enhanced_beta_as_pycanon": max(min(gain, -math.log(share)) for share in p),
    }


def compared(ours: dict[str, float | None], theirs: dict[str, float | None]) -> dict[str, str]:
    """For each figure whether it agrees, directly or once computed by the oracle's own reading of the model."""

    def near(a: float | None, b: float | None) -> bool:
        return a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)

    direct = ("k", "alpha", "distinct_l", "basic_beta", "t")
    verdict = {key: "equal" if near(ours[key], theirs[key]) else "DIFFERENT" for key in direct}
    entropy = ours["entropy_l"]
    assert entropy is not None
    floors = {math.floor(entropy), math.floor(entropy + 1e-9), math.floor(entropy - 1e-9)}
    verdict["entropy_l"] = "equal after rounding down" if theirs["entropy_l"] in floors else "DIFFERENT"
    for key, reading in (
        ("delta", "delta_absent_ignored"),
        ("recursive_c", "recursive_c_as_pycanon"),
        ("enhanced_beta", "enhanced_beta_as_pycanon"),
    ):
        if near(ours[reading], theirs[key]):
            verdict[key] = "equal" if near(ours[key], theirs[key]) else "equal in the oracle's reading"
        else:
            verdict[key] = "DIFFERENT"
    return verdict


def main() -> None:
    result = import_module("_result")  # only where this file is run: tests import it from elsewhere
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--oracle-python", help="an interpreter that has pyCANON")
    arguments = parser.parse_args()
    paths = [result.dataset(case["file"]) for case in CASES]
    if arguments.oracle_python:
        answer = oracle(arguments.oracle_python, paths)
    else:
        answer = json.loads((result.RESULTS / "privacy_oracle.json").read_text(encoding="utf-8"))["oracle"]
    cases = []
    for case, path, theirs in zip(CASES, paths, answer["answers"], strict=True):
        ours, seconds = our_values(read_columns(path), case)
        cases.append(
            {**case, "ours": ours, "ours_t_cpu_s": round(seconds, 6), "agreement": compared(ours, theirs["values"])}
        )
        print(", ".join(case["quasi"]), "|", case["sensitive"], cases[-1]["agreement"])
    sys.argv = [sys.argv[0], *(["--oracle-python", "ORACLE/bin/python"] if arguments.oracle_python else [])]
    result.write("privacy_oracle", {"seed": None, "oracle": answer, "cases": cases})


if __name__ == "__main__":
    main()

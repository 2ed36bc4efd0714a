"""The catalog's Croissant documents under MLCommons' own validator, and the released tables read through it.

mlcroissant is no dependency of Aegis, so it runs in an interpreter of its own:

    python -m venv VALIDATOR && VALIDATOR/bin/pip install "mlcroissant[parquet]==1.1.1"
    python benchmarks/croissant_validation.py --validator-python VALIDATOR/bin/python

Products are made as people make them: one without a release, one with a CSV release, one with a Parquet release of some
columns, one with column names that no program likes, one with dates and truth values. Every document must have no error
and no warning, and the records that mlcroissant reads must be as many as the certificate says, with its columns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _result import write
from aegis.catalog.service import configurations, metadata, people, products, releases, requests, sessions
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import Actor
from aegis.catalog.settings import Settings
from aegis.catalog.worker.clinic_example import load_clinic
from aegis.catalog.worker.loop import run_pending
from aegis.catalog.worker.provider import Provider

BASE = "https://catalog.example.org"

# What the other interpreter runs: documents in, what the validator says out.
VALIDATOR = """
import json, sys, importlib.metadata, logging
logging.disable(logging.CRITICAL)
import mlcroissant as mlc
told = []
for case in json.loads(sys.stdin.read()):
    found = {"product": case["product"], "errors": [], "warnings": [], "records": {}}
    try:
        dataset = mlc.Dataset(jsonld=case["path"])
        found["errors"] = sorted(dataset.metadata.ctx.issues.errors)
        found["warnings"] = sorted(dataset.metadata.ctx.issues.warnings)
        if case["readable"]:
            for name in case["readable"]:
                rows = list(dataset.records(name))
                found["records"][name] = {"rows": len(rows), "fields": sorted({key for row in rows for key in row})}
    except Exception as error:
        found["errors"].append(f"{type(error).__name__}: {error}"[:2000])
    told.append(found)
print(json.dumps({"version": importlib.metadata.version("mlcroissant"), "told": told}))
"""


def tables(folder: Path) -> dict[str, dict[str, Any]]:
    """Tables of our own, with what is said about them; their names are those of the products."""
    rng = np.random.default_rng(7)
    rows = 400
    age = rng.integers(20, 60, rows)
    pq.write_table(
        pa.table(
            {
                "age": age,
                "town": rng.choice(["Ulm", "Bonn", "Trier"], rows),
                "score": rng.normal(10, 2, rows).round(1),
                "outcome": rng.choice(["yes", "no"], rows),
            }
        ),
        folder / "scores.parquet",
    )
    odd = {"blood type": rng.choice(["A", "B", "0"], rows), "Größe (cm)": rng.integers(150, 200, rows) // 10 * 10}
    odd |= {"a/b": rng.integers(0, 3, rows), 'the "label"': rng.choice(["x", "y"], rows)}
    pq.write_table(pa.table(odd), folder / "odd-names.parquet")
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, rows).astype("timedelta64[D]")
    pq.write_table(
        pa.table(
            {
                "age": age,
                "admitted": pa.array(days.astype("datetime64[D]")),
                "smoker": rng.random(rows) < 0.3,
                "weight": rng.normal(70, 9, rows).round(1),
                "outcome": rng.choice(["yes", "no"], rows),
            }
        ),
        folder / "visits.parquet",
    )
    quasi, plain = "quasi_identifying", "insensitive"
    wide = {"age": {"bucketize": {"width": 20}}}
    return {
        "scores": {
            "columns": [
                {"name": "age", "kind": "integer", "role": quasi, "description": "age in years"},
                {"name": "town", "kind": "text", "role": quasi},
                {"name": "score", "kind": "real", "role": plain},
                {"name": "outcome", "kind": "text", "role": "label"},
            ],
            "masks": wide,
            "ask": ["town", "score", "outcome"],
        },
        "odd-names": {
            "columns": [
                {"name": "blood type", "kind": "text", "role": quasi},
                {"name": "Größe (cm)", "kind": "integer", "role": plain},
                {"name": "a/b", "kind": "integer", "role": plain},
                {"name": 'the "label"', "kind": "text", "role": "label"},
            ],
            "masks": {"blood type": "suppress"},
            "ask": [],
        },
        "visits": {
            "columns": [
                {"name": "age", "kind": "integer", "role": quasi},
                {"name": "admitted", "kind": "date", "role": plain},
                {"name": "smoker", "kind": "boolean", "role": plain},
                {"name": "weight", "kind": "real", "role": plain},
                {"name": "outcome", "kind": "text", "role": "label"},
            ],
            "masks": wide,
            "ask": [],
        },
    }


def filled(catalog: Catalog, folder: Path) -> tuple[Actor, list[str]]:
    """People, products and releases; gives an administrator and the names of the products."""
    link = people.setup_link(catalog)
    assert link is not None
    people.accept_link(catalog, secret=link.secret, password="a long password", name="admin")
    admin = sessions.sign_in(catalog, name="admin", password="a long password", address="here").actor
    flow = load_clinic(catalog, admin, rows=1_500)
    consumer = sessions.sign_in(catalog, name="consumer", password=flow.people["consumer"], address="here").actor
    for name, said in tables(folder).items():
        with catalog.write(admin) as work:
            products.register(work, name=name, title=f"The {name}", columns=said["columns"], policy={"k": 3})
            products.publish(work, product=name)
            made = configurations.propose(work, product=name, content=said["masks"], name="wide")
        with catalog.write(consumer) as work:
            asked = requests.ask(work, product=name, purpose="to see the metadata", columns=said["ask"])
        with catalog.write(admin) as work:
            requests.decide(work, request_id=asked.id, approve=True, configuration_id=made[0].id)
    for done in Provider(catalog, folder, owner="admin").due():
        assert done.reason is None, done
    run_pending(catalog)
    with catalog.write(admin) as work:
        columns = [{"name": "age", "kind": "integer", "role": "quasi_identifying"}]
        products.register(work, name="nothing-yet", title="Nothing was released", columns=columns, policy={"k": 3})
    return admin, [flow.product, *tables(folder), "nothing-yet"]


def documents(catalog: Catalog, admin: Actor, names: list[str], folder: Path) -> list[dict[str, Any]]:
    """Each product twice: as the catalog tells it, and with its files beside it so that they can be read."""
    cases = []
    for name in names:
        with catalog.read(admin) as work:
            told = metadata.croissant(work, product=name, base_url=BASE)
            listed = releases.list_releases(work, product=name).items
        for readable in (False, True) if listed else (False,):
            place = folder / ("read" if readable else "told") / name
            place.mkdir(parents=True)
            document = json.loads(json.dumps(told))
            for file, release in zip(document["distribution"], listed, strict=True):
                if readable:
                    with catalog.store.open(release.digest) as stream:
                        (place / release.file_name).write_bytes(stream.read())
                    file["contentUrl"] = release.file_name
            path = place / "croissant.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            rows = {f"records-{each.id}": each.certificate["release"] for each in listed} if readable else {}
            fields = {each["@id"]: [field["@id"] for field in each["field"]] for each in document["recordSet"]}
            assert all(len(fields[key]) == len(each["columns"]) for key, each in rows.items())
            cases.append(
                {"product": name, "path": str(path), "readable": list(rows), "expected": rows, "fields": fields}
            )
    return cases


def judged(cases: list[dict[str, Any]], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said of each document, without the ids that differ from run to run."""
    found = []
    for case, said in zip(cases, told, strict=True):
        read = []
        for name, expected in case["expected"].items():
            got = said["records"].get(name, {"rows": 0, "fields": []})
            read.append(got["rows"] == expected["rows"] and got["fields"] == sorted(case["fields"][name]))
        found.append(
            {
                "product": case["product"],
                "what": "validated and read" if case["readable"] else "validated",
                "errors": said["errors"],
                "warnings": said["warnings"],
                "tables_read": f"{sum(read)} of {len(read)}",
                "passed": not said["errors"] and not said["warnings"] and all(read),
            }
        )
    return found


def main() -> int:
    """Make, validate, read, write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--validator-python", required=True, help="an interpreter that has mlcroissant")
    python = parser.parse_args().validator_python
    with tempfile.TemporaryDirectory(prefix="aegis-croissant-") as place:
        folder = Path(place)
        (folder / "tables").mkdir()
        settings = Settings(argon2_time_cost=1, argon2_memory_kib=64)
        with Catalog.open(f"{place}/catalog.sqlite", folder / "storage", settings=settings) as catalog:
            admin, names = filled(catalog, folder / "tables")
            cases = documents(catalog, admin, names, folder)
        run = subprocess.run(
            [python, "-c", VALIDATOR], input=json.dumps(cases), capture_output=True, text=True, check=False
        )
    if run.returncode:
        print(run.stderr[-2000:])
        return 2
    answer = json.loads(run.stdout.splitlines()[-1])
    found = judged(cases, answer["told"])
    for each in found:
        print(each)
    sys.argv = [sys.argv[0], "--validator-python", "VALIDATOR/bin/python"]  # whose path is nobody's business
    write(
        "croissant_validation",
        {"mlcroissant": answer["version"], "documents": found, "passed": all(each["passed"] for each in found)},
    )
    return 0 if all(each["passed"] for each in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())

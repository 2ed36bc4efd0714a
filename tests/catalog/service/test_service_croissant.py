"""What other programs are told of a product: ids that they can read, whatever the columns are called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aegis.catalog.service import configurations, metadata, products
from aegis.catalog.worker.loop import run_pending
from aegis.catalog.worker.provider import Provider

Stage = Any
NAMES = {"blood type": "text", "Größe (cm)": "integer", "a/b": "real", 'the "label"': "text", "column-1": "boolean"}
PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")


def test_every_id_is_plain_and_told_once(small_stage: Stage, tmp_path: Path) -> None:
    """MLCommons' validator refuses ids with blanks (see benchmarks/croissant_validation.py)."""
    rng = np.random.default_rng(1)
    draws = {
        "text": rng.choice(["x", "y"], 60),
        "integer": rng.integers(0, 3, 60),
        "real": rng.normal(size=60),
        "boolean": rng.random(60) < 0.5,
    }
    pq.write_table(pa.table({name: draws[kind] for name, kind in NAMES.items()}), tmp_path / "odd.parquet")
    roles = dict.fromkeys(NAMES, "insensitive") | {"blood type": "quasi_identifying", 'the "label"': "label"}
    columns = [{"name": name, "kind": kind, "role": roles[name]} for name, kind in NAMES.items()]
    with small_stage.write("provider") as work:
        products.register(work, name="odd", title="Odd", columns=columns, policy={"k": 2})
        products.publish(work, product="odd")
        made = configurations.propose(work, product="odd", content={"blood type": "suppress"})
    asked = small_stage.ask("odd")
    small_stage.approve(asked.id, made[0].id, by="admin")
    assert all(done.reason is None for done in Provider(small_stage.catalog, tmp_path, owner="provider").due())
    run_pending(small_stage.catalog)
    with small_stage.read("consumer") as work:
        document = metadata.croissant(work, product="odd", base_url="https://example.org")
    (file,), (records,) = document["distribution"], document["recordSet"]
    assert file["encodingFormat"] == "application/x-parquet"
    ids = [field["@id"].removeprefix(f"{records['@id']}/") for field in records["field"]]
    assert len(set(ids)) == len(NAMES)
    assert all(PLAIN.fullmatch(each) for each in ids)
    assert [field["source"]["extract"]["column"] for field in records["field"]] == list(NAMES)
    types = {field["name"]: field["dataType"] for field in records["field"]}
    assert types == {
        "blood type": "sc:Text",  # it was masked
        "Größe (cm)": "sc:Integer",
        "a/b": "sc:Float",
        'the "label"': "sc:Text",
        "column-1": "sc:Boolean",
    }

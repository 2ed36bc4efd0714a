"""Attacks on what surrounds values: noise, hashes, the order of rows, and what a file holds beside them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aegis
from aegis.attacks.beside_rows import texts_beside_rows
from aegis.data.schema import Roles

Stage = Callable[..., Any]
Find = Callable[..., Any]
ROWS = 200
ROLES = Roles(identifying=("name",), quasi_identifying=("zip",), sensitive=("illness",))


def original() -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    return {
        "name": [f"patient-{i:05d}" for i in rng.permutation(ROWS)],
        "age": (10 * rng.integers(2, 9, ROWS)).tolist(),
        "zip": ["100", "200"] * (ROWS // 2),
        "illness": rng.choice(["flu", "cold", "gout"], ROWS).tolist(),
        "visit": rng.permutation(ROWS).tolist(),
    }


def in_order(table: dict[str, list[Any]], order: np.ndarray[Any, Any]) -> dict[str, list[Any]]:
    return {column: [values[i] for i in order] for column, values in table.items()}


def test_noise_that_is_drawn_anew_averages_out(stage: Stage, find: Find) -> None:
    table = original()
    rng = np.random.default_rng(4)
    releases = []
    for _ in range(16):
        noisy = [round(age + rng.normal(0, 8)) for age in table["age"]]
        made = {"age": noisy, **{name: table[name] for name in ("zip", "illness", "visit")}}
        releases.append(in_order(made, rng.permutation(ROWS)))
    masks = [{"age": {"add_gaussian_noise": {"scale": 8}}}] * 16
    one = find("averaging", stage(table, releases[0], masks=masks[:1], roles=ROLES))
    assert (one.singled_out, one.exposed_share) == (0, 0.0)
    many = find("averaging", stage(table, *releases, masks=masks, roles=ROLES))
    assert many.singled_out == ROWS
    assert many.right >= 0.95 * ROWS
    assert many.exposed_share > 0.5


@pytest.mark.parametrize("function", ["md5", "sha256"])
def test_hashes_without_a_key_are_undone(stage: Stage, find: Find, function: str) -> None:
    table = original()
    hashed = [hashlib.new(function, name.encode()).hexdigest()[:16] for name in table["name"]]
    released = {"name": hashed, "zip": table["zip"], "illness": table["illness"]}
    result = find("pseudonyms", stage(table, released, masks=[{"name": "pseudonym"}], roles=ROLES))
    assert (result.singled_out, result.right) == (ROWS, ROWS)


def test_hashes_with_a_key_are_not(stage: Stage, find: Find) -> None:
    table = original()
    keyed = [hmac.new(b"a key of sixteen bytes", name.encode(), "sha256").hexdigest()[:16] for name in table["name"]]
    released = {"name": keyed, "zip": table["zip"], "illness": table["illness"]}
    result = find("pseudonyms", stage(table, released, masks=[{"name": "pseudonym"}], roles=ROLES))
    assert (result.singled_out, result.exposed_share) == (0, 0.0)


def test_rows_in_the_order_of_the_source_are_recognised(stage: Stage, find: Find) -> None:
    table = original()
    released = {name: table[name] for name in ("zip", "illness", "visit")}
    kept = find("row-order", stage(table, released, roles=ROLES))
    assert (kept.singled_out, kept.right) == (ROWS, ROWS)
    shuffled = in_order(released, np.random.default_rng(8).permutation(ROWS))
    assert find("row-order", stage(table, shuffled, roles=ROLES)).singled_out == 0


def test_a_dictionary_keeps_values_that_no_row_has(stage: Stage, find: Find, tmp_path: Path) -> None:
    table = original()
    names = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array(["*", *table["name"]]))
    planted, clean = tmp_path / "planted.parquet", tmp_path / "clean.parquet"
    pq.write_table(pa.table({"name": names, "illness": table["illness"]}), planted)
    pq.write_table(pa.table({"name": ["*"] * ROWS, "illness": table["illness"]}), clean)
    scene = stage(table, {"name": ["*"] * ROWS, "illness": table["illness"]}, roles=ROLES)

    def of(path: Path) -> Any:
        return find("file-metadata", replace(scene, releases=(replace(scene.release, path=path),)))

    assert of(planted).right == ROWS
    assert len(texts_beside_rows(planted).entries) == ROWS
    assert not texts_beside_rows(clean).entries
    assert (of(clean).singled_out, of(clean).not_applicable) == (0, None)
    assert find("file-metadata", scene).not_applicable is not None


def test_metadata_that_names_somebody_is_found(stage: Stage, find: Find, tmp_path: Path) -> None:
    table = original()
    path = tmp_path / "released.parquet"
    written = pa.table({"illness": table["illness"]}).replace_schema_metadata({"note": f"made for {table['name'][7]}"})
    pq.write_table(written, path)
    scene = stage(table, {"illness": table["illness"]}, roles=ROLES)
    scene = replace(scene, releases=(replace(scene.release, path=path),))
    assert (find("file-metadata", scene).singled_out, find("file-metadata", scene).right) == (1, 1)


def test_boxes_are_attacked_as_they_stand_beside_their_certificate(tmp_path: Path) -> None:
    """Their certificate states no masks: what is published of each row is read off the file."""
    table, out = tmp_path / "people.csv", tmp_path / "boxes.csv"
    lines = [f"n{number:02d},{20 + number % 10},{'flu' if number % 3 else 'gout'}" for number in range(30)]
    table.write_text("\n".join(["name,age,ill", *lines]) + "\n", encoding="utf-8")
    policy = {"quasi_identifying": ["age"], "identifying": ["name"], "sensitive": ["ill"], "k": 4}
    aegis.anonymize(table, policy=policy, method="boxes", out=out)
    assert "n01" not in out.read_text(encoding="utf-8")
    found = aegis.attack([out], original=table, policy=policy, attacks=["prosecutor"])
    assert [result.singled_out for result in found.results] == [0]

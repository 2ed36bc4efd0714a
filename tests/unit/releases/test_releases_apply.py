"""Masked tables: which columns change, what travels, what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.randomize import Randomize, Shuffle
from aegis.masking.masks.round import Round
from aegis.masking.masks.suppress import Suppress
from aegis.masking.masks.tokens import Token
from aegis.masking.transition import Chain
from aegis.releases.apply import can_be_joined, masked_table


@dataclass(frozen=True)
class ColumnCounts:
    domain: Domain
    counts: Any


DATA = pa.table({"id": [1, 2, 3, 4], "age": [20, 31, None, 45], "city": ["x", "y", "x", None]})
COUNTED = {
    "id": ColumnCounts(Domain.of(Kind.INTEGER, [1, 2, 3, 4]), np.ones(4)),
    "age": ColumnCounts(Domain.of(Kind.INTEGER, [20, 31, 45], missing=True), np.ones(4)),
    "city": ColumnCounts(Domain.of(Kind.TEXT, ["x", "y"], missing=True), np.array([2, 1, 1])),
}


@pytest.fixture
def table() -> Any:
    return ibis.duckdb.connect().create_table("people", DATA)


def test_other_columns_and_their_order_stay(table: Any) -> None:
    masked = masked_table(table, {"city": Token(), "age": Bucketize(width=10)}, histograms=COUNTED).table.order_by("id")
    out = masked.to_pyarrow()
    assert out.column_names == DATA.column_names
    assert out["id"].to_pylist() == [1, 2, 3, 4]
    assert out["age"].to_pylist() == ["[20, 30)", "[30, 40)", None, "[40, 50)"]
    assert masked_table(table, {}, histograms={}).table.order_by("id").to_pyarrow().equals(DATA)


def test_tokens_are_the_same_in_every_query_and_can_be_exported(table: Any) -> None:
    masked = masked_table(table, {"city": Token()}, histograms=COUNTED)
    first, second = (masked.table.order_by("id").to_pyarrow()["city"].to_pylist() for _ in range(2))
    assert first == second
    (mapping,) = masked.mappings
    tokens = dict(zip(*(mapping.to_arrow()[name].to_pylist() for name in ("value", "masked")), strict=True))
    assert first == [tokens["x"], tokens["y"], tokens["x"], None]
    assert "x" not in repr(mapping).replace("ValueMapping", "")
    again = masked_table(table, {"city": Token()}, histograms=COUNTED)
    assert again.table.order_by("id").to_pyarrow()["city"].to_pylist() != first


def test_every_shape_of_mask_in_one_chain(table: Any) -> None:
    tree = Hierarchy.of([["[20, 30)", "young", "*"], ["[30, 40)", "old", "*"], ["[40, 50)", "old", "*"]])
    links = (Bucketize(width=10), Generalize(level=1, hierarchy=tree), Randomize(keep=1), Shuffle(), Token())
    out = masked_table(table, {"age": Chain(links=links)}, histograms=COUNTED)
    found = out.table.to_pyarrow()["age"].to_pylist()
    assert len(found) == 4
    assert found.count(None) == 1
    assert "*" not in found, "every value of a link is counted for the next"
    assert sorted(found.count(value) for value in {*found} - {None}) == [1, 2]


def test_no_row_is_read_while_the_table_is_built() -> None:
    unbound = ibis.table({"id": "int64", "age": "int64", "city": "string"}, name="elsewhere")
    masks = {"id": Shuffle(), "age": Randomize(keep=0.5), "city": Suppress()}
    for dialect in ("duckdb", "postgres"):
        sql = ibis.to_sql(masked_table(unbound, masks, histograms=COUNTED).table, dialect=dialect)
        assert "elsewhere" in sql


def test_what_is_refused(table: Any) -> None:
    with pytest.raises(MaskError, match="'height'"):
        masked_table(table, {"height": Suppress()}, histograms=COUNTED)
    with pytest.raises(MaskError, match="not counted"):
        masked_table(table, {"age": Identity()}, histograms={})
    with pytest.raises(MaskError, match="does not fit column 'city'"):
        masked_table(table, {"city": Bucketize(width=1)}, histograms=COUNTED)
    coarse = ColumnCounts(Domain.of(Kind.INTEGER, [0, 10], discretised=True), np.ones(2))
    with pytest.raises(MaskError, match="every distinct value of column 'age'"):
        masked_table(table, {"age": Token()}, histograms={"age": coarse})


def test_looking_values_up_gives_what_the_engine_computes(table: Any) -> None:
    age = {"age": Bucketize(width=7)}
    chained = {"age": Chain(links=(Round(step=5), Bucketize(edges=(25, 35))))}
    assert not can_be_joined(Chain(links=(Bucketize(width=10), Suppress()))), "missing is hidden too"
    for chosen in (age, chained):
        computed, looked_up = (
            masked_table(table, chosen, histograms=COUNTED, join=join).table.order_by("id").to_pyarrow()
            for join in ((), ("age",))
        )
        assert looked_up.equals(computed)


def test_a_mapping_is_what_the_whole_chain_did(table: Any) -> None:
    chain = Chain(links=(Round(step=5), Bucketize(edges=(25, 35))))
    for join in ((), ("age",)):
        (mapping,) = masked_table(table, {"age": chain}, histograms=COUNTED, join=join).mappings
        whole = chain.links[1].on_values(chain.links[0].on_values(COUNTED["age"].domain.values))  # type: ignore[attr-defined]
        assert mapping.masked.tolist() == whole.tolist()

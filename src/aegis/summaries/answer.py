"""What an engine answers, as numpy: distinct values become a domain, values become codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from ibis.expr.operations import InMemoryTable
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.errors import EngineError

if TYPE_CHECKING:
    import ibis.expr.types as ir


def ask(expression: ir.Table) -> pa.Table:
    """Run a query; what an engine says when it fails may quote data, so only its kind is passed on."""
    try:
        backend = expression.get_backend()
        if backend.name == "duckdb" and not expression.op().find(InMemoryTable):
            # The short way: Ibis would import pandas to convert what needs no converting.
            return backend.raw_sql(backend.compile(expression)).to_arrow_table()
        return expression.to_pyarrow()
    except KeyboardInterrupt:
        raise
    except Exception as error:
        raise EngineError(
            f"the engine could not answer ({type(error).__name__}); check that the table is still there and readable"
        ) from None


def encode(column: pa.ChunkedArray, kind: Kind, *, discretised: bool = False) -> tuple[Domain, NDArray[np.int64]]:
    """The domain of a column of grouped values, and the code of each."""
    packed = column.combine_chunks().dictionary_encode()  # hashing in Arrow: sorting texts in numpy is slow
    _, found = to_numpy(packed.dictionary, kind)
    distinct, rank = np.unique(found, return_inverse=True)
    missing = packed.indices.null_count > 0
    indices = packed.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    codes = np.append(rank, len(distinct))[indices].astype(np.int64)
    return Domain(kind=kind, values=distinct, missing=missing, discretised=discretised), codes


def codes_in(column: pa.ChunkedArray, domain: Domain) -> NDArray[np.int64]:
    """The code of each value in a domain that is known already."""
    present, values = to_numpy(column, domain.kind)
    codes = np.full(len(column), len(domain.values), dtype=np.int64)
    codes[present] = domain.codes(values)
    return codes


def to_numpy(column: pa.ChunkedArray, kind: Kind) -> tuple[NDArray[np.bool_], Values]:
    """Which entries are present, and their values in the kind's own type."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    present = np.asarray(column.is_valid())
    known = column.drop_null()
    if kind is Kind.TEXT:
        values = np.asarray(known.cast(pa.string()).to_pylist(), dtype=object)
    else:
        values = known.to_numpy(zero_copy_only=False).astype(kind.dtype)
    return present, values

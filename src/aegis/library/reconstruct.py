"""What the authorised party makes of a sanitized release: the best estimate of every private value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aegis.candidates.sanitizers.encoding import BETWEEN, split_tuples
from aegis.candidates.sanitizers.mechanism import ranges_in, sources
from aegis.candidates.sanitizers.reconstructor import load_reconstructors
from aegis.commands.reconstruct import Reconstruct
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import connect
from aegis.data.output import PRIVATE, check_free, draft_of
from aegis.errors import DataError, RoleError
from aegis.library.tables.opening import open_table
from aegis.library.tables.records import FilledColumn, column_values, filled_columns
from aegis.operation import operation
from aegis.plural import count
from aegis.releases.write import check_format, write_table
from aegis.result import Result, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstructed(Result):
    """Where the estimates are, and the error that was measured for each column when the release was made.

    ``filled`` are the party's own columns in which missing values were given a category or the median.
    """

    rows: int
    promised: dict[str, float] = field(metadata=called("error_on_rows_kept_apart"))
    out: Path
    filled: tuple[FilledColumn, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.out}: estimates of {', '.join(self.promised)} in {count(self.rows, 'row')}"

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"column": column, "error_on_rows_kept_apart": loss} for column, loss in self.promised.items()]


@operation(Reconstruct)
def reconstruct(options: Reconstruct) -> Reconstructed:
    """Write the party's columns with an estimate of each private column beside them.

    Release and own columns hold the same records in the same order. Errors were measured on rows that nothing was
    fitted on: squared for a number, the share of wrong guesses for a category, or the loss that the release was made
    for. Where that is the logarithmic loss, a column ``private=value`` beside the estimate says how likely each value
    is: the promise, in bits, is about these.

    Example::

        aegis.sanitize(
            "clinic.csv",
            private="age",
            authorized=["visits", "health"],
            adversary="gender",
            distortion=200.0,
            family="noise",
            attackers=["neighbours"],
            out="sanitized.csv",
            reconstructor="party.npz",
            ledger="none",
        )
        aegis.reconstruct("sanitized.csv", with_="clinic.csv", model="party.npz", out="estimates.csv")
    """
    out = Path(options.out)
    check_format(out)
    check_free(out, overwrite=options.overwrite)
    reconstructors = load_reconstructors(Path(options.model))
    own, release = open_table(options.with_, options), open_table(options.release, options)
    needed = list(dict.fromkeys(name for reconstructor in reconstructors for name in reconstructor.needs))
    homes: dict[str, Dataset] = {}
    for name in needed:
        # a release is read from the release: the party's own file may hold an older one
        first, second = (release, own) if name.endswith(("_released", "_component")) else (own, release)
        home = next((table for table in (first, second) if name in table.schema.names), None)
        if home is None:
            raise RoleError(f"neither file has the column {name!r} that the reconstructor needs")
        homes[name] = home
    read = {id(dataset): ask(dataset.table) for dataset in (own, release)}
    rows = read[id(own)].num_rows
    if read[id(release)].num_rows != rows:
        raise DataError(f"the release has {read[id(release)].num_rows:,} rows and the own columns {rows:,}")
    columns = {name: column_values(read[id(home)][name], home.schema.kind(name)) for name, home in homes.items()}
    for name in columns:
        if name.endswith("_released") and columns[name].dtype.kind == "f":
            columns[name] = np.nan_to_num(columns[name])  # where nothing was released nothing stands there
    columns, filled = filled_columns(columns)  # as they were filled where the release was made
    table: pa.Table = read[id(own)]
    for reconstructor in reconstructors:
        estimate = reconstructor.estimate(columns, rows=rows)
        names = sources(reconstructor.mechanism)
        parts = [estimate] if len(names) == 1 else split_tuples(estimate, ranges_in(reconstructor.mechanism))
        for name, part in zip(names, parts, strict=True):
            table = table.append_column(f"{name}_estimate", pa.array(part))
        for value, chance in reconstructor.chances(columns, rows=rows).items():
            name = f"{reconstructor.mechanism.column}={value.replace(BETWEEN, '+')}"
            table = table.append_column(name, pa.array(chance))
    with draft_of(out, overwrite=options.overwrite, mode=PRIVATE) as draft:
        expression = connect(None).create_table("reconstructed", table, temp=True)
        write_table(expression, draft, like=out, shuffle=False)
    return Reconstructed(
        rows=rows,
        promised={reconstructor.mechanism.column: reconstructor.promised_loss for reconstructor in reconstructors},
        out=out,
        filled=filled,
    )

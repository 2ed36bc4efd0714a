"""Replace private columns by releases that an authorised party can use and adversaries cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis._version import __version__
from aegis.candidates.sanitizers.fitting import AuditedColumn, Family, Fitted
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import Mechanism, NumberMechanism, load_model, write_model
from aegis.candidates.sanitizers.together import fit_together
from aegis.commands.sanitize import Sanitize
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import connect, open_dataset
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.errors import DataError, MissingExtraError, OutputError, RoleError, SanitizerError
from aegis.library.curve import installed
from aegis.library.opening import open_table, reading
from aegis.masking.plural import count
from aegis.operation import operation
from aegis.releases.write import check_format, is_csv, write_table
from aegis.report.sanitize_report import render_sanitized
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized(Result):
    """A table with releases in place of its private columns, and what an audit of each found.

    ``table`` is not part of the JSON: one that was read from there has None. Where a saved model was applied nothing
    was audited.
    """

    source: str
    rows: int
    columns: tuple[str, ...]
    released: tuple[str, ...]
    audits: tuple[AuditedColumn, ...]
    seeded: bool
    out: Path | None
    model: Path | None
    report: Path | None
    table: pa.Table | None = None

    @property
    def headline(self) -> str:
        """What stands in place of what."""
        audited = "" if self.audits else "; nothing audited"
        return f"{count(self.rows, 'row')}: {', '.join(self.columns)} replaced by {', '.join(self.released)}{audited}"

    def table_rows(self) -> list[dict[str, Any]]:
        """The error of every party with the release and without, column by column."""
        rows = []
        for audited in self.audits:
            parties = [("authorised", audited.max_distortion, audited.audit.distortion)]
            for number, party in enumerate(audited.audit.adversaries, start=1):
                parties.append((f"adversary {number}", audited.saturation_losses[number - 1], party))
            rows += [
                {
                    "column": audited.column,
                    "party": name,
                    "error_without": before,
                    "error_with": party.loss,
                    "best_attacker": party.attacker,
                }
                for name, before, party in parties
            ]
        return rows

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis sanitize --json`` prints."""
        return {
            "source": self.source,
            "rows": self.rows,
            "private": list(self.columns),
            "released": list(self.released),
            "columns": [audited.to_json() for audited in self.audits],
            "noise": "from the seed" if self.seeded else "fresh",
            "out": None if self.out is None else str(self.out),
            "model": None if self.model is None else str(self.model),
            "report": None if self.report is None else str(self.report),
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields as the JSON has them; neither the rows nor the mechanisms are there."""
        return {
            **content,
            "columns": content["private"],
            "audits": [AuditedColumn.from_json(audited) for audited in content["columns"]],
            "seeded": content["noise"] == "from the seed",
        }


@operation(Sanitize)
def sanitize(options: Sanitize) -> Sanitized:
    """Find a mechanism for each private column, audit it, and give the table with releases in their place.

    Table, model and report appear together, and only if the audit accepted every column. The noise of the table comes
    from the system unless a ``seed`` is given: whoever knows the seed can undo it. ``keep_names`` calls a release what
    the column was called, so that policies and the advisor take it for that column's masked form.

    Without ``private`` the saved ``model`` is applied to the rows: nothing is fitted and nothing audited.
    """
    _check(options)
    dataset = open_table(options.data, options)
    page = None
    fitted: tuple[Fitted, ...] = ()
    if options.private:
        columns = _columns(dataset, [*options.private, *options.authorized, *chain(*options.adversary)])
        fitted = _fitted(options, columns)
        mechanisms = tuple(column.mechanism for column in fitted)
        if options.report is not None:
            page = render_sanitized(
                fitted,
                source=dataset.name,
                authorized=options.authorized,
                adversaries=options.adversary,
                columns={name: columns[name] for name in options.private},
                seeded=options.seed is not None,
                version=__version__,
            )
    else:
        mechanisms = load_model(Path(str(options.model)))
        columns = _columns(dataset, [mechanism.column for mechanism in mechanisms])
        if not len(columns[mechanisms[0].column]):
            raise DataError(f"{dataset.name} has no rows; there is nothing to sanitize")
    released = released_columns(mechanisms, columns, _noise(options.seed), keep_names=options.keep_names)
    table = with_releases(_carrier(options, dataset), released)
    _write(options, table, mechanisms, page)
    return Sanitized(
        source=dataset.name,
        rows=table.num_rows,
        columns=tuple(mechanism.column for mechanism in mechanisms),
        released=tuple(name for parts in released.values() for name in parts),
        audits=fitted,
        seeded=options.seed is not None,
        out=None if options.out is None else Path(options.out),
        model=None if options.model is None else Path(options.model),
        report=None if options.report is None else Path(options.report),
        table=table,
    )


def _check(options: Sanitize) -> None:
    """Say what is wrong before anything is read."""
    if options.out is not None:
        check_format(Path(options.out))
    written = [path for path, _ in _outputs(options)]
    for path in written:
        check_free(path, overwrite=options.overwrite)
    if len({path.resolve() for path in written}) < len(written):
        raise OutputError("table, model and report need three different names")
    if not options.private:
        return
    if options.report is not None and find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    _distortions(options)
    installed(options.attackers)
    if find_spec("jax") is None:
        # an audit without networks would be too kind
        raise MissingExtraError(feature="aegis sanitize", extra="sanitize")


def _outputs(options: Sanitize) -> list[tuple[Path, int]]:
    """What is written, with who may read it: a model that is applied is not."""
    model = options.model if options.private else None
    named = ((options.out, PUBLIC), (model, PRIVATE), (options.report, PUBLIC))
    return [(Path(path), mode) for path, mode in named if path is not None]


def _columns(dataset: Dataset, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The values of these columns, each once."""
    kinds = {name: dataset.schema.kind(name) for name in names}
    read = ask(dataset.table.select(*kinds))
    return {name: column_values(read[name], kind) for name, kind in kinds.items()}


def _fitted(options: Sanitize, columns: Mapping[str, NDArray[Any]]) -> tuple[Fitted, ...]:
    return fit_together(
        {name: columns[name] for name in options.private},
        authorized={name: columns[name] for name in options.authorized},
        adversaries=[{name: columns[name] for name in side} for side in options.adversary],
        distortions=_distortions(options),
        family=cast(Family, options.family),
        names=installed(options.attackers),
        rng=np.random.default_rng(0 if options.seed is None else options.seed),
        progress=options.progress,
    )


def _distortions(options: Sanitize) -> dict[str, float]:
    private, distortions = options.private, [float(distortion) for distortion in options.distortions]
    if len(distortions) == 1:
        distortions *= len(private)
    if len(distortions) != len(private):
        raise SanitizerError("give one distortion for all private columns, or one for each in their order")
    for distortion in distortions:
        check_distortion(distortion)
    if len(set(private)) < len(private):
        raise RoleError("a private column is named twice; name each once")
    return dict(zip(private, distortions, strict=True))


def _noise(seed: int | None) -> np.random.Generator:
    # a stream of its own: the fit's draws are not those of the table
    return np.random.default_rng() if seed is None else np.random.default_rng([seed, 1])


def column_values(column: pa.ChunkedArray, kind: Kind) -> NDArray[Any]:
    """Numbers as numbers, days and times as numbers of days, everything else as text; missing stays missing."""
    if kind.is_number:
        return np.asarray(column.cast(pa.float64()).to_numpy() if column.null_count else column.to_numpy())
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        days = column.to_numpy().astype("datetime64[us]")
        return np.where(np.isnat(days), math.nan, days.astype(np.int64) / 86_400e6)
    values = np.empty(len(column), dtype=object)
    values[:] = column.cast(pa.string()).to_pylist()
    return values


def released_columns(
    mechanisms: Sequence[Mechanism],
    columns: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    *,
    keep_names: bool,
) -> dict[str, dict[str, pa.Array]]:
    """What is released in place of each private column: its values and, for a mixture, which part was drawn."""
    made: dict[str, dict[str, pa.Array]] = {}
    for mechanism in mechanisms:
        parts = mechanism.apply(columns[mechanism.column], rng=rng)
        hidden = np.zeros(len(columns[mechanism.column]), dtype=bool)
        if isinstance(mechanism, NumberMechanism):
            drawn = parts.get(f"{mechanism.column}_component", np.zeros(hidden.size, dtype=np.int64))
            hidden = np.isin(drawn, mechanism.silent)
        first, *rest = parts.items()
        # silence is a missing value, not a zero that looks like one
        name = mechanism.column if keep_names else first[0]
        made[mechanism.column] = {name: pa.array(first[1], mask=hidden)} | {n: pa.array(v) for n, v in rest}
    return made


def _carrier(options: Sanitize, dataset: Dataset) -> pa.Table:
    """The whole table; for CSV to CSV every value as it is written, so that what is not released stays as it was."""
    if options.out is not None and is_csv(Path(options.out)) and isinstance(options.data, str | Path):
        return ask(open_dataset(options.data, as_text=True, **reading(options)).table)
    return ask(dataset.table)


def with_releases(table: pa.Table, released: Mapping[str, Mapping[str, pa.Array]]) -> pa.Table:
    """The table with releases where its private columns were."""
    fields: dict[str, Any] = {}
    kept = set(table.column_names) - set(released)
    for parts in released.values():
        taken = kept & set(parts)
        if taken:
            raise SanitizerError(f"the table has a column {sorted(taken)[0]!r} already; rename it first")
    for name in table.column_names:
        fields |= released[name] if name in released else {name: table[name]}
    return pa.table(fields)


def _write(options: Sanitize, table: pa.Table, mechanisms: Sequence[Mechanism], page: str | None) -> None:
    outputs = _outputs(options)
    if not outputs:
        return
    paths = [path for path, _ in outputs]
    with drafts_of(paths, overwrite=options.overwrite, modes=[mode for _, mode in outputs]) as drafts:
        left = list(drafts)
        if options.out is not None:
            expression = connect(None).create_table("sanitized", table, temp=True)
            write_table(expression, left.pop(0), like=Path(options.out), shuffle=False)
        if options.model is not None and options.private:
            write_model(mechanisms, left.pop(0))
        if page is not None:
            left.pop(0).write_text(page, encoding="utf-8")

"""Replace private columns by releases that an authorised party can use and adversaries cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis._version import __version__
from aegis.candidates.sanitizers.fitting import Family, Fitted
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import Mechanism, NumberMechanism, load_model, write_model
from aegis.candidates.sanitizers.together import fit_together
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import connect, open_dataset
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.errors import DataError, MissingExtraError, OutputError, RoleError, SanitizerError
from aegis.library.curve import known_attackers
from aegis.progress import Progress
from aegis.releases.write import check_format, is_csv, write_table
from aegis.report.sanitize_report import render_sanitized

FAMILIES: tuple[Family, ...] = ("capped", "free", "noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized:
    """A table with releases in place of its private columns, and how they were found."""

    source: str
    rows: int
    columns: tuple[str, ...]
    released: tuple[str, ...]
    fitted: tuple[Fitted, ...]
    seeded: bool
    out: Path
    model: Path | None
    report: Path | None

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis sanitize --json`` prints."""
        return {
            "source": self.source,
            "rows": self.rows,
            "private": list(self.columns),
            "released": list(self.released),
            "columns": [one.to_json() for one in self.fitted],
            "noise": "from the seed" if self.seeded else "fresh",
            "out": str(self.out),
            "model": None if self.model is None else str(self.model),
            "report": None if self.report is None else str(self.report),
        }


def sanitize(
    data: Any,
    *,
    private: Sequence[str],
    authorized: Sequence[str],
    adversaries: Sequence[Sequence[str]],
    distortion: float | Sequence[float],
    out: str | Path,
    model: str | Path | None = None,
    report: str | Path | None = None,
    family: Family = "capped",
    attackers: Sequence[str] | None = None,
    seed: int | None = None,
    keep_names: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Sanitized:
    """Find a mechanism for each private column, audit it, and write the table with releases in their place.

    Table, model and report appear together, and only if the audit accepted every column. The noise of the table comes
    from the system unless a ``seed`` is given: whoever knows the seed can undo it. ``keep_names`` calls a release what
    the column was called, so that policies and the advisor take it for that column's masked form.
    """
    paths = _outputs(out, model, report, overwrite=overwrite)
    if family not in FAMILIES:
        raise SanitizerError(f"there is no family called {family!r}; use {', '.join(FAMILIES)}")
    if not private or not adversaries or not all(adversaries):
        raise RoleError("name the private columns (--private) and at least one adversary's columns (--adversary)")
    distortions = _distortions(private, distortion)
    named = known_attackers(attackers)
    if find_spec("jax") is None:
        # an audit without networks would be too kind
        raise MissingExtraError(feature="aegis sanitize", extra="sanitize")
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    wanted = list(dict.fromkeys([*private, *authorized, *(name for side in adversaries for name in side)]))
    for name in wanted:
        dataset.schema.kind(name)
    read = ask(dataset.table.select(*wanted))
    columns = {name: column_values(read[name], dataset.schema.kind(name)) for name in wanted}
    fitted = fit_together(
        {name: columns[name] for name in private},
        authorized={name: columns[name] for name in authorized},
        adversaries=[{name: columns[name] for name in side} for side in adversaries],
        distortions=distortions,
        family=family,
        names=named,
        rng=np.random.default_rng(0 if seed is None else seed),
        progress=progress,
    )
    mechanisms = tuple(one.mechanism for one in fitted)
    released = released_columns(mechanisms, columns, _noise(seed), keep_names=keep_names)
    table = with_releases(_carrier(data, dataset, out=paths[0], options=options), released)
    page = None
    if report is not None:
        page = render_sanitized(
            fitted,
            source=dataset.name,
            authorized=authorized,
            adversaries=adversaries,
            columns={name: columns[name] for name in private},
            seeded=seed is not None,
            version=__version__,
        )
    _write(table, mechanisms if model is not None else None, page, paths, overwrite=overwrite)
    return Sanitized(
        source=dataset.name,
        rows=table.num_rows,
        columns=tuple(private),
        released=tuple(name for parts in released.values() for name in parts),
        fitted=fitted,
        seeded=seed is not None,
        out=paths[0],
        model=None if model is None else Path(model),
        report=None if report is None else Path(report),
    )


def sanitize_again(
    data: Any,
    *,
    model: str | Path,
    out: str | Path,
    seed: int | None = None,
    keep_names: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Sanitized:
    """Apply a saved model to other rows. Nothing is fitted and nothing audited."""
    paths = _outputs(out, None, None, overwrite=overwrite)
    mechanisms = load_model(Path(model))
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    names = [mechanism.column for mechanism in mechanisms]
    read = ask(dataset.table.select(*(name for name in names if dataset.schema.kind(name))))
    if read.num_rows == 0:
        raise DataError(f"{dataset.name} has no rows; there is nothing to sanitize")
    columns = {name: column_values(read[name], dataset.schema.kind(name)) for name in names}
    released = released_columns(mechanisms, columns, _noise(seed), keep_names=keep_names)
    table = with_releases(_carrier(data, dataset, out=paths[0], options=options), released)
    _write(table, None, None, paths, overwrite=overwrite)
    return Sanitized(
        source=dataset.name,
        rows=table.num_rows,
        columns=tuple(names),
        released=tuple(name for parts in released.values() for name in parts),
        fitted=(),
        seeded=seed is not None,
        out=paths[0],
        model=Path(model),
        report=None,
    )


def _outputs(out: str | Path, model: str | Path | None, report: str | Path | None, *, overwrite: bool) -> list[Path]:
    paths = [Path(path) for path in (out, model, report) if path is not None]
    check_format(paths[0])
    for path in paths:
        check_free(path, overwrite=overwrite)
    if len({path.resolve() for path in paths}) < len(paths):
        raise OutputError("table, model and report need three different names")
    if report is not None and find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    return paths


def _distortions(private: Sequence[str], distortion: float | Sequence[float]) -> dict[str, float]:
    given = [float(distortion)] if isinstance(distortion, int | float) else [float(d) for d in distortion]
    if len(given) == 1:
        given *= len(private)
    if len(given) != len(private):
        raise SanitizerError("give one distortion for all private columns, or one for each in their order")
    for one in given:
        check_distortion(one)
    if len(set(private)) < len(private):
        raise RoleError("a private column is named twice; name each once")
    return dict(zip(private, given, strict=True))


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


def _carrier(data: Any, dataset: Dataset, *, out: Path, options: Mapping[str, Any]) -> pa.Table:
    """The whole table; for CSV to CSV every value as it is written, so that what is not released stays as it was."""
    if is_csv(out) and isinstance(data, str | Path):
        return ask(open_dataset(data, as_text=True, **options).table)
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


def _write(
    table: pa.Table, mechanisms: Sequence[Mechanism] | None, page: str | None, paths: list[Path], *, overwrite: bool
) -> None:
    modes = [PUBLIC, *([PRIVATE] if mechanisms is not None else []), *([PUBLIC] if page is not None else [])]
    with drafts_of(paths, overwrite=overwrite, modes=modes) as drafts:
        expression = connect(None).create_table("sanitized", table, temp=True)
        write_table(expression, drafts[0], like=paths[0], shuffle=False)
        if mechanisms is not None:
            write_model(mechanisms, drafts[1])
        if page is not None:
            drafts[-1].write_text(page, encoding="utf-8")

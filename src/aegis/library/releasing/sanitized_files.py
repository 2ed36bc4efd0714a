"""The files of a sanitized table: one for each recipient, a reconstructor for each authorised group, a certificate."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis._version import __version__
from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP, VALUE_CAP, Fitted
from aegis.candidates.sanitizers.caps import CERTAIN
from aegis.candidates.sanitizers.mechanism import Mechanism, Model, NumberMechanism, sources, write_model
from aegis.candidates.sanitizers.reconstructor import Reconstructor, write_reconstructors
from aegis.commands.sanitize import Sanitize
from aegis.data.dataset import Dataset
from aegis.data.engine import connect
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.errors import SanitizerError
from aegis.library.ledgers.derivation import note_made_of
from aegis.library.releasing.sanitized_record import SanitizedRecord, put_on_record
from aegis.library.tables.judging import read_policy
from aegis.releases.certificate import Certificate, certificate_paths, hash_of
from aegis.releases.certificate_kinds import SANITIZED
from aegis.releases.write import check_format, write_table
from aegis.report.sanitize_report import render_sanitized

if TYPE_CHECKING:
    from aegis.library.sanitize import Sanitized

FILES = ("out", "authorized_out", "reconstructor", "certificate", "model", "report")
PUBLIC_FILES = {"out", "certificate", "report"}


def group_file(name: str, group: int) -> str:
    """How the file of an authorised group is called among the files to write; the first has no number."""
    return name if group == 0 else f"{name}_{group + 1}"


def files_of(options: Sanitize, *, groups: int) -> dict[str, Path]:
    """The files to write by what they hold, the public one first; one that cannot be written is an error.

    Those of further authorised groups are named after the first one's, with their number.
    """
    paths: dict[str, Path] = {}
    if options.out is not None:
        public = Path(options.out)
        first = Path(options.authorized_out or public.with_name(f"{public.stem}-authorized{public.suffix}"))
        reconstructor = Path(options.reconstructor or first.with_suffix(".npz"))
        paths["out"] = public
        for group in range(groups):
            paths[group_file("authorized_out", group)] = _numbered(first, group)
        for path in paths.values():
            check_format(path)
        if options.private:
            for group in range(groups):
                paths[group_file("reconstructor", group)] = _numbered(reconstructor, group)
            paths["certificate"] = certificate_paths(public)[0]
    if options.private and options.model is not None:
        paths["model"] = Path(options.model)
    if options.report is not None:
        paths["report"] = Path(options.report)
    check_free(*paths.values(), overwrite=options.overwrite)
    return paths


def _numbered(path: Path, group: int) -> Path:
    return path if group == 0 else path.with_name(f"{path.stem}-{group + 1}{path.suffix}")


def released_columns(
    mechanisms: Sequence[Mechanism],
    drawn: Mapping[str, Mapping[str, NDArray[Any]]],
    *,
    keep_names: bool,
) -> dict[str, dict[str, pa.Array]]:
    """What stands in place of each private column: the values drawn and, for a mixture, which part was drawn."""
    columns: dict[str, dict[str, pa.Array]] = {}
    for mechanism in mechanisms:
        parts = drawn[mechanism.column]
        first, *rest = parts.items()
        hidden = np.zeros(len(first[1]), dtype=bool)
        if isinstance(mechanism, NumberMechanism):
            component = parts.get(f"{mechanism.column}_component", np.zeros(hidden.size, dtype=np.int64))
            hidden = np.isin(component, mechanism.silent)
        # silence is a missing value, not a zero that looks like one
        name = mechanism.column if keep_names else first[0]
        columns[sources(mechanism)[0]] = {name: pa.array(first[1], mask=hidden)} | {n: pa.array(v) for n, v in rest}
    return columns


def with_releases(table: pa.Table, released: Mapping[str, Mapping[str, pa.Array]]) -> pa.Table:
    """The table with releases where its private columns were."""
    fields: dict[str, Any] = {}
    names = set(table.column_names) - set(released)
    for parts in released.values():
        taken = names & set(parts)
        if taken:
            raise SanitizerError(f"the table has a column {sorted(taken)[0]!r} already; rename it first")
    for name in table.column_names:
        fields |= released[name] if name in released else {name: table[name]}
    return pa.table(fields)


def recipients_tables(
    carrier: pa.Table, released: Mapping[str, Mapping[str, pa.Array]], model: Model
) -> tuple[pa.Table, ...]:
    """The public table, then that of each authorised group: the releases, and the columns that each may have."""
    whole = with_releases(carrier, released)
    shown = {name for parts in released.values() for name in parts}
    return tuple(
        whole.select([name for name in whole.column_names if name in shown or name in columns])
        for columns in (model.public, *model.authorized)
    )


def write_files(
    options: Sanitize,
    paths: Mapping[str, Path],
    result: Sanitized,
    model: Model,
    fitted: Sequence[Fitted],
    columns: Mapping[str, NDArray[Any]],
    adversaries: Sequence[Sequence[str]],
    *,
    dataset: Dataset,
    record: SanitizedRecord | None,
) -> Sanitized:
    """Every file, together or not at all; what only some may have is theirs alone to read.

    They are on record in the table's ledger before anybody can see one.
    """
    if not paths:
        return result
    page = None
    if "report" in paths:
        page = render_sanitized(
            fitted,
            written=result.written,
            source=result.source,
            authorized=model.authorized,
            adversaries=adversaries,
            columns={column.mechanism.column: columns[column.mechanism.column] for column in fitted},
            seeded=result.seeded,
            version=__version__,
        )
    content: dict[str, Any] | None = None
    modes = [PUBLIC if name in PUBLIC_FILES else PRIVATE for name in paths]
    with drafts_of(list(paths.values()), overwrite=options.overwrite, modes=modes) as made:
        drafts = dict(zip(paths, made, strict=True))
        own = () if result.authorized_table is None else (result.authorized_table, *result.further_tables)
        named = {"out": result.table} | {group_file("authorized_out", group): table for group, table in enumerate(own)}
        for recipient, table in named.items():
            if recipient in drafts:
                expression = connect(None).create_table(f"sanitized_{recipient}", table, temp=True)
                write_table(expression, drafts[recipient], like=paths[recipient], shuffle=False)
                note_made_of(
                    options.data,
                    dataset,
                    drafts[recipient],
                    out=paths[recipient],
                    command="sanitize",
                    changed=result.released,
                )
        for group in range(len(model.authorized)):
            if (name := group_file("reconstructor", group)) in drafts:
                write_reconstructors([Reconstructor.of(column, group) for column in fitted], drafts[name])
        if "certificate" in drafts:
            content = _certificate(options, result, adversaries, drafts["out"], record)
            drafts["certificate"].write_text(Certificate(content=content).to_json(), encoding="utf-8")
        if "model" in drafts:
            write_model(model, drafts["model"])
        if page is not None:
            drafts["report"].write_text(page, encoding="utf-8")
        if record is None or "out" not in drafts:
            return result
        entries = put_on_record(
            record,
            model=model,
            files={name: (drafts[name], paths[name]) for name in named if name in drafts},
            certificate=content,
            audits=result.audits,
        )
    return replace(result, ledger_entries=entries)


def _certificate(
    options: Sanitize,
    result: Sanitized,
    adversaries: Sequence[Sequence[str]],
    draft: Path,
    record: SanitizedRecord | None,
) -> dict[str, Any]:
    """What the release promises: recipients, sanitizers with their caps and audits, and what was written."""
    rules = None if options.policy is None else read_policy(options.policy)
    return {
        SANITIZED: 1,
        "software": {"aegis": __version__},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "release": {"name": Path(str(options.out)).name, "sha256": hash_of(draft), "rows": result.rows},
        "source": {"name": result.source},
        "recipients": {
            "adversaries": [list(side) for side in adversaries],
            "authorized": list(options.authorized),
            "also_authorized": [list(columns) for columns, _ in options.further_groups],
            "left_out": list(result.left_out),
        },
        "sanitized": list(result.columns),
        "loss": {audited.column: audited.loss for audited in result.audits},
        "filled": [asdict(column) for column in result.filled],
        "released": list(result.released),
        "caps": {
            "determined": CERTAIN_CAP,
            "determined_of_a_value": VALUE_CAP,
            "posterior_at_least": CERTAIN,
            "pinned": "no more than noise of the same measured error",
            "asked": {name: getattr(options, name) for name in ("posterior", "leakage", "local_dp")},
        },
        "audits": [audited.to_json() for audited in result.audits],
        "written": [asdict(column) for column in result.written],
        "policy": None if rules is None else rules.to_mapping(),
        "policy_id": None if rules is None else rules.id,
        "judged": "the true values of the private columns, in classes of the public columns",
        "ledger": None if record is None else record.to_json(),
        "verdicts": None if result.verdicts is None else [dict(verdict) for verdict in result.verdicts],
    }

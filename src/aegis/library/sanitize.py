"""Replace private columns by releases that an authorised party can use and adversaries cannot: a table for each."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis._version import __version__
from aegis.candidates.sanitizers.audited_column import AuditedColumn, Fitted
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.checkpoint import check_checkpoint
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.joint import joined, joint_cost, joint_name
from aegis.candidates.sanitizers.mechanism import (
    Mechanism,
    Model,
    NumberMechanism,
    load_model,
    sources,
    write_model,
)
from aegis.candidates.sanitizers.number_column import Family
from aegis.candidates.sanitizers.posterior import CERTAIN
from aegis.candidates.sanitizers.reconstructor import Reconstructor, write_reconstructors
from aegis.candidates.sanitizers.split import CERTAIN_CAP, VALUE_CAP, Training
from aegis.candidates.sanitizers.together import Written, check_written, fit_together
from aegis.commands.fields import PolicyLike
from aegis.commands.sanitize import Sanitize
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import connect, open_dataset
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.errors import DataError, MissingExtraError, OutputError, PolicyNotSatisfiedError, RoleError, SanitizerError
from aegis.library.curve import installed
from aegis.library.judging import classes_of, read_policy, why_not
from aegis.library.opening import open_table, reading
from aegis.masking.plural import count
from aegis.operation import operation
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import narrowed
from aegis.releases.certificate import SANITIZED, Certificate, certificate_paths, hash_of
from aegis.releases.write import check_format, is_csv, write_table
from aegis.report.sanitize_report import render_sanitized
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized(Result):
    """Releases in place of private columns, one table for each recipient, and what an audit of each found.

    ``table`` is the public one and ``authorized_table`` that of the authorised party; neither is part of the JSON: a
    result that was read from there has None. Where a saved model was applied nothing was audited. ``left_out`` are the
    columns that are in neither table.
    """

    source: str
    rows: int
    columns: tuple[str, ...]
    released: tuple[str, ...]
    audits: tuple[AuditedColumn, ...]
    written: tuple[Written, ...]
    verdicts: tuple[Mapping[str, Any], ...] | None
    seeded: bool
    left_out: tuple[str, ...]
    out: Path | None
    authorized_out: Path | None
    reconstructor: Path | None
    certificate: Path | None
    model: Path | None
    report: Path | None
    table: pa.Table | None = None
    authorized_table: pa.Table | None = None

    @property
    def headline(self) -> str:
        """What stands in place of what."""
        audited = "" if self.audits else "; nothing audited"
        return f"{count(self.rows, 'row')}: {', '.join(self.columns)} replaced by {', '.join(self.released)}{audited}"

    def table_rows(self) -> list[dict[str, Any]]:
        """The error of every party with the release and without, column by column."""
        rows = []
        for audited in self.audits:
            reached = audited.reconstruction.loss
            parties = [("authorised", audited.max_distortion, reached, "its reconstructor")]
            for number, party in enumerate(audited.audit.adversaries, start=1):
                before = audited.saturation_losses[number - 1]
                parties.append((f"adversary {number}", before, party.loss, party.attacker))
            rows += [
                {
                    "column": audited.column,
                    "party": name,
                    "error_without": before,
                    "error_with": loss,
                    "best_attacker": attacker,
                }
                for name, before, loss, attacker in parties
            ]
        return rows

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis sanitize --json`` prints."""
        paths = ("out", "authorized_out", "reconstructor", "certificate", "model", "report")
        return {
            "source": self.source,
            "rows": self.rows,
            "private": list(self.columns),
            "released": list(self.released),
            "columns": [audited.to_json() for audited in self.audits],
            "written": [asdict(column) for column in self.written],
            "verdicts": None if self.verdicts is None else [dict(verdict) for verdict in self.verdicts],
            "noise": "from the seed" if self.seeded else "fresh",
            "left_out": list(self.left_out),
            **{name: None if getattr(self, name) is None else str(getattr(self, name)) for name in paths},
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
    """Find a mechanism for each private column, audit it, and give one table to each recipient.

    ``out`` is public: the releases and the columns that every adversary knows, nothing else. The authorised party's
    file holds the releases and its own columns, its reconstructor turns them into estimates (`reconstruct`), and a
    certificate says what was promised and measured. With a ``policy`` the true values of private columns are judged,
    not what stands in their place.

    All files appear together, and only if the reconstructor meets the distortion, the caps hold on what was drawn for
    the table, and the policy is satisfied. The noise comes from the system unless a ``seed`` is given: whoever knows
    the seed can undo it.

    Without ``private`` the saved ``model`` is applied to the rows: nothing is fitted and nothing audited.
    """
    paths = _check(options)
    dataset = open_table(options.data, options)
    fitted: tuple[Fitted, ...] = ()
    written: tuple[Written, ...] = ()
    judgement = None
    if options.private:
        public = tuple(n for n in options.adversary[0] if all(n in side for side in options.adversary))
        columns = _columns(dataset, [*options.private, *options.authorized, *chain(*options.adversary)])
        judgement = None if options.policy is None else _judged(dataset, options.policy, options.private, public)
        if options.jointly:
            columns[joint_name(options.private)] = joined(columns, options.private)
        fitted = _fitted(options, columns)
        model = Model(
            mechanisms=tuple(column.mechanism for column in fitted), public=public, authorized=tuple(options.authorized)
        )
    else:
        model = load_model(Path(str(options.model)))
        columns = _columns(dataset, [name for mechanism in model.mechanisms for name in sources(mechanism)])
        for mechanism in model.mechanisms:
            if mechanism.column not in columns:
                columns[mechanism.column] = joined(columns, sources(mechanism))
        for name in (*model.public, *model.authorized):
            dataset.schema.kind(name)
        if not len(columns[model.mechanisms[0].column]):
            raise DataError(f"{dataset.name} has no rows; there is nothing to sanitize")
    noise = _noise(options.seed)
    drawn = {one.column: one.apply(columns[one.column], rng=noise) for one in model.mechanisms}
    if fitted:
        written = check_written(
            fitted,
            columns,
            drawn,
            public=model.public,
            others=_possible_proxies(dataset, options.private, model.public),
            rng=np.random.default_rng(options.seed or 0),
        )
    released = released_columns(model.mechanisms, drawn, keep_names=options.keep_names)
    carrier = _carrier(options, dataset)
    tables = _tables(carrier, released, model)
    result = Sanitized(
        source=dataset.name,
        rows=carrier.num_rows,
        columns=tuple(mechanism.column for mechanism in model.mechanisms),
        released=tuple(name for parts in released.values() for name in parts),
        audits=fitted,
        written=written,
        verdicts=None if judgement is None else tuple(judgement.as_certificate()["models"]),
        seeded=options.seed is not None,
        left_out=tuple(
            name
            for name in carrier.column_names
            if name not in {*chain(*map(sources, model.mechanisms)), *model.public, *model.authorized}
        ),
        table=tables["out"],
        authorized_table=tables["authorized_out"],
        **{"model": None if options.model is None else Path(options.model), **_named(paths)},
    )
    _write(options, paths, result, model, fitted, columns)
    return result


PATHS = ("out", "authorized_out", "reconstructor", "certificate", "model", "report")
SECRET = {"authorized_out", "reconstructor", "model"}


def _check(options: Sanitize) -> dict[str, Path]:
    """Say what is wrong before anything is read; gives the files to write by what they hold, the public one first."""
    paths: dict[str, Path] = {}
    if options.out is not None:
        public = Path(options.out)
        own = Path(options.authorized_out or public.with_name(f"{public.stem}-authorized{public.suffix}"))
        paths |= {"out": public, "authorized_out": own}
        for path in paths.values():
            check_format(path)
        if options.private:
            paths["reconstructor"] = Path(options.reconstructor or own.with_suffix(".npz"))
            paths["certificate"] = certificate_paths(public)[0]
    if options.private and options.model is not None:
        paths["model"] = Path(options.model)
    if options.report is not None:
        paths["report"] = Path(options.report)
    for path in paths.values():
        check_free(path, overwrite=options.overwrite)
    if len({path.resolve() for path in paths.values()}) < len(paths):
        raise OutputError("every file that is written needs a name of its own")
    if not options.private:
        return paths
    if options.report is not None and find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    _distortions(options)
    installed(options.attackers)
    if options.checkpoint is not None:
        check_checkpoint(Path(options.checkpoint))
    if find_spec("jax") is None:
        # an audit without networks would be too kind
        raise MissingExtraError(feature="aegis sanitize", extra="sanitize")
    return paths


def _named(paths: Mapping[str, Path]) -> dict[str, Path | None]:
    return {name: paths.get(name) for name in PATHS if name != "model"} | (
        {"model": paths["model"]} if "model" in paths else {}
    )


def _judged(dataset: Dataset, policy: PolicyLike, private: Sequence[str], public: Sequence[str]) -> Judgement:
    """The policy on classes of the public columns and the *true* values of private ones, or an error."""
    rules = read_policy(policy)
    roles = rules.roles_in(dataset.schema, dataset.roles)
    # a private column is never a quasi-identifier here: nobody sees it, and it is judged by its values
    narrow = narrowed(rules, roles, left_out=[n for n in dataset.schema.names if n not in {*private, *public}])
    seen = tuple(name for name in narrow.roles.quasi_identifying if name not in private)
    table = classes_of(dataset, narrow.policy, replace(narrow.roles, quasi_identifying=seen))
    found = judge_all(table, narrow.policy, suppress=False)
    if not found.satisfied:
        raise PolicyNotSatisfiedError(
            f"nothing is written: judged by the true values of {', '.join(private)}, {why_not(found, table)}"
        )
    return found


def _certificate(options: Sanitize, result: Sanitized, draft: Path) -> dict[str, Any]:
    """What the release promises: recipients, sanitizers with their caps and audits, and what was written."""
    rules = None if options.policy is None else read_policy(options.policy)
    return {
        SANITIZED: 1,
        "software": {"aegis": __version__},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "release": {"name": Path(str(options.out)).name, "sha256": hash_of(draft), "rows": result.rows},
        "source": {"name": result.source},
        "recipients": {
            "adversaries": [list(side) for side in _adversaries(options)],
            "authorized": list(options.authorized),
            "left_out": list(result.left_out),
        },
        "sanitized": list(result.columns),
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
        "verdicts": None if result.verdicts is None else [dict(verdict) for verdict in result.verdicts],
    }


def _columns(dataset: Dataset, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The values of these columns, each once."""
    kinds = {name: dataset.schema.kind(name) for name in names}
    read = ask(dataset.table.select(*kinds))
    return {name: column_values(read[name], kind) for name, kind in kinds.items()}


def _fitted(options: Sanitize, columns: Mapping[str, NDArray[Any]]) -> tuple[Fitted, ...]:
    names, costs, parts = tuple(options.private), {}, {}
    if options.jointly:
        names = (joint_name(options.private),)
        costs, parts = {names[0]: joint_cost(columns[names[0]])}, {names[0]: tuple(options.private)}
    training = None
    if options.train:
        checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
        training = Training(checkpoint=checkpoint, progress=options.progress)
    return fit_together(
        {name: columns[name] for name in names},
        authorized={name: columns[name] for name in options.authorized},
        adversaries=[{name: columns[name] for name in side} for side in _adversaries(options)],
        distortions=_distortions(options),
        family=cast(Family, options.family),
        caps=_caps(options),
        costs=costs,
        parts=parts,
        training=training,
        names=installed(options.attackers),
        rng=np.random.default_rng(0 if options.seed is None else options.seed),
        progress=options.progress,
    )


def _possible_proxies(dataset: Dataset, private: Sequence[str], public: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns that the public file does not hold: somebody may know them from elsewhere."""
    names = [name for name in dataset.schema.names if name not in {*private, *public}]
    return _columns(dataset, names) if names else {}


def _caps(options: Sanitize) -> Caps | None:
    caps = Caps(posterior=options.posterior, leakage=options.leakage, local_dp=options.local_dp)
    return caps if caps else None


def _adversaries(options: Sanitize) -> list[tuple[str, ...]]:
    """What each adversary knows; a coalition knows all of it."""
    sides = [tuple(side) for side in options.adversary]
    return [*sides, tuple(dict.fromkeys(chain(*sides)))] if options.coalition else sides


def _distortions(options: Sanitize) -> dict[str, float]:
    private, distortions = tuple(options.private), [float(distortion) for distortion in options.distortions]
    if len(set(private)) < len(private):
        raise RoleError("a private column is named twice; name each once")
    if options.jointly:
        private = (joint_name(private),)
    if len(distortions) == 1:
        distortions *= len(private)
    if len(distortions) != len(private):
        raise SanitizerError("give one distortion for all private columns, or one for each in their order")
    for distortion in distortions:
        check_distortion(distortion)
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
    drawn: Mapping[str, Mapping[str, NDArray[Any]]],
    *,
    keep_names: bool,
) -> dict[str, dict[str, pa.Array]]:
    """What stands in place of each private column: the values drawn and, for a mixture, which part was drawn."""
    made: dict[str, dict[str, pa.Array]] = {}
    for mechanism in mechanisms:
        parts = drawn[mechanism.column]
        first, *rest = parts.items()
        hidden = np.zeros(len(first[1]), dtype=bool)
        if isinstance(mechanism, NumberMechanism):
            component = parts.get(f"{mechanism.column}_component", np.zeros(hidden.size, dtype=np.int64))
            hidden = np.isin(component, mechanism.silent)
        # silence is a missing value, not a zero that looks like one
        name = mechanism.column if keep_names else first[0]
        made[sources(mechanism)[0]] = {name: pa.array(first[1], mask=hidden)} | {n: pa.array(v) for n, v in rest}
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


def _tables(carrier: pa.Table, released: Mapping[str, Mapping[str, pa.Array]], model: Model) -> dict[str, pa.Table]:
    """The public table and the authorised party's: the releases, and the columns that each may have."""
    whole = with_releases(carrier, released)
    shown = {name for parts in released.values() for name in parts}
    return {
        recipient: whole.select([name for name in whole.column_names if name in shown or name in columns])
        for recipient, columns in (("out", set(model.public)), ("authorized_out", set(model.authorized)))
    }


def _write(
    options: Sanitize,
    paths: Mapping[str, Path],
    result: Sanitized,
    model: Model,
    fitted: Sequence[Fitted],
    columns: Mapping[str, NDArray[Any]],
) -> None:
    """Every file, together or not at all; what only some may have is theirs alone to read."""
    if not paths:
        return
    page = None
    if "report" in paths:
        page = render_sanitized(
            fitted,
            written=result.written,
            source=result.source,
            authorized=options.authorized,
            adversaries=_adversaries(options),
            columns={column.mechanism.column: columns[column.mechanism.column] for column in fitted},
            seeded=result.seeded,
            version=__version__,
        )
    modes = [PRIVATE if name in SECRET else PUBLIC for name in paths]
    with drafts_of(list(paths.values()), overwrite=options.overwrite, modes=modes) as made:
        drafts = dict(zip(paths, made, strict=True))
        for recipient, table in (("out", result.table), ("authorized_out", result.authorized_table)):
            if recipient in drafts:
                expression = connect(None).create_table(f"sanitized_{recipient}", table, temp=True)
                write_table(expression, drafts[recipient], like=paths[recipient], shuffle=False)
        if "reconstructor" in drafts:
            write_reconstructors([Reconstructor.of(column) for column in fitted], drafts["reconstructor"])
        if "certificate" in drafts:
            content = _certificate(options, result, drafts["out"])
            drafts["certificate"].write_text(Certificate(content=content).to_json(), encoding="utf-8")
        if "model" in drafts:
            write_model(model, drafts["model"])
        if page is not None:
            drafts["report"].write_text(page, encoding="utf-8")

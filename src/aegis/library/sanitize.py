"""Replace private columns by releases that an authorised party can use and adversaries cannot: a table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.sanitizers.audited_column import AuditedColumn, Fitted, refuse_unprotected
from aegis.candidates.sanitizers.capped_problem import read_costs
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.encoding import Parts, joined, joint_cost, joint_name, ranges_of
from aegis.candidates.sanitizers.evaluator import Training
from aegis.candidates.sanitizers.fitting import fit_together
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Model, load_model, ranges_in, sources
from aegis.candidates.sanitizers.number_column import Family
from aegis.candidates.sanitizers.training_settings import check_checkpoint
from aegis.candidates.sanitizers.written import Written, check_written
from aegis.commands.fields import PolicyLike
from aegis.commands.sanitize import Sanitize, group_names
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.errors import DataError, MissingExtraError, PolicyNotSatisfiedError, RoleError, SanitizerError
from aegis.library.curve import installed
from aegis.library.releasing.sanitized_release import (
    FILES,
    SanitizedRecord,
    files_of,
    open_record,
    recipients_tables,
    released_columns,
    write_files,
)
from aegis.library.tables.judging import classes_of, read_policy, why_not
from aegis.library.tables.opening import open_table, reading
from aegis.library.tables.records import FilledColumn, column_values, filled_columns
from aegis.operation import operation
from aegis.plural import count
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import narrowed
from aegis.releases.write import is_csv
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized(Result):
    """Releases in place of private columns, one table for each recipient, and what an audit of each found.

    ``table`` is the public one, ``authorized_table`` that of the authorised party and ``further_tables`` those of
    further groups, whose files are ``further_files``; no table is part of the JSON: a result that was read from there
    has None. Where a saved model was applied nothing was audited. ``left_out`` are the columns that are in no table,
    ``filled`` those in which missing values were given a category or the median.
    ``ledger_entries`` are the numbers of the files in the table's ledger, the public one first; none without a ledger.
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
    further_files: tuple[Path, ...] = ()
    table: pa.Table | None = None
    authorized_table: pa.Table | None = None
    further_tables: tuple[pa.Table, ...] = ()
    filled: tuple[FilledColumn, ...] = ()
    ledger_entries: tuple[int, ...] = ()

    @property
    def headline(self) -> str:
        """What stands in place of what."""
        audited = "" if self.audits else "; nothing audited"
        return f"{count(self.rows, 'row')}: {', '.join(self.columns)} replaced by {', '.join(self.released)}{audited}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caps that hold only under the estimate or for a summary, adversaries from whom next to nothing is kept."""
        by_column = [
            f"{audited.column}: {words}"
            for audited in self.audits
            for words in (
                *(() if audited.proof is None or audited.proof.holds_for_set else (audited.proof.where_caps_hold,)),
                *audited.unprotected,
            )
        ]
        return (*by_column, *(f"{column.column}: {column.beyond_cap}" for column in self.written if column.beyond_cap))

    def table_rows(self) -> list[dict[str, Any]]:
        """The error of every party with the release and without, column by column."""
        rows = []
        for audited in self.audits:
            parties = [
                (name, group.max_distortion, group.reconstruction.loss, "its reconstructor")
                for name, group in zip(group_names(len(audited.groups)), audited.groups, strict=True)
            ]
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
            "filled": [asdict(column) for column in self.filled],
            **{name: None if getattr(self, name) is None else str(getattr(self, name)) for name in FILES},
            "further_files": [str(path) for path in self.further_files],
            "ledger_entries": list(self.ledger_entries),
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields as the JSON has them; neither the rows nor the mechanisms are there."""
        return {
            **content,
            "columns": content["private"],
            "audits": [AuditedColumn.from_json(audited) for audited in content["columns"]],
            "seeded": content["noise"] == "from the seed",
            "filled": content.get("filled", ()),
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
            ledger="none",
        )
    """
    saved = None if options.private else load_model(Path(str(options.model)))
    paths = files_of(options, groups=len(_groups(options) if saved is None else saved.authorized))
    _check(options)
    dataset = open_table(options.data, options)
    record = _record(options, dataset, saved) if "out" in paths else None
    fitted: tuple[Fitted, ...] = ()
    written: tuple[Written, ...] = ()
    judgement = None
    filled: tuple[FilledColumn, ...] = ()
    if saved is None:
        public = _public(options)
        columns = _columns(dataset, [*options.private, *chain(*_groups(options)), *chain(*options.adversary)])
        columns, filled = filled_columns(columns)
        judgement = None if options.policy is None else _judged(dataset, options.policy, options.private, public)
        ranges: Parts = ()
        if options.jointly:
            ranges = ranges_of(columns, options.private)
            columns[joint_name(options.private)] = joined(columns, options.private, ranges)
        fitted = _fitted(options, columns, ranges)
        if not options.despite_adversary:
            for audited in fitted:
                refuse_unprotected(audited)
        model = Model(
            mechanisms=tuple(column.mechanism for column in fitted), public=public, authorized=_groups(options)
        )
    else:
        model = saved
        columns = _columns(dataset, [name for mechanism in model.mechanisms for name in sources(mechanism)])
        texts = {name: values for name, values in columns.items() if values.dtype.kind == "O"}
        columns |= filled_columns(texts)[0]  # a category that the model knows, or refuses; numbers must be there
        for mechanism in model.mechanisms:
            if mechanism.column not in columns:
                columns[mechanism.column] = joined(columns, sources(mechanism), ranges_in(mechanism))
        dataset.schema.check(*model.public, *chain(*model.authorized))
        if not len(columns[model.mechanisms[0].column]):
            raise DataError(f"{dataset.name} has no rows; there is nothing to sanitize")
    noise = _noise(options.seed)
    drawn = {mechanism.column: mechanism.apply(columns[mechanism.column], rng=noise) for mechanism in model.mechanisms}
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
    public_table, authorized_table, *further_tables = recipients_tables(carrier, released, model)
    result = Sanitized(
        source=dataset.name,
        rows=carrier.num_rows,
        columns=tuple(mechanism.column for mechanism in model.mechanisms),
        released=tuple(name for parts in released.values() for name in parts),
        audits=fitted,
        written=written,
        verdicts=None if judgement is None else tuple(judgement.as_certificate()["models"]),
        seeded=options.seed is not None,
        filled=filled,
        left_out=tuple(
            name
            for name in carrier.column_names
            if name not in {*chain(*map(sources, model.mechanisms)), *model.public, *chain(*model.authorized)}
        ),
        table=public_table,
        authorized_table=authorized_table,
        further_tables=tuple(further_tables),
        further_files=tuple(path for name, path in paths.items() if name not in FILES),
        ledger_entries=(),
        **{name: paths.get(name) for name in FILES} | {"model": None if options.model is None else Path(options.model)},
    )
    return write_files(
        options, paths, result, model, fitted, columns, _adversaries(options), dataset=dataset, record=record
    )


def _check(options: Sanitize) -> None:
    """Say what is wrong before anything is read."""
    if not options.private:
        return
    if options.report is not None and find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    for allowed in (options.distortions, *(allowed for _, allowed in options.further_groups)):
        _distortions(options, allowed)
    installed(options.attackers)
    if options.checkpoint is not None:
        check_checkpoint(Path(options.checkpoint))
    if find_spec("jax") is None:
        # an audit without networks would be too kind
        raise MissingExtraError(feature="aegis sanitize", extra="sanitize")


def _record(options: Sanitize, dataset: Dataset, saved: Model | None) -> SanitizedRecord | None:
    """The table's ledger, judged with before anything is fitted."""
    if saved is None:
        private, public = tuple(options.private), _public(options)
    else:
        private, public = tuple(chain.from_iterable(sources(mechanism) for mechanism in saved.mechanisms)), saved.public
    dataset.schema.check(*private, *public)
    return open_record(options, dataset, private=private, public=public)


def _public(options: Sanitize) -> tuple[str, ...]:
    """The columns that every adversary knows."""
    return tuple(n for n in options.adversary[0] if all(n in side for side in options.adversary))


def _judged(dataset: Dataset, policy: PolicyLike, private: Sequence[str], public: Sequence[str]) -> Judgement:
    """The policy on classes of the public columns and the *true* values of private ones, or an error."""
    rules = read_policy(policy)
    roles = rules.roles_in(dataset.schema, dataset.roles)
    # a private column is never a quasi-identifier here: nobody sees it, and it is judged by its values
    narrow = narrowed(rules, roles, left_out=[n for n in dataset.schema.names if n not in {*private, *public}])
    seen = tuple(name for name in narrow.roles.quasi_identifying if name not in private)
    table = classes_of(dataset, narrow.policy, replace(narrow.roles, quasi_identifying=seen))
    judgement = judge_all(table, narrow.policy, suppress=False)
    if not judgement.satisfied:
        raise PolicyNotSatisfiedError(
            f"nothing is written: judged by the true values of {', '.join(private)}, {why_not(judgement, table)}"
        )
    return judgement


def _columns(dataset: Dataset, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The values of these columns, each once."""
    kinds = {name: dataset.schema.kind(name) for name in names}
    read = ask(dataset.table.select(*kinds))
    return {name: column_values(read[name], kind) for name, kind in kinds.items()}


def _fitted(options: Sanitize, columns: Mapping[str, NDArray[Any]], ranges: Parts) -> tuple[Fitted, ...]:
    names, costs, parts = tuple(options.private), {}, {}
    if options.jointly:
        names = (joint_name(options.private),)
        parts = {names[0]: tuple(options.private)}
        if options.loss != "log":
            costs = {names[0]: joint_cost(columns[names[0]], ranges)}
    if options.costs is not None:
        costs = {names[0]: read_costs(Path(options.costs), columns[names[0]], column=names[0])}
    training = None
    if options.train:
        checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
        training = Training(checkpoint=checkpoint, progress=options.progress)
    fitted = fit_together(
        {name: columns[name] for name in names},
        authorized={name: columns[name] for name in options.authorized},
        adversaries=[{name: columns[name] for name in side} for side in _adversaries(options)],
        distortions=_distortions(options, options.distortions),
        also=[
            ({name: columns[name] for name in group}, _distortions(options, allowed))
            for group, allowed in options.further_groups
        ],
        family=cast(Family, options.family),
        caps=_caps(options),
        costs=costs,
        log=options.loss == "log",
        parts=parts,
        training=training,
        names=installed(options.attackers),
        rng=np.random.default_rng(0 if options.seed is None else options.seed),
        progress=options.progress,
    )
    if not any(ranges):
        return fitted
    return tuple(
        replace(column, mechanism=replace(cast(CategoryMechanism, column.mechanism), ranges=ranges))
        for column in fitted
    )


def _possible_proxies(dataset: Dataset, private: Sequence[str], public: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns that the public file does not hold: somebody may know them from elsewhere."""
    names = [name for name in dataset.schema.names if name not in {*private, *public}]
    return _columns(dataset, names) if names else {}


def _caps(options: Sanitize) -> Caps | None:
    caps = Caps(posterior=options.posterior, leakage=options.leakage, local_dp=options.local_dp, strict=True)
    return caps if caps else None


def _adversaries(options: Sanitize) -> list[tuple[str, ...]]:
    """What each adversary knows; a coalition knows all of it."""
    sides = [tuple(side) for side in options.adversary]
    return [*sides, tuple(dict.fromkeys(chain(*sides)))] if options.coalition else sides


def _groups(options: Sanitize) -> tuple[tuple[str, ...], ...]:
    """What each authorised group knows."""
    return (tuple(options.authorized), *(columns for columns, _ in options.further_groups))


def _distortions(options: Sanitize, allowed: Sequence[float]) -> dict[str, float]:
    """What an authorised group may have for each private column, ``allowed`` being one figure or one for each."""
    private, distortions = tuple(options.private), [float(distortion) for distortion in allowed]
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


def _carrier(options: Sanitize, dataset: Dataset) -> pa.Table:
    """The whole table; for CSV to CSV every value as it is written, so that what is not released stays as it was."""
    if options.out is not None and is_csv(Path(options.out)) and isinstance(options.data, str | Path):
        return ask(open_dataset(options.data, as_text=True, **reading(options)).table)
    return ask(dataset.table)

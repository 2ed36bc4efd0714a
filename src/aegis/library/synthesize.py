"""Made-up rows with a promise of differential privacy, their certificate, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aegis.candidates.synthesis.declared import (
    PublicDomain,
    check_purpose,
    of_hierarchies,
    parse_domain,
    read_domain,
    stated_kinds,
)
from aegis.candidates.synthesis.measuring import Account, Measured, Noise, OpenDPNoise, Promise, SeededNoise
from aegis.candidates.synthesis.synthesizer import Model, PairError, learn
from aegis.commands.synthesize import Synthesize
from aegis.counts.marginals import TableCounter, bounded
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.output import check_free, drafts_of
from aegis.data.schema import Column, Role
from aegis.errors import DataError, GuaranteeError, InputError, RoleError
from aegis.library.ledgers.budgets import NoiseOnRecord, SharedBudget, reason_to_spend, shared_budget
from aegis.library.tables.opening import find_hierarchies, open_table
from aegis.operation import operation
from aegis.plural import count, listed
from aegis.releases.budget import Budget
from aegis.releases.certificate import SYNTHESIZED, Certificate, certificate_head, certificate_paths, hash_of
from aegis.releases.ledger_entry import RecordedRelease, recipient_named
from aegis.releases.write import check_format, write_table
from aegis.result import UNWRITTEN, Result

MOST_ROWS = 1_000_000
FEWEST_ROWS = 10
LARGE_EPSILON = 10.0
"""Beyond this a promise says little; it is warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentPart:
    """One kind of measurement: how often, with which noise (that of the least), and its share of the budget."""

    what: str
    times: int
    sigma: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesized(Result):
    """Made-up rows, what is promised of them and what it was spent on.

    ``judged_alone`` says that they leave and that no ledger notes what they cost. ``rho`` and ``found_delta`` are what
    was spent; ``types_read`` are columns whose types were read off the rows; ``errors`` say of every pair of attributes
    how far the model was from it when it was asked, with noise.
    ``table`` is not part of the JSON: what was read from there has None.
    """

    source: str
    rows: int
    columns: tuple[str, ...]
    label: str | None
    purpose: str
    epsilon: float
    delta: float
    rho: float
    found_delta: float
    unit: str
    private: bool
    records: float
    origins: Mapping[str, str]
    left_out: Mapping[str, str]
    parts: tuple[SpentPart, ...]
    errors: tuple[PairError, ...]
    off: float
    out: Path | None
    certificate: Path | None
    report: Path | None
    ledger: int | None
    judged_alone: bool
    types_read: tuple[str, ...] = ()
    table: pa.Table | None = field(default=None, metadata=UNWRITTEN)

    @property
    def headline(self) -> str:
        """How many rows, and the promise."""
        promise = f"ε = {self.epsilon:g}, δ = {self.delta:g}"
        named = "" if self.private else " (NOT private: noise by a seed)"
        return f"{count(self.rows, 'made-up row')} of {count(len(self.columns), 'column')}, {promise}{named}"

    @property
    def alone(self) -> tuple[str, ...]:
        """The columns of a wide table that the model holds with the label only, not together with other columns."""
        together = {name for error in self.errors for name in (error.first, error.second)}
        others = [name for name in self.columns if name != self.label and name not in together]
        return tuple(others) if together else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A seed, a budget that nobody adds up or that promises little, columns that are not held together."""
        texts = []
        if self.alone:
            texts.append(
                f"the model holds {len(self.columns) - len(self.alone) - (self.label is not None)} columns together, "
                f"those that say most; drawn without regard to them: {', '.join(self.alone)}"
            )
        if not self.errors and len(self.columns) - (self.label is not None) > 1:
            texts.append(
                "under this budget noise would hide every pair of columns, so that they depend on each other through "
                "the label only; use a larger epsilon, or fewer columns"
            )
        if not self.private:
            texts.append(
                "the noise was drawn by a seed, which whoever knows it can take off again: this table is for tests and "
                "protects nobody"
            )
        elif self.judged_alone:
            texts.append(
                "judged alone: no ledger notes what this spent, so nobody adds it to what else leaves of these rows"
            )
        if self.private and self.types_read:
            texts.append(
                f"the promise does not cover the types of {listed(self.types_read)}, which were read off the rows: a "
                "single text among numbers would change one; state them in the --domain file (age: {type: integer}) "
                "or take a file that states types, such as Parquet"
            )
        if self.epsilon > LARGE_EPSILON:
            texts.append(
                f"an epsilon of {self.epsilon:g} promises little: the odds of a guess about a record may grow "
                f"e^{self.epsilon:g} times; take {LARGE_EPSILON:g} at most"
            )
        if self.delta * max(self.records, 1.0) >= 1.0:
            texts.append(
                f"delta is not below one in the about {self.records:,.0f} rows: publishing one row as it is would keep "
                "such a promise, so take a smaller delta"
            )
        return tuple(texts)

    def table_rows(self) -> list[dict[str, Any]]:
        """What the budget was spent on."""
        return [{"what": p.what, "times": p.times, "sigma": p.sigma, "share": p.share} for p in self.parts]


@operation(Synthesize)
def synthesize(options: Synthesize) -> Synthesized:
    """Learn noisy marginals of a table under a privacy budget, and draw made-up rows that have them.

    Rows never enter the model: an engine counts, noise is added, and everything after that works on noisy counts. The
    budget covers all of it, the search for values and ranges that no ``domain`` declares included. Without ``out``
    nothing is written and nothing is noted in a ledger; the rows are in ``table``, and whoever passes them on spends
    the budget.

    Example::

        aegis.synthesize("clinic.csv", epsilon=5.0, label="health", out="made.csv")
    """
    promise = _promise(options)
    paths = _paths(options)
    declared, where = _domain(options)
    kinds = stated_kinds(declared, where=where)
    dataset = open_table(options.data, options, kinds=kinds)
    label = _label(options, dataset)
    check_purpose(options.purpose, label)
    public = _public(options, dataset, parse_domain(declared, dataset.schema, where=where))
    columns, left_out = _columns(dataset, options, label)
    types_read = tuple(column.name for column in columns if column.name in dataset.types_read)
    finds = any(column.kind is Kind.TEXT and column.name not in public.columns for column in columns)
    account = Account.of(promise, finds_values=finds)
    budget = Budget(epsilon=promise.epsilon, delta=promise.delta, rho=None if finds else account.rho)
    shared = None if not paths else shared_budget(options.data, dataset, options)
    private = options.seed is None
    record = _record(options, dataset, shared if private else None, budget, paths)
    rng = np.random.default_rng(options.seed)
    noise: Noise = OpenDPNoise() if private else SeededNoise(rng)
    on_record = None if record.shared is None else NoiseOnRecord(noise, record.begin)
    table = dataset.table
    if promise.person is not None:
        table = bounded(dataset, promise.person, rows_each=promise.rows_each)
    try:
        model = learn(
            TableCounter(table),
            columns,
            label=label if options.purpose == "label" else None,
            account=account,
            noise=on_record or noise,
            public=public,
            rng=rng,
            progress=options.progress,
        )
        rows = options.rows or int(np.clip(round(model.records), FEWEST_ROWS, MOST_ROWS))
        drawn = model.drawn(rows, rng, order=dataset.schema.names, public=public)
    except (InputError, GuaranteeError) as error:
        if on_record is None or on_record.entry is None:
            raise
        raise type(error)(f"{error}; {record.spent_for_nothing(on_record.entry)}") from None
    left_out |= {column.name: column.reason for column in model.left_out}
    made = _Made(
        model=model,
        account=account,
        table=drawn,
        private=private,
        left_out=left_out,
        dataset=dataset,
        label=label,
        types_read=types_read,
    )
    record = replace(record, begun=None if on_record is None else on_record.entry)
    return _written(made, options, paths, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What the run spends, in which ledger; ``shared`` is None where it stays off the record.

    ``despite`` is the reason to go past a limit, None where that is not needed; ``begun`` the entry that spent it.
    """

    shared: SharedBudget | None
    budget: Budget
    leaving: RecordedRelease
    despite: str | None
    leaves: bool
    begun: int | None = None

    def begin(self) -> int:
        """Spend the budget."""
        assert self.shared is not None
        return self.shared.begin(self.leaving)

    def spent_for_nothing(self, entry: int) -> str:
        """What a run that stopped has cost."""
        assert self.shared is not None
        return (
            f"noise was drawn to find that out, so {self.budget.describe()} is spent (entry {entry} of "
            f"{self.shared.path.name}) and nothing was written"
        )

    def to_json(self) -> dict[str, Any] | None:
        """What the certificate says of the ledger; None where the rows were judged alone."""
        if self.shared is None and self.despite is None:
            return None
        return {
            "name": None if self.shared is None else self.shared.path.name,
            "begun": self.begun,
            "recipient": self.leaving.recipient,
            "despite": self.despite,
        }


def _record(
    options: Synthesize, dataset: Dataset, shared: SharedBudget | None, budget: Budget, paths: list[Path]
) -> _Record:
    """Where the run is noted; raises where a limit has no room for it, or would be passed by."""
    despite = reason_to_spend(options.data, dataset, options, shared=shared, asked=budget) if paths else None
    leaving = RecordedRelease(
        name=Path(str(options.out or options.report)).name,
        kind="synthetic",
        recipient=recipient_named(options.recipient),
        linkable=False,
        budget=budget,
        despite=despite,
    )
    return _Record(shared=shared, budget=budget, leaving=leaving, despite=despite, leaves=bool(paths))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    model: Model
    account: Account
    table: pa.Table
    private: bool
    left_out: Mapping[str, str]
    dataset: Dataset
    label: str | None
    types_read: tuple[str, ...]

    def result(self, options: Synthesize, record: _Record, *, ledger: int | None) -> Synthesized:
        certificate = None if options.out is None else certificate_paths(Path(options.out))[0]
        promise = self.account.promise
        return Synthesized(
            source=self.dataset.name,
            rows=len(self.table),
            columns=tuple(self.table.column_names),
            label=self.label,
            purpose=options.purpose,
            epsilon=promise.epsilon,
            delta=promise.delta,
            rho=self.account.spent,
            found_delta=self.account.spent_delta,
            unit=promise.unit,
            private=self.private,
            records=round(self.model.records, 1),
            origins=self.origins,
            left_out=self.left_out,
            parts=_parts(self.account),
            errors=self.model.errors,
            off=self.model.off,
            out=None if options.out is None else Path(options.out),
            certificate=certificate,
            report=None if options.report is None else Path(options.report),
            ledger=ledger,
            judged_alone=record.leaves and record.shared is None,
            types_read=self.types_read,
            table=self.table,
        )

    @property
    def origins(self) -> dict[str, str]:
        label = () if self.model.label is None else (self.model.label,)
        origins = {attribute.name: attribute.origin for attribute in (*self.model.attributes, *label)}
        return {name: origins[name] for name in self.table.column_names}


def _promise(options: Synthesize) -> Promise:
    if options.unit == "person" and options.person is None:
        raise RoleError("a person is the unit of protection; name the column that tells persons apart with --person")
    return Promise(
        epsilon=options.epsilon,
        delta=options.delta,
        person=options.person if options.unit == "person" else None,
        rows_each=options.rows_per_person or 1,
    )


def _paths(options: Synthesize) -> list[Path]:
    """Every file to be written: the rows, their certificate, the page."""
    if options.out is None:
        paths = [] if options.report is None else [Path(options.report)]
    else:
        out = Path(options.out)
        check_format(out)
        paths = [out, certificate_paths(out)[0], *([] if options.report is None else [Path(options.report)])]
    check_free(*paths, overwrite=options.overwrite)
    return paths


def _label(options: Synthesize, dataset: Dataset) -> str | None:
    label = options.label or dataset.roles.label
    if label is not None:
        dataset.schema.check(label)
    return label


def _domain(options: Synthesize) -> tuple[Mapping[str, Any], str]:
    """What is declared, and what a message calls the place where it is."""
    if options.domain is None or isinstance(options.domain, Mapping):
        return options.domain or {}, "the domain"
    path = Path(options.domain)
    return read_domain(path), path.name


def _public(options: Synthesize, dataset: Dataset, declared: PublicDomain) -> PublicDomain:
    """What is declared: hierarchies that are named, and the domain file over them.

    Those that only lie beside the data may have been made from it, and would tell what a single row holds.
    """
    in_hierarchies = of_hierarchies(find_hierarchies(options.hierarchies, None), dataset.schema)
    return replace(declared, columns={**in_hierarchies, **declared.columns})


def _columns(dataset: Dataset, options: Synthesize, label: str | None) -> tuple[list[Column], dict[str, str]]:
    """The columns to synthesize, and why others are not."""
    left_out = {}
    columns = []
    if options.person is not None:
        dataset.schema.check(options.person)
    if label is not None and label == options.person:
        raise RoleError("the label cannot be the column that tells persons apart")
    for column in dataset.schema:
        if column.name == options.person:
            left_out[column.name] = "it tells persons apart"
        elif dataset.roles.get(column.name) is Role.IDENTIFYING and column.name != label:
            left_out[column.name] = "identifying"
        else:
            columns.append(column)
    if not [column for column in columns if column.name != label]:
        raise DataError(f"{dataset.name} has no column to synthesize beside the label; add one or take a role away")
    return columns, left_out


def _parts(account: Account) -> tuple[SpentPart, ...]:
    """The account by kinds of measurement."""
    kinds: dict[str, list[Measured]] = {}
    for entry in account.measured:
        kinds.setdefault(entry.what, []).append(entry)
    return tuple(
        SpentPart(
            what=what,
            times=len(entries),
            sigma=min(entry.sigma for entry in entries),
            share=math.fsum(entry.rho for entry in entries) / account.rho,
        )
        for what, entries in kinds.items()
    )


def _written(made: _Made, options: Synthesize, paths: list[Path], record: _Record) -> Synthesized:
    """Write everything together or nothing; what leaves is noted before the files appear."""
    if not paths:
        return made.result(options, record, ledger=None)
    ledger = None
    with drafts_of(paths, overwrite=options.overwrite) as drafts:
        if options.out is not None:
            out = Path(options.out)
            write_table(open_dataset(made.table).table, drafts[0], like=out, shuffle=False)
            certificate = Certificate(content=_certificate(made, out, drafts[0], record))
            drafts[1].write_text(certificate.to_json(), encoding="utf-8")
            if record.shared is not None:
                leaving = replace(
                    record.leaving,
                    columns=tuple(made.table.column_names),
                    rows=len(made.table),
                    file_sha256=hash_of(drafts[0]),
                    certificate_sha256=hash_of(drafts[1]),
                )
                ledger = record.shared.spend(leaving, begun=record.begun)
        result = made.result(options, record, ledger=ledger)
        if options.report is not None:
            page = _page(made, result)
            drafts[-1].write_text(page, encoding="utf-8")
    return result


def _page(made: _Made, result: Synthesized) -> str:
    from aegis.report.page import Fact  # an extra
    from aegis.report.synthesis_report import SpentRow, render_synthesis

    facts = (
        Fact(term="ε", value=f"{result.epsilon:g}"),
        Fact(term="δ", value=f"{result.delta:g}"),
        Fact(term="rows drawn", value=f"{result.rows:,}"),
        Fact(term="records, about", value=f"{result.records:,.0f}"),
    )
    spent = [
        SpentRow(what=p.what, times=p.times, sigma=f"{p.sigma:,.1f}", share=f"{100 * p.share:.0f} %")
        for p in result.parts
    ]
    return render_synthesis(
        made.model,
        made.table,
        source=result.source,
        headline=result.headline,
        facts=facts,
        unit=result.unit,
        private=result.private,
        spent=spent,
        left_out=result.left_out,
    )


def _certificate(made: _Made, out: Path, draft: Path, record: _Record) -> dict[str, Any]:
    """What the rows promise, and every measurement that they were made of."""
    account, promise = made.account, made.account.promise
    return {
        **certificate_head(
            SYNTHESIZED,
            release={"name": out.name, "sha256": hash_of(draft), "rows": len(made.table)},
            source={"name": made.dataset.name},
        ),
        "promise": {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "unit": promise.unit,
            "person": promise.person,
            "rows_each": promise.rows_each,
            "neighbours": "one unit added or removed",
        },
        "private": made.private,
        "noise": "discrete Gaussian, from the system" if made.private else "by a seed: for tests, protects nobody",
        "rho": account.rho,
        "found_delta": account.found_delta,
        "measured": [entry.to_json() for entry in account.measured],
        "columns": made.origins,
        "label": made.label,
        "left_out": dict(made.left_out),
        "types_read_off_rows": list(made.types_read),
        "ledger": record.to_json(),
    }

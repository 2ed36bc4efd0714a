"""Mask, write, measure what was written, and only then let it leave.

``count → judge → write → measure again → certify``. The source is opened once: its rows are counted, and read once more
when they are written. The written file is looked into once for its hash, and its rows are counted from scratch. Nothing
appears under its name before the last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.commands.release import Release
from aegis.data.engine import read_frame
from aegis.inspection.telling import readable_words, told_columns, told_warning
from aegis.library.ledgers.row_by_row import SameRows
from aegis.library.releasing.release_certificate import certificate_of, listed_values, utility_kept
from aegis.library.releasing.release_draft import attack_draft, attacks_wanted, draft_of, measure_draft, output_paths
from aegis.library.releasing.release_judgement import judge_release, remember_release, treated
from aegis.library.releasing.release_source import count_published, fitted_configuration, open_source
from aegis.library.tables.unlisted import named_warning
from aegis.operation import operation
from aegis.privacy.verdict import StatedVerdict
from aegis.releases.certificate import Certificate, read_certificate
from aegis.releases.signature import read_private
from aegis.result import Result, called

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Result):
    """A written table with its certificate.

    ``verdicts``, ``classes`` and ``smallest_class`` were measured on the table as it was written; ``utility`` says what
    it keeps about the label, where it has one and was not finished before. ``ledger`` says what it was judged together
    with, and what waits; None where it was judged alone. ``unlisted_are_insensitive`` are masked columns without role,
    ``insensitive_as_the_rest`` those that were named insensitive all at once, ``left_out_as_identifying`` those that
    look as if they named people and that nobody named: they were not written. ``insensitive_that_look_identifying``
    look so too and were written, because somebody named them insensitive. ``told_by_quasi_identifiers`` says of each
    column that is not quasi-identifying how well whoever knows the quasi-identifiers knows it, where that is well;
    ``tell_quasi_identifiers`` says of each that was named insensitive which masked one can be read there.
    ``unit`` is the column that says whose records they are, where people were counted.
    """

    out: str
    certificate_path: Path = field(metadata=called("certificate"))
    rows: int
    suppressed: int
    verdicts: tuple[StatedVerdict, ...]
    classes: int
    smallest_class: int
    utility: Mapping[str, Any] | None
    sha256: str
    ledger: Mapping[str, Any] | None = None
    unlisted_are_insensitive: tuple[str, ...] = ()
    insensitive_as_the_rest: tuple[str, ...] = ()
    left_out_as_identifying: tuple[str, ...] = ()
    insensitive_that_look_identifying: tuple[str, ...] = ()
    told_by_quasi_identifiers: tuple[str, ...] = ()
    tell_quasi_identifiers: tuple[str, ...] = ()
    unit: str | None = None

    @property
    def certificate(self) -> Certificate:
        """The certificate, read from its file."""
        return read_certificate(self.certificate_path)

    def frame(self) -> pd.DataFrame:
        """The rows as they were written."""
        return read_frame(self.out)

    @property
    def label(self) -> str | None:
        return None if self.utility is None else str(self.utility["label"])

    @property
    def kept_share(self) -> float | None:
        """The share kept of what the quasi-identifiers say about the label, each by itself."""
        return None if self.utility is None else self.utility["kept_share"]

    @property
    def headline(self) -> str:
        return f"{self.out}: {self.rows:,} rows that satisfy the policy, {self.suppressed:,} suppressed"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must not be overlooked before the table is given to anybody."""
        texts = []
        order = (self.ledger or {}).get("order_seen_by")
        if order is not None:
            same = SameRows(**{**order, "columns": tuple(order["columns"])})
            texts += [] if same.is_certain else [same.warning()]
        texts += (*self.told_by_quasi_identifiers, *self.tell_quasi_identifiers)
        if self.insensitive_that_look_identifying:
            texts.append(named_warning(self.insensitive_that_look_identifying))
        if self.left_out_as_identifying:
            names, several = ", ".join(self.left_out_as_identifying), len(self.left_out_as_identifying) > 1
            texts.append(
                f"{names} {'look' if several else 'looks'} identifying and nobody gave {'them' if several else 'it'} a "
                "role: left out; --insensitive names what may be published as it is, --identifying what is to be hidden"
            )
        return tuple(texts)

    def table_rows(self) -> list[dict[str, Any]]:
        return [verdict.as_row() for verdict in self.verdicts]


@operation(Release)
def release(options: Release) -> Released:
    """Write the table masked by the configuration if, and only if, what is written satisfies the policy.

    Without a configuration the table is released as it is: it was anonymized before, by clustering for instance. Then
    ``rows_of`` names the table that it was made of: it is judged together with what was released from that, row by
    row, and goes into its ledger.

    ``columns`` names those that are written; the policy is judged on what is left, and the certificate names the rest.
    Every column that is written has a role or a mask: otherwise nothing is released, unless ``insensitive`` names it or
    says ``rest`` of all such columns. What looks identifying is left out where nobody named it.

    Records of failing classes are starred in every quasi-identifier, up to the policy's limit, or left out with
    ``drop_suppressed``. Identifying columns without a mask of their own are suppressed. If the policy is not satisfied
    nothing is written. Attacks that the policy limits are run on what was written, and the certificate says what came
    of them.

    Example::

        aegis.release("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv")
    """
    paths = output_paths(options)
    key = None if options.sign is None else read_private(Path(options.sign))
    source = open_source(options)
    attacks = attacks_wanted(options.attacks, source)
    counts = count_published(source, source.earlier, options)  # ① source → counts of what would be published
    judged = judge_release(source, counts, options)  # ② counts → verdict, together with earlier releases
    masks, roles = counts.masked.masks, source.published_roles
    utility = None  # of a finished table: no measure compares groups that were made for a label with single values
    if options.rows_of is None:
        utility = utility_kept(source.dataset, masks, roles, released=judged.own.released)
    table = treated(source, counts, judged)
    with draft_of(table, paths, options) as draft:  # ③ rows → a draft that nobody sees yet
        measured = measure_draft(draft, source, counts, judged=judged.own)  # ④ draft → counts → verdict
        shown = [name for name in draft.dataset.schema.names if name not in masks or not masks[name].hides]
        told = told_columns(source.original, roles, shown)
        attacked = attack_draft(draft, source, masks, attacks=attacks, told=told)
        listed = listed_values(source, counts)
        certificate = certificate_of(  # ⑤
            source, counts, judged, draft, options, measured=measured, utility=utility, attacked=attacked, listed=listed
        )
        draft.write(certificate, key=key, fitted=fitted_configuration(source, counts), mapped=counts.masked)
        # ⑥ on the record before anybody can see it
        remembered = {column: values.remembered() for column, values in listed.items()}
        remember_release(source, table, judged, certificate, options, listed=remembered)
    content = certificate.content
    judgement = measured if source.policy.unit is None else judged.own
    return Released(
        out=str(options.out),
        certificate_path=paths[-2],
        rows=measured.records,
        suppressed=judged.own.suppressed,
        verdicts=tuple(verdict.stated() for verdict in judgement.verdicts),
        classes=measured.classes,
        smallest_class=judgement.smallest_class,
        utility=utility,
        sha256=draft.sha256,
        ledger=content["ledger"],
        unlisted_are_insensitive=tuple(content["roles"]["unlisted_are_insensitive"]),
        insensitive_as_the_rest=source.as_the_rest,
        left_out_as_identifying=source.suspicious,
        insensitive_that_look_identifying=source.suspicious_and_named,
        told_by_quasi_identifiers=tuple(map(told_warning, told)),
        tell_quasi_identifiers=tuple(readable_words([each]) for each in source.readable),
        unit=source.policy.unit,
    )

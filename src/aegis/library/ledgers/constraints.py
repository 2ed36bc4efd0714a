"""What constrains a release of a table: its policy, the roles that this speaks of, and what was released before.

The ledger of the table is read, with the rows of the table known again (`EarlierReleases`); and written, when a release
goes on the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.commands.fields import WithLedger
from aegis.counts.answer import ask, count_rows, encode, plain
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import with_person
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Role, Roles
from aegis.errors import LedgerError
from aegis.library.ledgers.earlier_promises import check_promises
from aegis.library.ledgers.earlier_releases import (
    VALUE,
    EarlierReleases,
    joined,
    uncovered,
    value_purpose,
    with_roles_of,
)
from aegis.library.ledgers.recognition import path_of, recognise
from aegis.library.ledgers.row_by_row import as_shown, beside_source
from aegis.library.tables.judging import classes_of
from aegis.library.tables.masked_data import masked_data
from aegis.library.tables.without_policy import all_pass
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy, Recipients
from aegis.privacy.together import nobody_gone
from aegis.ranking.verdicts import Verdicts, judge
from aegis.releases.ledger import Ledger, Opening, keep_key, key_of, read_ledger
from aegis.releases.ledger_entry import ANYBODY, EntryKind, RecordedRelease, recipient_named
from aegis.releases.row_digest import ROW, WHOLE, Digests, codes_of, read_row_classes, write_row_classes


def earlier_releases_of(
    data: object,
    dataset: Dataset,
    options: WithLedger,
    *,
    policy: Policy,
    roles: Roles,
    identifying: Sequence[str] | None = None,
    to_release: bool = False,
    despite: str | None = None,
    finished: Dataset | None = None,
) -> EarlierReleases | None:
    """The ledger of ``data`` and its rows; None where there is no ledger.

    ``roles`` are those of the columns that leave; ``identifying`` names the columns that identify people whether they
    leave or not, because rows are known again by them. ``finished`` is a table that was made of these rows, in their
    order: what leaves is what it shows of them.

    Raises where the rows are known to have another ledger. Only what is ``to_release`` something needs the rows of a
    table of which nothing was released. ``despite`` is the reason to begin another ledger where that of the rows is
    missing.
    """
    if not options.has_ledger:
        return None
    path = path_of(data, options)
    identifying = roles.identifying if identifying is None else tuple(identifying)
    focus = (*roles.quasi_identifying, *policy.attributes)
    if path is None:
        recognise(dataset, path=None, ledger=None, focus=focus, identifying=identifying)
        return None
    ledger = read_ledger(path)
    counted = ledger.counted(recipient=options.recipient, recipients=policy.recipients)
    if not counted and not to_release:
        recognise(dataset, path=path, ledger=ledger, focus=focus, identifying=identifying)
        return None
    recipient = recipient_named(options.recipient)
    opening = ledger.opening or _opening(dataset, identifying)
    lacking = [name for name in opening.columns if name not in dataset.schema]
    if lacking:
        raise LedgerError(
            f"the ledger {path.name} is that of {opening.source}, which has the column {lacking[0]!r}, and "
            f"{dataset.name} has none; give the ledger of this table with --ledger"
        )
    digests = Digests(key=key_of(path), rows_by=opening.rows_by, columns=opening.columns)
    rows_with_shown, same_rows = dataset.table, None
    if finished is not None:  # it does not say whose its rows are, and their source does
        rows_with_shown, same_rows = beside_source(with_person(dataset, policy.unit), finished)
    rows = read_row_classes(path)
    attributes = policy.attributes
    extra = uncovered(counted, roles.quasi_identifying)
    kept, answer = _named(
        rows_with_shown,
        digests,
        beside=extra,
        attributes=attributes if to_release or finished is not None else (),
        whole=to_release or _knows_several_versions(ledger),
    )
    present = np.asarray(plain(answer[ROW]), dtype=np.int64)
    named, version = kept, None
    if WHOLE in answer.column_names:
        version = digests.version(np.asarray(plain(answer[WHOLE]), dtype=np.int64))
        named = kept.drop(WHOLE)
    recognised = recognise(
        dataset.with_table(named),
        path=path,
        ledger=ledger,
        focus=focus,
        identifying=identifying,
        rows=len(present),
        to_write=to_release,
        despite=despite,
    )
    if version is not None:
        _check_version(ledger, version, dataset.name)
    _check_unit(counted, policy)
    place = rows.found(present)
    if counted and len(rows.rows) and not (place >= 0).any():
        raise LedgerError(
            f"the ledger {path.name} is that of another table: none of the rows of {dataset.name} is known to it; "
            "give the ledger of this table with --ledger"
        )
    source = base = with_roles_of(named, dataset)
    if finished is not None:
        base = with_roles_of(as_shown(named, finished.schema.names), finished)
    return joined(
        EarlierReleases(
            ledger=ledger,
            opening=opening,
            digests=digests,
            rows=rows,
            present=present,
            version=version,
            recipient=recipient,
            apart=recipient == ANYBODY and policy.recipients is Recipients.SEPARATE,
            counted=counted,
            source=source,
            named=base,
            dataset=base,
            attributes=attributes,
            roles=roles,
            fewest=_fewest(policy),
            recognised=recognised,
            to_release=to_release,
            same_rows=same_rows,
            kept=kept,
            extra={name: encode(answer[name], dataset.schema.kind(name))[1] for name in extra},
        ),
    )


def _named(
    table: ir.Table, digests: Digests, *, beside: Sequence[str], attributes: Sequence[str], whole: bool
) -> tuple[ir.Table, pa.Table]:
    """The table with the digests of its rows and of some attributes, and those of its rows with the columns ``beside``.

    Digests of everything in a row are there if ``whole`` asks for them, or the rows are not told apart without.
    """
    if not whole and not attributes and digests.rows_by != digests.columns:
        named = digests.named_by_columns(table)
        answer = ask(named.select(ROW, *beside))
        if len(np.unique(plain(answer[ROW]))) == len(answer):
            return named, answer
    named = digests.named(table)
    values = {
        f"{VALUE}{place}": digests.of(named, [name], purpose=value_purpose(name))
        for place, name in enumerate(attributes)
    }
    kept = named.mutate(**values).cache()
    return kept, ask(kept.select(ROW, WHOLE, *beside))


def _fewest(policy: Policy) -> int:
    """How many records a group needs to have a good chance to satisfy a policy."""
    sizes = [int(model.threshold) for model in policy.models if model.name in ("k-anonymity", "distinct-l-diversity")]
    return max(sizes, default=2) * (2 if policy.attributes else 1)


def _opening(dataset: Dataset, identifying: Sequence[str]) -> Opening:
    """A new ledger: rows are told apart by what identifies people if that is different in every row."""
    columns = dataset.schema.names
    by = tuple(name for name in columns if name in identifying)
    if by and count_rows(dataset.table.select(*by).distinct()) != count_rows(dataset.table):
        by = ()
    return Opening.new(source=dataset.name, columns=columns, rows_by=by)


def _knows_several_versions(ledger: Ledger) -> bool:
    """Whether a table could be an older version than the newest that something left of."""
    return len({recorded.version for recorded in ledger.releases.values() if recorded.version is not None}) > 1


def _check_version(ledger: Ledger, version: str, name: str) -> None:
    """Raise for a version that an earlier release had and a later one has not any more."""
    versions = [recorded.version for recorded in ledger.releases.values() if recorded.version is not None]
    if versions and version != versions[-1] and version in versions:
        older = versions.index(version)
        number = list(ledger.releases)[older]
        raise LedgerError(
            f"{name} is an older version of the table: entry {number} of its ledger had it, and entry "
            f"{list(ledger.releases)[-1]} a newer one; give the newest"
        )


def _check_unit(counted: Mapping[int, RecordedRelease], policy: Policy) -> None:
    """Raise where an earlier release counted people and this one would count their records."""
    for number, recorded in counted.items():
        unit = (recorded.policy or {}).get("unit")
        if unit is not None and unit != policy.unit:
            counts = "records" if policy.unit is None else f"people by {policy.unit!r}"
            raise LedgerError(
                f"entry {number} ({recorded.name}) of the ledger counted people by {unit!r} and this one counts "
                f"{counts}, so nobody can say what both promise together; put unit: {unit} into the policy"
            )


def remember(earlier: EarlierReleases, recorded: RecordedRelease, table: ir.Table) -> int:
    """Write ``recorded`` into the ledger and answer its number.

    ``table`` holds the rows as they are released, with the digests of the source's rows. Raises, and writes nothing, if
    anything else was written since the ledger was read.
    """
    quasi = [name for name in recorded.quasi_identifying if name in table.columns]
    columns = {ROW: table[ROW]}
    if quasi:
        columns["_aegis_ledger_class"] = earlier.digests.of(table, quasi, purpose="class")
    columns |= {name: table[earlier.value_column(name)] for name in earlier.attributes}
    answer = ask(table.select(**columns))
    rows = np.asarray(plain(answer[ROW]), dtype=np.int64)
    classes = (
        codes_of(np.asarray(plain(answer["_aegis_ledger_class"]), dtype=np.int64)) if quasi else np.zeros_like(rows)
    )
    values = {name: np.asarray(plain(answer[name]), dtype=np.int64) for name in earlier.attributes}
    number = earlier.ledger.next_release
    rows_known, repeated = earlier.rows.with_release(number, rows=rows, classes=classes, values=values)
    content = replace(recorded, rows_as=repeated).to_mapping()

    def keep(_: int) -> None:
        keep_key(earlier.path, earlier.digests.key)
        write_row_classes(earlier.path, rows_known)

    return earlier.recognised.put_on_record(
        earlier.path,
        EntryKind.RELEASED,
        content,
        opening=earlier.opening,
        expected_head=earlier.ledger.head,
        before=keep,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constraints:
    """A table, what has to hold of whatever is released of it, and what was released before: None where nothing counts.

    ``hierarchies`` are those that distances are measured by.
    """

    dataset: Dataset
    policy: Policy
    roles: Roles
    hierarchies: Mapping[str, Hierarchy]
    earlier: EarlierReleases | None = None

    def classes(self, *, contents: tuple[str, ...] = (), masks: Mapping[str, Mask] | None = None) -> ClassTable:
        """The classes of the table, ``masks`` on it; the known class is the last column where something left before."""
        rows = self.dataset if self.earlier is None else self.earlier.dataset
        return classes_of(
            masked_data(rows, masks).dataset if masks else rows,
            self.policy,
            self.roles,
            contents=contents,
            hierarchies=self.hierarchies,
            known=self.earlier is not None,
        )

    def judging(self) -> Callable[[Sequence[Configuration]], Verdicts]:
        """A function that judges configurations, however often it is asked: the rows are counted once.

        Each is judged together with what was released before.
        """
        classes, policy, earlier = self.classes(), self.policy, self.earlier
        gone = nobody_gone if earlier is None else earlier.gone_from
        return lambda candidates: judge(candidates, classes, policy, gone=gone)

    def of_label(self, label: str) -> Constraints:
        """The same where this column is to be predicted, and so leaves as it is."""
        own = self.dataset.roles.overridden_by(Roles(label=label))
        return replace(self, roles=self.policy.roles_in(self.dataset.schema, own))


def judging(dataset: Dataset, constraints: Constraints | None) -> Callable[[Sequence[Configuration]], Verdicts]:
    """A function that judges configurations, if there is anything to judge them by."""
    return all_pass(dataset) if constraints is None else constraints.judging()


def constraints_on(
    data: object,
    dataset: Dataset,
    options: WithLedger,
    *,
    policy: Policy,
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy],
) -> Constraints:
    """For whoever looks for what may be released of a table next: what the policy asks, and the table's ledger.

    Raises where nothing can be judged together with what was released before, or where the policy takes back what was
    promised then.
    """
    earlier = earlier_releases_of(data, dataset, options, policy=policy, roles=roles)
    if earlier is not None and earlier.unjoinable is not None:
        raise LedgerError(earlier.unjoinable)
    if earlier is not None:
        hidden = {name for recorded in earlier.counted.values() for name in recorded.had_role(Role.IDENTIFYING)}
        hidden = {name for name in hidden if roles.get(name) is None}  # until somebody says that it may be shown
        hidden.update(roles.identifying)
        kept = [name for name in dataset.schema.names if name not in hidden]
        check_promises(earlier.counted, policy, roles, published=kept)
    return Constraints(dataset=dataset, policy=policy, roles=roles, hierarchies=hierarchies, earlier=earlier)

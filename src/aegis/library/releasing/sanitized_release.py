"""The release of a sanitized table: judged and on record, a file for each recipient, a certificate.

Each authorised group has its file and its reconstructor. The ledger speaks of the source's columns. A file shows what
its recipient knows as it is, and of a private column what was drawn; that is taken for the value itself wherever a
later release is judged by it, from which it tells less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP, VALUE_CAP, AuditedColumn, Fitted
from aegis.candidates.sanitizers.caps import CERTAIN
from aegis.candidates.sanitizers.mechanism import Mechanism, Model, NumberMechanism, sources, write_model
from aegis.candidates.sanitizers.reconstructor import Reconstructor, write_reconstructors
from aegis.commands.sanitize import Sanitize
from aegis.data.dataset import Dataset
from aegis.data.engine import connect
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.data.schema import Roles
from aegis.errors import LedgerError, PolicyNotSatisfiedError, SanitizerError
from aegis.library.ledgers.constraints import earlier_releases_of, remember
from aegis.library.ledgers.earlier_promises import (
    SANITIZED_KIND,
    ShownColumn,
    check_drawn_once,
    check_promises,
    masks_shown_earlier,
)
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.recognition import note_made_of
from aegis.library.tables.judging import classes_of, read_policy
from aegis.library.tables.masked_data import masked_data
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.privacy.policy import Policy, narrowed, without
from aegis.privacy.together import SHOWN, Together
from aegis.releases.certificate import SANITIZED, Certificate, certificate_head, certificate_paths, digest, hash_of
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.row_digest import read_row_classes
from aegis.releases.write import check_format, write_table
from aegis.report.sanitize_report import render_sanitized

if TYPE_CHECKING:
    from aegis.library.sanitize import Sanitized


AUTHORISED = "authorised party"
_CARRIER = {"k": 2}  # a ledger is opened by a policy; where none is asked for, nothing is judged by this one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SanitizedRecord:
    """The ledger of a table that is sanitized, what was found when it was judged, and the reason to go on despite."""

    earlier: EarlierReleases
    policy: Policy | None
    roles: Roles
    """Those of all columns of the source."""
    despite: str | None

    def to_json(self) -> dict[str, Any]:
        """What the certificate says of it."""
        return {
            "name": self.earlier.path.name,
            "head": self.earlier.ledger.head,
            "judged_with": list(self.earlier.counted) if self.policy is not None and self.despite is None else [],
            "despite": self.despite,
        }


def open_record(
    options: Sanitize, dataset: Dataset, *, private: Sequence[str], public: Sequence[str]
) -> SanitizedRecord | None:
    """The table's ledger, once the public file was judged together with all earlier releases; None without one.

    Raises where the policy does not hold together or asks for less than before, where there is none to judge by
    although something was released before, and where a private column was shown before: a second draw would be
    averaged with the first, and what left otherwise is hidden no more.
    """
    rules = None if options.policy is None else read_policy(options.policy)
    carrier = Policy.from_mapping(_CARRIER) if rules is None else rules
    roles = dataset.roles if rules is None else rules.roles_in(dataset.schema, dataset.roles)
    whole, shown_earlier = roles, {}
    if rules is not None:
        left_out = [name for name in dataset.schema.names if name not in {*private, *public}]
        before = masks_shown_earlier(options.data, options, policy=rules)
        shown_earlier = {name: before[name] for name in left_out if name in before and name in rules.attributes}
        carrier = narrowed(rules, roles, left_out=[name for name in left_out if name not in shown_earlier]).policy
        roles = without(roles, left_out)
        roles = replace(roles, quasi_identifying=tuple(n for n in roles.quasi_identifying if n in public))
    earlier = earlier_releases_of(
        options.data, dataset, options, policy=carrier, roles=roles, to_release=True, despite=options.despite_ledger
    )
    if earlier is None:
        options.refuse("recipient", "despite_ledger", because="this source has no ledger: name one with --ledger")
        return None
    reason = None
    if earlier.counted:
        try:
            showing = {name: ShownColumn(mask=Identity(), is_sanitized=name in private) for name in (*public, *private)}
            check_drawn_once(earlier.counted, showing, quasi_identifying=whole.quasi_identifying)
            if rules is not None:
                hidden = tuple(name for name in private if whole.get(name) is None)  # what is private is sensitive
                protected = replace(whole, sensitive=(*whole.sensitive, *hidden))
                check_promises(earlier.counted, rules, protected, published=tuple(showing))
            reason = _why_not(earlier, None if rules is None else carrier, shown_earlier)
        except LedgerError as error:
            reason = str(error)
    if reason is not None and options.despite_ledger is None:
        raise PolicyNotSatisfiedError(f"nothing is written: {reason}")
    if reason is None and not earlier.recognised.given_up:
        options.refuse("despite_ledger", because="the ledger allows it, or nothing was released before")
    return SanitizedRecord(earlier=earlier, policy=rules, roles=whole, despite=options.despite_ledger)


def _why_not(earlier: EarlierReleases, policy: Policy | None, shown_earlier: Mapping[str, Mask | None]) -> str | None:
    """Why the public file may not be released beside earlier releases, in a sentence; None where it may.

    ``shown_earlier`` are sensitive columns that are not in it and that somebody has from before, as they were masked.
    """
    if earlier.unjoinable is not None:
        return earlier.unjoinable
    if policy is None:
        first = next(iter(earlier.counted))
        return (
            f"entry {first} ({earlier.counted[first].name}) and what left since have to be judged together with it, "
            "and there is no policy to judge by: give --policy where a mechanism is fitted, or a reason with "
            "--despite-ledger"
        )
    masks = {name: mask for name, mask in shown_earlier.items() if mask is not None}

    def judged(these: EarlierReleases) -> Together:
        seen = masked_data(these.dataset, masks).dataset if masks else these.dataset
        return these.judge(classes_of(seen, policy, these.roles, known=True), policy)

    together = judged(earlier)
    if together.satisfied and bool((together.treatment == SHOWN).all()):
        return None
    if together.satisfied:
        return (
            f"together with earlier releases {int((together.treatment != SHOWN).sum())} classes would have to be hidden"
        )
    return earlier.refusal(together, judged)


def put_on_record(
    record: SanitizedRecord,
    *,
    model: Model,
    files: Mapping[str, tuple[Path, Path]],
    certificate: dict[str, Any] | None,
    audits: Sequence[AuditedColumn],
) -> tuple[int, ...]:
    """An entry for each recipient's file, before anybody can see one; answers their numbers.

    ``files`` are drafts and names by what they hold, the public one first.
    """
    earlier, numbers = record.earlier, []
    shown_to = (model.public, *model.authorized)
    private = tuple(chain.from_iterable(sources(mechanism) for mechanism in model.mechanisms))
    for place, ((draft, out), shown) in enumerate(zip(files.values(), shown_to, strict=True)):
        columns = (*shown, *private)
        recorded = RecordedRelease(
            name=out.name,
            kind=SANITIZED_KIND,
            recipient=earlier.recipient if place == 0 else _group(place, len(model.authorized)),
            columns=tuple(name for name in earlier.source.schema.names if name in columns),
            quasi_identifying=tuple(name for name in record.roles.quasi_identifying if name in shown),
            rows=len(earlier.present),
            version=earlier.version,
            policy=None if record.policy is None else record.policy.to_mapping(),
            policy_id=None if record.policy is None else record.policy.id,
            file_sha256=hash_of(draft),
            certificate_sha256=None if certificate is None or place else digest(certificate),
            promise=promise_of(audits) if audits else None,
            sanitized=private,
            roles=record.roles.to_mapping(),
            despite=record.despite,
        )
        numbers.append(remember(earlier, recorded, earlier.named.table))
        ledger = read_ledger(earlier.path)
        assert ledger.opening is not None, "an entry was written"
        earlier = replace(earlier, ledger=ledger, opening=ledger.opening, rows=read_row_classes(earlier.path))
    return tuple(numbers)


def _group(place: int, groups: int) -> str:
    return AUTHORISED if groups == 1 else f"{AUTHORISED} {place}"


def promise_of(audits: Sequence[AuditedColumn]) -> dict[str, Any]:
    """What is proved of each column, under which assumption, and what was only audited."""
    return {
        audited.column: {
            "loss": audited.loss,
            "proved": None
            if audited.proof is None
            else {
                "confidence": audited.proof.confidence,
                "adversary_errors_at_least": [adversary.proved_loss for adversary in audited.proof.adversaries],
                "share_of_any_error_kept": audited.proof.kept_share,
                "posterior_at_most": audited.proof.posterior,
                "caps_hold_for_every_law": audited.proof.holds_for_set,
                "in_words": [*audited.proof.sides, audited.proof.where_caps_hold],
                "local_dp": audited.proof.local_dp,
                "assumptions": list(audited.proof.assumptions),
            },
            "only_audited": {
                "adversary_errors": [party.loss for party in audited.audit.adversaries],
                "authorised_errors": [group.reconstruction.loss for group in audited.groups],
                "records_determined": audited.determined,
            },
        }
        for audited in audits
    }


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
            content = _certificate_content(options, result, adversaries, drafts["out"], record)
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


def _certificate_content(
    options: Sanitize,
    result: Sanitized,
    adversaries: Sequence[Sequence[str]],
    draft: Path,
    record: SanitizedRecord | None,
) -> dict[str, Any]:
    """What the release promises: recipients, sanitizers with their caps and audits, and what was written."""
    rules = None if options.policy is None else read_policy(options.policy)
    return {
        **certificate_head(
            SANITIZED,
            release={"name": Path(str(options.out)).name, "sha256": hash_of(draft), "rows": result.rows},
            source={"name": result.source},
        ),
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

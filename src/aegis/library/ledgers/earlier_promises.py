"""What earlier releases promised and showed, and a later one must not take back.

The gate judges what everything shows together by the policy of the new release. If that policy called a column
insensitive which an earlier one called quasi-identifying, or asked for less, the new release could undo what the
earlier certificate says, and every verdict would hold.

What two masks of a sensitive column show together is not what either shows. So a column that is out is shown again as
it was shown before, or left out; and where a new release leaves it out, it is judged as somebody has it. Release,
search and advise see such columns by this one rule.

A column that was drawn at random leaves once. Whoever holds two draws averages them, whoever holds a draw beside the
column itself knows what was drawn, and no privacy model sees either. A quasi-identifier that a mask drew may follow
under another mask: its classes are judged together with those that are out, value by value as they were drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aegis.commands.fields import WithLedger
from aegis.data.schema import Role, Roles
from aegis.errors import DataError, LedgerError
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.recognition import path_of
from aegis.masking.configuration import Configuration, canonical
from aegis.masking.configuration_file import LABELS_ID, certified_configuration, configurations_from_mapping
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Suppress
from aegis.operation import word
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import Bound
from aegis.releases.certificate import Certificate
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.table_register import registered_tables

SANITIZED_KIND = "sanitized"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column as a release shows it: by a mask, as it is (`Identity`), or as a sanitizer drew it."""

    mask: Mask
    is_sanitized: bool = False

    @property
    def is_drawn(self) -> bool:
        return self.is_sanitized or self.mask.is_random

    @property
    def is_hidden(self) -> bool:
        """Whether nothing of it is shown."""
        return not self.is_sanitized and self.mask.hides

    @property
    def is_raw(self) -> bool:
        return not self.is_sanitized and isinstance(self.mask, Identity)


def columns_shown(recorded: RecordedRelease) -> dict[str, ShownColumn]:
    """How a release that left shows each of its columns; those of a table finished elsewhere are taken as they are."""
    configuration = configuration_of(recorded) or Configuration(name=recorded.name, masks={})
    identifying = recorded.had_role(Role.IDENTIFYING)
    sanitized = recorded.sanitized
    if recorded.kind == SANITIZED_KIND and not sanitized:  # written before entries said so: anything it may have drawn
        sanitized = tuple(name for name in recorded.columns if name not in recorded.quasi_identifying)
    shown = {}
    for name in recorded.columns:
        unmasked = Suppress() if name in identifying and recorded.kind != SANITIZED_KIND else Identity()
        shown[name] = ShownColumn(mask=configuration.masks.get(name, unmasked), is_sanitized=name in sanitized)
    return shown


def columns_to_show(columns: Collection[str], masks: Mapping[str, Mask]) -> dict[str, ShownColumn]:
    """How a release by these masks would show each column."""
    return {name: ShownColumn(mask=masks.get(name, Identity())) for name in columns}


def check_drawn_once(
    counted: Mapping[int, RecordedRelease], showing: Mapping[str, ShownColumn], *, quasi_identifying: Sequence[str] = ()
) -> None:
    """Raise where a column was drawn at random for a release that counts, and would be shown again.

    Nor may a sanitizer draw what was shown before: what it promises about a column holds for whoever knows nothing of
    it but that draw.
    """
    for number, recorded in counted.items():
        before = columns_shown(recorded)
        entry = f"entry {number} ({recorded.name})"
        for name, now in showing.items():
            then = before.get(name)
            if then is None or then.is_hidden or now.is_hidden:
                continue
            if now.is_sanitized and not then.is_drawn:
                how = "as it is" if then.is_raw else then.mask.describe()
                raise LedgerError(
                    f"{name!r} left {how} in {entry}, and what a sanitizer promises about it holds only for those who "
                    f"have not seen it; sanitize another column; {_WAYS_OUT}"
                )
            if not then.is_drawn:
                continue
            judged_by_classes = name in quasi_identifying and not then.is_sanitized
            if now.is_drawn or not judged_by_classes:
                raise LedgerError(_drawn_already(name, then=then, now=now, entry=entry))


def _drawn_already(name: str, *, then: ShownColumn, now: ShownColumn, entry: str) -> str:
    how = "sanitized" if then.is_sanitized else "drawn at random"
    why = (
        "whoever averages two draws removes noise"
        if now.is_drawn
        else f"whoever holds it {'as it is' if now.is_raw else 'under another mask'} beside that draw learns what was "
        "hidden"
    )
    ways = "suppress the column, or leave it out (release --columns)"
    if now.is_sanitized:
        ways = "or judge alone with --ledger none if it never left"
    return f"{name!r} was {how} for {entry}, and {why}: give that file again, {ways}; {_WAYS_OUT}"


def configuration_of(recorded: RecordedRelease) -> Configuration | None:
    """The masks that a release was made by; None for a table that was finished elsewhere."""
    if recorded.configuration is None:
        return None
    (configuration,) = configurations_from_mapping(recorded.configuration, name=recorded.name)
    return configuration


def masks_behind(certificate: Certificate, *, file: str) -> Configuration:
    """What a release was made by, value by value; raises where only its provider could say and nobody here is that."""
    stated, named = certified_configuration(certificate.content), certificate.content["configuration"]
    if LABELS_ID not in named:
        return stated
    for table in registered_tables():
        try:
            left = read_ledger(table.ledger).releases.values()
        except LedgerError:
            continue  # whoever releases that table is told; here another one is looked for
        for recorded in left:
            if recorded.file_sha256 == certificate.file_sha256:
                configuration = configuration_of(recorded)
                if configuration is not None and configuration.id == named["id"]:
                    return configuration
    raise DataError(
        f"the certificate of {file} names what its masks wrote and not what they made of each value, and no ledger of "
        "yours has the release; give the masks with --config"
    )


_WAYS_OUT = "anything else needs a reason, with --despite-ledger"


def check_promises(
    counted: Mapping[int, RecordedRelease],
    policy: Policy,
    roles: Roles,
    *,
    published: Collection[str],
    masks: Mapping[str, Mask] | None = None,
) -> None:
    """Raise where the new policy lets ``published`` columns show what a policy that something left under does not.

    A column that was identifying, quasi-identifying or sensitive stays protected, or is hidden. The models and the
    limits on attacks that were promised are asked again, at least as strictly, and no more records may go unjudged. A
    model about a column that is left out now is asked again too, where somebody has the column from before.
    """
    shown = [name for name, now in columns_to_show(published, masks or {}).items() if not now.is_hidden]
    out = {
        name for recorded in counted.values() for name, then in columns_shown(recorded).items() if not then.is_hidden
    }
    for number, recorded in counted.items():
        entry = f"entry {number} ({recorded.name})"
        _check_roles(recorded, roles, shown, entry)
        if recorded.policy is None:
            continue
        earlier = Policy.from_mapping(recorded.policy, where=f"entry {number} of the ledger")
        for model in earlier.models:
            seen = all(name in out or name in shown for name in model.needs)
            if not seen or any(_covers(now, model) for now in policy.models):
                continue
            of = f" of {model.subject}" if model.subject else ""
            absent = [name for name in model.needs if name not in shown]
            still = f" ({absent[0]!r} is not in this release, but somebody has it from before)" if absent else ""
            raise LedgerError(
                f"{entry} left under a policy that asks for {model.name}{of} "
                f"({'at least' if model.bound is Bound.AT_LEAST else 'at most'} {model.threshold:g}), and this policy "
                f"asks for less{still}: the two could undo what was promised then; ask for as much; {_WAYS_OUT}"
            )
        _check_suppression(earlier, policy, entry)
        _check_attacks(earlier, policy, entry)


def _check_roles(recorded: RecordedRelease, roles: Roles, shown: Collection[str], entry: str) -> None:
    """Raise where a column is shown that lost a role it had when something left."""
    for column in shown:
        if roles.get(column) in (Role.QUASI_IDENTIFYING, Role.IDENTIFYING):
            continue
        if column in recorded.had_role(Role.IDENTIFYING):
            raise LedgerError(_role_lost(column, "identifying", entry))
        if column in recorded.had_role(Role.QUASI_IDENTIFYING):
            raise LedgerError(_role_lost(column, "quasi-identifying", entry))
        if column in recorded.had_role(Role.SENSITIVE) and column not in roles.sensitive:
            raise LedgerError(_role_lost(column, "sensitive", entry))


def _check_suppression(earlier: Policy, policy: Policy, entry: str) -> None:
    """Raise where more records may go unjudged than before, or are shown where they were left out.

    Suppressed records that are judged like all others may be as many as the policy likes: hiding more shows less.
    """
    if policy.suppressed is Suppressed.JUDGED or not policy.max_suppression:
        return
    most_unjudged = 0.0 if earlier.suppressed is Suppressed.JUDGED else earlier.max_suppression
    if policy.max_suppression > most_unjudged:
        then = (
            "judges every record that is suppressed (suppressed: judged)"
            if earlier.suppressed is Suppressed.JUDGED
            else f"lets at most {100 * most_unjudged:g}% of the records go unjudged (max_suppression)"
        )
        raise LedgerError(
            f"{entry} left under a policy that {then}, and this policy lets {100 * policy.max_suppression:g}% be "
            f"suppressed that no model judges (suppressed: {policy.suppressed.value}): write "
            f"suppressed: judged or lower max_suppression; {_WAYS_OUT}"
        )
    if earlier.suppressed is Suppressed.DROPPED and policy.suppressed is Suppressed.EXEMPT:
        raise LedgerError(
            f"{entry} left under a policy that leaves suppressed records out (suppressed: dropped), and this policy "
            f"shows them although no model judges them (suppressed: exempt): write suppressed: judged or dropped; "
            f"{_WAYS_OUT}"
        )


def _check_attacks(earlier: Policy, policy: Policy, entry: str) -> None:
    """Raise where an attack may expose more people than before."""
    limits = dict(policy.attacks)
    for name, share in earlier.attacks:
        if name not in limits or limits[name] > share:
            now = f"allows {100 * limits[name]:g}%" if name in limits else "sets no limit"
            raise LedgerError(
                f"{entry} left under a policy by which the attack {name} exposes at most {100 * share:g}% of the "
                f"people, and this policy {now}: write attacks: {{{name}: {share:g}}}; {_WAYS_OUT}"
            )


def _role_lost(column: str, role: str, entry: str) -> str:
    return (
        f"{column!r} was {role} when {entry} left, and is not now: what it shows beside that release would be judged "
        f"by nothing; call it {role.replace('-', '_')}, suppress it, or leave it out (release --columns); {_WAYS_OUT}"
    )


def _covers(now: Model, earlier: Model) -> bool:
    """Whether a model asks for at least as much as an earlier one."""
    if (now.name, now.needs) != (earlier.name, earlier.needs):
        return False
    rest = [
        {key: value for key, value in model.parameters().items() if key != model.threshold_name}
        for model in (now, earlier)
    ]
    if rest[0] != rest[1]:
        return False
    stricter = now.threshold >= earlier.threshold if now.bound is Bound.AT_LEAST else now.threshold <= earlier.threshold
    return bool(stricter)


def masks_shown_earlier(data: object, options: WithLedger, *, policy: Policy) -> dict[str, Mask | None]:
    """How each column was masked that somebody has from an earlier release; None where it was shown as it was.

    What a mask or a sanitizer drew is taken for the value itself, from which it tells less.
    """
    path = path_of(data, options)
    shown: dict[str, Mask | None] = {}
    if path is None:
        return shown
    counted = read_ledger(path).counted(recipient=options.recipient, recipients=policy.recipients)
    for recorded in counted.values():
        for column, then in columns_shown(recorded).items():
            shown.setdefault(column, None if then.is_raw or then.is_drawn else then.mask)
    return shown


def masks_to_repeat(earlier: EarlierReleases) -> dict[str, Mask]:
    """The masks that the next release must put on columns that are not quasi-identifying, because of how they left.

    Sensitive ones are masked as they were. Those that were drawn at random, or left in two ways, are suppressed. Raises
    where that cannot be, because a model or the search looks at such a column.
    """
    check_same_contents(earlier, None)
    roles = earlier.roles
    looked_at = {*earlier.attributes, *((roles.label,) if roles.label is not None else ())}
    masks: dict[str, Mask] = {}
    for number, recorded in earlier.counted.items():
        for name, then in columns_shown(recorded).items():
            is_quasi = name in roles.quasi_identifying
            if name in roles.identifying or then.is_hidden or (is_quasi and not then.is_sanitized):
                continue
            if then.is_drawn and (name in looked_at or is_quasi):
                raise LedgerError(_cannot_be_looked_at(name, then, f"entry {number} ({recorded.name})"))
            if then.is_drawn:
                masks[name] = Suppress()
            elif name in _masked_alike(earlier, recorded):
                same = canonical(masks.setdefault(name, then.mask)) == canonical(then.mask)
                masks[name] = then.mask if same else Suppress()
    return {name: mask for name, mask in masks.items() if not isinstance(mask, Identity)}


def _cannot_be_looked_at(name: str, then: ShownColumn, entry: str) -> str:
    how = "sanitized" if then.is_sanitized else "drawn at random"
    return (
        f"the column {name!r} was {how} for {entry}, and nothing further may be shown of it: hide it with "
        f"--identifying {word(name)}, name another label if it is the label, or judge alone with --ledger none"
    )


def why_masked_otherwise(earlier: EarlierReleases, configuration: Configuration) -> str | None:
    """Why a configuration cannot be judged together with earlier releases, in a sentence; None where it can."""
    try:
        check_same_contents(earlier, configuration)
    except LedgerError as error:
        return str(error)
    return None


def check_same_contents(
    earlier: EarlierReleases, configuration: Configuration | None, *, left_out: Collection[str] = ()
) -> None:
    """Raise if a sensitive column is masked otherwise than in a release that counts, or a column drawn a second time.

    A sensitive column that a model looks at and that is ``left_out``, or every one where there is no configuration yet,
    only has to have left in one way.
    """
    if configuration is not None:
        masks = {**dict.fromkeys(earlier.roles.identifying, Suppress()), **configuration.masks}
        showing = columns_to_show([name for name in earlier.named.schema.names if name not in left_out], masks)
        check_drawn_once(earlier.counted, showing, quasi_identifying=earlier.roles.quasi_identifying)
    first: dict[str, tuple[str, str]] = {}
    for number, recorded in earlier.counted.items():
        before, named = columns_shown(recorded), f"entry {number} ({recorded.name})"
        for name in _masked_alike(earlier, recorded):
            then = before.get(name)
            if then is None or then.is_sanitized:
                continue
            mask = canonical(then.mask)
            if configuration is not None and name not in left_out:
                expected, who = canonical(configuration[name]), "masked otherwise than"
                if name not in earlier.attributes and (then.is_hidden or configuration[name].hides):
                    continue
            elif name in earlier.attributes:
                expected, who = first.setdefault(name, (mask, named))[0], f"masked in {first[name][1]} otherwise than"
            else:
                continue
            if mask != expected:
                raise LedgerError(
                    f"the sensitive column {name!r} is {who} in {named}, and what both show of it together cannot be "
                    f"judged; allowed are the mask of that entry ({then.mask.describe()}) and leaving the column "
                    "out (release --columns); anything else needs a reason, with --despite-ledger"
                )


def _masked_alike(earlier: EarlierReleases, recorded: RecordedRelease) -> tuple[str, ...]:
    """The columns that are masked as in an entry or not shown: sensitive ones, now or then.

    What identifies now is hidden, and quasi-identifiers are judged by their classes.
    """
    roles = earlier.roles
    names = dict.fromkeys((*earlier.attributes, *roles.sensitive, *sorted(recorded.had_role(Role.SENSITIVE))))
    return tuple(name for name in names if roles.get(name) not in (Role.QUASI_IDENTIFYING, Role.IDENTIFYING))

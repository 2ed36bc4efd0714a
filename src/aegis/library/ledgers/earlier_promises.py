"""What earlier releases promised under their own policies, and a later policy must not take back.

The gate judges what everything shows together by the policy of the new release. If that policy called a column
insensitive which an earlier one called quasi-identifying, or asked for less, the new release could undo what the
earlier certificate says, and every verdict would hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aegis.data.schema import Role, Roles
from aegis.errors import LedgerError
from aegis.library.ledgers.shown_columns import columns_shown, columns_to_show
from aegis.masking.mask import Mask
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import Bound
from aegis.releases.ledger_entry import RecordedRelease

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

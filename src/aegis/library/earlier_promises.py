"""What earlier releases promised under their own policies, and a later policy must not take back.

The gate judges what everything shows together by the policy of the new release. If that policy called a column
insensitive which an earlier one called quasi-identifying, or asked for less, the new release could undo what the
earlier certificate says, and every verdict would hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aegis.data.schema import Role, Roles
from aegis.errors import LedgerError
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import Nullify, Suppress
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy
from aegis.privacy.verdict import Bound
from aegis.releases.fit import links_of
from aegis.releases.ledger_entry import Leaving

_WAYS_OUT = "anything else needs a reason, with --despite-ledger"


def check_promises(
    counted: Mapping[int, Leaving],
    policy: Policy,
    roles: Roles,
    *,
    published: Collection[str],
    masks: Mapping[str, Mask] | None = None,
) -> None:
    """Raise where the new policy lets ``published`` columns show what a policy that something left under does not.

    A column that was quasi-identifying or sensitive stays so, or is hidden; and the models that were promised are asked
    again, with thresholds that are at least as strict.
    """
    shown = [name for name in published if not _hides((masks or {}).get(name))]
    for number, leaving in counted.items():
        if leaving.policy is None:
            continue
        earlier = Policy.from_mapping(leaving.policy, where=f"entry {number} of the ledger")
        entry = f"entry {number} ({leaving.name})"
        quasi = {*earlier.roles.quasi_identifying, *leaving.quasi_identifying}
        for column in shown:
            if roles.get(column) in (Role.QUASI_IDENTIFYING, Role.IDENTIFYING):
                continue
            if column in quasi:
                raise LedgerError(_role_lost(column, "quasi-identifying", entry))
            if column in earlier.roles.sensitive and column not in roles.sensitive:
                raise LedgerError(_role_lost(column, "sensitive", entry))
        for model in earlier.models:
            if any(name not in shown for name in model.needs) or any(_covers(now, model) for now in policy.models):
                continue
            of = f" of {model.subject}" if model.subject else ""
            raise LedgerError(
                f"{entry} left under a policy that asks for {model.name}{of} "
                f"({'at least' if model.bound is Bound.AT_LEAST else 'at most'} {model.threshold:g}), and this policy "
                f"asks for less: the two could undo what was promised then; ask for as much, or {_WAYS_OUT}"
            )


def _role_lost(column: str, role: str, entry: str) -> str:
    return (
        f"{column!r} was {role} in the policy of {entry}, and is not in this one: what it shows beside that release "
        f"would be judged by nothing; call it {role.replace('-', '_')}, leave it out (--columns) or suppress it; "
        f"{_WAYS_OUT}"
    )


def _covers(now: Model, earlier: Model) -> bool:
    """Whether a model asks for at least as much as an earlier one."""
    if (now.name, now.needs) != (earlier.name, earlier.needs):
        return False
    rest = [{key: value for key, value in each.parameters().items() if key != each.asked} for each in (now, earlier)]
    if rest[0] != rest[1]:
        return False
    stricter = now.threshold >= earlier.threshold if now.bound is Bound.AT_LEAST else now.threshold <= earlier.threshold
    return bool(stricter)


def _hides(mask: Mask | None) -> bool:
    return mask is not None and any(isinstance(link, Suppress | Nullify) for link in links_of(mask))

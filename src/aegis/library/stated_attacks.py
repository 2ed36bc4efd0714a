"""What a certificate states of attacks, held against the limits of its policy.

Attacks need the true rows, so nobody can run them again on the release alone. That each attack which the policy limits
has a result, and that the result keeps to the limit, can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.errors import VerificationError
from aegis.plural import count
from aegis.privacy.policy import Policy


def check_attacks(content: Mapping[str, Any], policy: Policy) -> str | None:
    """What the certificate states of the attacks that its policy limits; None where it limits none.

    Raises `VerificationError` where one of them has no result, another limit, or a result beyond it.
    """
    if not policy.attacks:
        return None
    from aegis.attacks.attack import ATTACKS  # compiled loops, which most certificates do without

    ledger = content.get("ledger") or {}
    several = bool(ledger.get("together_with")) and ledger.get("despite") is None
    stated = {each["name"]: each for each in content.get("attacks", [])}
    limited = [(name, limit) for name, limit in policy.attacks if several or ATTACKS[name].least_releases == 1]
    for name, limit in limited:
        result = stated.get(name)
        if result is None:
            raise VerificationError(f"the policy limits the attack {name!r}, and the certificate has no result of it")
        share = result["exposed_share"]
        if result["limit"] != limit or isinstance(share, bool) or not isinstance(share, int | float):
            raise VerificationError(f"the certificate states another limit of the attack {name!r} than its policy")
        if not 0 <= share <= limit:
            raise VerificationError(
                f"the certificate says itself that the attack {name!r} exposes more than its policy allows"
            )
    return f"{count(len(limited), 'result')} stated, within what the policy allows"

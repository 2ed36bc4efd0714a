"""How sensitive columns were masked when they left: the one rule by which release, search and advise see them.

What two masks of a sensitive column show together is not what either shows. So a column that is out is shown again as
it was shown before, or left out; and where a new release leaves it out, it is judged as somebody has it.
"""

from __future__ import annotations

from collections.abc import Collection

from aegis.commands.fields import WithLedger
from aegis.data.schema import Role
from aegis.data.shell import word
from aegis.errors import LedgerError
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.recognition import path_of
from aegis.library.ledgers.shown_columns import ShownColumn, check_drawn_once, columns_shown, columns_to_show, hides
from aegis.masking.configuration import Configuration, canonical
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Suppress
from aegis.privacy.policy import Policy
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease, recipient_named


def masks_shown_earlier(data: object, options: WithLedger, *, policy: Policy) -> dict[str, Mask | None]:
    """How each column was masked that somebody has from an earlier release; None where it was shown as it was.

    What a mask or a sanitizer drew is taken for the value itself, from which it tells less.
    """
    path = path_of(data, options)
    shown: dict[str, Mask | None] = {}
    if path is None:
        return shown
    counted = read_ledger(path).counted(recipient=recipient_named(options.recipient), recipients=policy.recipients)
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
                if name not in earlier.attributes and (then.is_hidden or hides(configuration[name])):
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

"""How sensitive columns were masked when they left: the one rule by which release, search and advise see them.

What two masks of a sensitive column show together is not what either shows. So a column that is out is shown again as
it was shown before, or left out; and where a new release leaves it out, it is judged as somebody has it.
"""

from __future__ import annotations

from collections.abc import Collection

from aegis.commands.fields import WithLedger
from aegis.errors import LedgerError
from aegis.library.standing import Standing, path_of
from aegis.masking.configuration import Configuration, canonical
from aegis.masking.configuration_file import configurations_from_mapping
from aegis.masking.mask import Mask, PermutingMask, RandomMask
from aegis.masking.masks.identity import Identity
from aegis.privacy.policy import Policy
from aegis.releases.fit import links_of
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import Leaving, recipient_named


def masks_shown_earlier(data: object, options: WithLedger, *, policy: Policy) -> dict[str, Mask | None]:
    """How each column was masked that somebody has from an earlier release; None where it was shown as it was.

    What a mask drew is taken for the value itself, from which it tells less.
    """
    path = path_of(data, options)
    shown: dict[str, Mask | None] = {}
    if path is None:
        return shown
    counted = read_ledger(path).counted(recipient=recipient_named(options.recipient), recipients=policy.recipients)
    for leaving in counted.values():
        configuration = configuration_of(leaving)
        for column in leaving.columns:
            mask = None if configuration is None else configuration.masks.get(column)
            shown.setdefault(column, None if mask is None or draws(mask) else mask)
    return shown


def masks_to_repeat(standing: Standing) -> dict[str, Mask]:
    """The masks that the next release must put on sensitive columns, because they left with them.

    Raises where no mask can be repeated: it drew at random, or two releases masked the column otherwise.
    """
    masks: dict[str, Mask] = {}
    check_same_contents(standing, None)
    for number, leaving in standing.counted.items():
        configuration = configuration_of(leaving)
        if configuration is None:
            continue
        for name in standing.attributes:
            mask = configuration.masks.get(name)
            if name not in leaving.columns or mask is None or isinstance(mask, Identity):
                continue
            if draws(mask):
                raise LedgerError(
                    f"the sensitive column {name!r} was drawn at random for entry {number} ({leaving.name}), and a "
                    "further draw cannot be judged before it is made; release without it (--columns), or judge alone "
                    "with --ledger none"
                )
            masks[name] = mask
    return masks


def why_masked_otherwise(standing: Standing, configuration: Configuration) -> str | None:
    """Why a configuration cannot be judged together with what is out, in a sentence; None where it can."""
    try:
        check_same_contents(standing, configuration)
    except LedgerError as error:
        return str(error)
    return None


def check_same_contents(
    standing: Standing, configuration: Configuration | None, *, left_out: Collection[str] = ()
) -> None:
    """Raise if a sensitive column is masked otherwise than in a release that counts.

    One that is ``left_out``, or every one where there is no configuration yet, only has to have left in one way.
    """
    first: dict[str, tuple[str, str]] = {}
    for number, leaving in standing.counted.items():
        before = configuration_of(leaving)
        if before is None:
            continue
        for name in standing.attributes:
            if name not in leaving.columns:
                continue
            mask, named = canonical(before[name]), f"entry {number} ({leaving.name})"
            if configuration is not None and name not in left_out:
                expected, who = canonical(configuration[name]), "masked otherwise than"
            else:
                expected, who = first.setdefault(name, (mask, named))[0], f"masked in {first[name][1]} otherwise than"
            if mask != expected:
                raise LedgerError(
                    f"the sensitive column {name!r} is {who} in {named}, and what both show of it together cannot be "
                    f"judged; allowed are the mask of that entry ({before[name].describe()}) and leaving the column "
                    "out (--columns); anything else needs a reason, with --despite-ledger"
                )


def configuration_of(leaving: Leaving) -> Configuration | None:
    """The masks that a release was made by; None for a table that was finished elsewhere."""
    if leaving.configuration is None:
        return None
    (configuration,) = configurations_from_mapping(leaving.configuration, name=leaving.name)
    return configuration


def draws(mask: Mask) -> bool:
    """Whether a mask draws at random."""
    return any(isinstance(link, RandomMask | PermutingMask) for link in links_of(mask))

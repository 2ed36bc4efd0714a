"""The table that an operation was given, opened as its options say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import READING, Reading, TableLike, WithIdentifying, WithRoles
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles, read_roles

_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def open_table(data: TableLike, options: Reading) -> Dataset:
    """``data`` as a dataset; one that is open already takes no options of reading."""
    roles = roles_given(options) if isinstance(options, WithIdentifying) else None
    if isinstance(data, Dataset):
        options.refuse(*READING, because="the table is open already, so nothing is read by these options")
        if roles is None or roles == Roles():
            return data
        return replace(data, roles=data.roles.overridden_by(roles).checked_against(data.schema))
    return open_dataset(data, roles=roles, **reading(options))


def reading(options: Reading) -> dict[str, Any]:
    """The options of `open_dataset` as keywords."""
    return {
        "delimiter": _DELIMITERS.get(options.delimiter or "", options.delimiter),
        "encoding": options.encoding,
        "missing": tuple(options.missing),
        "decimal_comma": tuple(options.decimal_comma),
        "day_first": tuple(options.day_first),
        "month_first": tuple(options.month_first),
        "table": options.table,
        "engine": options.engine,
    }


def roles_given(options: WithIdentifying) -> Roles:
    """The roles of the file or object that is given, overridden by those of single columns."""
    listed = Roles(identifying=tuple(options.identifying))
    if isinstance(options, WithRoles):
        listed = replace(
            listed,
            quasi_identifying=tuple(options.quasi),
            sensitive=tuple(options.sensitive),
            insensitive=tuple(options.insensitive),
        )
    if options.roles is None:
        return listed
    base = options.roles if isinstance(options.roles, Roles) else read_roles(Path(options.roles)).roles
    return base.overridden_by(listed)

"""The table that an operation was given, opened as its options say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import READING, Reading, TableLike, WithIdentifying, WithRoles
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles, read_roles
from aegis.library.tables.unlisted import REST
from aegis.operation import names

_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def open_table(data: TableLike, options: Reading) -> Dataset:
    """``data`` as a dataset; one that is open already takes no options of reading."""
    if isinstance(options, WithRoles) and REST in options.insensitive:
        return _with_the_rest(data, options)
    roles = roles_given(options) if isinstance(options, WithIdentifying) else None
    if isinstance(data, Dataset):
        options.refuse(*READING, because="the table is open already, so nothing is read by these options")
        if roles is None or roles == Roles():
            return data
        return replace(data, roles=data.roles.overridden_by(roles).checked_against(data.schema))
    return open_dataset(data, roles=roles, **reading(options))


def _with_the_rest(data: TableLike, options: WithRoles) -> Dataset:
    """The table where somebody said ``--insensitive rest``: every column without another role is insensitive."""
    named = tuple(name for name in options.insensitive if name != REST)
    dataset = open_table(data, replace(options, insensitive=named))
    if REST in dataset.schema:
        return dataset.with_roles(dataset.roles.overridden_by(Roles(insensitive=(REST,))))
    label = getattr(options, "label", None)
    labels = names(label) if isinstance(label, str) else tuple(label or ())
    rest = tuple(name for name in dataset.schema.names if dataset.roles.get(name) is None and name not in labels)
    return dataset.with_roles(dataset.roles.overridden_by(Roles(insensitive=rest)))


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

"""What an operation was given: the table, opened as its options say, its hierarchies and configurations, the label.

And the order of values that somebody declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import (
    READING,
    ConfigurationLike,
    ConfigurationsLike,
    HierarchiesLike,
    Reading,
    TableLike,
    WithIdentifying,
    WithRoles,
)
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import check_kinds, open_dataset
from aegis.data.hierarchy import Hierarchy, read_hierarchies
from aegis.data.kind import Kind
from aegis.data.schema import Roles, read_roles
from aegis.errors import ConfigurationError, OptionError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, load_configurations
from aegis.operation import names

REST = "rest"
"""The word that stands for every column without a role, except those that look as if they named people."""

_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def open_table(data: TableLike, options: Reading, *, kinds: Mapping[str, Kind] | None = None) -> Dataset:
    """``data`` as a dataset; one that is open already takes no options of reading.

    ``kinds`` states what columns of a text file hold; an open table says so itself.
    """
    if isinstance(options, WithRoles) and REST in options.insensitive:
        return _with_the_rest(data, options)
    roles = roles_given(options) if isinstance(options, WithIdentifying) else None
    if isinstance(data, Dataset):
        options.refuse(*READING, because="the table is open already, so nothing is read by these options")
        check_kinds(data, kinds or {})
        if roles is None or roles == Roles():
            return data
        return replace(data, roles=data.roles.overridden_by(roles).checked_against(data.schema))
    return open_dataset(data, roles=roles, kinds=kinds, **reading(options))


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


def gather(
    configurations: ConfigurationsLike | None,
    *,
    hierarchies: HierarchiesLike | None = None,
    data: Any = None,
) -> list[Configuration]:
    """Configurations from a file, a folder, one object or several."""
    if configurations is None:
        return []
    if isinstance(configurations, Configuration):
        return [configurations]
    if isinstance(configurations, str | Path):
        return load_configurations(Path(configurations), hierarchies=find_hierarchies(hierarchies, data))
    if isinstance(configurations, Mapping):
        available = find_hierarchies(hierarchies, data)
        return configurations_from_mapping(configurations, name="configuration", hierarchies=available)
    gathered: list[Configuration] = []
    for number, configuration in enumerate(configurations, start=1):
        if isinstance(configuration, Configuration):
            gathered.append(configuration)
        elif isinstance(configuration, Mapping):
            available = find_hierarchies(hierarchies, data)
            gathered += configurations_from_mapping(
                configuration, name=f"configuration-{number}", hierarchies=available
            )
        else:
            raise ConfigurationError("a list of configurations holds Configuration objects or {column: mask} mappings")
    return gathered


def one_configuration(
    configuration: ConfigurationLike, *, hierarchies: HierarchiesLike | None = None, data: Any = None
) -> Configuration:
    """The one configuration of a file."""
    gathered = gather(configuration, hierarchies=hierarchies, data=data)
    if len(gathered) != 1:
        raise ConfigurationError(f"there are {len(gathered)} configurations; give a file that holds one")
    return gathered[0]


def find_hierarchies(hierarchies: HierarchiesLike | None, data: Any) -> dict[str, Hierarchy]:
    """The hierarchies given, or those in a folder ``hierarchies`` beside the data."""
    if isinstance(hierarchies, Mapping):
        return dict(hierarchies)
    if hierarchies is not None:
        return read_hierarchies(Path(hierarchies))
    if isinstance(data, str | Path) and "://" not in str(data):
        beside = Path(data).parent / "hierarchies"
        if beside.is_dir():
            return read_hierarchies(beside)
    return {}


def label_of(named: str | None, label_role: str | None, configurations: Iterable[Configuration]) -> str | None:
    """The label asked for, or that of the roles, or the one the configurations were made for.

    A configuration that names another one is an error: what was chosen for one label says little about another.
    """
    label = named or label_role
    for configuration in configurations:
        label = label or configuration.label
        if configuration.label not in (None, label):
            raise ConfigurationError(
                f"configuration {configuration.name!r} is for the label {configuration.label!r}, and the label here is "
                f"{label!r}; name its label with --label, or take it out of the configuration"
            )
    return label


def labels_of(asked: str | None, dataset: Dataset, configurations: Iterable[Configuration]) -> tuple[str, ...]:
    """The labels to rank for: those asked for, separated by commas, or the one of roles or configurations.

    Where nobody names one, every column that does not identify people is one in turn.
    """
    if asked is not None and asked not in dataset.schema:
        several = names(asked)
        if len(several) > 1:
            dataset.schema.check(*several)
            return tuple(dict.fromkeys(several))
    label = label_of(asked, dataset.roles.label, configurations)
    if label is not None:
        return (label,)
    identifying = set(dataset.roles.identifying)
    return tuple(name for name in dataset.schema.names if name not in identifying)


def declared_orders(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The orders of ``--order``, by column.

    >>> declared_orders(["size=small<medium<large"])
    {'size': ('small', 'medium', 'large')}
    """
    orders: dict[str, tuple[str, ...]] = {}
    for text in texts:
        column, sign, listed = text.partition("=")
        column, values = column.strip(), tuple(value.strip() for value in listed.split("<"))
        if not sign or len(values) < 2 or not all(values):
            raise OptionError("an order is written COLUMN=first<second<third; write --order in that form")
        if column in orders:
            raise OptionError(f"--order names {column!r} twice; give it one order")
        if len(set(values)) < len(values):
            raise OptionError(f"--order names a value of {column!r} twice; name each once")
        orders[column] = values
    return orders


def with_orders(table: ClassTable, orders: Mapping[str, tuple[str, ...]]) -> ClassTable:
    """The table with the declared orders in the domains of its columns; every value has its place in one."""
    mine = {column: values for column, values in orders.items() if column in table.columns}
    if not mine:
        return table
    domains = [
        _ordered(column, domain, mine[column]) if column in mine else domain
        for column, domain in zip(table.columns, table.domains, strict=True)
    ]
    return replace(table, domains=tuple(domains))


def check_quasi_identifying(orders: Mapping[str, tuple[str, ...]], table: ClassTable) -> None:
    """Raise for an order of a column that forms no classes: it would change nothing."""
    for column in orders:
        if column not in table.columns:
            raise OptionError(
                f"--order names {column!r}, which is not quasi-identifying; those are {', '.join(table.columns)}"
            )


def _ordered(column: str, domain: Domain, values: Sequence[str]) -> Domain:
    if domain.kind is not Kind.TEXT:
        raise OptionError(f"{column!r} holds {domain.kind.value} values, which have their own order; leave it out")
    places = {value: place for place, value in enumerate(values)}
    texts: list[str] = domain.values.tolist()
    absent = sum(text not in places for text in texts)
    if absent:
        raise OptionError(f"the order of {column!r} leaves out {absent} of its {len(texts)} values; name all of them")
    order = sorted(range(len(texts)), key=lambda code: places[texts[code]])
    ranks = [0] * len(order)
    for rank, code in enumerate(order):
        ranks[code] = rank
    return replace(domain, order=tuple(ranks))

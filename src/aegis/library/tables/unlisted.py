"""Columns that nobody gave a role: a release asks for it, and what looks identifying is never published unnoticed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role, Roles, Schema
from aegis.errors import RoleError
from aegis.inspection.identifying_text import texts_that_identify
from aegis.inspection.profile import fractions
from aegis.inspection.same_people import may_say_whose, same_people
from aegis.inspection.suggested_role import suggest_role
from aegis.library.tables.opening import REST
from aegis.operation import listed, word

_LOOKED_AT = 50_000
_MOST_NAMED = 12


def unlisted(schema: Schema, roles: Roles) -> tuple[str, ...]:
    """The columns that nobody gave a role."""
    return tuple(name for name in schema.names if roles.get(name) is None)


def looks_identifying(
    dataset: Dataset, roles: Roles, *, masked: Collection[str] = (), empty: bool = True
) -> tuple[str, ...]:
    """Columns without role and mask that ``inspect`` would call identifying, by the first rows of the table.

    One without any value is among them unless ``empty`` is false.
    """
    columns = [column for column in dataset.schema if roles.get(column.name) is None and column.name not in masked]
    if not columns:
        return ()
    first = dataset.table.select(*(column.name for column in columns)).limit(_LOOKED_AT)
    measures = []
    for number, column in enumerate(columns):
        measures.append(first[column.name].nunique().name(f"d{number}"))
        measures.append(first[column.name].count().name(f"n{number}"))
        if column.kind is Kind.REAL:
            measures.append(fractions(first[column.name]).name(f"f{number}"))
    answer = ask(first.aggregate([first.count().name("rows"), *measures]))
    if not answer["rows"][0].as_py():
        return ()  # nobody is in a table without rows; a column without values in one that has some is another matter
    texts = texts_that_identify(dataset, [column.name for column in columns])
    suspicious, naming = [], []
    for number, column in enumerate(columns):
        distinct, present = (int(answer[f"{of}{number}"][0].as_py()) for of in "dn")
        whole = column.kind is Kind.REAL and not answer[f"f{number}"][0].as_py()
        kind = Kind.INTEGER if whole else column.kind
        role, _ = suggest_role(
            column.name,
            kind,
            distinct=distinct,
            present=present,
            last=False,
            label=False,
            looks_like=texts[column.name].what if column.name in texts else None,
        )
        if role is Role.IDENTIFYING and (present or empty):
            suspicious.append(column.name)
        elif role is Role.INSENSITIVE and may_say_whose(kind, distinct):
            naming.append(column.name)
    known = [name for name in dataset.schema.names if roles.get(name) is Role.IDENTIFYING or name in suspicious]
    told = same_people(dataset, known, naming)
    return tuple(column.name for column in columns if column.name in suspicious or column.name in told)


def not_counted(column: str) -> str:
    """Why a summary holds nothing of one of them."""
    return f"looks identifying and nobody gave it a role; --insensitive {word(column)} has it counted"


def warning(columns: tuple[str, ...]) -> str:
    """What to tell whoever is about to publish them."""
    several = len(columns) > 1
    return (
        f"{', '.join(columns)} {'look' if several else 'looks'} identifying, by {'their' if several else 'its'} values "
        f"or {'names' if several else 'name'}, and {'have' if several else 'has'} no role: published as "
        f"{'they are' if several else 'it is'}; name {'them' if several else 'it'} identifying if that names people"
    )


def hidden_warning(columns: Sequence[str]) -> str:
    """What to tell whoever wrote a table in which they were replaced by stars."""
    several = len(columns) > 1
    return (
        f"{', '.join(columns)} {'look' if several else 'looks'} identifying and nobody gave "
        f"{'them' if several else 'it'} a role: replaced by *; --insensitive publishes "
        f"{'them as they are' if several else 'it as it is'}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedRoles:
    """The roles with every column decided that is published.

    ``as_the_rest`` are the columns that are insensitive because somebody said so of all the rest at once,
    ``left_out`` those that look identifying and that nobody named, ``named`` those that look so and are published
    because somebody named them insensitive.
    """

    roles: Roles
    as_the_rest: tuple[str, ...]
    left_out: tuple[str, ...]
    named: tuple[str, ...]


def decide(
    dataset: Dataset,
    roles: Roles,
    *,
    insensitive: Sequence[str],
    masked: Collection[str],
    columns: Collection[str] | None,
    original: Dataset | None = None,
) -> DecidedRoles:
    """Give a role to every column that would be published as it is, or raise.

    Columns in ``insensitive`` are, and all others without a role if it holds the word ``rest``. What looks identifying
    is left out unless it is named there. ``columns`` are those that are to be written; None for all of them. A mask
    is a decision too. What a finished table hides of a column still shows in its ``original``.
    """
    rest = REST in insensitive and REST not in dataset.schema
    named = tuple(dict.fromkeys(name for name in insensitive if not (rest and name == REST)))
    dataset.schema.check(*named)
    for name in named:
        role = roles.get(name)
        if role not in (None, Role.INSENSITIVE):
            raise RoleError(f"column {name!r} is named insensitive and is {role.value} already; give it one role")
    roles = _with_insensitive(roles, named)
    undecided = [
        name
        for name in dataset.schema.names
        if roles.get(name) is None and name not in masked and (columns is None or name in columns)
    ]
    published = [name for name in roles.insensitive if name not in masked and (columns is None or name in columns)]
    suspected = _that_look_identifying(dataset, published, roles)
    if not undecided:
        return DecidedRoles(roles=roles, as_the_rest=(), left_out=(), named=suspected)
    others = [name for name in dataset.schema.names if name not in undecided]
    suspicious = looks_identifying(dataset, roles, masked=others)
    if original is not None and original is not dataset:
        at_first = [name for name in original.schema.names if name not in undecided]
        hidden = looks_identifying(original, roles, masked=at_first)
        suspicious = tuple(name for name in undecided if name in {*suspicious, *hidden})
    if suspicious and columns is not None:
        raise RoleError(
            f"{_named(suspicious)} would be published as {'it is' if len(suspicious) == 1 else 'they are'} and nobody "
            f"gave {'it' if len(suspicious) == 1 else 'them'} a role, though by values or name "
            f"{'it looks' if len(suspicious) == 1 else 'they look'} identifying; name "
            f"{'it' if len(suspicious) == 1 else 'them'} --identifying to hide, --insensitive to publish, or not at "
            "all under --columns"
        )
    plain = tuple(name for name in undecided if name not in suspicious)
    if plain and not rest:
        raise RoleError(
            f"nothing was released: nobody gave {_named(plain)} a role; add --insensitive "
            f"{word(listed(plain)) if len(plain) <= _MOST_NAMED else REST} if that may be published as it is, or name "
            "it in the policy or the roles file, or leave it out with --columns"
        )
    return DecidedRoles(roles=_with_insensitive(roles, plain), as_the_rest=plain, left_out=suspicious, named=suspected)


def named_warning(columns: Sequence[str]) -> str:
    """What to tell whoever published them because somebody named them insensitive."""
    several = len(columns) > 1
    return (
        f"{', '.join(columns)} {'look' if several else 'looks'} identifying and {'are' if several else 'is'} published "
        f"as {'they are' if several else 'it is'}, because {'they are' if several else 'it is'} named insensitive: no "
        f"verdict speaks of {'them' if several else 'it'}; name {'them' if several else 'it'} identifying if that "
        "names people"
    )


def _that_look_identifying(dataset: Dataset, columns: Sequence[str], roles: Roles) -> tuple[str, ...]:
    """Those of some columns that ``inspect`` would call identifying, whatever role they have."""
    if not columns:
        return ()
    others = [name for name in dataset.schema.names if name not in columns]
    return looks_identifying(dataset, Roles(identifying=roles.identifying), masked=others)


def _with_insensitive(roles: Roles, names: Sequence[str]) -> Roles:
    new = tuple(name for name in names if roles.get(name) is None)
    return replace(roles, insensitive=(*roles.insensitive, *new)) if new else roles


def _named(names: Sequence[str]) -> str:
    """Columns in the form of an option, the first of many."""
    more = len(names) - _MOST_NAMED
    return listed(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

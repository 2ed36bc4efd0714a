"""An operation is declared once: its options, what each means, and what goes with what.

An options class is a frozen dataclass whose fields carry an `Option` (or an `Argument`, for what stands by position)::

    @dataclass(frozen=True)
    class Check(Reading):
        \"\"\"Hold a table against a policy.\"\"\"

        data: Annotated[TableLike, Argument("A table.")]
        _: KW_ONLY
        policy: Annotated[PolicyLike, Option("The privacy policy (YAML).")]

    @operation(Check)
    def check(options: Check) -> Checked: ...

The command line (``aegis check DATA --policy P``), the Python signature (``aegis.check(data, policy=…)``), the
reference page and the API's request body are all read from it. An option that cannot be used as it was given is an
error wherever it came from: no interface ignores it.
"""

from __future__ import annotations

import csv
import dataclasses
import inspect
import os
import shlex
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, update_wrapper
from pathlib import Path, PurePath
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from aegis.errors import OptionError, OutputError
from aegis.registry import did_you_mean

P = ParamSpec("P")
O = TypeVar("O")
R = TypeVar("R")
S = TypeVar("S", bound="Options")


def visible(text: str) -> str:
    """The text without what nobody sees: spaces of no width, soft hyphens, joiners, marks of direction.

    >>> visible("b\u200bob"), visible("\u00ad")
    ('bob', '')
    """
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cf")


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What a field means.

    Args:
        help: one or two sentences for whoever has to fill it in.
        section: the heading it stands under in ``--help``.
        choices: the only texts that are accepted.
        minimum: the smallest number that is accepted.
        maximum: the largest number that is accepted.
        above: a number that the value must exceed.
        repeat: on the command line the option is repeated for each value; otherwise values are separated by commas.
        only_with: another option without which this one would not be used; of several, one is enough.
        writes: what is written to the path it names ("report"), said when it is done.
        replaces: the options whose files it lets be replaced: none of them may be a file that another option names.
        variable: an environment variable that gives the value where the command line does not.
        secret: the value is not shown again.
        blank: whether a blank text is an answer: a space may separate fields. Elsewhere it is refused.
        short: one letter for the command line ("-y").
        terminal: whether the command line has it; a callback or an object can be given in Python only.
    """

    help: str
    section: str | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    repeat: bool = False
    only_with: str | tuple[str, ...] = ()
    writes: str | None = None
    replaces: tuple[str, ...] = ()
    variable: str | None = None
    secret: bool = False
    blank: bool = False
    short: str | None = None
    terminal: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Argument(Option):
    """A field that stands by its position."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an options class, as the command line, Python and the reference see it.

    ``kind`` is what a terminal gives (bool, int, float, str, Path), ``many`` whether it is a sequence of those.
    """

    name: str
    option: Option
    kind: type
    many: bool
    required: bool
    default: Any

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.name if isinstance(self.option, Argument) else _flag(self.name)

    @property
    def needs(self) -> tuple[str, ...]:
        """The options of which one must be given for this one to be used; none where it always is."""
        only_with = self.option.only_with
        return (only_with,) if isinstance(only_with, str) else only_with


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The root of all options classes: an object that exists is valid as far as its options alone can tell."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Options show themselves as this class does: what ``dataclass`` writes would show the rows of a table."""
        super().__init_subclass__(**more)
        type.__setattr__(cls, "__repr__", Options.__repr__)

    def __repr__(self) -> str:
        given = {*self.given(), *(field.name for field in fields_of(type(self)) if field.required)}
        shown = [
            f"{field.name}={_shown(field, getattr(self, field.name))}"
            for field in fields_of(type(self))
            if field.name in given
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if field.many and value is not None:
                value = _several(value)
                object.__setattr__(self, field.name, value)
            _check_value(field, value)
        for field in fields_of(type(self)):
            needed = field.needs
            if needed and field.name in self.given() and not any(getattr(self, name) for name in needed):
                flags = " or ".join(map(_flag, needed))
                raise OptionError(
                    f"{field.flag} says something about {flags}, which is not given; "
                    f"add {flags} or leave {field.flag} out"
                )

        for field in fields_of(type(self)):
            if field.option.replaces:
                self._check_apart(field.option.replaces, replaced=bool(getattr(self, field.name)))

    def _check_apart(self, outputs: tuple[str, ...], *, replaced: bool) -> None:
        """Raise where two outputs are one file, or one to be replaced is an input: nobody means to lose a source."""
        declared = [field.name for field in fields_of(type(self)) if replaced or field.name in outputs]
        named: dict[str, list[str]] = {}
        for name in declared:
            for path in _paths(getattr(self, name)):
                # Else it is a word, such as the name of a column; a long text is no error here.
                if name in outputs or os.path.exists(path):  # noqa: PTH110 - which raises of a text that is too long
                    named.setdefault(path, []).append(name)
        for name in (name for name in outputs if name in declared):
            for path in _paths(getattr(self, name)):
                if len(named[path]) > 1 and not Path(path).is_dir():  # a summary may be added to where it is
                    raise OutputError(
                        f"{getattr(self, name)} is an input or another output of this command; "
                        "choose another name, so that each file has a name of its own"
                    )

    def given(self) -> tuple[str, ...]:
        """The options that differ from their defaults."""
        values = ((field, getattr(self, field.name)) for field in fields_of(type(self)) if not field.required)
        return tuple(
            field.name
            for field, value in values
            if (value is not None if field.default is None else value != field.default)
        )

    def shared_with(self, operation: type[S], **others: Any) -> S:
        """The options of another operation: those of the same name as they are here, and ``others``."""
        names = {field.name for field in fields_of(type(self))} & {field.name for field in fields_of(operation)}
        return operation(**{name: getattr(self, name) for name in names} | others)

    def refuse(self, *options: str, because: str) -> None:
        """Raise if one of ``options`` is given: on this path nothing would use it."""
        unused = [_flag(name) for name in options if name in self.given()]
        if unused:
            raise OptionError(f"{because}; leave out {', '.join(unused)}")


class Operation(Generic[P, O, R]):
    """A function of an options object that can be called with the options themselves.

    ``advise("clinic.csv", label="health")`` and ``advise.run(Advise("clinic.csv", label="health"))`` are the same. The
    example in its docstring is shown by editors and the reference, and run by the contract of results.
    """

    def __init__(self, options: Callable[P, O], function: Callable[[O], R]) -> None:
        self.options = options
        self.run = function
        update_wrapper(self, function, updated=())
        self.__doc__ = described(options, function.__doc__)
        self.__signature__ = inspect.signature(options).replace(
            return_annotation=function.__annotations__.get("return", inspect.Signature.empty)
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        parameters = inspect.signature(self.options).parameters
        for name in kwargs:
            if name not in parameters:
                raise TypeError(
                    f"{self.run.__name__}() got an unexpected keyword argument {name!r}{did_you_mean(name, parameters)}"
                )
        try:
            inspect.signature(self.options).bind(*args, **kwargs)
        except TypeError as error:  # of what somebody called, and not of the class that holds its options
            raise TypeError(f"{self.run.__name__}() {error}") from None
        return self.run(self.options(*args, **kwargs))

    @property
    def example(self) -> str:
        """The lines under ``Example::`` in its docstring: the last one is the call, in a folder of ``aegis demo``."""
        block = inspect.cleandoc(self.run.__doc__ or "").partition("Example::\n")[2]
        return textwrap.dedent(block).strip()

    def __repr__(self) -> str:
        return f"<operation {self.run.__name__}{self.__signature__}>"


def operation(options: Callable[P, O]) -> Callable[[Callable[[O], R]], Operation[P, O, R]]:
    """Make a function of an ``options`` object callable with the options themselves."""
    return lambda function: Operation(options, function)


def _shown(field: Field, value: Any) -> str:
    """An option as it may be shown: texts, numbers and paths; of anything else what it is, for it may hold rows."""
    if field.option.secret:
        return "…"
    parts = value if isinstance(value, tuple | list) else (value,)
    plain = value is None or all(isinstance(part, bool | int | float | str | PurePath) for part in parts)
    return repr(value) if plain else f"<{type(value).__name__}>"


def _paths(value: Any) -> list[str]:
    """The files that an option may mean, links followed; a text that cannot be one is none."""
    if isinstance(value, tuple | list):
        return [path for each in value for path in _paths(each)]
    if not isinstance(value, str | PurePath) or "://" in str(value) or "\0" in str(value):
        return []
    return [os.path.realpath(value)]


def fields_of(options: type) -> tuple[Field, ...]:
    """The declared fields of an options class: arguments first, then its own options, then those it shares."""
    return _fields_of(options)


@cache
def _fields_of(options: Any) -> tuple[Field, ...]:
    hints = get_type_hints(options, include_extras=True)
    declared_fields = []
    for field in dataclasses.fields(options):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{options.__name__}.{field.name} has no Option that says what it means")
        declared, option = get_args(hint)[:2]
        kind, many = _kind(declared)
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if required or field.default is dataclasses.MISSING else field.default
        declared_fields.append(
            Field(name=field.name, option=option, kind=kind, many=many, required=required, default=default)
        )
    own = inspect.get_annotations(options)  # what only this operation has comes before what it shares
    return tuple(
        sorted(declared_fields, key=lambda field: (not isinstance(field.option, Argument), field.name not in own))
    )


def described(options: Callable[..., Any], first: str | None) -> str:
    """A docstring: what the operation does, then every option."""
    if not isinstance(options, type):
        return first or ""
    lines = [inspect.cleandoc(first or options.__doc__ or ""), "", "Args:"]
    lines += [f"    {field.name}: {field.option.help}" for field in fields_of(options)]
    return "\n".join(lines)


def names(text: str) -> tuple[str, ...]:
    """Names from a comma separated list; a name with a comma stands in double quotes.

    >>> names('age, zip, "last, first"')
    ('age', 'zip', 'last, first')
    """
    return tuple(part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row if part.strip())


def listed(columns: Sequence[str]) -> str:
    """The list that `names` reads.

    >>> listed(["age", "last, first"])
    'age, "last, first"'
    """
    return ", ".join('"{}"'.format(name.replace('"', '""')) if set(name) & set(',"') else name for name in columns)


def word(text: object) -> str:
    """A path or a name as a shell takes it: one word, whatever characters it has.

    >>> word("my file.csv"), word("age"), word("x;touch pwned #")
    ("'my file.csv'", 'age', "'x;touch pwned #'")
    """
    return shlex.quote(str(text))


def _several(value: Any) -> tuple[Any, ...]:
    """Values of an option that takes several; a single one may stand alone."""
    if isinstance(value, str):
        return names(value)
    return (value,) if isinstance(value, int | float | Path) else tuple(value)


def _flag(name: str) -> str:
    """An option on the command line; one that Python keeps for itself has a bar at its end (``with_``)."""
    return "--" + name.removesuffix("_").replace("_", "-")


_PLAIN = (bool, int, float, str, Path)


def _kind(declared: Any) -> tuple[type, bool]:
    """What a terminal gives for a declared type: the first plain one, and whether there are several."""
    if declared in _PLAIN:
        return declared, False
    if get_origin(declared) is Sequence:
        return _kind(get_args(declared)[0])[0], True
    for part in get_args(declared):  # a union
        if part in _PLAIN or get_origin(part) is Sequence:
            return _kind(part)
    return str, False


def _check_value(field: Field, value: Any) -> None:
    option = field.option
    if value is None:
        return
    if isinstance(value, str) and not option.blank and not visible(value).strip() and value != field.default:
        raise OptionError(f"{field.flag} is empty; give it a value, or leave it out")
    for part in value if field.many else (value,):
        if option.choices and part not in option.choices:
            raise OptionError(
                f"{field.flag} cannot be {part!r}{did_you_mean(str(part), option.choices)}; "
                f"it is one of {', '.join(option.choices)}"
            )
        if option.minimum is not None and isinstance(part, int | float) and not part >= option.minimum:
            raise OptionError(f"{field.flag} is at least {option.minimum:g}; give a number from there on")
        if option.maximum is not None and isinstance(part, int | float) and not part <= option.maximum:
            raise OptionError(f"{field.flag} is at most {option.maximum:g}")
        if option.above is not None and isinstance(part, int | float) and not part > option.above:
            raise OptionError(f"{field.flag} is more than {option.above:g}")

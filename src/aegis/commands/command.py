"""Turn a declared operation into a command of the terminal.

A file of this room declares a command in one place::

    @command("check", Check, run="aegis.library.check:check", group=JUDGE)
    def show(result: Checked, options: Check) -> None:
        ...what people see; with --json the result prints itself

The operation is imported when the command runs, so that ``aegis --help`` stays quick.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from aegis.commands import interruption, terminal
from aegis.errors import OptionError
from aegis.loading import loaded
from aegis.operation import Argument, Field, Options, fields_of, names
from aegis.registry import Registry

START, CHOOSE, JUDGE, RELEASE, MAKE, LOOK_UP, SHARE = (
    "Begin here",
    "Choose what to release",
    "Check and attack",
    "Release",
    "Make candidates",
    "Look things up",
    "Share in a catalog",
)
GROUPS = (START, CHOOSE, JUDGE, RELEASE, MAKE, SHARE, LOOK_UP)
"""The headings of ``aegis --help``, in order."""

GROUP_HELP = {
    "audit": "The catalog's record of who did what.",
    "curve": "Trade-off curves of sanitizers: theory, baselines, and what an audit measured.",
    "key": "The keys that certificates are signed with.",
    "ledger": "The record of what was released from a table, and its privacy budget.",
    "push": "Send what a provider made to a catalog.",
}
"""What is said of commands that have commands."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command: its options, the operation it runs, and how the answer is shown.

    Args:
        name: as it is typed; two words for a command of a group ("curve gaussian").
        options: the declared options.
        run: where the operation is, as ``module:name``.
        show: prints the result for people.
        group: the heading it stands under in ``aegis --help``.
        working: what the progress bar says; empty for quick work.
        anytime: Ctrl-C ends the work at a safe place with the best so far.
        json: what ``--json`` prints, from result and options; by default what the result says of itself.
        interrupted: what is said when Ctrl-C ended it; a function of the options where it depends on them.
        one_of: options of which the command line needs one: in Python the result itself may be all that is wanted.
        then: what goes on once the answer was shown, until it is stopped (a server); gives the exit status.
    """

    name: str
    options: type[Options]
    run: str
    show: Callable[[Any, Any], int | None]
    group: str
    working: str = ""
    anytime: bool = False
    json: Callable[[Any, Any], Any] | None = lambda result, _options: result.to_json()
    interrupted: str | Callable[[Any], str] = ""
    one_of: tuple[str, ...] = ()
    then: Callable[[Any], int] | None = None

    def operation(self) -> Callable[[Any], Any]:
        """The function of an options object that does the work."""
        module, _, name = self.run.partition(":")
        operation = getattr(loaded(module), name)
        return getattr(operation, "run", operation)

    @property
    def help(self) -> str:
        return inspect.cleandoc(self.options.__doc__ or "")


COMMANDS: Registry[Command] = Registry("commands", noun="command", package="aegis.commands")
"""The commands of the library; the catalog, the papers and other packages add theirs by entry points."""


def command(
    name: str,
    options: type[Options],
    *,
    run: str,
    group: str,
    working: str = "",
    anytime: bool = False,
    json: Callable[[Any, Any], Any] | None = lambda result, _options: result.to_json(),
    interrupted: str | Callable[[Any], str] = "",
    one_of: tuple[str, ...] = (),
    then: Callable[[Any], int] | None = None,
    register: bool = True,
) -> Callable[[Callable[[Any, Any], int | None]], Command]:
    """Declare a command around the function that shows its result; see `Command` for the arguments.

    ``register`` is off for packages whose entry point names the command.
    """

    def declare(show: Callable[[Any, Any], int | None]) -> Command:
        made = Command(
            name=name,
            options=options,
            run=run,
            show=show,
            group=group,
            working=working,
            anytime=anytime,
            json=json,
            interrupted=interrupted,
            one_of=one_of,
            then=then,
        )
        return COMMANDS.add(name, made) if register else made

    return declare


def as_function(made: Command) -> Callable[..., int]:
    """The command as a function whose signature Typer reads."""
    fields = tuple(field for field in fields_of(made.options) if field.option.terminal)

    def call(**values: Any) -> int:
        as_json = values.pop("json", False)
        options = made.options(**{field.name: _value(field, values[field.name]) for field in fields})
        if made.one_of and all(getattr(options, name) in (None, ()) for name in made.one_of):
            raise OptionError(f"give {' or '.join('--' + name.replace('_', '-') for name in made.one_of)}")
        new_folders = _missing_folders(fields, options)
        with ExitStack() as stack:
            if made.working:
                options = dataclasses.replace(options, **_progress(made, stack))
            try:
                result = made.operation()(options)
            except KeyboardInterrupt:
                text = made.interrupted if isinstance(made.interrupted, str) else made.interrupted(options)
                if text:
                    terminal.aside(text)
                raise
        status = None
        if as_json and made.json is not None:
            terminal.print_json(made.json(result, options))
        else:
            status = made.show(result, options)
        for text in getattr(result, "warnings", ()):
            terminal.warn(text)
        for field in fields:
            if field.option.writes and getattr(options, field.name) is not None:
                terminal.talk().print(f"{field.option.writes}: {getattr(options, field.name)}", soft_wrap=True)
        for folder in new_folders:
            if folder.is_dir():
                terminal.talk().print(f"new folder: {folder}", soft_wrap=True)
        if made.then is not None:
            sys.stdout.flush()  # whoever reads a pipe waits for the answer
            return made.then(result)
        return status if status is not None else int(getattr(result, "exit_status", 0))

    parameters = [_parameter(field) for field in fields]
    if made.json is not None:
        flag = typer.Option("--json", help="Print one JSON object instead of a table.")
        parameters.append(
            inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, flag])
        )
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__doc__ = made.help
    return call


def _missing_folders(fields: tuple[Field, ...], options: Options) -> list[Path]:
    """The folders of paths that do not exist yet: whoever writes there makes them, which is worth a word."""
    values = [
        str(getattr(options, field.name))
        for field in fields
        if (field.kind is Path or field.name == "out") and not field.many and getattr(options, field.name)
    ]
    folders = dict.fromkeys(Path(value).parent for value in values if "://" not in value)
    return [folder for folder in folders if not folder.exists()]


def _progress(made: Command, stack: ExitStack) -> dict[str, Any]:
    check = stack.enter_context(interruption.waiting()) if made.anytime else None
    bar = stack.enter_context(terminal.progress(made.working))

    def update(done: int, total: int | None, what: str) -> None:
        if check is not None:
            check()
        bar(done, total, what)

    return {"progress": update}


_METAVARS = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


def _parameter(field: Field) -> inspect.Parameter:
    option, default = field.option, inspect.Parameter.empty if field.required else _default(field)
    kind: Any = field.kind
    if field.many:
        kind = list[kind] if option.repeat or isinstance(option, Argument) else str
    if not field.required and default is None:
        kind = kind | None
    if isinstance(option, Argument):
        described: Any = typer.Argument(help=option.help, envvar=option.variable, metavar=field.name.upper())
    else:
        flags = (f"{field.flag}/--no-{field.flag[2:]}",) if field.kind is bool and field.default else (field.flag,)
        text = option.help + (f" One of {', '.join(option.choices)}." if option.choices else "")
        described = typer.Option(
            *flags,
            *([option.short] if option.short else []),
            metavar=_metavar(field),
            help=text + (" May be repeated." if option.repeat else ""),
            rich_help_panel=option.section,
            envvar=option.variable,
            show_envvar=option.variable is not None and not option.secret,
        )
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, described]
    )


def _metavar(field: Field) -> str | None:
    if not field.many or field.option.repeat:
        return _METAVARS.get(field.kind)
    return "NUMBERS" if field.kind in (int, float) else "NAMES"


def _default(field: Field) -> Any:
    """What Typer shows and gives where nothing is typed."""
    if not field.many:
        return field.default
    if field.option.repeat or isinstance(field.option, Argument):
        return None
    return ",".join(map(str, field.default)) if field.default else None


def _value(field: Field, typed: Any) -> Any:
    """What was typed, as the options class takes it."""
    if not field.many:
        return typed
    if typed is None:
        return field.default
    if isinstance(typed, str) and field.kind is not str:
        try:
            return tuple(field.kind(part) for part in names(typed))
        except ValueError:
            kind = {int: "whole numbers", float: "numbers"}.get(field.kind, "values")
            raise OptionError(f"{field.flag} takes {kind} separated by commas") from None
    return typed

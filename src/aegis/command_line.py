"""The command line: every declared command under its heading, and how each way of ending is answered."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from aegis._version import __version__
from aegis.commands import interruption
from aegis.commands.command import COMMANDS, GROUP_HELP, GROUPS, Command, as_function
from aegis.commands.project_defaults import USES, completed
from aegis.errors import AegisError
from aegis.loading import own_process

FIRST = "start"
"""The command that stands first: it leads to the others."""


class _Declared(TyperCommand):
    """A declared command; its options are read when it is called or explains itself, not to list all commands."""

    def __init__(self, made: Command, *, name: str) -> None:
        self._made = made
        self._built: Any = None
        super().__init__(name, help=made.help, rich_help_panel=made.group)

    @property
    def params(self) -> Any:
        if self._built is None:
            alone = typer.Typer(add_completion=False)
            alone.command(self.name)(as_function(self._made))
            self._built = typer.main.get_command(alone)
            self.callback = self._built.callback
        return self._built.params

    @params.setter
    def params(self, _none: Any) -> None:
        """Typer sets the options of every command: here they come from the declaration."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words that were typed, completed by what the project file says."""
        if self._made.name in USES and not ctx.resilient_parsing and not set(ctx.help_option_names) & set(args):
            typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            args, defaults_note = completed(
                self._made.name, {name: _given(value) for name, value in typed.items()}, args
            )
            if defaults_note:
                from aegis.commands.terminal import aside

                aside(defaults_note)
        return super().parse_args(ctx, args)


def _given(value: Any) -> Any:
    """What was typed for an option, None where nothing was: the parser has a mark of its own for that."""
    return None if type(value).__name__ == "Sentinel" else value


class _Commands(TyperGroup):
    """All commands, under their headings; two words make a command of a group.

    A command that is named is read alone; all of them are when somebody wants to see them, or names one of a group.
    """

    _all_read = False

    @property
    def commands(self) -> Any:
        self._read_all()
        return self._by_name

    @commands.setter
    def commands(self, commands: Any) -> None:
        self._by_name = dict(commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        made = None if self._all_read else COMMANDS.in_module(cmd_name)
        return super().get_command(ctx, cmd_name) if made is None else _Declared(made, name=cmd_name)

    def _read_all(self) -> None:
        if self._all_read:
            return
        self._all_read = True
        from aegis.catalog.commands.of_catalog import CATALOG

        ranks = {group: rank for rank, group in enumerate(GROUPS)}
        declared = [made for _, made in COMMANDS.items()] + list(CATALOG)
        for made in sorted(
            declared, key=lambda made: (ranks.get(made.group, len(ranks)), made.name != FIRST, made.name)
        ):
            first, _, second = made.name.partition(" ")
            if not second:
                self.add_command(_Declared(made, name=first))
                continue
            if first not in self.commands:
                help_ = GROUP_HELP.get(first, "")
                group = TyperGroup(name=first, help=help_, no_args_is_help=True, rich_help_panel=made.group)
                self.add_command(group)
            cast(TyperGroup, self.commands[first]).add_command(_Declared(made, name=second))

    def invoke(self, ctx: Any) -> Any:
        """Typer would answer Ctrl-C with its status and no word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


app = typer.Typer(
    name="aegis",
    cls=_Commands,
    help="Share data that is private enough to leave and useful enough to learn from.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those hold data
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aegis {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# Typer carries its own copy of click: what both call a usage error is found through the class it exports.
_USAGE: Any = typer.BadParameter.__mro__[2]


def run() -> None:
    """The entry point: every way of ending has its exit status, and none shows a traceback with data in it."""
    interruption.listen()
    own_process()
    sys.exit(call(sys.argv[1:]))


def call(arguments: list[str]) -> int:
    """Run one command line and give its exit status: 0 done, 1 not satisfied, 2 bad input, 130 interrupted."""
    try:
        answer = app(args=arguments, standalone_mode=False, prog_name="aegis")
        sys.stdout.flush()
    except typer.Exit as exit_:
        return exit_.exit_code
    except BrokenPipeError:
        # The reader has gone: nothing more to say, also not when the interpreter flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Exception as error:
        # What an engine makes of Ctrl-C looks like any other error.
        return _interrupted() if interruption.heard() else _failed(error)
    return int(answer) if isinstance(answer, int) else 0


def _interrupted() -> int:
    from aegis.commands.terminal import talk

    interruption.forget()
    talk().print("interrupted; nothing was left half-written")
    return 130


def _failed(error: Exception) -> int:
    from aegis.commands.terminal import fail, talk

    if isinstance(error, AegisError):
        return fail(error)
    if isinstance(error, _USAGE):
        error.show()
        return 2
    if os.environ.get("AEGIS_DEBUG"):
        raise error
    # The message of an unknown error may quote data: name its kind only.
    talk().print(
        f"[bold red]internal error:[/bold red] {type(error).__name__}. This is a defect of Aegis; "
        "set AEGIS_DEBUG=1 to see where, and mind that a traceback may show data.",
        markup=True,
    )
    return 2

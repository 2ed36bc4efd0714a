"""``aegis key``: the keys that certificates are signed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import PathLike
from aegis.operation import Argument, Options

if TYPE_CHECKING:
    from aegis.library.key import KeyFacts


@dataclass(frozen=True)
class NewKey(Options):
    """Make an Ed25519 key to sign certificates with: KEY for you alone, KEY.pub for everybody. Nothing is replaced."""

    key: Annotated[PathLike, Argument("The file to write the private key to.")]


@dataclass(frozen=True)
class ShowKey(Options):
    """Show the public part of a key, as a catalog registers it, and its fingerprint."""

    key: Annotated[PathLike, Argument("A private key, or a .pub file.")]


@command("key new", NewKey, run="aegis.library.key:key_new", group=RELEASE)
def show_new(made: KeyFacts, options: NewKey) -> None:
    """What was written, and what to do with it."""
    terminal.out().print(made.public, soft_wrap=True)
    terminal.aside(f"{made.path} signs in your name: keep it to yourself and have a copy where nothing is lost")
    terminal.next_step(f"aegis release DATA --policy POLICY --out FILE --sign {terminal.word(made.path)}")


@command("key show", ShowKey, run="aegis.library.key:key_show", group=RELEASE)
def show(key: KeyFacts, options: ShowKey) -> None:
    """The public key and its fingerprint."""
    terminal.out().print(key.public, soft_wrap=True)
    terminal.aside(f"fingerprint {key.fingerprint}")

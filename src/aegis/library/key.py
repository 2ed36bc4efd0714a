"""Keys that certificates are signed with: made, and shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aegis.commands.key import NewKey, ShowKey
from aegis.operation import operation
from aegis.releases.signature import make_key, read_public
from aegis.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts(Result):
    """What everybody may know of a key."""

    path: str
    public: str
    fingerprint: str

    @property
    def headline(self) -> str:
        return f"{self.path}: {self.fingerprint}"


@operation(NewKey)
def key_new(options: NewKey) -> KeyFacts:
    """Make a private key, readable by its owner only, and write its public part beside it.

    Example::

        aegis.key_new("clinic.key")
    """
    public = make_key(Path(options.key))
    return KeyFacts(path=str(options.key), public=public.text, fingerprint=public.fingerprint)


@operation(ShowKey)
def key_show(options: ShowKey) -> KeyFacts:
    """The public part of a key.

    Example::

        aegis.key_new("clinic.key")
        aegis.key_show("clinic.key.pub")
    """
    public = read_public(Path(options.key))
    return KeyFacts(path=str(options.key), public=public.text, fingerprint=public.fingerprint)

"""TLS for ``aegis serve``: a certificate and its key, looked at before anything listens."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import typer

from aegis.catalog.settings import CERTIFICATE_VARIABLE, KEY_VARIABLE
from aegis.errors import InputError

Certificate = Annotated[
    Path | None,
    typer.Option("--tls-certificate", help="Speak HTTPS with this certificate (PEM, with its chain below it)."),
]
Key = Annotated[Path | None, typer.Option("--tls-key", help="The certificate's private key (PEM, without a password).")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """A certificate and its key, which belong together."""

    certificate: Path
    key: Path

    @classmethod
    def given(cls, certificate: Path | None, key: Path | None) -> Self | None:
        """From the two options; None where neither is there."""
        if certificate is None and key is None:
            return None
        if certificate is None or key is None:
            raise InputError("--tls-certificate and --tls-key go together; give both, or neither")
        tls = cls(certificate=certificate, key=key)
        tls.check()
        return tls

    @property
    def environment(self) -> dict[str, str]:
        """For the processes that serve."""
        return {CERTIFICATE_VARIABLE: str(self.certificate.absolute()), KEY_VARIABLE: str(self.key.absolute())}

    def check(self) -> None:
        """Raise unless a server can use both: the processes that serve would only end again and again."""
        for path in (self.certificate, self.key):
            if not path.is_file():
                raise InputError(f"there is no file {path}; give the certificate and its key as PEM files")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            raise InputError(
                f"{self.certificate} and {self.key} cannot be used ({str(reason).replace('_', ' ').lower()}); give a "
                "certificate and the private key that it was made for, both as PEM"
            ) from None


def _no_password() -> bytes:
    raise InputError("the private key has a password, and nobody could type it when a server starts again; remove it")

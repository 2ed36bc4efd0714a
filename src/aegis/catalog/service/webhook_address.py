"""Which addresses a webhook may have: the public internet, and private networks only where an administrator says so.

A name is looked up once and what it answers is checked; the connection then goes to exactly that address. Whoever
answers with another one the next time gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from aegis.errors import InputError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Iterable[str]]
_LONGEST = 2_000
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAddress:
    """The parts of an address that was read."""

    encrypted: bool
    host: str
    port: int
    target: str


def read_address(url: str) -> WebhookAddress:
    """An ``https`` address, or an ``http`` one, which only an allowed private network may have.

    >>> read_address("https://hooks.example/aegis?team=1").target
    '/aegis?team=1'
    >>> read_address("https://me:secret@hooks.example/")
    Traceback (most recent call last):
        ...
    aegis.errors.InputError: the address of a webhook is like https://hooks.example/path, without a name or password
    """
    wrong = InputError("the address of a webhook is like https://hooks.example/path, without a name or password")
    if not isinstance(url, str) or len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise wrong
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise wrong
    encrypted = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    return WebhookAddress(
        encrypted=encrypted,
        host=parts.hostname,
        port=port or (443 if encrypted else 80),
        target=(parts.path or "/") + query,
    )


def read_networks(text: str) -> tuple[Network, ...]:
    """The networks of a setting, separated by commas.

    >>> read_networks("10.1.0.0/16, ::1")
    (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError("the setting webhook_networks lists networks like 10.1.0.0/16, with commas") from None


def resolved(host: str, port: int) -> list[str]:
    """What the name service answers."""
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def checked_destination(address: WebhookAddress, *, networks: tuple[Network, ...], resolve: Resolve = resolved) -> str:
    """The one address to connect to; `InputError` unless every address of the name may be reached."""
    try:
        addresses = [ipaddress.ip_address(text.split("%")[0]) for text in resolve(address.host, address.port)]
    except (OSError, ValueError, UnicodeError):
        raise InputError("the host of the webhook has no address; check its name") from None
    if not addresses:
        raise InputError("the host of the webhook has no address; check its name")
    inside = [any(ip in network for network in networks if network.version == ip.version) for ip in addresses]
    if not all(allowed or is_public(ip) for allowed, ip in zip(inside, addresses, strict=True)):
        raise InputError(
            "the webhook leads into a private network; an administrator may allow it in the setting webhook_networks"
        )
    if not address.encrypted and not all(inside):
        raise InputError("a webhook on the internet must be https; its messages would travel in the clear")
    return str(addresses[0])


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet, also where it wraps another one.

    >>> [is_public(ipaddress.ip_address(text)) for text in ("93.184.216.34", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1")]
    [True, False, False, False]
    >>> is_public(ipaddress.ip_address("fec0::1"))  # private networks of old, which Python calls global
    False
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved

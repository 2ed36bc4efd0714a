"""A mail server and a receiver of webhooks on loopback, and the catalog of the service's tests."""

from __future__ import annotations

import email
import email.policy
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from tests.catalog.service.conftest import empty_sqlite, new_stage, parts, small_stage, stage

__all__ = ["empty_sqlite", "new_stage", "parts", "small_stage", "stage"]


@dataclass
class MailServer:
    """What a real SMTP server on loopback was given."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    """What it says to the next mails instead of taking them."""

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - as aiosmtpd calls it
        if self.answers:
            return self.answers.pop(0)
        content = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(content, EmailMessage)
        self.mails.append(content)
        return "250 taken"

    def text(self, number: int = -1) -> str:
        body = self.mails[number].get_body()
        assert body is not None
        return str(body.get_content())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    server = MailServer(port=free_port())
    controller = Controller(server, hostname="127.0.0.1", port=server.port)
    controller.start()
    yield server
    controller.stop()


@dataclass
class Receiver:
    """What a webhook's receiver on loopback was sent."""

    url: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    location: str = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(received.statuses.pop(0) if received.statuses else 204)
            if received.location:
                self.send_header("Location", received.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Not in the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    received.url = f"http://127.0.0.1:{server.server_address[1]}/hook?team=1"
    yield received
    server.shutdown()
    thread.join()
    server.server_close()

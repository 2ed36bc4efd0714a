"""Headers that never end, and a thousand connections of one address: others are answered meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from aegis.catalog.server.process import event_loop, limited


@contextmanager
def served(*, header_seconds: float, most_of_address: int | None) -> Iterator[tuple[str, int]]:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    kind = limited(header_seconds=header_seconds, most_of_address=most_of_address)
    config = uvicorn.Config(app, http=kind, log_config=None, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def connected(address: tuple[str, int], start: bytes) -> socket.socket:
    connection = socket.create_connection(address, timeout=10)
    connection.sendall(start)
    return connection


def answered(connection: socket.socket) -> bytes:
    content = b""
    while chunk := connection.recv(4096):
        content += chunk
    return content


def test_headers_that_never_end_are_answered_and_closed() -> None:
    with served(header_seconds=0.4, most_of_address=None) as address, ExitStack() as until_end:
        slow = [until_end.enter_context(connected(address, b"GET / HTTP/1.1\r\nHost: x\r\nX-")) for _ in range(50)]
        silent = until_end.enter_context(connected(address, b""))
        assert httpx.get(f"http://{address[0]}:{address[1]}/").text == "ok"
        for connection in [*slow, silent]:
            assert answered(connection).startswith(b"HTTP/1.1 408 ")


def test_a_trickle_of_headers_is_no_way_round() -> None:
    with served(header_seconds=0.4, most_of_address=None) as address:
        connection = connected(address, b"GET / HTTP/1.1\r\nHost: x\r\n")
        with connection:
            for _ in range(20):
                try:
                    connection.sendall(b"X-A: b\r\n")
                except OSError:
                    break
                time.sleep(0.1)
            else:
                raise AssertionError("the connection was never closed")


def test_the_second_request_of_a_connection_has_the_same_timeout() -> None:
    with served(header_seconds=0.3, most_of_address=None) as address:
        connection = connected(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with connection:
            assert b"ok" in connection.recv(4096)
            connection.sendall(b"GET / HTTP/1.1\r\n")
            assert answered(connection).startswith(b"HTTP/1.1 408 ")


def test_one_address_has_a_share_of_the_connections_and_gets_it_back() -> None:
    with served(header_seconds=30, most_of_address=5) as address:
        held = [connected(address, b"GET / HTTP/1.1\r\n") for _ in range(5)]
        time.sleep(0.1)
        with connected(address, b"") as more:
            assert answered(more).startswith(b"HTTP/1.1 429 ")
        for connection in held:
            connection.close()
        for _ in range(100):  # until the server has noticed that they are gone
            if httpx.get(f"http://{address[0]}:{address[1]}/").text == "ok":
                return
            time.sleep(0.1)
        raise AssertionError("the address never gets its share back")


def test_endless_headers_are_too_many() -> None:
    with served(header_seconds=30, most_of_address=None) as address:
        with connected(address, b"GET / HTTP/1.1\r\nHost: x\r\n") as connection:
            try:
                for number in range(200):
                    connection.sendall(f"X-{number}: {'a' * 1000}\r\n".encode())
                answer = answered(connection)
            except OSError:
                answer = b"closed"
        assert answer == b"closed" or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


def test_a_handshake_that_never_goes_on_is_given_up(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def stalled() -> list[bytes]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            # The patience of asyncio itself is a minute: without ours this ends in a timeout.
            read = [await asyncio.wait_for(reader.read(), 20) for reader, _ in silent]
            for _, writer in silent:
                writer.close()
            return read

    with asyncio.Runner(loop_factory=lambda: event_loop(handshake_seconds=0.3)) as runner:
        assert runner.run(stalled()) == [b"", b"", b""]

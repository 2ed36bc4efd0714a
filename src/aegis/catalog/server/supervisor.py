"""Keeps the processes of a catalog alive: starts them, starts one again when it dies, and ends them all together.

Each child holds the reading end of a pipe whose writing end only this process has: if this process is killed, the
pipe closes and the children stop by themselves. How they are told to stop, and how they log, stands here too: no line
of a log holds a value of a record, a password or a token; an access line names a route and not an address.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from aegis.catalog.settings import JSON

LIFELINE = "AEGIS_LIFELINE"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STAYED_S = 5.0
"""Who lived this long has stayed: what ended it then was not how it was started."""
_LONGEST_WAIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process to keep: ``arguments`` are those of this Python."""

    name: str
    arguments: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Kept:
    part: Part
    process: subprocess.Popen[bytes]
    started_s: float = field(default_factory=time.monotonic)
    started: int = 1
    short_lives: int = 0
    stayed: bool = False
    due_s: float | None = None


class Supervisor:
    """Runs parts until it is told to stop, or until one of them cannot be kept alive."""

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        environment: Mapping[str, str],
        inherited: Sequence[int] = (),
        say: Callable[[str], None],
        shutdown_s: float = 15.0,
        most_deaths: int = 5,
    ) -> None:
        self._parts = parts
        self._environment = dict(environment)
        self._inherited = tuple(inherited)
        self._say = say
        self._shutdown_s = shutdown_s
        self._most_deaths = most_deaths
        self._stop = StopSignal()
        self._lifeline, self._held = os.pipe()

    def run(self) -> int:
        """Keep every part alive until SIGTERM or Ctrl-C; 0, or 2 if one would not stay."""
        before = {number: signal.signal(number, self._stopping) for number in _SIGNALS}
        kept: list[_Kept] = []
        try:
            kept = [_Kept(part=part, process=self._start(part)) for part in self._parts]
            while not self._stop.wait(0.1):
                for part in kept:
                    if not self._alive(part):
                        return 2
            return 0
        finally:
            self._end(kept)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._held)
            os.close(self._lifeline)

    def _stopping(self, _signal: int, _frame: FrameType | None) -> None:
        self._stop.set()

    def _start(self, part: Part) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter with our own arguments
            [sys.executable, *part.arguments],
            env={**os.environ, **self._environment, LIFELINE: str(self._lifeline)},
            stdin=subprocess.DEVNULL,
            pass_fds=(*self._inherited, self._lifeline),
            process_group=0,  # Ctrl-C is heard here, and passed on in order
        )

    def _alive(self, kept: _Kept) -> bool:
        """Whether a part lives or may live again.

        One that complains at its very first start is given up, and one that never stays. One that did is started again
        for ever: a database that is away for an hour ends nothing.
        """
        status = kept.process.poll()
        if status is None:
            return True
        now = time.monotonic()
        if kept.due_s is None:
            lived_s = now - kept.started_s
            kept.stayed = kept.stayed or lived_s >= _STAYED_S
            kept.short_lives = kept.short_lives + 1 if lived_s < _STAYED_S else 0
            hopeless = status == 2 and kept.started == 1
            if not kept.stayed and (hopeless or kept.short_lives > self._most_deaths):
                self._say(f"the {kept.part.name} ended with status {status} and does not stay; stopping")
                return False
            self._say(f"the {kept.part.name} ended with status {status}; starting it again")
            kept.due_s = now + min(0.2 * 2**kept.short_lives, _LONGEST_WAIT_S)
        elif now >= kept.due_s:
            kept.process, kept.due_s = self._start(kept.part), None
            kept.started_s, kept.started = now, kept.started + 1
        return True

    def _end(self, kept: Sequence[_Kept]) -> None:
        for part in kept:
            if part.process.poll() is None:
                part.process.terminate()
        deadline = time.monotonic() + self._shutdown_s
        for part in kept:
            try:
                part.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                part.process.kill()
                part.process.wait()


def hold_lifeline() -> bool:
    """In a child: end politely when the supervisor is gone. Gives whether there is one."""
    text = os.environ.pop(LIFELINE, None)
    if text is None:
        return False

    def watch(descriptor: int) -> None:
        while os.read(descriptor, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, args=(int(text),), daemon=True, name="lifeline").start()
    return True


# A stop that a signal handler may set.
#
# ``threading.Event`` takes a lock to be set. A handler runs between two steps of the main thread, which may itself hold
# that lock because it waits for the event: then it waits for ever, and the process cannot be ended politely any more.


class StopSignal(threading.Event):
    """An event without a lock that a handler could find taken.

    >>> stop = StopSignal()
    >>> stop.wait(0.0)
    False
    >>> stop.set()
    >>> stop.wait(60.0), stop.is_set()
    (True, True)
    """

    def __init__(self) -> None:
        super().__init__()
        self._stopped = False
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()  # whose put may interrupt its own get

    def is_set(self) -> bool:
        return self._stopped

    def set(self) -> None:
        self._stopped = True
        self._wake.put(None)

    def clear(self) -> None:
        raise NotImplementedError("a stop cannot be taken back")

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is set, or for so many seconds; gives whether it is set."""
        if not self._stopped:
            try:
                self._wake.get(timeout=timeout)
            except queue.Empty:
                return self._stopped
            self._wake.put(None)  # for whoever else waits
        return True


# Logs: lines for people, or one JSON object a line for programs


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, and the fields that a record brings along under ``fields``.

    >>> record = logging.makeLogRecord({"name": "aegis.access", "msg": "GET", "fields": {"status": 1}})
    >>> sorted(json.loads(JsonLines().format(record)))
    ['level', 'logger', 'message', 'status', 'time']
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        level = record.levelname.lower()
        content: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": "info" if level == "notset" else level,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            content["error"] = record.exc_info[0].__name__  # the message of an error may hold values
        return json.dumps(content, ensure_ascii=False)


def configure_logs(log_format: str) -> None:
    """Log to standard error, from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    lines = JsonLines() if log_format == JSON else logging.Formatter("%(asctime)s %(name)s %(message)s")
    handler.setFormatter(lines)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])

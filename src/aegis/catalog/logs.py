"""How the processes of a catalog log: lines for people, or one JSON object a line for programs.

No line holds a value of a record, a password or a token; an access line names a route and not an address.
"""

from __future__ import annotations

import datetime
import json
import logging
import sys
from typing import Any

LOG_VARIABLE = "AEGIS_LOG_FORMAT"
TEXT, JSON = "text", "json"


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

"""``python -m aegis`` is the command line."""

from __future__ import annotations

from aegis.cli.main import run

run()

"""``python -m aegis`` is the command line."""

from __future__ import annotations

from aegis.main import run

run()

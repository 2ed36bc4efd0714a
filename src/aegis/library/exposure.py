"""What published summaries reveal together."""

from __future__ import annotations

from pathlib import Path

from aegis.counts.exposure import Exposure
from aegis.counts.exposure import exposure as expose
from aegis.counts.folder import read_summary
from aegis.counts.summary import Summary


def exposure(summary: Summary | str | Path, *, k: int = 5) -> Exposure:
    """Lay everything that a summary publishes of each attribute over each other, and count the cells below ``k``.

    Opaque masks cannot be laid over each other: each is then looked at alone, and ``caveat`` says what that misses.
    """
    return expose(summary if isinstance(summary, Summary) else read_summary(Path(summary)), k=k)

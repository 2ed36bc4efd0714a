"""What published summaries reveal together."""

from __future__ import annotations

from pathlib import Path

from aegis.commands.exposure import Expose
from aegis.counts.exposure import Exposure
from aegis.counts.exposure import exposure as exposure_of
from aegis.counts.folder import read_summary
from aegis.counts.summary import Summary
from aegis.operation import operation


@operation(Expose)
def exposure(options: Expose) -> Exposure:
    """Lay everything that a summary publishes of each attribute over each other, and count the cells below ``k``.

    Opaque masks cannot be laid over each other: each is then looked at alone, and ``caveat`` says what that misses.

    Example::

        aegis.summarize("clinic.csv", configs="configurations", out="summary", race=False)
        aegis.exposure("summary", k=30)
    """
    summary = options.summary if isinstance(options.summary, Summary) else read_summary(Path(options.summary))
    return exposure_of(summary, k=options.k)

"""What an anonymizer published, kept in a folder: a search that ran by the clock is not run twice for a comparison."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from aegis.data.dataset import Dataset
from aegis.data.output import PRIVATE, draft_of
from aegis.evaluation.result_cache import ResultCache
from aegis.library.anonymize import anonymize

RESULTS = "results.jsonl"
"""The file of a comparison's folder that holds what was published and how models did on it."""


def published(
    dataset: Dataset,
    settings: dict[str, Any],
    quasi: Sequence[str],
    sensitive: Sequence[str],
    home: Path | None,
    fingerprint: str,
) -> tuple[pa.Table, dict[str, Any]]:
    """The published quasi-identifiers and what they cost, from the cache folder where they are there."""
    asked = json.dumps([fingerprint, settings, list(quasi), list(sensitive)], sort_keys=True)
    key = f"{settings['method']}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    with ResultCache(None if home is None else home / RESULTS) as results:
        if home is not None and key in results:
            try:
                return pa.parquet.read_table(home / f"{key}.parquet"), results[key]["facts"]
            except (OSError, ValueError, pa.ArrowException):
                pass  # a broken file is no result: it is made again
        done = anonymize(dataset, quasi=quasi, sensitive=sensitive, **settings)
        if done.result.diagnosis.finished == "interrupted":  # valid, but not what its time would have given
            raise KeyboardInterrupt
        assert done.table is not None
        columns, facts = done.table.select(list(quasi)), done.to_json()
        if home is not None:
            with draft_of(home / f"{key}.parquet", overwrite=True, mode=PRIVATE) as draft:
                pa.parquet.write_table(columns, draft)
            results.add(key, facts=facts)
    return columns, facts

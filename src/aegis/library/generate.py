"""Make configurations to choose from, for one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.output import check_apart
from aegis.data.schema import Roles
from aegis.library.counting import count
from aegis.library.keywords import check_keywords
from aegis.library.proposals import find_hierarchies, generated
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import check_ending, save_configurations
from aegis.progress import Progress


def generate(
    data: Any,
    *,
    configurations: int = 50,
    label: str | None = None,
    strength: str = "mixed",
    masks: Iterable[str] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    overwrite: bool = False,
    roles: Roles | None = None,
    label_bins: int | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Configuration]:
    """Different configurations that fit ``data``; the label is never touched. ``out`` is the file to write them to."""
    check_keywords(generate, options)
    check_apart([out], [data])
    if out is not None:
        check_ending(Path(out))
    dataset = data if isinstance(data, Dataset) else open_dataset(data, roles=roles, **options)
    counted = count(dataset, label=label or dataset.roles.label, label_bins=label_bins, progress=progress)
    made = generated(
        counted,
        count=configurations,
        strength=strength,
        masks=tuple(masks or ()),
        seed=seed,
        hierarchies=find_hierarchies(hierarchies, data),
    )
    if out is not None:
        save_configurations(made, out, overwrite=overwrite)
    return made

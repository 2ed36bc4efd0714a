"""Mask rows by a configuration, without a policy: new rows get what the released ones got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.output import PRIVATE, PUBLIC, check_apart, check_free, drafts_of
from aegis.data.yaml_text import dump
from aegis.errors import OutputError
from aegis.library.keywords import check_keywords
from aegis.library.masked_data import GivenConfiguration, all_masks, masked_data, roles_with
from aegis.library.proposals import find_hierarchies, one_configuration
from aegis.library.release import mapping_text
from aegis.library.unlisted import looks_identifying
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.releases.write import blank_is_missing, check_format, is_csv, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A masked file. ``fitted_here`` are the columns whose masks read something off these rows."""

    path: Path
    columns: tuple[str, ...]
    fitted_here: tuple[str, ...]
    looks_identifying: tuple[str, ...]
    configuration: Configuration

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis apply --json`` prints."""
        return {
            "out": str(self.path),
            "masked": list(self.columns),
            "fitted_here": list(self.fitted_here),
            "looks_identifying": list(self.looks_identifying),
            "configuration_id": self.configuration.id,
        }


def apply(
    data: Any,
    *,
    configuration: GivenConfiguration,
    out: str | Path,
    shuffle: bool = False,
    fitted: str | Path | None = None,
    mapping: str | Path | None = None,
    overwrite: bool = False,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    **options: Any,
) -> Applied:
    """Write ``data`` masked by ``configuration`` to the .csv or .parquet file ``out``.

    Values that the configuration was not fitted on are masked too: numbers fall into the open buckets at the ends,
    noise stays within its limits, a value that a hierarchy or a list of groups does not hold becomes ``*``, pseudonyms
    and tokens are made as for any other. Masks that are not fitted yet are fitted on these rows. Identifying columns
    without a mask are suppressed. Nothing is checked: `check` does that.
    """
    check_keywords(apply, options)
    target = Path(out)
    check_format(target)
    paths = [target, *(Path(path) for path in (fitted, mapping) if path is not None)]
    if len({path.absolute() for path in paths}) < len(paths):
        raise OutputError("two of the outputs have the same name; give each its own")
    for path in paths:
        check_free(path, overwrite=overwrite)
    check_apart(paths, [data, configuration])
    known = find_hierarchies(hierarchies, data)
    chosen = one_configuration(configuration, hierarchies=known, data=data)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    roles = roles_with(dataset, chosen)
    masked = masked_data(dataset, all_masks(chosen, roles), strict=False, mappings=mapping is not None)
    ready = Configuration(name=chosen.name, masks=masked.masks, label=roles.label, roles=roles)
    table = blank_is_missing(masked.dataset.table) if is_csv(target) else masked.dataset.table
    modes = [PUBLIC, *[PRIVATE] * (len(paths) - 1)]
    with drafts_of(paths, overwrite=overwrite, modes=modes) as (draft, *others):
        write_table(table, draft, like=target, shuffle=shuffle)
        texts = [dump(to_mapping(ready))] if fitted is not None else []
        texts += [mapping_text(masked.mappings)] if mapping is not None else []
        for path, text in zip(others, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    return Applied(
        path=target,
        columns=tuple(masked.masks),
        fitted_here=masked.fitted_here,
        looks_identifying=looks_identifying(dataset, roles, masked=chosen.columns),
        configuration=ready,
    )

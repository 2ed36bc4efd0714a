"""Mask, write, measure what was written, and only then let it leave."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis._version import __version__
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import check_free, draft_of, write_text
from aegis.data.schema import Role, Roles
from aegis.errors import PolicyNotSatisfiedError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.masking.mask import ExpressionMask, Mask
from aegis.masking.suppress import Suppress
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate import FORMAT_VERSION, Certificate, certificate_paths
from aegis.releases.suppression import with_suppression
from aegis.releases.write import check_format, sha256_of, write_table
from aegis.summaries.class_table import ClassTable
from aegis.utility.leave_one_out import leave_one_out_information
from aegis.workflows.candidates import find_hierarchies, one_configuration
from aegis.workflows.check import classes_of, masked_dataset, read_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A written table with its certificate."""

    path: Path
    certificate_path: Path
    rows: int
    suppressed: int
    judgement: Judgement
    certificate: Certificate


def release(
    data: Any,
    *,
    configuration: Configuration | str | Path | Mapping[str, Any],
    policy: Policy | str | Path,
    out: str | Path,
    label: str | None = None,
    shuffle: bool = True,
    drop_suppressed: bool = False,
    overwrite: bool = False,
    hierarchies: str | Path | None = None,
    **options: Any,
) -> Release:
    """Write ``data`` masked by ``configuration`` to ``out`` if, and only if, what is written satisfies ``policy``.

    Records of failing classes are starred in every quasi-identifier, up to the policy's limit, or left out with
    ``drop_suppressed``. Identifying columns without a mask of their own are suppressed. Rows are written in random
    order unless ``shuffle`` is off. If the policy is not satisfied nothing is written.
    """
    target = Path(out)
    check_format(target)
    json_path, html_path = certificate_paths(target)
    for path in (target, json_path, html_path):
        check_free(path, overwrite=overwrite)
    rules = _dropping(read_policy(policy), drop_suppressed)
    chosen = one_configuration(configuration, hierarchies=hierarchies, data=data)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    own = dataset.roles if label is None else dataset.roles.overridden_by(Roles(label=label))
    roles = rules.roles_in(dataset.schema, own).checked_against(dataset.schema)
    masks = _all_masks(chosen, roles)
    known = find_hierarchies(hierarchies, data)
    masked, _ = masked_dataset(dataset, masks)
    if not all(isinstance(mask, ExpressionMask) for mask in masks.values()):
        # Masks that draw or invent would draw anew each time the engine runs them: fix what they drew.
        masked = open_dataset(masked.table.cache()).with_roles(masked.roles)
    contents = () if roles.label is None else (roles.label,)
    before = classes_of(masked, rules, roles, contents=contents, hierarchies=known)
    judged = judge_all(before, rules)
    if not judged.satisfied:
        raise PolicyNotSatisfiedError(_why_not(judged))
    table = with_suppression(masked.table, before, judged.released, drop=rules.suppressed is Suppressed.DROPPED)
    with draft_of(target, overwrite=overwrite) as draft:
        write_table(table, draft, like=target, shuffle=shuffle)
        written = measure_written(draft, target, rules, roles, hierarchies=known)
        if not written.satisfied:
            raise PolicyNotSatisfiedError(f"the written table does not satisfy the policy: {_why_not(written)}")
        certificate = Certificate(
            content={
                "aegis_certificate": FORMAT_VERSION,
                "software": {"aegis": __version__},
                "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "release": {
                    "name": target.name,
                    "sha256": sha256_of(draft),
                    "bytes": draft.stat().st_size,
                    "rows": written.released.records,
                    "columns": list(table.columns),
                    "shuffled": shuffle,
                },
                "source": {"name": dataset.name, "rows": before.records},
                "roles": {**roles.to_mapping(), "unlisted_are_insensitive": _unlisted(dataset, roles)},
                "policy": rules.to_mapping(),
                "policy_id": rules.id,
                "configuration": {"name": chosen.name, "id": chosen.id, "masks": to_mapping(chosen)["masks"]},
                "suppressed": {"records": judged.suppressed, "dropped": rules.suppressed is Suppressed.DROPPED},
                "verdicts": written.as_certificate()["models"],
                "classes": written.classes,
                "smallest_class": written.smallest_class,
                "utility": _utility(dataset, roles, written.released),
            }
        )
        # The certificate goes first: whoever sees the release sees its certificate.
        write_text(json_path, certificate.to_json(), overwrite=overwrite)
        write_text(html_path, _page(certificate), overwrite=overwrite)
    return Release(
        path=target,
        certificate_path=json_path,
        rows=written.released.records,
        suppressed=judged.suppressed,
        judgement=written,
        certificate=certificate,
    )


def measure_written(
    file: Path, named: Path, policy: Policy, roles: Roles, *, hierarchies: Mapping[str, Any] | None = None
) -> Judgement:
    """Judge a file from scratch, reading every value as it is written."""
    if file.suffix != named.suffix:  # a draft has another ending: read it by the format of its final name
        link = file.with_name(f"{file.name}{named.suffix}")
        link.hardlink_to(file)
        try:
            return measure_written(link, named, policy, roles, hierarchies=hierarchies)
        finally:
            link.unlink()
    dataset = open_dataset(file, as_text=True, roles=Roles())
    contents = tuple(name for name in (roles.label,) if name is not None and name in dataset.schema)
    table = classes_of(dataset, policy, roles, contents=contents, released=True, hierarchies=hierarchies)
    return judge_all(table, policy, suppress=False)


def _dropping(policy: Policy, drop: bool) -> Policy:
    from dataclasses import replace

    return replace(policy, suppressed=Suppressed.DROPPED) if drop else policy


def _all_masks(configuration: Configuration, roles: Roles) -> dict[str, Mask]:
    """The configuration's masks, and suppression of identifying columns that it forgot."""
    masks: dict[str, Mask] = dict(configuration.masks)
    for column in roles.identifying:
        masks.setdefault(column, Suppress())
    return masks


def _unlisted(dataset: Dataset, roles: Roles) -> list[str]:
    return [name for name in dataset.schema.names if roles.get(name) is None and roles.get(name) is not Role.LABEL]


def _utility(dataset: Dataset, roles: Roles, released: ClassTable) -> dict[str, Any] | None:
    """What the released quasi-identifiers tell together about the label, in leave-one-out bits."""
    if roles.label is None or roles.label not in released.contents:
        return None
    kept = float(leave_one_out_information(np.asarray(released.contents[roles.label].dense())))
    return {"label": roles.label, "measure": "leave-one-out-information of the released tuple", "bits": kept}


def _why_not(judged: Judgement) -> str:
    failed = [v for v in judged.verdicts if not v.satisfied]
    said = "; ".join(
        f"{v.name}{f' of {v.attribute}' if v.attribute else ''} is {v.value:g} where {v.threshold:g} is asked"
        for v in failed
    )
    return (
        f"{said or 'the limit on suppression is exceeded'}{f' ({judged.reason})' if judged.reason else ''}; mask more"
    )


def _page(certificate: Certificate) -> str:
    from aegis.report.certificate_report import render_certificate  # an extra

    return render_certificate(certificate.content)

"""A summary as a folder of JSON files: plain data, versioned, checked when it is read.

``summary.json`` says what the summary is about; ``attributes/NNN.json`` holds the counts of one attribute each. The
schema is in docs/reference/summary.schema.json. Nothing in it is ever executed or unpickled.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aegis.counts.consistency import check_margins
from aegis.counts.joint import Histogram, Joint
from aegis.counts.known_keys import check_keys
from aegis.counts.protection import Protection
from aegis.counts.summary import (
    AttributeSummary,
    ConfigurationScores,
    ConfigurationSummary,
    Level,
    MaskedJoint,
    RangedHistogram,
    Summary,
)
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError, OutputError, SummaryError
from aegis.masking.configuration import build_mask
from aegis.masking.mask import Mask
from aegis.masking.transition import Channel, Partition, Transition

FORMAT_VERSION = 1
MANIFEST = "summary.json"


def write_summary(summary: Summary, folder: Path, *, overwrite: bool = False) -> None:
    """Write the folder whole or not at all."""
    check_summary_free(folder, overwrite=overwrite)
    try:
        _replace(summary, folder) if folder.exists() else _write_new(summary, folder)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or type(error).__name__}") from None


def check_summary_free(folder: Path, *, overwrite: bool) -> None:
    """Raise if a summary may not be written here."""
    if folder.exists() and not overwrite:
        raise OutputError(f"{folder} exists already; choose another folder or allow overwriting")
    if folder.exists() and not (folder / MANIFEST).exists():
        raise OutputError(f"{folder} exists and is no summary; it is not overwritten")


def _write_new(summary: Summary, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        files = _write_attributes(summary, draft, taken=set())
        _write_json(draft / MANIFEST, _manifest(summary, files))
        draft.chmod(0o755)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _replace(summary: Summary, folder: Path) -> None:
    """Put a summary in the place of another: at every moment the folder holds one of the two, whole.

    The new files lie beside the old ones until the manifest, which names them, is replaced in one step.
    """
    old = {file.name for file in (folder / "attributes").glob("*.json")}
    draft = folder / f".{MANIFEST}.{os.getpid()}"
    files: dict[str, str] = {}
    try:
        files = _write_attributes(summary, folder, taken=old)
        _write_json(draft, _manifest(summary, files))
        draft.replace(folder / MANIFEST)
    except BaseException:
        draft.unlink(missing_ok=True)
        for file in set(folder.glob("attributes/*.json")) - {folder / "attributes" / name for name in old}:
            file.unlink(missing_ok=True)
        raise
    for name in old:
        (folder / "attributes" / name).unlink(missing_ok=True)


def _write_attributes(summary: Summary, folder: Path, *, taken: set[str]) -> dict[str, str]:
    """One file for each attribute, under names that are not taken."""
    (folder / "attributes").mkdir(exist_ok=True)
    free = (name for number in itertools.count(1) if (name := f"{number:03d}.json") not in taken)
    files = {}
    for attribute, name in zip(summary.attributes.values(), free, strict=False):
        files[attribute.name] = f"attributes/{name}"
        _write_json(folder / files[attribute.name], _attribute_to_json(attribute))
    return files


def read_summary(folder: str | Path) -> Summary:
    """Read and check a summary; every defect is one sentence that says where."""
    folder = Path(folder)
    manifest = _read_json(folder / MANIFEST)
    version = manifest.get("aegis_summary")
    if not isinstance(version, int) or version < 1:
        raise SummaryError(f"{folder} is not a summary: {MANIFEST} has no format version")
    if version > FORMAT_VERSION:
        raise SummaryError(
            f"{folder} has summary format {version}, this Aegis reads up to {FORMAT_VERSION}; install a newer Aegis"
        )
    try:
        summary = _summary_from_json(manifest, folder)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, MaskError) as error:
        raise SummaryError(
            f"{folder} does not follow the summary format ({type(error).__name__}); write it again with aegis summarize"
        ) from None
    check_margins(summary)
    return summary


def is_summary(source: Any) -> bool:
    """Whether a path is a summary folder."""
    return isinstance(source, str | Path) and (Path(source) / MANIFEST).is_file()


def _manifest(summary: Summary, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "aegis_summary": FORMAT_VERSION,
        "name": summary.name,
        "level": summary.level.value,
        "opaque": summary.opaque,
        "rows": _number(summary.rows),
        "label": {
            "name": summary.label,
            "domain": _domain_to_json(summary.label_histogram.domain),
            "counts": summary.label_histogram.counts.tolist(),
            "masks": {
                ident: {"mask": _mask_to_json(mask), "change": _change_to_json(change)}
                for ident, (mask, change) in summary.label_masks.items()
            },
        },
        "attributes": [{"name": name, "file": file} for name, file in files.items()],
        "configurations": [
            {"name": c.name, "id": c.id, "label_mask": c.label_mask, "masks": dict(c.masks)}
            for c in summary.configurations
        ],
        "skipped": dict(summary.skipped),
        "protection": None if summary.protection is None else summary.protection.to_json(),
        "rejected": dict(summary.rejected),
        "scores": {name: _scores_to_json(scores) for name, scores in summary.scores.items()},
        **({} if summary.race is None else {"race": dict(summary.race)}),
        "parts": list(summary.parts),
        **({} if not summary.named_from else {"named_from": summary.named_from}),
    }


def _summary_from_json(manifest: dict[str, Any], folder: Path) -> Summary:
    about_label = manifest["label"]
    check_keys(manifest, "summary")
    check_keys(about_label, "label")
    label_domain = _domain_from_json(about_label["domain"])
    label_masks = {}
    for ident, mask in about_label["masks"].items():
        check_keys(mask, "label mask")
        label_masks[ident] = _mask_from_json(mask["mask"]), _change_from_json(mask["change"])
    attributes = {}
    for entry in manifest["attributes"]:
        check_keys(entry, "attribute entry")
        file = (folder / entry["file"]).resolve()
        if folder.resolve() not in file.parents:
            raise SummaryError(f"{folder} points outside itself; do not trust it")
        content = _read_json(file)
        try:
            attributes[entry["name"]] = _attribute_from_json(entry["name"], content, label_domain, label_masks)
        except SummaryError as error:
            raise SummaryError(f"attribute {entry['name']!r}: {error}") from None
    for described in manifest["configurations"]:
        check_keys(described, "configuration")
    opaque = bool(manifest["opaque"])
    return Summary(
        name=str(manifest["name"]),
        level=Level.NONE if opaque else Level(manifest["level"]),  # whatever was asked for, it tells no more
        rows=float(manifest["rows"]),
        label=str(about_label["name"]),
        label_histogram=Histogram(domain=label_domain, counts=np.asarray(about_label["counts"])),
        label_masks=label_masks,
        attributes=attributes,
        configurations=tuple(
            ConfigurationSummary(
                name=str(c["name"]), id=str(c["id"]), masks=dict(c["masks"]), label_mask=c["label_mask"]
            )
            for c in manifest["configurations"]
        ),
        opaque=opaque,
        skipped=dict(manifest["skipped"]),
        protection=Protection.from_json(manifest.get("protection")),
        rejected=dict(manifest.get("rejected", {})),
        scores={name: _scores_from_json(scored) for name, scored in manifest.get("scores", {}).items()},
        race=manifest.get("race"),
        parts=tuple(str(part) for part in manifest.get("parts", ())),
        named_from=int(manifest.get("named_from", 0)),
    )


def _scores_to_json(scores: ConfigurationScores) -> dict[str, Any]:
    return {
        "unit": scores.unit,
        "sample_rows": scores.sample_rows,
        "original": scores.original,
        "original_resampled": scores.original_resampled.tolist(),
        "utilities": scores.utilities.tolist(),
        "resampled": scores.resampled.tolist(),
    }


def _scores_from_json(content: dict[str, Any]) -> ConfigurationScores:
    check_keys(content, "scores")
    return ConfigurationScores(
        unit=str(content["unit"]),
        sample_rows=int(content["sample_rows"]),
        original=float(content["original"]),
        original_resampled=np.asarray(content["original_resampled"], dtype=np.float64),
        utilities=np.asarray(content["utilities"], dtype=np.float64),
        resampled=np.asarray(content["resampled"], dtype=np.float64),
    )


def _attribute_to_json(attribute: AttributeSummary) -> dict[str, Any]:
    histogram = attribute.histogram
    return {
        "domain": None if attribute.domain is None else _domain_to_json(attribute.domain),
        "histogram": None
        if histogram is None
        else {
            "codes": histogram.codes.tolist(),
            "labels": list(histogram.labels),
            "counts": histogram.counts.tolist(),
        },
        "joint": None if attribute.joint is None else attribute.joint.counts.tolist(),
        "masked": [
            {
                "id": masked.id,
                "label_mask": masked.label_mask,
                "mask": _mask_to_json(masked.mask),
                "change": _change_to_json(masked.change),
                "domain": _domain_to_json(masked.joint.attribute),
                "counts": masked.joint.counts.tolist(),
            }
            for masked in attribute.masked.values()
        ],
    }


def _attribute_from_json(
    name: str,
    content: dict[str, Any],
    label_domain: Domain,
    label_masks: Mapping[str, tuple[Mask | None, Transition | None]],
) -> AttributeSummary:
    check_keys(content, "attribute")
    domain = None if content["domain"] is None else _domain_from_json(content["domain"])
    histogram = None
    if content["histogram"] is not None:
        counted = content["histogram"]
        check_keys(counted, "histogram")
        histogram = RangedHistogram(
            codes=np.asarray(counted["codes"], dtype=np.int64),
            labels=tuple(counted["labels"]),
            counts=np.asarray(counted["counts"]),
        )
    joint = None
    if content["joint"] is not None and domain is not None:
        joint = Joint(attribute=domain, label=label_domain, counts=np.asarray(content["joint"]))
    masked = {}
    for entry in content["masked"]:
        check_keys(entry, "masked joint")
        counts = np.asarray(entry["counts"])
        on_label = label_masks[entry["label_mask"]][1] if entry["label_mask"] is not None else None
        if on_label is not None:
            across = on_label.target
        elif entry["label_mask"] is None:
            across = label_domain
        else:  # an opaque label mask: its values have no names
            across = Domain(kind=Kind.INTEGER, values=np.arange(counts.shape[1]))
        masked[entry["id"], entry["label_mask"]] = MaskedJoint(
            id=entry["id"],
            mask=_mask_from_json(entry["mask"]),
            change=_change_from_json(entry["change"]),
            label_mask=entry["label_mask"],
            joint=Joint(attribute=_domain_from_json(entry["domain"]), label=across, counts=counts),
        )
    return AttributeSummary(name=name, domain=domain, histogram=histogram, joint=joint, masked=masked)


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    values = domain.values
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        values = np.datetime_as_string(values)
    return {
        "kind": domain.kind.value,
        "values": values.tolist(),
        "missing": domain.missing,
        "discretised": domain.discretised,
    }


def _domain_from_json(content: dict[str, Any]) -> Domain:
    check_keys(content, "domain")
    kind = Kind(content["kind"])
    if kind is Kind.TEXT:
        values = np.empty(len(content["values"]), dtype=object)
        values[:] = [str(value) for value in content["values"]]
    else:
        values = np.asarray(content["values"], dtype=kind.dtype)
    if len(values) > 1 and not bool((values[:-1] < values[1:]).all()):
        raise SummaryError("the values of a domain are not sorted and distinct; write the summary again")
    return Domain(kind=kind, values=values, missing=bool(content["missing"]), discretised=bool(content["discretised"]))


def _mask_to_json(mask: Mask | None) -> Any:
    return None if mask is None else mask.spec()


def _mask_from_json(content: Any) -> Mask | None:
    return None if content is None else build_mask(content)


def _change_to_json(change: Transition | None) -> dict[str, Any] | None:
    if change is None:
        return None
    to = _domain_to_json(change.target)
    if isinstance(change, Partition):
        return {"to": to, "codes": change.codes.tolist()}
    return {"to": to, "probabilities": change.matrix.tolist()}


def _change_from_json(content: dict[str, Any] | None) -> Transition | None:
    if content is None:
        return None
    target = _domain_from_json(content["to"])
    check_keys(content, "partition" if "codes" in content else "channel")
    if "codes" in content:
        return Partition(codes=np.asarray(content["codes"], dtype=np.int64), target=target)
    return Channel(matrix=np.asarray(content["probabilities"], dtype=np.float64), target=target)


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SummaryError(
            f"there is no {path.name} in {path.parent}; give a folder that aegis summarize wrote"
        ) from None
    except (OSError, ValueError):
        raise SummaryError(f"{path} is not readable JSON; write the summary again") from None
    if not isinstance(content, dict):
        raise SummaryError(f"{path} must hold a JSON object")
    return content

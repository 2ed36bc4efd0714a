"""The certificate of a local recoding: what was measured on the written table, and the hash of the boxes."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.candidates.boxes.in_words import column_recodings
from aegis.candidates.boxes.recoding import Boxes
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.domain import show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import VerificationError
from aegis.library.tables.unlisted import unlisted
from aegis.privacy.judgement import Judgement, certified
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate import Certificate
from aegis.releases.certificate_kinds import FORMAT_VERSION, MEASURED
from aegis.releases.write import WrittenFile


def recoded_certificate(
    boxes: Boxes,
    measured: Judgement,
    judged: Judgement,
    file: WrittenFile,
    *,
    out: Path,
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy],
) -> Certificate:
    """What is promised of a table of boxes; it names the boxes by their hash and holds no value of theirs."""
    return Certificate(
        content={
            MEASURED: FORMAT_VERSION,
            "software": {"aegis": __version__, "engine": dataset.backend.name},
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "release": {
                "name": out.name,
                "sha256": file.sha256,
                "bytes": file.bytes,
                "rows": measured.records,
                "columns": list(dataset.schema.names),
                "left_out": [],
                "shuffled": False,
            },
            "source": {"name": dataset.name, "rows": boxes.records},
            "roles": {
                **roles.to_mapping(),
                "unlisted_are_insensitive": list(unlisted(dataset.schema, roles)),
            },
            "kinds": {name: kind.value for name, kind in kinds.items()},
            "hierarchies": {name: hierarchies[name].digest for name in policy.hierarchical},
            "policy": policy.to_mapping(),
            "policy_id": policy.id,
            "recoding": {
                "method": "boxes",
                "sha256": sha256_of_boxes(boxes.to_text()),
                "boxes": boxes.many,
                "labels": list(boxes.labels),
                "columns": {recoding.column: recoding.describe() for recoding in column_recodings(boxes)},
            },
            "suppressed": {
                "records": boxes.suppressed,
                "dropped": policy.suppressed is Suppressed.DROPPED,
            },
            **certified(measured, judged, policy.unit),
            "classes": measured.classes,
        }
    )


def sha256_of_boxes(text: str) -> str:
    """The hash of a boxes file."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_recoding(certificate: Certificate, text: str, released: Dataset) -> str:
    """What was found where a file of boxes is the one of a certificate and made every row of a release.

    Raises VerificationError where it is another file, or where the release holds other tuples than its boxes publish,
    or another number of records in one of them.
    """
    if sha256_of_boxes(text) != certificate.content["recoding"]["sha256"]:
        raise VerificationError("the boxes are not those of the certificate: their hash differs")
    boxes = Boxes.from_text(text)
    expected: dict[tuple[str | None, ...], int] = {}
    dropped = bool(certificate.content["suppressed"]["dropped"])
    for leaf, texts in zip(boxes.boxes, boxes.texts, strict=True):
        if not (leaf.suppressed and dropped):
            expected[texts] = expected.get(texts, 0) + leaf.records
    counted = count_classes(released, [column.name for column in boxes.columns])
    values: list[list[Any]] = [
        [*(show(value) for value in domain.values.tolist()), *[None] * domain.missing] for domain in counted.domains
    ]
    rows = zip(counted.codes.tolist(), counted.sizes.tolist(), strict=True)
    seen = {tuple(values[at][code] for at, code in enumerate(codes)): size for codes, size in rows}
    if seen != expected:
        raise VerificationError(
            "the release is not what the boxes publish: a tuple or how many records have it differs"
        )
    return f"the release is what {boxes.many} boxes publish, record by record"

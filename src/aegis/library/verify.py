"""Check a release against its certificate, from scratch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Role, Roles, Schema
from aegis.errors import AegisError, DataError, VerificationError
from aegis.library.proposals import find_hierarchies
from aegis.library.written import measure_written, open_written
from aegis.privacy.judgement import Judgement
from aegis.privacy.narrowed import narrowed
from aegis.privacy.policy import Policy
from aegis.releases.certificate import Certificate, read_certificate
from aegis.releases.table_hash import sha256_of_table
from aegis.releases.table_output import is_url
from aegis.releases.write import check_format, sha256_of


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedStep:
    """One thing that was checked; ``said`` is what was found, or what is wrong."""

    name: str
    passed: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was checked, in order; the first failure ends it, for what comes later would mean nothing."""

    steps: tuple[VerifiedStep, ...]
    certificate: Certificate | None
    judgement: Judgement | None

    @property
    def verified(self) -> bool:
        return all(step.passed for step in self.steps)

    @property
    def reason(self) -> str | None:
        """Why the release is not verified."""
        return next((step.said for step in self.steps if not step.passed), None)

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis verify --json`` prints."""
        return {
            "verified": self.verified,
            "reason": self.reason,
            "checks": [{"name": s.name, "passed": s.passed, "said": s.said} for s in self.steps],
            "models": [] if self.judgement is None else self.judgement.as_certificate()["models"],
        }


def verify(
    release: str | Path,
    certificate: str | Path,
    *,
    engine: str | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
) -> Verification:
    """Check the certificate's own hash, the hash of the released file or table, and every model on its rows.

    With an ``engine``, the URL of one, ``release`` is the name of a table inside it.
    """
    in_database = engine is not None or is_url(release)
    if not in_database:
        check_format(Path(release))
        if not Path(release).is_file():
            raise DataError(f"there is no file {release}; check the path")
    steps: list[VerifiedStep] = []
    try:
        known = read_certificate(Path(certificate))
    except VerificationError as error:
        return _failed(steps, "certificate", str(error))
    steps.append(VerifiedStep(name="certificate", passed=True, said="its own hash matches"))
    content = known.content
    table = open_dataset(str(release), engine=engine) if in_database else None
    if (sha256_of(Path(release)) if table is None else sha256_of_table(table.table)) != known.file_sha256:
        what = "file" if table is None else "table"
        return _failed(steps, "release", f"the {what} is not the one that was certified: its hash differs", known)
    steps.append(VerifiedStep(name="release", passed=True, said="its hash is the one in the certificate"))
    try:
        written = open_written(Path(release), named=Path(release)) if table is None else table
        whole = Policy.from_mapping(content["policy"], where="the certificate's policy")
        left = narrowed(whole, _roles(content), left_out=_left_out(content, written.schema))
        policy = left.policy
        judged = measure_written(
            written,
            policy,
            left.roles,
            kinds={name: Kind(kind) for name, kind in content["kinds"].items()},
            hierarchies=_hierarchies(content, find_hierarchies(hierarchies, release)),
        )
    except (AegisError, ValueError, TypeError, KeyError) as error:
        said = str(error) if isinstance(error, AegisError) else "the certificate contradicts itself"
        return _failed(steps, "models", said, known)
    return _compared(steps, known, policy, judged)


def _compared(steps: list[VerifiedStep], known: Certificate, policy: Policy, judged: Judgement) -> Verification:
    """What was measured now beside what the certificate says."""
    content = known.content
    if not judged.satisfied:
        reasons = [v.sentence() for v in judged.verdicts if not v.satisfied] or [judged.reason or "not satisfied"]
        return _failed(steps, "policy", f"the release does not satisfy its policy: {'; '.join(reasons)}", known, judged)
    suppressed, rows = content["suppressed"]["records"], content["source"]["rows"]
    if suppressed > policy.max_suppression * rows + 1e-9:
        said = f"{suppressed} of {rows} records were suppressed, more than the policy allows"
        return _failed(steps, "suppression", said, known, judged)
    for verdict, stated in zip(judged.verdicts, content["verdicts"], strict=False):
        now = verdict.as_certificate()
        if any(now[key] != stated.get(key) for key in ("name", "attribute", "threshold", "satisfied")) or not _close(
            now["value"], stated.get("value")
        ):
            return _failed(steps, verdict.title, "the certificate states another value than is found", known, judged)
        steps.append(VerifiedStep(name=verdict.title, passed=True, said=verdict.sentence()))
    counted = (judged.records, judged.classes, judged.smallest_class, len(judged.verdicts))
    stated_counts = (
        content["release"]["rows"],
        content["classes"],
        content["smallest_class"],
        len(content["verdicts"]),
    )
    if counted != stated_counts:
        return _failed(steps, "counts", "rows, classes or models differ from the certificate", known, judged)
    return Verification(steps=tuple(steps), certificate=known, judgement=judged)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return bool(one == other)


def _failed(
    steps: list[VerifiedStep],
    name: str,
    said: str,
    certificate: Certificate | None = None,
    judgement: Judgement | None = None,
) -> Verification:
    failure = VerifiedStep(name=name, passed=False, said=said)
    return Verification(steps=(*steps, failure), certificate=certificate, judgement=judgement)


def _left_out(content: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """The columns that were left out, checked to be absent: what is there must be judged."""
    named = tuple(content["release"].get("left_out", ()))
    present = [name for name in named if name in schema]
    if present:
        raise VerificationError(f"the release has the column {present[0]!r} that its certificate says was left out")
    return named


def _roles(content: Mapping[str, Any]) -> Roles:
    listed = {role.value: content["roles"][role.value] for role in Role if role.value in content["roles"]}
    return Roles.from_mapping(listed, where="the certificate")


def _hierarchies(content: Mapping[str, Any], given: Mapping[str, Hierarchy]) -> dict[str, Hierarchy]:
    """The hierarchies that distances were measured by, checked to be the same ones."""
    found = {}
    for column, stated in content["hierarchies"].items():
        if column not in given:
            raise DataError(f"the policy measures {column!r} by a hierarchy; give its folder with --hierarchies")
        if given[column].digest != stated:
            raise VerificationError(f"the hierarchy of {column!r} is not the one that was used; give the original")
        found[column] = given[column]
    return found

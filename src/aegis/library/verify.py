"""Check a release against its certificate, from scratch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from aegis.commands.verify import Verify
from aegis.counts.answer import count_rows
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Schema
from aegis.errors import AegisError, DataError, OptionError, VerificationError
from aegis.library.releasing.certified_claims import (
    certified_masks,
    certified_roles,
    check_attacks,
    check_columns,
    check_masked,
    check_promise,
)
from aegis.library.tables.judging import measure_written, open_written, pseudonymous
from aegis.library.tables.opening import find_hierarchies
from aegis.operation import operation
from aegis.privacy.judgement import Judgement
from aegis.privacy.policy import Policy, narrowed
from aegis.privacy.verdict import StatedVerdict, Verdict
from aegis.releases.certificate import Certificate, CertificateKind, read_certificate
from aegis.releases.row_digest import sha256_of_table
from aegis.releases.signature import Signature, check_signature, read_public, signature_path
from aegis.releases.write import check_released, is_url, look_into
from aegis.result import Result, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedStep:
    """One thing that was checked; ``said`` is what was found, or what is wrong."""

    name: str
    passed: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """What was checked, in order; the first failure ends it, for what comes later would mean nothing.

    ``models`` is what every model found on the rows, where it came to that. ``not_checked`` says what *verified* does
    not mean: what nobody can see in the file, or was not asked to look at.
    """

    checks: tuple[VerifiedStep, ...]
    models: tuple[StatedVerdict, ...] = ()
    not_checked: tuple[str, ...] = ()
    also_shown: ClassVar[tuple[str, ...]] = ("verified", "reason")

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def reason(self) -> str | None:
        """Why the release is not verified."""
        return next((check.said for check in self.checks if not check.passed), None)

    @property
    def exit_status(self) -> int:
        return 0 if self.verified else 1

    @property
    def headline(self) -> str:
        return "verified" if self.verified else f"not verified: {self.reason}"

    def table_rows(self) -> list[dict[str, Any]]:
        return [dict(plain(check)) for check in self.checks]


@operation(Verify)
def verify(options: Verify) -> Verification:
    """Check the certificate's own hash, the hash of the released file or table, and every model on its rows.

    Every value must be one that the stated masks could have written; with a ``key`` the signature is checked too.

    With an ``engine``, the URL of one, ``release`` is the name of a table inside it. A file is read twice: once to
    hash it, once to count its rows. With a ``model``, the file of boxes that a certificate names, the release is
    compared with what those boxes publish.

    Example::

        released = aegis.release(
            "clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv"
        )
        aegis.verify(released.out, released.certificate_path)
    """
    if options.model is not None and not Path(options.model).is_file():
        raise DataError(f"there is no file {options.model}; check the path")
    if options.engine is None and not is_url(options.release):
        check_released(Path(options.release))
    steps: list[VerifiedStep] = []
    try:
        certificate = read_certificate(Path(options.certificate))
    except VerificationError as error:
        return _failed(steps, "certificate", str(error))
    steps.append(VerifiedStep(name="certificate", passed=True, said="its own hash matches"))
    if options.key is not None:
        key = read_public(Path(options.key))
        try:
            signature = _signature(options)
            check_signature(certificate.content, signature, key)
        except VerificationError as error:
            return _failed(steps, "signature", str(error))
        steps.append(VerifiedStep(name="signature", passed=True, said=f"made with the key {key.fingerprint}"))
    kind = certificate.kind
    if options.model is not None and kind is not CertificateKind.BOXES:
        raise OptionError("this certificate names no boxes that a release was made by; leave --model out")
    hashed = _hashed(options)
    if hashed.sha256 != certificate.file_sha256:
        return _failed(steps, "release", f"the {hashed.what} is not the one that was certified: its hash differs")
    steps.append(VerifiedStep(name="release", passed=True, said="its hash is the one in the certificate"))
    content, boxes = certificate.content, None if options.model is None else _text_of(Path(options.model))
    if kind is CertificateKind.SANITIZER:
        return _failed(steps, "sanitizer", _AUDITED)
    if kind is CertificateKind.SYNTHETIC:
        return _made_up(steps, content, hashed, options)
    name = "models"
    judgement: Judgement | None = None
    try:
        table = hashed.open()
        whole = Policy.from_mapping(content["policy"], where="the certificate's policy")
        name = "masks"
        steps.append(VerifiedStep(name=name, passed=True, said=check_masked(table, content, kind, whole)))
        name = "models"
        left = narrowed(whole, certified_roles(content), left_out=_left_out(content, table.schema))
        judgement = measure_written(
            table,
            left.policy,
            left.roles,
            kinds=_kinds(content, left.policy),
            hierarchies=_hierarchies(content, find_hierarchies(options.hierarchies, options.release)),
        )
        if boxes is not None:
            from aegis.library.releasing.recode import check_recoding  # compiled loops

            name = "recoding"
            steps.append(VerifiedStep(name=name, passed=True, said=check_recoding(certificate, boxes, table)))
        name = "attacks"
        if kind is not CertificateKind.BOXES and (attacked := check_attacks(content, whole)) is not None:
            steps.append(VerifiedStep(name=name, passed=True, said=attacked))
        name = "models"
        compared = _compared(steps, certificate, left.policy, judgement)
        if not compared.verified:
            return compared
        return replace(compared, not_checked=_not_checked(content, table.schema, options, kind, whole))
    except (AegisError, ValueError, TypeError, KeyError, AttributeError) as error:
        sentence = str(error) if isinstance(error, AegisError) else "the certificate contradicts itself"
        return _failed(steps, name, sentence, judgement)


_AUDITED = (
    "the certificate is of a sanitizer: what it promises was audited on the true values when it was made, and nothing "
    "of that can be measured on the released ones"
)


def _not_checked(
    content: Mapping[str, Any], schema: Schema, options: Verify, kind: CertificateKind, policy: Policy
) -> tuple[str, ...]:
    """What a release that is verified may still be."""
    unsaid = [_WHO] if options.key is None else []
    masks, roles = certified_masks(content, kind), certified_roles(content)
    linked = [name for name in pseudonymous(roles, masks) if name in schema]
    if linked:
        unsaid.append(
            f"whose rows share a pseudonym in {', '.join(linked)}: models judged row by row, and whoever "
            "holds the key or the mapping knows the people"
        )
    by_boxes = roles.quasi_identifying if kind is CertificateKind.BOXES else ()
    free = [name for name in schema.names if name not in masks and name not in by_boxes]
    if free:
        unsaid.append(
            f"what stands in {', '.join(free)}: no mask says what these columns may hold, so anything could have "
            "been written there, names of people included"
        )
    if kind is CertificateKind.BOXES and options.model is None:
        unsaid.append("that the boxes made it (--model)")
    unsaid.append("the page .certificate.html: nothing covers it, and what counts is the .certificate.json")
    if content.get("utility") is not None:
        unsaid.append("what it keeps of the label (utility): that was measured on the true rows")
    if content.get("attacks"):
        unsaid.append("what attacks found: they were run on the true rows")
    if kind is CertificateKind.BOXES and policy.attacks:
        unsaid.append("the attacks that its policy limits: boxes are attacked when they are released")
    if content.get("ledger") is None:
        unsaid.append("what it shows beside other releases: its provider judged it alone")
    else:
        unsaid.append(
            "what it shows beside other releases, and what it was judged together with (ledger): that is in its "
            "provider's ledger, and nowhere in the file"
        )
    return tuple(unsaid)


_WHO = (
    "who made it, when, of what, and what it was judged together with: a certificate without a signature can be "
    "written by anybody, its own hash included, and what the rows do not tell is believed as it stands there (--key)"
)


def _made_up(steps: list[VerifiedStep], content: Mapping[str, Any], hashed: _Hashed, options: Verify) -> Verification:
    """Made-up rows satisfy no policy, they keep a budget: what was measured is added up once more."""
    name = "promise"
    try:
        steps.append(VerifiedStep(name=name, passed=True, said=check_promise(content)))
        name = "columns"
        table = hashed.open()
        sentence = check_columns(content, table, count_rows(table.table))
        steps.append(VerifiedStep(name=name, passed=True, said=sentence))
    except (AegisError, ValueError, TypeError, KeyError, ZeroDivisionError) as error:
        sentence = str(error) if isinstance(error, AegisError) else "the certificate contradicts itself"
        return _failed(steps, name, sentence)
    drawn = "that the rows were drawn from what was measured: real rows under such a certificate look the same"
    unsaid = [*([_WHO] if options.key is None else []), drawn, _spent_besides(content)]
    return Verification(checks=tuple(steps), not_checked=tuple(unsaid))


def _spent_besides(content: Mapping[str, Any]) -> str:
    """What nobody can see of the budget that all releases of the rows share."""
    spent = "what was spent on the same rows altogether"
    if "ledger" not in content:
        return f"{spent}: the certificate does not say whether anybody adds it up"
    ledger = content["ledger"]
    if ledger is None:
        return f"{spent}: its provider judged it alone, and no ledger notes what it cost"
    if ledger["despite"] is not None:
        return f"{spent}: it left past the limit that its provider keeps, and the reason given is: {ledger['despite']}"
    return f"{spent}: that is in its provider's ledger, and nowhere in the file"


def _signature(options: Verify) -> Signature:
    path = signature_path(Path(options.certificate)) if options.signature is None else Path(options.signature)
    try:
        return Signature.parse(path.read_bytes())
    except OSError:
        raise VerificationError(f"there is no signature {path.name}: the certificate is not signed") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"there is no readable file of boxes {path}; check the path") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hashed:
    """A file or table whose hash is known, and how to count its rows."""

    what: str
    sha256: str
    open: Callable[[], Dataset]


def _hashed(options: Verify) -> _Hashed:
    if options.engine is not None or is_url(options.release):
        table = open_dataset(str(options.release), engine=options.engine)
        return _Hashed(what="table", sha256=sha256_of_table(table.table), open=lambda: table)
    path = Path(options.release)
    file = look_into(path, named=path)
    return _Hashed(what="file", sha256=file.sha256, open=lambda: open_written(path, named=path, header=file.header))


def _compared(steps: list[VerifiedStep], certificate: Certificate, policy: Policy, judged: Judgement) -> Verification:
    """What was measured now beside what the certificate says."""
    content = certificate.content
    if (policy.unit is not None) != ("unit" in content):
        sentence = "the certificate and its policy disagree whether people or records are counted"
        return _failed(steps, "people", sentence, judged)
    if "unit" in content:
        return _compared_by_records(steps, content, policy, judged)
    if not judged.satisfied:
        reasons = [v.sentence() for v in judged.verdicts if not v.satisfied] or [judged.reason or "not satisfied"]
        return _failed(steps, "policy", f"the release does not satisfy its policy: {'; '.join(reasons)}", judged)
    if (suppressed := _too_many_suppressed(content, policy)) is not None:
        return _failed(steps, "suppression", suppressed, judged)
    for verdict, stated in zip(judged.verdicts, content["verdicts"], strict=False):
        if not _is_stated(verdict, stated):
            return _failed(steps, verdict.title, "the certificate states another value than is found", judged)
        steps.append(VerifiedStep(name=verdict.title, passed=True, said=verdict.sentence()))
    counted = (judged.records, judged.classes, judged.smallest_class, len(judged.verdicts))
    stated_counts = (
        content["release"]["rows"],
        content["classes"],
        content["smallest_class"],
        len(content["verdicts"]),
    )
    if counted != stated_counts:
        return _failed(steps, "counts", "rows, classes or models differ from the certificate", judged)
    return Verification(checks=tuple(steps), models=tuple(verdict.stated() for verdict in judged.verdicts))


def _compared_by_records(
    steps: list[VerifiedStep], content: Mapping[str, Any], policy: Policy, judged: Judgement
) -> Verification:
    """People cannot be counted in a release: its records are, and what is stated of people must agree with them."""
    unit, stated = content["unit"]["column"], content["unit"]["by_records"]
    if unit != policy.unit:
        return _failed(steps, "people", "the certificate counts people by another column than its policy", judged)
    if len(stated["verdicts"]) != len(judged.verdicts) or len(content["verdicts"]) != len(judged.verdicts):
        return _failed(steps, "counts", "the certificate states more or fewer models than its policy asks", judged)
    for verdict, of_records, of_people in zip(judged.verdicts, stated["verdicts"], content["verdicts"], strict=True):
        if not _is_stated(verdict, of_records):
            return _failed(steps, verdict.title, "the certificate states another value than is found", judged)
        if not _is_same_model(verdict, of_people):
            return _failed(steps, verdict.title, "the certificate states another model than its policy asks", judged)
        if of_people.get("satisfied") is not True:
            return _failed(steps, verdict.title, "the certificate says itself that people are not protected", judged)
        if verdict.name in _FOLLOWS and not verdict.satisfied:
            sentence = f"the release has too few records for what it states of people: {verdict.sentence()}"
            return _failed(steps, verdict.title, sentence, judged)
    counted = (judged.records, judged.classes, judged.smallest_class)
    if counted != (content["release"]["rows"], content["classes"], stated["smallest_class"]):
        return _failed(steps, "counts", "rows or classes differ from the certificate", judged)
    if not 0 < content["smallest_class"] <= judged.smallest_class or content["unit"]["people"] > judged.records:
        return _failed(steps, "people", "the certificate states more people than there are records", judged)
    if (suppressed := _too_many_suppressed(content, policy)) is not None:
        return _failed(steps, "suppression", suppressed, judged)
    sentence = (
        f"counted by {unit}, which the release does not show, by whoever made it: {content['unit']['people']:,} people "
        f"and at least {content['smallest_class']:,} in a class; the records were counted here and agree with that"
    )
    steps.append(VerifiedStep(name="people", passed=True, said=sentence))
    return Verification(checks=tuple(steps), models=tuple(verdict.stated() for verdict in judged.verdicts))


_FOLLOWS = ("k-anonymity", "distinct-l-diversity", "prosecutor-risk", "journalist-risk")
"""What holds for records if it holds for people; other models may find more in records than in people, or less."""


def _too_many_suppressed(content: Mapping[str, Any], policy: Policy) -> str | None:
    suppressed, rows = content["suppressed"]["records"], content["source"]["rows"]
    if suppressed <= policy.max_suppression * rows + 1e-9:
        return None
    return f"{suppressed} of {rows} records were suppressed, more than the policy allows"


def _is_same_model(verdict: Verdict, stated: Mapping[str, Any]) -> bool:
    now = verdict.as_certificate()
    return all(now[key] == stated.get(key) for key in ("name", "attribute", "threshold"))


def _is_stated(verdict: Verdict, stated: Mapping[str, Any]) -> bool:
    """Whether a certificate states what a model found."""
    now = verdict.as_certificate()
    same = _is_same_model(verdict, stated) and now["satisfied"] == stated.get("satisfied")
    return same and _close(now["value"], stated.get("value"))


def _close(measured: Any, stated: Any) -> bool:
    if isinstance(measured, float | int) and isinstance(stated, float | int):
        return abs(measured - stated) <= 1e-9 * max(1.0, abs(measured))
    return bool(measured == stated)


def _failed(
    steps: list[VerifiedStep],
    name: str,
    said: str,
    judgement: Judgement | None = None,
) -> Verification:
    failure = VerifiedStep(name=name, passed=False, said=said)
    models = () if judgement is None else tuple(verdict.stated() for verdict in judgement.verdicts)
    return Verification(checks=(*steps, failure), models=models)


def _left_out(content: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """The columns that were left out, checked to be absent: what is there must be judged."""
    named = tuple(content["release"].get("left_out", ()))
    present = [name for name in named if name in schema]
    if present:
        raise VerificationError(f"the release has the column {present[0]!r} that its certificate says was left out")
    return named


def _kinds(content: Mapping[str, Any], policy: Policy) -> dict[str, Kind]:
    """What the judged columns hold; without it numbers would be judged as words."""
    unsaid = [name for name in policy.attributes if name not in content["kinds"]]
    if unsaid:
        raise VerificationError(f"the certificate does not say what kind of values {unsaid[0]!r} holds")
    return {name: Kind(kind) for name, kind in content["kinds"].items()}


def _hierarchies(content: Mapping[str, Any], hierarchies: Mapping[str, Hierarchy]) -> dict[str, Hierarchy]:
    """The hierarchies that distances were measured by, checked to be the same ones."""
    same = {}
    for column, stated in content["hierarchies"].items():
        if column not in hierarchies:
            raise DataError(f"the policy measures {column!r} by a hierarchy; give its folder with --hierarchies")
        if hierarchies[column].digest != stated:
            raise VerificationError(f"the hierarchy of {column!r} is not the one that was used; give the original")
        same[column] = hierarchies[column]
    return same

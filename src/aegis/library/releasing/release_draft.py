"""A release that is written and that nobody sees yet: its draft, the files beside it, and what is measured on it.

It is judged from scratch, and attacked where its policy limits an attack or somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import ibis.expr.types as ir

from aegis.commands.release import Release
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.data.yaml_text import dump
from aegis.errors import OptionError, PolicyNotSatisfiedError
from aegis.inspection.telling import Tells, known_values
from aegis.library.releasing.release_source import ReleaseCounts, Source, judged_kinds
from aegis.library.tables.judging import check_written, open_written
from aegis.library.tables.masked_data import MaskedData, mapping_text
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.masking.mask import Mask
from aegis.privacy.judgement import Judgement
from aegis.releases.certificate import Certificate, certificate_paths
from aegis.releases.row_digest import OWN, POSITION, sha256_of_table
from aegis.releases.signature import sign, signature_path
from aegis.releases.write import TableAddress, check_format, draft_table, is_url, look_into, write_table
from aegis.result import plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from aegis.attacks.attack import AttackResult


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """A table that is written and not yet released, with the drafts of the files beside it."""

    dataset: Dataset
    sha256: str
    bytes: int | None
    certificate: Path
    page: Path
    signature: Path | None
    fitted: Path | None
    mapping: Path | None

    def write(
        self,
        certificate: Certificate,
        *,
        key: Ed25519PrivateKey | None,
        fitted: Configuration,
        mapped: MaskedData,
    ) -> None:
        """Fill the files beside the table; they appear with it."""
        from aegis.report.certificate_report import render_certificate  # an extra

        texts = {self.certificate: certificate.to_json(), self.page: render_certificate(certificate.content)}
        if self.signature is not None and key is not None:
            texts[self.signature] = sign(certificate.content, key).to_json()
        if self.fitted is not None:
            texts[self.fitted] = dump(to_mapping(fitted))
        if self.mapping is not None:
            texts[self.mapping] = mapping_text(mapped.mappings)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")


def output_paths(options: Release) -> list[Path]:
    """Every file to be written: the release (unless it is a table), the extras, the signature, the certificate's two.

    The last two are the certificate and its page, and a signature, where one is wanted, stands before them.
    """
    extras = [Path(path) for path in (options.fitted, options.mapping) if path is not None]
    if is_url(options.out):
        table = TableAddress.parse(str(options.out)).table
        paths = [*extras, *certificate_paths(Path(table))]
    else:
        check_format(Path(options.out))
        paths = [Path(options.out), *extras, *certificate_paths(Path(options.out))]
    if options.sign is not None:
        paths.insert(-2, signature_path(paths[-2]))
    check_free(*paths, overwrite=options.overwrite)
    return paths


@contextmanager
def draft_of(table: ir.Table, paths: Sequence[Path], options: Release) -> Iterator[Draft]:
    """The table written to where nobody looks yet, with drafts of the other files; all of it appears together."""
    table = _without_own_columns(table, options)
    # The mapping and the fitted configuration hold values: not for everybody's eyes.
    modes = [PRIVATE] * len(paths)
    beside = 2 if options.sign is None else 3
    modes[-beside:] = [PUBLIC] * beside
    if is_url(options.out):
        address = TableAddress.parse(str(options.out))
        source = options.engine or options.data
        writing = draft_table(table, address, source=source, shuffle=options.shuffle, overwrite=options.overwrite)
        with writing as (_, written), drafts_of(paths, overwrite=options.overwrite, modes=modes) as drafts:
            dataset = as_dataset(written)
            yield _draft(dataset, sha256_of_table(dataset.table), None, drafts, options)
        return
    modes[0] = PUBLIC
    with drafts_of(paths, overwrite=options.overwrite, modes=modes) as (file, *drafts_beside):
        write_table(table, file, like=paths[0], shuffle=options.shuffle)
        seen = look_into(file, named=paths[0])
        dataset = open_written(file, named=paths[0], header=seen.header)
        yield _draft(dataset, seen.sha256, seen.bytes, drafts_beside, options)


def _without_own_columns(table: ir.Table, options: Release) -> ir.Table:
    """What others get: without the columns that only the library uses, in the source's order if that is asked."""
    own = [name for name in table.columns if name.startswith(OWN)]
    if not options.shuffle and POSITION in own:
        table = table.order_by(POSITION)
    return table.drop(*own)


def _draft(dataset: Dataset, sha256: str, size_bytes: int | None, beside: Sequence[Path], options: Release) -> Draft:
    *extras, certificate, page = beside
    signature = None if options.sign is None else extras.pop()
    return Draft(
        dataset=dataset,
        sha256=sha256,
        bytes=size_bytes,
        certificate=certificate,
        page=page,
        signature=signature,
        fitted=None if options.fitted is None else extras[0],
        mapping=None if options.mapping is None else extras[-1],
    )


def measure_draft(draft: Draft, source: Source, counts: ReleaseCounts, *, judged: Judgement) -> Judgement:
    """Judge the written table from scratch, as `verify` will, and see that it is what was ``judged``."""
    return check_written(
        draft.dataset,
        source.judged_policy,
        source.published_roles,
        kinds=judged_kinds(source, counts),
        hierarchies=source.hierarchies,
        judged=judged,
        verb="released",
    )


def attacks_wanted(named: Sequence[str], source: Source) -> tuple[str, ...]:
    """The attacks to run on a release: those named, and those that the policy limits.

    Attacks on several releases are run where something was released already.
    """
    policy, earlier = source.policy, source.earlier
    if not named and not policy.attacks:
        return ()
    from aegis.attacks.attack import ATTACKS  # compiled loops and learners, which most releases do without

    several = earlier is not None and earlier.constrains
    for name in named:
        if ATTACKS[name].least_releases > 1 and not several:
            raise OptionError(
                f"the attack {name!r} needs several releases, and there is no earlier release that this one joins"
            )
    limited = [name for name in dict(policy.attacks) if several or ATTACKS[name].least_releases == 1]
    return tuple(dict.fromkeys((*named, *limited)))


def attack_draft(
    draft: Draft, source: Source, masks: Mapping[str, Mask], *, attacks: Sequence[str], told: Sequence[Tells]
) -> tuple[AttackResult, ...]:
    """Attack a table as it was written by ``masks``; raises where a limit of the policy is exceeded.

    Attacks on several releases see earlier releases as well, and so do those that read off groups, unless that cannot
    be made again and the policy sets them no limit: then somebody may have columns from before that are not written
    now. ``told`` are columns that quasi-identifiers tell.
    """
    if not attacks:
        return ()
    from aegis.attacks.attack import ATTACKS, run_attacks
    from aegis.attacks.scene import Scene
    from aegis.library.releasing.attack_scene import (
        held_release,
        not_made_again,
        people_of,
        releases_made_again,
        with_its_hidden,
    )

    policy, earlier, roles = source.policy, source.earlier, source.published_roles
    people = people_of(source.original)
    held = held_release(draft.dataset.name, ask(draft.dataset.table), people, masks=masks)
    attacked, people = with_its_hidden(1, held, people, roles)
    too = known_values(told)
    scene = Scene(releases=(attacked,), people=people, roles=roles, policy=policy, unit=policy.unit, told=too)
    several = earlier is not None and earlier.constrains
    joint = [name for name in attacks if ATTACKS[name].least_releases > 1 or (several and ATTACKS[name].linked)]
    limits = dict(policy.attacks)
    unmade = not_made_again(earlier) if joint and earlier is not None else None
    if unmade is not None:
        _check_without(unmade, joint, limited=limits)
        joint = []
    alone = [ATTACKS[name] for name in attacks if name not in joint]
    results = run_attacks(alone, scene, limits=limits)
    if joint and earlier is not None:
        made_again, everybody = releases_made_again(earlier, people, roles=source.roles)
        both = replace(scene, releases=(*made_again, attacked), people=everybody, roles=source.roles)
        results = (*results, *run_attacks([ATTACKS[name] for name in joint], both, limits=limits))
    exceeded = [result for result in results if result.exceeded]
    if exceeded:
        sentences = "; ".join(
            f"{result.name} exposes {100 * result.exposed_share:.2f} % of the people and "
            f"{100 * (result.limit or 0):g} % are allowed"
            for result in exceeded
        )
        more = ", or release an earlier one again" if any(len(result.releases) > 1 for result in exceeded) else ""
        name_too = "".join(
            f"; {tells.other} {tells.as_known()}: name it quasi-identifying or mask it"
            for tells in told
            if tells.other in too
        )
        raise PolicyNotSatisfiedError(f"nothing was released: {sentences}; mask more{more}{name_too}")
    return results


def _check_without(unmade: str, attacks: Sequence[str], *, limited: Collection[str]) -> None:
    """Raise where attacks must see what an entry showed that cannot be made again: limited ones, and those on several.

    Others that were asked for are run on the new release alone, and their results name that one.
    """
    from aegis.attacks.attack import ATTACKS

    bounded = [name for name in attacks if name in limited]
    if bounded:
        raise PolicyNotSatisfiedError(
            f"nothing was released: the policy limits {', '.join(bounded)}, and what {unmade} showed cannot be made "
            "again to be attacked together with this one; run aegis attack on the files, and take the limit out of the "
            "policy if that holds"
        )
    for name in attacks:
        if ATTACKS[name].least_releases > 1:
            raise OptionError(
                f"the attack {name!r} needs earlier releases, and what {unmade} showed cannot be made again; leave "
                "it out, "
                "and run aegis attack on the files"
            )


def as_certified(results: Sequence[AttackResult]) -> list[dict[str, object]]:
    """What a certificate says of attacks: counts and shares, one entry each.

    ``releases_seen`` is 1 where an attack was run on the table alone, and more where also on what was out already.
    """
    figures = ("people", "singled_out", "right", "baseline", "interval", "exposed_share", "limit", "not_applicable")
    stated = ("name", "knows", "releases_seen", *figures)
    return [{name: plain(getattr(result, name)) for name in stated} for result in results]

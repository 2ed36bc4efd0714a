"""The clinic example as a whole flow, so that a newcomer sees one in two minutes.

What happens at the provider's is done by the same code that does it for an organisation which runs both sides.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aegis.catalog.records import Together, UserRole
from aegis.catalog.service import configurations, jobs, judged_together, people, products, releases, requests
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import Actor, Permission, require
from aegis.catalog.service.sessions import actor_of_user
from aegis.catalog.states import JobState, ReleaseState
from aegis.catalog.worker.loop import run_pending
from aegis.catalog.worker.provider import Provider
from aegis.data.engine import open_dataset
from aegis.errors import ConflictError, VerificationError
from aegis.library import clinic
from aegis.library.tables.opening import find_hierarchies
from aegis.masking.configuration_file import load_configurations, many_to_mapping
from aegis.releases.table_register import register_in

NAME = "clinic"
_WAIT_SECONDS = 120.0
_DESCRIPTIONS = {
    "patient": "number of the patient",
    "age": "age in years",
    "weight": "weight in kilograms",
    "zip": "postcode",
    "gender": "gender as stated",
    "visits": "visits in the year",
    "smoker": "whether the patient smokes",
    "admitted": "day of admission",
    "ward": "ward",
    "diagnosis": "main diagnosis",
    "health": "state of health after a year",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClinicFlow:
    """What was made: the product, and people with a password to sign in with (shown once)."""

    product: str
    people: dict[str, str] = field(repr=False)
    request_id: str
    waiting_request_id: str
    release_id: str


def load_clinic(catalog: Catalog, actor: Actor, *, rows: int = clinic.ROWS) -> ClinicFlow:
    """Build the product, people, configurations, summary, ranking, a decided request and its release (administrators).

    ``actor`` signs for it; `ConflictError` where the example is there already.
    """
    require(actor, Permission.MANAGE_PEOPLE)
    with tempfile.TemporaryDirectory(prefix="aegis-clinic-") as place, register_in(Path(place) / "state"):
        table = clinic.write_clinic(Path(place), rows=rows)
        passwords, cast = _people(catalog, actor)
        provider, expert, consumer = cast[UserRole.PROVIDER], cast[UserRole.EXPERT], cast[UserRole.CONSUMER]
        _product(catalog, provider, table)
        _configurations(catalog, expert, table)
        home = Provider(catalog, table.parent, owner=provider.name)
        _provide(home)
        request_id = _ask(catalog, consumer, "to find out which patients need a second visit", days=365)
        chosen = _advised(catalog, expert, request_id)
        with catalog.write(expert) as work:
            requests.decide(
                work,
                request_id=request_id,
                approve=True,
                configuration_id=chosen.id,
                reason="keeps most of what predicts health, and satisfies the policy",
            )
        _provide(home)
        release_id = _verified(catalog, expert)
        waiting = _ask(catalog, consumer, "to compare two models of health", days=90)
        _provide(home)
        _explain_refusal(catalog, expert, waiting)
    return ClinicFlow(
        product=NAME, people=passwords, request_id=request_id, waiting_request_id=waiting, release_id=release_id
    )


def _people(catalog: Catalog, actor: Actor) -> tuple[dict[str, str], dict[UserRole, Actor]]:
    """One person for each part, with passwords drawn at random."""
    passwords: dict[str, str] = {}
    cast: dict[UserRole, Actor] = {}
    wanted = {
        UserRole.PROVIDER: "Paula, who keeps the data",
        UserRole.EXPERT: "Edgar, who knows privacy",
        UserRole.CONSUMER: "Carla, who trains models",
    }
    for role, display_name in wanted.items():
        with catalog.write(actor) as work:
            invited = people.create_user(work, name=role.value, display_name=display_name)
            assert invited.user is not None
            # Whoever registers a product becomes its provider.
            assigned = UserRole.REGISTRAR if role is UserRole.PROVIDER else role
            people.assign(work, user_id=invited.user.id, role=assigned.value)
        passwords[role.value] = secrets.token_urlsafe(12)
        people.accept_link(catalog, secret=invited.secret, password=passwords[role.value])
        cast[role] = actor_of_user(catalog, user_id=invited.user.id)
    return passwords, cast


def _product(catalog: Catalog, provider: Actor, table: Path) -> None:
    dataset = open_dataset(table)
    columns = [
        {
            "name": column.name,
            "kind": column.kind.value,
            "role": dataset.roles[column.name].value,
            "description": _DESCRIPTIONS[column.name],
        }
        for column in dataset.schema
    ]
    with catalog.write(provider) as work:
        products.register(
            work,
            name=NAME,
            title="A made-up clinic",
            description="12,000 patients who do not exist, drawn by a seeded generator: the example of Aegis.",
            columns=columns,
            policy=clinic.POLICY,
        )
        products.publish(work, product=NAME)


def _configurations(catalog: Catalog, expert: Actor, table: Path) -> None:
    loaded = load_configurations(table.parent / "configurations", hierarchies=find_hierarchies(None, table))
    with catalog.write(expert) as work:
        configurations.propose(work, product=NAME, content=many_to_mapping(loaded))


def _provide(home: Provider) -> None:
    """Do at home what is due by now: count the table, release it, or judge its maskings together."""
    for provided in home.due():
        if provided.reason is not None:
            raise ConflictError(f"the example could not be built: {provided.reason}")


def _ask(catalog: Catalog, consumer: Actor, purpose: str, *, days: int) -> str:
    with catalog.write(consumer) as work:
        return requests.ask(work, product=NAME, purpose=purpose, days=days).id


def _advised(catalog: Catalog, expert: Actor, request_id: str) -> Any:
    """The first of the ranking."""
    with catalog.write(expert) as work:
        job_id = jobs.start_advice(work, product=NAME, request_id=request_id).id
    _wait(catalog, expert, job_id)
    with catalog.read(expert) as work:
        best = jobs.ranking_of(jobs.job(work, job_id=job_id)).best
        listed = configurations.list_configurations(work, product=NAME)
    return next(configuration for configuration in listed if configuration.content_id == best.id)


def _verified(catalog: Catalog, expert: Actor) -> str:
    """The id of the release that was made, once it is verified."""
    with catalog.read(expert) as work:
        (made,) = releases.list_releases(work, product=NAME).items
    _wait(catalog, expert, str(made.job_id))
    with catalog.read(expert) as work:
        verified = releases.release(work, release_id=made.id)
    if verified.state is not ReleaseState.VERIFIED:
        raise ConflictError(f"the example's release was not verified: {verified.reason}")
    return made.id


def _explain_refusal(catalog: Catalog, expert: Actor, request_id: str) -> None:
    """The expert tries a second, different release, is refused, and writes to the consumer why."""
    with catalog.read(expert) as work:
        standing = judged_together.standings_for(work, request_id=request_id)
        names = {offer.id: offer.name for offer in configurations.list_configurations(work, product=NAME)}
    refused = [ident for ident, beside in standing.items() if beside.standing is Together.BROKEN]
    if not refused:
        return
    try:
        with catalog.write(expert) as work:
            requests.decide(work, request_id=request_id, approve=True, configuration_id=refused[0])
    except VerificationError as error:
        words = f"I tried to approve “{names[refused[0]]}” and was refused: {error}. Shall it be one of those?"
        with catalog.write(expert) as work:
            requests.comment(work, request_id=request_id, words=words)


def _wait(catalog: Catalog, actor: Actor, job_id: str) -> None:
    """Do the job here, or wait for the worker that was faster."""
    until = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < until:
        run_pending(catalog, job_id=job_id)  # not what others sent: that needs a process with limits
        with catalog.read(actor) as work:
            view = jobs.job(work, job_id=job_id)
        if view.state is JobState.DONE:
            return
        if view.state in (JobState.FAILED, JobState.CANCELLED):
            raise ConflictError(f"the example could not be built: {view.error or view.state}")
        time.sleep(0.2)
    raise ConflictError("the example could not be built in time; look at the jobs")

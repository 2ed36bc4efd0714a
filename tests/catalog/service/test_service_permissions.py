"""Every permission × role × ownership: allowed where the table says so, denied or hidden everywhere else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.records import Scope, UserRole
from aegis.catalog.service import (
    arrivals,
    audit_log,
    configurations,
    jobs,
    people,
    products,
    releases,
    requests,
    seen_requests,
    summaries,
    tokens,
)
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import (
    ANONYMOUS,
    Actor,
    Held,
    Permission,
    may,
    products_where,
    require,
)
from aegis.catalog.settings import MEBIBYTE, Settings
from aegis.catalog.worker.loop import run_pending
from aegis.errors import AegisError, NotFoundError, NotPermittedError, NotSignedInError

Stage = Any
_OPEN = {
    Permission.SEE_CATALOG,
    Permission.WITHDRAW_REQUEST,
    Permission.DOWNLOAD,
    Permission.MANAGE_OWN_TOKENS,
    Permission.COMMENT,
    Permission.MANAGE_OWN_SESSIONS,
    Permission.MANAGE_SECOND_FACTOR,
    Permission.MANAGE_OWN_KEYS,
    Permission.SEE_OWN_NOTIFICATIONS,
    Permission.MARK_NOTIFICATIONS,
    Permission.CHOOSE_NOTIFICATIONS,
}
_OF_A_PRODUCT = {
    "provider": {
        Permission.SEE_DRAFT, Permission.CHANGE_PRODUCT, Permission.PROPOSE_CONFIGURATION,
        Permission.WITHDRAW_CONFIGURATION, Permission.PUSH_SUMMARY, Permission.START_ADVICE, Permission.SEE_JOBS,
        Permission.SEE_REQUESTS, Permission.REVOKE_REQUEST, Permission.PUSH_RELEASE, Permission.WITHDRAW_RELEASE,
        Permission.SEE_RELEASES, Permission.SEE_PRODUCT_AUDIT, Permission.REGISTER_PRODUCT, Permission.SEE_LEDGER,
        Permission.JUDGE_TOGETHER,
    },
    "expert": {
        Permission.SEE_DRAFT, Permission.PROPOSE_CONFIGURATION, Permission.WITHDRAW_CONFIGURATION,
        Permission.START_ADVICE, Permission.SEE_JOBS, Permission.SEE_REQUESTS, Permission.DECIDE_REQUEST,
        Permission.SEE_RELEASES, Permission.SEE_PRODUCT_AUDIT, Permission.SEE_LEDGER,
    },
    "consumer": {Permission.REQUEST_ACCESS},
    "nobody in particular": set(),
    "admin": set(Permission),
}  # fmt: skip


def _actor(role: str, product_id: str | None, **more: Any) -> Actor:
    roles = frozenset() if role not in set(UserRole) else frozenset({Held(role=UserRole(role), product_id=product_id)})
    return Actor(user_id="u", name=role, display_name=role, roles=roles, **more)


def _allowed(actor: Actor, product_id: str) -> set[Permission]:
    return {permission for permission in Permission if may(actor, permission, product_id)}


@pytest.mark.parametrize("role", sorted(_OF_A_PRODUCT))
def test_a_role_allows_exactly_what_is_written_here(role: str) -> None:
    everywhere = _actor(role, None)
    assert _allowed(everywhere, "p") == _OF_A_PRODUCT[role] | _OPEN
    if role == "admin":
        return
    here = _actor(role, "p")
    assert _allowed(here, "p") == _OF_A_PRODUCT[role] | _OPEN
    elsewhere = _allowed(here, "another")
    assert elsewhere == _OPEN | ({Permission.REGISTER_PRODUCT} if role == "provider" else set())


def test_nobody_may_do_anything_and_is_asked_to_sign_in() -> None:
    assert _allowed(ANONYMOUS, "p") == set()
    for permission in Permission:
        with pytest.raises(NotSignedInError):
            require(ANONYMOUS, permission, "p")


def test_a_token_allows_what_its_scopes_and_its_owner_both_do() -> None:
    for permission in Permission:
        for scope in Scope:
            holder = _actor("admin", None, scopes=frozenset({scope}))
            assert may(holder, permission, "p") == (scope in permission.rule.scopes), (permission, scope)
            powerless = _actor("nobody in particular", None, scopes=frozenset(Scope))
            assert may(powerless, permission, "p") == (permission.rule.roles is None and bool(permission.rule.scopes))
    bound = _actor("admin", None, scopes=frozenset(Scope), token_product="p")
    assert may(bound, Permission.PUSH_RELEASE, "p")
    assert not may(bound, Permission.PUSH_RELEASE, "q")
    assert not may(bound, Permission.MANAGE_PEOPLE)


def test_the_products_where_somebody_may_are_those_where_they_may() -> None:
    for permission in Permission:
        if permission.rule.anywhere:
            continue
        for role in _OF_A_PRODUCT:
            for scopes in (None, *(frozenset({scope}) for scope in Scope)):
                for bound in (None, "p", "q"):
                    for product_id in ("p", None):
                        actor = _actor(
                            role, product_id if role != "admin" else None, scopes=scopes, token_product=bound
                        )
                        where = products_where(actor, permission)
                        for asked in ("p", "q"):
                            if permission is Permission.SEE_CATALOG and bound is not None:
                                continue  # that there is a catalog, any token may know
                            assert may(actor, permission, asked) == (where is None or asked in where)


def test_a_token_that_only_requests_lists_no_requests_of_others(busy: Stage) -> None:
    expert = busy.actor("expert")
    asking = Actor(
        user_id=expert.user_id, name=expert.name, display_name=expert.display_name, roles=expert.roles,
        scopes=frozenset({Scope.REQUEST}),
    )  # fmt: skip
    with busy.catalog.read(asking) as work:
        assert seen_requests.list_requests(work).items == ()
        assert jobs.list_jobs(work).items == ()


def test_no_two_permissions_are_the_same_words() -> None:
    assert len({permission.words for permission in Permission}) == len(Permission.__members__)


Act = Callable[[Stage, Work], Any]


def _push_summary(stage: Stage, work: Work) -> Any:
    stream = io.BytesIO(stage.parts.summary)
    with summaries.incoming(stage.catalog, work.actor, product="clinic", stream=stream):
        pass


def _push_release(stage: Stage, work: Work) -> Any:
    file, certificate = stage.parts.released["strict"]
    with arrivals.incoming(
        stage.catalog, work.actor, product="clinic", file=io.BytesIO(file), certificate=io.BytesIO(certificate),
        file_name="a.csv",
    ):  # fmt: skip
        pass


_EVERYONE = {"admin", "provider", "expert", "consumer", "rival", "stranger", "outsider"}
_AT_WORK = {"admin", "provider", "expert"}
_PROVIDES = {"admin", "provider"}
_HIDDEN = (NotFoundError,)
_SAID = (NotPermittedError,)
# What is done, by whom it may be done, and what the others are told.
ACTS: dict[str, tuple[Act, set[str], tuple[type[AegisError], ...]]] = {
    "see a product": (lambda s, w: products.product(w, product="clinic"), _EVERYONE, ()),
    "list products": (lambda s, w: products.list_products(w), _EVERYONE, ()),
    "overview": (lambda s, w: seen_requests.overview(w), _EVERYONE, ()),
    "me": (lambda s, w: people.me(w), _EVERYONE, ()),
    "see histograms": (lambda s, w: summaries.histograms(w, product="clinic"), _EVERYONE, ()),
    "see configurations": (lambda s, w: configurations.list_configurations(w, product="clinic"), _EVERYONE, ()),
    "see a draft": (lambda s, w: products.product(w, product="draft"), _AT_WORK, _HIDDEN),
    "see a draft's configurations": (
        lambda s, w: configurations.list_configurations(w, product="draft"), _AT_WORK, _HIDDEN),
    "register": (
        lambda s, w: products.register(w, name="new", title="N", columns=s.parts.columns),
        {"admin", "provider", "rival"}, _SAID),
    "change": (lambda s, w: products.change(w, product="clinic", version=s.version, title="T"), _PROVIDES, _SAID),
    "retire": (lambda s, w: products.retire(w, product="clinic"), _PROVIDES, _SAID),
    "change a draft": (
        lambda s, w: products.publish(w, product="draft"), _PROVIDES, (NotFoundError, NotPermittedError)),
    "propose": (
        lambda s, w: configurations.propose(w, product="clinic", content={"age": "suppress"}), _AT_WORK, _SAID),
    "generate": (lambda s, w: configurations.generate(w, product="clinic", count=2), _AT_WORK, _SAID),
    "withdraw a configuration": (
        lambda s, w: configurations.withdraw(w, configuration_id=s.made["young-or-old"].id), _AT_WORK, _SAID),
    "push a summary": (_push_summary, _PROVIDES, _SAID),
    "take a summary home": (lambda s, w: summaries.open_archive(w, product="clinic").stream.close(), _AT_WORK, _SAID),
    "start the advisor": (lambda s, w: jobs.start_advice(w, product="clinic"), _AT_WORK, _SAID),
    "see a job": (lambda s, w: jobs.job(w, job_id=s.job_id), _AT_WORK, _HIDDEN),
    "see the jobs": (lambda s, w: jobs.list_jobs(w, product="clinic"), _AT_WORK, _SAID),
    "cancel a job": (lambda s, w: jobs.cancel(w, job_id=s.waiting_job_id), _AT_WORK, _HIDDEN),
    "ask": (lambda s, w: requests.ask(w, product="clinic", purpose="why not"), {"admin", "consumer", "other"}, _SAID),
    "see a request": (lambda s, w: seen_requests.request(w, request_id=s.pending_id), _AT_WORK | {"consumer"}, _HIDDEN),
    "approve": (
        lambda s, w: requests.decide(
            w, request_id=s.pending_id, approve=True, configuration_id=s.made["strict"].id),
        {"admin", "expert"}, (NotFoundError, NotPermittedError)),
    "reject": (
        lambda s, w: requests.decide(w, request_id=s.pending_id, approve=False, reason="no"),
        {"admin", "expert"}, (NotFoundError, NotPermittedError)),
    "revoke": (
        lambda s, w: requests.revoke(w, request_id=s.provisioned_id, reason="no"), _PROVIDES,
        (NotFoundError, NotPermittedError)),
    "take back": (
        lambda s, w: requests.withdraw(w, request_id=s.pending_id), {"consumer"}, (NotFoundError, NotPermittedError)),
    "push a release": (_push_release, _PROVIDES, _SAID),
    "see a release": (lambda s, w: releases.release(w, release_id=s.release_id), _AT_WORK | {"consumer"}, _HIDDEN),
    "download": (
        lambda s, w: releases.open_download(w, release_id=s.release_id).stream.close(),
        _AT_WORK | {"consumer"}, _HIDDEN),
    "fulfil": (
        lambda s, w: releases.fulfil(w, request_id=s.approved_id, release_id=s.release_id), _PROVIDES,
        (NotFoundError, NotPermittedError)),
    "withdraw a release": (
        lambda s, w: releases.withdraw(w, release_id=s.release_id, reason="no"), _PROVIDES,
        (NotFoundError, NotPermittedError)),
    "see the product's audit": (lambda s, w: audit_log.list_audit(w, product="clinic"), _AT_WORK, _SAID),
    "see the audit": (lambda s, w: audit_log.list_audit(w), {"admin"}, _SAID),
    "ask about the chain": (lambda s, w: audit_log.standing(w), {"admin"}, _SAID),
    "ask for a walk": (lambda s, w: audit_log.want_walk(w), {"admin"}, _SAID),
    "choose a product": (lambda s, w: products.product_choices(w), _EVERYONE, ()),
    "verify the audit": (lambda s, w: audit_log.verify(w), {"admin"}, _SAID),
    "list people": (lambda s, w: people.list_users(w), {"admin"}, _SAID),
    "see a person": (lambda s, w: people.user(w, user_id=s.user_id("consumer")), {"admin"}, _SAID),
    "invite": (lambda s, w: people.create_user(w, name="new", display_name="N"), {"admin"}, _SAID),
    "reset": (lambda s, w: people.reset_link(w, user_id=s.user_id("consumer")), {"admin"}, _SAID),
    "switch off": (lambda s, w: people.set_active(w, user_id=s.user_id("consumer"), active=False), {"admin"}, _SAID),
    "give a role": (lambda s, w: people.assign(w, user_id=s.user_id("consumer"), role="expert"), {"admin"}, _SAID),
    "take a role": (
        lambda s, w: people.unassign(w, user_id=s.user_id("consumer"), role="consumer"), {"admin"}, _SAID),
    "make a token": (lambda s, w: tokens.create_token(w, name="t", scopes=["read"]), _EVERYONE, ()),
    "list one's tokens": (lambda s, w: tokens.list_tokens(w), _EVERYONE, ()),
    "list another's tokens": (lambda s, w: tokens.list_tokens(w, user_id=s.user_id("eve")), {"admin"}, _SAID),
}  # fmt: skip


@contextmanager
def _undone(stage: Stage, actor: Actor) -> Iterator[Work]:
    """A transaction in which anything may be tried: it is never committed."""
    with stage.catalog.database.write() as session:
        yield stage.catalog._work(session, actor)


@pytest.fixture
def busy(new_stage: Any) -> Stage:
    """A catalog in which everything is there to be touched."""
    stage = new_stage("sqlite")
    made = stage.product()
    stage.version = made.version
    stage.made = stage.configurations()
    stage.summary()
    draft = stage.product("draft", publish=False)
    assert draft.id
    second = stage.product("second")
    with stage.write("admin") as work:  # the provider provides what they registered, and no more
        people.unassign(work, user_id=stage.user_id("provider"), role="provider")
    for each in (made, draft, second):
        stage.person("provider", UserRole.PROVIDER, product_id=each.id)
    stage.person("rival", UserRole.PROVIDER, product_id=second.id)
    stage.person("stranger", UserRole.EXPERT, product_id=second.id)
    stage.person("outsider")
    stage.person("eve")
    with stage.write("expert") as work:
        stage.job_id = jobs.start_advice(work, product="clinic").id
    request, release = stage.provisioned()
    stage.provisioned_id, stage.release_id = request.id, release.id
    with stage.write("expert") as work:
        stage.waiting_job_id = jobs.start_advice(work, product="clinic", measure="theils-u").id
    stage.pending_id = stage.ask().id
    approved = stage.ask()
    stage.approved_id = stage.approve(approved.id, stage.made["strict"].id).id
    return stage


def test_every_act_by_everybody(busy: Stage) -> None:
    for title, (act, may_do, told) in ACTS.items():
        for name in sorted(_EVERYONE):
            actor = busy.actor(name)
            if name in may_do:
                with _undone(busy, actor) as work:
                    act(busy, work)
                continue
            try:
                with _undone(busy, actor) as work:
                    act(busy, work)
            except told:
                continue
            pytest.fail(f"{name} could {title}")
        with pytest.raises(NotSignedInError), _undone(busy, ANONYMOUS) as work:
            act(busy, work)


def test_a_token_that_reads_changes_nothing(busy: Stage) -> None:
    """Through a token of scope read even an administrator only looks."""
    looks = {
        "see a product", "list products", "overview", "me", "see histograms", "see configurations", "see a draft",
        "see a draft's configurations", "take a summary home", "see a job", "see the jobs", "see a request",
        "see a release", "download", "see the product's audit", "choose a product",
    }  # fmt: skip
    admin = busy.actor("admin")
    reader = Actor(
        user_id=admin.user_id, name=admin.name, display_name=admin.display_name, roles=admin.roles,
        scopes=frozenset({Scope.READ}),
    )  # fmt: skip
    for title, (act, _, _) in ACTS.items():
        if title in looks:
            with _undone(busy, reader) as work:
                act(busy, work)
        else:
            with pytest.raises((NotPermittedError, NotFoundError)), _undone(busy, reader) as work:
                act(busy, work)
    run_pending(busy.catalog)


def test_the_documented_table_is_the_one_that_is_asked() -> None:
    page = (Path(__file__).parents[3] / "docs" / "concepts" / "catalog.md").read_text(encoding="utf-8")
    table = page[page.index("| act | roles |") :].split("\n\n")[0].splitlines()[2:]
    expected = []
    for permission in Permission:
        roles = "everybody signed in" if permission.rule.roles is None else ", ".join(sorted(permission.rule.roles))
        roles += " (of any product)" if permission.rule.anywhere else ""
        scopes = "any" if permission.rule.scopes == set(Scope) else ", ".join(sorted(permission.rule.scopes)) or "none"
        expected.append(f"| {permission.words} | {roles} | {scopes} |")
    assert table == expected


def test_the_documented_limits_are_the_settings() -> None:
    page = (Path(__file__).parents[3] / "docs" / "concepts" / "catalog.md").read_text(encoding="utf-8")
    told = " ".join(page[page.index("## Limits") :].split())
    known = Settings()
    for words in (
        f"summaries at {known.summary_bytes // MEBIBYTE} MiB packed",
        f"{known.summary_unpacked_bytes // MEBIBYTE} MiB unpacked",
        f"releases at {known.release_bytes // MEBIBYTE // 1024} GiB",
        f"certificates at {known.certificate_bytes // MEBIBYTE} MiB",
        f"within {known.sign_in_window_minutes} minutes",
        f"Sessions last {known.session_hours} hours, invitations {known.link_hours}",
        f"expire after {known.pending_days} days",
    ):
        assert words in told
    assert (known.sign_in_failures, known.token_days) == (5, 365)

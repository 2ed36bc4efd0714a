"""The addresses of the API, subject by subject: each is a function of the service, with what it takes and sends."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field
from starlette.responses import JSONResponse, Response

from aegis.catalog import records
from aegis.catalog.database.audit_chain import ACTS
from aegis.catalog.records import JointVerdict, Name
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, Line, Moment, ProductRef, Slug
from aegis.catalog.server.api.calls import ApiRouter, Origin, SessionSecret, Write
from aegis.catalog.service import (
    audit_log,
    configurations,
    finding,
    jobs,
    judged_together,
    ledger,
    metadata,
    notification_choices,
    notifications,
    people,
    products,
    requests,
    seen_requests,
    sessions,
    signing_keys,
    tokens,
)
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.states import RequestState
from aegis.errors import NotFoundError

OfProduct = Annotated[ProductRef | None, Query(description="Only what concerns this product.")]
_FOUND = {
    "query": Annotated[
        Line, Query(description="Words in names, titles, descriptions, tags, and the names and meanings of columns.")
    ],
    "tag": Annotated[bodies.Tag | None, Query(description="Only those with this tag.")],
    "owner": Annotated[Slug | None, Query(description="Only those of the person with this name.")],
}

# People

of_people = ApiRouter(tags=["people"])
of_people.reads("/me", "Who am I?", people.me)
of_people.reads("/overview", "What waits for me?", seen_requests.overview)
of_people.reads("/users", "Everybody", people.list_users)
of_people.writes("/users", "Invite somebody", people.create_user, body=bodies.NewUser, status=201, shown_once="secret")
of_people.reads("/users/{user_id}", "One person", people.user)
of_people.writes(
    "/users/{user_id}", "Switch somebody off or on", people.set_active, body=bodies.UserChange, method="PATCH"
)
of_people.writes("/users/{user_id}/reset", "Forgotten password", people.reset_link, status=201, shown_once="secret")
of_people.writes("/users/{user_id}/roles", "Give a role", people.assign, body=bodies.NewRole)
of_people.writes("/users/{user_id}/roles/remove", "Take a role away", people.unassign, body=bodies.NewRole)
of_people.reads("/sessions", "Where am I signed in?", sessions.list_sessions, takes={"secret": SessionSecret})


def end_session(work: Work, *, session_id: str, secret: str | None) -> tuple[records.Session, ...]:
    """Whoever uses it has to sign in again; gives what is left."""
    sessions.end_session(work, session_id=session_id)
    return sessions.list_sessions(work, secret=secret)


of_people.writes("/sessions/{session_id}/end", "End a session", end_session, takes={"secret": SessionSecret})

of_keys = ApiRouter(prefix="/keys", tags=["keys"])
of_keys.reads("", "Signing keys", signing_keys.list_keys)
of_keys.writes("", "Register a signing key", signing_keys.register, body=bodies.NewSigningKey, status=201)
of_keys.writes("/{key_id}/revoke", "Revoke a signing key", signing_keys.revoke)

of_tokens = ApiRouter(prefix="/tokens", tags=["tokens"])
of_tokens.reads(
    "",
    "Tokens",
    tokens.list_tokens,
    takes={"user_id": Annotated[Id | None, Query(description="Somebody else's, for administrators.")]},
)
of_tokens.writes("", "Make a token", tokens.create_token, body=bodies.NewToken, status=201, shown_once="text")
of_tokens.writes("/{token_id}/revoke", "Revoke a token", tokens.revoke_token)

# Notifications

of_notifications = ApiRouter(tags=["notifications"])
of_notifications.reads(
    "/notifications",
    "Notifications",
    notifications.list_notifications,
    takes={"unseen": Annotated[bool, Query(description="Only what is new.")]},
)


def see_all(work: Work) -> records.Seen:
    """Mark all notifications as read."""
    return records.Seen(notifications=notifications.see_all(work))


of_notifications.writes("/notifications/seen", "Everything was read", see_all)
of_notifications.writes("/notifications/{notification_id}/seen", "One was read", notifications.see)
of_notifications.reads("/me/notifications", "How am I notified?", notification_choices.choice)


@of_notifications.put(
    "/me/notifications", response_model=records.NewNotificationChoice, summary="Choose how to be notified"
)
def choose(call: Write, body: bodies.NotificationChoice) -> Response:
    """Choose how to be notified. A new mail address is sent a code; a new webhook gets a secret, shown once."""
    notification_choices.check_webhook(call.catalog, call.actor, body.webhook_url)
    return call.once(
        records.NewNotificationChoice,
        lambda work: notification_choices.choose(work, **body.keywords()),
        body=body,
        shown_once="secret",
    )


@of_notifications.post("/me/notifications/code", summary="Confirm a mail address")
def confirm(call: Write, body: bodies.MailCode) -> records.NotificationChoice:
    """The code that came by mail; from then on mails go there. This needs a session."""
    return notification_choices.confirm(call.catalog, call.actor, code=body.code)


# Products

of_products = ApiRouter(tags=["products"])
of_products.reads(
    "/products",
    "Find products",
    products.list_products,
    takes={**_FOUND, "mine": Annotated[bool, Query(description="Only those one works on.")]},
)
of_products.reads("/facets", "Narrow a search down", finding.facets, takes=_FOUND)
of_products.writes(
    "/products", "Register a product", products.register, body=bodies.NewProduct, status=201, costly=True
)
of_products.reads("/products/{product}", "One product", products.product)
of_products.writes(
    "/products/{product}", "Change a product", products.change, body=bodies.ProductChange, method="PATCH", costly=True
)
of_products.writes("/products/{product}/publish", "Publish a product", products.publish, body=bodies.AtVersion | None)
of_products.writes("/products/{product}/retire", "Retire a product", products.retire, body=bodies.AtVersion | None)
of_products.reads(
    "/products/{product}/croissant", "Metadata for other catalogs", metadata.croissant, takes={"base_url": Origin}
)

# Configurations

of_configurations = ApiRouter(tags=["configurations"])
of_configurations.reads(
    "/products/{product}/configurations",
    "Configurations",
    configurations.list_configurations,
    takes={"withdrawn": Annotated[bool, Query(description="Also those that were withdrawn.")]},
)
of_configurations.writes(
    "/products/{product}/configurations",
    "Propose",
    configurations.propose,
    body=bodies.Proposal,
    status=201,
    costly=True,
)
of_configurations.writes(
    "/products/{product}/configurations/generate",
    "Generate configurations",
    configurations.generate,
    body=bodies.Generation,
    status=201,
    costly=True,
)
of_configurations.reads(
    "/products/{product}/preview",
    "Preview a mask",
    configurations.preview,
    body=bodies.PreviewRequest,
    method="POST",
    costly=True,
)
of_configurations.reads("/configurations/{configuration_id}", "One configuration", configurations.configuration)


def configuration_file(work: Work, *, configuration_id: str) -> Response:
    """The configuration as the YAML file that `aegis release` takes."""
    text = configurations.as_yaml(configurations.configuration(work, configuration_id=configuration_id))
    return Response(text, media_type="application/yaml")


of_configurations.reads(
    "/configurations/{configuration_id}/file",
    "A configuration as a file",
    configuration_file,
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/yaml": {"schema": {"type": "object"}}}}},
)
of_configurations.writes("/configurations/{configuration_id}/withdraw", "Withdraw it", configurations.withdraw)

# Requests

of_requests = ApiRouter(tags=["requests"])
of_requests.writes(
    "/products/{product}/requests", "Ask for access", requests.ask, body=bodies.NewAccessRequest, status=201
)
of_requests.reads(
    "/requests",
    "Requests",
    seen_requests.list_requests,
    takes={
        "product": OfProduct,
        "state": Annotated[RequestState | None, Query(description="Only those in this state.")],
        "mine": Annotated[bool, Query(description="Only one's own.")],
    },
)
of_requests.reads("/requests/{request_id}", "One request", seen_requests.request)
of_requests.writes(
    "/requests/{request_id}/decision",
    "Decide a request",
    requests.decide,
    body=bodies.Decision,
    sends=records.AccessRequest,
)
of_requests.writes(
    "/requests/{request_id}/revoke",
    "Revoke a request",
    requests.revoke,
    body=bodies.Revocation,
    sends=records.AccessRequest,
)
of_requests.writes(
    "/requests/{request_id}/withdraw",
    "Take a request back",
    requests.withdraw,
    body=bodies.AtVersion | None,
    sends=records.AccessRequest,
)
of_requests.writes(
    "/requests/{request_id}/reinstate",
    "Undo an expiry",
    requests.reinstate,
    body=bodies.Reinstatement,
    sends=records.AccessRequest,
)
of_requests.reads("/requests/{request_id}/comments", "Comments on a request", requests.list_comments)
of_requests.writes(
    "/requests/{request_id}/comments", "Comment on a request", requests.comment, body=bodies.NewComment, status=201
)

# The ledger, jobs and the record

of_ledger = ApiRouter(prefix="/products/{product}/ledger", tags=["ledger"])
of_ledger.reads("", "What was released from a product", ledger.ledger)


def judge(work: Work, *, product: str, policy_id: str, verdicts: list[object]) -> records.JudgedTogether:
    """What the provider found on the rows: which maskings break which model together, for how many records."""
    judged = [records.read(JointVerdict, verdict) for verdict in verdicts]
    number = judged_together.judge_together(work, product=product, policy_id=policy_id, verdicts=judged)
    return records.JudgedTogether(verdicts=number)


of_ledger.writes("/verdicts", "Say what shows what together", judge, body=bodies.JointVerdicts)

of_jobs = ApiRouter(tags=["jobs"])
of_jobs.writes(
    "/products/{product}/advice", "Start the advisor", jobs.start_advice, body=bodies.AdviceRequest | None, status=202
)


def newest_ranking(work: Work, *, product: str) -> records.Job:
    """The newest finished advice on the product's current summary; its `result` is the ranking."""
    job = jobs.latest_ranking(work, product=product)
    if job is None:
        raise NotFoundError("nothing has been ranked on the current summary yet; start the advisor")
    return job


of_jobs.reads("/products/{product}/ranking", "The newest ranking", newest_ranking)
of_jobs.reads("/jobs", "Jobs", jobs.list_jobs, takes={"product": OfProduct})
of_jobs.reads("/jobs/{job_id}", "One job", jobs.job)
of_jobs.writes("/jobs/{job_id}/cancel", "Cancel a job", jobs.cancel)

of_audit = ApiRouter(prefix="/audit", tags=["audit"])
_Act = Annotated[str, Field(json_schema_extra={"enum": sorted(ACTS)})]
of_audit.reads(
    "",
    "What happened",
    audit_log.list_audit,
    takes={
        "product": OfProduct,
        "subject_id": Annotated[Id | None, Query(description="Only what happened to the thing with this id.")],
        "actor": Annotated[Name | None, Query(description="Only what this person did, by the name of their sign-in.")],
        "action": Annotated[_Act | None, Query(description="Only acts of this kind.")],
        "since": Annotated[Moment | None, Query(description="Only from this moment on.")],
        "until": Annotated[Moment | None, Query(description="Only before this moment.")],
    },
)
of_audit.reads(
    "/verification",
    "Is the record intact?",
    audit_log.standing,
    takes={
        "expected_head": Annotated[
            str | None,
            Query(
                alias="head",
                pattern="^[0-9a-f]{64}$",
                description="A head that was written down earlier; it must occur.",
            ),
        ]
    },
    costly=True,
)
of_audit.writes("/verification", "Walk the whole chain", audit_log.want_walk, status=202)


Continuation = Annotated[
    str | None,
    Query(
        alias="continuationToken",
        max_length=1000,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="As the header `Link` of the page before has it; nothing for the first.",
    ),
]
_LINK = {"description": 'The next page, with rel="next"; none after the last.', "schema": {"type": "string"}}
_PAGED: dict[str, Any] = {"response_model": dict[str, Any], "responses": {200: {"headers": {"Link": _LINK}}}}


def dcat_catalog(work: Work, *, base_url: str, page: PageRequest) -> Response:
    """The published products with an ODRL offer each, in JSON-LD, a page at a time: `hydra:next` names the next."""
    return _paged(metadata.dcat_catalog(work, base_url=base_url, page=page))


def versions(_work: Work) -> dict[str, Any]:
    """The versions of the Dataspace Protocol that are spoken below /dsp."""
    return metadata.dsp_versions()


def dsp_catalog(
    work: Work, *, base_url: str, message: bodies.CatalogRequestMessage, continuation: str | None = None
) -> Response:
    """The answer to a CatalogRequestMessage, a page at a time; filters are not supported and refused. The header
    `Link` names the next page: the same message is sent there."""
    page = PageRequest(cursor=continuation or None)
    return _paged(metadata.dsp_catalog(work, base_url=base_url, page=page))


def _paged(page: metadata.CatalogPage) -> Response:
    headers = {} if page.next_url is None else {"Link": f'<{page.next_url}>; rel="next"'}
    return JSONResponse(page.document, headers=headers)


_HERE: dict[str, Any] = {"base_url": Origin}
of_dataspaces = ApiRouter(tags=["data spaces"])
of_dataspaces.reads("/dcat", "The catalog as DCAT-AP 3", dcat_catalog, takes=_HERE, costly=True, **_PAGED)
of_dataspaces.reads("/products/{product}/dcat", "A product as DCAT-AP 3", metadata.dcat_dataset, takes=_HERE)
of_dataspaces.reads("/dsp/.well-known/dspace-version", "Versions of the protocol", versions)
of_dataspaces.reads(
    "/dsp/2025-1/catalog/request",
    "Dataspace Protocol: the catalog",
    dsp_catalog,
    takes={**_HERE, "message": bodies.CatalogRequestMessage, "continuation": Continuation},
    method="POST",
    costly=True,
    **_PAGED,
)
of_dataspaces.reads(
    "/dsp/2025-1/catalog/datasets/{product}", "Dataspace Protocol: one dataset", metadata.dsp_dataset, takes=_HERE
)

"""What left counts for what leaves next: refused before approval and on arrival, in words, unless a reason is given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from aegis.catalog.client.joint_verdicts import judge_sets, sets_to_judge
from aegis.catalog.database.tables import Release, Request
from aegis.catalog.records import JointVerdict, MaskedPart, ModelBroken, Together, UserRole
from aegis.catalog.service import (
    audit_log,
    judged_together,
    ledger,
    notifications,
    products,
    releases,
    requests,
    seen_requests,
    signing_keys,
)
from aegis.catalog.service.catalog import visible_product
from aegis.catalog.settings import Settings
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.data.engine import open_dataset
from aegis.errors import ConflictError, InputError, NotPermittedError, VerificationError
from aegis.library import clinic
from aegis.masking.configuration_file import configurations_from_mapping
from aegis.privacy.policy import Policy, Recipients
from aegis.releases.certificate import Certificate
from aegis.releases.signature import make_key, read_private, sign

POLICY = Policy.from_mapping(clinic.POLICY, where="the clinic")


def part(configuration: Any, *columns: str) -> MaskedPart:
    return MaskedPart(content_id=configuration.content_id, columns=columns or None)


def judged(stage: Any, *parts: MaskedPart, broken: int = 0) -> None:
    """The provider says what these show together."""
    models = (ModelBroken(model="5-anonymity", records=broken),) if broken else ()
    with stage.write("provider") as work:
        verdict = JointVerdict(parts=parts, satisfied=not broken, broken=models)
        judged_together.judge_together(work, product="clinic", policy_id=POLICY.id, verdicts=[verdict])


def waiting(stage: Any, **more: Any) -> Any:
    """A second request, while the release of the first is out."""
    return stage.ask(**more)


def stands(stage: Any, request: Any) -> dict[str, Any]:
    with stage.read("expert") as work:
        return judged_together.standings_for(work, request_id=request.id)


def test_what_breaks_the_policy_together_is_refused_before_it_is_approved(stage: Any) -> None:
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    request = waiting(stage)
    hidden, young = made["everything-hidden"], made["young-or-old"]
    assert stands(stage, request)[young.id].standing is Together.UNKNOWN
    assert stands(stage, request)[made["strict"].id].standing is Together.ALLOWED
    judged(stage, part(made["strict"]), part(young), broken=1_301)
    judged(stage, part(made["strict"]), part(hidden))
    standing = stands(stage, request)
    assert standing[hidden.id].standing is Together.ALLOWED
    with pytest.raises(VerificationError) as refused:
        stage.approve(request.id, young.id)
    for words in ("clinic.csv", "5-anonymity", "1,300 records", "allowed are everything-hidden, strict"):
        assert words in str(refused.value)
    with stage.read("expert") as work:
        assert seen_requests.request(work, request_id=request.id).state is RequestState.PENDING
    with stage.write("expert") as work:
        approved = requests.decide(
            work,
            request_id=request.id,
            approve=True,
            configuration_id=young.id,
            despite_ledger="the two consumers are one team under contract",
        )
    assert approved.despite == "the two consumers are one team under contract"
    with stage.read("admin") as work:
        acts = [row for row in audit_log.list_audit(work).items if row.action == "request approved"]
    assert acts[0].details["despite_ledger"] == approved.despite


def test_what_nobody_judged_is_not_approved_silently(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    for name, is_unjudged in (("young-or-old", True), ("strict", False)):
        request = waiting(stage)
        stage.approve(request.id, made[name].id)
        with stage.read("admin") as work:
            (act,) = [
                row
                for row in audit_log.list_audit(work).items
                if row.action == "request approved" and row.subject_id == request.id
            ]
        assert ("not_judged_together" in act.details) is is_unjudged
        with stage.read("provider") as work:
            (told,) = [
                each.words
                for each in notifications.list_notifications(work).items
                if request.id in each.path and "is to be made" in each.words
            ]
        assert ("Nobody judged its masking" in told) is is_unjudged


def test_a_reason_is_for_what_is_refused_only(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    request = waiting(stage)
    for approve, configuration in ((True, made["strict"].id), (False, None)):
        with pytest.raises(InputError), stage.write("expert") as work:
            requests.decide(
                work,
                request_id=request.id,
                approve=approve,
                configuration_id=configuration,
                reason="no",
                despite_ledger="because I can",
            )


def test_fewer_columns_are_allowed_where_all_of_them_are_and_judged_apart_where_not(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    few = waiting(stage, columns=["health", "age"])
    young, hidden = made["young-or-old"], made["everything-hidden"]
    judged(stage, part(made["strict"]), part(hidden))
    judged(stage, part(made["strict"]), part(young), broken=20)
    standing = stands(stage, few)
    assert standing[hidden.id].standing is Together.ALLOWED  # what shows less beside the same shows no more
    assert standing[young.id].standing is Together.UNKNOWN
    with stage.read("provider") as work:
        wanted = ledger.ledger(work, product="clinic").wanted
    assert part(young, "age", "health") in wanted
    judged(stage, part(made["strict"]), part(young, "age", "health"))
    assert stands(stage, few)[young.id].standing is Together.ALLOWED


def promised_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the certificates that arrive had been made under a policy that holds recipients apart."""
    monkeypatch.setattr(ledger, "_recipients", lambda certificate: Recipients.SEPARATE)


@pytest.mark.parametrize("promised", [Recipients.TOGETHER, Recipients.SEPARATE])
def test_separate_recipients_are_judged_apart(
    small_stage: Any, monkeypatch: pytest.MonkeyPatch, promised: Recipients
) -> None:
    """What left under a policy by which anybody may hold everything counts for all, whatever the policy is by now."""
    stage = small_stage
    if promised is Recipients.SEPARATE:
        promised_apart(monkeypatch)
    stage.product()
    stage.configurations()
    stage.provisioned()

    def out(recipient: str) -> int:
        with stage.read("provider") as work:
            product = visible_product(work, "clinic")
            return len(ledger.counted(work, product, recipient=recipient))

    assert (out(stage.user_id("consumer")), out("somebody else"), out("anybody")) == (1, 1, 1)
    with stage.write("provider") as work:
        products.change(work, product="clinic", version=2, policy={**clinic.POLICY, "recipients": "separate"})
    others = int(promised is Recipients.TOGETHER)
    assert (out(stage.user_id("consumer")), out("somebody else"), out("anybody")) == (1, others, 1)


def test_a_release_of_somebody_else_is_not_given_to_whom_it_tells_too_much(
    small_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was judged with what the other one holds; what this one holds by now is asked before it is given."""
    promised_apart(monkeypatch)
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.person("other", UserRole.CONSUMER)
    theirs, mine = stage.ask(by="other"), stage.ask()
    hidden = made["everything-hidden"]
    for request in (theirs, mine):
        stage.approve(request.id, hidden.id)
    first = stage.push(request_id=theirs.id, name="everything-hidden")
    run_pending(stage.catalog)
    strict = stage.ask()
    stage.approve(strict.id, made["strict"].id)
    stage.push(request_id=strict.id, name="strict")
    run_pending(stage.catalog)
    policy = {**clinic.POLICY, "recipients": "separate"}
    parts = (part(made["strict"]), part(hidden))
    verdict = JointVerdict(parts=parts, satisfied=False, broken=(ModelBroken(model="5-anonymity", records=7),))
    with stage.write("provider") as work:
        products.change(work, product="clinic", version=2, policy=policy)
        policy_id = Policy.from_mapping(policy, where="the clinic").id
        judged_together.judge_together(work, product="clinic", policy_id=policy_id, verdicts=[verdict])

    def check(request_id: str) -> None:
        with stage.read("provider") as work:
            request, release = work.session.get_one(Request, request_id), work.session.get_one(Release, first.id)
            judged_together.check_fulfilment(work, visible_product(work, "clinic"), request, release)

    check(theirs.id)
    with pytest.raises(VerificationError, match="it breaks 5-anonymity"):
        check(mine.id)


def without_ledger(certificate: bytes) -> bytes:
    content = {key: value for key, value in json.loads(certificate).items() if key != "certificate_sha256"}
    return Certificate(content={**content, "ledger": None}).to_json().encode()


def test_a_release_that_was_judged_alone_does_not_arrive_beside_another(stage: Any) -> None:
    stage.product()
    made = stage.configurations()
    stage.push(product="clinic", name="everything-hidden")  # the one that was made first
    run_pending(stage.catalog)
    request = waiting(stage)
    stage.approve(request.id, made["strict"].id)
    alone = without_ledger(stage.parts.released["strict"][1])
    with pytest.raises(
        VerificationError, match=r"judged together with the earlier releases of the product \(clinic.csv"
    ):
        stage.push(request_id=request.id, name="strict", certificate=alone)
    stage.push(request_id=request.id, name="strict")  # its own says what it was judged with
    run_pending(stage.catalog)
    with stage.read("provider") as work:
        left = ledger.ledger(work, product="clinic")
    assert left.intact
    assert [entry.act for entry in left.entries] == ["released", "released"]
    assert [entry.recipient for entry in left.entries] == ["anybody", stage.user_id("consumer")]


def test_the_order_in_which_two_releases_arrive_does_not_matter(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    stage.configurations()
    for name in ("strict", "everything-hidden"):  # made in the other order
        stage.push(product="clinic", name=name)
        run_pending(stage.catalog)
    with stage.read("provider") as work:
        assert len(ledger.ledger(work, product="clinic").entries) == 2


def test_a_release_that_left_despite_its_ledger_needs_an_approval_that_says_so(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    request = waiting(stage)
    hidden = made["everything-hidden"]
    content = json.loads(stage.parts.released["everything-hidden"][1])
    content.pop("certificate_sha256", None)
    content["ledger"] = {**content["ledger"], "despite": "one team", "together_with_files": []}
    despite = Certificate(content=content).to_json().encode()
    judged(stage, part(made["strict"]), part(hidden), broken=10)
    with stage.write("expert") as work:
        requests.decide(
            work, request_id=request.id, approve=True, configuration_id=hidden.id, despite_ledger="one team"
        )
    pushed = stage.push(request_id=request.id, name="everything-hidden", certificate=despite)
    run_pending(stage.catalog)
    with stage.read("provider") as work:
        assert releases.release(work, release_id=pushed.id).state is ReleaseState.VERIFIED
        assert ledger.ledger(work, product="clinic").entries[-1].despite == "one team"
    another = waiting(stage)
    assert stands(stage, another)[hidden.id].standing is Together.BROKEN
    with pytest.raises(VerificationError, match=r"the same as clinic\.csv again, which left although"):
        stage.approve(another.id, hidden.id)
    with stage.write("expert") as work:
        requests.decide(
            work, request_id=another.id, approve=True, configuration_id=hidden.id, despite_ledger="one team"
        )
    with stage.write("provider") as work:
        releases.fulfil(work, request_id=another.id, release_id=pushed.id)
    with stage.read("provider") as work:
        assert ledger.ledger(work, product="clinic").entries[-1].despite == "one team"


def changed(stage: Any, name: str, **parts: Any) -> bytes:
    """A certificate of the provider with other parts, hashed again."""
    content = json.loads(stage.parts.released[name][1])
    content.pop("certificate_sha256")
    return Certificate(content=content | parts).to_json().encode()


@pytest.mark.parametrize(("known", "reason"), [(True, "I say so"), (False, "I say so"), (False, "")])
def test_a_reason_of_the_provider_alone_lets_nothing_through(small_stage: Any, known: bool, reason: str) -> None:
    """Pushed for nobody with a reason of one's own, a broken masking was allowed afterwards as the same again."""
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    hidden = made["everything-hidden"]
    request = waiting(stage)
    if known:
        judged(stage, part(made["strict"]), part(hidden), broken=130)
    else:
        stage.approve(request.id, hidden.id)
    out = [stage.parts.released["strict"][1]] if not reason else []
    mine = changed(
        stage,
        "everything-hidden",
        ledger={"despite": reason, "together_with_files": [json.loads(each)["release"]["sha256"] for each in out]},
    )
    for target in ({"product": "clinic"}, {"request_id": request.id}):
        if known and "request_id" in target:
            continue  # nothing is approved
        with pytest.raises(VerificationError, match="an expert has to decide"):
            stage.push(name="everything-hidden", certificate=mine, **target)
    with stage.read("provider") as work:
        assert len(ledger.ledger(work, product="clinic").entries) == 1


def test_a_policy_that_is_changed_takes_no_verdict_back(small_stage: Any) -> None:
    """A policy that differs in nothing to speak of made a masking that broke the other one a masking nobody judged."""
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    hidden = made["everything-hidden"]
    judged(stage, part(made["strict"]), part(hidden), broken=130)
    with stage.write("provider") as work:
        version = products.product(work, product="clinic").version
        more = {**clinic.POLICY, "max_suppression": clinic.POLICY["max_suppression"] + 1e-9}
        products.change(work, product="clinic", version=version, policy=more)
    standing = stands(stage, waiting(stage))[hidden.id]
    assert standing.standing is Together.BROKEN
    assert "by the policy that was promised then" in standing.said


def test_what_fulfils_another_request_is_asked_the_same_as_what_is_pushed_for_it(
    new_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = new_stage()
    stage.product()
    made = stage.configurations()
    stage.person("other", UserRole.CONSUMER)
    theirs, mine = waiting(stage, by="other"), waiting(stage)
    for request in (theirs, mine):
        stage.approve(request.id, made["strict"].id)
    pushed = stage.push(request_id=theirs.id, certificate=changed(stage, "strict", **{"for": theirs.id}))
    run_pending(stage.catalog)
    with pytest.raises(VerificationError, match="made for another request"), stage.write("provider") as work:
        releases.fulfil(work, request_id=mine.id, release_id=pushed.id)
    with stage.write("provider") as work:
        unsigned = work.session.get_one(Release, pushed.id)
        unsigned.certificate = {key: value for key, value in unsigned.certificate.items() if key != "for"}
    monkeypatch.setattr(stage.catalog, "settings", replace(stage.catalog.settings, signatures_required=True))
    with pytest.raises(VerificationError, match="sign"), stage.write("provider") as work:
        releases.fulfil(work, request_id=mine.id, release_id=pushed.id)


def locked_by_others(stage: Any, table: str, key: str, *, how: str) -> bool:
    """Whether somebody else would have to wait for a row; PostgreSQL only."""
    with stage.catalog.database.engine.connect() as connection:
        try:
            connection.execute(text(f"SELECT id FROM {table} WHERE id = :key FOR {how} NOWAIT"), {"key": key})
        except DBAPIError:
            return True
    return False


def test_what_arrives_is_held_against_the_ledger_while_nobody_else_can_enter_it(
    new_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that were judged alone and arrived at once: each was checked before the other was entered."""
    stage = new_stage("postgres")
    product = stage.product()
    made = stage.configurations()
    locked: list[bool] = []
    check, check_again = judged_together.check_arrival, judged_together.check_fulfilment

    def arrival(*given: Any, **named: Any) -> str | None:
        locked.append(locked_by_others(stage, "products", product.id, how="NO KEY UPDATE"))
        return check(*given, **named)

    def fulfilment(*given: Any) -> None:
        locked.append(locked_by_others(stage, "products", product.id, how="NO KEY UPDATE"))
        check_again(*given)

    pushed = stage.push(product="clinic")
    monkeypatch.setattr(judged_together, "check_arrival", arrival)
    monkeypatch.setattr(judged_together, "check_fulfilment", fulfilment)
    run_pending(stage.catalog)
    request = waiting(stage)
    stage.approve(request.id, made["strict"].id)
    with stage.write("provider") as work:
        releases.fulfil(work, request_id=request.id, release_id=pushed.id)
    assert locked == [True, True]
    with stage.write("consumer") as work:
        releases.open_download(work, release_id=pushed.id).stream.close()
        assert locked_by_others(stage, "releases", pushed.id, how="NO KEY UPDATE"), "whoever withdraws it waits"
        assert not locked_by_others(stage, "releases", pushed.id, how="SHARE"), "whoever takes it as well does not"


def test_the_ledger_is_read_in_one_moment(small_stage: Any) -> None:
    """Entries first and their end afterwards: an entry in between looked like a forged one."""
    stage = small_stage
    stage.product()
    stage.provisioned()
    asked: list[str] = []
    event.listen(
        stage.catalog.database.engine, "before_cursor_execute", lambda *given: asked.append(str(given[2]).lower())
    )
    with stage.read("provider") as work:
        assert ledger.ledger(work, product="clinic").intact
    heads = [statement for statement in asked if "ledger_heads" in statement]
    assert len(heads) == 1
    assert "ledger_entries" in heads[0]


def told(stage: Any, name: str) -> list[str]:
    """The kinds of what somebody was told, the oldest first."""
    with stage.read(name) as work:
        return [item.kind for item in reversed(notifications.list_notifications(work).items)]


def test_experts_are_told_once_that_what_they_approved_is_refused(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    request, other = waiting(stage), waiting(stage)
    young, hidden = made["young-or-old"], made["everything-hidden"]
    stage.approve(request.id, young.id)  # nobody judged it yet
    stage.approve(other.id, hidden.id)
    before = told(stage, "expert")
    judged(stage, part(made["strict"]), part(hidden))
    assert told(stage, "expert") == before
    judged(stage, part(made["strict"]), part(young), broken=130)
    judged(stage, part(made["strict"]), part(young), broken=130)
    assert told(stage, "expert") == [*before, "ledger refused"]
    with stage.read("expert") as work:
        newest = notifications.list_notifications(work).items[0]
    assert newest.path == f"/requests/{request.id}"
    assert "130" not in newest.words


def test_the_ledger_is_read_once_however_many_approvals_wait(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.provisioned()
    judged(stage, part(made["strict"]), part(made["everything-hidden"]))
    statements: list[str] = []
    event.listen(stage.catalog.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    asked = []
    for more in (1, 3):
        for _ in range(more):
            stage.approve(waiting(stage).id, made["everything-hidden"].id)
        statements.clear()
        judged(stage, part(made["strict"]), part(made["everything-hidden"]))
        asked.append([statement for statement in statements if "FROM ledger_entries" in statement])
    assert len(asked[0]) == len(asked[1]) == 1


def test_experts_are_told_that_a_release_did_not_get_in(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    stage.push(product="clinic", name="everything-hidden")
    run_pending(stage.catalog)
    request = waiting(stage)
    stage.approve(request.id, made["strict"].id)
    alone = without_ledger(stage.parts.released["strict"][1])
    for _ in range(2):
        with pytest.raises(VerificationError):
            stage.push(request_id=request.id, name="strict", certificate=alone)
    assert told(stage, "expert") == ["asked", "ledger refused"]


def test_what_is_withdrawn_before_anybody_took_it_counts_no_longer(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    stage.configurations()
    _, release = stage.provisioned()
    with stage.write("provider") as work:
        releases.withdraw(work, release_id=release.id, reason="a mistake")
    with stage.read("provider") as work:
        assert [entry.act for entry in ledger.ledger(work, product="clinic").entries] == ["released", "forgotten"]
    again, second = stage.provisioned()
    with stage.write("consumer") as work:
        releases.open_download(work, release_id=second.id).stream.close()
    with stage.write("provider") as work:
        releases.withdraw(work, release_id=second.id, reason="a mistake")
    request = waiting(stage)
    assert any("same as" in each.said for each in stands(stage, request).values())
    assert again.consumer_id == request.consumer_id


def test_the_ledger_is_only_added_to_and_betrays_edits(stage: Any) -> None:
    stage.product()
    stage.configurations()
    stage.provisioned()
    for statement in ("UPDATE ledger_entries SET act = 'forgotten'", "DELETE FROM ledger_entries"):
        with pytest.raises(DBAPIError), stage.catalog.database.write() as session:
            session.execute(text(statement))
    with stage.catalog.database.write() as session:
        session.execute(text("UPDATE ledger_heads SET sequence = 2"))
        session.commit()
    with stage.read("provider") as work:
        assert not ledger.ledger(work, product="clinic").intact


def test_verdicts_are_the_providers_and_of_the_present_policy(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    two = (part(made["strict"]), part(made["young-or-old"]))
    verdict = JointVerdict(parts=two, satisfied=True)
    with pytest.raises(NotPermittedError), stage.write("expert") as work:
        judged_together.judge_together(work, product="clinic", policy_id=POLICY.id, verdicts=[verdict])
    with pytest.raises(ConflictError, match="another policy"), stage.write("provider") as work:
        judged_together.judge_together(work, product="clinic", policy_id="other", verdicts=[verdict])
    wrong = JointVerdict(parts=two[:1], satisfied=True)
    with pytest.raises(InputError), stage.write("provider") as work:
        judged_together.judge_together(work, product="clinic", policy_id=POLICY.id, verdicts=[wrong])


def test_the_provider_judges_on_the_rows(parts: Any) -> None:
    loaded = {each.id: each for each in configurations_from_mapping(parts.configurations, name="c")}
    named = {each.name: MaskedPart(content_id=key) for key, each in loaded.items()}
    sets = sets_to_judge(named.values(), [named["strict"]])
    assert len(sets) == 3  # every two of three, and earlier releases with each
    verdicts = judge_sets(open_dataset(parts.folder / "clinic.csv"), POLICY, loaded, sets)
    found = {frozenset(each.parts): each for each in verdicts}
    coarser = found[frozenset({named["strict"], named["everything-hidden"]})]
    assert coarser.satisfied
    assert coarser.broken == ()
    apart = found[frozenset({named["strict"], named["young-or-old"]})]
    assert apart.satisfied == (not apart.broken)
    fewer = judge_sets(
        open_dataset(parts.folder / "clinic.csv"),
        POLICY,
        loaded,
        [(named["strict"], MaskedPart(content_id=named["young-or-old"].content_id, columns=("health",)))],
    )
    assert fewer[0].satisfied  # beside it nothing tells anybody apart


def signed_by(stage: Any, folder: Path, name: str = "strict") -> tuple[str, bytes]:
    """A public key, and the signature with it of what was released."""
    public = make_key(folder / "provider.key")
    content = json.loads(stage.parts.released[name][1])
    content.pop("certificate_sha256", None)
    return public.text, sign(content, read_private(folder / "provider.key")).to_json().encode()


def test_releases_are_signed_with_a_registered_key_where_that_is_asked_for(new_stage: Any, tmp_path: Path) -> None:
    stage = new_stage(settings=Settings(argon2_time_cost=1, argon2_memory_kib=8, signatures_required=True))
    stage.product()
    made = stage.configurations()
    request = stage.ask()
    stage.approve(request.id, made["strict"].id)
    with pytest.raises(VerificationError, match="signed releases only"):
        stage.push(request_id=request.id)
    public, signature = signed_by(stage, tmp_path)
    with pytest.raises(VerificationError, match="did not register"):
        stage.push(request_id=request.id, signature=signature)
    with stage.write("consumer") as work:  # somebody else's key is none of the provider's
        theirs = signing_keys.register(work, name="mine", public=public)
    with pytest.raises(VerificationError, match="did not register"):
        stage.push(request_id=request.id, signature=signature)
    with pytest.raises(ConflictError), stage.write("provider") as work:
        signing_keys.register(work, name="laptop", public=public)
    assert theirs.valid
    (tmp_path / "own").mkdir()
    public, signature = signed_by(stage, tmp_path / "own")
    with stage.write("provider") as work:
        key = signing_keys.register(work, name="laptop", public=public)
    other = signed_again(stage, tmp_path / "own" / "provider.key", "everything-hidden")
    with pytest.raises(VerificationError, match="not of this certificate"):
        stage.push(request_id=request.id, signature=other)
    pushed = stage.push(request_id=request.id, signature=signature)
    with stage.write("provider") as work:
        signing_keys.revoke(work, key_id=key.id)
    run_pending(stage.catalog)
    with stage.read("provider") as work:  # revoked between arrival and check: the job looks again
        release = releases.release(work, release_id=pushed.id)
    assert release.state is ReleaseState.REFUSED
    assert "revoked" in str(release.reason)
    assert release.signed_by == key.fingerprint


def signed_again(stage: Any, key: Path, name: str) -> bytes:
    content = json.loads(stage.parts.released[name][1])
    content.pop("certificate_sha256", None)
    return sign(content, read_private(key)).to_json().encode()


def test_a_release_is_attacked_on_arrival(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    stage.configurations()
    stage.push(product="clinic", name="strict")
    run_pending(stage.catalog)
    second = stage.push(product="clinic", name="everything-hidden")
    run_pending(stage.catalog)
    with stage.read("provider") as work:
        attacks = {each.name: each for each in releases.release(work, release_id=second.id).attacks}
    assert set(attacks) == {"row order", "singled out", "same value in a group", "put beside another release"}
    assert attacks["singled out"].exposed == 0
    assert attacks["row order"].exposed == 0
    assert all(each.records % 5 == 0 and each.exposed % 5 == 0 for each in attacks.values())
    assert "'diagnosis'" in attacks["put beside another release"].said

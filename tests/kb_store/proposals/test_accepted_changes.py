"""Proposed changes in every store: kept across loads, a run heard once, and made knowledge whole."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kb_schema import KnowledgeError, parse_document
from kb_schema.base import SCHEMA_VERSION
from kb_schema.fingerprints import Fingerprint
from kb_schema.proposals import (
    CONFIRMED_BY,
    MAX_SUPPORTS,
    PageReference,
    Proposal,
    ScreenChange,
    SelectorChange,
    SignatureChange,
    SignInFound,
    StepTargetChange,
    Support,
    TransitionChange,
    WorkflowChange,
    proposal_id,
)
from kb_schema.screens import Signature
from kb_schema.selectors import Selector, css
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.errors import StoreTooNew
from kb_store.proposals.accepted_changes import (
    AcceptedChangesCheck,
    AcceptedChangesLost,
    ChangeTargetMissing,
    ScreenMissing,
    apply_change,
    contains_change,
    get_current_value,
    store_change,
)
from kb_store.proposals.proposal_store import MemoryProposalStore
from tests.kb_store.sample_knowledge import documents_of, knowledge_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HEALED = SelectorChange(type="selector", screen_id="screen_0", element_id="go", selector=css("#go-on"))
SIGNED = SignatureChange(
    type="signature",
    screen_id="screen_1",
    signature=Signature(required_indicators=({"type": "dom_contains", "value": "One"},)),
)
NEW = ScreenChange(
    type="screen",
    screen=parse_document(
        {"type": "screen", "screen_id": "reports", "name": "Reports", "url_patterns": ["^/reports$"],
         "ui_elements": [{"element_id": "print", "type": "button", "selector": "#print"}]}
    ),
)  # fmt: skip
STEP = StepTargetChange(type="step_target", task_id="order", step_id="step_2", selector=css("#pay-now"))
THERE = TransitionChange(
    type="transition",
    transition=parse_document(
        {"type": "transition", "_from": "screen/screen_0", "_to": "screen/screen_2",
         "triggered_by": {"action_type": "click", "element_id": "go"}}
    ),
)  # fmt: skip


def leading_to(screen_id):
    way = THERE.transition.model_copy(update={"to_screen": screen_id})
    return THERE.model_copy(update={"transition": way})


def proposed(change=HEALED, website_id="shop", at=NOW):
    return Proposal(
        proposal_id=proposal_id(website_id, change), website_id=website_id, change=change, proposed_at=at
    )


def said(run_id, *, succeeded=True, minutes=0, **more):
    return Support(run_id=run_id, succeeded=succeeded, at=NOW + timedelta(minutes=minutes), **more)


def workflow(goal="Order"):
    nodes = [
        {"node_id": "one", "type": "task", "task_id": "order"},
        {"node_id": "two", "type": "agent", "goal": goal},
    ]
    return WorkflowChange(
        type="workflow",
        workflow=parse_document(
            {"type": "workflow", "workflow_id": "w", "name": "W", "unverified": True, "nodes": nodes}
        ),
    )


@pytest.fixture(params=["memory", "embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def kept(request, tmp_path):
    """Every proposal store there is."""
    if request.param == "memory":
        yield MemoryProposalStore()
        return
    url = request.getfixturevalue("emptied_mongodb_url") if request.param == "mongodb" else None
    async with open_stores(tmp_path, mongodb_url=url) as opened:
        yield opened.proposals


async def test_a_run_is_heard_once_however_often_it_speaks(kept):
    assert await kept.support(proposed(), said("r1", score=0.8, note='"quoted" \0 §'))
    assert not await kept.support(proposed(), said("r1", succeeded=False))
    assert await kept.support(proposed(at=NOW + timedelta(hours=1)), said("r2", minutes=-5, score=0.6))
    found = await kept.proposal("shop", proposed().proposal_id)
    assert [s.run_id for s in found.supports] == ["r2", "r1"]
    assert (found.succeeded, found.failed, found.confirmed, found.score) == (2, 0, False, pytest.approx(0.7))
    assert (found.proposed_at, found.change, found.status) == (NOW, HEALED, "proposed")


async def test_a_run_heard_by_many_at_once_counts_once(kept):
    told = await asyncio.gather(*(kept.support(proposed(), said("r1")) for _ in range(8)))
    assert sum(told) == 1
    told = await asyncio.gather(*(kept.support(proposed(), said(f"s{n}")) for n in range(8)))
    assert all(told)
    assert (await kept.proposal("shop", proposed().proposal_id)).succeeded == 9


async def test_different_runs_confirm_and_failures_count_against(kept):
    for number in range(CONFIRMED_BY):
        await kept.support(proposed(), said(f"r{number}"))
    assert (await kept.proposal("shop", proposed().proposal_id)).confirmed
    await kept.support(proposed(), said("bad", succeeded=False))
    assert not (await kept.proposal("shop", proposed().proposal_id)).confirmed


async def test_proposals_come_by_website_oldest_first_and_tell_of_changes(kept):
    before = await kept.revision("shop")
    await kept.support(proposed(SIGNED, at=NOW + timedelta(days=1)), None)
    await kept.support(proposed(), None)
    await kept.support(proposed(website_id="bakery"), None)
    assert [p.change.type for p in await kept.proposals("shop")] == ["selector", "signature"]
    assert [p.website_id for p in await kept.proposals()] == ["bakery", "shop", "shop"]
    assert await kept.revision("shop") != before
    assert await kept.revision("nowhere") == await kept.revision("elsewhere")


def in_version(version, change):
    """The change as a program of that schema version stored it."""
    stated = {"schema_version": version}
    match change:
        case ScreenChange():
            return change.model_copy(update={"screen": change.screen.model_copy(update=stated)})
        case TransitionChange():
            return change.model_copy(update={"transition": change.transition.model_copy(update=stated)})
        case WorkflowChange():
            task = parse_document({"type": "task", "task_id": "t", "steps": [{"action": "no_op"}]})
            edge = parse_document({"type": "composes", "_from": "task/t", "_to": "task/order"})
            return WorkflowChange(
                type="workflow",
                workflow=change.workflow.model_copy(update={"unverified": False, **stated}),
                tasks=(task.model_copy(update=stated),),
                dependencies=(edge.model_copy(update=stated),),
                screens=(NEW.screen.model_copy(update=stated),),
            )


def documents_in(change):
    return list(getattr(change, "documents", ())) or [getattr(change, change.type)]


STORED = pytest.mark.parametrize(
    "kept", ["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)], indirect=True
)


@STORED
async def test_documents_of_stored_changes_are_migrated_as_those_of_the_knowledge_are(kept):
    changes = [in_version(1, each) for each in (NEW, THERE, workflow())]
    for each in changes:
        await kept.support(proposed(each), None)
    found = {each.change.type: each.change for each in await kept.proposals("shop")}
    for each in changes:
        assert {document.schema_version for document in documents_in(each)} == {1}
        assert {document.schema_version for document in documents_in(found[each.type])} == {SCHEMA_VERSION}
    assert len(documents_in(found["workflow"])) == 4
    assert found["workflow"].workflow.unverified
    read = await kept.proposal("shop", proposed(changes[2]).proposal_id)
    assert read.change == found["workflow"]


@STORED
async def test_a_stored_change_of_a_newer_schema_version_is_an_error_that_says_so(kept):
    await kept.support(proposed(in_version(SCHEMA_VERSION + 1, NEW)), None)
    with pytest.raises(StoreTooNew, match=f"schema_version {SCHEMA_VERSION + 1}"):
        await kept.proposals("shop")


async def test_a_decision_is_kept_and_what_is_not_there_cannot_be_decided(kept):
    await kept.support(proposed(), said("r1"))
    assert await kept.decide("shop", proposed().proposal_id, "rejected", NOW)
    found = await kept.proposal("shop", proposed().proposal_id)
    assert (found.status, found.decided_at, found.succeeded) == ("rejected", NOW, 1)
    assert not await kept.decide("shop", "nothing", "rejected", NOW)
    assert await kept.proposal("shop", "nothing") is None


async def test_proposals_are_counted_by_what_became_of_them(kept):
    assert dict(await kept.counts("shop")) == {}
    for n, status in enumerate(["proposed", "proposed", "accepted", "rejected", "replaced"]):
        change = HEALED.model_copy(update={"selector": css(f"#go-{n}")})
        await kept.support(proposed(change), said("r1"))
        await kept.support(proposed(change, website_id="shops"), said("r1"))
        if status != "proposed":
            await kept.decide("shop", proposed(change).proposal_id, status, NOW)
    assert dict(await kept.counts("shop")) == {"proposed": 2, "accepted": 1, "rejected": 1, "replaced": 1}
    assert dict(await kept.counts("shops")) == {"proposed": 5}


@pytest.mark.parametrize("status", ["accepted", "rejected", "proposed"])
async def test_a_proposal_that_comes_decided_is_kept_as_it_comes(kept, status):
    decided_at = None if status == "proposed" else NOW + timedelta(hours=2, milliseconds=7)
    whole = proposed().model_copy(update={"status": status, "decided_at": decided_at})
    assert await kept.support(whole, said("r1"))
    found = await kept.proposal("shop", whole.proposal_id)
    assert found == whole.model_copy(update={"supports": (said("r1"),)})
    assert list(await kept.proposals("shop")) == [found]
    assert await kept.support(proposed(), said("r2"))  # who says more of it decides nothing
    again = await kept.proposal("shop", whole.proposal_id)
    assert (again.status, again.decided_at) == (status, decided_at)


async def test_what_an_element_is_known_by_is_kept_by_element_and_only_news_tells_of_a_change(kept):
    go, stop = (
        Fingerprint(role="button", name="Go"),
        Fingerprint(name="Stop", row=("a", "b"), box=(1, 2, 3, 4)),
    )
    assert await kept.put_fingerprint("shop", "screen_0", "go", go)
    assert await kept.put_fingerprint("shop", "screen_0", "stop", stop)
    assert await kept.put_fingerprint("shopping", "screen_0", "go", stop)
    before = await kept.revision("shop")
    assert not await kept.put_fingerprint("shop", "screen_0", "go", go)
    assert await kept.revision("shop") == before
    assert await kept.put_fingerprint("shop", "screen_0", "go", stop)
    assert await kept.revision("shop") != before
    assert await kept.fingerprints("shop") == {("screen_0", "go"): stop, ("screen_0", "stop"): stop}
    assert await kept.fingerprints("nowhere") == {}


async def test_a_proposal_keeps_so_many_runs_and_no_more(kept):
    for number in range(MAX_SUPPORTS + 2):
        assert await kept.support(proposed(), said(f"r{number}")) is (number < MAX_SUPPORTS)


async def test_a_reload_keeps_proposals_and_a_new_process_finds_them(tmp_path):
    async with open_stores(tmp_path) as stores:
        await stores.proposals.support(proposed(), said("r1"))
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    async with open_stores(tmp_path) as stores:
        assert (await stores.proposals.proposals("shop"))[0].succeeded == 1


@pytest.mark.parametrize(
    "change", [HEALED, STEP, SIGNED, NEW, THERE, workflow()], ids=lambda change: change.type
)
async def test_a_proposal_of_any_type_is_kept_as_it_came_with_the_pages_that_show_it(kept, change):
    pages = (
        PageReference(
            url="https://shop.example/", snapshot="pages/p1", picture="pages/p1.jpg", when="before"
        ),
        PageReference(url="https://shop.example/reports", snapshot="pages/p2", when="after"),
    )
    assert await kept.support(proposed(change), said("r1", seen=pages))
    found = await kept.proposal("shop", proposed(change).proposal_id)
    assert found.change == change
    assert found.supports[0].seen == pages


@pytest.mark.parametrize(
    "change", [HEALED, STEP, SIGNED, NEW, THERE, workflow()], ids=lambda change: change.type
)
async def test_a_change_becomes_part_of_the_stored_knowledge(stores, change):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    report = await store_change(stores.documents, stores.graph, "shop", lambda k: apply_change(k, change)[0])
    knowledge, generation = await read_knowledge(stores.documents, stores.graph, "shop")
    assert generation == report.generation == 2
    assert contains_change(knowledge, change)
    assert not contains_change(knowledge_of(), change)


def test_a_steps_selector_and_fingerprint_are_replaced_and_the_other_steps_stay():
    seen = Fingerprint(role="button", name="Pay now")
    told = STEP.model_copy(update={"fingerprint": seen})
    assert proposal_id("shop", told) == proposal_id("shop", STEP)
    changed, _ = apply_change(knowledge_of(), told)
    first, second = changed.tasks["order"].steps
    assert first == knowledge_of().tasks["order"].steps[0]
    assert (second.action.target, second.action.fingerprint) == (STEP.selector, seen)
    kept, _ = apply_change(knowledge_of(), STEP)
    assert kept.tasks["order"].steps[1].action.fingerprint == Fingerprint(role="button", name="Pay")


@pytest.mark.parametrize("place", [{"task_id": "pay"}, {"step_id": "step_9"}, {"step_id": "step_1"}])
def test_a_selector_for_a_step_without_one_of_its_own_is_refused(place):
    with pytest.raises(ChangeTargetMissing, match="selector of step"):
        apply_change(knowledge_of(), STEP.model_copy(update=place))


async def test_changes_made_at_once_are_all_made(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    healed = [HEALED.model_copy(update={"screen_id": f"screen_{number}"}) for number in range(3)]

    async def make(change):
        while True:
            try:
                return await store_change(
                    stores.documents, stores.graph, "shop", lambda k: apply_change(k, change)[0]
                )
            except Exception as exc:
                if not getattr(exc, "retriable", False):
                    raise
                await asyncio.sleep(0)

    await asyncio.gather(*map(make, healed))
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert all(contains_change(knowledge, change) for change in healed)


async def test_a_load_that_would_lose_what_was_accepted_says_so_and_changes_nothing(stores):
    knowledge = knowledge_of()
    await load_knowledge(stores.documents, stores.graph, knowledge)
    await store_change(stores.documents, stores.graph, "shop", lambda k: apply_change(k, HEALED)[0])
    await stores.proposals.support(proposed(), None)
    await stores.proposals.decide("shop", proposed().proposal_id, "accepted", NOW)
    with pytest.raises(AcceptedChangesLost, match=r"selector of screen_0\.go") as refused:
        await load_knowledge(
            stores.documents, stores.graph, knowledge, check=AcceptedChangesCheck(stores.proposals, knowledge)
        )
    assert "--replace-learned" in refused.value.fix
    assert contains_change((await read_knowledge(stores.documents, stores.graph, "shop"))[0], HEALED)
    keeping = AcceptedChangesCheck(stores.proposals, knowledge, replace=True)
    await load_knowledge(stores.documents, stores.graph, knowledge, check=keeping)
    assert [each.change for each in keeping.lost] == [HEALED]
    taken_over, _ = apply_change(knowledge, HEALED)
    await load_knowledge(
        stores.documents, stores.graph, taken_over, check=AcceptedChangesCheck(stores.proposals, taken_over)
    )


async def test_what_a_later_change_went_over_does_not_stand_in_the_way(stores):
    later = HEALED.model_copy(update={"selector": css("#later")})
    for number, change in enumerate((HEALED, later)):
        await stores.proposals.support(proposed(change), None)
        at = NOW + timedelta(days=number)
        await stores.proposals.decide("shop", proposed(change).proposal_id, "accepted", at)
    knowledge, _ = apply_change(knowledge_of(), later)
    await AcceptedChangesCheck(stores.proposals, knowledge)()


def test_an_element_of_a_layout_and_a_signature_of_its_own_are_changed_where_they_are():
    documents = documents_of()
    documents[0]["layouts"] = {"frame": [{"element_id": "out", "type": "link", "selector": "#out"}]}
    next(d for d in documents if d.get("screen_id") == "screen_0" and d["type"] == "screen")["layouts"] = [
        "frame"
    ]
    from kb_schema import SourcedDocument, assemble  # noqa: PLC0415

    knowledge, _ = assemble([SourcedDocument(parse_document(each)) for each in documents])
    out = SelectorChange(type="selector", screen_id="screen_0", element_id="out", selector=css("#o"))
    after, _ = apply_change(knowledge, out)
    assert after.elements("screen_0")["out"].selector == css("#o")
    bare = SIGNED.model_copy(update={"screen_id": "bare"})
    after, _ = apply_change(knowledge, bare)
    assert contains_change(after, bare)
    assert get_current_value(knowledge, bare) == {
        "primary_indicators": [{"type": "title_contains", "value": "Bare"}]
    }
    assert after.screens["bare"].state_signature is None


def test_a_change_that_breaks_a_rule_or_is_about_nothing_is_refused():
    with pytest.raises(KnowledgeError, match="no task"):
        apply_change(
            knowledge_of(),
            WorkflowChange(
                type="workflow",
                workflow=parse_document(
                    {"type": "workflow", "workflow_id": "w", "name": "W", "unverified": True,
                     "nodes": [{"node_id": "one", "type": "task", "task_id": "fly"}]}
                ),
            ),
        )  # fmt: skip
    with pytest.raises(ChangeTargetMissing, match=r"screen_0\.gone"):
        apply_change(knowledge_of(), HEALED.model_copy(update={"element_id": "gone"}))


def test_a_proposal_is_named_after_what_it_says_and_not_after_who_says_it():
    noted = Selector(
        strategies=({"type": "css", "value": "#go-on", "confidence": 0.4, "meta": {"by": "me"}},)
    )
    assert proposal_id("shop", HEALED.model_copy(update={"selector": noted})) == proposal_id("shop", HEALED)
    assert proposal_id("bakery", HEALED) != proposal_id("shop", HEALED)
    assert proposal_id("shop", HEALED.model_copy(update={"selector": css("#x")})) != proposal_id(
        "shop", HEALED
    )


@pytest.mark.parametrize(
    "place", ["../secret", "/etc/passwd", "pages/../../x", "a//b", ".hidden", "a\\b", "x" * 501]
)
def test_a_page_that_shows_something_lies_in_the_folder_of_its_run(place):
    with pytest.raises(ValueError, match="picture"):
        PageReference(picture=place)


def test_a_screen_takes_the_place_of_the_known_one_and_its_signature_stays_where_it_is_written():
    knowledge = knowledge_of()
    other = NEW.model_copy(update={"screen": NEW.screen.model_copy(update={"screen_id": "screen_1"})})
    with pytest.raises(KnowledgeError, match="go"):
        apply_change(knowledge, other)  # the way from there clicks an element it does not have
    bare = ScreenChange(
        type="screen",
        screen=parse_document(
            {"type": "screen", "screen_id": "bare", "name": "Plain", "website_id": "elsewhere",
             "state_signature": {"primary_indicators": [{"type": "title_contains", "value": "Plain"}]}}
        ),
    )  # fmt: skip
    after, _ = apply_change(knowledge, bare)
    assert contains_change(after, bare)
    assert not contains_change(knowledge, bare)
    assert (after.screens["bare"].name, after.screens["bare"].website_id) == ("Plain", "shop")
    assert after.screens["bare"].state_signature is None
    assert after.signatures["bare"].to_json()["primary_indicators"][0]["value"] == "Plain"
    assert get_current_value(knowledge, bare)["state_signature"]["primary_indicators"][0]["value"] == "Bare"


def test_a_transition_whose_screen_is_not_known_is_refused_until_it_is():
    with pytest.raises(ScreenMissing, match="no screen 'reports'") as refused:
        apply_change(knowledge_of(), leading_to("reports"))
    assert refused.value.screen_id == "reports"
    after, _ = apply_change(apply_change(knowledge_of(), NEW)[0], leading_to("reports"))
    assert contains_change(after, leading_to("reports"))
    assert get_current_value(after, leading_to("reports")) == leading_to("reports").proposed_value


def test_whose_a_screen_is_does_not_make_it_another_proposal():
    elsewhere = NEW.screen.model_copy(update={"website_id": "shop"})
    again = ScreenChange(type="screen", screen=elsewhere)
    assert proposal_id("shop", again) == proposal_id("shop", NEW)
    assert proposal_id("shop", THERE) != proposal_id("shop", leading_to("screen_3"))
    assert THERE.about != leading_to("screen_3").about


def test_a_published_sign_in_becomes_that_of_a_website_without_one_and_never_replaces_one():
    knowledge = knowledge_of()
    shown = {"type": "element_visible", "element": "#sign-out"}
    found = SignInFound.model_validate({"task_id": "order", "authenticated_when": [shown]})
    change = workflow().model_copy(update={"sign_in": found})
    assert not contains_change(knowledge, change)
    changed, _ = apply_change(knowledge, change)
    assert changed.website.login_task_id == "order"
    assert changed.website.authenticated_when == found.authenticated_when
    assert contains_change(changed, change)

    task = parse_document({"type": "task", "task_id": "other", "steps": [{"action": "no_op"}]})
    later = change.model_copy(update={"tasks": (task,), "sign_in": SignInFound(task_id="other")})
    again, _ = apply_change(changed, later)
    assert again.website.login_task_id == "order"

"""The console's pages about runs, proposals, demos, reports and health, over real runs, in a real browser.

The runs are made once: one on the harbour that works, one in which an element was renamed and is found again, one on
Spadeworks that fails by a fault of the site's.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe

from agent import guide
from agent.execution import step_runner
from agent.execution.results import outcome_checks
from agent.page import in_page_library
from agent.run_records.run_log import compute_digest
from agent.verification.reports.verdict_files import write_verdict
from kb_schema.proposals import PageReference, Proposal, SelectorChange, Support, proposal_id
from kb_schema.run_records import Artifact, RunEnding, StoredRun, StoredStep, TraceEntry
from kb_schema.selectors import Selector
from kb_schema.session_writer import SessionWriter
from kb_schema.verification import ExecutedStep, RootCause, VerdictReport, VerificationSummary
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.proposals import review_decisions
from kb_store.runs.run_leases import hold_run_lease
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.security.bearer_tokens import TokenFile, mint_token
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.service.visits.visit_presentations import VisitPresentations
from periplus.service.visits.visit_registry import VisitRegistry
from tests.periplus.service.service_support import Served, served
from tests.support.live_spadeworks import ACCOUNT, SEED, live  # noqa: F401 - a fixture

HARBOUR = Path(__file__).parents[2] / "data" / "harbour"
RENAMED = (
    "<label for=name>Boat name</label><input id=name name=name>",
    "<label for=vessel>Name of the vessel</label><input id=vessel name=name>",
)
PHONE = {"width": 390, "height": 844}
WAITS_S = 2.0
"""How long what does not come is waited for."""


@dataclass
class Port:
    """A service with runs behind it."""

    served: Served
    data: Path
    stores: Stores
    runs: RunStore
    keys: dict[str, str]
    """Role -> key."""
    green: str
    healed: str
    failed: str
    """Yesterday: a copy of a real one, whose events are forgotten."""

    @property
    def url(self) -> str:
        return self.served.url

    def asking(self, role: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers={"X-API-Key": self.keys[role]}, timeout=30)

    async def proposal(self) -> Proposal:
        """What the healed run proposes."""
        found = await self.stores.proposals.proposals("harbour")
        return next(each for each in found if "vessel" in str(each.change.proposed_value))


@asynccontextmanager
async def _yard(data: Path, browser, spadeworks) -> AsyncIterator[Port]:
    async with (
        open_stores(data) as stores,
        open_runs(data) as runs,
        start_seed_site(find_seed(str(HARBOUR))) as harbour,
    ):
        patch = pytest.MonkeyPatch()
        patch.setenv("PERIPLUS_MAX_REPLANS_PER_STEP", "0")
        for folder in (HARBOUR / "kb", _hasty(data / "hasty")):
            knowledge, _ = read_knowledge_folder(folder)
            await load_knowledge(stores.documents, stores.graph, knowledge)

        async def work(run_request: TaskRunRequest, *changed: tuple[str, str]) -> str:
            folder = data / "runs" / run_request.run_id
            folder.mkdir(parents=True)
            resources = TaskRunResources(stores, runs, lambda _storage: _context(browser, changed), folder)
            await execute_task_run(run_request, resources)
            return run_request.run_id

        patch.setattr(step_runner, "CONFIRM_S", 1.0)
        patch.setattr(outcome_checks, "EVIDENCE_S", 0.5)
        patch.setattr(guide, "SETTLE_S", 1.0)
        boats = {"base_url": harbour, "values": {"boat_name": "Argo"}}
        green = await work(TaskRunRequest("harbour", "register_boat", **boats))
        healed = await work(TaskRunRequest("harbour", "register_boat", **boats), RENAMED)
        spadeworks.clear()
        spadeworks.ask("faults", kind="error_500", path="/login", method="POST", times=0)
        failed = await work(TaskRunRequest("spadeworks", "login", base_url=spadeworks.base, values=ACCOUNT))
        spadeworks.clear()
        patch.undo()
        yesterday = await _a_day_before(runs, failed)
        keys, tokens = {}, TokenFile(data / "tokens.json")
        for role, scope in (("read", "read"), ("review", "review"), ("operate", "write")):
            keys[role], entry = mint_token(role, [scope])
            tokens.add(entry)
        shows = VisitPresentations(stores, runs, data, base_urls={"harbour": harbour})
        async with (
            shows.opened(),
            VisitRegistry(shows).opened() as visits,
            served(data, visits=visits) as service,
        ):
            yield Port(service, data, stores, runs, keys, green, healed, yesterday)


async def _a_day_before(runs: RunStore, run_id: str) -> str:
    """The same run as if it had been yesterday."""
    day, run = timedelta(days=1), await runs.run(run_id)
    other = f"{run_id}-yesterday"
    kept = {"run_id": other, "started_at": run.started_at - day, "finished_at": None, "status": None}
    await runs.begin_run(run.model_copy(update=kept))
    for step in await runs.steps(run_id):
        at = {"run_id": other, "executed_at": step.executed_at}
        await runs.append_step(step.model_copy(update=at))
    for artifact in await runs.artifacts(run_id):
        await runs.put_artifact(artifact.model_copy(update={"run_id": other}))
    ending = {name: getattr(run, name) for name in RunEnding.model_fields}
    await runs.finish_run(other, RunEnding(**{**ending, "finished_at": run.finished_at - day}))
    return other


def _hasty(folder: Path) -> Path:
    """Spadeworks's knowledge, with less patience for what does not come."""
    kb = shutil.copytree(SEED / "kb", folder)
    for file in kb.rglob("*.yaml"):
        text = re.sub(
            r"timeout: ([\d.]+)", lambda m: f"timeout: {min(float(m[1]), WAITS_S)}", file.read_text()
        )
        file.write_text(re.sub(r"max_retries: \d+", "max_retries: 1", text))
    return kb


@asynccontextmanager
async def _context(browser, changed):
    context = await browser.new_context(viewport={"width": 1280, "height": 720})

    async def rebuild(route):
        if route.request.method != "GET":
            await route.continue_()
            return
        answer = await route.fetch()
        body = await answer.text()
        for old, new in changed:
            assert old in body
            body = body.replace(old, new)
        await route.fulfill(response=answer, body=body)

    await in_page_library.install(context)
    if changed:
        await context.route("**/boats/new", rebuild)
    try:
        yield context
    finally:
        await context.close()


@pytest.fixture(scope="module")
async def port(tmp_path_factory, browser, live) -> AsyncIterator[Port]:  # noqa: F811
    # Opened and closed by one task: pytest-asyncio sets fixtures up and down in different ones.
    opened: asyncio.Future[Port] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with _yard(tmp_path_factory.mktemp("port"), browser, live) as yard:
                opened.set_result(yard)
                await over.wait()
        except BaseException as exc:
            if opened.done():
                raise
            opened.set_exception(exc)

    holder = asyncio.create_task(hold())
    yield await opened
    over.set()
    await holder


@asynccontextmanager
async def _tab(port, browser, role="operate", **more):
    """A browser of somebody with that role; it notes errors of the pages and what they load from elsewhere."""
    context = await browser.new_context(extra_http_headers={"X-API-Key": port.keys[role]}, **more)
    page = await context.new_page()
    page.said = []
    page.on("console", lambda each: page.said.append(each.text) if each.type == "error" else None)
    page.on("pageerror", lambda each: page.said.append(str(each)))
    page.on("dialog", lambda each: page.said.append(f"a dialog: {each.message}"))

    async def elsewhere(route):  # what a policy forbids never gets here
        page.said.append(f"asked {route.request.url}")
        await route.abort()

    await context.route(lambda url: not url.startswith((port.url, "data:")), elsewhere)
    try:
        yield page
    finally:
        await context.close()


async def _clean(page) -> None:
    results = await Axe().run(page)
    told = [
        f"{each['id']}: {node['target']} {node.get('failureSummary', '')}"
        for each in results.response["violations"]
        for node in each["nodes"]
    ]
    assert told == []
    width = page.viewport_size["width"]
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.said == []


@pytest.mark.always
async def test_why_yesterdays_run_failed_is_three_clicks_from_the_front_page_and_a_sentence(port, browser):
    async with _tab(port, browser) as page:
        await page.goto(port.url)
        await page.get_by_role("navigation", name="Console").get_by_role("link", name="Runs").click()
        await page.get_by_role("link", name="Failed yesterday").click()
        await page.get_by_role("link", name="Sign In", exact=True).click()
        await page.wait_for_url(f"**/runs/{port.failed}")
        sentence = await page.locator(".sentence").inner_text()
        assert sentence.startswith("Failed at “submit credentials”")
        assert "the page is “Something went wrong”, the action belongs to “Sign in”" in sentence
        assert await page.get_by_text("What to do:").first.is_visible()
        assert await page.locator(".causes li").count() >= 1
        assert ACCOUNT["password"] not in await page.content()
        await _clean(page)


async def test_a_healed_run_shows_what_was_known_and_what_was_found_and_accepting_it_changes_the_knowledge(
    port, browser
):
    async with _tab(port, browser, "review", viewport=PHONE, color_scheme="dark") as page:
        await page.goto(f"{port.url}/runs/{port.healed}")
        assert "some steps were healed or retried" in await page.locator(".sentence").inner_text()
        row = page.get_by_role("row", name="name field")
        assert "Boat name" in await row.locator("del").inner_text()
        assert "vessel" in await row.locator("ins").inner_text()
        assert "Argo" in await page.locator(".timeline").inner_html()
        await _clean(page)
        await row.get_by_role("link", name="See the proposal").click()
        assert (
            "would change the selector of boat_new.name_field" in await page.locator(".sentence").inner_text()
        )
        assert "Changed: screen New boat" in await page.locator(".foreseen").inner_text()
        for side, field in (("before", "Name of the vessel"), ("after", "Name of the vessel")):
            frame = page.frame_locator(f"iframe[src$='/{side}']").get_by_text(field)
            await page.locator(f"iframe[src$='/{side}']").scroll_into_view_if_needed()
            await frame.first.wait_for()
        await _clean(page)
        _, before = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
        await page.get_by_role("button", name="Accept").click()
        await page.get_by_text("Accepted: the change is part of the knowledge base.").wait_for()
        assert await page.get_by_role("button", name="Accept").count() == 0
        await _clean(page)
    knowledge, generation = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
    assert generation == before + 1
    assert "vessel" in str(knowledge.elements("boat_new")["name_field"].selector.to_json())


async def _another(port: Port, value: str, element_id: str = "moor", **more) -> str:
    """One more proposal for the harbour."""
    change = SelectorChange(
        type="selector", screen_id="boat_new", element_id=element_id,
        selector=Selector.model_validate({"strategies": [{"type": "id", "value": value}]}),
    )  # fmt: skip
    knowledge, _ = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
    known = knowledge.elements("boat_new").get(element_id)
    proposal = Proposal(
        proposal_id=proposal_id("harbour", change),
        website_id="harbour",
        change=change,
        before=None if known is None else known.selector.to_json(),
        proposed_at=datetime.now(UTC),
    )
    await port.stores.proposals.support(
        proposal, Support(**{"run_id": port.green, "at": datetime.now(UTC), **more})
    )
    return proposal.proposal_id


async def test_a_rejected_proposal_stays_and_the_knowledge_as_it_was(port, browser):
    other = await _another(port, "anchor")
    before = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
    async with _tab(port, browser, "review") as page:
        await page.goto(f"{port.url}/sites/harbour/proposals")
        await page.locator(f"a[href$='{other}']").click()
        await page.get_by_role("button", name="Reject").click()
        await page.get_by_text("Rejected: the change will not be proposed again.").wait_for()
        await page.goto(f"{port.url}/sites/harbour/proposals?show=all")
        row = page.get_by_role("listitem").filter(has_text=other)
        assert "rejected" in await row.inner_text()
        await _clean(page)
    assert (await port.stores.proposals.proposal("harbour", other)).status == "rejected"
    after = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
    assert after[1] == before[1]


async def test_what_somebody_changed_since_is_gone_over_only_by_whoever_says_so(port):
    other = await _another(port, "mooring")
    change = await _another(port, "bollard")
    first = await port.stores.proposals.proposal("harbour", change)
    await review_decisions.accept(port.stores, first)
    path = f"/sites/harbour/proposals/{other}"
    async with port.asking("review") as reviewer:
        page = (await reviewer.get(path)).text
        assert "changed since it was proposed" in page
        assert "id bollard" in page, "what is there now"
        form = {"decision": "accept", "csrf_token": _form_token(page)}
        refused = await reviewer.post(path, data=form)
        assert refused.status_code == 409
        assert "accept it anyway" in refused.text
        assert (await reviewer.post(path, data=form | {"decision": "accept_anyway"})).status_code == 303
    knowledge, _ = await read_knowledge(port.stores.documents, port.stores.graph, "harbour")
    assert "mooring" in str(knowledge.elements("boat_new")["moor"].selector.to_json())


async def test_deciding_needs_the_role_and_a_form_of_ours(port):
    other = await _another(port, "capstan")
    path = f"/sites/harbour/proposals/{other}"
    async with port.asking("read") as reader:
        shown = await reader.get(path)
        assert shown.status_code == 200
        assert '<button class="main">Accept' not in shown.text
        token = _form_token(shown.text)
        refused = await reader.post(path, data={"decision": "accept", "csrf_token": token})
        assert refused.status_code == 403
        assert "requires the role review" in refused.text
    async with port.asking("review") as reviewer:
        for given in ({}, {"csrf_token": "made-up"}, {"csrf_token": token}):  # the last one: the reader's
            refused = await reviewer.post(path, data={"decision": "accept", **given})
            assert refused.status_code == 403, given
        ours = {"decision": "accept", "csrf_token": _form_token((await reviewer.get(path)).text)}
        elsewhere = await reviewer.post(path, data=ours, headers={"Origin": "https://elsewhere.example"})
        assert elsewhere.status_code == 403
        assert (await port.stores.proposals.proposal("harbour", other)).status == "proposed"
        assert (await reviewer.post(path, data=ours)).status_code == 303
    assert (await port.stores.proposals.proposal("harbour", other)).status == "accepted"
    async with httpx.AsyncClient(base_url=port.url) as nobody:
        assert (await nobody.get(path)).status_code in (303, 401)
        assert (await nobody.get(f"/runs/{port.failed}")).status_code in (303, 401)


def _form_token(html: str) -> str:
    return re.search(r'name="csrf_token" value="([^"]+)"', html)[1]


async def test_pictures_of_steps_and_of_proposals_are_shown_from_the_runs_own_folder(port):
    jpeg, now, folder = b"\xff\xd8\xff\xe0 a picture", datetime.now(UTC), port.data / "runs" / "pictured"
    folder.mkdir()
    (folder / "1.jpg").write_bytes(jpeg)
    (port.data / "runs" / "0.jpg").write_bytes(jpeg)
    step = ExecutedStep(
        step_idx=0,
        element="Boat",
        action="fill",
        status="failed",
        timestamp=now,
        screenshot="1.jpg",
        error="gone",
    )
    cause = RootCause(class_="selector_drift", confidence=0.9, message="the field has another name")
    report = VerdictReport(
        req_id="REQ-2",
        run_id="pictured",
        verdict="fail",
        timestamp=now,
        summary=VerificationSummary(),
        rca=cause,
        steps=(step,),
    )
    file = write_verdict(report, folder)
    run = StoredRun(
        run_id="pictured", req_id="REQ-2", url="http://x/", kind="verification", started_at=now, website_id="127.0.0.1:1",
        subject="REQ-2",
    )  # fmt: skip
    await port.runs.begin_run(run)
    await port.runs.append_step(
        StoredStep(
            run_id="pictured", step_idx=0, action="fill", status="failed", executed_at=now, task_id="REQ-2",
            step_id="step_1", duration_ms=1,
        )
    )  # fmt: skip
    place, file_hash, size = compute_digest(file)
    said = {"run_id": "pictured", "name": file.name, "artifact_type": "verdict_report", "file_path": place}
    await port.runs.put_artifact(Artifact(**said, file_hash=file_hash, size_bytes=size, created_at=now))
    ending = {"status": "failure", "evidence": "contradicted", "finished_at": now, "duration_ms": 1}
    await port.runs.finish_run("pictured", RunEnding(**ending, rca_class="selector_drift", rca_message="m"))
    seen = (
        PageReference(picture="1.jpg", when="before"),
        PageReference(picture="1.jpg", when="after"),
        PageReference(picture="none.jpg"),
    )
    other = await _another(port, "windlass", run_id="pictured", seen=seen)
    async with port.asking("read") as reader:
        page = (await reader.get("/runs/pictured")).text
        assert "Failed at “step 1” (step 1, fill): the field has another name." in page
        for path in ("/runs/pictured/steps/1/picture", f"/sites/harbour/proposals/{other}/pictures/1"):
            shown = await reader.get(path)
            assert (shown.status_code, shown.headers["content-type"], shown.content) == (
                200,
                "image/jpeg",
                jpeg,
            )
        assert "after in run pictured" in (await reader.get(f"/sites/harbour/proposals/{other}")).text
        for path in ("/runs/pictured/steps/2/picture", f"/sites/harbour/proposals/{other}/pictures/2"):
            assert (await reader.get(path)).status_code == 404


async def test_a_run_without_an_end_is_going_on_while_somebody_is_at_it_and_else_was_cut_off(port):
    run = StoredRun(
        run_id="endless", url="http://x/", started_at=datetime.now(UTC), website_id="harbour", kind="task",
        subject="register_boat",
    )  # fmt: skip
    await port.runs.begin_run(run)
    async with port.asking("read") as reader:
        assert "Interrupted: no process is executing it." in (await reader.get("/runs/endless")).text
        async with hold_run_lease(port.runs.leases, "endless", on_lost=lambda: None):
            assert "Running." in (await reader.get("/runs/endless")).text


async def test_a_proposal_that_cannot_be_accepted_says_why_before_and_after_it_is_tried(port):
    other = await _another(port, "rudder", element_id="no_such_thing")
    path = f"/sites/harbour/proposals/{other}"
    async with port.asking("review") as reviewer:
        page = (await reviewer.get(path)).text
        assert "The proposal cannot be accepted" in page
        form = {"decision": "accept", "csrf_token": _form_token(page)}
        refused = await reviewer.post(path, data=form)
        assert refused.status_code == 409
        assert "no_such_thing" in refused.text
        assert (await reviewer.post(path, data=form | {"decision": "reject"})).status_code == 303
        assert (await reviewer.get(f"/sites/harbour/proposals/{'0' * 12}")).status_code == 404
        assert (await reviewer.get("/sites/nowhere/proposals")).status_code == 404


async def test_a_run_of_the_service_is_stopped_by_whoever_may(port):
    port.served.quick.held.add("REQ-LONG")
    async with port.asking("operate") as operator, port.asking("read") as reader:
        body = {"req_id": "REQ-LONG", "url": "http://127.0.0.1/", "steps": ["Sign in | click"]}
        run_id = (await operator.post("/api/run", json=body)).json()["run_id"]
        await port.served.quick.until_began("REQ-LONG")
        page = (await operator.get(f"/runs/{run_id}")).text
        assert "Running." in page
        seen = (await reader.get(f"/runs/{run_id}")).text
        assert "Stop the run" not in seen
        stop = f"/runs/{run_id}/stop"
        assert (await reader.post(stop, data={"csrf_token": _form_token(seen)})).status_code == 403
        assert (await operator.post(stop)).status_code == 403
        assert (await operator.post(stop, data={"csrf_token": _form_token(page)})).status_code == 303
        await port.served.told("REQ-LONG")  # until its end
        assert "Stop the run" not in (await operator.get(f"/runs/{run_id}")).text
        assert (await operator.post(stop, data={"csrf_token": _form_token(page)})).status_code == 409


HOSTILE = """<!doctype html><title>Mine</title><meta http-equiv="refresh" content="0;url=https://elsewhere.example/">
<link rel=stylesheet href="https://elsewhere.example/a.css"><p id=seen>A page of a website</p>
<script>window.ran = 1; top.document.title = "taken"; alert("taken")</script>
<img src="https://elsewhere.example/a.png" onerror="alert('taken')"><form action="https://elsewhere.example/"></form>"""


async def _hostile_run(port: Port, name: str) -> tuple[str, Path]:
    """A run whose website answered with that page, and calls things by names that are markup."""
    folder = port.data / "runs" / name
    writer = SessionWriter(folder / "session", session_id=name, website_id="harbour")
    writer.begin_turn("register_boat", "<b>a boat</b>")
    writer.write(
        TraceEntry(
            type="AgentActionResults", timestamp=datetime.now(UTC), action_type="click", target="<i>x</i>",
            args={"value": "<script>alert(1)</script>"}, body_html_before_last_action=HOSTILE,
            source_url="http://127.0.0.1/boats",
        )
    )  # fmt: skip
    writer.close(complete=True)
    now = datetime.now(UTC)
    run = StoredRun(
        run_id=name, url="http://127.0.0.1/", started_at=now, website_id="harbour", kind="task",
        subject="<script>alert(2)</script>",
    )  # fmt: skip
    await port.runs.begin_run(run)
    await port.runs.append_step(
        StoredStep(
            run_id=name, step_idx=0, element="<img src=x onerror=alert(3)>", action="click", status="failed",
            error_message="<script>alert(4)</script>", executed_at=now, task_id="a", step_id="b", duration_ms=1,
        )
    )  # fmt: skip
    path, file_hash, size = compute_digest(folder / "session")
    await port.runs.put_artifact(
        Artifact(
            run_id=name, name="session/", artifact_type="trace", file_path=path, file_hash=file_hash,
            size_bytes=size, created_at=now,
        )
    )  # fmt: skip
    return name, folder


async def test_a_page_of_a_website_is_shown_without_being_run_and_saved_elsewhere(port, browser):
    run_id, _ = await _hostile_run(port, "hostile")
    async with _tab(port, browser, "read") as page:
        await page.goto(f"{port.url}/runs/{run_id}")
        await page.get_by_text("On the page").click()
        assert (
            await page.locator("iframe").count() == 0
        )  # hundreds of them would hold up the page of a long run
        await page.get_by_text("The page before: click").click()
        frame = page.frame_locator("iframe.page")
        await frame.locator("#seen").wait_for()
        inner = page.frames[1]
        assert await inner.evaluate("[window.ran === undefined, window.origin]") == [True, "null"]
        assert "taken" not in await page.title()
        # The frame's own refusals to run and load are no errors of the page.
        assert [each for each in page.said if each.startswith(("asked", "a dialog"))] == []
    async with port.asking("read") as reader:
        saved = await reader.get(f"/runs/{run_id}/pages/0/before")
        assert saved.headers["content-disposition"].startswith("attachment")
        assert saved.headers["content-security-policy"].startswith("sandbox;")
        framed = await reader.get(f"/runs/{run_id}/pages/0/before", headers={"Sec-Fetch-Dest": "iframe"})
        assert "content-disposition" not in framed.headers
        assert framed.headers["content-security-policy"].startswith("sandbox;")
        assert (await reader.get(f"/runs/{run_id}/pages/1/before")).status_code == 404


async def test_what_was_changed_since_or_lies_elsewhere_is_not_given_away(port):
    run_id, folder = await _hostile_run(port, "changed")
    secret = port.data / "secret.txt"
    secret.write_text("not for you")
    said = {"run_id": run_id, "artifact_type": "result", "created_at": datetime.now(UTC)}
    for name, path, file_hash in (
        ("secret.txt", secret, "0" * 64),
        ("linked.txt", folder / "linked.txt", "0" * 64),
        ("passwd", Path("/etc/passwd"), "0" * 64),
    ):
        if name == "linked.txt":
            path.symlink_to(secret)
        size = path.stat().st_size
        await port.runs.put_artifact(
            Artifact(name=name, file_path=str(path), file_hash=file_hash, size_bytes=size, **said)
        )
    good = compute_digest(port.data / "runs" / port.green / "result.json")
    async with port.asking("read") as reader:
        whole = await reader.get(f"/runs/{port.green}/files/result.json")
        assert whole.status_code == 200
        assert whole.content == Path(good[0]).read_bytes()
        for name in (
            "secret.txt", "linked.txt", "passwd", "..%2f..%2fsecret.txt", "%2e%2e/secret.txt", "session/",
            "session%2fmanifest.json",
        ):  # fmt: skip
            answer = await reader.get(f"/runs/{run_id}/files/{name}", follow_redirects=True)
            assert answer.status_code in (404, 422), name
            assert "not for you" not in answer.text
        assert (await reader.get(f"/runs/{run_id}/pages/0/before")).status_code == 200
        (folder / "session" / "turn_001" / "added.txt").write_text("by somebody else")
        assert (await reader.get(f"/runs/{run_id}/pages/0/before")).status_code == 404
        for path in ("../secret.txt", "/etc/passwd", "../tokens.json", f"{run_id}/session/manifest.json"):
            for page in ("shown", "file"):
                assert (await reader.get(f"/reports/{page}", params={"path": path})).status_code == 404


async def test_a_demo_is_started_and_its_link_shown_once(port, browser):
    async with _tab(port, browser, "operate") as page:
        await page.goto(f"{port.url}/demos")
        card = page.get_by_role("region", name="A turn around the harbour")
        await card.get_by_label("Visitor").fill("Acme <second call>")
        await _clean(page)
        await card.get_by_role("button", name="Create a link for a visitor").click()
        link = await page.get_by_label("The link for the visitor").input_value()
        assert link.startswith(f"{port.url}/visit/")
        await _clean(page)
        token = link.rpartition("/")[2]
        await page.goto(f"{port.url}/demos")
        assert token not in await page.content()
        row = page.get_by_role("row").filter(has_text="Acme <second call>")
        assert "waiting" in await row.inner_text()
        async with port.asking("operate") as visitor:
            assert (await visitor.get(f"/visit/{token}/state")).json()["state"] == "waiting"
            await row.get_by_role("button", name="End").click()
            await row.wait_for(state="detached")
            assert (await visitor.get(f"/visit/{token}/state")).status_code == 404
    async with port.asking("review") as reviewer:
        shown = (await reviewer.get("/demos")).text
        assert "Start and watch" not in shown
        form = {"site": "harbour", "flow": "harbour_tour", "csrf_token": _form_token(shown)}
        assert (await reviewer.post("/demos/links", data=form)).status_code == 403


async def test_a_demo_that_is_started_here_is_watched_at_its_link(port):
    async with port.asking("operate") as operator:
        form = {"site": "harbour", "flow": "harbour_tour", "then": "watch"}
        form["csrf_token"] = _form_token((await operator.get("/demos")).text)
        begun = await operator.post("/demos/links", data=form)
        assert begun.status_code == 303
        link = begun.headers["location"]
        state = (await operator.get(f"{link}/state")).json()["state"]
        assert state in ("starting", "playing")
        assert "harbour_tour" in (await operator.get("/demos")).text
        assert (await operator.post(f"{link}/end")).status_code == 202


async def test_figures_of_a_link_say_what_was_watched_where_the_visitor_left_and_what_was_asked(
    port, browser
):
    async with port.asking("operate") as operator:
        form = {"site": "harbour", "flow": "harbour_tour", "then": "watch", "label": "Acme <third>"}
        form["csrf_token"] = _form_token((await operator.get("/demos")).text)
        link = (await operator.post("/demos/links", data=form)).headers["location"]
        async with asyncio.timeout(60), operator.stream("GET", f"{link}/events") as events:
            async for line in events.aiter_lines():
                if '"now"' in line:  # the first segment has begun
                    break
        assert (
            await operator.post(f"{link}/say", json={"text": "what does a berth cost?"})
        ).status_code == 202
        async with asyncio.timeout(60), operator.stream("GET", f"{link}/events") as events:
            async for line in events.aiter_lines():
                if '"declined"' in line:
                    await operator.post(f"{link}/end")
                if '"ended"' in line and '"left"' in line:
                    break
        listed = (await operator.get("/demos")).text
        page_of = re.search(
            r'href="(/demos/links/[0-9a-f]{16})">[^<]*</a>(?:(?!</tr>).)*Acme &lt;third&gt;',
            listed,
            re.DOTALL,
        )
        assert page_of is not None
    async with _tab(port, browser) as page:
        await page.goto(port.url + page_of[1])
        told = await page.locator("main").inner_text()
        assert "for Acme <third>" in told
        assert "It ended in" in told, told
        assert "left" in told
        assert "A question whose words are not stored" in told
        assert "no answer" in told
        assert "berth" not in told
        await _clean(page)
    async with port.asking("review") as reviewer:
        assert (await reviewer.get(page_of[1])).status_code == 403
    async with port.asking("operate") as operator:
        assert (await operator.get("/demos/links/0123456789abcdef")).status_code == 404


async def test_reports_tell_how_requirements_stand_and_show_reports_without_running_them(port, browser):
    now = datetime.now(UTC)
    for number, (status, evidence) in enumerate((("success", "verified"), ("failure", "contradicted"))):
        run = StoredRun(
            run_id=f"req-{number}", req_id="REQ-BOAT-1", url="http://127.0.0.1/", kind="verification",
            started_at=now + timedelta(seconds=number), website_id="harbour", subject="REQ-BOAT-1",
        )  # fmt: skip
        await port.runs.begin_run(run)
        ending = RunEnding(
            status=status, evidence=evidence, finished_at=now, duration_ms=1_000, rca_class="app_defect",
            rca_message="the boat was not moored",
        )  # fmt: skip
        await port.runs.finish_run(run.run_id, ending)
    folder = port.data / "runs" / "rehearsed"
    folder.mkdir(exist_ok=True)
    (folder / "rehearsal.html").write_text(HOSTILE)
    async with _tab(port, browser, "read") as page:
        await page.goto(f"{port.url}/reports")
        row = page.get_by_role("listitem").filter(has_text="REQ-BOAT-1")
        told = await row.inner_text()
        assert "fail" in told
        assert "the boat was not moored" in told
        assert "earlier: pass" in told
        await _clean(page)
        await page.get_by_role("link", name="rehearsed/rehearsal.html").click()
        await page.frame_locator("iframe.report").locator("#seen").wait_for()
        assert await page.frames[1].evaluate("window.ran === undefined")
        assert [each for each in page.said if each.startswith(("asked", "a dialog"))] == []
        await page.goto(f"{port.url}/runs/req-1")
        assert "the boat was not moored" in await page.locator(".sentence").inner_text()


async def test_health_tells_of_stores_and_of_each_websites_generation(port, browser):
    async with _tab(port, browser, "read", viewport=PHONE) as page:
        await page.goto(f"{port.url}/health")
        row = page.get_by_role("row").filter(has_text="spadeworks")
        assert "whole" in await row.inner_text()
        assert str(port.data) not in await page.content()
        assert await page.get_by_role("row").filter(has_text="connected").count() == 4
        await _clean(page)


async def test_runs_are_chosen_by_website_and_outcome(port, browser):
    async with _tab(port, browser, "read", viewport=PHONE) as page:
        await page.goto(f"{port.url}/runs")
        await _clean(page)
        await page.get_by_label("Website").select_option("harbour")
        await page.get_by_label("Kind").select_option("task")
        await page.get_by_label("Outcome").select_option("worked")
        await page.get_by_role("button", name="Show").click()
        links = page.locator(".run-link")
        assert set(await links.all_inner_texts()) == {"Register a boat"}
        assert await links.count() == 2
    async with port.asking("read") as reader:
        for query in ("day=nonsense", "kind=nonsense", "outcome=nonsense", "page=900"):
            assert (await reader.get(f"/runs?{query}")).status_code == 200
        assert (await reader.get("/runs/no-such-run")).status_code == 404


@pytest.mark.nightly
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
async def test_every_page_is_accessible_quiet_and_fits(port, browser, look):
    size = PHONE if look == "phone" else {"width": 1280, "height": 900}
    scheme = "dark" if look == "dark" else "light"
    proposal = await port.proposal()
    async with _tab(port, browser, viewport=size, color_scheme=scheme) as page:
        for path in (
            "/runs", f"/runs/{port.failed}", f"/runs/{port.healed}", f"/runs/{port.green}", "/demos", "/reports",
            "/health", "/sites/harbour/proposals", f"/sites/harbour/proposals/{proposal.proposal_id}",
        ):  # fmt: skip
            await page.goto(port.url + path)
            await _clean(page)

"""The Spadeworks knowledge against the running site: it loads, knows every page, finds every element."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
import yaml
from playwright.async_api import Browser, Page, StorageState

from agent.page.condition_probes import answer_probes as answer_live
from agent.page.live_selectors import SelectorResolution, fill_selector_parameters, resolve_selector
from agent.page.snapshot_capture import take_snapshot
from kb_schema import KnowledgeBase
from kb_schema.engagement_rules import RuleName
from kb_schema.flow_translations import list_untranslated_texts
from kb_schema.iterators import CollectionIterator
from kb_schema.narration_marks import read_marks, without_marks
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.presentation_flows import DEPTHS, Depth, PresentationFlow, Segment
from kb_schema.rules.flow_consistency import list_spoken_texts
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.tool_answers import Identification
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from seeds.spadeworks.site import sample
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD
from tests.support.rotation import rotating
from web_pages.stored_pages import answer_probes

pytestmark = pytest.mark.sampled(0.25)

ROOT = Path(__file__).parents[2]
SEED = ROOT / "seeds" / "spadeworks"
BASE = "https://app.spadeworks.co"

ADDRESSES = {
    "login": "/login",
    "forgot_password": "/forgot-password",
    "authenticator": "/authenticator",
    "session_expired": "/session-expired?next=/agent",
    "error_not_found": "/nothing/here",
    "dashboard": "/dashboard",
    "agent_list": "/agent",
    "agent_create": "/agent/create",
    "agent_detail": "/agent/agt-1002",
    "agent_edit": "/agent/agt-1002/edit",
    "contacts_list": "/contacts",
    "contacts_import": "/contacts/import",
    "campaign_list": "/campaign",
    "campaign_create_details": "/campaign/create",
    "email_inbox": "/inbox",
    "settings": "/settings",
}
"""Screens with an address of their own; the others are reached by acting."""

NEEDS_ACTING = {
    "login_code",
    "error_server",
    "campaign_create_audience",
    "campaign_create_review",
    "campaign_detail",
}

SIGNED_OUT = {
    "login",
    "login_code",
    "forgot_password",
    "authenticator",
    "session_expired",
    "error_not_found",
    "error_server",
}

UI_VERSIONS = [pytest.param(1, id="ui-v1"), pytest.param(2, id="ui-v2")]


@dataclass
class Site:
    """The running site with its switches."""

    base: str

    async def switch(self, page: Page, what: str, body: dict[str, object]) -> None:
        answer = await page.request.post(f"{self.base}/__control/{what}", data=body)
        assert answer.ok, await answer.text()

    async def reset(self, page: Page, version: int = 1) -> None:
        await page.request.delete(f"{self.base}/__control/faults")
        await self.switch(page, "ui-version", {"version": version})

    async def sign_in(self, page: Page) -> None:
        """With the password; field names are the same in both versions."""
        await page.goto(f"{self.base}/login")
        await page.fill('[name="email"]', DEMO_EMAIL)
        await page.fill('[name="password"]', DEMO_PASSWORD)
        await page.press('[name="password"]', "Enter")
        await page.wait_for_url(re.compile(r"/dashboard|/login/code"))

    async def show(self, page: Page, screen_id: str) -> None:
        """Bring a page of the screen up; whoever needs it is signed in already."""
        if screen_id in ADDRESSES:
            await page.goto(self.base + ADDRESSES[screen_id])
            return
        match screen_id:
            case "login_code":
                await page.goto(f"{self.base}/login")
                await self.switch(page, "otp", {"required": True})
                await self.sign_in(page)
                await self.switch(page, "otp", {"required": False})
            case "error_server":
                await self.switch(page, "faults", {"kind": "error_500", "path": "/dashboard"})
                await page.goto(f"{self.base}/dashboard")
            case "campaign_detail":
                await page.goto(f"{self.base}/campaign")
                await page.locator("main tbody a").first.click()
                await page.wait_for_url("**/campaign/cmp-*")
            case "campaign_create_audience" | "campaign_create_review":
                await self._campaign(page, review=screen_id.endswith("review"))

    async def _campaign(self, page: Page, *, review: bool) -> None:
        await page.goto(f"{self.base}/campaign/create")
        await page.fill('[name="campaign_name"]', "Autumn check-in")
        await page.select_option('[name="agent_id"]', index=1)
        await page.fill('[name="start_date"]', "12/31/2030")
        await page.press('[name="start_date"]', "Enter")
        await page.wait_for_url("**/audience")
        if review:
            await page.check('[name="contact_list"][value="Renewals"]')
            await page.fill('[name="daily_limit"]', "50")
            await page.press('[name="daily_limit"]', "Enter")
            await page.wait_for_url("**/review")


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """One site per session; it ends with its stdin."""
    command = [
        sys.executable,
        "-m",
        "seeds.spadeworks.site",
        "--port",
        "0",
        "--exit-with-stdin",
        "--test-controls",
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = re.match(r"listening on (http://\S+)", process.stdout.readline())
        assert said is not None, "the site did not start"
        yield Site(said[1])
        process.stdin.close()
        process.wait(timeout=10)


@pytest.fixture(scope="session")
def knowledge() -> KnowledgeBase:
    return read_knowledge_folder(SEED / "kb")[0]


@pytest.fixture(scope="session")
def view(knowledge: KnowledgeBase) -> KnowledgeView:
    return compile_view(knowledge, "1")


@pytest.fixture
async def visitor(page: Page, site: Site) -> Page:
    """Nobody in particular, who has not answered the cookie banner."""
    await site.reset(page)
    return page


@pytest.fixture(scope="session")
async def signed_in(browser: Browser, site: Site) -> StorageState:
    """The cookies of somebody who signed in."""
    page = await browser.new_page()
    await site.sign_in(page)
    cookies = await page.context.storage_state()
    await page.context.close()
    return cookies


@pytest.fixture
async def member(browser: Browser, site: Site, signed_in: StorageState) -> AsyncIterator[Page]:
    """Somebody signed in, who has not answered the cookie banner."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720}, storage_state=signed_in)
    page = await context.new_page()
    await site.reset(page)
    yield page
    await context.close()


async def accept_cookies(page: Page, site: Site) -> None:
    await page.context.add_cookies([{"name": "sw_consent", "value": "accepted", "url": site.base}])


def with_tracking(url: str) -> str:
    """The URL as a newsletter would link to it."""
    parts = urlsplit(url)
    added = "&".join(filter(None, (parts.query, "utm_source=letter&gclid=x1")))
    return urlunsplit(parts._replace(query=added)) if parts.netloc else url


async def where(page: Page, view: KnowledgeView, site: Site) -> Identification:
    """The screen by our own snapshot; URL and HTML alone, or an accessibility snapshot, must say the same."""
    found = identify(view, await take_snapshot(page), answer_probes, base_url=site.base)
    bare = PageSnapshot(url=page.url, title=await page.title(), html=await page.content())
    told = PageSnapshot(url=page.url, title=await page.title(), text=await page.aria_snapshot(mode="ai"))
    by_html, by_text = (identify(view, seen, answer_probes, base_url=site.base) for seen in (bare, told))
    assert (by_html.screen_id, by_html.ambiguous) == (found.screen_id, found.ambiguous), by_html
    assert (by_text.screen_id, by_text.ambiguous) == (found.screen_id, found.ambiguous), by_text
    linked = bare.model_copy(update={"url": with_tracking(page.url)})
    by_link = identify(view, linked, answer_probes, base_url=site.base)
    assert (by_link.screen_id, by_link.ambiguous) == (found.screen_id, found.ambiguous), by_link
    return found


# -- the folder ------------------------------------------------------------------------------------


def test_the_folder_loads_without_a_warning():
    knowledge, problems = read_knowledge_folder(SEED / "kb")
    assert [str(problem) for problem in problems] == []
    assert knowledge.website.website_id == "spadeworks"


def test_there_is_as_much_knowledge_as_a_demo_needs(knowledge):
    assert len(knowledge.screens) >= 16
    assert len(knowledge.tasks) >= 11
    assert 40 <= len(knowledge.transitions) <= 60
    assert set(knowledge.groups) == {
        "authenticated_pages",
        "public_pages",
        "error_pages",
        "form_pages",
        "list_pages",
    }
    assert set(knowledge.flows) == {"spadeworks_demo", "spadeworks_tour"}
    assert {"type_text", "click_submit", "select_dropdown"} <= set(knowledge.actions)


def test_every_screen_can_be_recognised_and_left(knowledge):
    assert set(knowledge.signatures) == set(knowledge.screens)
    assert all(knowledge.groups_of(screen_id) for screen_id in knowledge.screens)


def test_these_tests_show_every_screen(knowledge):
    assert set(ADDRESSES) | NEEDS_ACTING == set(knowledge.screens)


def test_every_group_has_ways_out_in_an_order(knowledge):
    for group in knowledge.groups:
        edges = [edge for edge in knowledge.recoveries.values() if edge.from_group == group]
        assert edges, group
        assert len({edge.recovery_priority for edge in edges}) == len(edges), group


def test_ids_of_the_source_documents_are_kept(knowledge):
    assert {"agent_create", "agent_list", "dashboard", "contacts_list", "email_inbox"} <= set(
        knowledge.screens
    )
    assert {"login", "create_agent", "delete_all_emails", "delete_single_email"} <= set(knowledge.tasks)
    assert {"agent_name_input", "language_dropdown", "save_button"} <= set(knowledge.elements("agent_create"))
    assert "create_to_list" in knowledge.transitions
    assert "recover_to_dashboard" in knowledge.recoveries
    assert isinstance(knowledge.tasks["delete_all_emails"].iterator_spec, CollectionIterator)


# -- identification --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", rotating("signed out", (1, 2), 1))
@pytest.mark.parametrize("screen_id", sorted(SIGNED_OUT))
async def test_a_page_is_known_signed_out(visitor, site, view, screen_id, version):
    await site.reset(visitor, version)
    await site.show(visitor, screen_id)
    assert await visitor.get_by_role("heading", name="We value your privacy").is_visible() or (
        screen_id.startswith("error_")
    )
    found = await where(visitor, view, site)
    assert (found.screen_id, found.ambiguous) == (screen_id, False), found


@pytest.mark.parametrize("version", UI_VERSIONS)
async def test_every_page_is_known_signed_in(member, site, view, version):
    await site.reset(member, version)
    wrong = {}
    for screen_id in sorted({*ADDRESSES, *NEEDS_ACTING} - {"login", "login_code"}):
        await site.show(member, screen_id)
        found = await where(member, view, site)
        if (found.screen_id, found.ambiguous) != (screen_id, False):
            wrong[screen_id] = found
    assert wrong == {}


@pytest.mark.parametrize("version", UI_VERSIONS)
async def test_a_page_is_known_under_a_newsletter(member, site, view, version):
    await site.reset(member, version)
    for screen_id in ("dashboard", "agent_create", "settings"):
        await site.switch(member, "faults", {"kind": "modal", "path": ADDRESSES[screen_id]})
        await site.show(member, screen_id)
        assert await member.get_by_role("dialog").is_visible()
        found = await where(member, view, site)
        assert (found.screen_id, found.ambiguous) == (screen_id, False)


@pytest.mark.parametrize(
    ("screen_id", "opener"),
    [
        ("agent_edit", "delete_button"),
        ("campaign_create_audience", "add_filter_button"),
        ("campaign_create_review", "launch_campaign_button"),
        ("dashboard", "user_menu"),
    ],
)
async def test_a_page_is_known_with_its_dialog_open(member, site, view, knowledge, screen_id, opener):
    await accept_cookies(member, site)
    await site.show(member, screen_id)
    await click(member, knowledge.elements(screen_id)[opener])
    found = await where(member, view, site)
    assert (found.screen_id, found.ambiguous) == (screen_id, False)


@pytest.mark.parametrize("version", UI_VERSIONS)
async def test_forms_with_errors_are_still_their_screens(member, site, view, version):
    await site.reset(member, version)
    for screen_id in ("agent_create", "agent_edit", "contacts_import", "campaign_create_details"):
        await site.show(member, screen_id)
        for field in await member.locator("main form [name=agent_name]").all():
            await field.fill("")
        async with member.expect_navigation():
            await member.evaluate("document.querySelector('main form').submit()")
        found = await where(member, view, site)
        assert (found.screen_id, found.ambiguous) == (screen_id, False)


async def test_pages_that_nobody_described_are_not_known(member, site, view):
    await member.goto(f"{site.base}/settings/notifications-frame")
    assert (await where(member, view, site)).screen_id is None
    await member.goto(f"{site.base}/authenticator/code")
    assert (await where(member, view, site)).screen_id is None
    await member.goto(f"{site.base}/agent/create")
    async with member.expect_navigation():
        await member.evaluate(
            "document.querySelector('main [name=csrf_token]').value = 'old';"
            "document.querySelector('main form').submit()"
        )
    assert await member.get_by_role("heading", level=1).inner_text() == "This page is out of date"
    assert (await where(member, view, site)).screen_id is None


async def test_a_copy_of_a_page_on_a_foreign_site_is_not_known(member, site, view):
    for screen_id in ("dashboard", "agent_create", "error_not_found", "error_server"):
        await site.show(member, screen_id)
        seen = await take_snapshot(member)
        foreign = seen.url.replace(site.base, "https://elsewhere.example")
        copy = seen.model_copy(update={"url": foreign})
        assert identify(view, copy, answer_probes, base_url=site.base).screen_id is None


async def test_no_page_of_another_site_is_known_wherever_that_runs(member, site, view):
    async with start_seed_site(find_seed(str(ROOT / "tests" / "data" / "harbour"))) as harbour:
        for path in ("/quay", "/boats/new", "/fog", "/nowhere"):
            await member.goto(harbour + path)
            seen = await take_snapshot(member)
            for base in (site.base, harbour):
                found = identify(view, seen, answer_probes, base_url=base)
                assert (found.screen_id, found.ambiguous) == (None, False), (path, base)


@pytest.mark.parametrize(
    "body",
    ["<h1>Dashboard</h1><p class=figure-label>Total Calls", "<h1>Welcome back</h1><input type=password>"],
)
async def test_pages_of_no_site_are_not_known(member, site, view, body):
    await member.goto(f"data:text/html,<title>Sign in</title>{body}")
    assert (await where(member, view, site)).screen_id is None


async def test_pages_of_another_product_at_the_same_address_are_not_known(member, site, view):
    html = (
        "<title>Harbour</title><h1>Harbour master</h1><nav><a href='/agent'>Ships</a></nav><main>At the quay"
    )
    await member.route(f"{site.base}/**", lambda route: route.fulfill(content_type="text/html", body=html))
    for screen_id in ("dashboard", "settings", "agent_list", "login"):
        await member.goto(site.base + ADDRESSES[screen_id])
        assert await member.get_by_role("heading", name="Harbour master").is_visible()
        assert (await where(member, view, site)).screen_id is None


@pytest.mark.parametrize(
    "address", ["/agent?page=2", "/agent?q=menon", "/agent?q=nobody", "/contacts?page=4"]
)
async def test_pages_and_searches_of_a_list_are_the_list(member, site, view, address):
    await member.goto(site.base + address)
    expected = "agent_list" if address.startswith("/agent") else "contacts_list"
    assert (await where(member, view, site)).screen_id == expected


def test_a_bare_page_is_not_known(view):
    blank = PageSnapshot(url="about:blank", html="<html><body><h1>Dashboard</h1></body></html>")
    assert identify(view, blank, answer_probes, base_url=BASE).screen_id is None


# -- elements --------------------------------------------------------------------------------------

FILL_FIRST = {
    "login_error": {"email_input": DEMO_EMAIL, "password_input": "not the password"},
    "reset_sent_note": {"reset_email_input": DEMO_EMAIL},
    "no_agents_note": {"agent_search_input": "nobody of this name"},
}
"""What must be typed before the element's `shown_by` brings it up."""


def filled(element: UIElement) -> Selector:
    """Parameters of dynamic elements come from the author's own example."""
    example = element.metadata.get("example")
    if not element.selector.parameterized:
        return element.selector
    assert isinstance(example, dict), f"{element.element_id} has no example"
    return fill_selector_parameters(element.selector, example)


async def click(page: Page, element: UIElement) -> None:
    value = next(s for s in element.selector.strategies if isinstance(s, ValueStrategy))
    css = value.value if value.type == "css" else f'[{value.type}="{value.value}"]'
    owner = page.frame_locator(element.selector.frame) if element.selector.frame else page
    await owner.locator(css).click()


async def reveal(page: Page, elements: dict[str, UIElement], element: UIElement) -> None:
    for field, text in FILL_FIRST.get(element.element_id, {}).items():
        strategy = elements[field].selector.strategies[0]
        await page.fill(f'[id="{strategy.value}"]', text)
    await click(page, elements[str(element.metadata["shown_by"])])
    await page.wait_for_load_state("load")


async def until_found(page: Page, selector: Selector) -> SelectorResolution:
    found = await resolve_selector(page, selector)
    for _ in range(50):
        if found.resolved:
            break
        await page.evaluate("() => new Promise(requestAnimationFrame)")
        found = await resolve_selector(page, selector)
    return found


async def missing_elements(
    page: Page, site: Site, knowledge: KnowledgeBase, screen_id: str
) -> dict[str, SelectorResolution]:
    """Elements that are not exactly one on the live page, by id."""
    await site.show(page, screen_id)
    elements = knowledge.elements(screen_id)
    missing = {}
    for name, element in sorted(elements.items(), key=lambda item: "shown_by" in item[1].metadata):
        selector = filled(element)
        found = await resolve_selector(page, selector)
        revealed = not found.resolved and "shown_by" in element.metadata
        if revealed:
            await reveal(page, elements, element)
        if not found.resolved:
            found = await until_found(page, selector)
        first = found.attempts[0] if found.attempts else None
        if not found.resolved or found.count != 1 or first is None or first.count != 1:
            missing[name] = found
        if revealed:
            await site.show(page, screen_id)
    return missing


@pytest.mark.parametrize(
    "screen_id",
    sorted({*ADDRESSES, *NEEDS_ACTING} - SIGNED_OUT),
)
async def test_every_element_of_a_signed_in_screen_is_found(member, site, knowledge, screen_id):
    await accept_cookies(member, site)
    assert await missing_elements(member, site, knowledge, screen_id) == {}


@pytest.mark.parametrize("screen_id", sorted(SIGNED_OUT))
async def test_every_element_of_a_public_screen_is_found(visitor, site, knowledge, screen_id):
    await accept_cookies(visitor, site)
    assert await missing_elements(visitor, site, knowledge, screen_id) == {}


def test_every_element_can_be_found_in_more_than_one_way(knowledge):
    single = [
        f"{screen_id}.{name}"
        for screen_id in knowledge.screens
        for name, element in knowledge.elements(screen_id).items()
        if len(element.selector.strategies) == 1
        and element.affordances[0].action_type != "get_screen_content"
    ]
    # Breadcrumbs, a dialog's Cancel and pages by number have no second way that would not be worse.
    assert Counter(name.split(".")[1] for name in single) == {
        "agents_breadcrumb": 1,
        "campaigns_breadcrumb": 1,
        "cancel_filter_button": 1,
        "pager_page_dynamic": 1,
        "theme_button_dynamic": 1,
    }


@pytest.mark.parametrize("version", UI_VERSIONS)
async def test_the_website_knows_who_is_signed_in(member, site, knowledge, browser, version):
    await site.reset(member, version)
    (condition,) = knowledge.website.authenticated_when
    selector = Selector(strategies=(ValueStrategy(type="css", value=str(condition.element)),))
    await site.show(member, "dashboard")
    assert (await resolve_selector(member, selector)).visible == 1
    stranger = await browser.new_page()
    await site.show(stranger, "login")
    assert (await resolve_selector(stranger, selector)).count == 0
    await stranger.close()


@pytest.mark.parametrize("version", UI_VERSIONS)
async def test_overlays_are_seen_and_go_away_by_their_own_control(member, site, knowledge, version):
    await site.reset(member, version)
    await site.switch(member, "faults", {"kind": "modal", "path": "/dashboard"})
    await site.show(member, "dashboard")
    overlays = {overlay.overlay_id: overlay for overlay in knowledge.website.overlays}
    for name in ("newsletter_modal", "cookie_banner"):  # the newsletter lies over the banner
        overlay = overlays[name]
        assert await holds(member, overlay.present_when), name
        found = await resolve_selector(member, overlay.dismiss.target)
        assert found.resolved, name
        assert found.description is not None
        await member.get_by_role(found.role, name=found.name, exact=True).click()
        assert not await holds(member, overlay.present_when), name


async def holds(page: Page, condition) -> bool:
    probes = condition.probes(_Literal())
    answers = await answer_live(page, probes)
    return all(answer.visible > 0 for answer in answers.values())


class _Literal:
    """Website conditions name no elements of screens, only CSS."""

    signed_in_when = ()

    def element(self, reference: str | Selector) -> Selector:
        if isinstance(reference, Selector):
            return reference
        return Selector(strategies=(ValueStrategy(type="css", value=reference),))


# -- the demos -------------------------------------------------------------------------------------

SECONDS_PER_CHARACTER, SECONDS_PER_SENTENCE = 0.0526, 0.31
"""Speech at 165 words a minute."""


def speech_s(text: str) -> float:
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]
    return sum(SECONDS_PER_CHARACTER * len(part) + SECONDS_PER_SENTENCE for part in sentences)


def segment_speech_s(segment: Segment, depth: Depth | None = None) -> float:
    told = segment.at(depth or segment.authored_depth)
    words = [told.narration_template, *(hook.narration for hook in told.narrative_hooks)]
    return sum(speech_s(without_marks(text)) for text in words)


@pytest.mark.parametrize(
    ("flow_id", "least", "most"), [("spadeworks_tour", 36, 56), ("spadeworks_demo", 200, 285)]
)
def test_there_is_time_for_what_is_said(knowledge, flow_id, least, most):
    flow: PresentationFlow = knowledge.flows[flow_id]
    spoken = sum(segment_speech_s(segment) for segment in flow.segments)
    assert least < spoken < most
    for segment in flow.segments:
        assert segment.duration is not None
        assert segment_speech_s(segment) <= segment.duration, segment.segment_id
        for depth in segment.depths:
            assert segment_speech_s(segment, depth) <= segment.expected(depth), (segment.segment_id, depth)
    assert sum(s.duration or 0 for s in flow.segments) <= (flow.duration.max or 0)


def test_sentences_are_short_enough_to_be_spoken(knowledge):
    for flow in knowledge.flows.values():
        for segment in flow.segments:
            words = [without_marks(text) for _, text in list_spoken_texts(segment)]
            for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(words)):
                assert len(sentence.split()) <= 30, sentence


def test_the_demo_is_told_in_german_to_the_last_word(knowledge):
    flow: PresentationFlow = knowledge.flows["spadeworks_demo"]
    assert flow.languages == ("en", "de")
    assert list(list_untranslated_texts(flow, "de")) == []


def test_the_demo_shows_every_kind_of_thing_that_a_flow_can_say(knowledge):
    flow: PresentationFlow = knowledge.flows["spadeworks_demo"]
    segments = flow.segments
    hooks = [hook for segment in segments for hook in segment.narrative_hooks]
    mappings = [rule for segment in segments for rule in segment.input_mapping.values()]
    assert {segment.type for segment in segments} == {"conversational", "explanation", "task_execution"}
    assert {segment.authored_depth for segment in segments} | {d for s in segments for d in s.depths} == set(
        DEPTHS
    )
    assert {s.scrolling.strategy for s in segments if s.scrolling.enabled} == {
        "incremental", "to_bottom", "to_elements"
    }  # fmt: skip
    assert {(hook.hook_type, hook.step_id is None) for hook in hooks} >= {
        ("before", True), ("before", False), ("during", True), ("during", False), ("after", True)
    }  # fmt: skip
    assert {hook.depth for hook in hooks} == set(DEPTHS)
    assert {source for rule in mappings for source in rule.source} == {
        "generated_value", "hardcoded", "session_context", "user_input", "task_output"
    }  # fmt: skip
    assert {each.type for rule in mappings for each in rule.transforms} == {
        "add_days", "format_date", "lowercase"
    }  # fmt: skip
    assert {transition.type for transition in flow.transitions} == {"sequential", "automatic", "conditional"}
    assert {path.condition for path in flow.fallback_paths} == {
        "time_running_out", "user_interrupts", "segment_failed"
    }  # fmt: skip
    assert {rule.rule for segment in segments for rule in segment.rules} == set(RuleName.__args__)
    assert any(read_marks(hook.narration).marks for hook in hooks)


def test_files_of_the_demo_are_there_and_bring_twelve_contacts():
    seed = yaml.safe_load((SEED / "seed.yaml").read_text())
    with (SEED / seed["files"] / "contacts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    known = {email for _, email, _, _ in sample.contacts()}
    assert [row["email"] in known for row in rows].count(True) == 1
    assert len(rows) == 13


def test_the_seed_names_what_is_there(knowledge):
    seed = yaml.safe_load((SEED / "seed.yaml").read_text())
    assert (SEED / seed["knowledge"] / "website.yaml").is_file()
    assert seed["default_flow"] in knowledge.flows
    assert seed["context"] == {"email": DEMO_EMAIL, "password": DEMO_PASSWORD}

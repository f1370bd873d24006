"""The console's pages about knowledge, in a real browser over embedded stores."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from axe_playwright_python.async_playwright import Axe

from benchmarks.large_site import large_site
from kb_schema import SourcedDocument, assemble, parse_document
from mcp_server.errors import SourceUnavailable
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.view_cache import ViewCache
from periplus.console.site_map_layout import MOST_WAYS
from periplus.web_server import service_setup
from tests.periplus.console.console_site import SITE, Console, console, seed_knowledge

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
BAD = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
HOSTILE = "hostile"
PAGES = {
    "front": "/",
    "map": f"/sites/{SITE}",
    "screen": f"/sites/{SITE}/screens/dashboard",
    "search": f"/sites/{SITE}/search?q=create+agent",
    "where": f"/sites/{SITE}/where",
    "paths": f"/sites/{SITE}/paths",
    "course": f"/sites/{SITE}/paths?from=dashboard&to=agent_create",
    "no_course": f"/sites/{SITE}/paths?from=dashboard&to=authenticator",
    "tasks": f"/sites/{SITE}/tasks",
    "task": f"/sites/{SITE}/tasks/create_agent",
    "trends": "/runs/trends?days=7",
    "texts": f"/sites/{SITE}/texts/task/create_agent",
    "narration": f"/sites/{SITE}/texts/flow/spadeworks_demo",
    "jobs": "/jobs",
    "demos": "/demos",
    "sign_in": "/sign-in",
    "unknown_screen": f"/sites/{SITE}/screens/dashbord",
    "unknown_site": "/sites/nowhere",
    "unknown_page": "/nothing/here",
}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _hostile():
    """A site whose every word is an attack."""
    documents = [
        {"type": "website", "website_id": HOSTILE, "name": BAD, "base_url": "https://hostile.example"},
        {"type": "screen_group", "group_id": "g", "name": BAD},
        *(
            {
                "type": "screen", "screen_id": name, "name": f"{BAD} {name}", "url_patterns": [f"^/{name}$"],
                "ui_elements": [
                    {"element_id": "e", "type": BAD, "selector": f"#{name}", "metadata": {"label": BAD}}
                ],
                "state_signature": {"primary_indicators": [{"type": "title_contains", "value": BAD}]},
            }
            for name in ("a", "b")
        ),
        {"type": "belongs_to", "_from": "screen/a", "_to": "screen_group/g"},
        {
            "type": "transition", "transition_id": "t", "_from": "screen/a", "_to": "screen/b", "description": BAD,
            "triggered_by": {"action_type": "click", "element_id": "e"},
        },
        {
            "type": "task", "task_id": "work", "name": BAD, "description": BAD,
            "steps": [{"action": {"action_type": "click", "target": "e"}, "description": BAD}],
        },
    ]  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]


@pytest.fixture(scope="module")
async def site(tmp_path_factory) -> AsyncIterator[Console]:
    # Opened and closed by one task: pytest-asyncio sets fixtures up and down in different ones.
    opened: asyncio.Future[Console] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()
    data = tmp_path_factory.mktemp("console")
    pictures = data / "maps" / SITE / "pictures"
    pictures.mkdir(parents=True)
    (pictures / "dashboard.png").write_bytes(PNG)

    async def hold() -> None:
        async with console(data, seed_knowledge(), _hostile(), large_site(0.02)) as there:
            opened.set_result(there)
            await over.wait()

    holder = asyncio.create_task(hold())
    yield await opened
    over.set()
    await holder


@asynccontextmanager
async def _tab(browser, **more):
    """A page that notes what goes wrong on it: errors of scripts, refusals by the policy, dialogs."""
    context = await browser.new_context(**{"viewport": DESK, **more})
    page = await context.new_page()
    page.wrong = []

    def said(message):
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            page.wrong.append(message.text)

    async def asked(dialog):
        page.wrong.append(f"dialog {dialog.message}")
        await dialog.dismiss()

    page.on("console", said)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("dialog", asked)
    page.on("requestfailed", lambda request: page.wrong.append(f"failed: {request.url}"))
    try:
        yield page
    finally:
        await context.close()


async def _violations(page) -> list[str]:
    found = (await Axe().run(page)).response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}" for each in found]


async def _overflow(page) -> int:
    return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("name", PAGES)
async def test_every_page_is_accessible_by_day_on_a_desk_and_by_night_on_a_phone(site, browser, name):
    expected = 404 if name.startswith("unknown") else 200
    for look in ({}, {"viewport": PHONE, "color_scheme": "dark"}):
        async with _tab(browser, **look) as page:
            answer = await page.goto(site.at(PAGES[name]))
            assert answer.status == expected
            assert await page.locator("h1").count() == 1
            assert await page.locator("main").count() == 1
            assert await page.title() != ""
            assert await _overflow(page) <= 0, "nothing is wider than the window"
            assert await _violations(page) == []
            assert page.wrong == []


async def test_pages_come_with_a_policy_that_lets_nothing_in(site):
    answer = await site.served.client.get(f"/sites/{SITE}")
    policy = dict(each.strip().split(" ", 1) for each in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert " style=" not in answer.text
    assert " onclick" not in answer.text


async def test_the_keyboard_skips_to_the_content_moves_the_chart_and_opens_a_screen(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}"))
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"
        svg = page.locator(".chart svg")
        before = await svg.get_attribute("viewBox")
        await page.locator("[data-chart]").focus()
        await page.keyboard.press("+")
        nearer = await svg.get_attribute("viewBox")
        await page.keyboard.press("ArrowRight")
        assert len({before, nearer, await svg.get_attribute("viewBox")}) == 3
        await page.keyboard.press("0")
        everything = [float(each) for each in (await svg.get_attribute("viewBox")).split()]
        assert everything == [float(each) for each in before.split()]
        link = page.locator(".places a", has_text="Dashboard")
        await link.focus()
        assert await link.locator("rect").evaluate("each => getComputedStyle(each).strokeWidth") == "5px"
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/screens/dashboard")


async def test_without_a_script_the_map_is_a_drawing_with_links_and_a_list(site, browser):
    async with _tab(browser, java_script_enabled=False) as page:
        await page.goto(site.at(f"/sites/{SITE}"))
        assert await page.locator(".places a").count() == len(seed_knowledge().screens)
        assert await page.locator("tbody tr").count() == len(seed_knowledge().screens)
        await page.locator("tbody a", has_text="Inbox").click()
        assert page.url.endswith("/screens/email_inbox")


@pytest.mark.always
async def test_the_way_from_the_dashboard_to_create_agent_is_three_clicks_from_the_front(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at("/"))
        card = page.locator("section.site", has=page.get_by_role("heading", name="Spadeworks"))
        await card.get_by_role("link", name="Find a path").click()
        await page.get_by_label("From").select_option("dashboard")
        await page.get_by_label("To", exact=True).select_option("agent_create")
        await page.get_by_role("button", name="Find").click()
        await page.get_by_role("heading", name="The best path").wait_for()
        assert "Agent Creation Form" in await page.locator(".courses").inner_text()
        assert await page.locator(".course.nr1 path").count() == 1
        assert await page.locator(".places a.on").count() == 2
        assert await page.get_by_role("heading", name="Alternative 1").count() == 1


async def test_why_yesterdays_run_failed_stands_on_the_front_page(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at("/"))
        needs = page.get_by_role("region", name="Needs a person")
        assert "covered by a dialog" in await needs.inner_text()
        await needs.get_by_role("link", name="Create AI Voice Agent").first.click()
        await page.wait_for_url("**/runs/*")
        assert "covered by a dialog" in await page.locator("main").inner_text()


async def test_a_pasted_page_is_known_with_its_evidence_and_runners_up(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}/where"))
        await page.get_by_label("Address", exact=True).fill("http://localhost:4567/dashboard")
        await page.get_by_label("The page's HTML or text").fill(
            "<title>x</title><h1>Dashboard</h1><script>alert(1)</script>"
        )
        await page.get_by_role("button", name="Identify").click()
        await page.get_by_role("alert").wait_for()
        assert "does not belong to spadeworks" in await page.get_by_role("alert").inner_text()
        await page.get_by_label("The website runs at this address").check()
        await page.get_by_role("button", name="Identify").click()
        await page.get_by_role("heading", name="Dashboard").wait_for()
        evidence = await page.get_by_role("region", name="Evidence").inner_text()
        assert "does not match" in evidence
        assert "Page not found" in await page.get_by_role("region", name="Candidates").inner_text()
        assert await _violations(page) == []
        assert page.wrong == []


async def test_an_address_alone_names_the_screens_that_have_one_like_it(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}/where"))
        await page.get_by_label("Address", exact=True).fill("https://app.spadeworks.co/dashboard")
        await page.get_by_role("button", name="Identify").click()
        answer = page.get_by_role("region", name="Candidates by address")
        assert "Dashboard" in await answer.inner_text()


async def test_names_of_a_website_are_never_taken_for_html(site, browser):
    paths = [
        "",
        "/screens/a",
        "/screens/b",
        "/tasks",
        "/tasks/work",
        "/paths?from=a&to=b",
        "/search?q=script+img",
        "/where",
    ]
    for path in [
        "/",
        *(f"/sites/{HOSTILE}{each}" for each in paths),
        "/sites/%22%3E%3Cscript%3Ealert(3)%3C%2Fscript%3E",
    ]:
        async with _tab(browser) as page:
            await page.goto(site.at(path))
            assert await page.locator("script:not([src]), img[src=x], [onerror]").count() == 0, path
            assert page.wrong == [], path


async def test_a_large_site_is_drawn_from_afar_until_one_comes_near(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at("/sites/large"))
        svg = page.locator(".chart svg")
        assert "far" in await svg.get_attribute("class")
        for _ in range(9):
            await page.get_by_role("button", name="Zoom in").click()
        assert "far" not in await svg.get_attribute("class"), "near enough, names are drawn"
        tabbed = await page.locator(".places a:not([tabindex='-1'])").count()
        assert tabbed == 0, "the list is the keyboard's way"
        assert page.wrong == []


async def test_a_screen_with_very_much_on_it_is_a_page_of_bounded_size(tmp_path):
    many = range(600)
    documents = [
        {"type": "website", "website_id": "much", "name": "Much", "base_url": "https://much.example"},
        *(
            {
                "type": "screen", "screen_id": name, "name": name, "url_patterns": [f"^/{name}$"],
                "ui_elements": [{"element_id": f"e{each}", "type": "link", "selector": f"#e{each}"} for each in many],
            }
            for name in ("a", "b")
        ),
        *(
            {
                "type": "transition", "transition_id": f"t{each}", "_from": "screen/a", "_to": "screen/b",
                "triggered_by": {"action_type": "click", "element_id": f"e{each}"},
            }
            for each in many
        ),
    ]  # fmt: skip
    knowledge = assemble([SourcedDocument(parse_document(each)) for each in documents])[0]
    async with console(tmp_path, knowledge) as there:
        text = (await there.served.client.get("/sites/much/screens/a")).text
    assert "600 elements, the first 400" in text
    assert "Outgoing, the first 200 of 600" in text
    assert text.count("<tr>") < 700


@pytest.mark.nightly
async def test_a_site_of_two_thousand_screens_is_one_page_of_bounded_size(tmp_path, browser):
    async with console(tmp_path, large_site(0.2)) as there, _tab(browser) as page:
        answer = await page.goto(there.at("/sites/large"))
        assert len(await answer.body()) < 900_000
        assert await page.locator(".places a").count() == 2_000
        assert await page.locator(".lines path").count() <= MOST_WAYS
        assert await page.evaluate("document.querySelectorAll('*').length") < 15_000
        assert await page.locator("tbody tr").count() == 200, "the list comes in pages"
        assert "transitions are drawn" in await page.locator("main").inner_text()
        assert page.wrong == []


async def test_the_colours_that_were_chosen_are_kept(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}/tasks"))
        day = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.get_by_role("button", name="Dark").click()
        await page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        assert page.url.endswith(f"/sites/{SITE}/tasks"), "one comes back to where one was"
        await page.goto(site.at("/"))
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != day
        assert await page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"


async def test_a_screen_shows_its_picture_and_what_is_no_picture_is_not_given_away(site):
    client = site.served.client
    found = await client.get(f"/sites/{SITE}/screens/dashboard/picture")
    assert found.content == PNG
    assert found.headers["content-type"] == "image/png"
    assert (await client.get(f"/sites/{SITE}/screens/settings/picture")).status_code == 404
    assert (await client.get("/sites/..%2f..%2f/screens/dashboard/picture")).status_code == 404
    assert f"/sites/{SITE}/screens/dashboard/picture" in (await client.get(f"/sites/{SITE}")).text


async def test_an_unknown_name_says_what_was_probably_meant_and_where_to_look(site):
    answer = await site.served.client.get(f"/sites/{SITE}/screens/dashbord")
    assert answer.status_code == 404
    assert "did you mean" in answer.text
    assert f"/sites/{SITE}/search?q=dashbord" in answer.text


async def test_what_is_known_of_a_website_is_read_before_anybody_asks():
    source = MemorySource(seed_knowledge())
    views = ViewCache(source)
    await service_setup._read(views)
    assert [*views._held] == [SITE]

    async def down():
        raise SourceUnavailable("the store does not answer")

    source.websites = down
    await service_setup._read(ViewCache(source))  # the service starts all the same


async def test_a_store_that_is_down_leaves_pages_that_say_so(site, monkeypatch):
    client = site.served.client
    assert (await client.get(f"/sites/{SITE}")).status_code == 200
    source = site.served.console.knowledge_server.views.source

    async def down(*_):
        raise SourceUnavailable("the store does not answer")

    monkeypatch.setattr(source, "revision", down)
    monkeypatch.setattr(source, "websites", down)
    stale = await client.get(f"/sites/{SITE}")
    assert stale.status_code == 200
    assert "From the copy of generation" in stale.text
    assert (await client.get("/")).status_code == 200
    unknown = await client.get("/sites/never_read")
    assert unknown.status_code == 503
    assert "The store does not answer" in unknown.text
    assert unknown.headers["content-type"].startswith("text/html")


async def test_a_task_says_which_tasks_run_before_it_and_when(site):
    page = (await site.served.client.get(f"/sites/{SITE}/tasks/delete_agent")).text
    about = page[page.index('id="depends"') :]
    assert about.index("/tasks/create_agent") < about.index("/tasks/login")
    assert "” is not given" in about[: about.index("</section>")]


async def test_a_task_has_names_instead_of_ids(site):
    page = (await site.served.client.get(f"/sites/{SITE}/tasks/create_agent")).text
    steps = page[page.index('class="steps"') : page.index("</ol>")]
    assert "on “Agents”" in steps
    assert "on_screen" not in steps
    assert "agent_list" not in steps

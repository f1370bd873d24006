"""What a page of a map opens by itself sends nothing that nobody judged, whatever opened it."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser

from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.tab.exploration_context import open_context
from agent.exploration.tab.exploration_tab import ExplorationTab
from tests.agent.exploration.small_site import Answer, html, small_site

DELETES = "/account/delete"
CLICK = "new MouseEvent('click', {bubbles: true, cancelable: true, composed: true})"
POSTS = (
    f"<form id=f method=post action={DELETES} target=NAME></form><b id=zed>z</b><script>f.submit()</script>"
)
CLOSED = (
    "<div id=host><i id=inner>x</i></div><script>host.attachShadow({mode: 'closed'}).innerHTML = `<a target=_blank ATTRIBUTES><slot></slot></a>`;"
    f"inner.dispatchEvent({CLICK})</script>"
)
"""The page's own scripts cannot know that the click goes through a link, so ours cannot either."""
SENDS = (
    f"<script>fetch(origin + '{DELETES}', {{method: 'POST'}}); navigator.sendBeacon(origin + '{DELETES}', 'x');"
    f"new Image().src = origin + '{DELETES}'</script>"
)
BLOB = "URL.createObjectURL(new Blob([`" + SENDS.replace("</", r"<\/") + "`], {type: 'text/html'}))"

BY_THEMSELVES = {
    "a property of the window": POSTS.replace("NAME", "location"),
    "an element": POSTS.replace("NAME", "zed"),
    "a variable": POSTS.replace("NAME", "kept").replace("<script>", "<script>window.kept = {};"),
    "a hidden button": f"<form method=post action={DELETES} target=document><button id=b hidden>x</button></form><script>b.click()</script>",
    "a click on a text": f"<a id=a target=_blank href={DELETES}>word</a><script>a.firstChild.dispatchEvent({CLICK})</script>",
    "a click in a shadow tree": (
        f"<a target=_blank href={DELETES}><span id=h></span></a><script>const root = h.attachShadow({{mode: 'open'}});"
        "root.innerHTML = '<i id=i>x</i>'; root.getElementById('i').click()</script>"
    ),
    "a click through a closed tree": CLOSED.replace("ATTRIBUTES", f"href={DELETES}"),
    "a form in a shadow tree": (
        f"<div id=h></div><script>const root = h.attachShadow({{mode: 'closed'}}); root.innerHTML = '<form method=post action={DELETES}"
        " target=_blank><button>x</button></form>'; root.querySelector('button').click()</script>"
    ),
    "replaced methods": (
        POSTS.replace("NAME", "_blank").replace(
            "f.submit()",
            "const kept = Element.prototype.getAttribute; Element.prototype.getAttribute = () => '_self'; f.submit();"
            "Element.prototype.getAttribute = kept",
        )
    ),
    "a page in a window": CLOSED.replace("ATTRIBUTES", "href=/sends"),
    "a blob in a window": (
        "<script>const blob = BLOB</script>" + CLOSED.replace("ATTRIBUTES", "href=${blob}")
    ).replace("BLOB", BLOB),
    "an empty window of its opener": (
        "<div id=host><i id=inner>x</i></div><script>host.attachShadow({mode: 'closed'}).innerHTML = `<a target=kept rel=opener"
        f" href=about:blank><slot></slot></a>`; inner.dispatchEvent({CLICK}); const kept = open('', 'kept');"
        f"if (kept) {{ kept.fetch('{DELETES}', {{method: 'POST'}}); kept.navigator.sendBeacon('{DELETES}', 'x') }}</script>"
    ),
}  # fmt: skip

AHEAD = f"{{prefetch: [{{source: 'list', urls: ['{DELETES}'], eagerness: 'immediate'}}]}}"
RULES = "const r = document.createElement('script'); r.type = 'speculationrules'; r.textContent = JSON.stringify(AHEAD);".replace(
    "AHEAD", AHEAD
)
BEFORE_ROUTES = {
    "rules of a shadow tree": f"<div id=h></div><script>const t = h.attachShadow({{mode: 'closed'}}); {RULES} t.append(r)</script>",
    "rules of a tree that is moved": f"<div id=h></div><script>const d = document.createElement('div'), t = d.attachShadow({{mode: 'open'}}); {RULES} t.append(r); h.append(d)</script>",
    "rules of a declared tree": (
        '<div><template shadowrootmode=open><script type=speculationrules>{"prefetch": [{"source": "list", "urls": ["'
        f'{DELETES}"], "eagerness": "immediate"}}]}}</script></template></div>'
    ),
    "a download that is sent on": "<a id=a download=x href=/moved>x</a><script>a.click()</script>",
    "a download of a link in no document": "<script>const a = document.createElement('a'); a.download = 'x'; a.href = '/moved'; a.click()</script>",
    "a download by an event": f"<a id=a download=x href=/moved><i id=i>x</i></a><script>i.dispatchEvent({CLICK})</script>",
}  # fmt: skip
BY_THEMSELVES |= BEFORE_ROUTES


@pytest.mark.parametrize("way", BY_THEMSELVES)
async def test_a_window_that_a_page_opens_by_itself_sends_nothing_that_nobody_judged(
    browser: Browser, way: str
) -> None:
    with small_site({"/": html("Start", BY_THEMSELVES[way]), "*": html("Any", "any")}) as site:
        site.pages |= {"/sends": SENDS, "/moved": Answer(status=302, headers={"Location": DELETES})}
        guard = RequestGuard((site.url,))
        async with open_context(browser, None, guard) as context:
            tab = ExplorationTab(context, guard, 20.0)
            opened = await tab.open(f"{site.url}/")
            assert opened.outcome == "arrived"
            page = await tab.page()
            await page.evaluate("fetch('/done').then((answer) => answer.text())")
            await asyncio.sleep(0.5)  # what a window sends arrives by now, as it did before windows were held
        assert site.asked["GET /done"] == 1
        assert [asked for asked in site.asked if DELETES in asked] == []


async def test_a_frame_that_is_there_is_no_new_window(browser: Browser) -> None:
    start = html(
        "Start",
        "<iframe name=inner srcdoc='<iframe name=deep></iframe>'></iframe><form id=f action=/inner target=inner></form>"
        "<a id=a href=/deep target=deep>x</a>",
    )
    with small_site({"/": start, "*": html("Any", "any")}) as site:
        guard = RequestGuard((site.url,))
        async with open_context(browser, None, guard) as context:
            tab = ExplorationTab(context, guard, 20.0)
            await tab.open(f"{site.url}/")
            page = await tab.page()
            async with page.expect_event("framenavigated", lambda frame: frame.url.endswith("/deep")):
                await page.evaluate("a.click()")
            async with page.expect_event("framenavigated", lambda frame: "/inner" in frame.url):
                await page.evaluate("f.submit()")
            assert len(context.pages) == 1


async def test_a_window_of_another_context_opens_as_ever(browser: Browser) -> None:
    """Such as the tab of a person, in a browser that is given."""
    with small_site(
        {"*": html("Any", "<button onclick=\"window.open('/account/delete')\">Open</button>")}
    ) as site:
        guard = RequestGuard((site.url,))
        async with open_context(browser, None, guard) as context, await browser.new_context() as other:
            await ExplorationTab(context, guard, 20.0).open(f"{site.url}/")
            page = await other.new_page()
            await page.goto(site.url)
            async with other.expect_page() as opened:
                await page.get_by_text("Open").click()
            window = await opened.value
            await window.wait_for_load_state()
            assert await window.title() == "Any"
        assert site.asked["GET /account/delete"] == 1

"""The browser tools open known websites, the web, or all, as the operator said."""

from __future__ import annotations

import pytest
from playwright.async_api import async_playwright

from periplus.browser_tools.address_policy import AddressPolicy, AddressRefused, OpenMode
from periplus.session_setup import BrowserOptions
from tests.periplus.browser_tools.test_browser_tools import (  # noqa: F401 - fixtures
    data_folder,
    eyes,
    harbour,
    shelves,
    told,
)
from tests.support.given_chrome import given_chrome
from tests.support.small_sites import Answered, running_site

INNER = [
    "http://10.0.0.1/", "http://192.168.1.1:8080/admin", "http://169.254.169.254/latest/meta-data", "http://172.16.3.4",
    "http://100.64.0.1/", "http://[fe80::1]/", "http://[fd00::1]/", "http://0.0.0.0/", "http://[::]/",
    "http://[::ffff:10.0.0.1]/", "http://224.0.0.1/", "http://[2002:0a00:0001::]/",
]  # fmt: skip
HERE = [
    "http://127.0.0.1:8000/", "http://localhost:3000/", "http://LOCALHOST./", "http://x.localhost/", "http://[::1]:9/",
    "http://127.1.2.3/", "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://0x7f000001/", "http://127.1/",
]  # fmt: skip
SPELT = [
    "http://%31%32%37.0.0.1:9300/", "http://loc%61lhost:9300/", "http://loc%C2%ADalhost/", "http://127\u30020\u30020\u30021/",
    "http://loc\u00adalhost:9300/", "http://\uff4cocalhost/", "http://\u2460\u2461\u2466.0.0.1/", "http://127.0.0.1:9300\\@example.com/",
]  # fmt: skip
"""This machine, spelt otherwise: browsers ask it."""
UNKNOWN = [
    "http://127.0.0.1%2f.example.com/",
    "http://a%00b/",
    "http://%2531.example.com/",
    "http:///127.0.0.1/",
    "http://a..b/",
]
OUTSIDE = ["https://93.184.216.34/", "http://[2606:4700::1111]/"]


async def _allowed(policy: AddressPolicy, url: str) -> bool:
    try:
        await policy.check(url)
    except AddressRefused as exc:
        return not exc.hint
    return True


@pytest.mark.parametrize("url", INNER)
async def test_the_local_network_is_not_the_web(url):
    for this_machine in (True, False):
        assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=this_machine), url)
    assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=True, resolves=False), url)
    assert await _allowed(AddressPolicy(OpenMode.ANY, this_machine=False), url)


@pytest.mark.parametrize("url", HERE)
async def test_this_machine_is_opened_for_its_own_user_only(url):
    assert await _allowed(AddressPolicy(OpenMode.WEB, this_machine=True), url)
    assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=False), url)
    assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=False, resolves=False), url)


@pytest.mark.parametrize("url", SPELT)
async def test_a_host_is_what_browsers_read(url):
    assert await _allowed(AddressPolicy(OpenMode.WEB, this_machine=True), url)
    assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=False), url)
    assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=False, resolves=False), url)


@pytest.mark.parametrize("url", UNKNOWN)
async def test_a_host_that_is_not_known_is_not_asked_for(url):
    for resolves in (True, False):
        assert not await _allowed(AddressPolicy(OpenMode.WEB, this_machine=True, resolves=resolves), url)


@pytest.mark.parametrize("url", OUTSIDE)
async def test_public_addresses_are_the_web(url):
    assert await _allowed(AddressPolicy(OpenMode.WEB, this_machine=False), url)
    assert not await _allowed(AddressPolicy(OpenMode.KNOWN, this_machine=False), url)


@pytest.mark.usefixtures("data_folder")
async def test_an_address_that_is_not_allowed_is_not_asked_for(shelves, harbour):  # noqa: F811 - fixtures
    seen: list[str] = []

    def answer(asked):
        seen.append(asked.path)
        return Answered("<title>Inner</title><h1>The inner admin page</h1>")

    with running_site(answer) as site:
        async with eyes(shelves, harbour, open_mode=OpenMode.KNOWN) as client:
            said = await told(client, "go_to", url=f"{site.base}/admin", fails=True)
            assert "is of no known website" in said
            assert "on quay" in await told(client, "go_to", url=f"{harbour}/quay")
        async with eyes(shelves, harbour, shared=True, open_mode=OpenMode.WEB) as client:
            tab = (await told(client, "tabs", open=True)).split()[0]
            said = await told(client, "go_to", url=f"{site.base}/admin", tab=tab, fails=True)
            assert "is in this machine" in said
        assert not seen


@pytest.mark.usefixtures("data_folder")
async def test_a_page_to_which_a_known_website_redirects_is_not_read(shelves, harbour):  # noqa: F811 - fixtures
    inner = "The inner admin page"
    with (
        running_site(lambda _: Answered(f"<title>Inner</title><h1>{inner}</h1>")) as other,
        running_site(lambda _: Answered(status=302, location=f"{other.base}/admin")) as known,
    ):
        async with eyes(shelves, known.base, open_mode=OpenMode.KNOWN) as client:
            said = await told(client, "go_to", url=f"{known.base}/away", fails=True)
            assert inner not in said
            assert inner not in str(await client.call_tool("look", {}))
            assert inner not in str(await client.call_tool("read", {}))


@pytest.mark.usefixtures("data_folder")
async def test_a_tab_that_came_to_a_refused_address_between_two_calls_can_be_used_on(shelves, tmp_path):  # noqa: F811 - fixtures
    with (
        running_site(lambda _: Answered("<h1>The inner admin page</h1>")) as other,
        running_site(lambda asked: Answered(f"<h1>At {asked.path}</h1>")) as known,
        given_chrome(tmp_path, ("about:blank",)) as chrome,
    ):
        options = BrowserOptions(cdp_endpoint=chrome.endpoint)
        async with eyes(shelves, known.base, options=options, open_mode=OpenMode.KNOWN) as client:
            await told(client, "tabs", open=True)
            await told(client, "go_to", url=f"{known.base}/one")
            async with async_playwright() as person:
                browser = await person.chromium.connect_over_cdp(chrome.endpoint)
                pages = [page for context in browser.contexts for page in context.pages]
                (page,) = [each for each in pages if each.url.endswith("/one")]
                await page.goto(f"{other.base}/admin")
                assert "At /two" in await told(client, "go_to", url=f"{known.base}/two")

"""A word for the state of the page: another one after every change that may show another screen."""

from __future__ import annotations

import asyncio

import pytest

from agent.page.page_changes import wait_for_change
from agent.page.snapshot_capture import (
    read_page_revision,
    take_snapshot_if_changed,
    take_snapshot_with_revision,
)
from tests.support.pages import show

PAGE = """<title>Quay</title><style>#tint{transition:color 400ms}#tint.on{color:red}
#veil.on{animation:fade 300ms linear infinite}@keyframes fade{from{opacity:0}}</style>
<p id=text>Boats</p><input id=field><p id=tint>Tint</p><div id=veil>Veil</div><div id=host></div>
<iframe id=frame srcdoc="<p id=inner>Inside</p>"></iframe>
<script>host.attachShadow({mode:'open'}).innerHTML='<b id=deep>Deep</b>'</script>"""

CHANGES = {
    "a text": "document.getElementById('text').firstChild.data='Ships'",
    "an attribute": "document.getElementById('text').hidden=true",
    "an element": "document.body.append(document.createElement('p'))",
    "the title": "document.title='Harbour'",
    "the address": "location.hash='#bay'",
    "in a shadow root": "document.getElementById('host').shadowRoot.getElementById('deep').textContent='Down'",
    "in a frame": "document.getElementById('frame').contentDocument.getElementById('inner').textContent='In'",
    "a shadow root more": "document.getElementById('text').attachShadow({mode:'open'})",
}


@pytest.fixture
async def quay(page):
    await show(page, PAGE, "/quay")
    while await read_page_revision(page) is None:  # what is seen for the first time may have changed before
        pass
    return page


async def test_every_change_makes_it_another_and_what_fields_hold_does_not(quay):
    for what, change in CHANGES.items():
        before = await read_page_revision(quay)
        assert before is not None
        assert await read_page_revision(quay) == before
        await quay.evaluate(change)
        assert await read_page_revision(quay) != before, what
        await read_page_revision(quay)
    before = await read_page_revision(quay)
    await quay.fill("#field", "Tern")
    assert await read_page_revision(quay) == before


async def test_it_is_of_the_very_moment_of_the_snapshot(quay):
    taken, revision = await take_snapshot_with_revision(quay)
    assert revision == await read_page_revision(quay)
    assert "Boats" in taken.html


async def test_a_page_in_that_state_is_not_taken_again_and_any_other_is(quay):
    taken, revision = await take_snapshot_if_changed(quay, (), "another")
    assert taken is not None
    assert "Boats" in taken.html
    assert revision is not None
    assert await take_snapshot_if_changed(quay, (), revision) == (None, revision)
    await quay.evaluate(CHANGES["a text"])
    taken, _ = await take_snapshot_if_changed(quay, (), revision)
    assert taken is not None
    assert "Ships" in taken.html


async def test_colours_may_fade_and_what_may_hide_something_leaves_no_word(quay):
    await quay.evaluate("tint.className='on'")
    assert await quay.evaluate("tint.getAnimations().length") == 1
    assert await read_page_revision(quay) is not None
    await quay.evaluate("veil.className='on'")
    assert await read_page_revision(quay) is None
    await quay.evaluate("veil.className=''")
    assert await read_page_revision(quay) is not None


async def test_a_page_that_still_loads_has_none(page):
    await show(page, "<p>Boats</p><img src=/never>", "/")
    assert await page.evaluate("document.readyState") == "interactive"
    assert await read_page_revision(page) is None


async def test_a_change_between_the_look_and_the_wait_ends_the_wait_at_once(quay, monkeypatch):
    monkeypatch.setattr("agent.page.page_changes.LONGEST_WAIT_S", 60.0)
    seen = await read_page_revision(quay)
    await quay.evaluate(CHANGES["a text"])
    async with asyncio.timeout(30):
        await wait_for_change(quay, 60.0, since=seen)

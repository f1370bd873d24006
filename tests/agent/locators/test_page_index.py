"""What one look at a page sees."""

from __future__ import annotations

import pytest

from agent.locators.page_index import PageIndex, RegionKind, RootKind
from agent.locators.page_scan import check_selectors, fetch_element, scan_page
from agent.page.snapshot_capture import take_snapshot
from kb_schema.selectors import Selector
from tests.support.accessibility import UNTOLD
from tests.support.pages import show
from web_pages.accessible_names import label_text, name_of, role_of
from web_pages.stored_pages import StoredPage

PAGE = """<!doctype html><title>Harbour</title>
<style>.gone{display:none} .far{position:absolute;left:300px;top:400px} .pill{cursor:pointer}</style>
<nav aria-label="Main"><ul><li><a href="/boats" class="nav x">Boats</a></li></ul></nav>
<main><h1>Boats</h1>
<form id="boat-form" data-testid="boat"><h2>New boat</h2>
 <label for="boat">Name *</label><input id="boat" name="name" required placeholder="e.g. Argo" value="Secretive">
 <label>Key <input type="password" value="hunter2"></label>
 <label><input type="checkbox" checked> Keep me posted</label>
 <div><label>Departs</label> Date: <input name="day"> Time: <input name="hour"></div>
 <textarea aria-label="Notes">private words</textarea><div contenteditable aria-label="Log">my log</div>
 <button disabled>Save</button><span class="pill" id="fake">Reset all</span></form>
<h2>Moored</h2>
<table><thead><tr><th>Boat</th><th>Berth</th><th></th></tr></thead>
<tr><td>Argo</td><td><input type="number" value="7"></td><td><button>Delete</button></td></tr>
<tr><td>Bob</td><td><input type="number" value="8"></td><td><button>Delete</button></td></tr></table>
<section aria-label="Danger zone"><button>Sink</button></section>
<div><h3>Weather</h3><p>Calm</p><button>Refresh</button></div><button class="far">Far</button>
<a href="/hidden" class="gone">Hidden</a>
<details><summary>More</summary><button>Inside</button></details>
<input type="file" id="file" class="gone"><label for="file">Choose a file</label></main>
<dialog open aria-labelledby="sure"><h2 id="sure">Are you sure?</h2><button>Yes</button></dialog>
<my-card id="card"></my-card>
<iframe id="inner" title="Log book" style="border:0;position:absolute;left:500px;top:50px"
 srcdoc="<body style='margin:0'><button style='margin:10px'>Turn page</button>"></iframe>
<script>card.attachShadow({mode:'open'}).innerHTML='<h4>Crew</h4><button class="go">Hire</button>'</script>
"""


@pytest.fixture
async def index(page) -> PageIndex:
    await show(page, PAGE)
    await page.frame_locator("#inner").get_by_text("Turn page").wait_for()
    return await scan_page(page)


def named(index: PageIndex, name: str):
    return next(each for each in index.elements if each.interactive and each.name == name)


def regions(index: PageIndex, name: str) -> list[tuple[RegionKind, str]]:
    return [(region.kind, region.name) for region in index.regions_of(named(index, name))]


def test_elements_have_roles_names_labels_and_states(index):
    name = named(index, "Name *")
    assert (name.role, name.label, name.placeholder, name.required) == (
        "textbox",
        "Name *",
        "e.g. Argo",
        True,
    )
    assert (named(index, "Save").enabled, named(index, "Sink").enabled) == (False, True)
    assert named(index, "Keep me posted").checked is True
    assert named(index, "Boats").classes == ("nav", "x")
    assert named(index, "Name *").checked is None


def test_elements_stand_in_regions_from_the_innermost_outwards(index):
    assert regions(index, "Name *") == [(RegionKind.FORM, "New boat"), (RegionKind.LANDMARK, "Boats")]
    assert regions(index, "Sink")[0] == (RegionKind.LANDMARK, "Danger zone")
    assert regions(index, "Refresh")[0] == (RegionKind.SECTION, "Weather")
    assert regions(index, "Yes")[0] == (RegionKind.DIALOG, "Are you sure?")
    assert regions(index, "Inside")[0] == (RegionKind.GROUP, "More") or not named(index, "Inside").visible
    assert RegionKind.SECTION not in [kind for kind, _ in regions(index, "Name *")]
    rows = [each for each in index.regions if each.kind is RegionKind.ROW]
    assert [row.texts for row in rows][1:] == [("Argo", "Delete"), ("Bob", "Delete")]
    assert any(each.test_ids == {"data-testid": "boat"} for each in index.elements)


def test_a_section_ends_where_the_container_of_its_heading_ends(index):
    assert (RegionKind.SECTION, "Weather") not in regions(index, "Far")
    assert (RegionKind.SECTION, "Moored") in regions(index, "Far")


def test_elements_know_their_neighbours(index):
    berths = [each for each in index.elements if each.role == "spinbutton"]
    assert [(each.near.row, each.near.column, each.near.heading) for each in berths] == [
        ("Argo", "Berth", "Moored"),
        ("Bob", "Berth", "Moored"),
    ]
    day, hour = (next(e for e in index.elements if e.attributes.get("name") == n) for n in ("day", "hour"))
    assert (day.near.before, hour.near.before) == ("Date:", "Time:")
    assert index.regions[day.region].kind is RegionKind.FIELD
    assert index.regions[day.region].name == "Departs"


def test_frames_and_shadow_roots_are_seen_with_their_paths(index):
    turn, hire = named(index, "Turn page"), named(index, "Hire")
    assert [root.kind for root in index.path_of_root(turn.root)] == [RootKind.DOCUMENT, RootKind.FRAME]
    assert [root.kind for root in index.path_of_root(hire.root)] == [RootKind.DOCUMENT, RootKind.SHADOW]
    assert index.roots[turn.root].host_css == "#inner"
    assert index.elements[index.roots[hire.root].host].tag == "my-card"
    assert (turn.box.x, turn.box.y) == (510, 60), "in pixels of the page's view"
    assert (named(index, "Far").box.x, named(index, "Far").box.y) == (300, 400)
    assert "iframe" in [each.tag for each in index.ancestors(turn)]


def test_what_fields_hold_is_never_told(index):
    said = repr(index)
    for secret in ("hunter2", "Secretive", "private words", "my log"):
        assert secret not in said


def test_hidden_elements_are_marked_and_stand_ins_are_known(index):
    assert not named(index, "Hidden").visible
    file = next(each for each in index.elements if each.id == "file")
    assert (file.visible, file.by_label, file.name) == (False, True, "Choose a file")
    fake = next(each for each in index.elements if each.id == "fake")
    assert (fake.interactive, fake.clickable, fake.text) == (False, True, "Reset all")
    assert file in index.interactive
    assert fake in index.interactive
    assert named(index, "Hidden") not in index.interactive


async def test_elements_can_be_fetched_and_selectors_checked(page, index):
    sink = named(index, "Sink")
    element = await fetch_element(page, index, sink.at)
    assert element is not None
    assert await element.inner_text() == "Sink"
    asked = [
        {"type": "role_name", "role": "button", "name": "Sink"},
        {"type": "role_name", "role": "button", "name": "Delete"},
        {"type": "css", "value": "#fake"},
        {"type": "css", "value": "a["},
    ]
    answers = await check_selectors(page, index, [(sink.at, Selector.model_validate(each)) for each in asked])
    assert answers == [True, False, False, False]
    await page.evaluate("document.querySelector('section').remove()")
    assert await fetch_element(page, index, sink.at) is None
    assert await check_selectors(page, index, [(sink.at, Selector.model_validate(asked[0]))]) == [False]


async def test_a_look_is_forgotten_after_others(page, index):
    for _ in range(3):
        await scan_page(page)
    assert await fetch_element(page, index, 0) is None


async def test_the_stored_page_gives_the_same_roles_and_names(page):
    await show(page, PAGE)
    await page.frame_locator("#inner").get_by_text("Turn page").wait_for()
    live = await scan_page(page, everything=True)
    await same_on_the_stored_page(page, live)


async def same_on_the_stored_page(page, live: PageIndex) -> None:
    stored = StoredPage(await take_snapshot(page))
    by_root = [[e for e in live.elements if e.root == at] for at in range(len(live.roots))]
    for root in stored.roots:
        kept = [e for e in root.elements if not ({e.tag, *(up.tag for up in e.ancestors())} & UNTOLD)]
        kept = [e for e in kept if not e.tag.startswith("pp-")]
        twins = next(each for each in by_root if [e.tag for e in each] == [e.tag for e in kept])
        assert [(e.role, e.name) for e in twins] == [(role_of(e), name_of(e)) for e in kept]
        assert [e.label for e in twins if e.label] == [
            text for e, t in zip(kept, twins, strict=True) if t.label and (text := label_text(e))
        ]


async def test_a_page_that_is_nothing_has_an_empty_index(page):
    await show(page, "")
    index = await scan_page(page)
    assert (index.elements, index.regions, len(index.roots), index.truncated) == ((), (), 1, False)


@pytest.mark.nightly
async def test_a_very_large_page_is_cut_and_says_so(page):
    await show(page, "<div id=all></div><script>all.innerHTML = '<button>x</button>'.repeat(20500)</script>")
    index = await scan_page(page)
    assert index.truncated
    assert len(index.elements) >= 20_000

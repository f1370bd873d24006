"""Dialogs that ask before something is changed are seen, and nothing is changed for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from agent.exploration.website_exploration import explore
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration
from tests.agent.exploration.small_site import SmallSite, small_site

pytestmark = pytest.mark.sampled(0.5)

KEYS = """<!doctype html><title>Keys</title><style>
 .back { position: fixed; inset: 0; background: #0008 } .box { width: 300px; background: white }
</style><main><h1>Keys</h1>
<button id=ask>Delete key</button> <button id=now>Remove member</button> <button id=old>Delete archive</button>
<button id=read>Delete report</button> <button>Delete picture</button> <a href="/later">Later</a></main><script>
 const open = (text) => {
   const back = document.createElement('div'); back.className = 'back';
   back.innerHTML = `<div class=box role=dialog aria-modal=true><h2>${text}</h2><input aria-label="Type its name">
     <button class=yes>Delete it</button><button class=no>Cancel</button></div>`;
   back.querySelector('.yes').onclick = () => fetch('/api/keys/1', {method: 'DELETE'});
   back.querySelector('.no').onclick = () => back.remove();
   document.body.append(back);
 };
 ask.onclick = () => { localStorage.setItem('asked', '1'); open('Delete this key?') };
 now.onclick = () => { fetch('/api/members/1', {method: 'DELETE'}).catch(() => open('It failed')) };
 old.onclick = () => { if (confirm('Delete the archive?')) fetch('/api/archive', {method: 'DELETE'}) };
 read.onclick = () => { fetch('/api/reports/harmless').catch(() => 0) };
 window.told = localStorage.getItem('asked');
</script>"""
LATER = "<!doctype html><title>Later</title><h1>Later</h1><p>Nothing yet.</p>"


def _tries(folder: ExplorationFolder) -> dict[str, list[AttemptedTransition]]:
    """The attempts by the name of their control."""
    found: dict[str, list[AttemptedTransition]] = {}
    offers = {(page.page_id, each.offer_id): each for page in folder.pages() for each in page.offers}
    for each in folder.passages():
        if each.offer_id is not None:
            found.setdefault(offers[each.from_page, each.offer_id].name, []).append(each)
    return found


async def _explored(
    browser: Browser, site: SmallSite, folder: Path, **more: object
) -> tuple[Exploration, ExplorationFolder]:
    wanted = site.wanted().model_copy(update=more)
    return await explore(browser, wanted, folder), ExplorationFolder(folder)


async def test_the_dialog_that_asks_is_a_page_of_its_own_and_nothing_is_sent(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": KEYS, "/later": LATER}) as site:
        done, folder = await _explored(browser, site, tmp_path)
        dialog = next(each for each in folder.pages() if each.layer == "dialog")
        assert {each.name for each in dialog.offers} >= {"Delete it", "Cancel", "Type its name"}
        tries = _tries(folder)
        assert [each.to_page for each in tries["Delete key"]] == [dialog.page_id]
        assert not {"Delete it", "Cancel"} & tries.keys(), "what lies on an isolated page is not used"
        sent = {each for each in site.asked if not each.startswith("GET")} | {
            each for each in site.asked if "/api/" in each
        }
        assert sent == set()
        assert any("deletes" in each.reason for each in done.unexplored), (
            "it is still told that it was not used"
        )


async def test_what_asks_nothing_is_told_apart_from_what_asks_with_a_box_of_the_browser(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": KEYS, "/later": LATER}) as site:
        _, folder = await _explored(browser, site, tmp_path)
        tries = _tries(folder)
        (now,), (old,), (read,) = tries["Remove member"], tries["Delete archive"], tries["Delete report"]
        assert (now.outcome, now.to_page) == ("refused", None), "the dialog about the failure is no question"
        assert "asks nothing" in now.message
        assert (old.outcome, old.message) == ("dialog", "Delete the archive?")
        assert (read.outcome, read.to_page) == ("refused", None)
        assert site.asked["GET /api/reports/harmless"] == 0, "not even what looks harmless"
        (picture,) = tries["Delete picture"]
        assert (picture.outcome, picture.to_page) == ("stayed", picture.from_page), "it does nothing"


async def test_the_session_of_the_exploration_keeps_nothing_of_it(browser: Browser, tmp_path: Path) -> None:
    page = KEYS.replace("<main>", "<main><p id=kept></p>").replace(
        "window.told =",
        "kept.innerHTML = localStorage.getItem('asked') ? '<button>Asked</button>' : '';window.told =",
    )
    with small_site({"/": page, "/later": LATER}) as site:
        _, folder = await _explored(browser, site, tmp_path)
        assert "Asked" not in {each.name for page in folder.pages() for each in page.offers}


async def test_it_can_be_switched_off(browser: Browser, tmp_path: Path) -> None:
    with small_site({"/": KEYS, "/later": LATER}) as site:
        _, folder = await _explored(browser, site, tmp_path, confirmations=False)
        assert not [each for each in folder.pages() if each.layer]
        assert "Delete key" not in _tries(folder)


async def test_a_dialog_that_was_seen_so_is_not_opened_again_when_the_exploration_goes_on(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": KEYS, "/later": LATER}) as site:
        await _explored(browser, site, tmp_path)
        before = len(ExplorationFolder(tmp_path).passages())
        done, folder = await _explored(browser, site, tmp_path)
        assert len(folder.passages()) == before
        assert not any("cannot be reached again" in each.reason for each in done.unexplored)


LISTS = """<!doctype html><title>Access</title><h1>Access</h1>{lists}<script>
 for (const each of document.querySelectorAll('button')) each.onclick = () => {{
   const asked = document.createElement('dialog');
   asked.innerHTML = `<h2>${{each.closest('section').dataset.asks}}</h2><button>Yes, revoke</button>`;
   document.body.append(asked); asked.showModal();
 }};
</script>"""
LIST = "<section data-asks='{asks}'><h2>{name}</h2><ul>{rows}</ul></section>"


async def test_of_each_list_one_row_is_pressed_though_the_buttons_are_called_alike(
    browser: Browser, tmp_path: Path
) -> None:
    rows = "".join(f"<li>{name} <button>Revoke</button></li>" for name in ("Ann", "Bob", "Cid"))
    lists = "".join(
        LIST.format(name=name, asks=asks, rows=rows)
        for name, asks in (("Sessions", "End the session?"), ("Applications", "Take its access?"))
    )
    with small_site({"/": LISTS.format(lists=lists)}) as site:
        _, folder = await _explored(browser, site, tmp_path)
        assert [each.outcome for each in _tries(folder)["Revoke"]] == ["arrived", "arrived"]

"""Pages that want to end, read or forge a recording: what a person did is recorded, and that alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest
from playwright.async_api import async_playwright

from agent.browser import browser_life
from agent.browser.browser_life import close_browser
from agent.browser.browser_processes import end_process
from agent.browser.launch import launch
from agent.recording.demonstration_recorder import AlreadyRecorded, DemonstrationRecorder
from agent.run_context import RunContext
from tests.support.pages import SITE
from tests.support.recorded_people import told, watched

BROKEN = """<!doctype html><title>Ad</title><label>Name <input></label><button id=del>Delete all</button><script>
const tries = [];
const look = (view) => { for (const name of Object.getOwnPropertyNames(view)) if (/playwright|binding|__p|periplus/i.test(name)) tries.push(name) };
look(window);
const frame = document.createElement("iframe"); document.body.append(frame); look(frame.contentWindow);
for (const name of ["__playwright__binding__", "__periplusHeard", "periplusTell"]) try { window[name]("x"); tries.push("called " + name) } catch {}
document.body.dataset.tries = tries.join(" ");
</script>"""
FORGING = """<!doctype html><title>Ad</title><label>Name <input></label><button id=del>Delete all</button><script>
const taken = [], del = () => document.getElementById("del"), fake = () => ({ isTrusted: true, button: 0, detail: 1, type: "click", composedPath: () => [del()], clientX: 9, clientY: 9 });
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (kind, listener, ...more) { taken.push(listener); return listen.call(this, kind, listener, ...more) };
const timer = window.setTimeout;
window.setTimeout = (work, ...more) => { taken.push(work); return timer(work, ...more) };
const closest = window.getComputedStyle;
window.getComputedStyle = function own(...given) { try { taken.push(own.caller) } catch {} return closest(...given) };
timer(() => { document.open(); document.write("<title>new</title><label>Name <input></label><button id=del>Delete all</button>"); document.close(); }, 100);
timer(() => { for (const each of taken.splice(0)) try { each(fake()); each("click", del(), null) } catch {} document.title = "forged" }, 300);
timer(() => { document.getElementById("del").click() }, 300);
</script>"""


async def test_a_page_has_no_binding_of_the_driver_and_what_is_done_on_it_is_recorded(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", BROKEN) as person:
        assert await person.page.get_attribute("body", "data-tries") == ""
        await person.page.get_by_label("Name").press_sequentially("Ada")
        recording, trace = await person.done()
    assert told(trace)[1:] == [("fill", "Ada", "textbox 'Name'")]
    assert recording.failure is None


async def test_what_a_page_calls_of_the_recorder_is_no_action(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", FORGING) as person:
        await person.page.wait_for_function("document.title === 'forged'")
        await person.page.get_by_label("Name").press_sequentially("Ada")
        _, trace = await person.done()
    assert [step[:2] for step in told(trace)[1:]] == [("fill", "Ada")]


ALONE = """<!doctype html><title>Ad</title><label>Name <input></label><label><input type=checkbox class=b>One</label><input type=checkbox class=b>
<input type=checkbox class=b><input type=radio class=b><label id=l><input type=checkbox>Two</label><textarea></textarea><div contenteditable>x</div>
<input id=i><input type=checkbox id=c><select><option>1<option>2</select><script>
const [one, two, three, four] = document.querySelectorAll(".b"), area = document.querySelector("textarea"), editor = document.querySelector("div"), list = document.querySelector("select");
setTimeout(one.click.bind(one)); setTimeout(() => two.click()); Promise.resolve().then(() => three.click()); requestAnimationFrame(() => four.click()); setTimeout(() => l.click());
setTimeout(area.focus.bind(area), 50); setTimeout(document.execCommand.bind(document, "insertText", false, "forged"), 60);
setTimeout(() => { editor.focus(); document.execCommand("insertText", false, "forged") }, 90);
i.value = "forged"; c.checked = true; list.value = "2";
for (const [el, kind] of [[i, "input"], [c, "change"], [list, "change"]]) setTimeout(el.dispatchEvent.bind(el, new Event(kind, { bubbles: true })), 120);
setTimeout(() => { document.title = "forged" }, 400);
</script>"""


async def test_what_a_page_ticks_types_and_chooses_itself_is_no_action(browser, tmp_path):
    """The browser calls the functions that are bound: no script of the page is on the stack."""
    async with watched(browser, tmp_path / "trace", ALONE) as person:
        await person.page.wait_for_function("document.title === 'forged'")
        assert await person.page.evaluate("[area.value, one.checked, four.checked]") == ["forged", True, True]
        await person.page.get_by_label("Name").press_sequentially("Ada")
        await person.page.get_by_label("Two").click()
        _, trace = await person.done()
    assert [step[:2] for step in told(trace)[1:]] == [("fill", "Ada"), ("uncheck", None)]


FIELDS = """<!doctype html><title>Ad</title><label>Name <input id=n></label><select id=s aria-label=Role><option>Guest<option>Owner</select>
<label><input type=checkbox id=c>Agree</label><input id=t aria-label=Amount><script>DOES</script>"""
DISPATCHES = """setTimeout(() => { s.value = 'Owner'; s.dispatchEvent(new Event('change', {bubbles: true})); t.value = '9999'; t.dispatchEvent(new Event('input', {bubbles: true}));
c.checked = true; c.dispatchEvent(new Event('change', {bubbles: true})) }, 200); setTimeout(() => { document.title = 'forged' }, 700);"""
INSERTS = "setTimeout(() => { t.focus(); document.execCommand('insertText', false, '9999') }, 200); setTimeout(() => { document.title = 'forged' }, 700);"
ONCE = "if (!sessionStorage.r) { sessionStorage.r = 1; DOES; setTimeout(() => { document.title = 'forged' }, 3800) } else setTimeout(() => { document.title = 'forged' }, 500)"
FORGES = {
    "what is said of calls": "Error.prepareStackTrace = () => 'Error\\n    at a\\n    at b\\n    at c';" + DISPATCHES,
    "how many calls are said": "Error.stackTraceLimit = 3.5;" + DISPATCHES,
    "calls that stay as they are": "Object.defineProperty(Error, 'stackTraceLimit', {value: 3.5});" + DISPATCHES,
    "what selectors hold": "const m = Element.prototype.matches; Element.prototype.matches = function (q) { return q === ':autofill' || m.call(this, q) };" + INSERTS,
    "what contains what": "Node.prototype.contains = () => true;" + INSERTS,
    "a reload by itself": ONCE.replace("DOES", "setTimeout(() => location.reload(), 2500)"),
    "a refresh by its markup": ONCE.replace("DOES", "document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content=2>')"),
    "back by itself": ONCE.replace("DOES", "setTimeout(() => history.pushState(1, '', '/inner'), 300); setTimeout(() => history.back(), 2800)"),
    "forward by itself": ONCE.replace(
        "DOES", "setTimeout(() => history.pushState(1, '', '/all'), 300); setTimeout(() => history.back(), 600); setTimeout(() => history.forward(), 3000)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("does", FORGES.values(), ids=FORGES)
async def test_what_a_page_writes_about_itself_makes_no_action(browser, tmp_path, does: str):
    async with watched(browser, tmp_path / "trace", FIELDS.replace("DOES", does)) as person:
        await person.page.wait_for_function("document.title === 'forged'")
        await person.page.locator("#n").press_sequentially("Ada")
        recording, trace = await person.done()
    assert told(trace)[1:] == [("fill", "Ada", "textbox 'Name'")]
    assert recording.failure is None


async def test_what_a_person_does_on_such_a_page_is_recorded(browser, tmp_path):
    does = "Error.prepareStackTrace = () => 'x'; Error.stackTraceLimit = 1; document.title = 'ready'"
    async with watched(browser, tmp_path / "trace", FIELDS.replace("DOES", does)) as person:
        await person.page.locator("#t").fill("7")  # as a password manager does
        await person.page.locator("#s").select_option("Owner")
        await person.page.get_by_label("Agree").check()
        await person.page.wait_for_timeout(1_600)
        await person.page.reload()
        _, trace = await person.done()
    assert [step[0] for step in told(trace)[1:]] == ["fill", "select_option", "check", "refresh"]


async def test_a_context_is_recorded_once(browser, tmp_path):
    async with watched(browser, tmp_path / "one") as person:
        with pytest.raises(AlreadyRecorded):
            await DemonstrationRecorder(person.browser, tmp_path / "two", context=RunContext()).start()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
async def test_a_recording_whose_driver_ends_ends_by_itself_and_keeps_what_was_done(tmp_path):
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        processes = browser_life._WATCHED[browser].processes
        async with watched(browser, tmp_path / "trace") as person:
            await person.page.get_by_label("Name").press_sequentially("Ada")
            await person.page.get_by_role("checkbox").click()
            await person.recorder.rest()
            os.kill(processes.driver, signal.SIGKILL)
            async with asyncio.timeout(20):
                await person.recorder.closed.wait()
            recording = await person.recorder.finish()
            assert "driver" in (recording.failure or "")
            assert [each.action_type for each in recording.actions] == ["navigate", "fill", "check"]
            end_process(processes.browser)
            person.browser.close = _nothing
        await close_browser(browser)
    assert SITE in recording.actions[0].url


async def _nothing() -> None:
    """A context whose driver has ended cannot be closed."""

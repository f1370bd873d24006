"""In a browser that is given, scripts of a window's first document run before ours: they write no step that nobody did."""

from __future__ import annotations

import asyncio

from agent.recording.demonstration_recorder import DemonstrationRecorder
from agent.run_context import RunContext
from kb_schema.session_reader import read_session
from periplus.session_setup.lent_context import LentContext
from tests.support.pages import SITE
from tests.support.recorded_people import told

OPENER = "<!doctype html><title>Quay</title><button onclick=\"window.open('/berths')\">Berths</button>"
FORGING = """<!doctype html><title>Berths</title><label>Name <input></label><button id=del>Delete all</button><script>
const names = new Set(), own = EventTarget.prototype.dispatchEvent, Native = CustomEvent;
EventTarget.prototype.dispatchEvent = function (event) { const name = /^([0-9a-f]{32})-/.exec(event.type); if (name) names.add(name[1]); return own.call(this, event) };
const what = JSON.stringify({ kind: "click", at: -1, foreign: false, url: location.href, time: Date.now(), tag: "button", field: false, secret: false });
setInterval(() => { for (const name of names) performance.dispatchEvent(new Native(name + "-tell", { detail: JSON.stringify([what, "", ""]) })); document.title = "forged " + names.size }, 100);
</script>"""


async def test_the_first_document_of_a_window_forges_no_step(browser, tmp_path):
    context = await browser.new_context()
    pages = {f"{SITE}/": OPENER, f"{SITE}/berths": FORGING}
    await context.route(
        f"{SITE}/**", lambda route: route.fulfill(content_type="text/html", body=pages[route.request.url])
    )
    lent = LentContext(context, answers_dialogs=False)
    recorder = DemonstrationRecorder(lent.as_context(), tmp_path / "trace", context=RunContext())
    await recorder.start()
    page = await lent.new_page()
    await page.goto(f"{SITE}/")
    async with page.expect_popup() as opened:
        await page.get_by_role("button").click()
    window = await opened.value
    await window.wait_for_function("document.title === 'forged 1'")
    await asyncio.sleep(0.5)
    await window.get_by_label("Name").press_sequentially("Ada")
    await recorder.rest()
    for each in lent.pages:
        await each.close()
    recording = await recorder.finish()
    await context.close()
    steps = [step[:2] for step in told(read_session(tmp_path / "trace"))]
    assert steps[:2] == [("navigate", f"{SITE}/"), ("click", None)]
    assert ("fill", "Ada") in steps
    assert steps.count(("click", None)) <= 4, "one for each press of a key at most"
    assert "without a press" in " ".join(recording.problems)

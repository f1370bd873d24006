"""A page cannot put anything in the place of our functions in it."""

from __future__ import annotations

from tests.support.pages import show

REPLACING = """<title>Quay</title><script>
const key = Symbol.for("periplus.page.1"), own = window[key];
const attempt = (change) => { try { change() } catch {} };
attempt(() => { own.lookFrom = () => "forged" });
attempt(() => Object.defineProperty(own, "lookFrom", { value: () => "forged" }));
attempt(() => { delete own.lookFrom });
attempt(() => Object.setPrototypeOf(own, {}));
attempt(() => { window[key] = { forged: true } });
attempt(() => Object.defineProperty(window, key, { value: { forged: true } }));
const isOurs = (view) => { attempt(() => { view[key] = { forged: true } }); return Boolean(view[key]) && !view[key].forged };
const frame = document.createElement("iframe");
document.documentElement.append(frame);
window.found = [window[key] === own, !String(own.lookFrom).includes("forged"), isOurs(frame.contentWindow), isOurs(open("about:blank"))];
</script>"""


async def test_a_page_does_not_replace_our_functions_there_in_its_frames_or_its_windows(page):
    await show(page, REPLACING, "/quay")
    assert await page.evaluate("found") == [True, True, True, True]

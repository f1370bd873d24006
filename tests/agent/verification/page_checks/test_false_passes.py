"""`verify` passes only what happened: what nobody can see, what stood there before and what the site refused is no evidence."""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from tests.agent.verification.page_checks.conftest import HASTY, requirement

SAVED = "said.textContent = 'Saved'"
STATUS = "<p role=status id=said></p>"
STOOD = "<p role=status id=said>Saved</p>"
FLEX = "<div role=status id=said style='display:flex;gap:4px'></div>"
NOT = "<span>Not</span><span>saved</span>"
FADING = """<p id=said style='opacity:0'>Error</p><style>@keyframes show{0%,60%{opacity:0}to{opacity:1}} @keyframes blink{0%,90%{opacity:0}to{opacity:1}}
.in{animation:show .9s forwards} .blink{animation:blink 60s infinite}</style>"""
FOREIGN = "said.innerHTML = `<iframe src=${origin.replace('127.0.0.1', 'localhost')}/other></iframe>`"

NOT_SO = {
    "unseen": (STATUS.replace("<p", "<p style='opacity:0'"), SAVED, "message:Saved", "nobody can see it"),
    "unseen text": ("<p id=said style='color:#fff'></p>", SAVED, "shows:Saved", "the colour of its ground"),
    "unseen heading": ("<h2 id=said style='opacity:0'></h2>", SAVED, "heading:Saved", "transparent"),
    "unseen dialog": (
        "<div role=dialog id=said style='opacity:0' hidden>Sure?</div>", "said.hidden = false", "dialog_opens", "transparent",
    ),
    "part of a word": (STATUS, "said.textContent = 'UnSaved'", "message:Saved", "only as a part"),
    "part of a number": (STATUS, "said.textContent = '12 rows'", "shows:2 rows", "only as a part"),
    "denied": (STATUS, "said.textContent = 'Not Saved'", "message:Saved", "denied"),
    "denied after it": (STATUS, "said.textContent = 'Saved: no, not done'", "message:Saved", "denied"),
    "denied in German": (STATUS, "said.textContent = 'Nicht Gespeichert'", "message:Gespeichert", "denied"),
    "denied in another box": (FLEX, f"said.innerHTML = '{NOT}'", "message:saved", "denied"),
    "denied in another box of the page": (FLEX.replace("role=status", ""), f"said.innerHTML = '{NOT}'", "shows:saved", "denied"),
    "denied by generated text": (
        "<style>#said::before{content:'Not'}</style>" + FLEX, "said.innerHTML = '<span>saved</span>'", "message:saved", "denied",
    ),
    "denied by letters": (FLEX.replace("gap:4px", "gap:0"), "said.innerHTML = '<b>N</b><b>o</b><b>t</b><b>&nbsp;saved</b>'", "message:saved", "denied"),
    "denied by a count": (STATUS, "said.textContent = '0 rows saved'", "message:rows saved", "denied"),
    "a failure as a value": (STATUS, "said.innerHTML = 'Saved: <b>failed</b>'", "message:Saved", "denied"),
    "failed": (STATUS, "said.textContent = 'Save failed'", "message:Save", "denied"),
    "none of them": (STATUS, "said.textContent = 'Failed: saved 0 of 3 rows'", "message:saved", "denied"),
    "fading in": (FADING, "said.className = 'in'", "not_shows:Error", "shows"),
    "blinking": (FADING, "said.className = 'blink'", "not_shows:Error", "shows"),
    "marker": ("<ul><li id=said>x</ul><style>.e::marker{content:'Error '}</style>", "said.className = 'e'", "not_shows:Error", "shows 'Error x'"),
    "a title that says it is not there": ("", "location = '/gone/title'", "navigates_to:Products", "answered 404"),
    "a heading that says it is not there": ("", "location = '/gone/heading'", "navigates_to:Products", "answered 404"),
    "a heading that denies access": ("", "location = '/denied'", "navigates_to:Products", "answered 403"),
    "a heading of something else": ("", "location = '/gone/lost'", "navigates_to:Products", "answered 404"),
    "denied in brackets": (STATUS, "said.textContent = 'Saved (failed)'", "message:Saved", "denied"),
    "struck out": ("<p id=said></p>", "said.innerHTML = '<s>Saved</s>'", "shows:Saved", "struck out"),
    "deleted": ("<p id=said></p>", "said.innerHTML = '<del>Draft</del> Published'", "shows:Draft", "struck out"),
    "part of a word in boxes": (FLEX.replace("gap:4px", "gap:0"), "said.innerHTML = '<b>Un</b><b>saved</b>'", "message:saved", "part of 'Unsaved'"),
    "stood before": (STOOD, "", "message:Saved", "stood there before"),
    "stood before, with a field": (STOOD, "", "message:Saved; field_value:Name=Ada", "stood there before"),
    "text before": ("<p id=said>Saved</p>", "", "shows:Saved", "stood there before"),
    "text before, with a state": ("<p id=said>Saved</p>", "", "shows:Saved; url:/", "stood there before"),
    "dialog before": ("<div role=dialog id=said>Sure?</div>", "", "dialog_opens", "stood there before"),
    "generated": ("<style>.e::before{content:'Error'}</style><p id=said></p>", "said.className = 'e'", "not_shows:Error", "shows 'Error'"),
    "closed root": ("<p id=said></p>", "said.attachShadow({mode: 'closed'}).innerHTML = 'Error'", "not_shows:Error", "shows 'Error'"),
    "field": ("<p id=said></p>", "said.innerHTML = '<input readonly value=Error>'", "not_shows:Error", "shows 'Error'"),
    "invisible sign": ("<p id=said></p>", "said.textContent = 'Er\\u200bror'", "not_shows:Error", "shows"),
    "alert": ("<p id=said></p>", "alert('Error')", "not_shows:Error", "dialog said 'Error'"),
    "foreign frame": ("<p id=said></p>", FOREIGN, "not_shows:Error", "shows 'Error'"),
    "late": ("<p id=said></p>", "setTimeout(() => said.textContent = 'Error', 700)", "not_shows:Error", "shows"),
    "late on the console": ("<p id=said></p>", "setTimeout(() => console.error('no'), 800)", "no_console_errors", "no"),
    "no page": ("", "location = '/vessels'", "navigates_to:Vessels", "answered 404"),
    "no page, by hash": ("", "location.hash = '/vessels'", "navigates_to:Vessels", "only the address changed"),
    "no page, by history": ("", "history.pushState(0, 0, '/vessels')", "navigates_to:Vessels", "only the address changed"),
    "no file": ("<a id=said download=report.csv href='/none'></a>", "said.click()", "downloads:report.csv", "was not downloaded"),
}  # fmt: skip
SO = {
    "soft hyphens": (STATUS, "said.innerHTML = 'Gespei&shy;chert'", "message:Gespeichert; shows:Gespeichert"),
    "signs that nobody sees": (STATUS, "said.innerHTML = '\u200e2&nbsp;ro\u2060ws\ufeff'", "message:2 rows"),
    "soft hyphens in a title": ("", "document.title = 'Gespei\u00adchert'", "title:Gespeichert"),
    "soft hyphens in a heading": ("<h2 id=said></h2>", "said.innerHTML = 'Gespei&shy;chert'", "heading:Gespeichert"),
    "faded": ("<p id=said>Error</p>", "said.style.opacity = 0", "not_shows:Error"),
    "fading out": ("<p id=said style='transition:opacity .4s'>Error</p>", "said.style.opacity = 0", "not_shows:Error"),
    "in a field": ("<input readonly id=said>", "said.value = 'Saved'", "shows:Saved"),
    "beside another text": (FLEX, "said.innerHTML = '<span>Never expires</span><span>Saved</span>'", "message:Saved"),
    "beside a badge": (
        "<p id=said></p>", "said.innerHTML = '<b style=\"background:#fdd;padding:2px\">Not paid</b> Saved'", "shows:Saved",
    ),
    "beside a check box": ("<p id=said></p>", "said.innerHTML = '<label><input type=checkbox> Not important</label> Saved'", "shows:Saved"),
    "the name of a thing": (STATUS, "said.textContent = 'Failed login rule saved'", "message:saved"),
    "a page of a single-page application that is answered 404": ("", "location = '/gone/vessels'", "navigates_to:Products"),
    "an old price": ("<p id=said></p>", "said.innerHTML = '<s>20 EUR</s> 15 EUR'", "shows:20 EUR"),
    "a report of a failure": (STATUS, "said.textContent = 'Failure report saved'", "message:report saved"),
    "words in boxes": (FLEX.replace("gap:4px", "gap:0"), "said.innerHTML = '<b>Ada</b><b>Saved</b>'", "message:Saved"),
    "new message": (STATUS, SAVED, "message:Saved"),
    "again": (STOOD, SAVED, "message:Saved"),
    "shown again": (STOOD.replace("<p", "<p hidden"), "said.hidden = false", "message:Saved"),
    "moved in": (STOOD.replace("<p", "<p style='position:fixed;top:-100px'"), "said.style.top = '9px'", "message:Saved"),
    "not denied": (STATUS, "said.textContent = 'No errors. Saved with no problems, not published yet.'", "message:Saved"),
    "denied as expected": (STATUS, "said.textContent = 'Not Saved'", "message:Not Saved"),
    "in Chinese": (STATUS, "said.textContent = '已保存了'", "message:保存"),
    "text that stays": ("<p id=said></p><p>Vessels</p>", SAVED, "shows:Vessels; shows:Saved"),
    "text that stays, elsewhere": ("<p>Save the vessels</p>", "location = '/other?'", "shows:Error; url:/other"),
    "text that is written apart": ("<div style='display:flex;gap:9px'><span>Name</span><span id=said></span></div>", SAVED, "shows:Saved"),
    "number with a unit": (STATUS, "said.textContent = '2,000.00€'", "shows:2,000.00"),
    "dialog again": ("<div role=dialog id=said>Sure?</div>", "said.textContent = 'Quite sure?'", "dialog_opens"),
    "an entry": ("<p id=said></p>", "said.innerHTML = '<input value=Error>'", "not_shows:Error"),
    "a word that begins so": ("<p id=said></p>", SAVED, "not_shows:Save d"),
    "route": ("<main id=said></main>", "location.hash = '/vessels'; said.innerHTML = '<p>All</p>'", "navigates_to:Vessels"),
    "a page of an error that says its name": ("", "location = '/gone'", "navigates_to:No such vessel"),
    "hidden frame": ("<p id=said></p>", "said.innerHTML = '<iframe hidden src=/other></iframe>'", "not_shows:Error"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "press", "expected", "reason"), NOT_SO.values(), ids=NOT_SO)
async def test_what_did_not_happen_does_not_pass(body, press, expected, reason, site, open_site_page):
    assert reason in str(await _verify(site, open_site_page, body, press, expected))


@pytest.mark.parametrize(("body", "press", "expected"), SO.values(), ids=SO)
async def test_what_happened_passes(body, press, expected, site, open_site_page):
    assert await _verify(site, open_site_page, body, press, expected) is None


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("<input oninput=\"setTimeout(() => this.value = '', 900)\">", "field_populated"),
        ("<input oninput=\"setTimeout(() => this.value = 'Bob', 900)\">", "field_value:Ada"),
    ],
)
async def test_a_field_that_the_page_changes_later_does_not_pass(field, expected, site, open_site_page):
    site.page("/", f"<h1>Harbour</h1><label>Crew {field}</label>")
    assert "the field" in str(await _judge(open_site_page, f"Crew | fill | Ada | {expected}"))


async def _verify(site, open_site_page, body, press, expected):
    """Return why a press does not pass; None if it does."""
    site.page(
        "/",
        f"""<h1>Harbour</h1><label>Name <input value=Ada></label><button id=go>Save</button>{body}
        <script>go.onclick = () => {{ {press} }}</script>""",
    )
    site.page("/other", "<p>Error</p>")
    site.page("/gone", "<h1>No such vessel</h1>", status=404)
    site.page("/gone/title", "<h1>Oh</h1>", title="Products - not found", status=404)
    site.page("/gone/heading", "<h1>404</h1><h2>Products</h2>", title="Products", status=404)
    site.page("/gone/lost", "<h1>Oops! We lost this page</h1>", title="Products", status=404)
    site.page("/gone/vessels", "<h1>Products</h1><h3>No offers today</h3>", title="Products", status=404)
    site.page("/denied", "<h1>Access denied</h1>", title="Products", status=403)
    return await _judge(open_site_page, f"Save | click | | {expected}")


async def _judge(open_site_page, step):
    async with open_site_page() as site_page:
        site_page.policy = HASTY
        plan = await build_plan(site_page, requirement(step))
        if plan.missing:
            return plan.missing[0].reason
        await open_first_page(site_page, "/")
        done = await execute_step(site_page, plan.steps[0])
        return done.evidence.message if isinstance(done, FailedStep) else None

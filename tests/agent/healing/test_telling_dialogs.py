"""Dialogs that only tell something, as applications greet who has signed in: they are gone through, and nothing is agreed to."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agent.healing.element_reveal import dismiss_dialogs
from agent.locators.page_scan import scan_page
from tests.support.pages import show

GREETING = """<!doctype html><title>Harbour</title><main><a href=/berths>Berths</a></main>
<div role=dialog aria-label=Welcome style="position: fixed; inset: 0; background: white"></div><script>
const steps = STEPS, pressed = [];
const dialog = document.querySelector("[role=dialog]");
function show(at) {
  if (at === steps.length) return dialog.remove();
  dialog.innerHTML = steps[at];
  for (const each of dialog.querySelectorAll("button"))
    each.onclick = () => { pressed.push(each.textContent); if (!/again|back/i.test(each.textContent)) show(at + 1); };
}
show(0);
</script>"""


async def gone_through(page: Page, *steps: str, html: str = GREETING) -> list[str]:
    await show(page, html.replace("STEPS", repr(list(steps))))
    await dismiss_dialogs(page, await scan_page(page))
    pressed: list[str] = await page.evaluate("pressed")
    return pressed


@pytest.mark.parametrize(
    "steps",
    [
        ["<p>Hello and welcome</p><button>OK</button>"],
        ["<p>Hello and welcome</p><a href=/more>More</a><button>Continue</button>"],
        ["<p>One of two</p><button>Next</button>", "<p>Two of two</p><button>Back</button><button>Next</button>"],
        ["<p>One of two</p><button>Next</button>", "<p>Have fun</p><button>Read again</button><button>Dive in!</button>"],
    ],
)  # fmt: skip
async def test_a_dialog_with_one_way_on_is_gone_through_to_its_end(page: Page, steps: list[str]) -> None:
    assert len(await gone_through(page, *steps)) == len(steps)
    assert await page.locator("[role=dialog]").count() == 0


@pytest.mark.parametrize(
    "step",
    [
        "<p>Keep your berth for another year?</p><button>OK</button>",
        "<p>This will delete all boats.</p><button>OK</button>",
        "<p>Hello</p><label>Name <input></label><button>Next</button>",
        "<p>We use cookies</p><button>Accept</button>",
        "<p>Hello</p><button>Take the tour</button><button>Dive in!</button>",
        "<p>Hello</p><button>Next</button><button>Buy</button>",
        "<p>Your account is closed and all boats are removed.</p><button>OK</button>",
        "<p>From today on this costs 99 EUR a month.</p><button>OK</button>",
        "<p>All 300 files will be gone for good.</p><button>OK</button>",
        "<p>By going on you agree to the terms.</p><button>OK</button>",
        "<p>Mallory becomes the owner of this harbor.</p><button>OK</button>",
        "<p>The main engine is shut down.</p><button>OK</button>",
        "<form method=post><input type=hidden name=action value=delete_account><p>Welcome here.</p><button>OK</button></form>",
        "<p></p><button>OK</button>",
    ],
)
async def test_a_dialog_that_asks_or_does_something_is_left(page: Page, step: str) -> None:
    assert await gone_through(page, step) == []


GIVEN_AND_TAKEN = "<p>With a rented program you cannot know when it will be updated, which features will be added or removed or if it might be stopped.</p>"


@pytest.mark.parametrize(
    "news",
    [
        GIVEN_AND_TAKEN,
        "<p>New in 3.2. Some old features have been removed. Have fun.</p>",
        "<p>Welcome to version 3.2. Deprecated functions were renamed or removed.</p>",
    ],
)
async def test_a_greeting_with_news_of_the_program_is_gone_through(page: Page, news: str) -> None:
    steps = ["<p>Hello and welcome</p><button>Next</button>", f"{news}<button>Next</button>", "<p>Have fun</p><button>Dive in!</button>"]  # fmt: skip
    assert await gone_through(page, *steps) == ["Next", "Next", "Dive in!"]


@pytest.mark.parametrize(
    "step",
    [
        "<p>Boats and features are removed.</p>",
        "<p>Boats, some features and berths are removed.</p>",
        "<p>Your features are removed.</p>",
        "<p>Features are removed from the plan Pro.</p>",
        "<p>Features of the plan are removed.</p>",
        "<p>Some features are removed, your boats too.</p>",
        "<p>Some features are removed and so are all boats.</p>",
        "<p>Some features are removed, as are the boats of the crew.</p>",
        "<p>Some features are removed. The boat Heron is removed.</p>",
        "<p>You choose which features are removed and the boat Heron is deleted.</p>",
        "<p>Boats <b>features will be removed</b></p>",
        "<p>New features cost 9 EUR a month.</p>",
        "<p>Which features will be removed?</p>",
    ],
)
async def test_news_of_the_program_hide_nothing_else(page: Page, step: str) -> None:
    assert await gone_through(page, f"<p>Welcome.</p>{step}<button>Next</button>") == []


NOTE = GREETING.replace("aria-label=Welcome", "aria-label=Note")


@pytest.mark.parametrize(
    "step",
    [
        "<p>Your boats are seen by all now.</p><button>OK</button>",
        "<p>Bilge water is high in the boat Heron.</p><button>OK</button>",
        "<p>The subscription goes on for 12 months.</p><button>Next</button>",
        "<p>Everybody on the list gets this mail now.</p><button>OK</button>",
        "<p>The page below says more.</p><button>OK</button>",
        "<p>Berth 7, from Monday to Friday.</p><button>OK</button>",
        "<p>Welcome here.</p><button title='Delete all boats'>OK</button>",
        "<p>Welcome here.</p><button aria-description='Delete all boats'>OK</button>",
        "<p>Welcome to the crew.</p><button hx-post='/crew/join'>OK</button>",
        "<p>Welcome to the crew.</p><button data-method=put>OK</button>",
        "<p>Welcome here.</p><button form=f>OK</button><form id=f method=post></form>",
        "<p>Welcome. The server restarts now.</p><button>OK</button>",
        "<p>From today you are on the plan Pro.</p><button>Next</button>",
        "<p>Welcome. We use cookies and share them with 300 partners.</p><button>OK</button>",
        "<p>Willkommen. Ihr Konto wird geschlossen.</p><button>OK</button>",
        "<p>Hola. Su cuenta se cerrar\u00e1 hoy.</p><button>OK</button>",
    ],
)
async def test_a_dialog_that_does_not_greet_or_does_more_is_left(page: Page, step: str) -> None:
    assert await gone_through(page, step, html=NOTE) == []


async def test_the_name_of_a_dialog_is_a_word_of_it(page: Page) -> None:
    asks = GREETING.replace("aria-label=Welcome", "aria-label='Delete your account?'")
    assert await gone_through(page, "<p>Hello and welcome</p><button>OK</button>", html=asks) == []
    assert await gone_through(page, "<p>Hello and welcome</p><button>OK</button>", html=NOTE) == ["OK"]


async def test_what_comes_after_a_step_is_left_if_it_asks_or_does_something(page: Page) -> None:
    tells = "<p>One of two</p><button>Next</button>"
    for last in (
        "<p>Now invite your crew</p><button>Invite</button>",
        "<p>Be told of tides?</p><button>Yes</button>",
        "<p>Your account is closed now.</p><button>OK</button>",
    ):
        assert await gone_through(page, tells, last) == ["Next"]


WELCOME = "<p>Hello and welcome</p><button>OK</button>"


@pytest.mark.parametrize("html", [GREETING, NOTE], ids=["in a greeting", "in a note"])
@pytest.mark.parametrize(
    "step",
    [
        "<p>Boat Heron, berth 7</p><button>Keep</button><button>Let it go</button>",
        "<p>Plan of two</p><button>Free</button><button>Go Pro</button>",
        "<p>Who is to see it</p><button>Private</button><button>Public</button>",
        "<p>Two of two</p><button>Stay a guest</button><button>Make me an admin</button>",
        "<p>Two of two</p><button>Staging</button><button>Roll out to production</button>",
        "<p>Two of two</p><button>Next</button><button>Dark mode</button>",
        "<p>Boat Heron, berth 7</p><button>Back</button><button>Let it go</button>",
        "<p>Ada Lovelace</p><button>Back</button><button>Make her an admin</button>",
        "<p>Who is to see it</p><button>Previous</button><button>Public</button>",
        "<p>Device 7</p><button>Start over</button><button>Factory settings</button>",
        "<p>Plan of two</p><a href='#free'>Free</a><button>Back</button><button>Go Pro</button>",
        "<p>Two of two</p><a href='#free'>Stay with Free</a><button>Back</button><button>Next</button>",
    ],
)
async def test_a_choice_after_a_greeting_is_left(page: Page, html: str, step: str) -> None:
    assert await gone_through(page, WELCOME, step, html=html) == ["OK"]


@pytest.mark.parametrize(
    "step",
    [
        "<p>Boat Heron, berth 7</p><button>Let it go</button>",
        "<p>Mallory can see your files from now on.</p><button>OK</button>",
        "<p>Boat 2 of 4 in the queue</p><button>Ship it</button>",
    ],
)
async def test_what_comes_after_a_greeting_and_is_no_part_of_it_is_left(page: Page, step: str) -> None:
    assert await gone_through(page, WELCOME, step, html=NOTE) == ["OK"]


@pytest.mark.parametrize(
    "button",
    [
        "<a href='#free'>Stay with Free</a><button>Continue</button>",
        "<a href=/free>Stay with Free</a><button>Continue</button>",
        "<button onmouseup=\"fetch('/account', {method: 'DELETE'})\">OK</button>",
        '<button hx-trigger=click hx-vals=\'{"op": "wipe"}\'>OK</button>',
        "<button data-action=wipe_all>OK</button>",
        "<button data-url=/boats/7/state>OK</button>",
        "<button phx-click=next>OK</button>",
    ],
)
async def test_a_greeting_with_another_way_or_markup_that_does_something_is_left(
    page: Page, button: str
) -> None:
    assert await gone_through(page, f"<p>Hello and welcome</p>{button}") == []
    plain = "<a href=/docs>Learn more</a><a href='https://example.org/free'>Stay</a><button data-action=next onfocus='this.blur()'>OK</button>"
    assert await gone_through(page, f"<p>Hello and welcome</p>{plain}") == ["OK"]


@pytest.mark.parametrize(
    "steps",
    [
        [
            "<p>Hello. 1 of 2</p><button>Next</button>",
            "<p>2 of 2. Ada Lovelace</p><button>Make her an admin</button>",
        ],
        ["<p>Hello. 1 of 2</p><button>Next</button>", "<p>Photo 2 of 2</p><button>Go live</button>"],
        ["<p>Hello. 1 of 2 boats</p><button>OK</button>", "<p>Boat 2 of 2</p><button>Let it go</button>"],
    ],
)
async def test_a_next_page_of_a_greeting_goes_on_by_a_known_name_only(page: Page, steps: list[str]) -> None:
    assert len(await gone_through(page, *steps, html=NOTE)) == 1


async def test_the_pages_of_a_greeting_are_gone_through(page: Page) -> None:
    steps = ["<p>Hello. 1 / 3</p><button>Next</button>", "<p>Berths are here. 2 / 3</p><button>Next</button>", "<p>Have fun. 3 / 3</p><button>Dive in!</button>"]  # fmt: skip
    assert await gone_through(page, *steps, html=NOTE) == ["Next", "Next", "Dive in!"]


@pytest.mark.parametrize(
    "field", ["<input type=hidden name=action value=delete_all>", "<textarea hidden>all</textarea>"]
)
async def test_a_dialog_with_a_hidden_field_is_left(page: Page, field: str) -> None:
    assert await gone_through(page, f"<p>Hello and welcome</p>{field}<button>OK</button>") == []


@pytest.mark.parametrize(
    "step",
    [
        "<p>Cancel the booking of the boat Heron?</p><button>Cancel</button><button>Keep it</button>",
        "<h2>Close your account</h2><p>Nobody can sign in to it.</p><button>Close</button><button>Back</button>",
        "<p>Hide this boat from the crew?</p><button>Hide</button>",
        "<p>Ann invites you to the crew.</p><button>Join</button><button>Decline</button>",
        "<p>Save your changes?</p><button>Save</button><button>No</button>",
        "<form method=post action=/boats/7/state><p>The boat Heron.</p><button>Hide</button></form>",
        "<p>The boat Heron.</p><button title='Delete all boats'>\u00d7</button>",
        "<p>The boat Heron.</p><a href=/boats/7/delete>Close</a>",
        "<p>Your booking of the boat Heron. Do you really want to cancel?</p><button>Cancel</button><button>Keep it</button>",
        "<h2>Booking cancellation</h2><p>Boat Heron, 3 May.</p><button>Cancel</button><button>Keep it</button>",
        "<p>Your account will be closed.</p><button>Close</button><button>Keep it</button>",
        "<h2>Dismissal of captain Ada</h2><p>She gets a letter.</p><button>Dismiss</button><button>Back</button>",
        "<p>This hides the boat Heron from the crew.</p><button>Hide</button><button>Back</button>",
        "<p>Renew the berth Heron?</p><button>Yes</button><button>No</button>",
        "<p>Somebody signed in from Kiel. Was this you?</p><button>Yes</button><button>No</button>",
        "<h2>Crew</h2><ul><li>Ada <button>\u00d7</button></li><li>Bea <button>\u00d7</button></li></ul>",
        "<h2>Boats</h2><table><tr><td>Ada<td><button>\u2715</button><tr><td>Bea<td><button>\u2715</button></table>",
        "<p>The boat Heron.</p><button onclick='closeAccount()'>Close</button>",
        "<p>The boat Heron.</p><div onclick='closeAccount()'><button>Close</button></div>",
        "<p>The boat Heron.</p><button data-action=close-account>Close</button>",
        "<p>The boat Heron.</p><form method=get action=/boats/7/close><button>Close</button></form>",
        "<p>A note</p><button onclick=\"fetch('/x', {method: 'POST'})\">Close</button>",
        "<p>A note</p><button onclick=\"document.querySelector('#f').submit()\">Close</button>",
        "<p>A note</p><button hx-post=/x>Close</button>",
        "<p>A note</p><button data-action=wipe_all>Close</button>",
        "<p>A note</p><button aria-label=Close>Sink the boat</button>",
        "<p>Hello and welcome</p><button aria-label=OK>Make her an admin</button>",
    ],
)
async def test_a_control_with_the_name_of_closing_is_left_where_it_may_do_something(
    page: Page, step: str
) -> None:
    """`Cancel` may be what is asked for."""
    assert await gone_through(page, step, html=NOTE) == []
    assert await page.locator("[role=dialog]").count() == 1


@pytest.mark.parametrize(
    ("step", "closer"),
    [
        ("<p>We use cookies.</p><button>Accept</button><button>Decline</button>", "Decline"),
        ("<p>Subscribe to our news?</p><button>Subscribe</button><button>No thanks</button>", "No thanks"),
        ("<p>Delete the boat Heron?</p><button>Delete</button><button>Cancel</button>", "Cancel"),
        ("<p>Save your changes?</p><button>No</button><button>Cancel</button>", "Cancel"),
        ("<p>Do you want to go on?</p><button>Yes</button><button>No</button>", "No"),
        ("<p>Stay in touch?</p><button>Subscribe</button><button>No thanks</button>", "No thanks"),
        ("<p>Order now and get ten more.</p><button>Order</button><button>Skip</button>", "Skip"),
        ("<p>Close this message to go on.</p><button>Close</button>", "Close"),
        ("<form method=dialog><p>The harbour is open.</p><button>Dismiss</button></form>", "Dismiss"),
        ("<p>Sale. You can cancel at any time.</p><button>\u00d7</button>", "\u00d7"),
        (
            "<p>Sale.</p><button aria-label=Close data-bs-dismiss=modal onclick='closeModal()'>\u00d7</button>",
            "\u00d7",
        ),
    ],
)
async def test_a_dialog_is_closed_by_its_own_control(page: Page, step: str, closer: str) -> None:
    assert await gone_through(page, step, html=NOTE) == [closer]

"""What a page must show so that a drafted task is said to be done: a record of what was typed, and nothing that denies it."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agent.execution.entered_texts import Offered, RecordSearch
from agent.page.record_texts import read_record_page
from agent.record_words import tells_success
from tests.support.pages import show

NAME = {"adaman": frozenset({"boat", "name"})}
BOTH = {**NAME, "lovelace": frozenset({"captain"})}
ABOUT = frozenset({"boat"})


def _table(*rows: str) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row.split('|'))}" for row in rows)
    return f"<h2>Boats</h2><table><tr><th>Name<th>Captain{cells}</table>"


@pytest.fixture
def page(blank_page: Page) -> Page:
    """A page that keeps closed roots: the library is there before its scripts."""
    return blank_page


async def _find(page, html, *, typed=NAME, before="", path="/boats", form=None, told=False):
    """`before`: what the same address showed before; `form`: what another page showed, `/boats/new`."""
    lines, offered = None, Offered()
    for shown_before, at in ((before, path), (form, "/boats/new")):
        if shown_before is not None:
            await show(page, f"<title>Harbor</title><h1>Harbor</h1>{shown_before}", at)
            shown = await read_record_page(page, ())
            offered.add(page.url, shown)
            lines = shown.lines if at == path else lines
    await show(page, f"<title>Harbor</title><h1>Harbor</h1>{html}", path)
    shown = await read_record_page(page, typed)
    return RecordSearch(typed, ABOUT, page.url, lines, shown, offered, told).find()


@pytest.mark.parametrize(
    ("html", "typed"),
    [
        (_table("Skua|Ada", "Adaman|Lovelace"), BOTH),
        ("<h2>Boats</h2><table><tr><th>Name<th>Rejected<th>Stored<tr><td>Skua<td>Yes<td>No<tr><td>Adaman<td>No<td>Yes</table>", NAME),
        ("<h2>Boats</h2><table><tr><th>Name<th>Cancelled on<th>Saved<tr><td>Skua<td>1 May<td><tr><td>Adaman<td>\u2013<td><input type=checkbox checked></table>", NAME),
        ("<h2>Boats</h2><table><tr><th>Name<th>Captain<tr><td><b>Skua</b><td><tr><td>Adaman<td></table>", NAME),
        ("<nav><a aria-current=page href=/boats>Boats</a> <a href=/refused>Refused</a></nav><h2>Boats</h2><ul><li>Skua<li>Adaman</ul>", NAME),
        ("<h2>Boats</h2><ul><li>Skua: rejected<li>Adaman</ul>", NAME),
        (_table("Skua|Ada", "<a href=/1>Adaman</a> <button>Edit</button>|Lovelace"), BOTH),
        ("<h2>Boats</h2><ul><li>Skua<li>Adaman</ul>", NAME),
        (_table("Skua|Ada|<button>Hoist</button>", "Adaman|Lovelace|<button>Hoist</button>"), BOTH),
        ("<h2>Boats</h2><div class=list><div class=card><b>Skua</b><p>Ada</div><div class=card><b>Adaman</b><p>Lovelace</div></div>", BOTH),
        ("<h2>Boats</h2><ul><li>Skua Ada<li>Adaman Lovelace</ul>", BOTH),  # a line of nothing else
        ("<h2>Adaman</h2><dl><dt>Captain<dd>Lovelace</dl><form method=post><button>Delete</button></form><form method=post><button>Add to favourites</button></form>", BOTH),
        ("<h2>Your boat</h2><p>Boat name: Adaman<p>Captain: Lovelace", BOTH),  # the name of its field
        ("<h2>Adaman</h2><a class=btn href=/e>Edit</a> <a href=/boats>All of them</a> <form method=post><input name=c><button>Add comment</button></form>", NAME),
        ("<h2>Adaman</h2><a href=/1>Files</a> <a href=/2>Crew</a> <a href=/3>Trips</a>", NAME),  # a menu
        ("<h2>Adaman</h2><p>Captain: <a href=/crew/3>Ada</a><dl><dt>Berth<dd><a href=/berths/3>B3</a></dl><p><a href=/>Home</a><p><a href=/1>Back</a>", NAME),
        ("<h2>Adaman</h2><p>Other formats<ul><li><a href='?format=csv'>Comma-delimited text</a></ul>", NAME),
        ("<h2>Adaman</h2><p><a href='mailto:ada@app.test'>Ada</a><p>Press Enter to add a comment<p>Type: order", NAME),
        ("<h2>Boats</h2><ul><li>Skua<li>Adaman</ul><nav><a rel=next href='?page=2'>Next</a></nav>", NAME),
        ("<h2>Boats</h2><button>Columns</button><ul><li>Skua<li>Adaman</ul>", NAME),
        ("<h2>Boats</h2><form method=get><input name=q><button>Go</button></form><ul><li>Adaman</ul>", NAME),
        ("<form method=post><h2>Boats</h2><label><select><option>Delete selected</select> 0 of 3 selected</label>" + _table("Adaman|Lovelace").removeprefix("<h2>Boats</h2>") + "</form>", BOTH),
        (_table("Adaman|Lovelace") + "<aside><h2>Activity</h2><p>Ada failed to reach Kiel</aside>", BOTH),
        ("<h2>Boats</h2><table><tr><th>Name<tr><td>Adaman</table>", {**NAME, "a good boat": frozenset({"remarks"})}),
    ],
)  # fmt: skip
async def test_a_record_is_a_row_or_a_detail_with_all_that_was_typed(page, html, typed):
    assert await _find(page, html, typed=typed)


DENIED = {
    "a further press in its row": _table("Skua|Ada|", "Adaman|Lovelace|<form method=post><input type=hidden name=ok><button>Looks good</button></form>"),
    "a link that goes on": "<h2>Your boat</h2><p>Boat name: Adaman<p><a href=/pay>Continue to payment</a>",
    "a condition": "<h2>Your boat</h2><p>Boat name: Adaman<p>It is listed when the fee is paid.",
    "a log of failures": "<h2>Activity</h2><ul><li>Creating the boat Adaman failed: the quota is used up</ul>",
    "a denial beside the row": _table("Adaman|Ada") + "<h2>Imports</h2><p>Adaman: could not be imported",
    "a notification": "<div role=region aria-label=Notifications><ul><li>Adaman</ul></div>",
    "a log": "<h2>Boats</h2><ul role=log><li>Adaman</ul>",
    "a status": "<h2>Boats</h2><p role=status>Adaman</p>",
    "a toast": "<h2>Boats</h2><div class='toast-body'>Adaman</div>",
    "debug output": "<h2>Boats</h2><pre>Adaman</pre>",
    "a footer": "<h2>Boats</h2><footer><p>Adaman</footer>",
    "the frame of the page": "<h2>Boats</h2><nav><ul><li>Adaman</ul></nav>",
    "a lead that is no heading": "<h2>Boats</h2><p><b>Rejected:</b></p><ul><li>Adaman</ul>",
    "a lead of a value": "<h2>Boats</h2><p>Could not create:<p>Adaman",
    "a named list": "<h2>Boats</h2><p id=n>Bounced</p><hr><ul aria-labelledby=n><li>Adaman</ul>",
    "suggestions": "<h2>Boats</h2><ul role=listbox><li>Adaman</ul>",
    "a list of something else": "<h2>Captains</h2><ul><li>Adaman</ul>",
    "a list of what is blocked": "<h2>Boats blocked as spam</h2><ul><li>Adaman</ul>",
    "a list of what was not sent": "<h2>Boats that were not sent</h2><ul><li>Adaman</ul>",
    "a list of names that nobody may use": "<h2>Boat names that nobody may use</h2><ul><li>Adaman</ul>",
    "in German": "<h2>Abgelehnte boats</h2><ul><li>Adaman</ul>",
    "struck": "<h2>Boats</h2><ul><li><s>Adaman</s></ul>",
    "still being saved": "<h2>Boats</h2><ul><li><b>Adaman</b> <i>saving...</i></ul>",
    "a row that says it failed": _table("Adaman|Failed"),
    "a sentence": "<h2>Boats</h2><p>Your boat <b>Adaman</b> is on its way",
    "a sentence of boxes": "<h2>Boats</h2><p style='display:flex'>Your boat <b>Adaman</b> is on its way",
    "a draft": "<h2>Boats</h2><p>Unsaved draft: Adaman",
    "a longer word": "<h2>Boats</h2><ul><li>Adamantine</ul>",
    "another name": "<h2>Boats</h2><ul><li>Adaman II</ul>",
    "the field": "<h2>Boats</h2><form><label>Boat name <input name=name value=Adaman></label></form>",
    "a step that asks": "<h2>Your boat</h2><p>Boat name: Adaman<form method=post><input type=hidden name=ok value=1><button>Confirm</button></form>",
    "a step that is numbered": "<h2>Boat, step 2 of 2</h2><p>Boat name: Adaman",
    "a step whose button says nothing": "<h2>Your boat</h2><p>Boat name: Adaman<form method=post><input type=hidden name=ok><button>Looks good</button></form>",
    "a step with a link drawn as a button": "<h2>Your boat</h2><p>Boat name: Adaman</p><a class=btn role=button href='/ok'>Looks good</a>",
    "a step with a link to itself": "<h2>Your boat</h2><p>Boat name: Adaman</p><a href='/boats?ok=1'>Looks good</a>",
    "a step with a button of a script": "<h2>Your boat</h2><p>Boat name: Adaman</p><button type=button>Looks good</button>",
    "a step with an optional field": "<h2>Your boat</h2><p>Boat name: Adaman</p><form method=post><input name=coupon><button>Looks good</button></form>",
    "a step with a box": "<h2>Your boat</h2><p>Boat name: Adaman</p><form method=post><label><input type=checkbox> With insurance</label><button>Looks good</button></form>",
    "a step with what can be clicked": "<h2>Your boat</h2><p>Boat name: Adaman</p><div style='cursor:pointer'>Looks good</div>",
    "a step with a button in the footer": "<h2>Your boat</h2><p>Boat name: Adaman</p><form id=z method=post><input type=hidden name=ok></form><footer><button form=z>Looks good</button></footer>",
    "a step by mail": "<h2>Your boat</h2><p>Boat name: Adaman</p><p>Open the link in the mail that we sent you, so that your boat is listed.</p>",
    "a step with a list of what was entered": "<h2>Your boat</h2><ul><li>Boat name: Adaman</ul><a class=btn href=/ok>Looks good</a>",
    "a step with a link to another page": "<h2>Your boat</h2><p>Boat name: Adaman</p><p><a href=/boats/fine>Looks good</a>",
    "a step with a link of a drawing": "<h2>Your boat</h2><p>Boat name: Adaman</p><svg width=120 height=30><a href=/fine><text x=8 y=20>Looks good</text></a></svg>",
    "a step on another website": "<h2>Your boat</h2><p>Boat name: Adaman</p><p><a href='http://bank.test/boats'>To the bank</a>",
    "a step with a link of a script": "<h2>Your boat</h2><p>Boat name: Adaman</p><p><a href=#>Looks good</a>",
    "a step in a closed root": "<h2>Your boat</h2><p>Boat name: Adaman</p><div id=h></div><script>h.attachShadow({mode: 'closed'}).innerHTML = '<button>Looks good</button>'</script>",
    "a step that a closed root carries": "<h2>Your boat</h2><p>Boat name: Adaman</p><div id=h></div><script>h.attachShadow({mode: 'closed'}).innerHTML = '<form><input type=hidden value=Adaman></form>'</script>",
    "a step that looks like turning pages": "<h2>Your boat</h2><p>Boat name: Adaman</p><nav aria-label=Pagination><a rel=next href='?step=3'>Next</a></nav>",
    "a step in a list of pages": "<h2>Your boat</h2><p>Boat name: Adaman</p><ul class=pagination><li><a href='?step=1'>1</a><li><a href='?step=3'>Next</a></ul>",
    "a step below a list": "<h2>Boats</h2><ul><li>Skua<li>Adaman</ul><p><a rel=next href=/boats/berth>Next</a>",
    "a step in another row of its table": "<h2>Your boat</h2><table><tr><th>Boat name<td>Adaman<tr><td colspan=2><button type=button>Looks good</button></table>",
    "a step by a slider": "<h2>Your boat</h2><p>Boat name: Adaman</p><label>Slide it over <input type=range></label>",
    "a step by a field without a button": "<h2>Your boat</h2><p>Boat name: Adaman</p><input>",
    "a step by an editor": "<h2>Your boat</h2><p>Boat name: Adaman</p><div contenteditable aria-label=Code>1</div>",
    "a step in a frame that cannot be read": "<h2>Your boat</h2><p>Boat name: Adaman</p><iframe src='http://bank.test/'></iframe>",
    "a step by a key": "<h2>Your boat</h2><p>Boat name: Adaman</p><p>Press Enter to finish.",
    "a step by a key in German": "<h2>Your boat</h2><p>Boat name: Adaman</p><p>Dr\u00fccken Sie die Eingabetaste.",
    "a step by a telephone": "<h2>Your boat</h2><p>Boat name: Adaman</p><p>Scan the code to confirm",
    "a step with more fields": "<h2>Boat</h2><p>Boat name: Adaman<form method=post><input name=place><button>Next</button></form>",
    "what is carried along": "<h2>Your boat</h2><p>Boat name: Adaman<form method=post><input type=hidden value=Adaman><button>Go</button></form>",
    "a step in an article": "<article><h2>Your boat</h2><p>Boat name: Adaman<p><a class=btn href=/ok>Confirm</a></article>",
    "a preview": "<h2>Preview of your boat</h2><h3>Adaman</h3>",
    "hidden": "<h2>Boats</h2><ul><li style='opacity:0'>Adaman</ul>",
    "its own page says its state": "<h2>Adaman</h2><dl><dt>Name<dd>Adaman<dt>Status<dd>Rejected</dl>",
    "its own page has a badge": "<h2>Adaman</h2><span class=badge>Draft</span><dl><dt>Name<dd>Adaman</dl>",
    "its own page has a row that tells": "<h2>Adaman</h2><table><tr><th>Name<td>Adaman<tr><th>Rejected on<td>1 December</table>",
    "its own page has a sentence": "<h2>Adaman</h2><p>This boat was not added.</p><dl><dt>Name<dd>Adaman</dl>",
    "a sentence below the list": "<h2>Boats</h2><ul><li>Skua<li>Adaman</ul><p>These boats are not stored.",
    "a count below the list": "<h2>Boats</h2><ul><li>Skua<li>Adaman</ul><p>1 of 2 boats could not be stored",
    "a column of dates": "<h2>Boats</h2><table><tr><th>Name<th>Rejected on<tr><td>Skua<td><tr><td>Adaman<td>1 December</table>",
    "a column that says yes": "<h2>Boats</h2><table><tr><th>Name<th>Rejected<tr><td>Skua<td>No<tr><td>Adaman<td>Yes</table>",
    "a column that says no": "<h2>Boats</h2><table><tr><th>Name<th>Stored<tr><td>Skua<td>Yes<tr><td>Adaman<td>No</table>",
    "a column of boxes": "<h2>Boats</h2><table><tr><th>Name<th>Stored<tr><td>Skua<td><input type=checkbox checked><tr><td>Adaman<td><input type=checkbox></table>",
    "a column that is empty": "<h2>Boats</h2><table><tr><th>Name<th>Stored<tr><td>Skua<td>\u2713<tr><td>Adaman<td></table>",
    "a cell over several rows": "<h2>Boats</h2><table><tr><th>State<th>Name<tr><td rowspan=2>Rejected<td>Skua<tr><td>Adaman</table>",
    "a row that names what is below": "<h2>Boats</h2><table><tr><th>Name<th>Captain<tr><td>Skua<td>Ada<tr><td><b>Rejected</b><td><tr><td>Adaman<td>Bo</table>",
    "a list in an item": "<h2>Boats</h2><ul><li>Kept<ul><li>Skua</ul><li>Rejected<ul><li>Bea<li>Adaman</ul></ul>",
    "the name of its row": "<h2>Boats</h2><ul><li>Skua<li aria-label='Adaman, rejected'>Adaman</ul>",
    "the description of its row": "<h2>Boats</h2><table><tr><th>Name<tr><td>Skua<tr title='Not kept'><td>Adaman</table>",
    "the selected tab": "<h2>Boats</h2><div role=tablist><button role=tab>Kept</button><button role=tab aria-selected=true>Refused</button></div><div role=tabpanel><ul><li>Skua<li>Adaman</ul></div>",
    "the current link of a menu": "<nav><a href=/kept>Kept</a> <a aria-current=page href=/refused>Refused</a></nav><h2>Boats</h2><ul><li>Skua<li>Adaman</ul>",
    "what a list is filtered by": "<h2>Boats</h2><form method=get><select name=s><option>Kept<option selected>Refused</select></form><ul><li>Skua<li>Adaman</ul>",
}  # fmt: skip


@pytest.mark.parametrize("html", DENIED.values(), ids=DENIED.keys())
async def test_what_says_otherwise_or_something_else_is_no_record(page, html):
    assert await _find(page, html) is None


@pytest.mark.parametrize(
    ("html", "before"),
    [
        (_table("Skua|Lovelace", "Adaman|nobody"), _table("Skua|Lovelace")),
        (_table("Skua|nobody") + "<h2>Captains of boats</h2><ul><li>Lovelace</ul>", _table("Skua|nobody")),
        ("<h2>Boats</h2><ul><li>Adaman<p>Ada</ul>", ""),  # whether captains are shown there is not known
        ("<h2>Boats</h2><ul><li>Adaman</ul>", None),  # it may have been there before
    ],
)
async def test_a_part_of_what_was_typed_or_in_two_rows_is_no_record(page, html, before):
    assert await _find(page, html, typed=BOTH, before=before) is None


HELP = "<p><a href=/help>Help</a><p><a href=//docs.test/>Manual</a><p>Press Enter to finish<p><label>Wide <input type=checkbox></label><iframe src='//ads.test/1'></iframe>"


@pytest.mark.parametrize(
    ("html", "is_new"),
    [
        (HELP.replace("/ads.test/1", "/ads.test/2"), True),  # what every page has
        ("<p><a href=/boats/7/crew>Crew of it</a>", False),  # below the record
        ("<p><a href=/boats>All of them</a>", False),
        ("<p><a href=/boats/new>One more</a>", False),  # where the form was
        ("<input aria-label='Search the page'><input readonly aria-label=Code><div role=search><input></div>", False),
        ("<form method=post><textarea></textarea><button>Add comment</button></form>", False),
    ],
)  # fmt: skip
async def test_what_pages_had_before_or_leads_back_is_no_further_step(page, html, is_new):
    html = f"<h2>Adaman</h2>{html}"
    assert await _find(page, html, before=None, path="/boats/7", form=HELP)
    assert (await _find(page, html, before=None, path="/boats/7", form="") is None) == is_new


async def test_below_a_page_that_was_there_before_is_no_record(page):
    """The form shows what was entered at its own address: what is below that is no part of a record."""
    assert await _find(page, "<h2>Adaman</h2><p><a href=/boats/fine>Crew of it</a>") is None


async def test_what_was_there_before_or_is_in_the_address_is_no_evidence(page):
    boats = "<h2>Boats</h2><ul><li>Adaman</ul>"
    assert await _find(page, boats, before=boats) is None
    for path in (
        "/boats?failed=Adaman",
        "/boats#/new?name=Adaman",
        "/boats/adaman",
        "/boats/rejected",
        "/boats?step=preview",
    ):
        assert await _find(page, boats, path=path) is None


async def test_a_number_counts_in_the_column_of_its_field_only(page):
    typed = {"1205": frozenset({"berth", "length"})}
    visitors = "<h2>Berth</h2><p>Visitor</p><div>1205</div>"
    assert await _find(page, visitors, typed=typed) is None
    assert await _find(page, "<h2>Berths</h2><p>12058", typed=typed) is None
    lengths = "<h2>Berths</h2><table><tr><th>Length<tr><td>1,205.00 m²</table>"
    assert await _find(page, lengths.replace(" m²", ""), typed=typed)


SETTINGS = "<h2>Settings</h2><ul><li>Adaman</ul>"


async def test_where_the_application_says_that_it_is_kept_the_record_may_stand_below_any_heading(page):
    assert await _find(page, SETTINGS, told=True, path="/settings")
    assert not await _find(page, SETTINGS, path="/settings")
    assert not await _find(page, SETTINGS.replace("Settings", "Blocked names"), told=True, path="/settings")
    number = {"4.21": frozenset({"name"})}
    table = "<h2>Settings</h2><table><tr><th>Boat<tr><td>4.21</table>"
    assert await _find(page, table, typed=number, told=True, path="/settings")
    assert not await _find(page, table.replace("Boat", "Price"), typed=number, told=True, path="/settings")


@pytest.mark.parametrize(
    "said",
    [
        "Successful creation.", "The boat  was added.", "Das Boot wurde gespeichert", "Se ha guardado con \u00e9xito", "Saved", "Success!", "Boat #12 created",
        "The boat \u201c\u201d was added successfully. You may edit it again below.", "Changes have been saved.", "Successful update", "Boats added",
    ],
)  # fmt: skip
def test_a_message_says_that_what_was_sent_is_kept(said):
    assert tells_success(said, {*ABOUT, "boot"})


@pytest.mark.parametrize(
    "said",
    [
        "Not saved", "Saved as draft", "Saving", "It will be added when the fee is paid", "Created 1 of 3", "No boat was created", "Preview updated",
        "Almost created", "Could not be added", "The boat is gone", "Das Boot wird gespeichert", "Created: failed",
    ],
)  # fmt: skip
def test_a_message_that_denies_or_announces_it_does_not(said):
    assert not tells_success(said, ABOUT)


@pytest.mark.parametrize(
    "said",
    [
        "Cookie settings saved", "Your session was updated", "Backup created", "Language updated", "Your basket was updated", "Visit saved", "New terms were added to the handbook",
        "This record was updated by Ada while you were editing it", "Boat was already created by Ada", "Tern was added by Ada", "Somebody else has updated this boat",
        "This boat is already saved under another name", "Five of five boats are created", "0 boats added", "3 of 4 boats were added", "Created for review",
        "Your application is saved for 14 days. It has still to be submitted.", "Your progress was saved. Sign in to complete the application.",
        "Boat created. Please pay it within three days", "Boats are added by the harbour master alone", "Boats can be added by the harbour master",
        "Ask an admin to get this boat added", "Upgrade to have more boats created", "Tip: what you added to a folder can be shared.", "Boats added daily",
        "A ticket was created: our staff look at whether there is room", "Boat saved; the old one is kept",
    ],
)  # fmt: skip
def test_a_message_about_something_else_does_not(said):
    assert not tells_success(said, ABOUT)


STATE = (
    "<h2>Boats</h2><table><tr><th>Name<th>{column}<tr><td>Skua<td>{skua}<tr><td>Adaman<td>{adaman}</table>"
)


@pytest.mark.parametrize(
    ("column", "skua", "adaman"),
    [
        ("State", "<i title=Active>\u25cf</i>", "<i title=Rejected>\u25cf</i>"),
        ("State", "", "<svg width=9 height=9><title>Rejected</title><rect width=9 height=9 /></svg>"),
        ("State", "<input value=Active readonly>", "<input value=Rejected readonly>"),
        ("State", "<input value=Active disabled>", "<input value=Rejected disabled>"),
        ("Rejected", "<input type=checkbox disabled>", "<input type=checkbox disabled checked>"),
        ("State", "\u2713", "\u2717"),
        ("State", "Listed", "Too late"),
        ("State", "Listed", "Berth taken"),
        ("State", "Listed", "Unpaid"),
        ("State", "Listed", "Incomplete"),
        ("State", "Listed", "Awaiting approval"),
    ],
)
async def test_a_row_says_that_it_is_not_kept_in_other_ways_than_by_text(page, column, skua, adaman):
    assert await _find(page, STATE.format(column="State", skua=skua, adaman=skua))
    assert await _find(page, STATE.format(column=column, skua=skua, adaman=adaman)) is None


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><th>Name<th>Captain<tr><td>Skua<td>Ada<tr><th colspan=2>GROUP</th><tr><td>Adaman<td>Bo</table>",
        "<table><tr><th>Name<th>Captain<tr><td>Skua<td>Ada<tr><td colspan=2><b>GROUP</b></td><tr><td>Adaman<td>Bo</table>",
        "<table><tbody><tr><td>Skua<td>Ada<tbody><tr><td colspan=2>GROUP<tbody><tr><td>Adaman<td>Bo</table>",
        "<ul><li>Skua<li class=divider><b>GROUP</b><li>Adaman</ul>",
        "<ul><li>Skua<li><b>GROUP</b><li>Adaman</ul>",
        "<ul><li class=item>Skua<li class=list-header>GROUP<li class=item>Adaman</ul>",
    ],
)
async def test_the_group_of_a_row_can_say_that_it_is_not_kept(page, html):
    assert await _find(page, f"<h2>Boats</h2>{html.replace('GROUP', 'North')}")
    assert await _find(page, f"<h2>Boats</h2>{html.replace('GROUP', 'Rejected')}") is None

"""Exploring an application of one document: what lies on a page without a role, what is not saved, what reads by POST."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from agent.exploration.pages.page_layers import find_layer
from agent.exploration.pages.page_observation import count_left_out, list_offers, observe_page
from agent.exploration.website_exploration import explore
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import ExplorationPage
from tests.agent.exploration.small_site import Answer, SmallSite, small_site
from tests.support.pages import show

STYLE = """<style>
 .row, .entry, .use { cursor: pointer } .on { display: block !important }
 .back { display: none; position: fixed; inset: 0; background: #0008 }
 .box { display: none; width: 300px; background: white }
 .list { display: none; position: absolute; z-index: 9; background: white }
</style>"""
ROWS = "".join(f"<div class=row><b>Sender {n}</b><span>Subject {n}</span></div>" for n in range(90))
OPTIONS = "".join(f"<div class=entry>{name}</div>" for name in ("Name", "Date", "Size", "Owner", "Colour"))
INBOX = f"""{STYLE}<h1>Inbox</h1>
<button onclick="dialog.classList.add('on')">Write</button>
<div class=use onclick="menu.classList.toggle('on')">Sort</div><div class=list id=menu>{OPTIONS}</div>
<button onclick="more.hidden = !more.hidden">More</button><p id=more hidden><button>Details</button></p>
<section>{ROWS}</section>
<div class=back id=dialog><div class="box on"><h2>New message</h2><input aria-label=To>
<button onclick="cc.hidden=false">Cc</button><input id=cc aria-label=Cc hidden>
<button onclick="dialog.classList.remove('on')">Close</button></div></div>"""


def on(folder: ExplorationFolder, layer: str) -> list[ExplorationPage]:
    return [each for each in folder.pages() if each.layer == layer]


def names(page: ExplorationPage) -> set[str]:
    return {each.name for each in page.offers}


FOLDED = ("Letters", "Drafts", "Sent", "Patients", "Settings")
OPENING = {
    "dialog": ("Write", {"To", "Cc", "Close"}),
    "menu": ("Sort", {"Name", "Date", "Size", "Owner", "Colour"}),
    "panel": ("More", {"Details"}),
}


@pytest.mark.parametrize("kind", OPENING)
async def test_what_lies_on_a_page_is_told_without_a_role_and_all_of_it_is_listed(
    page: Page, kind: str
) -> None:
    await show(page, INBOX)
    before = await observe_page(page)
    opener, inside = OPENING[kind]
    await page.get_by_text(opener, exact=True).click()
    look = await observe_page(page)
    layer = find_layer(look, before)
    assert layer.kind == kind
    assert not look.digests.like(before.digests)
    offers = await list_offers(page, look, most=2, origins=(), allowed=(), on_top=layer.on_top)
    assert {each.name for each in offers} == inside, "the limit is for what lies below"


async def test_contents_that_cover_a_folded_menu_are_no_dialog(page: Page) -> None:
    menu = "".join(f"<button>{name}</button>" for name in FOLDED)
    over = "position:relative;margin-top:-40px;height:300px;background:white"
    await show(
        page, f"<nav style='height:40px'>{menu}</nav><section style='{over}'><button>Write</button></section>"
    )
    look = await observe_page(page)
    assert find_layer(look, None).kind == ""


async def test_other_rows_are_no_layer_and_rows_without_markup_are_shown_by_examples(page: Page) -> None:
    await show(page, INBOX)
    before = await observe_page(page)
    offers = await list_offers(page, before, most=60, origins=(), allowed=())
    rows = [each for each in offers if each.in_row]
    assert len(rows) == 3
    await page.locator("section").evaluate(
        "(all) => all.insertAdjacentHTML('beforeend', '<div class=row><b>Sender new</b><span>Subject new</span></div>')"
    )
    look = await observe_page(page)
    assert find_layer(look, before).kind == ""
    assert look.digests == before.digests


LABELS = "".join(
    f"<div class=card><i class=line></i><span>{name}</span><a class=use data-route='labels/lab_{n}'>{name}</a>"
    f"<button class=small data-id=lab_{n}>Edit</button><button class=small data-id=lab_{n}>Delete</button></div>"
    for n, name in enumerate(("bug", "feature", "docs", "later"), start=3)
)
SIDE = "".join(
    f"<button class=side data-id=issue_7>Edit {name}</button>" for name in ("owner", "weight", "day")
)
STEPS = "".join(f"<button class=step data-index={n}>Step {'abcd'[n]}</button>" for n in range(4))


async def test_controls_that_are_numbered_by_the_thing_they_belong_to_are_in_rows(page: Page) -> None:
    await show(page, f"{STYLE}<h1>Labels</h1>{LABELS}{SIDE}{STEPS}")
    look = await observe_page(page)
    offers = await list_offers(page, look, most=60, origins=(), allowed=())
    rows = [each.name for each in offers if each.in_row]
    assert rows == ["bug", "Edit", "Delete", "feature", "Edit", "Delete", "docs", "Edit", "Delete"]
    plain = [each.name for each in offers if not each.in_row]
    assert plain == ["Edit owner", "Edit weight", "Edit day", "Step a", "Step b", "Step c", "Step d"]


async def test_of_a_crowded_page_some_controls_of_each_kind_are_tried_and_the_rest_is_noted_or_counted(
    page: Page,
) -> None:
    many = "".join(
        f"<button class=small>Number {chr(97 + n % 26) * (n // 26 + 1)}</button>" for n in range(260)
    )
    await show(page, f"{many}<a class=last href='https://site.example/x'>Last</a>")
    look = await observe_page(page)
    offers = await list_offers(page, look, most=60, origins=("https://site.example",), allowed=())
    assert len(offers) == 240
    assert "Last" in {each.name for each in offers if not each.why}
    assert {each.why for each in offers[100:]} <= {"", "others of its kind are tried"}
    assert sum(not each.why for each in offers) == 60
    assert count_left_out(look, 60) == 21


async def test_a_tab_that_only_a_class_shows_as_chosen_is_not_tried(page: Page) -> None:
    tabs = "<div><button class='tab is-active'>Open</button><button class=tab>Closed</button></div>"
    await show(
        page, f"{tabs}<div><button class=active>Save</button><button class=active>Cancel</button></div>"
    )
    offers = await list_offers(page, await observe_page(page), most=60, origins=(), allowed=())
    shown = {each.name for each in offers if each.why == "its content is shown already"}
    assert shown == {"Open"}, "a class that all have says nothing"


async def test_a_menu_that_is_folded_to_its_pictures_is_no_other_page(
    browser: Browser, tmp_path: Path
) -> None:
    entries = "".join(
        f"<button data-testid=to-{name}>{name[0]}<span> {name}</span></button>" for name in FOLDED
    )
    toggle = "<button onclick=\"document.querySelectorAll('span').forEach((each) => each.hidden = true)\">Fold</button>"
    with small_site({"/": f"<!doctype html><title>T</title><h1>T</h1><nav>{entries}</nav>{toggle}"}) as site:
        await explore(browser, site.wanted(), tmp_path)
        assert len(ExplorationFolder(tmp_path).pages()) == 1


async def test_dialogs_are_explored_first_and_the_options_of_a_field_by_two(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": f"<!doctype html><title>Mail</title><body>{INBOX}"}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        dialog, *nested = on(folder, "dialog")
        start = next(each for each in folder.pages() if each.start)
        menu = next(each for each in on(folder, "menu") if each.behind == start.page_id)
        assert names(dialog) >= {"To", "Close", "Cc"}
        assert "Write" not in names(dialog)
        assert all("Cc" in names(each) for each in nested)
        assert dialog.behind == start.page_id
        tried = [each for each in folder.passages() if each.from_page == menu.page_id and each.offer_id]
        assert len(tried) == 2
        order = [each.from_page for each in folder.passages() if each.offer_id]
        assert order.index(dialog.page_id) < len(order) - order[::-1].index(start.page_id)


STATE = """<!doctype html><title>Chat</title><main><h1>Chat</h1><div id=said></div>
<button id=thanks>Thanks for sending this over!</button><button onclick="location.hash = '#/later'">Later</button></main><script>
 const state = JSON.parse(localStorage.getItem('state') || '[]');
 const show = () => { said.innerHTML = state.map((each) => `<h2>${each}</h2><button>Undo ${each}</button>`).join('') };
 const push = () => fetch('/api/state', {method: 'PUT', body: JSON.stringify(state)}).catch(() => 0);
 thanks.onclick = () => { state.push('sent'); localStorage.setItem('state', JSON.stringify(state)); show(); push() };
 show(); push();
</script>"""


async def test_what_a_control_would_have_saved_is_in_no_page_and_not_kept_in_the_browser(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": STATE}) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert site.bodies["PUT /api/state"] == {"[]"}, "what every visit sends, and nothing else"
        assert done.usual == ("PUT /api/state",)
        assert not [
            each
            for each in folder.pages()
            if "sent" in folder.snapshot(each.page_id).html.split("<script>")[0]
        ]
        thanks = [o for each in folder.pages() for o in each.offers if o.name.startswith("Thanks")]
        assert "unknown_method" in {each.danger for each in thanks}
        assert any("PUT" in each.reason for each in done.unexplored)


def answering(request: str) -> str:
    return (
        "<!doctype html><title>Runs</title><main><h1>Runs</h1><div id=list>Loading</div></main><script>"
        f"fetch('{request}', {{method: 'POST', body: '{{}}'}}).then((answer) => answer.json())"
        ".then((all) => { list.innerHTML = all.map((each) => `<h2>${each}</h2>`).join('') }).catch(() => 0)</script>"
    )


def serving(request: str) -> dict[str, str | Answer]:
    data = Answer(json.dumps(["First run"]), headers={"Content-Type": "application/json"})
    home = "<!doctype html><title>Home</title><main><h1>Home</h1><a href=/runs>Runs</a></main>"
    return {"/": home, "/runs": answering(request), request: data}


@pytest.mark.parametrize(
    ("request_path", "named", "sent"),
    [
        ("/api/runs/filter", (), True),
        ("/api/runs/_search", (), True),
        ("/api/runs/paginate", (), True),
        ("/api/ui/count-task-runs", (), True),
        ("/api/readMessages", (), False),
        ("/api/getRuns/remove", (), False),
        ("/api/runs/delete/search", (), False),
        ("/api/runs", (), False),
        ("/api/views", ("/api/v*",), True),
        ("/api/views", ("/api/w*",), False),
    ],
)
async def test_what_reads_by_post_is_sent_and_told_and_the_rest_is_told_as_held_back(
    browser: Browser, tmp_path: Path, request_path: str, named: tuple[str, ...], sent: bool
) -> None:
    with small_site(serving(request_path)) as site:
        wanted = site.wanted().model_copy(update={"reads": named})
        await explore(browser, wanted, tmp_path)
        folder = ExplorationFolder(tmp_path)
        (page,) = (each for each in folder.pages() if each.url.endswith("/runs"))
        assert ("First run" in folder.snapshot(page.page_id).html) is sent
        told = (f"POST {request_path}",)
        assert (page.reads, page.held_back) == ((told, ()) if sent else ((), told))


async def test_a_path_that_would_read_is_not_sent_by_a_control_before_a_page_sent_it(
    browser: Browser, tmp_path: Path
) -> None:
    body = "<button onclick=\"fetch('/api/filter', {method: 'POST', body: '{}'}).catch(() => 0)\">Make a filter</button>"
    with small_site({"/": f"<!doctype html><title>T</title><main><h1>T</h1>{body}</main>"}) as site:
        await explore(browser, site.wanted(), tmp_path)
        assert site.asked["POST /api/filter"] == 0


async def test_what_reads_is_sent_where_a_link_shows_another_address(
    browser: Browser, tmp_path: Path
) -> None:
    script = (
        "<script>const show = async () => { if (location.pathname !== '/runs') return;"
        "const all = await (await fetch('/api/runs/filter', {method: 'POST', body: '{}'})).json();"
        "list.innerHTML = all.map((each) => `<h2>${each}</h2>`).join('') };"
        "addEventListener('click', (event) => { if (event.target.tagName !== 'A') return; event.preventDefault();"
        "history.pushState({}, '', event.target.href); show() })</script>"
    )
    body = f"<!doctype html><title>T</title><main><h1>T</h1><a href='/runs'>Runs</a><div id=list></div></main>{script}"
    data = Answer(json.dumps(["First run"]), headers={"Content-Type": "application/json"})
    with small_site({"/": body, "/runs": body, "/api/runs/filter": data}) as site:
        await explore(browser, site.wanted(), tmp_path)
        assert site.asked["POST /api/runs/filter"]
        folder = ExplorationFolder(tmp_path)
        assert any("First run" in folder.snapshot(page.page_id).html for page in folder.pages())


async def test_a_route_that_shows_the_start_is_not_explored_twice(browser: Browser, tmp_path: Path) -> None:
    body = (
        "<nav><a href='#/home'>Home</a><a href='#/about'>About</a></nav><h1 id=head></h1><button id=do>Do</button><script>"
        "const show = () => { head.textContent = location.hash === '#/about' ? 'About' : 'Home' };"
        "addEventListener('hashchange', show); show()</script>"
    )
    with small_site({"/": f"<!doctype html><title>T</title>{body}"}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        home = next(each for each in folder.pages() if each.url.endswith("#/home"))
        assert not [each for each in folder.passages() if each.from_page == home.page_id and each.offer_id]
        before = len(list(folder.passages()))
        await explore(browser, site.wanted(), tmp_path)  # goes on
        assert len(list(folder.passages())) == before
        assert _shows(site, folder) == {"Home", "About"}


def _shows(site: SmallSite, folder: ExplorationFolder) -> set[str]:
    heads = (folder.snapshot(each.page_id).html for each in folder.pages() if each.url.startswith(site.url))
    return {html.partition('id="head"')[2].partition(">")[2].partition("<")[0] for html in heads}


CHOSEN = """<!doctype html><title>Mail</title><main><h1>Mail</h1><p id=bar></p><table>{rows}</table></main><script>
 for (const each of document.querySelectorAll('input')) each.onchange = () => {{ {changed} }};
</script>"""
LETTERS = "".join(
    f"<tr><td><input type=checkbox></td><td>{name} wrote</td></tr>"
    for name in ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay")
)
SHOWS = "bar.innerHTML = document.querySelector(':checked') ? '<button>Archive</button><button>Mute</button>' : ''"


async def test_one_row_is_chosen_to_see_what_can_be_done_with_it(browser: Browser, tmp_path: Path) -> None:
    with small_site({"/": CHOSEN.format(rows=LETTERS, changed=SHOWS)}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        (panel,) = on(folder, "panel")
        assert names(panel) == {"Archive", "Mute"}
        start = next(each for each in folder.pages() if each.start)
        boxes = {each.offer_id for each in start.offers if each.action_type == "check"}
        assert (
            sum(each.offer_id in boxes for each in folder.passages() if each.from_page == start.page_id) == 1
        )


async def test_a_check_box_of_a_row_that_saves_at_once_changes_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    saving = "fetch('/api/done', {method: 'PUT', body: '1'}).catch(() => 0); bar.innerHTML = '<button>Undo</button>'"
    with small_site({"/": CHOSEN.format(rows=LETTERS, changed=saving)}) as site:
        await explore(browser, site.wanted(), tmp_path)
        assert site.asked["PUT /api/done"] == 0
        assert not on(ExplorationFolder(tmp_path), "panel")


async def test_the_document_is_not_loaded_again_to_leave_a_dialog(browser: Browser, tmp_path: Path) -> None:
    names = ("owner", "weight", "day", "place")
    openers = "".join(f"<button onclick=\"show('{name}')\">Choose the {name}</button>" for name in names)
    dialogs = "".join(
        f"<div class=back id={name}><div class='box on'><h2>The {name}</h2><button>Help with the {name}</button></div></div>"
        for name in names
    )
    script = (
        "<script>const show = (name) => document.getElementById(name).classList.add('on');"
        "addEventListener('keydown', (e) => e.key === 'Escape' && document.querySelectorAll('.back').forEach((d) => d.classList.remove('on')))</script>"
    )
    with small_site(
        {"/": f"<!doctype html><title>T</title>{STYLE}<h1>T</h1>{openers}{dialogs}{script}"}
    ) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert {each.offers[0].name for each in on(folder, "dialog")} == {
            f"Help with the {name}" for name in names
        }
        assert site.asked["GET /"] <= 3


FINDING = """<!doctype html><title>Bills</title><style>.hits { position: absolute; z-index: 9; background: white }
 .hit, .row { cursor: pointer }</style><header><input type=text placeholder="Search all..." oninput="later(this, 2)"></header>
<main><h1 id=head>Bills</h1><section id=list></section><div><label for=payer>Payer</label> <input id=payer placeholder="Search payers..." oninput="later(this, 1)"></div>
<input placeholder="Filter" oninput="rows(this.value)"></main><script>
 const names = ['Able Ltd', 'Baker and Sons', 'Cable Co', 'Dean Estate', 'Early Birds', 'Fox Repairs'];
 const rows = (text) => { list.innerHTML = names.filter((name) => name.includes(text)).map((name) =>
  `<div class=row onclick="open_('${name}')"><b>${name}</b><span>due</span></div>`).join('') };
 const open_ = (name) => { location.hash = '#/bill/' + names.indexOf(name) };
 const show = () => { head.textContent = location.hash ? 'Bill of ' + names[location.hash.split('/')[2]] : 'Bills' };
 let timer; const later = (field, least) => { clearTimeout(timer); timer = setTimeout(() => {
  field.parentElement.querySelector('.hits')?.remove();
  const found = names.filter((name) => name.toLowerCase().includes(field.value.toLowerCase()));
  if (field.value.length < least || !found.length) return;
  const hits = document.createElement('div'); hits.className = 'hits';
  hits.innerHTML = found.map((name) => `<div class=hit><button>${name}</button></div>`).join('');
  for (const each of hits.querySelectorAll('button')) each.onclick = (event) => { event.preventDefault(); hits.remove();
   if (least > 1) open_(each.textContent); else field.value = each.textContent };
  field.parentElement.append(hits);
 }, 300) };
 addEventListener('hashchange', show); rows(''); show();
</script>"""


async def test_what_a_search_shows_while_one_types_is_found_and_a_shorter_list_is_no_other_page(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": FINDING}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        offers = {(each.page_id, o.offer_id): o for each in folder.pages() for o in each.offers}
        typed = {
            offers[each.from_page, each.offer_id or ""].name: each
            for each in folder.passages()
            if each.typed and each.from_page == folder.pages()[0].page_id
        }
        assert set(typed) == {"Search all...", "Payer"}
        assert all(len(each.typed) >= 2 for name, each in typed.items() if name == "Search all...")
        for each in typed.values():
            shown = next(page for page in folder.pages() if page.page_id == each.to_page)
            assert shown.layer == "menu"
            assert all(o.in_row for o in shown.offers)
            assert names(shown) <= {
                "Able Ltd",
                "Baker and Sons",
                "Cable Co",
                "Dean Estate",
                "Early Birds",
                "Fox Repairs",
            }
        led = {(each.from_page, each.outcome) for each in folder.passages() if each.to_page and each.offer_id}
        assert (typed["Search all..."].to_page, "arrived") in led, (
            "its entries are pressed, after typing again"
        )
        filtered = [
            each
            for each in folder.passages()
            if each.offer_id and offers[each.from_page, each.offer_id].name == "Filter"
        ]
        assert {each.outcome for each in filtered} == {"stayed"}


ENTERED = """<!doctype html><title>Bills</title><header><input type=text placeholder="Search bills" onkeydown="if (event.key === 'Enter')
 location.hash = '#/found?q=' + this.value"></header><main><h1 id=head></h1><section id=list></section></main><script>
 const show = () => { const found = location.hash.startsWith('#/found'); head.textContent = found ? 'Found' : 'Bills';
  list.innerHTML = found ? '<h2>Results</h2><button>Export these</button>' : '<button>Add one</button>' };
 addEventListener('hashchange', show); show();
</script>"""


async def test_a_search_that_waits_for_the_enter_key_is_seen(browser: Browser, tmp_path: Path) -> None:
    with small_site({"/": ENTERED}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        (entered,) = [each for each in folder.passages() if each.typed]
        assert entered.typed == "a\n"
        found = next(each for each in folder.pages() if each.page_id == entered.to_page)
        assert "#/found" in found.url
        assert "Export these" in names(found)


REMEMBERED = """<!doctype html><title>Bills</title><main><h1 id=head></h1><input type=search aria-label="Bills"></main><script>
 const show = () => { head.textContent = (localStorage.getItem('last') || 'Bills') + location.hash };
 document.querySelector('input').onkeydown = (event) => { if (event.key !== 'Enter') return;
  localStorage.setItem('last', 'Remembered'); fetch('/api/last', {method: 'PUT', body: '1'}).catch(() => 0);
  location.hash = '#/found' };
 addEventListener('hashchange', show); show();
</script>"""


async def test_what_a_search_would_have_saved_is_not_kept_in_the_browser(
    browser: Browser, tmp_path: Path
) -> None:
    with small_site({"/": REMEMBERED}) as site:
        await explore(browser, site.wanted(), tmp_path)
        folder = ExplorationFolder(tmp_path)
        assert site.asked["PUT /api/last"] == 0
        shown = [folder.snapshot(each.page_id).html for each in folder.pages() if "#" not in each.url]
        assert shown
        assert not [html for html in shown if "Remembered</h1>" in html]

"""Scripted people at work, watched by the recorder: what was done is written, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.page import in_page_library
from agent.page.page_watchdog import end_page
from agent.recording import demonstration_recorder
from agent.recording.recorded_side_effects import RecordedSideEffects
from agent.recording.recording_replay import replay_recording
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.secret_fields import PAGE_RULE, is_secret_name
from kb_schema.selectors import Selector
from tests.support.pages import SITE
from tests.support.recorded_people import FORM, Person, answer_with, told, watched
from tests.support.secret_names import PLAIN, list_secret_names, secret_value
from tests.support.site_server import Answered, Asked, running_site
from web_pages.stored_pages import StoredPage


async def _work(person: Person, upload: Path) -> None:
    """A person who hesitates, corrects, and clicks on nothing."""
    page = person.page
    await page.mouse.click(640, 60)  # on nothing
    await page.click("[name=n]")
    await page.keyboard.type("Adx")
    await page.keyboard.press("Backspace")
    for _ in range(2):
        await page.click("[name=n]")  # only puts the caret where it is
    await page.keyboard.type("a")
    await page.keyboard.press("Tab")
    await page.keyboard.type("open sesame")
    await page.focus("select")
    await page.keyboard.press("T")
    await page.click("text=Agree")
    await page.set_input_files("input[type=file]", upload)
    await page.click("textarea")
    await page.keyboard.type("a")
    await page.keyboard.press("Enter")
    await page.keyboard.type("b")
    await page.frame_locator("iframe").get_by_role("button").click()
    await page.get_by_text("Deep").click()
    await page.dblclick("#twice")
    await page.get_by_text("Vanish").click(no_wait_after=True)


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    file = tmp_path / "list.txt"
    file.write_text("one")
    return file


@pytest.mark.parametrize("ahead", [1, 2])
async def test_what_is_done_in_a_tab_that_was_open_before_is_recorded(browser, tmp_path, ahead):
    async with watched(browser, tmp_path / "trace", ahead=ahead) as person:
        await person.page.fill("[name=n]", "Ada")
        await person.page.click("text=Agree")
        _, trace = await person.done()
    assert [step[:2] for step in told(trace)] == [("navigate", f"{SITE}/"), ("fill", "Ada"), ("check", None)]


WRITTEN = """<!doctype html><title>Editor</title><h1>Editor</h1><iframe id=editor></iframe><script>
const inner = editor.contentDocument;
inner.open(); inner.write("<textarea aria-label=Text></textarea>"); inner.close();</script>"""


async def test_what_is_typed_into_a_frame_that_a_script_wrote_is_recorded(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", WRITTEN) as person:
        await person.page.frame_locator("iframe").get_by_label("Text").press_sequentially("Ada")
        _, trace = await person.done()
    assert told(trace) == [("navigate", f"{SITE}/", ""), ("fill", "Ada", "textbox 'Text'")]


MENU = """<!doctype html><title>Menu</title><div id=box class=box>Choose</div><p id=chosen></p><script>
box.addEventListener("mousedown", () => {
  const list = document.createElement("ul");
  list.innerHTML = "<li class=option>Approved</li><li class=option>Rejected</li>";
  list.addEventListener("mouseup", (event) => { chosen.textContent = `${event.target.textContent} it is`; list.remove(); });
  document.body.append(list);
});</script>"""


async def test_an_option_that_is_taken_away_at_mouseup_is_recorded(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", MENU) as person:
        await person.page.locator("#box").click()
        await person.page.locator("li", has_text="Rejected").click()
        assert await person.page.inner_text("#chosen") == "Rejected it is"
        # The recorder tells it in the page's next task; nobody closes a tab sooner.
        await person.page.evaluate("new Promise((done) => setTimeout(done, 0))")
        _, trace = await person.done()
    assert told(trace)[1:] == [("click", None, "div 'Choose'"), ("click", None, "listitem 'Rejected'")]


MARKING = """<!doctype html><title>Search</title><p>From <input></p><p>To <input></p><script>
addEventListener("mousedown", (event) => { event.target.dataset.touched = "yes"; }, true);</script>"""


async def test_a_click_into_a_field_that_the_page_marks_is_no_step_and_the_mark_is_no_selector(
    browser, tmp_path
):
    async with watched(browser, tmp_path / "trace", MARKING) as person:
        await person.page.locator("input").first.click()
        await person.page.keyboard.type("Kiel")
        await person.page.locator("input").last.click()
        await person.page.keyboard.type("Riga")
        _, trace = await person.done()
    assert [step[:2] for step in told(trace)[1:]] == [("fill", "Kiel"), ("fill", "Riga")]
    assert "data-touched" not in str([step.target for step in trace.steps])


HANGS = "<!doctype html><title>Busy</title><button id=hang onclick='setTimeout(() => { while (true); }, 2000)'>Hang</button>"


async def test_a_recording_of_a_page_that_hangs_ends_with_what_was_done(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(demonstration_recorder, "FINISH_S", 0.5)
    async with watched(browser, tmp_path / "trace", HANGS) as person:
        await person.page.click("#hang", no_wait_after=True)
        await person.page.wait_for_timeout(2500)  # by the driver's clock: the page hangs by then
        recording = await person.recorder.finish(complete=False)
        assert [each.action_type for each in recording.actions] == ["navigate", "click"]
        await end_page(person.page, "the test is over")


COVERED = """<!doctype html><title>Names</title><main><p>Ten names</p><button id=more>Open menu</button></main>
<script>
more.addEventListener("pointerdown", () => {
  document.body.style.pointerEvents = "none";
  const menu = document.createElement("div");
  menu.innerHTML = "<div role=menuitem style='pointer-events: auto'>Edit</div>";
  document.body.append(menu);
  menu.firstChild.addEventListener("click", () => { menu.remove(); document.body.style.pointerEvents = "" });
});</script>"""


async def test_a_menu_that_makes_the_page_deaf_at_pointerdown_is_recorded_by_its_button(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", COVERED) as person:
        for _ in range(2):
            await _press(person.page, "#more")
            await person.page.get_by_role("menuitem", name="Edit").click()
        _, trace = await person.done()
    once = [("click", None, "button 'Open menu'"), ("click", None, "menuitem 'Edit'")]
    assert told(trace)[1:] == once * 2


async def test_a_press_that_is_let_go_elsewhere_is_no_click(browser, tmp_path):
    async with watched(
        browser, tmp_path / "trace", "<title>Names</title><button id=it>Save</button><p>Ten</p>"
    ) as person:
        await person.page.locator("#it").hover()
        await person.page.mouse.down()
        await person.page.mouse.move(400, 400)
        await person.page.mouse.up()
        _, trace = await person.done()
    assert told(trace)[1:] == []


CARDS = """<!doctype html><title>Pools</title><div role=radiogroup>
<div><button type=button role=radio aria-checked=false id=docker></button><label for=docker><p>Docker</p></label></div>
<div><button type=button role=radio aria-checked=false id=process></button><label for=process><p>Process</p></label></div></div>
<input type=radio name=size id=large><label for=large>Large</label>
<script>
for (const each of document.querySelectorAll("[role=radio]"))
  each.addEventListener("click", () => each.setAttribute("aria-checked", "true"));
</script>"""


async def test_a_control_beside_its_label_is_recorded_when_the_label_is_clicked(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", CARDS) as person:
        await person.page.get_by_text("Docker").click()
        await person.page.get_by_text("Large").click()
        assert await person.page.get_attribute("#docker", "aria-checked") == "true"
        _, trace = await person.done()
    assert told(trace)[1:] == [("click", None, "radio 'Docker'"), ("check", None, "radio 'Large'")]


async def _press(page, selector):
    """As a person: a driver's own click waits until what it presses takes it."""
    box = await page.locator(selector).bounding_box()
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


REDRAWN = """<!doctype html><title>Rows</title><div id=rows></div>
<script>
let chosen = false;
const draw = () => { rows.innerHTML = `<input type=checkbox class=pick ${chosen ? "checked" : ""}><p class=name>Ada</p>` };
rows.addEventListener("click", event => { chosen = event.target.checked ?? chosen; draw() });
draw();
</script>"""


async def test_a_box_that_the_page_draws_anew_at_its_click_is_recorded_once(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", REDRAWN) as person:
        for each in (".pick", ".name", ".pick"):
            await person.page.locator(each).click()
            await person.page.wait_for_timeout(100)
        _, trace = await person.done()
    assert [step.metadata["said"] for step in trace.steps[1:]] == ["checkbox", "checkbox"]


ICONS = """<!doctype html><title>Icons</title><style>.pointing { cursor: pointer } i, svg { display: inline-block;
width: 20px; height: 20px; background: #ccc }</style><div class="more pointing"><svg class=icon><path d="M0 0h20v20H0z"/></svg></div>
<div class="button pointing"><i class=pen></i> <span>Rename</span></div>
<div class="palette pointing"><i class=red></i><i class=green></i></div>
<div class="card pointing"><svg class=cover></svg><button>Open</button></div>
<script>addEventListener("click", () => document.body.append("and one more "))</script>"""


async def test_an_icon_without_words_is_recorded_as_the_control_around_it_unless_others_are_in_it(
    browser, tmp_path
):
    async with watched(browser, tmp_path / "trace", ICONS) as person:
        for each in (".more path", ".pen", ".green", ".cover"):
            await person.page.locator(each).click()
        _, trace = await person.done()
    clicked = [Selector.model_validate(step.target).strategies[-1].value for step in trace.steps[1:]]
    assert clicked == ["div.more", "div.button", "i.green", "svg.cover"]


MASKED = """<!doctype html><title>Mask</title><label>Date <input id=date value="____-__-__"></label>
<div contenteditable id=note style="height: 20px"></div><label>Name <input id=name></label>
<script>
const write = (el, text) => { el.localName === "input" ? el.value = text : el.textContent = text }
for (const el of document.querySelectorAll("#date, #note")) el.addEventListener("keydown", event => {
  if (event.key.length > 1) return;
  event.preventDefault();
  el.typed = (el.typed ?? "") + event.key;
  write(el, el.id === "date" ? el.typed + "____-__-__".slice(el.typed.length) : el.typed);
});
const name = document.querySelector("#name");
name.addEventListener("input", () => { name.value = name.value.toUpperCase() });
</script>"""


async def test_what_a_script_types_for_a_person_is_recorded_as_typed(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", MASKED) as person:
        for field, text in (("#date", "2027-03-01"), ("#note", "Bring tea"), ("#name", "ada")):
            await person.page.locator(field).click()
            await person.page.keyboard.type(text)
        _, trace = await person.done()
    assert told(trace)[1:] == [
        ("fill", "2027-03-01", "textbox 'Date'"),
        ("fill", "Bring tea", "div"),
        ("fill", "ADa", "textbox 'Name'"),
    ]


QUIET = """<!doctype html><title>Tabs</title><div class=tab>Mine</div><div class=kept style="cursor: pointer">Keep</div>
<div class=sent>Send</div><div class=empty>Nothing</div>
<script>
document.querySelector(".tab").onclick = () => { location.hash = "#/mine" }
document.querySelector(".kept").onclick = () => { window.kept = 1 }
document.querySelector(".sent").onclick = () => { fetch("/sent", { method: "POST" }) }
</script>"""


async def test_a_click_that_changes_the_address_alone_or_sends_something_is_a_step(browser, tmp_path):
    async with watched(browser, tmp_path / "trace", QUIET) as person:
        for each in (".tab", ".kept", ".empty", ".sent"):
            await person.page.locator(each).click()
            await person.page.wait_for_timeout(400)
        recording, trace = await person.done()
    assert told(trace)[1:] == [("click", None, f"div '{each}'") for each in ("Mine", "Keep", "Send")]
    assert recording.ignored == 1


DIALOG = """<!doctype html><title>Dialog</title>
<style>.shade { position: fixed; inset: 0; background: #ccc; transition: opacity 2s } .closing { opacity: 0 }</style>
<button>Next</button><p class=said>Closing</p><div class=shade></div>
<script>
const shade = document.querySelector(".shade"), close = () => {
  shade.classList.add("closing");
  const changes = setInterval(() => { document.querySelector(".said").textContent += "." }, 100);
  shade.ontransitionend = () => { shade.remove(); clearInterval(changes) };
};
shade.onclick = close;
addEventListener("keydown", event => { if (event.key === "Escape") close() });
</script>"""


@pytest.mark.parametrize(("closes", "steps"), [("Escape", ["press"]), (None, ["click"])])
async def test_a_click_on_what_is_fading_away_is_no_step_and_one_that_closes_a_dialog_is(
    browser, tmp_path, closes, steps
):
    async with watched(browser, tmp_path / "trace", DIALOG) as person:
        if closes is not None:
            await person.page.keyboard.press(closes)
        await person.page.mouse.click(300, 300)
        await person.page.get_by_role("button", name="Next").click()  # when nothing covers it
        recording, trace = await person.done()
    assert [step.action_type for step in trace.steps[1:]] == [*steps, "click"]
    assert recording.ignored == (1 if closes else 0)


RIPPLING = """<!doctype html><title>Rippling</title><main style="height:400px"><button class=mark>Mark</button>
<button class=more>More</button><ul hidden><li>Entries</ul></main>
<script>
const menu = document.querySelector("ul"), mark = document.querySelector(".mark");
mark.onclick = () => {
  mark.insertAdjacentHTML("beforeend", "<i class=ripple></i>");
  let width = 0;
  const grows = setInterval(() => {
    mark.firstElementChild.style.width = `${width += 1}px`;
    if (width === 300) clearInterval(grows);
  }, 10);
};
document.querySelector(".more").onclick = () => { menu.hidden = false };
document.querySelector("main").onclick = (event) => { if (event.target.localName === "main") menu.hidden = true };
</script>"""


@pytest.mark.parametrize(("pressed", "ignored"), [("Mark", 1), ("More", 0)])
async def test_a_click_between_controls_counts_if_words_or_controls_change(
    browser, tmp_path, pressed, ignored
):
    async with watched(browser, tmp_path / "trace", RIPPLING) as person:
        await person.page.get_by_role("button", name=pressed).click()
        await person.page.mouse.click(300, 350)
        await person.page.get_by_role("button", name="More").click()
        recording, trace = await person.done()
    assert [step.action_type for step in trace.steps[1:]] == ["click"] * (3 - ignored)
    assert recording.ignored == ignored


async def test_what_a_person_does_is_recorded_as_it_was_meant_and_can_be_done_again(
    browser, tmp_path, upload
):
    folder = tmp_path / "trace"
    async with watched(browser, folder) as person:
        await _work(person, upload)
        recording, trace = await person.done()
    assert told(trace) == [
        ("navigate", f"{SITE}/", ""),
        ("fill", "Ada", "textbox 'Name'"),
        ("fill", "•••", "textbox 'Word'"),
        ("select_option", "Two", "combobox 'Size'"),
        ("check", None, "checkbox 'Agree'"),
        ("upload_file", str(upload), "button 'Choose File'"),
        ("fill", "a\nb", "textbox 'Notes'"),
        ("click", None, "button 'In frame'"),
        ("click", None, "button 'Deep'"),
        ("double_click", None, "button 'Twice'"),
        ("click", None, "div 'Vanish'"),
    ]
    assert (recording.ignored, trace.success, trace.task_description) == (1, True, "Fill it in")
    assert "problems" not in trace.metadata
    for step in trace.steps[1:]:  # its selectors lead to one element on its own page, and it is known again
        stored = StoredPage(PageSnapshot(url=SITE, html=step.html_before or "", annotated=True))
        assert stored.resolve(Selector.model_validate(step.target)).element is not None
        assert (
            step.metadata["fingerprint"]["tag"]
            == stored.resolve(Selector.model_validate(step.target)).element.tag
        )
        assert "data-pp-at" not in (step.html_before or "")
    assert 'data-pp-value="Ada"' not in (trace.steps[1].html_before or "")
    assert 'data-pp-value="Ada"' in (trace.steps[1].html_after or "")
    assert trace.steps[2].metadata["secret"]

    again = await browser.new_context()
    await again.route(f"{SITE}/**", answer_with(FORM))
    await in_page_library.install(again)
    replayed = await replay_recording(again, recording.actions)
    assert replayed.succeeded, replayed.failure
    (page,) = again.pages
    assert await page.locator("[name=p]").input_value() == "open sesame"
    assert await page.locator("textarea").input_value() == "a\nb"
    await again.close()


async def test_a_secret_is_in_no_byte_that_is_written(browser, tmp_path):
    """Not where the page shows it, and not in the address of a form that sends it with GET."""
    word = "open&sesame"
    html = f"{FORM}<p>{'long enough for a file of its own ' * 80}"
    html = html.replace(
        "<h1>", '<output id=o></output><input type=password autocomplete="one-time-code" id=code><h1>'
    ).replace(
        "<script>",
        "<script>document.querySelector('[name=p]').oninput = (e) => { o.textContent = e.target.value; };"
        "code.onfocus = () => { code.type = 'text'; };",
    )
    async with watched(browser, tmp_path / "trace", html) as person:
        await person.page.click("#code")
        await person.page.keyboard.type("845291")
        await person.page.click("[name=p]")
        await person.page.keyboard.type(word)
        await person.page.click("#twice")
        await person.page.click("[data-testid=go]")
        await person.page.wait_for_url("**/done*")
        recording, trace = await person.done()
    assert [step.action_type for step in trace.steps] == ["navigate", "fill", "fill", "click", "click"]
    assert [action.secret for action in recording.actions] == [None, "845291", word, None, None]
    files = [file for file in (tmp_path / "trace").rglob("*") if file.is_file()]
    assert len(files) > 3
    for file in files:
        text = file.read_bytes()
        for spelt in (word, "open%26sesame", "open&amp;sesame", "sesame", "845291"):
            assert spelt.encode() not in text, (file, spelt)


async def test_addresses_back_and_reload_are_the_persons_and_what_follows_a_click_is_not(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        page, recorder = person.page, person.recorder
        await page.click("[name=n]")
        await page.keyboard.type("Ada")
        await page.keyboard.press("Enter")  # the form is sent
        await page.wait_for_url("**/done*")
        await page.goto(f"{SITE}/third")
        await recorder.rest()
        await page.go_back()
        await recorder.rest()
        await page.reload()
        await recorder.rest()
        await page.get_by_text("own back").click()
        await page.wait_for_url(f"{SITE}/")
        _, trace = await person.done()
    assert [(kind, value) for kind, value, _ in told(trace)] == [
        ("navigate", f"{SITE}/"),
        ("fill", "Ada"),
        ("press", "Enter"),
        ("navigate", f"{SITE}/third"),
        ("navigate_back", None),
        ("refresh", None),
        ("click", None),
    ]


async def test_an_address_that_the_page_changes_itself_is_no_reload(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        page, recorder = person.page, person.recorder
        await recorder.rest()
        for name in ("a", "b"):
            await page.evaluate(f"history.replaceState({{}}, '', '/{name}')")
            await recorder.rest()
        await page.reload()
        await recorder.rest()
        await page.evaluate("history.replaceState({}, '', '/c')")
        await recorder.rest()
        _, trace = await person.done()
    assert [kind for kind, _, _ in told(trace)] == ["navigate", "refresh"]


async def test_an_address_is_recorded_as_it_was_asked_for_though_the_page_replaces_it_at_once(
    browser, tmp_path
):
    page = "<!doctype html><title>D</title><script>history.replaceState({}, '', '/today')</script><button>Save</button>"
    async with watched(browser, tmp_path / "trace", page) as person:
        await person.recorder.rest()
        _, trace = await person.done()
    assert [(kind, value) for kind, value, _ in told(trace)] == [("navigate", f"{SITE}/")]


async def test_fields_that_are_filled_for_a_person_are_heard_and_those_that_the_page_fills_are_not(
    browser, tmp_path
):
    form = """<!doctype html><title>F</title><select aria-label=Size><option>One<option>Two<option>Three</select>
    <input type=date aria-label=Day> <input type=date aria-label=Own> <select aria-label=Other><option>One<option>Two</select>
    <script>
    function tell(el, value) { el.value = value; for (const kind of ["input", "change"]) el.dispatchEvent(new Event(kind, {bubbles: true})); }
    const [size, other] = document.querySelectorAll("select"), [day, own] = document.querySelectorAll("input");
    setTimeout(() => tell(other, "Two"));
    day.addEventListener("change", () => setTimeout(() => tell(own, "2026-01-01")));
    </script>"""
    async with watched(browser, tmp_path / "trace", form) as person:
        # The driver makes events of its own for both, from a world of its own, as password managers do.
        await person.page.select_option("[aria-label=Size]", label="Three")
        await person.page.fill("[aria-label=Day]", "2026-03-09")
        await person.page.wait_for_function("own.value !== ''")
        await person.recorder.rest()
        _, trace = await person.done()
    assert [(kind, value) for kind, value, _ in told(trace)] == [
        ("navigate", f"{SITE}/"),
        ("select_option", "Three"),
        ("fill", "2026-03-09"),
    ]


async def test_a_new_tab_is_recorded_with_its_number_and_found_again(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        async with person.page.expect_popup() as opening:
            await person.page.click("text=Other")
        other = await opening.value
        await other.wait_for_load_state()
        await other.click("#twice")
        await other.close()
        await person.page.click("#twice")
        recording, trace = await person.done()
    assert [(step.action_type, step.metadata.get("tab", 0)) for step in trace.steps] == [
        ("navigate", 0), ("click", 0), ("click", 1), ("click", 0),
    ]  # fmt: skip
    again = await browser.new_context()
    await again.route(f"{SITE}/**", answer_with(FORM))
    replayed = await replay_recording(again, recording.actions)
    assert replayed.succeeded, replayed.failure
    await again.close()


BESIDE = """<!doctype html><title>Beside</title><p id=out></p>
<button onclick="out.textContent = confirm('Delete?') ? 'gone' : 'kept'">Delete</button>
<button onclick="out.textContent += prompt('Where?')">Move</button>
<button onclick="alert('Well done')">Praise</button>
<a href="data:text/plain,a" download="report.txt">Report</a> <a href=/other target=_blank>Other</a>"""


async def test_answers_to_dialogs_downloads_and_tabs_belong_to_the_actions_that_led_to_them(
    browser, tmp_path
):
    async with watched(browser, tmp_path / "trace", BESIDE) as person:
        page = person.page
        page.on("dialog", lambda each: each.accept("berth 7") if each.type == "prompt" else each.accept())
        await page.click("text=Delete")
        await page.click("text=Move")
        await page.click("text=Praise")
        async with page.expect_download():
            await page.click("text=Report")
        async with page.expect_popup() as opening:
            await page.click("text=Other")
        other = await opening.value
        await other.wait_for_load_state()
        other.on("dialog", lambda each: each.dismiss())
        await other.click("text=Delete")
        await other.close()
        await page.click("text=Report")
        recording, trace = await person.done()
    assert [(step.args, step.metadata.get("opens_tab"), step.metadata.get("download")) for step in trace.steps[1:]] == [
        ({"on_dialog": "accept"}, None, None),
        ({"on_dialog": {"accept": True, "text": "berth 7"}}, None, None),
        ({}, None, None),
        ({}, None, "report.txt"),
        ({}, 1, None),
        ({"on_dialog": "dismiss"}, None, None),
        ({}, None, "report.txt"),
    ]  # fmt: skip
    assert recording.problems == []
    again = await browser.new_context()
    await again.route(f"{SITE}/**", answer_with(BESIDE))
    replayed = await replay_recording(again, recording.actions)
    assert replayed.succeeded, replayed.failure
    assert await again.pages[0].locator("#out").text_content() == "goneberth 7"
    assert await again.pages[1].locator("#out").text_content() == "kept"
    changed = [replace(action, beside=RecordedSideEffects()) for action in recording.actions]
    later = await browser.new_context()
    await later.route(f"{SITE}/**", answer_with(BESIDE))
    replayed = await replay_recording(later, changed)
    assert replayed.failure is not None
    assert "asked 'Delete?'" in str(replayed.failure.error)


async def test_the_badge_is_to_be_seen_and_neither_the_page_nor_a_snapshot_has_it(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        painted = await person.page.evaluate("getComputedStyle(document.documentElement, '::after').content")
        assert "recording" in painted
        assert await person.page.evaluate("document.elementFromPoint(1210, 698).localName") in (
            "html",
            "body",
        )
        names = await person.page.evaluate(
            "Object.getOwnPropertyNames(window).filter((n) => /periplus/i.test(n))"
        )
        assert names == []
        await person.page.click("#twice")
        _, trace = await person.done()
    assert all("recording" not in (step.html_before or "") for step in trace.steps)


async def test_a_step_that_cannot_be_done_again_is_named(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        await person.page.click("#twice")
        recording, _ = await person.done()
    again = await browser.new_context()
    await again.route(f"{SITE}/**", answer_with("<p>another page"))
    replayed = await replay_recording(again, recording.actions, timeout_s=0.3)
    await again.close()
    assert not replayed.succeeded
    assert replayed.failure is not None
    assert (replayed.failure.number, replayed.failure.action.action_type) == (2, "click")


SECRET_FORMS = (
    "<label>{0}<input id=f{1}></label>",
    '<input id=f{1} name="{0}">',
    '<input id=f{1} placeholder="{0}">',
    '<input id=f{1} aria-label="{0}">',
    "<label for=f{1}>{0}:</label><textarea id=f{1}></textarea>",
)


async def test_secrets_in_fields_of_any_name_are_in_no_byte_that_is_written(browser, tmp_path):
    names = list_secret_names()
    fields = [SECRET_FORMS[at % len(SECRET_FORMS)].format(name, at) for at, name in enumerate(names)]
    marked = f"<label>Magic word<input id=marked></label><input id=plain name=town autocomplete=off>{'<br>'.join(fields)}"
    html = f"<!doctype html><meta charset=utf-8><form>{marked}<button>Go</button></form>"
    async with watched(browser, tmp_path / "trace", html, secrets=("magic word",)) as person:
        for at in range(len(names)):
            await person.page.fill(f"#f{at}", secret_value(at))
        await person.page.fill("#marked", "zqmarked")
        await person.page.fill("#plain", "Lisbon")
        await person.recorder.rest()
        recording, trace = await person.done()
    written = b"".join(each.read_bytes() for each in (tmp_path / "trace").rglob("*") if each.is_file())
    assert [name for at, name in enumerate(names) if secret_value(at).encode() in written] == []
    assert b"zqmarked" not in written
    assert b"Lisbon" in written
    typed = [step for step in trace.steps if step.action_type == "fill"]
    assert len(typed) == len(names) + 2
    assert [bool(step.metadata.get("secret")) for step in typed] == [True] * (len(names) + 1) + [False]
    assert sum(action.secret is not None for action in recording.actions) == len(names) + 1


async def test_the_page_decides_as_the_schema_does_which_names_are_secret(browser):
    page = await browser.new_page()
    try:
        names = (*list_secret_names(), *PLAIN)
        await page.set_content("<input id=f>")
        source = (Path(demonstration_recorder.__file__).parent / "secret_fields.js").read_text(
            encoding="utf-8"
        )
        said = await page.evaluate(
            f"(names) => {{ const secret = {source.strip()}({json.dumps(PAGE_RULE)}, []);"
            " return names.map((name) => { const el = document.createElement('input'); el.name = name; return secret(el); }); }",
            list(names),
        )
        assert [
            name for name, secret in zip(names, said, strict=True) if secret is not is_secret_name(name)
        ] == []
    finally:
        await page.close()


async def test_a_page_that_replaces_its_clock_is_recorded(browser, tmp_path):
    clockless = FORM.replace(
        "<script>", "<script>const Real = Date; Date = function () { return new Real(2017, 2, 1) };", 1
    )
    async with watched(browser, tmp_path / "trace", clockless) as person:
        await person.page.fill("[name=n]", "Ada")
        _, trace = await person.done()
    assert ("fill", "Ada") in [each[:2] for each in told(trace)]


ISOLATED = """<!doctype html><title>Budget</title><h1>Budget</h1><div id=opens><svg title=""><path /></svg></div>
<button id=add><svg title=""><path d="M0 0" /></svg></button><label>Balance <input id=balance></label><p id=result></p>
<script>
navigator.serviceWorker.register("/worker.js");
new Worker(URL.createObjectURL(new Blob(["setInterval(() => postMessage(1), 50)"])));
document.getElementById("add").addEventListener("pointerup", () => { result.textContent = `Added ${balance.value}` });
for (const kind of ["pointerdown", "mousedown", "click", "beforeinput", "input", "change", "keydown", "keyup"])
  window.addEventListener(kind, (event) => event.stopImmediatePropagation(), true);
</script>"""
WORKER = """addEventListener("install", () => skipWaiting()); addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => event.respondWith(fetch(event.request)));"""
ISOLATION = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' blob:; connect-src 'self'",
}


def _isolated(asked: Asked) -> Answered:
    if asked.path == "/worker.js":
        return Answered(WORKER, kind="text/javascript", headers=ISOLATION)
    return Answered(ISOLATED, headers=ISOLATION)


async def test_an_isolated_page_with_workers_that_stops_all_events_at_the_window_is_recorded(
    browser, tmp_path
):
    with running_site(_isolated) as site:
        async with watched(browser, tmp_path / "trace") as person:
            page = person.page
            await page.goto(site.base)
            await page.wait_for_function("navigator.serviceWorker.controller !== null")
            await page.goto(f"{site.base}/again")
            assert await page.evaluate("crossOriginIsolated")
            await page.locator("#balance").press_sequentially("12")
            await page.locator("#add").click()
            await page.wait_for_function("result.textContent === 'Added 12'")
            recording, trace = await person.done()
    assert [step[:2] for step in told(trace)[3:]] == [("fill", "12"), ("click", None)]
    assert (recording.done, recording.lost, recording.failure, trace.success) == (2, 0, None, True)
    assert recording.presses == 3  # two keys and a button


UNREADABLE = FORM.replace("<script>", "<script>Element.prototype.checkVisibility = null; ", 1)


async def test_what_is_done_on_a_page_that_cannot_be_read_is_told_as_lost_and_throws_nothing_into_it(
    browser, tmp_path
):
    said: list[str] = []
    async with watched(browser, tmp_path / "trace", UNREADABLE, on_problem=said.append) as person:
        thrown: list[str] = []
        person.page.on("pageerror", lambda error: thrown.append(str(error)))
        await person.page.locator("[name=n]").press_sequentially("Ada")
        await person.page.locator("#twice").click()
        recording, trace = await person.done()
    assert thrown == []
    assert recording.done == 0
    assert recording.lost == 2
    assert [each.split(" is not")[0] for each in said] == ["typed on <input>", "click on <button>"]
    assert all("could not be read" in each and "TypeError" in each for each in said), said
    assert "2 of what was pressed or typed could not be recorded" in (recording.failure or "")
    assert not trace.success


async def test_a_script_that_fails_on_a_press_says_that_it_was_lost(browser, tmp_path):
    broken = FORM.replace("<script>", "<script>Element.prototype.matches = null; ", 1)
    async with watched(browser, tmp_path / "trace", broken) as person:
        await person.page.locator("#twice").click()
        recording, _ = await person.done()
    assert (recording.done, recording.lost > 0) == (0, True)
    assert "is not in the recording: TypeError" in recording.problems[0]


async def test_a_recording_without_an_action_is_no_success(browser, tmp_path):
    async with watched(browser, tmp_path / "trace") as person:
        recording, trace = await person.done()
    assert [each.action_type for each in recording.actions] == ["navigate"]
    assert recording.failure == "no action was recorded: no press of a button or key was seen"
    assert not trace.success

"""What people do beside plain clicks and typing: it is recorded and repeated, or the recorder says a sentence."""

from __future__ import annotations

import pytest

from agent.page import in_page_library
from agent.recording.recording_replay import replay_recording
from agent.recording.replay_differences import find_difference
from periplus.commands.record import describe_recorded_step, make_replay_table
from tests.support.pages import SITE
from tests.support.recorded_people import answer_with, told, watched

STATE = "window.state = window.state || []; const note = (...what) => state.push(what.join(' '));"


async def _replay(browser, html, recording):
    """Repeat a recording in a fresh context; return the result and the page's state."""
    again = await browser.new_context(viewport={"width": 1280, "height": 720})
    await again.route(f"{SITE}/**", answer_with(html))
    await in_page_library.install(again)
    try:
        replayed = await replay_recording(again, recording.actions, timeout_s=3)
        return replayed, await again.pages[0].evaluate("window.state")
    finally:
        await again.close()


async def _act_and_repeat(browser, folder, html, act):
    """Let a person act on a page; return their state, the recording, its steps, the replay and its state."""
    async with watched(browser, folder, html) as person:
        await act(person.page)
        await person.page.wait_for_timeout(500)  # as people do before they close a page
        await person.recorder.rest()
        left = await person.page.evaluate("window.state")
        recording, trace = await person.done()
    replayed, state = await _replay(browser, html, recording)
    assert replayed.succeeded, replayed.failure
    assert state == left
    return left, recording, told(trace)[1:], trace


MENU = f"""<!doctype html><title>Files</title><p id=thing>A file</p><div id=menu hidden><button id=rename>Rename</button></div>
<script>{STATE} thing.oncontextmenu = (e) => {{ e.preventDefault(); menu.hidden = false; }}; rename.onclick = () => note('rename');</script>"""


async def test_a_menu_of_the_right_button_is_recorded_and_repeated(browser, tmp_path):
    async def act(page):
        await page.click("#thing", button="right")
        await page.click("#rename")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", MENU, act)
    assert left == ["rename"]
    assert [step[0] for step in steps] == ["right_click", "click"]


async def test_the_browser_s_own_menu_is_no_step(browser, tmp_path):
    async with watched(browser, tmp_path / "t", "<!doctype html><title>P</title><h1>Plain</h1>") as person:
        await person.page.click("h1", button="right")
        _, trace = await person.done()
    assert [step[0] for step in told(trace)] == ["navigate"]


ROWS = f"""<!doctype html><title>Rows</title><div role=listbox>{"".join(f"<div role=option id=r{n}>Row {n}</div>" for n in range(4))}</div>
<script>{STATE} for (const row of document.querySelectorAll('[role=option]'))
row.onclick = (e) => note(row.id, e.shiftKey, e.ctrlKey);</script>"""


async def test_keys_that_are_held_down_during_a_click_are_recorded_and_repeated(browser, tmp_path):
    async def act(page):
        await page.click("#r0")
        await page.click("#r2", modifiers=["Shift"])
        await page.click("#r3", modifiers=["Control", "Shift"])

    left, recording, _, trace = await _act_and_repeat(browser, tmp_path / "t", ROWS, act)
    assert left == ["r0 false false", "r2 true false", "r3 true true"]
    assert [(step.args or {}).get("modifiers") for step in trace.steps[1:]] == [
        None,
        ["Shift"],
        ["Control", "Shift"],
    ]
    assert "(Control+Shift held down)" in describe_recorded_step(recording.actions[-1])


HOVER = f"""<!doctype html><title>Shop</title><ul><li id=products>Products</li></ul><p id=text>Text</p><script>{STATE}
products.onmouseenter = () => {{ products.insertAdjacentHTML('beforeend', '<div id=box><button id=boats>Boats</button></div>');
boats.onclick = () => note('boats'); }};
products.onmouseleave = () => box.remove();</script>"""


async def test_pointing_is_a_step_only_if_the_next_one_needs_it(browser, tmp_path):
    async def act(page):
        await page.wait_for_timeout(600)  # as people do: they look first
        await page.hover("#text")
        await page.hover("#products")
        await page.click("#boats")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", HOVER, act)
    assert left == ["boats"]
    assert [step[0] for step in steps] == ["hover", "click"]
    assert "Products" in steps[0][2]


ROOM = f"""<!doctype html><title>Feed</title><div id=feed></div><p id=foot style="position:fixed;left:850px;top:580px">Foot</p>
<script>{STATE} foot.onmousemove = () => {{ feed.innerHTML = '<button id=late>Late</button>'; late.onclick = () => note('late'); }};
</script>"""


async def test_what_appears_far_from_the_pointer_needs_no_pointing(browser, tmp_path):
    async with watched(browser, tmp_path / "t", ROOM) as person:
        await person.page.wait_for_timeout(600)  # as people do: they look first
        await person.page.mouse.move(700, 400)
        await person.page.mouse.move(860, 606, steps=3)
        await person.page.click("#late")
        _, trace = await person.done()
    assert [step[0] for step in told(trace)] == ["navigate", "click"]


BOARD = f"""<!doctype html><title>Board</title><style>.column {{ width: 200px; min-height: 90px; border: 1px solid }}</style>
<div class=column id=todo><div id=card draggable=true>Caulk</div></div><div class=column id=done>Done</div><script>{STATE}
card.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'card'); done.ondragover = (e) => e.preventDefault();
done.ondrop = (e) => {{ e.preventDefault(); done.append(card); note('done'); }};</script>"""
SPLIT = f"""<!doctype html><title>Split</title><div style="display:flex;width:600px;height:80px"><div id=left style="width:200px">left</div>
<div id=line style="width:8px;background:#888;cursor:col-resize"></div><div>right</div></div><script>{STATE}
line.onpointerdown = (e) => {{ line.setPointerCapture(e.pointerId);
line.onpointermove = (m) => {{ left.style.width = m.clientX - 8 + 'px'; }};
line.onpointerup = () => {{ line.onpointermove = null; note(left.style.width); }}; }};</script>"""


async def _drag(page, source, x, y):
    box = await page.locator(source).bounding_box()
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(x, y, steps=8)
    await page.mouse.up()


@pytest.mark.parametrize(
    ("html", "source", "place"), [(BOARD, "#card", (80, 160)), (SPLIT, "#line", (400, 40))]
)
async def test_dragging_is_recorded_and_repeated(browser, tmp_path, html, source, place):
    left, recording, steps, _ = await _act_and_repeat(
        browser, tmp_path / "t", html, lambda page: _drag(page, source, *place)
    )
    assert len(left) == 1
    assert [step[0] for step in steps] == ["drag"]
    assert " to " in describe_recorded_step(recording.actions[-1])


async def test_selecting_text_with_the_mouse_is_no_drag(browser, tmp_path):
    html = "<!doctype html><title>T</title><p id=one>Some words to select</p><p id=two>And more</p>"
    async with watched(browser, tmp_path / "t", html) as person:
        await _drag(person.page, "#one", 60, 60)
        await person.page.wait_for_timeout(500)
        _, trace = await person.done()
    assert [step[0] for step in told(trace)] == ["navigate"]


SLIDER = f"""<!doctype html><title>S</title><div id=track style="position:relative;width:300px;height:20px;background:#ccc">
<div id=thumb role=slider tabindex=0 aria-label=Volume aria-valuemin=0 aria-valuemax=100 aria-valuenow=30
style="position:absolute;left:90px;width:10px;height:20px;background:#336"></div></div><script>{STATE}
const set = (value) => {{ thumb.setAttribute('aria-valuenow', value); thumb.style.left = value * 3 + 'px'; state = [value]; }};
track.onpointerdown = () => {{ document.onpointermove = (m) => set(Math.round((m.clientX - 8) / 3)); }};
document.onpointerup = () => {{ document.onpointermove = null; }};
thumb.onkeydown = (e) => {{ const by = {{ ArrowUp: 1, ArrowDown: -1 }}[e.key]; if (by) set(+thumb.ariaValueNow + by); }};</script>"""


async def test_a_slider_is_recorded_as_the_value_it_was_set_to(browser, tmp_path):
    left, _, steps, _ = await _act_and_repeat(
        browser, tmp_path / "t", SLIDER, lambda page: _drag(page, "#thumb", 158, 12)
    )
    assert left == [50]
    assert steps == [("fill", "50", "slider 'Volume'")]


EDITOR = f"""<!doctype html><title>E</title><button id=bold>Bold</button><div id=text contenteditable aria-label=Note>Dear <b>Ada</b></div>
<script>{STATE} bold.onmousedown = (e) => e.preventDefault(); bold.onclick = () => document.execCommand('bold');
text.oninput = () => {{ state = [text.innerHTML]; }};</script>"""


async def test_what_is_added_in_an_editor_leaves_the_form_of_the_rest(browser, tmp_path):
    async def act(page):
        await page.click("#text", position={"x": 600, "y": 8})
        await page.keyboard.press("Control+End")
        await page.keyboard.type(" x")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", EDITOR, act)
    assert "<b>Ada" in left[0]
    assert ("append_text", " x") in [step[:2] for step in steps]


OWN = f"""<!doctype html><title>O</title><div id=own role=button tabindex=0>Own</div>
<div id=chip role=button style="cursor:default">first <svg id=cross width=14 height=14 style="cursor:pointer"><rect width=14 height=14 /></svg></div>
<label><input type=checkbox id=box>Loud</label><script>{STATE} own.onkeydown = (e) => note(e.key);
chip.onclick = () => note('chip'); cross.onclick = (e) => {{ e.stopPropagation(); note('cross'); }};
document.onkeydown = (e) => {{ if (e.key === 'Escape') {{ note('Escape'); document.body.append('Closed'); }} }};</script>"""


async def test_keys_on_home_made_controls_and_parts_of_controls_are_recorded(browser, tmp_path):
    async def act(page):
        await page.focus("#own")
        await page.keyboard.press("Enter")
        await page.click("#cross")
        await page.click("#box")
        await page.keyboard.press("Escape")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", OWN, act)
    assert left == ["Enter", "cross", "Escape"]
    assert [step[0] for step in steps] == ["press", "click", "check", "press"]


DAYS = f"""<!doctype html><title>D</title><table role=grid><tr><td role=gridcell>17</td></tr></table><table><tr><td id=plain>Note</td></tr></table>
<script>{STATE} document.querySelector('[role=gridcell]').onclick = () => note('17');</script>"""


async def test_a_press_on_a_cell_of_a_grid_is_a_step_though_nothing_shows_and_one_on_plain_text_is_none(
    browser, tmp_path
):
    async def act(page):
        await page.click("#plain")
        await page.wait_for_timeout(800)  # the recorder compares the page when it is at rest
        await page.click("[role=gridcell]")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", DAYS, act)
    assert left == ["17"]
    assert [step[0] for step in steps] == ["click"]


EDITED = f"""<!doctype html><title>E</title><div id=edit contenteditable aria-label=Note style="min-height:40px"></div>
<script>{STATE} edit.oninput = () => {{ state = [edit.innerText]; }};</script>"""


async def test_empty_lines_of_a_plain_editor_are_recorded_as_often_as_they_were_made(browser, tmp_path):
    async def act(page):
        await page.click("#edit")
        for key in ("Enter", "a", "Enter", "Enter", "b"):
            await page.keyboard.press(key)

    _, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", EDITED, act)
    assert steps == [("fill", "\na\n\nb", "div 'Note'")]


FORMATTED = f"""<!doctype html><title>F</title><div id=edit contenteditable aria-label=Note><p><br></p></div><script>{STATE} state = [edit.innerHTML];
edit.oninput = () => {{ state = [edit.innerHTML]; }};
edit.onkeydown = (e) => {{ if (e.key === 'z' && e.ctrlKey) {{ e.preventDefault(); edit.innerHTML = '<p><br></p>'; state = [edit.innerHTML];
edit.dispatchEvent(new InputEvent('input', {{ bubbles: true, inputType: 'historyUndo' }})); }} }};</script>"""


async def test_an_editor_whose_text_was_undone_is_empty_and_gets_no_line(browser, tmp_path):
    async def act(page):
        await page.click("#edit p")
        await page.keyboard.type("strong")
        await page.keyboard.press("Control+z")

    _, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", FORMATTED, act)
    assert "\n" not in [step[1] for step in steps]


HOVERED = f"""<!doctype html><title>H</title><ul id=menu style="position:absolute"><li id=entry><a href="#" id=name>More</a></li></ul>
<script>{STATE} entry.onmouseenter = () => {{ const saw = document.createElement('button'); saw.id = 'saw'; saw.textContent = 'Saws'; saw.style.position = 'absolute';
saw.onclick = () => {{ saw.ariaPressed = 'true'; note('saw'); }}; entry.append(saw); }};</script>"""


async def test_what_pointing_showed_is_pressed_with_a_key_or_at_once_after_loading(browser, tmp_path):
    async def act(page):
        await page.wait_for_timeout(600)  # the address is a step of its own
        await page.reload()
        await page.mouse.move(400, 300)
        await page.hover("#name")
        await page.focus("#saw")
        await page.keyboard.press("Enter")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", HOVERED, act)
    assert left == ["saw"]
    assert [step[0] for step in steps] == ["refresh", "hover", "click"]


BY_KEYS = f"""<!doctype html><title>K</title><button id=light role=switch>Light</button>
<input id=who role=combobox aria-expanded=true aria-label=Who><p id=out></p><script>{STATE}
light.onkeyup = (e) => {{ if (e.key === ' ') {{ e.preventDefault(); note('light'); out.textContent += 'on '; }} }};
who.onkeydown = (e) => {{ if (e.key === 'Tab') {{ note('chosen'); out.textContent += 'Ann'; who.ariaExpanded = 'false'; }} }};</script>"""


async def test_keys_that_a_page_takes_when_they_are_let_go_or_with_tab_are_steps(browser, tmp_path):
    async def act(page):
        await page.focus("#light")
        await page.keyboard.press("Space")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", BY_KEYS, act)
    assert left == ["light", "chosen"]
    assert [step[:2] for step in steps] == [("press", "Space"), ("press", "Tab")]


HEADS = f"""<!doctype html><title>G</title><div role=row id=row style="display:flex;width:600px"><div role=columnheader>Name</div></div>
<script>{STATE} row.onclick = (e) => {{ if (e.target !== row) note('sorted'); document.body.className += ' x'; }};</script>"""


async def test_a_press_between_the_heads_of_columns_is_no_step(browser, tmp_path):
    async with watched(browser, tmp_path / "t", HEADS) as person:
        await person.page.click("#row", position={"x": 500, "y": 5})
        await person.recorder.rest()
        _, trace = await person.done()
    assert told(trace)[1:] == []


LATE = f"""<!doctype html><title>L</title><input id=day aria-label=Day><script>{STATE} let text = '';
day.onkeydown = (e) => {{ if (!/^[0-9]$/.test(e.key)) return; e.preventDefault(); text += e.key; }};
day.onkeyup = () => requestAnimationFrame(() => {{ day.value = text; state = [day.value]; }});</script>"""


async def test_a_text_that_a_script_writes_when_it_draws_is_recorded_whole(browser, tmp_path):
    async with watched(browser, tmp_path / "t", LATE) as person:
        await person.page.click("#day")
        await person.page.keyboard.type("1705")
        await person.page.wait_for_timeout(300)
        await person.recorder.rest()
        _, trace = await person.done()
    assert told(trace)[1:] == [("fill", "1705", "textbox 'Day'")]


async def test_a_file_that_the_page_takes_away_at_once_is_known_with_its_path(browser, tmp_path):
    html = "<!doctype html><title>F</title><input type=file id=f aria-label=F onchange=\"this.value = ''\">"
    file = tmp_path / "note.txt"
    file.write_text("one")
    async with watched(browser, tmp_path / "t", html) as person:
        await person.page.set_input_files("#f", file)
        await person.recorder.rest()
        recording, _ = await person.done()
    assert recording.actions[-1].args["value"] == str(file)


DRAWING = f"""<!doctype html><title>C</title><div style="height:900px"></div><canvas id=c width=200 height=100 aria-label=Map></canvas>
<script>{STATE} c.onclick = (e) => note('one', Math.round(e.offsetX / 10), Math.round(e.offsetY / 10), e.shiftKey);
c.ondblclick = (e) => note('two', Math.round(e.offsetX / 10), Math.round(e.offsetY / 10));
c.oncontextmenu = (e) => {{ e.preventDefault(); note('right', Math.round(e.offsetX / 10)); }};</script>"""


async def test_a_press_on_a_drawing_is_repeated_at_its_place_with_a_warning(browser, tmp_path):
    async def act(page):
        await page.click("#c", position={"x": 30, "y": 20}, modifiers=["Shift"])
        await page.wait_for_timeout(600)
        await page.dblclick("#c", position={"x": 150, "y": 80})
        await page.click("#c", position={"x": 190, "y": 10}, button="right")

    left, recording, steps, trace = await _act_and_repeat(browser, tmp_path / "t", DRAWING, act)
    assert left == ["one 3 2 true", "one 15 8 false", "one 15 8 false", "two 15 8", "right 19"]
    assert [step[0] for step in steps] == ["click", "double_click", "right_click"]
    assert trace.steps[1].args == {"modifiers": ["Shift"], "place": [0.15, 0.2]}
    assert any("at 30, 20 is repeated by its place alone" in said for said in recording.problems)
    assert any("at 15 %, 20 %" in describe_recorded_step(each) for each in recording.actions)


ASKED = """<!doctype html><title>A</title><button id=tab>Tab 2</button><canvas id=c width=200 height=100></canvas>
<script>tab.onauxclick = () => tab.remove();</script>"""


async def test_what_cannot_be_repeated_is_said_at_once_and_in_the_trace(browser, tmp_path):
    said = []
    async with watched(browser, tmp_path / "t", ASKED, on_problem=said.append) as person:
        await person.page.click("#tab", button="middle")
        await person.page.wait_for_timeout(500)
        await person.page.mouse.click(40, 40)
        await _drag(person.page, "#c", 100, 60)
        await person.page.wait_for_timeout(500)
        recording, trace = await person.done()
    assert said == recording.problems == trace.metadata["problems"]
    assert said[0] == (
        "pressing button 'Tab 2' with the middle button changed the page and cannot be repeated: does it belong to the task?"
    )
    assert "pressing a drawing (canvas) at" in said[1]
    assert "dragging on a drawing (canvas) to" in said[2]


async def test_a_replay_says_after_which_step_the_page_was_another(browser, tmp_path):
    html = (
        "<!doctype html><title>C</title><button id=b onclick=\"p.textContent = '{}'\">Go</button><p id=p></p>"
    )
    async with watched(browser, tmp_path / "t", html.format("Saved")) as person:
        await person.page.click("#b")
        await person.recorder.rest()
        recording, _ = await person.done()
    again = await browser.new_context()
    await again.route(f"{SITE}/**", answer_with(html.format("Sent")))
    await in_page_library.install(again)
    replayed = await replay_recording(again, recording.actions, timeout_s=3)
    await again.close()
    assert replayed.succeeded
    differences = [step.difference for step in replayed.steps]
    assert differences[0] is None
    assert differences[1] is not None
    assert (differences[1].recorded, differences[1].repeated) == ("Saved", "Sent")
    cells = [list(column.cells) for column in make_replay_table(replayed).columns]
    assert cells[1:] == [[f"navigate: {SITE}/", "click button 'Go'"], ["", "Saved"], ["as recorded", "Sent"]]


def test_pages_are_compared_by_words_and_by_states_of_controls():
    page = "<!doctype html><title>P</title><p>{}</p><input type=checkbox aria-checked={} aria-label=A>"
    one, other = page.format("same", "false"), page.format("same", "true")
    assert find_difference(one, one, SITE) is None
    found = find_difference(one, other, SITE)
    assert found is not None
    assert (found.recorded, found.repeated) == ("input false", "input true")


DEAF = f"""<!doctype html><title>Keys</title><button id=deaf>Act at once</button> <button id=plain>Show</button><p id=said></p>
<script>{STATE} deaf.onpointerdown = () => note('pointer'); plain.onclick = () => {{ said.textContent = 'shown'; note('shown'); }};</script>"""


async def test_a_key_that_a_control_does_not_take_is_no_click(browser, tmp_path):
    async def act(page):
        await page.focus("#deaf")
        await page.keyboard.press("Enter")
        await page.wait_for_timeout(300)  # the recorder compares the page before and after
        await page.focus("#plain")
        await page.keyboard.press("Enter")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", DEAF, act)
    assert left == ["shown"]
    assert [step[0] for step in steps] == ["press", "click"]


CLOSING = f"""<!doctype html><title>Rename</title><button id=open>Rename</button>
<dialog id=asks><label>Name <input id=name></label><button id=ok>Save</button></dialog>
<script>{STATE} document.getElementById("open").onclick = () => asks.showModal(); ok.onclick = () => {{ note(name_()); asks.close(); }};
const name_ = () => document.getElementById('name').value;</script>"""


async def test_what_undo_changes_in_a_closed_dialog_is_no_step(browser, tmp_path):
    async def act(page):
        await page.click("#open")
        await page.click("#name")
        await page.keyboard.type("Ada")
        await page.click("#ok")
        await page.keyboard.press("Control+Z")

    left, _, steps, _ = await _act_and_repeat(browser, tmp_path / "t", CLOSING, act)
    assert left == ["Ada"]
    assert [step[0] for step in steps] == ["click", "fill", "click"]


async def test_the_page_itself_is_not_dragged(browser, tmp_path):
    html = "<!doctype html><title>Plain</title><h1>Plain</h1><div style='height: 300px'></div>"
    async with watched(browser, tmp_path / "t", html) as person:
        await person.page.mouse.move(600, 620)
        await person.page.mouse.down()
        await person.page.mouse.move(700, 660, steps=4)
        await person.page.mouse.up()
        await person.recorder.rest()
        _, trace = await person.done()
    assert "drag" not in [step[0] for step in told(trace)]


CODE = f"""<!doctype html><title>Code</title><form>{"".join(f"<input size=1 aria-label='Digit {n}'>" for n in range(1, 4))}</form>
<script>{STATE} const fields = [...document.querySelectorAll('input')];
for (const [at, field] of fields.entries()) field.oninput = () => {{
  if (field.value) fields[at + 1]?.focus();
  if (fields.every((each) => each.value)) note(fields.map((each) => each.value).join(''));
}};</script>"""


@pytest.mark.parametrize(
    ("keys", "taken", "typed"),
    [
        (["4", "0", "7", "Backspace"], ["407"], ["4", "0", "7", ""]),
        (["4", "0", "7", "Backspace", "9"], ["407", "409"], None),
    ],
)
async def test_a_code_whose_last_character_was_taken_back_is_typed_whole(
    browser, tmp_path, keys, taken, typed
):
    async with watched(browser, tmp_path / "t", CODE) as person:
        await person.page.focus("input")
        for key in keys:
            await person.page.keyboard.press(key)
        await person.page.wait_for_timeout(300)
        left = await person.page.evaluate(
            "[...document.querySelectorAll('input')].map((each) => each.value).join('')"
        )
        assert await person.page.evaluate("window.state") == taken
        recording, trace = await person.done()
    replayed, state = await _replay(browser, CODE, recording)
    assert replayed.succeeded, replayed.failure
    assert state[-1] == taken[-1]
    assert left == ("40" if typed else "409")
    fills = [(step.args or {}).get("value") for step in trace.steps if step.action_type == "fill"]
    assert fills == (typed or ["4", "0", "9"])

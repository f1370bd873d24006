"""A field that does not show what was typed gets the keys one by one; one that does not take them is a failure."""

from __future__ import annotations

import pytest

from agent.page.action_requests import ActionPace
from agent.page.errors import ActionFailed
from agent.page.page_actions import perform_action
from agent.page.typed_texts import ShownText
from kb_schema.selectors import css
from tests.support.pages import show

PAGE = """<!doctype html><title>Fields</title><form>
<input id=mask value="2026-01-01"><input id=fixed value=old><input id=upper><input id=short maxlength=4>
<input id=tags><span id=taken></span><input id=number value=1><textarea id=lines>old</textarea></form>
<script>
const mask = document.querySelector("#mask");
let kept = mask.value;
mask.addEventListener("keydown", event => {
  if (event.key.length > 1) return;
  event.preventDefault();
  kept = (mask.selectionEnd - mask.selectionStart === kept.length ? "" : kept) + event.key;
  mask.value = kept;
});
mask.addEventListener("input", () => { mask.value = kept });
document.querySelector("#fixed").addEventListener("input", event => { event.target.value = "old" });
document.querySelector("#lines").addEventListener("input", event => { event.target.value = "old" });
document.querySelector("#upper").addEventListener("input", event => { event.target.value = event.target.value.toUpperCase() + " " });
document.querySelector("#number").addEventListener("change", event => { event.target.value = "1,200.00" });
document.querySelector("#tags").addEventListener("change", event => {
  document.querySelector("#taken").append(event.target.value);
  event.target.value = "";
});
</script>"""


EDITOR = """<!doctype html><title>Editor</title><div id=editor role=textbox contenteditable=true>400</div><script>
const editor = document.querySelector("#editor");
const kept = new EditContext({text: "400"});
editor.editContext = kept;
kept.addEventListener("textupdate", () => {
  editor.textContent = kept.text;
  getSelection().collapse(editor.firstChild ?? editor, editor.firstChild ? kept.selectionStart : 0);
});
document.addEventListener("selectionchange", () => {
  const range = getSelection().getRangeAt(0);
  const all = range.toString() === editor.textContent;
  kept.updateSelection(all ? 0 : range.startOffset, all ? editor.textContent.length : range.endOffset);
});
</script>"""


@pytest.mark.parametrize("pace", [ActionPace(), ActionPace(key_delay_s=0.001)])
async def test_an_editor_with_an_edit_context_takes_text(page, pace):
    await show(page, EDITOR)
    await perform_action(page, "fill", selector=css("#editor"), value='["a", 1]', pace=pace)
    assert await page.evaluate("kept.text") == '["a", 1]'
    await perform_action(page, "clear", selector=css("#editor"))
    assert await page.evaluate("kept.text") == ""


@pytest.mark.parametrize("pace", [ActionPace(), ActionPace(key_delay_s=0.001)])
async def test_a_mask_that_takes_keys_only_gets_them(page, pace):
    await show(page, PAGE)
    await perform_action(page, "fill", selector=css("#mask"), value="2027-03-01", pace=pace)
    assert await page.input_value("#mask") == "2027-03-01"


async def test_a_field_that_keeps_another_text_is_a_failure_that_quotes_it(page):
    await show(page, PAGE)
    with pytest.raises(ActionFailed, match=r"the field shows 'old' after 'new' was typed into it"):
        await perform_action(page, "fill", selector=css("#fixed"), value="new")


async def test_lines_that_a_field_does_not_take_are_a_failure_and_are_not_typed_again(page):
    await show(page, PAGE)
    with pytest.raises(ActionFailed, match="the field shows 'old' after"):
        await perform_action(page, "fill", selector=css("#lines"), value="one\ntwo")


@pytest.mark.parametrize(
    ("field", "text", "shown"),
    [
        ("#upper", "ada", "ADA "),
        ("#short", "abcdef", "abcd"),
        ("#tags", "red", ""),
        ("#number", "1200", "1,200.00"),
    ],
)
async def test_a_field_that_writes_it_in_its_own_way_is_typed_into_once(page, field, text, shown):
    await show(page, PAGE)
    await perform_action(page, "fill", selector=css(field), value=text)
    assert await page.input_value(field) == shown
    assert await page.inner_text("#taken") == ("red" if field == "#tags" else "")


CODE = """<!doctype html><title>Code</title><textarea id=code aria-roledescription=editor></textarea>
<div id=rich contenteditable=true></div><script>
// Indents and closes brackets what is typed, and leaves alone what is pasted.
code.addEventListener("beforeinput", event => {
  event.preventDefault();
  const said = event.data.replaceAll("\\n", "\\n  ").replaceAll("{", "{}");
  code.setRangeText(said, code.selectionStart, code.selectionEnd, "end");
});
rich.addEventListener("beforeinput", event => {
  if (event.data === "{") { event.preventDefault(); rich.append("{}"); getSelection().collapse(rich, rich.childNodes.length); }
});
if (PASTES) code.addEventListener("paste", event => {
  event.preventDefault();
  code.setRangeText(event.clipboardData.getData("text"), code.selectionStart, code.selectionEnd, "end");
});
</script>"""
LINES = "if (a) {\n  b\n}"


@pytest.mark.parametrize("pace", [ActionPace(), ActionPace(key_delay_s=0.001)])
async def test_an_editor_that_indents_and_closes_brackets_gets_the_text_pasted(page, pace):
    await show(page, CODE.replace("PASTES", "true"))
    await perform_action(page, "fill", selector=css("#code"), value=LINES, pace=pace)
    assert await page.input_value("#code") == LINES


async def test_an_editor_that_writes_other_lines_is_a_failure_and_no_notation(page):
    await show(page, CODE.replace("PASTES", "false"))
    with pytest.raises(ActionFailed, match="after 'if"):
        await perform_action(page, "fill", selector=css("#code"), value=LINES)
    with pytest.raises(ActionFailed, match="was added to it"):
        await perform_action(page, "append_text", selector=css("#rich"), value="if (a) {b}")


async def test_lines_that_are_added_are_as_they_were_shown(page):
    await show(page, CODE.replace("PASTES", "true"))
    await perform_action(page, "fill", selector=css("#code"), value="x")
    await perform_action(page, "append_text", selector=css("#code"), value="\nif (a) {\n  b\n}")
    assert await page.input_value("#code") == "x\n" + LINES


@pytest.mark.parametrize(
    ("text", "shown", "taken"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\n  b", "a\nb", False),
        ("\n".join("abcdef"), "c\nd\ne", True),
        ("\n".join("abcdef"), "e\nf\n}", False),
        ("Ann\nBob", "ANN\nBOB", True),
    ],
)
def test_an_editor_may_show_a_part_of_the_lines(text, shown, taken):
    assert ShownText(shown, "", beside=False, most=-1, lines=True, editor=True).has(text) is taken


@pytest.mark.parametrize(
    ("shown", "first", "text", "refused"),
    [
        ("5 May 2027", "5 May 2027", "2027-05-05", False),
        ("old", "old", "new", True),
        ("", "", "new", True),
        ("15", "1", "150", True),
        ("150", "", "15", True),
        ("555-0100", "", "5550100", False),
    ],
)
def test_another_notation_is_shown_twice_and_is_not_what_was_there(shown, first, text, refused):
    seen = ShownText(shown, "old", beside=False, most=-1)
    assert seen.is_refused(text, ShownText(first, "old", beside=False, most=-1)) is refused


PICKED = """<!doctype html><title>Dates</title><label>Received <input id=received class="form-control bootstrap-datepicker"></label>
<label><input type=checkbox id=hazardous> Hazardous</label><script>
let known = "";
const received = document.querySelector("#received");
received.addEventListener("keyup", () => { known = received.value; });
const put = () => { received.value = known; };  // what it knows, when it is left
document.addEventListener("mousedown", (event) => { if (event.target !== received) put(); });
</script>"""


AROUND = PICKED.replace(' class="form-control bootstrap-datepicker"', "").replace(
    "<label>Received", '<label class="input-group date">Received'
)


@pytest.mark.parametrize("pace", [ActionPace(), ActionPace(key_delay_s=0.001)])
@pytest.mark.parametrize("fields", [PICKED, AROUND])
async def test_a_field_with_a_calendar_gets_the_keys_and_keeps_them(page, pace, fields):
    await show(page, fields)
    await perform_action(page, "fill", selector=css("#received"), value="2026-07-14", pace=pace)
    await perform_action(page, "check", selector=css("#hazardous"), pace=pace)
    assert await page.locator("#received").input_value() == "2026-07-14"

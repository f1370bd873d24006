"""Choosing from lists that a script hid, and for which it drew widgets of its own, as Select2 and its likes do."""

from __future__ import annotations

import pytest

from agent.page.errors import ActionFailed, ChoiceInDoubt, GateFailed, OptionMissing
from agent.page.page_actions import perform_action
from agent.page.page_writes import watch_writes
from kb_schema.selectors import css
from tests.support.pages import show

TUCKED = "position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)"
OPTIONS = "<option>Retail<option>Wholesale<option>Export"
PAGE = f"""<!doctype html><title>Customers</title><style>.w {{ display:inline-block;width:200px;background:#eee }} .drop {{ position:absolute;background:#fff }}</style>
<div><select id=follows style="{TUCKED}">{OPTIONS}</select><span class=w><span role=combobox tabindex=0>Retail</span></span></div>
<div><select id=pressed style="display:none">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>Retail</a></div></div>
<div><select id=kept style="display:none"><option>Retail</select><div class=w><a role=combobox tabindex=0>Retail</a></div></div>
<div><select id=lies style="display:none">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>Retail</a></div></div>
<form action=/sent><select id=sending name=s style="display:none" onchange="pressed.push(8); this.form.submit()">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>Retail</a></div></form>
<div><select id=coded style="display:none">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>R</a></div></div>
<div><select id=deaf style="display:none">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>Retail</a></div></div>
<div><select id=beside style="display:none">{OPTIONS}</select><button onclick="pressed.push(1)">Delete all</button></div>
<div><select id=named style="display:none">{OPTIONS}</select><button onclick="pressed.push(2)">Retail</button></div>
<div><select id=more style="display:none">{OPTIONS}</select><button aria-haspopup=listbox onclick="pressed.push(3)">Retail Buy now</button></div>
<div><select id=sends style="display:none">{OPTIONS}</select><div role=combobox>Retail<button type=submit onclick="pressed.push(4)"></button></div></div>
<form action=/orders><select id=default style="display:none">{OPTIONS}</select><button aria-haspopup=listbox>Retail</button></form>
<div><select id=other style="display:none">{OPTIONS}</select><div class=w><a role=combobox tabindex=0>Retail</a></div></div>
<div><select id=asks style="display:none">{OPTIONS}</select><div class=w onclick="asking.hidden = false"><a role=combobox tabindex=0>Retail</a></div></div>
<div id=asking role=dialog hidden>Delete your account?<p onclick="pressed.push(6)">Wholesale</p></div>
<div><select id=owns style="display:none">{OPTIONS}</select><div class=w onclick="away.hidden = own.hidden = false"><a role=combobox aria-controls=own tabindex=0>Retail</a></div></div>
<div id=away hidden><p onclick="pressed.push(7)">Wholesale</p></div><ul id=own hidden><li onclick="owns.value = 'Export'">Export</ul>
<div style="position:fixed;right:0;top:0"><p onclick="pressed.push(5)">Export</p></div>
<div style="position:relative;height:40px"><select id=covered>{OPTIONS}</select><div class=w style="position:absolute;left:0;top:0">Sorry, closed</div></div>
<table><tr><td>Wholesale</table>
<script>
const pressed = [];
const shownBeside = (id) => document.querySelector(`#${{id}} + .w`).firstElementChild;
for (const list of [follows, document.getElementById('pressed'), kept, lies, sending]) shownBeside(list.id).parentElement.addEventListener("click", () => {{
  const drop = document.body.appendChild(document.createElement("ul"));
  drop.className = "drop";
  for (const word of ["Retail", "Wholesale", "Export"]) drop.append(Object.assign(document.createElement("li"), {{
    textContent: word,
    onclick: () => {{
      if (![...list.options].some((option) => option.value === word)) list.append(new Option(word));
      list.value = word; shownBeside(list.id).textContent = word; drop.remove();
      if (list === lies) setTimeout(() => {{ list.value = "Retail" }}, 60);
      list.dispatchEvent(new Event("change"));
    }},
  }}));
}});
</script>"""


@pytest.mark.parametrize("name", ["follows", "pressed", "kept"])
async def test_the_list_and_what_is_shown_for_it_have_the_choice(page, name):
    await show(page, PAGE, "/customers")
    await page.evaluate(
        f"window.changes = 0; {name}.addEventListener('change', () => {{ changes += 1 }})"
        if name != "pressed"
        else "window.changes = 1"
    )
    await perform_action(page, "select_option", selector=css(f"#{name}"), value="Wholesale", timeout_s=2)
    assert await page.locator(f"#{name}").input_value() == "Wholesale"
    assert await page.locator(f"#{name} + .w").inner_text() == "Wholesale"
    assert await page.locator(".drop").count() == 0
    assert await page.evaluate("changes") == 1
    await perform_action(page, "select_option", selector=css(f"#{name}"), value="Wholesale", timeout_s=2)
    assert await page.evaluate("changes") == 1  # it is chosen already


async def test_a_widget_that_does_not_take_the_choice_is_opened_once(page):
    await show(page, PAGE, "/customers")
    await page.evaluate(
        "window.opened = 0; document.querySelector('#deaf + .w').addEventListener('click', () => { opened += 1 })"
    )
    for told in ('offers "Wholesale" 0 times', 'showed no options "Wholesale" when it was opened'):
        with pytest.raises(ActionFailed, match=told):
            await perform_action(page, "select_option", selector=css("#deaf"), value="Wholesale", timeout_s=2)
    assert await page.locator("#deaf").input_value() == "Retail"
    assert await page.evaluate("opened") == 1


async def test_what_the_list_holds_after_the_press_decides(page):
    await show(page, PAGE, "/customers")
    with pytest.raises(ActionFailed, match="did not have it chosen"):
        await perform_action(page, "select_option", selector=css("#lies"), value="Wholesale", timeout_s=2)


async def test_a_choice_that_sends_its_form_is_made_once(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/sent" in request.url else None)
    await show(page, PAGE, "/customers", pages={"/sent": "<title>Sent</title><h1>Sent</h1>"})
    await perform_action(page, "select_option", selector=css("#sending"), value="Wholesale", timeout_s=2)
    await page.wait_for_url("**/sent?s=Wholesale")
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["beside", "named", "more", "sends", "coded", "default"])
async def test_a_button_beside_a_hidden_list_is_no_widget_and_is_not_pressed(page, name):
    await show(page, PAGE, "/customers")
    with pytest.raises(GateFailed, match="display: none"):
        await perform_action(page, "select_option", selector=css(f"#{name}"), value="Export", timeout_s=1)
    assert await page.evaluate("pressed") == []


@pytest.mark.parametrize(
    ("name", "wanted"), [("asks", "Wholesale"), ("owns", "Wholesale"), ("other", "Export")]
)
async def test_an_option_came_up_in_the_list_of_the_widget_and_in_no_dialog(page, name, wanted):
    """`other`: what says the option stood on the page before the widget was opened."""
    await show(page, PAGE, "/customers")
    with pytest.raises(ActionFailed, match=f'offers "{wanted}" 0 times'):
        await perform_action(page, "select_option", selector=css(f"#{name}"), value=wanted, timeout_s=1)
    assert await page.evaluate("pressed") == []


NAMELESS = """<!doctype html><style>.menu { STYLE } .open .menu { opacity:1;display:block;pointer-events:auto } .w { width:200px;background:#eee }</style><script>pressed = []</script>
<div><select id=s style="display:none">OPTIONS</select><div class=w tabindex=0 onclick="this.classList.toggle('open')"><span>Retail</span><div class=menu>ENTRIES</div></div></div>
<script>for (const each of document.querySelectorAll('.menu > *')) each.onclick = () => {
  pressed.push(each.textContent); s.value = each.textContent; document.querySelector('.w span').textContent = each.textContent }</script>"""
ENTRIES = "<div>Retail</div><div>Wholesale</div><div>Export</div>"


@pytest.mark.parametrize("style", ["display:none", "opacity:0;pointer-events:none"])
async def test_a_widget_without_a_sign_is_one_if_it_has_the_options_as_its_entries(page, style):
    """As nice-select and Semantic UI write theirs."""
    html = NAMELESS.replace("STYLE", style).replace("OPTIONS", OPTIONS).replace("ENTRIES", ENTRIES)
    await show(page, html, "/customers")
    await perform_action(page, "select_option", selector=css("#s"), value="Wholesale", timeout_s=2)
    assert await page.locator("#s").input_value() == "Wholesale"
    assert await page.evaluate("pressed") == ["Wholesale"]


@pytest.mark.parametrize(
    "entries", [ENTRIES.replace("<div>Export</div>", ""), ENTRIES + "<div>Delete all</div>"]
)
async def test_other_entries_than_the_options_are_no_sign(page, entries):
    html = NAMELESS.replace("STYLE", "display:none").replace("OPTIONS", OPTIONS).replace("ENTRIES", entries)
    await show(page, html, "/customers")
    with pytest.raises(GateFailed, match="display: none"):
        await perform_action(page, "select_option", selector=css("#s"), value="Wholesale", timeout_s=1)
    assert await page.evaluate("pressed") == []


@pytest.mark.parametrize(
    ("menu", "attributes"),
    [
        (f"<h4>Remove a kind</h4><div>{ENTRIES}</div>", ""),
        (ENTRIES, "aria-label='Remove a kind'"),
        (ENTRIES, "title='Remove a kind'"),
    ],
)
async def test_entries_do_what_the_heading_or_label_of_their_panel_says(page, menu, attributes):
    html = NAMELESS.replace("STYLE", "display:none").replace("OPTIONS", OPTIONS).replace("ENTRIES", menu)
    html = html.replace("class=w", f"class=w {attributes}", 1) if attributes else html
    await show(page, html, "/customers")
    with pytest.raises(ActionFailed, match='offers "Wholesale" 0 times'):
        await perform_action(page, "select_option", selector=css("#s"), value="Wholesale", timeout_s=1)
    assert await page.evaluate("pressed") == []


async def test_a_list_under_something_else_is_covered(page):
    await show(page, PAGE, "/customers")
    with pytest.raises(GateFailed, match="covered by"):
        await perform_action(page, "select_option", selector=css("#covered"), value="Wholesale", timeout_s=1)


@pytest.mark.parametrize("name", ["follows", "pressed"])
async def test_an_option_that_neither_the_list_nor_its_widget_has_is_missing(page, name):
    await show(page, PAGE, "/customers")
    with pytest.raises(
        OptionMissing, match='offers "Rental" 0 times when it is opened; it has only "Retail"'
    ) as told:
        await perform_action(page, "select_option", selector=css(f"#{name}"), value="Rental", timeout_s=2)
    assert (told.value.option, told.value.options) == ("Rental", ("Retail", "Wholesale", "Export"))


STORES = f"""<!doctype html><title>Customers</title><div><select id=late style="display:none">{OPTIONS}</select><a id=w role=combobox tabindex=0>Retail</a></div>
<ul id=drop hidden><li>Retail<li>Wholesale</ul><script>
w.onclick = () => {{ drop.hidden = false; }};
drop.onclick = (event) => {{
  const word = event.target.textContent;
  drop.hidden = true;
  fetch('/store', {{method: 'POST', body: word}}).then(() => SHOWS);
}};
</script>"""
SHOWN_LATE = "setTimeout(() => { late.value = word; w.textContent = word; }, 2500)"


@pytest.mark.parametrize("shows", [SHOWN_LATE, "0"])
async def test_a_choice_that_was_sent_is_waited_for_and_is_in_doubt_if_it_is_not_shown(page, shows):
    """The two take 3 s and 7 s."""
    watch_writes(page)
    await show(page, STORES.replace("SHOWS", shows), "/customers", pages={"/store": "ok"})
    choice = perform_action(page, "select_option", selector=css("#late"), value="Wholesale", timeout_s=2)
    if shows == SHOWN_LATE:
        await choice
        assert await page.locator("#late").input_value() == "Wholesale"
    else:
        with pytest.raises(ChoiceInDoubt, match="did not have it chosen"):
            await choice

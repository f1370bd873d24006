"""The outline of a page: it is the same whether all rows of its lists were read or only the first ones."""

from __future__ import annotations

import pytest

from agent.locators.page_outline import MOST_ROWS, RefNames, outline_page
from agent.locators.page_scan import scan_page

TABLE = "".join(
    f"<tr><td>{n}</td><td><a href=/b{n}>Boat {n}</a></td><td><button>Moor {n}</button></td></tr>"
    for n in range(9)
)
FORM_ROWS = "".join(
    f"<tr><th>{name}</th><td><input name={name}></td></tr>" for name in ("title", "status", "owner", "note")
)
ORDER_ROWS = "".join(
    f"<tr><td>Boat {n}</td><td><input name=count{n}><button name=drop value={n}>Drop</button></td></tr>"
    for n in range(9)
)
PAGES = {
    "a table": f"<h1>Quay</h1><table>{TABLE}</table><p><button>Leave</button></p>",
    "two lists, one of them short": (
        "<ul><li><a href=/a>A</a></li><li><a href=/b>B</a></li></ul>"
        f"<ol>{''.join(f'<li><input aria-label=F{n}></li>' for n in range(6))}</ol><a href=/end>End</a>"
    ),
    "a list in a list": (
        f"<ul>{''.join(f'<li><a href=/{n}>G{n}</a><ul>' + ''.join(f'<li><a href=/{n}{m}>H{n}{m}</a></li>' for m in range(5)) + '</ul></li>' for n in range(5))}</ul>"
    ),
    "rows that are not shown": f"<table><tr hidden><td><button>No</button></td></tr>{TABLE}</table>",
    "rows without controls at the end": "<table>" + TABLE + "<tr><td>sum</td></tr></table><h2>Sum</h2><a href=/x>X</a>",
    "a form in a table": f"<form><table>{FORM_ROWS}<tr><td><button>Submit</button></td></tr></table></form>",
    "nothing but rows": f"<table>{TABLE}</table>",
}  # fmt: skip


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
async def test_the_first_rows_of_each_list_are_enough(page, html):
    await page.set_content(html)
    whole, first = await scan_page(page), await scan_page(page, rows=MOST_ROWS)
    assert outline_page(first, RefNames()).lines == outline_page(whole, RefNames()).lines
    assert len(first.elements) <= len(whole.elements)


async def test_no_part_of_a_form_that_a_table_lays_out_is_folded_away(page):
    await page.set_content(PAGES["a form in a table"])
    text = outline_page(await scan_page(page, rows=MOST_ROWS), RefNames()).text
    assert 'textbox "note"' in text, text
    assert 'button "Submit"' in text, text
    assert "rows like these" not in text


async def test_rows_of_data_in_a_form_are_folded_and_its_submit_is_not(page):
    await page.set_content(
        f"<form><table>{ORDER_ROWS}<tr><td><button>Order</button></td></tr></table></form>"
    )
    text = outline_page(await scan_page(page, rows=MOST_ROWS), RefNames()).text
    assert text.count('"Drop"') == MOST_ROWS, text
    assert 'button "Order"' in text, text
    assert "controls in rows like these" in text


async def test_a_field_without_a_name_is_told_by_its_attribute_and_a_part_of_the_page_is_no_control(page):
    await page.set_content("<main tabindex=-1><input name=who><input name=__key type=password><input></main>")
    lines = outline_page(await scan_page(page), RefNames()).lines
    assert lines == (
        "e1 textbox (no name, who)",
        "e2 textbox (no name, __key) password",
        "e3 textbox (no name)",
    )


BEHIND = """<style>.over { position: fixed; inset: 0 } .window { position: fixed; left: 40%; top: 40%; z-index: 3 }</style>
<h1>Keys</h1><button>Create key</button><div style="margin-top: 3000px"><button>Far below</button></div>
<div id=toast style="position: fixed; right: 40px; top: 20px; z-index: 9"><button>Undo</button></div>"""


@pytest.mark.parametrize("mode", ["", "<!doctype html>"])
@pytest.mark.parametrize(
    "dialog",
    [
        "<div class=over><div role=dialog style='margin: 20%'><button>Create key</button></div></div>",
        "<div class=over></div><div class=window><button>Create key</button></div>",
        "<dialog id=d><button>Create key</button></dialog><script>d.showModal()</script>",
    ],
)
async def test_controls_behind_a_dialog_are_counted_and_not_listed(page, dialog, mode):
    await page.set_content(mode + BEHIND)
    before = outline_page(await scan_page(page), RefNames())
    assert [before.text.count(each) for each in ("Create key", "Far below", "Undo", "behind")] == [1, 1, 1, 0]
    await page.set_content(mode + BEHIND + dialog)
    text = outline_page(await scan_page(page), RefNames()).text
    assert [text.count(each) for each in ("Create key", "Far below")] == [1, 0], text
    assert text.count("Undo") == ("showModal" not in dialog), text
    assert f"{3 if 'showModal' in dialog else 2} controls behind what lies over the page" in text
    await page.evaluate("document.querySelectorAll('.over, dialog').forEach((each) => each.remove())")
    assert "Far below" in outline_page(await scan_page(page), RefNames()).text


async def test_an_application_that_lies_over_the_whole_window_is_not_taken_for_a_dialog(page):
    await page.set_content(
        "<div style='position: fixed; inset: 0'><button>Save</button></div><button>Help</button>"
    )
    text = outline_page(await scan_page(page), RefNames()).text
    assert "Save" in text


async def test_of_controls_that_are_called_alike_the_texts_of_their_rows_are_told(page):
    row = "<div><b>{}</b><div>ann@{}.example</div><span>Connected</span><button>Disconnect</button></div>"
    rows = "".join(row.format(name, name.lower()) for name in ("GitHub", "Slack"))
    await page.set_content(f"<h2>Accounts</h2>{rows}<button>Leave</button>")
    text = outline_page(await scan_page(page), RefNames(), tells_apart=True).text
    assert '"Disconnect" @ after GitHub ann@github.example Connected' in text, text
    assert '"Disconnect" @ after Slack ann@slack.example Connected' in text, text


NAMING = ("alt", "aria-description", "aria-label", "aria-labelledby", "class", "href", "id", "name", "placeholder",
          "role", "src", "style", "title", "type", "value")  # fmt: skip


@pytest.mark.parametrize(
    "outer", ["button", "a href=/x", "div role=button", "label", "td onclick=x()", "option"]
)
async def test_attributes_that_are_empty_keep_no_page_from_being_read(page, outer):
    tag = outer.split()[0]
    parts = [
        f'<{outer} {around}=""><{inner} {name}=""></{inner}></{tag}>'
        for inner in ("svg", "img", "span", "input")
        for name in NAMING
        for around in ("data-x", name)
    ]
    await page.set_content(f"<button>First</button><table><tr>{''.join(parts)}</tr></table>")
    assert 'button "First"' in outline_page(await scan_page(page), RefNames()).text


SCRIPTED_LINKS = """<h1>Skua</h1><ul><li><a data-href="/fleet/add/3" data-fleet="add">North fleet</a></li>
<li><a data-toggle="collapse" data-target="#crew">Crew</a></li><li><a data-dismiss="modal">Leave</a></li></ul>
<p><a>Quay</a> / <a name="top" id="top">Top</a> / <a data-v-7ba5bd90="">Berth</a> / <a data-testid="last">Harbour</a></p>"""


async def test_a_link_without_an_address_is_a_control_if_it_has_attributes_of_a_script(page):
    await page.set_content(SCRIPTED_LINKS)
    lines = outline_page(await scan_page(page), RefNames()).lines
    assert lines == (
        "# Skua",
        'e1 clickable "North fleet"',
        'e2 clickable "Crew"',
        'e3 clickable "Leave"',
    )


PICTURES_AND_TITLES = """<h1>Boats</h1>
<div><a href="/b1" class=picture><img alt="Skua" src="data:," width=9 height=9></a><a href="/b1" data-toggle="modal">Skua</a></div>
<div><a href="/b2" class=picture title="Tern"><img alt="Tern" src="data:," width=9 height=9></a><a href="/b2"><b>Tern</b></a></div>
<div><a href="/b3">Argo</a><a href="/b4">Argo</a></div><div><a href="#">More</a><a href="#">More</a></div>"""


async def test_a_picture_and_a_title_that_lead_to_one_address_are_one_control(page):
    await page.set_content(PICTURES_AND_TITLES)
    index = await scan_page(page)
    outline = outline_page(index, RefNames(), tells_apart=True)
    names = [line.split(" ", 1)[1].partition(" @")[0] for line in outline.lines[1:]]
    links = ['"Skua"', '"Skua"', '"Tern"', '"Argo"', '"Argo"', '"More"', '"More"']
    assert names == [f"link {each}" for each in links], outline.text
    assert "@" not in next(line for line in outline.lines if "Tern" in line), outline.text


async def test_an_entry_of_which_only_the_beginning_fits_shows_the_text_that_is_wanted(page):
    question = "How long may a guest berth be kept in winter?"
    entries = [
        ("Harbour office of the northern islands, open on weekdays · member since 2019 · Quay 4", question),
        (
            "Harbour office of the northern islands, open on weekdays · member since 2019 · Quay 4",
            "Who has a pump?",
        ),
    ]
    await page.set_content(
        "".join(
            f"<div onclick='1' style='cursor: pointer'><div>{who}</div><div>{asked}</div></div>"
            for who, asked in entries
        )
    )
    index = await scan_page(page)
    plain = outline_page(index, RefNames()).lines
    first, second = outline_page(index, RefNames(), wanted=[question.upper()]).lines
    assert not any(question in each for each in plain)
    assert question in first
    assert first.startswith('e1 clickable "Harbour office')
    assert question not in second

"""What controls without words are called, and what tells those apart that are called alike."""

from __future__ import annotations

import pytest

from agent.locators.control_cards import read_cards
from agent.locators.control_names import call_control
from agent.locators.page_outline import RefNames, list_alike, outline_page
from agent.locators.page_scan import scan_page

SVG = "<svg width=9 height=9><path d='M1 1h9v9z'></path></svg>"


@pytest.mark.parametrize(
    ("html", "name"),
    [
        (f"<button class=icon-btn data-action=likePost>{SVG}<span>534</span></button>", "like post"),
        (f"<button class='icon-btn bookmark-btn saved'>{SVG}</button>", "bookmark"),
        (f"<button class='btn btn-sm btn-primary' data-tooltip='Pin it'>{SVG}</button>", "pin it"),
        (f"<button id=star_button>{SVG}</button>", "star"),
        ("<button><i class='fa fa-trash' style='display:block;height:9px'></i></button>", "trash"),
        (f"<button class='flex items-center px-2'>{SVG}</button>", "drawing"),
        (f"<button class=icon-btn>{SVG}</button>", "drawing"),
        (f"<button id=btn-4f3a2b>{SVG}</button>", "drawing"),
        (f"<button data-action='save all of these things now'>{SVG}</button>", "drawing"),
        ("<button class=day-btn>14</button>", "14"),
        (f"<button data-action=likePost>{SVG} Like</button>", "Like"),
        ("<label>Price <input data-testid=amount></label>", "Price"),
    ],
)
async def test_a_control_without_words_is_called_by_its_picture_a_tooltip_or_its_markup(page, html, name):
    await page.set_content(html)
    control = next(each for each in (await scan_page(page)).interactive if each.tag != "label")
    assert call_control(control).split(" ")[: len(name.split(" "))] == name.split(" ")


async def test_a_switch_without_words_is_called_as_the_text_beside_it(page):
    await page.set_content(
        "<div><span>Weekly digest</span><div class='toggle-switch on' data-action=toggleSetting style='width:40px;height:20px;cursor:pointer'></div></div>"
    )
    (switch,) = (await scan_page(page)).interactive
    assert "Weekly digest" in outline_page(await scan_page(page), RefNames()).text
    assert call_control(switch) == ""


POST = """<div class=post><div class=head><b>{author}</b></div><div class=text>{text}</div>
<div class=acts><button class=act data-action=likePost>{svg}<span>{likes}</span></button><button class=act data-action=savePost>{svg}</button></div></div>"""
POSTS = [
    ("Ada", "A long walk on the moor", 5),
    ("Bo", "Two tickets for sale", 12),
    ("Ada", "My first week", 5),
]


async def test_of_icons_that_are_called_alike_the_texts_of_their_cards_are_told_the_wanted_ones_first(page):
    await page.set_content("".join(POST.format(author=a, text=t, likes=n, svg=SVG) for a, t, n in POSTS))
    index = await scan_page(page)
    cards = await read_cards(page, index, [each.at for group in list_alike(index) for each in group])
    text = outline_page(index, RefNames(), wanted=["My first"], tells_apart=True, cards=cards).text
    assert text.splitlines() == [
        'e1 button "like post" shows 5 @ after Ada A long walk on the moor',
        'e2 button "save post" @ after Ada A long walk on the moor 5',
        'e3 button "like post" shows 12 @ after Bo Two tickets for sale',
        'e4 button "save post" @ after Bo Two tickets for sale 12',
        'e5 button "like post" shows 5 @ after My first week Ada',
        'e6 button "save post" @ after My first week Ada 5',
    ]


async def test_a_card_is_the_part_that_repeats_and_words_of_one_line_are_one_text(page):
    await page.set_content(
        "<ul><li><span>1</span> <a href=/1>One</a></li></ul><p><button>Alone</button> beside</p>"
        "<div class=row><p>An <i>old</i> boat</p><p>7 m</p><button>Edit</button></div><div class=row><p>Ada</p><button>Done</button></div>"
    )
    index = await scan_page(page)
    cards = await read_cards(page, index, [each.at for each in index.interactive])
    told = {each.name: cards[each.at] for each in index.interactive}
    assert [(name, card.texts) for name, card in told.items()] == [
        ("One", ()),
        ("Alone", ()),
        ("Edit", ("An old boat", "7 m")),
        ("Done", ("Ada",)),
    ]
    assert told["Edit"].number != told["Done"].number
    assert told["Alone"].number is None


async def test_cards_without_a_wanted_text_are_counted_where_all_would_be_too_long(page):
    posts = [(f"Person {number}", f"Text {number}", number) for number in range(20)]
    await page.set_content("".join(POST.format(author=a, text=t, likes=n, svg=SVG) for a, t, n in posts))
    index = await scan_page(page)
    cards = await read_cards(page, index, [each.at for group in list_alike(index) for each in group])
    outline = outline_page(index, RefNames(), 700, wanted=["Person 17"], tells_apart=True, cards=cards)
    said = outline_page(
        index, RefNames(), 700, tells_apart=True, cards=cards, sentence="Like what person 17 said"
    )
    assert said.lines == outline.lines
    posts[17] = ("Person 17", "Join our campus presentation at Stanford", 17)
    await page.set_content("".join(POST.format(author=a, text=t, likes=n, svg=SVG) for a, t, n in posts))
    index = await scan_page(page)
    cards = await read_cards(page, index, [each.at for group in list_alike(index) for each in group])
    plain = "Like the post about their campus presentation at Stanford"
    meant = outline_page(index, RefNames(), 700, tells_apart=True, cards=cards, sentence=plain)
    assert [line for line in meant.lines if "campus presentation" in line] != []
    assert [line for line in outline.lines if "Person 17" in line] != []
    assert "  ... 28 more controls in rows like these" in outline.lines
    assert outline.left_out == 0
    assert all(index.elements[at].tag == "button" for at in outline.refs.values())
    assert len(outline.refs) == 8


async def test_what_is_only_clickable_keeps_its_reference_when_another_one_appears_before_it(page):
    entry = "<div onclick=1 style='cursor:pointer'>{}</div>"
    names = RefNames()
    await page.set_content(entry.format("Ada"))
    first = outline_page(await scan_page(page), names).lines
    await page.set_content(entry.format("Bo") + entry.format("Ada"))
    assert outline_page(await scan_page(page), names).lines == ('e2 clickable "Bo"', *first)

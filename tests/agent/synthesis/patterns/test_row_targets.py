"""Targets in rows: named without the number that the application gave them, and told by their icons."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.row_templates import find_first_by_words, find_row_template
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate, find_target_template
from agent.synthesis.traces.list_rows import build_item_token
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector, ValueStrategy, css

TICKETS = {12: "Headset hums", 4: "Calendar shows last week", 31: "No. 7 is loud"}


def _tickets(address: str = "/tickets/{}/") -> str:
    rows = (
        f"<tr><td><input type=checkbox value={number}></td><td><a href='{address.format(number)}'>{number}. {name}</a></td>"
        "<td>Open</td></tr>"
        for number, name in TICKETS.items()
    )
    return f"<!doctype html><title>T</title><table>{''.join(rows)}</table>"


def _cell(at: int, html: str, target: Selector) -> AlignedCell:
    step = TraceStep(action_type="click", target=target, html_before=html, source_url="http://t/")
    return AlignedCell((f"trace-{at}", ()), 0, step)


def _template(html: str, *targets: Selector) -> TargetTemplate:
    found = find_target_template([_cell(at, html, each) for at, each in enumerate(targets)], TracePages())
    assert found is not None
    return found


def _link(number: int) -> Selector:
    said = f"//a[normalize-space()='{number}. {TICKETS[number]}']"
    return Selector(strategies=(ValueStrategy(type="xpath-text", value=said),))


@pytest.mark.parametrize("target", [_link, lambda number: css(f'input[value="{number}"]')])
def test_a_row_is_named_without_the_number_that_its_address_has(target):
    found = _template(_tickets(), target(12), target(31))
    assert list(found.words.values()) == ["Headset hums", "No. 7 is loud"]


def test_a_number_that_is_not_in_the_address_belongs_to_the_name():
    found = _template(_tickets("/tickets/by-name"), _link(12), _link(4))
    assert list(found.words.values()) == ["12. Headset hums", "4. Calendar shows last week"]


BILLS = (
    ("2026-11-12", "Chlo\u00e9", "Olive oil", "12.30"),
    ("2026-11-13", "Ann", "Train tickets", "88.00"),
    ("2026-11-28", "Bob", "Lamp", "17.50"),
    ("2026-11-28", "Ann", "Pizza", "42.00"),
    ("2026-11-14", "Bob", "Museum", "24.00"),
)


def test_a_row_is_named_in_one_column_of_names_and_not_by_a_date_that_is_unique_by_chance():
    rows = "".join(
        f"<tr>{''.join(f'<td>{said}</td>' for said in bill)}<td><button id=b{at}>delete</button></td></tr>"
        for at, bill in enumerate(BILLS)
    )
    html = f"<!doctype html><title>T</title><table>{rows}</table>"
    found = _template(html, css("#b0"), css("#b1"), css("#b2"))  # Chloé and both dates lead to one row, too
    assert list(found.words.values()) == ["Olive oil", "Train tickets", "Lamp"]


def test_an_action_without_words_is_told_by_its_icon():
    cards = "".join(
        f"<div class=card><p class=title>{name}</p><a><i class='fas fa-fw fa-eye'></i></a><a><i class='fas fa-fw fa-pen'></i></a></div>"
        for name in TICKETS.values()
    )
    html = f"<!doctype html><title>T</title><main>{cards}</main>"
    cells = [_cell(at, html, css(f".card:nth-of-type({at}) > a:nth-of-type(2)")) for at in (1, 3)]
    found = find_row_template(cells, TracePages(), {})
    assert found is not None
    assert "fa-pen" in found.template
    assert list(found.words.values()) == ["Headset hums", "No. 7 is loud"]


def test_the_last_row_after_a_search_is_a_row_if_an_earlier_page_has_several():
    def mails(*numbers: int) -> str:
        rows = "".join(
            f"<div class='mail{' unread' * (at % 2)}'><input type=checkbox class=tick id=tick-{at}>Mail</div>"
            for at in numbers
        )
        return f"<!doctype html><title>T</title><main><div class=mails>{rows}</div></main>"

    def step(html: str, number: int) -> TraceStep:
        return TraceStep(
            action_type="click", target=css(f"#tick-{number}"), html_before=html, source_url="http://t/"
        )

    pages, inbox = TracePages(), step(mails(1, 2, 3), 1)
    tokens = {build_item_token(step(mails(number), number), pages, [inbox]) for number in (2, 3)}
    assert len(tokens) == 1
    assert tokens != {None}
    assert build_item_token(step(mails(2), 2), TracePages(), [step(mails(2), 2)]) is None


def test_what_is_only_around_a_button_is_no_row_although_an_earlier_page_has_several():
    def form(*names: str) -> str:
        buttons = "".join(f"<span class=way><button class=go>{name}</button></span>" for name in names)
        return f"<!doctype html><title>T</title><main><div>{buttons}</div></main>"

    last = form("Create pool")
    step = TraceStep(action_type="click", target=css(".go"), html_before=last, source_url="http://t/")
    earlier = step.model_copy(update={"html_before": form("Back", "Next")})
    assert build_item_token(step, TracePages(), [earlier]) is None


def test_fields_with_labels_of_their_own_are_no_rows_although_a_page_has_several():
    fields = "".join(
        f"<div class=field><label for=field-{at}>Field {at}</label><input class=text id=field-{at}></div>"
        for at in (1, 2)
    )
    html = f"<!doctype html><title>T</title><main>{fields}</main>"
    step = TraceStep(action_type="fill", target=css("#field-2"), html_before=html, source_url="http://t/")
    assert build_item_token(step, TracePages(), [step]) is None


def test_a_row_is_not_named_by_the_id_of_its_record():
    records = {"yfp3naww55t4b03": "Boston fern", "07t42w6819o1b8y": "Lemon balm", "462dxj5hjj3c85j": "Kentia"}
    rows = "".join(
        f"<tr><td><div>{key}</div></td><td><span>{name}</span></td><td class=shelf>A{at}</td></tr>"
        for at, (key, name) in enumerate(records.items())
    )
    html = f"<!doctype html><title>T</title><table>{rows}</table>"
    found = _template(html, *(css(f"tr:nth-of-type({at}) > .shelf") for at in (1, 3)))
    assert list(found.words.values()) == ["Boston fern", "Kentia"]


def test_a_row_is_told_by_whole_words_of_its_text_only_if_no_text_is_the_input_itself():
    names = ("Firefox on Linux", "Chrome on Windows", "Chromium on Linux", "Safari")
    rows = "".join(
        f"<div class=session><b class=name>{name}</b><button>Revoke</button></div>" for name in names
    )
    html = f"<!doctype html><title>T</title><main>{rows}</main>"
    cells = [
        _cell(at, html, css(f".session:nth-of-type({number}) > button")) for at, number in enumerate((1, 2))
    ]
    told = {"session": {cell.row: word for cell, word in zip(cells, ("Firefox", "Chrome"), strict=True)}}
    found = find_row_template(cells, TracePages(), told)
    assert found is not None
    assert list(found.words.values()) == ["Firefox", "Chrome"], "Chromium is another word"
    exact = [_cell(5, html, css(".session:nth-of-type(4) > button")), cells[0]]
    told = {"session": {exact[0].row: "Safari", exact[1].row: "Firefox on Linux"}}
    found = find_row_template(exact, TracePages(), told)
    assert found is not None
    assert "contains(concat(' ', normalize-space(), ' ')" not in found.template


def test_a_picture_has_the_same_place_in_its_card_while_another_element_is_drawn_before_it():
    drawn = {2: "<div class=preload></div>"}
    cards = "".join(
        f"<div class=card><div class=cover>{drawn.get(at, '')}<div class=picture></div></div><p>{name}</p></div>"
        for at, name in enumerate(TICKETS.values(), start=1)
    )
    html = f"<!doctype html><title>T</title><main>{cards}</main>"
    targets = (css(f".card:nth-of-type({at}) .picture") for at in (1, 2))
    tokens = {build_item_token(_cell(0, html, each).step, TracePages()) for each in targets}
    assert len(tokens) == 1
    assert None not in tokens


def test_a_part_of_a_row_has_the_same_place_where_the_row_is_alone():
    """A search that leaves one row: no other row says which of its classes are those of every row."""

    def look(names: list[str]) -> TraceStep:
        rows = "".join(
            f"<li><span class=mark></span><a class=name href=/{name}><b>{name}</b> <i>on duty</i></a></li>"
            for name in names
        )
        html = f"<!doctype html><title>T</title><main><ul>{rows}</ul></main>"
        return (
            _cell(0, html, css("a.name")).step
            if len(names) == 1
            else _cell(0, html, css("li:nth-of-type(2) a")).step
        )

    alone, second = look(["Ann"]), look(["Bob", "Cid", "Dan"])
    assert build_item_token(alone, TracePages()) == build_item_token(second, TracePages()) is not None


def _cards(*names: str, around: str = "") -> str:
    cards = "".join(
        f"<div><button role=radio></button><label><p class=title>{name}</p></label></div>" for name in names
    )
    return f"<!doctype html><title>T</title><div>{around}<section>{cards}</section></div>"


def test_a_card_without_classes_is_not_found_by_its_name_elsewhere_on_the_page():
    """With one card left, the part around the heading and the card has one control, which is another card's."""
    names = ("Docker", "Process", "Kubernetes")
    html = _cards(*names)
    cells = [_cell(at, html, css(f"section > div:nth-of-type({at + 1}) button")) for at in range(len(names))]
    found = find_row_template(cells, TracePages(), {})
    assert found is not None
    assert set(found.words.values()) == set(names)
    other = _cards("Azure", around="<div><div><p class=title>Docker</p></div></div>")
    page = TracePages().get(other, "https://x.example/")
    assert page is not None
    assert page.stored.resolve_template(found.template, {PARAMETER: "Docker"}) == ()
    assert len(page.stored.resolve_template(found.template, {PARAMETER: "Azure"})) == 1


def test_a_row_asks_for_no_part_of_a_name_that_it_asks_for():
    mails = (("Sarah Chen", "Roadmap"), ("Marcus Williams", "Roadmap"), ("Jennifer Wu", "Proposal"))
    rows = "".join(
        f"<div class=mail><b class=sender>{sender}</b><i class=subject>{subject}</i><button>Read</button></div>"
        for sender, subject in mails
    )
    html = f"<!doctype html><title>T</title><main>{rows}</main>"
    cells = [_cell(at, html, css(f".mail:nth-of-type({at + 1}) > button")) for at in range(3)]

    def told(said: Callable[[str, str], str]) -> dict[RowKey, str]:
        return {cell.row: said(*mail) for cell, mail in zip(cells, mails, strict=True)}

    found = find_row_template(
        cells,
        TracePages(),
        {
            "given_name": told(lambda sender, _: sender.split()[0]),
            "subject": told(lambda _, subject: subject),
            "sender": told(lambda sender, _: sender),
        },
    )
    assert found is not None
    assert {*found.words.values()} == {"Sarah Chen", "Marcus Williams", "Jennifer Wu"}
    assert found.also == ("subject",), "a sender of one word has no given name"


def _suggestions(*shown: str) -> str:
    listed = "".join(f"<li class=suggestion><span>{each}</span></li>" for each in shown)
    return f"<!doctype html><title>T</title><main><ul>{listed}</ul></main>"


def _first_suggestion(*pages: tuple[str, ...], at: int = 1) -> TargetTemplate | None:
    cells = [
        _cell(number, _suggestions(*shown), css(f"li:nth-of-type({at})"))
        for number, shown in enumerate(pages)
    ]
    told = {"city": {cell.row: word for cell, word in zip(cells, ("Paris", "Oslo", "Rome"), strict=False)}}
    return find_first_by_words(cells, TracePages(), told)


CITIES = (
    ("Paris Orly (ORY)", "Paris Beauvais (BVA)", "Lyon (LYS)"),
    ("Oslo Gardermoen (OSL)", "Bergen (BGO)"),
    ("Rome Ciampino (CIA)", "Rome Fiumicino (FCO)"),
)


def test_the_first_of_several_suggestions_is_taken_if_at_least_three_traces_took_it():
    found = _first_suggestion(*CITIES)
    assert found is not None
    assert found.template.startswith("(")
    assert found.template.endswith(")[1]")
    assert sorted(found.words.values()) == ["Oslo", "Paris", "Rome"]
    assert _first_suggestion(*CITIES[:2]) is None, "two traces may agree by chance"


def test_a_suggestion_that_was_not_the_first_is_not_the_first():
    pages = (CITIES[0], ("Oslo Torp (TRF)", "Oslo Gardermoen (OSL)"), CITIES[2])
    assert _first_suggestion(*pages, at=2) is None

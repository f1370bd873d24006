"""What an exploration knows, and what is worth trying next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from agent.exploration.exploration_state import STATES_PER_ADDRESS, ExplorationState, PageNovelty
from agent.exploration.frontier import TRIED_ELSEWHERE, choose_next_step, explain_skip, list_unexplored_items
from agent.exploration.pages.page_digests import PageDigests
from agent.exploration.return_paths import find_return_paths
from kb_schema.explorations import AttemptedTransition, ExplorationPage, MapLimits, Offer
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import css

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BASE = "https://shop.example"


def state(shape: str, names: str = "", bones: str | None = None) -> str:
    return PageDigests(shape, bones or shape, "frame" if names else shape, frozenset(names.split())).state


def page(number: int, path: str, offers: tuple[Offer, ...] = (), **more: Any) -> ExplorationPage:
    told = {
        "page_id": f"p{number:04d}",
        "url": BASE + path,
        "state": state(f"s{number}"),
        "depth": 0,
        "seen_at": NOW,
    }
    return ExplorationPage.model_validate(told | {"offers": offers} | more)


def link(number: int, path: str, **more: Any) -> Offer:
    told = {"role": "link", "name": path, "tag": "a", "href": BASE + path, "selector": css(f"#l{number}")}
    return Offer.model_validate({"offer_id": f"o{number}", "action_type": "click"} | told | more)


def button(number: int, name: str, **more: Any) -> Offer:
    told = {"role": "button", "name": name, "tag": "button", "selector": css(f"#b{number}")}
    return Offer.model_validate({"offer_id": f"o{number}", "action_type": "click"} | told | more)


def passed(one: ExplorationPage, offer: Offer, to: ExplorationPage | None = None) -> AttemptedTransition:
    outcome = "arrived" if to else "stayed"
    return AttemptedTransition.model_validate(
        {"from_page": one.page_id, "offer_id": offer.offer_id, "outcome": outcome, "at": NOW}
        | ({"to_page": to.page_id} if to else {})
    )


def anywhere(_url: str) -> bool:
    return True


def why(book: ExplorationState, one: ExplorationPage, offer: Offer) -> str | None:
    return explain_skip(book, one, offer, anywhere)


def test_a_digest_is_read_as_it_was_written() -> None:
    digests = PageDigests("a1", "b2", "c3", frozenset({"abcd", "0123"}))
    assert PageDigests.of(digests.state) == digests
    assert PageDigests.of("") == PageDigests("", "")


def test_a_page_seen_again_is_known_by_address_and_structure() -> None:
    book = ExplorationState(MapLimits(), [page(1, "/list")])
    assert book.judge(f"{BASE}/list?sid=9f8a7b6c5d4e3f2a1b0c", state("s1")).page_id == "p0001"
    assert book.judge(f"{BASE}/list", state("s2")).verdict is PageNovelty.KEEP
    assert book.judge(f"{BASE}/other", state("s1")).verdict is PageNovelty.KEEP


def test_one_control_that_is_called_otherwise_makes_no_other_page() -> None:
    book = ExplorationState(MapLimits(), [page(1, "/list", state=state("s1", "aaaa bbbb cccc"))])
    assert book.judge(f"{BASE}/list", state("s2", "aaaa bbbb dddd")).page_id == "p0001"
    assert book.judge(f"{BASE}/list", state("s2", "aaaa eeee dddd")).verdict is PageNovelty.KEEP


def test_of_one_place_only_so_many_pages_are_kept() -> None:
    book = ExplorationState(MapLimits(pages_per_place=2), [page(n, f"/item/{n}") for n in (1, 2)])
    assert book.judge(f"{BASE}/item/3", state("s3")).verdict is PageNovelty.LIKE
    assert why(book, page(9, "/list"), link(1, "/item/3")) == "similar pages are known"
    assert why(book, page(9, "/list"), link(1, "/item")) is None


def test_what_leads_to_something_new_comes_first() -> None:
    one = page(1, "/a", (link(1, "/a?x=1"), link(2, "/b"), link(3, "/c")), start=True)
    other = page(2, "/b", depth=1)
    step, left = choose_next_step(ExplorationState(MapLimits(), [one, other]), None, (), anywhere)
    assert step is not None
    assert step.offer is not None
    assert (step.offer.offer_id, left) == ("o3", 4)
    first, _ = choose_next_step(
        ExplorationState(MapLimits(), [one, other]), None, (), anywhere, {("p0001", "o2")}
    )
    assert first is not None
    assert first.offer == one.offers[1]


def test_the_same_menu_is_not_tried_on_every_page() -> None:
    menu = link(1, "/b", region="navigation:Main")
    pages = [page(n, path, (menu,)) for n, path in enumerate(("/a", "/b", "/c", "/d"), start=1)]
    tried = [passed(each, menu, pages[1]) for each in pages[:2]]
    book = ExplorationState(MapLimits(), pages, tried)
    assert why(book, pages[2], menu) == "tried on other pages"


def test_an_entry_of_a_menu_is_used_where_the_tab_is() -> None:
    menu = (link(1, "/b", region="navigation:Main"), link(2, "/c", region="navigation:Main"))
    one, other = page(1, "/a", menu, start=True), page(2, "/b", menu, depth=1)
    book = ExplorationState(MapLimits(), [one, other], [passed(one, menu[0], other)])
    step, _ = choose_next_step(book, "p0002", (), anywhere)
    assert step is not None
    assert (step.page.page_id, step.offer) == ("p0002", menu[1])
    assert book.followed.find_depth(f"{BASE}/c", 2) == 1  # the nearest page with it is the start
    entry = button(3, "Settings", region="navigation:Main")
    deep = page(9, "/#/z", (entry,), depth=6)
    shown = ExplorationState(MapLimits(), [page(1, "/", (entry,), start=True), deep], [])
    assert shown.followed.find_depth(f"{BASE}/#/settings", 7, entry) == 1
    assert shown.followed.find_depth(f"{BASE}/#/settings", 7, button(3, "Settings")) == 7
    elsewhere, _ = choose_next_step(book, None, (), anywhere)
    assert elsewhere is not None
    assert elsewhere.page.page_id == "p0001"


def test_a_link_to_a_known_address_is_tried_once_for_each_make() -> None:
    row = link(5, "/c", in_row=True)
    one = page(
        1, "/a", (link(1, "/b"), link(2, "/c"), link(3, "/d?x=1"), link(4, "/c", region="banner"), row)
    )
    others = [page(2, "/b"), page(3, "/c"), page(4, "/d?x=2")]
    book = ExplorationState(MapLimits(), [one, *others], [passed(one, one.offers[0], others[0])])
    assert why(book, one, one.offers[1]) == "tried on other pages"
    assert why(book, one, one.offers[2]) is None  # another address of a known place
    assert why(book, one, one.offers[3]) is None  # another landmark
    assert why(book, one, row) is None
    book.note_passage(passed(one, row, others[1]))
    assert why(book, one, link(6, "/b", in_row=True)) == "tried on other pages"
    assert why(book, page(5, "/e"), row) is None  # another list
    assert why(ExplorationState(MapLimits(), [one, *others]), one, one.offers[1]) is None


def test_a_link_whose_address_could_not_be_opened_twice_is_left_on_other_pages() -> None:
    away = link(1, "/plans")
    pages = [page(n, path, (away,)) for n, path in enumerate(("/a", "/b", "/c", "/d"), start=1)]
    book = ExplorationState(MapLimits(), pages)
    for one, outcome in zip(pages, ("error", "external"), strict=False):
        assert why(book, pages[3], away) is None
        book.note_passage(passed(one, away).model_copy(update={"outcome": outcome}))
    assert why(book, pages[3], away) == "its address could not be opened from other pages"


def test_links_to_their_own_page_are_tried_once() -> None:
    pages = [page(n, f"/{name}", (link(1, f"/{name}"),)) for n, name in enumerate("ab", start=1)]
    book = ExplorationState(MapLimits(), pages)
    assert why(book, pages[1], pages[1].offers[0]) is None
    book.note_passage(passed(pages[0], pages[0].offers[0], pages[0]).model_copy(update={"outcome": "stayed"}))
    assert why(book, pages[1], pages[1].offers[0]) == "tried on other pages"


def test_a_button_that_led_to_pages_of_equal_structure_from_three_places_is_left() -> None:
    edit, history = button(1, "Edit"), link(2, "/x?action=history", name="History")
    pages = [page(n, f"/{name}", (edit, history)) for n, name in enumerate("abcd", start=1)]
    forms = [
        page(n, f"/{name}?edit", state=state(f"s{n}", bones="same")) for n, name in enumerate("abc", start=11)
    ]
    led = [passed(one, edit, to) for one, to in zip(pages, forms, strict=False)]
    assert why(ExplorationState(MapLimits(), [*pages, *forms], led[:2]), pages[3], edit) is None
    assert why(ExplorationState(MapLimits(), [*pages, *forms], led), pages[3], edit) == "tried on other pages"
    other = page(13, "/c?edit", state=state("s13", bones="another"))
    elsewhere = [*led[:2], passed(pages[2], edit, other)]
    assert why(ExplorationState(MapLimits(), [*pages, *forms[:2], other], elsewhere), pages[3], edit) is None
    opened = [passed(one, history, to) for one, to in zip(pages, forms, strict=False)]
    book = ExplorationState(MapLimits(), [*pages, *forms], opened)
    assert why(book, pages[3], history) == "similar pages are known"


def test_of_the_options_of_a_list_five_are_chosen_unless_they_lead_to_other_addresses() -> None:
    options = tuple(button(n, f"Choice {chr(96 + n)}", role="option", tag="li") for n in range(1, 8))
    one = page(1, "/settings", options, start=True)
    chips = [page(n, "/settings", state=state(f"s{n}")) for n in range(11, 17)]
    led = [passed(one, option, to) for option, to in zip(options, chips, strict=False)]
    assert why(ExplorationState(MapLimits(), [one, *chips], led[:4]), one, options[6]) is None
    assert why(ExplorationState(MapLimits(), [one, *chips], led[:5]), one, options[6]) is not None
    others = [page(n, f"/view/{chr(n + 86)}", state=state(f"s{n}")) for n in range(11, 17)]
    led = [passed(one, option, to) for option, to in zip(options, others, strict=False)]
    assert why(ExplorationState(MapLimits(), [one, *others], led[:5]), one, options[6]) is None


def test_a_link_that_led_to_files_from_three_places_is_left() -> None:
    feed = link(1, "/x?format=rss", name="RSS")
    pages = [page(n, f"/{name}", (feed,)) for n, name in enumerate("abcd", start=1)]
    led = [passed(one, feed).model_copy(update={"outcome": "download"}) for one in pages]
    assert why(ExplorationState(MapLimits(), pages, led[:2]), pages[3], feed) is None
    assert why(ExplorationState(MapLimits(), pages, led[:3]), pages[3], feed) is not None


def test_a_button_of_each_field_is_another_though_all_have_one_name() -> None:
    edits = (button(1, "Edit"), button(2, "Edit"))
    pages = [page(n, f"/{name}", edits) for n, name in enumerate("abcd", start=1)]
    forms = [
        page(n, f"/{name}?edit", state=state(f"s{n}", bones="same")) for n, name in enumerate("abc", start=11)
    ]
    led = [passed(one, edits[0], to) for one, to in zip(pages, forms, strict=False)]
    book = ExplorationState(MapLimits(), [*pages, *forms], led)
    assert why(book, pages[3], edits[0]) == "tried on other pages"
    assert why(book, pages[3], edits[1]) is None


def test_the_steps_of_a_page_are_taken_together() -> None:
    first = page(1, "/a", tuple(button(n, f"One {chr(96 + n)}") for n in range(1, 4)), start=True)
    second = page(2, "/b", tuple(button(n, f"Two {chr(96 + n)}") for n in range(1, 4)), depth=1)
    book = ExplorationState(MapLimits(), [first, second], [passed(second, second.offers[0])])
    step, _ = choose_next_step(book, "p0002", (), anywhere)
    assert step is not None
    assert step.page.page_id == "p0002"  # one of its kind led nowhere, but to go back takes a load
    assert step.offer == second.offers[1]


def test_ways_out_are_tried_on_some_pages_of_a_kind_and_on_more_where_they_fail() -> None:
    sent = {"form": f"POST {BASE}/save"}
    form = page(
        9, "/form", (button(1, "Name", action_type="fill", **sent), button(2, "Save", **sent)), depth=1
    )
    pages = [page(n, f"/{name}") for n, name in enumerate("abcde", start=1)]
    told = [
        AttemptedTransition(
            from_page=each.page_id, way="reload", to_page=each.page_id, outcome="stayed", at=NOW
        )
        for each in pages[:3]
    ]
    book = ExplorationState(MapLimits(), [*pages, form], told[:2])
    assert book.exits.wants(pages[2], "reload")
    assert not book.exits.wants(pages[0], "reload")
    book.note_passage(told[2])
    assert not book.exits.wants(pages[3], "reload")
    assert book.exits.wants(pages[3], "back")
    assert book.exits.wants(form, "reload")  # a reload loses what was entered
    cleared = AttemptedTransition(
        from_page="p0003", way="address", to_page="p0009", outcome="arrived", at=NOW
    )
    book.note_passage(cleared)
    assert not book.exits.wants(
        pages[2], "address"
    )  # whatever is at the address of the start now: it was tried
    failed = told[0].model_copy(update={"outcome": "arrived", "to_page": "p0002"})
    assert ExplorationState(MapLimits(), pages, [failed, *told[1:]]).exits.wants(pages[3], "reload")


def test_a_control_that_does_nothing_on_three_pages_is_left() -> None:
    idle = button(1, "Toggle 5")
    pages = [page(n, f"/{name}", (idle,)) for n, name in enumerate("abcd", start=1)]
    book = ExplorationState(MapLimits(), pages, [passed(each, idle) for each in pages[:3]])
    assert why(book, pages[3], idle) is not None


def test_what_is_dangerous_is_not_tried_and_told() -> None:
    delete = button(1, "Delete", danger="deletes", why='is called "Delete"')
    one = page(1, "/a", (delete, button(2, "Erase", danger="deletes", allowed_by="Erase")))
    book = ExplorationState(MapLimits(), [one])
    assert why(book, one, delete) == 'deletes: is called "Delete"'
    assert why(book, one, one.offers[1]) is None
    book.note_passage(passed(one, one.offers[1]))
    assert [each.offer_id for each in list_unexplored_items(book, (), anywhere)] == ["o1"]


def test_fields_and_depths_and_robots_are_kept_to() -> None:
    deep = page(1, "/a", (link(1, "/b"),), depth=3)
    book = ExplorationState(MapLimits(depth=3), [deep])
    assert why(book, deep, link(1, "/b")) == "it is 3 transitions from a start page"
    assert why(book, page(1, "/a"), button(2, "Name", action_type="fill")) == ""
    assert explain_skip(book, page(1, "/a"), link(1, "/b"), lambda _: False) == "robots.txt disallows it"


def test_articles_under_names_of_words_are_sampled() -> None:
    item = {"fingerprint": {"region": ["landmark", "item"]}, "in_row": True}
    links = [link(n, f"/news/{name}", **item) for n, name in enumerate("abcdef", start=1)]
    listing = page(9, "/news", links)
    articles = [
        page(n, f"/news/{name}", state=state(f"s{n}", bones="same"))
        for n, name in enumerate("abcde", start=1)
    ]
    led = [passed(listing, each, to) for each, to in zip(links, articles, strict=False)]
    book = ExplorationState(MapLimits(), [listing, *articles], led)
    assert why(book, listing, links[5]) == "similar pages are known"
    assert why(book, listing, link(7, "/news/f")) is None
    unlisted = ExplorationState(
        MapLimits(), [listing, *articles]
    )  # reached on other ways: another kind of page
    assert why(unlisted, listing, links[5]) is None


def test_many_links_below_one_path_are_articles_wherever_they_stand() -> None:
    wanted = [link(n, f"/wiki/{chr(96 + n)}") for n in range(1, 15)]
    start = page(99, "/", wanted)
    articles = [page(n, f"/wiki/{chr(96 + n)}", state=state(f"s{n}", bones="same")) for n in range(1, 6)]
    book = ExplorationState(MapLimits(), [start, *articles])
    assert why(book, start, wanted[9]) == "similar pages are known"
    left = {each.reason for each in list_unexplored_items(book, (), lambda _: True)}
    assert "similar pages below /wiki are known, for example /wiki/f was not opened" in left
    few = ExplorationState(MapLimits(), [page(99, "/", wanted[:8]), *articles])
    assert why(few, start, wanted[7]) is None


def test_pages_below_the_folder_of_the_whole_site_are_no_articles() -> None:
    wanted = [link(n, f"/quay/{chr(96 + n)}") for n in range(1, 15)]
    start = page(99, "/quay/", wanted)
    same = [page(n, f"/quay/{chr(96 + n)}", state=state(f"s{n}", bones="same")) for n in range(1, 6)]
    assert why(ExplorationState(MapLimits(), [start, *same]), start, wanted[9]) is None
    elsewhere = ExplorationState(MapLimits(), [start, *same, page(98, "/other")])
    assert why(elsewhere, start, wanted[9]) == "similar pages are known"


def test_a_way_back_never_repeats_what_was_allowed_although_it_changes_something() -> None:
    pay = button(1, "Pay", danger="pays", allowed_by="Pay")
    one = page(1, "/a", (pay, button(2, "Open")), openable=True)
    paid, opened = page(2, "/paid", openable=False, depth=1), page(3, "/a", openable=False, depth=1)
    book = ExplorationState(
        MapLimits(), [one, paid, opened], [passed(one, pay, paid), passed(one, one.offers[1], opened)]
    )
    assert list(find_return_paths(book, paid)) == []
    assert [[each.offer_id for each in way] for way in find_return_paths(book, opened)] == [["o2"]]


def test_a_link_that_stands_on_every_page_is_tried_a_few_times() -> None:
    home = link(1, "/")
    pages = [page(n, path, (home,)) for n, path in enumerate(("/", "/b", "/c", "/d", "/e", "/f"), start=1)]
    book = ExplorationState(MapLimits(), pages, [passed(each, home, pages[0]) for each in pages[1:5]])
    assert why(book, pages[5], home) == "tried on other pages"


def test_of_the_sortings_and_filters_of_a_list_a_few_are_kept() -> None:
    lists = [page(n, f"/list?{name}=x", state=state(f"s{n}", bones="same")) for n, name in enumerate("abcde")]
    book = ExplorationState(MapLimits(), lists)
    assert why(book, page(9, "/list"), link(1, "/list?f=y")) == "similar pages are known"
    assert why(book, page(9, "/list"), link(1, "/other?f=y")) is None


def test_what_lies_on_a_page_comes_first_and_of_a_menu_whose_entries_lead_nowhere_two_are_tried() -> None:
    entries = tuple(
        button(n, name, role="") for n, name in enumerate(("Name", "Date", "Size", "Owner"), start=1)
    )
    below = page(1, "/a", (button(1, "Sort"), link(2, "/b")), start=True)
    menu = page(2, "/a", entries, depth=1, layer="menu", behind="p0001", openable=False)
    book = ExplorationState(MapLimits(), [below, menu])
    for tried in entries[:2]:
        step, _ = choose_next_step(book, None, (), anywhere)
        assert step is not None
        assert (step.page, step.offer) == (menu, tried)
        book.note_passage(passed(menu, tried))
    assert "led nowhere" in (why(book, menu, entries[2]) or "")
    step, _ = choose_next_step(book, None, (), anywhere)
    assert step is not None
    assert step.page == below


def test_entries_of_a_menu_that_lead_to_new_pages_are_all_tried() -> None:
    entries = tuple(button(n, name, role="") for n, name in enumerate(("Labels", "Snooze", "Move"), start=1))
    menu = page(1, "/a", entries, layer="menu")
    pages = [page(n, "/a", layer="dialog") for n in (2, 3)]
    tried = [passed(menu, offer, to) for offer, to in zip(entries, pages, strict=False)]
    book = ExplorationState(MapLimits(), [menu, *pages], tried)
    assert why(book, menu, entries[2]) is None


def test_the_same_dialog_on_another_page_is_the_same_and_another_dialog_is_not() -> None:
    close = button(1, "Close")
    one = page(1, "/a", (close, button(2, "Attach")), layer="dialog")
    same = page(2, "/b", (close, button(2, "Attach")), layer="dialog")
    other = page(3, "/b", (close, button(2, "Rename")), layer="dialog")
    book = ExplorationState(MapLimits(), [one, same, other])
    assert book.key_of(one, close) == book.key_of(same, close) != book.key_of(other, close)


def test_a_route_that_shows_what_the_start_shows_is_told() -> None:
    start = page(1, "/", start=True)
    book = ExplorationState(MapLimits(), [start])
    assert book.shows_start(page(2, "/#/home", state=start.state))
    assert not book.shows_start(page(2, "/#/about"))
    assert not book.shows_start(start)
    assert not book.shows_start(page(2, "/home", state=start.state))


def test_dialogs_count_to_the_page_on_which_they_lie_and_leave_room_for_other_views() -> None:
    most = MapLimits().pages_per_place * STATES_PER_ADDRESS
    first = page(1, "/")
    dialogs = [page(n, "/", layer="dialog", behind="p0001", openable=False) for n in range(2, most + 2)]
    book = ExplorationState(MapLimits(), [first, *dialogs])
    other = state("another view")
    assert book.judge(f"{BASE}/", other).verdict is PageNovelty.KEEP
    assert book.judge(f"{BASE}/", other, "p0001").verdict is PageNovelty.LIKE
    assert book.judge(f"{BASE}/", other, "p0099").verdict is PageNovelty.KEEP


def test_the_parts_of_another_thing_of_a_known_kind_come_after_what_is_new() -> None:
    parts = ("log", "crew", "berths", "rules")
    kept = [
        page(number, f"/yards/{name}/{part}", state=state(part))
        for number, (name, part) in enumerate(
            (
                (name, part)
                for name in ("north", "south")
                for part in (parts if name == "north" else parts[:3])
            ),
            start=1,
        )
    ]
    more = link(1, "/yards/south/rules")
    new = link(2, "/yards/south/masts")
    book = ExplorationState(MapLimits(), [page(9, "/yards/south", (more, new)), *kept])
    step, _ = choose_next_step(book, None, (), anywhere)
    assert step is not None
    assert step.offer == new
    assert why(book, book.pages["p0009"], more) is None, "it is opened where there is time"


def test_a_link_of_the_site_is_another_than_that_of_its_name_on_three_things() -> None:
    names = ("north", "south", "west")
    yards = [
        page(number, f"/yards/{name}", (link(1, f"/yards/{name}/search", name="Search"),))
        for number, name in enumerate(names, start=1)
    ]
    found = [
        page(number + 10, f"/yards/{name}/search", state=state("found")) for number, name in enumerate(names)
    ]
    home = page(30, "/", (link(1, "/search", name="Search"), link(2, "/yards/east/search", name="Search")))
    led = [passed(one, one.offers[0], to) for one, to in zip(yards, found, strict=True)]
    book = ExplorationState(MapLimits(), [*yards, *found, home], led)
    assert why(book, home, home.offers[0]) is None


def test_a_control_of_the_frame_that_opens_the_same_dialog_on_four_pages_is_left() -> None:
    spots = ({"xpath": "/li/button"}, {"xpath": "/li/button"}, {"xpath": "/p/button"})
    for contents, spot, left in (
        ("Close", spots[0], True),
        ("Save", spots[0], False),
        ("Close", spots[2], False),
    ):
        known = Fingerprint(**spots[1])
        pages = [page(n, f"/place{n}", (button(1, "Toggle help", fingerprint=known),)) for n in range(1, 5)]
        dialogs = [
            page(
                n + 10,
                f"/place{n}",
                (button(1, "Close" if n < 4 else contents),),
                layer="dialog",
                behind=f"p{n:04d}",
            )
            for n in range(1, 5)
        ]
        book = ExplorationState(MapLimits(), [*pages, *dialogs])
        for one, dialog in zip(pages, dialogs, strict=True):
            assert why(book, one, one.offers[0]) is None
            book.note_passage(passed(one, one.offers[0], dialog))
        last = page(30, "/last", (button(1, "Toggle help", fingerprint=Fingerprint(**spot)),))
        book.note_page(last)
        assert (why(book, last, last.offers[0]) == TRIED_ELSEWHERE) is left, (contents, spot)


def test_a_link_that_opens_the_same_menu_on_four_pages_is_left_though_its_address_was_never_opened() -> None:
    menu = link(1, "/user/menu", name="Ada", fingerprint=Fingerprint(xpath="/header/li/a"))
    pages = [page(n, f"/place{n}", (menu,)) for n in range(1, 6)]
    menus = [
        page(n + 10, f"/place{n}", (button(1, "Profile"),), layer="panel", behind=f"p{n:04d}")
        for n in range(1, 5)
    ]
    led = [passed(one, menu, to) for one, to in zip(pages, menus, strict=False)]
    assert why(ExplorationState(MapLimits(), [*pages, *menus], led[:3]), pages[4], menu) is None
    assert why(ExplorationState(MapLimits(), [*pages, *menus], led), pages[4], menu) == TRIED_ELSEWHERE

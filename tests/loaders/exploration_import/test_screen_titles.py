"""What screens are called, on sites that name their pages in ways of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest

from kb_schema.page_snapshots import PageSnapshot
from loaders.exploration_import.screen_titles import titles_of
from loaders.screen_learner.observed_pages import ObservedPage
from web_pages.page_profiles import build_page_profile
from web_pages.stored_pages import StoredPage


def look(path: str, heading: str = "", title: str = "", more: str = "") -> ObservedPage:
    head = f"<h1>{heading}</h1>" if heading else ""
    html = f"<html><body><main>{head}{more}</main></body></html>"
    page = StoredPage(PageSnapshot(url=f"https://quay.example{path}", title=title, html=html))
    return ObservedPage(build_page_profile(page), path, path)


def named(
    groups: Sequence[Sequence[ObservedPage]],
    rows: Sequence[str] = (),
    entries: Mapping[str, str] = MappingProxyType({}),
    tabs: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """What groups of pages are called, beside two that have nothing to do with them."""
    every = [*groups, [look("/", "Home")], [look("/help", "Help")]]
    seen = [page for group in every for page in group]
    starts = [sum(map(len, every[:at])) for at in range(len(every))]
    numbered = [list(range(start, start + len(group))) for start, group in zip(starts, every, strict=True)]
    return titles_of(numbered, seen, set(rows), entries, tabs)[: len(groups)]


@pytest.mark.parametrize(
    ("pages", "name"),
    [
        ([look("/orders/1", "Order #10001"), look("/orders/2", "Order #10002")], "Order"),
        ([look("/mail/1", "Letter: Ada 1"), look("/mail/2", "Letter: Bea 2")], "Letter"),
        ([look("/models/7", title="Model: big - Quay"), look("/models/8", title="Model: wee - Quay")], "Model"),
        ([look("/goods/rake_1", "Rake"), look("/goods/pot_2", "Pot")], "Goods detail"),
        ([look("/news/a-shed", "A shed"), look("/news/the-soil", "The soil")], "News detail"),
        ([look("/news/the-shed", "The shed"), look("/news/the-soil", "The soil")], "News detail"),
        ([look("/boats/1/edit", title="Editing: Ada - Quay", more="<h2>Name*</h2>")], "Editing"),
        ([look("/boats/add", title="New: Boat - Quay", more="<h2>Boat</h2>")], "New: Boat"),
        ([look("/issue4", title="Issue 4: No paper - Quay"), look("/issue40", title="Issue 40: Ink - Quay")], "Issue"),
        ([look("/user1", title="User 1: admin - Quay")], "User"),
        ([look("/jobs/1/", title="rope-1: View Job :: Quay"), look("/jobs/2/", title="sail-2: View Job :: Quay")], "View Job"),
        ([look("/flows", title="Flows \u2022 Quay")], "Flows"),
        ([look("/runs", more="<div aria-live='assertive'><h6>Oops. Something went wrong.</h6></div>")], "Runs"),
        ([look("/mail/out", "13 pending mails")], "Pending mails"),
        ([look("/query", "Custom query (4 matches)")], "Custom query"),
        ([look("/clerks/ada-may", title="Ada May's orders - Quay"), look("/clerks/ben", title="Ben's orders - Quay")], "Orders"),
        ([look("/clerks/ada", title="Pay of Ada - Quay"), look("/clerks/ben", title="Pay of Ben - Quay")], "Pay"),
    ],
    ids=["numbers", "colons", "titles", "things", "names of things", "names that begin alike", "no heading", "new",
         "numbers and names", "one number", "behind its key", "site behind a bullet",
         "a message is no name", "a count before", "a count behind", "things in titles", "things behind a preposition"],
)  # fmt: skip
def test_a_screen_is_called_what_its_pages_say_they_are_and_not_by_one_thing(
    pages: list[ObservedPage], name: str
) -> None:
    assert named([pages], rows=["Ada"]) == [name]


def test_what_nearly_all_addresses_begin_with_is_in_no_name() -> None:
    groups = [
        [look(f"/admin/{name}/{at}", f"{name} {word}") for at, word in ((1, "a"), (2, "b"))] for name in "xyz"
    ]
    groups += [[look(f"/admin/{at}", str(at))] for at in ("one", "two", "three", "four", "five")]
    assert named(groups)[:3] == ["X detail", "Y detail", "Z detail"]


def test_the_page_of_what_all_others_are_about_is_called_as_in_the_menu() -> None:
    groups = [
        [look("/flatshare/", title="Quay - Flatshare")],
        *([look(f"/flatshare/{name}", name, title="Quay")] for name in ("Rent", "Keys")),
    ]
    assert named(groups, entries={"Bills": "/flatshare/"}) == ["Bills", "Rent", "Keys"]


def test_screens_of_one_name_are_told_by_their_addresses_else_by_what_else_they_say() -> None:
    usual = [[look("/inbox", "Notices")], [look("/archive", "Notices")]]
    assert named(usual) == ["Notices (inbox)", "Notices (archive)"]
    tabs = [
        [look("/me#mail", "Account", more="<h2>Mail</h2>")],
        [look("/me", "Account", more="<h2>Theme</h2>")],
    ]
    assert named(tabs) == ["Account (Mail)", "Account (Theme)"]
    nested = [[look("/goods/1/reviews", "Reviews")], [look("/goods/1/reviews/7", "Reviews")]]
    assert named(nested) == ["Reviews", "Reviews (detail)"]


def test_where_every_page_has_the_heading_of_the_site_the_next_one_says_what_it_is() -> None:
    def page(path: str, heading: str) -> ObservedPage:
        return look(path, "Back office", "Back office", f"<h3>{heading}</h3>")

    groups = [
        [page("/crew/edit/1", "Edit crew"), page("/crew/edit/2", "Edit crew")],
        [page("/boat/edit/1", "Edit boat"), page("/boat/edit/2", "Edit boat")],
        [page("/boat/log/1", "Ada"), page("/boat/log/2", "Bea")],
        [page("/boat/list", "Boats")],
    ]
    assert named(groups) == ["Edit crew", "Edit boat", "Boat log", "Boats"]


def test_a_title_that_every_page_has_says_nothing() -> None:
    def page(path: str, heading: str) -> ObservedPage:
        return look(path, title="Orderbook", more=f"<h4>{heading}</h4>")

    groups = [[page("/contact/edit/1", "Edit Contact")], [page("/order/edit/1", "Edit Order")]]
    rest = [[page("/contact/list", "List Contact")], [page("/order/list", "List Order")]]
    assert named([*groups, *rest])[:2] == ["Edit Contact", "Edit Order"]


def test_a_screen_without_a_heading_or_title_of_its_own_is_called_as_in_the_menu() -> None:
    wiki = [
        look("/wiki", title="Quay", more="<h3>Other formats</h3>"),
        look("/wiki/a", title="Quay", more="<h3>Other formats</h3>"),
    ]
    entries = {"Guide": "/wiki/a", "Wiki": "/wiki", "Ways": "/tours"}
    tours = [look("/tours", "Our tours", title="Quay")]
    assert named([wiki, tours], entries=entries) == ["Wiki", "Our tours"]
    assert named([wiki, tours]) == ["Other formats", "Our tours"]


def test_a_screen_without_any_heading_is_called_as_the_tab_that_leads_to_it() -> None:
    groups = [
        [look("/app/logs/entries", title="Quay")],
        [look("/app/logs/locks", title="Quay", more="<h3>Locked berths</h3>")],
    ]
    tabs = {"Log": "/app/logs/entries", "Locks": "/app/logs/locks"}
    assert named(groups, tabs=tabs) == ["Log", "Locked berths"]
    going = {"Go to the log": "/app/logs/entries", "Locks": "/app/logs/locks"}
    assert named(groups, tabs=going) == ["Log", "Locked berths"]


def test_an_address_names_a_screen_without_what_nearly_all_begin_with() -> None:
    groups = [[look(f"/app/v2/{at}", title="Quay")] for at in ("tides", "logs/locks", *"abcdefgh")]
    assert named(groups)[:2] == ["Tides", "Logs locks"]


def test_screens_of_one_heading_are_told_by_their_titles_and_the_one_above_them_keeps_the_heading() -> None:
    groups = [
        [look(path, "Settings", f"Settings: {word} - Quay")]
        for path, word in (("/set", "General"), ("/set/tongue", "Language"), ("/set/mail", "Notices"))
    ]
    assert named(groups) == ["Settings", "Settings: Language", "Settings: Notices"]


def test_a_list_and_one_of_its_things_with_one_title_are_told_by_what_they_are() -> None:
    groups = [
        [look("/set", "Settings", "Settings: General - Quay")],
        [look("/set/kinds", "Settings", "Settings: Kinds - Quay")],
        [
            look(f"/set/kinds/{each}", "Settings", "Settings: Kinds - Quay")
            for each in ("Big%20Ones", "Small")
        ],
    ]
    groups += [[look(f"/{each}", each)] for each in ("Boats", "Crew", "Log", "Tides")]
    assert named(groups)[:3] == ["Settings", "Settings: Kinds", "Settings: Kinds (detail)"]


def test_the_name_and_number_of_one_thing_tell_no_screens_apart() -> None:
    groups = [
        [look("/user1", title="User 1: ada - Quay", more="<h2>User1 Editing</h2>")],
        [look("/user2", title="User 2: bea - Quay", more="<h2>User2</h2>")],
    ]
    assert not [name for name in named(groups) if any(map(str.isdigit, name)) or "ada" in name]


def test_a_heading_that_begins_with_the_number_of_its_thing_is_data() -> None:
    assert named([[look("/report/7", "{7} Late jobs (12 matches)")]]) == ["Report detail"]


def test_the_name_of_the_site_is_in_no_name() -> None:
    pages = [
        look("/in", "Quay tracker: An error", "Error - Quay tracker"),
        look("/out", "Registering with Quay tracker", "Registering with Quay tracker"),
    ]
    more = [look(f"/{each}", each, f"{each} - Quay tracker") for each in ("Boats", "Crew", "Log", "Tides")]
    found = named([[each] for each in (*pages, *more)], entries={"Register": "/out"})
    assert found[:2] == ["An error", "Register"]


def test_the_name_of_a_thing_that_has_several_screens_is_no_name_of_theirs() -> None:
    def pages(part: str, heading: str, things: tuple[str, ...]) -> list[ObservedPage]:
        more = f"<h2>{heading}</h2>"
        return [look(f"/yards/{name.lower()}/{part}", name, f"{name} - Quay", more) for name in things]

    both = ("North", "South")
    groups = [
        pages("crew", "Crew", both),
        pages("log", "Log", both),
        pages("log/new", "New entry", ("South",)),
    ]
    groups += [
        pages("berths", "Berths", both),
        pages("rules", "Rules", both),
        [look("/entries/3", "South", "South - Quay", "<h2>Edit entry</h2>")],
    ]
    assert named(groups) == ["Crew", "Log", "New entry", "Berths", "Rules", "Edit entry"]


def test_a_page_of_a_program_that_says_nothing_is_called_what_its_address_asks_for() -> None:
    pages = [
        look("/index.php?title=Pier&action=edit", "Editing Pier"),
        look("/index.php?title=Rope&action=edit", "Creating Rope"),
    ]
    assert named([pages, [look("/index.php?route=crew/list"), look("/index.php?route=crew/list&n=2")]]) == [
        "Edit",
        "Crew list",
    ]


def test_an_entry_of_the_menu_that_leads_to_one_of_many_things_names_none_of_their_screens() -> None:
    clerks = [look("/clerks/ada", "Ada"), look("/clerks/ben", "Ben")]
    assert named([clerks], entries={"Ada May": "/clerks/ada"}) == ["Clerks detail"]


def test_things_below_a_letter_are_called_after_their_list() -> None:
    orders, things = [look("/o", "Orders")], [look("/o/1", "Rope"), look("/o/2", "Paint")]
    assert named([orders, things]) == ["Orders", "Orders detail"]


def test_a_page_is_called_by_its_title_where_its_heading_is_what_its_title_says_it_is_a_part_of() -> None:
    def part(path: str, name: str) -> ObservedPage:
        return look(path, "Berth plan", "Wiki - Berth plan - Quay", more=f"<h2>{name} \u00bb</h2>")

    own = [
        [part("/projects/berth/wiki/index", "Index by title")],
        [part("/projects/berth/wiki/dates", "Index by date")],
    ]
    others = [[look(f"/{each}", each.capitalize())] for each in ("news", "users", "roles", "queries")]
    assert named([*own, *others])[:2] == ["Wiki (index)", "Wiki (dates)"]


def test_screens_of_one_name_are_told_without_the_names_of_things() -> None:
    parts = ("wiki", "log", "files", "news")
    known = [
        [look(f"/projects/{thing}/{part}", part.capitalize()) for thing in ("berth", "ferry")]
        for part in parts
    ]
    settings = [
        [look("/projects/ferry/settings", "Settings")],
        [look("/projects/berth/settings/boards", "Settings")],
    ]
    assert named([*known, *settings])[4:] == ["Settings", "Settings (boards)"]

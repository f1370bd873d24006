"""What the cartographer makes of an exploration."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from kb_schema.conditions import Combined, ElementVisible
from loaders import read_knowledge_folder, write_folder
from loaders.exploration_import import ExploredKnowledge, build_knowledge, explored_screens
from tests.support.explored import BASE, Drawing, drawing
from tests.support.mapping_rates import identified

NAV = (
    "<header><a href='/'>Quay</a><nav aria-label='Main'><ul>"
    "<li><a id='nav-boats' href='/boats'>Boats</a></li><li><a id='nav-log' href='/log'>Log (3)</a></li></ul></nav></header>"
)


def boats(*rows: tuple[int, str]) -> str:
    shown = "".join(
        f"<tr><td><a href='/boats/{number}'>{name}</a></td><td>{number} m</td></tr>" for number, name in rows
    )
    return (
        f"{NAV}<main><h1>Boats</h1><a href='/boats/new'>Add a boat</a>"
        f"<table><thead><tr><th>Name</th><th>Length</th></tr></thead><tbody>{shown}</tbody></table></main>"
    )


def boat(name: str) -> str:
    return f"{NAV}<main><h1>Boat</h1><dl><dt>Name</dt><dd>{name}</dd></dl><a href='/boats'>Back to boats</a></main>"


FORM = (
    f"{NAV}<main><h1>Add a boat</h1><form method='post' action='/boats/new'>"
    "<label>Name <input id='name' name='name' required></label>"
    "<label>Kind <select id='kind' name='kind'><option value='cutter'>Cutter</option><option value='yawl'>Yawl</option></select></label>"
    "<button id='save'>Save</button></form></main>"
)
LOG = f"{NAV}<main><h1>Log</h1><p>Nothing yet</p></main>"
LOGIN = "<main><h1>Welcome back</h1><form method='post' action='/login'><label>Email <input name='email' id='email'></label><button id='enter'>Sign in</button></form></main>"


def explored(path: Path) -> Drawing:
    """A harbour with two boats, as it was seen by somebody signed in; and where one signs in."""
    seen = drawing(path, ("/boats",))
    seen.page("boats", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    seen.page("boats-2", "/boats?page=2", boats((3, "Cleo"), (4, "Dora")))
    seen.page("ada", "/boats/1", boat("Ada"))
    seen.page("bea", "/boats/2", boat("Bea"))
    seen.page("new", "/boats/new", FORM)
    seen.page("log", "/log", LOG)
    seen.page("login", "/login", LOGIN, signed_in=False)
    seen.went("boats", "Ada", "ada", ms=200)
    seen.went("boats", "Bea", "bea", ms=400)
    seen.went("boats", "Add a boat", "new", ms=50)
    seen.went("boats", "Log (3)", "log")
    seen.went("ada", "Back to boats", None, outcome="timeout")
    seen.went("bea", "Back to boats", "boats")
    seen.tried("new", "new", way="reload")
    seen.tried("log", "boats", way="address", ms=70)
    seen.tried("ada", None, outcome="error", way="back")
    return seen


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> ExploredKnowledge:
    return build_knowledge(explored(tmp_path_factory.mktemp("seen")).folder, name="The Quay")


def test_pages_become_screens_named_from_what_people_see(drawn: ExploredKnowledge) -> None:
    assert {each: set(pages) for each, pages in drawn.screens.items()} == {
        "boats": {"boats", "boats-2"},
        "boat": {"ada", "bea"},
        "add_a_boat": {"new"},
        "log": {"log"},
        "welcome_back": {"login"},
    }
    assert drawn.knowledge.screens["add_a_boat"].name == "Add a boat"


def test_elements_are_called_as_people_see_them_and_say_what_one_can_do(drawn: ExploredKnowledge) -> None:
    elements = drawn.knowledge.elements("add_a_boat")
    assert {"name_field", "kind_dropdown", "save_button", "boats_link", "log_link"} <= set(elements)
    name, kind = elements["name_field"].affordances[0], elements["kind_dropdown"].affordances[0]
    assert (name.action_type, name.required) == ("fill", True)
    assert [option.value for option in kind.options] == ["cutter", "yawl"]


def test_what_all_screens_show_of_a_landmark_is_the_websites(drawn: ExploredKnowledge) -> None:
    layouts = drawn.knowledge.website.layouts
    assert [each.element_id for each in layouts["navigation"]] == ["boats_link", "log_link"]
    assert "navigation" in drawn.knowledge.screens["log"].layouts
    assert drawn.knowledge.screens["welcome_back"].layouts == ()


def test_links_of_rows_are_one_element_that_is_told_which_row(drawn: ExploredKnowledge) -> None:
    row = drawn.knowledge.elements("boats")["boats_row_link"]
    assert row.selector.required_context == {"row"}
    edge = drawn.knowledge.transitions["boats.to.boat"]
    assert edge.triggered_by.parameters == {"row": "{boat_row}"}
    assert edge.conditions.required[0].type == "context_equals"


def test_what_was_tried_counts_and_takes_its_time(drawn: ExploredKnowledge) -> None:
    edge = drawn.knowledge.transitions["boats.to.boat"]
    assert edge.reliability_metrics is not None
    assert (edge.reliability_metrics.success_count, edge.reliability_metrics.failure_count) == (2, 0)
    assert edge.duration.avg_duration_ms == 300
    assert (edge.duration.min, edge.duration.max) == (0.2, 0.4)
    back = drawn.knowledge.transitions["boat.to.boats"]
    assert back.reliability_metrics is not None
    assert (back.reliability_metrics.success_count, back.reliability_metrics.failure_count) == (1, 1)


def test_a_link_that_was_not_tried_says_so(drawn: ExploredKnowledge) -> None:
    edge = drawn.knowledge.transitions["log.to.boats"]
    assert edge.reliability_metrics is None
    assert edge.reliability_score == 0.8
    assert "not tried" in edge.description


def test_groups_are_who_may_see_them_and_what_they_are(drawn: ExploredKnowledge) -> None:
    groups = {screen: drawn.knowledge.groups_of(screen) for screen in drawn.screens}
    assert groups["boats"] == ("authenticated_pages", "list_pages")
    assert groups["add_a_boat"] == ("authenticated_pages", "form_pages")
    assert groups["welcome_back"] == ("form_pages", "public_pages")


def test_ways_out_are_those_that_helped(drawn: ExploredKnowledge) -> None:
    edges = drawn.knowledge.recoveries
    assert set(edges) == {
        "authenticated_pages.by_reload", "form_pages.by_reload", "authenticated_pages.by_address.boats",
    }  # fmt: skip
    assert edges["authenticated_pages.by_address.boats"].triggered_by.url == "https://quay.example/boats"
    assert edges["form_pages.by_reload"].recovery_priority == 4  # what was typed is lost


def test_pages_of_both_kinds_tell_who_is_signed_in(drawn: ExploredKnowledge) -> None:
    assert drawn.knowledge.website.authenticated_when != ()
    edge = drawn.knowledge.transitions["boats.to.add_a_boat"]
    assert [condition.type for condition in edge.conditions.required] == ["authenticated"]


def test_a_screen_is_opened_where_its_address_is_of_no_single_thing(drawn: ExploredKnowledge) -> None:
    assert drawn.knowledge.screens["boats"].url == "https://quay.example/boats"
    assert drawn.knowledge.screens["boat"].url is None


def test_every_page_is_told_by_what_was_drawn(drawn: ExploredKnowledge, tmp_path: Path) -> None:
    seen = explored(tmp_path).folder
    found = identified(drawn.knowledge, seen.snapshots(), BASE)
    assert found == {page: screen for screen, pages in drawn.screens.items() for page in pages}


def test_a_map_is_written_and_read_as_it_is(drawn: ExploredKnowledge, tmp_path: Path) -> None:
    write_folder(drawn.knowledge, tmp_path / "kb")
    again, _ = read_knowledge_folder(tmp_path / "kb")
    assert {each.local_id for each in again.documents()} == {e.local_id for e in drawn.knowledge.documents()}


def test_what_was_seen_signed_out_is_drawn_beside_the_rest(tmp_path: Path) -> None:
    inside, outside = drawing(tmp_path / "in", ("/boats",)), drawing(tmp_path / "out", ("/boats",))
    inside.page("p1", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    outside.page("p1", "/login", LOGIN, signed_in=False)
    found = build_knowledge(inside.folder, signed_out=outside.folder)
    assert dict(found.screens) == {"boats": ("p1",), "welcome_back": ("out-p1",)}
    assert found.knowledge.groups_of("welcome_back") == ("form_pages", "public_pages")


def test_one_goes_back_to_where_one_begins_signed_in_and_not_on_to_where_others_do(tmp_path: Path) -> None:
    inside, outside = drawing(tmp_path / "in", ("/boats",)), drawing(tmp_path / "out", ("/boats",))
    inside.page("p1", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    outside.page("p1", "/login", LOGIN, signed_in=False, start=True)
    recovery = build_knowledge(inside.folder, signed_out=outside.folder).knowledge.website.default_recovery
    assert recovery is not None
    assert [each.url for each in recovery.actions] == [f"{BASE}/boats"]


def test_where_one_signs_in_is_no_way_out_for_those_who_are_signed_in(tmp_path: Path) -> None:
    inside, outside = drawing(tmp_path / "in", ("/boats",)), drawing(tmp_path / "out", ("/login",))
    inside.page("p1", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    inside.page("p2", "/boats/new", FORM)
    outside.page("p1", "/login", LOGIN, signed_in=False, start=True)
    outside.page("p2", "/help", "<main><h1>Help</h1><p>Call us</p></main>", signed_in=False)
    inside.tried("p2", "p1", way="address")
    outside.tried("p2", "p1", way="address")
    outside.tried("p1", "p1", way="address")
    edges = build_knowledge(inside.folder, signed_out=outside.folder).knowledge.recoveries
    assert set(edges) == {
        "authenticated_pages.by_address.boats", "form_pages.by_address.boats",
        "public_pages.by_address.welcome_back",
    }  # fmt: skip


def test_a_part_of_a_form_is_no_layout_and_a_choice_of_language_makes_no_form(tmp_path: Path) -> None:
    language = "<form method='post' action='/language'><select name='language' aria-label='Language'></select></form>"
    frame = NAV.replace("</nav>", f"{language}</nav>")
    part = (
        "<section aria-label='Name'><label>Name <input name='name'></label><a href='#name'>Name</a></section>"
    )
    seen = drawing(tmp_path)
    for kind, more in (("boat", ("length", "draught")), ("crew", ("captain", "hands"))):
        own = "".join(f"<label>{each} <input name='{each}'></label>" for each in more)
        form = f"<form method='post' action='/{kind}/new'>{part}{own}<button>Save</button></form>"
        seen.page(kind, f"/{kind}/new", f"{frame}<main><h1>New {kind}</h1>{form}</main>")
    seen.page("log", "/log", f"{frame}<main><h1>Log</h1></main>", start=True)
    knowledge = build_knowledge(seen.folder).knowledge
    assert set(knowledge.website.layouts) == {"banner", "navigation"}
    assert "name_field" in knowledge.elements("new_boat")
    forms = {screen for screen in knowledge.screens if "form_pages" in knowledge.groups_of(screen)}
    assert forms == {"new_boat", "new_crew"}


def test_rows_are_called_by_where_they_lead_from_the_page_that_shows_them(tmp_path: Path) -> None:
    rows = "".join(f"<li><a href='/back/yard/boats/edit/{at}'>Boat {at}</a></li>" for at in (1, 2, 3))
    seen = drawing(tmp_path)
    seen.page("boats", "/back/yard/boats", f"{NAV}<main><h1>Boats</h1><ul>{rows}</ul></main>", start=True)
    assert "boats_edit_row_link" in build_knowledge(seen.folder).knowledge.elements("boats")


def test_parts_of_a_control_that_say_the_same_are_no_controls_of_their_own(tmp_path: Path) -> None:
    seen = drawing(tmp_path)
    card = "<div tabindex='0' aria-label='Ask'>Ask<div tabindex='0' aria-label='Ask'>Ask</div></div>"
    body = f"<button><h3 tabindex='0'>Start</h3></button>{card}<h3 tabindex='0'>Only here</h3>"
    seen.page("home", "/", f"{NAV}<main><h1>Home</h1>{body}</main>", start=True)
    elements = build_knowledge(seen.folder).knowledge.elements("home")
    assert {"start_button", "ask_control", "only_here_control"} <= set(elements)
    assert not {"start_control", "ask_control_2", "control"} & set(elements)


def test_what_deletes_is_drawn_as_such_and_never_as_a_way(tmp_path: Path) -> None:
    seen = drawing(tmp_path, ("/boats",))
    seen.page("one", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    page = seen.page(
        "two", "/boats/1", boat("Ada").replace("</main>", "<a href='/boats/1/sink'>Sink her</a></main>")
    )
    dangerous = [
        each.model_copy(update={"danger": "deletes", "why": 'is called "sink"'})
        if each.name == "Sink her"
        else each
        for each in page.offers
    ]
    seen.folder.add_page(page.model_copy(update={"offers": tuple(dangerous)}))
    found = build_knowledge(seen.folder).knowledge
    element = found.elements("boat")["sink_her_link"]
    assert element.affordances[0].destructive
    assert element.metadata["not_tried"] == 'is called "sink"'
    assert all(edge.triggered_by.target != "sink_her_link" for edge in found.transitions.values())


def test_hostile_names_are_only_ever_words(tmp_path: Path) -> None:
    seen = drawing(tmp_path)
    nasty = html.escape("../../{{row}} $(rm) \u202e</script>")
    seen.page(
        "one",
        "/",
        f"<main><h1>{nasty}</h1><a href='/x/{{{{row}}}}'>{nasty}</a><button>{nasty}</button></main>",
        start=True,
    )
    found = build_knowledge(seen.folder)
    (screen,) = found.knowledge.screens.values()
    assert screen.screen_id == "row_rm_script"
    for element in screen.ui_elements:
        assert element.element_id.replace("_", "").isalnum()
    write_folder(found.knowledge, tmp_path / "kb")


def test_a_notice_over_every_page_is_an_overlay_with_the_control_that_put_it_away(tmp_path: Path) -> None:
    notice = (
        "<section role='region' aria-label='Cookie notice'><button id='decline'>Decline</button></section>"
    )
    seen = drawing(tmp_path, ("/boats",))
    rows = boats((1, "Ada"), (2, "Bea"))
    for page_id, path, page in (
        ("one", "/boats", rows + notice),
        ("log", "/log", LOG + notice),
        ("two", "/boats", rows),
    ):
        told = seen.page(page_id, path, page, start=page_id == "one")
        offers = [
            each.model_copy(update={"region": "region:Cookie notice"}) if each.name == "Decline" else each
            for each in told.offers
        ]
        seen.folder.add_page(told.model_copy(update={"offers": tuple(offers)}))
    seen.went("one", "Decline", "two")
    (overlay,) = build_knowledge(seen.folder).knowledge.website.overlays
    assert overlay.overlay_id == "cookie_notice"
    assert overlay.dismiss.canonical_type == "click"


def test_a_way_that_was_tried_is_preferred_to_a_link_that_was_not(tmp_path: Path) -> None:
    seen = explored(tmp_path)
    seen.went("new", "Boats", "boats", ms=4_000)
    edges = build_knowledge(seen.folder).knowledge.transitions.values()
    untried = [each for each in edges if each.reliability_metrics is None]
    assert {each.expected_ms for each in untried} == {4_000}


RENAME = "<div><h2>Rename it</h2><label>New name <input id='new-name'></label><button>Rename now</button><button>Cancel</button></div>"
REMIND = "<div><h2>Remind me</h2><label>When <input id='when'></label><button>Remind now</button><button>Cancel</button></div>"


def with_dialogs(path: Path) -> Drawing:
    """Two pages on which dialogs without a role lie, and a menu that nothing tells from its page."""
    seen = drawing(path)
    seen.page("log", "/log", LOG, start=True)
    seen.page("ada", "/boats/1", boat("Ada"))
    seen.page("rename", "/boats/1", NAV + RENAME, layer="dialog", behind="ada", openable=False)
    seen.page("rename-log", "/log", NAV + RENAME, layer="dialog", behind="log", openable=False)
    seen.page("remind", "/log", NAV + REMIND, layer="dialog", behind="log", openable=False)
    seen.page("menu", "/log", LOG, layer="menu", behind="log", openable=False)
    return seen


def test_dialogs_are_screens_wherever_they_were_opened_and_a_menu_that_cannot_be_told_is_a_state(
    tmp_path: Path,
) -> None:
    drawn = build_knowledge(with_dialogs(tmp_path).folder)
    assert {frozenset(pages) for pages in drawn.screens.values()} == {
        frozenset({"ada"}), frozenset({"log", "menu"}), frozenset({"rename", "rename-log"}), frozenset({"remind"}),
    }  # fmt: skip


def test_a_dialog_that_lay_on_two_screens_may_lie_on_any(tmp_path: Path) -> None:
    seen = drawing(tmp_path)
    seen.page("boat", "/boats/1/edit", boat("Ada"), start=True)
    seen.page("log", "/logs/7/edit", LOG)
    for behind, path in (("boat", "/boats/1/edit"), ("log", "/logs/7/edit")):
        seen.page(f"rename-{behind}", path, NAV + RENAME, layer="dialog", behind=behind, openable=False)
    seen.page("remind", "/logs/7/edit", NAV + REMIND, layer="dialog", behind="log", openable=False)
    screens = build_knowledge(seen.folder).knowledge.screens
    assert screens["rename_it"].url_patterns == ()
    assert screens["rename_it"].state_signature.primary_indicators
    assert screens["remind_me"].url_patterns, "it lay on one"


def test_what_closes_a_dialog_that_lies_on_several_screens_is_no_way_to_the_one_below(tmp_path: Path) -> None:
    seen = drawing(tmp_path)
    seen.page("boat", "/boats/1/edit", boat("Ada"), start=True)
    seen.page("log", "/logs/7/edit", LOG)
    for behind, path in (("boat", "/boats/1/edit"), ("log", "/logs/7/edit")):
        seen.page(f"rename-{behind}", path, NAV + RENAME, layer="dialog", behind=behind, openable=False)
    seen.page("remind", "/logs/7/edit", NAV + REMIND, layer="dialog", behind="log", openable=False)
    seen.went("rename-boat", "Cancel", "boat")
    seen.went("remind", "Cancel", "log")
    made = build_knowledge(seen.folder)
    names = {page: screen for screen, pages in made.screens.items() for page in pages}
    ways = {(each.from_screen, each.to_screen) for each in made.knowledge.transitions.values()}
    led = {to_screen for from_screen, to_screen in ways if from_screen == "rename_it"}
    assert names["boat"] not in led, "`Cancel` leads to the page below, whichever that is"
    assert ("remind_me", names["log"]) in ways, "it lay on one"


def test_what_lies_on_pages_without_a_heading_is_called_by_its_first_control(tmp_path: Path) -> None:
    seen = with_dialogs(tmp_path)
    account = "<div id='account'><a href='/me'>Account</a><button>Sign out</button></div>"
    for number, behind in enumerate(("log", "ada")):
        below = LOG if behind == "log" else boat("Ada")
        path = "/log" if behind == "log" else "/boats/1"
        seen.page(f"account-{number}", path, below + account, layer="panel", behind=behind, openable=False)
    pages = {"account-0", "account-1"}
    for told in [each for each in seen.folder.pages() if each.page_id in pages]:
        own = tuple(offer for offer in told.offers if offer.name in ("Account", "Sign out"))
        seen.folder.add_page(told.model_copy(update={"offers": own}))
    drawn = build_knowledge(seen.folder)
    screen = drawn.knowledge.screens["panel_with_account"]
    assert screen.name == "Panel with Account"
    assert set(drawn.screens["panel_with_account"]) == pages
    assert {each for each in drawn.knowledge.screens if each.startswith("panel")} == {"panel_with_account"}


def test_fields_of_a_dialog_that_is_a_state_are_kept_though_few_pages_have_them(tmp_path: Path) -> None:
    seen = drawing(tmp_path)
    for number in range(1, 5):
        seen.page(f"b{number}", f"/boats/{number}", boat(f"Boat {number}"), start=number == 1)
    seen.page(
        "weighing", "/boats/1", boat("Boat 1") + "<p><input></p>", layer="panel", behind="b1", openable=False
    )
    drawn = build_knowledge(seen.folder)
    (screen,) = drawn.knowledge.screens.values()
    assert len(drawn.screens[screen.screen_id]) == 5
    assert any("input" in str(each) for each in screen.ui_elements)


def _club(name: str, people: tuple[str, ...], *, asking: bool = False) -> dict[str, str]:
    """The pages of one of several clubs, whose boxes are called by their members."""
    top = f"<header><a href='/{name}/'>Trips</a><a href='/{name}/fees'>Fees</a><a href='/{name}/members'>Members</a></header>"
    boxes = "".join(f"<label><input type='checkbox' name='who'>{each}</label>" for each in people)
    fields = "<label>What <input name='what'></label><label>Costs <input name='costs'></label>"
    form = f"<form method='post'>{fields}{boxes}<button>Save trip</button></form>"
    dialog = f"<div role='dialog' aria-modal='true'><h2>Add a trip</h2>{form}<button>Close</button></div>"
    return {
        f"/{name}/": f"{top}<main><h1>Trips</h1><button>Add a new trip</button></main>{dialog if asking else ''}",
        f"/{name}/fees": f"{top}<main><h1>Fees</h1><table><tr><th>Who</th><th>Owes</th></tr></table></main>",
        f"/{name}/members": f"{top}<main><h1>Members</h1><label>New member <input name='member'></label></main>",
        f"/{name}/trip": f"{top}<main><h1>Trip</h1>{form}</main>",
    }


def _clubs(path: Path) -> Drawing:
    seen = drawing(path, ("/",))
    seen.page("start", "/", "<main><h1>Welcome</h1><a href='/reds/'>Reds</a></main>", start=True)
    for name, people in (("reds", ("Ada", "Bea", "Cleo")), ("blues", ("Dora", "Emil", "Finn"))):
        for number, (where, page) in enumerate(_club(name, people).items()):
            seen.page(f"{name}-{number}", where, page)
        page = _club(name, people, asking=True)[f"/{name}/"]
        seen.page(f"{name}-add", f"/{name}/", page, layer="dialog", behind=f"{name}-0", openable=False)
    return seen


def test_two_names_with_the_same_pages_below_them_are_one_place_though_boxes_are_called_by_data(
    tmp_path: Path,
) -> None:
    drawn = build_knowledge(_clubs(tmp_path).folder)
    screens = {frozenset(pages) for pages in drawn.screens.values()}
    assert screens >= {frozenset({f"reds-{number}", f"blues-{number}"}) for number in range(4)}


def test_what_is_one_of_many_has_no_address_of_its_own(tmp_path: Path) -> None:
    seen = _clubs(tmp_path)
    seen.page("rules", "/blues/rules", "<main><h1>Rules</h1><p>Be kind.</p></main>")
    drawn = build_knowledge(seen.folder)
    (rules,) = (each for each in drawn.screens if "rules" in drawn.screens[each])
    assert "blues" not in drawn.knowledge.screens[rules].url_patterns[0]
    assert drawn.knowledge.screens[rules].url is None, (
        "it would open that of the blues for somebody of the reds"
    )


def test_a_link_to_its_own_page_leads_nowhere(tmp_path: Path) -> None:
    menu = "<nav><a href=/>Home</a><a href='#'>Stock</a><a href=/crew>Crew</a></nav>"
    seen = explored(tmp_path)
    seen.page("quay", "/", f"{menu}<main><h1>Home</h1></main>", start=True)
    seen.page("crew", "/crew", f"{menu}<main><h1>Crew</h1></main>")
    made = build_knowledge(seen.folder)
    (crew,) = (each for each in made.screens if "crew" in made.screens[each])
    led = [
        each.triggered_by.target for each in made.knowledge.transitions.values() if each.from_screen == crew
    ]
    assert [target for target in led if "stock" in str(target)] == []
    assert [target for target in led if "home" in str(target)] != []


def test_a_section_of_the_menu_is_none_of_many_things(tmp_path: Path) -> None:
    menu = "".join(
        f"<a href='/desk/{each}/'>{each.title()}</a>" for each in ("boats", "crew", "moor", "tides")
    )
    seen = explored(tmp_path)
    for each in ("boats", "crew", "moor", "tides"):
        seen.page(
            each, f"/desk/{each}/", f"<nav>{menu}</nav><main><h1>{each.title()}</h1><p>{each}</p></main>"
        )
    for each in ("boats", "crew", "moor", "tides"):  # one kind of pages, by which the section varies
        seen.page(
            f"{each}-log",
            f"/desk/{each}/log/",
            f"<nav>{menu}</nav><main><h1>History</h1><p>Who did what</p></main>",
        )
    fields = (
        "<label>Height <input name=height></label><label>Hour <input name=hour></label><button>Save</button>"
    )
    seen.page(
        "tide-add",
        "/desk/tides/add/",
        f"<nav>{menu}</nav><main><h1>Add tide</h1><form method=post>{fields}</form></main>",
    )
    fields = (
        "<label>Depth <input name=depth></label><label>Rent <input name=rent></label><button>Save</button>"
    )
    seen.page(
        "moor-add",
        "/desk/moor/add/",
        f"<nav>{menu}</nav><main><h1>Add mooring</h1><form method=post>{fields}</form></main>",
    )
    screens = {each.name: each.url for each in build_knowledge(seen.folder).knowledge.screens.values()}
    assert (screens["Add tide"] or "").endswith("/desk/tides/add/")
    assert (screens["Add mooring"] or "").endswith("/desk/moor/add/")


def test_a_dialog_with_a_role_is_a_screen_of_its_own(tmp_path: Path) -> None:
    drawn = build_knowledge(_clubs(tmp_path).folder)
    (dialog,) = (each for each, pages in drawn.screens.items() if set(pages) == {"reds-add", "blues-add"})
    assert "Add a trip" in drawn.knowledge.screens[dialog].name
    assert {element.label for element in drawn.knowledge.screens[dialog].ui_elements} >= {"What", "Save trip"}


def _bill(heading: str) -> str:
    fields = "<label>Payer <input name='payer'></label><label>Due <input name='due'></label>"
    return (
        f"{NAV}<main><h1>{heading}</h1><form method='post'>{fields}<button>Save bill</button></form></main>"
    )


def test_a_page_that_shows_another_place_joins_no_two_screens(tmp_path: Path) -> None:
    seen = explored(tmp_path)
    seen.page("bill-new", "/bills/new", _bill("New bill"))
    seen.page("bill-late", "/bills/edit/67", _bill("New bill"))  # the address has changed already
    for number in (1, 2):
        seen.page(f"bill-{number}", f"/bills/edit/{number}", _bill(f"Edit bill {number}"))
    found = {frozenset(pages) for pages in build_knowledge(seen.folder).screens.values()}
    assert {frozenset({"bill-new", "bill-late"}), frozenset({"bill-1", "bill-2"})} <= found


def test_what_is_numbered_like_a_row_is_not_what_a_screen_is_told_by(tmp_path: Path) -> None:
    seen = explored(tmp_path)
    mails = "".join(f"<div data-testid='mail-{number}'>Mail {number}</div>" for number in range(1, 6))
    seen.page("mails", "/mails", f"{NAV}<main><h2>Mails</h2><button>Refresh</button>{mails}</main>")
    screens = build_knowledge(seen.folder).knowledge.screens
    (mailbox,) = (screen for screen in screens.values() if screen.url and screen.url.endswith("/mails"))
    assert "mail-1" not in str(mailbox.state_signature)


@pytest.mark.parametrize("landmark", ["nav", "div"])
def test_two_lists_in_a_menu_that_opens_for_all_pages_are_never_of_one_kind(
    tmp_path: Path, landmark: str
) -> None:
    seen = drawing(tmp_path)
    bar = f"<{landmark}><button>Sales</button></{landmark}>"
    entries = "".join(f"<a href='/{name}/list'>{name}</a>" for name in ("orders", "groups"))
    seen.page("start", "/", f"{bar}<main><h1>Welcome</h1><p>Begin</p></main>", start=True)
    opened = bar.replace("</button>", f"</button>{entries}")
    seen.page(
        "menu",
        "/",
        f"{opened}<main><h1>Welcome</h1><p>Begin</p></main>",
        layer="menu",
        behind="start",
        openable=False,
    )
    for name, number in (("orders", 1), ("groups", 2)):
        table = (
            f"<table><tr><th>Name</th></tr><tr><td>{name} {number}</td></tr></table><button>Search</button>"
        )
        seen.page(name, f"/{name}/list", f"{bar}<main><h4>List of {name}</h4>{table}</main>")
    screens = build_knowledge(seen.folder).screens
    together = any({"orders", "groups"} <= set(pages) for pages in screens.values())
    assert together is (landmark == "div")


def test_who_is_signed_in_is_told_by_signs_of_each_part_though_a_few_pages_have_none(tmp_path: Path) -> None:
    seen = drawing(tmp_path, ("/",))
    for name in ("boats", "crew", "log", "quay", "tides", "berths", "piers", "ropes"):
        body = f"<main><h1>The {name}</h1><p>{name}</p><a href='/me'>My page</a></main>"
        seen.page(name, f"/{name}", body)
    for name in ("users", "roles", "keys", "rules", "mail"):
        body = f"<main><h1>Office: {name}</h1><p>{name}</p><a href='/office/out'>Leave the office</a></main>"
        seen.page(name, f"/office/{name}", body)
    for name in ("Winds", "Stars", "Birds"):
        seen.page(name, f"/{name}", f"<main><h1>{name}</h1><p>Of {name}</p></main>")
    seen.page("login", "/login", LOGIN, signed_in=False)
    (told,) = build_knowledge(seen.folder).knowledge.website.authenticated_when
    assert isinstance(told, Combined)
    shown = {each.element.strategies[0].name for each in told.conditions if isinstance(each, ElementVisible)}
    assert {"My page", "Leave the office"} <= shown


def test_screens_that_nothing_tells_apart_are_joined_instead_of_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = drawing(tmp_path, ("/",))
    for number in (1, 2, 3, 4):
        way = "up" if number % 2 else "down"
        seen.page(
            f"p{number}",
            f"/boats/{way}/{'a' if number < 3 else 'b'}",
            boats((1, "Ada"), (2, "Bea")),
            start=number == 1,
        )
    seen.page("log", "/log", LOG)
    monkeypatch.setattr(explored_screens, "cluster_pages", lambda *_: [[0, 3], [1, 2], [4]])
    made = build_knowledge(seen.folder)
    assert sorted(map(sorted, made.screens.values())) == [["log"], ["p1", "p2", "p3", "p4"]]
    assert not [each for each in made.warnings if "left out" in each]


def test_what_an_address_shows_who_is_signed_out_is_the_same_screen_if_it_has_the_same_title(
    tmp_path: Path,
) -> None:
    inside, outside = drawing(tmp_path / "in", ("/",)), drawing(tmp_path / "out", ("/",))
    form = "<form method='post'><label>Rows <textarea name='rows'></textarea></label><button>Edit</button></form>"
    for name in ("kind", "state", "place", "crew"):
        more = f"<ul><li>{name} one</li></ul>" if name == "crew" else ""
        inside.page(
            name,
            f"/{name}",
            f"<main><h2>{name}</h2>{form}</main>",
            f"{name.title()} editing",
            start=name == "kind",
        )
        body = f"<main><table><thead><tr><th>id</th><th>{name}</th></tr></thead></table>{more}</main>"
        outside.page(name, f"/{name}", body, f"{name.title()} editing", signed_in=False)
    made = build_knowledge(inside.folder, signed_out=outside.folder)
    of = {page: screen for screen, pages in made.screens.items() for page in pages}
    assert all(of[name] == of[f"out-{name}"] for name in ("kind", "state", "place", "crew"))


def test_pages_that_a_menu_calls_as_they_are_headed_are_screens_of_their_own_though_a_list_has_the_names(
    tmp_path: Path,
) -> None:
    seen = drawing(tmp_path, ("/",))
    names = ("profile", "orders", "alerts", "emails", "wishes", "addresses")
    menu = "".join(f"<p><a href='/me/{name}'>Your {name}</a></p>" for name in names)
    for name in names:
        trail = f"<ol><li><a href='/'>Shop</a></li><li>Your {name}</li></ol>"
        body = f"<aside>{menu}</aside>{trail}<main><h1>Your {name}</h1><table><tr><td>None yet</td></tr></table></main>"
        seen.page(name, f"/me/{name}", body, f"Your {name} | Shop", start=name == "profile")
    rows = "".join(f"<tr><td>Your {name}</td><td>{at}</td></tr>" for at, name in enumerate(names))
    seen.page(
        "home", "/", f"<main><h1>Shop</h1><table>{rows}</table><a href='/me/profile'>Me</a></main>", "Shop"
    )
    made = build_knowledge(seen.folder)
    assert len(made.screens) == 7, dict(made.screens)


def _clerk(name: str, orders: int, part: str = "orders") -> str:
    """A page of a clerk, with tabs that lead to its own parts, and a list that may be empty."""
    low = name.casefold()
    rows = "".join(f"<tr><td><b>{at}</b></td><td><i>sent</i></td></tr>" for at in range(orders))
    rows = (
        rows
        or "<tr><td colspan=2><div><h3>Nothing here</h3><blockquote><em>Ask the office.</em></blockquote></div></td></tr>"
    )
    return (
        f"{NAV}<nav aria-label='Clerk'><a href='/clerks/{low}'>Orders</a>"
        f"<a href='/clerks/{low}/notes'>Notes</a></nav><main><button>Pause {part}</button>"
        f"<table><thead><tr><th>Number</th><th>State</th></tr></thead><tbody>{rows}</tbody></table></main>"
    )


def test_things_whose_tabs_lead_to_themselves_are_one_screen_though_lists_everywhere_lead_to_each(
    tmp_path: Path,
) -> None:
    names = ("Ada", "Ben", "Cid")
    links = "".join(f"<p><a href='/clerks/{each.casefold()}'>{each}</a></p>" for each in names)
    seen = drawing(tmp_path, ("/boats",))
    for place in ("boats", "log", "clerks", "quays", "ropes"):
        body = f"{NAV}<main><h1>{place.capitalize()}</h1>{links}</main>"
        seen.page(place, f"/{place}", body, place, start=place == "boats")
    for orders, name in enumerate(names):
        path = f"/clerks/{name.casefold()}"
        seen.page(name, path, _clerk(name, orders), f"{name}'s orders")
        seen.page(f"{name}-notes", f"{path}/notes", _clerk(name, orders, "notes"), f"{name}'s notes")
    screens = [set(pages) for pages in build_knowledge(seen.folder).screens.values()]
    assert set(names) in screens
    assert {f"{name}-notes" for name in names} in screens

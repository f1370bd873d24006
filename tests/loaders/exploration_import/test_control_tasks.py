"""Tasks that are drafted from what has no form: dialogs, menus, switches, buttons of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import TemplateStrategy
from kb_schema.url_patterns import compile_pattern
from loaders.exploration_import import build_knowledge
from loaders.exploration_import.knowledge_builder import ExploredKnowledge
from tests.support.explored import Drawing, drawing
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

CHANNELS = ("Desktop", "Mobile", "Letters")
DEVICES = ("Old laptop", "Phone", "Tablet")
SWITCHES = "".join(
    f"<div class='setting-row'><div class='label'>{name}</div><div class='toggle-switch' role='button'></div></div>"
    for name in CHANNELS
)
SESSIONS = "".join(
    f"<div class='session-row'><div>{name}</div><button>Revoke access</button></div>" for name in DEVICES
)
PAGE = (
    f"<main><h1>Settings</h1><section>{SWITCHES}</section><section>{SESSIONS}</section>"
    "<div class='setting-row'><div class='label'>Theme</div><button class='trigger'><span>Light</span></button></div>"
    "<button>New key</button></main>"
)
DIALOG = (
    "<div class='modal'><h3>Create a key</h3><input aria-label='Name of the key'><button>Cancel</button>"
    "<button>Create key</button></div>"
)
MENU = "<div class='menu'><button class='item'>Light</button><button class='item'>Dark</button></div>"
ON_TOP = {"dialog": 3, "menu": 2}
"""Controls of each layer."""
CHANGING = {
    "Revoke access": "deletes",
    "Remove": "deletes",
    "Create key": "unknown_method",
    "": "unknown_method",
}


def _draw(seen: Drawing, page_id: str, path: str, html: str, **told: Any) -> None:
    """A page whose controls were judged as an exploration judges them."""
    page = seen.page(page_id, path, html, **told)
    kept = page.offers if page.layer == "" else page.offers[-ON_TOP[page.layer] :]  # those of the layer
    offers = tuple(
        offer.model_copy(update={"danger": CHANGING.get(offer.name), "why": "it would change something"})
        if offer.name in CHANGING
        else offer
        for offer in kept
    )
    seen.folder.add_page(page.model_copy(update={"offers": offers}))


@pytest.fixture
def made(tmp_path: Path) -> ExploredKnowledge:
    seen = drawing(tmp_path)
    _draw(seen, "settings", "/settings", PAGE, start=True)
    on_top = {"openable": False, "behind": "settings"}
    _draw(seen, "dialog", "/settings", PAGE.replace("</main>", "</main>" + DIALOG), layer="dialog", **on_top)
    _draw(seen, "menu", "/settings", PAGE.replace("</main>", "</main>" + MENU), layer="menu", **on_top)
    seen.went("settings", "New key", "dialog")
    seen.went("settings", "Light", "menu")
    return build_knowledge(seen.folder)


def test_a_button_of_rows_that_only_their_class_tells_is_one_element_with_a_row(made: ExploredKnowledge):
    rows = [each for each in made.knowledge.elements("settings").values() if each.type == "dynamic_list_item"]
    assert min(str(each.metadata["label"]) for each in rows) == "Revoke access"
    assert all(each.selector.required_context == {"row"} for each in rows)
    assert {each.metadata["example"]["row"] for each in rows} <= {*CHANNELS, *DEVICES}


def test_switches_without_a_name_are_one_element_with_the_words_beside_them(made: ExploredKnowledge):
    (switch,) = (
        each
        for each in made.knowledge.elements("settings").values()
        if each.metadata.get("example") == {"row": CHANNELS[0]}
    )
    assert switch.type == "dynamic_list_item"


def test_a_dialog_without_a_form_is_a_task_with_an_input_for_each_field(made: ExploredKnowledge):
    task = made.knowledge.tasks["create_key"]
    assert [(each.name, each.required) for each in task.io_spec.inputs] == [("name_of_the_key", True)]
    opened, pressed, filled, sent = task.ordered_steps
    assert opened.action.target_screen == "settings"
    assert [each.type for each in pressed.postconditions] == ["on_screen"]
    assert filled.action.value == "{name_of_the_key}"
    labels = {
        each.element_id: each.metadata["label"] for each in made.knowledge.elements(_dialog(made)).values()
    }
    assert labels[str(sent.action.target)] == "Create key"
    assert "draft" in task.metadata
    assert task.success_criteria == ()


def _dialog(made: ExploredKnowledge) -> str:
    return next(screen for screen, pages in made.screens.items() if "dialog" in pages)


def test_what_is_chosen_in_a_menu_is_one_input_with_the_entries_as_options(made: ExploredKnowledge):
    (task,) = (each for name, each in made.knowledge.tasks.items() if name.startswith("choose_"))
    assert task.name == "Choose Theme"
    (option,) = task.io_spec.inputs
    assert option.required
    assert {"Light", "Dark"} == {
        condition.value
        for step in task.ordered_steps
        for skipped in step.skip_when
        for condition in skipped.conditions
    }


def test_a_button_of_rows_is_a_task_that_asks_for_the_row(made: ExploredKnowledge):
    (task,) = (each for name, each in made.knowledge.tasks.items() if name.startswith("revoke_access"))
    assert [(each.name, each.required) for each in task.io_spec.inputs] == [("row", True)]
    assert task.ordered_steps[-1].action.parameters == {"row": "{row}"}


def test_what_lies_on_a_page_is_known_again_at_the_other_route_of_its_document(tmp_path: Path):
    seen = drawing(tmp_path)
    _draw(seen, "start", "/", PAGE, start=True)
    _draw(seen, "settings", "/#/settings", PAGE)
    _draw(seen, "about", "/#/about", "<main><h1>About</h1><button>Thanks</button></main>")
    on_top = {"openable": False, "behind": "start", "layer": "dialog"}
    _draw(seen, "dialog", "/", PAGE.replace("</main>", "</main>" + DIALOG), **on_top)
    seen.went("start", "New key", "dialog")
    made = build_knowledge(seen.folder)
    dialog = made.knowledge.screens[_dialog(made)]
    assert dialog.metadata["layer"] == "dialog"
    patterns = [compile_pattern(each) for each in dialog.url_patterns]
    assert [any(each.search(path) for each in patterns) for path in ("/", "/#/settings", "/#/about")] == [
        True,
        True,
        False,
    ]


def test_a_confirmation_is_the_end_of_the_task_that_its_opener_begins(tmp_path: Path):
    asking = "<div class='modal'><h3>End the session?</h3><button>Keep it</button><button>Yes, end it</button></div>"
    seen = drawing(tmp_path)
    _draw(seen, "settings", "/settings", PAGE, start=True)
    page = seen.page(
        "asking", "/settings", PAGE.replace("</main>", "</main>" + asking), layer="dialog", openable=False,
        behind="settings",
    )  # fmt: skip
    told = {"danger": "deletes", "why": "it would change something"}
    offers = [
        each.model_copy(update=told) if each.name == "Yes, end it" else each for each in page.offers[-2:]
    ]
    seen.folder.add_page(page.model_copy(update={"offers": tuple(offers)}))
    seen.went("settings", "Revoke access", "asking")
    tasks = build_knowledge(seen.folder).knowledge.tasks
    (task,) = (each for each in tasks.values() if "confirmation" in each.metadata.get("draft", ""))
    assert task.name.startswith("Revoke access: ")
    assert [each.type for each in task.ordered_steps] == ["navigation", "navigation", "submit"]
    assert [each.name for each in task.io_spec.inputs] == ["end_the_session_row"]
    assert not [each for each in tasks.values() if "a confirmation was not seen" in each.description]


def test_buttons_of_one_name_in_two_lists_are_told_by_the_row_in_each_though_they_lead_to_different_dialogs(
    tmp_path: Path,
):
    lists = "".join(
        f"<section>{''.join(f'<div class={kind}-row><div>{kind} {n}</div><button>Remove</button></div>' for n in 'abc')}</section>"
        for kind in ("key", "device")
    )
    page = f"<main><h1>Access</h1>{lists}</main>"
    seen = drawing(tmp_path)
    _draw(seen, "access", "/access", page, start=True)
    offers = [each for each in seen.pages["access"].offers if each.name == "Remove"]
    for at, kind, field in (
        (0, "key", "<input aria-label='Name of the key'>"),
        (3, "device", "<input aria-label='Reason for the loss'>"),
    ):
        asking = f"<div class='modal'><h3>Remove the {kind}?</h3>{field}<button>Keep it</button><button>Remove it</button></div>"
        with_it = page.replace("</main>", "</main>" + asking)
        drawn = seen.page(kind, "/access", with_it, layer="dialog", openable=False, behind="access")
        yes = drawn.offers[-1].model_copy(update={"danger": "deletes"})
        seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[-3:-1], yes)}))
        seen.tried("access", kind, offer_id=offers[at].offer_id)
    made = build_knowledge(seen.folder)
    screen = next(name for name, pages in made.screens.items() if "access" in pages)
    removing = [
        each for each in made.knowledge.elements(screen).values() if each.metadata["label"] == "Remove"
    ]
    assert [each.selector.required_context for each in removing] == [{"row"}, {"row"}]
    removals = [each.name for each in made.knowledge.tasks.values() if each.name.startswith("Remove")]
    assert removals == ["Remove it", "Remove it: Remove the device?"], "the dialogs have buttons of one name"


def test_the_link_and_the_check_box_of_a_row_that_have_its_name_are_each_one_element_with_a_row(
    tmp_path: Path,
):
    rows = "".join(
        f"<tr><td><input type=checkbox class=choose aria-label='INV-00{n}'></td><td><button class=open>INV-00{n}</button></td>"
        f"<td>{name}</td></tr>"
        for n, name in ((21, "Ada"), (22, "Bea"), (23, "Cid"))
    )
    page = f"<main><h1>Invoices</h1><table>{rows}</table></main>"
    seen = drawing(tmp_path)
    drawn = seen.page("list", "/invoices", page, start=True)
    offers = [
        each.model_copy(
            update={
                "role": "" if each.tag == "button" else each.role,
                "fingerprint": Fingerprint(tag=each.tag, attributes={"class": f"in-{each.tag}"}),
            }
        )
        for each in drawn.offers
    ]
    seen.folder.add_page(drawn.model_copy(update={"offers": tuple(offers)}))
    seen.page("one", "/invoices/21", "<main><h1>Invoice</h1><p>Ada</p><button>Copy</button></main>")
    link = next(each for each in offers if each.tag == "button")
    seen.tried("list", "one", offer_id=link.offer_id)
    made = build_knowledge(seen.folder)
    screen = next(name for name, pages in made.screens.items() if "list" in pages)
    elements = made.knowledge.elements(screen).values()
    assert [(each.affordances[0].action_type, each.selector.required_context) for each in elements] == [
        ("check", {"row"}),
        ("click", {"row"}),
    ]


def test_what_can_be_done_with_some_records_only_is_known_and_a_region_may_be_called_by_its_record(
    tmp_path: Path,
):
    seen = drawing(tmp_path)
    for number, (name, more) in enumerate(
        (("Ada", ""), ("Bea", ""), ("Cid", "Approve"), ("Dan", "Approve Dan 4"))
    ):
        acting = f"<button>{more}</button>" if more else ""
        page = seen.page(
            f"boat{number}",
            f"/boats/{number}",
            f"<main><h1>Boat: {name}</h1><input aria-label=Name><button>Save</button>{acting}</main>",
        )
        told = {"region": f"main:Boat: {name}"}
        seen.folder.add_page(
            page.model_copy(
                update={
                    "offers": tuple(
                        each.model_copy(
                            update=told | ({"danger": "submits"} if each.name.startswith("Approve") else {})
                        )
                        for each in page.offers
                    )
                }
            )
        )
    made = build_knowledge(seen.folder).knowledge
    (screen,) = made.screens
    labels = {each.metadata["label"] for each in made.elements(screen).values()}
    assert labels == {"Name", "Save", "Approve"}, "a name with a number is a record's"


def test_a_screen_of_several_records_at_routes_has_no_address_of_its_own(tmp_path: Path):
    page = "<main><h1>Edit theme</h1><input aria-label=Name><button>Save</button></main>"
    seen = drawing(tmp_path)
    seen.page(
        "themes",
        "/#/themes",
        "<main><h1>Themes</h1><a href='#/themes/edit/simple'>Simple</a></main>",
        start=True,
    )
    for name in ("simple", "retail"):
        seen.page(name, f"/#/themes/edit/{name}", page.replace("<input", f"<p>{name}</p><input"))
    made = build_knowledge(seen.folder)
    editing = next(name for name, pages in made.screens.items() if "simple" in pages)
    assert set(made.screens[editing]) == {"simple", "retail"}
    assert made.knowledge.screens[editing].url is None, "it would open one of them"


def test_a_check_box_without_a_name_in_rows_that_only_their_class_tells_is_one_element_with_a_row(
    tmp_path: Path,
):
    rows = "".join(
        f"<div class=mail-item><input type=checkbox data-testid=choose-{n}><span>{name}</span></div>"
        for n, name in enumerate(("Ada", "Bea", "Cid"))
    )
    seen = drawing(tmp_path)
    page = seen.page("inbox", "/inbox", f"<main><h1>Inbox</h1><section>{rows}</section></main>", start=True)
    told = {"in_row": True, "fingerprint": Fingerprint(tag="input", attributes={"class": "choose"})}
    offers = tuple(each.model_copy(update=told) for each in page.offers)
    seen.folder.add_page(page.model_copy(update={"offers": offers}))
    made = build_knowledge(seen.folder).knowledge
    (screen,) = made.screens
    assert [each.selector.required_context for each in made.elements(screen).values()] == [{"row"}]


def test_a_dialog_to_which_nothing_led_is_no_task(tmp_path: Path):
    seen = drawing(tmp_path)
    _draw(seen, "settings", "/settings", PAGE, start=True)
    _draw(
        seen, "dialog", "/settings", PAGE.replace("</main>", "</main>" + DIALOG), layer="dialog",
        openable=False, behind="settings",
    )  # fmt: skip
    assert "create_key" not in build_knowledge(seen.folder).knowledge.tasks


def test_two_buttons_of_one_name_that_lead_to_different_dialogs_are_two_elements(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(
        f"<div class='row'><div>{name}</div><button>Edit</button></div>" for name in ("Full name", "E-mail")
    )
    page = f"<main><h1>Profile</h1>{rows}</main>"
    _draw(seen, "profile", "/profile", page, start=True)
    for name, fields in (
        ("name", "<input aria-label='First'><input aria-label='Last'>"),
        ("mail", "<input aria-label='New address'>"),
    ):
        _draw(
            seen, name, "/profile", f"{page}<div class='modal'><h3>Change {name}</h3>{fields}<button>Store {name}</button></div>",
            layer="dialog", openable=False, behind="profile",
        )  # fmt: skip
    first, second = (each for each in seen.pages["profile"].offers if each.name == "Edit")
    seen.tried("profile", "name", offer_id=first.offer_id)
    seen.tried("profile", "mail", offer_id=second.offer_id)
    made = build_knowledge(seen.folder)
    edits = [each for each in made.knowledge.elements("profile").values() if each.metadata["label"] == "Edit"]
    assert len(edits) == 2
    assert not any(each.selector.required_context for each in edits)


def test_dialogs_with_other_headings_and_fields_are_two_screens_though_their_buttons_are_the_same(
    tmp_path: Path,
):
    seen = drawing(tmp_path)
    page = "<main><h1>Profile</h1><button>Edit full name</button><button>Edit username</button></main>"
    _draw(seen, "profile", "/profile", page, start=True)
    for name in ("full name", "username"):
        dialog = (
            f"<div class='modal'><h3>Edit {name}</h3><input aria-label='Edit {name}'>"
            "<button>Cancel</button><button>Create key</button></div>"
        )
        _draw(
            seen,
            name.replace(" ", "-"),
            "/profile",
            page + dialog,
            layer="dialog",
            openable=False,
            behind="profile",
        )
        seen.went("profile", f"Edit {name}", name.replace(" ", "-"))
    made = build_knowledge(seen.folder)
    assert (
        len({screen for screen, pages in made.screens.items() if {"full-name", "username"} & {*pages}}) == 2
    )


def _names(seen: Drawing) -> set[str]:
    return {each.name for each in build_knowledge(seen.folder).knowledge.tasks.values()}


def test_a_page_whose_one_making_button_did_nothing_is_a_task(tmp_path: Path):
    seen = drawing(tmp_path)
    fields = "<label>Theme name <input></label><label>Terms <textarea></textarea></label>"
    seen.page(
        "new",
        "/new",
        f"<main><h1>New theme</h1>{fields}<button>Create theme</button></main>",
        "New theme",
        start=True,
    )
    listed = (
        "<main><h1>Themes</h1><input type=search aria-label='Search themes'><button>Add theme</button></main>"
    )
    seen.page("list", "/themes", listed, "Themes", openable=True)
    assert _names(seen) == {"Create theme"}, "a button beside a search alone leads on or adds a line"


def test_a_button_that_copies_is_a_task_although_it_leads_on(tmp_path: Path):
    seen = drawing(tmp_path)
    buttons = (
        "<button>Copy</button><button>Copy link</button><button>History</button><button>&times;</button>"
    )
    bill = seen.page("bill", "/bill", f"<main><h1>Bill</h1>{buttons}</main>", "Bill", start=True)
    sign = bill.offers[-1].model_copy(update={"danger": "unknown_method"})  # nothing says what it does
    seen.folder.add_page(bill.model_copy(update={"offers": (*bill.offers[:-1], sign)}))
    seen.page("made", "/made", "<main><h1>New bill</h1><p>Copied</p></main>", "New bill", openable=True)
    seen.went("bill", "Copy", "made")
    assert _names(seen) == {"Copy: Bill"}


def test_a_sign_that_deletes_is_called_so(tmp_path: Path):
    seen = drawing(tmp_path)
    bill = seen.page(
        "bill", "/bill", "<main><h1>Bill</h1><button>&times;</button></main>", "Bill", start=True
    )
    offers = [each.model_copy(update={"danger": "deletes"}) for each in bill.offers]
    seen.folder.add_page(bill.model_copy(update={"offers": tuple(offers)}))
    assert _names(seen) == {"Remove: Bill"}


def test_a_button_that_saves_and_closes_sends_a_dialog(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Patient</h1><button>Settings</button></main>"
    seen.page("patient", "/patient", page, "Patient", start=True)
    box = "<div class=modal><h2>Reach</h2><input aria-label='Phone'><button>Close</button><button>Save changes & close</button></div>"
    drawn = seen.page(
        "box", "/patient", page + box, "Patient", layer="dialog", openable=False, behind="patient"
    )
    saving = drawn.offers[-1].model_copy(update={"danger": "submits"})
    seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[-3:-1], saving)}))
    seen.went("patient", "Settings", "box")
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert task.name == "Save changes & close"
    assert [each.action.action_type for each in task.steps][-2:] == ["fill", "click"]


def test_a_menu_that_is_a_state_of_its_screen_is_a_list_of_a_draft(tmp_path: Path):
    seen = drawing(tmp_path)
    shares = "<p>Everything</p><p>Nothing</p>"
    page = f"<main><h1>Sharing</h1>{shares}<label>Note <input></label><div>Level <button class=open>Some</button></div><button>Save</button></main>"
    told = seen.page("sharing", "/sharing", page, "Sharing", start=True)
    offers = tuple(
        each.model_copy(update={"danger": "submits"}) if each.name == "Save" else each for each in told.offers
    )
    seen.folder.add_page(told.model_copy(update={"offers": offers}))
    menu = "<div class=list><button>Everything</button><button>Nothing</button></div>"
    drawn = seen.page(
        "menu",
        "/sharing",
        page.replace("</main>", menu + "</main>"),
        "Sharing",
        layer="menu",
        openable=False,
        behind="sharing",
    )
    seen.folder.add_page(drawn.model_copy(update={"offers": drawn.offers[-2:]}))
    seen.went("sharing", "Some", "menu")
    shown = page.replace("</main>", menu + "</main>")  # what the menu shows tells no screen
    seen.page("shown", "/sharing?all=1", shown, "Sharing", openable=True)
    made = build_knowledge(seen.folder).knowledge
    assert list(made.screens) == ["sharing"]
    (task,) = (
        each for each in made.tasks.values() if any(spec.name == "note" for spec in each.io_spec.inputs)
    )
    assert [spec.name for spec in task.io_spec.inputs] == ["note", "sharing"]


def test_buttons_of_rows_without_a_name_are_told_apart_by_what_developers_call_them(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(
        f"<li><p>{name}</p><button class=act data-action=like data-id=p{n}></button>"
        f"<button class=act data-action=keep data-id=p{n}></button></li>"
        for n, name in enumerate(DEVICES)
    )
    seen.page("feed", "/feed", f"<main><h1>Feed</h1><ul>{rows}</ul></main>", "Feed", start=True)
    rows_of = [
        each
        for each in build_knowledge(seen.folder).knowledge.elements("feed").values()
        if each.selector.parameterized
    ]
    assert len(rows_of) == 2


@pytest.mark.parametrize(("opener", "named"), [("row", set()), ("Choose all", {"Archive it: Letters"})])
def test_a_button_that_only_the_choice_of_one_fixed_row_shows_is_no_task(
    tmp_path: Path, opener: str, named: set[str]
):
    seen = drawing(tmp_path)
    rows = "".join(f"<li><input type=checkbox class=choose><i>{name}</i></li>" for name in ("Hull", "Sail"))
    page = f"<main><h1>Letters</h1><button>Choose all</button><ul>{rows}</ul>"
    first = seen.page("letters", "/letters", f"{page}</main>", "Letters", start=True)
    bar = f"{page}<div class=bar><button>Archive it</button></div></main>"
    drawn = seen.page("chosen", "/letters", bar, "Letters", layer="panel", openable=False, behind="letters")
    archive = drawn.offers[-1].model_copy(update={"danger": "submits"})
    seen.folder.add_page(drawn.model_copy(update={"offers": (archive,)}))
    pressed = next(each for each in first.offers if (each.in_row if opener == "row" else each.name == opener))
    seen.tried("letters", "chosen", offer_id=pressed.offer_id)
    assert _names(seen) == named


def test_a_button_of_one_record_alone_is_no_task(tmp_path: Path):
    seen = drawing(tmp_path)
    button = "<button data-letter-id=4><i></i></button>"
    page = seen.page(
        "letters",
        "/letters",
        f"<main><h1>Letters</h1>{button}<button>Empty</button></main>",
        "Letters",
        start=True,
    )
    offers = tuple(
        each.model_copy(update={"danger": "deletes", "name": each.name or "Delete"}) for each in page.offers
    )
    seen.folder.add_page(page.model_copy(update={"offers": offers}))
    assert _names(seen) == {"Empty: Letters"}


def _draw_search(seen: Drawing, field: str, hits: str) -> None:
    """A page with a form of one field that shows hits, and a button that sends."""
    page = f"<main><h1>New bill</h1><label>Note <input></label>{field}<button>Save the bill</button></main>"
    told = seen.page("bill", "/bill", page, "New bill", start=True)
    offers = tuple(
        each.model_copy(update={"danger": "submits"}) if each.name == "Save the bill" else each
        for each in told.offers
    )
    seen.folder.add_page(told.model_copy(update={"offers": offers}))
    shown = page.replace("</main>", f"{hits}</main>")
    drawn = seen.page("hits", "/bill", shown, "New bill", layer="menu", openable=False, behind="bill")
    made = Fingerprint(role="button", tag="button", attributes={"class": "hit"})
    found = (each.model_copy(update={"fingerprint": made}) for each in drawn.offers[len(offers) :])
    seen.folder.add_page(drawn.model_copy(update={"offers": tuple(found)}))


HITS = ("Able Ltd", "Baker and Sons", "Cable Co", "Dean Estate")


@pytest.mark.parametrize("rows", [True, False])
def test_a_field_that_shows_what_has_its_text_is_an_input_of_which_the_entry_is_chosen(
    tmp_path: Path, rows: bool
):
    seen = drawing(tmp_path)
    entries = "".join(f"<li><button class=hit>{name}</button></li>" for name in HITS)
    plain = "".join(f"<button>{name}</button>" for name in HITS)
    _draw_search(
        seen,
        "<div><label for=payer>Search payers</label><input id=payer></div>",
        f"<ul class=hits>{entries}</ul>" if rows else f"<div class=hits>{plain}</div>",
    )
    payer = next(each for each in seen.pages["bill"].offers if "payers" in each.name)
    seen.tried("bill", "hits", offer_id=payer.offer_id, typed="a")
    made = build_knowledge(seen.folder).knowledge
    (task,) = (
        each for each in made.tasks.values() if any(spec.name == "note" for spec in each.io_spec.inputs)
    )
    assert [spec.name for spec in task.io_spec.inputs][:2] == ["note", "search_payers"]
    opened = next(each for each in task.steps if each.step_id == "open_search_payers")
    assert opened.action is not None
    assert (opened.action.action_type, opened.action.value) == ("fill", "{search_payers}")
    chosen = [each for each in task.steps if each.step_id.startswith("choose_search_payers")]
    assert len(chosen) == (1 if rows else len(HITS))
    if rows:
        assert chosen[0].action is not None
        assert chosen[0].action.parameters == {"row": "{search_payers}"}
    (edge,) = made.transitions.values()
    assert (edge.triggered_by.action_type, edge.triggered_by.value) == ("fill", f"{{{edge.to_screen}_text}}")


def test_a_row_is_told_by_any_of_its_texts_not_only_by_those_of_one_part(tmp_path: Path):
    seen = drawing(tmp_path)
    asked = {"Ann Lee": "How long is it?", "Bob Ray": "What does it cost?", "Cid Fox": "Who may come?"}
    cards = "".join(
        f"<li><button class=open>Open</button><span>{who}</span><p>{what}</p></li>"
        for who, what in asked.items()
    )
    seen.page("asked", "/asked", f"<main><h1>Asked</h1><ul>{cards}</ul></main>", "Asked", start=True)
    elements = build_knowledge(seen.folder).knowledge.elements("asked").values()
    (element,) = (each for each in elements if each.selector.required_context)
    page = StoredPage(seen.folder.snapshot("asked"))
    for text in (*asked, *asked.values()):
        found = (
            page.resolve_template(each.template, {"row": text})
            for each in element.selector.strategies
            if isinstance(each, TemplateStrategy)
        )
        (control,) = next(filter(None, found))
        row = control.parent
        assert row is not None
        assert text in text_of(row)


def test_boxes_with_the_name_of_another_part_or_of_another_box_are_elements_of_their_own(tmp_path: Path):
    seen = drawing(tmp_path)
    boxes = "".join(
        f"<div class=box role=option data-choice={choice}>{name}</div>"
        for name, choice in (("Events", "help-events"), ("School", "help-school"), ("School", "next-school"))
    )
    page = f"<nav><button>Events</button></nav><main><h1>Interests</h1>{boxes}</main>"
    told = seen.page("interests", "/interests", page, "Interests", start=True)
    offers = tuple(
        each.model_copy(update={"role": ""}) if each.tag == "div" else each for each in told.offers
    )
    seen.folder.add_page(told.model_copy(update={"offers": offers}))
    made = build_knowledge(seen.folder).knowledge.elements("interests").values()
    assert sorted(str(each.metadata["label"]) for each in made) == ["Events", "Events", "School", "School"]


def test_buttons_that_differ_in_a_count_alone_are_one_control(tmp_path: Path):
    seen = drawing(tmp_path)
    for number, counts in ((1, (44, 7)), (2, (67, 43)), (3, (5, 8))):
        answers = "".join(
            f"<div class=answer><p>{who} {number}</p><button class=helpful>Helpful ({count})</button></div>"
            for who, count in zip(("Ann", "Bob"), counts, strict=True)
        )
        path = f"/questions/{number}"
        seen.page(
            f"q{number}", path, f"<main><h1>Question</h1>{answers}</main>", "Question", start=number < 2
        )
    made = build_knowledge(seen.folder).knowledge
    (screen,) = made.screens
    (helpful,) = made.elements(screen).values()
    assert helpful.selector.required_context == {"row"}


def test_a_search_that_was_entered_is_a_transition_that_enters_what_is_searched(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Bills</h1><input aria-label='Search bills'></main>"
    first = seen.page("bills", "/bills", page, "Bills", start=True)
    seen.page("found", "/found?q=abl", "<main><h1>Found</h1><h2>Results</h2></main>", "Found")
    seen.tried("bills", "found", offer_id=first.offers[0].offer_id, typed="abl\n")
    (edge,) = build_knowledge(seen.folder).knowledge.transitions.values()
    call = edge.triggered_by
    assert (call.action_type, call.value) == ("input_and_submit", f"{{{edge.to_screen}_text}}")


@pytest.mark.parametrize("outcome", ["refused", "stayed"])
def test_a_button_that_does_nothing_is_no_task(tmp_path: Path, outcome: str):
    seen = drawing(tmp_path)
    _draw(
        seen,
        "manual",
        "/manual",
        "<main><h1>Manual</h1><p>Press <button>Remove</button></p></main>",
        start=True,
    )
    seen.went("manual", "Remove", "manual" if outcome == "stayed" else None, outcome)
    drafted = build_knowledge(seen.folder).knowledge.tasks
    assert bool(drafted) is (outcome == "refused")


BERTHS = "".join(f"<li><b>{name}</b><button class=edit>Edit</button></li>" for name in ("North", "South"))
BERTH_PAGE = f"<main><h1>Berths</h1><button>Add berth</button><ul>{BERTHS}</ul></main>"
BERTH_BOX = "<div class=modal><h2>Berth</h2><input aria-label='Depth'><button>Save</button></div>"


def _box(seen: Drawing, page_id: str, page: str, box: str, path: str = "/berths") -> None:
    drawn = seen.page(page_id, path, page + box, "Berths", layer="dialog", openable=False, behind="berths")
    saving = drawn.offers[-1].model_copy(update={"danger": "submits"})
    seen.folder.add_page(
        drawn.model_copy(update={"offers": (*drawn.offers[-box.count("<in") - 1 : -1], saving)})
    )


def test_a_dialog_that_is_opened_from_a_row_and_without_one_is_for_both(tmp_path: Path):
    seen = drawing(tmp_path)
    first = seen.page("berths", "/berths", BERTH_PAGE, "Berths", start=True)
    _box(seen, "adding", BERTH_PAGE, BERTH_BOX)
    _box(seen, "editing", BERTH_PAGE, BERTH_BOX)
    seen.went("berths", "Add berth", "adding")
    edit = next(each for each in first.offers if each.name == "Edit")
    seen.tried("berths", "editing", offer_id=edit.offer_id)
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    assert sorted(sorted(spec.name for spec in task.io_spec.inputs) for task in tasks) == [
        ["berth_row", "depth"],
        ["depth"],
    ]


def test_the_button_of_a_dialog_sends_the_form_beside_it_whose_buttons_only_fill_something_in(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Credit</h1><button>Pay</button></main>"
    seen.page("credit", "/credit", page, "Credit", start=True)
    box = (
        "<div class=modal><h2>Pay now</h2><form action=/credit><input name=amount aria-label='Amount'>"
        "<button type=button>All of it</button></form><button>Make payment</button></div>"
    )
    drawn = seen.page("box", "/credit", page + box, "Credit", layer="dialog", openable=False, behind="credit")
    paying = drawn.offers[-1].model_copy(update={"danger": "pays"})
    seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[-3:-1], paying)}))
    seen.went("credit", "Pay", "box")
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert (task.name, [spec.name for spec in task.io_spec.inputs]) == ("Make payment", ["amount"])


def test_what_a_dialog_has_when_it_opens_needs_nothing_pressed_in_it(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Patient</h1><button>Sharing</button></main>"
    seen.page("patient", "/patient", page, "Patient", start=True)
    box = "<main><h1>Sharing</h1><div class=modal><h2>Sharing</h2><input aria-label='Phone'><button>Level 1</button><button>Invite again</button></div></main>"

    def show(page_id: str, layer: str) -> None:
        drawn = seen.page(page_id, "/patient?share", box, "Sharing", layer=layer, openable=False, behind="patient")  # fmt: skip
        sending = drawn.offers[-1].model_copy(update={"danger": "submits"})
        seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[-3:-1], sending)}))

    show("opened", "dialog")
    show("chosen", "menu")
    seen.went("patient", "Sharing", "opened")
    seen.went("opened", "Level 1", "chosen")
    tasks = [task for task in build_knowledge(seen.folder).knowledge.tasks.values() if "phone" in str(task)]
    assert [[step.step_id for step in task.ordered_steps][:3] for task in tasks] == [
        ["open", "choose_row", "set_phone"]
    ]


def test_a_button_in_the_bar_of_every_page_is_one_task(tmp_path: Path):
    seen = drawing(tmp_path)
    bar = "<header><button>Remove</button></header>"
    for number, name in enumerate(("Boats", "Quays", "Ropes", "Lamps")):
        body = f"{bar}<main><h1>{name}</h1><table><tr><td>{number}</td></tr></table></main>"
        _draw(seen, f"p{number}", f"/{name.lower()}", body, start=number == 0)
    tasks = build_knowledge(seen.folder).knowledge.tasks
    assert [task.name for task in tasks.values()] == ["Remove"]

"""Drafts of forms and dialogs that no address opens: by the controls that led there, and the row that says which thing."""

from __future__ import annotations

from pathlib import Path

from kb_schema.fingerprints import Fingerprint
from kb_schema.tasks import Task
from loaders.exploration_import.knowledge_builder import build_knowledge
from tests.support.explored import Drawing, drawing

MENU = "<nav><a href='/issues'>Issues</a><a href='/epics'>Epics</a></nav>"
LABELS = "<div class=modal><h2>Labels</h2><label>Urgent <input type=checkbox></label><button>Save labels</button></div>"


def _draw(path: Path) -> Drawing:
    """A tracker whose records are opened by buttons of rows, and edited on a page of their own or in a dialog."""
    seen = drawing(path)
    for kind, names in (("issue", ("Leaky hull", "Torn sail")), ("epic", ("New dock", "New crane"))):
        rows = "".join(f"<tr><td>{name}</td><td><button>Open</button></td></tr>" for name in names)
        table = f"<h1>All {kind}s</h1><table><tr><th>Name<th></tr>{rows}</table>"
        seen.page(f"{kind}s", f"/{kind}s", f"{MENU}<main>{table}</main>", f"{kind}s", start=kind == "issue")
        for n, name in enumerate(names, start=1):
            record = f"{MENU}<main><h1>{kind}: details</h1><p>{name}</p><button>Edit it</button><button>Edit labels</button></main>"
            at = f"/{kind}s/{n}"
            seen.page(f"{kind}{n}", at, record, kind, openable=True)
            opener = [each for each in seen.pages[f"{kind}s"].offers if each.name == "Open"][n - 1]
            seen.tried(f"{kind}s", f"{kind}{n}", offer_id=opener.offer_id)
            drawn = seen.page(
                f"{kind}labels{n}",
                at,
                record + LABELS,
                kind,
                layer="dialog",
                openable=False,
                behind=f"{kind}{n}",
            )
            yes = drawn.offers[-1].model_copy(update={"danger": "submits"})
            seen.folder.add_page(drawn.model_copy(update={"offers": (drawn.offers[-2], yes)}))
            seen.went(f"{kind}{n}", "Edit labels", f"{kind}labels{n}")
    for n in (1, 2):
        form = "<form method=post action=/save><label>Title <input name=title></label><button>Save changes</button></form>"
        seen.page(
            f"edit{n}",
            f"/issues/{n}/edit",
            f"{MENU}<main><h1>Edit issue</h1>{form}</main>",
            "Edit issue",
            openable=True,
        )
        seen.went(f"issue{n}", "Edit it", f"edit{n}")
    return seen


def _list_openers(task: Task) -> list[str]:
    return [
        str(each.action.target) for each in task.steps if each.type == "navigation" and each.action.target
    ]


def test_a_form_of_one_of_many_is_reached_by_the_row_that_says_which(tmp_path: Path):
    tasks = build_knowledge(_draw(tmp_path).folder).knowledge.tasks.values()
    (editing,) = (each for each in tasks if each.name == "Edit issue")
    assert [each.name for each in editing.io_spec.inputs] == ["issue_details_row", "title"]
    assert len(_list_openers(editing)) == 2


def test_a_dialog_that_two_kinds_of_records_open_is_a_task_of_each(tmp_path: Path):
    tasks = build_knowledge(_draw(tmp_path).folder).knowledge.tasks.values()
    labelling = [each for each in tasks if "labels" in each.name.casefold()]
    begins = {str(each.steps[0].action.target_screen) for each in labelling}
    assert len(labelling) == 2
    assert len(begins) == 2


def test_the_button_of_a_dialog_may_be_outside_of_its_form_and_have_said_nothing(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Savings</h1><button>Move money</button></main>"
    seen.page("savings", "/savings", page, "Savings", start=True)
    dialog = (
        "<div class=modal><h2>Deposit to savings</h2><form><label>Amount <input></label></form>"
        "<button>Cancel</button><button>Deposit</button></div>"
    )
    drawn = seen.page(
        "deposit", "/savings", page + dialog, "Savings", layer="dialog", openable=False, behind="savings"
    )
    seen.folder.add_page(drawn.model_copy(update={"offers": drawn.offers[-3:]}))
    seen.went("savings", "Move money", "deposit")
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    (task,) = tasks
    assert [each.action.action_type for each in task.steps][-2:] == ["fill", "click"]
    assert [each.name for each in task.io_spec.inputs] == ["amount"]


def test_drawn_check_boxes_of_a_page_are_optional_inputs_of_what_its_button_sends(tmp_path: Path):
    seen = drawing(tmp_path)
    boxes = "".join(f"<button class=checkbox-row>{name}</button>" for name in ("Full-time", "Internship"))
    drawn = seen.page(
        "interests",
        "/interests",
        f"<main><h1>Interests</h1>{boxes}<button>Save interests</button></main>",
        start=True,
    )
    offers = [
        each.model_copy(
            update={
                "role": "",
                "tag": "label",
                "fingerprint": Fingerprint(tag="label", attributes={"class": "checkbox-row"}),
            }
        )
        for each in drawn.offers[:2]
    ]
    save = drawn.offers[2].model_copy(update={"danger": "submits"})
    seen.folder.add_page(drawn.model_copy(update={"offers": (*offers, save)}))
    (task,) = (each for each in build_knowledge(seen.folder).knowledge.tasks.values() if "Save" in each.name)
    assert [(each.name, each.type, each.required) for each in task.io_spec.inputs] == [
        ("full_time", "boolean", False),
        ("internship", "boolean", False),
    ]


def test_what_can_be_done_in_few_rows_only_is_known_though_most_pages_of_the_screen_have_none(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(f"<tr><td>Talk {n}</td><td><button>RSVP</button></td></tr>" for n in "abc")
    for name, inside in (
        ("all", rows),
        ("past", "<tr><td>Nothing</td></tr>"),
        ("mine", "<tr><td>None</td></tr>"),
    ):
        page = f"<main><h1>Events</h1><table><tr><th>Name<th></tr>{inside}</table></main>"
        drawn = seen.page(name, f"/events?show={name}", page, "Events", start=name == "all")
        held = [
            each.model_copy(update={"danger": "unknown_method"}) if n == 0 else each
            for n, each in enumerate(drawn.offers)
        ]
        seen.folder.add_page(drawn.model_copy(update={"offers": tuple(held)}))
    made = build_knowledge(seen.folder)
    assert [
        "rsvp" in each for screen in made.knowledge.screens for each in made.knowledge.elements(screen)
    ] == [True]


def test_a_list_that_is_drawn_by_the_application_is_an_optional_input_with_its_entries(tmp_path: Path):
    seen = drawing(tmp_path)
    page = (
        "<main><h1>Interests</h1><div><div>Field</div><button>Technology</button></div>"
        "<label>Note <input></label><button>Save interests</button></main>"
    )
    drawn = seen.page("interests", "/interests", page, start=True)
    save = drawn.offers[-1].model_copy(update={"danger": "submits"})
    seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[:-1], save)}))
    entries = "<div class='menu'><button class='item'>Health</button><button class='item'>Trade</button><button class='item'>Law</button></div>"
    menu = seen.page(
        "menu",
        "/interests",
        page.replace("</main>", "</main>" + entries),
        layer="menu",
        openable=False,
        behind="interests",
    )
    seen.folder.add_page(menu.model_copy(update={"offers": menu.offers[-3:]}))
    seen.went("interests", "Technology", "menu")
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    (task,) = (each for each in tasks if each.name == "Save interests")
    (listed,) = (each for each in task.io_spec.inputs if "one of" in each.description)
    assert "Health, Trade, Law" in listed.description
    assert not listed.required
    assert [each.action.action_type for each in task.steps] == ["navigate", "fill", *["click"] * 5]


def test_the_whole_list_is_preferred_to_the_part_of_it_on_the_first_page(tmp_path: Path):
    seen = drawing(tmp_path)
    for name, title, count in (("home", "Home", 2), ("letters", "All letters", 4)):
        rows = "".join(f"<tr><td>Letter {n}</td><td><button>Read</button></td></tr>" for n in range(count))
        page = f"{MENU}<main><h1>{title}</h1><table><tr><th>About<th></tr>{rows}</table></main>"
        seen.page(name, "/" if name == "home" else "/letters", page, title, start=name == "home")
    for n in (1, 2):
        page = f"{MENU}<main><h1>A letter</h1><label>Reply <textarea></textarea></label><button>Send reply</button></main>"
        drawn = seen.page(f"letter{n}", f"/letters/{n}", page, "A letter")
        send = drawn.offers[-1].model_copy(update={"danger": "sends"})
        seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[:-1], send)}))
        for name in ("home", "letters"):
            opener = [each for each in seen.pages[name].offers if each.name == "Read"][n - 1]
            seen.tried(name, f"letter{n}", offer_id=opener.offer_id)
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert task.steps[0].action.target_screen == "all_letters"


def test_two_pages_with_fields_of_their_own_and_one_button_are_two_tasks(tmp_path: Path):
    seen = drawing(tmp_path)
    for name, field in (("mail", "Footer"), ("calls", "Ring tone")):
        page = f"<main><h1>Settings of {name}</h1><label>{field} <input></label><button>Save changes</button></main>"
        drawn = seen.page(name, f"/settings/{name}", page, "Settings", start=name == "mail")
        save = drawn.offers[-1].model_copy(update={"danger": "submits"})
        seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[:-1], save)}))
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    assert sorted(each.io_spec.inputs[0].name for each in tasks) == ["footer", "ring_tone"]


def test_a_row_of_a_list_with_a_search_is_found_by_an_optional_input(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(f"<tr><td>Boat {n}</td><td><button>Open</button></td></tr>" for n in "abc")
    page = f"{MENU}<main><h1>All boats</h1><label>Search boats <input></label><table><tr><th>Name<th></tr>{rows}</table></main>"
    seen.page("boats", "/boats", page, "Boats", start=True)
    openers = [each for each in seen.pages["boats"].offers if each.name == "Open"]
    for n in (1, 2):
        record = f"{MENU}<main><h1>One boat</h1><p>{n}</p><button>Scuttle</button></main>"
        drawn = seen.page(f"boat{n}", f"/boats/{n}", record, "One boat")
        held = drawn.offers[-1].model_copy(update={"danger": "unknown_method"})
        seen.folder.add_page(drawn.model_copy(update={"offers": (*drawn.offers[:-1], held)}))
        seen.tried("boats", f"boat{n}", offer_id=openers[n - 1].offer_id)
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert [(each.name, each.required) for each in task.io_spec.inputs] == [
        ("search_boats", False),
        ("one_boat_row", True),
    ]
    assert [each.action.action_type for each in task.steps] == ["navigate", "fill", "click", "click"]


def test_a_list_that_can_be_searched_is_preferred_and_what_makes_a_new_thing_belongs_to_no_row(
    tmp_path: Path,
):
    seen = drawing(tmp_path)
    rows = "".join(f"<tr><td>{name}</td><td><button>Open</button></td></tr>" for name in ("Hull", "Sail"))
    table = f"<table><tr><th>Name<th></tr>{rows}</table>"
    search = "<label>Search issues <input type=search></label>"
    seen.page(
        "issues",
        "/",
        f"{MENU}<main><h1>All issues</h1>{search}{table}<button>New part</button></main>",
        "Issues",
        start=True,
    )
    seen.page("late", "/late", f"{MENU}<main><h1>Late issues</h1>{table}</main>", "Late", openable=True)
    form = "<form method=post action=/save><label>Title <input name=title></label><button>Save part</button></form>"
    for n in (1, 2):
        record = (
            f"{MENU}<main><h1>Issue: details</h1><button>Add a part</button><button>Edit it</button></main>"
        )
        seen.page(f"issue{n}", f"/issues/issue_{n}", record, "Issue", openable=True)
        for where in ("issues", "late"):
            opener = [each for each in seen.pages[where].offers if each.name == "Open"][n - 1]
            seen.tried(where, f"issue{n}", offer_id=opener.offer_id)
        edit = f"{MENU}<main><h1>Edit issue</h1>{form.replace('Save part', 'Save changes')}</main>"
        seen.page(f"edit{n}", f"/issues/{n}/edit", edit, "Edit issue", openable=True)
        seen.went(f"issue{n}", "Edit it", f"edit{n}")
        seen.page(
            f"new{n}",
            f"/issues/{n}/part",
            f"{MENU}<main><h1>New part</h1>{form.replace('/save', '/add')}</main>",
            "New part",
            openable=True,
        )
        seen.went(f"issue{n}", "Add a part", f"new{n}")
    seen.went("issues", "New part", "new1")
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    given = {each.name: [spec.name for spec in each.io_spec.inputs] for each in tasks}
    assert given["Edit issue"] == ["search_issues", "issue_details_row", "title"]
    assert given["Save part"] == ["title"]


def test_a_form_that_a_script_stores_is_no_filter(tmp_path: Path):
    seen = drawing(tmp_path)
    form = "<form><label>Title <input name=title required></label><button type=button>Save changes</button></form>"
    page = seen.page(
        "profile", "/profile", f"{MENU}<main><h1>Profile</h1>{form}</main>", "Profile", start=True
    )
    button = next(each for each in page.offers if each.name == "Save changes")
    offers = tuple(
        each if each != button else each.model_copy(update={"danger": "submits"}) for each in page.offers
    )
    seen.folder.add_page(page.model_copy(update={"offers": offers}))
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert task.name == "Edit Profile"
    assert not task.success_criteria


def test_words_that_a_font_draws_as_icons_are_in_no_name(tmp_path: Path):
    seen = drawing(tmp_path)
    menu = "".join(
        f"<a href='/{name.lower()}'><span class='material-icons'>{icon}</span><span>{name}</span></a>"
        for name, icon in (("Cards", "credit_card"), ("Add", "add"))
    )
    for name in ("Cards", "Add"):
        button = "<button><i class='icon'>expand_more</i> Add money</button>"
        seen.page(
            name,
            f"/{name.lower()}",
            f"<nav>{menu}</nav><main><h2>x</h2>{button}</main>",
            "Wallet",
            start=name == "Cards",
        )
    made = build_knowledge(seen.folder).knowledge
    labels = {each.metadata["label"] for screen in made.screens for each in made.elements(screen).values()}
    assert labels == {"Cards", "Add", "Add money"}


def test_what_is_entered_on_a_page_is_sent_by_the_one_button_in_the_bar_above_which_may_be_an_icon(
    tmp_path: Path,
):
    seen = drawing(tmp_path)
    bar = "<header><button class=icon>BACK</button><button><i data-icon=check></i>check</button></header>"
    fields = "<div><div>Name</div><input></div><div><div>Length</div><input type=number></div>"
    page = seen.page(
        "boat", "/boats/+", f"{bar}<main><h1>Creating boat</h1>{fields}</main>", "Boats", start=True
    )
    offers = tuple(
        each if each.name != "check" else each.model_copy(update={"danger": "submits"})
        for each in page.offers
    )
    assert len([each for each in offers if each.danger == "submits"]) == 1
    seen.folder.add_page(page.model_copy(update={"offers": offers}))
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert task.name == "Save: Creating boat"
    assert [each.name for each in task.io_spec.inputs] == ["name", "length"]


def _draw_yards(path: Path) -> Drawing:
    """Three yards with a log, a crew, berths and rules each; a menu leads to each yard, and a drawn menu to what is made there."""
    seen = drawing(path)
    names = ("north", "south", "west")
    menu = "<nav>" + "".join(f"<a href='/yards/{each}'>{each.title()}</a>" for each in names) + "</nav>"
    seen.page("start", "/", f"{menu}<main><h1>All yards</h1></main>", "Quay", start=True)
    parts = {
        "log": "<h2>Log</h2><button>Write</button><ul><li>Nothing</ul>",
        "crew": "<h2>Crew</h2><label>Captain <input></label>",
        "berths": "<h2>Berths</h2><table><tr><th>Berth</table>",
        "rules": "<h2>Rules</h2><dl><dt>Speed<dd>4</dl>",
    }
    form = "<form method=post action=/save><label>Name <input name=name required></label><button>Create</button></form>"
    for each in names:
        top = f"{menu}<h1>{each.title()}</h1>"
        yard = f"{top}<main><button>Make</button><h2>Overview</h2><p>Open</p></main>"
        seen.page(each, f"/yards/{each}", yard, f"{each.title()} - Quay")
        for part, body in parts.items():
            seen.page(
                f"{each}{part}",
                f"/yards/{each}/{part}",
                f"{top}<main>{body}</main>",
                f"{each.title()} - Quay",
            )
        seen.page(
            f"{each}new",
            f"/yards/{each}/berths/new",
            f"{top}<main><h2>New berth</h2>{form}</main>",
            f"{each.title()} - Quay",
        )
        seen.went("start", each.title(), each)
    return seen


def test_what_is_made_in_one_of_many_named_things_asks_for_its_name_as_in_the_address(tmp_path: Path):
    knowledge = build_knowledge(_draw_yards(tmp_path).folder).knowledge
    (made,) = knowledge.tasks.values()
    assert [each.name for each in made.io_spec.inputs] == ["yard", "name"]
    assert "north, south, west" in (made.io_spec.inputs[0].description or "")
    opening = made.steps[0].action
    assert opening.url == "https://quay.example/yards/{yard}/berths/new"
    assert knowledge.screens[str(opening.target_screen)].url is None  # no menu makes a section of a yard


def test_a_control_of_an_open_menu_is_reached_by_what_opens_it(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Sheds</h1><button>More</button></main>"
    menu = "<div class=drop><a href='/sheds/7'>Build one</a></div>"
    form = "<form method=post action=/save><label>Name <input name=name required></label><button>Build</button></form>"
    seen.page("sheds", "/sheds", page, "Sheds", start=True)
    open_menu = seen.page(
        "menu", "/sheds", page + menu, "Sheds", layer="panel", openable=False, behind="sheds"
    )
    seen.folder.add_page(open_menu.model_copy(update={"offers": open_menu.offers[-1:]}))
    seen.page("shed", "/sheds/7", f"<main><h1>New shed</h1>{form}</main>", "New shed", openable=False)
    seen.went("sheds", "More", "menu")
    seen.went("menu", "Build one", "shed")
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    assert _list_openers(task) == ["more_button", "build_one_link"]


def test_what_is_changed_of_one_of_many_things_that_the_query_names_asks_for_the_name(tmp_path: Path):
    seen = drawing(tmp_path)
    seen.page(
        "start",
        "/index.php",
        "<main><h1>All pages</h1><a href='/index.php?title=Pier&action=edit'>Edit</a></main>",
        start=True,
    )
    form = "<form method=post action=/index.php?action=save><label>Text <textarea name=text></textarea></label><button>Save page</button></form>"
    for name in ("Pier", "Paint_list"):
        spoken = name.replace("_", " ")
        at = f"/index.php?title={name}&action=edit"
        seen.page(name, at, f"<main><h1>Editing {spoken}</h1>{form}</main>", f"Editing {spoken}")
    knowledge = build_knowledge(seen.folder).knowledge
    (task,) = knowledge.tasks.values()
    assert task.steps[0].action.url == "https://quay.example/index.php?title={title}&action=edit"
    assert [each.name for each in task.io_spec.inputs][:1] == ["title"]
    assert knowledge.screens[str(task.steps[0].action.target_screen)].url is None  # it would open one of them


def test_the_name_of_a_thing_is_another_input_than_one_of_signing_in(tmp_path: Path):
    seen = drawing(tmp_path)
    login = "<form method=post action=/in><label>User <input name=u></label><label>Password <input type=password name=p></label><button>Log in</button></form>"
    seen.page("start", "/", f"<main><h1>Sign in</h1>{login}</main>", start=True, signed_in=False)
    seen.page("home", "/home", "<main><h1>Home</h1><a href='/out'>Sign out</a></main>")
    form = "<form method=post action=/save><label>Title <input name=title required></label><button>Create</button></form>"
    for name in ("ada", "bea"):
        seen.page(
            name,
            f"/users/{name}/keys/new",
            f"<main><h1>New key</h1>{form}<a href='/out'>Sign out</a></main>",
            "New key",
        )
    tasks = {each.task_id: each for each in build_knowledge(seen.folder).knowledge.tasks.values()}
    assert [each.name for each in tasks["sign_in"].io_spec.inputs] == ["user", "password"]
    (made,) = (each for name, each in tasks.items() if name != "sign_in")
    assert made.io_spec.inputs[0].name == "user_2"
    assert made.steps[0].action.url == "https://quay.example/users/{user_2}/keys/new"


def test_the_pages_of_a_list_are_one_screen_with_an_address(tmp_path: Path):
    seen = drawing(tmp_path)
    for number in (1, 2):
        rows = "".join(f"<tr><td>Boat {number}{at}</td></tr>" for at in range(3))
        page = f"<main><h1>Boats</h1><table><tr><th>Name</th></tr>{rows}</table></main>"
        seen.page(f"p{number}", f"/boats?page={number}", page, "Boats", start=False)
        seen.page(
            f"r{number}",
            f"/edit.php?ref={number}7",
            "<main><h1>Edit boat</h1><label>Name <input></label></main>",
            "Edit boat",
        )
    screens = {each.name: each for each in build_knowledge(seen.folder).knowledge.screens.values()}
    assert screens["Boats"].url == "https://quay.example/boats?page=1"
    assert screens["Edit boat"].url is None, "it would open one of them"

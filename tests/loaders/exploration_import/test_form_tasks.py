"""Tasks that are drafted from the forms of an exploration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kb_schema.tasks import Task
from loaders.exploration_import import build_knowledge
from loaders.exploration_import.knowledge_builder import ExploredKnowledge
from tests.support.explored import drawing

NAV = "<nav><a href='/'>Issues</a><a href='/out'>Sign out</a></nav>"
SEARCH = (
    "<form action='/found'><input name='q' aria-label='Words'><button type='submit'>Search</button></form>"
)
NEW = (
    f"{NAV}<main><h1>New issue</h1><form method='post' action='/new'><table>"
    "<tr><th>Title:</th><td><input name='title'> <a href='/help'>(help)</a></td></tr>"
    "<tr><th>Priority</th><td><select name='priority'><option value='1'>low</option><option value='2'>high</option>"
    "</select></td><th>Nosy</th><td><input name='nosy'></td></tr></table>"
    "<input type='radio' name='kind' id='k1' value='a'><label for='k1'>Bug</label>"
    "<input type='radio' name='kind' id='k2' value='b'><label for='k2'>Wish</label>"
    "<input type='checkbox' name='mail' id='m'><label for='m'>Tell me</label>"
    "<button type='submit'>Preview</button><button type='submit'>Submit new entry</button></form></main>"
)
LOGIN = (
    "<main><h1>Welcome</h1><form method='post' action='/in'>Login <input name='user'> Password "
    "<input type='password' name='pass'><button type='submit'>Log in</button></form></main>"
)


REGISTER = (
    "<form method='post' action='/new'><input name=who><input type=password name=one><input type=password name=two>"
    "<button type=submit>Register</button></form>"
)


def _rows(*rows: tuple[int, str]) -> str:
    shown = "".join(f"<tr><th>{name}</th><td><input name='done-{number}'></td></tr>" for number, name in rows)
    return f"{NAV}<main><h1>Issues</h1>{SEARCH}<table>{shown}</table></main>"


@pytest.fixture
def made(tmp_path: Path) -> ExploredKnowledge:
    seen = drawing(tmp_path)
    seen.page("list", "/", _rows((1, "Ink"), (2, "Paper"), (3, "Pens")), start=True)
    seen.page("new", "/new", NEW)
    seen.page("login", "/login", LOGIN, signed_in=False)
    return build_knowledge(seen.folder)


def _task(made: ExploredKnowledge, task_id: str) -> Task:
    return made.knowledge.tasks[task_id]


def test_every_field_of_a_form_in_a_table_is_an_element_with_its_words(made: ExploredKnowledge):
    labels = {each.metadata["label"]: each for each in made.knowledge.elements("new_issue").values()}
    assert {"Title", "Priority", "Nosy", "Bug", "Wish", "Tell me"} <= labels.keys()
    assert all(labels[each].type != "dynamic_list_item" for each in ("Title", "Priority", "Nosy"))
    assert [option.value for option in labels["Priority"].affordances[0].options] == ["1", "2"]


def test_the_same_field_of_each_row_is_one_element(made: ExploredKnowledge):
    rows = [each for each in made.knowledge.elements("issues").values() if each.type == "dynamic_list_item"]
    assert [each.affordances[0].action_type for each in rows] == ["fill"]


def test_the_form_that_asks_for_a_password_is_the_task_that_signs_in(made: ExploredKnowledge):
    task = _task(made, "sign_in")
    assert made.knowledge.website.login_task_id == "sign_in"
    assert [(each.name, each.secret, each.required) for each in task.io_spec.inputs] == [
        ("login", False, True),
        ("password", True, True),
    ]
    assert [each.type for each in task.success_criteria] == ["authenticated"]


def test_a_form_that_makes_something_is_a_task_that_is_not_verified(made: ExploredKnowledge):
    task = _task(made, "create_issue")
    assert task.name == "Create issue"
    assert {each.name: each.required for each in task.io_spec.inputs} == {
        "title": True, "priority": False, "nosy": False, "kind": False, "tell_me": False,
    }  # fmt: skip
    assert task.success_criteria == ()
    assert "draft" in task.metadata
    sends = task.ordered_steps[-1]
    assert (
        made.knowledge.elements("new_issue")[str(sends.action.target)].metadata["label"] == "Submit new entry"
    )
    assert [each.type for each in task.ordered_steps[0].preconditions] == ["authenticated"]


def test_no_input_of_a_task_is_called_as_one_of_signing_in(tmp_path: Path):
    seen = drawing(tmp_path)
    fields = "<label>Login <input name=who></label><label>Password <input type=password name=secret></label>"
    form = f"<form method=post>{fields}<button>Create user</button></form>"
    home = f"{NAV}<main><h1>Home</h1><p>Bo's home</p></main>"
    seen.page("home", "/", home, start=True)
    seen.page("add", "/add-user", f"{NAV}<main><h1>Add user</h1>{form}</main>")
    seen.page("login", "/login", LOGIN, signed_in=False)
    tasks = build_knowledge(seen.folder).knowledge.tasks
    inputs = {name: [each.name for each in task.io_spec.inputs] for name, task in tasks.items()}
    assert inputs["sign_in"] == ["login", "password"]
    assert inputs["create_user"] == ["new_login", "new_password"]


def test_a_search_is_proven_by_the_address_that_it_opens(made: ExploredKnowledge):
    task = _task(made, "search_issues")
    assert [each.name for each in task.io_spec.inputs] == ["words"]
    (proof,) = task.success_criteria
    by_field, by_address = proof.to_json()["conditions"]
    assert re.search(by_field["pattern"], "http://a.example/search?q=paper")
    assert not re.search(by_field["pattern"], "http://a.example/search?q=")
    assert "{words}" in by_address["pattern"]


def test_a_field_whose_name_has_signs_is_found_in_the_address_also_where_they_are_encoded(tmp_path: Path):
    seen = drawing(tmp_path)
    form = "<form action='/issue'><label>Number <input name='@number'></label><button type=submit>Show issue</button></form>"
    seen.page("home", "/", f"<main><h1>Home</h1>{form}</main>", start=True)
    (task,) = build_knowledge(seen.folder).knowledge.tasks.values()
    (proof,) = task.success_criteria
    by_field, by_address = proof.to_json()["conditions"]
    for address in ("/issue?@number=4", "/issue?x=1&%40number=4"):
        assert re.search(by_field["pattern"], f"http://a.example{address}")
    led_on = by_address["pattern"].replace("{number}", "4")
    assert re.search(led_on, "http://a.example/issue4?@template=item")
    assert not re.search(led_on, "http://a.example/issue14/notes")


def test_a_screen_whose_name_begins_with_a_number_is_reached_by_its_row(tmp_path: Path):
    seen = drawing(tmp_path)
    form = "<form method='post' action='{0}'><input name=title><button type=submit>Save</button></form>"
    rows = "".join(f"<li><a href='/t/{number}'>Ticket {number}</a></li>" for number in (1, 2, 3))
    seen.page("list", "/", f"<main><h1>All</h1><ul>{rows}</ul></main>", start=True)
    for number in (1, 2):
        page = f"<main><h1>3D prints</h1>{form.format(f'/t/{number}')}</main>"
        seen.page(f"t{number}", f"/t/{number}", page)
    made = build_knowledge(seen.folder)
    (task,) = made.knowledge.tasks.values()
    assert [each.name for each in task.io_spec.inputs if each.required] == ["n_3d_prints_row"]
    row = task.ordered_steps[1].action
    assert task.ordered_steps[0].action.target_screen == "all"
    assert row.parameters == {"row": "{n_3d_prints_row}"}
    assert made.knowledge.elements("all")[str(row.target)].selector.required_context == {"row"}
    asked = [each.name for each in task.io_spec.inputs]
    edges = [each for each in made.knowledge.transitions.values() if each.conditions.required]
    assert asked[0] in {condition.name for each in edges for condition in each.conditions.required}


def test_the_row_of_a_list_leads_to_the_form_though_something_else_lies_on_its_page(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(f"<li><a href='/t/{number}'>Ticket {number}</a></li>" for number in (1, 2, 3))
    seen.page("list", "/", f"<main><h1>All</h1><ul>{rows}</ul></main>", start=True)
    form = "<main><h1>Ticket</h1><form method=post><input aria-label='Due'><button>Save it</button></form><i>Day</i></main>"
    for number in (1, 2):
        seen.page(f"t{number}", f"/t/{number}", form)
    days = "<div class=menu><button>Monday</button><button>Tuesday</button></div>"
    seen.page("days", "/t/1", form + days, layer="menu", openable=False, behind="t1")
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    assert [[each.name for each in task.io_spec.inputs if each.required] for task in tasks] == [
        ["ticket_row"]
    ]


def test_who_is_signed_out_and_sees_the_screen_without_its_form_signs_in_first(tmp_path: Path):
    seen = drawing(tmp_path)
    issue = (
        "<main><h1>Issue</h1><h2>History</h2><h2>Files</h2><table><thead><tr><th>Who</th><th>When</th></tr></thead>"
        "<tbody><tr><td>Ann</td><td>May</td></tr></tbody></table>{}</main>"
    )
    form = "<form method='post' action='/issue'><input name=note><button type=submit>Save</button></form>"
    seen.page("in", "/issue", NAV + issue.format(form), start=True)
    seen.page("out", "/issue", issue.format(""), signed_in=False)
    seen.page("login", "/login", LOGIN, signed_in=False)
    made = build_knowledge(seen.folder)
    assert set(made.screens["issue"]) == {"in", "out"}
    assert [each.type for each in _task(made, "edit_issue").ordered_steps[0].preconditions] == [
        "authenticated"
    ]


@pytest.mark.parametrize(
    ("form", "signs_in"),
    [
        (
            "<form method='post' action='/note'><input name=note><button type=submit>Save</button></form>",
            True,
        ),
        ("<form action='/find'><input name=q><button type=submit>Find</button></form>", False),
        (REGISTER, False),
    ],
)
def test_what_stores_is_sent_signed_in_though_others_are_shown_it(tmp_path: Path, form: str, signs_in: bool):
    seen = drawing(tmp_path)
    page = f"<main><h1>Issue</h1><p>Some of it</p>{form}</main>"
    seen.page("in", "/issue", NAV + page, start=True)
    seen.page("out", "/issue", page, signed_in=False)
    seen.page("login", "/login", LOGIN, signed_in=False)
    tasks = build_knowledge(seen.folder).knowledge.tasks
    (task,) = (each for name, each in tasks.items() if name != "sign_in")
    before = [each.type for each in task.ordered_steps[0].preconditions]
    assert before == (["authenticated"] if signs_in else [])


def test_without_a_list_that_tells_which_one_is_changed_there_is_no_task(tmp_path: Path):
    seen = drawing(tmp_path)
    form = "<form method='post' action='{0}'><input name=title><button type=submit>Save</button></form>"
    seen.page("list", "/", "<main><h1>All</h1></main>", start=True)
    for number in (1, 2):
        seen.page(f"t{number}", f"/t/{number}", f"<main><h1>Ticket</h1>{form.format(f'/t/{number}')}</main>")
    assert build_knowledge(seen.folder).knowledge.tasks == {}


BILLS = (
    f"{NAV}<main><h1>Bills</h1><form method='post' action='/flat/members/add'><input name='who' aria-label='Add member'>"
    "<button type='submit'>Add</button></form><form method='post' action='/flat/add'><label>What <input name='what'></label>"
    "<label>How much <input name='much'></label><button type='submit'>Save</button></form></main>"
)
NEW_BILL = (
    f"{NAV}<main><h1>A new bill</h1><form method='post' action='/flat/add'><label>What <input name='what'></label>"
    "<label>How much <input name='much'></label><label>Note <input name='note'></label><button type='submit'>Save</button></form></main>"
)
BEGIN = (
    "<main><h1>Share what you spend with others</h1><form method='post' action='/create'><label>Your name <input name='you'></label>"
    "<label>Flat name <input name='flat'></label><button type='submit'>Create</button></form></main>"
)


def test_forms_are_named_by_what_they_make_and_a_form_on_two_screens_is_one_task(tmp_path: Path):
    seen = drawing(tmp_path)
    seen.page("bills", "/flat/", BILLS, start=True)
    seen.page("new", "/flat/add", NEW_BILL)
    seen.page("begin", "/", BEGIN, signed_in=False)
    tasks = build_knowledge(seen.folder).knowledge.tasks
    assert {each.name: [field.name for field in each.io_spec.inputs] for each in tasks.values()} == {
        "Create member": ["add_member"],
        "Create Bills": ["what", "how_much"],
        "Create flat": ["your_name", "flat_name"],
    }


def test_a_form_that_unfolds_in_a_page_is_a_state_of_it_and_is_opened_first(tmp_path: Path):
    seen = drawing(tmp_path)
    for number in (1, 2):
        page = f"<main><h1>Ticket</h1><p>About {number}</p><button>Modify</button>{{}}</main>"
        form = "<form method='post' action='/note'><input name=note><button type=submit>Save</button></form>"
        path, below = f"/tickets?id={number}", f"t{number}"
        seen.page(below, path, NAV + page.format(""), start=number == 1)
        with_form = NAV + page.format(form)
        seen.page(f"open{number}", path, with_form, layer="panel", behind=below, openable=False)
        seen.went(below, "Modify", f"open{number}")
    made = build_knowledge(seen.folder)
    (pages,) = made.screens.values()
    assert set(pages) == {"t1", "open1", "t2", "open2"}
    (task,) = made.knowledge.tasks.values()
    labels = {
        each.element_id: each.metadata["label"]
        for screen in made.screens
        for each in made.knowledge.elements(screen).values()
    }
    pressed = [labels.get(str(step.action.target)) for step in task.ordered_steps if step.action]
    assert "Modify" in pressed
    assert pressed[-1] == "Save"
    assert pressed.index("Modify") < pressed.index("Save")


def test_what_unfolds_with_a_heading_is_a_screen(tmp_path: Path):
    seen = drawing(tmp_path)
    page = "<main><h1>Ticket</h1><p>About</p><button>Modify</button>{}</main>"
    seen.page("t", "/t", NAV + page.format(""), start=True)
    pane = "<section><h2>History of it</h2><button>Older</button><button>Newer</button></section>"
    seen.page("pane", "/t", NAV + page.format(pane), layer="panel", behind="t", openable=False)
    seen.went("t", "Modify", "pane")
    assert len(build_knowledge(seen.folder).screens) == 2


def test_the_forms_for_a_new_thing_and_for_changing_one_are_two_screens_though_they_are_alike(tmp_path: Path):
    seen = drawing(tmp_path)
    rows = "".join(f"<li><a href='/boat/edit/?id={number}'>Boat {number}</a></li>" for number in (1, 2, 3))
    listed = f"<main><h1>Boats</h1><a href='/boat/new/'>Create</a><ul>{rows}</ul></main>"
    seen.page("list", "/boat/", listed, start=True)
    form = "<main><form method=post><input aria-label='Name'><input aria-label='Berth'><button>Save</button></form></main>"
    seen.page("new", "/boat/new/", form)
    for number in (1, 2):
        seen.page(f"edit{number}", f"/boat/edit/?id={number}", form)
    made = build_knowledge(seen.folder)
    screens = {page: name for name, pages in made.screens.items() for page in pages}
    assert screens["edit1"] == screens["edit2"] != screens["new"]


def test_an_input_is_called_as_its_field_without_the_links_in_the_label(tmp_path: Path):
    seen = drawing(tmp_path)
    label = "<label>Password <a href='/lost'>Lost password</a> <input type=password name=pw></label>"
    form = f"<form method=post action=/in><label>Login <input name=login></label>{label}<button>Log in</button></form>"
    seen.page("start", "/", f"<main><h1>Sign in</h1>{form}</main>", start=True, signed_in=False)
    seen.page("home", "/home", "<main><h1>Home</h1><a href='/out'>Sign out</a></main>")
    tasks = build_knowledge(seen.folder).knowledge.tasks.values()
    assert [each.name for task in tasks for each in task.io_spec.inputs] == ["login", "password"]

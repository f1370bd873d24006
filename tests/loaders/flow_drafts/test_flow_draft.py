"""A drafted flow tours the menu, shows the task, speaks the website's words and fits its knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.narration_marks import read_marks
from loaders import read_knowledge_folder
from loaders.flow_drafts.flow_draft import draft_flow
from loaders.flow_drafts.menu_tour import choose_highlights, choose_stops, heading_of

ROOT = Path(__file__).parents[3]
SEEDS = {
    "spadeworks": ROOT / "seeds/spadeworks/kb",
    "harbour": ROOT / "tests/data/harbour/kb",
}


def with_flow(knowledge, flow):
    documents = [*knowledge.documents(), flow]
    return assemble([SourcedDocument(each) for each in documents])[0]


def small(*documents, **website):
    base = {
        "type": "website",
        "website_id": "shop",
        "name": "Shop",
        "base_url": "https://shop.example",
        **website,
    }
    return assemble([SourcedDocument(parse_document(each)) for each in (base, *documents)])[0]


def screen(screen_id, *labels, **more):
    elements = [
        {
            "element_id": f"e{number}",
            "type": "button",
            "selector": f"#e{number}",
            "metadata": {"label": label},
        }
        for number, label in enumerate(labels)
    ]
    return {"type": "screen", "screen_id": screen_id, "name": screen_id.title(), "url": f"/{screen_id}",
            "url_patterns": [f"^/{screen_id}$"], "ui_elements": elements, **more}  # fmt: skip


@pytest.mark.parametrize("name", SEEDS)
def test_a_draft_fits_the_knowledge_base_it_was_made_from(name):
    knowledge = read_knowledge_folder(SEEDS[name])[0]
    for work in (None, *knowledge.tasks):
        flow = draft_flow(knowledge, "drafted", work=work)
        assert with_flow(knowledge, flow).flows["drafted"].segments[-1].segment_id == "close"


def test_the_tour_follows_the_menu_and_the_task_is_shown_with_its_result():
    knowledge = read_knowledge_folder(SEEDS["spadeworks"])[0]
    flow = draft_flow(knowledge, "drafted", work="create_agent")
    assert [each.segment_id for each in flow.segments] == [
        "welcome", "sign_in", "start", "show_agent_list", "show_contacts_list", "show_campaign_list",
        "show_email_inbox", "show_settings", "show_agent_create", "task", "close",
    ]  # fmt: skip
    shown = flow.segment("task")
    assert (shown.task_id, shown.required) == ("create_agent", True)
    assert list(shown.input_mapping) == ["agent_name"]
    assert [each.rule for each in shown.rules] == ["confirm_success"]
    assert "call centres" in flow.segment("welcome").narration_template
    assert "All voice agents, with search and pages." in flow.segment("show_agent_list").narration_template


def test_every_mark_is_on_a_control_that_the_segment_points_at():
    flow = draft_flow(read_knowledge_folder(SEEDS["spadeworks"])[0], "drafted")
    marked = 0
    for segment in flow.segments:
        names = [name for name, _ in read_marks(segment.narration_template).marks]
        assert names == list(segment.highlights)
        marked += len(names)
    assert marked >= 6


def test_data_dangers_and_ways_out_are_not_named():
    labels = [
        "Search",
        "Meeting room screens stay black",
        "Issue 12",
        "(list)",
        "payroll",
        "Sign out",
        "Remove",
    ]
    page = screen("issues", *labels)
    page["ui_elements"][-1]["affordances"] = [{"action_type": "click", "destructive": True}]
    flow = draft_flow(small(screen("home", url="/"), page, edge("home", "issues", "e0")), "drafted")
    assert flow.segment("show_issues").highlights == ("e0",)


def edge(start, end, element):
    return {"type": "transition", "_from": start, "_to": end,
            "triggered_by": {"action_type": "click", "target": f"#{element}"}}  # fmt: skip


def test_error_pages_and_the_sign_in_form_are_no_stops():
    documents = [
        screen("home", url="/"), screen("oops", name="Shop: An error has occurred"), screen("orders"),
        screen("login", "Password"),
    ]  # fmt: skip
    documents[3]["ui_elements"][0]["element_id"] = "password_field"
    edges = [edge("home", end, end) for end in ("oops", "orders", "login")]
    flow = draft_flow(small(*documents, *edges), "drafted", mentions=["oops", "login"])
    assert [each.segment_id for each in flow.segments] == ["welcome", "show_orders", "close"]


def test_where_signing_out_leads_is_no_stop():
    way = {**edge("home", "bye", "x"), "description": "Log out"}
    flow = draft_flow(small(screen("home", url="/"), screen("bye"), way), "drafted")
    assert [each.segment_id for each in flow.segments] == ["welcome", "close"]


def test_words_of_the_website_are_no_placeholders_and_no_marks():
    flow = draft_flow(small(screen("home", url="/", name="x"), name="Shop {agent_name} [[at:x]]"), "drafted")
    assert flow.segments[0].narration_template.startswith("Welcome to Shop (agent_name) (at:x).")


def test_what_a_map_says_of_a_website_by_itself_is_not_spoken():
    knowledge = small(screen("home", url="/"), description="Mapped from shop.example")
    assert "Mapped" not in draft_flow(knowledge, "drafted").segments[0].narration_template


def test_inputs_get_values_that_fit_and_secrets_are_left_to_the_person():
    task = {
        "type": "task", "task_id": "order", "name": "Order", "io_spec": {"inputs": [
            {"name": "contact_email"}, {"name": "size"}, {"name": "amount", "type": "integer"},
            {"name": "note", "required": False}, {"name": "code", "secret": True}, {"name": "title"},
        ]},
        "steps": [
            {"action": {"action_type": "select_option", "target": "e0", "value": "{size}"}},
            {"action": {"action_type": "fill", "target": "#a", "value": "{contact_email}{amount}{code}{title}"}},
        ],
    }  # fmt: skip
    page = screen("home", "Size", url="/")
    page["ui_elements"][0]["affordances"] = [
        {"action_type": "select_option", "options": [{"value": ""}, {"value": "s"}, {"value": "m"}]}
    ]
    mapping = draft_flow(small(page, task), "drafted", work="order").segment("task").input_mapping
    assert {name: (each.generator, each.value) for name, each in mapping.items()} == {
        "contact_email": ("email", None), "size": (None, "m"), "amount": (None, 3), "title": (None, "Sample title"),
    }  # fmt: skip


def test_no_dialog_is_a_stop_and_of_two_screens_of_one_address_the_one_that_is_shown_signed_in():
    knowledge = small(
        screen("start", "Help", url="/"),
        screen("about", "Details"),
        screen("about_more", "Details", url="/about"),
        screen("asking", "Keep it", metadata={"layer": "dialog"}),
        {"type": "screen_group", "group_id": "authenticated_pages", "name": "Authenticated Pages"},
        {"type": "belongs_to", "_from": "about_more", "_to": "authenticated_pages"},
        {"type": "task", "task_id": "sign_in", "name": "Sign in", "steps": [
            {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "start"}}]},
        edge("start", "about", "e0"),
        edge("start", "asking", "e0"),
        login_task_id="sign_in",
    )  # fmt: skip
    assert [each.screen_id for each in choose_stops(knowledge)] == ["about_more"]


def test_of_menus_that_are_opened_first_some_entries_of_each_are_stops():
    menus = [screen(f"menu{n}", metadata={"layer": "menu"}) for n in range(2)]
    places = [screen(f"place{n}{m}") for n in range(2) for m in range(4)]
    edges = [edge("home", f"menu{n}", "e0") for n in range(2)]
    entries = [edge(f"menu{n}", f"place{n}{m}", f"e{m}") for n in range(2) for m in range(4)]
    knowledge = small(screen("home", url="/"), *menus, *places, *edges, *entries)
    stops = [each.screen_id for each in choose_stops(knowledge, 4)]
    assert [each[5] for each in stops] == ["0", "0", "1", "1"]


def test_a_screen_is_called_by_its_name_if_that_is_one_of_its_headings():
    headings = [
        {"type": "dom_contains", "value": text, "selector": "h2", "weight": 0.5}
        for text in ("Accounts", "Profile")
    ]
    knowledge = small(
        screen("profile", name="Profile", state_signature={"primary_indicators": headings}),
        screen("accounts", name="Mine", state_signature={"primary_indicators": headings}),
    )
    assert [heading_of(each) for each in knowledge.screens.values()] == ["Profile", "Accounts"]


def test_a_first_heading_goes_before_that_of_a_part_and_a_link_of_many_screens_is_not_pointed_at():
    headings = [
        {"type": "dom_contains", "value": text, "selector": level, "weight": 0.5}
        for text, level in (("Plugins", "h2"), ("About", "h1"))
    ]
    link = {"element_id": "guide", "type": "link", "selector": "#guide", "metadata": {"label": "Guide"}}
    pages = [screen(each, "Save") for each in ("one", "two", "three")]
    for number, each in enumerate(pages):
        each["ui_elements"].append({**link, "element_id": f"guide_{number}"})
    knowledge = small(*pages, screen("info", state_signature={"primary_indicators": headings}))
    assert heading_of(knowledge.screens["info"]) == "About"
    assert [each.label for each in choose_highlights(knowledge, knowledge.screens["one"])] == []

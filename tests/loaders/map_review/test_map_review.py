"""What is doubtful in a map is found, the most valuable first, and a decision changes what it says."""

from __future__ import annotations

import pytest

from kb_schema import SourcedDocument, assemble, parse_document
from loaders.edits.deletion import delete
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.renaming import find_target
from loaders.map_review.map_doubts import list_doubts
from loaders.map_review.review_decisions import decide


def screen(screen_id, name=None, labels=("Save", "Cancel", "Title", "Priority"), **more):
    elements = [
        {
            "element_id": f"e{number}",
            "type": "button",
            "selector": f"#{screen_id}{number}",
            "metadata": {"label": each},
        }
        for number, each in enumerate(labels)
    ]
    return {"type": "screen", "screen_id": screen_id, "name": name or screen_id.title(), "ui_elements": elements,
            "url_patterns": [f"^/{screen_id}$"], **more}  # fmt: skip


def edge(start, end, number=0):
    return {"type": "transition", "transition_id": f"{start}.{end}.{number}", "_from": start, "_to": end,
            "triggered_by": {"action_type": "click", "target": "#go"}}  # fmt: skip


def both(*names):
    return [edge(start, end) for start in names for end in names if start != end]


def knowledge_of(*documents):
    website = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"}
    return assemble([SourcedDocument(parse_document(each)) for each in (website, *documents)])[0]


def kinds(knowledge, tried=()):
    return [(each.kind, each.name, each.other) for each in list_doubts(knowledge, tried)]


@pytest.fixture
def site():
    """A site with one doubt of each kind."""
    return knowledge_of(
        screen("home", labels=("Search", "Issues", "Users")),
        screen("milestone", url="/milestones/alpha"), screen("milestone_2", "Milestone", url="/other/beta"),
        screen("panel_a", "Panel", ("A", "B", "C"), url="/prefs/panel"),
        screen("panel_b", "Other panel", ("A", "B", "C"), url="/prefs/other"),
        screen("issue_20", "Issue 20: the lift is broken", ("Reply",)),
        screen("dead", "Calendar", ("Day",)),
        *both("home", "milestone", "milestone_2", "panel_a", "panel_b", "issue_20"), edge("home", "dead"),
        {"type": "task", "task_id": "add_issue", "name": "Add issue", "metadata": {"draft": "from a form"},
         "steps": [{"action": {"action_type": "navigate", "target_screen": "home"}}]},
        {"type": "task", "task_id": "by_hand",
         "steps": [{"action": {"action_type": "navigate", "target_screen": "panel_a"}}]},
    )  # fmt: skip


def test_one_doubt_of_each_kind_is_found_the_most_valuable_first(site):
    assert kinds(site) == [
        ("same_page", "milestone", "milestone_2"), ("split_siblings", "panel_a", "panel_b"),
        ("data_name", "issue_20", None), ("data_name", "milestone_2", None), ("untried_task", "add_issue", None),
        ("no_way_back", "dead", None),
    ]  # fmt: skip
    assert ("untried_task", "add_issue", None) not in kinds(site, tried=["add_issue"])


def test_screens_with_other_controls_are_no_doubt(site):
    documents = [each.to_json() for each in site.documents()]
    for each in documents:
        if each.get("screen_id") == "milestone_2":
            each["ui_elements"] = screen("x", labels=("Login", "Password", "Forgot", "Help"))["ui_elements"]
    assert ("same_page", "milestone", "milestone_2") not in kinds(knowledge_of(*documents[1:]))


def test_a_name_without_its_data_is_suggested(site):
    doubt = next(each for each in list_doubts(site) if each.name == "issue_20")
    assert (doubt.suggestion, doubt.choices) == (
        "Issue : the lift is broken",
        ("keep", "rename", "merge", "delete"),
    )


def test_each_decision_removes_the_doubt(site):
    merge, split, rename, _, task, dead = list_doubts(site)
    assert "milestone_2" not in decide(site, merge, "merge").knowledge.screens
    renamed = decide(site, rename, "rename", "Issue").knowledge
    assert renamed.screens["issue"].name == "Issue"
    assert "dead" not in decide(site, dead, "delete").knowledge.screens
    assert "add_issue" not in decide(site, task, "delete").knowledge.tasks
    left = site
    for each in (merge, split, rename, task, dead):
        left = decide(left, each, "keep").knowledge
    assert kinds(left) == [("data_name", "milestone_2", None)]
    assert left.transitions == site.transitions


@pytest.mark.parametrize(
    ("name", "decision", "answer", "message"),
    [
        ("dead", "rename", None, "no new name for 'dead' is given"),
        ("dead", "merge", None, "with which screen 'dead' is one is not given"),
        ("dead", "merge", "nowhere", "there is no screen 'nowhere'"),
    ],
)
def test_a_decision_that_lacks_something_is_refused(site, name, decision, answer, message):
    doubt = next(each for each in list_doubts(site) if each.name == name)
    with pytest.raises(EditRefused, match=message):
        decide(site, doubt, decision, answer)


def test_what_a_task_names_is_not_deleted(site):
    with pytest.raises(EditRefused, match=r"task by_hand .* names screen 'panel_a'"):
        delete(site, find_target(site, "panel_a"))
    knowledge = delete(site, find_target(site, "dead")).knowledge
    assert all("dead" not in (each.from_screen, each.to_screen) for each in knowledge.transitions.values())
    with pytest.raises(EditRefused, match="only screens and tasks"):
        delete(site, find_target(site, "home/e0"))

"""A tiny website of its own for the desk's tests: a pantry of jars, and pages of it as HTML."""

from __future__ import annotations

from typing import Any

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.page_snapshots import PageSnapshot

BASE = "https://pantry.example"


def _element(element_id: str, kind: str, css: str, action: str, **affordance: Any) -> dict[str, Any]:
    return {
        "element_id": element_id,
        "type": kind,
        "selector": {
            "strategies": [{"type": "css", "value": css, "confidence": 0.9, "meta": {"by": "hand"}}]
        },
        "affordances": [{"action_type": action, **affordance}],
        "metadata": {
            "label": element_id.replace("_", " ").title(),
            "author": "nobody needs this while acting",
        },
        "fingerprint": {"tag": kind, "name": element_id},
    }


def _text(value: str) -> dict[str, Any]:
    return {"type": "dom_contains", "value": value}


def _edge(
    transition_id: str, source: str, target: str, action: dict[str, Any] | str, **more: Any
) -> dict[str, Any]:
    return {
        "type": "transition",
        "transition_id": transition_id,
        "_from": f"screen/{source}",
        "_to": f"screen/{target}",
        "triggered_by": action,
        **more,
    }


SIGNED_IN = {"required": [{"type": "authenticated"}]}

DOCUMENTS: list[dict[str, Any]] = [
    {
        "type": "website",
        "website_id": "pantry",
        "name": "Pantry",
        "base_url": BASE,
        "authenticated_when": [{"type": "element_visible", "selector": "#sign-out"}],
        "login_task_id": "sign_in",
        "default_recovery": {"actions": [{"action_type": "navigate", "target_screen": "shelf"}, "refresh"]},
        "layouts": {"frame": [_element("sign_out", "button", "#sign-out", "click")]},
    },
    {
        "type": "screen",
        "screen_id": "sign_in_page",
        "name": "Sign in",
        "url_patterns": [f"^{BASE}/sign-in$"],
        "url": f"{BASE}/sign-in",
        "state_signature": {"required_indicators": [_text("Sign in to your pantry")]},
        "ui_elements": [
            _element("email", "input", "#email", "fill", required=True),
            _element("enter", "button", "#enter", "click"),
        ],
    },
    {
        "type": "screen",
        "screen_id": "shelf",
        "name": "Shelf",
        "url_patterns": ["^/jars$", "^/$"],
        "url": f"{BASE}/jars",
        "layouts": ["frame"],
        "metadata": {"description": "Every jar there is"},
        "state_signature": {
            "required_indicators": [_text("Your jars")],
            "optional_indicators": [{"type": "element_visible", "selector": "table.jars"}],
        },
        "ui_elements": [_element("new_jar", "link", "#new-jar", "click")],
    },
    {
        "type": "screen",
        "screen_id": "jar_new",
        "name": "New jar",
        "url_patterns": ["^/jars/new"],
        "layouts": ["frame"],
        "state_signature": {
            "primary_indicators": [_text("Label of the jar")],
            "negative_indicators": [{"type": "element_visible", "selector": "#delete"}],
        },
        "ui_elements": [
            _element(
                "label",
                "input",
                "#label",
                "type_text",
                required=True,
                error_handling=[{"condition": "validation_error", "recovery": "fix_validation_errors"}],
            ),
            _element("save", "button", "#save", "click"),
        ],
    },
    {
        "type": "screen",
        "screen_id": "jar_edit",
        "name": "Edit jar",
        "url_patterns": [r"^/jars/\d+/edit"],
        "layouts": ["frame"],
        "state_signature": {
            "required_indicators": [{"type": "element_visible", "selector": "#delete"}],
            "primary_indicators": [_text("Label of the jar")],
        },
        "ui_elements": [_element("delete", "button", "#delete", "click")],
    },
    {
        "type": "screen",
        "screen_id": "help",
        "name": "Help",
        "state_signature": {
            "required_indicators": [_text("How jars work")],
            "exclusion_indicators": [{"type": "title_contains", "value": "Blog"}],
        },
    },
    {
        "type": "action",
        "action_id": "fill_jar",
        "name": "Fill a jar",
        "parameters": {"label": {"type": "string", "required": True}},
        "error_handling": [{"condition": "timeout", "recovery": "wait_and_retry", "wait_time": 2}],
    },
    {
        "type": "task",
        "task_id": "sign_in",
        "name": "Sign in",
        "description": "Get into the pantry",
        "io_spec": {"inputs": [{"name": "email", "source": "user_input"}]},
        "steps": [
            {"action": {"action_type": "navigate", "target_screen": "sign_in_page"}},
            {"action": {"action_type": "fill", "target": "email", "value": "{email}"}},
            {"action": {"action_type": "click", "target": "enter"}},
        ],
        "success_criteria": [{"type": "on_screen", "screen_id": "shelf"}],
    },
    {
        "type": "task",
        "task_id": "add_jar",
        "name": "Add a jar",
        "description": "Put a new jar on the shelf",
        "io_spec": {"inputs": [{"name": "label"}, {"name": "note", "required": False}]},
        "steps": [
            {"step_id": "name_it", "action": {"action_type": "fill", "target": "label", "value": "{label}"}},
            {"step_id": "keep_it", "action": {"action_type": "click", "target": "save"}},
        ],
        "metadata": {"history": "a very long story " * 20},
    },
    {
        "type": "presentation_flow",
        "flow_id": "tour",
        "name": "Tour",
        "segments": [
            {
                "segment_id": "hello",
                "type": "conversational",
                "narration_template": "Marmalade is best kept here",
            },
            {"segment_id": "shelf", "type": "explanation", "screen_id": "shelf", "title": "The shelf"},
        ],
    },
    {
        "type": "error_recovery",
        "recovery_id": "slow_pantry",
        "conditions": ["timeout"],
        "strategies": [{"recovery": "refresh_and_retry"}],
    },
    {
        "type": "error_recovery",
        "recovery_id": "slow_shelf",
        "conditions": ["timeout"],
        "screens": ["shelf"],
        "strategies": [{"recovery": "wait_and_retry"}],
    },
    _edge(
        "sign_in_submit",
        "sign_in_page",
        "shelf",
        {"action_type": "click", "target": "enter"},
        effects=[{"type": "sets_fact", "fact": "authenticated"}],
        cost={"estimated_ms": 2000},
    ),
    _edge("sign_out", "shelf", "sign_in_page", {"action_type": "click", "target": "sign_out"},
          effects=[{"type": "sets_fact", "fact": "authenticated", "value": False}]),
    _edge("open_new", "shelf", "jar_new", {"action_type": "click", "target": "new_jar"}, conditions=SIGNED_IN,
          cost={"estimated_ms": 500}, reliability_score=0.5),
    _edge("open_new_by_url", "shelf", "jar_new", {"action_type": "navigate", "url": "/jars/new"},
          conditions=SIGNED_IN, cost={"estimated_ms": 900}, reliability_score=1.0),
    _edge("save_new", "jar_new", "shelf", {"action_type": "click", "target": "save"}),
    {"type": "screen_group", "group_id": "signed_in", "name": "Signed in", "recovery_priority": "low"},
    {"type": "screen_group", "group_id": "forms", "name": "Forms", "recovery_priority": "high"},
    *(
        {"type": "belongs_to", "_from": f"screen/{screen}", "_to": f"screen_group/{group}"}
        for screen, group in (("shelf", "signed_in"), ("jar_new", "signed_in"), ("jar_new", "forms"),
                              ("jar_edit", "signed_in"), ("jar_edit", "forms"))
    ),
    {"type": "global_recovery", "transition_id": "home", "_from": "screen_group/signed_in",
     "_to": "screen/shelf", "triggered_by": {"action_type": "navigate", "target_screen": "shelf"},
     "conditions": SIGNED_IN, "reliability_score": 0.99, "cost": {"estimated_ms": 800}},
    {"type": "global_recovery", "transition_id": "home_again", "_from": "screen_group/forms",
     "_to": "screen/shelf", "triggered_by": {"action_type": "navigate", "target_screen": "shelf"},
     "reliability_score": 0.7, "recovery_priority": 3},
    {"type": "global_recovery", "transition_id": "look_again", "_from": "screen_group/forms",
     "_to": "screen/current", "triggered_by": "refresh", "reliability_score": 0.8},
    {"type": "global_recovery", "transition_id": "sign_in_again", "_from": "screen_group/signed_in",
     "_to": "screen/sign_in_page", "triggered_by": {"action_type": "navigate", "target_screen": "sign_in_page"},
     "conditions": {"required": [{"type": "authenticated", "expected": False}]},
     "recovery_priority": 1, "reliability_score": 0.6},
]  # fmt: skip


def knowledge(*, also: tuple[dict[str, Any], ...] = (), backwards: bool = False) -> KnowledgeBase:
    """The pantry's knowledge, checked; documents in either order."""
    documents = [*DOCUMENTS, *also]
    if backwards:
        documents.reverse()
    return assemble(SourcedDocument(parse_document(document)) for document in documents)[0]


def page(path: str, body: str, *, title: str = "", base: str = BASE) -> PageSnapshot:
    """A page of the site as any client would send it."""
    head = f"<title>{title}</title>" if title else ""
    return PageSnapshot(url=f"{base}{path}", html=f"<html><head>{head}</head><body>{body}</body></html>")


SIGN_OUT = '<button id="sign-out">Sign out</button>'
SIGN_IN_PAGE = page("/sign-in", "<h1>Sign in to your pantry</h1><input id=email><button id=enter>Go</button>")
SHELF = page("/jars", f"{SIGN_OUT}<h1>Your jars</h1><table class=jars><tr><td>Plum</td></tr></table>")
NEW = page(
    "/jars/new", f"{SIGN_OUT}<label>Label of the jar <input id=label></label><button id=save>Save</button>"
)
EDIT = page(
    "/jars/7/edit",
    f"{SIGN_OUT}<label>Label of the jar <input id=label></label><button id=delete>Delete</button>",
)
HELP = page("/anything", "<h1>How jars work</h1>")
LOST = page("/oops", f"{SIGN_OUT}<h1>500</h1>")

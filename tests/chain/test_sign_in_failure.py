"""A sign-in that the website does not accept is tried once: websites lock accounts. The run ends with the page's words."""

from __future__ import annotations

from agent.execution.navigation_tasks import reach_screen
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from kb_schema.websites import Website
from tests.support.small_sites import WEBSITE, Answered, Asked, running_site, visiting

SIGNED_IN = {"type": "dom_element", "selector": "#out"}


def _answer(asked: Asked) -> Answered:
    if asked.path == "/private":
        return Answered(location="/login")
    said = "<p role=alert>Unknown name or password</p>" if asked.method == "POST" else ""
    return Answered(
        f"<title>Sign in</title><body>{said}<h1>Sign in</h1><form method=post action=/login>"
        "<label>Name <input id=name name=name></label><label>Password <input id=word type=password name=word></label>"
        "<button id=go>Sign in</button></form></body>"
    )


def _documents() -> list[object]:
    def fill(order: int, target: str, value: str) -> dict[str, object]:
        return {
            "step_id": target.strip("#"),
            "order": order,
            "action": {"action_type": "fill", "target": target, "value": value},
        }

    raw = [
        {
            "type": "screen",
            "screen_id": "login",
            "name": "Sign in",
            "url": "/login",
            "url_patterns": ["^/login$"],
            "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "#word"}]},
        },
        {
            "type": "screen",
            "screen_id": "private",
            "name": "Private",
            "url": "/private",
            "url_patterns": ["^/private$"],
            "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "#out"}]},
        },
        {
            "type": "task",
            "task_id": "sign_in",
            "name": "Sign in",
            "io_spec": {"inputs": [{"name": each, "required": True, "source": "user_input"} for each in ("name", "word")]},
            "steps": [
                {"step_id": "open", "order": 1, "action": {"action_type": "navigate", "target_screen": "login"}},
                fill(2, "#name", "{name}"),
                fill(3, "#word", "{word}"),
                {"step_id": "send", "order": 4, "action": {"action_type": "click", "target": "#go"}},
            ],
            "success_criteria": [{"type": "authenticated"}],
        },
    ]  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


async def test_a_refused_sign_in_is_sent_once_and_ends_the_run(browser, tmp_path):
    with running_site(_answer) as site:
        async with visiting(browser, site, tmp_path, *_documents()) as session:
            session.website = Website.model_validate(
                {**session.website.to_json(), "login_task_id": "sign_in", "authenticated_when": [SIGNED_IN]}
            )
            session.context.said = {"name": "Ann", "word": "wrong"}
            result = await reach_screen(TaskRunner(session), "private")
        sent = [each.path for each in site.writes]
    assert result.status is RunStatus.NEEDS_PERSON
    assert "not signed in" in (result.error or "")
    assert "Unknown name or password" in (result.error or "")
    assert result.replans == 0
    assert sent == ["/login"]

"""What was recorded signed in signs in by itself in a new browser, with the task that the website has for it."""

from __future__ import annotations

from agent.errors import AgentError
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from kb_schema.websites import Website
from tests.support.small_sites import WEBSITE, Answered, Asked, running_site, visiting

LOGIN = """<title>Sign in</title><h1>Sign in</h1><form>
<label>Name <input id=name></label><label>Password <input id=word type=password></label><button id=go>Sign in</button></form>
<script>document.forms[0].onsubmit = (event) => { event.preventDefault();
if (word.value === "maple") { localStorage.who = document.getElementById("name").value; location = "/" } }</script>"""
INSIDE = """<title>{title}</title><script>if (!localStorage.who) location = "/login?next={path}"</script>
<a id=out href=/bye>Sign out</a><h1>{title}</h1>{body}"""
NOTES = """<form method=post action=/notes><label>Note <input id=note name=note></label><button id=save>Save</button></form>"""


def _answer(asked: Asked) -> Answered:
    if asked.path == "/login":
        return Answered(LOGIN)
    saved = "<p role=status>Saved</p>" if asked.method == "POST" else ""
    title, body = ("Notes", saved + NOTES) if asked.path == "/notes" else ("Home", "")
    return Answered(INSIDE.format(title=title, path=asked.path, body=body))


def _documents() -> list[object]:
    def screen(name: str, sign: str) -> dict[str, object]:
        signature = {"required_indicators": [{"type": "dom_element", "selector": sign}]}
        return {"type": "screen", "screen_id": name, "name": name, "url": f"/{name}", "url_patterns": [f"^/{name}"],
                "state_signature": signature}  # fmt: skip

    def step(order: int, action: str, **given: object) -> dict[str, object]:
        return {"step_id": f"s{order}", "order": order, "action": {"action_type": action, **given}}

    def task(
        name: str, inputs: tuple[str, ...], *steps: dict[str, object], **more: object
    ) -> dict[str, object]:
        specs = [{"name": each, "source": "user_input", "secret": each == "word"} for each in inputs]
        return {"type": "task", "task_id": name, "name": name, "io_spec": {"inputs": specs}, "steps": list(steps), **more}  # fmt: skip

    at_notes = {"preconditions": [{"type": "on_screen", "screen_id": "notes"}]}
    raw = [
        screen("login", "#word"),
        screen("notes", "#note"),
        task(
            "sign_in",
            ("name", "word"),
            step(1, "navigate", target_screen="login"),
            step(2, "fill", target="#name", value="{name}"),
            step(3, "fill", target="#word", value="{word}"),
            step(4, "click", target="#go"),
            success_criteria=[{"type": "authenticated"}],
        ),
        task(
            "write_1",
            ("note",),
            step(1, "navigate", url="/notes"),
            step(2, "fill", target="#note", value="{note}") | at_notes,
            step(3, "click", target="#save"),
        ),
        {
            "type": "workflow",
            "workflow_id": "write",
            "name": "Write",
            "io_spec": {"inputs": [{"name": "note", "source": "user_input"}]},
            "nodes": [{"node_id": "n1", "type": "task", "task_id": "write_1", "inputs": {"note": {"source": "task_context", "key": "note"}}}],
            "success_criteria": [{"type": "dom_contains", "value": "Saved"}],
        },
    ]  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


async def _ran(browser, site, folder, **said):
    async with visiting(browser, site, folder, *_documents()) as session:
        told = [{"type": "dom_element", "selector": "#out"}]
        session.website = Website.model_validate(
            {**session.website.to_json(), "login_task_id": "sign_in", "authenticated_when": told}
        )
        session.context.said = said
        return await run_workflow(
            TaskRunner(session), await session.knowledge.workflow("write"), {"note": "Two sails"}
        )


async def test_a_workflow_that_was_recorded_signed_in_signs_in_where_the_website_asks(browser, tmp_path):
    with running_site(_answer) as site:
        result = await _ran(browser, site, tmp_path, name="Ann", word="maple")
        assert [(each.path, each.form) for each in site.writes] == [("/notes", {"note": "Two sails"})]
    assert (result.status, result.error) == (RunStatus.SUCCESS, None)


async def test_without_the_values_for_signing_in_the_failure_names_them(browser, tmp_path):
    with running_site(_answer) as site:
        try:
            result = await _ran(browser, site, tmp_path)
        except AgentError as exc:
            said = f"{exc} {exc.hint}"
        else:
            assert result.status is RunStatus.NEEDS_PERSON
            said = f"{result.error} {result.hint}"
        assert site.writes == []
    assert "name" in said
    assert "word" in said
    assert "sign_in" in said

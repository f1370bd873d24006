"""One action as a task of its own: with the same checks, journal and result as a step of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agent.execution.execution_ports import LoneAction
from kb_schema import parse_document
from kb_schema.fingerprints import Fingerprint
from kb_schema.run_records import RunResult
from kb_schema.selectors import Selector
from kb_schema.tasks import Task

if TYPE_CHECKING:
    from agent.execution.task_runner import TaskRunner

TASK = "single_action"
_VALUE = "value"


async def perform_single_action(
    engine: TaskRunner,
    action: str,
    target: str | Selector | None = None,
    *,
    value: str | None = None,
    secret: str | None = None,
    url: str | None = None,
    expects: Literal["accept", "dismiss", "new_tab"] | None = None,
    fingerprint: Fingerprint | None = None,
    alone: LoneAction | None = None,
) -> RunResult:
    """Perform an action on the page and return the result; see `TaskRunner.run_task` for what is raised.

    `target`: an element of the present screen, or a selector. `secret`: the name of a secret to type; its value
    comes from the run's vault. `url`: where `navigate` goes. `expects`: how a dialog of
    the page is answered, or that the action opens a tab, which becomes the session's page. `fingerprint`: what the element was when it was chosen.
    `alone`: nothing else is tried in its place and nothing leads off the page; it gets what the action failed with.
    """
    call: dict[str, Any] = {"action_type": action} if url is None else {"action_type": action, "url": url}
    if target is not None:
        call["target"] = (
            target if isinstance(target, str) else target.model_dump(mode="json", exclude_none=True)
        )
    if fingerprint is not None:
        call["fingerprint"] = fingerprint.model_dump(mode="json", exclude_none=True)
    if expects == "new_tab":
        call["new_tab"] = "follow"
    elif expects is not None:
        call["on_dialog"] = expects
    inputs: list[dict[str, Any]] = []
    given: dict[str, Any] = {}
    if secret is not None:
        inputs.append({"name": _VALUE, "key": secret, "secret": True, "source": "user_input"})
    elif value is not None:
        inputs.append({"name": _VALUE, "source": "user_input"})
        given[_VALUE] = value
    if inputs:
        call["value"] = f"{{{_VALUE}}}"
    document = {
        "type": "task",
        "task_id": TASK,
        "name": f"One action: {action}",
        "io_spec": {"inputs": inputs},
        "steps": [{"step_id": "act", "order": 1, "action": call}],
    }
    if alone is not None:
        document["resilience"] = {"max_retries": 0, "enable_replanning": False, "enable_degradation": False}
    task = parse_document(document)
    assert isinstance(task, Task)  # noqa: S101 - the document says so
    engine.session.knowledge.know(task)
    engine.alone = alone
    try:
        return await engine.run_task(TASK, given)
    finally:
        engine.alone = None

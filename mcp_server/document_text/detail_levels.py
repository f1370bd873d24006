"""The three levels of detail of a document.

`summary` is for choosing. `working_document` has what is needed to carry the document out, and still parses with
`kb_schema.parse_document` (a screen has its own short form, `mcp_server.document_text.screen_lines`). `full_document` is for changing: everything that was authored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kb_schema.action_documents import Action
from kb_schema.base import Document
from kb_schema.io_specs import InputSpec
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.screens import Screen, UIElement
from kb_schema.tasks import Task
from kb_schema.tool_answers import Detail
from kb_schema.websites import Website
from mcp_server.document_text import condition_text

_NOT_FOR_DOING = frozenset(
    {
        "website_id",
        "schema_version",
        "state_signature",
        "reliability_metrics",
        "use_cases",
        "layouts",
        "retention_days",
        "strategy_order",
    }
)
_NOTES = ("label", "description")
"""The parts of an author's free notes that help to carry a document out."""


def reduce_to_level(document: Document, detail: Detail) -> dict[str, Any]:
    """The document as JSON at a level of detail."""
    if detail == "full":
        return full_document(document)
    if detail == "working":
        return working_document(document)
    summarise = _SUMMARIES.get(document.kind)
    return _plain_summary(document) if summarise is None else summarise(document)


def full_document(document: Document) -> dict[str, Any]:
    """Everything, with the `type` by which it is parsed again."""
    return {"type": getattr(document, "type", document.kind), **document.to_json()}


def working_document(document: Document) -> dict[str, Any]:
    """Without signatures, fingerprints, statistics and notes."""
    data = {key: value for key, value in full_document(document).items() if key not in _NOT_FOR_DOING}
    if document.kind == "website":
        data |= {"website_id": document.local_id}
        data.pop("layouts", None)
    if "ui_elements" in data:
        data["ui_elements"] = [_lean_element(element) for element in data["ui_elements"]]
    if document.kind == "task":
        data["steps"] = [lean_step(step) for step in data["steps"]]
    return _with_notes(data)


def _lean_element(element: Mapping[str, Any]) -> dict[str, Any]:
    lean = {key: value for key, value in element.items() if key != "fingerprint"}
    selector = dict(lean["selector"])
    selector["strategies"] = [
        {key: value for key, value in strategy.items() if key not in ("meta", "confidence")}
        for strategy in selector["strategies"]
    ]
    return _with_notes(lean | {"selector": selector})


def lean_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as JSON without the fingerprint of its element."""
    return {
        **step,
        "action": {name: value for name, value in step["action"].items() if name != "fingerprint"},
    }


def _with_notes(data: dict[str, Any]) -> dict[str, Any]:
    notes = {key: value for key, value in data.pop("metadata", {}).items() if key in _NOTES}
    return data | {"metadata": notes} if notes else data


# -- summaries: one line a part --------------------------------------------------------------------


def element_line(element: UIElement) -> str:
    """`agent_name: Agent name (input) fill*`; `*` marks what must be done."""
    does = ", ".join(f"{each.action_type}{'*' * each.required}" for each in element.affordances)
    return f"{element.element_id}: {element.label} ({element.type}) {does}".rstrip()


def input_line(spec: InputSpec) -> str:
    """`email: string, required, from user_input`."""
    parts = [spec.type, "required" if spec.required and spec.default is None else "optional"]
    parts += [f"from {' or '.join(spec.source)}"] if spec.source else []
    return f"{spec.name}: {', '.join(parts)}"


def _plain_summary(document: Document) -> dict[str, Any]:
    fields = ("name", "description")
    said = {field: value for field in fields if (value := getattr(document, field, ""))}
    return {"id": document.local_id, **said}


def _screen(document: Document) -> dict[str, Any]:
    assert isinstance(document, Screen)  # noqa: S101 - the table below is by kind
    data: dict[str, Any] = {"id": document.screen_id, "name": document.name}
    data |= {"description": document.description} if document.description else {}
    data |= {"url": document.url} if document.url else {}
    return data | {"elements": [element_line(element) for element in document.ui_elements]}


def _task(document: Document) -> dict[str, Any]:
    assert isinstance(document, Task)  # noqa: S101 - the table below is by kind
    data = _plain_summary(document)
    data["inputs"] = [input_line(spec) for spec in document.io_spec.inputs]
    data["outputs"] = [spec.name for spec in document.io_spec.outputs]
    data["steps"] = [
        f"{step.step_id}: {step.description or condition_text.describe_call(step.action)}"
        for step in document.ordered_steps
    ]
    return data


def _flow(document: Document) -> dict[str, Any]:
    assert isinstance(document, PresentationFlow)  # noqa: S101 - the table below is by kind
    segments = [
        f"{segment.segment_id}: {segment.title or segment.type} {segment.task_id or segment.screen_id or ''}".rstrip()
        for segment in document.ordered_segments
    ]
    return _plain_summary(document) | {"segments": segments}


def _action(document: Document) -> dict[str, Any]:
    assert isinstance(document, Action)  # noqa: S101 - the table below is by kind
    parameters = [f"{name}{'*' * each.required}: {each.type}" for name, each in document.parameters.items()]
    return _plain_summary(document) | {"parameters": parameters, "idempotent": document.idempotent}


def _website(document: Document) -> dict[str, Any]:
    assert isinstance(document, Website)  # noqa: S101 - the table below is by kind
    data = _plain_summary(document) | {"base_url": document.base_url}
    return data | ({"login_task_id": document.login_task_id} if document.login_task_id else {})


_SUMMARIES: Mapping[str, Callable[[Document], dict[str, Any]]] = {
    "screen": _screen,
    "task": _task,
    "presentation_flow": _flow,
    "action": _action,
    "website": _website,
}

"""Answers as a few lines of text, for clients and models that do not read structured content."""

from __future__ import annotations

import json
from collections.abc import Iterable

from kb_schema.answers import (
    AvailableActions,
    DocumentAnswer,
    Groups,
    Identification,
    NextStep,
    Path,
    Paths,
    RecoveryOption,
    SearchResults,
    TaskList,
    Websites,
)
from kb_schema.calls import ActionCall
from mcp_server import wording


def identification(answer: Identification) -> str:
    """Screen, confidence, and what is worth knowing when it is not plain."""
    if answer.screen_id is None:
        lines = ["unknown screen", *([answer.hint] if answer.hint else [])]
        lines += [f"- not {each.screen_id}: {each.because}" for each in answer.candidates]
        return "\n".join([*lines, *_options(answer.recovery)])
    sure = "AMBIGUOUS, " if answer.ambiguous else ""
    lines = [f"{answer.screen_id} ({answer.name}), {sure}confidence {answer.confidence:.2f}"]
    lines += [f"- {words}" for words in answer.distinguishing]
    lines += [
        f"- {e.kind} {e.indicator}: {e.status}" for e in answer.evidence if e.weight and e.status != "held"
    ]
    return "\n".join(lines)


def document(answer: DocumentAnswer) -> str:
    """A heading and the document as compact JSON; a summary as lines."""
    heading = f"{answer.kind} {answer.id} ({answer.detail})"
    if answer.detail != "summary":
        return f"{heading}\n{json.dumps(answer.document, ensure_ascii=False, separators=(',', ':'))}"
    lines = [heading]
    for key, value in answer.document.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {item}" for item in value)] if value else []
        elif key != "id":
            lines.append(f"{key}: {value}")
    return "\n".join(lines)


def actions(answer: AvailableActions) -> str:
    """A line an action, then the tasks."""
    lines = [f"on {answer.screen_id} one can:"]
    for each in answer.actions:
        target = each.element_id or f"({each.label})"
        leads = f" -> {' or '.join(each.leads_to)}" if each.leads_to else ""
        lines.append(f"- {each.action_type} {target}{' (required)' * each.required}{leads}")
    return "\n".join([*lines, *([f"tasks: {', '.join(answer.tasks)}"] if answer.tasks else [])])


def paths(answer: Paths) -> str:
    """A line a path."""
    if not answer.paths:
        return f"no path from {answer.from_screen} to {answer.to_screen}: {answer.hint}"
    return "\n".join(f"{number}. {_path(path)}" for number, path in enumerate(answer.paths, start=1))


def _path(path: Path) -> str:
    if not path.steps:
        return "already there"
    hops = " ".join(
        f"-[{wording.of_call(ActionCall.model_validate(step.transition['triggered_by']))}]-> {step.to_screen}"
        for step in path.steps
    )
    assumed = f"; assumes {', '.join(path.assumptions)}" if path.assumptions else ""
    return (
        f"{path.steps[0].from_screen} {hops} "
        f"(about {path.expected_ms / 1000:.1f} s, reliability {path.reliability:.2f}{assumed})"
    )


def groups(answer: Groups) -> str:
    """A line a group."""
    if not answer.groups:
        return f"{answer.screen_id} is in no group; the website's default recovery applies"
    return "\n".join(f"- {each.group_id}: {each.name}" for each in answer.groups)


def recoveries(options: Iterable[RecoveryOption]) -> str:
    """A line a way out, best first."""
    return (
        "\n".join(_options(options)) or "no recovery is known; open the website's base URL and identify again"
    )


def _options(options: Iterable[RecoveryOption]) -> list[str]:
    return [
        f"{number}. {wording.of_call(ActionCall.model_validate(each.action))} -> {each.to_screen} "
        f"(priority {each.priority}, reliability {each.reliability:.2f})"
        + (f"; assumes {', '.join(each.assumptions)}" if each.assumptions else "")
        for number, each in enumerate(options, start=1)
    ]


def tasks(answer: TaskList) -> str:
    """A line a task."""
    lines = []
    for each in answer.tasks:
        optional = [f"{name}?" for name in each.optional_inputs]
        lines.append(
            f"- {each.task_id}({', '.join([*each.required_inputs, *optional])}): {each.description or each.name}"
        )
    if answer.next_cursor is not None:
        lines.append(f"more: list_tasks with cursor {answer.next_cursor!r}")
    return "\n".join(lines) or "no tasks"


def step(answer: NextStep) -> str:
    """The step and how many follow."""
    if answer.step is None:
        return f"{answer.task_id} is done: no step remains"
    said = json.dumps(answer.step, ensure_ascii=False, separators=(",", ":"))
    return f"{said}\nthen {answer.remaining} more"


def search(answer: SearchResults) -> str:
    """A line a hit."""
    return "\n".join(f"- {hit.kind} {hit.id}: {hit.excerpt}" for hit in answer.hits) or "nothing found"


def websites(answer: Websites) -> str:
    """A line a website."""
    lines = [
        f"- {each.website_id}: {each.name}, {each.base_url}, {each.screens} screens, {each.tasks} tasks"
        + (f", flows {', '.join(each.flows)}" if each.flows else "")
        for each in answer.websites
    ]
    return "\n".join(lines) or "no website is loaded; load one with `periplus kb load DIR`"

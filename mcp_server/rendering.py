"""Answers as a few lines of text, for clients and models that do not read structured content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kb_schema.answers import (
    AvailableActions,
    DocumentAnswer,
    Explanation,
    Groups,
    Identification,
    NextStep,
    Path,
    Paths,
    PathStep,
    RecoveryOption,
    SearchResults,
    SuggestedCall,
    TaskList,
    TaskSummary,
    Websites,
)
from kb_schema.calls import ActionCall
from mcp_server import reasons, wording


def identification(answer: Identification) -> str:
    """Screen, confidence, and what is worth knowing when it is not plain."""
    if answer.screen_id is None:
        lines = ["unknown screen", *([answer.hint] if answer.hint else [])]
        lines += [f"- not {each.screen_id}: {each.because}" for each in answer.candidates]
        return "\n".join([*lines, *_options(answer.recovery)])
    sure = "AMBIGUOUS, " if answer.ambiguous else ""
    because = f": {answer.because}" if answer.because else ""
    lines = [f"{answer.screen_id} ({answer.name}), {sure}confidence {answer.confidence:.2f}{because}"]
    lines += [f"- {words}" for words in answer.distinguishing]
    for each in answer.evidence:
        lines.append(
            f"- {each.kind} {each.indicator}: {each.status}{f' ({each.detail})' * bool(each.detail)}"
        )
    return "\n".join([*lines, *([answer.hint] if answer.hint else [])])


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
    """A line an action, then the tasks; of a summary a line an action type."""
    if answer.screen_id is None:
        return "\n".join(
            ["unknown screen", *([answer.hint] if answer.hint else []), *_options(answer.recovery)]
        )
    sure = "" if answer.confidence is None else f" ({answer.confidence:.2f})"
    lines = [f"{'AMBIGUOUS, perhaps ' * answer.ambiguous}on {answer.screen_id}{sure}:"]
    lines += [answer.hint] if answer.hint else []
    lines += answer.can
    for each in answer.actions:
        target = each.element_id or f"({each.label})"
        leads = f" -> {' or '.join(each.leads_to)}" if each.leads_to else ""
        first = f"; first: {', '.join(each.preconditions)}" if each.preconditions else ""
        found = f"; {each.find}" if each.find else ""
        lines.append(f"- {each.action_type} {target}{' (required)' * each.required}{leads}{first}{found}")
    lines += [f"tasks: {', '.join(answer.tasks)}"] if answer.tasks else []
    return "\n".join([*lines, *([f"and {answer.more} more, at detail working"] if answer.more else [])])


def paths(answer: Paths) -> str:
    """A line a path; what sets the others apart from the first."""
    if not answer.paths:
        return f"no path from {answer.from_screen} to {answer.to_screen}: {answer.hint}"
    lines = [f"{number}. {_path(path)}" for number, path in enumerate(answer.paths, start=1)]
    return "\n".join([*lines, *([answer.hint] if answer.hint else [])])


def _path(path: Path) -> str:
    if not path.steps:
        return "already there"
    hops = " ".join(f"-[{wording.of_call(step.call)}]-> {step.to_screen}" for step in path.steps)
    changes = dict.fromkeys(f"{kind} {what}" for step in path.steps for kind, what in _changes(step))
    changed = f"; on the way {', '.join(changes)}" if changes else ""
    assumed = f"; assumes {', '.join(path.assumptions)}" if path.assumptions else ""
    return (
        f"{path.steps[0].from_screen} {hops} "
        f"(about {path.expected_ms / 1000:.1f} s, reliability {path.reliability:.2f}{assumed}{changed})"
        + (f"; against the first: {reasons.in_words(path.against_best)}" if path.against_best else "")
    )


def _changes(step: PathStep) -> Iterator[tuple[str, str]]:
    """What taking a step does to what the website keeps: one may not want that only to get somewhere."""
    for effect in step.transition.get("effects", ()):
        if "entity_type" in effect:
            yield effect["type"], effect["entity_type"]


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
    """A line a task, with how it has to do with the screen that was asked about."""
    lines = []
    for each in answer.tasks:
        optional = [f"{name}?" for name in each.optional_inputs]
        related = f"[{each.relation}{f' {each.by}' if each.by else ''}] " if each.relation else ""
        inputs = ", ".join([*each.required_inputs, *optional])
        lines.append(f"- {related}{each.task_id}({inputs}): {each.description or each.name}{_way(each)}")
    if answer.next_cursor is not None:
        lines.append(f"more: ask again with cursor {answer.next_cursor!r}")
    return "\n".join(lines) or "no tasks"


def _way(task: TaskSummary) -> str:
    if task.way is None:
        return ""
    if task.way.url is not None:
        return f"; begins on {task.entry_screen}, open {task.way.url}"
    return (
        f"; begins on {task.entry_screen}, by {', '.join(task.way.transitions)} "
        f"(about {task.way.expected_ms / 1000:.1f} s)"
    )


def step(answer: NextStep) -> str:
    """The step, where it is, and how many follow."""
    if answer.step is None:
        told = f"; it succeeded if {', '.join(answer.success_criteria)}" if answer.success_criteria else ""
        return f"{answer.task_id} is done: no step remains{told}"
    lines = [json.dumps(answer.step, ensure_ascii=False, separators=(",", ":"))]
    lines += [f"on {answer.screen_id}"] if answer.screen_id else []
    for level in answer.within[1:]:
        bound = f" with {json.dumps(level.inputs, ensure_ascii=False)}" if level.inputs else ""
        again = "again, " * level.again
        over = (
            f", {again}until {level.until}, at most {level.max_iterations} times"
            if level.kind == "iteration"
            else ""
        )
        lines.append(f"inside {level.kind} {level.task_id}{bound}{over}")
    lines += [f"when the iteration is over: {answer.otherwise}"] if answer.otherwise else []
    lines.append(f"then {answer.remaining} more of {answer.task_id}; once done: after_step {answer.path!r}")
    return "\n".join(lines)


def search(answer: SearchResults) -> str:
    """A line a hit."""
    lines = [f"- {hit.kind} {hit.id}: {hit.excerpt}" for hit in answer.hits]
    lines += [f"more: cursor {answer.next_cursor!r}"] if answer.next_cursor else []
    return "\n".join(lines) or "nothing found"


def explanation(answer: Explanation) -> str:
    """A line a cause with what speaks for it, then what to call."""
    about = "/".join(each for each in (answer.task_id, answer.step_id) if each)
    where = f" on {answer.screen_id}" if answer.screen_id else ""
    lines = [f"{answer.error}{f' in {about}' if about else ''}{where}"]
    for number, each in enumerate(answer.causes, start=1):
        lines.append(f"{number}. {each.message} ({each.cause}, {each.confidence:.0%})")
        lines += [f"   - {words}" for words in each.evidence]
        lines += [f"   next: {_call(call)}" for call in each.next]
    if answer.strategy is not None:
        tried = [str(one.get("recovery") or one.get("action")) for one in answer.strategy["strategies"]]
        lines.append(f"the knowledge says: {', then '.join(tried)}")
    if answer.may_have_happened:
        lines.append("it may have happened all the same: look before repeating it")
    return "\n".join(lines)


def _call(call: SuggestedCall) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.tool}({arguments}){f' {call.why}' if call.why else ''}"


def websites(answer: Websites) -> str:
    """A line a website."""
    lines = [
        f"- {each.website_id}: {each.name}, {each.base_url}, {each.screens} screens, {each.tasks} tasks"
        + (f", flows {', '.join(each.flows)}" if each.flows else "")
        for each in answer.websites
    ]
    return "\n".join(lines) or "no website is loaded; load one with `periplus kb load DIR`"

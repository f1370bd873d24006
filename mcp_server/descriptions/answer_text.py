"""Text rendering of answers, for clients and models that do not read structured content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kb_schema import parse_document
from kb_schema.action_calls import ActionCall
from kb_schema.graph_documents import TaskDependency
from kb_schema.tool_answers import (
    ActionAnswer,
    AvailableActions,
    DocumentAnswer,
    FailureExplanation,
    GroupList,
    Identification,
    NextStep,
    Path,
    PathSearchResult,
    PathStep,
    RecoveryOption,
    SearchResults,
    SuggestedCall,
    TaskAnswer,
    TaskInput,
    TaskList,
    TaskSummary,
    WebsiteList,
)
from mcp_server.document_text import condition_text
from mcp_server.paths import path_explanations


def render_identification(answer: Identification) -> str:
    """Render screen and confidence, and details if the result is not clear."""
    if answer.screen_id is None:
        lines = ["unknown screen", *([answer.hint] if answer.hint else [])]
        lines += [f"- not {each.screen_id}: {each.because}" for each in answer.candidates]
        return "\n".join([*lines, *_render_options(answer.recovery)])
    sure = "AMBIGUOUS, " if answer.ambiguous else ""
    because = f": {answer.because}" if answer.because else ""
    lines = [f"{answer.screen_id} ({answer.name}), {sure}confidence {answer.confidence:.2f}{because}"]
    lines += [f"- one of: {', '.join(answer.ambiguous_of)}"] if answer.ambiguous_of else []
    lines += [f"- {words}" for words in answer.distinguishing]
    for each in answer.evidence:
        lines.append(
            f"- {each.kind} {each.indicator}: {each.status}{f' ({each.detail})' * bool(each.detail)}"
        )
    return "\n".join([*lines, *([answer.hint] if answer.hint else [])])


def render_document(answer: DocumentAnswer) -> str:
    """A heading and the document as compact JSON; a summary as lines."""
    return _render_under(f"{answer.kind} {answer.id} ({answer.detail})", answer)


def render_action(answer: ActionAnswer) -> str:
    """Like a document, with a line for each transition that the action causes."""
    heading = f"{answer.kind} {answer.id} ({answer.detail})"
    return _render_under("\n".join([heading, *(f"causes {each}" for each in answer.triggers)]), answer)


def render_task(answer: TaskAnswer) -> str:
    """Like a document, with a line for each input, for each task that runs first, and for each it is composed of."""
    heading = [f"{answer.kind} {answer.id} ({answer.detail})", *map(_render_input, answer.inputs)]
    heading += map(_render_dependency, answer.depends_on)
    heading += [
        f"{'  ' * part.level}{part.by} {'runs' if part.relation == 'runs' else 'depends on'} {part.task_id}"
        for part in answer.composed_of
        if part.level > 1 or part.relation == "runs"
    ]
    return _render_under("\n".join(heading), answer)


def _render_under(heading: str, answer: DocumentAnswer) -> str:
    if answer.detail != "summary" and "elements" not in answer.document:
        return f"{heading}\n{json.dumps(answer.document, ensure_ascii=False, separators=(',', ':'))}"
    lines = [heading]
    for key, value in answer.document.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {item}" for item in value)] if value else []
        elif key != "id":
            lines.append(f"{key}: {value}")
    return "\n".join(lines)


def _render_input(given: TaskInput) -> str:
    """`input language (optional): Language code; for example en-US; one of en-US (English), hi-IN (Hindi)`."""
    kind = "secret, set on the server" if given.secret else "needed" if given.needed else "optional"
    parts = [f"input {given.name} ({kind}): {given.what}"]
    parts += [f"for example {given.example}"] if given.example is not None else []
    parts += [f"one of {', '.join(given.allowed)}"] if given.allowed else []
    return "; ".join([*parts, *given.rules])


def _render_dependency(edge: dict[str, Any]) -> str:
    """`depends on login`, `depends on create_agent if agent_id is not known`."""
    dependency = parse_document(edge)
    if not isinstance(dependency, TaskDependency):
        return ""
    condition = dependency.condition
    when = "" if condition is None else f" if {condition_text.describe_condition(condition)}"
    return f"depends on {dependency.to_task}, which runs first{when}"


def render_actions(answer: AvailableActions) -> str:
    """Render one line per action, then the tasks. A summary has one line per action type."""
    if answer.screen_id is None:
        return "\n".join(
            ["unknown screen", *([answer.hint] if answer.hint else []), *_render_options(answer.recovery)]
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


def render_paths(answer: PathSearchResult) -> str:
    """Render one line per path; alternatives show how they differ from the first."""
    if not answer.paths:
        return f"no path from {answer.from_screen} to {answer.to_screen}: {answer.hint}"
    lines = [f"{number}. {_render_path(path)}" for number, path in enumerate(answer.paths, start=1)]
    return "\n".join([*lines, *([answer.hint] if answer.hint else [])])


def _render_path(path: Path) -> str:
    if not path.steps:
        return "already there"
    hops = " ".join(f"-[{condition_text.describe_call(step.call)}]-> {step.to_screen}" for step in path.steps)
    changes = dict.fromkeys(f"{kind} {what}" for step in path.steps for kind, what in _list_changes(step))
    changed = f"; on the way {', '.join(changes)}" if changes else ""
    assumed = f"; assumes {', '.join(path.assumptions)}" if path.assumptions else ""
    values = dict.fromkeys(name for step in path.steps for name in step.needs)
    needed = f"; needs a value for {', '.join(values)}" if values else ""
    return (
        f"{path.steps[0].from_screen} {hops} "
        f"(about {path.expected_ms / 1000:.1f} s, reliability {path.reliability:.2f}{assumed}{needed}{changed})"
        + (
            f"; against the first: {path_explanations.describe_comparison(path.against_best)}"
            if path.against_best
            else ""
        )
    )


def _list_changes(step: PathStep) -> Iterator[tuple[str, str]]:
    """Render what a transition changes on the website, which is unwanted if the only aim is to get somewhere."""
    for effect in step.transition.get("effects", ()):
        if "entity_type" in effect:
            yield effect["type"], effect["entity_type"]


def render_groups(answer: GroupList) -> str:
    """Render one line per group."""
    if not answer.groups:
        return f"{answer.screen_id} is in no group; the website's default recovery applies"
    return "\n".join(f"- {each.group_id}: {each.name}" for each in answer.groups)


def render_recoveries(options: Iterable[RecoveryOption]) -> str:
    """Render one line per recovery option, best first."""
    return (
        "\n".join(_render_options(options))
        or "no recovery is known; open the website's base URL and identify again"
    )


def _render_options(options: Iterable[RecoveryOption]) -> list[str]:
    return [
        f"{number}. {condition_text.describe_call(ActionCall.model_validate(each.action))} -> {each.to_screen} "
        f"(priority {each.priority}, reliability {each.reliability:.2f})"
        + (f"; assumes {', '.join(each.assumptions)}" if each.assumptions else "")
        for number, each in enumerate(options, start=1)
    ]


def render_tasks(answer: TaskList) -> str:
    """Render one line per task, with its relation to the requested screen."""
    lines = []
    for each in answer.tasks:
        optional = [f"{name}?" for name in each.optional_inputs]
        related = f"[{each.relation}{f' {each.by}' if each.by else ''}] " if each.relation else ""
        inputs = ", ".join([*each.required_inputs, *optional])
        lines.append(
            f"- {related}{each.task_id}({inputs}): {each.description or each.name}{_render_path_to_task(each)}"
        )
    if answer.next_cursor is not None:
        lines.append(f"more: ask again with cursor {answer.next_cursor!r}")
    return "\n".join(lines) or "no tasks"


def _render_path_to_task(task: TaskSummary) -> str:
    if task.way is None:
        return ""
    if task.way.url is not None:
        return f"; begins on {task.entry_screen}, open {task.way.url}"
    return (
        f"; begins on {task.entry_screen}, by {', '.join(task.way.transitions)} "
        f"(about {task.way.expected_ms / 1000:.1f} s)"
    )


def render_step(answer: NextStep) -> str:
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


def render_search(answer: SearchResults) -> str:
    """Render one line per hit: kind, id, name, how much of the query it says, and an excerpt."""
    lines = [
        f"- {hit.kind} {hit.id}"
        + (f" ({hit.name})" if hit.name != hit.id else "")
        + f", match {hit.match:.2f}"
        + (f": {hit.excerpt}" if hit.excerpt not in (hit.name, hit.id) else "")
        for hit in answer.hits
    ]
    lines += [f"more: cursor {answer.next_cursor!r}"] if answer.next_cursor else []
    return "\n".join(lines) or answer.hint or "no more hits"


def render_explanation(answer: FailureExplanation) -> str:
    """Render one line per cause with its evidence, then the next call."""
    about = "/".join(each for each in (answer.task_id, answer.step_id) if each)
    where = f" on {answer.screen_id}" if answer.screen_id else ""
    lines = [f"{answer.error}{f' in {about}' if about else ''}{where}"]
    for number, each in enumerate(answer.causes, start=1):
        lines.append(f"{number}. {each.message} ({each.cause}, {each.confidence:.0%})")
        lines += [f"   - {words}" for words in each.evidence]
        lines += [f"   next: {_render_call(call)}" for call in each.next]
    if answer.strategy is not None:
        tried = [str(one.get("recovery") or one.get("action")) for one in answer.strategy["strategies"]]
        lines.append(f"the knowledge says: {', then '.join(tried)}")
    if answer.may_have_happened:
        lines.append("it may have happened all the same: look before repeating it")
    return "\n".join(lines)


def _render_call(call: SuggestedCall) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.tool}({arguments}){f' {call.why}' if call.why else ''}"


def render_websites(answer: WebsiteList) -> str:
    """Render one line per website."""
    lines = [
        f"- {each.website_id}: {each.name}, {each.base_url}, {each.screens} screens, {each.tasks} tasks"
        + (f", flows {', '.join(each.flows)}" if each.flows else "")
        for each in answer.websites
    ]
    return "\n".join(lines) or "no website is loaded; load one with `periplus kb load DIR`"

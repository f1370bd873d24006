"""Checks presentation flows beyond their references.

Marks must match an action, elements must be on the screen, hooks must name existing steps, resume points must
exist, and the required segments must fit into the time window.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kb_schema.documents import did_you_mean
from kb_schema.engagement_rules import parse_engagement_rules
from kb_schema.errors import Problem, Severity
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.narration_marks import list_mark_names, read_marks
from kb_schema.nested_models import walk
from kb_schema.presentation_flows import CURRENT, DEPTHS, NEXT, PresentationFlow, Segment
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

RULE = "flows"
_LIKE_A_MARK = re.compile(r"\[\[(.*?)(?:\]\]|$)", re.DOTALL)
_MARK = re.compile(r"at:[A-Za-z0-9_.-]+")


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield every problem of every flow; harmless ones are warnings."""
    for flow in knowledge.flows.values():
        for problem in (*_segments(knowledge, flow), *_paths(flow), *_window(flow)):
            yield Problem(
                problem.message,
                problem.path,
                f"presentation_flow:{flow.flow_id}",
                fix=problem.fix,
                rule=RULE,
                severity=problem.severity,
            )


def list_spoken_texts(segment: Segment) -> Iterator[tuple[str, str]]:
    """Yield every spoken text of a segment, in every language, with its path inside the segment."""
    yield "narration_template", segment.narration_template
    for language, words in segment.translations.items():
        yield f"translations.{language}.narration_template", words.narration_template
    for depth, variant in segment.depths.items():
        yield f"depths.{depth}.narration_template", variant.narration_template or ""
        for language, words in variant.translations.items():
            yield f"depths.{depth}.translations.{language}.narration_template", words.narration_template
    for number, hook in enumerate(segment.narrative_hooks):
        path = f"narrative_hooks[{number}]"
        yield f"{path}.narration", hook.narration
        for language, translation in hook.translations.items():
            yield f"{path}.translations.{language}.narration", translation.narration


def _segments(knowledge: KnowledgeBase, flow: PresentationFlow) -> Iterator[Problem]:
    for index, segment in enumerate(flow.segments):
        path = f"$.segments[{index}]"
        yield from _marks(knowledge, segment, path)
        yield from _elements(knowledge, segment, path)
        for number, hook in enumerate(segment.narrative_hooks):
            if hook.step_id is not None and segment.type != "task_execution":
                yield Problem(
                    f'a {segment.type} segment has no step "{hook.step_id}"',
                    f"{path}.narrative_hooks[{number}].step_id",
                    fix="remove step_id: the hook then applies to the whole segment",
                )
        for number, rule in enumerate(segment.engagement_rules):
            if not parse_engagement_rules(rule):
                yield Problem(
                    f'unknown engagement rule "{rule}"',
                    f"{path}.engagement_rules[{number}]",
                    fix="write it as {rule: never_silent | explain_fields | confirm_success | say_why_first | "
                    "use_visitor_name}",
                    severity=Severity.WARNING,
                )


def _marks(knowledge: KnowledgeBase, segment: Segment, path: str) -> Iterator[Problem]:
    """Check that each mark names an action of the segment's task, or an element of its screen."""
    known = _waiting(knowledge, segment)
    for where, text in list_spoken_texts(segment):
        for inside in _LIKE_A_MARK.findall(text):
            if _MARK.fullmatch(inside) is None:
                yield Problem(f'"[[{inside}" is not a mark', f"{path}.{where}", fix="write [[at:NAME]]")
        for name, _ in read_marks(text).marks:
            if known is not None and name not in known:
                yield Problem(
                    f'no action has the name of the mark "[[at:{name}]]"',
                    f"{path}.{where}",
                    fix=did_you_mean(name, sorted(known))
                    or "name a step, an action or an element that the segment shows",
                )


def _waiting(knowledge: KnowledgeBase, segment: Segment) -> Collection[str] | None:
    """Return the names that a mark may use; None if they are unknown because the task is missing."""
    if segment.type == "explanation":
        return knowledge.elements(segment.screen_id or "") if segment.screen_id in knowledge.screens else None
    if segment.type == "conversational":
        return ()
    work: Task | Workflow | None = knowledge.tasks.get(segment.task_id or "")
    work = work or knowledge.workflows.get(segment.task_id or "")
    if work is None:
        return None
    waiting = {segment.task_id or ""} if isinstance(work, Task) else _tasks_of(work)
    names: set[str] = set()
    seen: set[str] = set()
    while waiting:
        task = knowledge.tasks.get(name := waiting.pop())
        if task is None or name in seen:
            continue
        seen.add(name)
        for step in task.steps:
            names |= {step.step_id, *list_mark_names(step.action, step.step_id)}
            waiting |= {step.action.task_id} if step.action.task_id else set()
        item = getattr(task.iterator_spec, "item_action", None)
        waiting |= {item.task_id} if item is not None and item.task_id else set()
    return names


def _tasks_of(work: Workflow) -> set[str]:

    named = (getattr(node, "task_id", None) for _, node in walk(work))
    return {name for name in named if isinstance(name, str)}


def _elements(knowledge: KnowledgeBase, segment: Segment, path: str) -> Iterator[Problem]:
    """Check that highlighted and scrolled-to elements are on the screen."""
    named = [("scrolling.elements", segment.scrolling.elements)]
    named += [(f"depths.{depth}.highlights", v.highlights or ()) for depth, v in segment.depths.items()]
    if segment.type != "explanation":
        named.append(("highlights", segment.highlights))
        for where, names in named:
            if names:
                yield Problem(
                    f"a {segment.type} segment points at nothing", f"{path}.{where}", fix="leave it out"
                )
        return
    if segment.screen_id not in knowledge.screens:
        return
    here = knowledge.elements(segment.screen_id or "")
    for where, names in named:
        for number, name in enumerate(names):
            if name not in here:
                yield Problem(
                    f'no element on screen "{segment.screen_id}": "{name}"',
                    f"{path}.{where}[{number}]",
                    fix=did_you_mean(name, sorted(here)) or "name an element of the screen",
                )


def _paths(flow: PresentationFlow) -> Iterator[Problem]:
    """Check that fallback paths resume somewhere and skip no required segment."""
    segments = {segment.segment_id: segment for segment in flow.segments}
    for index, fallback in enumerate(flow.fallback_paths):
        path, point = f"$.fallback_paths[{index}]", fallback.resume_point
        if point not in (None, CURRENT, NEXT) and point not in segments:
            yield Problem(
                f'no segment "{point}" to resume at',
                f"{path}.resume_point",
                fix=did_you_mean(point or "", sorted([CURRENT, NEXT, *segments]))
                or f"{CURRENT}, {NEXT} or a segment",
            )
        if fallback.condition != "time_running_out":
            continue
        for number, name in enumerate(fallback.segments_to_skip):
            if name in segments and not segments[name].droppable:
                yield Problem(
                    f'"{name}" may not be skipped: it is required, or may not be',
                    f"{path}.segments_to_skip[{number}]",
                    fix="take it out, or let it be skipped",
                    severity=Severity.WARNING,
                )


def _window(flow: PresentationFlow) -> Iterator[Problem]:
    """Check that the required segments, at their shortest, fit into the time window."""
    most = flow.duration.max
    if most is None:
        return
    always = [segment for segment in flow.segments if not segment.droppable]
    least = sum(min(segment.expected(depth) for depth in DEPTHS) for segment in always)
    if least > most:
        yield Problem(
            f"the required segments take about {least:.0f} s, more than the flow's {most:.0f} s",
            "$.duration.max",
            fix="give the flow more time, or make more segments optional",
            severity=Severity.WARNING,
        )

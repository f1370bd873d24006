"""Drafts a presentation flow: welcome, signing in, a tour of the main menu, one task with proof, and a close.

The narration uses the website's own words: its name and description, headings, and the names of controls. It is
a draft for a person to edit, or for a language model to word better.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema import KnowledgeBase
from kb_schema.io_specs import Duration
from kb_schema.presentation_flows import (
    FallbackPath,
    NarrativeHook,
    PresentationFlow,
    Segment,
    speaking_time,
)
from kb_schema.screens import Screen, UIElement
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from loaders.flow_drafts.menu_tour import (
    choose_highlights,
    choose_stops,
    find_start,
    heading_of,
    shown_screens,
)
from loaders.flow_drafts.sample_inputs import choose_inputs

TASK_S = 25.0
"""Seconds that a task is expected to take at speed 1."""
PAUSE_S = 2.0
"""Seconds for opening a screen."""
DRAFTED = "Mapped from "
"""How a map begins the description of a website that nobody has described yet."""
SLOWEST = 2
"""How many times as long as estimated the demo may take before segments are left out: nothing was measured yet."""
WELCOME, SIGN_IN, SHOWN_TASK, CLOSE = "welcome", "sign_in", "task", "close"


def draft_flow(
    knowledge: KnowledgeBase, flow_id: str, *, work: str | None = None, mentions: Sequence[str] = ()
) -> PresentationFlow:
    """Return a flow that tours the website's main menu and shows one piece of work.

    `work` is the id of a task or workflow; None: only the tour. `mentions`: screens that belong to the goal;
    they are shown first. The flow is valid for the knowledge base it was drafted from.
    """
    website = knowledge.website
    start = find_start(knowledge)
    stops = [each for name in mentions for each in shown_screens(knowledge) if each.screen_id == name]
    stops += [each for each in choose_stops(knowledge) if each not in stops]
    stops = [each for each in stops if each != start]
    shown = knowledge.tasks.get(work or "") or knowledge.workflows.get(work or "")
    segments = [
        *_opening(knowledge, start),
        *(_stop(knowledge, each, number) for number, each in enumerate(stops)),
        *([] if shown is None else [_task(knowledge, shown)]),
        _said(CLOSE, "Thank you", _closing(website.name, stops), required=True),
    ]
    total = sum(each.duration or 0 for each in segments)
    return PresentationFlow(
        type="presentation_flow",
        flow_id=flow_id,
        name=f"{website.name}: a tour",
        description=website.description,
        presenter="Robin",
        duration=Duration(estimated=round(total), max=round(total * SLOWEST)),
        segments=tuple(each.model_copy(update={"order": n}) for n, each in enumerate(segments, start=1)),
        fallback_paths=(
            FallbackPath(
                condition="time_running_out",
                segments_to_skip=tuple(each.segment_id for each in reversed(segments) if each.droppable),
            ),
            FallbackPath(condition="user_interrupts", action="pause_and_ask", resume_point="current_segment"),
            FallbackPath(condition="segment_failed", action="skip"),
        ),
    )


def spoken(text: str) -> str:
    """Return words of the website as narration: on one line, without braces and marks, which mean something there."""
    return " ".join(text.replace("{", "(").replace("}", ")").replace("[[", "(").replace("]]", ")").split())


def list_words(items: Sequence[str]) -> str:
    """Return items as a spoken list: `a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _opening(knowledge: KnowledgeBase, start: Screen | None) -> list[Segment]:
    website = knowledge.website
    greeting = f"Welcome to {spoken(website.name)}."
    if website.description and not website.description.startswith(DRAFTED):
        greeting += f" {_sentence(website.description)}"
    login = knowledge.tasks.get(website.login_task_id or "")
    if login is not None:
        hook = NarrativeHook(hook_type="before", narration="First I sign in.")
        sign_in = Segment(
            segment_id=SIGN_IN, order=1, type="task_execution", title="Sign in", task_id=login.task_id,
            required=True, can_skip=False, duration=TASK_S / 2, narrative_hooks=(hook,),
        )  # fmt: skip
        opening = [_said(WELCOME, "Welcome", greeting, required=True), sign_in]
        return (
            opening
            if start is None
            else [*opening, _show(knowledge, start, "start", "This is where you begin.")]
        )
    if start is None:
        return [_said(WELCOME, "Welcome", greeting, required=True)]
    return [_show(knowledge, start, WELCOME, greeting, required=True)]


def _stop(knowledge: KnowledgeBase, screen: Screen, number: int) -> Segment:
    heading = spoken(heading_of(screen)).rstrip(".")
    first = "Let us look around. This is" if number == 0 else ("Next," if number % 2 else "And here is")
    told = f"{first} {heading}."
    if screen.description and screen.description != heading:
        told += f" {_sentence(screen.description)}"
    return _show(knowledge, screen, f"show_{screen.screen_id}"[:200], told)


def _show(
    knowledge: KnowledgeBase, screen: Screen, segment_id: str, told: str, *, required: bool = False
) -> Segment:
    elements = choose_highlights(knowledge, screen)
    narration = " ".join(filter(None, (told, _controls(elements))))
    return Segment(
        segment_id=segment_id, order=1, type="explanation", title=spoken(heading_of(screen))[:80],
        screen_id=screen.screen_id, narration_template=narration, required=required, can_skip=not required,
        duration=_seconds(narration), highlights=tuple(each.element_id for each in elements),
    )  # fmt: skip


def _controls(elements: Sequence[UIElement]) -> str:
    """Return a sentence that names controls, each with its mark, so that the pointer is there with the word."""
    if not elements:
        return ""
    return f"Here you find {list_words([f'[[at:{each.element_id}]] {spoken(each.label)}' for each in elements])}."


def _task(knowledge: KnowledgeBase, work: Task | Workflow) -> Segment:
    name = spoken(work.name or work.local_id.replace("_", " "))
    intro = f"Now I show you one thing from start to end: {name}."
    if work.description and work.description.casefold() != name.casefold():
        intro += f" {_sentence(work.description)}"
    return Segment(
        segment_id=SHOWN_TASK, order=1, type="task_execution", title=name[:80], task_id=work.local_id,
        required=True, can_skip=False, duration=TASK_S + _seconds(intro),
        input_mapping=choose_inputs(knowledge, work),
        narrative_hooks=(
            NarrativeHook(hook_type="before", narration=intro),
            NarrativeHook(hook_type="after", narration="Done. You see the result on the page."),
        ),
        engagement_rules=("Confirm success before moving to the next segment",),
    )  # fmt: skip


def _said(segment_id: str, title: str, text: str, *, required: bool) -> Segment:
    return Segment(
        segment_id=segment_id, order=1, type="conversational", title=title, narration_template=text,
        required=required, can_skip=not required, duration=_seconds(text),
    )  # fmt: skip


def _closing(name: str, stops: Sequence[Screen]) -> str:
    seen = [spoken(heading_of(each)) for each in stops[:3]]
    told = f"That was {spoken(name)}{': ' + list_words(seen) if seen else ''}."
    return f"{told} Thank you for watching."


def _sentence(text: str) -> str:
    words = spoken(text)
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _seconds(text: str) -> float:
    return round(speaking_time(text) + PAUSE_S, 1)

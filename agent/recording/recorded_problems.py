"""Says in sentences what a recording cannot repeat, and asks about what changed a page without being a step."""

from __future__ import annotations

from agent.recording.recorded_actions import read_words_and_controls
from agent.recording.recorded_events import PageBeforeEvent, RecordedEvent


def find_problem(what: RecordedEvent, seen: PageBeforeEvent) -> str | None:
    """Return why an event cannot be repeated as it was done; None if it can."""
    if what.drawing is not None:
        at = f"{what.drawing[0]}, {what.drawing[1]}"
        if what.kind != "drag" or seen.drop is not None:
            done = (
                f"dragging on a drawing (canvas) to {at}"
                if what.kind == "drag"
                else f"pressing a drawing (canvas) at {at}"
            )
            return f"{done} is repeated by its place alone: what is drawn there is not compared"
    if what.undone:
        return (
            f"undo in {seen.said} cannot be repeated as it was done: the step writes the text that was left, "
            "and paragraphs, lists and marks may differ"
        )
    if what.kind == "drag" and seen.drop is None:
        return f"dragging {seen.said} cannot be repeated: no selector leads to the place where it ended"
    return None


def describe_lost(what: RecordedEvent) -> str:
    """Return the sentence about what a person did and the recording does not have."""
    if what.kind == "lost":
        return f"something was pressed or typed on {what.url} and is not in the recording: {what.unread}"
    on = "" if what.tag is None else f" on <{what.tag}>"
    return f"{what.kind}{on} is not in the recording, as the page {what.url} could not be read: {what.unread}"


def describe_unlistened(url: str) -> str:
    """Return the sentence about a tab that never told that it listens."""
    return f"the recorder could not listen in the tab with {url}: what was done there is not in the recording"


def is_unheard_change(seen: PageBeforeEvent) -> bool:
    """Whether words or controls of the page changed with a press of which nothing was told."""
    if seen.after is None:
        return False
    before, after = (read_words_and_controls(html, seen.url) for html in (seen.html, seen.after))
    return before != after


def describe_unheard(what: RecordedEvent, seen: PageBeforeEvent) -> str:
    """Return the question about such a press."""
    if what.button:
        return f"pressing {seen.said} with {what.button} changed the page and cannot be repeated: does it belong to the task?"
    return (
        f"pressing {seen.said} changed the page, and no step was recorded of it: does it belong to the task?"
    )

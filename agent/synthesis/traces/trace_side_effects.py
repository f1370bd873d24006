"""Side effects of actions (dialogs, downloads, new tabs), from the traces to the graph.

A normalised step has them in its metadata under `SIDE_EFFECTS_KEY`, in the form of an action call (`on_dialog`,
`new_tab`, `download`). The text for a prompt is an argument, so that it can vary. A run follows a new tab
and returns when it closes; a trace that switches between open tabs is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.action_calls import DialogAnswer
from kb_schema.execution_traces import TraceStep

SIDE_EFFECTS_KEY = "beside"
"""Metadata key of a normalised step."""
DIALOG_TEXT = "dialog_text"
"""Argument with the text that is typed into a prompt."""
OPENS_TAB = "opens_tab"
"""Metadata key of a recorded step that opens a tab."""
_TAB, _DOWNLOAD = "tab", "download"
"""Metadata keys of recorded steps."""


class InterleavedTabs(ValueError):
    """A trace switches between open tabs. `index` is the step that a run cannot follow."""

    def __init__(self, index: int, tab: int) -> None:
        self.index, self.tab = index, tab
        super().__init__(
            f"switches to tab {tab}; a run can only follow a tab when it opens, and close it to return: "
            "record the task with one tab after the other"
        )


def split_side_effects(
    args: dict[str, Any], metadata: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments and metadata of a step, with its side effects under `SIDE_EFFECTS_KEY`.

    Raises `ValueError` for an invalid dialog answer.
    """
    rest = {key: value for key, value in args.items() if key not in ("on_dialog", "new_tab", "download")}
    beside: dict[str, Any] = dict(metadata.get(SIDE_EFFECTS_KEY) or {})
    if args.get("on_dialog") is not None:
        answer = DialogAnswer.model_validate(args["on_dialog"])
        beside["on_dialog"] = answer.accept
        if answer.accept and answer.text is not None:
            rest[DIALOG_TEXT] = answer.text
    if args.get("new_tab") is not None:
        beside["new_tab"] = args["new_tab"]
    if args.get("download") is not None or metadata.get(_DOWNLOAD) is not None:
        beside["download"] = True
    return rest, {**metadata, SIDE_EFFECTS_KEY: beside} if beside else metadata


def linearize_tabs(steps: Sequence[TraceStep]) -> tuple[TraceStep, ...]:
    """Return the steps with what happens to each new tab, and with steps that close finished tabs.

    Raises `InterleavedTabs`.
    """
    if all(_tab(step) == _tab(steps[0]) and OPENS_TAB not in step.metadata for step in steps):
        return tuple(steps)
    way = _TabSequence([_tab(steps[0])])
    made: list[TraceStep] = []
    for index, step in enumerate(steps):
        made += way.to(index, step, steps)
        made.append(way.opening(index, step, steps))
    return tuple(made)


def merge_side_effects(steps: Iterable[TraceStep], number: int) -> tuple[dict[str, Any], list[str]]:
    """Return the side effects on which all steps agree, and a text for each one on which they disagree.

    `number` makes the names of downloads unique.
    """
    told = [step.metadata.get(SIDE_EFFECTS_KEY) or {} for step in steps]
    found: dict[str, Any] = {}
    doubts: list[str] = []
    answers = {each["on_dialog"] for each in told if "on_dialog" in each}
    if len(answers) == 1:
        found["on_dialog"] = {"accept": answers.pop()}
    elif answers:
        doubts.append("the dialog was accepted in some traces and dismissed in others, for no visible reason")
    for key, what in (("new_tab", "a new tab opened"), ("download", "a download began")):
        values = {each.get(key) for each in told}
        if values == {None} or not values:
            continue
        if len(values) > 1:
            doubts.append(f"{what} only in some traces, or was handled differently")
            continue
        found[key] = f"download_{number + 1}" if key == "download" else values.pop()
    return found, doubts


@dataclass(slots=True)
class _TabSequence:
    """Follows the tabs of one trace."""

    open: list[int]
    """Open tabs, each opened by the one before it; the last one is active."""
    left: set[int] = field(default_factory=set)

    def to(self, index: int, step: TraceStep, steps: Sequence[TraceStep]) -> list[TraceStep]:
        """Return the steps that switch to the tab of a step."""
        tab = _tab(step)
        if tab == self.open[-1]:
            return []
        if tab in self.open:
            closed = len(self.open) - 1 - self.open.index(tab)
            self.left.update(self.open[-closed:])
            del self.open[-closed:]
            return [_closing(steps[index - 1], step)] * closed
        returns = any(_tab(later) in self.open for later in steps[index:])
        opened = any(before.metadata.get(OPENS_TAB) == tab for before in steps[:index])
        if tab in self.left or opened or returns or step.action_type != "navigate":
            raise InterleavedTabs(index, tab)
        self.open = [tab]  # the person never returned from the new tab: the run stays in it
        return []

    def opening(self, index: int, step: TraceStep, steps: Sequence[TraceStep]) -> TraceStep:
        """Return the step with what happens to the tab that it opens."""
        tab = step.metadata.get(OPENS_TAB)
        if tab is None:
            return step
        following = index + 1 < len(steps) and _tab(steps[index + 1]) == tab
        if following:
            self.open.append(tab)
        beside = {
            **(step.metadata.get(SIDE_EFFECTS_KEY) or {}),
            "new_tab": "follow" if following else "close",
        }
        return step.model_copy(update={"metadata": {**step.metadata, SIDE_EFFECTS_KEY: beside}})


def _tab(step: TraceStep) -> int:
    return int(step.metadata.get(_TAB) or 0)


def _closing(last: TraceStep, following: TraceStep) -> TraceStep:
    return TraceStep(
        action_type="close_tab",
        html_before=last.html_after,
        html_after=following.html_before,
        source_url=last.source_url,
        timestamp=last.timestamp,
        metadata={_TAB: _tab(last)},
    )

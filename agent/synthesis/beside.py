"""What actions lead to beside the page (questions, downloads, other tabs), from the traces to the graph.

In a normalised step it stands in the metadata under `BESIDE`, as an action call says it (`on_dialog`,
`new_tab`, `download`); a prompt's text is an argument, so that it can vary. Runs follow one tab into the
next and back: a trace that does otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.calls import DialogAnswer
from kb_schema.traces import TraceStep

BESIDE = "beside"
"""Key in a step's metadata."""
DIALOG_TEXT = "dialog_text"
"""The argument that holds what is typed into a prompt."""
_TAB, _OPENS, _DOWNLOAD = "tab", "opens_tab", "download"
"""Keys in the metadata of recorded steps."""


class TabsMixed(ValueError):
    """Tabs are worked in by turns. `index` is the step that goes where a run cannot."""

    def __init__(self, index: int, tab: int) -> None:
        self.index, self.tab = index, tab
        super().__init__(
            f"goes to tab {tab}, which a run cannot: it follows a tab when it opens, and closes it to go back; "
            "record it with one tab after the other"
        )


def taken_apart(args: dict[str, Any], metadata: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and metadata of a step, with what is beside the page in its place.

    Raises `ValueError` for an answer that is none.
    """
    rest = {key: value for key, value in args.items() if key not in ("on_dialog", "new_tab", "download")}
    beside: dict[str, Any] = dict(metadata.get(BESIDE) or {})
    if args.get("on_dialog") is not None:
        answer = DialogAnswer.model_validate(args["on_dialog"])
        beside["on_dialog"] = answer.accept
        if answer.accept and answer.text is not None:
            rest[DIALOG_TEXT] = answer.text
    if args.get("new_tab") is not None:
        beside["new_tab"] = args["new_tab"]
    if args.get("download") is not None or metadata.get(_DOWNLOAD) is not None:
        beside["download"] = True
    return rest, {**metadata, BESIDE: beside} if beside else metadata


def one_tab_after_the_other(steps: Sequence[TraceStep]) -> tuple[TraceStep, ...]:
    """The steps with what becomes of each tab that opens, and the closing of tabs that were left.

    Raises `TabsMixed`.
    """
    if all(_tab(step) == _tab(steps[0]) and _OPENS not in step.metadata for step in steps):
        return tuple(steps)
    way = _Way([_tab(steps[0])])
    made: list[TraceStep] = []
    for index, step in enumerate(steps):
        made += way.to(index, step, steps)
        made.append(way.opening(index, step, steps))
    return tuple(made)


def agreed(steps: Iterable[TraceStep], number: int) -> tuple[dict[str, Any], list[str]]:
    """What a call says of what is beside the page, where all that was seen agrees, and where it does not.

    `number` tells downloads apart.
    """
    told = [step.metadata.get(BESIDE) or {} for step in steps]
    found: dict[str, Any] = {}
    doubts: list[str] = []
    answers = {each["on_dialog"] for each in told if "on_dialog" in each}
    if len(answers) == 1:
        found["on_dialog"] = {"accept": answers.pop()}
    elif answers:
        doubts.append("the page's question was answered yes and no, and nothing tells when")
    for key, what in (("new_tab", "another tab opened"), ("download", "a download began")):
        values = {each.get(key) for each in told}
        if values == {None} or not values:
            continue
        if len(values) > 1:
            doubts.append(f"{what} only sometimes, or was left to different ends")
            continue
        found[key] = f"download_{number + 1}" if key == "download" else values.pop()
    return found, doubts


@dataclass(slots=True)
class _Way:
    """Through the tabs of one trace."""

    open: list[int]
    """Each opened by the one before it; one is on the last."""
    left: set[int] = field(default_factory=set)

    def to(self, index: int, step: TraceStep, steps: Sequence[TraceStep]) -> list[TraceStep]:
        """What has to be done to be in the tab of a step."""
        tab = _tab(step)
        if tab == self.open[-1]:
            return []
        if tab in self.open:
            closed = len(self.open) - 1 - self.open.index(tab)
            self.left.update(self.open[-closed:])
            del self.open[-closed:]
            return [_closing(steps[index - 1], step)] * closed
        returns = any(_tab(later) in self.open for later in steps[index:])
        opened = any(before.metadata.get(_OPENS) == tab for before in steps[:index])
        if tab in self.left or opened or returns or step.action_type != "navigate":
            raise TabsMixed(index, tab)
        self.open = [tab]  # the person opened it, and never came back: a run goes on where it is
        return []

    def opening(self, index: int, step: TraceStep, steps: Sequence[TraceStep]) -> TraceStep:
        """The step with what becomes of the tab that it opens."""
        tab = step.metadata.get(_OPENS)
        if tab is None:
            return step
        following = index + 1 < len(steps) and _tab(steps[index + 1]) == tab
        if following:
            self.open.append(tab)
        beside = {**(step.metadata.get(BESIDE) or {}), "new_tab": "follow" if following else "close"}
        return step.model_copy(update={"metadata": {**step.metadata, BESIDE: beside}})


def _tab(step: TraceStep) -> int:
    return int(step.metadata.get(_TAB) or 0)


def _closing(last: TraceStep, following: TraceStep) -> TraceStep:
    return TraceStep(
        action_type="close_tab", html_before=last.html_after, html_after=following.html_before,
        source_url=last.source_url, timestamp=last.timestamp, metadata={_TAB: _tab(last)},
    )  # fmt: skip

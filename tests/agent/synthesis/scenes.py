"""A small site without a browser: pages as HTML, and people who work through it and leave traces.

Every page is made afresh with new `__id__`s, as a framework would, so that nothing but the page itself
tells elements again.
"""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import dataclass, field

from kb_schema.traces import ExecutionTrace, TraceActionResult, TraceStep

BASE = "https://fleet.example"
_TAG = re.compile(r"<(?!/|!|html|head|title|body|main)([a-z][\w-]*)")


def page(title: str, body: str) -> str:
    return f"<html><head><title>{title} - Fleet</title></head><body><main><h1>{title}</h1>{body}</main></body></html>"


def field_html(name: str, label: str, kind: str = "text") -> str:
    return f'<p><label for="{name}">{label}</label><input id="{name}" name="{name}" type="{kind}"></p>'


def table(rows: list[str], *, cells: str = "", table_id: str = "agents") -> str:
    body = "".join(
        f'<tr><td class="name"><a href="/agents/{100 + i}">{html.escape(row)}</a></td><td>{cells}</td>'
        f'<td><button class="delete">Delete</button></td></tr>'
        for i, row in enumerate(rows)
    )
    return f'<table id="{table_id}"><tbody>{body}</tbody></table>'


@dataclass
class Person:
    """Somebody at work: acts on what the page shows and writes it down."""

    trace_id: str
    inputs: dict[str, object] = field(default_factory=dict)
    task: str = "do the work"
    seed: int = 0
    steps: list[TraceStep] = field(default_factory=list)
    url: str = BASE + "/"
    shown: str = ""

    def __post_init__(self) -> None:
        self._ids = itertools.count(1000 * (self.seed + 1))

    def sees(self, path: str, title: str, body: str) -> Person:
        """What the page becomes; the step before ends with it."""
        made = page(title, body)
        self.shown = _TAG.sub(lambda m: f'<{m[1]} __id__="{next(self._ids)}"', made)
        self.url = BASE + path
        if self.steps and self.steps[-1].html_after is None:
            self.steps[-1] = self.steps[-1].model_copy(update={"html_after": self.shown})
        return self

    def does(self, action: str, needle: str, **args: object) -> Person:
        """An action on the element in whose markup the needle stands."""
        at = self.shown.index(needle)
        # The needle is in the element's opening tag, or in the text right behind it.
        begin = self.shown.rindex("<", 0, at + 1) if self.shown[at] != "<" else at
        found = re.search(r'__id__="(\d+)"', self.shown[begin : self.shown.index(">", begin)])
        assert found, self.shown[begin : begin + 80]
        self._close()
        self.steps.append(
            TraceStep(
                action_type=action,
                target={"strategy": "__id__", "value": found[1]},
                args=args or None,
                html_before=self.shown,
                source_url=self.url,
                result=TraceActionResult(),
            )
        )
        return self

    def opens(self, path: str) -> Person:
        self._close()
        self.steps.append(
            TraceStep(
                action_type="visit_url", target=BASE + path, source_url=self.url, html_before=self.shown or None
            )
        )
        return self

    def row(self, action: str, words: str, needle: str) -> Person:
        """An action on something in the row that says these words."""
        at = self.shown.index(f">{html.escape(words)}<")
        begin = self.shown.index(needle, self.shown.rindex("<tr", 0, at))
        return self._at(action, begin)

    def _at(self, action: str, place: int) -> Person:
        begin = self.shown.rindex("<", 0, place + 1)
        found = re.search(r'__id__="(\d+)"', self.shown[begin : self.shown.index(">", begin)])
        assert found
        self._close()
        self.steps.append(
            TraceStep(
                action_type=action, target={"strategy": "__id__", "value": found[1]}, html_before=self.shown,
                source_url=self.url,
            )
        )
        return self

    def _close(self) -> None:
        if self.steps and self.steps[-1].html_after is None and self.shown:
            self.steps[-1] = self.steps[-1].model_copy(update={"html_after": self.shown})

    def trace(self) -> ExecutionTrace:
        self._close()
        return ExecutionTrace(
            trace_id=self.trace_id, task_description=self.task, steps=tuple(self.steps), input_data=self.inputs or None
        )

"""The few questions all conditions come down to, and the facts they are judged on.

A condition says which probes it needs; whoever holds the page (live or stored) answers all of
them at once; the condition judges the answers. So a condition type is written once, and live
pages and stored snapshots cannot disagree about anything but the probes themselves.

What the answers mean, for every implementation:

- An element is *visible* if it has a box, is not `visibility: hidden`/`display: none` itself or
  through an ancestor. On foreign HTML: no `hidden` attribute, no inline `display:none` or
  `visibility:hidden`, not inside `script`, `style`, `template`, `noscript`, not `type=hidden`.
- *Text* is the visible text nodes in document order, joined, runs of white space as one space;
  for fields and images also `value` of buttons, `aria-label`, `alt`, `title`, `placeholder`.
  Comparison is exact as to case, as a part of the whole.
- Every open shadow root and same-origin frame is searched as a document of its own.
- A *value* is what the field holds now; for a checkbox or radio button `true` / `false`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from kb_schema.base import Model
from kb_schema.selectors import Selector


class TextProbe(Model):
    """Is `value` in the visible text of a visible element that matches `css` (None: the page)?"""

    kind: Literal["text"] = "text"
    value: str
    css: str | None = None


class ElementProbe(Model):
    """What does this selector find?"""

    kind: Literal["element"] = "element"
    selector: Selector


class FormProbe(Model):
    """Which visible fields are invalid: `aria-invalid="true"`, or required and empty?"""

    kind: Literal["form"] = "form"


Probe = Annotated[TextProbe | ElementProbe | FormProbe, Field(discriminator="kind")]


class ProbeAnswer(Model):
    """`present` elements match, `visible` of them can be seen; the rest describes the first
    visible one, else the first. For a form probe `visible` counts the invalid fields.
    """

    present: int = 0
    visible: int = 0
    enabled: bool | None = None
    value: str | None = None
    text: str | None = None
    error: str | None = None
    """Why the question could not be answered (a selector that cannot be parsed, ...)."""


class Status(StrEnum):
    """Could not be evaluated is its own outcome and never counts as passed."""

    HELD = "held"
    NOT_HELD = "not_held"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one condition came out, with what a person can check."""

    status: Status
    evidence: str = ""

    @property
    def held(self) -> bool:
        """True only for `HELD`."""
        return self.status is Status.HELD


def held(flag: bool, evidence: str) -> Verdict:
    """A verdict from a plain truth value."""
    return Verdict(Status.HELD if flag else Status.NOT_HELD, evidence)


def unknown(evidence: str) -> Verdict:
    """The condition could not be evaluated."""
    return Verdict(Status.UNKNOWN, evidence)


class Scope(Protocol):
    """What a condition may look up before the page is asked. Implemented by whoever evaluates."""

    def element(self, reference: str | Selector) -> Selector | None:
        """The selector of an element id of the current screen, or of a literal CSS selector."""

    @property
    def signed_in_when(self) -> tuple[Any, ...]:
        """The website's conditions for being signed in; empty where the website names none."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a condition is judged on. None means *not known*."""

    url: str = ""
    """Empty: not known, as before any page was seen."""
    title: str | None = None
    ready_state: str | None = None
    answers: Mapping[str, ProbeAnswer] = field(default_factory=dict)
    screen_id: str | None = None
    screen_known: bool = False
    """Whether identification was tried; then `screen_id` None means *no known screen*."""
    path_base: str = ""
    """Base URL in force; see `kb_schema.urls`."""
    authored_base: str = ""
    fired: Mapping[str, bool] = field(default_factory=dict)
    """Observability events since they were armed, by key."""
    remaining_seconds: float | None = None
    iteration: int | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, bool] = field(default_factory=dict)
    """Facts given from outside, by condition type (`authenticated`, ...)."""

    def answer(self, probe: Probe) -> ProbeAnswer | None:
        """The answer to a probe, if it was asked."""
        return self.answers.get(probe_key(probe))


def probe_key(probe: Probe) -> str:
    """One string per distinct question, so that each is asked once per page."""
    return probe.model_dump_json(exclude_defaults=False)

"""Probes: the few questions about a page that conditions need, and the facts they are judged on.

A condition states which probes it needs, the page layer (live or stored) answers all of them at once,
and the condition judges the answers. So each condition type is written once for live pages and stored
snapshots.

The answers mean the same in every implementation:

- An element is *visible* if it has a box, is not `visibility: hidden`/`display: none` itself or
  through an ancestor. On other HTML: no `hidden` attribute, no inline `display:none` or
  `visibility:hidden`, not inside `script`, `style`, `template`, `noscript`, not `type=hidden`.
- *Text* is the visible text nodes in document order, joined, runs of white space as one space;
  for fields and images also `value` of buttons, `aria-label`, `alt`, `title`, `placeholder`.
  Comparison is case-sensitive and by substring.
- Every open shadow root and same-origin frame is searched as a separate document.
- A *value* is what the field holds now; for a checkbox or radio button `true` / `false`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    match: Literal["part", "number", "whole"] = "part"
    """`number`: not inside a longer number. `whole`: the whole text; only with `css`."""


class ElementProbe(Model):
    """What does this selector match?"""

    kind: Literal["element"] = "element"
    selector: Selector


class FormProbe(Model):
    """Which visible fields are invalid: `aria-invalid="true"`, or required and empty?"""

    kind: Literal["form"] = "form"


Probe = Annotated[TextProbe | ElementProbe | FormProbe, Field(discriminator="kind")]


class ProbeAnswer(Model):
    """The answer to a probe: `present` elements match, `visible` of them are visible.

    The rest describes the first visible one, else the first. For a form probe, `visible` is the number of
    invalid fields.
    """

    present: int = 0
    visible: int = 0
    enabled: bool | None = None
    value: str | None = None
    text: str | None = None
    error: str | None = None
    """Why the probe could not be answered (an invalid selector, ...)."""


class VerdictStatus(StrEnum):
    """How a condition came out. UNKNOWN (it could not be evaluated) never counts as passed."""

    HELD = "held"
    NOT_HELD = "not_held"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one condition, with evidence that a person can check."""

    status: VerdictStatus
    evidence: str = ""

    @property
    def held(self) -> bool:
        """True only for `HELD`."""
        return self.status is VerdictStatus.HELD


def held(flag: bool, evidence: str) -> Verdict:
    """Return HELD or NOT_HELD."""
    return Verdict(VerdictStatus.HELD if flag else VerdictStatus.NOT_HELD, evidence)


def unknown(evidence: str) -> Verdict:
    """Return the verdict of a condition that could not be evaluated."""
    return Verdict(VerdictStatus.UNKNOWN, evidence)


class ConditionScope(Protocol):
    """What a condition may look up before the page is probed."""

    def element(self, reference: str | Selector) -> Selector | None:
        """Return the selector of an element id of the current screen, or of literal CSS."""

    @property
    def signed_in_when(self) -> tuple[Any, ...]:
        """The website's conditions for being signed in; empty if it states none."""


@dataclass(frozen=True, slots=True)
class AcceptedWrite:
    """A request that changes something, and that the application answered without an error."""

    method: str
    url: str
    status: int


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    """The facts that a condition is judged on. None means *not known*."""

    url: str = ""
    """Empty: not known, for example before the first page."""
    title: str | None = None
    ready_state: str | None = None
    answers: Mapping[str, ProbeAnswer] = field(default_factory=dict)
    screen_id: str | None = None
    screen_known: bool = False
    """Whether identification was tried; then `screen_id` None means *no known screen*."""
    path_base: str = ""
    """The base URL in force; see `kb_schema.url_patterns`."""
    authored_base: str = ""
    accepted: Sequence[AcceptedWrite] | None = None
    """What presses of this run sent and the application accepted, in order; None: not known, after a resume."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """What counters showed when the run first saw them, by CSS."""
    fired: Mapping[str, bool] = field(default_factory=dict)
    """Events since the triggers were armed, by key."""
    remaining_seconds: float | None = None
    iteration: int | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, bool] = field(default_factory=dict)
    """Facts given from outside, by condition type (`authenticated`, ...)."""

    def answer(self, probe: Probe) -> ProbeAnswer | None:
        """Return the answer to a probe, or None if it was not asked."""
        return self.answers.get(probe_key(probe))


def probe_key(probe: Probe) -> str:
    """Return one string per distinct probe, so that each is asked once per page."""
    return probe.model_dump_json(exclude_defaults=False)

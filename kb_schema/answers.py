"""What the desk answers: the models of MCP results, shared by the server and its clients.

Documents travel as JSON inside an answer (`document`), so that a tool's output schema stays
small; `kb_schema.parse_document` turns them back into models.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from kb_schema.base import Model
from kb_schema.calls import ActionCall
from kb_schema.graph import Transition

Detail = Literal["summary", "working", "full"]
"""How much of a document an answer carries (DESIGN 5)."""

Objective = Literal["fewest", "fastest", "reliable", "balanced"]
"""What a path is to be best at (DESIGN 5)."""


class Evidence(Model):
    """One indicator and how it came out."""

    kind: Literal["url_patterns", "required", "primary", "optional", "exclusion", "negative"]
    indicator: str
    status: Literal["held", "not_held", "unknown"]
    detail: str = ""
    weight: float | None = None


class Candidate(Model):
    """A screen that was considered and not chosen."""

    screen_id: str
    confidence: float = 0.0
    rejected_by: Literal["negative", "exclusion", "required", "threshold", "rival"]
    because: str = ""


class RecoveryOption(Model):
    """One way out, best first."""

    recovery_id: str
    group_id: str | None = None
    """None: the website's default recovery."""
    to_screen: str
    priority: int
    reliability: float
    expected_ms: float
    action: dict[str, Any]
    """An `ActionCall`; its `fallback_actions` come in order."""
    description: str = ""
    assumptions: tuple[str, ...] = ()
    """Conditions that could not be told from the facts given."""


class Identification(Model):
    """Which screen a page is."""

    website_id: str
    screen_id: str | None = None
    name: str | None = None
    confidence: float = 0.0
    threshold: float = 0.0
    ambiguous: bool = False
    distinguishing: tuple[str, ...] = ()
    """Where ambiguous: what would tell the rivals apart."""
    because: str = ""
    """The evidence in a line."""
    evidence: tuple[Evidence, ...] = ()
    """Every indicator of the screen (at `working`; at `full` with what was seen of each)."""
    candidates: tuple[Candidate, ...] = ()
    recovery: tuple[RecoveryOption, ...] = ()
    """Where nothing matched and the last known screen was given."""
    hint: str | None = None
    """What to call next."""


class DocumentAnswer(Model):
    """One document of the knowledge base."""

    website_id: str
    kind: str
    id: str
    detail: Detail
    document: dict[str, Any]
    relevant: tuple[str, ...] = ()
    """Of a demo that was asked for by what it shows: the segments that show it."""


class ElementAction(Model):
    """One thing one can do on a screen."""

    element_id: str
    label: str
    action_type: str
    required: bool = False
    leads_to: tuple[str, ...] = ()
    """Screens transitions by this element lead to."""
    preconditions: tuple[str, ...] = ()
    """What must hold first, in words."""
    find: str = ""
    """The first way of finding the element, in words (at `full`)."""


class AvailableActions(Model):
    """Everything one can do on a screen. At `summary` in words, the most telling first, within a size
    that does not depend on the page.
    """

    website_id: str
    screen_id: str | None
    """None: the page given is no known screen."""
    confidence: float | None = None
    """Where a page was given: how sure it is that it is this screen."""
    ambiguous: bool = False
    actions: tuple[ElementAction, ...] = ()
    can: tuple[str, ...] = ()
    """`fill agent_name*, greeting`: a line for each action type; `*` is required (at `summary`)."""
    more: int = 0
    """How many actions and tasks are left out of the summary."""
    tasks: tuple[str, ...] = ()
    """Tasks that begin on or use this screen."""
    recovery: tuple[RecoveryOption, ...] = ()
    """Where the page is no known screen and the last one was given: the ways out."""
    hint: str | None = None
    """What to call next, where there is nothing to do here."""


class PathStep(Model):
    """One transition of a path, ready to be carried out."""

    transition_id: str
    from_screen: str
    to_screen: str
    expected_ms: float
    reliability: float
    transition: dict[str, Any]
    """A `Transition`."""

    @cached_property
    def call(self) -> ActionCall:
        """What it is done by."""
        return ActionCall.model_validate(self.transition["triggered_by"])

    @cached_property
    def edge(self) -> Transition:
        """The transition as its model."""
        return Transition.model_validate(
            {name: value for name, value in self.transition.items() if name not in ("_id", "_key", "_rev")}
        )


class Comparison(Model):
    """An alternative against the best path; what is negative speaks for it."""

    more_steps: int = 0
    slower_ms: float = 0.0
    later_ms: float = 0.0
    """By the expected time to arrive: recovering from failures is part of it."""
    less_reliable: float = 0.0
    assumes: tuple[str, ...] = ()
    """What the best path need not assume."""


class Path(Model):
    """One way from a screen to another."""

    steps: tuple[PathStep, ...]
    expected_ms: float
    reliability: float
    assumptions: tuple[str, ...] = ()
    against_best: Comparison | None = None
    """Why it is not the first; None: it is."""


class Obstacle(Model):
    """A transition that would lead on, and why it may not be used."""

    transition_id: str
    from_screen: str
    because: str


class Paths(Model):
    """The best ways, best first; none where there is no way."""

    website_id: str
    from_screen: str
    to_screen: str
    objective: Objective
    paths: tuple[Path, ...]
    obstacles: tuple[Obstacle, ...] = ()
    """Where there is no way: what is in it, what would lead there soonest first."""
    nearest: str | None = None
    """Where there is no way: the screen nearest to the goal that can be reached."""
    hint: str | None = None


class Group(Model):
    """A screen group in short."""

    group_id: str
    name: str
    recovery_priority: str | None = None


class Groups(Model):
    """The groups of a screen."""

    website_id: str
    screen_id: str
    groups: tuple[Group, ...]


class RecoveryPaths(Model):
    """The ways out, over all groups at once, best first."""

    website_id: str
    options: tuple[RecoveryOption, ...]


class WayThere(Model):
    """How one gets to where a task begins."""

    transitions: tuple[str, ...] = ()
    """Empty: one is there already, or opens `url`."""
    url: str | None = None
    expected_ms: float = 0.0
    reliability: float = 1.0
    assumptions: tuple[str, ...] = ()


TaskRelation = Literal["begins", "uses", "ends", "by_subtask", "in_reach", "workflow"]
"""How a task has to do with a screen: it begins there, acts there, leads there, does one of these by a
task it runs, or begins on a screen that can be reached from there. Or it is a workflow, which is run as a
task is."""


class TaskSummary(Model):
    """A task in a list."""

    task_id: str
    name: str
    description: str = ""
    required_inputs: tuple[str, ...] = ()
    optional_inputs: tuple[str, ...] = ()
    relation: TaskRelation | None = None
    """To the screen asked about; `workflow` where all are listed."""
    by: str | None = None
    """Where `by_subtask`: the task it runs."""
    entry_screen: str | None = None
    """Where `in_reach`: the screen it begins on."""
    way: WayThere | None = None
    """Where `in_reach`: how to get there."""


class TaskList(Model):
    """A page of the tasks of a website."""

    website_id: str
    tasks: tuple[TaskSummary, ...]
    next_cursor: str | None = None


class StepLevel(Model):
    """A task inside which the next step is, the outermost first."""

    task_id: str
    kind: Literal["task", "subtask", "iteration"]
    inputs: dict[str, Any] = Field(default_factory=dict)
    """What the level above binds its inputs to."""
    until: str | None = None
    """Of an iteration: when it is over, in words."""
    max_iterations: int | None = None
    again: bool = False
    """Of an iteration: an item was just done, so this is the next one's first step."""


class NextStep(Model):
    """The step after another one; none when the task is done. What runs another task or an iterator
    is gone into: the step told is one that can be carried out.
    """

    website_id: str
    task_id: str
    step: dict[str, Any] | None
    remaining: int = Field(ge=0)
    """Steps of the task itself that follow."""
    path: str | None = None
    """What to give as `after_step` once the step is done: `step`, or `step/inner_step`."""
    within: tuple[StepLevel, ...] = ()
    """Where the step is inside another task or an iteration: every level."""
    otherwise: str | None = None
    """In an iteration: the `path` of what follows once it is over, or `done`."""
    screen_id: str | None = None
    """The screen on which the step takes place, where the knowledge says so."""
    success_criteria: tuple[str, ...] = ()
    """Where the task is done: how to tell that it succeeded."""


class SuggestedCall(Model):
    """A tool to call next, with its arguments besides `website_id`."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    why: str = ""


class Cause(Model):
    """One thing that may have made a step fail, and what speaks for it."""

    cause: str
    """`wrong_screen`, `signed_out`, `precondition`, `element_missing`, `validation`, ..."""
    message: str
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[str, ...] = ()
    next: tuple[SuggestedCall, ...] = ()


class Explanation(Model):
    """Why something failed: the likeliest cause first."""

    website_id: str
    error: str
    """The name of the error, as error handling rules have it; `unknown` where nothing tells."""
    causes: tuple[Cause, ...]
    strategy: dict[str, Any] | None = None
    """The knowledge's own strategy for this error here: an `ErrorRecovery`."""
    may_have_happened: bool = False
    """The step is not idempotent and nothing shows that it did not happen: look before repeating it."""
    run_id: str | None = None
    task_id: str | None = None
    step_id: str | None = None
    screen_id: str | None = None
    """Where the page is, or where the step was."""


class WebsiteSummary(Model):
    """A website the server knows."""

    website_id: str
    name: str
    base_url: str
    screens: int
    tasks: int
    flows: tuple[str, ...] = ()


class Websites(Model):
    """All of them."""

    websites: tuple[WebsiteSummary, ...]


class SearchHit(Model):
    """One document that says what was searched for."""

    kind: str
    id: str
    name: str
    excerpt: str
    score: float


class SearchResults(Model):
    """Best first."""

    website_id: str
    query: str
    hits: tuple[SearchHit, ...]
    next_cursor: str | None = None


class MapScreen(Model):
    """A screen as a place on the map."""

    screen_id: str
    name: str
    groups: tuple[str, ...] = ()


class MapEdge(Model):
    """A transition as a line on the map."""

    transition_id: str
    from_screen: str
    to_screen: str
    reliability: float


class SiteMap(Model):
    """Every screen and every way between two, without details."""

    website_id: str
    name: str
    screens: tuple[MapScreen, ...]
    transitions: tuple[MapEdge, ...]

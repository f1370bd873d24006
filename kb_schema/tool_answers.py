"""The models of MCP results, shared by the MCP server and its clients.

Documents are plain JSON inside an answer (`document`), so that a tool's output schema stays small;
`kb_schema.parse_document` turns them back into models.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from kb_schema.action_calls import ActionCall
from kb_schema.base import Model
from kb_schema.graph_documents import Transition
from kb_schema.objectives import Objective

Detail = Literal["summary", "working", "full"]
"""How much of a document an answer contains."""


class Evidence(Model):
    """One indicator and its result."""

    kind: Literal["url_patterns", "required", "primary", "optional", "exclusion", "negative"]
    indicator: str
    status: Literal["held", "not_held", "unknown"]
    detail: str = ""
    weight: float | None = None


class RejectedScreen(Model):
    """A screen that was considered and rejected."""

    screen_id: str
    confidence: float = 0.0
    rejected_by: Literal["negative", "exclusion", "required", "threshold", "rival"]
    because: str = ""


class RecoveryOption(Model):
    """One recovery edge; they are returned best first."""

    recovery_id: str
    group_id: str | None = None
    """None: the website's default recovery."""
    to_screen: str
    priority: int
    reliability: float
    expected_ms: float
    action: dict[str, Any]
    """An `ActionCall`; try its `fallback_actions` in order."""
    description: str = ""
    assumptions: tuple[str, ...] = ()
    """Conditions that the given facts do not decide."""


class Identification(Model):
    """The screen of a page."""

    website_id: str
    screen_id: str | None = None
    name: str | None = None
    confidence: float = 0.0
    threshold: float = 0.0
    ambiguous: bool = False
    ambiguous_of: tuple[str, ...] = ()
    """The screens that this one stands for, which nothing tells apart."""
    distinguishing: tuple[str, ...] = ()
    """If ambiguous: what would distinguish the candidates."""
    because: str = ""
    """The evidence in one line."""
    evidence: tuple[Evidence, ...] = ()
    """Every indicator of the screen (at `working`; at `full` with what was seen of each)."""
    candidates: tuple[RejectedScreen, ...] = ()
    recovery: tuple[RecoveryOption, ...] = ()
    """If nothing matched and the last known screen was given: the recovery edges."""
    hint: str | None = None
    """The tool to call next."""


class TaskInput(Model):
    """One input of a task, as a caller needs it."""

    name: str
    needed: bool = False
    """Whether a run needs it from the caller: it is required, has no default and is not secret."""
    what: str = ""
    example: str | None = None
    """A value that is accepted; None: the knowledge base has none, or it is secret."""
    allowed: tuple[str, ...] = ()
    """The values that its field offers, each with its label in parentheses; empty: any."""
    rules: tuple[str, ...] = ()
    """Length, bounds or pattern, and what the empty field shows."""
    secret: bool = False
    """Set on the server (`PERIPLUS_SECRET_NAME`), never given as an argument."""


class DocumentAnswer(Model):
    """One document of the knowledge base."""

    website_id: str
    kind: str
    id: str
    detail: Detail
    document: dict[str, Any]


class TaskPart(Model):
    """A task that another one is composed of, directly or over several levels."""

    task_id: str
    level: int = Field(ge=1)
    """The least number of levels below the task that was asked for."""
    by: str
    """The task that runs it, or that depends on it."""
    relation: Literal["runs", "depends_on"]


class TaskAnswer(DocumentAnswer):
    """A task or workflow."""

    inputs: tuple[TaskInput, ...] = ()
    """What each input is."""
    depends_on: tuple[dict[str, Any], ...] = ()
    """The `depends_on` edges from it, in their order; each `to_task` is run first, if its condition holds."""
    composed_of: tuple[TaskPart, ...] = ()
    """Every task that a run of it may run, nearest first."""


class ActionAnswer(DocumentAnswer):
    """An action."""

    triggers: tuple[str, ...] = ()
    """The transitions it causes, `save_agent: agent_create -> agent_list`."""


class FlowAnswer(DocumentAnswer):
    """A presentation flow."""

    relevant: tuple[str, ...] = ()
    """If it was requested by what it shows: the segments that show it."""


class ElementAction(Model):
    """One action on an element of a screen."""

    element_id: str
    label: str
    action_type: str
    required: bool = False
    leads_to: tuple[str, ...] = ()
    """The screens that transitions by this element lead to."""
    preconditions: tuple[str, ...] = ()
    """What must hold first, in words."""
    find: str = ""
    """The first strategy for finding the element, in words (at `full`)."""


class AvailableActions(Model):
    """The actions and tasks of a screen.

    At `summary` in words, the most relevant first, within a size that does not depend on the page.
    """

    website_id: str
    screen_id: str | None
    """None: the given page is no known screen."""
    confidence: float | None = None
    """If a page was given: the confidence that it is this screen."""
    ambiguous: bool = False
    actions: tuple[ElementAction, ...] = ()
    can: tuple[str, ...] = ()
    """`fill agent_name*, greeting`: one line per action type; `*` means required (at `summary`)."""
    more: int = 0
    """How many actions and tasks the summary leaves out."""
    tasks: tuple[str, ...] = ()
    """Tasks that begin on or use this screen."""
    recovery: tuple[RecoveryOption, ...] = ()
    """If the page is no known screen and the last one was given: the recovery edges."""
    hint: str | None = None
    """The tool to call next, if the screen has no actions."""


class PathStep(Model):
    """One transition of a path, ready to execute."""

    transition_id: str
    from_screen: str
    to_screen: str
    expected_ms: float
    reliability: float
    transition: dict[str, Any]
    """A `Transition`."""
    needs: tuple[str, ...] = ()
    """Values that it needs, such as the name of the row to press, and that the given facts do not have."""

    @cached_property
    def call(self) -> ActionCall:
        """The call that performs it."""
        return ActionCall.model_validate(self.transition["triggered_by"])

    @cached_property
    def edge(self) -> Transition:
        """The transition as its model."""
        return Transition.model_validate(
            {name: value for name, value in self.transition.items() if name not in ("_id", "_key", "_rev")}
        )


class PathComparison(Model):
    """An alternative compared with the best path; negative values favour it."""

    more_steps: int = 0
    slower_ms: float = 0.0
    later_ms: float = 0.0
    """The difference in expected time to arrive, including recovery from failures."""
    less_reliable: float = 0.0
    assumes: tuple[str, ...] = ()
    """Assumptions that the best path does not need."""


class Path(Model):
    """A path from one screen to another."""

    steps: tuple[PathStep, ...]
    expected_ms: float
    reliability: float
    assumptions: tuple[str, ...] = ()
    against_best: PathComparison | None = None
    """Why it is not the first; None: it is."""


class BlockedTransition(Model):
    """A transition that would continue the path, and why it must not be used."""

    transition_id: str
    from_screen: str
    because: str


class PathSearchResult(Model):
    """The best paths, best first; empty if there is no path."""

    website_id: str
    from_screen: str
    to_screen: str
    objective: Objective
    paths: tuple[Path, ...]
    obstacles: tuple[BlockedTransition, ...] = ()
    """If there is no path: what blocks it, in the order of the expected time."""
    nearest: str | None = None
    """If there is no path: the reachable screen nearest to the goal."""
    hint: str | None = None


class GroupSummary(Model):
    """A screen group in short."""

    group_id: str
    name: str
    recovery_priority: str | None = None


class GroupList(Model):
    """The groups of a screen."""

    website_id: str
    screen_id: str
    groups: tuple[GroupSummary, ...]


class RecoveryPaths(Model):
    """The recovery edges of all groups, best first."""

    website_id: str
    options: tuple[RecoveryOption, ...]


class EntryPath(Model):
    """The path to the screen where a task begins."""

    transitions: tuple[str, ...] = ()
    """Empty: the page is there already, or opens `url`."""
    url: str | None = None
    expected_ms: float = 0.0
    reliability: float = 1.0
    assumptions: tuple[str, ...] = ()


TaskRelation = Literal["begins", "uses", "ends", "by_subtask", "in_reach", "workflow"]
"""The relation of a task to a screen.

It begins there, acts there, leads there, does one of these through a task it runs, or begins on a screen that
can be reached from there. `workflow`: a workflow, which is run like a task.
"""


class TaskSummary(Model):
    """A task in a list."""

    task_id: str
    name: str
    description: str = ""
    required_inputs: tuple[str, ...] = ()
    optional_inputs: tuple[str, ...] = ()
    relation: TaskRelation | None = None
    """The relation to the given screen; `workflow` if all are listed."""
    by: str | None = None
    """If `by_subtask`: the task it runs."""
    entry_screen: str | None = None
    """If `in_reach`: the screen it begins on."""
    way: EntryPath | None = None
    """If `in_reach`: the path there."""


class TaskList(Model):
    """One page of a website's tasks."""

    website_id: str
    tasks: tuple[TaskSummary, ...]
    next_cursor: str | None = None


class StepLevel(Model):
    """A task that contains the next step, outermost first."""

    task_id: str
    kind: Literal["task", "subtask", "iteration"]
    inputs: dict[str, Any] = Field(default_factory=dict)
    """The values that the level above gives its inputs."""
    until: str | None = None
    """For an iteration: when it ends, in words."""
    max_iterations: int | None = None
    again: bool = False
    """For an iteration: an item was just done, so this is the first step of the next one."""


class NextStep(Model):
    """The step after a given one; none if the task is done.

    A step that runs another task or an iterator is expanded: the returned step can be executed.
    """

    website_id: str
    task_id: str
    step: dict[str, Any] | None
    remaining: int = Field(ge=0)
    """The number of steps of the task itself that follow."""
    path: str | None = None
    """The `after_step` to pass once the step is done: `step`, or `step/inner_step`."""
    within: tuple[StepLevel, ...] = ()
    """If the step is inside another task or an iteration: every level."""
    otherwise: str | None = None
    """In an iteration: the `path` of what follows when it ends, or `done`."""
    screen_id: str | None = None
    """The screen of the step, if the knowledge states it."""
    success_criteria: tuple[str, ...] = ()
    """If the task is done: how to verify that it succeeded."""


class SuggestedCall(Model):
    """A tool to call next, with its arguments except `website_id`."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    why: str = ""


class FailureCause(Model):
    """One possible cause of a failed step, and the evidence for it."""

    cause: str
    """`wrong_screen`, `signed_out`, `precondition`, `element_missing`, `validation`, ..."""
    message: str
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[str, ...] = ()
    next: tuple[SuggestedCall, ...] = ()


class FailureExplanation(Model):
    """Why something failed: the likeliest cause first."""

    website_id: str
    error: str
    """The name of the error in error handling rules; `unknown` if nothing indicates it."""
    causes: tuple[FailureCause, ...]
    strategy: dict[str, Any] | None = None
    """The knowledge's own strategy for this error here: an `ErrorRecovery`."""
    may_have_happened: bool = False
    """The step is not idempotent and may have happened: check before repeating it."""
    run_id: str | None = None
    workflow_version: str | None = None
    """For a run of a workflow: the version that ran."""
    task_id: str | None = None
    step_id: str | None = None
    screen_id: str | None = None
    """The screen of the page, or of the step."""


class WebsiteSummary(Model):
    """A website that the server knows."""

    website_id: str
    name: str
    base_url: str
    screens: int
    tasks: int
    flows: tuple[str, ...] = ()


class WebsiteList(Model):
    """All websites."""

    websites: tuple[WebsiteSummary, ...]


class SearchHit(Model):
    """One document that matches the search."""

    kind: str
    id: str
    name: str
    excerpt: str
    score: float
    """Its rank: the hits of one answer are ordered by it."""
    match: float = 1.0
    """How much of the query the document says, 0 to 1; a rare word counts more."""


class SearchResults(Model):
    """The matches, best first."""

    website_id: str
    query: str
    hits: tuple[SearchHit, ...]
    next_cursor: str | None = None
    hint: str | None = None
    """If there are no hits: that the knowledge base has nothing on this, and why."""


class MapScreen(Model):
    """A screen on the map."""

    screen_id: str
    name: str
    groups: tuple[str, ...] = ()
    steps: int | None = None
    """In a part of the map: the least number of steps to the screen that was asked for, or from it."""


class MapEdge(Model):
    """A transition on the map."""

    transition_id: str
    from_screen: str
    to_screen: str
    reliability: float
    action_type: str = ""
    """In a part of the map: the action that performs it."""


class SiteMap(Model):
    """Screens and transitions without details: all, or the part that leads to a screen or from it."""

    website_id: str
    name: str
    screens: tuple[MapScreen, ...]
    transitions: tuple[MapEdge, ...]

"""What the desk answers: the models of MCP results, shared by the server and its clients.

Documents travel as JSON inside an answer (`document`), so that a tool's output schema stays
small; `kb_schema.parse_document` turns them back into models.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kb_schema.base import Model

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
    evidence: tuple[Evidence, ...] = ()
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


class ElementAction(Model):
    """One thing one can do on a screen."""

    element_id: str
    label: str
    action_type: str
    required: bool = False
    leads_to: tuple[str, ...] = ()
    """Screens transitions by this element lead to."""


class AvailableActions(Model):
    """Everything one can do on a screen."""

    website_id: str
    screen_id: str
    actions: tuple[ElementAction, ...]
    tasks: tuple[str, ...] = ()
    """Tasks that begin on or use this screen."""


class PathStep(Model):
    """One transition of a path, ready to be carried out."""

    transition_id: str
    from_screen: str
    to_screen: str
    expected_ms: float
    reliability: float
    transition: dict[str, Any]
    """A `Transition`."""


class Path(Model):
    """One way from a screen to another."""

    steps: tuple[PathStep, ...]
    expected_ms: float
    reliability: float
    assumptions: tuple[str, ...] = ()


class Paths(Model):
    """The best ways, best first; none where there is no way."""

    website_id: str
    from_screen: str
    to_screen: str
    objective: Objective
    paths: tuple[Path, ...]
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


class TaskSummary(Model):
    """A task in a list."""

    task_id: str
    name: str
    description: str = ""
    required_inputs: tuple[str, ...] = ()
    optional_inputs: tuple[str, ...] = ()


class TaskList(Model):
    """A page of the tasks of a website."""

    website_id: str
    tasks: tuple[TaskSummary, ...]
    next_cursor: str | None = None


class NextStep(Model):
    """The step after another one; none when the task is done."""

    website_id: str
    task_id: str
    step: dict[str, Any] | None
    remaining: int = Field(ge=0)


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

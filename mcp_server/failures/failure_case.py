"""One failure: the reported facts, and what the knowledge base and the page add to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.base import Model
from kb_schema.condition_evaluation import collect_probes, judge_conditions
from kb_schema.conditions import MESSAGE_REGIONS, Authenticated, BaseCondition
from kb_schema.error_handling import ErrorRule
from kb_schema.graph_documents import Transition
from kb_schema.probes import ElementProbe, FormProbe, Probe, ProbeAnswer, ProbeFacts, Verdict, probe_key
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css
from kb_schema.tasks import Task, TaskStep
from kb_schema.tool_answers import Identification
from mcp_server.failures import error_names
from mcp_server.identification import base_urls
from mcp_server.identification.screen_identification import Prober
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.task_screens import find_step_screen
from mcp_server.transition_graph.condition_scopes import ScreenScope
from web_pages.stored_pages import StoredPage


class ReportedFailure(Model):
    """What the client reports about a failure. Every field is optional, but one must be given."""

    error: str | None = Field(default=None, max_length=20_000)
    task_id: str | None = None
    step_id: str | None = None
    screen_id: str | None = None
    """The screen on which the action was tried, or should have been."""
    element_id: str | None = None
    action_type: str | None = None
    transition_id: str | None = None


@dataclass(frozen=True)
class FailureCase:
    """A failure with everything that can be looked up. The ids in the report exist."""

    view: KnowledgeView
    told: ReportedFailure
    page: StoredPage | None = None
    found: Identification | None = None
    """Which screen the page is."""
    prober: Prober | None = None
    base_url: str | None = None

    @cached_property
    def task(self) -> Task | None:
        """The task that was running."""
        return self.view.knowledge.tasks.get(self.told.task_id or "")

    @cached_property
    def step(self) -> TaskStep | None:
        """The step of that task."""
        return None if self.task is None or self.told.step_id is None else self.task.step(self.told.step_id)

    @cached_property
    def transition(self) -> Transition | None:
        """The transition that was tried."""
        return self.view.knowledge.transitions.get(self.told.transition_id or "")

    @cached_property
    def call(self) -> ActionCall | None:
        """The action that was tried: the step's, else the transition's."""
        if self.step is not None:
            return self.step.action
        return None if self.transition is None else self.transition.triggered_by

    @cached_property
    def expected_screen(self) -> str | None:
        """The screen the failed action belongs to."""
        if self.transition is not None:
            return self.transition.from_screen
        if self.step is not None:
            stated = find_step_screen(self.step, self.view.places.owners)
            if stated is not None and self.step.action.canonical_type != "navigate":
                return stated
        owners = self.view.places.owners.get(self.told.element_id or "", ())
        if len(owners) == 1 and self.step is None:
            return owners[0]
        return self.told.screen_id

    @property
    def screen_id(self) -> str | None:
        """The identified screen, else the reported one, else the expected one."""
        if self.found is not None and self.found.screen_id is not None:
            return self.found.screen_id
        return None if self.found is not None else self.told.screen_id or self.expected_screen

    @cached_property
    def action_type(self) -> str | None:
        """The canonical action type."""
        name = self.told.action_type or (None if self.call is None else self.call.action_type)
        return None if name is None else action_types.canonical(name) or name

    @cached_property
    def element_id(self) -> str | None:
        """The element of the action, if the knowledge base has it."""
        target = None if self.call is None else self.call.target
        return self.told.element_id or (target if isinstance(target, str) else None)

    @cached_property
    def element(self) -> UIElement | None:
        """The same with its selector."""
        screens = [each for each in (self.expected_screen, self.screen_id) if each is not None]
        owners = self.view.places.owners.get(self.element_id or "", ())
        for screen_id in (*screens, *owners):
            element = self.view.elements.get(screen_id, {}).get(self.element_id or "")
            if element is not None:
                return element
        return None

    @cached_property
    def selector(self) -> Selector | None:
        """How the element is found; one with open parameters cannot be looked up."""
        selector = self.element.selector if self.element else None
        if selector is None and self.call is not None and isinstance(self.call.target, Selector):
            selector = self.call.target
        return None if selector is None or selector.parameterized else selector

    @cached_property
    def error(self) -> str:
        """The error's name."""
        return error_names.classify_error(self.told.error or "", self.known_errors)

    @cached_property
    def known_errors(self) -> frozenset[str]:
        """Names of errors for which the knowledge base has rules."""
        documents = self.view.knowledge.error_recoveries.values()
        names = {name for document in documents for name in document.conditions}
        return frozenset(names | {rule.condition for _, rule in self.own_rules})

    @cached_property
    def own_rules(self) -> tuple[tuple[str, ErrorRule], ...]:
        """The rules of the step, then those of its task."""
        found: list[tuple[str, ErrorRule]] = []
        if self.task is not None and self.step is not None:
            found += [(f"{self.task.task_id}.{self.step.step_id}", rule) for rule in self.step.error_handling]
        if self.task is not None:
            found += [(self.task.task_id, rule) for rule in self.task.failure_recovery.strategies]
        return tuple(found)

    # -- probing the page -----------------------------------------------------------------------

    def ask(self, probe: Probe) -> ProbeAnswer | None:
        """The page's answer; None without a page, or if it has none."""
        if self.page is None or self.prober is None:
            return None
        answer = self.prober(self.page, (probe,)).get(probe_key(probe))
        return None if answer is None or answer.error is not None else answer

    def looked_up(self, selector: Selector) -> ProbeAnswer | None:
        """What a selector finds on the page."""
        return self.ask(ElementProbe(selector=selector))

    def judged(self, conditions: Sequence[BaseCondition]) -> list[Verdict]:
        """The verdicts of conditions on the page; none without a page."""
        if self.page is None or self.prober is None or not conditions:
            return []
        scope = ScreenScope(
            self.view.elements.get(self.screen_id or self.expected_screen or "", {}),
            self.view.website.authenticated_when,
        )
        probes = collect_probes(conditions, scope)
        facts = ProbeFacts(
            url=self.page.snapshot.url,
            title=self.page.snapshot.title,
            ready_state=self.page.snapshot.ready_state,
            answers=self.prober(self.page, probes) if probes else {},
            screen_id=None if self.found is None else self.found.screen_id,
            screen_known=self.found is not None,
            path_base=base_urls.resolve_base_url(self.view.website, self.page.snapshot.url, self.base_url),
            authored_base=self.view.website.base_url,
        )
        return judge_conditions(conditions, facts, scope)

    @cached_property
    def signed_out(self) -> bool:
        """Whether the page shows that nobody is signed in."""
        verdict = self.judged([Authenticated(type="authenticated")])
        return bool(verdict) and verdict[0].status.value == "not_held"

    @cached_property
    def message(self) -> str:
        """The page's messages, shortened: errors, banners, toasts."""
        answer = self.looked_up(css(MESSAGE_REGIONS))
        return " ".join((answer.text or "").split())[:200] if answer and answer.visible else ""

    @cached_property
    def invalid_fields(self) -> int:
        """Visible fields that are invalid, or required and empty."""
        answer = self.ask(FormProbe())
        return 0 if answer is None else answer.visible

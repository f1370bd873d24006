"""What the parts of task execution may use of each other, as protocols.

Steps, recoveries, replanning, loops, effects and results all need the runner that calls them. They are
typed against `TaskExecution`; only `agent.execution.task_runner` builds the real parts and imports
their modules, so no part imports another one that calls it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from agent.errors import ValueRefused
    from agent.execution.persistence.checkpoints import CheckpointWriter
    from agent.execution.run_observer import RunObserver
    from agent.execution.task_run import TaskRun
    from agent.guide import Guide
    from agent.healing.element_memory import StepTarget
    from agent.page.page_refusals import PageComplaint
    from agent.session import Session
    from kb_schema.action_calls import ActionCall
    from kb_schema.conditions import BaseCondition
    from kb_schema.io_specs import Extraction, ValueRule
    from kb_schema.probes import Verdict
    from kb_schema.read_backs import ReadBackResult, ReadBackStatus
    from kb_schema.resilience_policy import ResiliencePolicy
    from kb_schema.run_records import RunResult
    from kb_schema.tasks import TaskStep


@dataclass(slots=True)
class LoneAction:
    """One action that a client chose for the page it sees: nothing else is tried in its place, and nothing leads off the page.

    After it the page is what the action made of it: no remedy, retry, replan, recovery or read-back goes elsewhere.
    """

    failure: Exception | None = None
    """What it failed with."""
    said: str = ""
    """What the page complained of then."""
    confirm_s: float = 3.0
    """Seconds postconditions may take to hold: the client sees the page, and its answer waits for this."""

    def note(self, failure: Exception, complaint: PageComplaint | None) -> None:
        """Keep what the action failed with, and what the page complained of."""
        self.failure, self.said = failure, "" if complaint is None else complaint.quote


class ActionExecution(Protocol):
    """Performs single actions on the page (`action_runner.ActionRunner`)."""

    tried_fallbacks: list[ActionCall]
    replaced: str

    @property
    def agreed(self) -> Sequence[str]:
        """The questions of the page that were agreed to in this step, as the person allowed."""

    async def perform(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Perform one call, with its fallback actions. Raises `StepFailed` or a `PageError`."""

    def expect(self, conditions: tuple[BaseCondition, ...], target: StepTarget | None = None) -> None:
        """Begin a step: set the conditions that must hold after it, and what it names by its own selector."""

    async def settle(self, held: bool | None) -> None:
        """The step is over: report the elements it used, and raise its unauthored side effects."""

    async def list_preconditions(
        self, call: ActionCall, values: Mapping[str, Any]
    ) -> tuple[tuple[BaseCondition, ...], Mapping[str, Any]]:
        """The preconditions of the call's action document, and the values by which they are judged."""

    async def find_again(self, conditions: Sequence[BaseCondition]) -> bool:
        """Heal the elements that conditions name; True if one was found again."""

    async def is_recorded_element_here(self, call: ActionCall, values: Mapping[str, Any]) -> bool:
        """Look whether the call's element is on the page as it was recorded."""

    async def is_recorded_element_elsewhere(self, call: ActionCall, values: Mapping[str, Any]) -> bool:
        """Look whether the call's element is there as it was recorded, though its selector leads nowhere."""


class StepExecution(Protocol):
    """Runs single steps (`step_runner.StepRunner`)."""

    refused: ValueRefused | None
    """The last value that a field refused."""

    @property
    def under_way(self) -> list[str]:
        """Ids of the tasks that run now, outermost first."""

    async def run(self, run: TaskRun, index: int) -> None:
        """Run the step of that index. Raises what makes it fail, and `EarlierStepsNeeded`."""

    async def repeatable(self, step: TaskStep) -> bool:
        """Whether the step may be repeated without checking first whether it already happened."""

    async def harmless(self, call: ActionCall) -> bool:
        """The same for a single action call."""

    async def remedy(self, condition: BaseCondition, values: Mapping[str, Any], depth: int) -> Verdict:
        """Run a soft precondition's remedy and judge the condition again. Raises `StepFailed`."""

    async def confirm(self, run: TaskRun, conditions: Sequence[BaseCondition], what: str) -> list[Verdict]:
        """Wait until all conditions hold. Raises `StepFailed` if they do not hold in time."""

    async def holds_by_now(self, run: TaskRun, step: TaskStep) -> list[Verdict]:
        """The verdicts of the step's postconditions if all of them hold now, else an empty list."""


class EffectReading(Protocol):
    """Reads whether an effect exists (`effects.effect_read_backs.EffectReader`)."""

    async def look_before(self, run: TaskRun) -> None:
        """Read the baseline before the first step that must not be repeated."""

    async def happened(self, run: TaskRun, sign_in: Callable[[], Awaitable[bool]]) -> ReadBackResult:
        """Whether the task's effect happened since the baseline."""


class Resumption(Protocol):
    """Returns to the page where a step can begin (`run_resumption.RunResumption`)."""

    @property
    def told_happened(self) -> bool:
        """Whether a person said that the last press had happened: what its page showed then is not seen again."""

    async def go_back(self, run: TaskRun, index: int, reason: str) -> int:
        """From a step that did not happen to the step to go on from. Raises `StepFailed`."""

    async def back_at(self, run: TaskRun, index: int) -> int:
        """Open the page where that step, or an earlier harmless one, can begin; returns its index."""

    async def settle(self, run: TaskRun, step: TaskStep, effect: ReadBackResult) -> None:
        """Note that a step happened although its page did not show it, and go where it leads."""

    async def sign_in(self, run: TaskRun) -> bool:
        """Sign in if the website says the session is signed out; True if that was done."""

    async def is_at(self, run: TaskRun, url: str, screen_id: str | None) -> bool:
        """Open an address; True if it shows the screen."""

    def take_decision(self) -> ReadBackStatus | None:
        """A person's decision about an uncertain effect, given once."""


class OutcomeJudgement(Protocol):
    """Judges what a step brought about (`results.outcome_checks.OutcomeChecker`)."""

    async def step(self, run: TaskRun, step: TaskStep, policy: ResiliencePolicy) -> list[Verdict]:
        """Judge a step's outcome. Raises `StepFailed` if it is neither wanted nor acceptable."""


class ResilienceLimits(Protocol):
    """How far a run may go astray (`resilient_step_runner.ResilientStepRunner`)."""

    def policy(self, run: TaskRun) -> ResiliencePolicy:
        """The policy that applies to a task."""

    def may_go_back(self, run: TaskRun, step: TaskStep) -> bool:
        """Whether a step that had no effect may be repeated; counts it if so."""


class TaskExecution(Protocol):
    """A task runner, as its parts see it (`task_runner.TaskRunner`)."""

    place: str | None
    """Path of the step that runs now; None if nothing below it is checkpointed."""
    alone: LoneAction | None
    """The single action that runs now and stays on its page; None: tasks run."""

    @property
    def session(self) -> Session:
        """The page, its website's knowledge, and the run's values."""

    @property
    def observer(self) -> RunObserver:
        """Called before and after steps and actions."""

    @property
    def guide(self) -> Guide:
        """Navigates between screens."""

    @property
    def checkpoints(self) -> CheckpointWriter:
        """Writes checkpoints and the journal."""

    @property
    def actions(self) -> ActionExecution:
        """Performs single actions on the page."""

    @property
    def steps(self) -> StepExecution:
        """Runs single steps."""

    @property
    def effects(self) -> EffectReading:
        """Reads whether an effect exists."""

    @property
    def resumption(self) -> Resumption:
        """Returns to the page where a step can begin."""

    @property
    def outcomes(self) -> OutcomeJudgement:
        """Judges what a step brought about."""

    @property
    def resilience(self) -> ResilienceLimits:
        """The limits of retrying and replanning."""

    @property
    def depth(self) -> int:
        """Nesting of the task that runs now; 0 is the requested task."""

    @property
    def dismissing(self) -> bool:
        """True while an overlay is being closed."""

    @property
    def groups(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]]:
        """Task that stands for a workflow's group -> function that runs its nodes for one item."""

    def in_spare_tab(self) -> AbstractAsyncContextManager[TaskExecution]:
        """A task runner in a tab of its own that only reads."""

    def without_checkpoints(self) -> AbstractAsyncContextManager[None]:
        """A block of which nothing is checkpointed: a resumed run does it again."""

    async def run_task(
        self, task_id: str, given: Mapping[str, Any] | None = None, *, depth: int = 0
    ) -> RunResult:
        """Run a task and return its result."""

    async def sub_task(self, task_id: str, inputs: Mapping[str, Any], depth: int) -> RunResult:
        """Run a task as part of another. Raises `StepFailed`, `InputMissing` or `PersonNeeded`."""

    async def keep(self, run: TaskRun) -> None:
        """Write a checkpoint of a task."""

    async def keep_state(self) -> None:
        """Write a checkpoint of the values that belong to no single task."""

    async def refresh(self, run: TaskRun, step: TaskStep) -> None:
        """Resolve again the volatile inputs that a step is about to use."""

    async def scrape(self, rule: ValueRule, values: Mapping[str, Any]) -> Any:
        """Read an input off the website."""

    async def read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        """What a rule reads on the page now; `MISSING` if it finds nothing."""

    async def read_outputs(self, run: TaskRun, after: str | None) -> None:
        """Read the outputs that are due after a step (None: at the end). Raises `StepFailed`."""

    async def dismiss_overlays(self) -> bool:
        """Close the overlays that the website names; True if one was closed."""

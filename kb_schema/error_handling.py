"""Error handling: one rule model for affordances, actions, steps and tasks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from kb_schema.action_calls import ActionCall
from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds

ERRORS: dict[str, str] = {
    "validation_failed": "the page or the browser rejects an input",
    "validation_error": "the same as validation_failed",
    "validation_errors": "the same as validation_failed",
    "element_not_found": "the element was not found",
    "element_not_visible": "the element exists but is not visible",
    "element_not_editable": "the element exists but is disabled",
    "element_covered": "another element covers it",
    "click_intercepted": "the same as element_covered",
    "element_unstable": "the element keeps moving",
    "element_ambiguous": "several elements match",
    "element_changed": "a different element is in its place",
    "timeout": "an expected element or state did not appear in time",
    "postcondition": "the action was done, but its expected result was not observed",
    "refused": "the application refused what the step sent, and says so",
    "precondition_failed": "a precondition of the step does not hold",
    "navigation_failed": "the screen was not reached",
    "wrong_screen": "the step belongs to a different screen",
    "screen_recognition_failed": "the screen is unknown and has no recovery edge",
    "not_authenticated": "the page requires signing in",
    "session_expired": "the same as not_authenticated",
    "server_error": "the site answered with a server error (HTTP 500 and above)",
    "not_found": "the site has no such page (HTTP 404)",
    "connection_lost": "the request got no response",
    "duplicate_submission": "the request may have taken effect",
    "option_not_found": "a list has no such option",
    "file_not_found": "the file to upload does not exist",
    "action_failed": "the browser refused the action",
    "subtask_failed": "a task called by this one failed",
    "condition_unknown": "a condition that selects the next step could not be evaluated",
    "extraction_failed": "an output could not be read",
    "no_progress": "a loop ran without progress",
    "items_failed": "some items of a loop failed",
    "item_failed": "an item of a loop failed, and the loop was stopped",
    "max_iterations_reached": "a loop reached its limit before its end",
}
"""The error names that a rule may use, with their meanings.

Further names: condition types (for a precondition that does not hold), `http_500` and the like, and the
reasons in the `error_states` of edges.
"""


class ErrorRule(Model):
    """An error and its recovery (KS 4.1-4.3)."""

    condition: str = Field(min_length=1)
    """The name of an error (`validation_error`, `element_not_found`, `timeout`, ...)."""
    recovery: str = Field(min_length=1)
    """A named recovery, an `error_recovery` document or a task."""
    retry: bool = False
    """Whether to retry the step afterwards."""
    max_retries: int = Field(default=1, ge=0, le=10)
    wait_time: Seconds | None = None
    """Of `wait_and_retry`: how long to wait for what is missing."""
    retry_step: str | None = None
    """The step to continue from instead. Non-idempotent steps that are done are not repeated."""
    fallback: str | None = None
    """Another recovery, used if this one does not help."""
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _failure_recovery_form(cls, data: Any) -> Any:
        """Accept `action` for `recovery`, as KS 4.3 `failure_recovery` has it."""
        if isinstance(data, dict) and "action" in data and "recovery" not in data:
            data = dict(data)
            data["recovery"] = data.pop("action")
        return data


def _rule_list(data: Any) -> Any:
    """Turn a mapping from error name to rule into a list; KS writes both."""
    if isinstance(data, dict):
        return [
            {"condition": name, **rule} if isinstance(rule, dict) else rule for name, rule in data.items()
        ]
    return data


ErrorRules = Annotated[tuple[ErrorRule, ...], BeforeValidator(_rule_list)]


class TaskStrategy(ErrorRule):
    """How a task handles an error of any of its steps.

    Afterwards the failed step is retried, or the run continues from `retry_step`.
    """

    retry: bool = True


class FailureRecovery(Model):
    """A task's own strategies, in order (KS 4.3)."""

    strategies: tuple[TaskStrategy, ...] = ()


class RecoveryStep(Model):
    """One thing to try: a named recovery or an action."""

    recovery: str | None = None
    action: ActionCall | None = None
    retry: bool = True
    max_retries: int = Field(default=1, ge=0, le=10)
    wait_time: Seconds | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> RecoveryStep:
        if (self.recovery is None) == (self.action is None):
            raise ValueError("a recovery step has either `recovery` or `action`")
        return self


class ErrorRecovery(Document):
    """An error recovery strategy of a website (KS 5): what to try for which errors, and where."""

    type: str = Field(default="error_recovery", pattern="^error_recovery$")
    recovery_id: LocalId
    name: str = ""
    description: str = ""
    conditions: tuple[str, ...] = Field(min_length=1)
    """The error names it applies to."""
    screens: tuple[ScreenRef, ...] = ()
    """The screens it applies to; empty: all."""
    actions: tuple[str, ...] = ()
    """The actions it applies to; empty: all."""
    strategies: tuple[RecoveryStep, ...] = Field(min_length=1)

    @property
    def kind(self) -> str:
        return "error_recovery"

    @property
    def local_id(self) -> str:
        return self.recovery_id

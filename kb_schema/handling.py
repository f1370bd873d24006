"""What to do when something goes wrong: one rule model for affordances, actions, steps, tasks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds
from kb_schema.calls import ActionCall

ERRORS: dict[str, str] = {
    "validation_failed": "the page, or the browser, does not accept what was filled in",
    "validation_error": "the same as validation_failed",
    "validation_errors": "the same as validation_failed",
    "element_not_found": "nothing, or nothing that can be seen, is where the element should be",
    "element_not_visible": "the element is there and cannot be seen",
    "element_not_editable": "the element is there and disabled",
    "element_covered": "something lies over the element",
    "click_intercepted": "the same as element_covered",
    "element_unstable": "the element does not come to rest",
    "element_ambiguous": "several elements fit, and nothing tells which is meant",
    "element_changed": "something else is where the element was",
    "timeout": "what should have come about, or have been there, was not in time",
    "postcondition": "the action was done and what it is for is not to be seen",
    "precondition_failed": "what must hold before the step does not",
    "navigation_failed": "the screen was not reached",
    "wrong_screen": "the step is for another screen than the present one",
    "screen_recognition_failed": "no known screen, and no way out of it",
    "not_authenticated": "one is not signed in where one has to be",
    "session_expired": "the same as not_authenticated",
    "server_error": "the site answered with an error of its own (HTTP 500 and above)",
    "not_found": "the site has no such page (HTTP 404)",
    "connection_lost": "no answer came",
    "duplicate_submission": "what was sent may have been done already",
    "option_not_found": "a list has no such choice",
    "file_not_found": "there is no such file to give",
    "action_failed": "the browser refused the action",
    "subtask_failed": "a task that is part of this one failed",
    "condition_unknown": "what decides how to go on could not be evaluated",
    "extraction_failed": "an output was not to be read",
    "no_progress": "a loop did something and nothing became less",
    "items_failed": "some items of a loop failed",
    "item_failed": "an item of a loop failed, and the loop was stopped",
    "max_iterations_reached": "a loop came to its bound before its end",
}
"""What an error may be called in a rule, and what is meant. The types of conditions are names too
(of a precondition that does not hold), and so are `http_500` and its like, and the reasons that
`error_states` of edges give.
"""


class ErrorRule(Model):
    """On this error, this recovery (KS 4.1-4.3)."""

    condition: str = Field(min_length=1)
    """Name of an error (`validation_error`, `element_not_found`, `timeout`, ...)."""
    recovery: str = Field(min_length=1)
    """A named recovery, an `error_recovery` document or a task."""
    retry: bool = False
    """Whether the step is tried again afterwards."""
    max_retries: int = Field(default=1, ge=0, le=10)
    wait_time: Seconds | None = None
    """Of `wait_and_retry`: how long what is missing may take to come about."""
    retry_step: str | None = None
    """The step to go on from instead; what was done since then and may not be repeated is not."""
    fallback: str | None = None
    """What is done where the recovery does not help: another one."""
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _failure_recovery_form(cls, data: Any) -> Any:
        """KS 4.3 `failure_recovery` says `action` for `recovery`."""
        if isinstance(data, dict) and "action" in data and "recovery" not in data:
            data = dict(data)
            data["recovery"] = data.pop("action")
        return data


def _rule_list(data: Any) -> Any:
    """A mapping from error name to rule becomes the list; KS writes both."""
    if isinstance(data, dict):
        return [
            {"condition": name, **rule} if isinstance(rule, dict) else rule for name, rule in data.items()
        ]
    return data


ErrorRules = Annotated[tuple[ErrorRule, ...], BeforeValidator(_rule_list)]


class TaskStrategy(ErrorRule):
    """What a task does about an error of any of its steps: the step is tried again afterwards, or
    `retry_step` and what follows it.
    """

    retry: bool = True


class FailureRecovery(Model):
    """A task's own strategies, in order (KS 4.3)."""

    strategies: tuple[TaskStrategy, ...] = ()


class RecoveryStep(Model):
    """One thing to try, a named recovery or an action."""

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
    """An error recovery strategy of a website (KS 5): what to try for which errors, where."""

    type: str = Field(default="error_recovery", pattern="^error_recovery$")
    recovery_id: LocalId
    name: str = ""
    description: str = ""
    conditions: tuple[str, ...] = Field(min_length=1)
    """Error names it is for."""
    screens: tuple[ScreenRef, ...] = ()
    """Screens it is for; empty: everywhere."""
    actions: tuple[str, ...] = ()
    """Actions it is for; empty: all."""
    strategies: tuple[RecoveryStep, ...] = Field(min_length=1)

    @property
    def kind(self) -> str:
        return "error_recovery"

    @property
    def local_id(self) -> str:
        return self.recovery_id

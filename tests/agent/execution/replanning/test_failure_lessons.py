"""Kinds of failures as lessons store them: the same strings, whatever the classes are called."""

from __future__ import annotations

import agent.errors
import agent.page.errors
from agent.execution.replanning.failure_lessons import FAILURE_KINDS, classify_failure
from agent.page.errors import GateFailed, PageError

STORED = {
    "KnowledgeUnavailable", "NotInKnowledge", "InputMissing", "PersonNeeded", "NotAuthored", "LedAway",
    "ValueRefused", "SiteUnreachable", "Lost", "NoWay", "SignInFailed", "NotKept", "SelectorNotFilled", "SelectorUnusable",
    "ActionMisused", "ElementChanged", "ActionFailed", "FieldNotForSecrets", "SecretKept", "OriginRefused", "NavigationFailed", "ScriptFailed",
    "PageGone",
}  # fmt: skip


def test_every_error_has_a_stored_kind_and_those_never_change():
    own = {
        error
        for module in (agent.errors, agent.page.errors)
        for error in vars(module).values()
        if isinstance(error, type) and issubclass(error, agent.errors.AgentError | PageError)
    }
    by_their_own = {each for each in own if issubclass(each, agent.errors.StepFailed | GateFailed)}
    assert own - by_their_own - {agent.errors.AgentError, PageError} == FAILURE_KINDS.keys()
    assert set(FAILURE_KINDS.values()) == STORED


def test_a_renamed_class_keeps_its_stored_kind():
    assert classify_failure(agent.errors.NoPath("quay", "yard")) == "NoWay"
    assert classify_failure(agent.errors.StepFailed("x", error="postcondition")) == "postcondition"

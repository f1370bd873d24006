"""Error recovery strategies: the most specific one that the knowledge base has for an error.

Rules of an element or an action are returned in the form of an `error_recovery` document, so that every answer has
the same form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb_schema import action_types
from kb_schema.error_handling import ErrorRecovery, ErrorRule, RecoveryStep
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView


def find_strategy(
    view: KnowledgeView,
    error: str,
    *,
    screen_id: str | None = None,
    action_type: str | None = None,
    own: Sequence[tuple[str, ErrorRule]] = (),
) -> ErrorRecovery:
    """Return the strategy for an error: a rule of the screen's elements, else of the action, else a document.

    Of the website's documents, those for this screen and action come first. `own` rules, of a step and its task with
    their names, come before all. If no error has the name, the id of a document returns that document, because rules
    refer to it.

    Raises `UnknownName` if there is none. The caller has checked that the screen exists.
    """
    action = _canonical(action_type)
    rules = [*own, *_element_rules(view, screen_id, action), *_action_rules(view, action)]
    found = next(
        (_as_document(name, screen_id, rule) for name, rule in rules if rule.condition == error), None
    )
    if found is not None:
        return found
    documents = sorted(
        (
            document
            for document in view.knowledge.error_recoveries.values()
            if _fits(document, error, screen_id, action)
        ),
        key=lambda document: (not document.screens, not document.actions, document.recovery_id),
    )
    if documents:
        return documents[0]
    named = view.knowledge.error_recoveries.get(error)
    if named is not None:
        return named
    known = {rule.condition for _, rule in rules}
    known |= {name for document in view.knowledge.error_recoveries.values() for name in document.conditions}
    hint = "identify_current_screen with last_known_screen_id gives the ways out"
    raise UnknownName("strategy for error", error, known, hint=hint)


def _fits(document: ErrorRecovery, error: str, screen_id: str | None, action: str | None) -> bool:
    """Whether a document applies: it may be general, but never for another screen or action than the requested one."""
    for_action = {_canonical(name) for name in document.actions}
    return (
        error in document.conditions
        and (not document.screens or screen_id in document.screens)
        and (not for_action or action in for_action)
    )


def _element_rules(
    view: KnowledgeView, screen_id: str | None, action: str | None
) -> Iterator[tuple[str, ErrorRule]]:
    for element_id, element in sorted(view.elements.get(screen_id or "", {}).items()):
        for affordance in element.affordances:
            if action in (None, _canonical(affordance.action_type)):
                yield from ((f"{screen_id}.{element_id}", rule) for rule in affordance.error_handling)


def _action_rules(view: KnowledgeView, action: str | None) -> Iterator[tuple[str, ErrorRule]]:
    document = view.knowledge.actions.get(action or "")
    if document is not None:
        yield from ((document.action_id, rule) for rule in document.error_handling)


def _as_document(name: str, screen_id: str | None, rule: ErrorRule) -> ErrorRecovery:
    named = [rule.recovery, *([rule.fallback] if rule.fallback else [])]
    return ErrorRecovery(
        recovery_id=f"{name}.{_as_id(rule.condition)}",
        description=rule.reason or action_types.RECOVERIES.get(rule.recovery, ""),
        conditions=(rule.condition,),
        screens=() if screen_id is None else (screen_id,),
        strategies=tuple(
            RecoveryStep(
                recovery=each, retry=rule.retry, max_retries=rule.max_retries, wait_time=rule.wait_time
            )
            for each in named
        ),
    )


def _as_id(text: str) -> str:
    return "".join(char if char.isalnum() and char.isascii() else "_" for char in text)


def _canonical(action_type: str | None) -> str | None:
    return None if action_type is None else action_types.canonical(action_type) or action_type

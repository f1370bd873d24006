"""What to try when an action fails: the most specific strategy the knowledge has for an error.

Rules written at an element or an action are told in the form of an `error_recovery` document, so
that there is one form of answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb_schema import vocabulary
from kb_schema.handling import ErrorRecovery, ErrorRule, RecoveryStep
from mcp_server.compiled import View
from mcp_server.errors import UnknownName


def strategy(
    view: View,
    error: str,
    *,
    screen_id: str | None = None,
    action_type: str | None = None,
    own: Sequence[tuple[str, ErrorRule]] = (),
) -> ErrorRecovery:
    """The strategy for an error: a rule of the screen's elements, else of the action, else a document.

    Of the website's documents, those for this screen and action come first. `own` rules, of a step and
    its task with their names, come before all. A document's own id gives that document where no
    error is called so: rules name it.

    Raises `UnknownName` where the knowledge has none. The caller has made sure that the screen exists.
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
    """An answer may be for everything, but never for another screen or action than the one asked about."""
    for_action = {_canonical(name) for name in document.actions}
    return (
        error in document.conditions
        and (not document.screens or screen_id in document.screens)
        and (not for_action or action in for_action)
    )


def _element_rules(view: View, screen_id: str | None, action: str | None) -> Iterator[tuple[str, ErrorRule]]:
    for element_id, element in sorted(view.elements.get(screen_id or "", {}).items()):
        for affordance in element.affordances:
            if action in (None, _canonical(affordance.action_type)):
                yield from ((f"{screen_id}.{element_id}", rule) for rule in affordance.error_handling)


def _action_rules(view: View, action: str | None) -> Iterator[tuple[str, ErrorRule]]:
    document = view.knowledge.actions.get(action or "")
    if document is not None:
        yield from ((document.action_id, rule) for rule in document.error_handling)


def _as_document(name: str, screen_id: str | None, rule: ErrorRule) -> ErrorRecovery:
    named = [rule.recovery, *([rule.fallback] if rule.fallback else [])]
    return ErrorRecovery(
        recovery_id=f"{name}.{_as_id(rule.condition)}",
        description=rule.reason or vocabulary.RECOVERIES.get(rule.recovery, ""),
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
    return None if action_type is None else vocabulary.canonical(action_type) or action_type

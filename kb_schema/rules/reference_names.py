"""`ReferenceNames`: the names a knowledge base defines, by kind, and the problems for unknown names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from kb_schema import action_types
from kb_schema.base import CURRENT_SCREEN
from kb_schema.documents import did_you_mean
from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.screens import StateSignature, UIElement

ANY_ACTION = "action or action type"
ANY_WORK = "task or workflow"


class ReferenceNames:
    """The names that exist, by kind."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self.elements: Mapping[str, Mapping[str, UIElement]] = knowledge.elements_by_screen
        """Screen -> its elements."""
        self.signatures: Mapping[str, Sequence[StateSignature]] = _active_signatures(knowledge)
        """Screen -> the active signatures that are documents of their own."""
        elements = {name for each in self.elements.values() for name in each}
        elements |= {e.element_id for layout in knowledge.website.layouts.values() for e in layout}
        self.known: dict[str, Collection[str]] = {
            "screen": {*knowledge.screens, CURRENT_SCREEN},
            "task": knowledge.tasks,
            "action": knowledge.actions,
            "group": knowledge.groups,
            "transition": knowledge.transitions,
            "layout": knowledge.website.layouts,
            "recovery": {*action_types.RECOVERIES, *knowledge.error_recoveries, *knowledge.tasks},
            "element": elements,
            ANY_ACTION: {*knowledge.actions, *action_types.known_names()},
            ANY_WORK: {*knowledge.tasks, *knowledge.workflows},
        }
        self._fixes: dict[tuple[str, str], str] = {}

    def lacks(self, kind: str, name: str) -> bool:
        """Return whether `name` is not a known `kind`; templates are left to run time."""
        return name not in self.known[kind] and "{" not in name

    def missing(self, kind: str, name: str | None, path: str) -> Iterator[Problem]:
        """Yield a problem if `name` is not a known `kind`; templates are left to run time."""
        if name is None or not self.lacks(kind, name):
            return
        if (kind, name) not in self._fixes:  # one mistake may occur in thousands of places
            self._fixes[kind, name] = _fix(name, self.known[kind])
        yield Problem(f'no {kind} "{name}"', path, fix=self._fixes[kind, name])

    def unknown(self, kind: str, name: str, path: str, known: Collection[str]) -> Problem:
        """Return the problem for a name that is not among the known ones."""
        return Problem(f'no {kind} "{name}"', path, fix=_fix(name, known))


def _fix(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, sorted(known)) or f"known: {', '.join(sorted(known)[:6]) or 'none yet'}"


def _active_signatures(knowledge: KnowledgeBase) -> Mapping[str, Sequence[StateSignature]]:
    found: dict[str, list[StateSignature]] = defaultdict(list)
    for document in knowledge.by_kind.get("state_signature", {}).values():
        if isinstance(document, StateSignature) and document.active:
            found[document.screen_id].append(document)
    return found

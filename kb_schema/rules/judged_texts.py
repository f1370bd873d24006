"""A condition that a language model judges stands beside one that the page itself shows (decision 0152).

Its place is a step's postconditions, or the success criteria of a task or workflow: nowhere does a model's word alone let a run go on,
or say that it worked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb_schema.base import Document
from kb_schema.conditions import BaseCondition, JudgedText
from kb_schema.errors import Problem
from kb_schema.nested_models import walk
from kb_schema.rules.checked_models import CheckedModels
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

RULE = "judged-texts"
_FIX = "add a condition beside it that needs no model, such as dom_contains, navigates_to or shows_success_message"
_PLACE = "put it into a step's postconditions, or into success_criteria"


def check(models: CheckedModels) -> Iterator[Problem]:
    """Yield a problem for each judged condition that stands alone, or elsewhere."""
    for document in models.holders(JudgedText):
        judged = [path for path, node in walk(document) if isinstance(node, JudgedText)]
        beside = dict(_list_places(document))
        for path in judged:
            place = path.rpartition("[")[0]
            message, fix = _judge_place(beside.get(place))
            if message:
                where = f"{document.kind}:{document.local_id}"
                yield Problem(message, path=path, document=where, fix=fix, rule=RULE)


def _judge_place(beside: Sequence[BaseCondition] | None) -> tuple[str, str]:
    if beside is None:
        return "a language model's judgement is not allowed here", _PLACE
    if not any(not isinstance(each, JudgedText) and each.success is not False for each in beside):
        return "a language model's judgement must not decide alone", _FIX
    return "", ""


def _list_places(document: Document) -> Iterator[tuple[str, Sequence[BaseCondition]]]:
    """Yield the lists of conditions in which a judged one may stand, with their paths."""
    if isinstance(document, Task | Workflow):
        yield "$.success_criteria", document.success_criteria
    if isinstance(document, Task):
        for at, step in enumerate(document.steps):
            yield f"$.steps[{at}].postconditions", step.postconditions

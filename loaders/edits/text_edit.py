"""Changes a text of a document that people read: its name, its description, those of its inputs, and narration.

No id, reference, step or condition changes. A flow's narration is the text of a segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from kb_schema import KnowledgeBase
from kb_schema.documents import did_you_mean
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit

INPUT, STEP, SEGMENT = "input.", "narration.", "segment."
NAMES = frozenset({"name"})
"""Texts that may not be empty."""

ModelT = TypeVar("ModelT", bound=BaseModel)
Editable = Screen | Task | Workflow | PresentationFlow


@dataclass(frozen=True, slots=True)
class EditableText:
    """One text that can be changed."""

    field: str
    label: str
    text: str


def list_texts(document: Editable) -> list[EditableText]:
    """Return the texts of a document, in the order in which a person reads them."""
    found = [EditableText("name", "Name", getattr(document, "name", "") or "")]
    if isinstance(document, PresentationFlow):
        return found + [
            EditableText(
                f"{SEGMENT}{each.segment_id}",
                f"Narration of {_words(each.segment_id)}",
                each.narration_template,
            )
            for each in document.segments
            if each.narration_template
        ]
    found.append(EditableText("description", "Description", document.description))
    if isinstance(document, Task | Workflow):
        found += [
            EditableText(f"{INPUT}{each.name}", f"Description of {_words(each.name)}", each.description)
            for each in document.io_spec.inputs
        ]
    if isinstance(document, Task):
        found += [
            EditableText(
                f"{STEP}{each.step_id}", f"Narration of {_words(each.step_id)}", each.action.narration or ""
            )
            for each in document.ordered_steps
        ]
    return found


def find_document(knowledge: KnowledgeBase, kind: str, document_id: str) -> Editable:
    """Return a document. Raises `EditRefused` if there is none."""
    known: dict[str, Any] = {
        "screen": knowledge.screens,
        "task": knowledge.tasks,
        "workflow": knowledge.workflows,
        "flow": knowledge.flows,
    }
    found: Editable | None = known.get(kind, {}).get(document_id)
    if found is None:
        meant = did_you_mean(document_id, sorted(known.get(kind, {})))
        raise EditRefused(f"no {kind} {document_id!r}", meant or "choose one from the list")
    return found


def set_text(knowledge: KnowledgeBase, kind: str, document_id: str, field: str, text: str) -> KnowledgeEdit:
    """Return the edit that gives a text of a document. Raises `EditRefused` and `KnowledgeError`."""
    document = find_document(knowledge, kind, document_id)
    texts = {each.field: each for each in list_texts(document)}
    if field not in texts:
        raise EditRefused(
            f"{kind} {document_id!r} has no text {field!r}",
            did_you_mean(field, sorted(texts)) or "reload the page",
        )
    if not text.strip() and (field in NAMES or field.startswith(SEGMENT)):
        raise EditRefused(f"{texts[field].label.lower()} is empty", "write a text")
    changed = _with_text(document, field, text.strip())
    documents = [changed if each is document else each for each in knowledge.documents()]
    return check_edit(knowledge, documents)


def _with_text(document: Editable, field: str, text: str) -> Editable:
    if field == "description" and isinstance(document, Screen):
        return _updated(document, metadata={**document.metadata, "description": text})
    if field.startswith(SEGMENT) and isinstance(document, PresentationFlow):
        segments = _replaced(
            document.segments, "segment_id", field.removeprefix(SEGMENT), narration_template=text
        )
        return _updated(document, segments=segments)
    if field.startswith(INPUT) and isinstance(document, Task | Workflow):
        inputs = _replaced(document.io_spec.inputs, "name", field.removeprefix(INPUT), description=text)
        return _updated(document, io_spec=_updated(document.io_spec, inputs=inputs))
    if field.startswith(STEP) and isinstance(document, Task):
        steps = tuple(
            _updated(each, action=_updated(each.action, narration=text or None))
            if each.step_id == field.removeprefix(STEP)
            else each
            for each in document.steps
        )
        return _updated(document, steps=steps)
    return _updated(document, **{field: text})


def _replaced(parts: Sequence[Any], key: str, wanted: str, **update: Any) -> tuple[Any, ...]:
    return tuple(_updated(each, **update) if getattr(each, key) == wanted else each for each in parts)


def _updated(model: ModelT, **update: Any) -> ModelT:
    """Return a model with other values; `check_edit` checks the document as in a load."""
    return model.model_copy(update=update)


def _words(name: str) -> str:
    return name.replace("_", " ")

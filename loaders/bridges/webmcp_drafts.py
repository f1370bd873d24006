"""Drafts WebMCP declarations of a website's forms from the tasks of its knowledge base, for the website's owner.

The draft is HTML with one form for each task that fills fields of one screen and presses one control there. The
owner copies the attributes (`toolname`, `tooldescription`, `toolparamdescription`) to the real forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from kb_schema import KnowledgeBase
from kb_schema.action_calls import ActionCall
from kb_schema.io_specs import InputSpec
from kb_schema.screens import Screen, UIElement
from kb_schema.tasks import Task
from loaders.markup_escapes import one_line

_TEMPLATE = re.compile(r"\{(\w+)\}")
_ENTERS = frozenset({"fill", "append_text", "select_option", "check", "uncheck", "input_and_submit"})
_PRESSES = frozenset({"click", "press", "input_and_submit"})
LONGEST = 300


@dataclass(frozen=True, slots=True)
class DraftedField:
    """One parameter of a tool: the input of the task that fills the field."""

    name: str
    description: str
    required: bool
    element: UIElement
    choice: bool


@dataclass(frozen=True, slots=True)
class DraftedForm:
    """One form as a tool."""

    name: str
    description: str
    screen: Screen
    fields: tuple[DraftedField, ...]
    button: str


@dataclass(frozen=True, slots=True)
class WebMcpDraft:
    """The declarations, and the tasks that have no form, with the reason."""

    html: str
    forms: tuple[DraftedForm, ...]
    left_out: tuple[str, ...]


def draft_webmcp(knowledge: KnowledgeBase) -> WebMcpDraft:
    """Return the draft for a website. Secret inputs are left out of it: a tool gets no passwords."""
    forms, left_out = [], []
    for task in sorted(knowledge.tasks.values(), key=lambda each: each.task_id):
        found = _find_form(knowledge, task)
        if isinstance(found, DraftedForm):
            forms.append(found)
        else:
            left_out.append(f"{task.task_id}: {found}")
    title = escape(one_line(knowledge.website.name))
    head = (
        f"<!doctype html>\n<meta charset=utf-8>\n<title>{title}: a draft of WebMCP declarations</title>\n"
        "<!-- Copy toolname, tooldescription and toolparamdescription to your own forms. Add toolautosubmit only where a form\n"
        "     may be sent without a look at it. -->\n"
    )
    return WebMcpDraft(head + "\n".join(map(_render, forms)), tuple(forms), tuple(left_out))


def _find_form(knowledge: KnowledgeBase, task: Task) -> DraftedForm | str:
    inputs = {each.name: each for each in task.io_spec.inputs}
    fields: dict[str, DraftedField] = {}
    screens: dict[str, None] = {}
    button = ""
    for call in _list_calls(knowledge, task):
        kind = _find_kind(knowledge, call)
        if kind not in _ENTERS | _PRESSES or not isinstance(call.target, str):
            continue
        place = _find_element(knowledge, call.target, screens)
        if place is None:
            continue
        screen_id, element = place
        used = [inputs[name] for name in _TEMPLATE.findall(str(call.value)) if name in inputs]
        if kind in _ENTERS and used:
            (given,) = used[:1]
            if given.secret or element.type == "password":
                return "it types a secret"
            screens.setdefault(screen_id)
            fields[given.name] = _draft_field(given, element, choice=kind == "select_option")
        if kind in _PRESSES and fields and screen_id in screens:
            button = element.label
    if not fields:
        return "it fills no field from an input"
    if len(screens) > 1:
        return f"its fields are on {len(screens)} screens: {', '.join(screens)}"
    if not button:
        return "it presses no control of the form"
    (screen_id,) = screens
    said = task.description or task.name
    return DraftedForm(task.task_id, said, knowledge.screens[screen_id], tuple(fields.values()), button)


def _find_kind(knowledge: KnowledgeBase, call: ActionCall) -> str:
    """Return the canonical action; for an action document that is given an element, a click if it clicks."""
    document = knowledge.actions.get(call.action_type)
    if document is None or not isinstance(call.target, str):
        return call.canonical_type
    kinds = {each.canonical_type for each in document.execution_steps}
    return "click" if "click" in kinds and not kinds & _ENTERS else call.canonical_type


def _list_calls(knowledge: KnowledgeBase, task: Task) -> Iterator[ActionCall]:
    """Yield the calls of a task in their order, those of its action documents in their place."""
    for step in task.steps:
        yield step.action
        document = knowledge.actions.get(step.action.action_type)
        yield from sorted(document.execution_steps, key=lambda each: each.step) if document else ()


def _find_element(
    knowledge: KnowledgeBase, element_id: str, screens: dict[str, None]
) -> tuple[str, UIElement] | None:
    """Return the element of this id, on the form's screen where that has it."""
    found = [
        (screen.screen_id, element)
        for screen in knowledge.screens.values()
        for element in screen.ui_elements
        if element.element_id == element_id
    ]
    return next((each for each in found if each[0] in screens), found[0] if found else None)


def _draft_field(given: InputSpec, element: UIElement, *, choice: bool) -> DraftedField:
    said = given.description or element.label
    required = given.required and given.default is None
    return DraftedField(given.name, said, required, element, choice)


def _render(form: DraftedForm) -> str:
    where = f"screen {form.screen.screen_id}, {form.screen.url}"
    lines = [
        f"<!-- {_comment(where)} -->",
        f'<form toolname="{_attribute(form.name)}" tooldescription="{_attribute(form.description)}">',
    ]
    for each in form.fields:
        tag = "select" if each.choice else "input"
        needed = " required" if each.required else ""
        attributes = (
            f'name="{_attribute(each.name)}" toolparamdescription="{_attribute(each.description)}"{needed}'
        )
        inner = f"<{tag} {attributes}>" + (f"</{tag}>" if each.choice else "")
        lines.append(f"  <label>{escape(one_line(each.element.label))} {inner}</label>")
    lines += [f"  <button>{escape(one_line(form.button))}</button>", "</form>", ""]
    return "\n".join(lines)


def _attribute(words: str) -> str:
    return escape(one_line(words)[:LONGEST], quote=True)


def _comment(words: str) -> str:
    return re.sub(r"-(?=-)|--?>|<!--", "_", one_line(words))

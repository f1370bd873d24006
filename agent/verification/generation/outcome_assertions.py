"""Writes outcomes as web-first assertions: one registered function per kind of
`kb_schema/expected_outcomes.py`.

Every assertion can fail. An element without a proven locator is asserted by its words; without words the
outcome is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent.playwright_locators.expression_candidates import list_locator_candidates
from agent.verification.generation.errors import CannotBeWritten
from agent.verification.generation.function_body import FunctionBody
from agent.verification.generation.generated_urls import escape_pattern, url_pattern
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.expected_outcomes import OUTCOMES, STATES
from kb_schema.locator_expressions import Expression, LocatorLink, python_regex, python_string, to_source
from kb_schema.registry import Registry
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy
from kb_schema.verification import PlanCheck, PlanStep

_WHERE_ONE_CAN_TYPE = frozenset({"input", "textarea", "select"})
_TICKED = frozenset({"radio", "checkbox", "switch", "menuitemradio", "menuitemcheckbox"})
_INVALID = '[aria-invalid="true"], :invalid'
_BROWSERS_OWN = re.compile(r"(Please|Value must|You must) ")
"""How Chromium's own validation messages begin; they are in no element of the page."""


@dataclass(frozen=True, slots=True)
class AssertionWriting:
    """The outcome being written."""

    body: FunctionBody
    step: PlanStep
    check: PlanCheck

    @property
    def page(self) -> str:
        """The variable of the current tab."""
        return self.body.page

    @property
    def places(self) -> tuple[str, ...]:
        """Where an absence is asserted: the page, and each of its frames."""
        return (self.page, *map(self._enter, self.check.frames))

    @property
    def place(self) -> str:
        """Where a text is: the page, or the frame that shows it."""
        return self._enter(self.check.frames[0]) if self.check.frames else self.page

    def _enter(self, path: tuple[str, ...]) -> str:
        return self.page + "".join(f".frame_locator({python_string(css)})" for css in path)

    @property
    def own(self) -> bool:
        """Whether it is about the step's own element."""
        return self.check.outcome.element is None

    @property
    def target(self) -> str:
        """The element. Raises `CannotBeWritten` if the plan has no locator for it."""
        found = self.found
        if found is None:
            raise CannotBeWritten(
                self.step, f"`{self.check.outcome.said}`: no locator was proven on the page"
            )
        return found

    @property
    def found(self) -> str | None:
        """The element; None if the plan has no locator for it."""
        if self.check.expression:
            return self.body.locator(self.check.expression, self.called, self.check.role)
        if self.own and self.step.expression:
            called = self.step.intent.element or self.step.name
            return self.body.locator(self.step.expression, called, self.step.role)
        return None

    @property
    def called(self) -> str:
        """The element's name; for elements that show page content, what kind of element it is."""
        if OUTCOMES[self.check.outcome.kind].about == "page":
            return {"message": "message", "heading": "heading"}.get(
                self.check.outcome.kind, "dialog" if "dialog" in self.check.outcome.kind else "shown"
            )
        return self.check.outcome.element or self.step.intent.element or self.check.name or self.step.name

    @property
    def text(self) -> str | None:
        """The expected text as it is."""
        return self.check.outcome.value

    @property
    def value(self) -> str:
        """The expected text as Python. Raises `CannotBeWritten` if there is none."""
        if self.text is None:
            raise CannotBeWritten(self.step, f"`{self.check.outcome.said}` needs a value")
        return self.body.texts.literal(self.text)

    @property
    def tag(self) -> str:
        """The element's HTML tag; empty if it is not known."""
        known = self.check.fingerprint or (self.step.fingerprint if self.own else None)
        return (known and known.tag) or ""

    @property
    def role(self) -> str:
        """Its ARIA role; empty if it has none."""
        return self.check.role or (self.step.role if self.own else None) or ""

    @property
    def hides(self) -> bool:
        """Whether the field's value must not be shown, not even in the message of a failure."""
        return (self.own and self.step.password) or self.body.texts.is_secret(self.text)

    def says(self, text: str) -> bool:
        """Whether the locator itself contains the words."""
        return text.casefold() in to_source(self.check.expression, text=str).casefold()


AssertionWriter = Callable[[AssertionWriting], list[str]]
ASSERTION_WRITERS = Registry[AssertionWriter]("outcome")
"""By kind of outcome."""
_LAST = ("no_console_errors",)
"""Asserted after the others, when everything has been shown."""


def write_checks(body: FunctionBody, step: PlanStep) -> list[str]:
    """Return the assertions of a step's outcomes. Raises `CannotBeWritten`."""
    lines: list[str] = []
    kind = ACTION_TYPES.get(canonical(step.intent.action) or "")
    presses = kind is not None and not kind.idempotent
    for check in sorted(step.checks, key=lambda each: _rank(each.outcome.kind, presses=presses)):
        if check.outcome.kind not in ASSERTION_WRITERS:
            raise CannotBeWritten(step, f"the outcome `{check.outcome.said}` cannot be written as a test")
        lines += ASSERTION_WRITERS[check.outcome.kind](AssertionWriting(body, step, check))
    return lines


def _rank(kind: str, *, presses: bool) -> int:
    """Order assertions: what a field holds after a press is asserted when the texts show that it was answered."""
    return 2 if kind in _LAST else int(presses and kind in STATES)


# -- fields ------------------------------------------------------------------------------------------


@ASSERTION_WRITERS.register("field_populated")
def _field_populated(it: AssertionWriting) -> list[str]:
    """In the step that fills the field, assert the value that was filled in, as the field shows it."""
    if it.role in _TICKED:
        return [f"expect({it.target}).to_be_checked()"]
    value = it.step.intent.value if it.own else None
    uploaded = it.own and canonical(it.step.intent.action) == "upload_file"
    if value is None or uploaded or it.hides or it.body.texts.is_secret(value):
        return _holds_something(it)
    return _holds(it, value)


@ASSERTION_WRITERS.register("field_value")
def _field_value(it: AssertionWriting) -> list[str]:
    if it.hides:  # what is expected would be printed when it fails
        return _holds_something(it)
    return _holds(it, it.text or "")


def _holds_something(it: AssertionWriting) -> list[str]:
    if it.tag and it.tag not in _WHERE_ONE_CAN_TYPE:
        return [f"expect({it.target}).not_to_be_empty()"]
    return [f'expect({it.target}).not_to_have_value("")']


def _holds(it: AssertionWriting, wanted: str) -> list[str]:
    """A field may show a value in another form than it was entered: then the observed value is asserted."""
    shown = it.check.observed
    if it.tag == "select":  # of the two ways to name an option, the one that was used
        value = it.body.texts.literal(wanted)
        if shown == wanted:
            return [f"expect({it.target}).to_have_value({value})"]
        return [f'expect({it.target}.locator("option:checked")).to_have_text({value})']
    text = wanted if shown is None or it.body.texts.is_open(wanted) else shown
    value = it.body.texts.literal(text)
    if it.tag and it.tag not in _WHERE_ONE_CAN_TYPE:
        return [f"expect({it.target}).to_contain_text({value})"]
    return [f"expect({it.target}).to_have_value({value})"]


@ASSERTION_WRITERS.register("field_empty")
def _field_empty(it: AssertionWriting) -> list[str]:
    if it.role in _TICKED:
        return [f"expect({it.target}).not_to_be_checked()"]
    if it.tag and it.tag not in _WHERE_ONE_CAN_TYPE:
        return [f"expect({it.target}).to_be_empty()"]
    return [f'expect({it.target}).to_have_value("")']


@ASSERTION_WRITERS.register("selected")
def _selected(it: AssertionWriting) -> list[str]:
    if it.text is not None:
        return _holds(it, it.text)
    if it.tag == "option":
        return [f'expect({it.target}).to_have_js_property("selected", True)']
    if it.role in _TICKED:
        return [f"expect({it.target}).to_be_checked()"]
    if it.role in ("link", "listitem"):
        return [f'expect({it.target}).to_have_attribute("aria-current", re.compile("^(?!false$)."))']
    state = "aria-pressed" if it.role == "button" else "aria-selected"
    return [f'expect({it.target}).to_have_attribute("{state}", "true")']


@ASSERTION_WRITERS.register("invalid")
def _invalid(it: AssertionWriting) -> list[str]:
    """By ARIA or by the browser's own validation, whichever the page uses."""
    marked = f"{it.target}.and_({it.page}.locator({_INVALID!r}))"
    lines = [f"expect({marked}).to_be_visible()"]
    if it.text is None:
        return lines
    if _BROWSERS_OWN.match(it.text):
        said = it.check.observed or it.text
        whole = it.body.texts.literal(said) if it.text in said else it.value
        return [*lines, f'expect({it.target}).to_have_js_property("validationMessage", {whole})']
    return [*lines, *_page_says(it, it.value)]


def _plain(method: str) -> AssertionWriter:
    return lambda it: [f"expect({it.target}).{method}()"]


for _kind, _method in (
    ("checked", "to_be_checked"),
    ("unchecked", "not_to_be_checked"),
    ("focused", "to_be_focused"),
    ("enabled", "to_be_enabled"),
    ("disabled", "to_be_disabled"),
    ("visible", "to_be_visible"),
    ("hidden", "to_be_hidden"),
):
    ASSERTION_WRITERS.register(_kind)(_plain(_method))


# -- elements ----------------------------------------------------------------------------------------


@ASSERTION_WRITERS.register("text")
def _text(it: AssertionWriting) -> list[str]:
    """Assert the whole text as observed, if it is longer than the expected value."""
    shown = it.check.observed
    target = it.body.locator(_beside_its_value(it), it.check.outcome.element or it.called, None)
    if (
        shown is not None
        and not it.body.texts.is_open(it.text)
        and _squeezed(it.text or "") in _squeezed(shown)
    ):
        return [f"expect({target}).to_have_text({it.body.texts.literal(shown)})"]
    return [f"expect({target}).to_have_text({it.value})"]


def _beside_its_value(it: AssertionWriting) -> Expression:
    """Return a locator that does not contain what is asserted: by its term or heading, otherwise by
    position.
    """
    check = it.check
    known = check.expression or it.step.expression
    if not known or not it.says(it.text or ""):
        if not known:
            raise CannotBeWritten(it.step, f"`{check.outcome.said}`: no locator was proven on the page")
        return known
    term = {"dd": "dt", "td": "th"}.get(it.tag)
    if term and check.outcome.element and check.outcome.region is None:
        named = LocatorLink(method="locator", arguments=(term,), keywords={"has_text": check.outcome.element})
        return (named, LocatorLink(method="locator", arguments=(f"+ {it.tag}",)))
    structural = [
        way
        for way in (list_locator_candidates(check.selector, None) if check.selector else ())
        if (it.text or "").casefold() not in to_source(way, text=str).casefold()
    ]
    return structural[0] if structural else known


@ASSERTION_WRITERS.register("count")
def _count(it: AssertionWriting) -> list[str]:
    """For several elements no expression leads to exactly one, so the selector itself is written."""
    ways = [it.check.expression] if it.check.expression else _of_several(it.check.selector)
    if not ways:
        raise CannotBeWritten(
            it.step, f"`{it.check.outcome.said}`: no locator of the counted elements is known"
        )
    target = it.body.locator(ways[0], it.called)
    return [f"expect({target}).to_have_count({int(it.text or 0)})"]


def _of_several(selector: Selector | None) -> Sequence[Expression]:
    """Return the visible elements that a selector finds, as the selector describes them."""
    found: list[Expression] = []
    for each in selector.ordered if selector else ():
        if isinstance(each, NameStrategy) and each.type == "role_name":
            named: dict[str, JsonValue] = (
                {"name": each.name, "exact": True} if each.exact else {"name": each.name}
            )
            found.append((LocatorLink(method="get_by_role", arguments=(each.role,), keywords=named),))
        elif isinstance(each, SemanticStrategy) and each.role and each.model_fields_set <= {"type", "role"}:
            found.append((LocatorLink(method="get_by_role", arguments=(each.role,)),))
        elif isinstance(each, ValueStrategy):
            visible = LocatorLink(method="filter", keywords={"visible": True})
            found += [
                (*way, visible) for way in list_locator_candidates(Selector(strategies=(each,)), None)[:1]
            ]
    return found


# -- pages -------------------------------------------------------------------------------------------


@ASSERTION_WRITERS.register("navigates_to")
def _navigates_to(it: AssertionWriting) -> list[str]:
    """By the path that was reached, and by the name the requirement gives the page, if the page shows it."""
    lines: list[str] = []
    check, name = it.check, _squeezed(it.text or "")
    if check.url:
        lines.append(_at_path(it, check.url))
    if check.heading and (not lines or _squeezed(check.heading) == name):
        lines.append(_heading(it, it.body.texts.literal(check.heading)))
    elif check.title and (not lines or _squeezed(check.title) == name):
        title = it.body.texts.literal(check.title)
        if it.body.texts.is_open(check.title):
            lines.append(f"expect({it.page}).to_have_title(re.compile(re.escape({title})))")
        else:  # a part of it is what was proven
            lines.append(f"expect({it.page}).to_have_title({python_regex(escape_pattern(check.title))})")
    if not lines:
        raise CannotBeWritten(it.step, f"`{check.outcome.said}`: nothing identifies the page")
    return lines


@ASSERTION_WRITERS.register("stays_on_page")
def _stays_on_page(it: AssertionWriting) -> list[str]:
    return [_at_path(it, it.check.url or it.step.page_url)]


@ASSERTION_WRITERS.register("url")
def _url(it: AssertionWriting) -> list[str]:
    return [_at_path(it, it.text or "")]


def _at_path(it: AssertionWriting, path: str) -> str:
    return f"expect({it.page}).to_have_url({url_pattern(path, it.body.texts)})"


@ASSERTION_WRITERS.register("title")
def _title(it: AssertionWriting) -> list[str]:
    return [f"expect({it.page}).to_have_title({it.value})"]


@ASSERTION_WRITERS.register("heading")
def _heading_says(it: AssertionWriting) -> list[str]:
    """One of them contains it."""
    if it.check.expression:
        return _shown_saying(it)
    return [f'expect({it.place}.get_by_role("heading", name={it.value}).first).to_be_visible()']


def _heading(it: AssertionWriting, name: str) -> str:
    return f'expect({it.page}.get_by_role("heading", name={name}, exact=True)).to_be_visible()'


@ASSERTION_WRITERS.register("shows")
def _shows(it: AssertionWriting) -> list[str]:
    return _shown_saying(it) if it.check.expression else _page_says(it, it.value)


@ASSERTION_WRITERS.register("not_shows")
def _not_shows(it: AssertionWriting) -> list[str]:
    it.body.helpers.add("visible_text")
    return [f"expect(visible_text({each}, {it.value})).to_be_hidden()" for each in it.places]


@ASSERTION_WRITERS.register("message")
def _message(it: AssertionWriting) -> list[str]:
    if it.check.expression:
        return _shown_saying(it)
    it.body.helpers.add("message")
    said = f", {it.value}" if it.text is not None else ""
    return [f"expect(message({it.place}{said})).to_be_visible()"]


@ASSERTION_WRITERS.register("dialog_opens")
def _dialog_opens(it: AssertionWriting) -> list[str]:
    """A browser dialog is answered, and its text asserted, where the action is written."""
    if it.step.dialog is not None:
        return []
    if it.check.expression:
        return _shown_saying(it)
    said = f".filter(has_text={it.value})" if it.text is not None else ""
    return [f"expect({_dialogs(it, it.place)}{said}.first).to_be_visible()"]


@ASSERTION_WRITERS.register("dialog_closes")
def _dialog_closes(it: AssertionWriting) -> list[str]:
    if it.check.expression:
        return [f"expect({it.target}).to_be_hidden()"]
    said = f".filter(has_text={it.value})" if it.text is not None else ""
    return [f"expect({_dialogs(it, each)}{said}).to_have_count(0)" for each in it.places]


def _dialogs(it: AssertionWriting, place: str) -> str:
    """What the verdict takes for a dialog: with one role alone, the absence of the others could not fail."""
    it.body.helpers.add("open_dialogs")
    return f"open_dialogs({place})"


@ASSERTION_WRITERS.register("downloads")
def _downloads(_it: AssertionWriting) -> list[str]:
    """Asserted where the action is written: the test must wait for it there."""
    return []


@ASSERTION_WRITERS.register("no_console_errors")
def _no_console_errors(it: AssertionWriting) -> list[str]:
    it.body.fixtures.add("console_errors")
    return ["assert console_errors == []"]


@ASSERTION_WRITERS.register("judged")
def _judged(it: AssertionWriting) -> list[str]:
    """A comment: tests run without a model, and the step has another outcome that is asserted."""
    return [f"# not here: `periplus verify` lets a language model judge {it.value}"]


def _shown_saying(it: AssertionWriting) -> list[str]:
    """The element is visible, and contains the words unless its locator contains them already."""
    lines = [f"expect({it.target}).to_be_visible()"]
    if it.text is not None and not it.says(it.text):
        lines.append(f"expect({it.target}).to_contain_text({it.value})")
    elif it.text is None and it.check.outcome.kind == "message":
        lines.append(f"expect({it.target}).not_to_be_empty()")
    return lines


def _page_says(it: AssertionWriting, value: str) -> list[str]:
    it.body.helpers.add("visible_text")
    return [f"expect(visible_text({it.place}, {value})).to_be_visible()"]


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()

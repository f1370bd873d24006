"""What an outcome says, as web-first assertions: one registered function per kind of `kb_schema/outcomes.py`.

Every assertion can fail: what a plan leaves open (an element nobody proved) is asserted by its words, and
where there are none it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent.playwright_python.expressions import candidates
from agent.playwright_python.writing import python_regex, to_source
from agent.verifying.generating.addresses import escape, url_pattern
from agent.verifying.generating.body import Body
from agent.verifying.generating.errors import CannotBeWritten
from kb_schema.outcomes import OUTCOMES
from kb_schema.playwright_calls import Expression, LocatorLink
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy
from kb_schema.verification import Check, PlanStep
from kb_schema.vocabulary import canonical

_WHERE_ONE_CAN_TYPE = frozenset({"input", "textarea", "select"})
_TICKED = frozenset({"radio", "checkbox", "switch", "menuitemradio", "menuitemcheckbox"})
_INVALID = '[aria-invalid="true"], :invalid'
_BROWSERS_OWN = re.compile(r"(Please|Value must|You must) ")
"""How Chromium begins what it says of a field; that is in no element of the page."""


@dataclass(frozen=True, slots=True)
class Asserting:
    """One outcome of a step while it is written."""

    body: Body
    step: PlanStep
    check: Check

    @property
    def page(self) -> str:
        """The variable of the tab one is in."""
        return self.body.page

    @property
    def own(self) -> bool:
        """Whether it is about the step's own element."""
        return self.check.outcome.element is None

    @property
    def target(self) -> str:
        """The element. Raises `CannotBeWritten` where the plan has no locator for it."""
        found = self.found
        if found is None:
            raise CannotBeWritten(
                self.step, f"`{self.check.outcome.said}`: no locator was proven on the page"
            )
        return found

    @property
    def found(self) -> str | None:
        """The element; None where the plan has no locator for it."""
        if self.check.expression:
            return self.body.locator(self.check.expression, self.called, self.check.role)
        if self.own and self.step.expression:
            called = self.step.intent.element or self.step.name
            return self.body.locator(self.step.expression, called, self.step.role)
        return None

    @property
    def called(self) -> str:
        """What the element is called; one that shows something of the page, what it is."""
        if OUTCOMES[self.check.outcome.kind].about == "page":
            return {"message": "message", "heading": "heading"}.get(
                self.check.outcome.kind, "dialog" if "dialog" in self.check.outcome.kind else "shown"
            )
        return self.check.outcome.element or self.step.intent.element or self.check.name or self.step.name

    @property
    def text(self) -> str | None:
        """What is expected, as it is."""
        return self.check.outcome.value

    @property
    def value(self) -> str:
        """What is expected, as Python. Raises `CannotBeWritten` where nothing is."""
        if self.text is None:
            raise CannotBeWritten(self.step, f"`{self.check.outcome.said}` needs a value")
        return self.body.texts.literal(self.text)

    @property
    def tag(self) -> str:
        """What the element is in HTML; empty where that is not known."""
        known = self.check.fingerprint or (self.step.fingerprint if self.own else None)
        return (known and known.tag) or ""

    @property
    def role(self) -> str:
        """Its ARIA role; empty where it has none."""
        return self.check.role or (self.step.role if self.own else None) or ""

    @property
    def hides(self) -> bool:
        """Whether what the field holds must not be seen, not even in the message of a failure."""
        return (self.own and self.step.password) or self.body.texts.is_secret(self.text)

    def says(self, text: str) -> bool:
        """Whether the locator itself asks for the words."""
        return text.casefold() in to_source(self.check.expression, text=str).casefold()


Write = Callable[[Asserting], list[str]]
ASSERTIONS: dict[str, Write] = {}
"""By kind of outcome."""
_LAST = ("no_console_errors",)
"""Asserted after the others, when everything has been shown."""


def assertion(kind: str) -> Callable[[Write], Write]:
    """Register how a kind of outcome is asserted."""

    def register(write: Write) -> Write:
        ASSERTIONS[kind] = write
        return write

    return register


def written_checks(body: Body, step: PlanStep) -> list[str]:
    """The assertions of a step's outcomes. Raises `CannotBeWritten`."""
    lines: list[str] = []
    for check in sorted(step.checks, key=lambda each: each.outcome.kind in _LAST):
        if check.outcome.kind not in ASSERTIONS:
            raise CannotBeWritten(step, f"the outcome `{check.outcome.said}` cannot be written as a test")
        lines += ASSERTIONS[check.outcome.kind](Asserting(body, step, check))
    return lines


# -- fields ------------------------------------------------------------------------------------------


@assertion("field_populated")
def _field_populated(it: Asserting) -> list[str]:
    """In the step that fills it: what was filled in, as the field shows it."""
    if it.role in _TICKED:
        return [f"expect({it.target}).to_be_checked()"]
    value = it.step.intent.value if it.own else None
    uploaded = it.own and canonical(it.step.intent.action) == "upload_file"
    if value is None or uploaded or it.hides or it.body.texts.is_secret(value):
        return _holds_something(it)
    return _holds(it, value)


@assertion("field_value")
def _field_value(it: Asserting) -> list[str]:
    if it.hides:  # what is expected would be printed when it fails
        return _holds_something(it)
    return _holds(it, it.text or "")


def _holds_something(it: Asserting) -> list[str]:
    if it.tag and it.tag not in _WHERE_ONE_CAN_TYPE:
        return [f"expect({it.target}).not_to_be_empty()"]
    return [f'expect({it.target}).not_to_have_value("")']


def _holds(it: Asserting, wanted: str) -> list[str]:
    """What a field shows may be another form of what was put in: what was observed is asserted then."""
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


@assertion("field_empty")
def _field_empty(it: Asserting) -> list[str]:
    if it.role in _TICKED:
        return [f"expect({it.target}).not_to_be_checked()"]
    if it.tag and it.tag not in _WHERE_ONE_CAN_TYPE:
        return [f"expect({it.target}).to_be_empty()"]
    return [f'expect({it.target}).to_have_value("")']


@assertion("selected")
def _selected(it: Asserting) -> list[str]:
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


@assertion("invalid")
def _invalid(it: Asserting) -> list[str]:
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


def _plain(method: str) -> Write:
    return lambda it: [f"expect({it.target}).{method}()"]


for _kind, _method in (
    ("checked", "to_be_checked"), ("unchecked", "not_to_be_checked"), ("focused", "to_be_focused"),
    ("enabled", "to_be_enabled"), ("disabled", "to_be_disabled"), ("visible", "to_be_visible"),
    ("hidden", "to_be_hidden"),
):  # fmt: skip
    ASSERTIONS[_kind] = _plain(_method)


# -- elements ----------------------------------------------------------------------------------------


@assertion("text")
def _text(it: Asserting) -> list[str]:
    """The whole text, as it was observed around the value where it says more than that."""
    shown = it.check.observed
    target = it.body.locator(_beside_its_value(it), it.check.outcome.element or it.called, None)
    if (
        shown is not None
        and not it.body.texts.is_open(it.text)
        and _squeezed(it.text or "") in _squeezed(shown)
    ):
        return [f"expect({target}).to_have_text({it.body.texts.literal(shown)})"]
    return [f"expect({target}).to_have_text({it.value})"]


def _beside_its_value(it: Asserting) -> Expression:
    """A locator that does not ask for what is asserted: by its term or heading, else by where it stands."""
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
        for way in (candidates(check.selector, None) if check.selector else ())
        if (it.text or "").casefold() not in to_source(way, text=str).casefold()
    ]
    return structural[0] if structural else known


@assertion("count")
def _count(it: Asserting) -> list[str]:
    """Several elements: no expression leads to one alone, so the selector itself is written down."""
    ways = [it.check.expression] if it.check.expression else _of_several(it.check.selector)
    if not ways:
        raise CannotBeWritten(it.step, f"`{it.check.outcome.said}`: no locator of what is counted is known")
    target = it.body.locator(ways[0], it.called)
    return [f"expect({target}).to_have_count({int(it.text or 0)})"]


def _of_several(selector: Selector | None) -> Sequence[Expression]:
    """The visible elements that a selector finds, as it says them itself."""
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
            found += [(*way, visible) for way in candidates(Selector(strategies=(each,)), None)[:1]]
    return found


# -- pages -------------------------------------------------------------------------------------------


@assertion("navigates_to")
def _navigates_to(it: Asserting) -> list[str]:
    """By the path that was reached, and by the name the requirement gives it, where the page says that."""
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
            lines.append(f"expect({it.page}).to_have_title({python_regex(escape(check.title))})")
    if not lines:
        raise CannotBeWritten(it.step, f"`{check.outcome.said}`: nothing proves the page")
    return lines


@assertion("stays_on_page")
def _stays_on_page(it: Asserting) -> list[str]:
    return [_at_path(it, it.check.url or it.step.page_url)]


@assertion("url")
def _url(it: Asserting) -> list[str]:
    return [_at_path(it, it.text or "")]


def _at_path(it: Asserting, path: str) -> str:
    return f"expect({it.page}).to_have_url({url_pattern(path, it.body.texts)})"


@assertion("title")
def _title(it: Asserting) -> list[str]:
    return [f"expect({it.page}).to_have_title({it.value})"]


@assertion("heading")
def _heading_says(it: Asserting) -> list[str]:
    """One of them contains it."""
    if it.check.expression:
        return _shown_saying(it)
    return [f'expect({it.page}.get_by_role("heading", name={it.value}).first).to_be_visible()']


def _heading(it: Asserting, name: str) -> str:
    return f'expect({it.page}.get_by_role("heading", name={name}, exact=True)).to_be_visible()'


@assertion("shows")
def _shows(it: Asserting) -> list[str]:
    return _shown_saying(it) if it.check.expression else _page_says(it, it.value)


@assertion("not_shows")
def _not_shows(it: Asserting) -> list[str]:
    it.body.helpers.add("visible_text")
    return [f"expect(visible_text({it.page}, {it.value})).to_be_hidden()"]


@assertion("message")
def _message(it: Asserting) -> list[str]:
    if it.check.expression:
        return _shown_saying(it)
    it.body.helpers.add("message")
    said = f", {it.value}" if it.text is not None else ""
    return [f"expect(message({it.page}{said})).to_be_visible()"]


@assertion("dialog_opens")
def _dialog_opens(it: Asserting) -> list[str]:
    """The browser's own is answered, and read, where the action is written."""
    if it.step.dialog is not None:
        return []
    if it.check.expression:
        return _shown_saying(it)
    said = f".filter(has_text={it.value})" if it.text is not None else ""
    return [f"expect({_dialogs(it)}{said}).to_be_visible()"]


@assertion("dialog_closes")
def _dialog_closes(it: Asserting) -> list[str]:
    if it.check.expression:
        return [f"expect({it.target}).to_be_hidden()"]
    said = f".filter(has_text={it.value})" if it.text is not None else ""
    return [f"expect({_dialogs(it)}{said}).to_have_count(0)"]


def _dialogs(it: Asserting) -> str:
    role = "alertdialog" if it.role == "alertdialog" else "dialog"
    return f'{it.page}.get_by_role("{role}")'


@assertion("downloads")
def _downloads(_it: Asserting) -> list[str]:
    """Asserted where the action is written: it must be awaited there."""
    return []


@assertion("no_console_errors")
def _no_console_errors(it: Asserting) -> list[str]:
    it.body.fixtures.add("console_errors")
    return ["assert console_errors == []"]


def _shown_saying(it: Asserting) -> list[str]:
    """The element can be seen, and says the words where its locator does not ask for them already."""
    lines = [f"expect({it.target}).to_be_visible()"]
    if it.text is not None and not it.says(it.text):
        lines.append(f"expect({it.target}).to_contain_text({it.value})")
    elif it.text is None and it.check.outcome.kind == "message":
        lines.append(f"expect({it.target}).not_to_be_empty()")
    return lines


def _page_says(it: Asserting, value: str) -> list[str]:
    it.body.helpers.add("visible_text")
    return [f"expect(visible_text({it.page}, {value})).to_be_visible()"]


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()

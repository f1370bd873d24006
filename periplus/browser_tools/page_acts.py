"""One act in a tab: which element is meant, what is done to it, and whether that needs a yes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Page

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.danger_words import find_danger_in_words
from agent.dangers.press_surroundings import (
    NOTHING_AROUND,
    PressSurroundings,
    find_harm_around,
    find_harm_in_choice,
    find_harm_of_question,
    list_meant_options,
    read_surroundings,
)
from agent.errors import AgentError
from agent.execution.effects.person_handover import PRESSES
from agent.execution.execution_ports import LoneAction
from agent.execution.single_actions import perform_single_action
from agent.locators.element_descriptions import ElementDescription
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.page_scan import scan_page
from agent.locators.role_hints import ENTER
from agent.locators.stable_selectors import choose_selectors
from agent.locators.target_discovery import AmbiguousElement, DiscoveredElement, discover_element
from agent.page.errors import PageError
from agent.page.page_refusals import read_refusal_signs
from agent.page.page_side_effects import watch_page
from agent.page.page_writes import watch_writes
from kb_schema import action_types
from kb_schema.explorations import Danger
from kb_schema.fingerprints import Fingerprint
from kb_schema.secret_fields import is_secret_name
from kb_schema.selectors import Selector
from periplus.browser_tools.act_failures import UNSURE, describe_failure, is_only_unexpected
from periplus.browser_tools.browser_tabs import BrowserTab
from periplus.browser_tools.errors import (
    ActFailed,
    NeedsConfirmation,
    NotFoundOnPage,
    NothingCalledThat,
)
from periplus.browser_tools.page_look import find_ref
from web_pages.page_limits import PageRefused

REF = re.compile(r"e\d+")
_YES = frozenset({"true", "yes", "on", "checked", "1"})
Expected = Literal["accept", "dismiss", "new_tab"]
"""What an act leads to besides a change of the page: a dialog that is answered so, or a tab."""
_SHOWN_AT_ONCE = 200
MOST_ERRORS = 3
LONGEST_ERROR = 200
_KINDS = frozenset({"button", "link", "tab", "checkbox", "switch", "radio", "slider"})
"""Roles that may follow the words for an element (`agent.locators.role_hints`)."""
_OWN_TEXT = frozenset({"button", "link", "menuitem", "tab", "switch"})
"""Roles whose text says what they do. That of a list is its options, that of a row all that stands in it."""
ASKED = frozenset({"deletes", "pays", "sends"})
"""What a client has to be sure of."""
_ENTER_SENDS = frozenset({"press", "input_and_submit"})
"""Actions with keys: in a field they may send its form, as its first button does."""
_DELETING_KEYS = frozenset({"delete", "backspace", "clear", "cut"})
_WRITTEN = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})
"""Roles in which such a key deletes characters."""
_JUDGED = PRESSES | _ENTER_SENDS | {"check", "select_option"}
"""What may do something at once. Other entries only fill a field."""


@dataclass(frozen=True, slots=True)
class ActTarget:
    """The element that an act is for."""

    target: str | Selector
    """An element id of the present screen, or a selector."""
    name: str
    role: str
    tag: str
    fingerprint: Fingerprint | None = None
    secret: bool = False
    """Whether what is typed there is a secret: it is kept out of traces and answers."""
    words: tuple[str, ...] = ()
    """All that it is called: by its label, its text, its icon, and by the client."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called, each once, without empty ones."""
        return tuple(dict.fromkeys(each for each in (self.name, *self.words) if each))


@dataclass(frozen=True, slots=True)
class ActOutcome:
    """What to tell of an act."""

    told: str
    failed: bool = False


async def find_target(tab: BrowserTab, element: str, action: str | None) -> ActTarget:
    """Return the element that a reference, an element id of the present screen or plain words mean.

    Raises `NothingCalledThat` where there is none, `NotFoundOnPage` where several may be meant, and where a reference is out of date.
    """
    session, _ = tab.working_session()
    if REF.fullmatch(element):
        return await _find_referred(tab, element)
    listed = (await session.elements()).get(element)
    if listed is not None:
        label = str(listed.metadata.get("label") or element.replace("_", " "))
        return ActTarget(element, label, "", listed.type, secret=is_secret_name(label))
    found = await discover_element(tab.page, ElementDescription(element, action))
    if action == ENTER and not isinstance(found, DiscoveredElement | AmbiguousElement):
        found = await discover_element(tab.page, ElementDescription(element))
    if isinstance(found, DiscoveredElement):
        return _target(found.selector, found.element, asked=element.partition("@")[0])
    if isinstance(found, AmbiguousElement):
        raise NotFoundOnPage(found.reason, hint=_advise(element, found))
    hints = f"; like it: {', '.join(found.hints)}" if found.hints else ""
    raise NothingCalledThat(f"{element!r}: {found.reason}{hints}", hint="call look with whole: true")


def _advise(element: str, found: AmbiguousElement) -> str:
    """Return how to name one of several elements: by its kind where that alone tells them apart."""
    roles = [each.element.role or "" for each in found.candidates]
    kinds = [f"{element} {role}" for role in roles if role in _KINDS and roles.count(role) == 1]
    if kinds:
        return f"name its kind: {' or '.join(kinds)}"
    return "name the region, as in Delete@row Bob, or use a reference of look"


async def _find_referred(tab: BrowserTab, ref: str) -> ActTarget:
    known = find_ref(tab, ref)
    if known is None:
        raise NotFoundOnPage(
            f"no element {ref} in the last look", hint="call look with whole: true for the present references"
        )
    before, at = known
    element = before.elements[at]
    try:
        selector = await _choose_selector(tab, before, at)
        if selector is None:  # the page may have drawn itself anew
            now = await scan_page(tab.page)
            same = [each.at for each in now.interactive if _identity(each) == _identity(element)]
            selector = await _choose_selector(tab, now, same[0]) if len(same) == 1 else None
    except PageError as exc:
        raise NotFoundOnPage(f"{ref} is from a page that is gone", hint="call look with whole: true") from exc
    if selector is None:
        raise NotFoundOnPage(
            f"{ref} ({_called(element)!r}) is not on the page any more", hint="call look with whole: true"
        )
    return _target(selector, element, PageFingerprints(before).of(at))


def _target(
    selector: Selector, element: IndexedElement, fingerprint: Fingerprint | None = None, *, asked: str = ""
) -> ActTarget:
    name = _called(element)
    secret = element.attributes.get("type") == "password" or is_secret_name(name)
    text = element.text if element.role in _OWN_TEXT else ""
    words = (element.label, element.name, text, element.icon, asked.strip())
    return ActTarget(selector, name, element.role or "", element.tag, fingerprint, secret, words)


async def _choose_selector(tab: BrowserTab, index: PageIndex, at: int) -> Selector | None:
    session, _ = tab.working_session()
    try:
        (choice,) = await choose_selectors(tab.page, index, [at], secrets=session.secret_fields)
    except PageRefused:
        return None
    return choice.selector


def _identity(element: IndexedElement) -> tuple[str | None, str, str, str]:
    return element.role, element.name, element.tag, element.near.row


def _called(element: IndexedElement) -> str:
    return element.label or element.name or element.placeholder or element.text or element.icon


def choose_action(target: ActTarget, action: str | None, value: str | None, *, secret: bool) -> str:
    """Return the canonical action. Raises `ActFailed` for an unknown one, and for a value that it does not take."""
    if action is not None:
        named = action_types.canonical(action)
        if named is None or not action_types.ACTION_TYPES[named].on_page:
            raise ActFailed(
                f"no action {action!r}", hint="click, fill, select_option, check, uncheck, press, hover, ..."
            )
        return named
    if value is None and not secret:
        return "click"
    if target.role in ("checkbox", "radio", "switch") or target.tag == "checkbox":
        return "check" if str(value).casefold() in _YES else "uncheck"
    if target.tag in ("select", "dropdown") or target.role == "listbox":
        return "select_option"
    return "fill"


async def check_danger(
    tab: BrowserTab, target: ActTarget, action: str, value: str | None, *, sure: bool
) -> None:
    """Raise `NeedsConfirmation` for an act that deletes, pays or the like.

    A press is judged by its words, its form, its title and its dialog; what is chosen or ticked by its words: a page may do it
    at once.
    """
    if sure or not (action in _JUDGED or _types_enter(action, value)):
        return
    found = await _find_danger(tab, target, action, value)
    if found is not None:
        name, danger, word = found
        raise NeedsConfirmation(
            f"{name!r} {danger} ({word}): nothing was done",
            hint=UNSURE,
        )


def check_address(url: str) -> None:
    """Raise `NeedsConfirmation` for an address that deletes, pays or sends by its words, as for a link that leads there."""
    danger = find_danger_in_address(url)
    if danger is not None and danger[0] in ASKED:
        raise NeedsConfirmation(
            f"the address {danger[0]} ({danger[1]}): it was not opened",
            hint="call go_to again with sure: true if that is meant, or act on the link",
        )


def _types_enter(action: str, value: str | None) -> bool:
    """Whether what is added to a text has a line break: in a chat or an editor that is the Enter key, which may send it."""
    return action == "append_text" and "\n" in (value or "").replace("\r", "\n")


async def _find_danger(
    tab: BrowserTab, target: ActTarget, action: str, value: str | None
) -> tuple[str, str, str] | None:
    """Return what an act would do that a client has to be sure of: by which name, the danger, and what shows it."""
    enters = action in _ENTER_SENDS or _types_enter(action, value)
    if action == "check":
        return _first_asked((each, find_harm_in_choice(each)) for each in target.names)
    if action == "press" and _is_deleting_key(value) and target.role not in _WRITTEN:
        return target.name or value or "", "deletes", f"by the {value} key"
    around = await _read_surroundings(tab, target, by_enter=enters)
    if action == "select_option":
        meant = list_meant_options(value or "", around)
        return _first_asked((each, find_harm_in_choice(each)) for each in (*meant, *target.names))
    names = [*around.sender.splitlines()] if enters and around.sender else [*target.names]
    found = _first_asked((each, find_danger_in_words(each, pressed=True)) for each in names or [""])
    return found or _first_asked((each, find_harm_around(each, around)) for each in names or [""])


def _is_deleting_key(value: str | None) -> bool:
    """Whether a key, by itself or with others, deletes what is chosen in a list of mails or files."""
    return (value or "").rpartition("+")[2].strip().casefold() in _DELETING_KEYS


@contextmanager
def questions_judged(page: Page, *, sure: bool) -> Iterator[None]:
    """Let no question of the page be agreed to that deletes, pays or sends, unless the client is sure of it."""
    effects = watch_page(page)
    if not sure:
        effects.object_to = _object_to_question
    try:
        yield
    finally:
        effects.object_to = lambda _text: None


def _object_to_question(text: str) -> str | None:
    found = find_harm_of_question(text)
    if found is None or found[0] not in ASKED:
        return None
    return f"{found[0]} ({found[1]}); {UNSURE}"


def _first_asked(judged: Iterable[tuple[str, tuple[Danger, str] | None]]) -> tuple[str, str, str] | None:
    return next(((name, *harm) for name, harm in judged if harm is not None and harm[0] in ASKED), None)


async def _read_surroundings(tab: BrowserTab, target: ActTarget, *, by_enter: bool) -> PressSurroundings:
    """Return what the page tells of a press; nothing for an element that is told by its row, which the act finds itself."""
    session, _ = tab.working_session()
    selector = target.target
    if isinstance(selector, str):
        listed = (await session.elements()).get(selector)
        if listed is None or listed.selector.parameterized:
            return NOTHING_AROUND
        selector = listed.selector
    try:
        return await read_surroundings(tab.page, selector, by_enter=by_enter) or NOTHING_AROUND
    except PageError:
        return NOTHING_AROUND  # the act says that the page does not answer


async def perform_act(
    tab: BrowserTab,
    target: ActTarget,
    action: str,
    value: str | None,
    secret: str | None = None,
    expects: Expected | None = None,
    *,
    sure: bool = False,
) -> ActOutcome:
    """Perform the act with all checks of a task's step, and nothing else: the page is left to the client.

    Raises `ActFailed` where nothing could be begun.
    """
    session, engine = tab.working_session()
    if value is not None and action in ("check", "uncheck", "click"):
        value = None
    alone = LoneAction()
    name = target.name or target.role or target.tag or "the element"
    did, url = f"{action} {name!r}", tab.page.url
    try:
        with questions_judged(tab.page, sure=sure):
            result = await perform_single_action(
                engine,
                action,
                target.target,
                value=value,
                secret=secret,
                expects=expects,
                fingerprint=target.fingerprint,
                alone=alone,
            )
    except (AgentError, PageError) as exc:
        alone.failure = exc
        told = describe_failure(did, name, alone, str(exc), getattr(exc, "hint", None))
        raise ActFailed(str(session.context.redact(told))) from exc
    if result.complete:
        return ActOutcome(f"done: {did}")
    if not alone.said and is_only_unexpected(alone) and tab.page.url != url:
        return ActOutcome(f"done: {did}; it led elsewhere than the knowledge base says")
    told = describe_failure(did, name, alone, result.error or "", result.hint)
    return ActOutcome(str(session.context.redact(told)), failed=True)


def has_sent_form(page: Page, url: str) -> bool:
    """Whether the last press sent a form that was answered with a page of the same path, and not with a redirect.

    With an error on that page, it was refused, also if the error stood there before. `url`: the address before.
    """
    writes = watch_writes(page).writes
    same = urlsplit(page.url).path == urlsplit(url).path
    return same and any(write.document and write.status == _SHOWN_AT_ONCE for write in writes)


async def list_errors(page: Page) -> list[str]:
    """Return the messages of the page whose markup calls them errors, at most three: also those that were there before."""
    try:
        signs = await read_refusal_signs(page)
    except PageError:
        return []
    return [each.text[:LONGEST_ERROR] for each in signs.messages if each.wrong][:MOST_ERRORS]

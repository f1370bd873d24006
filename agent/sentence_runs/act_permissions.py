"""Decides whether an act is implied by the sentence and its plan, or needs a person's yes.

Words decide, by fixed rules: a model's opinion does not count. A yes is `--allow NAME`, with the danger's name (`deletes`), the
control's words or `values`, or an answer in the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.danger_words import find_harm_in_words
from agent.dangers.press_surroundings import (
    NOTHING_AROUND,
    PressSurroundings,
    find_harm_around,
    find_harm_in_choice,
)
from agent.locators.page_index import IndexedElement
from agent.sentences.sentence_words import SMALL, stem
from kb_schema.explorations import Danger
from kb_schema.secret_fields import is_secret_name
from kb_schema.sentence_plans import SentencePlan, fold
from kb_schema.text_similarity import words

PRESSES = frozenset({"click", "double_click"})
ENTERS = frozenset({"fill", "select_option", "check", "uncheck"})
TYPED = frozenset({"fill", "select_option"})
"""Actions with a value."""
ACTIONS = ("click", "fill", "select_option", "check", "uncheck", "hover")
"""What a model may do. Typing single keys, dragging and uploading are not among them."""
VALUES = "values"
"""The name by which values are allowed that the plan does not have."""
ELSEWHERE = "elsewhere"
"""The name by which one of several controls that are called alike is allowed, though another one stands beside a text of the
sentence."""
SHORTEST = 2
"""Characters of a text that tells which of several controls is meant."""
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'")
REPEATS = "repeats"
"""The name by which a press that was done already is allowed."""
NEUTRAL = frozenset(
    stem(each)
    for each in [
        "add",
        "apply",
        "back",
        "cancel",
        "change",
        "changes",
        "close",
        "confirm",
        "continue",
        "create",
        "done",
        "edit",
        "filter",
        "find",
        "finish",
        "go",
        "home",
        "list",
        "menu",
        "more",
        "new",
        "next",
        "ok",
        "okay",
        "open",
        "previous",
        "save",
        "search",
        "select",
        "show",
        "submit",
        "update",
        "view",
        "yes",
    ]
)
"""Words of controls that say nothing of what is done."""
STEPPING = frozenset(
    stem(each)
    for each in [
        "next",
        "previous",
        "back",
        "more",
        "menu",
        "open",
        "close",
        "show",
        "view",
        "cancel",
        "filter",
        "search",
        "go",
    ]
)
"""Words of controls that may be pressed again: they only lead on."""


LEADING = frozenset({"button", "link", "tab", "menuitem"})
"""Roles of controls that take no text, whatever they are called."""
SWITCH_CLASSES = frozenset({"switch", "toggle", "checkbox"})
"""Parts of class names by which a control without words is taken for a switch."""


@dataclass(frozen=True, slots=True)
class ActJudgement:
    """Whether an act may be done. `reason` is empty if it may."""

    reason: str = ""
    allow: str = ""
    """The name by which it can be allowed; empty: it cannot."""

    @property
    def may(self) -> bool:
        """Whether it may be done without a further yes."""
        return not self.reason


MAY = ActJudgement()


@dataclass(slots=True)
class ActPermissions:
    """The permissions of one run."""

    sentence: str
    plan: SentencePlan
    values: Mapping[str, str] = field(default_factory=dict)
    allowed: AbstractSet[str] = frozenset()
    """Names of `--allow`, folded; answers of the person are added."""
    _pressed: set[tuple[str, str]] = field(default_factory=set)
    """Words of the presses that were done, and the address without its query."""

    def judge(
        self,
        element: IndexedElement,
        action: str,
        value: str | None,
        url: str,
        around: PressSurroundings = NOTHING_AROUND,
    ) -> ActJudgement:
        """Return whether the act may be done on that element of the page at `url`."""
        names = _list_names(element)
        name = names[0] if names else ""
        leads = (
            action in PRESSES and element.role in LEADING
        )  # a button that is called `Add passkey` takes none
        if element.attributes.get("type") in ("password", "file") or (not leads and is_secret_name(name)):
            return ActJudgement(f"{name or 'a field'!r} takes a secret or a file: a person has to fill it in")
        if action in ENTERS:
            return self._judge_entry(name, action, value)
        return self._judge_press(element, names, url, around) if action in PRESSES else MAY

    def judge_place(self, name: str, here: str, others: Sequence[str]) -> ActJudgement:
        """Return whether one of several controls that are called alike may be pressed: another one may stand beside a text that
        the sentence names. `here`, `others`: the texts before it and before the others.
        """
        plan = self.plan
        told = [*plan.evidence, *plan.entered, *self.values.values()]
        told += [each for pair in _QUOTED.findall(self.sentence) for each in pair]
        named = [text for each in told if len(text := fold(each)) >= SHORTEST]
        if any(_stands_in(each, fold(here)) for each in named):
            return MAY
        beside = next((each for each in named for other in others if _stands_in(each, fold(other))), None)
        if beside is None:
            return MAY
        return self._ask(f"{name!r} after {here!r}, though another one is after {beside!r}", ELSEWHERE, "")

    def judge_request(self, harm: tuple[Danger, str], names: Sequence[str]) -> ActJudgement:
        """Return whether what a press would send may be sent: its danger, and what shows it. `names`: the pressed control; several
        if it is not known whose request it is, and then none of them allows it.
        """
        said = " or ".join(map(repr, names))
        name = names[0] if len(names) == 1 else ""
        return self._ask(f"{said} would send what {harm[0].replace('_', ' ')} ({harm[1]})", harm[0], name)

    def note_press(self, element: IndexedElement, url: str) -> None:
        """Note that a press was done: another one of the same control needs a yes."""
        self._pressed.add(_press_key(element, url))

    def allow(self, name: str) -> None:
        """Note a person's yes."""
        self.allowed = {*self.allowed, fold(name)}

    def _judge_press(
        self, element: IndexedElement, names: list[str], url: str, around: PressSurroundings
    ) -> ActJudgement:
        name = names[0] if names else ""
        harm = _find_harm(element, names, around)
        if harm is not None:
            return self._ask(harm[1], harm[0], name)
        beside = "" if name else element.near.before.strip()
        if beside:  # a control without words
            return self._ask(f"the sentence does not imply to press what is after {beside!r}", beside, beside)
        unsaid = sorted(_content(name) - self._implied() - NEUTRAL)
        if unsaid or not _content(name):
            words_of = f" ({', '.join(unsaid)})" if unsaid else ""
            return self._ask(f"the sentence does not imply to press {name!r}{words_of}", name, name)
        if _press_key(element, url) in self._pressed and not _content(name) <= STEPPING:
            return self._ask(f"{name!r} was pressed here already", REPEATS, name)
        return MAY

    def _judge_entry(self, name: str, action: str, value: str | None) -> ActJudgement:
        harm = _find_harm_in_entry(name, action, value)
        if harm is not None:
            return self._ask(harm[1], harm[0], name)
        if action in ("check", "uncheck"):
            unsaid = _content(name) - self._implied() - NEUTRAL
            return MAY if not unsaid else self._ask(f"the sentence does not imply {name!r}", VALUES, name)
        if value is None:
            return ActJudgement(f"{action} needs a value")
        said = fold(value)
        whole = fold(" ".join([self.sentence, *self.values.values()]))
        if not said or said in {fold(each) for each in self.plan.entered} or _stands_in(said, whole):
            return MAY
        return self._ask(f"the sentence does not imply to enter {value!r} into {name!r}", VALUES, name)

    def _ask(self, reason: str, allow: str, name: str) -> ActJudgement:
        if fold(allow) in self.allowed or (name and fold(name) in self.allowed):
            return MAY
        return ActJudgement(reason, allow)

    def _implied(self) -> frozenset[str]:
        said = [self.sentence, *self.plan.controls, *self.plan.entered, *self.values.values()]
        return frozenset(stem for each in said for stem in _content(each))


def _stands_in(said: str, whole: str) -> bool:
    """Whether a text stands in another one between the bounds of words."""
    at = whole.find(said)
    while at >= 0:
        before, after = whole[at - 1 : at], whole[at + len(said) : at + len(said) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = whole.find(said, at + 1)
    return False


def _content(text: str) -> frozenset[str]:
    """Return the stems of the words that say something; numbers, such as counts, do not."""
    return frozenset(stem(each) for each in words(text) if each not in SMALL and not each.isdecimal())


def _list_names(element: IndexedElement) -> list[str]:
    """Return all that the control is called; what a person reads first."""
    attributes = element.attributes
    called = [element.label, element.name, element.text, element.placeholder, element.icon]
    called += [attributes.get(each, "") for each in ("title", "value", "alt", "aria-label")]
    names = list(dict.fromkeys(each.strip() for each in called if each.strip()))
    beside = element.near.before.strip()
    return [beside] if not names and beside and _is_switch(element) else names


def _is_switch(element: IndexedElement) -> bool:
    """Whether it turns something on and off, by its role or its classes: the text beside it says what. Other controls without
    words may do anything, for example delete what the text names.
    """
    return element.role in ("switch", "checkbox") or not list_class_parts(element).isdisjoint(SWITCH_CLASSES)


def list_class_parts(element: IndexedElement) -> set[str]:
    """Return the words of the class names of an element, folded."""
    return {part for each in element.classes for part in re.split(r"[-_]", each.casefold())}


def _press_key(element: IndexedElement, url: str) -> tuple[str, str]:
    names = _list_names(element)
    return fold(names[0] if names else element.near.before), url.partition("#")[0].partition("?")[0]


def _find_harm(
    element: IndexedElement, names: Sequence[str], around: PressSurroundings
) -> tuple[str, str] | None:
    """Return the danger of a press and what shows it: its words, its address, or what is around it; None if nothing does."""
    name = names[0] if names else ""
    for each in names:
        if (harm := find_harm_in_words(each)) is not None:
            return harm[0], f"{name!r} {harm[0].replace('_', ' ')} ({harm[1]})"
    href = element.attributes.get("href", "")
    if href and (danger := find_danger_in_address(href)) is not None:
        return danger[0], f"the address of {name!r} {danger[0].replace('_', ' ')} ({danger[1]})"
    told = find_harm_around(name, around)
    return None if told is None else (told[0], f"{name!r} {told[0].replace('_', ' ')} ({told[1]})")


def _find_harm_in_entry(name: str, action: str, value: str | None) -> tuple[str, str] | None:
    """Return the danger of an option that is chosen, or of a box that is ticked, and what shows it; None if nothing does.

    The page may act at once, or the next press may be called `Go`. Boxes such as `Send me news` are settings.
    """
    said = {"select_option": value or "", "check": name}.get(action, "")
    harm = find_harm_in_words(said)
    if harm is None and action == "select_option":
        said, harm = name, find_harm_in_choice(name)  # `Delete everything`: whatever its options are called
    if harm is None or (action == "check" and harm[0] == "sends"):
        return None
    return harm[0], f"{said!r} {harm[0].replace('_', ' ')} ({harm[1]})"

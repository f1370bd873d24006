"""Decides whether an act is implied by the sentence and its plan, or needs a person's yes.

Words decide, by fixed rules: a model's opinion does not count. A yes is `--allow NAME`, with the danger's name (`deletes`), the
control's words or `values`, or an answer in the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.danger_words import find_harm_in_words
from agent.dangers.press_surroundings import (
    NOTHING_AROUND,
    PressSurroundings,
    find_harm_around,
    find_harm_in_choice,
)
from agent.locators.control_cards import NO_CARD, ControlCard
from agent.locators.control_names import call_control, is_switch
from agent.locators.page_index import IndexedElement
from agent.sentences.sentence_words import SMALL, stem
from kb_schema.determiners import DEFINITE
from kb_schema.explorations import Danger
from kb_schema.secret_fields import is_secret_name
from kb_schema.sentence_plans import SentencePlan, fold, is_title_in, list_plain_words, stands_in
from kb_schema.sentence_quotes import list_quotes, remove_quotes
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
FEWEST_TEXTS = 2
"""Texts of an entry."""
SHORTEST = 2
"""Characters of a text that tells which of several controls is meant."""
CLEARLY_MORE = 2
"""Plain words of the sentence that another control has beside it, more than the pressed one."""
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
CONFIRMING = frozenset(
    stem(each)
    for each in (
        "anyway",
        "confirm",
        "forever",
        "item",
        "ok",
        "permanently",
        "really",
        "selected",
        "sure",
        "yes",
    )
)
"""Words of buttons that agree to what was asked for."""
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
ENTRIES = frozenset({None, "link", "row", "listitem", "article", "gridcell", "cell", "group", "treeitem"})
"""Roles of what may be an entry of several texts, such as a card or a row. Of other controls each word counts."""


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
    """Words of the presses that were done and may have sent something, and the address without its query."""
    _opened: dict[tuple[str, str], int] = field(default_factory=dict)
    """The same of those that sent nothing -> the number of controls that were known then: what they opened may have an entry that is
    called so.
    """

    def judge(
        self,
        element: IndexedElement,
        action: str,
        value: str | None,
        url: str,
        around: PressSurroundings = NOTHING_AROUND,
        card: ControlCard = NO_CARD,
        number: int = 0,
    ) -> ActJudgement:
        """Return whether the act may be done on that element of the page at `url`. `card`: what is around and in it. `number`: which one it
        was of the controls that the run has seen, in their order; 0: not known.
        """
        names = _list_names(element)
        name = names[0] if names else ""
        leads = (
            action in PRESSES and element.role in LEADING
        )  # a button that is called `Add passkey` takes none
        if element.attributes.get("type") in ("password", "file") or (not leads and is_secret_name(name)):
            return ActJudgement(f"{name or 'a field'!r} takes a secret or a file: a person has to fill it in")
        if action in ENTERS:
            return self._judge_entry(name, action, value)
        return self._judge_press(element, names, url, around, card, number) if action in PRESSES else MAY

    def judge_place(self, name: str, here: Sequence[str], others: Sequence[Sequence[str]]) -> ActJudgement:
        """Return whether one of several controls that are called alike may be pressed: another one may stand beside all texts that the
        sentence names of those here and more, or beside one as its title and not within another text. `here`, `others`: the texts around it and
        around the others. The sentence's plain words name things, too: "the McKinsey post about their campus presentation".
        """
        lack = self._find_lack(here, others) or self._find_lacking_words(name, here, others)
        if lack is None:
            return MAY
        reason = f"{name!r} after {' '.join(here)!r}, though another one is after {lack!r}"
        return self._ask(reason, ELSEWHERE, "")

    def judge_name(self, name: str, others: Sequence[str]) -> ActJudgement:
        """Return whether a control that does harm may be pressed among others that do the same to other things, by their names: one of
        them may be called by all that the sentence names of this one's, and more.
        """
        lack = self._find_lack([name], [[each] for each in others])
        if lack is None:
            return MAY
        return self._ask(f"{name!r}, though another one is called by {lack!r}", ELSEWHERE, "")

    def _list_plain_words(self, name: str) -> list[str]:
        """Return the words of the sentence that may say which thing is meant: not those in quotes, its verb, or words of controls."""
        controls = {stem(each) for control in (name, *self.plan.controls) for each in words(control)}
        return [each for each in list_plain_words(self.sentence) if stem(each) not in controls | NEUTRAL]

    def _find_lacking_words(
        self, name: str, here: Sequence[str], others: Sequence[Sequence[str]]
    ) -> str | None:
        """Return the plain words of the sentence that another one has: clearly more than those here, or all of them and more."""
        plain = self._list_plain_words(name)
        has, *more = (
            {each for each in plain if any(stands_in(each, fold(text)) for text in texts)}
            for texts in (here, *others)
        )
        best = next((each for each in more if len(each) >= len(has) + CLEARLY_MORE or each > has), None)
        return None if best is None else " ".join(each for each in plain if each in best - has)

    def _find_lack(self, here: Sequence[str], others: Sequence[Sequence[str]]) -> str | None:
        """Return what the sentence names and another one has, besides all that it names of those here; None if none has."""
        plan = self.plan
        told = [*plan.evidence, *plan.entered, *self.values.values(), *list_quotes(self.sentence)]
        named = {text for each in told if len(text := fold(each)) >= SHORTEST}
        has = self._weigh(named, here)
        for other in others:
            more = self._weigh(named, other)
            lacks = [text for text, weight in more.items() if weight > has.get(text, 0)]
            if lacks and all(more.get(text, 0) >= weight for text, weight in has.items()):
                return lacks[0]
        return None

    def _weigh(self, named: AbstractSet[str], texts: Sequence[str]) -> dict[str, int]:
        """Return what of the sentence stands in these texts: 2 for what begins one, as a title does, and for one that the sentence has
        whole; 1 for what is within one.
        """
        said = [fold(each) for each in texts]
        begun = {text for text in named for each in said if each.startswith(text) and stands_in(text, each)}
        within = {text for text in named for each in said if stands_in(text, each)}
        whole = {text for text in said if is_title_in(text, self.sentence)}
        return {
            text: 2 if text in begun | whole else 1 for text in sorted(within | whole, key=len, reverse=True)
        }

    def judge_request(self, harm: tuple[Danger, str], names: Sequence[str]) -> ActJudgement:
        """Return whether what a press would send may be sent: its danger, and what shows it. `names`: the pressed control; several
        if it is not known whose request it is, and then none of them allows it.
        """
        said = " or ".join(map(repr, names))
        name = names[0] if len(names) == 1 else ""
        return self._ask(f"{said} would send what {harm[0].replace('_', ' ')} ({harm[1]})", harm[0], name)

    def note_press(self, element: IndexedElement, url: str, *, sent: bool = True, known: int = 0) -> None:
        """Note that a press was done. Another one of what is called so needs a yes; if it sent nothing, only of the `known` controls, which
        the run had seen before: what it opened may have an entry that is called so.
        """
        key = _press_key(element, url)
        if sent:
            self._pressed.add(key)
        else:
            self._opened[key] = known

    def allow(self, name: str) -> None:
        """Note a person's yes."""
        self.allowed = {*self.allowed, fold(name)}

    def _judge_press(
        self,
        element: IndexedElement,
        names: list[str],
        url: str,
        around: PressSurroundings,
        card: ControlCard,
        number: int,
    ) -> ActJudgement:
        name = names[0] if names else ""
        harm = _find_harm(element, names, around, list_things(self.sentence))
        if harm is not None:
            judged = self._ask(harm[1], harm[0], name)
            further = self._list_further(name, harm[0]) if judged.may else []
            if further:
                reason = f"the plan names another control for it than {name!r} ({', '.join(further)})"
                return self._ask(reason, name, name)
            return self._judge_repeat(element, name, url, number) if judged.may else judged
        beside = "" if name else element.near.before.strip()
        if beside:  # a control without words
            return self._ask(f"the sentence does not imply to press what is after {beside!r}", beside, beside)
        unsaid = sorted(_content(name) - self._implied() - NEUTRAL)
        if (unsaid or not _content(name)) and not self._names_entry(element, card):
            words_of = f" ({', '.join(unsaid)})" if unsaid else ""
            return self._ask(f"the sentence does not imply to press {name!r}{words_of}", name, name)
        return self._judge_repeat(element, name, url, number)

    def _judge_repeat(self, element: IndexedElement, name: str, url: str, number: int) -> ActJudgement:
        """Return whether a press may be done that was perhaps done here already: whoever allows what does harm allows it once."""
        key = _press_key(element, url)
        if (key in self._pressed or number <= self._opened.get(key, -1)) and not _content(name) <= STEPPING:
            return self._ask(f"{name!r} was pressed here already", REPEATS, name)
        return MAY

    def _list_further(self, name: str, danger: str) -> list[str]:
        """Return what a control that does harm is called beside what the sentence and the plan say, if the plan names one that does the
        same: whoever allows deleting means that one.
        """
        planned = (find_harm_in_words(each) for each in self.plan.controls)
        if not any(found is not None and found[0] == danger for found in planned):
            return []
        unsaid = _content(name) - self._implied() - NEUTRAL - CONFIRMING
        return sorted(each for each in unsaid if find_harm_in_words(each) is None)

    def _names_entry(self, element: IndexedElement, card: ControlCard) -> bool:
        """Whether it is an entry of several texts, such as a card or a row, of which the sentence or plan has one whole, as its title.

        Its other lines are details. Each word of a button counts, and of what has one line only.
        """
        if element.role not in ENTRIES or element.tag in ("button", "input") or len(card.own) < FEWEST_TEXTS:
            return False
        said = [
            fold(each)
            for each in (self.sentence, *self.plan.controls, *self.plan.entered, *self.values.values())
        ]
        titles = [fold(each) for each in card.own if len(_content(each) - NEUTRAL) > 0]
        return any(stands_in(title, each) for title in titles for each in said)

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
        if not said or said in {fold(each) for each in self.plan.entered} or stands_in(said, whole):
            return MAY
        return self._ask(f"the sentence does not imply to enter {value!r} into {name!r}", VALUES, name)

    def _ask(self, reason: str, allow: str, name: str) -> ActJudgement:
        if fold(allow) in self.allowed or (name and fold(name) in self.allowed):
            return MAY
        return ActJudgement(reason, allow)

    def _implied(self) -> frozenset[str]:
        said = [self.sentence, *self.plan.controls, *self.plan.entered, *self.values.values()]
        return frozenset(stem for each in said for stem in _content(each))


def _content(text: str) -> frozenset[str]:
    """Return the stems of the words that say something; numbers, such as counts, do not."""
    return frozenset(stem(each) for each in words(text) if each not in SMALL and not each.isdecimal())


def _list_names(element: IndexedElement) -> list[str]:
    """Return all that the control is called; what a person reads first."""
    attributes = element.attributes
    called = [
        call_control(element),
        element.label,
        element.name,
        element.text,
        element.placeholder,
        element.icon,
    ]
    called += [attributes.get(each, "") for each in ("title", "value", "alt", "aria-label")]
    names = list(dict.fromkeys(each.strip() for each in called if each.strip()))
    beside = element.near.before.strip()
    return [beside] if not names and beside and is_switch(element) else names


def _press_key(element: IndexedElement, url: str) -> tuple[str, str]:
    names = _list_names(element)
    return fold(names[0] if names else element.near.before), url.partition("#")[0].partition("?")[0]


def list_things(sentence: str) -> frozenset[str]:
    """Return the words by which a sentence names things that are there already, in lower case.

    >>> sorted(list_things('Put the book "The order" on your shelf, and book a room'))
    ['book', 'shelf']
    """
    said = remove_quotes(sentence).casefold().split()
    named = (word.strip(".,:;!?") for before, word in pairwise(said) if before in DEFINITE)
    return frozenset(each for each in named if each.isalpha())


def _find_harm(
    element: IndexedElement, names: Sequence[str], around: PressSurroundings, things: AbstractSet[str]
) -> tuple[str, str] | None:
    """Return the danger of a press and what shows it: its words, its address, or what is around it; None if nothing does. `things`: what
    the sentence names.
    """
    name = names[0] if names else ""
    for each in names:
        if (harm := find_harm_in_words(each)) is not None:
            return harm[0], f"{name!r} {harm[0].replace('_', ' ')} ({harm[1]})"
    href = element.attributes.get("href", "")
    if href and (danger := find_danger_in_address(href)) is not None:
        return danger[0], f"the address of {name!r} {danger[0].replace('_', ' ')} ({danger[1]})"
    told = find_harm_around(name, around, things)
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

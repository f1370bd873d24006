"""Judges a press by what is around its control: its form, its title, and the dialog in which it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from playwright.async_api import Page

from agent.dangers.danger_addresses import find_danger_in_address, find_danger_in_sending_to
from agent.dangers.danger_rules import SAFE_METHODS, find_danger_in_marks
from agent.dangers.danger_words import HARM as _HARM
from agent.dangers.danger_words import (
    find_danger_in_code,
    find_danger_in_words,
    find_harm_in_dialog,
    find_harm_in_words,
    is_general_question,
    load_danger_words,
    undisguise_text,
)
from agent.page import in_page_library
from kb_schema.determiners import DEFINITE
from kb_schema.explorations import Danger
from kb_schema.selectors import Selector
from kb_schema.text_similarity import words

_SAFE_METHODS = frozenset({"", "get", "post", "dialog"})
_LONGEST_DRAWN = 60
"""Characters of a control's own words; longer texts are those of rows and cards, which tell of much else."""
_LONGEST_TEXT = 80
"""Words of a title or a dialog that are looked at."""
_LONGEST_GROUP = 3
"""Words of the name of a group that is a deed; longer ones tell of much else."""
_SHORT_TEXT = 25
"""Words of a dialog that asks one thing: each of its buttons answers it, whatever it is called."""
_ASKING = frozenset("?？؟;")  # noqa: RUF001 - Chinese and Japanese
"""Signs of a question. (Greek has the semicolon.)"""
_PRESSING = (
    "onclick",
    "onmouse",
    "onpointer",
    "ontouch",
    "onkey",
    "onfocus",
    "click",
    "wire:click",
    "phx-click",
    "x-on:click",
    "v-on:click",
)
"""How attributes begin whose code runs at a press."""
_DELETES = re.compile(r"""method\s*:\s*["'`]\s*delete\b|\.delete\s*\(\s*["'`/]""", re.IGNORECASE)
_ADDRESS = re.compile(r"""["'`]((?:https?:/)?/[^"'`\s]{1,200})["'`]""")
_ENDINGS = (("s", ""), ("d", ""), ("ed", ""), ("ing", ""), ("ing", "e"), ("ion", "e"))


@dataclass(frozen=True, slots=True)
class PressSurroundings:
    """What decides what a press does beside the words of the control. The page tells it."""

    title: str = ""
    drawn: str = ""
    """What a person reads in it, also text of style sheets, beside its accessible name."""
    link: str = ""
    """Address to which it leads, if it is a link."""
    action: str = ""
    """Address to which the press submits its form."""
    method: str = ""
    """The method of that form, or of its hidden field `_method`."""
    deed: str = ""
    """What hidden fields of that form say it does, such as `@action=retire`."""
    dialog: str = ""
    """The text of the dialog around it, without that of its controls."""
    fields: str = ""
    """Not empty if that dialog has fields, hidden ones too."""
    layers: str = ""
    """The texts of what is laid over the page around it without being a dialog by its markup, a line each."""
    beside: str = ""
    """The texts of what is laid over the page next to that, a line each: a question may stand there."""
    described: str = ""
    """What its own description says (`aria-description`, `aria-describedby`, `aria-details`)."""
    chosen: str = ""
    """What is chosen in that form, a line each: options of lists, boxes that are ticked."""
    heading: str = ""
    """What that form is called: its label, headings and legends; else the heading above the control in its part of the page."""
    group: str = ""
    """What the groups around a control that does something at once are called, a line each: a menu, a toolbar, a legend."""
    card: str = ""
    """Not empty if that form asks for a payment card."""
    sender: str = ""
    """The words of the button that the Enter key in a field presses, a line each."""
    column: str = ""
    """The heading of the column of a table in which it stands."""
    row: str = ""
    """Not empty if it stands in a row of a table or a list: of that dialog, if there is one."""
    marks: str = ""
    """Its attributes that scripts read, a line each: name, tab, value. Code of what is around it, too: `onclick around`."""
    options: str = ""
    """Of a list: its options, a line each: value, tab, label."""


NOTHING_AROUND = PressSurroundings()


async def read_surroundings(
    page: Page, selector: Selector, *, by_enter: bool = False
) -> PressSurroundings | None:
    """Return what the page tells of a press of an element; None if the selector leads to none. Raises `PageError`.

    `by_enter`: of the Enter key in it, which sends the form of a field, too.
    """
    seen = await in_page_library.call(page, "pressSurroundings", selector.model_dump_json(), by_enter)
    return None if seen is None else PressSurroundings(**{name: text or "" for name, text in seen.items()})


def find_harm_around(
    name: str, around: PressSurroundings, things: AbstractSet[str] = frozenset()
) -> tuple[Danger, str] | None:
    """Return the danger that the surroundings of a press tell, and what shows it; None if they tell none. `things`: words, in lower
    case, by which the person's sentence names a thing (`the book`): such a word is a thing in a text that asks nothing, too, for a
    control that has more words than those of agreeing.

    The dialog around a control, or a layer over the page, counts if its own name only agrees, such as `OK`, or if it has none; in a dialog with a short
    text, each name counts that does not decline, such as `Cancel`. Both are words of `dangers.yaml`, in many languages.
    """
    judges: tuple[Callable[[str, PressSurroundings], tuple[Danger, str] | None], ...] = (
        _harm_of_link,
        _harm_of_marks,
        _harm_of_form,
        _harm_of_sending,
        _harm_of_drawn,
        _harm_of_title,
        _harm_of_column,
        _harm_of_heading,
        _harm_of_group,
        partial(_harm_of_dialog, things=frozenset() if agrees(name) else things),
        _harm_of_layers,
    )
    told = (judge(name, around) for judge in judges)
    return next((harm for harm in told if harm is not None), None)


def _harm_of_link(_name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    danger = find_danger_in_address(around.link) if around.link else None
    return (danger[0], f"its address says {danger[1]}") if danger is not None and danger[0] in _HARM else None


def _harm_of_marks(name_of_control: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    marks = dict(line.split("\t", 1) for line in around.marks.splitlines() if "\t" in line)
    if not agrees(name_of_control) and find_danger_in_words(name_of_control, pressed=True) is None:
        marks = {name: said for name, said in marks.items() if not _is_of_another_press(name, marks)}
    found = find_danger_in_marks(marks)
    if found is not None and found[0] in _HARM:
        return found
    for name, said in marks.items():
        if name.endswith(("confirm", "confirmation")) and (harm := find_harm_of_question(said)) is not None:
            return harm[0], f"it asks {said!r}"
        if (by_code := _find_harm_in_code(name, said)) is not None:
            return by_code
        if said.startswith(("/", "http")) and (danger := find_danger_in_address(said)) is not None:
            return (danger[0], f"its {name} says {danger[1]}") if danger[0] in _HARM else None
    return None


def _find_harm_in_code(mark: str, code: str) -> tuple[Danger, str] | None:
    """Return the harm of the code of a press: a function that it calls, a method or an address that it names."""
    if not mark.lstrip("@").startswith(_PRESSING):
        return None
    found = find_danger_in_code(code) or (("deletes", "DELETE") if _DELETES.search(code) else None)
    named = (find_danger_in_address(each) for each in _ADDRESS.findall(code))
    found = found or next((each for each in named if each is not None), None)
    return (found[0], f"its {mark} says {found[1]}") if found is not None and found[0] in _HARM else None


def _is_of_another_press(name: str, marks: Mapping[str, str]) -> bool:
    """Return whether a mark has the address of another press, such as that of the way back: `data-remove-href` beside `data-href`."""
    parts = name.split("-")
    return len(parts) == 3 and marks.get(f"{parts[0]}-{parts[2]}", "").startswith(("/", "http"))


def _harm_of_sending(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return the harm of words that mean a deed only where the press posts a form: elsewhere `Share` opens a list."""
    if around.method.casefold() != "post":
        return None
    found = find_danger_in_words(name.strip(), pressed=True, posts=True)
    return found if found is not None and found[0] in _HARM else None


def _harm_of_form(_name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return the harm by where the form goes, how, what its hidden fields and choices say, and whether it takes a card."""
    if (sent := find_harm_in_request(around.method, around.action)) is not None:
        return sent[0], f"its form goes to {sent[1]}"
    if around.method.casefold() not in _SAFE_METHODS:
        return "submits", f"by {around.method.upper()[:20]}"
    deed = find_harm_in_words(around.deed) if around.deed else None
    if deed is not None:
        return deed[0], f"its form says {around.deed!r}"
    for each in around.chosen.splitlines():
        if (harm := find_harm_in_choice(each)) is not None:
            return harm[0], f"{each!r} is chosen in its form"
    return ("pays", "its form asks for a card") if around.card else None


_DATED = re.compile(r"[A-Z][a-z]+ed: (?:[\w.,]+ ){0,2}(?:\S*[\s./-])?(?:19|20)\d\d\b")
"""The name of a value with the day on which something was done: `Published: May 01, 2022`. `Deleted: 3 boats` may be what a press does."""
_DELETING = frozenset({"DELETE", "PURGE"})


def find_harm_in_request(method: str, address: str) -> tuple[Danger, str] | None:
    """Return the harm of sending something, by its address and its method; None if they say none."""
    danger = find_danger_in_address(address) if address else None
    if danger is not None and danger[0] in _HARM:
        return danger
    if address and method.upper() not in {*SAFE_METHODS, ""}:
        danger = find_danger_in_sending_to(address)
        if danger is not None and danger[0] in _HARM:
            return danger
    return ("deletes", method.upper()) if method.upper() in _DELETING else None


def _harm_of_drawn(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return the harm of the words that are drawn, where they are others than those of its name."""
    if not around.drawn or len(around.drawn) > _LONGEST_DRAWN or words(around.drawn) == words(name):
        return None
    found = find_danger_in_words(around.drawn, pressed=True)
    return (found[0], f"it is drawn as {around.drawn!r}") if found is not None and found[0] in _HARM else None


def _harm_of_title(_name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    return _find_harm_in_text(around.title) or _find_harm_in_text(around.described)


def _harm_of_column(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return what the heading of its column says, for a name that says nothing itself: `Go`, `X`, a sign."""
    if not around.column or not (agrees(name) or len(name.strip()) <= 1):
        return None
    found = find_harm_in_words(around.column)
    return None if found is None else (found[0], f"its column is called {around.column!r}")


def _harm_of_heading(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    if not around.heading or not agrees(name):
        return None
    return _find_harm_in_text(around.heading, pressed=False) or find_harm_in_dialog(around.heading)


def _harm_of_group(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return what a group says that is called as a deed: `All boats` in the menu `Delete`. Only what deletes: `Order` and `Share` are things."""
    for group in around.group.splitlines():
        found = find_danger_in_words(group, pressed=True) if len(words(group)) <= _LONGEST_GROUP else None
        if found is not None and found[0] == "deletes" and not declines(name):
            return found[0], f"it stands in {group!r}"
    return None


def _harm_of_dialog(
    name: str, around: PressSurroundings, things: AbstractSet[str]
) -> tuple[Danger, str] | None:
    if not around.dialog or not _answers(name, around.dialog):
        return None
    if not _ASKING.isdisjoint(around.dialog):
        return find_harm_of_question(around.dialog)
    return _find_harm_in_text(around.dialog, things=things) or find_harm_in_dialog(around.dialog)


def _harm_of_layers(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return what a layer over the page says, as a dialog does. One that asks nothing may be a panel or a menu: there only words
    count that say a deed of a link, too.
    """
    for text in around.layers.splitlines():
        if not _answers(name, text):
            continue
        asks = not _ASKING.isdisjoint(text)
        harm = (
            find_harm_of_question(text)
            if asks
            else _find_harm_in_text(text, pressed=False) or find_harm_in_dialog(text)
        )
        if harm is not None:
            return harm
    for text in around.beside.splitlines():
        if not _ASKING.isdisjoint(text) and _answers(name, text) and (harm := find_harm_of_question(text)):
            return harm
    return None


def find_harm_of_question(text: str) -> tuple[Danger, str] | None:
    """Return the harm that a yes to the text of a dialog does, and what shows it; None if it tells none."""
    return _find_harm_in_text(text) or find_harm_in_dialog(text)


def find_harm_in_choice(words_of_it: str) -> tuple[Danger, str] | None:
    """Return the harm of an option or a box by its words; None if there is none.

    Only words count that say a deed of a link, too: `Post` and `Book` are more often what a thing is.
    """
    found = find_danger_in_words(words_of_it.strip(), pressed=False)
    return found if found is not None and found[0] in _HARM else None


def find_harm_in_state(state: str) -> tuple[Danger, str] | None:
    """Return the harm of giving a thing a state, such as `deleted`; None if there is none. Only words of links count."""
    return _find_harm_in_text(state, pressed=False)


def list_meant_options(value: str, around: PressSurroundings) -> list[str]:
    """Return the value that is given for a list, and the labels of the options that it may mean."""
    wanted = value.strip().casefold()
    pairs = [line.partition("\t") for line in around.options.splitlines()]
    return [
        value,
        *(label for own, _, label in pairs if own == value or (wanted and wanted in label.casefold())),
    ]


def _answers(name: str, dialog: str) -> bool:
    """Return whether a control does what the dialog around it says."""
    return not declines(name) and (agrees(name) or len(dialog.split()) <= _SHORT_TEXT)


def declines(name: str) -> bool:
    """Return whether a name declines or leaves: `Cancel`, `No, keep it`."""
    known, said = load_danger_words().dialogs.decline, words(undisguise_text(name).replace("İ", "i"))
    return (bool(said) and said[0] in known) or name.strip() in known


def agrees(name: str) -> bool:
    """Return whether a name has no other words than those of agreeing."""
    return load_danger_words().dialogs.agree.issuperset(words(undisguise_text(name).replace("İ", "i")))


def _find_harm_in_text(
    text: str, *, pressed: bool = True, things: AbstractSet[str] = frozenset()
) -> tuple[Danger, str] | None:
    """Return the danger that a sentence tells: its verbs may be inflected, and stand anywhere in it. `things`: words that do not count
    where they stand as the name of a thing.
    """
    said = undisguise_text(text).split()[:_LONGEST_TEXT]
    for number, first in enumerate(said):
        verbs = _list_verbs(first)
        dated = _DATED.match(" ".join(said[number : number + 5]))
        for verb in verbs[:1] if dated else verbs:
            # a sign, such as a star, says what it says alone: the next word begins a phrase of its own
            told = " ".join([verb, *said[number + 1 : number + 5]]) if words(verb) else verb
            harm = find_harm_in_words(told) if pressed else find_harm_in_choice(told)
            if harm is None or _is_changed_thing(said, number, told):
                continue
            if not (verb in things and _is_name(said, number, told)):
                return harm[0], f"{first!r} is said with it"
    return None


def _is_name(said: Sequence[str], at: int, told: str) -> bool:
    """Return whether a word that may be a deed or a thing is a thing where it stands: `the book`, `Book 3 of Skerry Point`; not
    `Book 3 nights`. `told`: it and the words behind it.
    """
    if find_harm_in_choice(told) is not None:
        return False  # a deed of links, too
    known = at > 0 and said[at - 1].casefold() in DEFINITE
    return known or _NUMBERED_THING.match(" ".join(said[at + 1 :])) is not None


def _is_changed_thing(said: Sequence[str], at: int, told: str) -> bool:
    """Return whether a word that may be a deed or a thing has an optional plural, which a deed has not, in a text whose verb only changes
    what is there: `change the status of the selected book(s)`. What it is to be then must be known to do nothing: `as read`, not `as paid`.
    `told`: it and the words behind it.
    """
    if not _OPTIONAL_PLURAL.search(said[at]) or find_harm_in_choice(told) is not None:
        return False
    begins = max((number + 1 for number in range(at) if said[number][-1] in _SENTENCE_ENDS), default=0)
    before = [each.strip(".,:;!?\"'()").casefold() for each in said[begins:at]]
    verb = next((each for each in before if not is_general_question(each)), "")
    known = load_danger_words().dialogs
    after = words(re.split(r"[.!?]", " ".join(said[at + 1 :]))[0])
    state = after[1:] if after[:1] and after[0] in _BECOMING else ()
    return verb in known.changing and known.states.issuperset(state) and _JOINING.isdisjoint(before)


_OPTIONAL_PLURAL = re.compile(r"\w\((?:e?s)\)\W*$")
_SENTENCE_ENDS = frozenset(".!?:;")
_BECOMING = frozenset({"as", "to", "into"})
"""Words before what something is to be."""
_JOINING = frozenset({"and", "then", "&", "or"})
"""Words before another verb."""
_NUMBERED_THING = re.compile(r"#?\d+(?:\.\d+)?(?:$|[.,;:)]|\s+of(?:$|\s+\D))")
"""A number that counts nothing."""


def _list_verbs(word: str) -> list[str]:
    """Return a word and the verbs that it may be a form of: `deletes`, `deleted`, `removing`."""
    plain = word.strip(".,:;!?\"'()").casefold()
    found = [plain]
    for ending, whole in _ENDINGS:
        if plain.endswith(ending) and len(plain) > len(ending) + 2:
            found.append(plain.removesuffix(ending) + whole)
    return found

"""Compares the names of controls with the words of `dangers.yaml`.

`danger_addresses` judges addresses; `danger_rules` decides.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import get_args

import yaml
from pydantic import Field

from kb_schema.base import Model
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

FILE = Path(__file__).with_name("dangers.yaml")
MOST_WORDS = 40
"""Number of words at the beginning and end of a long name that are compared."""
_CATEGORIES = frozenset(get_args(Danger))

HARM: frozenset[Danger] = frozenset({"deletes", "pays", "sends", "signs_out"})
"""What needs a yes by name wherever it is done."""

DangerPhrases = dict[Danger, tuple[str, ...]]


class LanguageWords(Model):
    """The phrases of one language."""

    always: DangerPhrases = Field(default_factory=dict)
    pressed: DangerPhrases = Field(default_factory=dict)
    posted: DangerPhrases = Field(default_factory=dict)
    harmless: tuple[str, ...] = ()


class DialogWords(Model):
    """Words of dialogs and of their buttons; see `dangers.yaml`."""

    agree: frozenset[str]
    decline: frozenset[str]
    says: DangerPhrases
    done: frozenset[str]
    agreed: frozenset[str]
    program_parts: frozenset[str]
    program_changes: frozenset[str]
    between_changes: frozenset[str]
    before_parts: frozenset[str]
    after_changes: frozenset[str]
    greets: frozenset[str]
    wider: frozenset[str]
    quantities: frozenset[str]
    general: frozenset[str]
    changing: frozenset[str]
    states: frozenset[str]
    things: frozenset[str]
    around: frozenset[str]
    money: frozenset[str]


class AddressWords(Model):
    """Words in addresses; see `dangers.yaml`."""

    anywhere: DangerPhrases
    behind_a_key: DangerPhrases
    before_a_key: DangerPhrases
    keys_that_say: tuple[str, ...]
    keys_that_do: DangerPhrases
    names_of_things: frozenset[str]
    called: DangerPhrases
    fields_that_say: frozenset[str]
    leaving: frozenset[str]
    left: frozenset[str]
    fields_that_say_with_a_thing: frozenset[str]
    fields_that_may_say: frozenset[str]
    fields_that_call: frozenset[str]
    arguments_of_calls: frozenset[str]
    beside_calls: frozenset[str]
    fields_of_orders: frozenset[str]
    words_of_operations: frozenset[str]
    fields_of_data: frozenset[str]
    words_of_orders: frozenset[str]
    words_of_no_deed: frozenset[str]
    words_of_looking: frozenset[str]
    words_of_when: frozenset[str]
    names_for_people: frozenset[str]
    parts_of_rules: frozenset[str]
    definitions: frozenset[str]
    pressed_buttons: frozenset[str]
    button_words: frozenset[str]
    words_of_settings: frozenset[str]
    names_of_buttons: frozenset[str]
    arguments: frozenset[str]
    beside_operations: frozenset[str]
    told: frozenset[str]
    counters: frozenset[str]
    headers_that_say: frozenset[str]
    searches: frozenset[str]
    states: frozenset[str]
    marks_of_deleted: frozenset[str]
    views: frozenset[str]
    anti_forgery: tuple[str, ...]
    files: tuple[str, ...]


class LinkShape(Model):
    """A link, described by its class and a pattern for its path."""

    css_class: str
    path: str


class LinkConvention(Model):
    """A link that asks for confirmation first, by a documented framework convention."""

    name: str
    link: LinkShape
    beside: LinkShape
    because: str


class DangerWords(Model):
    """The content of `dangers.yaml`."""

    symbols: DangerPhrases
    languages: dict[str, LanguageWords]
    dialogs: DialogWords
    addresses: AddressWords
    conventions: tuple[LinkConvention, ...]


@cache
def load_danger_words() -> DangerWords:
    """Load the words of this package."""
    return DangerWords.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class DangerPhrase:
    """A sequence of words; `first` and `last` bind it to the beginning or end of a name, `open_start` and `open_end` mean any
    beginning of its first word and any ending of its last one.
    """

    words: tuple[str, ...]
    first: bool
    last: bool
    said: str
    open_start: bool = False
    open_end: bool = False

    @classmethod
    def of(cls, written: str) -> DangerPhrase:
        """Return the phrase of its notation in `dangers.yaml`."""
        bound = written.removeprefix("^").removesuffix("$")
        bare = bound.strip("*")
        return cls(
            tuple(_plain_words(bare)),
            written.startswith("^"),
            written.endswith("$"),
            bare,
            bound.startswith("*"),
            bound.endswith("*"),
        )

    def find(self, said: tuple[str, ...]) -> int | None:
        """Return the index at which it begins in a name, or None."""
        length = len(self.words)
        last = len(said) - length
        places = range(last + 1)
        if self.first:
            places = range(min(1, last + 1))
        if self.last:
            places = range(max(last, 0), last + 1) if not self.first or last == 0 else range(0)
        if self.open_start or self.open_end:
            return next((at for at in places if self._is_like(said[at : at + length])), None)
        return next((at for at in places if said[at : at + length] == self.words), None)

    def _is_like(self, said: tuple[str, ...]) -> bool:
        """Whether words are those of the phrase but for open ends."""
        if len(said) != len(self.words) or said[1:-1] != self.words[1:-1]:
            return False
        if len(said) == 1:
            return self._begins_like(said[0], self.words[0], ends=self.open_end)
        ends = said[-1].startswith(self.words[-1]) if self.open_end else said[-1] == self.words[-1]
        return ends and self._begins_like(said[0], self.words[0], ends=False)

    def _begins_like(self, said: str, word: str, *, ends: bool) -> bool:
        """Whether a word is one of the phrase; `ends`: also with another ending."""
        if self.open_start:
            return word in said if ends else said.endswith(word)
        return said.startswith(word) if ends else said == word


@dataclass(frozen=True)
class PhraseIndex:
    """Phrases in their order, found by their first word."""

    phrases: tuple[tuple[str, Danger | None, DangerPhrase], ...]
    """Kind (`always`, `pressed`, `posted`, `harmless`), danger, phrase."""
    by_first_word: Mapping[str, tuple[int, ...]]
    open: tuple[int, ...]
    """Those whose first word may have another beginning or ending."""

    @classmethod
    def of(cls, phrases: Sequence[tuple[str, Danger | None, DangerPhrase]]) -> PhraseIndex:
        """Return the index of phrases."""
        by_first: defaultdict[str, list[int]] = defaultdict(list)
        open_ones = []
        for number, (_, _, phrase) in enumerate(phrases):
            if phrase.open_start or (phrase.open_end and len(phrase.words) == 1):
                open_ones.append(number)
            else:
                by_first[phrase.words[0]].append(number)
        return cls(tuple(phrases), {word: tuple(each) for word, each in by_first.items()}, tuple(open_ones))

    def read_candidates(self, said: tuple[str, ...]) -> Iterator[tuple[str, Danger | None, DangerPhrase]]:
        """Yield the phrases that may stand in a name, in their order."""
        found = {*self.open, *(number for word in said for number in self.by_first_word.get(word, ()))}
        return (self.phrases[number] for number in sorted(found))


@dataclass(frozen=True, slots=True)
class DangerLexicon:
    """The phrases of all languages."""

    deeds: PhraseIndex
    harmless: PhraseIndex
    symbols: tuple[tuple[Danger, str], ...]


@cache
def _lexicon() -> DangerLexicon:
    book = load_danger_words()
    spoken = book.languages.values()
    kinds = [("always", [each.always for each in spoken]), ("pressed", [each.pressed for each in spoken])]
    kinds.append(("posted", [each.posted for each in spoken]))
    deeds = [
        (kind, danger, DangerPhrase.of(said))
        for kind, books in kinds
        for each in books
        for danger, phrases in each.items()
        for said in phrases
    ]
    harmless = [
        ("harmless", None, DangerPhrase.of(said)) for language in spoken for said in language.harmless
    ]
    symbols = [(danger, sign) for danger, signs in book.symbols.items() for sign in signs]
    return DangerLexicon(PhraseIndex.of(deeds), PhraseIndex.of(harmless), tuple(symbols))


def undisguise_text(text: str) -> str:
    """Return a text as it is read: Unicode compatibility forms normalised, invisible characters removed, letters of other
    alphabets that only look like Latin ones replaced, words that are spaced out joined.
    """
    composed = unicodedata.normalize("NFKC", text)
    seen = "".join(each for each in composed if unicodedata.category(each) != "Cf")
    joined = _SPACED_OUT.sub(lambda found: re.sub(r"[\W_]", "", found.group()), seen)
    return (
        joined
        if joined.isascii()
        else _LETTERS.sub(partial(_as_latin, latin=bool(_LATIN.search(joined))), joined)
    )


_SUM = re.compile(
    r"[$€£¥₹₿]\s?\d|\d[\d.,]*\s?(?:[$€£¥₹₿]|(?:EUR|USD|GBP|CHF|JPY|INR|CAD|AUD|PLN|CZK|SEK|NOK|DKK|zł|Kč|kr)\b)|\b(?:EUR|USD|GBP|CHF)\s?\d"
)
_FIRST_WITHOUT_SPACES = 0x3000
"""The first sign of scripts that write words without spaces between them."""
_SPACED_OUT = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\u00b7_\u2010-\u2013-][^\W\d_]){2,}(?![^\W_])")
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]{2,}")
LOOKALIKES = FILE.with_name("lookalikes.json")
"""Written by `scripts/lookalikes.py`."""


@cache
def _lookalikes() -> dict[str, str]:
    known: dict[str, str] = json.loads(LOOKALIKES.read_text(encoding="utf-8"))
    return known


def _as_latin(found: re.Match[str], *, latin: bool) -> str:
    """Return a word with the Latin letters that it seems to have, if all of its letters seem to be Latin and some are.

    `latin`: other words of the text are Latin; then all of them may be others.
    """
    word, known = found.group(), _lookalikes()
    if word.isascii() or not all(each.isascii() or each in known for each in word):
        return word
    return "".join(known.get(each, each) for each in word) if latin or any(map(str.isascii, word)) else word


def _plain_words(text: str) -> tuple[str, ...]:
    return words(undisguise_text(text))


@cache
def _phrases_in_ascii() -> PhraseIndex:
    phrases = [
        (kind, danger, replace(phrase, words=spelt))
        for kind, danger, phrase in _lexicon().deeds.phrases
        if not "".join(phrase.words).isascii()
        for spelt in {tuple(map(spell, phrase.words)) for spell in (_without_accents, _with_two_letters)}
        if "".join(spelt).isascii() and len("".join(spelt)) >= _SHORTEST_SPELT
    ]
    return PhraseIndex.of(phrases)


_SHORTEST_SPELT = 6
"""Letters of a phrase: shorter ones are words of other languages (`tom`, `sand`, `gui`)."""
_LETTERS_WITHOUT_ACCENTS = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "đ": "d", "\u0131": "i"})
_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


def _without_accents(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS_WITHOUT_ACCENTS))
    return "".join(each for each in apart if not unicodedata.combining(each))


def _with_two_letters(word: str) -> str:
    return _without_accents(word.translate(_TWO_LETTERS))


def find_harm_spelt_in_ascii(name: str) -> Danger | None:
    """Return the harm of an operation that a program writes without the letters of its language (`kuendigen`, `resilier`)."""
    said = words(name)
    found = (
        danger
        for _, danger, phrase in _phrases_in_ascii().read_candidates(said)
        if phrase.find(said) is not None
    )
    return next((each for each in found if each in HARM), None)


def find_harm_in_words(name: str) -> tuple[Danger, str] | None:
    """Return the harm of a control that is pressed and the words that show it; None: it may only submit a form."""
    found = find_danger_in_words(name.strip(), pressed=True)
    return None if found is None or found[0] == "submits" else found


def list_harms_in_dialog(text: str) -> frozenset[Danger]:
    """Return every harm that the text of a dialog tells in any form of its words."""
    found = {danger for danger, _ in _list_told(text)}
    spoken = text.split()
    parts = (" ".join(spoken[at : at + most]) for most in (1, 2, 3) for at in range(len(spoken)))
    named = (find_danger_in_words(each, pressed=True) for each in parts)
    return frozenset({*found, *(each[0] for each in named if each is not None)}) & HARM


def is_general_question(text: str) -> bool:
    """Return whether a question asks only whether something is meant: `Are you sure?`."""
    return load_danger_words().dialogs.general.issuperset(
        re.findall(r"\w+", undisguise_text(text).casefold())
    )


_NAMING = re.compile(r"[^\W\d_]{2,}|[\d.,]*\d")


def list_words_in_order(text: str) -> list[str]:
    """Return the words and numbers of a control or a question, as they are written."""
    return _NAMING.findall(undisguise_text(text))


def names_a_thing(word: str) -> bool:
    """Return whether a word of a control or a question is none of asking, of agreeing, of deeds, and of anything."""
    known, said = load_danger_words().dialogs, word.casefold()
    general = said in known.general or said in known.things or said in known.agree
    deed = find_danger_in_words(said, pressed=True) is not None or next(_list_told(said), None) is not None
    return not general and not deed


def is_quantity(word: str) -> bool:
    """Return whether a word says how many, and names no thing: `all`."""
    return word.casefold() in load_danger_words().dialogs.quantities


def is_around_question(word: str) -> bool:
    """Return whether a word stands beside what a question is about: `once`, `able`, `with`."""
    known, said = load_danger_words().dialogs, word.casefold()
    return said in known.around or said in known.decline


def find_money_words(text: str) -> frozenset[str]:
    """Return the words of a text that speak of money: `fee`, `price`."""
    return load_danger_words().dialogs.money.intersection(
        re.findall(r"\w+", undisguise_text(text).casefold())
    )


def tells_a_sum(text: str) -> bool:
    """Return whether a text has an amount of money: `99 EUR`, `$5`."""
    return _SUM.search(text) is not None


def tells_of_anything_done(text: str) -> bool:
    """Return whether the text of a dialog tells of a deed in whatever form, of a sum, or of an agreement.

    News of a program are no deed: `which features will be added or removed`.
    """
    pays = tells_a_sum(text) or (bool(find_money_words(text)) and any(map(str.isdigit, text)))
    known, told = load_danger_words().dialogs, remove_program_news(undisguise_text(text))
    done = any(each in known.agreed or each.startswith(tuple(known.done)) for each in words(told))
    return pays or done or bool(list_harms_in_dialog(told))


_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def remove_program_news(text: str) -> str:
    """Return a text without what it tells of parts of a program that are changed.

    Such news begin a sentence, or a question in one (`which features ..`): else they may be of something else as well, as what
    follows may say, too.
    """
    return " ".join(map(_without_news_of_sentence, _SENTENCE_END.split(text)))


def _without_news_of_sentence(sentence: str) -> str:
    news = _program_news().search(sentence)
    if news is None:
        return sentence
    after = frozenset(words(sentence[news.end() :]))
    more = find_wider_words(sentence[news.end() :]) or after & load_danger_words().dialogs.after_changes
    return sentence if more else f"{sentence[: news.start()]} {sentence[news.end() :]}"


@cache
def _program_news() -> re.Pattern[str]:
    known = load_danger_words().dialogs
    before, part, change = (
        "|".join(sorted(each)) for each in (known.before_parts, known.program_parts, known.program_changes)
    )
    between = "|".join(sorted(known.between_changes | known.program_changes))
    return re.compile(
        rf"(?:^|\b(?:which|what)\s)\s*(?:(?:{before})\s+)*(?:{part})\s+(?:(?:{between})\s+)*(?:{change})\b",
        re.IGNORECASE,
    )


def speaks_of_agreeing(text: str) -> bool:
    """Return whether the text of a dialog speaks of what is agreed to: cookies, terms."""
    return not load_danger_words().dialogs.agreed.isdisjoint(words(undisguise_text(text)))


def greets(text: str) -> bool:
    """Return whether the text of a dialog greets, or begins a tour or news of the application."""
    return not load_danger_words().dialogs.greets.isdisjoint(words(undisguise_text(text)))


def find_wider_words(text: str) -> frozenset[str]:
    """Return the words of a text that reach further than one thing: `all`, `account`. Of scripts without spaces parts of words count."""
    said = undisguise_text(text).casefold()
    spaced = frozenset(re.findall(r"\w+", said))
    wider = load_danger_words().dialogs.wider
    return frozenset(each for each in wider if each in spaced or (not _has_spaces(each) and each in said))


def _has_spaces(word: str) -> bool:
    """Whether words of its script are written apart."""
    return all(ord(each) < _FIRST_WITHOUT_SPACES for each in word)


def find_harm_in_dialog(text: str) -> tuple[Danger, str] | None:
    """Return the harm that the text of a dialog tells in any form of its words, and the part of a word that shows it."""
    return next(_list_told(text), None)


def _list_told(text: str) -> Iterator[tuple[Danger, str]]:
    """Yield what the text of a dialog tells by parts of words, and these parts."""
    said = undisguise_text(text).casefold()
    for danger, parts in load_danger_words().dialogs.says.items():
        for part in parts:
            if re.search(rf"(?<!\w){re.escape(part)}" if part.isascii() else re.escape(part), said):
                yield danger, part


@lru_cache(maxsize=20_000)
def find_danger_in_words(name: str, *, pressed: bool, posts: bool = False) -> tuple[Danger, str] | None:
    """Return the danger of a control with this name and the words that show it; None if there is none.

    `pressed` is True for buttons, `posts` for those that post a form. A picture of a card beside words is an ornament. For links, fewer words count, since most links open a page first.
    """
    lexicon = _lexicon()
    said = _plain_words(name)
    for danger, sign in lexicon.symbols:
        if pressed and sign in name and (danger != "pays" or not said):
            return danger, sign
    if len(said) > MOST_WORDS:
        said = (*said[: MOST_WORDS // 2], *said[-MOST_WORDS // 2 :])
    said = _without_harmless(said, lexicon.harmless)
    kinds = {"always", *(["pressed"] if pressed else []), *(["posted"] if posts else [])}
    for kind, deed, phrase in lexicon.deeds.read_candidates(said):
        if kind in kinds and deed is not None and phrase.find(said) is not None:
            return deed, phrase.said
    return None


def _without_harmless(said: tuple[str, ...], harmless: PhraseIndex) -> tuple[str, ...]:
    """Replace harmless phrases by a gap, so that the words around them form no new phrase."""
    for _, _, phrase in harmless.read_candidates(said):
        at = phrase.find(said)
        if at is not None:
            said = (*said[:at], "", *said[at + len(phrase.words) :])
    return said


_CALL = re.compile(r"([A-Za-z_$][\w$]{0,80})\s*\(")
_DOM_CALLS = frozenset(
    {
        "remove",
        "removeclass",
        "removeattribute",
        "removechild",
        "removeeventlistener",
        "removeattr",
        "removeprop",
        "removeitem",
        "removeproperty",
        "submithandler",
    }
)
_DEEDS: dict[str, Danger] = {
    "delete": "deletes",
    "destroy": "deletes",
    "remove": "deletes",
    "erase": "deletes",
    "purge": "deletes",
    "logout": "signs_out",
    "signout": "signs_out",
    "pay": "pays",
    "purchase": "pays",
    "buy": "pays",
    "submit": "submits",
    "save": "submits",
    "publish": "sends",
    "confirm": "submits",
    "post": "sends",
}
MOST_CODE = 2_000


@lru_cache(maxsize=5_000)
def find_danger_in_code(code: str) -> tuple[Danger, str] | None:
    """Return the danger in the names of functions that a handler calls; `confirm()` counts as one."""
    for name in _CALL.findall(code[:MOST_CODE]):
        said = words(name)
        if said and name.casefold() not in _DOM_CALLS and said[0] in _DEEDS:
            return _DEEDS[said[0]], f"{name}()"
    return None

"""What a control is called, held against the words of `dangers.yaml`: a pure question over texts.

Not here: addresses (`danger_addresses`), and what is decided (`dangers`).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import get_args

import yaml
from pydantic import Field

from kb_schema.base import Model
from kb_schema.mapping import Danger
from kb_schema.wording import words

FILE = Path(__file__).with_name("dangers.yaml")
MOST_WORDS = 40
"""Of a name: what is longer is a text to read, and what it would do stands at its beginning or end."""
_CATEGORIES = frozenset(get_args(Danger))

Phrases = dict[Danger, tuple[str, ...]]


class LanguageWords(Model):
    """The phrases of one language."""

    always: Phrases = Field(default_factory=dict)
    pressed: Phrases = Field(default_factory=dict)
    harmless: tuple[str, ...] = ()


class AddressWords(Model):
    """What parts of addresses say; see `dangers.yaml`."""

    anywhere: Phrases
    behind_a_key: Phrases
    before_a_key: Phrases
    keys_that_say: tuple[str, ...]
    keys_that_do: Phrases
    anti_forgery: tuple[str, ...]
    files: tuple[str, ...]


class LinkShape(Model):
    """A link by its class and the pattern of its path."""

    css_class: str
    path: str


class Convention(Model):
    """A link that asks first, as a framework documents it."""

    name: str
    link: LinkShape
    beside: LinkShape
    because: str


class DangerBook(Model):
    """The whole of `dangers.yaml`."""

    symbols: Phrases
    languages: dict[str, LanguageWords]
    addresses: AddressWords
    conventions: tuple[Convention, ...]


@cache
def danger_book() -> DangerBook:
    """The words this package ships."""
    return DangerBook.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in their order; `first` and `last` bind them to the ends of a name."""

    words: tuple[str, ...]
    first: bool
    last: bool
    said: str

    @classmethod
    def of(cls, written: str) -> Phrase:
        """As `dangers.yaml` writes it."""
        bare = written.removeprefix("^").removesuffix("$")
        return cls(tuple(_plain_words(bare)), written.startswith("^"), written.endswith("$"), bare)

    def find(self, said: tuple[str, ...]) -> int | None:
        """Where it begins in a name; None: it is not there."""
        length = len(self.words)
        last = len(said) - length
        places = range(last + 1)
        if self.first:
            places = range(min(1, last + 1))
        if self.last:
            places = range(max(last, 0), last + 1) if not self.first or last == 0 else range(0)
        return next((at for at in places if said[at : at + length] == self.words), None)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The phrases of all languages."""

    always: tuple[tuple[Danger, Phrase], ...]
    pressed: tuple[tuple[Danger, Phrase], ...]
    harmless: tuple[Phrase, ...]
    symbols: tuple[tuple[Danger, str], ...]


@cache
def _lexicon() -> Lexicon:
    book = danger_book()
    spoken = book.languages.values()

    def pairs(each: Phrases) -> list[tuple[Danger, Phrase]]:
        return [(danger, Phrase.of(said)) for danger, phrases in each.items() for said in phrases]

    return Lexicon(
        tuple(pair for language in spoken for pair in pairs(language.always)),
        tuple(pair for language in spoken for pair in pairs(language.pressed)),
        tuple(Phrase.of(said) for language in spoken for said in language.harmless),
        tuple((danger, sign) for danger, signs in book.symbols.items() for sign in signs),
    )


def plain(text: str) -> str:
    """A text as it reads: compatibility forms as the plain ones, invisible characters gone."""
    composed = unicodedata.normalize("NFKC", text)
    return "".join(each for each in composed if unicodedata.category(each) != "Cf")


def _plain_words(text: str) -> tuple[str, ...]:
    return words(plain(text))


@lru_cache(maxsize=20_000)
def danger_in_words(name: str, *, pressed: bool) -> tuple[Danger, str] | None:
    """What a control of that name would do, and the words that say so; None: they say nothing of the kind.

    `pressed` is for buttons; a link's words must be plainer, since most links lead to a page first.
    """
    lexicon = _lexicon()
    for danger, sign in lexicon.symbols:
        if pressed and sign in name:
            return danger, sign
    said = _plain_words(name)
    if len(said) > MOST_WORDS:
        said = (*said[: MOST_WORDS // 2], *said[-MOST_WORDS // 2 :])
    said = _without_harmless(said, lexicon.harmless)
    for danger, phrase in (*lexicon.always, *(lexicon.pressed if pressed else ())):
        if phrase.find(said) is not None:
            return danger, phrase.said
    return None


def _without_harmless(said: tuple[str, ...], harmless: tuple[Phrase, ...]) -> tuple[str, ...]:
    """Words in which no harmless phrase is left; a gap stands where one was, so that nothing new is read."""
    for phrase in harmless:
        at = phrase.find(said)
        if at is not None:
            said = (*said[:at], "", *said[at + len(phrase.words) :])
    return said


_CALL = re.compile(r"([A-Za-z_$][\w$]{0,80})\s*\(")
_DOM_CALLS = frozenset({
    "remove", "removeclass", "removeattribute", "removechild", "removeeventlistener", "removeattr", "removeprop",
    "removeitem", "removeproperty", "submithandler",
})  # fmt: skip
_DEEDS: dict[str, Danger] = {
    "delete": "deletes", "destroy": "deletes", "remove": "deletes", "erase": "deletes", "purge": "deletes",
    "logout": "signs_out", "signout": "signs_out", "pay": "pays", "purchase": "pays", "buy": "pays",
    "submit": "submits", "save": "submits", "publish": "sends", "confirm": "submits", "post": "sends",
}  # fmt: skip
MOST_CODE = 2_000


@lru_cache(maxsize=5_000)
def danger_in_code(code: str) -> tuple[Danger, str] | None:
    """What the functions called in a handler of the page's are named for; `confirm()` asks because it matters."""
    for name in _CALL.findall(code[:MOST_CODE]):
        said = words(name)
        if said and name.casefold() not in _DOM_CALLS and said[0] in _DEEDS:
            return _DEEDS[said[0]], f"{name}()"
    return None

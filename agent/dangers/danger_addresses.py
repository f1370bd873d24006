"""Recognises dangerous addresses by the words in their path, query and client-side path.

HTTP defines GET as safe, but some websites delete by GET, so the words of an address count.
`danger_words` judges names of controls; `danger_rules` decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from agent.dangers.danger_words import (
    HARM,
    DangerPhrase,
    DangerPhrases,
    find_danger_in_words,
    load_danger_words,
    undisguise_text,
)
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

MOST_PARTS = 60
MOST_DECODING = 3
"""How often an address is decoded: some servers read `%2564elete` as `delete`."""
_LONGEST_NAME = 3
"""Maximum number of words in a part that names an action; a longer part is the title of an article."""
_KEY = re.compile(
    r"\A(?:\d+|[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f-]{13,27}|(?=[^/]*\d)[\w~=-]{6,}|[a-z]{1,12}[-_:]\d+)\Z",
    re.IGNORECASE,
)
_LANGUAGE_PARTS = frozenset(
    ["lang", "language", "locale", "set-lang", "set-language", "set-locale", "set_lang", "set_language", "set_locale",
     "setlang", "setlanguage", "setlocale", "switch-language", "switch_language", "change-language", "change_language"]
)  # fmt: skip
"""Before a language at the end of an address: opening it shows the whole site in that language from then on."""
_LANGUAGE = re.compile(r"\A[a-z]{2}(?:[-_][a-z0-9]{2,4})?\Z", re.IGNORECASE)
"""Codes of three letters are left out: `new` and `add` look the same."""
_PROGRAMS = re.compile(
    r"\.(?:php\d?|aspx?|jspx?|do|action|cgi|pl|py|rb|cfm|html?|json|xml|ashx|svc)\Z", re.IGNORECASE
)


@lru_cache(maxsize=50_000)
def find_danger_in_address(address: str) -> tuple[Danger, str] | None:
    """Return the danger of opening an address and the part that shows it; None if there is none."""
    try:
        parts = urlsplit(undisguise_text(address))
    except ValueError:
        return "unknown_method", "an invalid address"
    said = _in_path(parts.path) or _in_query(parts.query)
    if said is None and parts.fragment.startswith(("/", "!/")):
        path, _, query = parts.fragment.removeprefix("!").partition("?")
        said = _in_path(path) or _in_query(query)
    return said


def find_deed_in_bare_query(address: str) -> str | None:
    """Return the query of a link that is one word without a value behind the key of a thing (`/tickets/4/?take`), unless the word says
    what is shown (`?print`); None if there is none.

    Applications that act by GET write their deeds so, and no list of verbs has them all.
    """
    parts = _split(undisguise_text(address))
    said = words(_decoded(parts.query))
    if len(said) != 1 or not said[0].isalpha() or re.search(r"[=&]", parts.query):
        return None
    keyed = any(_is_key(part) for part in re.split(r"[/;]", _decoded(parts.path)) if part)
    return f"?{said[0]}" if keyed and said[0] not in load_danger_words().addresses.views else None


@lru_cache(maxsize=20_000)
def find_danger_in_sending_to(address: str) -> tuple[Danger, str] | None:
    """Return the danger of sending something to an address by its last words, and what shows it; None if there is none.

    `/messages/send`, `/account/close`, `/orders/place`, `/payment_intents/pi_1/confirm`, `/chat.postMessage`, `/checkout`:
    addresses that show something when they are opened.
    """
    parts = [_PROGRAMS.sub("", each) for each in re.split(r"[/;]", _decoded(read_url_path(address))) if each]
    named = [each for each in parts if not _is_key(each)]
    if not named:
        return None
    thing, _, name = named[-1].rpartition(".")
    found = find_danger_of_called(name, thing or next(iter(named[-2:-1]), ""))
    return None if found is None else (found, f"/{named[-1]}")


def find_last_words(address: str) -> frozenset[str]:
    """Return the words of the last part of an address that is no key."""
    parts = [_PROGRAMS.sub("", each) for each in re.split(r"[/;]", _decoded(read_url_path(address))) if each]
    return frozenset(words(next((each for each in reversed(parts) if not _is_key(each)), "")))


def find_danger_of_called(name: str, thing: str = "", *, pressed: bool = True) -> Danger | None:
    """Return the danger of what a program calls by a name: `sendMessage`, `customerDelete`. `thing`: on what it is called.

    `pressed`: the words of buttons count; else only those of links.
    """
    said, on = words(undisguise_text(name)), words(undisguise_text(thing))
    one = (*on[:-1], on[-1].removesuffix("s")) if on else ()
    # `sendMessage`, `messageSend`, `orders/place`, and the verb alone: in some languages it ends a phrase
    orders = ((*said, *on), (*said, *one), (*said[-1:], *on, *said[:-1]), said)
    things = load_danger_words().addresses.names_of_things
    dangers: list[Danger] = []
    for each in orders:
        found = find_danger_in_words(" ".join(each), pressed=pressed)
        if found is not None and found[1] not in things:
            dangers.append(found[0])
        if pressed:
            dangers += [danger for phrase, danger in _called() if phrase.find(each) is not None]
    # `orders/7/submit`: "submit orders" sends a form, "submit order" pays
    return next((each for each in dangers if each in HARM), next(iter(dangers), None))


def find_deed_of_value(value: str) -> Danger | None:
    """Return the deed that a value names, as in `action=delete`; None if it names none."""
    named = (_deed(value, where) for where in ("anywhere", "behind_a_key", "before_a_key"))
    return next((each for each in named if each is not None), None)


def find_deed_of_path_part(part: str) -> Danger | None:
    """Return the deed that a part of a path names wherever it stands; None if it names none."""
    return _deed(part, "anywhere")


def _decoded(text: str) -> str:
    for _ in range(MOST_DECODING):
        further = unquote(text)
        if further == text:
            break
        text = further
    return text


def _in_path(path: str) -> tuple[Danger, str] | None:
    parts = [part for part in re.split(r"[/;]", _decoded(path)) if part][:MOST_PARTS]
    if parts and parts[-1].rpartition(".")[2].casefold() in _files():
        return None
    named = [_PROGRAMS.sub("", part) for part in parts]
    for at, part in enumerate(named):
        deed = _deed(part, "anywhere")
        if deed is None and at >= len(named) - 2 and any(map(_is_key, named[:at])):
            deed = _deed(part, "behind_a_key")
        if deed is None and at == len(named) - 2 and _is_key(named[at + 1]):
            deed = _deed(part, "before_a_key")
        if deed is not None:
            return deed, f"/{parts[at]}"
    if len(named) > 1 and named[-2].casefold() in _LANGUAGE_PARTS and _LANGUAGE.match(named[-1]):
        return "submits", f"/{parts[-2]}/{parts[-1]} (it stores the language of the session)"
    return None


def _in_query(query: str) -> tuple[Danger, str] | None:
    addresses = load_danger_words().addresses
    for key, value in _parameters(query):
        if key in addresses.anti_forgery:
            return "unknown_method", f"?{key}= (a CSRF token)"
        for danger, keys in addresses.keys_that_do.items():
            if key in keys:
                return danger, f"?{key}={value}"
        if key in addresses.keys_that_say:
            if (deed := find_deed_of_value(value)) is not None:
                return deed, f"?{key}={value}"
            if key == "_method" and value.casefold() not in {"get", "head"}:
                return "unknown_method", f"?{key}={value}"
    return None


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_PARTS)
    except ValueError:
        return
    for key, value in pairs:
        yield _decoded(key).casefold(), _decoded(value)[:200]


def _is_key(part: str) -> bool:
    return _KEY.match(part) is not None


def _deed(part: str, where: str) -> Danger | None:
    """Return the action that a part names: by its first word, the whole part, or its last word (`do_delete`)."""
    said = words(part)
    if not said or len(said) > _LONGEST_NAME:
        return None
    known = _deeds(where)
    for candidate in (part.casefold(), said[0], "".join(said)):
        if candidate in known:
            return known[candidate]
    return known.get(said[-1]) if said[0] in {"do", "ajax", "api", "confirm", "really"} else None


@cache
def _called() -> tuple[tuple[DangerPhrase, Danger], ...]:
    phrases = load_danger_words().addresses.called
    return tuple((DangerPhrase.of(said), danger) for danger, each in phrases.items() for said in each)


@cache
def _deeds(where: str) -> dict[str, Danger]:
    phrases: DangerPhrases = getattr(load_danger_words().addresses, where)
    return {word.casefold(): danger for danger, each in phrases.items() for word in each}


@cache
def _files() -> frozenset[str]:
    return frozenset(load_danger_words().addresses.files)


def read_url_path(address: str) -> str:
    """Return the path of an address; "" if the address is invalid."""
    return _split(address).path


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")

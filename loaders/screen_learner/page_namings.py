"""Recognises the name of a thing, which an address has, in the heading and title of its page.

`/milestone/Annexe` is headed "Milestone Annexe", `/users/jonas` is titled "Jonas's orders": what remains names the kind of page.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

from kb_schema.text_similarity import TITLE_SIGNS
from kb_schema.url_patterns import ANY
from web_pages.page_profiles import PageFeature

HEADING = "heading"
LEAST_DEPTH = 2
"""The parts of an address (the first is empty) above the names of articles: below the root anything may stand."""
PIECES = re.compile(rf"(?<=:)\s+|\s+(?:[{TITLE_SIGNS}]|::)\s+|[\u201c\u201d\"]")
"""What separates the parts of a title."""
LEAST_NAME = 2
"""The least number of characters of a name that is looked for within a title."""
DEEDS = frozenset(
    [
        "new",
        "add",
        "create",
        "edit",
        "update",
        "change",
        "modify",
        "delete",
        "remove",
        "copy",
        "clone",
        "show",
        "view",
        "details",
        "detail",
        "list",
        "import",
        "export",
    ]
)
"""Parts of addresses that say what is done, and are no names of things."""
_QUOTES = re.compile(r"[\u201c\u201d\"]")
_NAMES_A_KIND = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*")
_SEPARATORS = re.compile(r"[-_+.\s]+")


def name_with_thing_last(at: tuple[str, ...], signs: Collection[PageFeature]) -> str:
    """Return the heading of a page that names one thing after the word for its kind, as its address does: `milestone #`.

    Only a name as people write it counts, with a capital letter or several words: `add` is an action. Empty if there is none.
    """
    name = unquote(at[-1]).replace("_", " ") if len(at) > LEAST_DEPTH else ""
    if not name or ANY in name or not (name != name.lower() or " " in name or at[-1] != name):
        return ""
    ending = f" {name.casefold()}"
    heads = _list_heads(signs)
    kinds = sorted(head.removesuffix(ending).strip() for head in heads if head.endswith(ending))
    return f"{kinds[0]} #" if kinds and _NAMES_A_KIND.fullmatch(kinds[0]) else ""


def names_around_thing(part: str, signs: Collection[PageFeature]) -> frozenset[str]:
    """Return the headings and titles of a page that have a part of its address and another word, with `#` for that part.

    `jonas` and "Jonas's orders" give `#'s orders`. A part that says a deed (`new`) or is an id names no thing.
    """
    words = [re.escape(each) for each in _SEPARATORS.split(unquote(part).casefold()) if each]
    if ANY in part or part in DEEDS or len("".join(words)) < LEAST_NAME:
        return frozenset()
    name = re.compile(r"(?<!\w)" + _SEPARATORS.pattern.join(words) + r"(?!\w)")
    found = {name.sub("#", head) for head in _list_heads(signs) if name.search(head)}
    return frozenset(each for each in found if any(letter.isalpha() for letter in each))


def _list_heads(signs: Collection[PageFeature]) -> set[str]:
    return {
        piece.casefold().strip()
        for sign in signs
        if (sign.kind, sign.where) in ((HEADING, "h1"), ("title", ""))
        for piece in PIECES.split(_QUOTES.sub("", sign.text))
    }

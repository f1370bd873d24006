"""Finds the addresses of screens that belong to one of many named things: `/projects/{project}/versions/new`, `?title={title}`.

A person knows the name of the thing as it is in the address; numbers nobody knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.readable_ids import to_id_words
from loaders.screen_learner.url_patterns import list_open_parts, names_one, segments

MOST_EXAMPLES = 5
_WORDS = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """An address in which one part is the name of a thing."""

    before: str
    after: str
    """The address before and behind the name."""
    called: str
    """What the thing is, in words joined by `_`."""
    examples: tuple[str, ...]
    """The names that were seen."""

    def fill(self, name: str) -> str:
        """Return the address with an input in place of the name."""
        return f"{self.before}{{{name}}}{self.after}"


def find_named_address(screen: ExploredScreen) -> NamedAddress | None:
    """Return the address that opens a screen of any of the things; None if more than one part varies, or a part is a number."""
    pages = [
        look.page
        for look in screen.looks
        if look.page.openable is not False and not urlsplit(look.page.url).fragment
    ]
    if screen.layer or not pages:
        return None
    if screen.asked_things:
        return _find_in_query([page.url for page in pages], screen.asked_things)
    paths = [segments(urlsplit(page.url).path) for page in pages]
    if len({len(path) for path in paths}) != 1:
        return None
    varied = [at for at, parts in enumerate(zip(*paths, strict=True)) if len(set(parts)) > 1]
    if not varied and len(screen.patterns) == 1:
        varied = [at for at in list_open_parts(screen.patterns[0]) if at < len(paths[0])]
    if len(varied) != 1:
        return None
    at = varied[0]
    names = sorted({path[at] for path in paths})
    last = at == len(paths[0]) - 1
    if last or any(names_one(name) or not _WORDS.search(name) for name in names):
        return None
    above = to_id_words(paths[0][at - 1]) if at > 1 else ""
    called = above.removesuffix("s") if above and above[0].isalpha() else "name_in_address"
    shortest = min((page.url for page in pages), key=lambda url: (len(url), url))
    parts = urlsplit(shortest)
    steps = segments(parts.path)
    before = "/".join((f"{parts.scheme}://{parts.netloc}", *steps[1:at], ""))
    return NamedAddress(before, "/".join(("", *steps[at + 1 :])), called, tuple(names[:MOST_EXAMPLES]))


def _find_in_query(urls: list[str], asked: list[str]) -> NamedAddress | None:
    """Return the same for a name in the query: `index.php?title={title}&action=edit`."""
    parts = urlsplit(min(urls, key=lambda url: (len(url), url)))
    names = sorted({dict(parse_qsl(urlsplit(url).query)).get(asked[0], "") for url in urls})
    if len(asked) > 1 or any(names_one(name) or not _WORDS.search(name) for name in names):
        return None
    called = to_id_words(asked[0])
    if not called or not called[0].isalpha():
        return None
    query = parts.query.split("&")
    at = next(number for number, each in enumerate(query) if each.partition("=")[0] == asked[0])
    begun = "&".join((*query[:at], f"{asked[0]}="))
    before = f"{parts.scheme}://{parts.netloc}{parts.path}?{begun}"
    return NamedAddress(
        before, "".join(f"&{each}" for each in query[at + 1 :]), called, tuple(names[:MOST_EXAMPLES])
    )

"""What screens are called: what their pages say that they are, without what is only a row of the site's data."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from loaders.cartography.wording import words_of
from loaders.signatures.addresses import ANY, place
from loaders.signatures.naming import name_of
from loaders.signatures.seen import ObservedPage

LONGEST = 200
LONGEST_HEADING = 40
"""Of one that is said beside a name."""
COMMON = 0.5
"""A heading that more of the other pages have is the site's, not theirs."""
_HEADS = (("heading", "h1"), ("title", ""))
_PARTING = re.compile(r"\s*[:|\u2013\u2014\u00b7-]\s+|\s+[|\u2013\u2014\u00b7-]\s*")
_PIECES = re.compile(r"\s+[|\u2013\u2014\u00b7-]\s+")
"""What parts the name of a page from its site's."""
_OF_ONE = re.compile(r"(.*?\w)(?::\s.*|\s+[#\u2116]?\d[\w.,/-]*)")
"""A heading that says what it is of one of many: `Order #10002`, `Notification: Your parcel`."""
SHARED = 0.8
"""What more of the addresses begin with tells none of them."""


def titles_of(
    groups: Sequence[Sequence[int]], seen: Sequence[ObservedPage], rows: Collection[str]
) -> list[str]:
    """A name for each group of pages, each another one. `rows`: what the rows of lists are called."""
    root = _root([_parts(seen[group[0]].path) for group in groups])
    names = [_title([seen[at] for at in group], _others(group, seen), rows, root) for group in groups]
    alike: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        alike[words_of(name)].append(number)
    for numbers in alike.values():
        if len(numbers) > 1:
            paths = [seen[groups[number][0]].path for number in numbers]
            told = [[seen[at] for at in groups[number]] for number in numbers]
            parted = zip(_parted(paths), _headed_apart(told), strict=True)
            for number, (by_path, by_heading) in zip(numbers, parted, strict=True):
                beside = by_path or by_heading
                names[number] = f"{names[number]} ({beside})" if beside else names[number]
    return [name[:LONGEST] for name in names]


def _title(
    own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str], root: tuple[str, ...]
) -> str:
    at = _place_of(own)
    if ANY not in at:
        return name_of(own, others)
    short = at[len(root) :] if at[: len(root)] == root else at
    return _heading(own, others, rows) or _of_one(own, others) or _said(own, others, rows, short or at)


def _place_of(own: Sequence[ObservedPage]) -> tuple[str, ...]:
    """The place of all of them, with what varies left open."""
    places = [_parts(page.path) for page in own]
    first = min(places, key=lambda each: (len(each), each))
    return tuple(part if all(part in each for each in places) else ANY for part in first)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in place(path) if part)


def _root(places: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What nearly all addresses begin with."""
    root: tuple[str, ...] = ()
    while len(places) > 1:
        begun = Counter(each[: len(root) + 1] for each in places if len(each) > len(root))
        most, times = begun.most_common(1)[0] if begun else (root, 0)
        if times < SHARED * len(places):
            break
        root = most
    return root


def _of_one(own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
    """What their first headings, or titles, say before they say of which one; nothing where one page is all."""
    if len({_heads(page) for page in own}) < 2:
        return ""
    kinds = [
        {found[1] for text in _heads(page) if (found := _OF_ONE.fullmatch(text)) is not None} for page in own
    ]
    usual = {text for page in others for text in _heads(page)}
    known = set.intersection(*kinds) - usual
    return min(known, key=lambda text: (-len(text), text)) if known else ""


def _heads(page: ObservedPage) -> tuple[str, ...]:
    titles = (parts[0] for text in page.sketch.said.get(_HEADS[1], ()) if (parts := _PIECES.split(text)))
    return _first_headings(page) or tuple(titles)


def _heading(own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str]) -> str:
    """The first heading (else title) of all of them, but for the words of a row; nothing where there is none."""
    usual = [text for page in others for text in _heads(page)]
    for strictly in (True, False):
        common = set.intersection(
            *({without_rows(text, rows, strictly=strictly) for text in _heads(page)} for page in own)
        )
        known = [text for text in common if text and usual.count(text) <= COMMON * len(others)]
        if known:
            return min(known, key=lambda text: (usual.count(text), -len(text), text))
    return ""


def _said(
    own: Sequence[ObservedPage], others: Sequence[ObservedPage], rows: Collection[str], at: Sequence[str]
) -> str:
    """What they are called otherwise, if that is no row and stands where a page says what it is."""
    name = name_of(own, others)
    headed = all(
        any(name in text for head in _HEADS for text in page.sketch.said.get(head, ())) for page in own
    )
    return name if headed and name not in rows else by_address(at) or name


def without_rows(text: str, rows: Collection[str], *, strictly: bool = True) -> str:
    """A heading without the name of one of many things. `strictly`: only where something parts the two.

    >>> without_rows("History: Ada", {"Ada"}), without_rows("Edit Ada", {"Ada"}, strictly=False)
    ('History', 'Edit')
    """
    if text in rows:
        return ""
    parts = _PARTING.split(text)
    for at in range(1, len(parts)):
        if any(" ".join(some) in rows for some in (parts[:at], parts[at:])):
            return " ".join(parts[at:] if " ".join(parts[:at]) in rows else parts[:at])
    words = text.split()
    for at in range(1, len(words)) if not strictly else ():
        if " ".join(words[at:]) in rows:
            return " ".join(words[:at])
    return text


def by_address(at: Sequence[str]) -> str:
    """The words of a place, without what names one of many things.

    >>> by_address(("agents", "*", "history")), by_address(("agent", "*"))
    ('Agents history', 'Agent detail')
    """
    parts = [part for part in at if part not in ("", "#")]
    said = _spoken(part for part in parts if part != ANY).capitalize()
    return f"{said} detail" if said and parts[-1] == ANY else said


def _parted(paths: Sequence[str]) -> list[str]:
    """What each address says that not all of them say."""
    every = [[part for part in _parts(path) if part != "#"] for path in paths]
    shared = set(every[0]).intersection(*every[1:]) | {ANY}
    said = [_spoken(part for part in parts if part not in shared) for parts in every]
    if not any(said) and len({len(parts) for parts in every}) > 1:
        return ["detail" if parts[-1:] == [ANY] else "" for parts in every]
    return said


def _headed_apart(told: Sequence[Sequence[ObservedPage]]) -> list[str]:
    """Of pages of one name: what each has as a heading on all of its pages, and none of the others on any."""
    shown = [[_headings(page) for page in own] for own in told]
    found = []
    for number, own in enumerate(shown):
        elsewhere = {
            each for at, other in enumerate(shown) if at != number for page in other for each in page
        }
        found.append(min(set.intersection(*own) - elsewhere, default=("", ""))[1])
    return found


def _headings(page: ObservedPage) -> set[tuple[str, str]]:
    """With where they stand: the higher ones are less."""
    return {
        (where, text)
        for (kind, where), texts in page.sketch.said.items()
        if kind == "heading"
        for text in texts
        if len(text) <= LONGEST_HEADING
    }


def _spoken(parts: Iterable[str]) -> str:
    return " ".join(parts).replace("-", " ").replace("_", " ")


def _first_headings(page: ObservedPage) -> tuple[str, ...]:
    return page.sketch.said.get(_HEADS[0], ())


def _others(group: Sequence[int], seen: Sequence[ObservedPage]) -> list[ObservedPage]:
    inside = set(group)
    return [page for at, page in enumerate(seen) if at not in inside]

"""Names screens by the titles and headings of their pages, without the names of data."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import parse_qsl, urlsplit

from kb_schema.text_similarity import TITLE_SIGNS
from kb_schema.url_patterns import ANY
from loaders.exploration_import.readable_ids import to_id_words
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_namings import names_around_thing
from loaders.screen_learner.screen_names import choose_name, find_told_name, list_shared_titles
from loaders.screen_learner.url_patterns import is_open, list_thing_names, place, segments
from web_pages.page_profiles import PageFeature

LONGEST = 200
LONGEST_HEADING = 40
"""The most characters of a heading that is combined with a name."""
COMMON = 0.5
"""The share of other screens from which a heading belongs to the site."""
LEAST_COMMON = 2
"""The least number of screens for that."""
_HEADS = (("heading", "h1"), ("title", ""), ("heading", "h2"), ("heading", "h3"), ("heading", "h4"))
"""Where a page states what it is, in this order."""
_PARTING = re.compile(rf"\s*[:{TITLE_SIGNS}]\s+|\s+[{TITLE_SIGNS}]\s*")
_PIECES = re.compile(rf"\s+(?:[{TITLE_SIGNS}]|::)\s+")
"""What separates the name of a page from its site's."""
_OF_ONE = re.compile(r"(.*?\w)(?::\s.*|\s+[#\u2116]?\d[\w.,/-]*)")
"""A heading that names one of many things: `Order #10002`, `Notification: Your parcel`."""
_KEYED = re.compile(r"[#\u2116]?(?:\w+[-_])*\w*\d+:\s+(\w[^:]*)")
"""The same with its key before: `hardware-1: View Ticket Details`."""
_COUNTED = re.compile(
    r"(?![45]\d\d\s)(?:\d[\d.,]*\s+)?(?P<rest>[^\W\d].*?\w\W?)(?:\s+\(\d[\d.,]*(?:\s[^)]*)?\))?"
)
"""A name with a number of things before or behind it."""
_SCRIPT = re.compile(r"\.[a-z]{2,5}$")
"""The end of an address that names a program: `index.php`."""
_ASKED_WORDS = re.compile(r"[^\W\d_]+(?:[/._:-][^\W\d_]+)*")
_OWNING = re.compile(r"(?:\b(?:of|for|by|in|on)\s+)?#(?:['\u2019]s?)?(?!\w)")
"""The name of a thing in a title, with the word that ties it to the rest."""
_GOING = re.compile(
    r"\A(?:go|back|return|continue|proceed)\s+to\s+(?:(?:the|your|my)\s+)?(?=\w)", re.IGNORECASE
)
"""How the name of a link begins that says where it leads."""
_ORNAMENTS = " \u00bb\u00ab\u203a\u2039\u2192\u25b8\u25be"
"""Arrows at the ends of a heading that is a link."""
_EDGES = " :()[]\u2013\u2014-"
LEAST_WORD = 3
"""The least number of letters of a part of an address that names a screen."""
MOST_WORDS = 2
"""So many words in one place of the addresses of a screen are names of sections; more are names of things."""
SHARED = 0.8
"""The share of addresses from which a common prefix distinguishes none of them."""
MANAGED = 0.5
"""The share of addresses from which a common prefix may be the id of the one thing that the site manages."""


def titles_of(
    groups: Sequence[Sequence[int]],
    seen: Sequence[ObservedPage],
    rows: Collection[str],
    entries: Mapping[str, str] = MappingProxyType({}),
    tabs: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return a distinct name for each group of pages.

    `rows`: the names of list rows. `entries`: the site's menu: name -> path to which it leads, the commonest first. `tabs`: the same of
    links that some pages have; they name pages without any heading.
    """
    grouped = [[seen[at] for at in group] for group in groups]
    others = [[page for own in grouped if own is not mine for page in own] for mine in grouped]
    site = _SiteTexts(grouped, rows)
    told = [site.title(own, rest) for own, rest in zip(grouped, others, strict=True)]
    led = [
        _menu_entry(own, rest, entries, site)
        or ("" if find_told_name(own, rest) else _shortest_way(own, tabs))
        for own, rest in zip(grouped, others, strict=True)
    ]
    names = [
        site.without_site(without_counts(shown.strip(_ORNAMENTS) or shown))
        for shown in (
            entry if entry and led.count(entry) == 1 else name for entry, name in zip(led, told, strict=True)
        )
    ]
    _name_after_lists(names, grouped)
    for numbers in _list_alike(names):
        _tell_by_title(names, numbers, grouped)
    for numbers in _list_alike(names):
        _tell_by_place(names, numbers, grouped, site.things)
    return [name[:LONGEST] for name in names]


def _name_after_lists(names: list[str], grouped: Sequence[Sequence[ObservedPage]]) -> None:
    """Name the things of a list after it, if nothing but a letter of their address names them: `/r/5` below "Review requests"."""
    places = [_place_of(own) for own in grouped]
    for number, at in enumerate(places):
        if (
            is_open(at[-1:])
            and names[number] == by_address(at)
            and max(map(len, at[:-1]), default=0) < LEAST_WORD
        ):
            listing = next((other for other, place in enumerate(places) if place == at[:-1]), None)
            if listing is not None:
                names[number] = f"{names[listing]} detail"


def _list_alike(names: Sequence[str]) -> list[list[int]]:
    """Return the numbers of the names that are one id."""
    alike: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        alike[to_id_words(name)].append(number)
    return [numbers for numbers in alike.values() if len(numbers) > 1]


def _tell_by_title(
    names: list[str], numbers: Sequence[int], grouped: Sequence[Sequence[ObservedPage]]
) -> None:
    """Give screens of one name the title of their pages, if no other screen has it: `Preferences: Language`."""
    outside = {
        title
        for number, own in enumerate(grouped)
        if number not in numbers
        for page in own
        for title in _first_titles(page)
    }
    above = _find_above(numbers, grouped)
    titles = {number: _kind_titles(grouped[number]) - outside for number in numbers}
    if len({title for each in titles.values() for title in each}) > 1:
        for number in numbers:
            if number != above and titles[number]:
                names[number] = without_counts(min(titles[number]))


def _tell_by_place(
    names: list[str],
    numbers: Sequence[int],
    grouped: Sequence[Sequence[ObservedPage]],
    things: Collection[str],
) -> None:
    """Add to screens of one name what their addresses, or else their headings, have of their own, without the words of `things`."""
    above = _find_above(numbers, grouped)
    places = [_spoken_place(grouped[number]) for number in numbers]
    parted = zip(_parted(places, things), _headed_apart([grouped[each] for each in numbers]), strict=True)
    for number, (by_path, by_heading) in zip(numbers, parted, strict=True):
        heading = "" if any(map(str.isdecimal, by_heading)) else by_heading
        beside = "" if number == above else by_path or heading
        names[number] = f"{names[number]} ({beside})" if beside else names[number]


def _spoken_place(own: Sequence[ObservedPage]) -> tuple[str, ...]:
    """Return the common place of pages, in which one of a few plain words stands for the others."""
    places = [_parts(page.path) for page in own]
    if len({len(each) for each in places}) > 1:
        return _place_of(own)
    columns = [sorted(set(parts)) for parts in zip(*places, strict=True)]
    return tuple(
        parts[0] if len(parts) <= MOST_WORDS and all(map(str.isalpha, parts)) else ANY for parts in columns
    )


def _find_above(numbers: Sequence[int], grouped: Sequence[Sequence[ObservedPage]]) -> int | None:
    """Return the screen below whose address those of the others lie, or None."""
    places = {number: _place_of(grouped[number]) for number in numbers}
    first = min(numbers, key=lambda number: len(places[number]))
    own = places[first]
    below = (places[number] for number in numbers if number != first)
    return first if all(len(each) > len(own) and each[: len(own)] == own for each in below) else None


def _kind_titles(own: Sequence[ObservedPage]) -> set[str]:
    """Return the titles that all pages of a screen have, but for those of one thing: `User 10: Ada` at `/user10`."""
    shared = set.intersection(*map(_first_titles, own))
    return {title for title in shared if not any(_shows_its_number(page, [title]) for page in own)}


def _first_titles(page: ObservedPage) -> set[str]:
    """Return the titles of a page without the part that names its site."""
    return {_PIECES.split(text)[0] for text in _titles(page)}


def _menu_entry(
    own: Sequence[ObservedPage],
    others: Sequence[ObservedPage],
    entries: Mapping[str, str],
    site: _SiteTexts,
) -> str:
    """Return the menu entry that leads to the shortest address of these pages, if no heading or title names them.

    A sentence with the site's name is no name: `Registering with our tracker`.
    """
    elsewhere = {text for page in others for text in (*list_shared_titles([page]), *_texts(page))}
    shared = set.intersection(*({*list_shared_titles([page]), *_texts(page)} for page in own))
    if any(not site.is_sentence(text) and not site.is_root(text) for text in shared - elsewhere):
        return ""
    return _shortest_way(own, entries)


def _shortest_way(own: Sequence[ObservedPage], entries: Mapping[str, str]) -> str:
    """Return the entry that leads to the shortest address of these pages; "" if none does, or if it leads to one of many things."""
    if is_open(_place_of(own)[-1:]):
        return ""
    paths = {page.path for page in own}
    leading = [(len(path), at, name) for at, (name, path) in enumerate(entries.items()) if path in paths]
    return _without_going(min(leading)[2]) if leading else ""


def _without_going(name: str) -> str:
    """Return the name of a link without the words that only say that it leads there: `Go to the settings` is `Settings`."""
    rest = _GOING.sub("", name)
    return rest[:1].upper() + rest[1:] if rest else name


class _SiteTexts:
    """What the pages of a site have in common, and the names of its data."""

    def __init__(self, grouped: Sequence[Sequence[ObservedPage]], rows: Collection[str]) -> None:
        self._rows = rows
        self._places = {_place_of(own) for own in grouped}
        places = [_parts(own[0].path) for own in grouped]
        self._root = _root(places, SHARED)
        self._managed = _root(places, MANAGED)
        shown = Counter(
            text for own in grouped for text in set.intersection(*(set(_list_heads(page)) for page in own))
        )
        least = max(LEAST_COMMON, COMMON * len(grouped))
        self._common = {text for text, times in shown.items() if times > least}
        self._names = _site_names([page for own in grouped for page in own])
        self.things = {
            to_id_words(each[-1]) for each in list_thing_names([page.path for page in own] for own in grouped)
        }
        """The words of things that have several screens."""
        self._above = self._names | {
            text
            for own in grouped
            for page in own
            for text in _texts(page)
            if to_id_words(text) in self.things or text in _list_above(page)
        }
        """Names of the site, of such things, and of what the titles of pages have behind their own name."""
        self._heads_of = {id(page): self._own_heads(page) for own in grouped for page in own}

    def is_sentence(self, text: str) -> bool:
        """Whether a text has the site's name inside or at its end, without a separator: `Sign in to Quay`."""
        return any(text != name and name in text for name in self._names) and self.without_site(text) == text

    def is_root(self, text: str) -> bool:
        """Whether a title ends with what most addresses begin with: `Quay - Flatshare`, `/flatshare/`."""
        own = to_id_words(_PIECES.split(text)[-1])
        return any(own == to_id_words(part) for part in self._managed)

    def without_site(self, text: str) -> str:
        """Return a name without that of the site before or behind a separator: `Quay: An error`."""
        parts = _PARTING.split(text)
        rest = [part for part in parts if part not in self._names]
        return text if len(rest) in (0, len(parts)) else " ".join(rest)

    def title(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """Return the name of the screen with these pages."""
        at = _place_of(own)
        if all(_begins_with_its_number(page, self._heads(page)) for page in own):
            return by_address(self._short(at), listed=at[:-1] in self._places)
        if all(_shows_its_number(page, self._heads(page)) for page in own) and (
            kind := self._of_one(own, others)
        ):
            return kind
        if not is_open(at):
            told = find_told_name(own, others)
            below = self._heading(own, others) if told in self._above else ""
            return below or told or _name_by_query(own) or _capitalized(_spoken(self._short(at))) or "Start"
        return (
            self._heading(own, others)
            or self._of_one(own, others)
            or _name_around_thing(own, at)
            or self._common_text(own, others, at)
        )

    def _heads(self, page: ObservedPage) -> tuple[str, ...]:
        """Return the page's highest headings, or title, without those of the site."""
        return self._heads_of[id(page)]

    def _own_heads(self, page: ObservedPage) -> tuple[str, ...]:
        levels = [_list_heads_of(page, kind, where) for kind, where in _HEADS]
        for other in (self._common | self._above, self._common):
            for texts in levels:
                own = tuple(text for text in texts if text not in other)
                if own:
                    return own
        return ()

    def _heading(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """Return the heading that all pages share, except for a row's name; empty if there is none."""
        usual = [text for page in others for text in self._heads(page)]
        for strictly in (True, False):
            together = set.intersection(
                *(
                    {without_rows(text, self._rows, strictly=strictly) for text in self._heads(page)}
                    for page in own
                )
            )
            known = [text for text in together if text and usual.count(text) <= COMMON * len(others)]
            if known:
                return min(known, key=lambda text: (usual.count(text), -len(text), text))
        return ""

    def _of_one(self, own: Sequence[ObservedPage], others: Sequence[ObservedPage]) -> str:
        """Return the common part of headings that name one of many things.

        Empty for a single page, unless the number in its heading is that in its address.
        """
        heads = [self._heads(page) for page in own]
        if len(set(heads)) < 2 and not all(_shows_its_number(page, heads[0]) for page in own):
            return ""
        kinds = [{kind for text in texts if (kind := _kind_of(text)) != text} for texts in heads]
        known = set.intersection(*kinds) - {text for page in others for text in self._heads(page)}
        return min(known, key=lambda text: (-len(text), text)) if known else ""

    def _common_text(
        self, own: Sequence[ObservedPage], others: Sequence[ObservedPage], at: tuple[str, ...]
    ) -> str:
        """Return another common text that is no row's name and is where a page states what it is."""
        name = choose_name(own, others)
        headed = all(any(name in text for text in (*_texts(page), *_titles(page))) for page in own)
        if headed and name not in self._rows:
            return name
        return by_address(self._short(at), listed=at[:-1] in self._places) or name

    def _short(self, at: tuple[str, ...]) -> tuple[str, ...]:
        """Return a place without what nearly all addresses begin with, and without things that have several screens."""
        below = at[len(self._root) :] if at[: len(self._root)] == self._root else at
        parts = tuple(part for part in below if to_id_words(part) not in self.things)
        return parts or below or at


def _name_around_thing(own: Sequence[ObservedPage], at: tuple[str, ...]) -> str:
    """Return what the titles of pages of one of many things say beside its name in the address: `Orders` of "Ada's orders".

    Empty if they do not say it in one way.
    """
    for number in (number for number, part in enumerate(at) if part == ANY):
        shared = frozenset.intersection(
            *(names_around_thing(_parts(page.path)[number], page.profile.signs) for page in own)
        )
        if shared:
            return _capitalized(_OWNING.sub(" ", min(shared)).strip(_EDGES))
    return ""


def _name_by_query(own: Sequence[ObservedPage]) -> str:
    """Return what all addresses of one script ask for by words: `Edit` of `index.php?action=edit`; "" for other addresses."""
    parts = [urlsplit(page.path) for page in own]
    if not all(_SCRIPT.search(each.path) for each in parts):
        return ""
    shared = set.intersection(*({*parse_qsl(each.query)} for each in parts))
    words = [value for _, value in sorted(shared) if _ASKED_WORDS.fullmatch(value)]
    return _capitalized(" ".join(re.split(r"[\W_]+", " ".join(words))))


def without_counts(name: str) -> str:
    """Return a name without how many things there were: on another day it is another number.

    >>> [without_counts(name) for name in ("13 pending mails", "Custom Query (4 matches)", "404 Not Found", "Step 2")]
    ['Pending mails', 'Custom Query', '404 Not Found', 'Step 2']
    """
    found = _COUNTED.fullmatch(name)
    if found is None:
        return name
    return _capitalized(found["rest"])


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _kind_of(text: str) -> str:
    """Return the part of a heading before the number or name of one of many things, or behind its key.

    >>> _kind_of("Issue 9: No paper"), _kind_of("Order #10002"), _kind_of("Orders"), _kind_of("AB-7: View ticket")
    ('Issue', 'Order', 'Orders', 'View ticket')
    """
    keyed = _KEYED.fullmatch(text)
    if keyed is not None:
        return keyed[1]
    while (found := _OF_ONE.fullmatch(text)) is not None:
        text = found[1]
    return text


def _shows_its_number(page: ObservedPage, heads: Iterable[str]) -> bool:
    """Return whether a heading has the number that ends the page's path: `User 1: Ada` at `/user1`."""
    number = re.search(r"\d+$", "/".join(each for each in segments(page.path) if each))
    return number is not None and any(number[0] in re.findall(r"\d+", text) for text in heads)


def _begins_with_its_number(page: ObservedPage, heads: Iterable[str]) -> bool:
    """Return whether a heading begins with the number that ends the page's path: `{1} Late jobs` at `/report/1`.

    The words behind it are data.
    """
    number = re.search(r"\d+$", "/".join(each for each in segments(page.path) if each))
    begun = (re.match(r"[^\w]*(\d+)(?!\w)", text) for text in heads)
    return number is not None and any(found is not None and found[1] == number[0] for found in begun)


def _site_names(pages: Sequence[ObservedPage]) -> set[str]:
    """Return what the titles of most pages have behind a separator: the name of the site."""
    counted = Counter(
        piece for page in pages for text in _titles(page) for piece in set(_PIECES.split(text)[1:])
    )
    return {piece for piece, times in counted.items() if times > COMMON * len(pages)}


def _list_above(page: ObservedPage) -> set[str]:
    """Return what a page is part of by its titles: `Berth plan` of `Wiki - Berth plan - Quay`."""
    parts = [_PIECES.split(text) for text in _titles(page)]
    return {each for first, *rest in parts for each in rest if each != first}


def _list_heads_of(page: ObservedPage, kind: str, where: str) -> tuple[str, ...]:
    """Return the headings of one level, or the titles without the name of the site behind them."""
    texts = tuple(
        text
        for text in page.profile.texts.get((kind, where), ())
        if PageFeature(kind, where, text) not in page.profile.passing  # a message names no page
    )
    return tuple(_PIECES.split(text)[0] for text in texts) if kind == "title" else texts


def _list_heads(page: ObservedPage) -> Iterator[str]:
    for kind, where in _HEADS:
        yield from _list_heads_of(page, kind, where)


def _texts(page: ObservedPage) -> tuple[str, ...]:
    return page.profile.texts.get(_HEADS[0], ())


def _titles(page: ObservedPage) -> tuple[str, ...]:
    return page.profile.texts.get(_HEADS[1], ())


def _place_of(own: Sequence[ObservedPage]) -> tuple[str, ...]:
    """Return the common place of the pages, with varying parts left open."""
    places = [_parts(page.path) for page in own]
    first = min(places, key=lambda each: (len(each), each))
    return tuple(part if all(part in each for each in places) else ANY for part in first)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in place(path) if part)


def _root(places: Sequence[tuple[str, ...]], least: float) -> tuple[str, ...]:
    """Return the prefix of this share of addresses."""
    root: tuple[str, ...] = ()
    while len(places) > 1:
        begun = Counter(each[: len(root) + 1] for each in places if len(each) > len(root))
        most, times = begun.most_common(1)[0] if begun else (root, 0)
        if times < least * len(places):
            break
        root = most
    return root


def without_rows(text: str, rows: Collection[str], *, strictly: bool = True) -> str:
    """Return a heading without a row name. `strictly`: only if a separator is between them.

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


def by_address(at: Sequence[str], *, listed: bool = True) -> str:
    """Return the words of a place without ids. `listed`: whether it is one of several places.

    >>> by_address(("agents", "*", "history")), by_address(("agent", "*")), by_address(("agent", "edit", "*"), listed=False)
    ('Agents history', 'Agent detail', 'Agent edit')
    """
    parts = [part for part in at if part not in ("", "#")]
    words = [part.partition(ANY)[0].rstrip("-_") for part in parts if re.search(r"\w", part)]
    title = _spoken(words).capitalize()
    return f"{title} detail" if title and ANY in parts[-1] and (listed or len(words) == 1) else title


def _parted(places: Sequence[Sequence[str]], things: Collection[str] = ()) -> list[str]:
    """Return the words of each place that not all of them have, without what identifies one of many things. `things`: their words."""
    every = [[part for part in parts if part != "#"] for parts in places]
    shared = set(every[0]).intersection(*every[1:])
    own_words = [
        _spoken(
            part
            for part in parts
            if part not in shared and ANY not in part and "%" not in part and to_id_words(part) not in things
        )
        for parts in every
    ]
    times = Counter(own_words)
    return [
        f"{words} detail".strip()
        if times[words] > 1 and ANY in (parts or [""])[-1] and _varies(every)
        else words
        for words, parts in zip(own_words, every, strict=True)
    ]


def _varies(every: Sequence[Sequence[str]]) -> bool:
    """Return whether some addresses have a part more than others: a list and one of its things."""
    return len({len(parts) for parts in every}) > 1


def _headed_apart(grouped: Sequence[Sequence[ObservedPage]]) -> list[str]:
    """For pages with one name, return the heading that all pages of a group have and no others."""
    shown = [[_headings(page) for page in own] for own in grouped]
    found = []
    for number, own in enumerate(shown):
        elsewhere = {
            each for at, other in enumerate(shown) if at != number for page in other for each in page
        }
        found.append(min(set.intersection(*own) - elsewhere, default=("", ""))[1])
    return found


def _headings(page: ObservedPage) -> set[tuple[str, str]]:
    """Return headings with their level; higher ones are smaller."""
    return {
        (where, text)
        for (kind, where), texts in page.profile.texts.items()
        if kind == "heading"
        for text in texts
        if len(text) <= LONGEST_HEADING
    }


def _spoken(parts: Iterable[str]) -> str:
    return " ".join(parts).replace("-", " ").replace("_", " ")

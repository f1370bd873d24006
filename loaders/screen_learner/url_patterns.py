"""Finds URL patterns for the addresses of one screen: varying parts and ids are left open.

A pattern is as general as possible without matching pages of other screens. If it matches some, it is
narrowed: by the form of ids, their prefix, or a query parameter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from os.path import commonprefix
from urllib.parse import SplitResult, unquote, urlsplit

import re2

from kb_schema.url_patterns import ANY, compile_pattern, open_segment, split_glued_id

FEW_SCREENS = 3
"""More screens than these have a thing in their addresses that has parts."""
MOST_SHAPES = 3
"""The most patterns of one screen; with more, its addresses have no common form."""
_ROUTE = ("/", "!/")
"""The beginnings of a fragment that is the route of a single-page application."""
_HASH = "#"
_ANYTHING = "[^/?#]+"
_NUMBER = "[0-9]+"
_WITH_A_DIGIT = "[^/?#]*[0-9][^/?#]*"
_OPEN = "\0"
_MOST_PARAMETERS = 30
_NUMBERED = re.compile(r"\A[^\W_]+(?:[-_.~%][^\W_]+)+[-_]\d+\Z")
_PLAIN = re.compile(r"\^([A-Za-z0-9_/-]*)(?![A-Za-z0-9_?*+{-])")


def segments(path: str) -> tuple[str, ...]:
    """Return the parts of a path that identify a page, without query and plain fragment.

    >>> segments("/agents/12/edit?tab=1#top"), segments("/#/inbox")
    (('', 'agents', '12', 'edit'), ('', '', '#', 'inbox'))
    """
    parts = _split(path)
    own = tuple(parts.path.split("/"))
    if not parts.fragment.startswith(_ROUTE):
        return own
    return (*own, _HASH, *parts.fragment.split("?")[0].split("/")[1:])


def names_one(part: str) -> bool:
    """Return whether a part of an address identifies one of many things: an id, or words with a number.

    One word with a number may be a step.

    >>> [names_one(part) for part in ("17", "hand-trowel_8", "agents", "v2", "step-2")]
    [True, True, False, False, False]
    """
    return open_segment(part) != part or _NUMBERED.match(part) is not None


def place(path: str) -> tuple[str, ...]:
    """Return the place: equal for addresses that differ in ids only."""
    return _opened(segments(path))


def pattern_of(paths: Iterable[str]) -> str | None:
    """Return one pattern for all paths; None if their numbers of parts differ.

    >>> pattern_of(["/agents/12/edit", "/agents/7/edit?tab=1"])
    '^/agents/[^/?#]+/edit/?(?:[?#].*)?$'
    """
    every = [_bare(path) for path in paths]
    if len({_shape(each) for each in every}) != 1:
        return None
    return _written(every, [_part(parts, frozenset()) for parts in zip(*every, strict=True)], "")


class AddressSlots:
    """The parts of addresses that identify one of many things: those that vary on the pages of a screen.

    An address that was seen once is interpreted by those of other screens: `/issue3` is one of many if another screen
    was at `/issue12`. Numbers that are just 1 to n may be steps.
    """

    def __init__(self, screens: Iterable[Sequence[str]], data: Collection[str] = ()) -> None:
        self._values: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._before: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self._data = data
        self._numbers: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
        for paths in screens:
            by_shape: dict[object, list[tuple[str, ...]]] = defaultdict(list)
            for path in paths:
                by_shape[_shape(_bare(path))].append(_bare(path))
            for every in by_shape.values():
                self._learn(every)

    def _learn(self, every: Sequence[tuple[str, ...]]) -> None:
        columns = [set(values) for values in zip(*every, strict=True)]
        # Pages without a common form may be anywhere: an error page.
        varied = [at for at in range(1, len(columns)) if len(columns[at]) > 1]
        fixed = any(len(values) == 1 and values != {""} for values in columns)
        for at in varied if fixed else ():
            if len({_opened(each[:at]) for each in every}) == 1:
                self._values[_opened(every[0][:at])] |= columns[at]
        for each in every:
            for at in range(1, len(each)):
                self._before[each[at]].add(_opened(each[:at]))
                glued = split_glued_id(each[at])
                if glued is not None:
                    self._numbers[_opened(each[:at]), glued[0]].add(int(glued[1]))

    def are_open(self, parts: tuple[str, ...], at: int) -> bool:
        """Return whether the part identifies one of many."""
        before = _opened(parts[:at])
        if parts[at] in self._values.get(before, ()):
            return True
        glued = split_glued_id(parts[at])
        numbers = self._numbers.get((before, glued[0]), set()) if glued is not None else set()
        return len(numbers) > 1 and max(numbers) > len(numbers)

    def is_a_thing(self, parts: tuple[str, ...], at: int) -> bool:
        """Return whether the part is the text of a row or an item of some page, and occurs nowhere else."""
        plain = unquote(parts[at]).replace("-", " ").replace("_", " ").casefold()
        return at >= 2 and plain in self._data and len(self._before.get(parts[at], ())) < 2


def list_thing_names(screens: Iterable[Iterable[str]]) -> set[tuple[str, ...]]:
    """Return the places of things that several screens have in their addresses: `/projects/quay`, of its log, crew and berths.

    The addresses of each of these screens differ in the name alone. `screens`: the addresses of each.
    """
    times: dict[tuple[str, ...], int] = defaultdict(int)
    for paths in screens:
        by_length: dict[int, set[tuple[str, ...]]] = defaultdict(set)
        for parts in (_opened(_bare(path)) for path in paths):
            by_length[len(parts)].add(parts)
        for every in by_length.values():
            varied = [at for at, parts in enumerate(zip(*every, strict=True)) if len(set(parts)) > 1]
            for each in every if len(varied) == 1 else ():
                times[each[: varied[0] + 1]] += 1
    return {each for each, number in times.items() if number > FEW_SCREENS and ANY not in each[-1]}


def patterns_for(
    own: Sequence[str], rivals: Sequence[str], slots: AddressSlots, *, queries: bool = False
) -> tuple[str, ...]:
    """Return patterns, any of which matches each of the addresses; empty if they have no common form.

    They match as few `rivals`, addresses of other screens, as possible. With `queries`, the query counts even
    if all addresses are equal.
    """
    by_shape: dict[object, list[str]] = defaultdict(list)
    for path in sorted(set(own)):
        by_shape[_shape(_bare(path))].append(path)
    # The start of a single-page application, and the route that it shows, are one screen. Else, if every address has
    # a form of its own, the next one has another.
    start = {_bare(path)[:3] for path in own} == {("",), ("", "", _HASH)}
    if len(by_shape) > MOST_SHAPES or (len(by_shape) == len({_bare(path) for path in own}) > 1 and not start):
        return ()
    found = tuple(_closest(paths, rivals, slots, queries=queries) for paths in by_shape.values())
    if start:
        return tuple(sorted(found))
    if len(found) > 1:
        # Addresses of several forms belong to one screen only if they have a common prefix.
        heads = {_bare(path)[:2] for path in own}
        return tuple(sorted(found)) if len(heads) == 1 and not heads & {("",), ("", _HASH)} else ()
    return () if found[0].startswith(_ANYWHERE) else found


_ANYWHERE = (f"^/{_ANYTHING}/?(?:", f"^/{_ANYTHING}/{_ANYTHING}/?(?:")
"""The beginnings of patterns that state only the number of parts."""


def fits(pattern: str, path: str) -> bool:
    """Return whether a pattern made here matches an address below the base."""
    return path.startswith(_head(pattern)) and compile_pattern(pattern).search(path) is not None


@lru_cache(maxsize=10_000)
def _head(pattern: str) -> str:
    """Return the literal prefix of a pattern, which most addresses fail to match."""
    found = _PLAIN.match(pattern)
    return "" if found is None else found[1]


def _closest(paths: Sequence[str], rivals: Sequence[str], slots: AddressSlots, *, queries: bool) -> str:
    """Return the most general of the patterns that match the fewest rivals."""
    every = [_bare(path) for path in paths]
    columns = [*zip(*every, strict=True)]
    alone = len(set(every)) == 1
    opened = frozenset(
        at
        for at in range(1, len(columns))
        if any(slots.are_open(each, at) for each in every) or (alone and slots.is_a_thing(every[0], at))
    )
    plain = [_part(parts, opened, at) for at, parts in enumerate(columns)]
    best, left = _written(every, plain, ""), 0
    left = _fitted(best, rivals)
    if not left:
        return best
    if _HASH not in every[0] and any(_HASH in _bare(path) for path in rivals):
        best = _without_route(best)
        left = _fitted(best, rivals)
        if not left:
            return best
    queries = queries or len(set(paths)) > 1
    for written, query in _closer(paths if queries else (), columns, plain):
        tried = _written(every, written, query)
        fitted = _fitted(tried, rivals)
        if fitted < left and all(fits(tried, path) for path in paths):
            best, left = tried, fitted
    return best


def _closer(
    paths: Sequence[str], columns: Sequence[tuple[str, ...]], plain: list[str]
) -> Iterator[tuple[list[str], str]]:
    """Yield ways of narrowing a pattern, one after the other."""
    digits = [
        _WITH_A_DIGIT if written == _ANYTHING and all(any(c.isdigit() for c in p) for p in parts) else written
        for written, parts in zip(plain, columns, strict=True)
    ]
    begun = [
        _begun(parts) if written == _ANYTHING else written
        for written, parts in zip(plain, columns, strict=True)
    ]
    for written in (digits, begun):
        if written != plain:
            yield written, ""
    for query in _queries(paths):
        yield plain, query
        if digits != plain:
            yield digits, query


def _begun(parts: tuple[str, ...]) -> str:
    """Return the common prefix of all values if it is a word and a separator: `agt-7`, `agt-9`."""
    head = commonprefix(list(parts))  # noqa: RUF071 - of characters, not of paths
    cut = max(head.rfind(mark) for mark in "-_.:")
    return f"{re2.escape(head[: cut + 1])}{_ANYTHING}" if cut > 0 else _ANYTHING


def _queries(paths: Sequence[str]) -> Iterator[str]:
    """Yield parameters that all addresses have: those with one value first, then the others by name."""
    given = [dict(_parameters(path)) for path in paths]
    if not given:
        return
    shared = sorted(set(given[0]).intersection(*given))
    for name in shared:
        values = {each[name] for each in given}
        if len(values) == 1 and not names_one(value := values.pop()):
            yield f"{re2.escape(name)}={re2.escape(value)}(?:[&#].*)?"
    for name in shared:
        yield f"{re2.escape(name)}=.*"


def _parameters(path: str) -> Iterator[tuple[str, str]]:
    parts = _split(path)
    for each in parts.query.split("&")[:_MOST_PARAMETERS]:
        name, _, value = each.partition("=")
        if name:
            yield name, value


def _fitted(pattern: str, paths: Iterable[str]) -> int:
    return sum(fits(pattern, path) for path in paths)


def _bare(path: str) -> tuple[str, ...]:
    """Return the parts, without the empty one after a trailing slash."""
    parts = segments(path)
    return parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts


def _shape(parts: tuple[str, ...]) -> tuple[int, int]:
    return len(parts), parts.index(_HASH) if _HASH in parts else -1


def _opened(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(ANY if _NUMBERED.match(part) else open_segment(part) for part in parts)


def is_open(places: tuple[str, ...]) -> bool:
    """Return whether a part of a place identifies one of many things."""
    return any(ANY in part for part in places)


def has_open_part(pattern: str, *, after: int = 0) -> bool:
    """Return whether a pattern made here leaves a part of the path open, behind the first `after` parts."""
    return any(at > after or not after for at in list_open_parts(pattern))


def list_open_parts(pattern: str) -> list[int]:
    """Return the numbers of the parts of a path that a pattern made here leaves open.

    >>> list_open_parts("^/projects/[^/?#]+/wiki/?(?:[?#].*)?$")
    [2]
    """
    for each in (_ANYTHING, _NUMBER, _WITH_A_DIGIT):
        pattern = pattern.replace(each, _OPEN)
    return [at for at, part in enumerate(pattern.split("/")) if _OPEN in part]


def _part(parts: tuple[str, ...], opened: Collection[int], at: int = -1) -> str:
    varies = len(set(parts)) > 1 or names_one(parts[0]) or at in opened
    if not varies:
        return str(re2.escape(parts[0]))
    stem, ending = _around_id(parts)
    return f"{re2.escape(stem)}{_NUMBER}{re2.escape(ending)}" if stem or ending else _ANYTHING


def _around_id(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the word before the number and the ending that all parts have: `issue40`, `4.html`."""
    found = set()
    for part in parts:
        name, dot, ending = part.rpartition(".")
        name, ending = (name, dot + ending) if name and ending.isalpha() else (part, "")
        glued = split_glued_id(name)
        stem = "" if name.isdecimal() else glued[0] if glued is not None else None
        found.add((stem, ending))
    stem, ending = found.pop()
    return ("", "") if found or stem is None else (stem, ending)


def _written(every: Sequence[tuple[str, ...]], written: Sequence[str], query: str) -> str:
    if _HASH not in every[0]:
        rest = f"\\?(?:[^#]*&)?{query}" if query else "(?:[?#].*)?"
        return f"^{'/'.join(written)}/?{rest}$"
    at = every[0].index(_HASH)
    route = "".join(f"/{part}" for part in written[at + 1 :])
    asked = (
        f"\\?(?:[^#]*&)?{query.removesuffix('(?:[&#].*)?').removesuffix('.*')}[^#]*"
        if query
        else "(?:\\?[^#]*)?"
    )
    if not route:  # the start of such a page has the address with and without `#/`
        return f"^{'/'.join(written[:at])}/?{asked}(?:#!?/?(?:\\?.*)?)?$"
    return f"^{'/'.join(written[:at])}/?{asked}#!?{route}/?(?:\\?.*)?$"


def _without_route(pattern: str) -> str:
    """Return a pattern that matches no address with a client-side route: fragments are part of the address."""
    return pattern.replace("(?:[?#].*)?$", "(?:\\?[^#]*)?(?:#(?:!?/?|[^/!].*))?$")


def _split(path: str) -> SplitResult:
    """Return the parts of an address; an invalid one (`//[`) is all path."""
    try:
        return urlsplit(path)
    except ValueError:
        return SplitResult("", "", path, "", "")

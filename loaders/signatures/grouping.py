"""Which of the pages that were seen are the same screen: by what can be done there and how it is built.

Addresses that differ in ids only are one place, and so are those that differ in a name if everything below
the names is alike: the pages of two models of one application are not, however alike some of them are. At one
place, pages that have little in common are several screens: steps of a wizard, what was not found. A page that
looks the same in places that have nothing to do with each other is one screen.

Rows, dates and names of things are no part of it, so thousands of pages come down to few that differ; only these
are compared. The order of the pages makes no difference, and neither do pages that are there twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from kb_schema.pages.sketch import Sign
from loaders.signatures.addresses import ANY, place, segments
from loaders.signatures.errors_shown import is_an_error
from loaders.signatures.seen import ObservedPage

SAME_PLACE = 0.3
"""Weight that two pages of one place have in common, as a share of all, if they are one screen."""
SAME_STEP = 0.6
"""... and two pages of places that differ, on which different runs did the same."""
SAME_TOOLS = 0.7
"""Share of fields, columns and buttons that pages of two names have in common if the names are of one kind."""
SAME_BUILD = 0.7
"""... and of how their elements stand in each other."""
SAME_BRANCH = 0.9
"""... and of everything, if a page is a deeper one of the same tree: folders, categories."""
SAME_LOOK = 0.95
"""... of the same, if pages that show the very same in two places are one screen."""
MOST_COMPARED = 150
"""Pages that differ, compared with each other at one place; further ones only with these."""

DEEPEST = 60
"""Parts of an address that are looked at."""

_WEIGHTS = {
    "heading": 1.5, "title": 1.0, "label": 2.0, "field": 2.0, "column": 1.5, "landmark": 1.0, "test_id": 1.0,
    "control": 1.0, "id": 0.5, "marker": 1.0, "current": 0.5,
}  # fmt: skip
"""What a sign of a kind counts; others count nothing."""
_LINK = 0.25
_TOOLS = frozenset({"label", "field", "column", "landmark", "test_id", "marker"})
_CALLED = frozenset({"heading", "title"})
_COMMON = 0.6
"""A sign on a larger share of the places is of the site's frame."""
_FEW_PLACES = 4
_PIECES = re.compile(r"(?<=:)\s+|\s+[|\u2013\u2014\u00b7-]\s+|[\u201c\u201d\"]")
_VARIES = re.compile(r"\d+|(?<!\S)/\S*")
"""Numbers, and addresses that are named."""

_Part = TypeVar("_Part")
Role = tuple[str, str, str]
"""A sign without what varies in it."""


def screens_of(pages: Sequence[ObservedPage]) -> list[list[int]]:
    """Numbers of pages, one list for each screen, in the order in which they were seen first."""
    looks = _looks(pages)
    joined = _Joined(len(looks))
    places = _places(looks)
    for at in places.values():
        _join_place(looks, sorted(at), joined)
    _join_steps(pages, looks, joined)
    _join_everywhere(looks, joined)
    found: dict[int, list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        found[joined.leader(number)] += look.pages
    return sorted(sorted(group) for group in found.values())


@dataclass(frozen=True, slots=True)
class _Look:
    """Pages of one place that do not differ in what counts."""

    place: tuple[str, ...]
    roles: frozenset[Role]
    """What they show, without the site's frame."""
    shape: frozenset[str]
    """How it is built."""
    built: frozenset[str]
    """The same without the site's frame."""
    signs: frozenset[Sign]
    """All that one of them shows, words and data as well."""
    error: bool
    pages: tuple[int, ...]

    @property
    def tools(self) -> frozenset[Role]:
        """What can be done there, and what data there is."""
        return frozenset(
            role for role in self.roles if role[0] in _TOOLS or (role[0] == "control" and role[1] == "button")
        )

    @property
    def called(self) -> frozenset[Role]:
        """What the page is called."""
        return frozenset(role for role in self.roles if role[0] in _CALLED)


class _Joined:
    """Sets of numbers that are joined; the least of a set leads it."""

    def __init__(self, count: int) -> None:
        self._leaders = list(range(count))

    def leader(self, number: int) -> int:
        while self._leaders[number] != number:
            self._leaders[number] = self._leaders[self._leaders[number]]
            number = self._leaders[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.leader(one), self.leader(other)))
        self._leaders[second] = first


# -- what counts of a page -------------------------------------------------------------------------------


def _looks(pages: Sequence[ObservedPage]) -> list[_Look]:
    data = frozenset().union(*(page.sketch.data for page in pages))
    known: dict[Sign, tuple[Role, ...]] = {}
    seen: dict[tuple[tuple[str, ...], frozenset[Role]], list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        roles: set[Role] = set()
        for sign in page.sketch.signs - page.sketch.passing:
            if sign not in known:
                known[sign] = tuple(_roles(sign, data))
            roles.update(known[sign])
        seen[_bare(place(page.path)), frozenset(roles)].append(number)
    frame = _frame(seen)
    found: dict[tuple[tuple[str, ...], frozenset[Role]], list[int]] = defaultdict(list)
    for (at, whole), where in seen.items():
        found[at, whole - frame].extend(where)
    order = sorted(found, key=lambda key: (key[0], sorted(key[1])))
    shapes: dict[tuple[tuple[str, ...], frozenset[Role]], frozenset[str]] = {
        key: frozenset[str]().union(*(pages[number].sketch.shape for number in numbers))
        for key, numbers in found.items()
    }
    frame_built = _frame_built((at, shapes[at, roles]) for at, roles in order)
    return [
        _Look(
            at,
            roles,
            shapes[at, roles],
            shapes[at, roles] - frame_built,
            min((pages[number].sketch.signs for number in found[at, roles]), key=_fixed),
            any(is_an_error(pages[number].sketch) for number in found[at, roles]),
            tuple(found[at, roles]),
        )
        for at, roles in order
    ]


def _roles(sign: Sign, data: frozenset[str]) -> Iterator[Role]:
    """A sign as what it is for: of words the parts that name no thing, without numbers."""
    if sign.kind not in _WEIGHTS:
        return
    pieces = _PIECES.split(sign.text) if sign.kind in _CALLED else [sign.text]
    for piece in pieces:
        folded = piece.casefold().strip(" :*")
        named = folded in data and sign.kind in ("heading", "title", "control", "current")
        plain = _VARIES.sub("#", folded)
        if plain.strip("# ") and not named:
            yield sign.kind, sign.where, plain


def _frame(seen: Iterable[tuple[tuple[str, ...], frozenset[Role]]]) -> frozenset[Role]:
    """What most of the places show."""
    by_place: dict[tuple[str, ...], set[Role]] = defaultdict(set)
    for at, roles in seen:
        by_place[at] |= roles
    counted = Counter(role for roles in by_place.values() for role in roles)
    least = _COMMON * len(by_place) if len(by_place) >= _FEW_PLACES else len(by_place) - 0.5
    return frozenset(role for role, number in counted.items() if number > least and len(by_place) > 1)


def _frame_built(built: Iterable[tuple[tuple[str, ...], frozenset[str]]]) -> frozenset[str]:
    """How most of the places are built; those beside each other, which may be things of one kind, count once."""
    by_place: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for at, shape in built:
        by_place[at] |= shape
    beside = Counter(at[:-1] for at in by_place)
    if len(beside) < _FEW_PLACES:
        return frozenset()
    weights: Counter[str] = Counter()
    for at, built_there in by_place.items():
        weights.update(dict.fromkeys(built_there, 1 / beside[at[:-1]]))
    return frozenset(each for each, weight in weights.items() if weight > _COMMON * len(beside))


def _bare(parts: tuple[str, ...]) -> tuple[str, ...]:
    return (parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts)[:DEEPEST]


def _weight(roles: Iterable[Role]) -> float:
    return sum(
        _LINK if role[0] == "control" and role[1] == "link" else _WEIGHTS[role[0]] for role in sorted(roles)
    )


def _alike(one: frozenset[Role], other: frozenset[Role]) -> float:
    together = one | other
    return _weight(one & other) / _weight(together) if together else 1.0


def _fixed(signs: frozenset[Sign]) -> tuple[int, list[str]]:
    return len(signs), sorted(f"{sign.kind} {sign.where} {sign.text}" for sign in signs)


def _share(one: frozenset[_Part], other: frozenset[_Part]) -> float:
    together = one | other
    return len(one & other) / len(together) if together else 1.0


# -- places ----------------------------------------------------------------------------------------------


class _Node:
    """A part of the addresses, with all that lies below."""

    def __init__(self) -> None:
        self.here: list[int] = []
        self.below: dict[str, _Node] = {}


def _places(looks: Sequence[_Look]) -> Mapping[Hashable, list[int]]:
    """Looks by their places, names of things of one kind left open."""
    root = _Node()
    for number, look in enumerate(looks):
        node = root
        for part in look.place:
            node = node.below.setdefault(part, _Node())
        node.here.append(number)
    found: dict[Hashable, list[int]] = {}
    _collect(looks, [root], (), found)
    return found


def _collect(
    looks: Sequence[_Look], nodes: Sequence[_Node], at: tuple[object, ...], found: dict[Hashable, list[int]]
) -> None:
    """Nodes that stand for one another are walked through as one."""
    here = [number for node in nodes for number in node.here]
    if here:
        found[at] = here
    below: dict[str, list[_Node]] = defaultdict(list)
    for node in nodes:
        for part, each in node.below.items():
            below[part].append(each)
    for kind, same in enumerate(_of_one_kind(looks, below)):
        _collect(looks, [each for part in same for each in below[part]], (*at, kind), found)


def _of_one_kind(looks: Sequence[_Look], below: Mapping[str, Sequence[_Node]]) -> list[list[str]]:
    """Parts of addresses, those together that are names of things of one kind."""
    kinds: list[tuple[list[str], list[dict[tuple[str, ...], list[int]]]]] = []
    for part in sorted(below):
        told = _told(below[part])
        for names, others in kinds:
            by_id = ANY in names
            if any(_stand_for_another(looks, told, other, by_id=by_id) for other in others):
                names.append(part)
                if len(others) < _FEW_PLACES:
                    others.append(told)
                break
        else:
            if len(kinds) < MOST_COMPARED:
                kinds.append(([part], [told]))
            else:
                kinds[-1][0].append(part)
    return [names for names, _ in kinds]


def _told(nodes: Sequence[_Node]) -> dict[tuple[str, ...], list[int]]:
    """Looks by the rest of their addresses."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    stack: list[tuple[tuple[str, ...], _Node]] = [((), node) for node in nodes]
    while stack:
        rest, node = stack.pop()
        found[rest] += node.here
        stack += [((*rest, part), each) for part, each in node.below.items()]
    return {rest: numbers for rest, numbers in found.items() if numbers}


def _stand_for_another(
    looks: Sequence[_Look],
    one: Mapping[tuple[str, ...], list[int]],
    other: Mapping[tuple[str, ...], list[int]],
    *,
    by_id: bool,
) -> bool:
    """Whether two names are of one kind: everywhere below both, the same can be done and is built alike.

    `by_id`: where the others are ids, a word is mostly what is done (`add`) and not what something is called:
    it has to say the same.
    """
    shared = one.keys() & other.keys()
    if not shared:
        return False
    for rest in shared:
        pairs = [(looks[a], looks[b]) for a in one[rest][:3] for b in other[rest][:3]]
        if not any(
            _same_kind(first, second) and not (by_id and _say_another_thing(first, second))
            for first, second in pairs
        ):
            return False
    return True


def _say_another_thing(one: _Look, other: _Look) -> bool:
    return bool(one.called - other.called) and bool(other.called - one.called)


def _same_kind(one: _Look, other: _Look) -> bool:
    if one.error != other.error:
        return False
    return _alike(one.tools, other.tools) >= SAME_TOOLS and _share(one.built, other.built) >= SAME_BUILD


# -- joining ---------------------------------------------------------------------------------------------


def _join_place(looks: Sequence[_Look], numbers: Sequence[int], joined: _Joined) -> None:
    """At one place: the pages that have enough in common."""
    for one, other in _pairs(numbers):
        if (
            looks[one].error == looks[other].error
            and _alike(looks[one].roles, looks[other].roles) >= SAME_PLACE
        ):
            joined.join(one, other)


def _pairs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    yield from combinations(numbers[:MOST_COMPARED], 2)
    for number in numbers[MOST_COMPARED:]:
        yield from ((other, number) for other in numbers[:MOST_COMPARED])


def _join_steps(pages: Sequence[ObservedPage], looks: Sequence[_Look], joined: _Joined) -> None:
    """Pages of places that differ, on which different runs did the same."""
    by_step: dict[tuple[int, int], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for number, look in enumerate(looks):
        for at in look.pages:
            step = pages[at].step
            if step is not None:
                by_step[step, len(segments(pages[at].path))][number].add(pages[at].run)
    for same in by_step.values():
        for one, other in _pairs(sorted(same)):
            several = len(same[one] | same[other]) > 1
            if several and _alike(looks[one].roles, looks[other].roles) >= SAME_STEP:
                joined.join(one, other)


def _join_everywhere(looks: Sequence[_Look], joined: _Joined) -> None:
    """Pages that look the same wherever they are: what was not found, a page with two addresses."""
    by_name: dict[frozenset[Role], list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        if look.called:
            by_name[look.called].append(number)
    for same in by_name.values():
        for one, other in _pairs(same):
            first, second = looks[one], looks[other]
            if (first.error and second.error and not _fields(first) and not _fields(second)) or (
                (first.signs == second.signs and _share(first.shape, second.shape) >= SAME_LOOK)
                or _of_one_tree(first, second)
            ):
                joined.join(one, other)


def _of_one_tree(one: _Look, other: _Look) -> bool:
    """Whether one lies below what the other lies in, and is called and built as that is: a folder in a folder."""
    upper, lower = sorted((one, other), key=lambda look: len(look.place))
    return (
        len(upper.place) < len(lower.place)
        and lower.place[: len(upper.place) - 1] == upper.place[:-1]
        and one.error == other.error
        and _alike(one.roles, other.roles) >= SAME_BRANCH
        and _share(one.built, other.built) >= SAME_BRANCH
    )


def _fields(look: _Look) -> frozenset[Role]:
    return frozenset(role for role in look.roles if role[0] in ("field", "label"))

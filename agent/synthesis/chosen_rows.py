"""Which rows of a list are acted on, where not all are: those that have something the others lack.

Asked of each row are the words and the kind of what is acted on, other short words in it, and its marks
(classes, attributes, the state of its fields). What is found has to tell every row that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb_schema.pages.css import SelectorError
from kb_schema.pages.fields import enabled, is_toggle, value_of
from kb_schema.pages.names import is_control
from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import css

LONGEST_SIGN = 40
"""Characters of words that may tell a row: a state is short."""
EACH_SIDE = 2
"""Rows that have to be seen with and without a sign that is not of the thing acted on itself."""
_MARKS = ("aria-selected", "aria-checked", "aria-expanded", "aria-current", "aria-disabled")
_OF_THE_TARGET, _WORDS, _MARK = range(3)


@dataclass(frozen=True, slots=True)
class Shown:
    """A list as a page showed it before a round, or behind the last one."""

    page: StoredPage
    rows: tuple[Element, ...]
    acted_on: Element | None
    """What was clicked, in one of the rows; None behind the last round."""

    @property
    def at(self) -> int:
        """Which row that is."""
        return next(at for at, row in enumerate(self.rows) if self.acted_on in (row, *row.descendants()))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What tells the rows that are acted on."""

    condition: str
    """CSS behind the selector of a row."""
    shrinking: bool
    """Whether a row is told no more once it was acted on."""
    told: str


@dataclass(frozen=True, slots=True, order=True)
class _Sign:
    rank: int
    condition: str
    place: str


def chosen_rows(passes: Sequence[tuple[Sequence[Shown], Shown | None]], selector: str) -> Chosen | None:
    """What tells the rows acted on, in each pass: before each round, and behind the last one; None where
    nothing does. `selector`: CSS of all rows.
    """
    for shrinking in (True, False):
        acted, others = _sides(passes, shrinking=shrinking)
        if not acted or not others:
            continue
        for sign in _signs(acted, others):
            chosen = f"{selector}{sign.condition}"
            if all(_fits(before, behind, chosen, shrinking) for before, behind in passes):
                told = (
                    f"{sign.condition} on {len(acted)} of {len(acted)} rows and on 0 of {len(others)} others"
                )
                return Chosen(sign.condition, shrinking, told)
    return None


def _sides(
    passes: Iterable[tuple[Sequence[Shown], Shown | None]], *, shrinking: bool
) -> tuple[list[tuple[Element, Element]], list[Element]]:
    """Rows with what was acted on in them, and rows that were passed over."""
    acted: list[tuple[Element, Element]] = []
    others: list[Element] = []
    for before, behind in passes:
        acted += [(each.rows[each.at], each.acted_on) for each in before if each.acted_on is not None]
        if shrinking:
            others += [row for each in before for row in each.rows[: each.at]]
            others += [] if behind is None else behind.rows
        else:
            chosen = {each.at for each in before}
            first = before[0] if before else behind
            others += [] if first is None else [row for at, row in enumerate(first.rows) if at not in chosen]
    return acted, others


def _signs(acted: Sequence[tuple[Element, Element]], others: Sequence[Element]) -> list[_Sign]:
    """What all rows of one side have and none of the other, the surest first; nothing where words of two
    columns tell alike: which one is meant is a guess.
    """
    mine = [set(_of(row, target)) for row, target in acted]
    its = {sign.condition for row in others for sign in _of(row, None)}
    found = sorted(sign for sign in set.intersection(*mine) if sign.condition not in its)
    if found and found[0].rank == _OF_THE_TARGET:
        return found
    if min(_different(row for row, _ in acted), _different(others)) < EACH_SIDE:
        return []
    if len({sign.place for sign in found if sign.rank == _WORDS}) > 1:
        return []
    return found


def _of(row: Element, target: Element | None) -> Iterator[_Sign]:
    """Everything that may tell a row; of the thing acted on, where it is told which that is."""
    for node in (row, *row.descendants()):
        if not visible(node):
            continue
        place = "" if node is row else _place(node, row)
        rank = _OF_THE_TARGET if node is target else _WORDS
        said = squeeze(" ".join(each for each in node.children if isinstance(each, str)))
        if said and len(said) <= LONGEST_SIGN and not set(said) & set('"\\\n'):
            yield from _both(rank, f':has({node.tag}:has-text("{said}"))', place)
        if node is not row and is_control(node):
            yield from _both(rank, f":has({node.tag})", place)
            if is_toggle(node):
                state = ":checked" if value_of(node) == "true" else ":not(:checked)"
                yield _Sign(_MARK, f":has({node.tag}{state})", place)
            elif not enabled(node):
                yield _Sign(_MARK, f":has({node.tag}:disabled)", place)
        for mark in _marks(node):
            yield _Sign(_MARK, mark if node is row else f":has({mark})", place)


def _both(rank: int, condition: str, place: str) -> Iterator[_Sign]:
    """As a sign of the thing acted on, and as one of any other row."""
    yield _Sign(rank, condition, place)
    if rank == _OF_THE_TARGET:
        yield _Sign(_WORDS, condition, place)


def _marks(node: Element) -> Iterator[str]:
    for token in (node.get("class") or "").split():
        if token.replace("-", "").replace("_", "").isalnum() and not looks_made_up(token):
            yield f".{token}"
    for name in _MARKS:
        value = node.get(name)
        if value in ("true", "false"):
            yield f'[{name}="{value}"]'


def _place(node: Element, row: Element) -> str:
    """Where in its row: by the child of the row it stands in, a column."""
    path: list[str] = []
    while node is not row and node.parent is not None:
        siblings = list(node.parent.elements())
        path.insert(0, str(siblings.index(node)))
        node = node.parent
    return "/".join(path)


def _different(rows: Iterable[Element]) -> int:
    return len({squeeze(text_of(row, everything=True)) for row in rows})


def _fits(before: Sequence[Shown], behind: Shown | None, selector: str, shrinking: bool) -> bool:
    """Whether it leads to the row of each round, and to nothing more behind the last one."""
    for number, each in enumerate(before):
        found = _found(each.page, selector)
        place = 0 if shrinking else number
        if len(found) <= place or found[place] is not each.rows[each.at]:
            return False
    if behind is None:
        return True
    return len(_found(behind.page, selector)) == (0 if shrinking else len(before))


def _found(page: StoredPage, selector: str) -> list[Element]:
    try:
        return [element for element in page.resolve(css(selector)).found if visible(element)]
    except SelectorError:
        return []

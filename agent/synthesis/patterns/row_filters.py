"""Infers a filter for list rows if only some of them are acted on.

Candidates are the text and type of the target, other short texts in the row, and its marks (classes,
attributes, field states). A filter must classify every observed row correctly. A text that is another one in each
demonstration is a filter by an input: all plants of Ada.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.synthesis.alignment.aligned_traces import RowKey
from kb_schema.selectors import css
from kb_schema.templates import list_telling_words
from web_pages.accessible_names import is_control
from web_pages.css_queries import SelectorError
from web_pages.element_tree import Element
from web_pages.field_words import CELLS, find_column_heading
from web_pages.form_fields import enabled, is_toggle, value_of
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.selectors.generated_names import looks_generated
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

LONGEST_SIGN = 40
"""Maximum length of a text in a filter: texts that show a state are short."""
EACH_SIDE = 2
"""Minimum number of rows with and without a sign, if the sign is not on the target itself."""
_MARKS = ("aria-selected", "aria-checked", "aria-expanded", "aria-current", "aria-disabled")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_OF_THE_TARGET, _WORDS, _MARK = range(3)


@dataclass(frozen=True, slots=True)
class ListSnapshot:
    """A list on the page before a round, or after the last one."""

    page: StoredPage
    rows: tuple[Element, ...]
    acted_on: Element | None
    """The clicked element in one of the rows; None after the last round."""

    @property
    def at(self) -> int:
        """Index of the row with the clicked element."""
        return next(at for at, row in enumerate(self.rows) if self.acted_on in (row, *row.descendants()))


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter for the rows that are acted on."""

    condition: str
    """CSS to append to the selector of a row."""
    shrinking: bool
    """Whether a row no longer matches after it was acted on."""
    told: str


@dataclass(frozen=True, slots=True)
class ToldRowFilter:
    """A filter for the rows that have, in one column, a text that an input must tell."""

    template: str
    """XPath of the rows, with the parameter `{{row}}`."""
    words: Mapping[RowKey, str]
    """The text in each pass."""
    label: str
    """Heading of the column; empty if it has none."""
    shrinking: bool
    """Whether a row no longer matches after it was acted on."""
    evidence: str
    count: str = ""
    """The input that tells how many of these rows, from the first, are acted on; empty: all of them."""
    counts: Mapping[RowKey, str] = field(default_factory=dict)
    """Its value in each pass."""


@dataclass(frozen=True, slots=True, order=True)
class _RowSign:
    rank: int
    condition: str
    place: str


def find_row_filter(
    passes: Sequence[tuple[Sequence[ListSnapshot], ListSnapshot | None]], selector: str
) -> RowFilter | None:
    """Return a filter that matches exactly the rows acted on, in every pass; None if there is none.

    `selector` is CSS of all rows.
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
                return RowFilter(sign.condition, shrinking, told)
    return None


def find_told_row_filter(
    passes: Mapping[RowKey, tuple[Sequence[ListSnapshot], ListSnapshot | None]],
    typed: Mapping[RowKey, frozenset[str]] | None = None,
    inputs: Mapping[RowKey, Mapping[str, object]] | None = None,
) -> ToldRowFilter | None:
    """Return the column whose text, or a word of it, all rows acted on in a pass have, and no other row; None if none.

    The text differs between passes, and several rows were acted on in at least two of them, for a whole text in one:
    else the name of a row would be such a text. Returns None if two columns explain it, unless the text of one of them
    alone is one of the `inputs` in every pass. With `typed`, only a whole text counts that is one of those of its pass.
    """
    told = {key: each for key, each in passes.items() if each[0]}
    if len(told) < 2:
        return None
    for whole in (True, False) if typed is None else (True,):
        several = {key: each for key, each in told.items() if len(each[0]) >= EACH_SIDE}
        if len(several) < (1 if whole else 2):
            return None
        for shrinking in (True, False):
            found = _find_told_columns(told if whole else several, whole=whole, shrinking=shrinking)
            if typed is not None:
                found = {
                    words: each
                    for words, each in found.items()
                    if all(word in typed[key] for key, word in each.words.items())
                }
            if len(found) > 1:
                found = {words: each for words, each in found.items() if find_input(each.words, inputs or {})}
            if len(found) == 1:
                return next(iter(found.values()))
    return None


def find_input(words: Mapping[RowKey, str], inputs: Mapping[RowKey, Mapping[str, object]]) -> str | None:
    """Return the name of the input that is this text in every pass; None if there is none."""
    shared = set.intersection(*(set(inputs.get(key, {})) for key in words)) if words else set()
    found = [name for name in shared if all(inputs[key][name] == word for key, word in words.items())]
    return min(found, key=lambda name: (len(name), name), default=None)


def _find_told_columns(
    passes: Mapping[RowKey, tuple[Sequence[ListSnapshot], ListSnapshot | None]],
    *,
    whole: bool,
    shrinking: bool,
) -> dict[tuple[str, ...], ToldRowFilter]:
    """Return the filters that explain every pass, one for each set of words; of equal ones the outermost column."""
    found: dict[tuple[str, ...], ToldRowFilter] = {}
    shown = next(iter(passes.values()))[0][0]
    row = shown.rows[shown.at]
    for path in list_columns(shown):
        words = {
            key: _find_told_word(each, path, whole=whole, shrinking=shrinking) for key, each in passes.items()
        }
        known = {key: word for key, word in words.items() if word}
        if len(known) < len(passes) or len(set(known.values())) < 2:
            continue
        said = "[normalize-space()='{{row}}']" if whole else "[{{row|words}}]"
        template = f"//{row.tag}[{path}{said}]"
        if not all(_fits_word(each, template, known[key], shrinking) for key, each in passes.items()):
            continue
        label = find_heading(row, path)
        count = sum(len(before) for before, _ in passes.values())
        evidence = (
            f"{'' if whole else 'a word of '}{label or path} is the same in the {count} rows of each demonstration,"
            " and in no other"
        )
        found.setdefault(tuple(known.values()), ToldRowFilter(template, known, label, shrinking, evidence))
    return found


def list_columns(shown: ListSnapshot) -> Iterator[str]:
    """Yield the paths of the short texts in the row acted on, as XPath from the row, the outermost first."""
    row = shown.rows[shown.at]
    for node in row.descendants():
        said = squeeze(text_of(node))
        if visible(node) and 0 < len(said) <= LONGEST_SIGN:
            yield write_row_path(node, row)


def write_row_path(node: Element, row: Element) -> str:
    """Return the XPath from a row to an element in it; empty for the row itself."""
    parts: list[str] = []
    while node is not row and node.parent is not None:
        same = [each for each in node.parent.elements() if each.tag == node.tag]
        parts.insert(0, f"{node.tag}[{same.index(node) + 1}]")
        node = node.parent
    return "/".join(parts)


def _find_told_word(
    one: tuple[Sequence[ListSnapshot], ListSnapshot | None], path: str, *, whole: bool, shrinking: bool
) -> str | None:
    """Return what a column has in all rows acted on in a pass and in no other row: its text, or the words in it."""
    acted, others = _sides([one], shrinking=shrinking)
    texts = [read_column(row, path) or "" for row, _ in acted]
    left = [read_column(row, path) or "" for row in others]
    if whole:
        return texts[0] if set(texts) == {texts[0]} and texts[0] not in left else None
    told, others_told = (
        [{*list_telling_words(each)} for each in texts],
        [{*list_telling_words(each)} for each in left],
    )
    shared = set.intersection(*told)
    if not shared or any(shared <= each for each in others_told):
        return None
    telling = {word for word in shared if not any(word in each for each in others_told)} or shared
    return " ".join(
        each for each in _WORD.findall(texts[0]) if telling.issuperset(list_telling_words(each) or "-")
    )


def read_column(row: Element, path: str) -> str | None:
    """Return the text of a row at a path of `list_columns`; None if it has none there."""
    node: Element | None = row
    for part in path.split("/"):
        tag, _, number = part.rstrip("]").partition("[")
        same = [] if node is None else [each for each in node.elements() if each.tag == tag]
        node = same[int(number) - 1] if len(same) >= int(number) else None
    return None if node is None else squeeze(text_of(node)) or None


def find_heading(row: Element, path: str) -> str:
    """Return the heading of a table's column; empty if it has none."""
    tag, _, number = path.split("/", maxsplit=1)[0].rstrip("]").partition("[")
    same = [each for each in row.elements() if each.tag == tag and tag in CELLS]
    return find_column_heading(row, same[int(number) - 1]) if len(same) >= int(number) else ""


def _fits_word(
    one: tuple[Sequence[ListSnapshot], ListSnapshot | None], template: str, word: str, shrinking: bool
) -> bool:
    """Whether the filter selects the row of each round, and no row after the last round."""
    before, behind = one
    for number, each in enumerate(before):
        found = each.page.resolve_template(template, {"row": word})
        place = 0 if shrinking else number
        if len(found) <= place or found[place] is not each.rows[each.at]:
            return False
    left = () if behind is None else behind.page.resolve_template(template, {"row": word})
    return behind is None or len(left) == (0 if shrinking else len(before))


def _sides(
    passes: Iterable[tuple[Sequence[ListSnapshot], ListSnapshot | None]], *, shrinking: bool
) -> tuple[list[tuple[Element, Element]], list[Element]]:
    """Return the rows with their targets, and the rows that were not acted on."""
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


def _signs(acted: Sequence[tuple[Element, Element]], others: Sequence[Element]) -> list[_RowSign]:
    """Return the signs of all rows acted on that no other row has, most reliable first.

    Returns nothing if texts of two columns are equally good: choosing one would be a guess.
    """
    mine = [set(_list_row_signs(row, target)) for row, target in acted]
    its = {sign.condition for row in others for sign in _list_row_signs(row, None)}
    found = sorted(sign for sign in set.intersection(*mine) if sign.condition not in its)
    if found and found[0].rank == _OF_THE_TARGET:
        return found
    if min(_different(row for row, _ in acted), _different(others)) < EACH_SIDE:
        return []
    if len({sign.place for sign in found if sign.rank == _WORDS}) > 1:
        return []
    return found


def _list_row_signs(row: Element, target: Element | None) -> Iterator[_RowSign]:
    """Yield all signs of a row, including those of its target if `target` is given."""
    for node in (row, *row.descendants()):
        if not visible(node):
            continue
        place = "" if node is row else _place(node, row)
        rank = _OF_THE_TARGET if node is target else _WORDS
        said = " ".join(own_texts(node))
        if said and len(said) <= LONGEST_SIGN and not set(said) & set('"\\\n'):
            yield from _expand_target_sign(rank, f':has({node.tag}:has-text("{said}"))', place)
        if node is not row and is_control(node):
            yield from _expand_target_sign(rank, f":has({node.tag})", place)
            if is_toggle(node):
                state = ":checked" if value_of(node) == "true" else ":not(:checked)"
                yield _RowSign(_MARK, f":has({node.tag}{state})", place)
            elif not enabled(node):
                yield _RowSign(_MARK, f":has({node.tag}:disabled)", place)
        for mark in _marks(node):
            yield _RowSign(_MARK, mark if node is row else f":has({mark})", place)


def _expand_target_sign(rank: int, condition: str, place: str) -> Iterator[_RowSign]:
    """Yield a sign of the target, and the same sign without its column."""
    yield _RowSign(rank, condition, place)
    if rank == _OF_THE_TARGET:
        yield _RowSign(_WORDS, condition, place)


def _marks(node: Element) -> Iterator[str]:
    for token in (node.get("class") or "").split():
        if token.replace("-", "").replace("_", "").isalnum() and not looks_generated(token):
            yield f".{token}"
    for name in _MARKS:
        value = node.get(name)
        if value in ("true", "false"):
            yield f'[{name}="{value}"]'


def _place(node: Element, row: Element) -> str:
    """Return the column of an element: the child of the row that contains it."""
    path: list[str] = []
    while node is not row and node.parent is not None:
        siblings = list(node.parent.elements())
        path.insert(0, str(siblings.index(node)))
        node = node.parent
    return "/".join(path)


def _different(rows: Iterable[Element]) -> int:
    return len({squeeze(text_of(row, everything=True)) for row in rows})


def _fits(
    before: Sequence[ListSnapshot], behind: ListSnapshot | None, selector: str, shrinking: bool
) -> bool:
    """Whether the filter selects the row of each round, and no row after the last round."""
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

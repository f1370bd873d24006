"""An outline of a live page in few words: its headings, messages and controls, each control with a short reference.

Of rows that repeat, the first few are listed; the others are counted. Values of fields are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent.locators.page_index import IndexedElement, IndexedRegion, PageIndex, RegionKind

MOST_CHARACTERS = 2_800
"""Length of an outline; about 800 tokens."""
MOST_ROWS = 3
"""Rows that are listed of each list or table."""
LONGEST_TEXT = 80
_MESSAGE_ROLES = frozenset({"alert", "status", "alertdialog", "log"})
_SHOWN_REGIONS = frozenset({RegionKind.DIALOG, RegionKind.FORM, RegionKind.LANDMARK})
_ROWS = frozenset({RegionKind.ROW, RegionKind.ITEM})
_PARTS = frozenset({"main", "region", "document", "article", "dialog", "group", "tabpanel"})

RefKey = tuple[str, ...]
"""Identifies a control for as long as the page shows it: its role, its name and what is around it."""


@dataclass
class RefNames:
    """The references of one tab's controls, `e1`, `e2`, ...: a control keeps its own."""

    names: dict[RefKey, str] = field(default_factory=dict)

    def name(self, key: RefKey) -> str:
        """Return the reference of a control; a new one if it was not seen before."""
        return self.names.setdefault(key, f"e{len(self.names) + 1}")


@dataclass(frozen=True, slots=True)
class PageOutline:
    """The lines of an outline, and the position of each reference in the page index."""

    lines: tuple[str, ...]
    refs: Mapping[str, int]
    left_out: int = 0
    """Lines that were too many."""

    @property
    def text(self) -> str:
        """The outline as one text."""
        more = (
            (f"... and {self.left_out} more lines; name an element in words to use it",)
            if self.left_out
            else ()
        )
        return "\n".join((*self.lines, *more))


def outline_page(index: PageIndex, names: RefNames, most: int = MOST_CHARACTERS) -> PageOutline:
    """Return the outline of a page, at most about `most` characters long. References are those of `names`.

    `index`: with all rows of lists, or with the first `MOST_ROWS` of each.
    """
    refs: dict[str, int] = {}
    lines = list(_list_lines(index, names, refs))
    kept, used = [], 0
    for line in lines:
        used += len(line) + 1
        if used > most:
            break
        kept.append(line)
    return PageOutline(tuple(kept), refs, len(lines) - len(kept))


def list_changes(before: PageOutline, after: PageOutline) -> list[str] | None:
    """Return the lines that are gone (`-`) and new (`+`); None if most of the page is another one.

    >>> list_changes(PageOutline(("# A", 'e1 button "Go"'), {}), PageOutline(("# A", 'e1 button "Go"', "! Saved"), {}))
    ['+ ! Saved']
    """
    old, new = Counter(before.lines), Counter(after.lines)
    changes = [
        *(f"- {line}" for line in (old - new).elements()),
        *(f"+ {line}" for line in (new - old).elements()),
    ]
    return changes if len(changes) <= max(3, len(after.lines)) else None


def _list_lines(index: PageIndex, names: RefNames, refs: dict[str, int]) -> Iterator[str]:
    operable = {element.at for element in index.interactive}
    hidden_rows = _list_further_rows(index)
    region, times, skipped = None, Counter[RefKey](), 0
    for element in index.elements:
        skipped += index.further.get(element.at, 0)
        said = _heading_or_message(element)
        if not said and (element.at not in operable or _is_bare_part(element)):
            continue
        if hidden_rows & {id(each) for each in index.regions_of(element)}:
            skipped += element.at in operable
            continue
        if skipped:
            yield f"  ... {skipped} more controls in rows like these"
            skipped = 0
        around = next((each for each in index.regions_of(element) if each.kind in _SHOWN_REGIONS), None)
        if around is not region and around is not None and (around.name or around.kind is RegionKind.DIALOG):
            yield f"[{around.kind.value} {_short(around.name)}]".replace(" ]", "]")
        region = around
        if said:
            yield said
            continue
        key = _key(index, element)
        times[key] += 1
        ref = names.name((*key, str(times[key])))
        refs[ref] = element.at
        yield f"{ref} {_control(index, element)}"
    skipped += index.further.get(len(index.elements), 0)
    if skipped:
        yield f"  ... {skipped} more controls in rows like these"


def _is_bare_part(element: IndexedElement) -> bool:
    """Whether it is a part of the page that can only take the focus."""
    return element.role in _PARTS and not (element.name or element.clickable)


def _heading_or_message(element: IndexedElement) -> str:
    if not element.visible:
        return ""
    text = _short(element.text or element.name)
    if element.role == "heading" and text:
        return f"# {text}"
    return f"! {text}" if element.role in _MESSAGE_ROLES and text else ""


def _control(index: PageIndex, element: IndexedElement) -> str:
    name = (
        element.label
        or element.name
        or element.placeholder
        or element.text
        or element.icon
        or element.near.before
    )
    role = element.role or ("clickable" if element.clickable else element.tag)
    own = element.attributes.get("name", "")
    parts = [role, f'"{_short(name)}"' if name else f"(no name, {_short(own)})" if own else "(no name)"]
    if element.attributes.get("type") == "password":
        parts.append("password")
    if element.required:
        parts.append("required")
    if element.checked is not None:
        parts.append("checked" if element.checked else "unchecked")
    if not element.enabled:
        parts.append("disabled")
    row = next((each for each in index.regions_of(element) if each.kind in _ROWS), None)
    told = _row_name(row)
    if told and told.casefold() not in name.casefold():
        parts.append(f"@ row {_short(told)}")
    return " ".join(parts)


def _row_name(row: IndexedRegion | None) -> str:
    return "" if row is None else row.name or next((text for text in row.texts if text), "")


def _key(index: PageIndex, element: IndexedElement) -> RefKey:
    regions = [each.name for each in index.regions_of(element) if each.name]
    return (index.url.partition("#")[0], element.tag, element.role or "", element.name, *regions[:2])


def _list_further_rows(index: PageIndex) -> set[int]:
    """Return the rows beyond the first few of each list, by their identity."""
    seen: Counter[tuple[int | None, str]] = Counter()
    found = set()
    for region in index.regions:
        if region.kind in _ROWS:
            seen[region.parent, region.kind] += 1
            if seen[region.parent, region.kind] > MOST_ROWS:
                found.add(id(region))
    return found


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return (
        plain
        if len(plain) <= LONGEST_TEXT
        else f"{plain[: LONGEST_TEXT - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    )

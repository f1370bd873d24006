"""An outline of a live page in few words: its headings, messages and controls, each control with a short reference.

Of links of one region that do the same and are called alike, the first is listed. Of rows that repeat, the first few are listed, those that lay out a form, and those with a wanted text; the others are counted, as
are controls behind an open dialog. Cards that repeat are left out so where all would be too long. Values of fields are not read (`agent.locators.field_values`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from agent.locators.control_cards import NO_CARD, ControlCard
from agent.locators.control_names import FIELD_ROLES, call_control, has_letters
from agent.locators.page_index import IndexedElement, IndexedRegion, PageIndex, RegionKind
from kb_schema.sentence_plans import is_title_in, list_plain_words, stands_in

MOST_CHARACTERS = 2_800
"""Length of an outline; about 800 tokens."""
MOST_ROWS = 3
"""Rows that are listed of each list or table."""
LEAST_PLAIN_WORDS = 2
"""Plain words of a sentence that a card must have to be listed for them."""
LONGEST_TEXT = 80
LONGEST_BEGINNING = 40
"""Characters of the beginning of a name that is too long, before a wanted text of it."""
CUT = "\N{HORIZONTAL ELLIPSIS}"
LONGEST_CARD = 160
"""Characters of the texts of a card."""
_MESSAGE_ROLES = frozenset({"alert", "status", "alertdialog", "log"})
_SHOWN_REGIONS = frozenset({RegionKind.DIALOG, RegionKind.FORM, RegionKind.LANDMARK})
_ROWS = frozenset({RegionKind.ROW, RegionKind.ITEM})
_LOOKS = frozenset({"id", "class", "title", "aria-label"})
"""Attributes of a link that do not say what it does."""
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


def outline_page(
    index: PageIndex,
    names: RefNames,
    most: int = MOST_CHARACTERS,
    *,
    rows: int = MOST_ROWS,
    wanted: Sequence[str] = (),
    tells_apart: bool = False,
    cards: Mapping[int, ControlCard] | None = None,
    sentence: str = "",
) -> PageOutline:
    """Return the outline of a page, at most about `most` characters long. References are those of `names`.

    `index`: with all rows of lists, or with the first `MOST_ROWS` of each. `rows`: how many of each list are listed.
    `wanted`: rows with one of these texts are listed beside them, and a name that is too long shows such a text. `tells_apart`: of controls that are called alike, the
    texts before each are told; if these do not tell which is which, those of its card among `cards`, those first that begin with a wanted text.
    `sentence`: cards of which it has a text whole are wanted, too.
    """
    refs: dict[str, int] = {}
    alike = tell_places(index, cards, wanted) if tells_apart else {}
    further = _list_further_rows(index, rows, wanted)
    lines = list(_list_lines(index, names, refs, further, alike, wanted=wanted))
    if cards and sum(len(line) + 1 for line in lines) > most:
        refs = {}
        lines = list(
            _list_lines(
                index, names, refs, further, alike, _list_further_cards(cards, wanted, sentence), wanted
            )
        )
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


def _list_lines(
    index: PageIndex, names: RefNames, refs: dict[str, int], hidden_rows: set[int], alike: Mapping[int, str],
    hidden: AbstractSet[int] = frozenset(), wanted: Sequence[str] = (),
) -> Iterator[str]:  # fmt: skip
    operable = {element.at for element in index.interactive}
    labels = _name_fields_in_rows(index)
    region, times, skipped, behind = None, Counter[RefKey](), 0, 0
    links = set[tuple[object, ...]]()
    for element in index.elements:
        skipped += index.further.get(element.at, 0)
        said = _heading_or_message(element)
        if not said and (element.at not in operable or _is_bare_part(element)):
            continue
        if element.behind and not said:
            behind += 1
            continue
        if element.at in hidden or hidden_rows & {id(each) for each in index.regions_of(element)}:
            skipped += element.at in operable
            continue
        if skipped:
            yield f"  ... {skipped} more controls in rows like these"
            skipped = 0
        link = _tell_link(element)
        if link in links:
            continue
        links |= set() if link is None else {link}
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
        before = alike.get(element.at, "")
        place = f" @ after {_short(before, LONGEST_CARD)}" if before else ""
        yield f"{ref} {_control(index, element, labels.get(element.at, ''), wanted)}{place}"
    skipped += index.further.get(len(index.elements), 0)
    if skipped:
        yield f"  ... {skipped} more controls in rows like these"
    if behind:
        yield f"  ... {behind} controls behind what lies over the page"


def _tell_link(element: IndexedElement) -> tuple[object, ...] | None:
    """Return what a link does, where it is and what it is called: another one with the same, such as the picture beside a title, is the
    same control. None if its address does not tell what it does.
    """
    href = element.attributes.get("href", "")
    if (
        element.role != "link"
        or not href
        or href.startswith("#")
        or href.casefold().startswith("javascript:")
    ):
        return None
    marks = {name: said for name, said in element.attributes.items() if name not in _LOOKS}
    return (element.root, element.region, call_control(element), *sorted(marks.items()))


def list_repeated_links(index: PageIndex) -> frozenset[int]:
    """Return the links that do what one before them in the same region does, and are called like it."""
    seen, found = set[tuple[object, ...]](), set[int]()
    for element in index.interactive:
        link = None if element.behind else _tell_link(element)
        if link is not None and link in seen:
            found.add(element.at)
        seen |= set() if link is None else {link}
    return frozenset(found)


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


def _control(index: PageIndex, element: IndexedElement, label: str, wanted: Sequence[str]) -> str:
    name = call_control(element) or element.near.before or label
    shown = element.name or element.text
    role = element.role or ("clickable" if element.clickable else element.tag)
    own = element.attributes.get("name", "")
    parts = [
        role,
        f'"{_short_around(name, wanted)}"' if name else f"(no name, {_short(own)})" if own else "(no name)",
    ]
    if shown and shown not in name and not has_letters(shown):
        parts.append(f"shows {_short(shown)}")
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


def list_alike(index: PageIndex) -> list[list[IndexedElement]]:
    """Return the controls of which the page has another one with the same role and name, those that are called alike together.

    Of links that do the same, the first.
    """
    called: dict[tuple[str | None, str], list[IndexedElement]] = {}
    repeated = list_repeated_links(index)
    for element in index.interactive:
        if not (element.behind or element.at in repeated):
            called.setdefault((element.role, call_control(element)), []).append(element)
    return [alike for alike in called.values() if len(alike) > 1]


def tell_places(
    index: PageIndex, cards: Mapping[int, ControlCard] | None = None, wanted: Sequence[str] = ()
) -> dict[int, str]:
    """Return the controls of which the page has another one with the same role and name, with what tells each from the others.

    If each lies in a card of its own, it is the texts of the card, those first that begin with a wanted text; else the text before it. Where that is the
    same before several of them, or has no letter, it is the card's texts; without one, all since the control or heading before: those of its row.
    """
    between: dict[int, str] | None = None
    found: dict[int, str] = {}
    for alike in list_alike(index):
        around = {each.at: (cards or {}).get(each.at, NO_CARD) for each in alike}
        if len({card.number for card in around.values() if card.texts}) == len(alike):
            found |= {at: _tell_card(card, wanted) for at, card in around.items()}
            continue
        times = Counter(each.near.before for each in alike)
        for each in alike:
            before = each.near.before
            if times[before] > 1 or not has_letters(before):
                between = _texts_between(index) if between is None else between
                before = _tell_card(around[each.at], wanted) or between.get(each.at) or before
            found[each.at] = before
    return found


def _tell_card(card: ControlCard, wanted: Sequence[str]) -> str:
    """Return the texts of a card, those first that begin with a wanted text."""
    texts = tuple(each.casefold() for each in wanted if each.strip())
    return " ".join(sorted(card.texts, key=lambda said: not said.casefold().startswith(texts)))


def _texts_between(index: PageIndex) -> dict[int, str]:
    """Return for each control the texts between the control or heading before it and itself."""
    operable = {element.at for element in index.interactive}
    found: dict[int, str] = {}
    since: list[str] = []
    for element in index.elements:
        if element.at in operable or element.role == "heading":
            found[element.at] = " ".join(since)
            since = []
        elif element.visible and element.text and not any(element.text in each for each in since):
            since = [each for each in since if each not in element.text]
            since.append(element.text)
    return found


def _name_fields_in_rows(index: PageIndex) -> dict[int, str]:
    """Return names for fields that have none: a row of a form with as many texts as fields names them in their order."""
    fields: dict[int, list[IndexedElement]] = {}
    said: dict[int, set[str]] = {}
    rows: dict[int, IndexedRegion] = {}
    for element in index.interactive:
        row = next((each for each in index.regions_of(element) if each.kind is RegionKind.ROW), None)
        if row is None:
            continue
        rows[id(row)] = row
        if element.role in FIELD_ROLES and not call_control(element):
            fields.setdefault(id(row), []).append(element)
        else:
            said.setdefault(id(row), set()).add(call_control(element))
    found: dict[int, str] = {}
    for key, unnamed in fields.items():
        texts = [text for text in rows[key].texts if text and text not in said.get(key, ())]
        if len(texts) == len(unnamed):
            found |= {element.at: text for element, text in zip(unnamed, texts, strict=True)}
    return found


def _row_name(row: IndexedRegion | None) -> str:
    return "" if row is None else row.name or next((text for text in row.texts if text), "")


def _key(index: PageIndex, element: IndexedElement) -> RefKey:
    regions = [each.name for each in index.regions_of(element) if each.name]
    name = element.name or call_control(element)  # what is only clickable has no accessible name
    return (index.url.partition("#")[0], element.tag, element.role or "", name, *regions[:2])


def _list_further_rows(index: PageIndex, rows: int, wanted: Sequence[str]) -> set[int]:
    """Return the rows beyond the first few of each list, by their identity; without those that have a wanted text."""
    seen: Counter[tuple[int | None, str]] = Counter()
    texts = [each.casefold() for each in wanted if each.strip()]
    further = {}
    for at, region in enumerate(index.regions):
        if region.kind in _ROWS:
            seen[region.parent, region.kind] += 1
            if seen[region.parent, region.kind] > rows and at not in index.form_rows:
                further[at] = region
    if not further or not texts:
        return {id(region) for region in further.values()}
    named = {
        at
        for at, region in further.items()
        if any(text in said.casefold() for text in texts for said in (region.name, *region.texts))
    }
    return {id(region) for at, region in further.items() if at not in named}


def _list_further_cards(cards: Mapping[int, ControlCard], wanted: Sequence[str], sentence: str) -> set[int]:
    """Return the controls in cards beyond the first few, without those of cards that have a wanted text, or one that the sentence has,
    and of those that have most of its plain words.
    """
    texts, plain = [each.casefold() for each in wanted if each.strip()], list_plain_words(sentence)
    shared = {
        at: sum(any(stands_in(word, said.casefold()) for said in card.texts) for word in plain)
        for at, card in cards.items()
    }
    most = max([LEAST_PLAIN_WORDS, *shared.values()])
    first = sorted({card.number for card in cards.values() if card.number is not None})[:MOST_ROWS]
    return {
        at
        for at, card in cards.items()
        if card.number is not None and card.number not in first
        and not any(text in said.casefold() for text in texts for said in card.texts)
        and not any(is_title_in(said, sentence) for said in card.texts)
        and shared[at] < most
    }  # fmt: skip


def _short(text: str, most: int = LONGEST_TEXT) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}{CUT}"


def _short_around(name: str, wanted: Sequence[str]) -> str:
    """Return a name; of one that is too long its beginning, and the longest wanted text that would be cut off.

    >>> _short_around("Ada Lovelace " * 8 + "Who has a pump?", ["Who has a pump"])
    'Ada Lovelace Ada Lovelace Ada Lovelace… Who has a pump?'
    """
    plain = " ".join(name.split())
    short = _short(plain)
    if short == plain:
        return short
    told = (" ".join(each.split()) for each in wanted)
    named = [each for each in told if each and stands_in(each.casefold(), plain.casefold())]
    found = max(named, key=len, default="")
    at = plain.casefold().find(found.casefold()) if found else 0
    if at <= LONGEST_BEGINNING or found.casefold() in short.casefold():
        return short
    return f"{_short(plain[:at], LONGEST_BEGINNING).rstrip(CUT)}{CUT} {_short(plain[at:])}"

"""What a place of the last pages shows that it showed on no earlier page: a property, a status, a switch, a counter.

A place is an element that CSS tells by its stable attributes, its classes and the label beside it. Texts elsewhere on
a page do not count: a menu that lists a value before it is chosen is no evidence that it was stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from agent.synthesis.patterns.end_texts import CLOSING, in_notations, read_own_text
from agent.synthesis.patterns.trace_ends import NUMBER, TraceEnd
from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.conditions import Condition, DomContains, DomElement, NumberChanged
from kb_schema.number_formats import NUMBER_FORMATS, format_numbers, read_only_number
from kb_schema.selectors import css as build_css_selector
from web_pages.element_tree import Element
from web_pages.form_fields import is_toggle
from web_pages.page_texts import squeeze, text_of
from web_pages.selectors.stable_attributes import find_text_flaw, list_stable_attributes, list_stable_classes
from web_pages.visibility import is_chosen

LONGEST_TEXT = 60
LONGEST_PLACE = 160
"""Maximum length of the text of the element around a place."""
LEAST_LETTERS = 3
ANCESTORS = 3
LABEL_LENGTH = 40
LEAST_SIGHTINGS = 2
"""Earlier pages of a trace that show a counter."""
_STATES = ("aria-checked", "aria-pressed", "aria-selected")


def find_place_values(ends: Sequence[TraceEnd]) -> Iterator[Condition]:
    """Yield the conditions that the whole text of a place is an input value, which it was not before."""
    first = ends[0]
    names = sorted(set.intersection(*(set(end.every_value) for end in ends)))
    numbers = {name for name in names if all(NUMBER.fullmatch(end.every_value[name]) for end in ends)}
    for element, text in _texts(first.page):
        name = next(
            (each for each in names if _is_shown(text, first.every_value[each], each in numbers)), None
        )
        for css in () if name is None else _list_places(element, first.page):
            condition: Condition | None = None
            if name in numbers:
                condition = in_notations(f"{{{name}}}", ends, css)
            else:
                whole = DomContains(type="dom_contains", value=f"{{{name}}}", selector=css, exact=True)
                condition = whole if all(end.proves(whole) for end in ends) else None
            if condition is not None:
                yield condition
                break


def _is_shown(text: str, value: str, number: bool) -> bool:
    return text == squeeze(value) or (
        number and text in {format_numbers(value, each) for each in NUMBER_FORMATS}
    )


def find_place_texts(ends: Sequence[TraceEnd]) -> Iterator[Condition]:
    """Yield the conditions that a place shows a text which is the same at all ends and was not there before."""
    everywhere = set.intersection(*({text for _, text in _texts(end.page)} for end in ends))
    for element, text in _texts(ends[0].page):
        if text not in everywhere or not _is_lasting(text) or text.casefold() in CLOSING:
            continue
        for css in _list_places(element, ends[0].page):
            condition = DomContains(type="dom_contains", value=text, selector=css, exact=True)
            if all(end.proves(condition) for end in ends):
                yield condition
                break


def find_number_changes(ends: Sequence[TraceEnd]) -> Iterator[NumberChanged]:
    """Yield the conditions that a counter changed by as much in every trace.

    Before, at least two pages of each trace showed it, with one number: what counts visits changes at every page.
    """
    for element, text in _texts(ends[0].page):
        if read_only_number(text) is None:
            continue
        for css in _list_places(element, ends[0].page):
            changes = {_count_change(end, css) for end in ends}
            by = changes.pop() if len(changes) == 1 else None
            if by:
                yield NumberChanged(type="number_changed", selector=css, by=by)
                break


def _count_change(end: TraceEnd, css: str) -> int | None:
    """Return by how much the number at a place changed at the end; None if it is not known, or was not steady."""
    now = _read_number(end.page, css)
    before = [number for page in end.earlier if (number := _read_number(page, css)) is not None]
    if now is None or len(before) < LEAST_SIGHTINGS or len(set(before)) > 1:
        return None
    return now - before[0]


def _read_number(page: TracePage, css: str) -> int | None:
    found = page.stored.resolve(build_css_selector(css)).found
    return read_only_number(squeeze(text_of(found[0]))) if len(found) == 1 else None


def find_place_states(ends: Sequence[TraceEnd]) -> Iterator[Condition]:
    """Yield the conditions that a labelled control has a state which it did not have before: on, off, chosen."""
    before = _list_states(ends[0].earlier[0]) if ends else {}
    for place, states in _list_states(ends[0].page).items() if ends else ():
        was = before.get(place)
        if was is None or was == states or not _is_unique(place, ends[0].page):
            continue
        on = "".join(sorted(states - was))
        off = "".join(f":not({each})" for each in sorted(was - states))
        condition = DomElement(type="dom_element", selector=f"{place}{on}{off}")
        if all(end.proves(condition) for end in ends):
            yield condition


def _texts(page: TracePage) -> Iterator[tuple[Element, str]]:
    """Yield the visible elements with words of their own, and these words."""
    for root in page.stored.roots:
        for element in root.elements:
            text = read_own_text(element, LONGEST_TEXT)
            if text is not None:
                yield element, text


def _is_lasting(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return letters >= LEAST_LETTERS and not any(map(str.isdigit, text)) and find_text_flaw(text) is None


def _list_places(element: Element, page: TracePage) -> Iterator[str]:
    """Yield CSS for the place of an element, the most telling first: with a name, labelled, by its classes.

    The page has one element only from which the place is reached.
    """
    around = [element, *_near(element)]
    anchors = [(each, f'[{name}="{value}"]') for each in around for name, value in islice(_names(each), 1)]
    for each in around[1:]:
        label = _label_before(each, element)
        if label:
            anchors.append((each, f'{_css_of(each)}:has-text("{label}")'))
    anchors += [(each, css) for each in around if "." in (css := _css_of(each))]
    for each, css in anchors:
        if _is_unique(css, page):
            if each is element:
                yield css
                continue
            yield from dict.fromkeys((f"{css} {_css_of(element)}", f"{css} {element.tag}"))


def _is_unique(css: str, page: TracePage) -> bool:
    return len(page.stored.resolve(build_css_selector(css)).found) == 1


def _near(element: Element) -> Iterable[Element]:
    """Return the nearest ancestors that are small enough to be about one thing."""
    found: list[Element] = []
    for each in element.ancestors():
        if len(found) == ANCESTORS or len(text_of(each)) > LONGEST_PLACE:
            break
        found.append(each)
    return found


def _names(element: Element) -> Iterator[tuple[str, str]]:
    return (
        (name, value)
        for name, value in list_stable_attributes(element)
        if (name == "id" or name.startswith("data-")) and '"' not in value
    )


def _css_of(element: Element) -> str:
    return element.tag + "".join(f".{name}" for name in list_stable_classes(element) if name.isascii())


def _label_before(around: Element, element: Element) -> str:
    """Return the first text before an element inside another; empty if there is none that may be used."""
    label = ""
    for each in around.descendants():
        if each is element:
            break
        own = read_own_text(each, LONGEST_PLACE)
        if own is not None:
            label = own
            break
    label = label or _text_before(around, element)
    usable = len(label) <= LABEL_LENGTH and '"' not in label and "\\" not in label and _is_lasting(label)
    return label if usable else ""


def _text_before(around: Element, element: Element) -> str:
    """Return the text of its own that an element has before the part with another element in it."""
    said = ""
    for child in around.children:
        if isinstance(child, str):
            said = said or squeeze(child)
        elif child is element or element in child.descendants():
            return said
    return ""


def _list_states(page: TracePage) -> dict[str, frozenset[str]]:
    """Return the states of each labelled control as CSS, by the CSS of the control; those that are unclear are left out."""
    found: dict[str, frozenset[str]] = {}
    twice = set()
    for root in page.stored.roots:
        for element in root.elements:
            states = _states_of(element)
            if states is None:
                continue
            for around in _near(element):
                label = _label_before(around, element)
                if not label:
                    continue
                place = f'{_css_of(around)}:has-text("{label}") {_css_of(element)}'
                if place in found:
                    twice.add(place)
                found[place] = states
                break
    return {place: states for place, states in found.items() if place not in twice}


def _states_of(element: Element) -> frozenset[str] | None:
    """Return the states of an element as CSS; None if it can have none."""
    classes = (element.get("class") or "").split()
    stable = set(list_stable_classes(element))
    changing = {
        f".{name}" for name in classes if name not in stable and name.isascii() and name.isidentifier()
    }
    said = {f'[{name}="{element.get(name)}"]' for name in _STATES if element.get(name) in ("true", "false")}
    toggle = is_toggle(element)
    if not stable and not toggle and not said:
        return None
    chosen = {":checked"} if toggle and is_chosen(element) else set()
    return frozenset(changing | said | chosen)

"""Places in a list over several pages with numbered links: "the 8th result" is the second one of the third page.

A person turns pages in many ways: by number, by "next" once or twice. These presses become one, on the numbered link of the
page that has the place, and the element is the one at the place that is left on that page. Both are reckoned from the
place and the length of a page. All traces must agree on that length, on every page that was turned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.traces.element_places import LEAST_PLACES, is_place, list_kinds
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.utterances.value_forms import FORMS, NUMBER
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import xpath_literal
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.visibility import visible

PLACE_TEMPLATE = "place_template"
"""Metadata key of a step: the XPath of its element, with the place as the parameter `{{row}}`."""
PLACE = "told_place"
"""Metadata key of a step: the place that the description has."""
LEAST_LENGTH = 2
"""Elements that a page of a list has, at least."""
_CLOSE = 3
"""Ancestors of a numbered link, at most, up to the part that has the links of the other pages."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """How one trace came to the element at the place."""

    begin: int
    """Index of the first press that turned a page; that of the element's step if no page was turned."""
    at: int
    """Index of the step on the element."""
    place: int
    page: int
    """The page with the element, from 1."""
    listed: tuple[TracePage, ...]
    """The pages that were shown, in order; the last has the element."""
    element: Element
    links: tuple[Element, ...] = ()
    """The numbered links on the first page, if it was turned."""


def join_page_turns(
    traces: Sequence[ExecutionTrace],
    shown: Sequence[ExecutionTrace],
    values: Sequence[Mapping[str, str | list[str]]],
    pages: TracePages,
    mention: str,
) -> list[ExecutionTrace]:
    """Return the traces; presses that turn the pages of a list up to a place are one step. Unchanged if a trace differs.

    `shown` has the same steps with all that was recorded of their targets. `mention` is the metadata key of what a step is about.
    """
    for key in sorted({name for each in values for name in each}):
        numbers = [number for each in values if (number := _read_place(each.get(key, ""))) is not None]
        if len(numbers) == len(traces) and len(set(numbers)) >= LEAST_PLACES:
            made = _join(shown, numbers, pages)
            if made is not None:
                marked = f"{key}_{NUMBER}"
                return [_mark(trace, each, marked, mention) for trace, each in zip(traces, made, strict=True)]
    return list(traces)


def _read_place(value: str | list[str]) -> int | None:
    """Return the place that an ordinal says ("3rd"); None for other texts."""
    said = FORMS[NUMBER](value) if isinstance(value, str) else None
    return int(said) if said is not None and is_place(said) else None


def _mark(
    trace: ExecutionTrace, made: tuple[_Chosen, TraceStep, TraceStep], key: str, mention: str
) -> ExecutionTrace:
    chosen, turn, entry = made
    told = [(turn, f"page of {key}"), (entry, key)]
    steps = [step.model_copy(update={"metadata": {**step.metadata, mention: said}}) for step, said in told]
    return trace.model_copy(
        update={"steps": (*trace.steps[: chosen.begin], *steps, *trace.steps[chosen.at + 1 :])}
    )


def _join(
    traces: Sequence[ExecutionTrace], places: Sequence[int], pages: TracePages
) -> list[tuple[_Chosen, TraceStep, TraceStep]] | None:
    """Return for each trace how it chose, with the steps on the page's link and on the element; None if they do not agree."""
    turned = [_find_turned(trace, place, pages) for trace, place in zip(traces, places, strict=True)]
    known = [each for each in turned if each is not None]
    if not known:
        return None
    for kind in list_kinds([each.element for each in known]):
        lengths = {_find_length(each, kind) for each in known}
        length = lengths.pop() if len(lengths) == 1 else None
        if length is None:
            continue
        chosen = [
            each if each is not None else _find_unturned(trace, place, kind, length, pages)
            for each, trace, place in zip(turned, traces, places, strict=True)
        ]
        every = [each for each in chosen if each is not None]
        differ = len({each.page for each in every}) >= LEAST_PLACES
        if (
            len(every) < len(traces)
            or not differ
            or len({each.place % length for each in every}) < LEAST_PLACES
        ):
            continue
        entry = f"({kind})[({{{{row}}}} - 1) mod {length} + 1]"
        link = _find_link(every, length)
        if link is not None:
            mark = _find_mark(every, link)
            entry += "" if mark is None else f"[{link}{mark}]"
            return [_write(trace, each, link, entry) for trace, each in zip(traces, every, strict=True)]
    return None


# -- what one trace did


def _find_turned(trace: ExecutionTrace, place: int, pages: TracePages) -> _Chosen | None:
    """Return how a trace that turned pages once came to an element; None if it did not, or if it is not clear."""
    turns = [at for at, step in enumerate(trace.steps) if _find_links(step, pages)]
    if not turns or turns != list(range(turns[0], turns[-1] + 1)) or turns[-1] + 1 == len(trace.steps):
        return None
    number = 1
    for at in turns:
        found = pages.find_target(trace.steps[at])
        said = "" if found is None else squeeze(text_of(found[1]))
        number = int(said) if is_place(said) else number + 1
    entry = trace.steps[turns[-1] + 1]
    found = pages.find_target(entry)
    before = [pages.get(trace.steps[at].html_before, trace.steps[at].source_url) for at in turns]
    if found is None or entry.action_type != "click" or None in before:
        return None
    listed = tuple(each for each in before if each is not None)
    return _Chosen(
        turns[0],
        turns[-1] + 1,
        place,
        number,
        (*listed, found[0]),
        found[1],
        tuple(_find_links(trace.steps[turns[0]], pages)),
    )


def _find_unturned(
    trace: ExecutionTrace, place: int, kind: str, length: int, pages: TracePages
) -> _Chosen | None:
    """Return the only press on the element at a place of the first page."""
    found: list[_Chosen] = []
    for at, step in enumerate(trace.steps):
        seen = pages.find_target(step) if step.action_type == "click" else None
        if seen is not None and place <= length and _list_kind(seen[0], kind)[place - 1 : place] == [seen[1]]:
            found.append(_Chosen(at, at, place, 1, (seen[0],), seen[1]))
    return found[0] if len(found) == 1 else None


def _find_length(chosen: _Chosen, kind: str) -> int | None:
    """Return the length of a page by which a trace that turned pages chose the element at its place."""
    here = _list_kind(chosen.listed[-1], kind)
    if chosen.element not in here or chosen.page < LEAST_PLACES:
        return None
    length, left = divmod(chosen.place - here.index(chosen.element) - 1, chosen.page - 1)
    full = {len(_list_kind(each, kind)) for each in chosen.listed[:-1]}
    return (
        length if left == 0 and length >= LEAST_LENGTH and full == {length} and len(here) <= length else None
    )


# -- numbered links


def _find_links(step: TraceStep, pages: TracePages) -> list[Element]:
    """Return the numbered links beside what a press turned a page with, itself included; none if it did not."""
    found = pages.find_target(step) if step.action_type == "click" else None
    return [] if found is None else _list_links(found[1])


def _list_links(element: Element) -> list[Element]:
    """Return the links to pages 1, 2 and so on in the smallest part around an element that has two of them.

    The element stands among them: each is in a part of its own, of one tag.
    """
    around = element
    for number, up in enumerate(element.ancestors()):
        if number == _CLOSE:
            break
        beside, around = around, up
        links = [
            each
            for each in around.descendants()
            if each.tag == element.tag and visible(each) and is_place(squeeze(text_of(each)))
        ]
        if len(links) > 1:
            numbers = [int(squeeze(text_of(each))) for each in links]
            apart = [
                part
                for part in around.elements()
                if part.tag == beside.tag and {part, *part.descendants()} & {*links}
            ]
            return links if numbers == sorted(set(numbers)) and len(apart) == len(links) else []
    return []


def _find_link(every: Sequence[_Chosen], length: int) -> str | None:
    """Return the XPath of the numbered link by the place; None if some page has no such link, or several."""
    links = next(each.links for each in every if each.links)
    for kind in list_kinds(links):
        template = f"({kind})[normalize-space() = floor(({{{{row}}}} - 1) div {length}) + 1]"
        if all(_has_link(each, template) for each in every):
            return template
    return None


def _has_link(chosen: _Chosen, template: str) -> bool:
    found = chosen.listed[0].stored.resolve_template(template, {"row": str(chosen.place)})
    return len(found) == 1 and visible(found[0])


def _find_mark(every: Sequence[_Chosen], link: str) -> str | None:
    """Return the condition, in XPath, by which the link of the page that is shown differs from the others in all traces.

    With it, nothing is pressed while another page than that of the place is marked as the one that is shown.
    """
    common: set[str] | None = None
    for chosen in every:
        page = chosen.listed[-1]
        current = page.stored.resolve_template(link, {"row": str(chosen.place)})
        if len(current) != 1:
            return None
        others = [each for each in _list_links(current[0]) if each is not current[0]]
        taken = {mark for each in others for mark in _list_marks(each)}
        own = set(_list_marks(current[0])) - taken
        common = own if common is None else common & own
    return min(common, key=lambda each: (len(each), each)) if common else None


def _list_marks(link: Element) -> Iterator[str]:
    """Yield the classes of a link and of the part that it is alone in, and what ARIA says of it, as XPath conditions."""
    for path, element in (("@", link), ("../@", link.parent)):
        if element is None:
            continue
        if element.get("aria-current") not in (None, "false"):
            yield f"[{path}aria-current != 'false']"
        for name in (element.get("class") or "").split():
            yield f"[contains(concat(' ', normalize-space({path}class), ' '), {xpath_literal(f' {name} ')})]"


def _list_kind(page: TracePage, kind: str) -> list[Element]:
    return list(page.stored.resolve_template(kind, {}))


# -- the steps


def _write(
    trace: ExecutionTrace, chosen: _Chosen, link: str, entry: str
) -> tuple[_Chosen, TraceStep, TraceStep]:
    """Return the steps on the link of the page and on the element. On the first page, the link is pressed, too."""
    steps = trace.steps
    last = steps[chosen.at]
    known = steps[chosen.begin : chosen.at] or [last.model_copy(update={"html_after": last.html_before})]
    turn = known[0].model_copy(update={"action_type": "click", "html_after": last.html_before})
    return chosen, _place(turn, link, chosen), _place(last, entry, chosen)


def _place(step: TraceStep, template: str, chosen: _Chosen) -> TraceStep:
    value = template.replace("{{row}}", str(chosen.place))
    target = Selector(strategies=(ValueStrategy(type="xpath", value=value),))
    metadata = {**step.metadata, PLACE_TEMPLATE: template, PLACE: str(chosen.place)}
    return step.model_copy(update={"target": target, "metadata": metadata})

"""Stage 3b: converts session ids (`__id__`) to stable selectors on the stored pages of a trace (MA 6).

The selectors are built by the same code as on live pages. Every strategy matches exactly one element on the
step's own page. To avoid parsing every page, an element that occurred before on a page with the same address
keeps those strategies that provably match one element of its own page; a text search decides this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape

from agent.synthesis.traces.trace_pages import TracePage, TracePages, build_path_template
from kb_schema.execution_traces import BY_KNOWLEDGE, LOCATED_BY, ExecutionTrace, TraceStep
from kb_schema.selectors import RECORDED, Selector, SessionStrategy, Strategy, ValueStrategy
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of

STRATEGY_PRIORITY = (
    "data-qa",
    "data-testid",
    "id",
    "aria",
    "role_name",
    "label",
    "placeholder",
    "semantic",
    "xpath-text",
    "xpath",
    "xpath-class",
    "parameterized_xpath",
    "css",
    "relational_css",
    "parameterized_css",
    "parameterized",
    "shadow_pierce",
    "fallback_css",
    "dom_index",
    "agent",
    "framework_id",
)
"""Strategy types, most stable first (MA 6)."""
ELEMENT = "element_tag"
"""Metadata key of a step: tag and attributes of its element, without the session id (MA rule b)."""
LOST = "lost_session_id"
"""Metadata key of a step: the session id that its page does not have, or has more than once."""

_RANK = {name: rank for rank, name in enumerate(STRATEGY_PRIORITY)}
_ATTRIBUTE = re.compile(r"""\s+([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")
_TAG = re.compile(
    r"""<([a-zA-Z][\w-]*)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*/?>"""
)
_PLAIN_VALUE = re.compile(r"^[\w .:/#-]+$", re.ASCII)
_PLAIN_CSS = re.compile(r"""^[a-z]*\[([\w-]+)="([^"\\]*)"\]$""")
_CHANGING = frozenset({"__id__", "value", "checked", "selected", "style"})
SMALL = 20_000
"""Pages with fewer characters are always parsed: this takes a few milliseconds."""
MOST_SEEN = 500
"""Maximum number of occurrences of a value that are checked on a page."""
_ENDS = frozenset({"", '"', "'", " ", ">", "/", "\n", "\t", "\r", "\f"})
_LOOKED_BACK = 4_000
"""Number of characters before a session id in which its tag must begin."""


def order_strategies(strategies: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Return distinct strategies, most stable first; session ids only if there is nothing else.

    Those of an imported recording come first, in their own order: its first target is the first choice.
    """
    once = {(each.type, each.model_dump_json(exclude={"confidence", "meta"})): each for each in strategies}
    known = sorted(once.values(), key=_order)
    lasting = tuple(each for each in known if each.type != "framework_id")
    return lasting or tuple(known)


def _order(strategy: Strategy) -> tuple[bool, bool, int]:
    place = strategy.meta.get(RECORDED)
    if isinstance(place, int):
        return strategy.fallback, False, place
    return strategy.fallback, True, _RANK.get(strategy.type, len(_RANK))


@dataclass(frozen=True, slots=True)
class _OpeningTag:
    """The opening tag of an element and the text that follows it."""

    tag: str
    attributes: dict[str, str]
    text: str

    @property
    def signature(self) -> str:
        told = sorted((name, value) for name, value in self.attributes.items() if name not in _CHANGING)
        return f"<{self.tag} {told}>{self.text}"


class TargetStrategyConverter:
    """Finds stable selectors for the elements of a trace."""

    def __init__(self, pages: TracePages | None = None) -> None:
        self._pages = pages or TracePages()
        self._known: dict[tuple[str, str], tuple[Selector | None, str]] = {}
        """Maps (address, element) to the selector found on a page of that address, and that page."""

    def convert_traces(self, traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
        """Return the traces with stable selectors."""
        return [
            trace.model_copy(update={"steps": tuple(map(self.convert_step, trace.steps))}) for trace in traces
        ]

    def convert_step(self, step: TraceStep) -> TraceStep:
        """Return the step with its converted target; unchanged if the target has neither a session id nor comes from
        the knowledge base.
        """
        if not isinstance(step.target, Selector):
            return step
        if step.metadata.get(LOCATED_BY) == BY_KNOWLEDGE:
            return self._as_recorded(step, step.target)
        session = _session_id(step.target)
        if session is None:
            return step
        html = step.html_before or step.html_after
        tag = None if html is None else _opening_tag(html, session)
        told = {} if tag is None else {ELEMENT: tag.signature}
        target = (self._met_before(step, tag) if tag is not None else None) or self.convert(step)
        told |= {LOST: session} if target.strategies[0].type == "agent" else {}
        return step.model_copy(update={"target": target, "metadata": {**step.metadata, **told}})

    def convert(self, trace_action: TraceStep) -> Selector:
        """Return the unique strategies for a step's element on its own page, most stable first.

        If the page or the element is missing, return a description with which an agent can find it.
        """
        target = trace_action.target
        if not isinstance(target, Selector):
            return _for_an_agent(trace_action)
        session = _session_id(target)
        if session is None:
            return target.model_copy(update={"strategies": order_strategies(target.strategies)})
        page = self._pages.get(trace_action.html_before or trace_action.html_after, trace_action.source_url)
        element = None if page is None else page.framework_element(session)
        found = None if page is None or element is None else _selected(page, element)
        others = tuple(each for each in target.strategies if each.type != "framework_id")
        if found is None:
            return Selector(strategies=order_strategies(others)) if others else _for_an_agent(trace_action)
        return found

    def _as_recorded(self, step: TraceStep, target: Selector) -> TraceStep:
        """Return a step of a run with the selectors that a recording has of the element: those of its page.

        A selector of the knowledge base may mean one element by many values, or many elements by one name.
        """
        page = None if target.frame is not None else self._pages.get(step.html_before, step.source_url)
        element = None if page is None else page.find(target)
        found = None if page is None or element is None else _selected(page, element)
        return step if found is None else step.model_copy(update={"target": found})

    def _met_before(self, step: TraceStep, tag: _OpeningTag) -> Selector | None:
        """Return the earlier strategies of such an element that are certain on the step's own page."""
        html = step.html_before or step.html_after or ""
        key = (build_path_template(step.source_url), tag.signature)
        if key not in self._known:
            page = self._pages.standing_for(html, step.source_url)
            element = None if page is None else _find_only_element(page, tag)
            found = None if page is None or element is None else _selected(page, element)
            self._known[key] = found, "" if page is None else page.stored.snapshot.html
        known, on = self._known[key]
        if known is None or on == html:
            return known
        if len(html) < SMALL or known.frame is not None:
            return None
        certain = tuple(each for each in known.strategies if _fits_once(each, tag, html))
        return Selector(strategies=certain) if certain else None


def _session_id(selector: Selector) -> str | None:
    return next(
        (
            each.value
            for each in selector.strategies
            if isinstance(each, SessionStrategy) and each.type == "framework_id"
        ),
        None,
    )


def _selected(page: TracePage, element: Element) -> Selector | None:
    choice = page.selectors.of(element).selector
    return (
        None
        if choice is None
        else choice.model_copy(update={"strategies": order_strategies(choice.strategies)})
    )


def _for_an_agent(step: TraceStep) -> Selector:
    said = step.metadata.get("description") or step.reasoning or f"the element to {step.action_type}"
    return Selector(strategies=(SessionStrategy(type="agent", value=str(said)[:4_000]),))


def _opening_tag(html: str, session: str) -> _OpeningTag | None:
    """Return the tag with this session id, found by text search; None if there is not exactly one."""
    written = f'__id__="{session}"'
    at = html.find(written)
    if at < 0 or html.find(written, at + 1) >= 0:
        return None
    begin = html.rfind("<", max(0, at - _LOOKED_BACK), at)
    match = _TAG.match(html, begin) if begin >= 0 else None
    if match is None or match.end() < at:
        return None
    attributes = {
        name.lower(): unescape(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(match[2])
    }
    end = html.find("<", match.end())
    text = unescape(html[match.end() : end if end >= 0 else match.end()])
    return _OpeningTag(match[1].lower(), attributes, squeeze(text)[:80])


def _find_only_element(page: TracePage, tag: _OpeningTag) -> Element | None:
    """Return the only element of a page with this tag, these attributes and this text; else None."""
    found = [
        element
        for element in page.stored.roots[0].elements
        if element.tag == tag.tag and _is_similar_element(element, tag)
    ]
    return found[0] if len(found) == 1 else None


def _is_similar_element(element: Element, tag: _OpeningTag) -> bool:
    mine = {name: value for name, value in element.attributes.items() if name not in _CHANGING}
    if mine != {name: value for name, value in tag.attributes.items() if name not in _CHANGING}:
        return False
    first = next((child for child in element.children if isinstance(child, str)), "")
    return not tag.text or squeeze(first)[:80] == tag.text or text_of(element).startswith(tag.text)


def _fits_once(strategy: Strategy, tag: _OpeningTag, html: str) -> bool:
    """Whether the text of a page proves that a strategy matches only this element.

    Counts every place where the attribute could have this value, also in comments and scripts; more than
    one place gives False.
    """
    told = _attribute_of(strategy)
    if told is None or tag.attributes.get(told[0]) != told[1] or not _PLAIN_VALUE.match(told[1]):
        return False
    return _times_written(html, *told) == 1


def _times_written(html: str, name: str, value: str) -> int:
    """Count the occurrences of an attribute with this value, quoted or not; stops at `MOST_SEEN`."""
    times = seen = 0
    at = html.find(value)
    while at >= 0 and seen < MOST_SEEN:
        seen += 1
        before = html[max(0, at - len(name) - 8) : at].rstrip("\"'")
        before = before.rstrip() if before.endswith(("=", " ", "\n", "\t")) else before
        ends = html[at + len(value) : at + len(value) + 1] in _ENDS
        if ends and before.endswith("=") and before[:-1].rstrip().lower().endswith(name):
            times += 1
        at = html.find(value, at + 1)
    return times if at < 0 else MOST_SEEN


def _attribute_of(strategy: Strategy) -> tuple[str, str] | None:
    """Return the single attribute that a strategy checks; None if it checks anything else."""
    if not isinstance(strategy, ValueStrategy):
        return None
    if strategy.type in ("data-qa", "data-testid", "id"):
        return strategy.type, strategy.value
    if strategy.type == "aria":
        return "aria-label", strategy.value
    plain = _PLAIN_CSS.match(strategy.value) if strategy.type == "css" else None
    return None if plain is None else (plain[1], plain[2])

"""Stage 3b: ids of a session (`__id__`) become selectors that last (MA 6), by the code that selects on
live pages, on the page the trace saw.

Every strategy leads to the element and to nothing else on the step's own page. Pages are large and
steps many: an element that was met before on a page of that address keeps its strategies as far as its
own page provably has no second element that they fit, which is told without parsing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape

from agent.synthesis.pages import Pages, SeenPage, place_of
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, SessionStrategy, Strategy, ValueStrategy
from kb_schema.traces import ExecutionTrace, TraceStep

STRATEGY_PRIORITY = (
    "data-qa", "data-testid", "id", "aria", "role_name", "label", "placeholder", "semantic", "xpath-text",
    "xpath", "xpath-class", "parameterized_xpath", "css", "relational_css", "parameterized_css",
    "parameterized", "shadow_pierce", "fallback_css", "dom_index", "agent", "framework_id",
)  # fmt: skip
"""Most stable first (MA 6), the strategies of other documents in their places."""
ELEMENT = "element"
"""Key in a step's metadata: tag and attributes of its element, without the session's id (MA rule b)."""

_RANK = {name: rank for rank, name in enumerate(STRATEGY_PRIORITY)}
_ATTRIBUTE = re.compile(r"""\s+([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")
_TAG = re.compile(
    r"""<([a-zA-Z][\w-]*)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)*)\s*/?>"""
)
_PLAIN_VALUE = re.compile(r"^[\w .:/#-]+$", re.ASCII)
_PLAIN_CSS = re.compile(r"""^[a-z]*\[([\w-]+)="([^"\\]*)"\]$""")
_CHANGING = frozenset({"__id__", "value", "checked", "selected", "style"})
SMALL = 20_000
"""Characters of a page that is parsed for every step: it takes a few milliseconds."""
MOST_SEEN = 500
"""Times that a value may stand on a page."""
_ENDS = frozenset({"", '"', "'", " ", ">", "/", "\n", "\t", "\r", "\f"})
_LOOKED_BACK = 4_000
"""Characters before a session's id in which its tag begins."""


def ordered(strategies: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Strategies by stability, each once; ids of a session only where there is nothing else."""
    once = {(each.type, each.model_dump_json(exclude={"confidence", "meta"})): each for each in strategies}
    known = sorted(once.values(), key=lambda each: (each.fallback, _RANK.get(each.type, len(_RANK))))
    lasting = tuple(each for each in known if each.type != "framework_id")
    return lasting or tuple(known)


@dataclass(frozen=True, slots=True)
class _Tag:
    """The opening tag of an element, and the text right behind it."""

    tag: str
    attributes: dict[str, str]
    text: str

    @property
    def signature(self) -> str:
        told = sorted((name, value) for name, value in self.attributes.items() if name not in _CHANGING)
        return f"<{self.tag} {told}>{self.text}"


class TargetStrategyConverter:
    """Finds selectors that last for the elements of a trace."""

    def __init__(self, pages: Pages | None = None) -> None:
        self._pages = pages or Pages()
        self._known: dict[tuple[str, str], tuple[Selector | None, str]] = {}
        """(address, element) -> what was found for it on a page of that address, and that page."""

    def convert_traces(self, traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
        """The traces with selectors that last."""
        return [
            trace.model_copy(update={"steps": tuple(map(self.convert_step, trace.steps))}) for trace in traces
        ]

    def convert_step(self, step: TraceStep) -> TraceStep:
        """The step with its target as `convert` has it; one without a session's id as it is."""
        if not isinstance(step.target, Selector):
            return step
        session = _session_id(step.target)
        if session is None:
            return step
        html = step.html_before or step.html_after
        tag = None if html is None else _opening_tag(html, session)
        told = {} if tag is None else {ELEMENT: tag.signature}
        target = (self._met_before(step, tag) if tag is not None else None) or self.convert(step)
        return step.model_copy(update={"target": target, "metadata": {**step.metadata, **told}})

    def convert(self, trace_action: TraceStep) -> Selector:
        """The selector of a step's element on its own page: unique strategies, most stable first.

        Where the page or the element is missing, words for an agent to find it by.
        """
        target = trace_action.target
        if not isinstance(target, Selector):
            return _for_an_agent(trace_action)
        session = _session_id(target)
        if session is None:
            return target.model_copy(update={"strategies": ordered(target.strategies)})
        page = self._pages.get(trace_action.html_before or trace_action.html_after, trace_action.source_url)
        element = None if page is None else page.framework_element(session)
        found = None if page is None or element is None else _selected(page, element)
        others = tuple(each for each in target.strategies if each.type != "framework_id")
        if found is None:
            return Selector(strategies=ordered(others)) if others else _for_an_agent(trace_action)
        return found

    def _met_before(self, step: TraceStep, tag: _Tag) -> Selector | None:
        """What is known of such an element, as far as it is certain on the step's own page."""
        html = step.html_before or step.html_after or ""
        key = (place_of(step.source_url), tag.signature)
        if key not in self._known:
            page = self._pages.standing_for(html, step.source_url)
            element = None if page is None else _only(page, tag)
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
    return next((each.value for each in selector.strategies if isinstance(each, SessionStrategy)
                 and each.type == "framework_id"), None)  # fmt: skip


def _selected(page: SeenPage, element: Element) -> Selector | None:
    choice = page.selectors.of(element).selector
    return None if choice is None else choice.model_copy(update={"strategies": ordered(choice.strategies)})


def _for_an_agent(step: TraceStep) -> Selector:
    said = step.metadata.get("description") or step.reasoning or f"the element to {step.action_type}"
    return Selector(strategies=(SessionStrategy(type="agent", value=str(said)[:4_000]),))


def _opening_tag(html: str, session: str) -> _Tag | None:
    """The tag with this session id, read off the text; None where there is none or more than one."""
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
    return _Tag(match[1].lower(), attributes, squeeze(text)[:80])


def _only(page: SeenPage, tag: _Tag) -> Element | None:
    """The one element of a page with this tag, these attributes and this text."""
    found = [
        element
        for element in page.stored.roots[0].elements
        if element.tag == tag.tag and _alike(element, tag)
    ]
    return found[0] if len(found) == 1 else None


def _alike(element: Element, tag: _Tag) -> bool:
    mine = {name: value for name, value in element.attributes.items() if name not in _CHANGING}
    if mine != {name: value for name, value in tag.attributes.items() if name not in _CHANGING}:
        return False
    first = next((child for child in element.children if isinstance(child, str)), "")
    return not tag.text or squeeze(first)[:80] == tag.text or text_of(element).startswith(tag.text)


def _fits_once(strategy: Strategy, tag: _Tag, html: str) -> bool:
    """Whether the text of a page proves that a strategy finds this element and no other.

    Counts every place where the attribute could be written with this value; what is counted too much
    (in comments, in scripts) makes it say no.
    """
    told = _attribute_of(strategy)
    if told is None or tag.attributes.get(told[0]) != told[1] or not _PLAIN_VALUE.match(told[1]):
        return False
    return _times_written(html, *told) == 1


def _times_written(html: str, name: str, value: str) -> int:
    """How often an attribute stands there with this value, quoted or not; more than it is worth counting
    where the value stands everywhere.
    """
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
    """The one attribute that a strategy asks for; None where it asks for something else."""
    if not isinstance(strategy, ValueStrategy):
        return None
    if strategy.type in ("data-qa", "data-testid", "id"):
        return strategy.type, strategy.value
    if strategy.type == "aria":
        return "aria-label", strategy.value
    plain = _PLAIN_CSS.match(strategy.value) if strategy.type == "css" else None
    return None if plain is None else (plain[1], plain[2])

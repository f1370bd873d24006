"""When two steps of different runs are the same one (MA 4, rules a to d), for all steps at once.

A step has tokens: what it does and one way to tell its element. Steps that share a token are the same
step, and so are all that are connected in this way; each such class is a symbol. Rule (d), the place
among matched neighbours, is the aligner's: only it knows them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from agent.synthesis.converting import ELEMENT
from agent.synthesis.items import item_token
from agent.synthesis.mentions import MENTION
from agent.synthesis.pages import Pages, place_of
from kb_schema.selectors import (
    NameStrategy,
    Selector,
    SessionStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)
from kb_schema.templates import as_text
from kb_schema.traces import TraceStep

_LITERAL = re.compile(r"""'[^']*'|"[^"]*"|\d+""")
_DIGITS = re.compile(r"\d+")
_GIVEN = ("data-qa", "data-testid", "id")
_KIND = re.compile(
    r"[a-z][\w-]*(?:\.[\w-]+)+"
    r"|//[a-z][\w-]*\[contains\(concat\(' ', normalize-space\(@class\), ' '\), '[^']*'\)\]"
)
"""A tag and its class, as CSS and as XPath."""
_SAMPLES = 2
"""Steps of a symbol whose page is asked whether it stands in a list."""


def tokens_of(step: TraceStep) -> frozenset[str]:
    """What tells a step, by rules a, b and c; empty where nothing lasts."""
    action = step.action_type
    if not isinstance(step.target, Selector):
        return frozenset({_without_target(step)})
    place = place_of(step.source_url)
    where = f"{action}|{step.target.frame or ''}"
    if MENTION in step.metadata:  # what the task's sentence names is told by that, wherever it is
        return frozenset({f"{where}|{place}|mentioned as {step.metadata[MENTION]}"})
    told = {f"{where}|{place if each.fallback else ''}|{_said(each)}" for each in _telling(step.target)}
    element = step.metadata.get(ELEMENT)
    if element is not None:
        told.add(f"{where}|{place}|{element}")
    if not told:
        told |= {f"{action}|said|{text}" for text in _descriptions(step)}
    return frozenset(told)


def _telling(target: Selector) -> list[Strategy]:
    """The strategies that tell which element it is. Beside an id that an author gave, its class alone tells
    only of what kind it is: the one `button.btn` of one page is no more than that on another.
    """
    lasting = [each for each in target.strategies if not isinstance(each, SessionStrategy)]
    given = any(each.type in _GIVEN and not each.fallback for each in lasting)
    return [each for each in lasting if not (given and _only_a_kind(each))]


def _only_a_kind(strategy: Strategy) -> bool:
    return isinstance(strategy, ValueStrategy) and _KIND.fullmatch(strategy.value) is not None


def equivalent(one: TraceStep, other: TraceStep) -> bool:
    """Whether two steps are the same one. What nothing tells is told by its place in its group (rule d);
    that their neighbours agree is for the caller to know.
    """
    if one.action_type != other.action_type:
        return False
    mine, its = tokens_of(one), tokens_of(other)
    if mine or its:
        return bool(mine & its)
    return one.action_group_index == other.action_group_index


def same_args(one: TraceStep, other: TraceStep) -> bool:
    """Whether two steps say the same; how long they wait does not count."""
    mine, its = one.args or {}, other.args or {}
    if one.action_type == "wait" and one.target is other.target:
        mine, its = _but_duration(mine), _but_duration(its)
    return mine == its


def symbols_of(rows: Sequence[Sequence[TraceStep]], pages: Pages) -> list[list[int]]:
    """The symbol of each step of each row; numbers without meaning, the same for the same set of rows in
    any order.
    """
    classes = _Classes()
    heads: list[list[str]] = []
    for number, row in enumerate(rows):
        told = [sorted(tokens_of(step)) or [f"?|{number}|{at}"] for at, step in enumerate(row)]
        for tokens in told:
            classes.join(tokens)
        heads.append([tokens[0] for tokens in told])
    _join_items(rows, heads, classes, pages)
    names = sorted({classes.name(head) for row in heads for head in row})
    number_of = {name: number for number, name in enumerate(names)}
    return [[number_of[classes.name(head)] for head in row] for row in heads]


class _Classes:
    """Disjoint sets of tokens; a set is called by its first token in order of the alphabet."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def name(self, token: str) -> str:
        root = token
        while (above := self._parent.setdefault(root, root)) != root:
            root = above
        while self._parent[token] != root:
            self._parent[token], token = root, self._parent[token]
        return root

    def join(self, tokens: Iterable[str]) -> None:
        names = sorted({self.name(token) for token in tokens})
        for name in names[1:]:
            self._parent[name] = names[0]


def _join_items(
    rows: Sequence[Sequence[TraceStep]], heads: list[list[str]], classes: _Classes, pages: Pages
) -> None:
    """The same thing in different rows of one list is one symbol: only so do loops over rows show.

    Only where selectors are alike but for what they quote is the page looked at.
    """
    samples: dict[str, list[TraceStep]] = defaultdict(list)
    alike: dict[str, set[str]] = defaultdict(set)
    for row, names in zip(rows, heads, strict=True):
        for step, head in zip(row, names, strict=True):
            if not isinstance(step.target, Selector) or MENTION in step.metadata:
                continue
            name = classes.name(head)
            if len(samples[name]) < _SAMPLES and (step.html_before or step.html_after):
                samples[name].append(step)
            alike_here = {f"{step.action_type}|{_skeleton(each)}" for each in step.target.strategies}
            for skeleton in alike_here:
                alike[skeleton].add(name)
    candidates = sorted({name for names in alike.values() if len(names) > 1 for name in names})
    for name in candidates:
        told = (item_token(step, pages) for step in samples[name])
        token = next((each for each in told if each is not None), None)
        if token is not None:
            classes.join([name, token])


def _without_target(step: TraceStep) -> str:
    args = step.args or {}
    more = ""
    if step.action_type == "navigate":
        more = place_of(str(args.get("url") or ""))
    elif step.action_type == "press":
        more = as_text(args.get("value", ""))
    elif step.target is True:
        more = "person"
    return f"{step.action_type}||{more}"


def _said(strategy: Strategy) -> str:
    if isinstance(strategy, ValueStrategy):
        language = "xpath" if strategy.type.startswith("xpath") else strategy.type
        return f"{language}={strategy.value}"
    if isinstance(strategy, NameStrategy):
        return f"{strategy.type}={strategy.role or ''}:{strategy.name}"
    if isinstance(strategy, TemplateStrategy):
        return f"{strategy.type}={strategy.template}"
    return strategy.model_dump_json(exclude={"confidence", "meta", "fallback"})


def _skeleton(strategy: Strategy) -> str:
    if isinstance(strategy, ValueStrategy) and strategy.type in ("data-qa", "data-testid", "id", "aria"):
        return f"{strategy.type}={_DIGITS.sub('', strategy.value)}"
    if isinstance(strategy, NameStrategy):
        return f"{strategy.type}={strategy.role or ''}"
    return _LITERAL.sub("", _said(strategy))


def _descriptions(step: TraceStep) -> list[str]:
    said = [step.metadata.get("description"), step.reasoning]
    if isinstance(step.target, Selector):
        said += [each.value for each in step.target.strategies if each.type == "agent"]
    return [" ".join(str(each).split()).lower() for each in said if each][:1]


def _but_duration(args: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in args.items() if key != "duration"}

"""Decides which steps of different runs are the same step (MA 4, rules a to d).

Each step has tokens: its action combined with one strategy for its element. Steps that share a token, directly or
through other steps, are the same step and get the same symbol. The aligner applies rule (d), the place
between matched neighbours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from agent.healing.fingerprint_comparison import describe_verb_conflict
from agent.synthesis.traces.element_fingerprints import FINGERPRINT
from agent.synthesis.traces.field_words import FIELD_WORDS
from agent.synthesis.traces.list_rows import build_item_token
from agent.synthesis.traces.target_conversion import ELEMENT
from agent.synthesis.traces.trace_pages import TracePages, build_path_template
from agent.synthesis.traces.value_openers import OPENER
from agent.synthesis.utterances.utterance_mentions import MENTION
from kb_schema.action_calls import DropPlace
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import (
    NameStrategy,
    Selector,
    SessionStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)
from kb_schema.templates import as_text
from kb_schema.text_similarity import meanings, words
from web_pages.page_texts import squeeze, text_of
from web_pages.visibility import visible

SAME_PLACE = 0.25
"""People drop at slightly different places: up to this fraction of the element's size they mean the same."""
SAME_SPOT = 0.05
"""On a drawing, something else may be a little beside: up to this fraction of its size presses mean the same."""
_LITERAL = re.compile(r"""'[^']*'|"[^"]*"|\d+""")
_DIGITS = re.compile(r"\d+")
_GIVEN = ("data-qa", "data-testid", "id")
_KIND = re.compile(
    r"[a-z][\w-]*(?:\.[\w-]+)+"
    r"|//[a-z][\w-]*\[contains\(concat\(' ', normalize-space\(@class\), ' '\), '[^']*'\)\]"
)
"""Matches a tag with classes, as CSS or XPath."""
BUTTONS = frozenset({"button", "menuitem"})
_CHOSEN = frozenset({"link", "option", "row", "gridcell", "cell", "treeitem", "listitem"})
"""Roles of elements whose name is data, as a rule."""
_SAMPLES = 2
"""Maximum number of steps of a symbol whose pages are checked for lists."""


def compute_step_tokens(step: TraceStep) -> frozenset[str]:
    """Return the tokens of a step by rules a, b and c; empty if nothing about it is stable."""
    action = step.action_type
    if not isinstance(step.target, Selector):
        return frozenset({_without_target(step)})
    place = build_path_template(step.source_url)
    where = f"{action}|{step.target.frame or ''}"
    if MENTION in step.metadata:  # an element that the task description names is identified by its mention
        return frozenset({f"{where}|{place}|mentioned as {step.metadata[MENTION]}"})
    if FIELD_WORDS in step.metadata:  # its place may be that of another field in the next trace
        return frozenset({f"{where}|{place}|beside {step.metadata[FIELD_WORDS].casefold().rstrip(' :*')}"})
    told = {
        f"{where}|{place if each.fallback else ''}|{_render_strategy(each)}"
        for each in _select_telling_strategies(step.target)
    }
    element = step.metadata.get(ELEMENT)
    if element is not None:
        told.add(f"{where}|{place}|{element}")
    if not told:
        told |= {f"{action}|said|{text}" for text in _descriptions(step)}
    return frozenset(told)


def _select_telling_strategies(target: Selector) -> list[Strategy]:
    """Return the strategies that identify the element.

    If there is a stable id, a class alone is ignored: on another page, the only `button.btn` may be another one.
    """
    lasting = [each for each in target.strategies if not isinstance(each, SessionStrategy)]
    given = any(each.type in _GIVEN and not each.fallback for each in lasting)
    return [each for each in lasting if not (given and _only_a_kind(each))]


def _only_a_kind(strategy: Strategy) -> bool:
    return isinstance(strategy, ValueStrategy) and _KIND.fullmatch(strategy.value) is not None


def are_equivalent(one: TraceStep, other: TraceStep) -> bool:
    """Whether two steps are the same step.

    Steps without tokens are compared by their place in their group (rule d); the caller must ensure that their
    neighbours agree.
    """
    if one.action_type != other.action_type:
        return False
    if are_two_buttons(read_button_name(one), read_button_name(other)):
        return False
    mine, its = compute_step_tokens(one), compute_step_tokens(other)
    if mine or its:
        return bool(mine & its)
    return one.action_group_index == other.action_group_index


def have_same_args(one: TraceStep, other: TraceStep) -> bool:
    """Whether two steps have equal arguments, apart from wait durations."""
    mine, its = one.args or {}, other.args or {}
    if one.action_type == "wait" and one.target is other.target:
        mine, its = _but_duration(mine), _but_duration(its)
    placed = ("drop", "place")
    if any(key in mine and key in its for key in placed) and is_done_alike(one, other):
        mine, its = ({key: value for key, value in each.items() if key not in placed} for each in (mine, its))
    return mine == its


def is_done_alike(one: TraceStep, other: TraceStep) -> bool:
    """Whether the same keys are held down, the same place of a drawing is pressed, and a drag ends at about the same
    place of the same element.
    """
    mine, its = one.args or {}, other.args or {}
    if mine.get("modifiers") != its.get("modifiers"):
        return False
    here, there = mine.get("place"), its.get("place")
    if here != there and (here is None or there is None or _distance(here, there) > SAME_SPOT):
        return False
    drops = [DropPlace.model_validate(each["drop"]) for each in (mine, its) if each.get("drop")]
    if len(drops) < 2:
        return not drops
    ways = [
        {each.model_dump_json(include={"type", "value", "name", "role"}) for each in drop.target.strategies}
        for drop in drops
    ]
    return bool(ways[0] & ways[1]) and _distance(drops[0].at, drops[1].at) <= SAME_PLACE


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how far two places of an element are apart, in fractions of its size."""
    return max(abs(left - right) for left, right in zip(one, other, strict=True))


def assign_step_symbols(rows: Sequence[Sequence[TraceStep]], pages: TracePages) -> list[list[int]]:
    """Return the symbol of each step of each row. The numbers do not depend on the order of the rows."""
    classes = _TokenClasses()
    heads: list[list[str]] = []
    buttons = _group_buttons(rows)
    for number, row in enumerate(rows):
        told = [
            sorted(buttons.get((token, read_button_name(step)), token) for token in compute_step_tokens(step))
            or [f"?|{number}|{at}"]
            for at, step in enumerate(row)
        ]
        for tokens in told:
            classes.join(tokens)
        heads.append([tokens[0] for tokens in told])
    _join_items(rows, heads, classes, pages)
    names = sorted({classes.name(head) for row in heads for head in row})
    number_of = {name: number for number, name in enumerate(names)}
    return [[number_of[classes.name(head)] for head in row] for row in heads]


def read_button_name(step: TraceStep) -> str:
    """Return the name of the button that a step presses; empty for other elements and for what the task mentions.

    The words of what opens a list are a value, no name.
    """
    told = step.metadata.get(FINGERPRINT)
    if (
        MENTION in step.metadata
        or OPENER in step.metadata
        or not isinstance(told, Mapping)
        or told.get("role") not in BUTTONS
    ):
        return ""
    return str(told.get("name") or "")


def are_two_buttons(one: str, other: str) -> bool:
    """Whether the names of two buttons of one id or class say that they are two.

    They have no word in common ("Create", and "Submit Changes" after it), or they do something else ("Save account",
    "Delete account"). Numbers do not count.
    """
    ours, theirs = (frozenset(word for word in words(each) if not word.isdigit()) for each in (one, other))
    if not ours or not theirs:
        return False
    if describe_verb_conflict(one, other) or describe_verb_conflict(other, one):
        return True
    return not ours & theirs and not meanings(one) & meanings(other)


def _group_buttons(rows: Sequence[Sequence[TraceStep]]) -> dict[tuple[str, str], str]:
    """Return a token for each token and name of a button, if there are two buttons with the token."""
    named: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for step in row:
            for token in compute_step_tokens(step):
                named[token].add(read_button_name(step))
    found: dict[tuple[str, str], str] = {}
    for token, names in named.items():
        groups = _TokenClasses()
        for one, other in combinations(sorted(names - {""}), 2):
            if not are_two_buttons(one, other):
                groups.join((one, other))
        heads = {name: groups.name(name) for name in names if name}
        if len(set(heads.values())) > 1:
            found |= {(token, name): f"{token}|{head}" for name, head in heads.items()}
    return found


class _TokenClasses:
    """Disjoint sets of tokens; a set is named after its alphabetically first token."""

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
    rows: Sequence[Sequence[TraceStep]], heads: list[list[str]], classes: _TokenClasses, pages: TracePages
) -> None:
    """Give corresponding elements in different rows of a list one symbol, so that loops over rows are found.

    A page is only checked if selectors are equal apart from their quoted texts.
    """
    samples: dict[str, list[tuple[TraceStep, Sequence[TraceStep]]]] = defaultdict(list)
    alike: dict[str, set[str]] = defaultdict(set)
    for row, names in zip(rows, heads, strict=True):
        for at, (step, head) in enumerate(zip(row, names, strict=True)):
            if not isinstance(step.target, Selector) or {MENTION, FIELD_WORDS} & step.metadata.keys():
                continue
            name = classes.name(head)
            if len(samples[name]) < _SAMPLES and (step.html_before or step.html_after):
                samples[name].append((step, row[:at]))
            alike_here = {f"{step.action_type}|{_skeleton(each)}" for each in step.target.strategies}
            alike_here |= set(_list_kinds(step))
            for skeleton in alike_here:
                alike[skeleton].add(name)
    candidates = sorted({name for names in alike.values() if len(names) > 1 for name in names})
    items: dict[str, list[str]] = defaultdict(list)
    for name in candidates:
        told = (build_item_token(step, pages, earlier) for step, earlier in samples[name])
        token = next((each for each in told if each is not None), None)
        if token is not None:
            items[token].append(name)
    for token, names in items.items():
        if not _is_fixed_way(frozenset(names), rows, heads, classes, pages):
            classes.join([*names, token])
    _join_single_choices(rows, heads, classes)


def _is_fixed_way(
    names: frozenset[str],
    rows: Sequence[Sequence[TraceStep]],
    heads: Sequence[Sequence[str]],
    classes: _TokenClasses,
    pages: TracePages,
) -> bool:
    """Whether these are no rows of a list, but entries of menus that open each other, such as `Snooze` and `Pick a date`.

    Every run chose the same ones once, in the same order, directly after each other, and the page on which one was chosen
    has not the next.
    """
    places = [[at for at, head in enumerate(row) if classes.name(head) in names] for row in heads]
    chosen = [[classes.name(row[at]) for at in here] for row, here in zip(heads, places, strict=True)]
    first = chosen[0]
    if (
        len(rows) < 2
        or len(first) < 2
        or len(set(first)) < len(first)
        or any(each != first for each in chosen)
    ):
        return False
    return all(
        at == before + 1 and _hides(row[before], row[at], pages)
        for row, here in zip(rows, places, strict=True)
        for before, at in pairwise(here)
    )


def _hides(step: TraceStep, later: TraceStep, pages: TracePages) -> bool:
    """Whether the page of a step was recorded, and has nothing like the target of a later one, with its words."""
    page, found = pages.get(step.html_before, step.source_url), pages.find_target(later)
    if page is None or found is None:
        return False
    element = found[1]
    said = squeeze(text_of(element, everything=True))
    there = (each for root in page.stored.roots for each in root.elements if each.tag == element.tag)
    return bool(said) and not any(
        squeeze(text_of(each, everything=True)) == said and visible(each) for each in there
    )


def _list_kinds(step: TraceStep) -> Iterator[str]:
    """Yield the tag and classes of a step's element as it was recorded; nothing if it was not, or has no classes."""
    told = step.metadata.get(FINGERPRINT)
    if isinstance(told, Mapping) and isinstance(told.get("attributes"), Mapping):
        classes = told["attributes"].get("class")
        if classes:
            yield f"{step.action_type}|{told.get('tag')}.{classes}"


def _join_single_choices(
    rows: Sequence[Sequence[TraceStep]], heads: list[list[str]], classes: _TokenClasses
) -> None:
    """Give steps one symbol that every run has once and whose selectors differ by a text alone.

    The text is the name of the element, or that of an element before it ("Edit" of what was opened): a choice, for which
    the page may show only one more entry, so that no list tells it. Buttons with different names are different steps.
    """
    found: dict[str, list[list[tuple[int, int]]]] = {}
    for number, row in enumerate(rows):
        for at, step in enumerate(row):
            if not isinstance(step.target, Selector) or {MENTION, FIELD_WORDS} & step.metadata.keys():
                continue
            role = read_role(step)
            for skeleton in {
                f"{step.action_type}|{role}|{_skeleton(each)}" for each in step.target.strategies
            }:
                found.setdefault(skeleton, [[] for _ in rows])[number].append((number, at))
    for places in found.values():
        if len(rows) < 2 or any(len(each) != 1 for each in places):
            continue
        steps = [(rows[number][at], rows[number][:at]) for ((number, at),) in places]
        if all(_is_choice(step, earlier) for step, earlier in steps) and _have_one_verb(steps):
            classes.join(heads[number][at] for ((number, at),) in places)


def differ_by_text(steps: Sequence[TraceStep]) -> bool:
    """Whether steps have one action and role, and a selector in common apart from its quoted texts."""
    if len({(step.action_type, read_role(step)) for step in steps}) != 1:
        return False
    skeletons = [
        {_skeleton(each) for each in step.target.strategies}
        for step in steps
        if isinstance(step.target, Selector)
    ]
    return len(skeletons) == len(steps) and bool(set.intersection(*skeletons))


def _is_choice(step: TraceStep, earlier: Sequence[TraceStep]) -> bool:
    """Whether a text in a step's selectors is its element's name or that of an earlier element."""
    own = _read_name(step)
    names = {_read_name(each) for each in earlier} | ({own} if read_role(step) in _CHOSEN else set())
    assert isinstance(step.target, Selector)  # noqa: S101 - as the caller chose
    quoted = {
        text[1:-1] for each in step.target.strategies for text in _LITERAL.findall(_render_strategy(each))
    }
    return bool((names - {""}) & quoted)


def _have_one_verb(steps: Sequence[tuple[TraceStep, Sequence[TraceStep]]]) -> bool:
    return len({read_button_name(step) for step, _ in steps}) == 1


def read_role(step: TraceStep) -> str:
    """Return the role of a step's element as it was recorded; empty if it was not."""
    told = step.metadata.get(FINGERPRINT)
    return str(told.get("role") or "") if isinstance(told, Mapping) else ""


def _read_name(step: TraceStep) -> str:
    told = step.metadata.get(FINGERPRINT)
    return str(told.get("name") or "") if isinstance(told, Mapping) else ""


def _without_target(step: TraceStep) -> str:
    args = step.args or {}
    more = ""
    if step.action_type == "navigate":
        more = build_path_template(str(args.get("url") or ""))
    elif step.action_type == "press":
        more = as_text(args.get("value", ""))
    elif step.target is True:
        more = "person"
    return f"{step.action_type}||{more}"


def _render_strategy(strategy: Strategy) -> str:
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
    return _LITERAL.sub("", _render_strategy(strategy))


def _descriptions(step: TraceStep) -> list[str]:
    said = [step.metadata.get("description"), step.reasoning]
    if isinstance(step.target, Selector):
        said += [each.value for each in step.target.strategies if each.type == "agent"]
    return [" ".join(str(each).split()).lower() for each in said if each][:1]


def _but_duration(args: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in args.items() if key != "duration"}

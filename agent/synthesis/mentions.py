"""What the sentence of a task mentions of what was done in it: the values that were typed, and the things
that were acted on because the sentence names them (MA *beyond*).

A thing that is named is found by its name: of a step's selectors only those stay that say it, and the same
mention in every trace makes it the same step, wherever on the page it was. What the sentence tells becomes
the trace's input data; values are bound to it as to any other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.synthesis.pages import Pages, SeenPage
from agent.synthesis.utterances import Slot, Template, UtterancesUnlike, learned, said
from kb_schema.pages.names import label_text, name_of
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, Strategy, ValueStrategy
from kb_schema.templates import as_text, xpath_literal
from kb_schema.traces import ExecutionTrace, TraceStep

MENTION = "mention"
"""Key in a step's metadata: which gap of the sentence names its element, or what is typed into it."""
NAME = "mentioned_as"
"""Key in a step's metadata: the words by which the sentence names its element."""
ONLY_FOR = "mentioned_only_for"
"""Key in a step's metadata: the words of the sentence for which this is done, and for no others."""
LONGEST_NAME = 80
"""Characters of an element's words that can be a name."""
ITEM = "[]"
"""Behind the name of a list: one of its items."""
TYPING = frozenset({"fill", "append_text", "input_and_submit", "select_option"})

_PLACE = re.compile(r"\[\d+\]|nth-")

Values = Mapping[str, "str | list[str]"]


@dataclass(frozen=True, slots=True)
class Understanding:
    """Traces with what their sentences tell."""

    traces: list[ExecutionTrace]
    template: Template | None = None
    """None where there are no sentences, or they are no template."""
    refusal: str | None = None
    """Why there is none."""


@dataclass(slots=True)
class _Said:
    """One trace while it is understood."""

    trace: ExecutionTrace
    elements: list[Element | None]
    values: dict[str, str | list[str]] = field(default_factory=dict)

    @property
    def typed(self) -> set[str]:
        """What was typed in it."""
        return {text for step in self.trace.steps if (text := _typed(step)) is not None}

    @property
    def acted_on(self) -> set[str]:
        """What was typed, and what the elements are called."""
        return self.typed | {name for element in self.elements for name in names_of(element)}


def understood(traces: Sequence[ExecutionTrace], pages: Pages) -> Understanding:
    """The traces with what their sentences tell as input data, and steps that know what mentions them."""
    sentences = [trace.task_description.strip() for trace in traces]
    if not traces or not all(sentences) or any(trace.input_data for trace in traces):
        return Understanding(list(traces))
    every = [_Said(trace, [_element(step, pages) for step in trace.steps]) for trace in traces]
    try:
        template = learned(sentences, [each.acted_on for each in every], [each.typed for each in every])
    except UtterancesUnlike as exc:
        return Understanding(list(traces), refusal=str(exc))
    if not template.slots:
        return Understanding(list(traces), template)
    for each, sentence in zip(every, sentences, strict=True):
        each.values = said(template.parse(sentence))
    chosen = _chosen(every, template)
    return Understanding(_with_exceptions(_marked(every, chosen, pages), chosen), template)


def without_unused(told: Understanding, inputs: Collection[str]) -> Understanding:
    """The understanding with gaps from which nothing that is done follows as fixed words, where all sentences
    say the same there; refused, where they say different things. `inputs`: what the workflow takes.
    """
    if told.template is None:
        return told
    template = told.template
    for slot in template.slots:
        if any(each == slot.name or each.startswith(f"{slot.name}_") for each in inputs):
            continue
        shown = sorted({template.texts(trace.task_description.strip())[slot] for trace in told.traces})
        if len(shown) > 1:
            said = ", ".join(map(repr, shown[:3]))
            why = f"nothing that was done follows from what the tasks say for {slot.name} ({said})"
            return replace(told, refusal=why)
        template = template.fixed(slot, shown[0])
    return replace(told, template=template)


def names_of(element: Element | None) -> list[str]:
    """The words by which a person would name an element."""
    if element is None:
        return []
    told = (text_of(element, everything=True), label_text(element), name_of(element))
    return [name for each in told if (name := squeeze(each)) and len(name) <= LONGEST_NAME]


def _element(step: TraceStep, pages: Pages) -> Element | None:
    page = pages.get(step.html_before, step.source_url)
    return None if page is None or not isinstance(step.target, Selector) else page.find(step.target)


def _typed(step: TraceStep) -> str | None:
    value = (step.args or {}).get("value")
    return as_text(value) if step.action_type in TYPING and value not in (None, "") else None


# -- which gap mentions which step


_Step = tuple[int, int]
"""Trace and step."""


def _chosen(every: Sequence[_Said], template: Template) -> dict[_Step, tuple[str, str]]:
    """For each step that something mentions: what, and in which words. Where several gaps say the same in
    one trace, it is the one that says it in most traces.
    """
    fitting: dict[_Step, dict[str, str]] = {}
    support: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, each in enumerate(every):
        for at, (step, element) in enumerate(zip(each.trace.steps, each.elements, strict=True)):
            found = dict(_fits(step, element, each.values))
            if found:
                fitting[number, at] = found
            for key in found:
                support[step.action_type, key].add(number)
    slots = {slot.name: slot for slot in template.slots}
    chosen: dict[_Step, tuple[str, str]] = {}
    for (number, at), found in fitting.items():
        action = every[number].trace.steps[at].action_type
        best = min(found, key=lambda key: (-len(support[action, key]), len(key), key))
        told = [other for other, each in enumerate(every) if _tells(each.values, best)]
        if _certain(best, slots) or 2 * len(support[action, best]) >= len(told):
            chosen[number, at] = (best, found[best])
    return chosen


def _fits(step: TraceStep, element: Element | None, values: Values) -> Iterable[tuple[str, str]]:
    """Keys of what the sentence tells that this step is about, with the words."""
    typed = _typed(step)
    about = [typed] if typed is not None else names_of(element)
    folded = {each.casefold() for each in about} if typed is not None else set(about)
    for key, value in values.items():
        for text in [value] if isinstance(value, str) else value:
            if text and (text.casefold() if typed is not None else text) in folded:
                yield (key if isinstance(value, str) else key + ITEM), text


def _tells(values: Values, key: str) -> bool:
    return bool(values.get(key.removesuffix(ITEM)))


def _certain(key: str, slots: Mapping[str, Slot]) -> bool:
    """What is quoted or counted up names a thing also where it does so in a few traces only."""
    slot = slots.get(key.removesuffix(ITEM))
    return slot is not None and (slot.quoted or slot.many)


# -- the traces with their mentions


def _marked(
    every: Sequence[_Said], chosen: Mapping[_Step, tuple[str, str]], pages: Pages
) -> list[ExecutionTrace]:
    steady = _steady(every, chosen)
    made = []
    for number, each in enumerate(every):
        steps, order = [], defaultdict(list)
        for at, step in enumerate(each.trace.steps):
            key, words = chosen.get((number, at), ("", ""))
            if key.endswith(ITEM):
                order[key.removesuffix(ITEM)].append(words)
            marked = key and (step.action_type, key) not in steady
            steps.append(_told(step, key, words, each.elements[at], pages) if marked else step)
        values = {**each.values, **{key: _as_done(each.values[key], done) for key, done in order.items()}}
        made.append(each.trace.model_copy(update={"steps": tuple(steps), "input_data": values}))
    return made


def _steady(every: Sequence[_Said], chosen: Mapping[_Step, tuple[str, str]]) -> set[tuple[str, str]]:
    """What needs no mention to be found: it is the same element each time, by more than its place, and what
    is typed into it, or what it says, is all that a mention could tell.
    """
    found: dict[tuple[str, str], list[_Step]] = defaultdict(list)
    for number, at in chosen:
        found[every[number].trace.steps[at].action_type, chosen[number, at][0]].append((number, at))
    steady = set()
    for (action, key), places in found.items():
        targets = [every[number].trace.steps[at].target for number, at in places]
        words = {chosen[place][1] for place in places}
        same = set.intersection(*({*_lasting(target)} for target in targets))
        known = action in TYPING or (len(words) == 1 and len({number for number, _ in places}) > 1)
        twice = len({number for number, _ in places}) < len(places)
        if (same and known and not key.endswith(ITEM)) or (action in TYPING and twice):
            steady.add((action, key))
    return steady


def _lasting(target: object) -> Iterable[str]:
    """A target's strategies that say more than a place among others."""
    for each in target.strategies if isinstance(target, Selector) else ():
        told = each.model_dump_json(exclude={"confidence", "meta"})
        if not each.fallback and not _PLACE.search(told):
            yield told


def _as_done(items: str | list[str], done: Sequence[str]) -> list[str]:
    """The items of a list in the order in which they were dealt with."""
    return [*done, *(each for each in items if each not in done)]


def _told(step: TraceStep, key: str, words: str, element: Element | None, pages: Pages) -> TraceStep:
    """The step with what mentions it; a thing that is named by what says its name."""
    if step.action_type in TYPING or element is None or not isinstance(step.target, Selector):
        return step.model_copy(update={"metadata": {**step.metadata, MENTION: key}})
    naming = tuple(_by_name(step.target, words, element, pages.get(step.html_before, step.source_url)))
    if not naming:
        return step
    target = step.target.model_copy(update={"strategies": naming})
    return step.model_copy(
        update={"target": target, "metadata": {**step.metadata, MENTION: key, NAME: words}}
    )


def _by_name(target: Selector, words: str, element: Element, page: SeenPage | None) -> Iterator[Strategy]:
    """Ways to an element that say its name: the target's own, by what it says itself, by what is around it."""
    literal = xpath_literal(words)
    for each in target.strategies:
        if isinstance(each, ValueStrategy) and each.type.startswith("xpath") and literal in each.value:
            yield each
    around = next((up for up in element.ancestors() if words in names_of(up)), None)
    for value in (
        f"//{element.tag}[normalize-space()={literal}]",
        None if around is None else f"//{around.tag}[normalize-space()={literal}]//{element.tag}",
    ):
        if value is None or page is None:
            continue
        by_words = ValueStrategy(type="xpath-text", value=value)
        if page.find(Selector(strategies=(by_words,))) is element:
            yield by_words


# -- words that mean something else than they say


def _with_exceptions(
    traces: list[ExecutionTrace], chosen: Mapping[_Step, tuple[str, str]]
) -> list[ExecutionTrace]:
    """The traces with steps marked that stand where the others have the thing that is named: what is done
    there is done for these very words.
    """
    named = {
        (at, len(traces[number].steps)): step
        for (number, at) in sorted(chosen)
        if NAME in (step := traces[number].steps[at]).metadata and not step.metadata[MENTION].endswith(ITEM)
    }
    made = []
    for trace in traces:
        steps = list(trace.steps)
        if not any(MENTION in step.metadata for step in steps):
            for at, step in enumerate(steps):
                model = named.get((at, len(steps)))
                words = None if model is None else (trace.input_data or {}).get(model.metadata[MENTION])
                if model is not None and isinstance(words, str) and model.action_type == step.action_type:
                    more = {MENTION: model.metadata[MENTION], ONLY_FOR: words}
                    steps[at] = step.model_copy(update={"metadata": {**step.metadata, **more}})
        made.append(trace.model_copy(update={"steps": tuple(steps)}))
    return made

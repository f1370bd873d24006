"""Finds which typed values and which elements the description of a task mentions.

An element that the description names is located by its name: the step keeps only the strategies that contain
the name. Steps with the same mention in every trace are the same step, wherever the element is on the page. The
mentioned values become the trace's input data, and values are bound to them as to any other input.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.synthesis.traces.trace_pages import TracePage, TracePages
from agent.synthesis.utterances.markup_mentions import find_markup_mentions
from agent.synthesis.utterances.ordinal_mentions import find_ordinal_mentions
from agent.synthesis.utterances.paged_places import join_page_turns
from agent.synthesis.utterances.part_openers import join_part_openers
from agent.synthesis.utterances.record_templates import RecordTemplate, learn_record_template
from agent.synthesis.utterances.utterance_templates import (
    UtteranceSlot,
    UtterancesTooDifferent,
    UtteranceTemplate,
    expand_value_forms,
    learn_template,
)
from agent.synthesis.utterances.value_forms import FIRST_WORD, list_untold_parts
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, Strategy, ValueStrategy
from kb_schema.templates import as_text, xpath_literal
from web_pages.accessible_names import label_text, labels_of, name_of
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of

MENTION = "mention"
"""Metadata key of a step: the slot that names its element or the value that is typed into it."""
NAME = "mentioned_as"
"""Metadata key of a step: the words with which the description names its element."""
MARK = "marked_as"
"""Metadata key of a step: the word of the description that a class of its element has."""
ONLY_FOR = "mentioned_only_for"
"""Metadata key of a step: the exceptional words of the description for which this step is performed."""
LONGEST_NAME = 80
"""Maximum length of an element's name in characters."""
ITEM = "[]"
"""Suffix of a list's key that denotes one of its items."""
TYPING = frozenset({"fill", "append_text", "input_and_submit", "select_option"})

_PLACE = re.compile(r"\[\d+\]|nth-")

MentionedValues = Mapping[str, "str | list[str]"]


@dataclass(frozen=True, slots=True)
class MentionAnalysis:
    """Traces with the values that their descriptions mention."""

    traces: list[ExecutionTrace]
    template: UtteranceTemplate | RecordTemplate | None = None
    """None if there are no descriptions, or they have no common template."""
    refusal: str | None = None
    """Why there is no template, or why it cannot be used."""
    contradicted: bool = False
    """Whether the refusal is that the steps leave out a part of a value which they use: they may show something else."""


@dataclass(slots=True)
class _TraceMentions:
    """The mentions of one trace."""

    trace: ExecutionTrace
    elements: list[Element | None]
    values: dict[str, str | list[str]] = field(default_factory=dict)

    @property
    def typed(self) -> set[str]:
        """The values that were typed in the trace."""
        return {text for step in self.trace.steps for text in _list_typed(step)}

    @property
    def acted_on(self) -> set[str]:
        """The typed values and the names of the elements that were acted on."""
        return self.typed | {name for element in self.elements for name in list_element_names(element)}


def analyze_mentions(traces: Sequence[ExecutionTrace], pages: TracePages) -> MentionAnalysis:
    """Return the traces with the mentioned values as input data, and with their steps marked."""
    sentences = [trace.task_description.strip() for trace in traces]
    if not traces or not all(sentences) or any(trace.input_data for trace in traces):
        return MentionAnalysis(list(traces))
    every = [_TraceMentions(trace, [_element(step, pages) for step in trace.steps]) for trace in traces]
    try:
        template = learn_record_template(sentences) or learn_template(
            sentences, [each.acted_on for each in every], [each.typed for each in every]
        )
    except UtterancesTooDifferent as exc:
        return MentionAnalysis(list(traces), refusal=str(exc))
    if not template.slots:
        return MentionAnalysis(list(traces), template)
    told = [template.parse(sentence) for sentence in sentences]
    for each, values in zip(every, _expand_differing_forms(told), strict=True):
        each.values = values
    chosen = _choose_mentions(every, template)
    marked = _mark_exceptions(_marked(every, chosen, pages), chosen)
    marked = _mark_words(_mark_places(marked, every, pages), every)
    paged = join_page_turns(
        marked, [each.trace for each in every], [each.values for each in every], pages, MENTION
    )
    joined = join_part_openers(paged, pages, MENTION, NAME)
    return MentionAnalysis(joined, template)


def _expand_differing_forms(told: Sequence[MentionedValues]) -> list[dict[str, str | list[str]]]:
    """Return the values with their forms, but for those that are the plain value in all descriptions.

    First words are names of markup only (`markup_mentions`).
    """
    forms = [expand_value_forms(each) for each in told]

    def is_plain(key: str) -> bool:
        slots = [name for each in told for name in each if key.startswith(f"{name}_")]
        slot = max(slots, key=len, default="")
        return bool(slot) and all(
            key not in each or each[key] == plain.get(slot) for each, plain in zip(forms, told, strict=True)
        )

    added = {key for each in forms for key in each} - {key for each in told for key in each}
    dropped = {key for key in added if key.endswith(f"_{FIRST_WORD}") or is_plain(key)}
    return [{key: value for key, value in each.items() if key not in dropped} for each in forms]


def drop_unused_slots(told: MentionAnalysis, inputs: Collection[str]) -> MentionAnalysis:
    """Return the analysis without slots that no input uses.

    A slot becomes fixed words if all descriptions have the same words there; otherwise the analysis is refused.
    `inputs` are the names of the workflow's inputs.
    """
    if told.template is None:
        return told
    template: UtteranceTemplate | RecordTemplate = told.template
    for slot in template.slots:
        if any(_uses(each, slot.name) for each in inputs):
            continue
        shown = sorted({template.texts(trace.task_description.strip())[slot] for trace in told.traces})
        if len(shown) > 1:
            said = ", ".join(map(repr, shown[:3]))
            why = f"no step depends on the words that the task descriptions have for {slot.name} ({said})"
            return replace(told, refusal=why)
        template = template.fixed(slot, shown[0])
    return _require_unused_parts(told, template, inputs)


def _require_unused_parts(
    told: MentionAnalysis, template: UtteranceTemplate | RecordTemplate, inputs: Collection[str]
) -> MentionAnalysis:
    """Return the analysis; the template takes only dates whose parts are those of all recordings where nothing depends on
    them. Refused if such a part differs between recordings: a month that they reached by as many presses, for instance.
    """
    unused: dict[str, Mapping[str, str]] = {}
    for slot in template.slots:
        if slot.many or slot.name in inputs:
            continue
        forms = {each.removeprefix(f"{slot.name}_") for each in inputs if each.startswith(f"{slot.name}_")}
        texts = [template.texts(trace.task_description.strip())[slot] for trace in told.traces]
        parts = [list_untold_parts(text, forms) for text in texts]
        for part in parts[0]:
            shown = sorted({each.get(part, "") for each in parts})
            if len(shown) > 1:
                said = ", ".join(map(repr, shown[:3]))
                why = (
                    f"no step depends on the {part} that the task descriptions have for {slot.name} ({said})"
                )
                return replace(told, refusal=why, contradicted=True)
        if parts[0]:
            unused[slot.name] = parts[0]
    return replace(told, template=template.model_copy(update={"unused_parts": unused}))


def _uses(name: str, slot: str) -> bool:
    """Whether an input is a slot, one of its forms, or another slot's text in the letters that it says."""
    return name == slot or name.startswith(f"{slot}_") or name.endswith(f"_in_{slot}")


def list_element_names(element: Element | None) -> list[str]:
    """Return the texts with which a person may name an element."""
    if element is None:
        return []
    told = (
        text_of(element, everything=True),
        label_text(element),
        *(text_of(each, everything=True) for each in labels_of(element)),  # as selectors compare it
        name_of(element),
        *list_data_attributes(element).values(),
    )
    return [name for each in told if (name := squeeze(each)) and len(name) <= LONGEST_NAME]


def list_data_attributes(element: Element) -> dict[str, str]:
    """Return the attributes that say what an element is about: the button that removes a tag has `data-tag`."""
    return {
        name: value
        for name, value in element.attributes.items()
        if name.startswith("data-") and not name.startswith("data-pp-") and any(map(str.isalpha, value))
    }


def _element(step: TraceStep, pages: TracePages) -> Element | None:
    page = pages.get(step.html_before, step.source_url)
    return None if page is None or not isinstance(step.target, Selector) else page.find(step.target)


def _list_typed(step: TraceStep) -> list[str]:
    """Return what was typed in a step; several texts where several options of a list were chosen."""
    value = (step.args or {}).get("value")
    if step.action_type in TYPING and isinstance(value, list | tuple):
        return [as_text(each) for each in value]
    typed = _typed(step)
    return [] if typed is None else [typed]


def _typed(step: TraceStep) -> str | None:
    value = (step.args or {}).get("value")
    return as_text(value) if step.action_type in TYPING and value not in (None, "") else None


# -- which slot mentions which step


_TraceStepPosition = tuple[int, int]
"""Index of the trace and of its step."""


def _choose_mentions(
    every: Sequence[_TraceMentions], template: UtteranceTemplate | RecordTemplate
) -> dict[_TraceStepPosition, tuple[str, str]]:
    """Return the key and words for each mentioned step; of several slots with the same words, the one that
    mentions the step in most traces.
    """
    at_once = {slot for each in every for slot in _list_given_at_once(each)}
    fitting: dict[_TraceStepPosition, dict[str, str]] = {}
    support: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, each in enumerate(every):
        for at, (step, element) in enumerate(zip(each.trace.steps, each.elements, strict=True)):
            found = {
                key: words
                for key, words in _match_mentions(step, element, each.values)
                if not (key.removesuffix(ITEM) in at_once and step.action_type in TYPING)
            }
            if found:
                fitting[number, at] = found
            for key in found:
                support[step.action_type, key].add(number)
    slots = {slot.name: slot for slot in template.slots}
    chosen: dict[_TraceStepPosition, tuple[str, str]] = {}
    for (number, at), found in fitting.items():
        action = every[number].trace.steps[at].action_type
        best = min(found, key=lambda key: (-len(support[action, key]), len(key), key))
        told = [other for other, each in enumerate(every) if _is_telling_mention(each.values, best)]
        if _certain(best, slots) or 2 * len(support[action, best]) >= len(told):
            chosen[number, at] = (best, found[best])
    return {place: each for place, each in chosen.items() if not _only_shows(place, chosen, every)}


def _only_shows(
    place: _TraceStepPosition,
    chosen: Mapping[_TraceStepPosition, tuple[str, str]],
    every: Sequence[_TraceMentions],
) -> bool:
    """Whether a pressed element has the words only by chance: another step of its trace is named by them, and traces with other
    words press the same element. The closed list of a home-made select box shows what was chosen before.
    """
    number, at = place
    key, words = chosen[place]
    step = every[number].trace.steps[at]
    if step.action_type in TYPING or key.endswith(ITEM):
        return False
    if not any((trace, each[0]) == (number, key) and other != at for (trace, other), each in chosen.items()):
        return False
    same = {*_lasting(step.target)}
    return any(
        other.action_type == step.action_type and not same.isdisjoint(_lasting(other.target))
        for each in every
        if each.values.get(key) not in (None, words)
        for other in each.trace.steps
    )


def _list_given_at_once(mentions: _TraceMentions) -> Iterator[str]:
    """Yield the lists whose items one step of a trace gives together: options of a list, not rounds of a loop."""
    for step in mentions.trace.steps:
        value = (step.args or {}).get("value")
        if step.action_type in TYPING and isinstance(value, list | tuple):
            given = sorted(map(as_text, value))
            yield from (
                key
                for key, items in mentions.values.items()
                if isinstance(items, list) and sorted(items) == given
            )


def _match_mentions(
    step: TraceStep, element: Element | None, values: MentionedValues
) -> Iterable[tuple[str, str]]:
    """Return the keys of the mentions that fit a step, with the words."""
    typed = _typed(step)
    about = [typed] if typed is not None else list_element_names(element)
    folded = {each.casefold() for each in about} if typed is not None else set(about)
    for key, value in values.items():
        for text in [value] if isinstance(value, str) else value:
            if text and (text.casefold() if typed is not None else text) in folded:
                yield (key if isinstance(value, str) else key + ITEM), text


def _is_telling_mention(values: MentionedValues, key: str) -> bool:
    return bool(values.get(key.removesuffix(ITEM)))


def _certain(key: str, slots: Mapping[str, UtteranceSlot]) -> bool:
    """Whether a slot certainly names things: it is quoted or a list, so a few traces are enough."""
    slot = slots.get(key.removesuffix(ITEM))
    return slot is not None and (slot.quoted or slot.many)


# -- the traces with their mentions


def _marked(
    every: Sequence[_TraceMentions], chosen: Mapping[_TraceStepPosition, tuple[str, str]], pages: TracePages
) -> list[ExecutionTrace]:
    steady = _steady(every, chosen)
    alone = _list_alone(every, chosen, pages)
    made = []
    for number, each in enumerate(every):
        steps, order = [], defaultdict(list)
        for at, step in enumerate(each.trace.steps):
            key, words = chosen.get((number, at), ("", ""))
            if key.endswith(ITEM):
                order[key.removesuffix(ITEM)].append(words)
            about = (step.action_type, key)
            marked = key and about not in steady
            alike = about in alone
            steps.append(
                _apply_mention(step, key, words, each.elements[at], pages, alike=alike) if marked else step
            )
        values = {
            **each.values,
            **{key: _order_items_as_done(each.values[key], done) for key, done in order.items()},
        }
        made.append(each.trace.model_copy(update={"steps": tuple(steps), "input_data": values}))
    return made


def _steady(
    every: Sequence[_TraceMentions], chosen: Mapping[_TraceStepPosition, tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return the mentions that are not needed: the element is the same in every trace, by more than its place,
    and a mention adds no more than its typed value or its text.
    """
    found: dict[tuple[str, str], list[_TraceStepPosition]] = defaultdict(list)
    for number, at in chosen:
        found[every[number].trace.steps[at].action_type, chosen[number, at][0]].append((number, at))
    steady = set()
    for (action, key), places in found.items():
        targets = [every[number].trace.steps[at].target for number, at in places]
        words = {chosen[place][1] for place in places}
        same = set.intersection(*({*_lasting(target)} for target in targets))
        said = {str(each.values.get(key)) for each in every}  # with another word, another element is meant
        known = action in TYPING or (
            len(words) == len(said) == 1 and len({number for number, _ in places}) > 1
        )
        twice = len({number for number, _ in places}) < len(places)
        if (same and known and not key.endswith(ITEM)) or (action in TYPING and twice):
            steady.add((action, key))
    return steady


def _lasting(target: object) -> Iterable[str]:
    """Yield the strategies of a target that do not depend on its place among siblings."""
    for each in target.strategies if isinstance(target, Selector) else ():
        told = each.model_dump_json(exclude={"confidence", "meta"})
        if not each.fallback and not _PLACE.search(told):
            yield told


def _order_items_as_done(items: str | list[str], done: Sequence[str]) -> list[str]:
    """Return the items of a list in the order in which the steps handled them."""
    return [*done, *(each for each in items if each not in done)]


def _list_alone(
    every: Sequence[_TraceMentions], chosen: Mapping[_TraceStepPosition, tuple[str, str]], pages: TracePages
) -> set[tuple[str, str]]:
    """Return the mentions that name an element which is called so alone, in some trace.

    What is one of several that are called alike in every trace is not named by that.
    """
    found = set()
    for (number, at), (key, words) in chosen.items():
        step, element = every[number].trace.steps[at], every[number].elements[at]
        if element is not None and isinstance(step.target, Selector):
            page = pages.get(step.html_before, step.source_url)
            if any(_list_name_strategies(step.target, words, element, page)):
                found.add((step.action_type, key))
    return found


def _apply_mention(
    step: TraceStep, key: str, words: str, element: Element | None, pages: TracePages, *, alike: bool
) -> TraceStep:
    """Return the step with its mention; the target keeps only strategies that contain the name.

    `alike`: it may be the first of several that are called so.
    """
    if step.action_type in TYPING or element is None or not isinstance(step.target, Selector):
        return step.model_copy(update={"metadata": {**step.metadata, MENTION: key}})
    naming = tuple(
        _list_name_strategies(
            step.target, words, element, pages.get(step.html_before, step.source_url), alike=alike
        )
    )
    if not naming:
        return step
    target = step.target.model_copy(update={"strategies": naming})
    return step.model_copy(
        update={"target": target, "metadata": {**step.metadata, MENTION: key, NAME: words}}
    )


def _list_name_strategies(
    target: Selector, words: str, element: Element, page: TracePage | None, *, alike: bool = False
) -> Iterator[Strategy]:
    """Yield strategies that contain the element's name: its own, by its text, or by the text around it.

    `alike`: also that of the first of several that are called so; `target_templates` tells when it may be used.
    """
    literal = xpath_literal(words)
    for each in target.strategies:
        if isinstance(each, ValueStrategy) and each.type.startswith("xpath") and literal in each.value:
            yield each
    around = next((up for up in element.ancestors() if words in list_element_names(up)), None)
    plain = f"//{element.tag}[normalize-space()={literal}]"
    alone = False
    for value in (
        plain,
        None if around is None else f"//{around.tag}[normalize-space()={literal}]//{element.tag}",
        f"({plain})[1]" if alike else None,
    ):
        if value is None or page is None or (alone and value.startswith("(")):
            continue
        by_words = ValueStrategy(type="xpath-text", value=value)
        if page.find(Selector(strategies=(by_words,))) is element:
            alone = alone or value == plain
            yield by_words


def _mark_places(
    traces: list[ExecutionTrace], every: Sequence[_TraceMentions], pages: TracePages
) -> list[ExecutionTrace]:
    """Return the traces; steps that the description chooses by a place, and that nothing else names, are marked."""
    places = find_ordinal_mentions(
        [each.trace.steps for each in every],
        [each.elements for each in every],
        [each.values for each in every],
        pages,
    )
    made = []
    for number, trace in enumerate(traces):
        steps = list(trace.steps)
        for at, step in enumerate(steps):
            if (number, at) in places and MENTION not in step.metadata:
                more = {**step.metadata, MENTION: places[number, at]}
                steps[at] = step.model_copy(update={"metadata": more})
        made.append(trace.model_copy(update={"steps": tuple(steps)}))
    return made


def _mark_words(traces: list[ExecutionTrace], every: Sequence[_TraceMentions]) -> list[ExecutionTrace]:
    """Return the traces; steps on elements with a class that is a word of the description are marked, and the word is
    input data. Nothing else may name them.
    """
    words = find_markup_mentions(
        [each.trace.steps for each in every],
        [each.elements for each in every],
        [each.values for each in every],
    )
    free = {
        place: each
        for place, each in words.items()
        if MENTION not in traces[place[0]].steps[place[1]].metadata
    }
    if {number for number, _ in free} != set(range(len(traces))):
        return traces
    made = []
    for number, trace in enumerate(traces):
        steps, data = list(trace.steps), dict(trace.input_data or {})
        for (_, at), (key, word) in ((place, each) for place, each in free.items() if place[0] == number):
            steps[at] = steps[at].model_copy(
                update={"metadata": {**steps[at].metadata, MENTION: key, MARK: word}}
            )
            data[key] = word
        made.append(trace.model_copy(update={"steps": tuple(steps), "input_data": data}))
    return made


# -- words that do not name an element


def _mark_exceptions(
    traces: list[ExecutionTrace], chosen: Mapping[_TraceStepPosition, tuple[str, str]]
) -> list[ExecutionTrace]:
    """Mark steps that take the place of the named element in other traces: they belong to exactly these words."""
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

"""Sentences by which a workflow was shown: it is meant when one of them is said again.

A template needs words that every demonstration shares, and is not certain of a value that may ask for something else. What was said and
what was then given is certain, unless the sentence means another thing at another time ("the newest", "tomorrow").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent.sentences.sentence_words import CHANGING, drop_politeness
from agent.sentences.task_phrases import TaskPhrase
from agent.sentences.template_binding import bind_template
from agent.synthesis.utterances.utterance_words import UtteranceWord, split_words
from agent.synthesis.utterances.value_forms import list_forms
from agent.synthesis.utterances.written_templates import read_template
from kb_schema.ranked_values import read_ranking
from kb_schema.sentence_plans import fold
from kb_schema.workflows import ShownSentence, Workflow

_COUNTS = frozenset(["one", "single"])
MOST_COUNTED = 3
"""Words of what is counted before the colon with which it is told: "one line item:"."""
_NOT_IN_TEMPLATES = re.compile(r"[{}|\ue000]")


def find_shown_values(sentence: str, work: object) -> Mapping[str, str | list[str]] | None:
    """Return the values that were given when a workflow was shown by this sentence; None if it was not."""
    if not isinstance(work, Workflow) or work.provenance is None:
        return None
    said = _keys(sentence)
    return next((each.values for each in work.provenance.sentences if _keys(each.sentence) == said), None)


def find_similar_values(sentence: str, work: object) -> dict[str, str | list[str]] | None:
    """Return the values of a sentence that has the words of a shown one around other values; None if it has not.

    It must be asked about: in the demonstrations other words stood around the values, too, and no step depended on them.
    `Turn on {row}` and `Turn off {row}` may be one workflow that presses a switch.
    """
    if not isinstance(work, Workflow) or work.provenance is None:
        return None
    for each in work.provenance.sentences:
        text = _write_template(each)
        if text is None:
            continue
        match = bind_template(sentence, TaskPhrase(work=work.model_copy(update={"sentences": (text,)})))
        if match is not None and match.values.keys() >= each.values.keys():
            return match.values
    return None


def add_shown_sentences(workflow: Workflow, shown: Sequence[ShownSentence]) -> Workflow:
    """Return the workflow with what its templates lack. `shown`: the sentence of each trace, with the inputs that it shows.

    A sentence that no template binds with certainty is kept with its values, if they are all that it needs and it means the
    same at any time. One that was said with different values is not.
    """
    told = [each for each in shown if each.sentence.strip() and not _NOT_IN_TEMPLATES.search(each.sentence)]
    kept: dict[tuple[tuple[str, bool], ...], list[ShownSentence]] = {}
    for each in told:
        if not _is_bound(each, workflow) and _is_complete(each, workflow) and _is_lasting(each):
            kept.setdefault(tuple(_keys(each.sentence)), []).append(each)
    certain = [same[-1] for same in kept.values() if all(each.values == same[0].values for each in same)]
    if not certain or workflow.provenance is None:
        return workflow
    provenance = workflow.provenance.model_copy(update={"sentences": tuple(certain)})
    return workflow.model_copy(update={"provenance": provenance})


def _keys(sentence: str) -> list[tuple[str, bool]]:
    """Return the words of a sentence as they are compared; a quoted text with its letters."""
    words = drop_politeness(split_words(sentence))
    return [(each.text, True) if each.quoted else each.key for each in words]


def _is_bound(shown: ShownSentence, workflow: Workflow) -> bool:
    found = bind_template(shown.sentence, TaskPhrase(work=workflow))
    return found is not None and found.sure


def _is_complete(shown: ShownSentence, workflow: Workflow) -> bool:
    needed = {each.spec.name for each in TaskPhrase(work=workflow).inputs if each.needed}
    return needed <= shown.values.keys()


def _is_lasting(shown: ShownSentence) -> bool:
    """Whether a sentence means the same at any time: it says all values, or has no word that changes its meaning."""
    if not _list_changing_words(shown):
        return True
    text = fold(shown.sentence)
    return all(
        any(fold(form) in text for form in (one, *list_forms(one).values()))
        or any(fold(one) in map(fold, list_forms(word).values()) for word in _spans(shown.sentence))
        for one in map(_without_initials, _list_values(shown))
    )


def _list_changing_words(shown: ShownSentence) -> list[str]:
    """Return the words of a sentence that mean another thing at another time.

    Not in names that are values ("the Other Revenue account"), and not a count of what is then told ("with one line item: ten hours").
    """
    words = drop_politeness(split_words(shown.sentence))
    texts = ["" if each.quoted else each.text.casefold() for each in words]
    names = [fold(each) for each in _list_values(shown)]
    found = []
    for at, said in enumerate(texts):
        after = texts[at + 1 : at + 2 + MOST_COUNTED]
        told = said in _COUNTS and after[:1] != ["of"] and ":" in after
        pairs = [" ".join(pair) for pair in (texts[at - 1 : at + 1], texts[at : at + 2]) if len(pair) > 1]
        name = any(pair in each for pair in pairs for each in names)
        if (said in CHANGING or read_ranking(said)) and not name and not told:
            found.append(said)
    return found


def _list_values(shown: ShownSentence) -> list[str]:
    return [one for value in shown.values.values() for one in ([value] if isinstance(value, str) else value)]


def _without_initials(value: str) -> str:
    """Return a name as a sentence says it: "Ada Lovelace" for "AL Ada Lovelace", as a page draws it beside a picture."""
    first, _, name = value.partition(" ")
    return name if name and first == "".join(word[0] for word in name.split()).upper() else value


def _spans(sentence: str) -> list[str]:
    """Return the texts of up to four words of a sentence: "March 1, 2026"."""
    words = split_words(sentence)
    return [
        sentence[words[at].begin : words[end].end]
        for at in range(len(words))
        for end in range(at, min(at + 4, len(words)))
    ]


def _write_template(shown: ShownSentence) -> str | None:
    """Return a sentence with slots for its values; None if one of them does not stand in it as it was given."""
    words = drop_politeness(split_words(shown.sentence))
    if not shown.values or not all(isinstance(each, str) for each in shown.values.values()):
        return None
    slots: dict[int, tuple[int, str]] = {}
    for name, value in shown.values.items():
        places = _find_places(words, str(value))
        if len(places) != 1 or any(
            at < places[0][1] and places[0][0] < end for at, (end, _) in slots.items()
        ):
            return None
        slots[places[0][0]] = (places[0][1], name)
    inside = {at for begin, (end, _) in slots.items() for at in range(begin, end)}
    text, end = "", words[0].begin
    for at, word in enumerate(words):
        if at in inside and at not in slots:
            continue
        text += shown.sentence[end : word.begin]
        stop, name = slots.get(at, (at + 1, ""))
        slot = f"{{{name}}}"
        text += shown.sentence[word.begin : word.end] if not name else f'"{slot}"' if word.quoted else slot
        end = words[stop - 1].end
    return text if _reads(text, shown) else None


def _find_places(words: Sequence[UtteranceWord], value: str) -> list[tuple[int, int]]:
    """Return where a value stands: the first word, and the one after the last."""
    wanted = [each.text for each in split_words(value)]
    quoted = [(at, at + 1) for at, word in enumerate(words) if word.quoted and word.text == value]
    plain = [
        (at, at + len(wanted))
        for at in range(len(words) - len(wanted) + 1)
        if [each.text for each in words[at : at + len(wanted)]] == wanted
        and not any(each.quoted for each in words[at : at + len(wanted)])
    ]
    return quoted + plain


def _reads(text: str, shown: ShownSentence) -> bool:
    """Whether the written template reads the values of its sentence."""
    template = read_template(text).template
    words = drop_politeness(split_words(shown.sentence))
    said = shown.sentence[words[0].begin : words[-1].end]
    try:
        found = template.parse(said)
    except ValueError:
        return False
    return {name: found.get(name) for name in shown.values} == shown.values

"""Whether the sentence of a demonstration asks for a step that only some demonstrations show: such a step is not left out without a word.

"Add an anonymous comment ..." asks for the box "Post anonymously". A word that a step of all traces explains, such as the button "Comment", asks for
nothing more; neither does a text in quotes, which is a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.synthesis.traces.element_fingerprints import merge_step_fingerprints
from kb_schema.execution_traces import TraceStep
from kb_schema.sentence_quotes import remove_quotes
from kb_schema.templates import list_telling_words

LEAST_SHARED = 5
"""Letters with which two words begin that are one word: `anonymous`, `anonymously`."""
PERFORMS = frozenset({"click", "double_click", "check", "uncheck", "select_option", "press", "fill"})
"""Actions that a sentence may ask for."""


def find_said_word(step: TraceStep, sentences: Iterable[str], steady: Sequence[TraceStep]) -> str | None:
    """Return a word of the element of a step that all sentences say and no steady step explains; None if there is none."""
    if step.action_type not in PERFORMS:
        return None
    explained = {word for each in steady for word in _list_words(each)}
    said = [set(list_telling_words(remove_quotes(sentence))) for sentence in sentences]
    for word in _list_words(step):
        if any(_are_alike(word, other) for other in explained):
            continue
        if said and all(any(_are_alike(word, other) for other in each) for each in said):
            return word
    return None


def _list_words(step: TraceStep) -> tuple[str, ...]:
    """Return the telling words of the element of a step."""
    known = merge_step_fingerprints([step])
    told = [] if known is None else [known.name or "", known.label or "", known.text or ""]
    return list_telling_words(" ".join(told))


def _are_alike(one: str, other: str) -> bool:
    """Whether two words are one word with other ends.

    >>> _are_alike("anonymously", "anonymous"), _are_alike("comments", "comment"), _are_alike("post", "poster")
    (True, True, False)
    """
    short, long = sorted((one, other), key=len)
    return one == other or f"{short}s" == long or (len(short) >= LEAST_SHARED and long.startswith(short))

"""Templates of task descriptions: learned from several descriptions, and used to parse new ones.

The words that all descriptions share are fixed; the text between them is a slot. A quoted text counts as one
word. A slot with an enumeration is a list. `parse` refuses a description that does not fit.
`utterance_mentions` finds out what the slots are used for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce

from agent.synthesis.errors import MetaAgentError
from agent.synthesis.utterances.date_slots import Span, widen_dates
from agent.synthesis.utterances.quoted_slots import read_quoted_slots
from agent.synthesis.utterances.utterance_words import BEHIND, UtteranceWord, split_words, text_of_words
from agent.synthesis.utterances.value_forms import LETTERS, PARTS, build_identifier, has_parts, list_forms
from kb_schema.base import Model

LEAST_SHARED = 0.5
"""Minimum share of the shortest description's words that all descriptions must contain."""
LONGEST_MENTION = 6
"""Maximum number of words of a mention."""
NOTHING = frozenset({"nothing", "none", "nobody", "no one"})
"""Words for an empty list."""
_COMMAS = frozenset({",", ";"})
_COUNTING = frozenset({",", ";", "and", "or", "&"})
_SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "with",
        "from",
        "by",
        "for",
        "of",
        "to",
        "in",
        "into",
        "on",
        "at",
        "and",
        "or",
        "then",
        "as",
        "that",
        "is",
        "are",
        "be",
        "it",
        "its",
        "this",
        "please",
        "first",
        "next",
    ]
)


class UtteranceMismatch(MetaAgentError):
    """A description does not fit the template. `utterance` is the description."""

    def __init__(self, utterance: str, template: str) -> None:
        self.utterance, self.template = utterance, template
        super().__init__(
            f"{utterance!r} does not fit the template of the recordings: {template!r}",
            hint="use the words of the recordings, or record the task with this description too",
        )


class UtterancesTooDifferent(MetaAgentError):
    """The descriptions share too few words for a template. `utterances` are the descriptions."""

    def __init__(self, utterances: Sequence[str], shared: int) -> None:
        self.utterances, self.shared = tuple(utterances), shared
        super().__init__(
            f"the task descriptions differ too much: only {shared} words of {utterances[0]!r} are in all others",
            hint="use one sentence with different values, or use a model",
        )


class UtteranceSlot(Model):
    """A slot of the template."""

    name: str
    quoted: bool = False
    """Whether the text in the slot is always quoted."""
    many: bool = False
    """Whether the slot contains an enumeration."""
    commas_only: bool = False
    """Whether only commas separate the items of the enumeration: "Antigua and Barbuda" is one."""
    may_be_empty: bool = False

    def value(self, text: str) -> str | list[str]:
        """Return the value of a text in this slot: a string, or the items of a list."""
        return split_listed_items(text, commas_only=self.commas_only) if self.many else text


class UtteranceTemplate(Model):
    """A sentence with slots."""

    parts: tuple[UtteranceWord | UtteranceSlot, ...]
    unused_parts: Mapping[str, Mapping[str, str]] = {}
    """Slot -> forms of its text on which nothing depends, with what they are in all recordings: the year of a date."""

    @cached_property
    def slots(self) -> tuple[UtteranceSlot, ...]:
        """The slots, in order."""
        return tuple(part for part in self.parts if isinstance(part, UtteranceSlot))

    def parse(self, utterance: str) -> dict[str, str | list[str]]:
        """Return the value of each slot in a description. Raises `UtteranceMismatch`."""
        values = {slot.name: slot.value(text) for slot, text in self.texts(utterance).items()}
        if not all(has_parts(values[slot], parts) for slot, parts in self.unused_parts.items()):
            raise UtteranceMismatch(utterance, str(self))
        return values

    def texts(self, utterance: str) -> dict[UtteranceSlot, str]:
        """Return the text of each slot in a description. Raises `UtteranceMismatch`."""
        words = split_words(utterance)
        places = _fit_slots(self.parts, words)
        if places is None:
            told = [part.quoted if isinstance(part, UtteranceSlot) else _written(part) for part in self.parts]
            quoted = read_quoted_slots(told, utterance)
            if quoted is None:
                raise UtteranceMismatch(utterance, str(self))
            return dict(zip(self.slots, quoted, strict=True))
        return {
            slot: text_of_words(utterance, words[begin:end])
            for slot, (begin, end) in zip(self.slots, places, strict=True)
        }

    def fixed(self, slot: UtteranceSlot, text: str) -> UtteranceTemplate:
        """Return the template with fixed words in place of a slot."""
        words = [UtteranceWord(text=text, quoted=True)] if slot.quoted else split_words(text)
        parts: list[UtteranceWord | UtteranceSlot] = []
        for part in self.parts:
            parts += words if part == slot else [part]
        return UtteranceTemplate(parts=tuple(parts))

    def __str__(self) -> str:
        """Return the template as a sentence with `{slot}` names."""
        told = ""
        for part in self.parts:
            said = "{" + part.name + "}" if isinstance(part, UtteranceSlot) else part.text
            said = f'"{said}"' if part.quoted else said
            told += said if said in BEHIND or not told else f" {said}"
        return told


def _written(word: UtteranceWord) -> str:
    return f'"{word.text}"' if word.quoted else word.text


def split_listed_items(text: str, *, commas_only: bool = False) -> list[str]:
    """Return the items of an enumeration; `commas_only`: words such as "and" belong to the items.

    >>> split_listed_items("red, green and blue"), split_listed_items("nothing")
    (['red', 'green', 'blue'], [])
    """
    if text.strip().casefold() in NOTHING | {""}:
        return []
    words = split_words(text)
    between = _COMMAS if commas_only else _COUNTING
    groups: list[list[UtteranceWord]] = [[]]
    for word in words:
        if not word.quoted and word.text.casefold() in between:
            groups.append([])
        else:
            groups[-1].append(word)
    return [text_of_words(text, group) for group in groups if group]


def learn_template(
    utterances: Sequence[str], acted_on: Sequence[Collection[str]], typed: Sequence[Collection[str]] = ()
) -> UtteranceTemplate:
    """Learn the template of descriptions.

    `acted_on` has, for each description, the typed values and the names of the elements that were acted on. A
    quoted text that is among them becomes a slot, even if all descriptions contain it. If there is only one
    description, the values in `typed` become slots too. Raises `UtterancesTooDifferent`.
    """
    told = sorted(set(utterances), key=lambda each: (len(each), each))
    lines = [split_words(each) for each in told]
    shared = reduce(_common, lines[1:], lines[0])
    if len(lines) > 1 and len(shared) < LEAST_SHARED * min(map(len, lines)):
        raise UtterancesTooDifferent(told, len(shared))
    used = [_list_shared_actions(each, utterances, acted_on) for each in told]
    plain = [_list_shared_actions(told[0], utterances, typed)] if len(told) == 1 and typed else []
    parts = _merged(_with_gaps(_SharedWords(shared, used, plain), lines))
    if len(lines) > 1:
        parts = widen_dates(parts, [_list_spans(parts, words) for words in lines], lines, told)
        parts = _split_amounts(parts, lines)
    return _shaped(parts, told, used)


def _list_shared_actions(
    utterance: str, utterances: Sequence[str], done: Sequence[Collection[str]]
) -> frozenset[str]:
    """Return what was typed or acted on in every trace with this description."""
    return frozenset.intersection(
        *(frozenset(each) for other, each in zip(utterances, done, strict=True) if other == utterance)
    )


# -- words


def _common(one: Sequence[UtteranceWord], other: Sequence[UtteranceWord]) -> list[UtteranceWord]:
    """Return the longest common subsequence of words."""
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            same = one[i].key == other[j].key
            best[i][j] = best[i + 1][j + 1] + 1 if same else max(best[i + 1][j], best[i][j + 1])
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if one[i].key == other[j].key and best[i][j] == best[i + 1][j + 1] + 1:
            found.append(one[i])
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


# -- slots


class _SharedWords:
    """The words that all descriptions share, with those that are mentions and so may vary."""

    def __init__(
        self,
        words: Sequence[UtteranceWord],
        used: Sequence[Collection[str]],
        plain: Sequence[Collection[str]],
    ) -> None:
        """`used` is compared with quoted texts, `plain` with any words; both have one entry per description."""
        self.words, self._used, self._plain = words, used, plain

    def mentions(self) -> list[bool]:
        """Return for each word whether every recording acts on it."""
        told = [
            word.quoted and all(is_mentioned(word.text, each) for each in self._used) for word in self.words
        ]
        for used in self._plain:
            self._add_plain(told, used)
        return told

    def _add_plain(self, told: list[bool], used: Collection[str]) -> None:
        for length in range(LONGEST_MENTION, 0, -1):
            for at in range(len(self.words) - length + 1):
                span = self.words[at : at + length]
                free = not any(told[at : at + length]) and not any(word.quoted for word in span)
                if free and is_mentioned(" ".join(word.text for word in span), used):
                    told[at : at + length] = [True] * length


def is_mentioned(text: str, used: Collection[str]) -> bool:
    """Whether a text, in one of its forms, is in `used`; a part of it is another text."""
    forms = (told for name, told in list_forms(text).items() if name not in PARTS)
    return any(each in used for each in (text, *forms)) and any(map(str.isalnum, text))


def _with_gaps(
    constant: _SharedWords, lines: Sequence[Sequence[UtteranceWord]]
) -> list[UtteranceWord | None]:
    """Return the shared words, with None in place of each slot."""
    mentioned = constant.mentions()
    parts: list[UtteranceWord | None] = []
    for before, word, varies in zip([None, *constant.words], constant.words, mentioned, strict=False):
        if _something_between(lines, constant.words, before, word):
            parts.append(None)
        parts.append(None if varies else word)
    if _something_between(lines, constant.words, constant.words[-1] if constant.words else None, None):
        parts.append(None)
    return parts


def _something_between(
    lines: Sequence[Sequence[UtteranceWord]],
    shared: Sequence[UtteranceWord],
    before: UtteranceWord | None,
    behind: UtteranceWord | None,
) -> bool:
    """Whether some description has words between two shared words."""
    start = -1 if before is None else next(at for at, each in enumerate(shared) if each is before)
    for line in lines:
        places = _places(line, shared)
        begin = 0 if before is None else places[start] + 1
        end = len(line) if behind is None else places[start + 1]
        if end > begin:
            return True
    return False


def _places(line: Sequence[UtteranceWord], shared: Sequence[UtteranceWord]) -> list[int]:
    """Return the indices of the shared words in a sentence, each as early as possible."""
    places, at = [], 0
    for word in shared:
        while line[at].key != word.key:
            at += 1
        places.append(at)
        at += 1
    return places


def _merged(parts: Sequence[UtteranceWord | None]) -> list[UtteranceWord | None]:
    """Merge slots that are adjacent or separated only by a comma."""
    made: list[UtteranceWord | None] = []
    for part in parts:
        if part is None and made and made[-1] is None:
            continue
        comma = len(made) > 1 and made[-1] is not None and made[-1].text in ",;" and made[-2] is None
        if part is None and comma:
            made.pop()
            continue
        made.append(part)
    return made


def _split_amounts(
    parts: Sequence[UtteranceWord | None], lines: Sequence[Sequence[UtteranceWord]]
) -> list[UtteranceWord | None]:
    """Return the parts with two slots where all descriptions have an amount and more: "$20.00 Harbour Bank"."""
    every = [_list_spans(parts, words) for words in lines]
    made: list[UtteranceWord | None] = []
    for at, part in enumerate(parts):
        made.append(part)
        if part is not None:
            continue
        here = [words[slice(*spans[at])] for words, spans in zip(lines, every, strict=True)]
        if all(len(span) > 1 and "amount" in list_forms(span[0].text) for span in here):
            made.append(None)
    return made


def _list_spans(parts: Sequence[UtteranceWord | None], words: Sequence[UtteranceWord]) -> list[Span]:
    """Return where each part is in a sentence that has all of them."""
    slots = [UtteranceSlot(name="slot", may_be_empty=True) if each is None else each for each in parts]
    free = iter(_fit_slots(slots, words) or ())
    spans: list[Span] = []
    for part in parts:
        before = spans[-1][1] if spans else 0
        spans.append(next(free, (before, before)) if part is None else (before, before + 1))
    return spans


def _shaped(
    parts: Sequence[UtteranceWord | None], told: Sequence[str], used: Sequence[Collection[str]]
) -> UtteranceTemplate:
    """Build the template: name the slots and derive their properties from the observed texts."""
    names = _names(parts)
    free = iter(names)
    rough = UtteranceTemplate(
        parts=tuple(
            UtteranceSlot(name=next(free), may_be_empty=not _is_split(parts, at)) if each is None else each
            for at, each in enumerate(parts)
        )
    )
    seen: dict[str, list[tuple[str, bool]]] = {name: [] for name in names}
    for utterance in told:
        words = split_words(utterance)
        for slot, (begin, end) in zip(rough.slots, _fit_slots(rough.parts, words) or (), strict=True):
            span = words[begin:end]
            seen[slot.name].append((text_of_words(utterance, span), len(span) == 1 and span[0].quoted))
    return UtteranceTemplate(
        parts=tuple(
            _complete_slot(part, seen[part.name], used) if isinstance(part, UtteranceSlot) else part
            for part in rough.parts
        )
    )


def _is_split(parts: Sequence[UtteranceWord | None], at: int) -> bool:
    """Whether another slot is beside this one: an amount, or what follows it."""
    return None in (*parts[max(0, at - 1) : at], *parts[at + 1 : at + 2])


def _complete_slot(
    slot: UtteranceSlot, seen: Sequence[tuple[str, bool]], used: Sequence[Collection[str]]
) -> UtteranceSlot:
    texts = [text for text, _ in seen]
    quoted = all(quoted for _, quoted in seen)
    ways = [way for way in (False, True) if _is_enumeration(texts, used, commas_only=way)]
    return UtteranceSlot(
        name=slot.name,
        quoted=quoted,
        many=bool(ways) and not quoted,
        commas_only=bool(ways) and ways[0],
        may_be_empty=any(not text for text in texts),
    )


def _is_enumeration(texts: Sequence[str], used: Sequence[Collection[str]], *, commas_only: bool) -> bool:
    """Whether some text has several items, and each item of each was typed or acted on."""
    pieces = [split_listed_items(text, commas_only=commas_only) for text in texts]
    several = any(len(each) > 1 or (text and not each) for text, each in zip(texts, pieces, strict=True))
    return several and all(
        is_mentioned(piece, acted) for each, acted in zip(pieces, used, strict=True) for piece in each
    )


def _names(parts: Sequence[UtteranceWord | None]) -> list[str]:
    """Return a unique name for each slot: the last significant word before it, else the next one after it."""
    names: list[str] = []
    for at, part in enumerate(parts):
        if part is not None:
            continue
        before = [word for word in parts[:at] if word is not None]
        said = [build_identifier(word.text) for word in (*reversed(before), *filter(None, parts[at:]))]
        wanted = next((each for each in said if each and each not in _SMALL), "value")
        name, number = wanted, 1
        while name in names:
            number += 1
            name = f"{wanted}_{number}"
        names.append(name)
    return names


def _fit_slots(
    parts: Sequence[UtteranceWord | UtteranceSlot], words: Sequence[UtteranceWord]
) -> list[tuple[int, int]] | None:
    """Return the first word and the end of each slot, earlier slots as short as possible; None if nothing fits."""
    dead: set[tuple[int, int]] = set()

    def fit(part: int, at: int) -> list[tuple[int, int]] | None:
        if part == len(parts):
            return [] if at == len(words) else None
        if (part, at) in dead:
            return None
        for end in _ends(parts[part], words, at):
            rest = fit(part + 1, end)
            if rest is not None:
                return [(at, end), *rest] if isinstance(parts[part], UtteranceSlot) else rest
        dead.add((part, at))
        return None

    return fit(0, 0)


def _ends(part: UtteranceWord | UtteranceSlot, words: Sequence[UtteranceWord], at: int) -> Iterator[int]:
    """Yield the indices at which the next part may begin."""
    if isinstance(part, UtteranceWord):
        if at < len(words) and words[at].key == part.key:
            yield at + 1
    elif part.quoted:
        if at < len(words) and words[at].quoted:
            yield at + 1
    else:
        yield from range(at if part.may_be_empty else at + 1, len(words) + 1)


def expand_value_forms(values: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """Return the values of a description in every form in which a workflow may take them."""
    told: dict[str, str | list[str]] = dict(values)
    plain = {name: value for name, value in values.items() if isinstance(value, str)}
    for name, value in plain.items():
        told |= {f"{name}_{form}": text for form, text in list_forms(value, also_plain=True).items()}
        written = LETTERS.get(value.casefold())
        if written is not None:  # "in upper case": of another value
            told |= {f"{other}_in_{name}": written(text) for other, text in plain.items() if other != name}
    return told

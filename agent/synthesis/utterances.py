"""What the sentences that tasks were given in have in common: one template with slots, learned from
several of them and read off new ones (MA *beyond*: parameters are bound by the demonstrations).

Words that all sentences share stay; what stands between them varies and is a slot. What is quoted is one
word. A slot in which things are counted up is a list. A sentence that does not fit is refused; what its
slots are for is told by what was done, in `mentions`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce

from agent.synthesis.binding import identifier
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.forms import forms_of
from kb_schema.base import Model

LEAST_SHARED = 0.5
"""Share of the shortest sentence's words that all sentences have: less is no template."""
LONGEST_MENTION = 6
"""Words that what one sentence mentions may have."""
NOTHING = frozenset({"nothing", "none", "nobody", "no one"})
"""What people say for a list of nothing."""
_COUNTING = frozenset({",", ";", "and", "or", "&"})
_WORD = re.compile(r"""["\u201c](?P<quoted>[^"\u201c\u201d]*)["\u201d]|\S+""")
_BEFORE, _BEHIND = "([{'\u2018", ".,;:!?)]}'\u2019"
_SMALL = frozenset(["a", "an", "the", "with", "from", "by", "for", "of", "to", "in", "into", "on", "at", "and", "or", "then", "as", "that", "is", "are", "be", "it", "its", "this", "please", "first", "next"])  # fmt: skip


class UtteranceUnfit(MetaAgentError):
    """A sentence that the template does not fit. `utterance` is the sentence, `template` the template."""

    def __init__(self, utterance: str, template: str) -> None:
        self.utterance, self.template = utterance, template
        super().__init__(
            f"{utterance!r} does not say what the recordings were about: {template!r}",
            hint="say it in the words of the recordings, or record it said this way, too",
        )


class UtterancesUnlike(MetaAgentError):
    """Sentences that share too little to be one with gaps. `utterances` are two that show it."""

    def __init__(self, utterances: Sequence[str], shared: int) -> None:
        self.utterances, self.shared = tuple(utterances), shared
        super().__init__(
            f"the tasks are told in free words: of {utterances[0]!r} only {shared} words are in all the others",
            hint="tell them in one sentence with different values, or use a model",
        )


class Word(Model):
    """A word, a punctuation mark, or what stands in quotes."""

    text: str
    quoted: bool = False
    begin: int = 0
    end: int = 0

    @property
    def key(self) -> tuple[str, bool]:
        """What makes it the same word elsewhere."""
        return self.text.casefold(), self.quoted


class Slot(Model):
    """A gap of the template."""

    name: str
    quoted: bool = False
    """It always stands in quotes."""
    many: bool = False
    """Things that are counted up."""
    may_be_empty: bool = False

    def value(self, text: str) -> str | list[str]:
        """What a text in this gap is."""
        return pieces_of(text) if self.many else text


class Template(Model):
    """A sentence with gaps."""

    parts: tuple[Word | Slot, ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The gaps, in their order."""
        return tuple(part for part in self.parts if isinstance(part, Slot))

    def parse(self, utterance: str) -> dict[str, str | list[str]]:
        """What a sentence says in each gap. Raises `UtteranceUnfit`."""
        return {slot.name: slot.value(text) for slot, text in self.texts(utterance).items()}

    def texts(self, utterance: str) -> dict[Slot, str]:
        """The words in each gap, as they stand there. Raises `UtteranceUnfit`."""
        words = words_of(utterance)
        places = _fitted(self.parts, words)
        if places is None:
            raise UtteranceUnfit(utterance, str(self))
        return {
            slot: _text(utterance, words[begin:end])
            for slot, (begin, end) in zip(self.slots, places, strict=True)
        }

    def fixed(self, slot: Slot, text: str) -> Template:
        """The template with words in the place of a gap."""
        words = [Word(text=text, quoted=True)] if slot.quoted else words_of(text)
        parts: list[Word | Slot] = []
        for part in self.parts:
            parts += words if part == slot else [part]
        return Template(parts=tuple(parts))

    def __str__(self) -> str:
        """As a person would write it."""
        told = ""
        for part in self.parts:
            said = "{" + part.name + "}" if isinstance(part, Slot) else part.text
            said = f'"{said}"' if part.quoted else said
            told += said if said in _BEHIND or not told else f" {said}"
        return told


def words_of(utterance: str) -> list[Word]:
    """The words of a sentence, marks of punctuation apart, what is quoted as one.

    >>> [word.text for word in words_of('Find "the cat", now.')]
    ['Find', 'the cat', ',', 'now', '.']
    """
    found: list[Word] = []
    for match in _WORD.finditer(utterance):
        if match["quoted"] is not None:
            found.append(Word(text=match["quoted"], quoted=True, begin=match.start(), end=match.end()))
        else:
            found += _peeled(match[0], match.start())
    return found


def pieces_of(text: str) -> list[str]:
    """The things that are counted up in a text.

    >>> pieces_of("red, green and blue"), pieces_of("nothing")
    (['red', 'green', 'blue'], [])
    """
    if text.strip().casefold() in NOTHING | {""}:
        return []
    words = words_of(text)
    groups: list[list[Word]] = [[]]
    for word in words:
        if not word.quoted and word.text.casefold() in _COUNTING:
            groups.append([])
        else:
            groups[-1].append(word)
    return [_text(text, group) for group in groups if group]


def learned(
    utterances: Sequence[str], acted_on: Sequence[Collection[str]], typed: Sequence[Collection[str]] = ()
) -> Template:
    """The template of sentences. `acted_on`: for each of them what was typed, and what the things are called
    that were acted on: what is quoted and among these is a gap though nobody says anything else there. Of one
    sentence alone, what was `typed` is a gap as well.

    Raises `UtterancesUnlike`.
    """
    told = sorted(set(utterances), key=lambda each: (len(each), each))
    lines = [words_of(each) for each in told]
    shared = reduce(_common, lines[1:], lines[0])
    if len(lines) > 1 and len(shared) < LEAST_SHARED * min(map(len, lines)):
        raise UtterancesUnlike(told, len(shared))
    used = [_by_all(each, utterances, acted_on) for each in told]
    plain = [_by_all(told[0], utterances, typed)] if len(told) == 1 and typed else []
    parts = _with_gaps(_Constant(shared, used, plain), lines)
    return _shaped(_merged(parts), told, used)


def _by_all(utterance: str, utterances: Sequence[str], done: Sequence[Collection[str]]) -> frozenset[str]:
    """What everybody did who was told this sentence."""
    return frozenset.intersection(
        *(frozenset(each) for other, each in zip(utterances, done, strict=True) if other == utterance)
    )


# -- words


def _peeled(text: str, begin: int) -> Iterator[Word]:
    """A word without the marks around it, and these by themselves."""
    front = len(text) - len(text.lstrip(_BEFORE)) if text.strip(_BEFORE + _BEHIND) else 0
    core = text[front:].rstrip(_BEHIND) or text[front:]
    for at, mark in enumerate(text[:front]):
        yield Word(text=mark, begin=begin + at, end=begin + at + 1)
    yield Word(text=core, begin=begin + front, end=begin + front + len(core))
    for at, mark in enumerate(text[front + len(core) :], front + len(core)):
        yield Word(text=mark, begin=begin + at, end=begin + at + 1)


def _text(utterance: str, words: Sequence[Word]) -> str:
    if not words:
        return ""
    if len(words) == 1:
        return words[0].text
    return utterance[words[0].begin : words[-1].end]


def _common(one: Sequence[Word], other: Sequence[Word]) -> list[Word]:
    """The longest sequence of words that both have."""
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


# -- gaps


class _Constant:
    """Words that all sentences share, and which of them vary nevertheless: what is mentioned."""

    def __init__(
        self, words: Sequence[Word], used: Sequence[Collection[str]], plain: Sequence[Collection[str]]
    ) -> None:
        """`used` counts for what is quoted, `plain` for any words; each by sentence."""
        self.words, self._used, self._plain = words, used, plain

    def mentions(self) -> list[bool]:
        """For each word whether it is one that every recording acts on."""
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
    """Whether a text, in one of its forms, is among what was acted on."""
    return any(each in used for each in (text, *forms_of(text).values())) and any(map(str.isalnum, text))


def _with_gaps(constant: _Constant, lines: Sequence[Sequence[Word]]) -> list[Word | None]:
    """The shared words, None where something else may stand."""
    mentioned = constant.mentions()
    parts: list[Word | None] = []
    for before, word, varies in zip([None, *constant.words], constant.words, mentioned, strict=False):
        if _something_between(lines, constant.words, before, word):
            parts.append(None)
        parts.append(None if varies else word)
    if _something_between(lines, constant.words, constant.words[-1] if constant.words else None, None):
        parts.append(None)
    return parts


def _something_between(
    lines: Sequence[Sequence[Word]], shared: Sequence[Word], before: Word | None, behind: Word | None
) -> bool:
    """Whether some sentence has words between two shared ones."""
    start = -1 if before is None else next(at for at, each in enumerate(shared) if each is before)
    for line in lines:
        places = _places(line, shared)
        begin = 0 if before is None else places[start] + 1
        end = len(line) if behind is None else places[start + 1]
        if end > begin:
            return True
    return False


def _places(line: Sequence[Word], shared: Sequence[Word]) -> list[int]:
    """Where the shared words are in a sentence, each as early as it can be."""
    places, at = [], 0
    for word in shared:
        while line[at].key != word.key:
            at += 1
        places.append(at)
        at += 1
    return places


def _merged(parts: Sequence[Word | None]) -> list[Word | None]:
    """Gaps next to each other, or with only a comma between them, are one."""
    made: list[Word | None] = []
    for part in parts:
        if part is None and made and made[-1] is None:
            continue
        comma = len(made) > 1 and made[-1] is not None and made[-1].text in ",;" and made[-2] is None
        if part is None and comma:
            made.pop()
            continue
        made.append(part)
    return made


def _shaped(parts: Sequence[Word | None], told: Sequence[str], used: Sequence[Collection[str]]) -> Template:
    """Gaps with names, and what was seen in them."""
    names = _names(parts)
    free = iter(names)
    rough = Template(
        parts=tuple(Slot(name=next(free), may_be_empty=True) if each is None else each for each in parts)
    )
    seen: dict[str, list[tuple[str, bool]]] = {name: [] for name in names}
    for utterance in told:
        words = words_of(utterance)
        for slot, (begin, end) in zip(rough.slots, _fitted(rough.parts, words) or (), strict=True):
            span = words[begin:end]
            seen[slot.name].append((_text(utterance, span), len(span) == 1 and span[0].quoted))
    return Template(
        parts=tuple(
            _known(part, seen[part.name], used) if isinstance(part, Slot) else part for part in rough.parts
        )
    )


def _known(slot: Slot, seen: Sequence[tuple[str, bool]], used: Sequence[Collection[str]]) -> Slot:
    texts = [text for text, _ in seen]
    pieces = [pieces_of(text) for text in texts]
    quoted = all(quoted for _, quoted in seen)
    several = any(len(each) > 1 or (text and not each) for text, each in zip(texts, pieces, strict=True))
    counted = several and all(
        is_mentioned(piece, acted) for each, acted in zip(pieces, used, strict=True) for piece in each
    )
    return Slot(
        name=slot.name, quoted=quoted, many=counted and not quoted, may_be_empty=any(not text for text in texts)
    )  # fmt: skip


def _names(parts: Sequence[Word | None]) -> list[str]:
    """A name for each gap: the last word before it that says something, else the next behind it."""
    names: list[str] = []
    for at, part in enumerate(parts):
        if part is not None:
            continue
        before = [word for word in parts[:at] if word is not None]
        said = [identifier(word.text) for word in (*reversed(before), *filter(None, parts[at:]))]
        wanted = next((each for each in said if each and each not in _SMALL), "value")
        name, number = wanted, 1
        while name in names:
            number += 1
            name = f"{wanted}_{number}"
        names.append(name)
    return names


def _fitted(parts: Sequence[Word | Slot], words: Sequence[Word]) -> list[tuple[int, int]] | None:
    """From and up to which word each gap goes, earlier gaps as short as can be; None where it does not fit."""
    dead: set[tuple[int, int]] = set()

    def fit(part: int, at: int) -> list[tuple[int, int]] | None:
        if part == len(parts):
            return [] if at == len(words) else None
        if (part, at) in dead:
            return None
        for end in _ends(parts[part], words, at):
            rest = fit(part + 1, end)
            if rest is not None:
                return [(at, end), *rest] if isinstance(parts[part], Slot) else rest
        dead.add((part, at))
        return None

    return fit(0, 0)


def _ends(part: Word | Slot, words: Sequence[Word], at: int) -> Iterator[int]:
    """Where the next part may begin."""
    if isinstance(part, Word):
        if at < len(words) and words[at].key == part.key:
            yield at + 1
    elif part.quoted:
        if at < len(words) and words[at].quoted:
            yield at + 1
    else:
        yield from range(at if part.may_be_empty else at + 1, len(words) + 1)


def said(values: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """What a sentence says, in every form that a workflow may have been given it in."""
    told: dict[str, str | list[str]] = dict(values)
    for name, value in values.items():
        if isinstance(value, str):
            told |= {f"{name}_{form}": text for form, text in forms_of(value).items()}
    return told

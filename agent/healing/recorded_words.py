"""Decides whether the words of an element contradict the words that were recorded for a step.

The selector of a task is trusted, but not against the words: a button that is called something else may do
something else. The same words, no words, and a harmless change of words in the same place do not contradict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.dangers.danger_words import find_danger_in_words
from agent.healing.fingerprint_comparison import (
    FOREIGN_WORDS,
    SAME_CONTEXT,
    SAME_PLACE,
    FingerprintComparison,
    compare_fingerprints,
    describe_verb_conflict,
    is_same_kind,
    kind_of,
    read_link_target,
)
from agent.locators.page_index import PageIndex
from kb_schema.excerpts import excerpt
from kb_schema.explorations import Danger
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import SMALL_WORDS, are_opposite, is_destructive, meanings, undoes, words

LONGEST_WORDS = 80
"""Characters. A longer text is content, not what a control is called."""
_HARM: dict[Danger, int] = {"submits": 1, "uploads": 1, "sends": 2, "signs_out": 2, "pays": 3, "deletes": 3}
ANY_ACT = frozenset({"confirm", "submit", "ok", "continue", "accept"})
"""Words in ids of buttons that may do anything."""
_NAMES_NOTHING = SMALL_WORDS | {"it", "them", "these", "those", "now", "yes", "ok", "okay", "sure", "please"}
_SYNONYMS = frozenset({"pays", "deletes", "signs_out"})
"""Dangers whose words all mean the same act. Others contain opposites: `publish` and `unpublish`."""


@dataclass(frozen=True, slots=True)
class RecordedElement:
    """The element of a step as it was recorded."""

    fingerprint: Fingerprint
    whichever: bool = False
    """The selector means the first or last of a list: only the act must be the same, not the words."""
    varies: bool = False
    """The selector means another element for other values: what all have in common finds none of them."""

    def find_conflict(self, index: PageIndex, at: int, seen: Fingerprint) -> str | None:
        """Return what was recorded and what is there now, if the words contradict; else None."""
        recorded = self.fingerprint
        ours = read_words(recorded)
        if ours is None:
            return self._find_identifier_conflict(seen)
        theirs = read_same_words(recorded, seen) or (seen.text if _is_pressed(recorded) else None)
        if theirs is None or _are_equal(ours, theirs):
            return None
        why = next(self._list_reasons(index, at, seen, ours, theirs), None)
        if why is None:
            return None
        return f"recorded was {_describe(recorded, ours)}, there is {_describe(seen, theirs)} now; {why}"

    def _find_identifier_conflict(self, seen: Fingerprint) -> str | None:
        """Return why an element without recorded words does something else than its id or name says.

        Only for imported steps, of which nothing else is known. An id is no word that people read: it counts only if it says
        what the element does, and only against an element that undoes that, or does more harm.
        """
        recorded, theirs = self.fingerprint, read_words(seen) or seen.text
        if not _is_imported(recorded) or not theirs:
            return None
        for called in (recorded.test_id, recorded.attributes.get("id"), recorded.attributes.get("name")):
            why = next(_list_identifier_harms(called, theirs), None) if called else None
            if why is not None:
                return f"recorded was {called!r}, there is {_describe(seen, theirs)} now; {why}"
        return None

    def is_here(self, seen: Fingerprint) -> bool:
        """Whether an element is the recorded one beyond doubt: same role, same words, and the same address or like
        surroundings.

        False for an element without words, and for one without an address where too little is known of the surroundings.
        """
        recorded = self.fingerprint
        ours, theirs = read_words(recorded), read_same_words(recorded, seen)
        if ours is None or theirs is None or not _are_equal(ours, theirs):
            return False
        if recorded.role != seen.role:
            return False
        target, context = read_link_target(recorded), compare_fingerprints(recorded, seen).context
        leads_there = target is not None and target == read_link_target(seen)
        return leads_there or (context is not None and context >= SAME_CONTEXT)

    def keep_bearers(self, candidates: Sequence[tuple[int, Fingerprint]]) -> list[tuple[int, Fingerprint]]:
        """Return the candidates with the recorded words, if any has them: the others contradict. Else all."""
        ours = read_words(self.fingerprint)
        if ours is None or self.varies:
            return list(candidates)
        same = [(at, seen) for at, seen in candidates if _bears(seen, self.fingerprint, ours)]
        return same or list(candidates)

    def _list_reasons(
        self, index: PageIndex, at: int, seen: Fingerprint, ours: str, theirs: str
    ) -> Iterator[str]:
        presses = _is_pressed(self.fingerprint)
        if presses:
            yield from list_harms(ours, theirs)
            yield from list_other_acts(ours, theirs)
        if self.whichever or (self.varies and _opens_menu(self.fingerprint)):
            return
        if bears_words(index, at, self.fingerprint, ours):
            yield f"{ours!r} is elsewhere on the page"
        if theirs in self.fingerprint.neighbours:
            yield f"{theirs!r} stood beside it"
        if presses and not _is_rewording(compare_fingerprints(self.fingerprint, seen), ours, theirs):
            yield "neither the words nor the place are the same"


def _list_identifier_harms(called: str, theirs: str) -> Iterator[str]:
    """Yield why pressing a control that is called `theirs` would undo what an id says, or do more harm."""
    if not ANY_ACT.isdisjoint(words(called)):
        return
    if are_opposite(called, theirs):
        yield f"{excerpt(theirs, 60)!r} is the opposite of {excerpt(called, 60)!r}"
    acts = _list_acts(called)
    if (acts or find_danger_in_words(called, pressed=True)) and not acts & _list_acts(theirs):
        yield from list_harms(called, theirs)


def _is_pressed(known: Fingerprint) -> bool:
    """Whether the element is pressed; one of which neither tag nor role is known counts as such."""
    return kind_of(known) == "press" or (known.tag is None and known.role is None)


def _is_imported(known: Fingerprint) -> bool:
    """Whether no page showed the element, only a recording of another tool."""
    return known.place is None and known.xpath is None and not known.region and not known.neighbours


def read_words(known: Fingerprint) -> str | None:
    """Return what an element is called; None for an icon, an element without a name, or a long text."""
    for field in _list_word_fields(known):
        text: str | None = getattr(known, field)
        if text:
            return text if len(text) <= LONGEST_WORDS and words(text) else None
    return None


def _list_word_fields(known: Fingerprint) -> tuple[str, ...]:
    # The text of a field is its options or nothing.
    return ("name", "label", "text") if _is_pressed(known) else ("name", "label")


def read_same_words(recorded: Fingerprint, seen: Fingerprint) -> str | None:
    """Return the words of the field that the recorded words are from; else what the element is called."""
    field = next((each for each in _list_word_fields(recorded) if getattr(recorded, each)), "name")
    same: str | None = getattr(seen, field)
    return same or read_words(seen)


def _opens_menu(known: Fingerprint) -> bool:
    """Whether pressing it only shows what there is to choose: in a row its words may be the row's state."""
    return known.tag == "summary" or known.attributes.get("aria-haspopup", "false") != "false"


def _are_equal(ours: str, theirs: str) -> bool:
    """Whether two texts have the same words; a number that only one of them has is a counter."""
    mine, its = words(ours), words(theirs)
    plain = [tuple(each for each in said if not each.isdecimal()) for said in (mine, its)]
    counter = bool(plain[0]) and plain[0] == plain[1] and (plain[0] == mine or plain[1] == its)
    return mine == its or counter


def _describe(known: Fingerprint, said: str) -> str:
    return f"{known.role or known.tag or 'element'} {excerpt(said, 60)!r}"


def find_harm(known: Fingerprint, seen: Fingerprint) -> str | None:
    """Return why pressing the seen element would undo, oppose or harm more than pressing the known one; None if its
    words do not say so, or it is not pressed.
    """
    ours, theirs = read_words(known), read_words(seen)
    if ours is None or theirs is None or kind_of(known) not in (None, "press"):
        return None
    return next(list_harms(ours, theirs), None)


def list_harms(ours: str, theirs: str) -> Iterator[str]:
    """Yield why pressing a control that is called `theirs` would be the opposite of `ours`, or more harmful."""
    if is_destructive(theirs) and not is_destructive(ours) and not meanings(ours) & meanings(theirs):
        yield f"{excerpt(theirs, 60)!r} destroys, {excerpt(ours, 60)!r} did not"
    if _destroys_more(ours, theirs):
        yield f"{excerpt(theirs, 60)!r} names something that {excerpt(ours, 60)!r} did not"
    if are_opposite(ours, theirs) or (undoes(theirs) and not undoes(ours)):
        yield f"{excerpt(theirs, 60)!r} is the opposite of {excerpt(ours, 60)!r}"
    mine, its = (find_danger_in_words(each, pressed=True) for each in (ours, theirs))
    harm, least = (0 if each is None else _HARM.get(each[0], 0) for each in (its, mine))
    another = mine is not None and its is not None and mine[0] != its[0]
    if its is not None and (harm > max(1, least) or (another and harm >= max(2, least))):
        yield f"{excerpt(theirs, 60)!r} {its[0].replace('_', ' ')}"
    mine, its = (find_danger_in_words(each, pressed=False) for each in (ours, theirs))
    if mine is not None and its is not None and mine != its and not {mine[0], its[0]} <= _SYNONYMS:
        yield f"{excerpt(theirs, 60)!r} may be the opposite"


def _destroys_more(ours: str, theirs: str) -> bool:
    """Whether other words for destroying name a thing that the recorded ones did not: `Delete account` for `Remove`."""
    if not (is_destructive(ours) and is_destructive(theirs)):
        return False
    mine, its = (
        {each for each in words(text) if each not in _NAMES_NOTHING and not is_destructive(each)}
        for text in (ours, theirs)
    )
    same_verb = any(is_destructive(each) for each in set(words(ours)) & set(words(theirs)))
    return not same_verb and bool(its - mine)


def list_other_acts(ours: str, theirs: str) -> Iterator[str]:
    """Yield why pressing a control that is called `theirs` would do something else than `ours`, as far as verbs tell."""
    conflict = describe_verb_conflict(ours, theirs)
    if conflict is not None:
        yield conflict
    acts, others = _list_acts(ours), _list_acts(theirs)
    if acts - others and others - acts:
        yield f"{excerpt(theirs, 60)!r} does something else than {excerpt(ours, 60)!r}"


def _list_acts(text: str) -> frozenset[int]:
    return meanings(text) | meanings(" ".join(word.removesuffix("s") for word in words(text)))


def bears_words(index: PageIndex, at: int, recorded: Fingerprint, ours: str) -> bool:
    """Return whether another visible element of its kind than the one at `at` has the recorded words."""
    related = {each.at for each in index.ancestors(index.elements[at])}
    for each in index.interactive:
        if each.at == at or each.at in related or not each.visible:
            continue
        other = Fingerprint(
            role=each.role, tag=each.tag, name=each.name or None, label=each.label or None,
            text=each.text or None, attributes={"type": each.attributes.get("type", "")},
        )  # fmt: skip
        if _bears(other, recorded, ours) and all(above.at != at for above in index.ancestors(each)):
            return True
    return False


def _bears(seen: Fingerprint, recorded: Fingerprint, ours: str) -> bool:
    return words(read_same_words(recorded, seen) or "") == words(ours) and is_same_kind(recorded, seen)


def _is_rewording(compared: FingerprintComparison, ours: str, theirs: str) -> bool:
    """Whether other words in this place can only be a change of wording."""
    mine, its = set(words(ours)), set(words(theirs))
    context = compared.context
    if mine <= its or its <= mine:
        return context is None or context >= SAME_CONTEXT
    if context is None:
        return (compared.words or 0.0) >= FOREIGN_WORDS
    heading = compared.similarity.likeness("heading")
    return context >= SAME_PLACE and (heading is None or heading >= SAME_CONTEXT)

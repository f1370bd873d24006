"""Which element of a look a locator meant: two independent witnesses must agree on one, or nobody knows.

Pure functions over one look at a page (DESIGN 6: where there is no fingerprint yet, two must agree). What the
locator says is in `meaning.py`; elements that were seen when the test passed are found by `agent/healing`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agent.healing.judging import judge
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import IndexedElement, PageIndex
from agent.locating.roles import fitting
from agent.locating.words import plain
from agent.optimizing.meaning import OPERABLE, Meaning, meaning_of
from kb_schema.fingerprints import Fingerprint
from kb_schema.wording import identifier_likeness, is_destructive, meaning_likeness

ALIKE = 0.6
"""Words, or identifiers, that are mostly the same."""
EQUAL = 0.95
LEAST_LEAD = 0.5
"""By so much the weight of one must be more than that of any other."""
ENOUGH, ENOUGH_TO_DESTROY = 2, 3
"""Independent witnesses."""
ACTIONS = {
    "click": "click", "dblclick": "double_click", "tap": "click", "hover": "hover", "fill": "fill", "type": "fill",
    "press_sequentially": "fill", "clear": "clear", "check": "check", "uncheck": "uncheck", "set_checked": "check",
    "select_option": "select_option", "set_input_files": "upload_file",
}  # fmt: skip
"""Playwright's actions as the vocabulary has them; for the others any element will do."""


@dataclass(frozen=True, slots=True)
class Witness:
    """One thing that speaks for an element."""

    kind: str
    said: str
    weight: float
    telling: bool = False
    """It tells one element from others; a role alone does not."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An element, and what speaks for it."""

    at: int
    seen: Fingerprint
    witnesses: tuple[Witness, ...]

    @property
    def weight(self) -> float:
        """Of all that speaks for it."""
        return sum(each.weight for each in self.witnesses)

    @property
    def reasons(self) -> tuple[str, ...]:
        """For people."""
        return tuple(each.said for each in self.witnesses)

    def has(self, kind: str) -> bool:
        """Whether there is such a witness."""
        return any(each.kind == kind for each in self.witnesses)


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who was meant: `best` where that is sure, else why not, and what came near."""

    best: Heard | None
    nearest: Heard | None
    reason: str
    ambiguous: bool = False


def hear(
    index: PageIndex,
    meaning: Meaning,
    *,
    action: str | None = None,
    inside: Collection[int] | None = None,
    expecting: bool = False,
    existence: bool = False,
) -> Hearing:
    """The element the locator means. `inside`: places of the elements within its container, where that is
    there. `expecting`: an assertion is asked of it; `existence`: it asserts that the element is there.
    """
    prints = Fingerprints(index)
    shown = [each for each in index.elements if each.visible or each.by_label]
    operated = not expecting or meaning.role in OPERABLE
    pool = shown if not operated else fitting(index.interactive, ACTIONS.get(action or ""))
    heard = [
        Heard(each.at, seen, found)
        for each in pool
        if (expecting or each.enabled or each.by_label)
        and (found := tuple(_witnesses(each, seen := prints.of(each.at), meaning, inside, pool)))
    ]
    told = [each for each in heard if any(one.telling for one in each.witnesses)]
    told = [
        each
        for each in told
        if _may_be(meaning, each, expecting=expecting) and _may_stand(meaning, each, inside)
    ]
    told.sort(key=lambda each: (-each.weight, each.at))
    if not told:
        return Hearing(None, None, "nothing on the page is called or identified alike")
    best, *others = _outermost_left_out(index, told)
    rivals = [each for each in others if best.weight - each.weight < LEAST_LEAD]
    if rivals:
        return Hearing(None, best, f"{len(rivals) + 1} elements may be meant", ambiguous=True)
    destroys = any(map(is_destructive, (*meaning.words, *best.seen.words)))
    unsaid = existence and not _says_just_that(meaning, best.seen)
    enough = ENOUGH_TO_DESTROY if destroys or unsaid else ENOUGH
    if len(best.witnesses) < enough:
        return Hearing(
            None, best, f"only {len(best.witnesses)} of {enough} witnesses: {', '.join(best.reasons)}"
        )
    return Hearing(best, best, f"{', '.join(best.reasons)} agree")


def says_as_much(meaning: Meaning, seen: Fingerprint) -> bool:
    """Whether an element says all the words the locator told it by, so that none of them is given up."""
    said = [plain(each) for each in seen.words]
    return all(any(plain(words) in each for each in said) for words in meaning.words)


def _says_just_that(meaning: Meaning, seen: Fingerprint) -> bool:
    said = {plain(each) for each in seen.words}
    return bool(meaning.words) and all(plain(each) in said for each in meaning.words)


def _may_be(meaning: Meaning, heard: Heard, *, expecting: bool) -> bool:
    if expecting and meaning.is_content and not says_as_much(meaning, heard.seen):
        return False
    if meaning.role in OPERABLE and heard.seen.role is not None:
        known = Fingerprint(role=meaning.role, name=meaning.words[0] if meaning.words else None)
        return not judge(known, heard.seen).contradictions
    if meaning.words and heard.seen.name and not expecting:
        known = Fingerprint(role=heard.seen.role, name=meaning.words[0])
        return not judge(known, heard.seen).contradictions
    return True


def _may_stand(meaning: Meaning, heard: Heard, inside: Collection[int] | None) -> bool:
    """Not elsewhere than the locator says: in its container, or beside the words that told that."""
    if inside is not None:
        return heard.at in inside
    around = meaning_of(meaning.container)
    words = around.words if around is not None else ()
    said = [plain(each) for each in heard.seen.surroundings]
    return all(any(plain(each) in one for one in said) for each in words)


def _outermost_left_out(index: PageIndex, told: list[Heard]) -> list[Heard]:
    """Without what only holds a better one: its words are that one's."""
    best = told[0]
    around = {each.at for each in index.ancestors(index.elements[best.at])}
    within = {each.at for each in index.descendants(index.elements[best.at])}
    return [each for each in told if each.at not in around and each.at not in within]


def _witnesses(
    element: IndexedElement,
    seen: Fingerprint,
    meaning: Meaning,
    inside: Collection[int] | None,
    pool: Collection[IndexedElement],
) -> Iterator[Witness]:
    yield from _by_words(element, seen, meaning)
    yield from _by_identifiers(element, meaning)
    if meaning.role is not None and element.role == meaning.role:
        yield Witness("role", f"it is a {meaning.role}", 0.5)
    elif meaning.type is not None and element.attributes.get("type") == meaning.type:
        yield Witness("type", f"its type is {meaning.type}", 0.5)
    elif (
        meaning.tag is not None and element.tag == meaning.tag and meaning.tag not in ("div", "span", "input")
    ):
        yield Witness("tag", f"it is a {meaning.tag}", 0.25)
    if meaning.href is not None and element.attributes.get("href") == meaning.href:
        yield Witness("href", f"it leads to {meaning.href}", 1.5, telling=True)
    if inside is not None and element.at in inside:
        yield Witness("container", "it stands where it did", 1.0)
    if _is_alone(element, meaning, [each for each in pool if inside is None or each.at in inside]):
        yield Witness("alone", f"it is the only {element.role} there", 0.5, telling=inside is not None)


def _is_alone(element: IndexedElement, meaning: Meaning, among: Collection[IndexedElement]) -> bool:
    """Whether no other is what the locator says it is: of its role, or of its type."""

    def kind(each: IndexedElement) -> tuple[str | None, str | None]:
        return each.role, each.attributes.get("type") if meaning.type else None

    if element.role is None:
        return False
    named = {plain(each) for each in (*meaning.identifiers, *meaning.classes, meaning.role or "")}
    said = meaning.type == element.attributes.get("type") if meaning.type else element.role in named
    return said and sum(kind(each) == kind(element) for each in among) == 1


def _by_words(element: IndexedElement, seen: Fingerprint, meaning: Meaning) -> Iterator[Witness]:
    own = [*seen.words, *([seen.before] if seen.before and element.role in OPERABLE else [])]
    said = max(
        ((meaning_likeness(ours, theirs), ours, theirs) for ours in meaning.words for theirs in own),
        default=None,
    )
    if said is not None and said[0] >= ALIKE:
        yield Witness("words", f"it is called {said[2][:60]!r}", 2.0 * said[0], telling=True)
    ident = max(
        ((identifier_likeness(words, each), each) for words in meaning.words for each in element.identities),
        default=None,
    )
    if ident is not None and ident[0] >= ALIKE:
        yield Witness("identity of words", f"its author calls it {ident[1][:60]!r}", ident[0], telling=True)


def _by_identifiers(element: IndexedElement, meaning: Meaning) -> Iterator[Witness]:
    own = element.identities
    told = (*meaning.identifiers, *meaning.classes)
    alike = max(((identifier_likeness(a, b), b) for a in meaning.identifiers for b in own), default=None)
    if alike is not None and alike[0] >= ALIKE:
        yield Witness("identifier", f"it is identified as {alike[1][:60]!r}", 1.5 * alike[0], telling=True)
    shared = set(meaning.classes) & set(element.classes)
    if shared:
        yield Witness("class", f"it has the class {min(shared)}", 0.75)
    names = [each for each in (element.name, element.label, element.placeholder) if each]
    named = max(((identifier_likeness(a, b), b) for a in told for b in names), default=None)
    if named is not None and named[0] >= ALIKE:
        yield Witness("words of identity", f"it is called {named[1][:60]!r}", 1.5 * named[0], telling=True)
    if element.role is not None and any(plain(each) == element.role for each in told):
        yield Witness("role of identity", f"it is a {element.role}", 1.0, telling=True)
    kind = element.attributes.get("type", "")
    if kind not in ("", "text") and any(plain(each) == kind for each in told):
        yield Witness("type of identity", f"its type is {kind}", 1.0, telling=True)

"""Decides which element of a page index a locator meant: two independent pieces of evidence must agree on
one.

Pure functions, for locators without a fingerprint. `locator_description` reads what the locator says;
elements with a fingerprint are found by `agent/healing`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agent.healing.fingerprint_comparison import compare_fingerprints
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.role_hints import select_fitting_elements
from agent.locators.word_comparison import normalize_words
from agent.optimization.locator_description import OPERABLE, LocatorDescription, describe_locator
from agent.optimization.source_history import RecordedRename
from kb_schema.excerpts import excerpt
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import identifier_likeness, is_destructive, meaning_likeness

ALIKE = 0.6
"""Similarity from which words, or identifiers, count as mostly the same."""
EQUAL = 0.95
LEAST_LEAD = 0.5
"""The best element's weight must exceed that of any other by this."""
ENOUGH, ENOUGH_TO_DESTROY = 2, 3
"""Independent witnesses."""
ACTIONS = {
    "click": "click",
    "dblclick": "double_click",
    "tap": "click",
    "hover": "hover",
    "fill": "fill",
    "type": "fill",
    "press_sequentially": "fill",
    "clear": "clear",
    "check": "check",
    "uncheck": "uncheck",
    "set_checked": "check",
    "select_option": "select_option",
    "set_input_files": "upload_file",
}
"""Playwright's actions with our names; any element is suitable for the others."""


@dataclass(frozen=True, slots=True)
class TargetEvidence:
    """One piece of evidence for an element."""

    kind: str
    said: str
    weight: float
    telling: bool = False
    """It distinguishes elements; a role alone does not."""


@dataclass(frozen=True, slots=True)
class TargetCandidate:
    """An element, and the evidence for it."""

    at: int
    seen: Fingerprint
    witnesses: tuple[TargetEvidence, ...]

    @property
    def weight(self) -> float:
        """Of all that speaks for it."""
        return sum(each.weight for each in self.witnesses)

    @property
    def reasons(self) -> tuple[str, ...]:
        """For people."""
        return tuple(each.said for each in self.witnesses)

    def has(self, kind: str) -> bool:
        """Return whether there is evidence of this kind."""
        return any(each.kind == kind for each in self.witnesses)


@dataclass(frozen=True, slots=True)
class TargetDecision:
    """The element that was meant: `best` if that is certain, otherwise the reason and the nearest elements."""

    best: TargetCandidate | None
    nearest: TargetCandidate | None
    reason: str
    ambiguous: bool = False
    offered: bool = False
    """The nearest one leads, but too little speaks for it: a person decides."""


def find_locator_target(
    index: PageIndex,
    meaning: LocatorDescription,
    *,
    action: str | None = None,
    inside: Collection[int] | None = None,
    expecting: bool = False,
    existence: bool = False,
    renames: Sequence[RecordedRename] = (),
) -> TargetDecision:
    """Return the element the locator means.

    `inside`: positions of the elements within its container, if the page has it. `expecting`: the call is an
    assertion; `existence`: it asserts that the element is present. `renames`: what git says its words and identifiers
    were replaced by.
    """
    prints = PageFingerprints(index)
    shown = [each for each in index.elements if each.visible or each.by_label]
    operated = not expecting or meaning.role in OPERABLE
    pool = shown if not operated else select_fitting_elements(index.interactive, ACTIONS.get(action or ""))
    heard = [
        TargetCandidate(each.at, seen, found)
        for each in pool
        if (expecting or each.enabled or each.by_label)
        and (found := tuple(_witnesses(each, seen := prints.of(each.at), meaning, inside, pool, renames)))
    ]
    told = [each for each in heard if any(one.telling for one in each.witnesses)]
    told = [
        each
        for each in told
        if (_is_renamed(each) or _may_be(meaning, each, expecting=expecting))
        and _may_stand(meaning, each, inside)
    ]
    told.sort(key=lambda each: (-each.weight, each.at))
    if not told:
        return TargetDecision(None, None, "no element of the page has a similar name or identifier")
    best, *others = _outermost_left_out(index, told)
    rivals = [each for each in others if best.weight - each.weight < LEAST_LEAD]
    if rivals:
        return TargetDecision(None, best, f"{len(rivals) + 1} elements may be meant", ambiguous=True)
    destroys = any(map(is_destructive, (*meaning.words, *best.seen.words)))
    unsaid = existence and not _says_just_that(meaning, best.seen)
    enough = ENOUGH_TO_DESTROY if destroys or unsaid else ENOUGH
    if len(best.witnesses) < enough:
        said = ", ".join(best.reasons)
        return TargetDecision(
            None, best, f"only {len(best.witnesses)} of {enough} witnesses: {said}", offered=True
        )
    return TargetDecision(best, best, f"{', '.join(best.reasons)} agree")


def _is_renamed(heard: TargetCandidate) -> bool:
    """Return whether git says that it has the new words; then they do not contradict the old ones."""
    return heard.has("history")


def has_all_words(meaning: LocatorDescription, seen: Fingerprint) -> bool:
    """Return whether an element has all the words of the locator, so that none of them is given up."""
    said = [normalize_words(each) for each in seen.words]
    return all(any(normalize_words(words) in each for each in said) for words in meaning.words)


def _says_just_that(meaning: LocatorDescription, seen: Fingerprint) -> bool:
    said = {normalize_words(each) for each in seen.words}
    return bool(meaning.words) and all(normalize_words(each) in said for each in meaning.words)


def _may_be(meaning: LocatorDescription, heard: TargetCandidate, *, expecting: bool) -> bool:
    if expecting and meaning.is_content and not has_all_words(meaning, heard.seen):
        return False
    if meaning.role in OPERABLE and heard.seen.role is not None:
        known = Fingerprint(role=meaning.role, name=meaning.words[0] if meaning.words else None)
        return not compare_fingerprints(known, heard.seen).contradictions
    if meaning.words and heard.seen.name and not expecting:
        known = Fingerprint(role=heard.seen.role, name=meaning.words[0])
        return not compare_fingerprints(known, heard.seen).contradictions
    return True


def _may_stand(meaning: LocatorDescription, heard: TargetCandidate, inside: Collection[int] | None) -> bool:
    """Return whether the element is where the locator says: in its container, or beside the same words."""
    if inside is not None:
        return heard.at in inside
    around = describe_locator(meaning.container)
    words = around.words if around is not None else ()
    said = [normalize_words(each) for each in heard.seen.surroundings]
    return all(any(normalize_words(each) in one for one in said) for each in words)


def _outermost_left_out(index: PageIndex, told: list[TargetCandidate]) -> list[TargetCandidate]:
    """Remove elements that merely contain a better one: its words are that one's."""
    best = told[0]
    around = {each.at for each in index.ancestors(index.elements[best.at])}
    within = {each.at for each in index.descendants(index.elements[best.at])}
    return [each for each in told if each.at not in around and each.at not in within]


def _witnesses(
    element: IndexedElement,
    seen: Fingerprint,
    meaning: LocatorDescription,
    inside: Collection[int] | None,
    pool: Collection[IndexedElement],
    renames: Sequence[RecordedRename],
) -> Iterator[TargetEvidence]:
    yield from _by_history(element, seen, renames)
    yield from _by_words(element, seen, meaning)
    yield from _by_identifiers(element, meaning)
    if meaning.role is not None and element.role == meaning.role:
        yield TargetEvidence("role", f"it is a {meaning.role}", 0.5)
    elif meaning.type is not None and element.attributes.get("type") == meaning.type:
        yield TargetEvidence("type", f"its type is {meaning.type}", 0.5)
    elif (
        meaning.tag is not None and element.tag == meaning.tag and meaning.tag not in ("div", "span", "input")
    ):
        yield TargetEvidence("tag", f"it is a {meaning.tag}", 0.25)
    if meaning.href is not None and element.attributes.get("href") == meaning.href:
        yield TargetEvidence("href", f"it leads to {meaning.href}", 1.5, telling=True)
    if inside is not None and element.at in inside:
        yield TargetEvidence("container", "it stands where it did", 1.0)
    if _is_alone(element, meaning, [each for each in pool if inside is None or each.at in inside]):
        yield TargetEvidence("alone", f"it is the only {element.role} there", 0.5, telling=inside is not None)


def _is_alone(
    element: IndexedElement, meaning: LocatorDescription, among: Collection[IndexedElement]
) -> bool:
    """Return whether no other element has the role or type the locator names."""

    def kind(each: IndexedElement) -> tuple[str | None, str | None]:
        return each.role, each.attributes.get("type") if meaning.type else None

    if element.role is None:
        return False
    named = {normalize_words(each) for each in (*meaning.identifiers, *meaning.classes, meaning.role or "")}
    said = meaning.type == element.attributes.get("type") if meaning.type else element.role in named
    return said and sum(kind(each) == kind(element) for each in among) == 1


def _by_history(
    element: IndexedElement, seen: Fingerprint, renames: Sequence[RecordedRename]
) -> Iterator[TargetEvidence]:
    said = {normalize_words(each) for each in seen.words}
    for each in renames:
        if normalize_words(each.after) in said or each.after in element.identities:
            yield TargetEvidence("history", str(each), 2.0, telling=True)
            return


def _by_words(
    element: IndexedElement, seen: Fingerprint, meaning: LocatorDescription
) -> Iterator[TargetEvidence]:
    own = [*seen.words, *([seen.before] if seen.before and element.role in OPERABLE else [])]
    said = max(
        ((meaning_likeness(ours, theirs), ours, theirs) for ours in meaning.words for theirs in own),
        default=None,
    )
    if said is not None and said[0] >= ALIKE:
        yield TargetEvidence("words", f"it is called {excerpt(said[2], 60)!r}", 2.0 * said[0], telling=True)
    ident = max(
        ((identifier_likeness(words, each), each) for words in meaning.words for each in element.identities),
        default=None,
    )
    if ident is not None and ident[0] >= ALIKE:
        yield TargetEvidence(
            "identity of words", f"its author calls it {excerpt(ident[1], 60)!r}", ident[0], telling=True
        )


def _by_identifiers(element: IndexedElement, meaning: LocatorDescription) -> Iterator[TargetEvidence]:
    own = element.identities
    told = (*meaning.identifiers, *meaning.classes)
    alike = max(((identifier_likeness(a, b), b) for a in meaning.identifiers for b in own), default=None)
    if alike is not None and alike[0] >= ALIKE:
        yield TargetEvidence(
            "identifier", f"it is identified as {excerpt(alike[1], 60)!r}", 1.5 * alike[0], telling=True
        )
    shared = set(meaning.classes) & set(element.classes)
    if shared:
        yield TargetEvidence("class", f"it has the class {min(shared)}", 0.75)
    names = [each for each in (element.name, element.label, element.placeholder) if each]
    named = max(((identifier_likeness(a, b), b) for a in told for b in names), default=None)
    if named is not None and named[0] >= ALIKE:
        yield TargetEvidence(
            "words of identity", f"it is called {excerpt(named[1], 60)!r}", 1.5 * named[0], telling=True
        )
    if element.role is not None and any(normalize_words(each) == element.role for each in told):
        yield TargetEvidence("role of identity", f"it is a {element.role}", 1.0, telling=True)
    kind = element.attributes.get("type", "")
    if kind not in ("", "text") and any(normalize_words(each) == kind for each in told):
        yield TargetEvidence("type of identity", f"its type is {kind}", 1.0, telling=True)

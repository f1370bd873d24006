"""Decides whether two fingerprints are of one element.

High similarity alone proves nothing: a new button in the place of an old one is similar. Two fingerprints are
of one element if they share *anchors* (identifying features: words, id, link address) and no rule contradicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kb_schema.excerpts import excerpt
from kb_schema.fingerprint_similarity import Similarity, similarity
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import is_destructive, meaning_likeness, meanings, words_likeness

ALIKE_WORDS = 0.6
"""Least similarity of words that mostly agree."""
FOREIGN_WORDS = 0.34
"""Below this, less than one word in three is shared: the name is a different one."""
ALIKE_IDS = 0.6
KEY_FOUND = 0.85
"""Least similarity of the words that distinguish an element from others with its name."""
SAME_CONTEXT = 0.5
ENOUGH_CONTEXT = 1.0
"""Least weight of the surroundings known on both sides; with less they are ignored."""
SAME_PLACE = 0.8
"""The surroundings are nearly the same: a field whose label was reworded there is still that field."""
SAME_BUT_STATE = 0.95
"""Least similarity of an element to itself a moment later."""
_CONTEXT = ("row", "region", "heading", "neighbours", "before", "after", "column")
_IDENTIFIERS = ("test id", "id", "name attribute")
_SHARED = frozenset({"words", "key", "data"})
"""Anchors that other elements of a page may have, too: a framework gives all toggles the same `data-*` attributes."""

_KINDS = {
    "textbox": "text",
    "searchbox": "text",
    "spinbutton": "text",
    "slider": "text",
    "combobox": "choice",
    "listbox": "choice",
    "checkbox": "tick",
    "radio": "tick",
    "switch": "tick",
    "menuitemcheckbox": "tick",
    "menuitemradio": "tick",
    "button": "press",
    "link": "press",
    "tab": "press",
    "menuitem": "press",
    "option": "press",
    "treeitem": "press",
    "gridcell": "press",
}
_TEXT_TYPES = frozenset(
    {
        "text",
        "search",
        "url",
        "tel",
        "email",
        "password",
        "number",
        "date",
        "datetime-local",
        "month",
        "time",
        "week",
        "color",
        "range",
    }
)


def kind_of(known: Fingerprint) -> str | None:
    """Return how the element is operated: `text`, `choice`, `tick`, `file`, `press`; None if unknown."""
    typed = known.attributes.get("type", "text").lower()
    if known.tag == "input" and typed == "file":
        return "file"
    if known.role in _KINDS:
        return _KINDS[known.role]
    if known.tag == "textarea" or (known.tag == "input" and typed in _TEXT_TYPES):
        return "text"
    return "press" if known.tag in ("a", "button", "summary") else None


@dataclass(frozen=True, slots=True)
class FingerprintComparison:
    """The result of comparing two fingerprints."""

    similarity: Similarity
    words: float | None
    """Similarity of their words (0 to 1); None if one of them has no words."""
    anchors: tuple[str, ...]
    """The identifying features in which both agree."""
    context: float | None
    """Similarity of their surroundings; None if too little is known of them."""
    contradictions: tuple[str, ...]
    """Reasons why they are of two elements."""
    doubts: tuple[str, ...]
    """What is missing to decide that they are of one element."""

    @property
    def same(self) -> bool:
        """Whether they are of one element: no contradictions, no doubts."""
        return not self.contradictions and not self.doubts

    @property
    def evidence(self) -> str:
        """The reasons in words: contradictions and doubts, else the anchors."""
        if self.contradictions or self.doubts:
            return "; ".join((*self.contradictions, *self.doubts))
        return f"{', '.join(self.anchors) or 'everything known'} agree ({self.similarity.score:.2f})"


def is_same_kind(known: Fingerprint, seen: Fingerprint) -> bool:
    """Whether both are operated in the same way; a cheap filter for many elements."""
    ours, theirs = kind_of(known), kind_of(seen)
    return ours == theirs or {ours, theirs} <= {None, "press"}  # a `div` may be made a button


def find_kind_conflict(known: Fingerprint, seen: Fingerprint) -> str | None:
    """Why it is no element of the same kind (the same button of another row is one); None if it is."""
    if known.tag != seen.tag or known.role != seen.role:
        return f"it is a {seen.role or seen.tag}, not a {known.role or known.tag}"
    return _another_verb(known, seen, None, ())


def compare_fingerprints(known: Fingerprint, seen: Fingerprint) -> FingerprintComparison:
    """Return whether the seen element is the known one, with the reasons."""
    alike = similarity(known, seen)
    called = compare_names(known, seen)
    anchors = tuple(_anchors(known, seen, alike, called))
    context = _context(alike)
    against = tuple(said for rule in CONTRADICTIONS if (said := rule(known, seen, called, anchors)))
    doubts = tuple(_doubts(known, seen, called, anchors, context, alike))
    return FingerprintComparison(alike, called, anchors, context, against, doubts)


def compare_names(known: Fingerprint, seen: Fingerprint) -> float | None:
    """Return the similarity of the words of two elements: that of the best pair; None if it says nothing."""
    if not known.words or not seen.words:
        return _labelled_beside(known, seen)
    if not known.name or not seen.name:
        return max(meaning_likeness(ours, theirs) for ours in known.words for theirs in seen.words)
    # An accessible name counts first: the text `Delete` on every button does not identify `Delete message 7`.
    pairs = [(known.name, theirs) for theirs in seen.words] + [(ours, seen.name) for ours in known.words]
    return max(meaning_likeness(ours, theirs) for ours, theirs in pairs)


def _labelled_beside(known: Fingerprint, seen: Fingerprint) -> float | None:
    """For a field that lost its name (a label without `for`): return the similarity of the other field's words
    and the words beside it, if it is high. A sighted person still reads them as its label.
    """
    if kind_of(known) in (None, "press") or not (known.words or seen.words):
        return None
    nameless, named = (seen, known) if known.words else (known, seen)
    beside = (nameless.before, nameless.column, nameless.after if kind_of(known) == "tick" else None)
    alike = max((words_likeness(a, b) for a in named.words for b in beside if b), default=0.0)
    return alike if alike >= KEY_FOUND else None


def _anchors(known: Fingerprint, seen: Fingerprint, alike: Similarity, called: float | None) -> Iterator[str]:
    if called is not None and called >= ALIKE_WORDS:
        yield "words"
    # Similar elements have similar identifiers: among them only an equal one identifies.
    least = 1.0 if known.twins or seen.twins else ALIKE_IDS
    for field in _IDENTIFIERS:
        if (alike.likeness(field) or 0.0) >= least:
            yield field
    if known.key and _beside(known.key[0], seen):
        yield "key"
    if read_link_target(known) and read_link_target(known) == read_link_target(seen):
        yield "href"
    if (alike.likeness("data") or 0.0) >= ALIKE_IDS:
        yield "data"
    if kind_of(known) == "tick" and alike.likeness("value") == 1.0:
        yield "value"


def read_link_target(known: Fingerprint) -> str | None:
    """Return a link's address; None for none, a place on the page, or a script. `#/` and `#!` begin a route."""
    href = known.attributes.get("href", "").strip()
    place = href.startswith("#") and not href.startswith(("#/", "#!"))
    return None if not href or place or href.startswith("javascript:") else href


def _context(alike: Similarity) -> float | None:
    fields = [each for each in alike.fields if each.field in _CONTEXT]
    weight = sum(each.weight for each in fields)
    if weight < ENOUGH_CONTEXT:
        return None
    return sum(each.weight * each.likeness for each in fields) / weight


def _doubts(
    known: Fingerprint,
    seen: Fingerprint,
    called: float | None,
    anchors: tuple[str, ...],
    context: float | None,
    alike: Similarity,
) -> Iterator[str]:
    if known.place is None:  # not operable: its text may change
        if alike.score < SAME_CONTEXT:
            yield f"only {alike.score:.2f} alike"
        return
    strong = _strong(anchors)
    field_in_place = kind_of(known) != "press" and strong == 1 and (context or 0.0) >= SAME_PLACE
    if called is not None and called < FOREIGN_WORDS and strong < 2 and not field_in_place:
        yield f"it is called {_first(seen.words)!r} now, not {_first(known.words)!r}"
    elif not anchors and (known.words or strong < 2) and not _has_same_icon(known, seen, alike):
        yield "nothing that tells it agrees"
    elif (
        (len(anchors) == 1 or not set(anchors) - _SHARED)
        and "href" not in anchors
        and (context or 1.0) < SAME_CONTEXT
    ):
        yield f"only {' and '.join(anchors)} agree, and it stands elsewhere"
    elif (
        not strong
        and read_link_target(known) != read_link_target(seen)
        and read_link_target(known)
        and read_link_target(seen)
        and (context or 0.0) < SAME_PLACE
    ):
        yield "it leads elsewhere, and what stands around it is not the same"
    if known.twins and not known.key and not strong and alike.score < 1:
        yield f"nothing tells it from {known.twins} others of its name"


def _has_same_icon(known: Fingerprint, seen: Fingerprint, alike: Similarity) -> bool:
    """Whether a control without words has the same picture, and all else is the same but its state."""
    return known.icon is not None and known.icon == seen.icon and alike.score >= SAME_BUT_STATE


def _first(said: tuple[str, ...]) -> str:
    return said[0][:60] if said else ""


# -- contradictions ----------------------------------------------------------------------------------

ContradictionRule = Callable[[Fingerprint, Fingerprint, float | None, tuple[str, ...]], str | None]


def _another_kind(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    if is_same_kind(known, seen):
        return None
    return f"it is a {seen.role or seen.tag}, not a {known.role or known.tag}"


def _another_verb(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    """`Delete` never becomes `Edit`, whatever else agrees."""
    if kind_of(known) != "press" or not known.name or not seen.name:
        return None
    return describe_verb_conflict(known.name, seen.name)


def describe_verb_conflict(name: str, other: str) -> str | None:
    """Why a control of the other name does something else; None if it may do the same."""
    ours, theirs = meanings(name), meanings(other)
    if ours and theirs and not ours & theirs:
        return f"{excerpt(other, 60)!r} does something else than {excerpt(name, 60)!r}"
    if is_destructive(other) and not is_destructive(name) and not ours & theirs:
        return f"{excerpt(other, 60)!r} destroys, {excerpt(name, 60)!r} did not"
    return None


def _another_place(
    known: Fingerprint, seen: Fingerprint, _called: float | None, anchors: tuple[str, ...]
) -> str | None:
    """The words that distinguish it from others with its name are not beside it."""
    if not known.key or (not known.twins and known.name is not None and known.name == seen.name):
        return None
    if "key" in anchors:
        return None
    strong = _strong(anchors)
    if sum(_beside(key, seen) for key in known.key) * 2 >= len(known.key) and strong:
        return None
    if read_link_target(known) is not None and "href" in anchors and not _destroys(known):
        return None
    alone = kind_of(known) != "press" and not (known.row or seen.row)
    if (
        not seen.twins or alone
    ) and strong >= 2:  # id and name of a field outside of rows: the key may be the page's title
        return None
    return f"{excerpt(known.key[0], 60)!r} is not beside it"


def _beside(key: str, seen: Fingerprint) -> bool:
    around = (*seen.surroundings, *seen.words, *(said.partition(" ")[2] for said in seen.region))
    if any(words_likeness(key, said) >= KEY_FOUND for said in around if said):
        return True
    # The label of a field may continue with an explanation.
    return kind_of(seen) not in (None, "press") and f"{seen.before or ''} ".startswith(f"{key} ")


def _destroys(known: Fingerprint) -> bool:
    return any(map(is_destructive, known.words)) or is_destructive(known.attributes.get("href", ""))


def _strong(anchors: tuple[str, ...]) -> int:
    """Return the number of independent anchors besides words; a link's address counts twice."""
    return len([anchor for anchor in anchors if anchor not in ("words", "key")]) + ("href" in anchors)


def _a_neighbour(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    """It has the name of a former neighbour, so it is that neighbour."""
    if not seen.name or seen.name == known.name or seen.name not in known.neighbours:
        return None
    return f"{excerpt(seen.name, 60)!r} stood beside it"


CONTRADICTIONS: tuple[ContradictionRule, ...] = (_another_kind, _another_verb, _another_place, _a_neighbour)

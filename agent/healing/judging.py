"""Whether two fingerprints are of one element: what speaks for it, and what rules it out.

A pure function over two fingerprints. A high similarity alone proves nothing: a new button in an old
place is similar. What is asked for are *anchors* (what an element is told by: its words, its id, where
it leads) and the absence of contradictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kb_schema.fingerprints import Fingerprint, Similarity, similarity
from kb_schema.wording import is_destructive, meaning_likeness, meanings, words_likeness

ALIKE_WORDS = 0.6
"""Words that are mostly the same ones."""
FOREIGN_WORDS = 0.34
"""Less than one word of three is shared: it is called something else altogether."""
ALIKE_IDS = 0.6
KEY_FOUND = 0.85
"""How alike words must be to be those that told an element from its twins."""
SAME_CONTEXT = 0.5
ENOUGH_CONTEXT = 1.0
"""Weight of what must be known of the surroundings on both sides to say anything by them."""
SAME_PLACE = 0.8
"""What stands around it is all but the same: a field whose label was reworded there is still that field."""
_CONTEXT = ("row", "region", "heading", "neighbours", "before", "after", "column")
_IDENTIFIERS = ("test id", "id", "name attribute")

_KINDS = {
    "textbox": "text", "searchbox": "text", "spinbutton": "text", "slider": "text",
    "combobox": "choice", "listbox": "choice",
    "checkbox": "tick", "radio": "tick", "switch": "tick", "menuitemcheckbox": "tick", "menuitemradio": "tick",
    "button": "press", "link": "press", "tab": "press", "menuitem": "press", "option": "press", "treeitem": "press",
    "gridcell": "press",
}  # fmt: skip
_TEXT_TYPES = frozenset({"text", "search", "url", "tel", "email", "password", "number", "date", "datetime-local",
                         "month", "time", "week", "color", "range"})  # fmt: skip


def kind_of(known: Fingerprint) -> str | None:
    """What one does with it: `text`, `choice`, `tick`, `file`, `press`; None where that is not known."""
    typed = known.attributes.get("type", "text").lower()
    if known.tag == "input" and typed == "file":
        return "file"
    if known.role in _KINDS:
        return _KINDS[known.role]
    if known.tag == "textarea" or (known.tag == "input" and typed in _TEXT_TYPES):
        return "text"
    return "press" if known.tag in ("a", "button", "summary") else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What can be said of two fingerprints being of one element."""

    similarity: Similarity
    words: float | None
    """How alike what they are called is (0 to 1); None where one of them is called nothing."""
    anchors: tuple[str, ...]
    """The independent things that tell it, and that both agree in."""
    context: float | None
    """How alike what stands around them is; None where nothing is known of it."""
    contradictions: tuple[str, ...]
    """What rules it out."""
    doubts: tuple[str, ...]
    """What is missing to say that it is the same."""

    @property
    def same(self) -> bool:
        """Whether nothing rules it out and enough speaks for it."""
        return not self.contradictions and not self.doubts

    @property
    def evidence(self) -> str:
        """For people: why not, else why."""
        if self.contradictions or self.doubts:
            return "; ".join((*self.contradictions, *self.doubts))
        return f"{', '.join(self.anchors) or 'everything known'} agree ({self.similarity.score:.2f})"


def of_one_kind(known: Fingerprint, seen: Fingerprint) -> bool:
    """Whether the same can be done with both; cheap to ask of many."""
    ours, theirs = kind_of(known), kind_of(seen)
    return ours == theirs or {ours, theirs} <= {None, "press"}  # a `div` may be made a button


def like_it(known: Fingerprint, seen: Fingerprint) -> str | None:
    """Why something cannot be another one of the same sort (the delete button of another row), or None."""
    if known.tag != seen.tag or known.role != seen.role:
        return f"it is a {seen.role or seen.tag}, not a {known.role or known.tag}"
    return _another_verb(known, seen, None, ())


def judge(known: Fingerprint, seen: Fingerprint) -> Judgement:
    """Judge whether what is seen is the element that is known."""
    alike = similarity(known, seen)
    called = called_alike(known, seen)
    anchors = tuple(_anchors(known, seen, alike, called))
    context = _context(alike)
    against = tuple(said for rule in CONTRADICTIONS if (said := rule(known, seen, called, anchors)))
    doubts = tuple(_doubts(known, seen, called, anchors, context, alike))
    return Judgement(alike, called, anchors, context, against, doubts)


def called_alike(known: Fingerprint, seen: Fingerprint) -> float | None:
    """How alike the words are that two elements are called by: the best pair of them."""
    if not known.words or not seen.words:
        return _labelled_beside(known, seen)
    if not known.name or not seen.name:
        return max(meaning_likeness(ours, theirs) for ours in known.words for theirs in seen.words)
    # What is named is called so: `Delete` on every button is not what tells `Delete message 7`.
    pairs = [(known.name, theirs) for theirs in seen.words] + [(ours, seen.name) for ours in known.words]
    return max(meaning_likeness(ours, theirs) for ours, theirs in pairs)


def _labelled_beside(known: Fingerprint, seen: Fingerprint) -> float | None:
    """Of a field on one side nameless, as one is whose label has lost its `for`: how alike the other's words
    and those that stand beside it are, where they are; a sighted person still reads them as its label.
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
    # Identifiers of look-alikes are alike: among them only the very same one tells.
    least = 1.0 if known.twins or seen.twins else ALIKE_IDS
    for field in _IDENTIFIERS:
        if (alike.likeness(field) or 0.0) >= least:
            yield field
    if known.key and _beside(known.key[0], seen):
        yield "key"
    if leads_to(known) and leads_to(known) == leads_to(seen):
        yield "href"
    if (alike.likeness("data") or 0.0) >= ALIKE_IDS:
        yield "data"
    if kind_of(known) == "tick" and alike.likeness("value") == 1.0:
        yield "value"


def leads_to(known: Fingerprint) -> str | None:
    """Where a link leads, if that says anything."""
    href = known.attributes.get("href", "").strip()
    return None if not href or href.startswith(("#", "javascript:")) else href


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
    if known.place is None:  # nothing to operate: what it says may change
        if alike.score < SAME_CONTEXT:
            yield f"only {alike.score:.2f} alike"
        return
    strong = _strong(anchors)
    field_in_place = kind_of(known) != "press" and strong == 1 and (context or 0.0) >= SAME_PLACE
    if called is not None and called < FOREIGN_WORDS and strong < 2 and not field_in_place:
        yield f"it is called {_first(seen.words)!r} now, not {_first(known.words)!r}"
    elif not anchors and (known.words or strong < 2):
        yield "nothing that tells it agrees"
    elif (strong == 0 or len(anchors) == 1) and "href" not in anchors and (context or 1.0) < SAME_CONTEXT:
        yield f"only {' and '.join(anchors)} agree, and it stands elsewhere"
    elif (
        not strong
        and leads_to(known) != leads_to(seen)
        and leads_to(known)
        and leads_to(seen)
        and (context or 0.0) < SAME_PLACE
    ):
        yield "it leads elsewhere, and what stands around it is not the same"
    if known.twins and not known.key and not strong and alike.score < 1:
        yield f"nothing tells it from {known.twins} others of its name"


def _first(said: tuple[str, ...]) -> str:
    return said[0][:60] if said else ""


# -- what rules it out -------------------------------------------------------------------------------

Rule = Callable[[Fingerprint, Fingerprint, float | None, tuple[str, ...]], str | None]


def _another_kind(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    if of_one_kind(known, seen):
        return None
    return f"it is a {seen.role or seen.tag}, not a {known.role or known.tag}"


def _another_verb(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    """`Delete` never becomes `Edit`, whatever else agrees."""
    if kind_of(known) != "press" or not known.name or not seen.name:
        return None
    ours, theirs = meanings(known.name), meanings(seen.name)
    if ours and theirs and not ours & theirs:
        return f"{seen.name[:60]!r} does something else than {known.name[:60]!r}"
    if is_destructive(seen.name) and not is_destructive(known.name) and not ours & theirs:
        return f"{seen.name[:60]!r} destroys, {known.name[:60]!r} did not"
    return None


def _another_place(
    known: Fingerprint, seen: Fingerprint, _called: float | None, anchors: tuple[str, ...]
) -> str | None:
    """What told it from its twins is not beside it."""
    if not known.key or (not known.twins and known.name is not None and known.name == seen.name):
        return None
    if "key" in anchors:
        return None
    strong = _strong(anchors)
    if sum(_beside(key, seen) for key in known.key) * 2 >= len(known.key) and strong:
        return None
    if leads_to(known) is not None and "href" in anchors and not _destroys(known):
        return None
    if not seen.twins and strong >= 2:
        return None
    return f"{known.key[0][:60]!r} is not beside it"


def _beside(key: str, seen: Fingerprint) -> bool:
    around = (*seen.surroundings, *seen.words, *(said.partition(" ")[2] for said in seen.region))
    if any(words_likeness(key, said) >= KEY_FOUND for said in around if said):
        return True
    # What labels a field may go on to explain it.
    return kind_of(seen) not in (None, "press") and f"{seen.before or ''} ".startswith(f"{key} ")


def _destroys(known: Fingerprint) -> bool:
    return any(map(is_destructive, known.words)) or is_destructive(known.attributes.get("href", ""))


def _strong(anchors: tuple[str, ...]) -> int:
    """How many independent anchors there are beside the words; a link is what it leads to."""
    return len([anchor for anchor in anchors if anchor not in ("words", "key")]) + ("href" in anchors)


def _a_neighbour(
    known: Fingerprint, seen: Fingerprint, _called: float | None, _a: tuple[str, ...]
) -> str | None:
    """What stood beside it then is not it now."""
    if not seen.name or seen.name == known.name or seen.name not in known.neighbours:
        return None
    return f"{seen.name[:60]!r} stood beside it"


CONTRADICTIONS: tuple[Rule, ...] = (_another_kind, _another_verb, _another_place, _a_neighbour)

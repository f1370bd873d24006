"""What can be said of an element of a page: its own terms, and the steps that say where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kb_schema.pages.names import labels_of
from kb_schema.pages.selecting.lasting import (
    WEAK,
    Flaw,
    lasting_attributes,
    lasting_classes,
    words_flaw,
)
from kb_schema.pages.selecting.page_terms import UNTOLD_TAGS, PageTerms, normalized
from kb_schema.pages.selecting.terms import (
    HasAttribute,
    HasClass,
    Holds,
    LabelledFor,
    Says,
    Step,
    Term,
    step_of,
)
from kb_schema.pages.tags import INPUT_BUTTONS
from kb_schema.pages.tree import Element

_ROW_TAGS = frozenset({"tr", "li", "article"})
_ROW_ROLES = frozenset({"row", "listitem", "article", "treeitem", "option"})
_SECTION_TAGS = frozenset(
    {"section", "fieldset", "form", "dialog", "aside", "details", "table", "nav", "main"}
)
_REGION_ROLES = frozenset({"dialog", "alertdialog", "main", "navigation", "search", "banner", "contentinfo"})
_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "legend", "caption", "summary"})
_MOST_SAID = 4
"""Texts of a row that are tried."""
_LOOKED_AT = 60
"""Elements of a row or section that are looked at for them."""
_SILENT = UNTOLD_TAGS | {"select", "svg", "html", "body"}
"""What these say is not what a person calls them."""


def own_terms(
    element: Element, *, but: frozenset[str] = frozenset(), classes_first: bool = False
) -> list[Term]:
    """Attributes and classes of an element; without those of `but`, which already lead to it alone."""
    attributes: list[Term] = [
        HasAttribute(*each) for each in lasting_attributes(element) if each.name not in but
    ]
    classes: list[Term] = [HasClass(name) for name in lasting_classes(element)]
    strong = [each for each in attributes if isinstance(each, HasAttribute) and each.name not in WEAK]
    weak = [each for each in attributes if isinstance(each, HasAttribute) and each.name in WEAK]
    return [*classes, *strong, *weak] if classes_first else [*strong, *classes, *weak]


def own_words(page: PageTerms, element: Element) -> tuple[Term | None, Flaw]:
    """The term for what a person reads on an element, or of its label; else why there is none."""
    if element.tag == "input" and element.input_type in INPUT_BUTTONS:
        value = element.get("value") or ""
        flaw = words_flaw(value)
        return (None, flaw) if flaw is not None else (HasAttribute("value", value), Flaw.ABSENT)
    label = _label_for(page, element)
    if label is not None:
        return label, Flaw.ABSENT
    if element.tag not in _SILENT:
        piece = _main_piece(page, element)
        if piece is not None:
            return piece, Flaw.ABSENT
    said = None if element.tag in _SILENT else page.said(element)
    if said is None:
        return None, Flaw.ABSENT if element.tag in _SILENT else Flaw.TOO_LONG
    flaw = words_flaw(said)
    return (None, flaw) if flaw is not None else (Says(said), Flaw.ABSENT)


def _main_piece(page: PageTerms, element: Element) -> Term | None:
    """The longest of several pieces of text, such as a name beside initials; None where it says one thing."""
    if any(map(_is_words, element.children)):
        return None
    pieces = [node for node in _some(element) if any(map(_is_words, node.children))]
    if len(pieces) < 2:
        return None
    shown = [node for node in pieces if not _is_ornament(node, element)]
    said = ((page.said(node) or "", node.tag) for node in shown)
    usable = [(text, tag) for text, tag in said if words_flaw(text) is None]
    text, tag = max(usable, key=lambda each: len(each[0]), default=("", ""))
    return Holds(tag, text) if sum(map(str.isalpha, text)) > 1 else None


def _is_ornament(node: Element, within: Element) -> bool:
    """Whether it is there for the eye only."""
    for each in (node, *node.ancestors()):
        if each.get("aria-hidden") == "true":
            return True
        if each is within:
            break
    return False


def _label_for(page: PageTerms, element: Element) -> Term | None:
    for label in labels_of(element):
        said = page.said(label)
        if label.get("for") and said is not None and words_flaw(said) is None:
            return LabelledFor(said)
    return None


def label_around(page: PageTerms, element: Element) -> Step | None:
    """The label wrapped around a control."""
    around = element.closest("label")
    said = None if around is None or around not in labels_of(element) else page.said(around)
    if said is None or around is None or words_flaw(said) is not None:
        return None
    return step_of(around, Says(said))


def plain_anchors(element: Element) -> list[Step]:
    """Where something stands, by attributes and classes of what is around it: CSS can say these."""
    steps: list[Step] = []
    for each in own_terms(element):
        if isinstance(each, HasAttribute) and each.name in WEAK and each.name != "action":
            continue
        steps.append(Step(None, (each,)) if isinstance(each, HasAttribute) else step_of(element, each))
    role = element.get("role")
    if role in _REGION_ROLES:
        steps.append(Step(None, (HasAttribute("role", role),)))
    return steps


def spoken_anchors(page: PageTerms, element: Element, inner: Element) -> list[Step]:
    """The same, and by words: the row with that cell, the section of that heading, the label."""
    return [*_by_words(page, element, inner), *plain_anchors(element)]


def is_row(element: Element) -> bool:
    """Whether it is one of several that are alike: a row, an item, a card."""
    if element.tag not in _ROW_TAGS and element.get("role") not in _ROW_ROLES:
        return False
    return (
        element.parent is not None
        and sum(child.tag == element.tag for child in element.parent.elements()) > 1
    )


def _by_words(page: PageTerms, element: Element, inner: Element) -> Iterator[Step]:
    if is_row(element):
        for held in row_words(page, element, inner):
            yield row_step(element, held)
    elif element.tag in _SECTION_TAGS or element.tag == "div":
        heading = next((node for node in _some(element) if node.tag in _HEADING_TAGS), None)
        said = None if heading is None or heading is inner else page.said(heading)
        if heading is not None and said and words_flaw(said) is None:
            deep = element.tag in _SECTION_TAGS
            if deep or heading.parent is element:
                yield step_of(element, Holds(heading.tag, said, deep=deep))


def row_step(row: Element, held: Term) -> Step:
    """A row by what it holds; the role says that it is one where the tag does not."""
    role = row.get("role")
    if row.tag in _ROW_TAGS or role is None:
        return step_of(row, held)
    return step_of(row, HasAttribute("role", role), held)


def row_words(page: PageTerms, row: Element, inner: Element | None = None) -> Iterator[Holds]:
    """The first texts of a row, other than those of the element in it that is meant."""
    return islice(_row_words(page, row, inner), _MOST_SAID)


def _row_words(page: PageTerms, row: Element, inner: Element | None) -> Iterator[Holds]:
    spoken: set[str] = set()
    around = set() if inner is None else {id(inner), *map(id, inner.ancestors())}
    for node in _some(row):
        if id(node) in around or node.tag in _SILENT or not any(map(_is_words, node.children)):
            continue
        if inner is not None and any(up is inner for up in node.ancestors()):
            continue
        said = None if _is_ornament(node, row) else page.said(node)
        if said and said not in spoken and words_flaw(said) is None and sum(map(str.isalpha, said)) > 1:
            spoken.add(said)
            yield Holds(node.tag, said)


def _is_words(child: Element | str) -> bool:
    return isinstance(child, str) and bool(normalized(child))


def _some(element: Element) -> Sequence[Element]:
    return list(islice(element.descendants(), _LOOKED_AT))

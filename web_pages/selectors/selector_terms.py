"""The parts of selectors: terms about one element, steps, and paths, in XPath and CSS.

A term can be written in both languages (`css` is None if CSS cannot express it) and tests whether an element
matches, using an `ElementIndex`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from kb_schema.templates import css_string, xpath_literal
from web_pages.element_tree import Element
from web_pages.selectors.element_index import ElementIndex
from web_pages.selectors.stable_attributes import WEAK

_PLAIN_TAG = re.compile(r"[a-z][a-z0-9-]*")
_FOREIGN = {"svg", "math"}
_TELLING_TYPES = frozenset(
    ("type", kind) for kind in ("password", "search", "email", "file", "tel", "url", "color", "range")
)
"""Field types that rarely occur twice in a form."""


class SelectorTerm(Protocol):
    """A property of an element."""

    @property
    def xpath(self) -> str:
        """The XPath predicate, without brackets."""

    @property
    def css(self) -> str | None:
        """The CSS; None if CSS cannot express it."""

    @property
    def telling(self) -> bool:
        """Whether it identifies the element; else it is useful only with others."""

    def fits(self, element: Element, page: ElementIndex) -> bool:
        """Return whether the element has the property."""

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        """Return the elements that may have it; None if there are too many."""


class _XPathTerm:
    """A term that identifies its element and that CSS cannot express."""

    __slots__ = ()

    @property
    def css(self) -> str | None:
        return None

    @property
    def telling(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class AttributeTerm:
    """An attribute has this value."""

    name: str
    value: str

    @property
    def xpath(self) -> str:
        return f"@{self.name}={xpath_literal(self.value)}"

    @property
    def css(self) -> str | None:
        return f"[{self.name}={css_string(self.value)}]"

    @property
    def telling(self) -> bool:
        if self.name == "value":  # of buttons and choices: a word, not `on` or `1`
            return sum(map(str.isalpha, self.value)) > 2
        return self.name not in WEAK or self.name == "href" or (self.name, self.value) in _TELLING_TYPES

    def fits(self, element: Element, page: ElementIndex) -> bool:  # noqa: ARG002 - one signature for all terms
        return element.get(self.name) == self.value

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        return page.by_attribute(self.name).get(self.value, ())


@dataclass(frozen=True, slots=True)
class ClassTerm:
    """The element has this class."""

    name: str

    @property
    def xpath(self) -> str:
        return f"contains(concat(' ', normalize-space(@class), ' '), {xpath_literal(f' {self.name} ')})"

    @property
    def css(self) -> str | None:
        return f".{_css_identifier(self.name)}"

    @property
    def telling(self) -> bool:
        return True

    def fits(self, element: Element, page: ElementIndex) -> bool:  # noqa: ARG002 - one signature for all terms
        return self.name in (element.get("class") or "").split()

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        return page.by_class.get(self.name, ())


@dataclass(frozen=True, slots=True)
class TextTerm(_XPathTerm):
    """Its whole text, white space normalised, is this."""

    text: str

    @property
    def xpath(self) -> str:
        return f"normalize-space()={xpath_literal(self.text)}"

    def fits(self, element: Element, page: ElementIndex) -> bool:
        return page.text(element) == self.text

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        return page.by_text.get(self.text, ())


@dataclass(frozen=True, slots=True)
class OwnTextTerm(_XPathTerm):
    """A piece of text of its own, outside of its parts, is this: the name beside a badge."""

    text: str

    @property
    def xpath(self) -> str:
        return f"text()[normalize-space()={xpath_literal(self.text)}]"

    def fits(self, element: Element, page: ElementIndex) -> bool:
        return element in (page.by_own_text.get(self.text) or ())

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        return page.by_own_text.get(self.text, ())


@dataclass(frozen=True, slots=True)
class BeginningTerm(_XPathTerm):
    """Its whole text begins so: the name before a count in brackets."""

    text: str

    @property
    def xpath(self) -> str:
        return f"starts-with(normalize-space(), {xpath_literal(self.text)})"

    def fits(self, element: Element, page: ElementIndex) -> bool:
        return (page.text(element) or "").startswith(self.text)

    def among(self, page: ElementIndex) -> Collection[Element] | None:  # noqa: ARG002 - one signature for all terms
        return None


@dataclass(frozen=True, slots=True)
class InnerTextTerm(_XPathTerm):
    """It contains an element with this text: a row with that cell, a section with that heading."""

    tag: str
    text: str
    deep: bool = True
    """Whether anywhere below; else it must be a child."""

    @property
    def xpath(self) -> str:
        return f"{'.//' if self.deep else ''}{self.tag}[normalize-space()={xpath_literal(self.text)}]"

    def fits(self, element: Element, page: ElementIndex) -> bool:
        return id(element) in page.holders(self.tag, self.text, deep=self.deep)

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        return page.holders(self.tag, self.text, deep=self.deep).values()


@dataclass(frozen=True, slots=True)
class LabelForTerm(_XPathTerm):
    """A label with this text refers to it by `for`."""

    text: str

    @property
    def xpath(self) -> str:
        return f"@id=//label[normalize-space()={xpath_literal(self.text)}]/@for"

    def fits(self, element: Element, page: ElementIndex) -> bool:
        own = element.get("id")
        return own is not None and any(
            label.tag == "label" and label.get("for") == own and label.root is element.root
            for label in page.by_text.get(self.text, ())
        )

    def among(self, page: ElementIndex) -> Collection[Element] | None:
        wanted = (label.get("for") for label in page.by_text.get(self.text, ()) if label.tag == "label")
        return [element for value in wanted if value for element in page.by_attribute("id").get(value, ())]


@dataclass(frozen=True, slots=True)
class NthTerm:
    """Its position among the siblings of its tag, from 1."""

    number: int

    @property
    def xpath(self) -> str:
        return str(self.number)

    @property
    def css(self) -> str | None:
        return f":nth-of-type({self.number})"

    @property
    def telling(self) -> bool:
        return False

    def fits(self, element: Element, page: ElementIndex) -> bool:
        return page.number(element) == self.number

    def among(self, page: ElementIndex) -> Collection[Element] | None:  # noqa: ARG002 - one signature for all terms
        return None


@dataclass(frozen=True, slots=True)
class SelectorStep:
    """One element of a path: its tag (None: any) and its terms; `NthTerm` comes first."""

    tag: str | None
    terms: tuple[SelectorTerm, ...] = ()
    foreign: bool = False
    """SVG or MathML, which XPath addresses differently."""

    @property
    def xpath(self) -> str:
        name = "*" if self.tag is None or self.foreign else self.tag
        local = [f"[local-name()={xpath_literal(self.tag)}]"] if self.foreign and self.tag else []
        return name + "".join([*local, *(f"[{term.xpath}]" for term in self.terms)])

    @property
    def css(self) -> str | None:
        parts = [term.css for term in self.terms]
        if None in parts:
            return None
        terms = "".join(each for each in parts if each is not None)
        return (self.tag or ("" if terms else "*")) + terms

    def fits(self, element: Element, page: ElementIndex) -> bool:
        """Return whether an element matches."""
        return self.tag in (None, element.tag) and all(term.fits(element, page) for term in self.terms)


@dataclass(frozen=True, slots=True)
class SelectorPath:
    """A path from the outermost step to the element; `direct` if each is a child of the one before."""

    steps: tuple[SelectorStep, ...]
    direct: bool = False

    @property
    def xpath(self) -> str:
        """The path as XPath 1.0."""
        return "//" + ("/" if self.direct else "//").join(step.xpath for step in self.steps)

    @property
    def css(self) -> str | None:
        """The path as CSS; None if CSS cannot express it."""
        parts = [step.css for step in self.steps]
        if None in parts:
            return None
        return (" > " if self.direct else " ").join(each for each in parts if each is not None)

    @property
    def telling(self) -> bool:
        """Whether it identifies the element without counting.

        A path that does not would match another element as soon as one is added.
        """
        terms = [term for step in self.steps for term in step.terms]
        return any(term.telling for term in terms) and not any(isinstance(term, NthTerm) for term in terms)


def step_of(element: Element, *terms: SelectorTerm) -> SelectorStep:
    """Return a step with the element's tag and terms."""
    plain = _PLAIN_TAG.fullmatch(element.tag) is not None
    return SelectorStep(element.tag if plain else None, terms, foreign=_is_foreign(element))


def _is_foreign(element: Element) -> bool:
    node: Element | None = element
    while node is not None:
        if node.tag in _FOREIGN:
            return True
        if node.tag == "foreignobject" and node is not element:
            return False
        node = node.parent
    return False


def _css_identifier(name: str) -> str:
    """Return a class in CSS (CSSOM, serialize an identifier)."""
    out = []
    for at, char in enumerate(name):
        leading = at == 0 or (at == 1 and name[0] == "-")
        if char.isascii() and char.isdigit() and leading:
            out.append(f"\\{ord(char):x} ")
        elif char.isalnum() or char in "-_" or ord(char) >= 0x80:
            out.append("\\-" if name == "-" else char)
        else:
            out.append("\\" + char)
    return "".join(out)

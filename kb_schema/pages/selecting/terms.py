"""The words selectors are made of: terms about one element, steps, and paths in XPath and CSS.

A term knows how it is written in both languages (`css` is None where CSS cannot say it) and whether
it fits an element. Which elements it fits is asked of `page_terms.PageTerms`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kb_schema.pages.selecting.lasting import WEAK
from kb_schema.pages.tree import Element
from kb_schema.templates import css_string, xpath_literal

if TYPE_CHECKING:
    from collections.abc import Collection

    from kb_schema.pages.selecting.page_terms import PageTerms

_PLAIN_TAG = re.compile(r"[a-z][a-z0-9-]*")
_FOREIGN = {"svg", "math"}
_TELLING_TYPES = frozenset(
    ("type", kind) for kind in ("password", "search", "email", "file", "tel", "url", "color", "range")
)
"""Kinds of fields of which a form seldom has two."""


class Term(Protocol):
    """Something that can be said of an element."""

    @property
    def xpath(self) -> str:
        """As an XPath predicate, without its brackets."""

    @property
    def css(self) -> str | None:
        """As CSS; None where that cannot say it."""

    @property
    def telling(self) -> bool:
        """Whether it says what the element is; else it says little, and only beside others."""

    def fits(self, element: Element, page: PageTerms) -> bool:
        """Whether it is true of the element."""

    def among(self, page: PageTerms) -> Collection[Element] | None:
        """Elements it may be true of; None: too many to say."""


@dataclass(frozen=True, slots=True)
class HasAttribute:
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

    def fits(self, element: Element, page: PageTerms) -> bool:  # noqa: ARG002 - one signature for all terms
        return element.get(self.name) == self.value

    def among(self, page: PageTerms) -> Collection[Element] | None:
        return page.by_attribute(self.name).get(self.value, ())


@dataclass(frozen=True, slots=True)
class HasClass:
    """Among the classes is this one."""

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

    def fits(self, element: Element, page: PageTerms) -> bool:  # noqa: ARG002 - one signature for all terms
        return self.name in (element.get("class") or "").split()

    def among(self, page: PageTerms) -> Collection[Element] | None:
        return page.by_class.get(self.name, ())


@dataclass(frozen=True, slots=True)
class Says:
    """All its text, white space normalised, is this."""

    text: str

    @property
    def xpath(self) -> str:
        return f"normalize-space()={xpath_literal(self.text)}"

    @property
    def css(self) -> str | None:
        return None

    @property
    def telling(self) -> bool:
        return True

    def fits(self, element: Element, page: PageTerms) -> bool:
        return page.said(element) == self.text

    def among(self, page: PageTerms) -> Collection[Element] | None:
        return page.by_text.get(self.text, ())


@dataclass(frozen=True, slots=True)
class Holds:
    """Inside it is an element that says this: a row with that cell, a section of that heading."""

    tag: str
    text: str
    deep: bool = True
    """Anywhere below, or only right below."""

    @property
    def xpath(self) -> str:
        return f"{'.//' if self.deep else ''}{self.tag}[normalize-space()={xpath_literal(self.text)}]"

    @property
    def css(self) -> str | None:
        return None

    @property
    def telling(self) -> bool:
        return True

    def fits(self, element: Element, page: PageTerms) -> bool:
        return id(element) in page.holders(self)

    def among(self, page: PageTerms) -> Collection[Element] | None:
        return page.holders(self).values()


@dataclass(frozen=True, slots=True)
class LabelledFor:
    """A label with this text names it by `for`, whatever its id is."""

    text: str

    @property
    def xpath(self) -> str:
        return f"@id=//label[normalize-space()={xpath_literal(self.text)}]/@for"

    @property
    def css(self) -> str | None:
        return None

    @property
    def telling(self) -> bool:
        return True

    def fits(self, element: Element, page: PageTerms) -> bool:
        own = element.get("id")
        return own is not None and any(
            label.tag == "label" and label.get("for") == own and label.root is element.root
            for label in page.by_text.get(self.text, ())
        )

    def among(self, page: PageTerms) -> Collection[Element] | None:
        wanted = (label.get("for") for label in page.by_text.get(self.text, ()) if label.tag == "label")
        return [element for value in wanted if value for element in page.by_attribute("id").get(value, ())]


@dataclass(frozen=True, slots=True)
class Nth:
    """It is the so-manyth of its tag below its parent, from 1."""

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

    def fits(self, element: Element, page: PageTerms) -> bool:
        return page.number(element) == self.number

    def among(self, page: PageTerms) -> Collection[Element] | None:  # noqa: ARG002 - one signature for all terms
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """One element of a path: its tag (None: any) and what is said of it; `Nth` comes first."""

    tag: str | None
    terms: tuple[Term, ...] = ()
    foreign: bool = False
    """SVG or MathML: XPath has to be told."""

    @property
    def xpath(self) -> str:
        name = "*" if self.tag is None or self.foreign else self.tag
        local = [f"[local-name()={xpath_literal(self.tag)}]"] if self.foreign and self.tag else []
        return name + "".join([*local, *(f"[{term.xpath}]" for term in self.terms)])

    @property
    def css(self) -> str | None:
        said = [term.css for term in self.terms]
        if None in said:
            return None
        terms = "".join(each for each in said if each is not None)
        return (self.tag or ("" if terms else "*")) + terms

    def fits(self, element: Element, page: PageTerms) -> bool:
        """Whether an element is one of these."""
        return self.tag in (None, element.tag) and all(term.fits(element, page) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Path:
    """From the outermost step to the element itself; `direct` where each is right below the last."""

    steps: tuple[Step, ...]
    direct: bool = False

    @property
    def xpath(self) -> str:
        """As XPath 1.0."""
        return "//" + ("/" if self.direct else "//").join(step.xpath for step in self.steps)

    @property
    def css(self) -> str | None:
        """As CSS; None where that cannot say it."""
        said = [step.css for step in self.steps]
        if None in said:
            return None
        return (" > " if self.direct else " ").join(each for each in said if each is not None)

    @property
    def telling(self) -> bool:
        """Whether it says what the element is, or where, without counting: one that does not leads to
        the next one as soon as one more is there.
        """
        terms = [term for step in self.steps for term in step.terms]
        return any(term.telling for term in terms) and not any(isinstance(term, Nth) for term in terms)


def step_of(element: Element, *terms: Term) -> Step:
    """A step that names the element's tag."""
    plain = _PLAIN_TAG.fullmatch(element.tag) is not None
    return Step(element.tag if plain else None, terms, foreign=_is_foreign(element))


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
    """A class as CSS writes it (CSSOM, serialize an identifier)."""
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

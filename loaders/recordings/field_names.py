"""Reads from selectors what a field is called, and decides whether it holds a secret. Other tools do not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb_schema.secret_fields import looks_like_a_secret, names_a_secret
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy

_COMBINATOR = re.compile(r"\s*(?:>>>|[>+~])\s*|\s+(?![^\[(]*[\])])")
_ID = re.compile(r"#((?:\\.|[^\s#.:>+~,()\[\]\\])+)")
_CLASS = re.compile(r"\.((?:\\.|[^\s#.:>+~,()\[\]\\])+)")
_ATTRIBUTE = re.compile(r"""\[\s*@?[\w:-]+\s*[*^$|~]?=\s*(?:"([^"]*)"|'([^']*)'|([^\]\s]+))""")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_PREDICATE = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class MarkedFields:
    """The fields that the person who imports says something about, by id, name or label."""

    secret: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What a selector says of one field."""

    own: tuple[str, ...]
    """Its id, name, label, placeholder and test id."""
    classes: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    """Names of what contains it."""

    def is_marked(self, marks: frozenset[str]) -> bool:
        """Return whether one of its names is among the marks, in any case."""
        wanted = {each.casefold() for each in marks}
        return any(each.casefold() in wanted for each in self.own)

    @property
    def is_secret(self) -> bool:
        """Whether its names are those of a secret; the names around it count if it has none."""
        return names_a_secret((*self.own, *self.classes, *(() if self.own else self.around)))


def is_secret_field(selector: Selector | None, marks: MarkedFields = MarkedFields()) -> bool:
    """Return whether a selector is that of a field for a secret: a marked one, or by its names.

    >>> from kb_schema.selectors import Selector
    >>> [is_secret_field(Selector.model_validate(css)) for css in ("#user_password", "[name=senha]", "#pinned")]
    [True, True, False]
    """
    if selector is None:
        return False
    names = read_field_names(selector)
    if names.is_marked(marks.secret):
        return True
    return names.is_secret and not names.is_marked(marks.plain)


def is_doubtful_value(selector: Selector | None, value: str, marks: MarkedFields) -> bool:
    """Return whether a text looks like a secret although the field is not called so."""
    names = FieldNames(()) if selector is None else read_field_names(selector)
    return not names.is_marked(marks.plain) and looks_like_a_secret(value)


def read_field_names(selector: Selector) -> FieldNames:
    """Return what all strategies of a selector say of its element."""
    own, classes, around = list[str](), list[str](), list[str]()
    for strategy in selector.strategies:
        for kind, name in _list_names(strategy):
            {"own": own, "class": classes, "around": around}[kind].append(name)
    return FieldNames(tuple(dict.fromkeys(own)), tuple(dict.fromkeys(classes)), tuple(dict.fromkeys(around)))


def _list_names(strategy: Strategy) -> Iterator[tuple[str, str]]:
    if isinstance(strategy, NameStrategy):
        yield "own", strategy.name
    elif isinstance(strategy, SemanticStrategy):
        said = (strategy.label_contains, strategy.placeholder_contains, strategy.text_contains)
        yield from (("own", each) for each in said if each)
    elif isinstance(strategy, ValueStrategy):
        if strategy.type.startswith("xpath"):
            yield from _list_xpath_names(strategy.value)
        elif "css" in strategy.type or strategy.type == "shadow_pierce":
            yield from _list_css_names(strategy.value)
        else:
            yield "own", strategy.value


def _list_css_names(css: str) -> Iterator[tuple[str, str]]:
    *outer, last = [each for each in _COMBINATOR.split(css.strip()) if each] or [""]
    quoted = [_first(match) for match in _ATTRIBUTE.findall(last)]
    yield from (("own", each) for each in (*_ID.findall(_ATTRIBUTE.sub("", last)), *quoted) if each)
    yield from (("class", each) for each in _CLASS.findall(_ATTRIBUTE.sub("", last)))
    for part in outer:
        yield from (("around", each) for each in (*_ID.findall(part), *map(_first, _ATTRIBUTE.findall(part))))


def _list_xpath_names(xpath: str) -> Iterator[tuple[str, str]]:
    own = last_xpath_step(xpath)
    yield from (("own", _first(match)) for match in _QUOTED.findall(own))
    yield from (("around", _first(match)) for match in _QUOTED.findall(xpath.removesuffix(own)))


def last_xpath_step(xpath: str) -> str:
    """Return the last step of a path with its predicates.

    >>> last_xpath_step("//form[@id='a/b']/input[@name='c/d']")
    "input[@name='c/d']"
    """
    depth, quote, begin = 0, "", 0
    for at, each in enumerate(xpath):
        if quote:
            quote = "" if each == quote else quote
        elif each in "'\"":
            quote = each
        elif each in "[(":
            depth += each == "["
        elif each == "]":
            depth -= 1
        elif each == "/" and depth == 0:
            begin = at + 1
    return xpath[begin:]


def _first(match: tuple[str, ...]) -> str:
    return next((each for each in match if each), "")

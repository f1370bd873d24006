"""Lists locator expressions for an element, best first: user-visible locators first, CSS last.

The input is a selector and a fingerprint; no page is needed. `locator_proof.py` checks on the page which
expressions lead to the element. Tests use only proven expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from kb_schema.fingerprints import TEST_IDS, Fingerprint
from kb_schema.locator_expressions import ROLES, Expression, LocatorLink, to_source
from kb_schema.selectors import NameStrategy, Selector, ValueStrategy
from kb_schema.templates import css_string
from kb_schema.text_similarity import without_glyphs
from web_pages.selectors.generated_names import looks_generated

_COUNTED = re.compile(r"(\S.{2,}?)[\s:·,\u2013-]*(?:\(\d[\d.,]*\)|\s\d[\d.,]*\s+[a-z][\w\s]*)$")
"""A name followed by a count: `Inbox (3)`, `All contacts 48 contacts`."""
_BESIDE = re.compile(r"//(\w+)\[normalize-space\((?:\.?)\)=(['\"])(.+)\2\]/following-sibling::(\w+)\[1\]")
MOST = 80
"""Maximum number of candidates for one element."""
LONGEST_NAME = 80
"""Characters. A longer name is cut at a word, because Playwright matches names as substrings."""
FIELD_ROLES = frozenset({"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider"})
"""Roles of form fields, which users know by their labels."""
_LANDMARKS = ("navigation", "main", "complementary", "search", "banner", "contentinfo", "region")
_GROUPS = ("group", "radiogroup", "tabpanel", "toolbar", "article", "menu")
_ROLES_FOUND_BY_TEXT = {"row": ("row",), "item": ("listitem", "article")}
_NEVER_BY_TEXT = FIELD_ROLES | {"button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "option"}


@dataclass(frozen=True, slots=True)
class _KnownElement:
    """Properties of an element, from its selector and its fingerprint."""

    role: str
    name: str
    label: str
    placeholder: str
    text: str
    tag: str
    attributes: dict[str, str]
    regions: tuple[tuple[str, str], ...]
    """Kind and name of each region around the element, innermost first."""
    row_words: tuple[str, ...]
    """Words of its row or item, the most distinctive first."""

    @property
    def is_field(self) -> bool:
        """Whether the element is a form field, which users know by its label."""
        return (
            self.role in FIELD_ROLES
            or self.attributes.get("type") == "file"
            or (
                self.tag in ("input", "select", "textarea")
                and self.role not in ("button", "checkbox", "radio", "switch")
            )
        )


def list_locator_candidates(selector: Selector, fingerprint: Fingerprint | None) -> tuple[Expression, ...]:
    """Return the expressions for the element, best first; none of them is proven yet.

    The order: label (of fields), role and name, placeholder; the same within a region; test id; text and
    title; role alone; id and other attributes; CSS. At most `MOST` expressions.
    """
    known = _collect_properties(selector, fingerprint)
    by_visible_name = list(_by_visible_name(known))
    by_text = list(_by_text(known))
    scopes = list(_scopes(known))
    candidates: list[Expression] = [
        *by_visible_name,
        *_within(scopes, by_visible_name),
        *_by_test_id(known),
        *by_text,
        *_within(scopes, by_text),
        *_by_role_alone(known),
        *_by_attributes(known),
        *_by_css(selector),
        *_within(scopes, [*_by_role_alone(known), *_by_tag(known)]),
    ]
    frame: Expression = (_call("frame_locator", selector.frame),) if selector.frame else ()
    return tuple({to_source(each): frame + each for each in candidates}.values())[:MOST]


def _collect_properties(selector: Selector, fingerprint: Fingerprint | None) -> _KnownElement:
    known = fingerprint or Fingerprint()
    named = {each.type: each for each in selector.ordered if isinstance(each, NameStrategy)}
    by_role = named.get("role_name")
    label, placeholder = named.get("label"), named.get("placeholder")
    attributes = dict(known.attributes)
    for each in selector.ordered:
        if isinstance(each, ValueStrategy) and each.type in ("id", "data-testid", "data-qa"):
            attributes.setdefault(each.type, each.value)
    regions = tuple((words.partition(" ")[0], words.partition(" ")[2]) for words in reversed(known.region))
    own = {known.name, known.text}
    key_words = sorted(known.key, key=lambda words: not _is_distinctive(words))
    row_words = [words for words in (*key_words, *known.row) if words not in own and _is_distinctive(words)]
    return _KnownElement(
        role=known.role or (by_role.role if by_role else None) or "",
        name=known.name or (by_role.name if by_role else ""),
        label=known.label or (label.name if label else ""),
        placeholder=known.attributes.get("placeholder") or (placeholder.name if placeholder else ""),
        text=known.text or "",
        tag=known.tag or "",
        attributes=attributes,
        regions=regions,
        row_words=tuple(dict.fromkeys(row_words))[:3],
    )


def _is_distinctive(words: str) -> bool:
    """Return whether the words are a name rather than a number or a punctuation mark."""
    return len(words) > 2 and any(char.isalpha() for char in words)


# -- one element ---------------------------------------------------------------------------------------


def _by_visible_name(known: _KnownElement) -> Iterator[Expression]:
    by_label = list(_named("get_by_label", known.label)) if known.label else []
    by_placeholder = list(_named("get_by_placeholder", known.placeholder)) if known.placeholder else []
    by_role = list(_by_role(known))
    if known.is_field:
        named_by_it = known.name == known.placeholder
        yield from by_label
        yield from (*by_placeholder, *by_role) if named_by_it else (*by_role, *by_placeholder)
    else:
        yield from (*by_role, *by_label, *by_placeholder)


def _by_role(known: _KnownElement) -> Iterator[Expression]:
    if known.role in ROLES and known.name:
        short, whole = _short(known.name)
        counted = _COUNTED.match(short)
        if counted:  # the count changes
            yield (_call("get_by_role", known.role, name=counted[1]),)
        yield (_call("get_by_role", known.role, name=short),)
        if whole:
            yield (_call("get_by_role", known.role, name=short, exact=True),)


def _named(method: str, words: str) -> Iterator[Expression]:
    """Yield the substring match, then the exact match."""
    short, whole = _short(words)
    yield (_call(method, short),)
    if whole:
        yield (_call(method, short, exact=True),)


def _by_text(known: _KnownElement) -> Iterator[Expression]:
    if known.tag == "summary" and known.name:  # Playwright knows no role of it
        yield (_call("locator", "summary", has_text=_short(known.name)[0]),)
    if (known.role not in _NEVER_BY_TEXT or known.tag == "summary") and known.text:
        yield from _named("get_by_text", known.text)
    for method, attribute in (("get_by_alt_text", "alt"), ("get_by_title", "title")):
        if known.attributes.get(attribute):
            yield from _named(method, known.attributes[attribute])


def _by_role_alone(known: _KnownElement) -> Iterator[Expression]:
    if known.role in ROLES and known.role not in ("generic", "none", "presentation"):
        yield (_call("get_by_role", known.role),)


def _by_test_id(known: _KnownElement) -> Iterator[Expression]:
    for attribute in TEST_IDS:
        value = known.attributes.get(attribute)
        if value and not looks_generated(value):
            test_id = attribute == "data-testid"
            yield (_call("get_by_test_id", value) if test_id else _css(f"[{attribute}={css_string(value)}]"),)


def _by_attributes(known: _KnownElement) -> Iterator[Expression]:
    given = known.attributes.get("id")
    if given and not looks_generated(given):
        plain = (
            given.replace("-", "").replace("_", "").isalnum() and not given[0].isdigit() and given.isascii()
        )
        yield (_css(f"#{given}" if plain and given[0] != "-" else f"[id={css_string(given)}]"),)
    for attribute in ("name", "aria-label", "href"):
        value = known.attributes.get(attribute)
        if value and not looks_generated(value):
            yield (_css(f"{known.tag}[{attribute}={css_string(value)}]"),)


def _by_css(selector: Selector) -> Iterator[Expression]:
    for each in selector.ordered:
        if isinstance(each, ValueStrategy):
            beside = _BESIDE.fullmatch(each.value)
            if beside:  # a value found by the term before it
                yield (_call("locator", beside[1], has_text=beside[3]), _css(f"+ {beside[4]}"))
            if each.type in ("css", "relational_css", "shadow_pierce", "fallback_css"):
                yield (_css(" ".join(part.strip() for part in each.value.split(">>>"))),)
            elif each.type in ("xpath", "xpath-text", "xpath-class"):
                yield (_css(f"xpath={each.value}"),)


def _by_tag(known: _KnownElement) -> Iterator[Expression]:
    if known.tag:
        kind = known.attributes.get("type")
        yield (_css(f"{known.tag}[type={css_string(kind)}]" if kind else known.tag),)


# -- scopes around the element -------------------------------------------------------------------------


def _within(scopes: Iterable[Expression], expressions: Iterable[Expression]) -> Iterator[Expression]:
    expressions = list(expressions)
    return (scope + each for scope in scopes for each in expressions)


def _scopes(known: _KnownElement) -> Iterator[Expression]:
    """Yield the regions around the element: its row by distinctive words, named regions, regions by role
    alone, then its row within one of these regions.
    """
    rows = list(_rows(known))
    yield from rows
    named = [scope for kind, name in known.regions if name for scope in _named_region(kind, name)]
    yield from named
    alone = [scope for kind, _ in known.regions for scope in _region_alone(kind)]
    yield from alone
    yield from (outer + row for outer in (*named, *alone) for row in rows[:1])


def _rows(known: _KnownElement) -> Iterator[Expression]:
    kind = next((kind for kind, _ in known.regions if kind in _ROLES_FOUND_BY_TEXT), None)
    for words in known.row_words if kind else ():
        for role in _ROLES_FOUND_BY_TEXT[kind or "row"]:
            yield (_call("get_by_role", role), _call("filter", has_text=_short(words)[0]))


def _named_region(kind: str, name: str) -> Iterator[Expression]:
    short, _ = _short(name)
    if kind == "dialog":
        yield from (((_call("get_by_role", role, name=short),)) for role in ("dialog", "alertdialog"))
    elif kind == "form":
        yield (_call("get_by_role", "form", name=short),)
        yield (_css("form"), _call("filter", has_text=short))
    elif kind == "landmark":
        yield from ((_call("get_by_role", role, name=short),) for role in _LANDMARKS)
    elif kind == "group":
        yield from ((_call("get_by_role", role, name=short),) for role in _GROUPS)
        yield (_call("get_by_role", "article"), _call("filter", has_text=short))
    elif kind == "table":
        yield (_call("get_by_role", "table", name=short),)


def _region_alone(kind: str) -> Iterator[Expression]:
    roles = {"dialog": ("dialog", "alertdialog"), "landmark": _LANDMARKS[:4], "table": ("table",)}
    yield from ((_call("get_by_role", role),) for role in roles.get(kind, ()))
    if kind == "form":
        yield (_css("form"),)


# -- links ---------------------------------------------------------------------------------------------


def _short(words: str) -> tuple[str, bool]:
    """Return the words without icons' glyphs, cut after a whole word at `LONGEST_NAME` characters, and whether they are
    complete.
    """
    said = without_glyphs(words) or words
    if said != words and len(said) <= LONGEST_NAME:
        return said, False
    words = said
    if len(words) <= LONGEST_NAME:
        return words, True
    return words[:LONGEST_NAME].rpartition(" ")[0] or words[:LONGEST_NAME], False


def _call(method: str, *arguments: JsonValue, **keywords: JsonValue) -> LocatorLink:
    return LocatorLink(method=method, arguments=arguments, keywords=keywords)


def _css(value: str) -> LocatorLink:
    return _call("locator", value)

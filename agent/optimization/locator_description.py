"""Reads what a locator means from the calls that made it: role, words, identifiers, container.

Pure functions. They are used when no fingerprint from a passing test is known; `locator_targets` decides
which element of a page is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression, LocatorLink

_MUTE = frozenset({"first", "last", "nth", "describe", "visible", "filter", "and_"})
"""Calls that choose among the matches of the ones before them."""
_WORDED = {
    "get_by_label": "label",
    "get_by_placeholder": "placeholder",
    "get_by_alt_text": "alt",
    "get_by_title": "title",
    "get_by_text": "text",
}
OPERABLE = frozenset(
    {
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "radio",
        "switch",
        "slider",
        "spinbutton",
        "tab",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "listbox",
        "treeitem",
    }
)
_STATES = (
    "checked",
    "disabled",
    "expanded",
    "pressed",
    "selected",
    "level",
    "include_hidden",
    "has",
    "has_not",
    "has_not_text",
    "visible",
)
"""Keywords of calls that ask for a state, or for content."""
_STANDING = re.compile(
    r"^(?:id|name|data-.*|type|href|src|for|role|class|placeholder|title|alt|aria-label(?:ledby)?|action)$"
)
_STANDING_PSEUDO = re.compile(r"^:(?:nth|first|last|has-text|text|visible|only|is|where|root)")
_STATE_CLASS = re.compile(
    r"(?:^|[-_])(?:active|selected|current|open|opened|closed|expanded|collapsed|error|invalid|valid|success|warning|"
    r"disabled|enabled|checked|done|completed?|loading|loaded|busy|empty|hidden|visible|shown?)(?:$|[-_])",
    re.IGNORECASE,
)
_QUOTED = r"""(?:"([^"]*)"|'([^']*)'|([\w-]+))"""
_ATTRIBUTE = re.compile(rf"\[\s*([\w-]+)\s*[*^$|~]?=\s*{_QUOTED}\s*[isIS]?\s*\]")
_XPATH_ATTRIBUTE = re.compile(rf"@([\w-]+)\s*(?:=|,)\s*{_QUOTED}")
_TEXT = re.compile(rf"(?:has-text|text|text-is)\(\s*{_QUOTED}\s*\)")
_XPATH_TEXT = re.compile(rf"(?:text\(\)|normalize-space\(\.?\)|contains\(\.)\s*(?:=|,)\s*{_QUOTED}")
_NAMED = re.compile(r"""(text|id|role|css|xpath)=(.*)""", re.DOTALL)
_IDENTIFYING = re.compile(r"^(?:id|name|data-(?:test-?id|test|qa|cy|pw))$")
_SAYING = frozenset({"placeholder", "title", "alt", "aria-label", "value"})


@dataclass(frozen=True, slots=True)
class LocatorDescription:
    """What a locator says about its element."""

    words: tuple[str, ...] = ()
    """What people call it."""
    said_as: str = ""
    """How the words are given: `name`, `label`, `placeholder`, `text`, ..."""
    role: str | None = None
    identifiers: tuple[str, ...] = ()
    """Values of ids, test ids and field names."""
    classes: tuple[str, ...] = ()
    tag: str | None = None
    type: str | None = None
    href: str | None = None
    container: Expression = ()
    """The calls before the last describing one, if they say where to look."""
    chosen: bool = False
    """One of several by its number: the description cannot tell which."""
    states: tuple[str, ...] = ()
    """A state rather than an identity: `checked`, `:disabled`, `[aria-invalid]`."""
    conditions: Expression = ()
    """Calls after the last describing one that demand more of the element: `and_`, `filter`."""

    @property
    def searchable(self) -> tuple[str, ...]:
        """Return its words and identifiers, as they may be written in a source file."""
        return (*self.words, *self.identifiers)

    @property
    def is_content(self) -> bool:
        """Its words are page content rather than the name of a control: they are expected, not used to find
        it.
        """
        if self.role is not None:
            return bool(self.words) and self.role not in OPERABLE
        return (
            bool(self.words) and self.said_as == "text" and self.tag not in ("a", "button", "label", "option")
        )


def describe_locator(links: Expression) -> LocatorDescription | None:
    """Return the description of a chain of calls; None if it cannot be read (`or_`, a custom selector
    engine).
    """
    if any(each.method in ("or_", "within", "get_by_ref") for each in links):
        return None
    at = next((at for at in reversed(range(len(links))) if links[at].method not in _MUTE), None)
    if at is None:
        return None
    link, behind = links[at], links[at + 1 :]
    said = _parse_link(link)
    if said is None:
        return None
    found, inner = said
    more = [_text(each.keywords.get("has_text")) for each in behind if each.method == "filter"]
    if link.method == "locator":
        more.append(_text(link.keywords.get("has_text")))
    words = (*found.words, *(each for each in more if each))
    container = (*links[:at], *inner)
    if all(each.method in ("frame_locator", "content_frame", "owner") for each in container):
        container = ()
    return LocatorDescription(
        words=words,
        said_as=found.said_as or ("text" if words else ""),
        role=found.role,
        identifiers=found.identifiers,
        classes=found.classes,
        tag=found.tag,
        type=found.type,
        href=found.href,
        container=container,
        chosen=found.chosen or any(each.method in ("first", "last", "nth") for each in behind),
        states=(*found.states, *(each for each in _STATES if link.keywords.get(each) is not None)),
        conditions=tuple(each for each in behind if each.method in ("and_", "filter")),
    )


def _parse_link(link: LocatorLink) -> tuple[LocatorDescription, Expression] | None:
    """Return the description of one call, and the container within its selector."""
    first = link.arguments[0] if link.arguments else next(iter(link.keywords.values()), None)
    if link.method == "get_by_role":
        name = _text(link.keywords.get("name"))
        return LocatorDescription(
            words=(name,) if name else (), said_as="name" if name else "", role=str(first)
        ), ()
    if link.method in _WORDED:
        words = _text(first)
        return (LocatorDescription(words=(words,), said_as=_WORDED[link.method]), ()) if words else None
    if link.method == "get_by_test_id":
        value = _text(first)
        return (LocatorDescription(identifiers=(value,)), ()) if value else None
    if link.method == "locator" and isinstance(first, str):
        return _selector(first)
    return None


def _text(value: JsonValue | None) -> str:
    """Return a text, or a pattern that is nearly a plain text."""
    if isinstance(value, dict) and isinstance(value.get("regex"), str):
        literal = str(value["regex"]).strip("^$").replace(r"\s+", " ").replace(r"\s*", " ").replace(".*", " ")
        return literal.strip() if re.fullmatch(r"[\w\s'&-]+", literal) else ""
    return value.strip() if isinstance(value, str) else ""


def _selector(selector: str) -> tuple[LocatorDescription, Expression] | None:
    """Split a selector string: its last part says what, the parts before it where."""
    before, chained, last = selector.rpartition(">>")
    container: Expression = (LocatorLink(method="locator", arguments=(before.strip(),)),) if chained else ()
    last = last.strip()
    named = _NAMED.match(last)
    engine, body = (named[1], named[2].strip()) if named else ("css", last)
    if engine == "xpath" or body.startswith(("/", "(/", "./")):
        return _xpath(body), container
    if engine == "text" or (not named and re.fullmatch(r"([\"']).*\1", body)):
        return LocatorDescription(words=(body.strip("\"'"),), said_as="text"), container
    if engine == "id":
        return LocatorDescription(identifiers=(body,)), container
    if engine == "role":
        name = {a: b or c or d for a, b, c, d in _ATTRIBUTE.findall(body)}.get("name")
        role = body.partition("[")[0]
        return LocatorDescription(
            words=(name,) if name else (), said_as="name" if name else "", role=role
        ), container
    outer, inner = _last_compound(body)
    if outer:
        container = (*container, LocatorLink(method="locator", arguments=(outer,)))
    found = _css(inner)
    return None if found is None else (found, container)


def _last_compound(css: str) -> tuple[str, str]:
    """Split CSS before its last compound, ignoring brackets and quotes."""
    depth, quote, at = 0, "", 0
    for place, char in enumerate(css):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif depth == 0 and char in " >+~" and css[place + 1 :].strip():
            at = place + 1
    outer = css[:at].strip()
    return ("" if outer.endswith(("+", "~")) else outer.rstrip("> ").strip()), css[at:].strip(" >+~")


def _css(compound: str) -> LocatorDescription | None:
    bare = re.sub(r"\[[^\]]*\]|:[\w-]+(\([^()]*(\([^()]*\))?[^()]*\))?", "", compound)
    tag = re.match(r"[a-zA-Z][\w-]*", bare)
    return _attributed(
        {name: a or b or c for name, a, b, c in _ATTRIBUTE.findall(compound)}
        | dict.fromkeys(re.findall(r"\[\s*([\w-]+)\s*\]", compound), ""),
        texts=[a or b or c for a, b, c in _TEXT.findall(compound)],
        ids=re.findall(r"#([\w-]+)", bare),
        classes=re.findall(r"\.([\w-]+)", bare),
        tag=tag[0].lower() if tag else None,
        chosen=bool(re.search(r":(nth|first|last)-", compound)),
        pseudo=[
            each
            for each in re.findall(r"(?<!:):[a-z][\w-]*", re.sub(r"\"[^\"]*\"|'[^']*'", "", compound))
            if not _STANDING_PSEUDO.match(each)
        ],
    )


def _xpath(path: str) -> LocatorDescription:
    last = re.split(r"/(?![^\[]*\])", path)[-1]
    tag = re.match(r"(?:[\w-]+::)?([a-zA-Z][\w-]*)", last)
    return _attributed(
        {name: a or b or c for name, a, b, c in _XPATH_ATTRIBUTE.findall(last)},
        texts=[a or b or c for a, b, c in _XPATH_TEXT.findall(last)],
        ids=[],
        classes=[],
        tag=tag[1].lower() if tag else None,
        chosen=bool(re.search(r"\[\d+\]|last\(\)", last)),
        pseudo=["not()"] if "not(" in last else [],
    )


def _attributed(
    attributes: dict[str, str],
    *,
    texts: list[str],
    ids: list[str],
    classes: list[str],
    tag: str | None,
    chosen: bool,
    pseudo: list[str],
) -> LocatorDescription:
    saying = [value for name, value in attributes.items() if name in _SAYING and value]
    identifiers = [*ids, *(value for name, value in attributes.items() if value and _IDENTIFYING.match(name))]
    more = attributes.get("class", "").split()
    return LocatorDescription(
        words=(*saying, *texts),
        said_as=("name" if saying else "text") if saying or texts else "",
        role=attributes.get("role"),
        identifiers=tuple(identifiers),
        classes=(*classes, *more),
        tag=tag,
        type=attributes.get("type"),
        href=attributes.get("href"),
        chosen=chosen,
        states=(
            *pseudo,
            *(each for each in attributes if not _STANDING.match(each)),
            *(each for each in (*classes, *more) if _STATE_CLASS.search(each)),
        ),
    )

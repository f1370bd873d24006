"""The index keys that a page shows. Each part of the page is read once, and only when needed.

Not here: how the keys are used (`screen_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kb_schema import url_patterns
from mcp_server.screen_index.index_keys import IndexKeyKind, SnapshotFormat, format_token
from web_pages.accessible_names import is_control, label_text
from web_pages.aria_probe_answers import CONTROL_ROLES
from web_pages.aria_snapshots import AriaSnapshot
from web_pages.element_tree import Element
from web_pages.page_texts import fold, text_of
from web_pages.stored_pages import StoredPage

_SEPARATOR = "\n"
"""Between texts that do not belong together; no needle has one."""


@dataclass(frozen=True)
class PageKeys:
    """One page, as far as index keys go."""

    page: StoredPage

    @cached_property
    def medium(self) -> SnapshotFormat:
        """What the client sent."""
        snapshot, outline = self.page.snapshot, self.page.outline
        if snapshot.html:
            return SnapshotFormat.MARKUP
        if outline is not None:
            return SnapshotFormat.OUTLINE if outline.complete else SnapshotFormat.PART
        return SnapshotFormat.PLAIN if snapshot.text is not None else SnapshotFormat.PART

    def read(self, kind: IndexKeyKind, where: str) -> str:
        """The text in which needles of a kind are looked for."""
        if kind is IndexKeyKind.TITLE:
            return self.page.snapshot.title
        if kind is IndexKeyKind.ADDRESS:
            url = url_patterns.normalize_url(self.page.snapshot.url)
            return f"{url}{_SEPARATOR}{url_patterns.path_of(url)}"
        if self.page.snapshot.html:
            return _MARKUP_READERS[kind](self.page, where)
        if self.page.outline is not None:
            return _OUTLINE_READERS[kind](self.page.outline, where)
        return self.page.text if kind is IndexKeyKind.TEXT else ""

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Ids, classes, attributes and tags, as `format_token` writes them."""
        if not self.page.snapshot.html:
            return frozenset()
        signs: set[tuple[str, str]] = set()
        for element in _elements(self.page):
            signs.add(("<", element.tag))
            for name, value in element.attributes.items():
                signs.add((name, value))
        return frozenset(token for sign in signs for token in _tokens(*sign))


def _tokens(name: str, value: str) -> Iterator[str]:
    if name == "<":
        yield format_token(name, value)
        return
    yield format_token("@", name)
    yield format_token(f"@{name}=", value)
    if name == "id":
        yield format_token("#", value)
    elif name == "class":
        for each in value.split():
            yield format_token(".", each)


def _elements(page: StoredPage) -> Iterator[Element]:
    return (element for root in page.roots for element in root.elements)


def _joined(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(dict.fromkeys(texts))


def _visible(page: StoredPage, _where: str) -> str:
    return _joined(text_of(root) for root in page.roots)


def _names(page: StoredPage, role: str) -> str:
    return _joined(fold(name) for name in page.called(role))


def _labels(page: StoredPage, _where: str) -> str:
    return _joined(fold(label_text(each)) for each in _elements(page) if is_control(each))


def _placeholders(page: StoredPage, _where: str) -> str:
    return _joined(fold(each.get("placeholder") or "") for each in _elements(page))


_MARKUP_READERS: dict[IndexKeyKind, Callable[[StoredPage, str], str]] = {
    IndexKeyKind.TEXT: _visible,
    IndexKeyKind.FOLDED: lambda page, where: _visible(page, where).lower(),
    IndexKeyKind.NAME: _names,
    IndexKeyKind.LABEL: _labels,
    IndexKeyKind.PLACEHOLDER: _placeholders,
}


def _outline_names(outline: AriaSnapshot, role: str) -> str:
    return _joined(_without_spaces(node.name.lower()) for node in outline.nodes if node.role == role)


def _outline_labels(outline: AriaSnapshot, _where: str) -> str:
    return _joined(_without_spaces(node.name.lower()) for node in outline.nodes if node.role in CONTROL_ROLES)


def _outline_placeholders(outline: AriaSnapshot, _where: str) -> str:
    said = (node.properties.get("placeholder", node.name) for node in outline.nodes)
    return _joined(_without_spaces(fold(words)) for words in said)


def _without_spaces(text: str) -> str:
    return text.replace(" ", "")


_OUTLINE_READERS: dict[IndexKeyKind, Callable[[AriaSnapshot, str], str]] = {
    IndexKeyKind.TEXT: lambda outline, _: _without_spaces(outline.text),
    IndexKeyKind.FOLDED: lambda outline, _: _without_spaces(outline.text.lower()),
    IndexKeyKind.NAME: _outline_names,
    IndexKeyKind.LABEL: _outline_labels,
    IndexKeyKind.PLACEHOLDER: _outline_placeholders,
}

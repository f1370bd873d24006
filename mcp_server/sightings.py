"""What a page shows of the anchors that are looked for: each place is read once, and only if asked.

Not here: what the anchors are of use for (`screen_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kb_schema import urls
from kb_schema.pages.names import is_control, label_text
from kb_schema.pages.outline import Outline
from kb_schema.pages.outline_answers import CONTROL_ROLES
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import fold, text_of
from kb_schema.pages.tree import Element
from mcp_server.anchors import Kind, Medium, token_of

_PARTED = "\n"
"""Between texts that do not belong together; no needle has one."""


@dataclass(frozen=True)
class Sightings:
    """One page, as far as anchors go."""

    page: StoredPage

    @cached_property
    def medium(self) -> Medium:
        """What the client sent."""
        snapshot, outline = self.page.snapshot, self.page.outline
        if snapshot.html:
            return Medium.MARKUP
        if outline is not None:
            return Medium.OUTLINE if outline.complete else Medium.PART
        return Medium.PLAIN if snapshot.text is not None else Medium.PART

    @property
    def closed_up(self) -> bool:
        """Whether texts are given without spaces, since the snapshot does not tell which belong there."""
        return self.page.outline is not None

    def read(self, kind: Kind, where: str) -> str:
        """The text in which needles of a kind are looked for."""
        if kind is Kind.TITLE:
            return self.page.snapshot.title
        if kind is Kind.ADDRESS:
            url = urls.normal(self.page.snapshot.url)
            return f"{url}{_PARTED}{urls.path_of(url)}"
        if self.page.snapshot.html:
            return _MARKUP_READERS[kind](self.page, where)
        if self.page.outline is not None:
            return _OUTLINE_READERS[kind](self.page.outline, where)
        return self.page.text if kind is Kind.TEXT else ""

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Ids, classes, attributes and tags, as `token_of` writes them."""
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
        yield token_of(name, value)
        return
    yield token_of("@", name)
    yield token_of(f"@{name}=", value)
    if name == "id":
        yield token_of("#", value)
    elif name == "class":
        for each in value.split():
            yield token_of(".", each)


def _elements(page: StoredPage) -> Iterator[Element]:
    return (element for root in page.roots for element in root.elements)


def _joined(texts: Iterable[str]) -> str:
    return _PARTED.join(dict.fromkeys(texts))


def _visible(page: StoredPage, _where: str) -> str:
    return _joined(text_of(root) for root in page.roots)


def _names(page: StoredPage, role: str) -> str:
    return _joined(fold(name) for name in page.called(role))


def _labels(page: StoredPage, _where: str) -> str:
    return _joined(fold(label_text(each)) for each in _elements(page) if is_control(each))


def _placeholders(page: StoredPage, _where: str) -> str:
    return _joined(fold(each.get("placeholder") or "") for each in _elements(page))


_MARKUP_READERS: dict[Kind, Callable[[StoredPage, str], str]] = {
    Kind.TEXT: _visible,
    Kind.FOLDED: lambda page, where: _visible(page, where).lower(),
    Kind.NAME: _names,
    Kind.LABEL: _labels,
    Kind.PLACEHOLDER: _placeholders,
}


def _told_names(outline: Outline, role: str) -> str:
    return _joined(_close(node.name.lower()) for node in outline.nodes if node.role == role)


def _told_labels(outline: Outline, _where: str) -> str:
    return _joined(_close(node.name.lower()) for node in outline.nodes if node.role in CONTROL_ROLES)


def _told_placeholders(outline: Outline, _where: str) -> str:
    said = (node.properties.get("placeholder", node.name) for node in outline.nodes)
    return _joined(_close(fold(words)) for words in said)


def _close(text: str) -> str:
    return text.replace(" ", "")


_OUTLINE_READERS: dict[Kind, Callable[[Outline, str], str]] = {
    Kind.TEXT: lambda outline, _: _close(outline.text),
    Kind.FOLDED: lambda outline, _: _close(outline.text.lower()),
    Kind.NAME: _told_names,
    Kind.LABEL: _told_labels,
    Kind.PLACEHOLDER: _told_placeholders,
}

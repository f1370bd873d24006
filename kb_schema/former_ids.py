"""Former ids of documents and elements, in `metadata.former_ids`: what was renamed or merged is still found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from kb_schema.base import Document, Metadata
from kb_schema.screens import UIElement

KEY = "former_ids"

NamedT = TypeVar("NamedT", bound=Document | UIElement)


def list_former_ids(metadata: Metadata) -> tuple[str, ...]:
    """Return the former ids that a document or an element states, the oldest first."""
    stated = metadata.get(KEY)
    return tuple(each for each in stated if isinstance(each, str)) if isinstance(stated, list) else ()


def with_former_ids(node: NamedT, former: Iterable[str], own: str) -> NamedT:
    """Return the document or element with further former ids; `own`, its id now, is not one of them."""
    names = dict.fromkeys((*list_former_ids(node.metadata), *former))
    names.pop(own, None)
    rest = {key: value for key, value in node.metadata.items() if key != KEY}
    metadata = rest | ({KEY: [*names]} if names else {})
    return cast("NamedT", node.model_copy(update={"metadata": metadata}))

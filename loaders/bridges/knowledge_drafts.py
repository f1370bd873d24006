"""The result of importing another tool's files: a draft of a knowledge base, or an error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from kb_schema import KnowledgeBase, SourcedDocument, assemble
from kb_schema.base import Document
from kb_schema.url_patterns import origin_of

MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnowledgeDraft:
    """A draft of a knowledge base, derived from hints: it loads, and a person must review it.

    `notes`: what was left out.
    """

    knowledge: KnowledgeBase
    notes: tuple[str, ...] = ()


class UnreadableSource(ValueError):
    """A file does not have the expected format. `file`, `reason` and `place` say what is wrong."""

    def __init__(self, file: Path, reason: str, place: str = "") -> None:
        self.file, self.reason, self.place = file, reason, place
        super().__init__(f"{file}{f', {place}' if place else ''}: {reason}")


def build_draft(documents: list[Document], notes: list[str]) -> KnowledgeDraft:
    """Return the documents, checked like any knowledge. Raises `KnowledgeError`."""
    return KnowledgeDraft(assemble([SourcedDocument(each) for each in documents])[0], tuple(notes))


def make_local_id(words: str, otherwise: str, taken: Container[str] = ()) -> str:
    """Return an id made of a label.

    >>> make_local_id("Agent Name *", "element"), make_local_id("/", "page", {"page"}), make_local_id("Größe", "element")
    ('agent_name', 'page_2', 'grosse')
    """
    ascii_only = unicodedata.normalize("NFKD", words.replace("ß", "ss")).encode("ascii", "ignore").decode()
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ascii_only)
    made = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()[:80].rstrip("_") or otherwise
    found, number = made, 2
    while found in taken:
        found, number = f"{made}_{number}", number + 1
    return found


def read_bytes(file: Path) -> bytes:
    """Return the file's bytes. Raises `UnreadableSource`, also for a file that is too large."""
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise UnreadableSource(file, f"is larger than {MOST_BYTES // 2**20} MB")
        return file.read_bytes()
    except OSError as exc:
        raise UnreadableSource(file, f"cannot be read: {exc.strerror or exc}") from exc


def web_address(url: str) -> str | None:
    """Return the origin of an http(s) address, or None."""
    origin = origin_of(url)
    return origin if origin.startswith(("http://", "https://")) else None

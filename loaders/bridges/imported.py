"""What reading somebody else's files gives: a draft of a knowledge base, and how reading fails."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from kb_schema import KnowledgeBase, Sourced, assemble
from kb_schema.base import Document
from kb_schema.urls import origin_of

MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Draft:
    """A knowledge base made of hints: it loads, and somebody has to look at it. `notes`: what was left out."""

    knowledge: KnowledgeBase
    notes: tuple[str, ...] = ()


class Unreadable(ValueError):
    """A file is not what it is read as. `file`, `reason` and `place` in it say what is wrong."""

    def __init__(self, file: Path, reason: str, place: str = "") -> None:
        self.file, self.reason, self.place = file, reason, place
        super().__init__(f"{file}{f', {place}' if place else ''}: {reason}")


def draft(documents: list[Document], notes: list[str]) -> Draft:
    """The documents checked like any knowledge. Raises `KnowledgeError`."""
    return Draft(assemble([Sourced(each) for each in documents])[0], tuple(notes))


def local_id(words: str, otherwise: str, taken: Container[str] = ()) -> str:
    """An id made of what something is called.

    >>> local_id("Agent Name *", "element"), local_id("/", "page", {"page"}), local_id("Größe", "element")
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
    """The file's bytes, if they are not too many. Raises `Unreadable`."""
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise Unreadable(file, f"is larger than {MOST_BYTES // 2**20} MB")
        return file.read_bytes()
    except OSError as exc:
        raise Unreadable(file, f"cannot be read: {exc.strerror or exc}") from exc


def web_address(url: str) -> str | None:
    """The origin of an http(s) address; None where it is none."""
    origin = origin_of(url)
    return origin if origin.startswith(("http://", "https://")) else None

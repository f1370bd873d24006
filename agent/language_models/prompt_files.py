"""Reads the prompts: files in `prompts/` whose first line is `version: N`, with `{name}` for what is filled in.

Text of pages goes into marked blocks (`mark_page_text`): it is data, and cannot end its block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "prompts"
_MARK = re.compile(r"</?\s*page[-_ ]?text[^>]*>?", re.IGNORECASE)
LONGEST_PAGE_TEXT = 12_000
"""Characters of one block."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with its version."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        """Return what records and traces call it."""
        return f"{self.name}/{self.version}"

    def render(self, **values: object) -> str:
        """Return the text with its values; braces in values stay as they are. Raises `KeyError`."""
        return re.sub(r"\{([a-z_]+)\}", lambda match: str(values[match[1]]), self.text)


@cache
def load_prompt(name: str) -> Prompt:
    """Return a prompt by the name of its file. Raises `OSError` and `ValueError` for a damaged installation."""
    head, _, text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("\n")
    return Prompt(name, int(head.removeprefix("version:")), text.strip() + "\n")


def mark_page_text(text: str) -> str:
    """Return a page's text as a block that says what it is. Marks in the text itself are removed."""
    bare = _MARK.sub(" ", text)
    cut = bare if len(bare) <= LONGEST_PAGE_TEXT else f"{bare[:LONGEST_PAGE_TEXT]} (cut)"
    return f"<page-text>\n{cut}\n</page-text>"

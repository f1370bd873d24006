"""The one page snapshot: what was seen of a page, live, in traces and in identification.

The HTML of our own snapshots is annotated while it is taken, so that a stored page answers the
same questions as the live one:

- `data-pp-hidden` on every element that is not rendered or not visible,
- `data-pp-value` / `data-pp-checked` on form fields (secrets are left out),
- `data-pp-name`: the accessible name, where the markup alone could say something else,
- `<pp-shadow-root>` and `<pp-frame-document>` holding open shadow roots and same-origin frames.

Foreign HTML carries none of these; visibility is then judged from the markup alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from kb_schema.base import Model

ANNOTATION_PREFIX = "data-pp-"
"""What all annotations begin with; a page without any was not annotated (its `head` never shows)."""
HIDDEN_ATTRIBUTE = "data-pp-hidden"
VALUE_ATTRIBUTE = "data-pp-value"
CHECKED_ATTRIBUTE = "data-pp-checked"
NAME_ATTRIBUTE = "data-pp-name"
PLACE_ATTRIBUTE = "data-pp-at"
"""Only while a page is being looked at: an element's place in the agent's index. Never stored."""
SHADOW_TAG = "pp-shadow-root"
FRAME_TAG = "pp-frame-document"


class Viewport(Model):
    """Size of the visible page in CSS pixels."""

    width: int = Field(ge=1)
    height: int = Field(ge=1)


class PageSnapshot(Model):
    """A page as it was seen. On disk: `NAME.html` beside `NAME.json` (everything but `html`)."""

    url: str
    title: str = ""
    html: str = ""
    text: str | None = None
    """Plain or accessibility text, from clients that have no HTML to give."""
    ready_state: Literal["loading", "interactive", "complete"] | None = None
    captured_at: datetime | None = None
    viewport: Viewport | None = None
    annotated: bool = False
    """Whether the HTML carries computed visibility and form values."""

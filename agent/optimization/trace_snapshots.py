"""Renders the pages in a Playwright trace as HTML, to look for elements again. Scripts are left out."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from web_pages.playwright_snapshots import (
    FRAME_SOURCE,
    OWN,
    SHADOW,
    VALUE,
    VOID,
    FrameSnapshot,
    FrameSnapshots,
    SnapshotWriter,
    field_states,
)

_LEFT_OUT = frozenset({"script", "noscript"})


class TraceSnapshots(FrameSnapshots):
    """The snapshots of one trace."""

    def url(self, call: str) -> str:
        """The URL of the page at a call; empty if it is not known."""
        found = self.first_main(call)
        return "" if found is None else found.url

    def html(self, call: str, phase: str) -> str | None:
        """Return the page at a moment of a call; None if there is no snapshot of it."""
        main = self.main(call, phase)
        if main is None:
            return None
        return "<!doctype html>" + "".join(_TracePageWriter(self).written(main.tree, main))


class _TracePageWriter(SnapshotWriter):
    """Return one page as HTML, including its frames."""

    def element(
        self, tag: str, attributes: dict[str, Any], children: list[Any], at: FrameSnapshot, depth: int
    ) -> Iterator[str]:
        if tag in _LEFT_OUT:
            return
        own = _attributes(tag, attributes)
        source = str(attributes.get("src") or attributes.get(f"{OWN}src__") or "")
        if tag == "iframe" and source.startswith(FRAME_SOURCE):
            own.pop("src", None)
            inner = self._snapshots.latest(source.removeprefix(FRAME_SOURCE))
            if inner is not None:
                own["srcdoc"] = "".join(self.written(inner.tree, inner, depth + 1))
        told = "".join(f' {name}="{escape(value)}"' for name, value in own.items())
        yield f"<{tag}{told}>"
        if tag in VOID:
            return
        if tag == "style":
            yield "".join(each for each in children if isinstance(each, str)).replace("</", "<\\/")
        elif tag == "textarea":
            yield escape(str(attributes.get(VALUE, "")), quote=False)
        else:
            for child in children:
                yield from self.written(child, at, depth + 1)
        yield f"</{tag}>"


def _attributes(tag: str, attributes: dict[str, Any]) -> dict[str, str]:
    """Return an element's attributes and its value; passwords are left out."""
    own = {
        name: str(value)
        for name, value in attributes.items()
        if not name.startswith((OWN, "on"))
        and name.replace("-", "").replace(":", "").replace("_", "").isalnum()
    }
    if tag == "template" and SHADOW in attributes:
        own["shadowrootmode"] = "open"
    return own | field_states(tag, attributes)

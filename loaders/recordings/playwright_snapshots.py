"""Writes the pages in a Playwright trace in the form of our own snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from kb_schema.page_snapshots import FRAME_TAG, SHADOW_TAG
from loaders.recordings.marked_pages import MARK
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

_TARGET = f"{OWN}target__"
_EMPTIED = frozenset({"script", "style", "noscript"})


class PlaywrightTraceSnapshots(FrameSnapshots):
    """The snapshots of a trace."""

    def add(self, snapshot: dict[str, Any], place: str, problem: Callable[[str, str], None]) -> None:
        """Add one snapshot of one frame, in the order of the trace."""
        if not isinstance(snapshot.get("html"), list):
            problem(place, "a snapshot without a page; left out")
            snapshot = {**snapshot, "html": ["HTML", {}]}
        self.take(snapshot)

    def url(self, call: str) -> str | None:
        """Return the page's URL before a call."""
        found = self.first_main(call)
        return None if found is None else found.url

    def page(self, call: str) -> str | None:
        """Return the id of a call's page."""
        found = self.first_main(call)
        return None if found is None else found.page

    def html(self, call: str, phase: str, *, marked: bool = False) -> str | None:
        """Return the page at a moment of a call (`before`, `action`, `after`), its target marked."""
        main = self.main(call, phase)
        if main is None:
            return None
        others = {each.frame: each for each in self.moment(call, phase)}
        return "".join(_PlaywrightSnapshotWriter(self, others, call, marked=marked).written(main.tree, main))


class _PlaywrightSnapshotWriter(SnapshotWriter):
    """Writes one page as HTML, with shadow roots and frames as in our own snapshots."""

    def __init__(
        self, pages: PlaywrightTraceSnapshots, frames: dict[str, FrameSnapshot], call: str, *, marked: bool
    ) -> None:
        super().__init__(pages)
        self._frames, self._call, self._marked = frames, call, marked

    def element(
        self, tag: str, attributes: dict[str, Any], children: list[Any], at: FrameSnapshot, depth: int
    ) -> Iterator[str]:
        if tag == "template" and SHADOW in attributes:
            inner = "".join("".join(self.written(child, at, depth + 1)) for child in children)
            yield f'<{SHADOW_TAG} srcdoc="{escape(inner)}"></{SHADOW_TAG}>'
            return
        if tag in _EMPTIED:
            return
        yield self._opening(tag, attributes)
        if tag in VOID:
            return
        if tag == "textarea":
            yield escape(str(attributes.get(VALUE, "")), quote=False)
        else:
            for child in children:
                yield from self.written(child, at, depth + 1)
        yield f"</{tag}>"
        if tag in ("iframe", "frame"):
            yield from self._frame(str(attributes.get("src") or ""), depth)

    def _opening(self, tag: str, attributes: dict[str, Any]) -> str:
        own = {name: str(value) for name, value in attributes.items() if not name.startswith(OWN)}
        if own.get("src", "").startswith(FRAME_SOURCE):
            del own["src"]
        own |= field_states(tag, attributes)
        parts = [f' {name}="{escape(value)}"' for name, value in own.items()]
        return f"<{tag}{''.join(parts)}{MARK if self._is_target(attributes) else ''}>"

    def _is_target(self, attributes: dict[str, Any]) -> bool:
        if not self._marked or _TARGET not in attributes:
            return False
        target = str(attributes[_TARGET])
        return target in ("", self._call)

    def _frame(self, source: str, depth: int) -> Iterator[str]:
        name = source.removeprefix(FRAME_SOURCE)
        inner = self._frames.get(name) or self._snapshots.latest(name)
        if inner is not None:
            html = "".join(self.written(inner.tree, inner, depth + 1))
            yield f'<{FRAME_TAG} srcdoc="{escape(html)}"></{FRAME_TAG}>'

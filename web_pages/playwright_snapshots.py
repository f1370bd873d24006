"""The page snapshots of a Playwright trace, each of which contains only the changes since the one before.

A node is a text, `[name, attributes, ...children]`, or `[[n, at]]`: the node at that position, counted from
the innermost, in the snapshot n before this one of the same frame. Readers decide how to write a page as
HTML: importers as our own snapshots, healing as a browser shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

OWN = "__playwright_"
"""The prefix of Playwright's own attributes."""
VALUE, CHECKED, SELECTED = f"{OWN}value_", f"{OWN}checked_", f"{OWN}selected_"
SHADOW = f"{OWN}shadow_root_"
FRAME_SOURCE = "/snapshot/"
"""The prefix of the `src` of a frame whose page is in the trace."""
VOID = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    }
)
PHASES = ("before", "action", "after")
DEEPEST = 400
"""The most nesting levels; a deeper tree is damaged."""
MOST_NODES = 300_000


@dataclass(frozen=True, slots=True)
class FrameSnapshot:
    """One frame at one moment."""

    frame: str
    at: int
    """Its number among the snapshots of its frame."""
    url: str
    tree: Any
    main: bool
    page: str


class FrameSnapshots:
    """The frame snapshots of one trace."""

    def __init__(self) -> None:
        self._frames: dict[str, list[FrameSnapshot]] = {}
        self._nodes: dict[tuple[str, int], list[Any]] = {}
        self._calls: dict[tuple[str, str], list[FrameSnapshot]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Add a snapshot, in the order of the trace."""
        frame = str(event.get("frameId"))
        known = self._frames.setdefault(frame, [])
        url, page = str(event.get("frameUrl") or ""), str(event.get("pageId") or "")
        made = FrameSnapshot(frame, len(known), url, event.get("html"), bool(event.get("isMainFrame")), page)
        known.append(made)
        name = str(event.get("snapshotName") or "")
        phase = str(event.get("phase") or name.partition("@")[0])
        call = str(event.get("callId") or name.partition("@")[2])
        self._calls.setdefault((call, {"input": "action"}.get(phase, phase)), []).append(made)

    def moment(self, call: str, phase: str) -> tuple[FrameSnapshot, ...]:
        """Return every frame at a moment of a call."""
        return tuple(self._calls.get((call, phase), ()))

    def main(self, call: str, phase: str) -> FrameSnapshot | None:
        """Return the main frame at that moment."""
        return next((each for each in self.moment(call, phase) if each.main), None)

    def first_main(self, call: str) -> FrameSnapshot | None:
        """Return the main frame at the first recorded moment of a call."""
        return next((each for phase in PHASES if (each := self.main(call, phase)) is not None), None)

    def latest(self, frame: str) -> FrameSnapshot | None:
        """Return the last snapshot of a frame."""
        known = self._frames.get(frame)
        return known[-1] if known else None

    def referred(self, reference: list[Any], at: FrameSnapshot) -> tuple[Any, FrameSnapshot] | None:
        """Return the node that a reference leads to, and its snapshot."""
        back, place = reference
        if not isinstance(back, int) or not isinstance(place, int) or not 0 <= at.at - back <= at.at:
            return None
        snapshot = self._frames[at.frame][at.at - back]
        key = (snapshot.frame, snapshot.at)
        if key not in self._nodes:
            self._nodes[key] = list(_inside_out(snapshot.tree))
        nodes = self._nodes[key]
        return (nodes[place], snapshot) if 0 <= place < len(nodes) else None


class SnapshotWriter:
    """Writes one page as HTML. Subclasses decide how an element is written; references are followed here."""

    def __init__(self, snapshots: FrameSnapshots) -> None:
        self._snapshots = snapshots
        self._count = 0

    def written(self, node: Any, at: FrameSnapshot, depth: int = 0) -> Iterator[str]:
        """Yield the HTML of a node and its content."""
        self._count += 1
        if depth > DEEPEST or self._count > MOST_NODES:
            return
        if isinstance(node, str):
            yield escape(node, quote=False)
        elif isinstance(node, list) and node and isinstance(node[0], list) and len(node[0]) == 2:
            found = self._snapshots.referred(node[0], at)
            if found is not None:
                yield from self.written(found[0], found[1], depth + 1)
        elif isinstance(node, list) and node and isinstance(node[0], str):
            attributes = node[1] if len(node) > 1 and isinstance(node[1], dict) else {}
            yield from self.element(node[0].lower(), attributes, node[2:], at, depth)

    def element(
        self, tag: str, attributes: dict[str, Any], children: list[Any], at: FrameSnapshot, depth: int
    ) -> Iterator[str]:
        """Yield an element from its start tag to its end tag."""
        raise NotImplementedError


def field_states(tag: str, attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the states of fields as markup attributes; passwords are left out."""
    states: dict[str, str] = {}
    kind = str(attributes.get("type") or "").lower()
    if tag == "input" and VALUE in attributes and kind not in ("checkbox", "radio", "password", "file"):
        states["value"] = str(attributes[VALUE])
    if attributes.get(CHECKED) == "true":
        states["checked"] = ""
    if attributes.get(SELECTED) == "true":
        states["selected"] = ""
    return states


def _inside_out(tree: Any) -> Iterator[Any]:
    """Yield every node of the snapshot itself, children before their parents."""
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, seen = stack.pop()
        if isinstance(node, str) or seen:
            yield node
        elif isinstance(node, list) and node and isinstance(node[0], str):
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node[2:])]

"""Pages out of Playwright's snapshots, which say only what changed since the one before.

A node is a text, `[name, attributes, ...children]`, or `[[n, at]]`: what stood at that place, counted
from the innermost, in the snapshot of the same frame n before this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from kb_schema.snapshots import FRAME_TAG, SHADOW_TAG
from loaders.recordings.placing import MARK

_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
})  # fmt: skip
_OWN = "__playwright_"
_VALUE, _CHECKED, _SELECTED = f"{_OWN}value_", f"{_OWN}checked_", f"{_OWN}selected_"
_TARGET, _SHADOW = f"{_OWN}target__", f"{_OWN}shadow_root_"
_FRAME_SOURCE = "/snapshot/"
"""With it begins what stands for the `src` of a frame whose page is in the trace."""
_PHASES = ("before", "action", "after")
_EMPTIED = frozenset({"script", "style", "noscript"})
DEEPEST = 400
"""A tree that is deeper is broken."""
MOST_NODES = 300_000


@dataclass(slots=True)
class _Snapshot:
    frame: str
    at: int
    """Number among those of its frame."""
    url: str
    tree: Any
    main: bool
    page: str


class Pages:
    """The snapshots of a trace."""

    def __init__(self) -> None:
        self._frames: dict[str, list[_Snapshot]] = {}
        self._nodes: dict[tuple[str, int], list[Any]] = {}
        self._calls: dict[tuple[str, str], list[_Snapshot]] = {}

    def add(self, snapshot: dict[str, Any], place: str, problem: Callable[[str, str], None]) -> None:
        """One snapshot of one frame, in the order of the trace."""
        frame, tree = str(snapshot.get("frameId")), snapshot.get("html")
        if not isinstance(tree, list):
            problem(place, "a snapshot without a page; left out")
            tree = ["HTML", {}]
        known = self._frames.setdefault(frame, [])
        made = _Snapshot(
            frame,
            len(known),
            str(snapshot.get("frameUrl") or ""),
            tree,
            bool(snapshot.get("isMainFrame")),
            str(snapshot.get("pageId") or ""),
        )
        known.append(made)
        name = str(snapshot.get("snapshotName") or "")
        phase = str(snapshot.get("phase") or name.partition("@")[0])
        call = str(snapshot.get("callId") or name.partition("@")[2])
        self._calls.setdefault((call, {"input": "action"}.get(phase, phase)), []).append(made)

    def url(self, call: str) -> str | None:
        """Where the page was before a call."""
        for phase in _PHASES:
            main = self._main(call, phase)
            if main is not None:
                return main.url
        return None

    def page(self, call: str) -> str | None:
        """The id of the page that a call was made on."""
        return next((each.page for phase in _PHASES if (each := self._main(call, phase)) is not None), None)

    def html(self, call: str, phase: str, *, marked: bool = False) -> str | None:
        """The page at a moment of a call (`before`, `action`, `after`), its target marked."""
        main = self._main(call, phase)
        if main is None:
            return None
        others = {each.frame: each for each in self._calls[(call, phase)]}
        return "".join(_Writer(self, others, call, marked=marked).written(main.tree, main))

    def referred(self, reference: list[Any], at: _Snapshot) -> tuple[Any, _Snapshot] | None:
        """The node that a reference leads to, and the snapshot it stands in."""
        back, place = reference
        if not isinstance(back, int) or not isinstance(place, int):
            return None
        number = at.at - back
        known = self._frames.get(at.frame, [])
        if not 0 <= number <= at.at:
            return None
        snapshot = known[number]
        nodes = self._nodes.get((snapshot.frame, number))
        if nodes is None:
            nodes = self._nodes[snapshot.frame, number] = list(_inside_out(snapshot.tree))
        return (nodes[place], snapshot) if 0 <= place < len(nodes) else None

    def latest(self, frame: str) -> _Snapshot | None:
        """The last snapshot of a frame."""
        known = self._frames.get(frame)
        return known[-1] if known else None

    def _main(self, call: str, phase: str) -> _Snapshot | None:
        return next((each for each in self._calls.get((call, phase), ()) if each.main), None)


def _inside_out(tree: Any) -> Iterator[Any]:
    """Every node that the snapshot itself has, children before their parents."""
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, seen = stack.pop()
        if isinstance(node, str) or seen:
            yield node
        elif isinstance(node, list) and node and isinstance(node[0], str):
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node[2:])]


class _Writer:
    """One page as HTML; shadow roots and frames as our own snapshots have them."""

    def __init__(self, pages: Pages, frames: dict[str, _Snapshot], call: str, *, marked: bool) -> None:
        self._pages, self._frames, self._call, self._marked = pages, frames, call, marked
        self._count = 0

    def written(self, node: Any, at: _Snapshot, depth: int = 0) -> Iterator[str]:
        self._count += 1
        if depth > DEEPEST or self._count > MOST_NODES:
            return
        if isinstance(node, str):
            yield escape(node, quote=False)
        elif isinstance(node, list) and node and isinstance(node[0], list) and len(node[0]) == 2:
            found = self._pages.referred(node[0], at)
            if found is not None:
                yield from self.written(found[0], found[1], depth + 1)
        elif isinstance(node, list) and node and isinstance(node[0], str):
            attributes = node[1] if len(node) > 1 and isinstance(node[1], dict) else {}
            yield from self._element(node[0].lower(), attributes, node[2:], at, depth)

    def _element(
        self, tag: str, attributes: dict[str, Any], children: list[Any], at: _Snapshot, depth: int
    ) -> Iterator[str]:
        if tag == "template" and _SHADOW in attributes:
            inner = "".join("".join(self.written(child, at, depth + 1)) for child in children)
            yield f'<{SHADOW_TAG} srcdoc="{escape(inner)}"></{SHADOW_TAG}>'
            return
        if tag in _EMPTIED:
            return
        yield self._opening(tag, attributes)
        if tag in _VOID:
            return
        if tag == "textarea":
            yield escape(str(attributes.get(_VALUE, "")), quote=False)
        else:
            for child in children:
                yield from self.written(child, at, depth + 1)
        yield f"</{tag}>"
        if tag in ("iframe", "frame"):
            yield from self._frame(str(attributes.get("src") or ""), depth)

    def _opening(self, tag: str, attributes: dict[str, Any]) -> str:
        own = {name: str(value) for name, value in attributes.items() if not name.startswith(_OWN)}
        if own.get("src", "").startswith(_FRAME_SOURCE):
            del own["src"]
        own |= _states(tag, attributes)
        parts = [f' {name}="{escape(value)}"' for name, value in own.items()]
        return f"<{tag}{''.join(parts)}{MARK if self._is_target(attributes) else ''}>"

    def _is_target(self, attributes: dict[str, Any]) -> bool:
        if not self._marked or _TARGET not in attributes:
            return False
        told = str(attributes[_TARGET])
        return told in ("", self._call)

    def _frame(self, source: str, depth: int) -> Iterator[str]:
        name = source.removeprefix(_FRAME_SOURCE)
        inner = self._frames.get(name) or self._pages.latest(name)
        if inner is not None:
            html = "".join(self.written(inner.tree, inner, depth + 1))
            yield f'<{FRAME_TAG} srcdoc="{escape(html)}"></{FRAME_TAG}>'


def _states(tag: str, attributes: dict[str, Any]) -> dict[str, str]:
    """What fields hold, as markup says it; a password is left out."""
    told: dict[str, str] = {}
    kind = str(attributes.get("type") or "").lower()
    if tag == "input" and _VALUE in attributes and kind not in ("checkbox", "radio", "password", "file"):
        told["value"] = str(attributes[_VALUE])
    if attributes.get(_CHECKED) == "true":
        told["checked"] = ""
    if attributes.get(_SELECTED) == "true":
        told["selected"] = ""
    return told

"""Parses an accessibility snapshot from another browser into a tree of roles and names.

The format is that of Playwright's aria snapshots, which Playwright MCP and others send: one line per
element, `- button "Save" [disabled] [ref=e12]: text`, indented below its parent, with `- /url: ...`
for properties. Tags, ids, classes and most attributes are not in a snapshot. A snapshot of a part of
the page is marked as such. `aria_probe_answers` answers probes from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from web_pages.page_limits import PageRefused
from web_pages.page_texts import squeeze

MOST_LINES = 100_000
MOST_UNREADABLE = 0.2
"""The largest share of unreadable lines: with more it is no snapshot, with fewer it was truncated."""

VALUE_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
"""The content below these roles is the value of a field, not text of the page."""
SAID_BY_NAME = frozenset(
    {
        "button",
        "cell",
        "checkbox",
        "columnheader",
        "gridcell",
        "heading",
        "img",
        "link",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "rowheader",
        "switch",
        "tab",
        "tooltip",
        "treeitem",
        "textbox",
        "searchbox",
        "combobox",
        "spinbutton",
        "slider",
    }
)
"""Roles whose name is visible or read aloud; other names only describe the purpose."""
_ROLES = SAID_BY_NAME | {
    "alert",
    "alertdialog",
    "application",
    "article",
    "banner",
    "blockquote",
    "caption",
    "code",
    "complementary",
    "contentinfo",
    "definition",
    "deletion",
    "dialog",
    "directory",
    "document",
    "emphasis",
    "feed",
    "figure",
    "form",
    "fragment",
    "generic",
    "grid",
    "group",
    "iframe",
    "insertion",
    "list",
    "listbox",
    "listitem",
    "log",
    "main",
    "mark",
    "marquee",
    "math",
    "menu",
    "menubar",
    "meter",
    "navigation",
    "note",
    "paragraph",
    "progressbar",
    "radiogroup",
    "region",
    "row",
    "rowgroup",
    "scrollbar",
    "search",
    "separator",
    "status",
    "strong",
    "subscript",
    "superscript",
    "table",
    "tablist",
    "tabpanel",
    "term",
    "text",
    "time",
    "timer",
    "toolbar",
    "tree",
    "treegrid",
}

_FENCE = re.compile(r"^```[a-z]*\n(.*?)(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = 20_000
"""The number of characters in which headers are searched."""
_HEADER = re.compile(r"^\W{0,4}Page (URL|Title): *(.*)$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^- \[Snapshot\]\(", re.MULTILINE)
"""The snapshot was written to a file: only the address and the title are here."""
_LINE = re.compile(r"^( *)- (.*)$")
_KEY = re.compile(
    r"(?:<changed> )?(?P<role>[a-z]+)(?: (?P<name>\"(?:[^\"\\]|\\.)*+\"))?(?P<states>(?: \[[^\]]*\])*)$"
)
_UNCHANGED = re.compile(r"ref=\S+ \[unchanged\]$")
_STATE = re.compile(r"\[([a-z-]+)(?:=([^\]]*))?\]")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(eq=False, slots=True, repr=False)
class AriaNode:
    """One element of a snapshot."""

    role: str
    name: str = ""
    folded_name: str = ""
    states: dict[str, str] = field(default_factory=dict)
    """`checked`, `disabled`, `level`, ...: an empty text if the state has no value."""
    properties: dict[str, str] = field(default_factory=dict)
    """`url` of links, `placeholder` of fields."""
    parent: AriaNode | None = None
    children: list[AriaNode | str] = field(default_factory=list)
    begin: int = 0
    end: int = 0
    """The end of its text in the snapshot's text."""

    def ancestors(self) -> Iterator[AriaNode]:
        """Yield the elements around it, up to its document."""
        node = self.parent
        while node is not None and node.role != "iframe":
            yield node
            node = node.parent

    @property
    def value(self) -> str | None:
        """The value of a field; None if it is not a field, or if the snapshot does not contain it."""
        if self.role in ("checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"):
            mixed = self.states.get("checked") == "mixed"
            return None if mixed else str("checked" in self.states).lower()
        if self.role in VALUE_ROLES:
            return "".join(child for child in self.children if isinstance(child, str))
        return None


@dataclass(frozen=True, slots=True)
class AriaMatch:
    """The elements of a snapshot that a selector matches."""

    found: tuple[AriaNode, ...] = ()
    maybe: tuple[AriaNode, ...] = ()
    """Elements that may match too."""
    hidden: bool = False
    """Whether elements may match that the snapshot does not distinguish from others."""


@dataclass
class AriaSnapshot:
    """A parsed snapshot."""

    url: str = ""
    title: str = ""
    nodes: list[AriaNode] = field(default_factory=list)
    """In document order."""
    complete: bool = True
    """Whether it covers the whole page: what is not in it is not on the page."""
    text: str = ""
    """The text of the page, squeezed."""
    matches: dict[str, AriaMatch] = field(default_factory=dict)
    """The matches of each selector, cached by `aria_css_queries`."""

    def text_of(self, node: AriaNode) -> str:
        """Return the text of an element."""
        return self.text[node.begin : node.end].strip(" ")

    def says(self, words: str, node: AriaNode | None = None) -> bool | None:
        """Return whether an element (None: the page) contains squeezed words.

        None if the snapshot does not show the spacing. Without words: whether it has any text.
        """
        begin, end = (0, len(self.text)) if node is None else (node.begin, node.end)
        if not words:
            return bool(self.text[begin:end].strip(" "))
        if self.text.find(words, begin, end) >= 0:
            return True
        close = words.replace(" ", "")
        if close not in self._close_text:
            return False
        return None if close in self.text[begin:end].replace(" ", "") else False

    @cached_property
    def by_role(self) -> dict[str, list[AriaNode]]:
        """The elements of each role, in document order."""
        found: dict[str, list[AriaNode]] = {}
        for node in self.nodes:
            found.setdefault(node.role, []).append(node)
        return found

    @cached_property
    def folded(self) -> AriaSnapshot:
        """The snapshot in lower case, for case-insensitive comparison."""
        return AriaSnapshot(nodes=self.nodes, complete=self.complete, text=_lower(self.text))

    @cached_property
    def _close_text(self) -> str:
        return self.text.replace(" ", "")


def parse_aria_snapshot(text: str) -> AriaSnapshot | None:
    """Parse a snapshot; return None if the text is none. Raises `PageRefused` beyond the limits."""
    url, title = parse_headers(text)
    for block in _blocks(text):
        outline = _read_block(block)
        if outline is not None:
            outline.url, outline.title = url, title
            return outline
    if (url or title) and (_ELSEWHERE.search(text) or not _says_more(text)):
        return AriaSnapshot(url, title, complete=False)
    return None


def parse_headers(text: str) -> tuple[str, str]:
    """Return URL and title from the head of a snapshot; empty if it has none."""
    found = {name: value.strip() for name, value in _HEADER.findall(text[:_HEAD])}
    return found.get("URL", ""), found.get("Title", "")


def _blocks(text: str) -> Iterator[str]:
    """Yield the parts of a text that may be the snapshot: each fenced block, else everything but headings."""
    fenced = _FENCE.findall(text)
    if fenced:
        yield from fenced
    else:
        yield "\n".join(line for line in text.splitlines() if not _is_heading(line))


def _is_heading(line: str) -> bool:
    return line.startswith("#") or _HEADER.match(line) is not None or line.strip() == "- Page Snapshot:"


def _says_more(text: str) -> bool:
    """Return whether anything remains besides headings and list-style remarks."""
    return any(line.strip() and not line.startswith(("#", "- ")) for line in text.splitlines())


def _read_block(block: str) -> AriaSnapshot | None:
    lines = [line for line in block.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise PageRefused(f"the snapshot has more than {MOST_LINES:,} lines")
    outline, unreadable = AriaSnapshot(), 0
    open_: list[tuple[int, AriaNode]] = []
    top: list[AriaNode | str] = []
    for line in lines:
        match = _LINE.match(line)
        indent = len(match[1]) if match is not None else 0
        while open_ and open_[-1][0] >= indent:
            open_.pop()
        parent = open_[-1][1] if open_ else None
        read = None if match is None else _read_entry(match[2], parent)
        if read is None:
            unreadable += 1
        elif isinstance(read, AriaNode):
            (parent.children if parent is not None else top).append(read)
            outline.nodes.append(read)
            open_.append((indent, read))
        elif isinstance(read, str):
            (parent.children if parent is not None else top).append(read)
        else:
            outline.complete = outline.complete and read.of_whole_page
    if not outline.nodes or unreadable > MOST_UNREADABLE * len(lines):
        return None
    changed = any(node.states.pop("changed", None) is not None for node in outline.nodes)
    outline.complete = outline.complete and not unreadable and not changed
    _write_text(outline, top)
    return outline


@dataclass(frozen=True, slots=True)
class _AriaRemark:
    """A line that is not an element: a property, or a note that something is omitted."""

    of_whole_page: bool = True


def _read_entry(entry: str, parent: AriaNode | None) -> AriaNode | str | _AriaRemark | None:
    """Parse a line into an element, a text or a remark; None if it is unreadable."""
    if entry.startswith("/") and ": " in entry and parent is not None:
        name, _, given = entry[1:].partition(": ")
        parent.properties[name] = _value(given)
        return _AriaRemark()
    if _UNCHANGED.match(entry):
        return _AriaRemark(of_whole_page=False)
    key, value = _key_and_value(entry)
    if key == "text":
        return None if value is None else _value(value)
    match = _KEY.match(key)
    if match is None or match["role"] not in _ROLES:
        return None
    node = AriaNode(match["role"], parent=parent)
    if match["name"] is not None:
        node.name = squeeze(_unescaped(match["name"][1:-1]))
        node.folded_name = node.name.lower()
    node.states = dict(_STATE.findall(match["states"]))
    if key.startswith("<changed>"):
        node.states["changed"] = ""
    if value:
        node.children.append(_value(value))
    return node


def _key_and_value(entry: str) -> tuple[str, str | None]:
    """Split `key: value`, `key:` or `key`; a key that YAML would misread is in single quotes."""
    if entry.startswith("'"):
        end = entry.replace("''", "\0\0").find("'", 1)
        if end < 0:
            return entry, None
        key, rest = entry[1:end].replace("''", "'"), entry[end + 1 :]
    else:
        end = _end_of_key(entry)
        key, rest = entry[:end], entry[end:]
    return key, rest.removeprefix(":").removeprefix(" ") if rest.startswith(":") else None


def _end_of_key(entry: str) -> int:
    """Return the position of the first colon outside name and states."""
    quoted = bracketed = False
    at = 0
    while at < len(entry):
        char = entry[at]
        if quoted and char == "\\":
            at += 1
        elif char == '"' and not bracketed:
            quoted = not quoted
        elif char in "[]" and not quoted:
            bracketed = char == "["
        elif char == ":" and not quoted and not bracketed:
            return at
        at += 1
    return at


def _value(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return _unescaped(value[1:-1])
    return value


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _LETTERS.get(match[3], match[3])

    return _ESCAPE.sub(char, text) if "\\" in text else text


def _lower(text: str) -> str:
    """Return the text in lower case with the same length: a few letters would become two."""
    return "".join(map(_lower_letter, text)) if len(text.lower()) != len(text) else text.lower()


def _lower_letter(letter: str) -> str:
    lower = letter.lower()
    return lower if len(lower) == 1 else letter


def _write_text(outline: AriaSnapshot, top: list[AriaNode | str]) -> None:
    """Write the page's text, and the position of each element's text in it."""
    parts: list[str] = []
    length = 0

    def say(words: str) -> None:
        nonlocal length
        squeezed = squeeze(words)
        if squeezed:
            parts.append(f"{squeezed} ")
            length += len(squeezed) + 1

    stack: list[tuple[AriaNode | str, bool]] = [(child, False) for child in reversed(top)]
    while stack:
        at, done = stack.pop()
        if isinstance(at, str):
            say(at)
        elif done:
            at.end = length
        else:
            at.begin = length
            stack.append((at, True))
            if at.role in SAID_BY_NAME:
                say(at.name)
            say(at.properties.get("placeholder", ""))
            stack.extend((child, False) for child in reversed(at.children) if _is_said(at, child))
    outline.text = "".join(parts).strip(" ")


def _is_said(node: AriaNode, child: AriaNode | str) -> bool:
    """Return whether a child's text counts: not a field's value, not the hidden options of a closed list."""
    if isinstance(child, str):
        return node.role not in VALUE_ROLES and node.role != "combobox"
    return not (node.role == "combobox" and child.role == "option" and "selected" not in child.states)

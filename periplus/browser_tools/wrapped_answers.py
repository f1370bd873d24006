"""Answers of Playwright's MCP server: where the page's snapshot is in them, and what is put in its place.

Only the end of an answer is read: what comes before it (results of scripts, console messages) a page may have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema.excerpts import excerpt
from mcp_server.errors import BadRequest, SnapshotTooLarge
from mcp_server.identification.client_pages import read_page_file
from periplus.browser_tools.element_targets import NamedElement

WHOLE = "browser_snapshot_whole"
"""The tool that returns the whole snapshot."""
FOLDER = ".playwright-mcp"
"""Where Playwright's server writes snapshots, below the folder in which it runs."""

_PAGE = re.compile(r"^### Page\n- Page URL: (\S+)\n(?:- Page Title: .*\n)?", re.MULTILINE)
_SNAPSHOT = re.compile(
    r"^### Snapshot\n(?:- \[Snapshot\]\((?P<file>[^()\n]{1,1000})\)|```yaml\n(?P<text>.*?)\n```)$",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(r'^\s*- \'?(?P<role>[a-z]+)(?: "(?P<name>(?:[^"\\]|\\.)*)")?(?P<rest>.*)$')
_REF = re.compile(r"\[ref=(\w+)\]")
_MESSAGES = frozenset({"alert", "status", "dialog", "alertdialog"})
_UNNAMED = frozenset({"textbox", "searchbox", "combobox", "listbox", "spinbutton", "checkbox"})
_TITLES = frozenset({"rowheader", "columnheader", "cell", "text", "generic", "strong"})
"""Parts of a row that may say what its field is."""
MOST_FIELDS, LONGEST_NAME = 15, 40
MOST_MESSAGES, LONGEST_MESSAGE = 5, 200


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """The page that an answer ends with."""

    url: str
    snapshot: str
    """Its accessibility snapshot, as YAML."""
    start: int
    end: int
    """Where in the answer's text the snapshot is, with its heading."""


def find_answered_page(text: str, folder: Path) -> AnsweredPage | None:
    """Return the page of an answer; None if it has none, or if its snapshot cannot be read.

    `folder`: where the wrapped server runs. Snapshots in files are read only from its folder for them.
    """
    pages = list(_PAGE.finditer(text))
    if not pages:
        return None
    found = _SNAPSHOT.match(text, pages[-1].end())
    if found is None:
        return None
    snapshot = found["text"]
    if found["file"] is not None:
        try:
            snapshot = read_page_file(str(folder / found["file"]), folder / FOLDER)
        except (BadRequest, SnapshotTooLarge):
            return None
    return AnsweredPage(pages[-1][1], snapshot, found.start(), found.end())


def list_named_elements(snapshot: str) -> Iterator[NamedElement]:
    """Yield the elements of a snapshot that have a name and a reference; a field without a name has that of its row."""
    label, depth_of_row = "", -1
    for line in snapshot.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        depth = len(line) - len(line.lstrip())
        if depth <= depth_of_row:
            label, depth_of_row = "", -1
        if found["role"] in ("row", "listitem"):
            label, depth_of_row = "", depth
        ref, name = _REF.search(found["rest"]), (found["name"] or "").replace('\\"', '"')
        if ref is not None and name:
            yield NamedElement(found["role"], name, ref[1])
        elif ref is not None and label and found["role"] in _UNNAMED:
            yield NamedElement(found["role"], label, ref[1])
        told = name or ("" if ref else found["rest"].rpartition(": ")[2].strip())
        if depth_of_row >= 0 and found["role"] in _TITLES and told:
            label = told


def list_messages(snapshot: str) -> list[str]:
    """Return what alerts, status texts and dialogs of a snapshot say, shortened."""
    lines, said = snapshot.splitlines(), []
    for number, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None or found["role"] not in _MESSAGES:
            continue
        depth = len(line) - len(line.lstrip())
        words = [found["name"] or "", found["rest"].partition("]:")[2]]
        for below in lines[number + 1 :]:
            if len(below) - len(below.lstrip()) <= depth:
                break
            words.append(_say(below))
        told = " ".join(" ".join(words).split())
        if told:
            said.append(told[:LONGEST_MESSAGE])
    return said[:MOST_MESSAGES]


def _say(line: str) -> str:
    found = _LINE.match(line)
    if found is None:
        return ""
    return f"{found['name'] or ''} {found['rest'].rpartition(': ')[2] if ': ' in found['rest'] else ''}"


def put_summary(
    text: str,
    page: AnsweredPage,
    known: str,
    targets: Mapping[str, str],
    fields: Sequence[NamedElement] = (),
) -> str:
    """Return the answer with a summary in the place of the snapshot. `fields`: those that the knowledge base does not have."""
    lines = ["### Snapshot", f"A page that Periplus knows. The whole snapshot: {WHOLE}.", known]
    if targets:
        lines.append("targets: " + ", ".join(f"{name}={ref}" for name, ref in targets.items()))
    if fields:
        more = f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
        told = ", ".join(
            f'{each.role} "{excerpt(each.name, LONGEST_NAME)}"={each.target}' for each in fields[:MOST_FIELDS]
        )
        lines.append(f"fields that it does not know: {told}{more}")
    lines += [f"! {each}" for each in list_messages(page.snapshot)]
    return text[: page.start] + "\n".join(lines) + text[page.end :]

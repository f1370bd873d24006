"""Answers of Playwright's MCP server: where the page's snapshot is in them, and what is put in its place.

Only the end of an answer is read: what comes before it (results of scripts, console messages) a page may have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
    """Yield the elements of a snapshot that have a name and a reference."""
    for line in snapshot.splitlines():
        found = _LINE.match(line)
        ref = _REF.search(found["rest"]) if found is not None else None
        if found is not None and ref is not None and found["name"]:
            yield NamedElement(found["role"], found["name"].replace('\\"', '"'), ref[1])


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


def put_summary(text: str, page: AnsweredPage, known: str, targets: Mapping[str, str]) -> str:
    """Return the answer with a summary in the place of the snapshot."""
    lines = ["### Snapshot", f"A page that Periplus knows. The whole snapshot: {WHOLE}.", known]
    if targets:
        lines.append("targets: " + ", ".join(f"{name}={ref}" for name, ref in targets.items()))
    lines += [f"! {each}" for each in list_messages(page.snapshot)]
    return text[: page.start] + "\n".join(lines) + text[page.end :]

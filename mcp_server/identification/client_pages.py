"""Pages as clients give them: an object, the text of another MCP server's answer, or a file of such a server.

Files are read only from one allowed folder, which the operator of the server names.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from kb_schema.excerpts import excerpt
from kb_schema.page_snapshots import PageSnapshot
from mcp_server.errors import BadRequest, SnapshotTooLarge
from mcp_server.identification.snapshot_limits import MAX_BYTES, admit_snapshot
from web_pages.aria_snapshots import parse_headers

_FILE_LINK = re.compile(r"^- \[Snapshot\]\(([^()\n]{1,1000})\)\s*$", re.MULTILINE)
"""How Playwright MCP names the file that it wrote a snapshot to."""
_BEGINS_LIKE_AN_ANSWER = re.compile(r"\s*(?:#|- Page URL:)")
"""A text that begins otherwise is a page's own: what it says about its URL is not believed."""

SMALL_PAGE = 12_000
"""A page of so many characters is read in about 5 ms; a thread, too, keeps the interpreter for 5 ms."""


class ClientPage(PageSnapshot):
    """A page as a client gives it: with its content, or with the file that has it."""

    file: str | None = None
    """A file in the allowed folder with HTML or a snapshot as text."""


@dataclass(frozen=True, slots=True)
class AdmittedPage:
    """A page within the limits, with URL and title."""

    snapshot: PageSnapshot
    note: str | None = None
    """What was not taken as it was given."""


def admit_page(page: PageSnapshot, folder: Path | None) -> AdmittedPage:
    """Return the page with its file read, and with the URL that its own text names.

    `folder` is the allowed one; None: files are refused. Raises `BadRequest` and `SnapshotTooLarge`.
    """
    given = page.model_dump(exclude={"file"}, exclude_unset=True)
    file = page.file if isinstance(page, ClientPage) else None
    text = page.text or ""
    if file is None and folder is not None and _BEGINS_LIKE_AN_ANSWER.match(text):
        linked = _FILE_LINK.search(text)
        file = linked[1] if linked else None
        given["url"] = page.url or parse_headers(text)[0]
        given["title"] = page.title or parse_headers(text)[1]
    if file is not None:
        content = read_page_file(file, folder)
        given["html" if content.lstrip()[:1] == "<" else "text"] = content
    snapshot = PageSnapshot(**given)
    named = parse_headers(snapshot.text or "")[0] if _has_header(snapshot) else ""
    if not named or not snapshot.url or _same_address(named, snapshot.url):
        return AdmittedPage(admit_snapshot(snapshot))
    note = f"the snapshot's own `Page URL:` {excerpt(named)!r} was used, not the given url {excerpt(snapshot.url)!r}"
    return AdmittedPage(admit_snapshot(snapshot.model_copy(update={"url": named})), note)


def is_small_page(page: ClientPage) -> bool:
    """Return whether a page is read so quickly that it needs no thread. One in a file may be of any size."""
    text = page.text or ""
    named = page.file is not None or _FILE_LINK.search(text[: SMALL_PAGE + 1]) is not None
    return not named and len(page.html) + len(text) <= SMALL_PAGE


def read_page_file(file: str, folder: Path | None) -> str:
    """Return the text of a file in the allowed folder.

    A relative path is one from the server's working folder, as Playwright MCP writes it, else one from the allowed
    folder. Raises `BadRequest` for any other file, and `SnapshotTooLarge`.
    """
    if folder is None:
        raise BadRequest(
            "this server reads no files", hint="send the page as text, or start it with --snapshots DIR"
        )
    allowed = folder.resolve()
    for path in dict.fromkeys((Path(file), allowed / file)):
        try:
            real = path.resolve()
            if real.is_relative_to(allowed) and real != allowed:
                found = _read_regular_file(real)
                if found is not None:
                    return found
        except (OSError, ValueError) as exc:  # a name too long, a NUL, a loop of links
            raise BadRequest(
                f"file {excerpt(file)!r} cannot be read", hint="name a file that the browser's server wrote"
            ) from exc
    raise BadRequest(
        f"there is no file {excerpt(file)!r} in the allowed folder",
        hint="give the path that the browser's server told; the operator allows a folder with --snapshots DIR",
    )


def _read_regular_file(path: Path) -> str | None:
    """Return the text of a file, None if there is none. It is opened once: it may be replaced meanwhile."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with open(handle, "rb") as opened:  # noqa: PTH123 - a descriptor
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise SnapshotTooLarge(len(content), MAX_BYTES)
    return content.decode("utf-8", "replace")


def _has_header(snapshot: PageSnapshot) -> bool:
    return _BEGINS_LIKE_AN_ANSWER.match(snapshot.text or "") is not None


def _same_address(one: str, other: str) -> bool:
    """Whether two addresses differ in nothing but fragment and a closing slash."""
    return one.partition("#")[0].rstrip("/") == other.partition("#")[0].rstrip("/")

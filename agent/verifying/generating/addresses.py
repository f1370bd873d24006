"""Addresses in tests: paths on the site, so that another base URL works, and patterns of what was reached."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.playwright_python.writing import python_regex
from agent.verifying.generating.naming import changes
from agent.verifying.generating.texts import Texts
from kb_schema.urls import origin_of, relative_path


def on_site(url: str, base_url: str) -> str:
    """An address of the site without its origin, so that another base URL works; others as they are.

    Playwright resolves it against the base URL as a browser does: below one with a path it may not begin
    with a slash.
    """
    elsewhere = origin_of(url) not in ("", origin_of(base_url))
    if elsewhere or url.startswith("about:"):
        return url
    path = relative_path(url, base_url) if origin_of(url) else url
    return path.lstrip("/") or "./" if urlsplit(base_url).path.strip("/") else path


def url_pattern(path: str, texts: Texts) -> str:
    """What `to_have_url` takes for a path (or address): any query where it names none, `*` for anything,
    another number or made-up part where it has one.
    """
    if path == "/":  # the end of it alone would be that of any folder
        return python_regex(r"//[^/]+/([?#]|$)")
    plain, mark, rest = path.partition("?")
    if texts.is_open(path):
        end = r'"([?#]|$)"' if not mark else '"$"'
        return f"re.compile(re.escape({texts.literal(path)}) + r{end})"
    segments = [r"[^/?#]+" if changes(each) else _starred(each) for each in plain.split("/")]
    if plain.endswith("*"):
        return python_regex("/".join(segments).removesuffix(".*"))
    end = f"{_starred(mark + rest)}$" if mark or "#" in plain else r"([?#]|$)"
    return python_regex("/".join(segments) + end)


def escape(text: str) -> str:
    """For a pattern; without the backslashes that nobody needs."""
    return re.sub(r"\\([ \-#&~])", r"\1", re.escape(text))


def _starred(text: str) -> str:
    return ".*".join(escape(each) for each in text.split("*"))

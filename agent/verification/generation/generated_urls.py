"""Addresses in tests: paths on the site, so that another base URL works, and patterns for reached URLs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.verification.generation.pytest_names import is_variable_part
from agent.verification.generation.text_expressions import TextExpressions
from kb_schema.locator_expressions import python_regex
from kb_schema.url_patterns import origin_of, relative_path


def relativize_url(url: str, base_url: str) -> str:
    """Return an address of the site without its origin, so that another base URL works; others unchanged.

    Playwright resolves it against the base URL as a browser does: below a base URL with a path it must not
    begin with a slash.
    """
    elsewhere = origin_of(url) not in ("", origin_of(base_url))
    if elsewhere or url.startswith("about:"):
        return url
    path = relative_path(url, base_url) if origin_of(url) else url
    return path.lstrip("/") or "./" if urlsplit(base_url).path.strip("/") else path


def url_pattern(path: str, texts: TextExpressions) -> str:
    """Return the argument of `to_have_url` for a path or address.

    It matches any query if none is given, anything for `*`, and any other number or generated id in the
    place of one.
    """
    if path == "/":  # the end of it alone would be that of any folder
        return python_regex(r"//[^/]+/([?#]|$)")
    plain, mark, rest = path.partition("?")
    if texts.is_open(path):
        end = r'"([?#]|$)"' if not mark else '"$"'
        return f"re.compile(re.escape({texts.literal(path)}) + r{end})"
    segments = [r"[^/?#]+" if is_variable_part(each) else _starred(each) for each in plain.split("/")]
    if plain.endswith("*"):
        return python_regex("/".join(segments).removesuffix(".*"))
    end = f"{_starred(mark + rest)}$" if mark or "#" in plain else r"([?#]|$)"
    return python_regex("/".join(segments) + end)


def escape_pattern(text: str) -> str:
    """Escape a text for a pattern, without needless backslashes."""
    return re.sub(r"\\([ \-#&~])", r"\1", re.escape(text))


def _starred(text: str) -> str:
    return ".*".join(escape_pattern(each) for each in text.split("*"))

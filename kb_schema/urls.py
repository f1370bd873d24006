"""Matching URLs against authored patterns (DESIGN 3).

Knowledge is authored against one base URL and used against others: a pattern that begins with
the authored base matches any configured base; a pattern that begins with `^/` is matched
against the path. Patterns run on RE2, which cannot run away.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import SplitResult, urljoin, urlsplit

import re2


class PatternError(ValueError):
    """A pattern RE2 cannot take (back-references, look-around, or plain mistakes)."""


@lru_cache(maxsize=50_000)
def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile with RE2. Raises `PatternError` naming the pattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as exc:
        reason = exc.args[0].decode() if exc.args and isinstance(exc.args[0], bytes) else str(exc)
        raise PatternError(f"RE2 cannot take the pattern {pattern!r}: {reason}") from exc


def _split(url: str) -> SplitResult:
    """The parts of a URL; what cannot be one (`http://[`) is all path: it has no host."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_DEFAULT_PORTS = {"http": ("80", ""), "https": ("443", "")}
_WEB = ("http://", "https://")
_TRACKING = re.compile(
    r"(?:utm(?:_\w+)?|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|twclid|ttclid|li_fat_id|igshid|yclid|"
    r"mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok|ref_src)(?:=|\Z)",
    re.IGNORECASE,
)
"""Query parameters that say where somebody came from, never which page this is."""


def normal(url: str) -> str:
    """A URL as it is compared: scheme and host in lower case, no default port, no tracking parameters.

    The rest of what follows the host is left as it is: there, case means something.
    """
    url = _without_tracking(url)
    found = _ORIGIN.match(url)
    if found is None:
        return url
    scheme = found[1].lower()
    user, at, host = found[2].rpartition("@")
    name, colon, port = host.lower().rpartition(":")
    host = name if colon and port in _DEFAULT_PORTS.get(scheme, ()) else host.lower()
    beginning = f"{scheme}://{user}{at}{host}"
    return (
        url if url.startswith(beginning) and len(beginning) == found.end() else beginning + url[found.end() :]
    )


def _without_tracking(url: str) -> str:
    """Where all parameters were for tracking, the `?` goes, too: patterns end where the path does."""
    whole, hash_sign, fragment = url.partition("#")
    path, question, query = whole.partition("?")
    if not query:
        return url
    given = query.split("&")
    kept = [part for part in given if not _TRACKING.match(part)]
    if len(kept) == len(given):
        return url
    return f"{path}{question if kept else ''}{'&'.join(kept)}{hash_sign}{fragment}"


_ID = re.compile(r"\A(?:\d+|[0-9a-f]{8,}|[0-9a-f-]{32,}|[A-Za-z_-]*\d{2,})\Z")


def is_an_id(part: str) -> bool:
    """Whether a part of a path looks like it names one of many things.

    >>> [is_an_id(part) for part in ("17", "ticket-204", "agents", "v2")]
    [True, True, False, False]
    """
    return _ID.match(part) is not None


def is_web_address(url: str) -> bool:
    """Whether this is an absolute `http` or `https` URL with a host."""
    return origin_of(url).startswith(_WEB)


def path_of(url: str) -> str:
    """Path, query and fragment of a URL, as `^/` patterns see it."""
    parts = _split(url)
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.path or '/'}{query}{fragment}"


def rebase_pattern(pattern: str, authored_base: str) -> str | None:
    r"""The part of an absolute pattern after the authored base, or None if it has another base.

    Both the escaped (`app\.example`) and the plain spelling of the base are recognised.
    """
    if not authored_base:
        return None
    base = authored_base.rstrip("/")
    for spelling in (re.escape(base), base.replace(".", "\\."), base, base.replace("/", "\\/")):
        for start in (f"^{spelling}", spelling):
            if pattern.startswith(start):
                rest = pattern[len(start) :]
                # `^https://host$` means the site's root; the rest must begin a new path part.
                if rest[:1] in ("", "/", "$", "?", "(", "[", "\\", "#"):
                    return rest
    return None


def matches(pattern: str, url: str, *, authored_base: str = "", base: str = "") -> bool:
    """Whether a stored pattern matches a URL.

    `base` is the base URL in force (a demo on a free port); without it the authored one counts. How a
    URL's beginning is spelt (`normal`) makes no difference.
    """
    url, base = normal(url), normal(base)
    rest = rebase_pattern(pattern, authored_base)
    if rest is not None:
        in_force = (base or normal(authored_base)).rstrip("/")
        if not _begins_with(url, in_force):
            return False
        tail = url[len(in_force) :]
        if rest in ("", "$"):
            return rest == "" or tail in ("", "/")
        return compile_pattern(f"^(?:{rest})").search(tail) is not None
    if pattern.startswith("^/"):
        return compile_pattern(pattern).search(relative_path(url, base)) is not None
    return compile_pattern(pattern).search(url) is not None


def relative_path(url: str, base: str) -> str:
    """The path below the base URL's own path."""
    url, base = normal(url), normal(base)
    if base and _begins_with(url, base.rstrip("/")):
        tail = url[len(base.rstrip("/")) :]
        return tail if tail.startswith("/") else f"/{tail}"
    return path_of(url)


def resolve(url: str, *, authored_base: str, base: str) -> str:
    """An authored URL (absolute or a path) as it is under the base in force."""
    in_force = (base or authored_base).rstrip("/")
    authored = authored_base.rstrip("/")
    if authored and _begins_with(url, authored):
        return in_force + url[len(authored) :]
    if url.startswith("/"):
        return in_force + url
    return urljoin(f"{in_force}/", url)


def _begins_with(url: str, base: str) -> bool:
    return url == base or url.startswith((f"{base}/", f"{base}?", f"{base}#"))


def origin_of(url: str) -> str:
    """`scheme://host[:port]` in lower case, without a default port; empty for `about:blank` and no URLs."""
    parts = _split(normal(url))
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if host else ""

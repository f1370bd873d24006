"""Matches URLs against authored patterns.

Knowledge is authored for one base URL and used with others: a pattern that begins with the authored base
matches any configured base, and one that begins with `^/` is matched against the path. Patterns run on RE2,
whose running time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import SplitResult, urljoin, urlsplit

import re2

from kb_schema.address_secrets import MASKED

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine in an address."""


class PatternError(ValueError):
    """A pattern that RE2 does not accept (back-references, look-around, or syntax errors)."""


@lru_cache(maxsize=50_000)
def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile a pattern with RE2. Raises `PatternError`, which names the pattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as exc:
        reason = exc.args[0].decode() if exc.args and isinstance(exc.args[0], bytes) else str(exc)
        raise PatternError(f"RE2 cannot take the pattern {pattern!r}: {reason}") from exc


def _split(url: str) -> SplitResult:
    """Return the parts of a URL; an invalid one (`http://[`) is all path, without a host."""
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
"""Query parameters for tracking, which do not identify a page."""


def normalize_url(url: str) -> str:
    """Return a URL in the form used for comparison.

    Scheme and host in lower case, no default port, no tracking parameters. The rest is unchanged, because
    case matters there.
    """
    return _normalize_known(url) if len(url) <= _LONGEST_KEPT else _normalize(url)


_LONGEST_KEPT = 500
"""The most characters of an address whose form for comparison is kept."""


@lru_cache(maxsize=2_000)
def _normalize_known(url: str) -> str:
    return _normalize(url)


def _normalize(url: str) -> str:
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
    """Remove tracking parameters, and the `?` if no other parameter is left."""
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


def is_id_segment(part: str) -> bool:
    """Return whether a part of a path looks like an id.

    >>> [is_id_segment(part) for part in ("17", "ticket-204", "agents", "v2")]
    [True, True, False, False]
    """
    return part == MASKED or _ID.match(part) is not None


ANY = "*"
"""What stands for the id in an opened part of a path."""
_FILE = re.compile(r"\A(.+)(\.[A-Za-z]{2,5})\Z")
_SEVERAL_WORDS = re.compile(r"[A-Za-z][_-]+[A-Za-z]")
_GLUED = re.compile(r"\A([A-Za-z][A-Za-z_-]*[A-Za-z][_-]?)(\d+)\Z")


def split_glued_id(part: str) -> tuple[str, str] | None:
    """Return the word and the number of a part that consists of these two; None for others, such as codes.

    >>> [split_glued_id(part) for part in ("issue40", "ticket-204", "17", "v2", "QZQ348")]
    [('issue', '40'), ('ticket-', '204'), None, None, None]
    """
    found = _GLUED.match(part)
    return None if found is None or (found[1].isalpha() and found[1].isupper()) else (found[1], found[2])


def open_segment(part: str) -> str:
    """Return a part of a path with `*` in place of an id. One word before the id and the ending are kept.

    >>> [open_segment(part) for part in ("17", "issue40", "hand-trowel-12", "4.html", "agents", "v2")]
    ['*', 'issue*', '*', '*.html', 'agents', 'v2']
    """
    file = _FILE.match(part)
    if file is not None and is_id_segment(file[1]):
        return f"{open_segment(file[1])}{file[2]}"
    if not is_id_segment(part):
        return part
    glued = split_glued_id(part)
    return ANY if glued is None or _SEVERAL_WORDS.search(glued[0]) else f"{glued[0]}{ANY}"


def is_web_address(url: str) -> bool:
    """Return whether this is an absolute `http` or `https` URL with a host."""
    return origin_of(url).startswith(_WEB)


def path_of(url: str) -> str:
    """Return path, query and fragment of a URL, which `^/` patterns match."""
    parts = _split(url)
    query = f"?{parts.query}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.path or '/'}{query}{fragment}"


def place_of(url: str) -> tuple[str, str]:
    """Return the path and the fragment of an address, without slashes at their ends.

    >>> place_of("http://h/shop/?page=2#/orders/")
    ('/shop', '/orders')
    """
    parts = _split(url)
    return parts.path.rstrip("/"), parts.fragment.rstrip("/")


def query_of(url: str) -> str:
    """Return the query of an address, without the question mark."""
    return _split(url).query


@lru_cache(maxsize=50_000)
def rebase_pattern(pattern: str, authored_base: str) -> str | None:
    r"""Return the part of an absolute pattern after the authored base, or None if its base differs.

    Accepts the escaped (`app\.example`) and the plain spelling of the base.
    """
    if not authored_base:
        return None
    base = authored_base.rstrip("/")
    for spelling in (re.escape(base), base.replace(".", "\\."), base, base.replace("/", "\\/")):
        for start in (f"^{spelling}", spelling):
            if pattern.startswith(start):
                rest = pattern[len(start) :]
                # `^https://host$` means the site's root; otherwise a new path segment must begin.
                if rest[:1] in ("", "/", "$", "?", "(", "[", "\\", "#"):
                    return rest
    return None


def matches_pattern(pattern: str, url: str, *, authored_base: str = "", base: str = "") -> bool:
    """Return whether a stored pattern matches a URL.

    `base` is the base URL in force (a demo on a free port); without it, the authored one. The URL is
    normalised (`normalize_url`).
    """
    url, base = normalize_url(url), normalize_url(base)
    rest = rebase_pattern(pattern, authored_base)
    if rest is not None:
        in_force = (base or normalize_url(authored_base)).rstrip("/")
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
    """Return the path below the base URL's own path."""
    url, base = normalize_url(url), normalize_url(base)
    if base and _begins_with(url, base.rstrip("/")):
        tail = url[len(base.rstrip("/")) :]
        return tail if tail.startswith("/") else f"/{tail}"
    return path_of(url)


def find_site_root(paths: Iterable[str]) -> str:
    """Return the folder below which all pages of a website lie, empty if that is the root of its host.

    `paths`: all pages that are known, the entry among them: two pages of one list have a folder in common, too. A folder
    that names one of many things is no root.

    >>> find_site_root(["/quarry/", "/quarry/issue4?x=1", "/quarry/users/7"]), find_site_root(["/", "/quarry/issue4"])
    ('/quarry', '')
    >>> find_site_root(["/shop", "/shop/boats"]), find_site_root(["/shops/7/boats", "/shops/7/oars"])
    ('/shop', '/shops')
    """
    pages = {path.partition("#")[0].partition("?")[0] for path in paths}
    above = {page.rpartition("/")[0] for page in pages}
    folders = [(page if page in above else page.rpartition("/")[0]).split("/") for page in pages]
    if len(pages) < 2:
        return ""
    root: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1 or ANY in open_segment(parts[0]):
            break
        root.append(parts[0])
    return "/".join(root)


def resolve(url: str, *, authored_base: str, base: str) -> str:
    """Return an authored URL (absolute or a path) under the base in force."""
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
    """Return `scheme://host[:port]` in lower case, without a default port; empty for `about:blank`."""
    parts = _split(normalize_url(url))
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if host else ""

"""Sitemaps (XML, plain text, an index of them; packed with gzip or not) as screens one may open.

Addresses that differ in ids only are one screen. Nothing is fetched: sitemaps that an index names are read
where they lie beside it. Entities and document types are refused before anything is parsed.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import etree

from kb_schema.screens import Screen
from kb_schema.urls import is_an_id
from kb_schema.websites import Website
from loaders.bridges.imported import MOST_BYTES, Draft, Unreadable, draft, local_id, read_bytes, web_address
from loaders.escaping import one_line

MOST_ADDRESSES = 200_000
"""Of all sitemaps of an index; the protocol allows each 50,000."""
MOST_SCREENS = 2_000
MOST_FILES = 500
MOST_BESIDE = 8
"""Pages below one address before they are taken for items of a list."""
_MOST_NAMED = 3
_DEEPEST = 3
_GZIP = b"\x1f\x8b"
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def looks_like_a_sitemap(raw: bytes) -> bool:
    """Whether a file says that it is one."""
    head = raw[:4_000]
    return head.startswith(_GZIP) or b"<urlset" in head or b"<sitemapindex" in head


def addresses(file: Path, notes: list[str]) -> list[str]:
    """Every address of a sitemap, in order, each once; `notes` gets what was left out. Raises `Unreadable`."""
    found: dict[str, None] = {}
    missing: list[str] = []
    for address in _addresses(file, file.parent.resolve(), set(), 0, missing):
        if len(found) >= MOST_ADDRESSES:
            notes.append(f"what comes after {MOST_ADDRESSES:,} addresses is left out")
            break
        found.setdefault(address)
    if missing:
        named = ", ".join(one_line(each) for each in missing[:_MOST_NAMED])
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        notes.append(f"sitemaps that an index names do not lie beside it: {named}{more}")
    return list(found)


def read_sitemap(file: Path, website_id: str) -> Draft:
    """Screens to open, one for each kind of address. Raises `Unreadable`, `KnowledgeError`."""
    notes: list[str] = []
    found = addresses(file, notes)
    origins = [origin for origin in map(web_address, found) if origin]
    if not origins:
        raise Unreadable(file, "; ".join(["names no address of a website", *notes]))
    base = origins[0]
    others = sum(origin != base for origin in origins)
    if others:
        notes.append(f"{others} addresses of other origins than {base} are left out")
    kinds: dict[str, list[str]] = {}
    for address in found:
        if web_address(address) == base:
            kinds.setdefault(_kind(address), []).append(address)
    kinds = _with_items(kinds)
    if len(kinds) > MOST_SCREENS:
        notes.append(f"{len(kinds) - MOST_SCREENS} more kinds of addresses are left out")
    taken: set[str] = set()
    screens = []
    for kind, own in list(kinds.items())[:MOST_SCREENS]:
        name = local_id(unquote(kind).replace("*", "item"), "home" if kind == "/" else "page", taken)
        taken.add(name)
        screens.append(
            Screen(
                screen_id=name,
                name=one_line(unquote(kind.strip("/").replace("/", " "))).replace("*", "item").strip()
                or "Home",
                url_patterns=(pattern_of(kind),),
                url=own[0] if len(own) == 1 and "*" not in kind else None,
                website_id=website_id,
                metadata={"from": "sitemap", "example": own[0], "addresses": len(own)},
            )
        )
    host = urlsplit(base).netloc
    website = Website(website_id=website_id, name=one_line(host) or website_id, base_url=base)
    return draft([website, *screens], notes)


def _addresses(file: Path, home: Path, seen: set[Path], depth: int, missing: list[str]) -> Iterator[str]:
    if file.resolve() in seen or len(seen) >= MOST_FILES:
        return
    seen.add(file.resolve())
    raw = _unpacked(file)
    if not raw[:100].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<"):
        yield from (line.strip() for line in raw.decode("utf-8", "replace").splitlines() if "://" in line)
        return
    root, places = _parsed(file, raw)
    if root != "sitemapindex":
        yield from places
        return
    if depth >= _DEEPEST:
        raise Unreadable(file, f"an index within more than {_DEEPEST} others")
    for place in places:
        beside = home / Path(urlsplit(place).path).name
        if beside.is_file() and beside.resolve().parent == home:
            yield from _addresses(beside, home, seen, depth + 1, missing)
        else:
            missing.append(beside.name)


def _unpacked(file: Path) -> bytes:
    raw = read_bytes(file)
    if not raw.startswith(_GZIP):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            whole = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError) as exc:
        raise Unreadable(file, "is not whole: gzip cannot unpack it") from exc
    if len(whole) > MOST_BYTES:
        raise Unreadable(file, f"unpacks to more than {MOST_BYTES // 2**20} MB")
    return whole


def _parsed(file: Path, raw: bytes) -> tuple[str, list[str]]:
    """The root's name and every `<loc>` of its children."""
    plain = raw.replace(b"\0", b"")  # as UTF-16 would hide it
    if _DOCTYPE.search(plain):
        raise Unreadable(file, "declares a document type or entities; sitemaps have none")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as exc:
        raise Unreadable(file, f"is not XML: {exc.msg}", f"line {exc.lineno or 1}") from exc
    name = etree.QName(root).localname
    if name not in ("urlset", "sitemapindex"):
        raise Unreadable(file, f"is no sitemap: its root is <{one_line(name)}>")
    found = root.iterfind("./{*}*/{*}loc")
    return name, [text for each in found if (text := (each.text or "").strip()) and len(text) <= 8_000]


def _kind(address: str) -> str:
    """The path with what stands for one thing among many as `*`."""
    path = urlsplit(address).path or "/"
    return "/".join("*" if part and is_an_id(part) else part for part in path.split("/"))


def _with_items(kinds: dict[str, list[str]]) -> dict[str, list[str]]:
    """Very many leaves beside each other are items of one kind, whatever they are called."""
    beside: dict[str, set[str]] = {}
    for kind in kinds:
        beside.setdefault(kind.rpartition("/")[0], set()).add(kind)
    found: dict[str, list[str]] = {}
    for kind, own in kinds.items():
        parent = kind.rpartition("/")[0]
        items = parent and len(beside[parent]) > MOST_BESIDE and kind not in beside
        found.setdefault(f"{parent}/*" if items else kind, []).extend(own)
    return found


def pattern_of(kind: str) -> str:
    """A pattern of RE2 for a path in which `*` stands for one part.

    >>> print(pattern_of("/agents/*"))
    ^/agents/[^/?#]+(?:[?#].*)?$
    """
    parts = ("[^/?#]+" if part == "*" else _quoted(part) for part in kind.split("/"))
    return "^" + "/".join(parts) + "(?:[?#].*)?$"


def _quoted(part: str) -> str:
    return re.sub(r"([^\w%~-])", r"\\\1", part, flags=re.ASCII) if part.isascii() else re.escape(part)

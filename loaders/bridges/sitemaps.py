"""Reads sitemaps (XML, plain text, an index; also gzipped) as screens with addresses.

Addresses that differ only in ids are one screen. Nothing is fetched: sitemaps named by an index are read from
the same folder. Entities and document types are refused before parsing.
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
from kb_schema.url_patterns import is_id_segment
from kb_schema.websites import Website
from loaders.bridges.knowledge_drafts import (
    MOST_BYTES,
    KnowledgeDraft,
    UnreadableSource,
    build_draft,
    make_local_id,
    read_bytes,
    web_address,
)
from loaders.markup_escapes import one_line

MOST_ADDRESSES = 200_000
"""The most addresses of all sitemaps of an index; the protocol allows 50,000 each."""
MOST_SCREENS = 2_000
MOST_FILES = 500
MOST_BESIDE = 8
"""The most pages below one address; more of them are taken as items of a list."""
_MOST_NAMED = 3
_DEEPEST = 3
_GZIP = b"\x1f\x8b"
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def looks_like_a_sitemap(raw: bytes) -> bool:
    """Return whether a file is a sitemap."""
    head = raw[:4_000]
    return head.startswith(_GZIP) or b"<urlset" in head or b"<sitemapindex" in head


def read_addresses(file: Path, notes: list[str]) -> list[str]:
    """Return every address of a sitemap, in order, without duplicates.

    `notes` receives what was left out. Raises `UnreadableSource`.
    """
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
        notes.append(f"sitemaps named by the index are not in its folder: {named}{more}")
    return list(found)


def read_sitemap(file: Path, website_id: str) -> KnowledgeDraft:
    """Return a draft with one screen per kind of address. Raises `UnreadableSource`, `KnowledgeError`."""
    notes: list[str] = []
    found = read_addresses(file, notes)
    origins = [origin for origin in map(web_address, found) if origin]
    if not origins:
        raise UnreadableSource(file, "; ".join(["names no address of a website", *notes]))
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
        name = make_local_id(unquote(kind).replace("*", "item"), "home" if kind == "/" else "page", taken)
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
    return build_draft([website, *screens], notes)


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
        raise UnreadableSource(file, f"an index within more than {_DEEPEST} others")
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
        raise UnreadableSource(file, "is incomplete: gzip cannot unpack it") from exc
    if len(whole) > MOST_BYTES:
        raise UnreadableSource(file, f"unpacks to more than {MOST_BYTES // 2**20} MB")
    return whole


def _parsed(file: Path, raw: bytes) -> tuple[str, list[str]]:
    """Return the root's name and every `<loc>` of its children."""
    plain = raw.replace(b"\0", b"")  # UTF-16 would hide these
    if _DOCTYPE.search(plain):
        raise UnreadableSource(file, "declares a document type or entities; sitemaps have none")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as exc:
        raise UnreadableSource(file, f"is not XML: {exc.msg}", f"line {exc.lineno or 1}") from exc
    name = etree.QName(root).localname
    if name not in ("urlset", "sitemapindex"):
        raise UnreadableSource(file, f"is not a sitemap: its root is <{one_line(name)}>")
    found = root.iterfind("./{*}*/{*}loc")
    return name, [text for each in found if (text := (each.text or "").strip()) and len(text) <= 8_000]


def _kind(address: str) -> str:
    """Return the path with `*` for parts that identify one of many things."""
    path = urlsplit(address).path or "/"
    return "/".join("*" if part and is_id_segment(part) else part for part in path.split("/"))


def _with_items(kinds: dict[str, list[str]]) -> dict[str, list[str]]:
    """Replace many sibling leaves by `*`: they are items of one kind, whatever their names."""
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
    """Return an RE2 pattern for a path in which `*` stands for one part.

    >>> print(pattern_of("/agents/*"))
    ^/agents/[^/?#]+(?:[?#].*)?$
    """
    parts = ("[^/?#]+" if part == "*" else _quoted(part) for part in kind.split("/"))
    return "^" + "/".join(parts) + "(?:[?#].*)?$"


def _quoted(part: str) -> str:
    return re.sub(r"([^\w%~-])", r"\\\1", part, flags=re.ASCII) if part.isascii() else re.escape(part)

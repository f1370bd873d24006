"""Which addresses the browser tools open and read: a page or a client could send a model into the local network."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from kb_schema.url_patterns import origin_of
from mcp_server.errors import KnowledgeServerError

SEEN_S = 60.0
"""Seconds for which an answer about an origin counts."""
THIS_MACHINE = "localhost"


_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
"""The host of an address as browsers ask for it: a name, or an address of the Internet without brackets."""


class OpenMode(StrEnum):
    """Which addresses beside those of known websites are opened."""

    KNOWN = "known"
    WEB = "web"
    ANY = "any"


class AddressRefused(KnowledgeServerError):
    """The address is not among those that the operator allows."""

    code = "address_refused"


class AddressPolicy:
    """The addresses of one server. Websites of the knowledge base are allowed before it is asked.

    `known`: no others. `web`: public addresses, and with `this_machine` those of this machine; not the local network.
    `any`: all.
    """

    def __init__(self, mode: OpenMode, *, this_machine: bool, resolves: bool = True) -> None:
        """`resolves`: names are looked up here; with a proxy they are not, and only addresses are judged."""
        self.mode, self._this_machine, self._resolves = mode, this_machine, resolves
        self._seen: dict[str, float] = {}

    async def check(self, url: str) -> None:
        """Raise `AddressRefused` for an address that may not be opened."""
        if self.mode is OpenMode.ANY:
            return
        origin, now = origin_of(url), asyncio.get_running_loop().time()
        if self.mode is OpenMode.KNOWN:
            raise AddressRefused(
                f"{origin} is of no known website",
                hint="call list_websites; the operator opens others with periplus mcp --open web",
            )
        if now - self._seen.get(origin, -SEEN_S) < SEEN_S:
            return
        host = read_host(url)
        if not host:
            raise AddressRefused(
                f"{origin} names its host in a way that is not known",
                hint="write the host as browsers show it",
            )
        for address in await self._find_addresses(host):
            if not self._allows(address):
                where = "this machine" if address.is_loopback else "a local network"
                raise AddressRefused(
                    f"{origin} is in {where}",
                    hint="the operator opens it with periplus mcp --open any, or with --base-url WEBSITE=URL",
                )
        self._seen[origin] = now

    def _allows(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
        return (inner.is_global and not inner.is_multicast) or (self._this_machine and inner.is_loopback)

    async def _find_addresses(self, host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
        """Return the addresses of a host; none if the name is unknown: then the browser says so."""
        name = host.rstrip(".").lower()
        if name == THIS_MACHINE or name.endswith(f".{THIS_MACHINE}"):
            return [ipaddress.ip_address("127.0.0.1")]
        try:
            return [ipaddress.ip_address(name)]
        except ValueError:
            if not self._resolves and not name.replace(".", "").isdigit() and "0x" not in name:
                return []
        try:
            found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]


def read_host(url: str) -> str:
    """Return the host of a URL as browsers read it; "" if it has none that is known.

    Percent-encoding is decoded, letters that stand for others are replaced, and a backslash is a slash.

    >>> [read_host(f"http://{each}:9300/") for each in ("%31%32%37.0.0.1", "127\u30020\u30020\u30021", "loc\u00adalhost", "B\u00fccher.example")]
    ['127.0.0.1', '127.0.0.1', 'localhost', 'xn--bcher-kva.example']
    """
    try:
        host = unquote(urlsplit(url.replace("\\", "/")).hostname or "").encode("idna").decode()
    except ValueError:
        return ""
    return host.lower() if _HOST.fullmatch(host) else ""

"""Which addresses the browser tools open and read: a page or a client could send a model into the local network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from enum import StrEnum
from urllib.parse import urlsplit

from kb_schema.url_patterns import origin_of
from mcp_server.errors import KnowledgeServerError

SEEN_S = 60.0
"""Seconds for which an answer about an origin counts."""
THIS_MACHINE = "localhost"


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
        host = urlsplit(url).hostname or ""
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

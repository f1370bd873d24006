"""Masks secrets that addresses carry: tokens and signatures in queries, random parts of invitation links, passwords before a host.

What is written to disk of a website, or printed, need not open these addresses again. Texts that hold addresses (HTML, scripts, sentences)
are masked as they are; what is no address, and what names a thing (`?key=name`, `/boats/550e8400-..`), stays.
"""

from __future__ import annotations

import re

from kb_schema.secret_fields import is_secret_name

MASKED = "masked-secret"
"""What stands in the place of a secret; itself it stays as it is. As a part of a path it is one of many, as an id is (`url_patterns`)."""
_PARAMETER = re.compile(
    r"(?P<before>(?:[?&;#]|%3[Ff]|%26|\\u0026))(?P<name>[\w.\[\]-]{1,80})(?P<equals>=|%3[Dd])"
    r"(?P<value>(?:(?!%26|%3[Ff]|\\u0026)[^&\s\"'<>;#\\){}]){6,})"
)
_SHORT_LIVED = re.compile(
    r"key|sig|signature|session|sid|auth|ticket|code|state|hash|nonce|credentials?|jwt|sas|hmac|access|[cx]srf|invit\w*|verif\w*|confirm\w*|magic|grant|assertion",
    re.IGNORECASE,
)
"""Names of parameters that are secrets if their value is random: else they name a thing (`?key=name`, `?state=open`)."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LINK = re.compile(
    r"(?P<before>/(?:[\w-]*(?:invit|reset|verif|confirm|activat|unsubscrib|magic|password|token|accept|join|claim|share)[\w-]*)/(?:[\w=-]{1,12}/)?)"
    r"(?P<value>[\w~=.-]{16,})(?=[/?#\"'\s<>&)\\,]|$)",
    re.IGNORECASE,
)
_PRIVATE = re.compile(r"(?P<before>/private-)(?P<value>[0-9a-f]{16,})", re.IGNORECASE)
"""The private address of a calendar."""
_JWT = re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?")
_PASSWORD = re.compile(r"(?P<before>://[^/\s:@\"'<>]{1,200}:)(?P<value>[^/\s@\"'<>]{1,200})(?=@)")
_CHANGES = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SHORTEST = 16
_LEAST_CHANGES = 3
"""Between letters and digits, in a random text."""


def mask_address_secrets(text: str) -> str:
    """Return a text with the secrets of its addresses masked; the same text if it has none.

    >>> mask_address_secrets("/rss?token=dbee00c72ff8&sort=name"), mask_address_secrets("/list?key=name&state=open")
    ('/rss?token=masked-secret&sort=name', '/list?key=name&state=open')
    """
    if "/" not in text and "=" not in text and "eyJ" not in text and "%3" not in text:
        return text
    masked = _PARAMETER.sub(_mask_parameter, text)
    masked = _LINK.sub(_mask_random, masked)
    for each in (_PRIVATE, _PASSWORD):
        masked = each.sub(rf"\g<before>{MASKED}", masked)
    return _JWT.sub(MASKED, masked)


def _mask_parameter(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    words = _WORD.findall(name)
    if is_secret_name(name) or (any(map(_SHORT_LIVED.fullmatch, words)) and _is_random(value)):
        return f"{found['before']}{name}{found['equals']}{MASKED}"
    return found.group()


def _mask_random(found: re.Match[str]) -> str:
    return f"{found['before']}{MASKED}" if _is_random(found["value"]) else found.group()


def _is_random(value: str) -> bool:
    """Return whether a text has the form of a random one: letters and digits change often, and it has no words."""
    bare = re.sub(r"[-_.~=%]", "", value)
    return len(bare) >= _SHORTEST and len(_CHANGES.findall(bare)) >= _LEAST_CHANGES

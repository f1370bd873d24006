"""The secrets that the operator names for a website, in `PERIPLUS_SERVE_SECRETS`: clients use no other general ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

from kb_schema.url_patterns import origin_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_WEBSITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}")


@dataclass(frozen=True, slots=True, order=True)
class ServedSecret:
    """A secret of one website."""

    website: str
    """Its id in the knowledge base, or its origin (`https://shop.example.com`)."""
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `WEBSITE/NAME`. Raises `ValueError` that says what to write."""
        website, _, name = text.rpartition("/")
        if not website:
            raise ValueError(f"{text!r} names no website: write WEBSITE/{text}, with its id or https://host")
        origin = origin_of(website) if "://" in website else ""
        if not _NAME.fullmatch(name) or not (origin == website or _WEBSITE.fullmatch(website)):
            raise ValueError(f"{text!r} is not WEBSITE/NAME, with a website's id or https://host, and no `*`")
        return cls(website, name)

    @property
    def vault_id(self) -> str:
        """The name of the website in the sources of secrets (docs/inputs.md): its id, or its host."""
        return self.website.partition("://")[2] or self.website


def _parse_all(value: object) -> object:
    if not isinstance(value, str):
        return value
    return frozenset(ServedSecret.parse(each.strip()) for each in value.split(",") if each.strip())


NamedSecrets = Annotated[frozenset[ServedSecret], NoDecode, BeforeValidator(_parse_all)]
"""The value of `PERIPLUS_SERVE_SECRETS`: each `WEBSITE/NAME`, separated by commas."""

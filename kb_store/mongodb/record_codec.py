"""Converts record bodies to BSON and back.

A body is kept *native*, as a MongoDB document under `body`, which the validator checks and MongoDB can query.
If BSON or MongoDB cannot hold it exactly (keys with NUL or a leading `$`, integers beyond 64 bits, lone
surrogates, very deep nesting), or the validator refuses it, it is kept as JSON text under `text`. So the
store keeps any record, as its port requires; readers validate it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import bson
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument

from kb_store.errors import StoreError
from kb_store.knowledge_records import to_values

MAX_BYTES = 15 * 1024 * 1024
"""MongoDB accepts documents of up to 16 MB; the rest is for ids and the wrapping."""

MAX_DEPTH = 80
"""MongoDB accepts 100 levels of nesting; the rest is for the wrapping and for updates."""

_DOLLAR_KEY = re.compile(rb"[\x01-\x13]\$")
"""In BSON a key stands behind the byte of its value's type; inside a text this is found, too, by chance."""
_NESTED = (b"\x03", b"\x04")
"""The bytes of BSON for a document and an array; lengths have them, too."""

_LEAST_OF_DEEP = MAX_DEPTH * 7
"""Fewer bytes cannot be nested deeper: a level has at least its type, the end of its key, its length and its own end."""

_INT64 = range(-(2**63), 2**63)


class RecordTooLarge(StoreError):
    """A record that is too large for a MongoDB document. Sizes in bytes."""

    def __init__(self, address: str, record: str, size: int) -> None:
        self.record, self.size = record, size
        super().__init__(
            f"{record} has {size / 1e6:.1f} MB, the store at {address} keeps at most {MAX_BYTES / 1e6:.1f} MB",
            fix="split the document, or move large texts out of it",
        )


def encode_document(
    address: str,
    name: tuple[str, str],
    head: dict[str, Any],
    body: Mapping[str, Any],
    *,
    as_text: bool = False,
) -> RawBSONDocument:
    """Return a record as the BSON that is written: `head`, and the fields of `encode_body`. It is encoded only once.

    Raises `RecordTooLarge` with the record's name (kind and id), before the driver would fail.
    """
    encoded = None if as_text else _encode_native(head, body)
    if encoded is None:
        encoded = bson.encode({**head, **encode_body(body, as_text=True)})
    if len(encoded) > MAX_BYTES:
        raise RecordTooLarge(address, "/".join(name), len(encoded))
    return RawBSONDocument(encoded)


def _encode_native(head: Mapping[str, Any], body: Mapping[str, Any]) -> bytes | None:
    """Return the record with a native body; None if it must be text. Most bodies need no look at each of their values."""
    try:
        encoded = bson.encode({**head, "body": to_values(body)})
    except (BSONError, OverflowError, UnicodeError, RecursionError):
        return None
    deep = len(encoded) > _LEAST_OF_DEEP and sum(map(encoded.count, _NESTED)) > MAX_DEPTH
    suspicious = deep or (encoded.find(b"$") >= 0 and _DOLLAR_KEY.search(encoded))
    return None if suspicious and "text" in encode_body(body) else encoded


def encode_body(body: Mapping[str, Any], *, as_text: bool = False) -> dict[str, Any]:
    """Return the fields for a body: `body`, or `text` if necessary or if `as_text` is set."""
    body = to_values(body)
    if as_text or not _is_native(body, MAX_DEPTH):
        return {"text": json.dumps(body, separators=(",", ":"))}
    return {"body": body}


def decode_body(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the body of a stored document; an empty one if manual editing left something else."""
    if "text" in document:
        try:
            body = json.loads(document["text"])
        except (TypeError, ValueError):
            return {}
    else:
        body = document.get("body")
    return body if isinstance(body, Mapping) else {}


def check_size(address: str, record: str, document: Mapping[str, Any]) -> None:
    """Raise `RecordTooLarge` with the record's name, before the driver would fail."""
    size = len(bson.encode(document))
    if size > MAX_BYTES:
        raise RecordTooLarge(address, record, size)


def _is_native(value: Any, depth: int) -> bool:
    match value:
        case bool() | float() | None:
            return True
        case int():
            return value in _INT64
        case str():
            return _is_unicode(value)
        case dict() | Mapping():
            return depth > 0 and all(_is_key(k) and _is_native(v, depth - 1) for k, v in value.items())
        case list() | tuple():
            return depth > 0 and all(_is_native(each, depth - 1) for each in value)
    return False


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and not key.startswith("$") and "\0" not in key and _is_unicode(key)


def _is_unicode(text: str) -> bool:
    """Return whether it can be written as UTF-8; a lone surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

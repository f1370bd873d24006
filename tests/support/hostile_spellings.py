"""Spellings in which a hostile page repeats a secret: those that are recognised, and those that are declared not to be."""

from __future__ import annotations

import base64
import codecs
import hashlib
import html
import json
import unicodedata
from collections.abc import Callable, Mapping
from urllib.parse import quote

Spelling = Callable[[str], str]


def _each(form: str) -> Spelling:
    return lambda text: "".join(form.format(each) for each in text.encode())


def _codes(form: str, between: str) -> Spelling:
    return lambda text: between.join(form.format(each) for each in text.encode())


def _joined(between: str) -> Spelling:
    return between.join


def _mixed(form: str, *places: int) -> Spelling:
    """Only some characters are escaped."""
    return lambda text: "".join(
        form.format(ord(each)) if at in places else each for at, each in enumerate(text)
    )


def _b64(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


RECOGNISED: Mapping[str, Spelling] = {
    "reversed": lambda text: text[::-1],
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "spaced": _joined(" "),
    "dashed": _joined("-"),
    "dotted": _joined(" . "),
    "a line each": _joined("\n"),
    "no-break spaces": _joined("\xa0"),
    "no-break spaces as entities": _joined("&nbsp;"),
    "zero-width spaces": _joined("\u200b"),
    "soft hyphens": _joined("\xad"),
    "fillers": _joined("\u3164"),
    "tag characters": lambda text: "".join(chr(0xE0000 + ord(each)) for each in text),
    "an accent each": lambda text: "".join(f"{each}\u0301" for each in text),
    "an accent each, composed": lambda text: unicodedata.normalize(
        "NFC", "".join(f"{each}\u0301" for each in text)
    ),
    "full width": lambda text: "".join(chr(ord(each) + 0xFEE0) for each in text),
    "percent": _each("%{:02x}"),
    "percent, upper": _each("%{:02X}"),
    "percent, some": _mixed("%{:02x}", 1, 4),
    "percent twice": lambda text: quote(_each("%{:02x}")(text)),
    "percent three times": lambda text: quote(quote(_each("%{:02X}")(text))),
    "%uNNNN": _each("%u{:04x}"),
    "\\xNN": _each("\\x{:02x}"),
    "\\XNN": _each("\\x{:02X}"),
    "\\uNNNN": _each("\\u{:04x}"),
    "\\uNNNN, some": _mixed("\\u{:04X}", 0, 5, 7),
    "\\u{N}": _each("\\u{{{:x}}}"),
    "\\UNNNNNNNN": _each("\\U{:08x}"),
    "\\UNNNNNNNN, some": _mixed("\\U{:08x}", 0, 5, 7),
    "octal escapes": _each("\\{:03o}"),
    "octal escapes, some": _mixed("\\{:03o}", 2, 3),
    "CSS escapes": _each("\\{:x} "),
    "CSS escapes, long": _each("\\{:06x}"),
    "CSS escapes, some": _mixed("\\{:x} ", 4),
    "U+NNNN": _codes("U+{:04X}", " "),
    "entities": _each("&#{};"),
    "entities, hexadecimal": _each("&#x{:x};"),
    "entities with zeros": _each("&#{:07d};"),
    "entities, some": _mixed("&#{};", 2, 3, 8),
    "entities twice": lambda text: html.escape(_each("&#{};")(text)),
    "markup around each": lambda text: "".join(f"<b>{each}</b>" for each in text),
    "markup within": lambda text: f"{text[:4]}<wbr>{text[4:8]}<!-- x -->{text[8:]}",
    "markup with attributes": lambda text: f"{text[:4]}<i class=x id='y'>{text[4:]}</i>",
    "paragraphs": lambda text: f"<p>{text[:3]}</p>\n<p>{text[3:7]}</p><p>{text[7:]}</p>",
    "markup, reversed": lambda text: "".join(f"<b>{each}</b>" for each in reversed(text)),
    "escaped markup": lambda text: html.escape("".join(f"<b>{each}</b>" for each in text)),
    "markup in JSON": lambda text: json.dumps(f"{text[:4]}<b>{text[4:]}</b>").replace("<", "\\u003c"),
    "JSON letters": lambda text: json.dumps(list(text)),
    "base64 twice": lambda text: _b64(_b64(text)),
    "base64 three times": lambda text: _b64(_b64(_b64(text))),
    "base64 in base64 among others": lambda text: _b64("x" + _b64("user:" + text) + "yz"),
    "base64 of upper case": lambda text: _b64(text.upper()),
    "base64 of it reversed": lambda text: _b64(text[::-1]),
    "base64 reversed": lambda text: _b64(text)[::-1],
    "base64 of percent": lambda text: _b64(_each("%{:02x}")(text)),
    "base64 of entities": lambda text: _b64(_each("&#{};")(text)),
    "base64 of hexadecimal": lambda text: _b64(text.encode().hex()),
    "base64 in lines": lambda text: "\n".join([_b64(text)[:7], _b64(text)[7:]]),
    "base64 spaced": lambda text: " ".join(_b64(text)),
    "base64 between markup": lambda text: "".join(f"<i>{each}</i>" for each in _b64(text)),
    "base64 of UTF-16": lambda text: _b64(text.encode("utf-16-le")),
    "base64 of UTF-16 with its mark": lambda text: _b64(text.encode("utf-16")),
    "percent of base64": lambda text: _each("%{:02x}")(_b64(text)),
    "hexadecimal, spaced": lambda text: text.encode().hex(" "),
    "hexadecimal, colons": lambda text: text.encode().hex(":").upper(),
    "0xNN": _codes("0x{:02x}", ","),
    "hexadecimal of UTF-16": lambda text: text.encode("utf-16-le").hex(),
    "hexadecimal of UTF-16, big end first": lambda text: text.encode("utf-16-be").hex(),
    "hexadecimal of it reversed": lambda text: text[::-1].encode().hex(),
    "hexadecimal reversed": lambda text: text.encode().hex()[::-1],
    "hexadecimal of base64": lambda text: _b64(text).encode().hex(),
    "decimal codes": _codes("{}", ", "),
    "String.fromCharCode": lambda text: f"String.fromCharCode({_codes('{}', ',')(text)})",
    "octal codes": _codes("{:o}", " "),
    "binary codes": _codes("{:08b}", " "),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32 among others, lower": lambda text: base64.b32encode(f"u:{text}".encode()).decode().lower(),
    "quoted-printable": _each("={:02X}"),
}
"""By name. All of them are to be found, in any text around them."""

UNRECOGNISED: Mapping[str, Spelling] = {
    "a hash": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "a cipher": lambda text: "".join(chr(ord(each) + 1) for each in text),
    "an exclusive or": lambda text: bytes(each ^ 0x2A for each in text.encode()).hex(),
    "ascii85": lambda text: base64.a85encode(text.encode()).decode(),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "look-alike letters": lambda text: text.translate(str.maketrans("oecr", "\u043e\u0435\u0441\u0433")),
    "words between its parts": lambda text: f"{text[:4]} and {text[4:8]} and {text[8:]}",
    "another order": lambda text: text[::2] + text[1::2],
}
"""By name. docs/inputs.md lists them: whoever makes one recognised moves it up and mends the page."""

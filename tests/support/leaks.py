"""Looks for a secret in bytes: in every spelling, written down here apart from the product's own list."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus


def spelt(secret: str) -> dict[str, bytes]:
    """What the secret looks like, by how it was encoded."""
    plain = secret.encode()
    forms = {
        "plain": secret,
        "url": quote(secret, safe=""),
        "url, some left": quote(secret, safe="/'()!*"),
        "url, lower": quote(secret, safe="")
        .replace("%2F", "%2f")
        .replace("%3C", "%3c")
        .replace("%C3", "%c3"),
        "form": quote_plus(secret),
        "html": html.escape(secret),
        "html of a browser": html.escape(secret, quote=False),
        "html attribute": secret.replace("&", "&amp;").replace('"', "&quot;"),
        "html of a template": html.escape(secret).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        "html in html": html.escape(html.escape(secret, quote=False), quote=False),
        "json": json.dumps(secret)[1:-1],
        "json, letters": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json in json": json.dumps(json.dumps(secret)[1:-1])[1:-1],
        "python": repr(secret)[1:-1],
        "css": secret.replace('"', '\\"'),
        "css in python": secret.replace('"', '\\\\"').replace("'", "\\'"),
        "hex": plain.hex(),
        "HEX": plain.hex().upper(),
    }
    for name, form in list(forms.items()):  # and each of them inside JSON
        forms[f"{name}, in json"] = json.dumps(form, ensure_ascii=False)[1:-1]
        forms[f"{name}, in ascii json"] = json.dumps(form)[1:-1]
    found = {name: form.encode() for name, form in forms.items()}
    found["utf-16"] = secret.encode("utf-16-le")
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + plain)
        found[f"base64+{shift}"] = whole[-(-8 * shift // 6) : 8 * (shift + len(plain)) // 6]
    return found


def leaks(secrets: Mapping[str, str], *places: Path | bytes | str) -> list[str]:
    """Where any of the secrets stands, and how. A folder is searched whole: names and contents."""
    forms = {(name, how): form for name, secret in secrets.items() for how, form in spelt(secret).items()}
    return [
        f"{name} ({how}) in {where}: ...{data[max(0, at - 60) : at + len(form) + 20]!r}"
        for where, data in _bytes(places)
        for (name, how), form in forms.items()
        if (at := data.find(form)) >= 0
    ]


def _bytes(places: tuple[Path | bytes | str, ...]) -> Iterator[tuple[str, bytes]]:
    for number, place in enumerate(places):
        if isinstance(place, Path):
            files = sorted(place.rglob("*")) if place.is_dir() else [place]
            for path in files:
                yield f"the name of {path.name}", path.name.encode()
                if path.is_file():
                    yield str(path.relative_to(place) if path != place else path.name), path.read_bytes()
        else:
            yield f"place {number}", place.encode() if isinstance(place, str) else place

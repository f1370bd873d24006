"""`--workers`: a number, `processes:N`, or the address of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from periplus.errors import UserError

MOST_HERE = 64
"""Browser contexts, or worker processes, of one machine that are asked for by number."""
_PROCESSES = "processes:"

WorkersOption = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|processes:N|ADDRESS",
        help="How many at a time: in one browser, in N processes of this machine, or on a cluster"
        " (tcp://HOST:PORT, tls://HOST:PORT; docs/scale.md).",
    ),
]


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work."""

    kind: Literal["contexts", "processes", "cluster"]
    count: int = 0
    """Of contexts or processes."""
    address: str = ""
    """Of the cluster's scheduler."""

    @property
    def elsewhere(self) -> bool:
        """Whether a worker may be on another machine."""
        return self.kind == "cluster"


def read_workers(text: str) -> Workers:
    """What `--workers` says. Raises `UserError`."""
    if text.startswith(("tcp://", "tls://")):
        parts = urlsplit(text)
        try:
            whole = bool(parts.hostname) and parts.port is not None and parts.path in ("", "/")
        except ValueError:
            whole = False
        if not whole or parts.username or parts.query:
            raise _wrong(text)
        return Workers("cluster", address=f"{parts.scheme}://{parts.netloc}")
    number = text.removeprefix(_PROCESSES)
    if not (
        number.isascii() and number.isdecimal() and 1 <= int(number[:4]) <= MOST_HERE and len(number) < 4
    ):
        raise _wrong(text)
    return Workers("processes" if text.startswith(_PROCESSES) else "contexts", int(number))


def _wrong(text: str) -> UserError:
    return UserError(
        f"--workers {text!r} says neither how many nor where",
        fix=f"a number up to {MOST_HERE}, processes:4, or a scheduler's address like tcp://10.0.0.5:8786",
    )

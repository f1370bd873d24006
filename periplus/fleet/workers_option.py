"""The option `--workers`: a number, `processes:N`, or the address of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from periplus.errors import UserError

MOST_HERE = 64
"""Maximum number of browser contexts or worker processes on one machine."""
_PROCESSES = "processes:"

WorkersOption = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|processes:N|ADDRESS",
        help="Parallel workers: N contexts of one browser, N processes of this machine, or a Dask cluster"
        " (tcp://HOST:PORT, tls://HOST:PORT; docs/scale.md).",
    ),
]


@dataclass(frozen=True, slots=True)
class WorkerSelection:
    """The parsed value of `--workers`."""

    kind: Literal["contexts", "processes", "cluster"]
    count: int = 0
    """The number of contexts or processes."""
    address: str = ""
    """The address of the cluster's scheduler."""

    @property
    def elsewhere(self) -> bool:
        """Return whether workers may be on other machines."""
        return self.kind == "cluster"


def parse_workers(text: str) -> WorkerSelection:
    """Parse `--workers`. Raises `UserError`."""
    if text.startswith(("tcp://", "tls://")):
        parts = urlsplit(text)
        try:
            whole = bool(parts.hostname) and parts.port is not None and parts.path in ("", "/")
        except ValueError:
            whole = False
        if not whole or parts.username or parts.query:
            raise _build_workers_error(text)
        return WorkerSelection("cluster", address=f"{parts.scheme}://{parts.netloc}")
    number = text.removeprefix(_PROCESSES)
    if not (
        number.isascii() and number.isdecimal() and 1 <= int(number[:4]) <= MOST_HERE and len(number) < 4
    ):
        raise _build_workers_error(text)
    return WorkerSelection("processes" if text.startswith(_PROCESSES) else "contexts", int(number))


def _build_workers_error(text: str) -> UserError:
    return UserError(
        f"--workers {text!r} is invalid",
        fix=f"give a number up to {MOST_HERE}, processes:4, or a scheduler's address like tcp://10.0.0.5:8786",
    )

"""Runs the site: ``python -m seeds.spadeworks.site``. It says where it listens, and nothing else."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from seeds.spadeworks.site.app import create_app
from seeds.spadeworks.site.middleware import DROP_EXTENSION
from seeds.spadeworks.site.settings import Settings

_STDIN = 0


class DroppableProtocol(H11Protocol):
    """HTTP/1.1, with a way for the application to close the connection without an answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Offer ``transport.abort`` to every request of this connection."""
        super().connection_made(transport)
        inner: ASGIApp = self.app

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("extensions", {})[DROP_EXTENSION] = transport.abort
            await inner(scope, receive, send)

        self.app = app


class Server(uvicorn.Server):
    """uvicorn's server, which announces itself and treats a signal as an ordinary wish to stop."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, then say where."""
        await super().startup(sockets)
        host, port = (sockets or [])[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(f"listening on http://{shown}:{port}", flush=True)  # noqa: T201 - what the caller waits for

    def stop(self) -> None:
        """Stop at the next tick, a tenth of a second away at most."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and Ctrl-C, and then exit with 0 instead of dying of the signal."""
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {sig: signal.signal(sig, lambda *_: self.stop()) for sig in handled}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def _stop_at_end_of_stdin(server: Server) -> None:
    """Stop when whoever started us closes our stdin, or dies."""

    def wait_for_end() -> None:
        with contextlib.suppress(OSError):  # a closed stdin has ended, too
            while os.read(_STDIN, 1024):
                pass
        server.stop()

    threading.Thread(target=wait_for_end, daemon=True).start()


def _bound_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as exc:
        bound.close()
        raise SystemExit(f"cannot listen on {host}:{port}: {exc}") from exc
    return bound


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m seeds.spadeworks.site", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 is any free one")
    parser.add_argument("--ui-version", type=int, choices=(1, 2), default=1, help="2: after the redesign")
    parser.add_argument("--test-controls", action="store_true", help="offer /__control/ to tests")
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when stdin ends")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    arguments = _arguments(argv)
    settings = Settings(
        test_controls=arguments.test_controls, ui_version=2 if arguments.ui_version == 2 else 1
    )
    config = uvicorn.Config(
        create_app(settings),
        http=DroppableProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    if arguments.exit_with_stdin:
        _stop_at_end_of_stdin(server)
    server.run(sockets=[_bound_socket(arguments.host, arguments.port)])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The running server: it listens, and on SIGTERM takes nothing more, lets runs end, and goes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator

import structlog
import uvicorn

from periplus.service.app import Service
from periplus.service.queue import RunQueue
from periplus.service.visiting.book import Visits
from periplus.signals import on_signals

GRACE_S = 3
"""How long open streams may take to end once all else has."""

_log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Signals are ours: uvicorn would stop listening at the first one, and then nobody hears `503 draining`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves them alone."""
        yield


async def serve(
    service: Service, queue: RunQueue, listener: socket.socket, visits: Visits | None = None
) -> None:
    """Until SIGTERM or Ctrl-C; a second one does not wait for runs. Returns when everything came to its end.

    Demos for visitors are not waited for: they end at once.
    """
    _speak_json()
    config = uvicorn.Config(
        service,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    server, asked, urged = _Server(config), asyncio.Event(), asyncio.Event()

    def react() -> None:
        (urged if asked.is_set() else asked).set()

    with on_signals(react, signal.SIGTERM, signal.SIGINT):
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
        await _first(serving, asked)
        if visits is not None:
            await visits.close()
        draining = asyncio.create_task(queue.drain(), name="draining")
        await _first(draining, urged)
        if urged.is_set():
            draining.cancel()
            await asyncio.wait([draining])
            await queue.drain(grace_s=0)
        queue.followers.close()
        server.should_exit = True
        await serving
        _log.info("ended")


async def _first(work: asyncio.Task[None], event: asyncio.Event) -> None:
    """Until the work is done, which may raise, or the event is set."""
    waiting = asyncio.create_task(event.wait())
    done, _ = await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if work in done:
        work.result()


class _ToStructlog(logging.Handler):
    """What libraries log, as lines of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        extra = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger(record.name).log(record.levelno, record.getMessage(), **extra)


def _speak_json() -> None:
    root = logging.getLogger()
    if not any(isinstance(handler, _ToStructlog) for handler in root.handlers):
        handler = _ToStructlog(logging.WARNING)
        root.addHandler(handler)

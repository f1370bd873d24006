"""The worker: registers with a LiveKit server, is dispatched to rooms, and serves several at once.

livekit-agents runs each job on a thread with its own event loop. Browser and knowledge server belong to one
loop, so a job only calls that loop and waits. Rooms share a browser, and each has a context in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from livekit import api
from livekit.agents import AgentServer, JobContext, JobExecutorType, JobRequest

from agent.rooms.room_topics import render_message
from periplus.demos.demo_environment import DemoEnvironment
from periplus.demos.live_presentation import LivePresentation
from periplus.errors import UserError
from periplus.log_setup import log
from periplus.rooms.livekit_plugins import LivekitPlugins
from periplus.rooms.room_presentation import RoomCall, RoomPresentation, RoomStay
from periplus.rooms.room_settings import RoomSettings

LEAVING_S = 30.0
"""Seconds for presentations to close when the worker ends."""
REGISTERED_S = 10.0
"""Timeout in seconds for reaching the server."""
APOLOGY = render_message(
    "refused", text="All presenters are busy right now. Please try again in a few minutes."
)


class RoomPresenters:
    """The presenters of one environment: as many at a time as the settings allow."""

    def __init__(
        self,
        environment: DemoEnvironment,
        settings: RoomSettings,
        *,
        plugins: LivekitPlugins | None = None,
        opened: Callable[[str, LivePresentation], None] = lambda *_: None,
        ended: Callable[[RoomStay], None] = lambda _: None,
    ) -> None:
        """`opened` and `ended` receive every presentation, to monitor the worker."""
        self._environment, self._settings, self._plugins = environment, settings, plugins or LivekitPlugins()
        self._opened, self._ended = opened, ended
        self._loop = asyncio.get_running_loop()
        self._promised: set[str] = set()
        self._stays: dict[str, tuple[RoomPresentation, asyncio.Task[RoomStay]]] = {}

    @property
    def busy(self) -> int:
        """Rooms that are being served or entered."""
        return len(self._promised | self._stays.keys())

    async def asked(self, request: JobRequest) -> None:
        """Accept a dispatch if a presenter is free, otherwise refuse it with a message."""
        if self.busy >= self._settings.max_rooms:
            log.info("room_refused", room=request.room.name, busy=self.busy)
            await self._write_on_door(request.room.name, APOLOGY)
            await request.reject(terminate=False)  # another worker may be free
            return
        self._promised.add(request.id)
        try:
            if request.room.metadata == APOLOGY:
                await self._write_on_door(request.room.name, "")
            await request.accept(name="Presenter", identity=f"presenter-{request.id}")
        except BaseException:
            self._promised.discard(request.id)
            raise

    async def _write_on_door(self, room: str, told: str) -> None:
        """Set the room's metadata, for visitors in the room and later ones."""
        async with api.LiveKitAPI(*self._settings.reach) as server:
            try:
                await server.room.update_room_metadata(
                    api.UpdateRoomMetadataRequest(room=room, metadata=told)
                )
            except (api.TwirpError, OSError) as exc:
                log.warning("room_not_told", room=room, error=str(exc))

    async def attend(self, context: JobContext) -> None:
        """The job, on a thread of its own; the stay runs on the environment's loop."""
        info = context._info  # noqa: SLF001 - the server's token for this job is not available elsewhere
        context._on_connect()  # noqa: SLF001 - entered from the other loop: no warning
        call = RoomCall(context.room.name, info.url, info.token, context.job.metadata)
        staying = asyncio.run_coroutine_threadsafe(self._stay(context.job.id, call), self._loop)
        try:
            outcome = await asyncio.wrap_future(staying)
        finally:
            staying.cancel()
        context.shutdown(outcome.reason or str(outcome.outcome))

    async def _stay(self, job_id: str, call: RoomCall) -> RoomStay:
        appearance = RoomPresentation(
            self._environment,
            self._settings,
            call,
            plugins=self._plugins,
            opened=lambda show: self._opened(call.room, show),
        )
        task = asyncio.create_task(appearance.run(), name=f"room {call.room}")
        self._stays[job_id] = (appearance, task)
        self._promised.discard(job_id)
        try:
            outcome = await _await_stay(appearance, task)
        finally:
            del self._stays[job_id]
        log.info("room_left", room=call.room, outcome=str(outcome.outcome), reason=outcome.reason)
        self._ended(outcome)
        return outcome

    async def close(self) -> None:
        """Leave all rooms now."""
        stays = tuple(self._stays.values())
        for appearance, _ in stays:
            appearance.leave()
        if stays:
            _, late = await asyncio.wait([task for _, task in stays], timeout=LEAVING_S)
            for task in late:
                task.cancel()


async def _await_stay(appearance: RoomPresentation, task: asyncio.Task[RoomStay]) -> RoomStay:
    """Wait for a stay. If the wait is cancelled, end the stay and wait for its end."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        appearance.leave()
        await asyncio.wait({task}, timeout=LEAVING_S)
        raise


@asynccontextmanager
async def run_room_worker(
    presenters: RoomPresenters,
    settings: RoomSettings,
    *,
    port: int = 0,
    lost: Callable[[], None] = lambda: None,
) -> AsyncIterator[AgentServer]:
    """Register a worker; leaving the context ends every presentation in progress.

    `port`: of its health page on this machine; 0: any free one. `lost` is called after the server was
    unreachable for minutes. Raises `UserError` if it is unreachable at the start.
    """
    url, key, secret = settings.reach

    def gone(_: asyncio.Task[None]) -> None:
        lost()

    server = AgentServer(
        job_executor_type=JobExecutorType.THREAD,
        ws_url=url,
        api_key=key,
        api_secret=secret,
        host="127.0.0.1",
        port=port,
        num_idle_processes=0,
        load_fnc=lambda: presenters.busy / (settings.max_rooms + 1),  # at 1 the server would send no requests
        load_threshold=float("inf"),  # a request must arrive before it can be refused with a message
    )
    server.rtc_session(presenters.attend, agent_name=settings.agent, on_request=presenters.asked)
    registered = asyncio.Event()
    server.on("worker_registered", lambda *_: registered.set())
    running = asyncio.create_task(server.run(), name="rooms")
    waiting = asyncio.create_task(registered.wait())
    try:
        await asyncio.wait({running, waiting}, timeout=REGISTERED_S, return_when=asyncio.FIRST_COMPLETED)
        if not registered.is_set():
            raise UserError(
                f"the LiveKit server at {url} cannot be reached, or rejects the API key",
                fix="check that it runs, and PERIPLUS_LIVEKIT_URL, _API_KEY and _API_SECRET",
            )
        running.add_done_callback(gone)
        yield server
    finally:
        running.remove_done_callback(gone)
        waiting.cancel()
        await presenters.close()
        await server.aclose()
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)

"""The worker: registers with a LiveKit server, is dispatched to rooms, and stays in several at once.

livekit-agents runs each job on a thread with an event loop of its own. Browser and knowledge belong to one
loop, so a job only calls there and waits: rooms share a browser, and each has a context in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from livekit import api
from livekit.agents import AgentServer, JobContext, JobExecutorType, JobRequest

from agent.rooms.topics import note
from periplus.errors import UserError
from periplus.logs import log
from periplus.presenting.show import Show
from periplus.presenting.venue import Venue
from periplus.rooms.hosting import Appearance, Call, Stay
from periplus.rooms.plugins import Plugins
from periplus.rooms.settings import RoomSettings

LEAVING_S = 30.0
"""How long shows may take to be closed when the worker ends."""
REGISTERED_S = 10.0
"""A server that has not answered by then is not there."""
APOLOGY = note("refused", text="All presenters are busy right now. Please try again in a few minutes.")


class Presenters:
    """Those who present at a venue: as many at a time as the settings allow."""

    def __init__(
        self,
        venue: Venue,
        settings: RoomSettings,
        *,
        plugins: Plugins | None = None,
        opened: Callable[[str, Show], None] = lambda *_: None,
        ended: Callable[[Stay], None] = lambda _: None,
    ) -> None:
        """`opened` and `ended` hear of every show: for who watches the worker."""
        self._venue, self._settings, self._plugins = venue, settings, plugins or Plugins()
        self._opened, self._ended = opened, ended
        self._loop = asyncio.get_running_loop()
        self._promised: set[str] = set()
        self._stays: dict[str, tuple[Appearance, asyncio.Task[Stay]]] = {}

    @property
    def busy(self) -> int:
        """Rooms that one is in, or on the way to."""
        return len(self._promised | self._stays.keys())

    async def asked(self, request: JobRequest) -> None:
        """Somebody wants a presenter in a room: promised where one is free, politely refused otherwise."""
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
        """The room's metadata: read by those who are in it, and by those who enter later."""
        async with api.LiveKitAPI(*self._settings.reach) as server:
            try:
                await server.room.update_room_metadata(
                    api.UpdateRoomMetadataRequest(room=room, metadata=told)
                )
            except (api.TwirpError, OSError) as exc:
                log.warning("room_not_told", room=room, error=str(exc))

    async def attend(self, context: JobContext) -> None:
        """The job itself, on a thread of its own: the stay is on the loop of the venue."""
        info = context._info  # noqa: SLF001 - the token that the server gave for this job is nowhere else
        context._on_connect()  # noqa: SLF001 - the room is entered from the other loop: no need to warn of it
        call = Call(context.room.name, info.url, info.token, context.job.metadata)
        staying = asyncio.run_coroutine_threadsafe(self._stay(context.job.id, call), self._loop)
        try:
            outcome = await asyncio.wrap_future(staying)
        finally:
            staying.cancel()
        context.shutdown(outcome.reason or str(outcome.outcome))

    async def _stay(self, job_id: str, call: Call) -> Stay:
        appearance = Appearance(
            self._venue,
            self._settings,
            call,
            plugins=self._plugins,
            opened=lambda show: self._opened(call.room, show),
        )
        task = asyncio.create_task(appearance.run(), name=f"room {call.room}")
        self._stays[job_id] = (appearance, task)
        self._promised.discard(job_id)
        try:
            outcome = await _in_good_order(appearance, task)
        finally:
            del self._stays[job_id]
        log.info("room_left", room=call.room, outcome=str(outcome.outcome), reason=outcome.reason)
        self._ended(outcome)
        return outcome

    async def close(self) -> None:
        """Leave every room, now."""
        stays = tuple(self._stays.values())
        for appearance, _ in stays:
            appearance.leave()
        if stays:
            _, late = await asyncio.wait([task for _, task in stays], timeout=LEAVING_S)
            for task in late:
                task.cancel()


async def _in_good_order(appearance: Appearance, task: asyncio.Task[Stay]) -> Stay:
    """What becomes of a stay. Who does not want to wait for it any more makes it end, and waits."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        appearance.leave()
        await asyncio.wait({task}, timeout=LEAVING_S)
        raise


@asynccontextmanager
async def serving_rooms(
    presenters: Presenters,
    settings: RoomSettings,
    *,
    port: int = 0,
    lost: Callable[[], None] = lambda: None,
) -> AsyncIterator[AgentServer]:
    """A registered worker; leaving ends every show in progress.

    `port` of its health page on this machine; 0: any free one. `lost` is called once the server has not been
    reached for minutes. Raises `UserError` where it is not reached at the start.
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
        load_fnc=lambda: presenters.busy / (settings.max_rooms + 1),  # at 1 the server would not even ask
        load_threshold=float("inf"),  # who is refused is told so, which takes being asked
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
                f"the LiveKit server at {url} is not reached, or does not know this key",
                fix="see that it runs, and PERIPLUS_LIVEKIT_URL, _API_KEY and _API_SECRET",
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
